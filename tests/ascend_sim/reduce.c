/* Reductions over axes, and products of matrices.  Sums of 16-bit and 32-bit floats are sums of float32, in blocks. */
#include "ops.h"

#include <string.h>

/* Which axes are gone; all where the list is empty. */
static void axes_of(Plan *p, const Tensor *x, const Arg *axes, bool *gone) {
    memset(gone, axes->count == 0, MAX_DIMS);
    for (uint64_t i = 0; i < axes->count; i++) {
        int64_t a = axes->integers[i];
        int rank = x->rank ? x->rank : 1;
        need(p, a >= -rank && a < rank, "axis %lld of %d", (long long)a, x->rank);
        if (a < 0) a += rank;
        if (a >= 0 && a < MAX_DIMS) {
            need(p, !gone[a], "axis %lld twice", (long long)a);
            gone[a] = true;
        }
    }
}

static void reduced_shape(Plan *p, const Tensor *x, const bool *gone, bool keep, const Tensor *to) {
    int64_t dims[MAX_DIMS];
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!gone[i]) dims[rank++] = x->dims[i];
        else if (keep) dims[rank++] = 1;
    has_shape(p, to, rank, dims);
}

/* The positions of the elements that make element `i` of a result: a view of x over the axes that go, and its offset. */
typedef struct { Tensor view; } Group;

static Group group(const Tensor *x, const bool *gone, int64_t i) {
    Group g = {*x};
    g.view.rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (gone[d]) {
            g.view.dims[g.view.rank] = x->dims[d];
            g.view.strides[g.view.rank++] = x->strides[d];
        }
    for (int d = x->rank; d-- > 0;)
        if (!gone[d]) {
            g.view.offset += i % x->dims[d] * x->strides[d];
            i /= x->dims[d];
        }
    return g;
}

static void gone_of(const Executor *e, bool *gone) {
    const Arg *axes = &e->args[1];
    memset(gone, axes->count == 0, MAX_DIMS);
    for (uint64_t i = 0; i < axes->count; i++) gone[axes->integers[i] < 0 ? axes->integers[i] + e->args[0].tensor.rank : axes->integers[i]] = true;
}

static void run_ReduceSum(Executor *e) {
    bool gone[MAX_DIMS];
    gone_of(e, gone);
    for (int64_t i = 0, n = count_of(T(4)); i < n; i++) {
        Group g = group(T(0), gone, i);
        int64_t count = count_of(&g.view);
        if (is_int(T(4)->dtype)) {
            int64_t sum = 0;
            for (int64_t k = 0; k < count; k++) sum += load_int(&g.view, place(&g.view, k));
            store_int(T(4), place(T(4), i), sum);
        } else if (T(4)->dtype == F64) {
            double sum = 0;
            for (int64_t k = 0; k < count; k++) sum += load(&g.view, place(&g.view, k));
            store(T(4), place(T(4), i), sum);
        } else {
            float parts[4] = {0, 0, 0, 0};
            for (int64_t k = 0; k < count; k++) parts[k % 4] += (float)load(&g.view, place(&g.view, k));
            store(T(4), place(T(4), i), (parts[0] + parts[2]) + (parts[1] + parts[3]));
        }
    }
}

EXPORT Status aclnnReduceSumGetWorkspaceSize(const Tensor *x, const Ints *dims, bool keep, int32_t dtype, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnReduceSum");
    Tensor *a = in(&p, x, ANY);
    integers(&p, dims, false);
    whole(&p, keep);
    whole(&p, dtype);
    Tensor *b = out(&p, y, ANY);
    need(&p, b->dtype == dtype, "the result has another dtype than asked for");
    bool gone[MAX_DIMS];
    axes_of(&p, a, &p.e->args[1], gone);
    reduced_shape(&p, a, gone, keep, b);
    return done(&p, run_ReduceSum, size, executor);
}
PHASE_TWO(ReduceSum)

