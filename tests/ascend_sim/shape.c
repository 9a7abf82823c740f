/* Operators that only move elements: joining, turning, padding, triangles. */
#include "ops.h"

/* ---------------------------------------------------------------------------------------------- joining */
static void run_join(Executor *e, bool stack) {
    const Arg *parts = &e->args[0];
    int axis = (int)INT(1);
    int64_t start = 0;
    for (uint64_t k = 0; k < parts->count; k++) {
        const Tensor *from = &parts->tensors[k];
        Tensor to = *T(2);
        to.offset += start * to.strides[axis];
        if (stack) {
            for (int d = axis; d + 1 < to.rank; d++) to.dims[d] = to.dims[d + 1], to.strides[d] = to.strides[d + 1];
            to.rank--;
            start++;
        } else {
            to.dims[axis] = from->dims[axis];
            start += from->dims[axis];
        }
        for (int64_t i = 0, n = count_of(from); i < n; i++) move(&to, place(&to, i), from, place(from, i));
    }
}

static void run_Cat(Executor *e) { run_join(e, false); }
static void run_Stack(Executor *e) { run_join(e, true); }

EXPORT Status aclnnCatGetWorkspaceSize(const Tensors *xs, int64_t dim, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnCat");
    Arg *parts = list(&p, xs, ANY, false);
    whole(&p, dim);
    Tensor *to = out(&p, y, ANY);
    int axis = axis_in(&p, to, dim);
    int64_t total = 0, dims[MAX_DIMS];
    need(&p, parts->count > 0, "nothing to join");
    for (uint64_t k = 0; k < parts->count && !p.status; k++) {
        const Tensor *x = &parts->tensors[k];
        need(&p, x->rank >= 1 && x->rank == to->rank && x->dtype == to->dtype && count_of(x) > 0, "a part has another rank or dtype, or no elements");
        for (int d = 0; d < to->rank && !p.status; d++) need(&p, d == axis || x->dims[d] == to->dims[d], "the sizes of a part differ");
        if (!p.status) total += x->dims[axis];
    }
    for (int d = 0; d < to->rank; d++) dims[d] = d == axis ? total : to->dims[d];
    has_shape(&p, to, to->rank, dims);
    return done(&p, run_Cat, size, executor);
}
PHASE_TWO(Cat)

EXPORT Status aclnnStackGetWorkspaceSize(const Tensors *xs, int64_t dim, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnStack");
    Arg *parts = list(&p, xs, WORDS, false);
    whole(&p, dim);
    Tensor *to = out(&p, y, WORDS);
    int axis = axis_in(&p, to, dim);
    need(&p, parts->count > 0 && to->rank > 0 && (uint64_t)to->dims[axis] == parts->count, "another number of parts");
    for (uint64_t k = 0; k < parts->count && !p.status; k++) {
        const Tensor *x = &parts->tensors[k];
        need(&p, x->rank + 1 == to->rank && x->rank <= 7 && x->dtype == to->dtype, "a part has another rank or dtype");
        for (int d = 0; d < x->rank && !p.status; d++) need(&p, x->dims[d] == to->dims[d + (d >= axis)], "the sizes of a part differ");
    }
    return done(&p, run_Stack, size, executor);
}
PHASE_TWO(Stack)

/* ---------------------------------------------------------------------------------------------- turning */
static void run_Flip(Executor *e) {
    const Arg *dims = &e->args[1];
    for (int64_t i = 0, n = count_of(T(2)); i < n; i++) {
        int64_t index[MAX_DIMS];
        index_of(T(0), i, index);
        for (uint64_t k = 0; k < dims->count; k++) index[dims->integers[k]] = T(0)->dims[dims->integers[k]] - 1 - index[dims->integers[k]];
        move(T(2), place(T(2), i), T(0), at_index(T(0), index));
    }
}

EXPORT Status aclnnFlipGetWorkspaceSize(const Tensor *x, const Ints *dims, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnFlip");
    Tensor *a = in(&p, x, ANY);
    integers(&p, dims, false);
    Tensor *to = out(&p, y, ANY);
    const Arg *axes = &p.e->args[1];
    bool seen[MAX_DIMS] = {false};
    for (uint64_t k = 0; k < axes->count; k++) {
        int axis = axis_in(&p, a, axes->integers[k]);
        need(&p, !seen[axis], "axis %d twice", axis);
        seen[axis] = true;
    }
    need(&p, a->rank >= 1 && a->dtype == to->dtype, "rank 0, or another dtype");
    same_shape(&p, to, a);
    return done(&p, run_Flip, size, executor);
}
PHASE_TWO(Flip)

