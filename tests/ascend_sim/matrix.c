/* Products of matrices.  Sums of products are sums of float32, in blocks. */
#include "ops.h"

static void run_matmul(Executor *e) {
    const Tensor *a = T(0), *b = T(1), *to = T(2);
    int64_t rows = to->dims[to->rank - 2], columns = to->dims[to->rank - 1], inner = a->dims[a->rank - 1];
    int64_t ar = a->strides[a->rank - 2], ac = a->strides[a->rank - 1], br = b->strides[b->rank - 2], bc = b->strides[b->rank - 1];
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
        need(&p, a->dims[a->rank - 1] > 0, "no inner size");
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
