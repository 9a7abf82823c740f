/* Memory of the simulated device, and page-locked memory of the host. */
#define _GNU_SOURCE
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACE (64ull << 30) /* of addresses */
#define GAP 512ull          /* between blocks */
#define POISON 0xff         /* bytes of NaN */
#define PADDING 32          /* bytes behind its operands that a kernel may read */

typedef struct { uint64_t address, size; bool alive; } MemoryBlock;
static uint64_t base, shadow, next_address;
static MemoryBlock *blocks; /* by address, as addresses only grow */
static uint64_t block_count, block_room, live, used, limit = 1ull << 32;
static struct { const char *at; uint64_t size; } pinned[4096];
static int pinned_count;

static void reserve(void) {
    if (base) return;
    base = (uint64_t)mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shadow = (uint64_t)mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == (uint64_t)MAP_FAILED || shadow == (uint64_t)MAP_FAILED) abort();
    next_address = base + GAP;
}

bool sim_is_device(const void *address) {
    return base && (uint64_t)address >= base && (uint64_t)address < base + SPACE;
}

uint64_t sim_live_blocks(void) { return live; }
uint64_t sim_pinned(void) { return (uint64_t)pinned_count; }

EXPORT void aclsim_memory_limit(uint64_t bytes) { limit = bytes; }
EXPORT uint64_t aclsim_memory_used(void) { return used; }
EXPORT uint64_t aclsim_memory_total(void) { return limit; }

Status sim_malloc(uint64_t size, uint64_t *address) {
    sim_lock();
    reserve();
    Status status = 0;
    if (used + size > limit || next_address + size + 2 * GAP > base + SPACE) {
        status = sim_error(207001, "out of device memory: %llu bytes, %llu in use", (unsigned long long)size, (unsigned long long)used);
    } else {
        if (block_count == block_room) {
            block_room = block_room ? 2 * block_room : 256;
            blocks = realloc(blocks, block_room * sizeof *blocks);
        }
        blocks[block_count++] = (MemoryBlock){next_address, size, true};
        *address = next_address;
        memset((void *)(next_address - base + shadow), POISON, size);
        next_address += (size + GAP + 63) / 64 * 64;
        used += size, live++;
    }
    sim_unlock();
    return status;
}

static MemoryBlock *block_at(uint64_t address) {
    uint64_t low = 0, high = block_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (blocks[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    return low ? &blocks[low - 1] : NULL;
}

Status sim_free(uint64_t address) {
    sim_lock();
    MemoryBlock *block = block_at(address);
    Status status = 0;
    if (!block || block->address != address || !block->alive) {
        sim_violation("aclrtFree of %p, which is no live block", (void *)address);
        status = sim_error(107000, "aclrtFree: no such block");
    } else {
        if (sim_queued_uses(address, block->size)) sim_violation("aclrtFree of a block that a queued task or a captured graph uses");
        block->alive = false;
        used -= block->size, live--;
uint64_t first = (block->address - base + shadow + 4095) / 4096, last = (block->address - base + shadow + block->size) / 4096;
        if (first < last) madvise((void *)(first * 4096), (last - first) * 4096, MADV_DONTNEED); /* whole pages of its own */
    }
    sim_unlock();
    return status;
}

static unsigned char *bytes_of(uint64_t address, uint64_t size, uint64_t behind, const char *what) {
    sim_lock();
    MemoryBlock *block = sim_is_device((void *)address) ? block_at(address) : NULL;
    bool inside = block && block->alive && address + size <= block->address + block->size;
    bool fits = inside && address + (size + 31) / 32 * 32 + behind <= block->address + block->size;
    sim_unlock();
    if (!inside) {
        sim_violation("%s: %llu bytes at %p are not inside one live block", what, (unsigned long long)size, (void *)address);
        return NULL;
    }
    if (behind && !fits)
        sim_violation("%s: fewer than 32 bytes follow the %llu bytes at %p, where kernels may read", what, (unsigned long long)size, (void *)address);
    return (unsigned char *)(address - base + shadow);
}

unsigned char *sim_bytes(uint64_t address, uint64_t size, const char *what) { return bytes_of(address, size, 0, what); }
unsigned char *sim_operand(uint64_t address, uint64_t size, const char *what) { return bytes_of(address, size, PADDING, what); }

void sim_poison(unsigned char *bytes, uint64_t size) { memset(bytes, POISON, size); }

void sim_pin(const char *at, uint64_t size) {
    sim_lock();
    if (pinned_count < 4096) {
        pinned[pinned_count].at = at;
        pinned[pinned_count++].size = size;
    }
    sim_unlock();
}

/* Gives page-locked memory back; false if it is none. */
bool sim_unpin(const char *at) {
    bool found = false;
    sim_lock();
    for (int i = 0; i < pinned_count; i++)
        if (pinned[i].at == at) {
            if (sim_queued_uses((uint64_t)at, pinned[i].size)) /* it stays the process's, for the copy will write to it */
                sim_violation("aclrtFreeHost of memory that a queued copy uses");
            else
                free((char *)at);
            pinned[i] = pinned[--pinned_count];
            found = true;
            break;
        }
    sim_unlock();
    return found;
}

bool sim_is_pinned(const void *address, uint64_t size) {
    bool found = false;
    sim_lock();
    for (int i = 0; i < pinned_count; i++)
        found |= (const char *)address >= pinned[i].at && (const char *)address + size <= pinned[i].at + pinned[i].size;
    sim_unlock();
    return found;
}

uint64_t sim_size_of(int dtype) {
    switch (dtype) {
    case I8: case U8: case BOOL: return 1;
    case F16: case BF16: case I16: case U16: return 2;
    case F32: case I32: case U32: return 4;
    case F64: case I64: case U64: return 8;
    default: return 0;
    }
}