static void run_Roll(Executor *e) {
    const Arg *shifts = &e->args[1], *dims = &e->args[2];
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) {
        int64_t index[MAX_DIMS];
        index_of(T(0), i, index);
        for (uint64_t k = 0; k < dims->count; k++) {
            int64_t axis = dims->integers[k], many = T(0)->dims[axis];
            index[axis] = ((index[axis] + shifts->integers[k]) % many + many) % many;
        }
        move(T(3), at_index(T(3), index), T(0), place(T(0), i));
    }
}

#define ROLLED "bool u8 i8 i16 i32 u32 i64 f16 bf16 f32"
EXPORT Status aclnnRollGetWorkspaceSize(const Tensor *x, const Ints *shifts, const Ints *dims, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnRoll");
    Tensor *a = in(&p, x, ROLLED);
    integers(&p, shifts, false);
    integers(&p, dims, false);
    Tensor *to = out(&p, y, ROLLED);
    const Arg *axes = &p.e->args[2];
    need(&p, axes->count == p.e->args[1].count && axes->count > 0 && a->rank > 0, "not as many shifts as axes");
    for (uint64_t k = 0; k < axes->count; k++) axis_in(&p, a, axes->integers[k]);
    need(&p, a->dtype == to->dtype, "another dtype");
    same_shape(&p, to, a);
    return done(&p, run_Roll, size, executor);
}
PHASE_TWO(Roll)

/* ---------------------------------------------------------------------------------------------- triangles */
static void run_triangle(Executor *e, bool lower) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) {
        int64_t index[MAX_DIMS];
        index_of(T(0), i, index);
        int64_t distance = index[T(0)->rank - 1] - index[T(0)->rank - 2];
        if (lower ? distance <= INT(1) : distance >= INT(1)) move(T(2), place(T(2), i), T(0), place(T(0), i));
        else store(T(2), place(T(2), i), 0);
    }
}

static void run_Tril(Executor *e) { run_triangle(e, true); }
static void run_Triu(Executor *e) { run_triangle(e, false); }

#define TRIANGLE(name)                                                                                                    \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, int64_t diagonal, Tensor *y, uint64_t *size, Executor **executor) { \
        Plan p = plan("aclnn" #name);                                                                                     \
        Tensor *a = in(&p, x, WORDS);                                                                                     \
        whole(&p, diagonal);                                                                                              \
        Tensor *to = out(&p, y, WORDS);                                                                                   \
        need(&p, a->rank >= 2 && a->dtype == to->dtype, "a rank under 2, or another dtype");                              \
        same_shape(&p, to, a);                                                                                            \
        return done(&p, run_##name, size, executor);                                                                      \
    }                                                                                                                     \
    PHASE_TWO(name)

TRIANGLE(Tril)
TRIANGLE(Triu)

/* ---------------------------------------------------------------------------------------------- padding */
static void run_ConstantPadNd(Executor *e) {
    const Arg *widths = &e->args[1];
    for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {
        int64_t index[MAX_DIMS];
        bool inside = true;
        index_of(T(3), i, index);
        for (uint64_t k = 0; k < widths->count / 2; k++) {
            int d = T(0)->rank - 1 - (int)k;
            index[d] -= widths->integers[2 * k];
        }
        for (int d = 0; d < T(0)->rank; d++) inside &= index[d] >= 0 && index[d] < T(0)->dims[d];
        if (inside) move(T(3), place(T(3), i), T(0), at_index(T(0), index));
        else put_number(T(3), place(T(3), i), &e->args[2]);
    }
}

EXPORT Status aclnnConstantPadNdGetWorkspaceSize(const Tensor *x, const Ints *widths, const Scalar *value, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnConstantPadNd");
    Tensor *a = in(&p, x, WORDS);
    integers(&p, widths, false);
    number(&p, value);
    Tensor *to = out(&p, y, WORDS);
    const Arg *given = &p.e->args[1];
    int64_t dims[MAX_DIMS];
    need(&p, given->count % 2 == 0 && (int)given->count <= 2 * a->rank, "%d widths for %d dimensions", (int)given->count, a->rank);
    for (int d = 0; d < a->rank; d++) dims[d] = a->dims[d];
    for (uint64_t k = 0; k < given->count / 2 && !p.status; k++) {
        need(&p, given->integers[2 * k] >= 0 && given->integers[2 * k + 1] >= 0, "a width is negative");
        dims[a->rank - 1 - (int)k] += given->integers[2 * k] + given->integers[2 * k + 1];
    }
    need(&p, a->dtype == to->dtype, "another dtype");
    has_shape(&p, to, a->rank, dims);
    return done(&p, run_ConstantPadNd, size, executor);
}
PHASE_TWO(ConstantPadNd)
