/* Operators of networks: softmax and convolutions.  Sums of products are sums of float32. */
#include "ops.h"

#include <stdlib.h>

static void run_softmax(Executor *e, bool logarithm) {
    int axis = (int)INT(1);
    const Tensor *x = T(0), *y = T(2);
    Tensor rest = *x, to = *y;
    rest.dims[axis] = to.dims[axis] = 1;
    for (int64_t i = 0, lines = count_of(&rest); x->dims[axis] && i < lines; i++) {
        int64_t from = place(&rest, i), into = place(&to, i);
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < x->dims[axis]; k++) most = fmax(most, load(x, from + k * x->strides[axis]));
        for (int64_t k = 0; k < x->dims[axis]; k++) sum += exp(load(x, from + k * x->strides[axis]) - most);
        for (int64_t k = 0; k < x->dims[axis]; k++) {
            double value = load(x, from + k * x->strides[axis]) - most;
            store(y, into + k * y->strides[axis], logarithm ? value - log(sum) : exp(value) / sum);
        }
    }
}

static void run_Softmax(Executor *e) { run_softmax(e, false); }
static void run_LogSoftmax(Executor *e) { run_softmax(e, true); }

#define SOFTMAX(name)                                                                                                     \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, int64_t dim, Tensor *y, uint64_t *size, Executor **executor) { \
        Plan p = plan("aclnn" #name);                                                                                     \
        Tensor *a = in(&p, x, ALL_FLOATS);                                                                                \
        whole(&p, dim);                                                                                                   \
        Tensor *b = out(&p, y, ALL_FLOATS);                                                                               \
        axis_in(&p, a, dim);                                                                                              \
        need(&p, a->rank >= 1 && a->dtype == b->dtype, "rank 0, or another dtype");                                       \
        same_shape(&p, b, a);                                                                                             \
        return done(&p, run_##name, size, executor);                                                                      \
    }                                                                                                                     \
    PHASE_TWO(name)

SOFTMAX(Softmax)
SOFTMAX(LogSoftmax)

/* ---------------------------------------------------------------------------------------------- convolution
   Every product x[n, c, ...] * w[o, c, ...] belongs to one y[n, o, ...]; the three operators sum over different letters. */
typedef struct {
    const Tensor *x, *w, *y;
    const int64_t *stride, *padding, *dilation;
    int64_t groups;
    int spatial;
} Windows;

/* Calls the body with the element numbers of x and w for a place of y; `inside` tells if x has that place. */
static bool met(const Windows *s, const int64_t *at_y, const int64_t *at_w, int64_t *px, int64_t *pw) {
    int64_t at_x[MAX_DIMS], channels = s->w->dims[1], outs = s->w->dims[0] / s->groups;
    at_x[0] = at_y[0];
    at_x[1] = at_y[1] / outs * channels + at_w[1];
    for (int d = 0; d < s->spatial; d++) {
        at_x[2 + d] = at_y[2 + d] * s->stride[d] - s->padding[d] + at_w[2 + d] * s->dilation[d];
        if (at_x[2 + d] < 0 || at_x[2 + d] >= s->x->dims[2 + d]) return false;
    }
    *px = at_index(s->x, at_x);
    *pw = at_index(s->w, at_w);
    return true;
}

static void run_Convolution(Executor *e) {
    Windows s = {T(0), T(1), T(9), e->args[3].integers, e->args[4].integers, e->args[5].integers, INT(8), T(0)->rank - 2};
    Tensor one = *s.w; /* one filter */
    one.dims[0] = 1;
    for (int64_t i = 0, n = count_of(s.y); i < n; i++) {
        int64_t at_y[MAX_DIMS], at_w[MAX_DIMS], px, pw;
        float parts[2] = {0, 0};
        index_of(s.y, i, at_y);
        for (int64_t k = 0, many = count_of(&one); k < many; k++) {
            index_of(&one, k, at_w);
            at_w[0] = at_y[1];
            if (met(&s, at_y, at_w, &px, &pw)) parts[k % 2] += (float)load(s.x, px) * (float)load(s.w, pw);
        }
        store(s.y, place(s.y, i), parts[0] + parts[1]);
    }
}

static void add_products(const Windows *s, const Tensor *g, const Tensor *to, bool of_filter) {
    int64_t n = count_of(to);
    float *sums = calloc((size_t)(n ? n : 1), sizeof *sums);
    Tensor numbered = *to, one = *s->w; /* the same view with positions that count its elements */
    int64_t step = 1;
    for (int d = to->rank; d-- > 0;) {
        numbered.strides[d] = step;
        step *= to->dims[d];
    }
    numbered.offset = 0;
    one.dims[0] = 1;
    Windows target = *s;
    if (of_filter) target.w = &numbered;
    else target.x = &numbered;
    for (int64_t i = 0, many = count_of(g); i < many; i++) {
        int64_t at_y[MAX_DIMS], at_w[MAX_DIMS], px, pw, tx, tw;
        index_of(g, i, at_y);
        float share = (float)load(g, place(g, i));
        for (int64_t k = 0, taps = count_of(&one); k < taps; k++) {
            index_of(&one, k, at_w);
            at_w[0] = at_y[1];
            if (!met(s, at_y, at_w, &px, &pw)) continue;
            met(&target, at_y, at_w, &tx, &tw);
            if (of_filter) sums[tw] += share * (float)load(s->x, px);
            else sums[tx] += share * (float)load(s->w, pw);
        }
    }
    for (int64_t i = 0; i < n; i++) store(to, place(to, i), sums[i]);
    free(sums);
}

static void run_ConvolutionBackward(Executor *e) {
    Windows s = {T(1), T(2), T(0), e->args[4].integers, e->args[5].integers, e->args[6].integers, INT(9), T(1)->rank - 2};
    const bool *wanted = e->args[10].booleans;
    if (wanted[0]) add_products(&s, T(0), T(12), false);
    if (wanted[1]) add_products(&s, T(0), T(13), true);
}

/* x [n, c, ...], w [o, c / groups, ...], y [n, o, ...] fit together. */
static void fits(Plan *p, const Tensor *x, const Tensor *w, const Tensor *y, const Arg *stride, const Arg *padding, const Arg *dilation, int64_t groups) {
    image(p, x), image(p, w), image(p, y);
    int n = x->rank - 2;
    need(p, n >= 1 && n <= 3 && w->rank == n + 2 && y->rank == n + 2, "ranks %d, %d and %d", x->rank, w->rank, y->rank);
    need(p, (int)stride->count == n && (int)padding->count == n && (int)dilation->count == n, "as many numbers as dimensions are needed");
    need(p, groups > 0 && x->dtype == w->dtype && x->dtype == y->dtype, "groups, or dtypes that differ");
    if (p->status) return;
    need(p, x->dims[1] == w->dims[1] * groups && w->dims[0] % groups == 0, "channels");
    need(p, y->dims[0] == x->dims[0] && y->dims[1] == w->dims[0], "the result has another batch or other channels");
    need(p, count_of(x) > 0 && count_of(w) > 0 && count_of(y) > 0, "no elements");
    for (int d = 0; d < n && !p->status; d++) {
        int64_t s = stride->integers[d], wide = x->dims[2 + d] + 2 * padding->integers[d], k = dilation->integers[d] * (w->dims[2 + d] - 1) + 1;
        need(p, s > 0 && padding->integers[d] >= 0 && dilation->integers[d] > 0 && wide >= k, "stride, padding or dilation");
        if (!p->status) need(p, y->dims[2 + d] == (wide - k) / s + 1, "the result has another size");
    }
}

EXPORT Status aclnnConvolutionGetWorkspaceSize(const Tensor *x, const Tensor *w, const Tensor *bias, const Ints *stride, const Ints *padding, const Ints *dilation, bool transposed,
                                               const Ints *output_padding, int64_t groups, Tensor *y, int8_t math, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnConvolution");
    Tensor *a = in(&p, x, FLOATS_), *b = in(&p, w, FLOATS_);
    optional(&p, bias, FLOATS_);
    integers(&p, stride, false);
    integers(&p, padding, false);
    integers(&p, dilation, false);
    whole(&p, transposed);
    integers(&p, output_padding, false);
    whole(&p, groups);
    Tensor *to = out(&p, y, FLOATS_);
    whole(&p, math);
    need(&p, !bias && !transposed, "a bias and transposed convolutions are not simulated");
    fits(&p, a, b, to, &p.e->args[3], &p.e->args[4], &p.e->args[5], groups);
    return done(&p, run_Convolution, size, executor);
}
PHASE_TWO(Convolution)

EXPORT Status aclnnConvolutionBackwardGetWorkspaceSize(const Tensor *g, const Tensor *x, const Tensor *w, const Ints *bias, const Ints *stride, const Ints *padding, const Ints *dilation,
                                                       bool transposed, const Ints *output_padding, int groups, const Bools *mask, int8_t math, Tensor *gx, Tensor *gw, Tensor *gb,
                                                       uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnConvolutionBackward");
    Tensor *y = in(&p, g, FLOATS_), *a = in(&p, x, FLOATS_), *b = in(&p, w, FLOATS_);
    integers(&p, bias, true);
    integers(&p, stride, false);
    integers(&p, padding, false);
    integers(&p, dilation, false);
    whole(&p, transposed);
    integers(&p, output_padding, false);
    whole(&p, groups);
    booleans(&p, mask);
    whole(&p, math);
    Tensor *to_x = out(&p, gx, FLOATS_), *to_w = out(&p, gw, FLOATS_);
    out(&p, gb, FLOATS_);
    const Arg *wanted = &p.e->args[10];
    need(&p, wanted->count == 3 && !transposed, "three flags; transposed convolutions are not simulated");
    if (!p.status) need(&p, !wanted->booleans[2], "a bias is not simulated");
    fits(&p, a, b, y, &p.e->args[4], &p.e->args[5], &p.e->args[6], groups);
    dense(&p, to_x), dense(&p, to_w);
    image(&p, to_x), image(&p, to_w);
    same_shape(&p, to_x, a);
    same_shape(&p, to_w, b);
    return done(&p, run_ConvolutionBackward, size, executor);
}
PHASE_TWO(ConvolutionBackward)
