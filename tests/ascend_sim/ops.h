/* What the operators of the simulator are written with. */
#ifndef OPS_H
#define OPS_H

#include "sim.h"

#include <math.h>

/* ---------------------------------------------------------------------------------------------- first phase
   begin ... inputs and outputs in the order of the prototype ... end. */
typedef struct {
    Executor *e;
    Status status;
    const char *name;
    bool slow;
} Plan;

Plan plan(const char *name);
/* Tensors; `dtypes` is a text such as "f16 bf16 f32".  They return the argument's copy, which is empty after an error. */
Tensor *in(Plan *p, const Tensor *t, const char *dtypes);
Tensor *optional(Plan *p, const Tensor *t, const char *dtypes);
Tensor *out(Plan *p, const Tensor *t, const char *dtypes);
Tensor *inout(Plan *p, const Tensor *t, const char *dtypes);
Arg *list(Plan *p, const Tensors *t, const char *dtypes, bool is_out);
void number(Plan *p, const Scalar *s);
void real(Plan *p, double value);
void whole(Plan *p, int64_t value);
void integers(Plan *p, const Ints *values, bool may_be_null);
void booleans(Plan *p, const Bools *values);
/* Checks; each sets the status and the message where it fails. */
void need(Plan *p, bool condition, const char *format, ...);
void same_shape(Plan *p, const Tensor *a, const Tensor *b);
void has_shape(Plan *p, const Tensor *t, int rank, const int64_t *dims);
void broadcasts(Plan *p, const Tensor *const *xs, int count, const Tensor *to);
void dense(Plan *p, const Tensor *t);
/* Format of an image of 3 to 5 dimensions: NCL, NCHW, NCDHW. */
void image(Plan *p, const Tensor *t);
/* A dimension's number, not negative. */
int axis_in(Plan *p, const Tensor *t, int64_t axis);
/* The end of the first phase. */
Status done(Plan *p, Kernel kernel, uint64_t *size, Executor **executor);

#define PHASE_TWO(name)                                                                                        \
    EXPORT Status aclnn##name(void *workspace, uint64_t size, Executor *executor, Stream *stream) {            \
        return launch("aclnn" #name, workspace, size, executor, stream);                                       \
    }
Status launch(const char *name, void *workspace, uint64_t size, Executor *executor, Stream *stream);

/* The numbers of the vendor's dtypes (NUMERIC) and others that many operators share. */
#define FLOATS_ "f16 bf16 f32"
#define ALL_FLOATS "f16 bf16 f32 f64"
#define INTS_ "u8 i8 i16 i32 i64"
#define NUMBERS INTS_ " f16 bf16 f32 f64"
#define ANY "bool " NUMBERS
/* Everything but complex numbers. */
#define WORDS "bool u8 i8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64"

/* ---------------------------------------------------------------------------------------------- elements
   Tensors are read and written element by element, with their strides. */
int64_t count_of(const Tensor *t);
/* The position in elements of element number `i` (in row-major order) of a view; broadcast against `like` if given. */
int64_t place(const Tensor *t, int64_t i);
int64_t place_in(const Tensor *t, const Tensor *like, int64_t i);
void index_of(const Tensor *t, int64_t i, int64_t *index);
int64_t at_index(const Tensor *t, const int64_t *index);
double load(const Tensor *t, int64_t position);
int64_t load_int(const Tensor *t, int64_t position);
void store(const Tensor *t, int64_t position, double value);
void store_int(const Tensor *t, int64_t position, int64_t value);
/* An element of any dtype from one tensor to another, a number of a scalar or of 0 to a tensor. */
void move(const Tensor *to, int64_t at, const Tensor *from, int64_t position);
void put_number(const Tensor *to, int64_t at, const Arg *number);
bool is_int(int dtype);
double rounded(double value, int dtype);

#define T(i) (&e->args[i].tensor)
#define INT(i) (e->args[i].integer)
#define REAL(i) (e->args[i].real)

#endif