#define EXTREME(name, better)                                                                                             \
    static void run_##name(Executor *e) {                                                                                 \
        bool gone[MAX_DIMS];                                                                                              \
        gone_of(e, gone);                                                                                                 \
        for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {                                                             \
            Group g = group(T(0), gone, i);                                                                               \
            int64_t count = count_of(&g.view), best = place(&g.view, 0);                                                  \
            for (int64_t k = 1; k < count; k++) {                                                                         \
                int64_t at = place(&g.view, k);                                                                           \
                double x = load(&g.view, at), y = load(&g.view, best);                                                    \
                if (is_int(g.view.dtype) ? load_int(&g.view, at) better load_int(&g.view, best) : y == y && (x != x || x better y)) \
                    best = at;                                                                                            \
            }                                                                                                             \
            if (is_int(g.view.dtype)) store_int(T(3), place(T(3), i), load_int(&g.view, best));                           \
            else store(T(3), place(T(3), i), load(&g.view, best));                                                        \
        }                                                                                                                 \
    }                                                                                                                     \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, const Ints *dims, bool keep, Tensor *y, uint64_t *size,  \
                                                Executor **executor) {                                                    \
        Plan p = plan("aclnn" #name);                                                                                     \
        Tensor *a = in(&p, x, ANY);                                                                                       \
        integers(&p, dims, false);                                                                                        \
        whole(&p, keep);                                                                                                  \
        Tensor *b = out(&p, y, ANY);                                                                                      \
        need(&p, a->dtype == b->dtype, "the result has another dtype");                                                   \
        bool gone[MAX_DIMS];                                                                                              \
        axes_of(&p, a, &p.e->args[1], gone);                                                                              \
        reduced_shape(&p, a, gone, keep, b);                                                                              \
        return done(&p, run_##name, size, executor);                                                                      \
    }                                                                                                                     \
    PHASE_TWO(name)

EXTREME(Amax, >)
EXTREME(Amin, <)

/* ---------------------------------------------------------------------------------------------- matrices */
static void run_matmul(Executor *e) {
    const Tensor *a = T(0), *b = T(1), *to = T(2);
    int64_t rows = to->dims[to->rank - 2], columns = to->dims[to->rank - 1], inner = a->dims[a->rank - 1];
    Tensor batch = *to;
    batch.rank = to->rank - 2;
    for (int64_t n = 0, many = count_of(&batch); n < many; n++) {
        Tensor left = *a, right = *b, result = *to;
        int64_t index[MAX_DIMS];
        index_of(&batch, n, index);
        result.offset = at_index(&batch, index);
        for (int d = 0; d < batch.rank; d++) {
            int da = d - batch.rank + a->rank - 2, db = d - batch.rank + b->rank - 2;
            if (da >= 0 && a->dims[da] != 1) left.offset += index[d] * a->strides[da];
            if (db >= 0 && b->dims[db] != 1) right.offset += index[d] * b->strides[db];
        }
        int64_t ar = a->strides[a->rank - 2], ac = a->strides[a->rank - 1], br = b->strides[b->rank - 2], bc = b->strides[b->rank - 1];
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                float parts[4] = {0, 0, 0, 0};
                for (int64_t k = 0; k < inner; k++)
                    parts[k % 4] += (float)load(&left, left.offset + i * ar + k * ac) * (float)load(&right, right.offset + k * br + j * bc);
                store(&result, result.offset + i * to->strides[to->rank - 2] + j * to->strides[to->rank - 1], (parts[0] + parts[2]) + (parts[1] + parts[3]));
            }
    }
}

static Status plan_matmul(const char *name, int least, int most, const Tensor *x, const Tensor *y, Tensor *z, int8_t math, uint64_t *size, Executor **executor) {
    Plan p = plan(name);
    Tensor *a = in(&p, x, FLOATS_), *b = in(&p, y, FLOATS_), *to = out(&p, z, FLOATS_);
    whole(&p, math);
    need(&p, math >= 0 && math <= 3, "cubeMathType %d", math);
    need(&p, a->dtype == b->dtype && to->dtype == a->dtype, "the operands have different dtypes");
    need(&p, a->rank >= least && a->rank <= most && b->rank >= least && b->rank <= most, "ranks %d and %d", a->rank, b->rank);
    if (!p.status) {
        need(&p, a->dims[a->rank - 1] == b->dims[b->rank - 2], "inner sizes differ");
        need(&p, to->rank >= 2 && to->dims[to->rank - 2] == a->dims[a->rank - 2] && to->dims[to->rank - 1] == b->dims[b->rank - 1], "the result has another shape");
        Tensor left = *a, right = *b, result = *to;
        left.rank -= 2, right.rank -= 2, result.rank -= 2;
        const Tensor *xs[2] = {&left, &right};
        broadcasts(&p, xs, 2, &result);
    }
    return done(&p, run_matmul, size, executor);
}

#define MATMUL(name, least, most)                                                                                          \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, const Tensor *y, Tensor *z, int8_t math, uint64_t *size, \
                                                Executor **executor) {                                                     \
        return plan_matmul("aclnn" #name, least, most, x, y, z, math, size, executor);                                     \
    }                                                                                                                      \
    PHASE_TWO(name)

MATMUL(Mm, 2, 2)
MATMUL(BatchMatMul, 3, 3)
MATMUL(Matmul, 2, 6)
