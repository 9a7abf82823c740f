/* Reductions over axes and running sums.  Numbers are added up in blocks, in the dtype that was asked for, float32 at
   least as good: sums of 16-bit floats that are asked for in 16 bits are rounded on the way. */
#include "ops.h"

#include <string.h>

static void gone_of(const Executor *e, bool *gone) {
    const Arg *axes = &e->args[1];
    memset(gone, axes->count == 0, MAX_DIMS);
    for (uint64_t i = 0; i < axes->count; i++)
        if (axes->integers[i] >= 0 && axes->integers[i] < MAX_DIMS) gone[axes->integers[i]] = true;
}

/* Axes of x (all if the list is empty), each named once; the result has the shape that is left. */
static void reduced(Plan *p, const Tensor *x, bool keep, const Tensor *to) {
    const Arg *axes = &p->e->args[1];
    bool gone[MAX_DIMS] = {false};
    for (uint64_t i = 0; i < axes->count; i++) {
        int a = axis_in(p, x, axes->integers[i]);
        need(p, !gone[a], "axis %d twice", a);
        gone[a] = true;
    }
    gone_of(p->e, gone);
    int64_t dims[MAX_DIMS];
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!gone[i]) dims[rank++] = x->dims[i];
        else if (keep) dims[rank++] = 1;
    has_shape(p, to, rank, dims);
}

/* The elements that make element `i` of a result, as a view. */
static Tensor group(const Tensor *x, const bool *gone, int64_t i) {
    Tensor view = *x;
    view.rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (gone[d]) {
            view.dims[view.rank] = x->dims[d];
            view.strides[view.rank++] = x->strides[d];
        }
    for (int d = x->rank; d-- > 0;)
        if (!gone[d]) {
            view.offset += i % x->dims[d] * x->strides[d];
            i /= x->dims[d];
        }
    return view;
}

static void accumulate(const Tensor *from, const Tensor *to, int64_t at, bool times) {
    int64_t count = count_of(from);
    if (is_int(to->dtype)) {
        uint64_t total = times;
        for (int64_t k = 0; k < count; k++) {
            uint64_t x = (uint64_t)load_int(from, place(from, k));
            total = times ? total * x : total + x;
        }
        store_int(to, at, (int64_t)total);
        return;
    }
    double parts[4] = {times, times, times, times};
    int kept = to->dtype == F64 ? F64 : to->dtype;
    for (int64_t k = 0; k < count; k++) {
        double x = load(from, place(from, k));
        parts[k % 4] = rounded(times ? parts[k % 4] * x : parts[k % 4] + x, kept);
    }
    store(to, at, times ? (parts[0] * parts[2]) * (parts[1] * parts[3]) : (parts[0] + parts[2]) + (parts[1] + parts[3]));
}

