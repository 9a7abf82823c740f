/* libnnopbase.so of the simulator: the objects that operators take, and their executors. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#define ENTER(name, failed)                  \
    do {                                     \
        if (sim_enter(name)) return failed;  \
    } while (0)

EXPORT Status aclnnInit(const char *path) { (void)path; return sim_enter("aclnnInit"); }
EXPORT Status aclnnFinalize(void) { return sim_enter("aclnnFinalize"); }

EXPORT Tensor *aclCreateTensor(const int64_t *dims, uint64_t rank, int32_t dtype, const int64_t *strides, int64_t offset,
                               int32_t format, const int64_t *storage, uint64_t storage_rank, void *address) {
    ENTER("aclCreateTensor", NULL);
    if (rank > MAX_DIMS || !sim_size_of(dtype) || offset < 0) {
        sim_error(161002, "aclCreateTensor: rank %d, dtype %d", (int)rank, dtype);
        return NULL;
    }
    Tensor *t = sim_new(TENSOR, sizeof *t);
    t->rank = (int)rank, t->dtype = dtype, t->format = format, t->offset = offset, t->address = (uint64_t)address;
    t->storage = 1;
    for (uint64_t i = 0; i < storage_rank; i++) t->storage *= storage[i];
    int64_t step = 1, last = offset, size = 1;
    for (int i = (int)rank; i-- > 0;) {
        t->dims[i] = dims[i];
        t->strides[i] = strides ? strides[i] : step;
        step *= dims[i];
        size *= dims[i];
        if (dims[i] < 0 || t->strides[i] < 0) sim_violation("aclCreateTensor: a size or stride is negative");
        last += (dims[i] - 1) * t->strides[i];
    }
    if (size && last >= t->storage) sim_violation("aclCreateTensor: a view reaches element %lld of %lld", (long long)last, (long long)t->storage);
    if (size && address && (uint64_t)address % 32) sim_violation("aclCreateTensor: data at %p is not aligned to 32 bytes", address);
    if (size && !sim_is_device(address)) sim_violation("aclCreateTensor: data at %p is not on the device", address);
    return t;
}

#define DESTROY(function, Type, kind_)                                        \
    EXPORT Status function(const Type *handle) {                              \
        Status injected = sim_enter(#function);                               \
        if (injected) return injected;                                        \
        Type *found = sim_object(handle, kind_, #function);                   \
        if (!found) return sim_error(161001, #function);                      \
        if (found->object.listed) sim_violation(#function ": a list owns it"); \
        sim_kill(&found->object);                                             \
        return 0;                                                             \
    }

DESTROY(aclDestroyTensor, Tensor, TENSOR)
DESTROY(aclDestroyScalar, Scalar, SCALAR)
DESTROY(aclDestroyIntArray, Ints, INTS)
DESTROY(aclDestroyBoolArray, Bools, BOOLS)
DESTROY(aclDestroyFloatArray, Floats, FLOATS)

EXPORT Scalar *aclCreateScalar(void *value, int32_t dtype) {
    ENTER("aclCreateScalar", NULL);
    Scalar *s = sim_new(SCALAR, sizeof *s);
    s->dtype = dtype;
    switch (dtype) {
    case F32: s->real = *(float *)value; s->integer = (int64_t)s->real; break;
    case F64: s->real = *(double *)value; s->integer = s->real > -9e18 && s->real < 9e18 ? (int64_t)s->real : 0; break;
    case BOOL: s->integer = *(bool *)value; s->real = (double)s->integer; break;
    case I32: s->integer = *(int32_t *)value; s->real = (double)s->integer; break;
    case I64: s->integer = *(int64_t *)value; s->real = (double)s->integer; break;
    default: sim_violation("aclCreateScalar: dtype %d", dtype);
    }
    return s;
}

#define ARRAY(function, Type, kind_, Element)                                \
    EXPORT Type *function(const Element *values, uint64_t count) {           \
        ENTER(#function, NULL);                                              \
        Type *made = sim_new(kind_, sizeof *made);                           \
        made->count = count;                                                 \
        made->values = malloc(count ? count * sizeof(Element) : 1);          \
        memcpy(made->values, values, count * sizeof(Element));               \
        return made;                                                         \
    }

ARRAY(aclCreateIntArray, Ints, INTS, int64_t)
ARRAY(aclCreateBoolArray, Bools, BOOLS, bool)
ARRAY(aclCreateFloatArray, Floats, FLOATS, float)

EXPORT Tensors *aclCreateTensorList(Tensor *const *values, uint64_t count) {
    ENTER("aclCreateTensorList", NULL);
    Tensors *made = sim_new(TENSORS, sizeof *made);
    made->count = count;
    made->items = malloc(count ? count * sizeof *values : 1);
    for (uint64_t i = 0; i < count; i++) {
        made->items[i] = sim_object(values[i], TENSOR, "aclCreateTensorList");
        if (made->items[i]) made->items[i]->object.listed = true;
    }
    return made;
}

EXPORT Status aclDestroyTensorList(const Tensors *handle) {
    Status injected = sim_enter("aclDestroyTensorList");
    if (injected) return injected;
    Tensors *found = sim_object(handle, TENSORS, "aclDestroyTensorList");
    if (!found) return sim_error(161001, "aclDestroyTensorList");
    for (uint64_t i = 0; i < found->count; i++)
        if (found->items[i]) sim_kill(&found->items[i]->object);
    sim_kill(&found->object);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- executors */
EXPORT Status aclSetAclOpExecutorRepeatable(Executor *handle) {
    Status injected = sim_enter("aclSetAclOpExecutorRepeatable");
    if (injected) return injected;
    Executor *e = sim_object(handle, EXECUTOR, "aclSetAclOpExecutorRepeatable");
    if (!e) return sim_error(561000, "no executor");
    if (!e->fresh || !pthread_equal(e->thread, pthread_self())) return sim_error(561000, "not right after the first phase, or in another thread");
    if (e->slow || sim_refuses_repeat(e->name)) return sim_error(561000, "%s cannot be repeated", e->name);
    e->repeatable = true;
    return 0;
}

EXPORT Status aclDestroyAclOpExecutor(Executor *handle) {
    Status injected = sim_enter("aclDestroyAclOpExecutor");
    if (injected) return injected;
    Executor *e = sim_object(handle, EXECUTOR, "aclDestroyAclOpExecutor");
    if (!e) return sim_error(561000, "no executor");
    sim_release_arguments(e);
    sim_kill(&e->object);
    return 0;
}

static Status set_address(Executor *handle, size_t index, const Tensor *tensor, void *address, bool out, const char *name) {
    Status injected = sim_enter(name);
    if (injected) return injected;
    Executor *e = sim_object(handle, EXECUTOR, name);
    if (!e || !e->repeatable) return sim_error(561000, "%s: not repeatable", name);
    for (int i = 0; i < e->count; i++)
        if (e->args[i].kind == ONE_TENSOR && e->args[i].out == out && index-- == 0) {
            if (e->args[i].handle != tensor) sim_violation("%s: another tensor stands there", name);
            e->args[i].tensor.address = (uint64_t)address;
            return 0;
        }
    return sim_error(161002, "%s: index", name);
}

EXPORT Status aclSetInputTensorAddr(Executor *e, size_t index, Tensor *tensor, void *address) {
    return set_address(e, index, tensor, address, false, "aclSetInputTensorAddr");
}

EXPORT Status aclSetOutputTensorAddr(Executor *e, size_t index, Tensor *tensor, void *address) {
    return set_address(e, index, tensor, address, true, "aclSetOutputTensorAddr");
}
