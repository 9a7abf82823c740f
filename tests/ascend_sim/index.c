/* Operators that read or write at positions.  What lies outside is undefined on the device: here it is a violation. */
#include "ops.h"

static int64_t position(const Tensor *index, int64_t at, int64_t size, const char *name) {
    int64_t found = load_int(index, at);
    if (found >= 0 && found < size) return found;
    sim_violation("%s: position %lld of %lld", name, (long long)found, (long long)size);
    return 0;
}

#define POSITIONS "i32 i64"

/* ---------------------------------------------------------------------------------------------- reading */
static void run_Gather(Executor *e) {
    int axis = (int)INT(1);
    for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {
        int64_t index[MAX_DIMS];
        index_of(T(3), i, index);
        index[axis] = position(T(2), place(T(2), i), T(0)->dims[axis], "Gather");
        move(T(3), place(T(3), i), T(0), at_index(T(0), index));
    }
}

EXPORT Status aclnnGatherGetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnGather");
    Tensor *a = in(&p, x, WORDS);
    whole(&p, dim);
    Tensor *b = in(&p, index, POSITIONS), *to = out(&p, y, WORDS);
    int axis = axis_in(&p, a, dim);
    need(&p, a->rank == b->rank && a->rank > 0 && a->dtype == to->dtype, "another rank or dtype");
    for (int d = 0; d < a->rank && !p.status; d++) need(&p, d == axis || b->dims[d] <= a->dims[d], "the index is wider than what it reads");
    same_shape(&p, to, b);
    return done(&p, run_Gather, size, executor);
}
PHASE_TWO(Gather)

/* Slices at positions of an axis; the index's dimensions stand in its place. */
static void run_take(Executor *e) {
    int axis = (int)INT(1), many = T(2)->rank;
    for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {
        int64_t index[MAX_DIMS], from[MAX_DIMS];
        index_of(T(3), i, index);
        for (int d = 0; d < axis; d++) from[d] = index[d];
        from[axis] = position(T(2), at_index(T(2), index + axis), T(0)->dims[axis], e->name);
        for (int d = axis + 1; d < T(0)->rank; d++) from[d] = index[d - 1 + many];
        move(T(3), place(T(3), i), T(0), at_index(T(0), from));
    }
}

static Status plan_take(const char *name, const char *dtypes, int least, int most, const Tensor *x, int64_t dim, const Tensor *index, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan(name);
    Tensor *a = in(&p, x, dtypes);
    whole(&p, dim);
    Tensor *b = in(&p, index, POSITIONS), *to = out(&p, y, dtypes);
    int axis = axis_in(&p, a, dim), rank = a->rank - 1 + b->rank;
    int64_t dims[2 * MAX_DIMS];
    need(&p, b->rank >= least && b->rank <= most && rank <= MAX_DIMS && a->rank > 0 && a->dtype == to->dtype, "another rank or dtype");
    for (int d = 0; d < rank && !p.status; d++) dims[d] = d < axis ? a->dims[d] : d < axis + b->rank ? b->dims[d - axis] : a->dims[d + 1 - b->rank];
    if (!p.status) has_shape(&p, to, rank, dims);
    return done(&p, run_take, size, executor);
}

EXPORT Status aclnnGatherV2GetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, Tensor *y, uint64_t *size, Executor **executor) {
    return plan_take("aclnnGatherV2", ANY, 1, 8, x, dim, index, y, size, executor);
}
PHASE_TWO(GatherV2)

EXPORT Status aclnnIndexSelectGetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, Tensor *y, uint64_t *size, Executor **executor) {
    return plan_take("aclnnIndexSelect", WORDS, 1, 1, x, dim, index, y, size, executor);
}
PHASE_TWO(IndexSelect)

static void run_SearchSorted(Executor *e) {
    const Tensor *row = T(0), *x = T(1), *order = T(4);
    int64_t n = row->dims[row->rank - 1], step = row->strides[row->rank - 1];
    for (int64_t i = 0, many = count_of(x); i < many; i++) {
        int64_t index[MAX_DIMS], low = 0, high = n, start = row->offset, first = order->offset;
        index_of(x, i, index);
        for (int d = 0; d + 1 < row->rank; d++) start += index[d] * row->strides[d], first += index[d] * order->strides[d];
        while (low < high) {
            int64_t middle = (low + high) / 2, at = start + position(order, first + middle * order->strides[order->rank - 1], n, "SearchSorted") * step, me = place(x, i);
            bool before = is_int(x->dtype) ? (INT(3) ? load_int(row, at) <= load_int(x, me) : load_int(row, at) < load_int(x, me))
                                           : (INT(3) ? load(row, at) <= load(x, me) : load(row, at) < load(x, me));
            if (before) low = middle + 1;
            else high = middle;
        }
        store_int(T(5), place(T(5), i), low);
    }
}

#define SEARCHED "u8 i8 i16 i32 i64 f16 f32 f64"
EXPORT Status aclnnSearchSortedGetWorkspaceSize(const Tensor *row, const Tensor *x, bool int32, bool right, const Tensor *sorter, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnSearchSorted");
    Tensor *a = in(&p, row, SEARCHED), *b = in(&p, x, SEARCHED);
    whole(&p, int32);
    whole(&p, right);
    Tensor *c = in(&p, sorter, "i64");
    Tensor *to = out(&p, y, POSITIONS);
    same_shape(&p, c, a);
    need(&p, a->rank > 0 && a->dtype == b->dtype && to->dtype == (int32 ? I32 : I64), "rank 0, or other dtypes");
    need(&p, a->rank == 1 || a->rank == b->rank, "rows and numbers of other ranks");
    for (int d = 0; d + 1 < a->rank && !p.status; d++) need(&p, a->dims[d] == b->dims[d], "other rows");
    same_shape(&p, to, b);
    return done(&p, run_SearchSorted, size, executor);
}
PHASE_TWO(SearchSorted)

