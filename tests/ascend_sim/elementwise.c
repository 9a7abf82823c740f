/* Operators of elements. */
#include "ops.h"

/* One operand, one result of the same shape. */
#define UNARY(name, takes, gives, real_value, int_value)                                                           \
    static void run_##name(Executor *e) {                                                                          \
        for (int64_t i = 0, n = count_of(T(1)); i < n; i++) {                                                      \
            if (is_int(T(0)->dtype) && is_int(T(1)->dtype)) {                                                      \
                int64_t x = load_int(T(0), place(T(0), i));                                                        \
                (void)x;                                                                                           \
                store_int(T(1), place(T(1), i), int_value);                                                        \
            } else {                                                                                               \
                double x = load(T(0), place(T(0), i));                                                             \
                (void)x;                                                                                           \
                store(T(1), place(T(1), i), real_value);                                                           \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, Tensor *y, uint64_t *size, Executor **executor) { \
        Plan p = plan("aclnn" #name);                                                                              \
        Tensor *a = in(&p, x, takes), *b = out(&p, y, gives);                                                      \
        same_shape(&p, b, a);                                                                                      \
        return done(&p, run_##name, size, executor);                                                               \
    }                                                                                                              \
    PHASE_TWO(name)

UNARY(Exp, ANY, ALL_FLOATS, exp(x), 0)
UNARY(Expm1, ANY, ALL_FLOATS, expm1(x), 0)
UNARY(Exp2, ANY, ALL_FLOATS, exp2(x), 0)
UNARY(Log, ANY, ALL_FLOATS, log(x), 0)
UNARY(Log1p, ANY, ALL_FLOATS, log1p(x), 0)
UNARY(Log2, ANY, ALL_FLOATS, log2(x), 0)
UNARY(Log10, ANY, ALL_FLOATS, log10(x), 0)
UNARY(Sqrt, ANY, ALL_FLOATS, sqrt(x), 0)
UNARY(Rsqrt, ANY, ALL_FLOATS, 1 / sqrt(x), 0)
UNARY(Reciprocal, ANY, ALL_FLOATS, 1 / x, 0)
UNARY(Sin, ANY, ALL_FLOATS, sin(x), 0)
UNARY(Cos, ANY, ALL_FLOATS, cos(x), 0)
UNARY(Tan, ANY, ALL_FLOATS, tan(x), 0)
UNARY(Asin, ANY, ALL_FLOATS, asin(x), 0)
UNARY(Acos, ANY, ALL_FLOATS, acos(x), 0)
UNARY(Atan, ANY, ALL_FLOATS, atan(x), 0)
UNARY(Sinh, ANY, ALL_FLOATS, sinh(x), 0)
UNARY(Cosh, ANY, ALL_FLOATS, cosh(x), 0)
UNARY(Tanh, ANY, ALL_FLOATS, tanh(x), 0)
UNARY(Sigmoid, ANY, ALL_FLOATS, 1 / (1 + exp(-x)), 0)
UNARY(Erf, "bool u8 i8 i16 i32 i64 f16 f32 f64", "f16 f32 f64", erf(x), 0)
UNARY(Erfc, ANY, ALL_FLOATS, erfc(x), 0)
UNARY(Abs, ANY, ANY, fabs(x), x < 0 ? -x : x)
UNARY(Neg, INTS_ " f16 bf16 f32 f64", INTS_ " f16 bf16 f32 f64", -x, -x)
UNARY(Sign, ANY, ANY, x != x ? x : (x > 0) - (x < 0), (x > 0) - (x < 0))
UNARY(Relu, "u8 i8 i32 i64 f16 bf16 f32", "u8 i8 i32 i64 f16 bf16 f32", x != x ? x : x > 0 ? x : 0, x > 0 ? x : 0)
UNARY(Floor, NUMBERS, NUMBERS, floor(x), x)
UNARY(Ceil, NUMBERS, NUMBERS, ceil(x), x)
UNARY(Trunc, NUMBERS, NUMBERS, trunc(x), x)
UNARY(Round, NUMBERS, NUMBERS, nearbyint(x), x)
UNARY(IsFinite, ANY, "bool", isfinite(x) != 0, 1)
UNARY(IsInf, ANY, "bool", isinf(x) != 0, 0)
UNARY(LogicalNot, ANY, "bool", x == 0, x == 0)
UNARY(BitwiseNot, "bool " INTS_, "bool " INTS_, 0, T(0)->dtype == BOOL ? !x : ~x)

/* Two operands that broadcast; both of one dtype. */
#define BINARY(name, takes, gives, real_value, int_value)                                                        \
    static void run_##name(Executor *e) {                                                                        \
        for (int64_t i = 0, n = count_of(T(2)); i < n; i++) {                                                    \
            if (is_int(T(0)->dtype)) {                                                                           \
                int64_t x = load_int(T(0), place_in(T(0), T(2), i)), y = load_int(T(1), place_in(T(1), T(2), i)); \
                (void)x, (void)y;                                                                                \
                store_int(T(2), place(T(2), i), int_value);                                                      \
            } else {                                                                                             \
                double x = load(T(0), place_in(T(0), T(2), i)), y = load(T(1), place_in(T(1), T(2), i));         \
                (void)x, (void)y;                                                                                \
                store(T(2), place(T(2), i), real_value);                                                         \
            }                                                                                                    \
        }                                                                                                        \
    }                                                                                                            \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, const Tensor *y, Tensor *z, uint64_t *size,     \
                                                Executor **executor) {                                           \
        Plan p = plan("aclnn" #name);                                                                            \
        const Tensor *xs[2] = {in(&p, x, takes), in(&p, y, takes)};                                              \
        Tensor *to = out(&p, z, gives);                                                                          \
        need(&p, xs[0]->dtype == xs[1]->dtype, "the operands have different dtypes");                            \
        broadcasts(&p, xs, 2, to);                                                                               \
        return done(&p, run_##name, size, executor);                                                             \
    }                                                                                                            \
    PHASE_TWO(name)

static int64_t floor_div(int64_t x, int64_t y) { return y == 0 ? 0 : x / y - (x % y != 0 && (x < 0) != (y < 0)); }
static int64_t power(int64_t x, int64_t n) {
    int64_t result = 1;
    for (; n > 0; n >>= 1, x = (int64_t)((uint64_t)x * (uint64_t)x))
        if (n & 1) result = (int64_t)((uint64_t)result * (uint64_t)x);
    return result;
}
static double remainder_of(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static double log_add_exp(double x, double y) {
    double most = x > y ? x : y, least = x > y ? y : x;
    return isinf(most) ? most : most + log1p(exp(least - most));
}

BINARY(Mul, ANY, ANY, x *y, (int64_t)((uint64_t)x * (uint64_t)y))
BINARY(Div, NUMBERS, ALL_FLOATS, x / y, 0)
BINARY(FloorDivide, NUMBERS, NUMBERS, floor(x / y), floor_div(x, y))
BINARY(RemainderTensorTensor, "i32 i64 f16 bf16 f32 f64", "i32 i64 f16 bf16 f32 f64", remainder_of(x, y), y == 0 ? 0 : x - y * floor_div(x, y))
BINARY(FmodTensor, "u8 i8 i32 i64 f16 bf16 f32 f64", "u8 i8 i32 i64 f16 bf16 f32 f64", fmod(x, y), y == 0 ? 0 : x % y)
BINARY(PowTensorTensor, INTS_ " f16 bf16 f32 f64", INTS_ " f16 bf16 f32 f64", pow(x, y), power(x, y))
BINARY(Maximum, ANY, ANY, x != x ? x : y != y ? y : x > y ? x : y, x > y ? x : y)
BINARY(Minimum, ANY, ANY, x != x ? x : y != y ? y : x < y ? x : y, x < y ? x : y)
BINARY(Atan2, ANY, ALL_FLOATS, atan2(x, y), 0)
BINARY(LogAddExp, "f16 bf16 f32", "f16 bf16 f32", log_add_exp(x, y), 0)
BINARY(EqTensor, ANY, "bool", x == y, x == y)
BINARY(NeTensor, ANY, "bool", x != y, x != y)
BINARY(LtTensor, ANY, "bool", x < y, x < y)
BINARY(LeTensor, ANY, "bool", x <= y, x <= y)
BINARY(GtTensor, ANY, "bool", x > y, x > y)
BINARY(GeTensor, ANY, "bool", x >= y, x >= y)
BINARY(LogicalAnd, ANY, "bool", x && y, x && y)
BINARY(LogicalOr, ANY, "bool", x || y, x || y)
BINARY(LogicalXor, ANY, "bool", !x != !y, !x != !y)
BINARY(BitwiseAndTensor, "bool " INTS_, "bool " INTS_, 0, x &y)
BINARY(BitwiseOrTensor, "bool " INTS_, "bool " INTS_, 0, x | y)
BINARY(BitwiseXorTensor, "bool " INTS_, "bool " INTS_, 0, x ^ y)

/* x + alpha * y and x - alpha * y */
#define SUM(name, sign)                                                                                              \
    static void run_##name(Executor *e) {                                                                            \
        for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {                                                        \
            int64_t a = place_in(T(0), T(3), i), b = place_in(T(1), T(3), i);                                        \
            if (is_int(T(0)->dtype)) store_int(T(3), place(T(3), i), load_int(T(0), a) sign INT(2) * load_int(T(1), b)); \
            else store(T(3), place(T(3), i), load(T(0), a) sign REAL(2) * load(T(1), b));                            \
        }                                                                                                            \
    }                                                                                                                \
    EXPORT Status aclnn##name##GetWorkspaceSize(const Tensor *x, const Tensor *y, const Scalar *alpha, Tensor *z,    \
                                                uint64_t *size, Executor **executor) {                               \
        Plan p = plan("aclnn" #name);                                                                                \
        const Tensor *xs[2] = {in(&p, x, ANY), in(&p, y, ANY)};                                                      \
        number(&p, alpha);                                                                                           \
        Tensor *to = out(&p, z, ANY);                                                                                \
        need(&p, xs[0]->dtype == xs[1]->dtype, "the operands have different dtypes");                                \
        broadcasts(&p, xs, 2, to);                                                                                   \
        return done(&p, run_##name, size, executor);                                                                 \
    }                                                                                                                \
    PHASE_TWO(name)

SUM(Add, +)
SUM(Sub, -)

static void run_SWhere(Executor *e) {
    for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {
        const Tensor *from = load_int(T(0), place_in(T(0), T(3), i)) ? T(1) : T(2);
        int64_t at = place_in(from, T(3), i);
        if (is_int(from->dtype)) store_int(T(3), place(T(3), i), load_int(from, at));
        else store(T(3), place(T(3), i), load(from, at));
    }
}
EXPORT Status aclnnSWhereGetWorkspaceSize(const Tensor *condition, const Tensor *x, const Tensor *y, Tensor *z, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnSWhere");
    const Tensor *xs[3] = {in(&p, condition, "bool u8"), in(&p, x, ANY " u16 u32 u64"), in(&p, y, ANY " u16 u32 u64")};
    Tensor *to = out(&p, z, ANY " u16 u32 u64");
    need(&p, xs[1]->dtype == xs[2]->dtype && to->dtype == xs[1]->dtype, "the operands have different dtypes");
    broadcasts(&p, xs, 3, to);
    return done(&p, run_SWhere, size, executor);
}
PHASE_TWO(SWhere)

static void run_Cast(Executor *e) {
    for (int64_t i = 0, n = count_of(T(2)); i < n; i++) {
        if (is_int(T(0)->dtype)) store_int(T(2), place(T(2), i), load_int(T(0), place(T(0), i)));
        else store(T(2), place(T(2), i), load(T(0), place(T(0), i)));
    }
}
EXPORT Status aclnnCastGetWorkspaceSize(const Tensor *x, int32_t dtype, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnCast");
    Tensor *a = in(&p, x, ANY " u16 u32 u64");
    whole(&p, dtype);
    Tensor *b = out(&p, y, ANY " u16 u32 u64");
    need(&p, b->dtype == dtype, "the result has another dtype than asked for");
    same_shape(&p, b, a);
    return done(&p, run_Cast, size, executor);
}
PHASE_TWO(Cast)

static void run_InplaceCopy(Executor *e) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) {
        int64_t from = place_in(T(1), T(0), i);
        if (is_int(T(1)->dtype)) store_int(T(0), place(T(0), i), load_int(T(1), from));
        else store(T(0), place(T(0), i), load(T(1), from));
    }
}
EXPORT Status aclnnInplaceCopyGetWorkspaceSize(Tensor *to, const Tensor *from, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnInplaceCopy");
    Tensor *a = inout(&p, to, ANY " u16 u32 u64");
    const Tensor *xs[2] = {a, in(&p, from, ANY " u16 u32 u64")};
    broadcasts(&p, xs, 2, a);
    return done(&p, run_InplaceCopy, size, executor);
}
PHASE_TWO(InplaceCopy)

static void run_InplaceFillScalar(Executor *e) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) {
        if (is_int(T(0)->dtype)) store_int(T(0), place(T(0), i), INT(1));
        else store(T(0), place(T(0), i), REAL(1));
    }
}
EXPORT Status aclnnInplaceFillScalarGetWorkspaceSize(Tensor *to, const Scalar *value, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnInplaceFillScalar");
    inout(&p, to, ANY " u16 u32 u64");
    number(&p, value);
    return done(&p, run_InplaceFillScalar, size, executor);
}
PHASE_TWO(InplaceFillScalar)
