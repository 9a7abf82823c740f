/* Operators of elements: one operand, two, three.  Where the vendor's texts leave something open (nan beside a number,
   division of integers by 0, numbers that do not fit), the result is one that nobody may rely on. */
#include "ops.h"

/* One operand, one result of the same shape. */
#define UNARY_FROM(least, name, takes, gives, real_value, int_value)                                               \
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
        one_dtype(&p, a, b);                                                                                       \
        need(&p, a->rank >= least, "rank %d", a->rank);                                                            \
        same_shape(&p, b, a);                                                                                      \
        return done(&p, run_##name, size, executor);                                                               \
    }                                                                                                              \
    PHASE_TWO(name)

#define UNARY(name, takes, gives, real_value, int_value) UNARY_FROM(0, name, takes, gives, real_value, int_value)
#define HALF_REAL "f16 f32 f64"
#define SMALL "bool u8 i8 i16 i32 i64 f16 bf16 f32"

static void one_dtype(Plan *p, const Tensor *a, const Tensor *b) {
    need(p, a->dtype == b->dtype || b->dtype == BOOL || (is_int(a->dtype) && !is_int(b->dtype)), "the result has another dtype");
}

static double inverse_of_erf(double x) {
    if (x != x || fabs(x) > 1) return NAN;
    if (fabs(x) == 1) return x * INFINITY;
    double low = -7, high = 7;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (erf(middle) < x) low = middle;
        else high = middle;
    }
    double y = (low + high) / 2;
    return x == 0 ? 0 : fabs(x) < 0.5 ? y - (erf(y) - x) / (2 / sqrt(M_PI) * exp(-y * y)) : y;
}

UNARY(Exp, "bool i64 " ALL_FLOATS, ALL_FLOATS, exp(x), 0)
UNARY(Expm1, "bool i64 " FLOATS_, ALL_FLOATS, expm1(x), 0)
UNARY(Exp2, ANY, ALL_FLOATS, exp2(x), 0)
UNARY_FROM(1, Log, ANY, ALL_FLOATS, log(x), 0)
UNARY(Log1p, ANY, ALL_FLOATS, log1p(x), 0)
UNARY_FROM(1, Log2, ANY, ALL_FLOATS, log2(x), 0)
UNARY(Log10, ANY, FLOATS_, log10(x), 0)
UNARY(Sqrt, ANY, ALL_FLOATS, sqrt(x), 0)
UNARY(Rsqrt, ANY, ALL_FLOATS, 1 / sqrt(x), 0)
UNARY(Reciprocal, ANY, ALL_FLOATS, 1 / x, 0)
UNARY(Sin, ANY, ALL_FLOATS, sin(x), 0)
UNARY(Cos, ANY, ALL_FLOATS, cos(x), 0)
UNARY(Tan, ANY, ALL_FLOATS, tan(x), 0)
UNARY(Asin, "bool u8 i8 i16 i32 i64 " HALF_REAL, HALF_REAL, asin(x), 0)
UNARY(Acos, "bool u8 i8 i16 i32 i64 " HALF_REAL, HALF_REAL, acos(x), 0)
UNARY(Atan, ANY, ALL_FLOATS, atan(x), 0)
UNARY(Sinh, ANY, ALL_FLOATS, sinh(x), 0)
UNARY(Cosh, HALF_REAL, HALF_REAL, cosh(x), 0)
UNARY(Tanh, SMALL, FLOATS_, tanh(x), 0)
UNARY(Sigmoid, FLOATS_, FLOATS_, 1 / (1 + exp(-x)), 0)
UNARY(Erf, "bool i64 " HALF_REAL, HALF_REAL, erf(x), 0)
UNARY(Erfc, "bool i64 " HALF_REAL, HALF_REAL, erfc(x), 0)
UNARY(Erfinv, SMALL, FLOATS_, inverse_of_erf(x), 0)
UNARY(Abs, ANY, ANY, fabs(x), x < 0 ? -x : x)
UNARY(Neg, "i8 i32 i64 " ALL_FLOATS, "i8 i32 i64 " ALL_FLOATS, -x, -x)
UNARY(Sign, "bool i32 i64 " ALL_FLOATS, "bool i32 i64 " ALL_FLOATS, x != x ? x : (x > 0) - (x < 0), (x > 0) - (x < 0))
UNARY(Floor, "u8 i8 i16 u16 i32 u32 i64 u64 " ALL_FLOATS, "u8 i8 i16 u16 i32 u32 i64 u64 " ALL_FLOATS, floor(x), x)
UNARY(Ceil, ALL_FLOATS, ALL_FLOATS, ceil(x), x)
UNARY(Trunc, FLOATS_, FLOATS_, trunc(x), x)
UNARY(Round, "i32 i64 " ALL_FLOATS, "i32 i64 " ALL_FLOATS, x >= -0.5 && x <= 0 ? 0 : nearbyint(x), x)
UNARY(IsFinite, ALL_FLOATS, "bool", isfinite(x) != 0, 1)
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
        one_dtype(&p, xs[0], to);                                                                                \
        broadcasts(&p, xs, 2, to);                                                                               \
        return done(&p, run_##name, size, executor);                                                             \
    }                                                                                                            \
    PHASE_TWO(name)