static void run_ReduceSum(Executor *e) {
    bool gone[MAX_DIMS];
    gone_of(e, gone);
    for (int64_t i = 0, n = count_of(T(4)); i < n; i++) {
        Tensor from = group(T(0), gone, i);
        accumulate(&from, T(4), place(T(4), i), false);
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
    reduced(&p, a, keep, b);
    return done(&p, run_ReduceSum, size, executor);
}
PHASE_TWO(ReduceSum)

static void run_ProdDim(Executor *e) {
    bool gone[MAX_DIMS] = {false};
    gone[INT(1)] = true;
    for (int64_t i = 0, n = count_of(T(4)); i < n; i++) {
        Tensor from = group(T(0), gone, i);
        accumulate(&from, T(4), place(T(4), i), true);
    }
}

EXPORT Status aclnnProdDimGetWorkspaceSize(const Tensor *x, int64_t dim, bool keep, int32_t dtype, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnProdDim");
    Tensor *a = in(&p, x, ANY);
    whole(&p, dim);
    whole(&p, keep);
    whole(&p, dtype);
    Tensor *b = out(&p, y, ANY);
    need(&p, b->dtype == dtype, "the result has another dtype than asked for");
    int64_t dims[MAX_DIMS];
    int rank = 0, axis = axis_in(&p, a, dim);
    need(&p, a->rank > 0, "rank 0");
    for (int i = 0; i < a->rank; i++)
        if (i != axis) dims[rank++] = a->dims[i];
        else if (keep) dims[rank++] = 1;
    has_shape(&p, b, rank, dims);
    return done(&p, run_ProdDim, size, executor);
}
PHASE_TWO(ProdDim)

/* Extremes: of nan beside numbers nothing is known, so nan is passed over here. */
#define EXTREME(name, better)                                                                                             \
    static void run_##name(Executor *e) {                                                                                 \
        bool gone[MAX_DIMS];                                                                                              \
        gone_of(e, gone);                                                                                                 \
        for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {                                                             \
            Tensor from = group(T(0), gone, i);                                                                           \
            int64_t count = count_of(&from), best = place(&from, 0);                                                      \
            for (int64_t k = 1; k < count; k++) {                                                                         \
                int64_t at = place(&from, k);                                                                             \
                double x = load(&from, at), y = load(&from, best);                                                        \
                if (is_int(from.dtype) ? load_int(&from, at) better load_int(&from, best) : y != y || x better y) best = at; \
            }                                                                                                             \
            move(T(3), place(T(3), i), &from, best);                                                                      \
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
        need(&p, count_of(a) > 0, "an extreme of nothing");                                                               \
        reduced(&p, a, keep, b);                                                                                          \
        return done(&p, run_##name, size, executor);                                                                      \
    }                                                                                                                     \
    PHASE_TWO(name)

EXTREME(Amax, >)
EXTREME(Amin, <)

#define LOGICAL(name, start, gives)                                                                                       \
    static void run_##name(Executor *e) {                                                                                 \
        bool gone[MAX_DIMS];                                                                                              \
        gone_of(e, gone);                                                                                                 \
        for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {                                                             \
            Tensor from = group(T(0), gone, i);                                                                           \
            bool found = start;                                                                                           \
            for (int64_t k = 0, many = count_of(&from); k < many; k++) {                                                  \
                int64_t at = place(&from, k);                                                                             \
                if ((is_int(from.dtype) ? load_int(&from, at) != 0 : load(&from, at) != 0) != start) found = !start;      \
            }                                                                                                             \
            store_int(T(3), place(T(3), i), found);                                                                       \
        }                                                                                                                 \
    }                                                                                                                     \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, const Ints *dims, bool keep, Tensor *y, uint64_t *size,  \
                                                Executor **executor) {                                                    \
        Plan p = plan("aclnn" #name);                                                                                     \
        Tensor *a = in(&p, x, ANY);                                                                                       \
        integers(&p, dims, false);                                                                                        \
        whole(&p, keep);                                                                                                  \
        Tensor *b = out(&p, y, gives);                                                                                    \
        reduced(&p, a, keep, b);                                                                                          \
        return done(&p, run_##name, size, executor);                                                                      \
    }                                                                                                                     \
    PHASE_TWO(name)

LOGICAL(All, true, "bool u8")
LOGICAL(Any, false, "bool")

/* ---------------------------------------------------------------------------------------------- running sums */
/* Calls a function with the first element and the step of every line of a tensor along an axis. */
#define LINES(x, axis, i, at)                                                                        \
    for (int64_t i = 0, lines_ = count_of(x) / ((x)->dims[axis] ? (x)->dims[axis] : 1); i < lines_; i++) \
        for (int64_t at = line_start(x, axis, i), once_ = 1; once_; once_ = 0)

static int64_t line_start(const Tensor *x, int axis, int64_t i) {
    Tensor rest = *x;
    rest.dims[axis] = 1;
    return place(&rest, i);
}

static void run_line(const Tensor *x, int64_t from, const Tensor *y, int64_t to, int axis, bool exclusive, bool reverse, bool times) {
    int64_t n = x->dims[axis];
    double sum = times;
    uint64_t whole_sum = times;
    for (int64_t k = 0; k < n; k++) {
        int64_t j = reverse ? n - 1 - k : k, in_at = from + j * x->strides[axis], out_at = to + j * y->strides[axis];
        if (is_int(y->dtype)) {
            uint64_t v = (uint64_t)load_int(x, in_at), next = times ? whole_sum * v : whole_sum + v;
            store_int(y, out_at, (int64_t)(exclusive ? whole_sum : next));
            whole_sum = next;
        } else {
            double v = load(x, in_at), next = rounded(times ? sum * v : sum + v, y->dtype);
            store(y, out_at, exclusive ? sum : next);
            sum = next;
        }
    }
}

static void run_CumsumV2(Executor *e) {
    int axis = (int)INT(1);
    LINES(T(0), axis, i, from) run_line(T(0), from, T(4), line_start(T(4), axis, i), axis, INT(2), INT(3), false);
}

EXPORT Status aclnnCumsumV2GetWorkspaceSize(const Tensor *x, int64_t dim, bool exclusive, bool reverse, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnCumsumV2");
    Tensor *a = in(&p, x, NUMBERS);
    whole(&p, dim);
    whole(&p, exclusive);
    whole(&p, reverse);
    Tensor *b = out(&p, y, NUMBERS);
    need(&p, a->rank > 0 && a->dtype == b->dtype, "rank 0, or another dtype");
    axis_in(&p, a, dim);
    same_shape(&p, b, a);
    return done(&p, run_CumsumV2, size, executor);
}
PHASE_TWO(CumsumV2)

static void run_Cumprod(Executor *e) {
    int axis = (int)INT(1);
    LINES(T(0), axis, i, from) run_line(T(0), from, T(3), line_start(T(3), axis, i), axis, false, false, true);
}

#define PRODUCTS "u8 i8 i16 u16 i32 u32 i64 u64 " ALL_FLOATS
EXPORT Status aclnnCumprodGetWorkspaceSize(const Tensor *x, const Scalar *dim, int32_t dtype, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnCumprod");
    Tensor *a = in(&p, x, PRODUCTS);
    number(&p, dim);
    whole(&p, dtype);
    Tensor *b = out(&p, y, PRODUCTS);
    need(&p, a->rank > 0 && b->dtype == dtype, "rank 0, or another dtype than asked for");
    axis_in(&p, a, p.e->args[1].integer);
    same_shape(&p, b, a);
    return done(&p, run_Cumprod, size, executor);
}
PHASE_TWO(Cumprod)