/* ---------------------------------------------------------------------------------------------- writing */
static void put(const Tensor *to, int64_t at, const Tensor *from, int64_t position_, int64_t way, double alpha) {
    if (way == 0) move(to, at, from, position_);
    else if (is_int(to->dtype)) {
        int64_t x = load_int(to, at), y = load_int(from, position_);
        store_int(to, at, to->dtype == BOOL ? (x | y) : way == 1 ? x + (int64_t)alpha * y : x * y);
    } else {
        double x = load(to, at), y = load(from, position_);
        store(to, at, way == 1 ? x + alpha * y : x * y);
    }
}

static void copy_of(const Tensor *to, const Tensor *from) {
    for (int64_t i = 0, n = count_of(to); i < n; i++) move(to, place(to, i), from, place(from, i));
}

static void scatter(Executor *e, const Tensor *to, int64_t way) {
    int axis = (int)INT(1);
    copy_of(to, T(0));
    for (int64_t k = 0, n = count_of(T(2)); k < n; k++) {
        int64_t i = way ? n - 1 - k : k, index[MAX_DIMS], from; /* no order is promised */
        index_of(T(2), i, index);
        from = at_index(T(3), index);
        index[axis] = position(T(2), place(T(2), i), to->dims[axis], e->name);
        put(to, at_index(to, index), T(3), from, way, 1);
    }
}

static void run_ScatterAdd(Executor *e) { scatter(e, T(4), 1); }
static void run_Scatter(Executor *e) { scatter(e, T(5), INT(4)); }

static void scattered(Plan *p, const Tensor *a, int64_t dim, const Tensor *b, const Tensor *c, const Tensor *to) {
    int axis = axis_in(p, a, dim);
    need(p, a->rank > 0 && a->rank == b->rank && b->rank == c->rank && a->dtype == to->dtype && c->dtype == a->dtype, "another rank or dtype");
    for (int d = 0; d < a->rank && !p->status; d++)
        need(p, b->dims[d] <= c->dims[d] && (d == axis || b->dims[d] <= a->dims[d]), "the index is too wide");
    need(p, count_of(b) > 0, "no positions");
    same_shape(p, to, a);
}

EXPORT Status aclnnScatterAddGetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, const Tensor *source, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnScatterAdd");
    Tensor *a = in(&p, x, ANY);
    whole(&p, dim);
    Tensor *b = in(&p, index, POSITIONS), *c = in(&p, source, ANY), *to = out(&p, y, ANY);
    dense(&p, c);
    dense(&p, to);
    scattered(&p, a, dim, b, c, to);
    return done(&p, run_ScatterAdd, size, executor);
}
PHASE_TWO(ScatterAdd)

EXPORT Status aclnnScatterGetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, const Tensor *source, int64_t reduce, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnScatter");
    Tensor *a = in(&p, x, ANY);
    whole(&p, dim);
    Tensor *b = in(&p, index, POSITIONS), *c = in(&p, source, ANY);
    whole(&p, reduce);
    Tensor *to = out(&p, y, ANY);
    need(&p, reduce >= 0 && reduce <= 2, "reduce %lld", (long long)reduce);
    scattered(&p, a, dim, b, c, to);
    return done(&p, run_Scatter, size, executor);
}
PHASE_TWO(Scatter)

static void run_IndexAdd(Executor *e) {
    int axis = (int)INT(1);
    copy_of(T(5), T(0));
    for (int64_t k = 0, n = count_of(T(3)); k < n; k++) {
        int64_t i = n - 1 - k, index[MAX_DIMS], from;
        index_of(T(3), i, index);
        from = at_index(T(3), index);
        int64_t at = T(2)->offset + (T(2)->rank ? index[axis] * T(2)->strides[0] : 0);
        index[axis] = position(T(2), at, T(0)->dims[axis], "IndexAdd");
        put(T(5), at_index(T(5), index), T(3), from, 1, REAL(4));
    }
}

EXPORT Status aclnnIndexAddGetWorkspaceSize(const Tensor *x, int64_t dim, const Tensor *index, const Tensor *source, const Scalar *alpha, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnIndexAdd");
    Tensor *a = in(&p, x, ANY);
    whole(&p, dim);
    Tensor *b = in(&p, index, POSITIONS), *c = in(&p, source, ANY);
    number(&p, alpha);
    Tensor *to = out(&p, y, ANY);
    int axis = axis_in(&p, a, dim);
    dense(&p, c);
    need(&p, b->rank <= 1 && a->rank > 0 && a->rank == c->rank && a->dtype == c->dtype && to->dtype == a->dtype, "another rank or dtype");
    for (int d = 0; d < a->rank && !p.status; d++) need(&p, c->dims[d] == (d == axis ? count_of(b) : a->dims[d]), "the source has another shape");
    need(&p, count_of(c) > 0, "no positions");
    same_shape(&p, to, a);
    return done(&p, run_IndexAdd, size, executor);
}
PHASE_TWO(IndexAdd)