static int64_t floor_div(int64_t x, int64_t y) { return y == 0 ? -1 : x / y - (x % y != 0 && (x < 0) != (y < 0)); }
static int64_t power(int64_t x, int64_t n) {
    int64_t result = n < 0 ? -7 : 1;
    for (; n > 0; n >>= 1, x = (int64_t)((uint64_t)x * (uint64_t)x))
        if (n & 1) result = (int64_t)((uint64_t)result * (uint64_t)x);
    return result;
}
static double remainder_of(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
#define ORDERED "bool u8 i8 i16 u16 i32 u32 i64 u64 " ALL_FLOATS

BINARY(Mul, ANY, ANY, x *y, (int64_t)((uint64_t)x * (uint64_t)y))
BINARY(Div, ALL_FLOATS, ALL_FLOATS, x / y, 0)
BINARY(FloorDivide, NUMBERS, NUMBERS, floor(rounded(x / y, T(0)->dtype)), floor_div(x, y))
BINARY(RemainderTensorTensor, "i32 i64 " ALL_FLOATS, "i32 i64 " ALL_FLOATS, remainder_of(x, y), y == 0 ? x : x - y * floor_div(x, y))
BINARY(FmodTensor, "u8 i8 i32 i64 " ALL_FLOATS, "u8 i8 i32 i64 " ALL_FLOATS, fmod(x, y), y == 0 ? x : x % y)
BINARY(PowTensorTensor, NUMBERS, NUMBERS, pow(x, y), power(x, y))
BINARY(Maximum, ANY, ANY, fmax(x, y), x > y ? x : y)
BINARY(Minimum, ANY, ANY, fmin(x, y), x < y ? x : y)
BINARY(Atan2, ANY, ALL_FLOATS, atan2(x, y), 0)
BINARY(EqTensor, ANY, "bool", x == y, x == y)
BINARY(NeTensor, ANY " u64", "bool", x != y, x != y)
BINARY(LtTensor, ORDERED, "bool", x < y, x < y)
BINARY(LeTensor, "bool u8 i8 i16 u16 i32 i64 " ALL_FLOATS, "bool", x <= y, x <= y)
BINARY(GtTensor, ORDERED, "bool", x > y, x > y)
BINARY(GeTensor, ORDERED, "bool", x >= y, x >= y)
BINARY(LogicalAnd, ANY, "bool", x && y, x && y)
BINARY(LogicalOr, ANY, "bool", x || y, x || y)
BINARY(LogicalXor, ANY, "bool", !x != !y, !x != !y)
BINARY(BitwiseAndTensor, "bool u8 i8 i16 u16 i32 i64", "bool u8 i8 i16 u16 i32 i64", 0, x &y)
BINARY(BitwiseOrTensor, "bool u8 i8 i16 u16 i32 u32 i64 u64", "bool u8 i8 i16 u16 i32 u32 i64 u64", 0, x | y)
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
        need(&p, xs[0]->dtype == xs[1]->dtype && to->dtype == xs[0]->dtype, "different dtypes");                     \
        broadcasts(&p, xs, 2, to);                                                                                   \
        return done(&p, run_##name, size, executor);                                                                 \
    }                                                                                                                \
    PHASE_TWO(name)

SUM(Add, +)
SUM(Sub, -)

static void run_InplaceAdd(Executor *e) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) {
        int64_t to = place(T(0), i), b = place_in(T(1), T(0), i);
        if (is_int(T(0)->dtype)) store_int(T(0), to, load_int(T(0), to) + INT(2) * load_int(T(1), b));
        else store(T(0), to, load(T(0), to) + REAL(2) * load(T(1), b));
    }
}
EXPORT Status aclnnInplaceAddGetWorkspaceSize(Tensor *x, const Tensor *y, const Scalar *alpha, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnInplaceAdd");
    Tensor *a = inout(&p, x, ANY);
    const Tensor *xs[2] = {a, in(&p, y, ANY)};
    number(&p, alpha);
    need(&p, a->dtype == xs[1]->dtype, "different dtypes");
    broadcasts(&p, xs, 2, a);
    return done(&p, run_InplaceAdd, size, executor);
}
PHASE_TWO(InplaceAdd)

