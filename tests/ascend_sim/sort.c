/* Sorting along an axis: stable, nan is the greatest. */
#include "ops.h"

#include <stdlib.h>

typedef struct { double real; int64_t whole, place; } Item;
static __thread bool down_;

/* The order of two values alone: -1, 0, 1. */
static int order_of(const Item *a, const Item *b) {
    bool first = a->real != a->real, second = b->real != b->real;
    if (first || second) return first - second;
    if (a->real != b->real) return a->real < b->real ? -1 : 1;
    return (a->whole > b->whole) - (a->whole < b->whole);
}

static int compare(const void *x, const void *y) {
    const Item *a = x, *b = y;
    int found = order_of(a, b);
    if (found) return down_ ? -found : found;
    return (a->place > b->place) - (a->place < b->place);
}

static void run_Sort(Executor *e) {
    int axis = (int)INT(2);
    const Tensor *x = T(0), *values = T(4), *places = T(5);
    int64_t n = x->dims[axis];
    Tensor rest = *x, to = *values, where = *places;
    rest.dims[axis] = to.dims[axis] = where.dims[axis] = 1;
    Item *items = malloc((size_t)(n ? n : 1) * sizeof *items);
    down_ = INT(3);
    for (int64_t i = 0, lines = count_of(&rest); n && i < lines; i++) {
        int64_t from = place(&rest, i), into = place(&to, i), at = place(&where, i);
        for (int64_t k = 0; k < n; k++) {
            int64_t position = from + k * x->strides[axis];
            items[k] = (Item){load(x, position), is_int(x->dtype) ? load_int(x, position) : 0, k};
        }
        qsort(items, (size_t)n, sizeof *items, compare);
        for (int64_t k = 0; k < n; k++) {
            move(values, into + k * values->strides[axis], x, from + items[k].place * x->strides[axis]);
            store_int(places, at + k * places->strides[axis], items[k].place);
        }
    }
    free(items);
}

EXPORT Status aclnnSortGetWorkspaceSize(const Tensor *x, bool stable, int64_t dim, bool descending, Tensor *y, Tensor *index, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnSort");
    Tensor *a = in(&p, x, "bool u8 i8 i16 i32 i64 " FLOATS_);
    whole(&p, stable);
    whole(&p, dim);
    whole(&p, descending);
    Tensor *b = out(&p, y, ANY), *c = out(&p, index, "i64");
    int axis = axis_in(&p, a, dim);
    need(&p, stable, "only the stable order is simulated");
    need(&p, a->rank >= 1 && a->dtype == b->dtype, "rank 0, or another dtype");
    need(&p, a->dtype != BF16 || axis != 1, "bf16 along axis 1");
    same_shape(&p, b, a);
    same_shape(&p, c, a);
    return done(&p, run_Sort, size, executor);
}
PHASE_TWO(Sort)
