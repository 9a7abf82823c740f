/* The two phases of every operator, and how elements are read and written. */
#include "ops.h"

#include "floats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------- first phase */
static const char *dtype_name(int dtype) {
    switch (dtype) {
    case F32: return "f32"; case F16: return "f16"; case BF16: return "bf16"; case F64: return "f64";
    case I8: return "i8"; case I16: return "i16"; case I32: return "i32"; case I64: return "i64";
    case U8: return "u8"; case U16: return "u16"; case U32: return "u32"; case U64: return "u64";
    case BOOL: return "bool";
    }
    return "?";
}

static bool listed(const char *dtypes, int dtype) {
    const char *name = dtype_name(dtype);
    size_t n = strlen(name);
    for (const char *at = dtypes; (at = strstr(at, name)); at++)
        if ((at == dtypes || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* The arguments of the first phase that this thread called last, with their dtypes; tests compare it with the tables. */
static __thread char description[2048];
EXPORT const char *aclsim_description(void) { return description; }

static void describe(const char *kind, const char *dtypes) {
    size_t used = strlen(description);
    snprintf(description + used, sizeof description - used, "%s %s;", kind, dtypes);
}

Plan plan(const char *name) {
    Plan p = {0};
    description[0] = 0;
    p.name = name;
    p.status = sim_enter(name);
    if (!p.status) p.status = sim_context(name);
    p.e = sim_new(EXECUTOR, sizeof *p.e);
    p.e->name = name + strlen("aclnn");
    p.e->args = calloc(MAX_ARGS, sizeof(Arg));
    p.e->fresh = true;
    p.e->thread = pthread_self();
    return p;
}

void need(Plan *p, bool condition, const char *format, ...) {
    if (condition || p->status) return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->status = sim_error(161002, "%s: %s", p->name, text);
}

static Arg *next(Plan *p) { return &p->e->args[p->e->count++]; }

static Tensor *tensor(Plan *p, const Tensor *t, const char *dtypes, bool is_out, bool may_be_null) {
    Arg *a = next(p);
    describe(may_be_null ? "optional" : is_out ? "out" : "in", dtypes);
    a->out = is_out;
    if (!t) {
        if (!may_be_null && !p->status) p->status = sim_error(161001, "%s: argument %d is NULL", p->name, p->e->count - 1);
        return &a->tensor;
    }
    Tensor *found = sim_object(t, TENSOR, p->name);
    if (!found) {
        p->status = 161001;
        return &a->tensor;
    }
    a->kind = ONE_TENSOR;
    a->handle = found;
    a->tensor = *found;
    need(p, listed(dtypes, found->dtype), "argument %d has the dtype %s, not one of %s", p->e->count - 1, dtype_name(found->dtype), dtypes);
    need(p, !found->address == !count_of(found), "argument %d: data is NULL, or is not where there are no elements", p->e->count - 1);
    p->slow |= found->dtype == F64;
    return &a->tensor;
}

Tensor *in(Plan *p, const Tensor *t, const char *dtypes) { return tensor(p, t, dtypes, false, false); }
Tensor *optional(Plan *p, const Tensor *t, const char *dtypes) { return tensor(p, t, dtypes, false, true); }
Tensor *out(Plan *p, const Tensor *t, const char *dtypes) { return tensor(p, t, dtypes, true, false); }
Tensor *inout(Plan *p, const Tensor *t, const char *dtypes) { return tensor(p, t, dtypes, true, false); }

Arg *list(Plan *p, const Tensors *handle, const char *dtypes, bool is_out) {
    Arg *a = next(p);
    describe("list", dtypes);
    Tensors *found = handle ? sim_object(handle, TENSORS, p->name) : NULL;
    a->out = is_out;
    if (!found) {
        p->status = p->status ? p->status : sim_error(161001, "%s: a list is NULL", p->name);
        return a;
    }
    a->kind = MANY_TENSORS;
    a->list_handle = found;
    a->count = found->count;
    a->tensors = calloc(found->count ? found->count : 1, sizeof(Tensor));
    for (uint64_t i = 0; i < found->count; i++) {
        if (found->items[i]) a->tensors[i] = *found->items[i];
        need(p, listed(dtypes, a->tensors[i].dtype), "a tensor of the list has the dtype %s", dtype_name(a->tensors[i].dtype));
    }
    return a;
}

void number(Plan *p, const Scalar *handle) {
    Arg *a = next(p);
    describe("scalar", "");
    Scalar *s = handle ? sim_object(handle, SCALAR, p->name) : NULL;
    if (!s) {
        p->status = p->status ? p->status : sim_error(161001, "%s: a scalar is NULL", p->name);
        return;
    }
    a->kind = NUMBER, a->real = s->real, a->integer = s->integer, a->dtype = s->dtype;
}

void real(Plan *p, double value) {
    Arg *a = next(p);
    describe("real", "");
    a->kind = NUMBER, a->real = value;
}

void whole(Plan *p, int64_t value) {
    Arg *a = next(p);
    describe("whole", "");
    a->kind = NUMBER, a->integer = value, a->real = (double)value;
}

void integers(Plan *p, const Ints *handle, bool may_be_null) {
    Arg *a = next(p);
    describe("ints", "");
    if (!handle) {
        if (!may_be_null && !p->status) p->status = sim_error(161001, "%s: an int array is NULL", p->name);
        return;
    }
    Ints *found = sim_object(handle, INTS, p->name);
    if (!found) {
        p->status = 161001;
        return;
    }
    a->kind = INTEGERS, a->count = found->count;
    a->integers = malloc(found->count ? found->count * sizeof(int64_t) : 1);
    memcpy(a->integers, found->values, found->count * sizeof(int64_t));
}

void booleans(Plan *p, const Bools *handle) {
    Arg *a = next(p);
    describe("bools", "");
    Bools *found = handle ? sim_object(handle, BOOLS, p->name) : NULL;
    if (!found) {
        p->status = p->status ? p->status : sim_error(161001, "%s: a bool array is NULL", p->name);
        return;
    }
    a->kind = BOOLEANS, a->count = found->count;
    a->booleans = malloc(found->count ? found->count : 1);
    memcpy(a->booleans, found->values, found->count);
}

void same_shape(Plan *p, const Tensor *a, const Tensor *b) { has_shape(p, a, b->rank, b->dims); }

void has_shape(Plan *p, const Tensor *t, int rank, const int64_t *dims) {
    need(p, t->rank == rank, "rank %d instead of %d", t->rank, rank);
    for (int i = 0; i < rank && !p->status; i++)
        need(p, t->dims[i] == dims[i], "dimension %d is %lld instead of %lld", i, (long long)t->dims[i], (long long)dims[i]);
}

/* Neighbouring axes along which the same operands are repeated are one group; of some dtypes there may be five. */
static void groups(Plan *p, const Tensor *const *xs, int count, int rank) {
    bool limited = false;
    for (int k = 0; k < count; k++) {
        int dtype = xs[k]->dtype;
        limited |= dtype == F64 || dtype == I16 || dtype == U16 || dtype == U64;
    }
    int found = 0;
    unsigned before = 0, all = (1u << count) - 1;
    for (int i = 0; i < rank; i++) {
        unsigned single = 0;
        for (int k = 0; k < count; k++) {
            int at = i - rank + xs[k]->rank;
            if (at < 0 || xs[k]->dims[at] == 1) single |= 1u << k;
        }
        if (single == all) continue;
        if (!found || single != before) found++;
        before = single;
    }
    need(p, !limited || found < 6, "the axes form %d groups of broadcasting", found);
}

void broadcasts(Plan *p, const Tensor *const *xs, int count, const Tensor *to) {
    int64_t dims[MAX_DIMS];
    int rank = 0;
    for (int k = 0; k < count; k++) rank = xs[k]->rank > rank ? xs[k]->rank : rank;
    for (int i = 0; i < rank; i++) {
        dims[i] = 1;
        for (int k = 0; k < count; k++) {
            int at = i - rank + xs[k]->rank;
            int64_t n = at < 0 ? 1 : xs[k]->dims[at];
            need(p, n == 1 || dims[i] == 1 || n == dims[i], "shapes do not broadcast");
            if (n != 1) dims[i] = n;
        }
    }
    groups(p, xs, count, rank);
    has_shape(p, to, rank, dims);
}

void dense(Plan *p, const Tensor *t) {
    int64_t step = 1;
    for (int i = t->rank; i-- > 0;) {
        need(p, t->dims[i] == 1 || t->strides[i] == step || !count_of(t), "a view with gaps is not accepted");
        step *= t->dims[i];
    }
}

void image(Plan *p, const Tensor *t) {
    static const int formats[] = {47, 0, 30};
    if (t->rank >= 3 && t->rank <= 5) need(p, t->format == formats[t->rank - 3], "an image of %d dimensions has the format %d", t->rank, t->format);
}

int axis_in(Plan *p, const Tensor *t, int64_t axis) {
    int rank = t->rank ? t->rank : 1;
    need(p, axis >= 0 && axis < rank, "axis %lld of %d", (long long)axis, t->rank);
    return axis >= 0 && axis < rank ? (int)axis : 0;
}

/* What an operator writes must not be what it reads: no text allows it. */
static void apart(const Plan *p, const Tensor *written, const Tensor *read) {
    uint64_t a, b, c, d;
    if (sim_extent(written, &a, &b) && sim_extent(read, &c, &d) && a < d && c < b)
        sim_violation("%s: a result lies where an operand lies", p->name);
}

static void all_apart(const Plan *p) {
    const Executor *e = p->e;
    for (int i = 0; i < e->count; i++)
        for (int k = 0; e->args[i].kind == ONE_TENSOR && e->args[i].out && k < e->count; k++) {
            if (e->args[k].kind == ONE_TENSOR && k != i) apart(p, &e->args[i].tensor, &e->args[k].tensor);
            for (uint64_t m = 0; e->args[k].kind == MANY_TENSORS && m < e->args[k].count; m++) apart(p, &e->args[i].tensor, &e->args[k].tensors[m]);
        }
}

Status done(Plan *p, Kernel kernel, uint64_t *size, Executor **executor) {
    if (!size || !executor) p->status = p->status ? p->status : sim_error(161001, "%s: NULL", p->name);
    if (p->status) {
        sim_release_arguments(p->e);
        sim_kill(&p->e->object);
        return p->status;
    }
    all_apart(p);
    p->e->kernel = kernel;
    p->e->slow = p->slow;
    uint64_t mixed = 0;
    for (const char *c = p->name; *c; c++) mixed = mixed * 31 + (uint64_t)*c;
    p->e->workspace = mixed % 3 ? (mixed % 7 + 1) * 64 : 0; /* some operators need room, some do not */
    *size = p->e->workspace;
    *executor = p->e;
    return 0;
}

/* ---------------------------------------------------------------------------------------------- second phase */
static void check_arguments(const char *name, Executor *e) {
    for (int i = 0; i < e->count; i++) {
        if (e->args[i].kind == ONE_TENSOR && !sim_alive(e->args[i].handle))
            sim_violation("%s: tensor %d was destroyed before the second phase returned", name, i);
        if (e->args[i].kind == MANY_TENSORS && !sim_alive(e->args[i].list_handle))
            sim_violation("%s: list %d was destroyed before the second phase returned", name, i);
    }
}

static Status queue(const char *name, void *workspace, uint64_t size, Executor *e, Stream *on) {
    Status status = sim_enter(name);
    if (!status) status = sim_context(name);
    if (status) return status;
    Stream *stream = on ? sim_object(on, STREAM, name) : sim_default_stream();
    if (!stream || stream->device != sim_chosen()) return sim_error(107003, "%s: stream", name);
    if (size != e->workspace) {
        sim_violation("%s: a workspace of %llu bytes instead of %llu", name, (unsigned long long)size, (unsigned long long)e->workspace);
        return sim_error(161002, "%s: workspace", name);
    }
    if (size && !workspace) return sim_error(161001, "%s: the workspace is NULL", name);
    if (size && (uint64_t)workspace % 64) sim_violation("%s: the workspace is not aligned", name);
    if (size && !sim_bytes((uint64_t)workspace, size, name)) return sim_error(161002, "%s: workspace", name);
    check_arguments(name, e);
    Task *task = sim_task(KERNEL, e->name);
    task->executor = sim_copy_executor(e);
    task->workspace = (uint64_t)workspace, task->workspace_size = size;
    return sim_queue(stream, task);
}

Status launch(const char *name, void *workspace, uint64_t size, Executor *handle, Stream *on) {
    Executor *e = sim_object(handle, EXECUTOR, name);
    if (!e) return sim_error(161001, "%s: executor", name);
    if (strcmp(e->name, name + strlen("aclnn"))) sim_violation("%s runs the executor of %s", name, e->name);
    e->fresh = false;
    Status status = queue(name, workspace, size, e, on);
    if (!e->repeatable) { /* consumed, whatever came of it */
        sim_release_arguments(e);
        sim_kill(&e->object);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- elements */
int64_t count_of(const Tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}

void index_of(const Tensor *t, int64_t i, int64_t *index) {
    for (int d = t->rank; d-- > 0;) {
        index[d] = i % t->dims[d];
        i /= t->dims[d];
    }
}

int64_t at_index(const Tensor *t, const int64_t *index) {
    int64_t position = t->offset;
    for (int d = 0; d < t->rank; d++) position += index[d] * t->strides[d];
    return position;
}

int64_t place(const Tensor *t, int64_t i) {
    int64_t position = t->offset;
    for (int d = t->rank; d-- > 0;) {
        position += i % t->dims[d] * t->strides[d];
        i /= t->dims[d];
    }
    return position;
}

int64_t place_in(const Tensor *t, const Tensor *like, int64_t i) {
    int64_t position = t->offset;
    for (int d = like->rank; d-- > 0;) {
        int own = d - like->rank + t->rank;
        if (own >= 0 && t->dims[own] != 1) position += i % like->dims[d] * t->strides[own];
        i /= like->dims[d];
    }
    return position;
}

static unsigned char *element(const Tensor *t, int64_t position) {
    static unsigned char nothing[8];
    if (position >= 0 && position < t->storage) return t->bytes + (uint64_t)position * sim_size_of(t->dtype);
    sim_violation("a kernel reaches element %lld of %lld", (long long)position, (long long)t->storage);
    return nothing;
}

bool is_int(int dtype) { return dtype != F32 && dtype != F16 && dtype != BF16 && dtype != F64; }

double load(const Tensor *t, int64_t position) {
    unsigned char *at = element(t, position);
    switch (t->dtype) {
    case F32: return *(float *)at;
    case F64: return *(double *)at;
    case F16: return half_to_float(*(uint16_t *)at);
    case BF16: return bfloat_to_float(*(uint16_t *)at);
    default: return (double)load_int(t, position);
    }
}

int64_t load_int(const Tensor *t, int64_t position) {
    unsigned char *at = element(t, position);
    switch (t->dtype) {
    case I8: return *(int8_t *)at; case I16: return *(int16_t *)at; case I32: return *(int32_t *)at; case I64: return *(int64_t *)at;
    case U8: return *at; case U16: return *(uint16_t *)at; case U32: return *(uint32_t *)at; case U64: return (int64_t)*(uint64_t *)at;
    case BOOL: return *at != 0;
    default: {
        double value = load(t, position);
        return value != value ? 0 : value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : (int64_t)value;
    }
    }
}

/* What a result becomes that a float type cannot hold, where results saturate; it is remembered. */
static double held(double value, int dtype) {
    double most = dtype == F16 ? 65504 : dtype == BF16 ? 0x1.fep127 : dtype == F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    if (fabs(value) <= most) return value;
    sim_overflowed = 1;
    return value != value ? 0 : value > 0 ? most : -most;
}

static void write_real(const Tensor *t, int64_t position, double value) {
    unsigned char *at = element(t, position);
    switch (t->dtype) {
    case F32: *(float *)at = (float)value; return;
    case F64: *(double *)at = value; return;
    case F16: *(uint16_t *)at = float_to_half((float)value); return;
    case BF16: *(uint16_t *)at = float_to_bfloat((float)value); return;
    case BOOL: *at = value != 0; return;
    default: store_int(t, position, value != value ? 0 : value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : (int64_t)value);
    }
}

void store(const Tensor *t, int64_t position, double value) {
    write_real(t, position, sim_saturates && !is_int(t->dtype) ? held(value, t->dtype) : value);
}

void store_int(const Tensor *t, int64_t position, int64_t value) {
    unsigned char *at = element(t, position);
    switch (t->dtype) {
    case I8: case U8: *at = (unsigned char)value; return;
    case I16: case U16: *(uint16_t *)at = (uint16_t)value; return;
    case I32: case U32: *(uint32_t *)at = (uint32_t)value; return;
    case I64: case U64: *(int64_t *)at = value; return;
    case BOOL: *at = value != 0; return;
    default: store(t, position, (double)value);
    }
}

void move(const Tensor *to, int64_t at, const Tensor *from, int64_t position) {
    if (to->dtype == from->dtype) {
        memcpy(element(to, at), element(from, position), sim_size_of(to->dtype));
        return;
    }
    if (is_int(from->dtype)) store_int(to, at, load_int(from, position));
    else store(to, at, load(from, position));
}

void put_number(const Tensor *to, int64_t at, const Arg *number) {
    if (is_int(to->dtype)) store_int(to, at, number->integer);
    else if (isfinite(number->real)) store(to, at, number->real);
    else write_real(to, at, number->real); /* what a program says is no overflow */
}

double rounded(double value, int dtype) {
    switch (dtype) {
    case F32: return (float)value;
    case F16: return half_to_float(float_to_half((float)value));
    case BF16: return bfloat_to_float(float_to_bfloat((float)value));
    default: return value;
    }
}