static void run_Addcmul(Executor *e) {
    for (int64_t i = 0, n = count_of(T(4)); i < n; i++) {
        int64_t a = place_in(T(0), T(4), i), b = place_in(T(1), T(4), i), c = place_in(T(2), T(4), i);
        if (is_int(T(0)->dtype)) store_int(T(4), place(T(4), i), load_int(T(0), a) + INT(3) * load_int(T(1), b) * load_int(T(2), c));
        else store(T(4), place(T(4), i), load(T(0), a) + REAL(3) * rounded(load(T(1), b) * load(T(2), c), F32));
    }
}
#define MULTIPLIED "u8 i8 i32 i64 " ALL_FLOATS
EXPORT Status aclnnAddcmulGetWorkspaceSize(const Tensor *x, const Tensor *y, const Tensor *z, const Scalar *value, Tensor *w, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnAddcmul");
    const Tensor *xs[3] = {in(&p, x, MULTIPLIED), in(&p, y, MULTIPLIED), in(&p, z, MULTIPLIED)};
    number(&p, value);
    Tensor *to = out(&p, w, MULTIPLIED);
    need(&p, xs[0]->dtype == xs[1]->dtype && xs[1]->dtype == xs[2]->dtype && to->dtype == xs[0]->dtype, "different dtypes");
    broadcasts(&p, xs, 3, to);
    return done(&p, run_Addcmul, size, executor);
}
PHASE_TWO(Addcmul)

static void run_SWhere(Executor *e) {
    for (int64_t i = 0, n = count_of(T(3)); i < n; i++) {
        const Tensor *from = load_int(T(0), place_in(T(0), T(3), i)) ? T(1) : T(2);
        move(T(3), place(T(3), i), from, place_in(from, T(3), i));
    }
}
EXPORT Status aclnnSWhereGetWorkspaceSize(const Tensor *condition, const Tensor *x, const Tensor *y, Tensor *z, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnSWhere");
    const Tensor *xs[3] = {in(&p, condition, "bool u8"), in(&p, x, WORDS), in(&p, y, WORDS)};
    Tensor *to = out(&p, z, WORDS);
    need(&p, xs[1]->dtype == xs[2]->dtype && to->dtype == xs[1]->dtype, "the operands have different dtypes");
    broadcasts(&p, xs, 3, to);
    return done(&p, run_SWhere, size, executor);
}
PHASE_TWO(SWhere)

/* ---------------------------------------------------------------------------------------------- copies */
/* A number that the narrower integer cannot hold becomes its greatest or least one here. */
static int64_t fitting(int64_t x, int dtype) {
    int bits = 8 * (int)sim_size_of(dtype);
    if (dtype == BOOL) return x != 0;
    if (bits == 64) return x;
    bool is_signed = dtype == I8 || dtype == I16 || dtype == I32;
    int64_t least = is_signed ? -(1ll << (bits - 1)) : 0, most = is_signed ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    return x < least ? least : x > most ? most : x;
}

static void run_Cast(Executor *e) {
    for (int64_t i = 0, n = count_of(T(2)); i < n; i++) {
        int64_t from = place(T(0), i), to = place(T(2), i);
        if (is_int(T(0)->dtype)) store_int(T(2), to, is_int(T(2)->dtype) ? fitting(load_int(T(0), from), T(2)->dtype) : load_int(T(0), from));
        else if (is_int(T(2)->dtype) && T(2)->dtype != BOOL) store_int(T(2), to, fitting(load_int(T(0), from), T(2)->dtype));
        else store(T(2), to, load(T(0), from));
    }
}
EXPORT Status aclnnCastGetWorkspaceSize(const Tensor *x, int32_t dtype, Tensor *y, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnCast");
    Tensor *a = in(&p, x, WORDS);
    whole(&p, dtype);
    Tensor *b = out(&p, y, WORDS);
    need(&p, b->dtype == dtype, "the result has another dtype than asked for");
    if (a->dtype == BOOL) dense(&p, a);
    same_shape(&p, b, a);
    return done(&p, run_Cast, size, executor);
}
PHASE_TWO(Cast)

static void run_InplaceCopy(Executor *e) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) move(T(0), place(T(0), i), T(1), place_in(T(1), T(0), i));
}
EXPORT Status aclnnInplaceCopyGetWorkspaceSize(Tensor *to, const Tensor *from, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnInplaceCopy");
    Tensor *a = inout(&p, to, WORDS);
    const Tensor *xs[2] = {a, in(&p, from, WORDS)};
    need(&p, a->rank >= 1 && xs[1]->rank >= 1, "rank 0");
    broadcasts(&p, xs, 2, a);
    return done(&p, run_InplaceCopy, size, executor);
}
PHASE_TWO(InplaceCopy)

static void run_InplaceFillScalar(Executor *e) {
    for (int64_t i = 0, n = count_of(T(0)); i < n; i++) put_number(T(0), place(T(0), i), &e->args[1]);
}
EXPORT Status aclnnInplaceFillScalarGetWorkspaceSize(Tensor *to, const Scalar *value, uint64_t *size, Executor **executor) {
    Plan p = plan("aclnnInplaceFillScalar");
    inout(&p, to, WORDS);
    number(&p, value);
    return done(&p, run_InplaceFillScalar, size, executor);
}
PHASE_TWO(InplaceFillScalar)
