"""The binding of HCCL: every collective and dtype between two and three processes, against NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ascend.conftest import WHERE
from tests.ascend.processes import together, well

pytestmark = pytest.mark.skipif(WHERE != "sim", reason="processes with a device each are simulated")

COLLECTIVES = """
import ctypes
import itertools
from autodiff_compiler.backends.ascend.arrays import AscendArray
from autodiff_compiler.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64
from autodiff_compiler.dtypes import uint8, uint16, uint32, uint64

ALL = [int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64]
comm, here = joined(), current()
REDUCE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def data(rank, dtype, count, seed=0):
    "What a rank has; small integers, so that sums and products are exact in every dtype."
    made = np.random.default_rng([seed, rank]).integers(0 if dtype.short[0] == "u" else -3, 4, count)
    return made.astype(dtype.numpy)


def gathered(dtype, count, seed=0):
    return [data(r, dtype, count, seed) for r in range(SIZE)]


def placed(array):
    return AscendArray.of(array, here)


def room(count, dtype):
    return AscendArray(here.allocate(count * dtype.itemsize), dtype, (count,))


def same(found, expected, what):
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), (what, found, expected)


def check(function, dtype, sent, arguments, received, expected, what=""):
    "Calls a collective: a buffer to send, one to receive, both of them on the device."
    source, target = placed(sent), room(received, dtype)
    comm.queue(function, source.block.address, target.block.address, *arguments)
    if expected is not None:
        same(target.fetch(), expected, (function, dtype.name, what))


for count, dtype in [(1, float32), *itertools.product((65,), ALL)]:
    code, all_ = hccl.DTYPE_CODES[dtype.short], gathered(dtype, count)
    mine = all_[RANK]
    check("HcclAllGather", dtype, mine, (count, code), count * SIZE, np.concatenate(all_))
    for root in range(SIZE):
        x = placed(mine)
        comm.queue("HcclBroadcast", x.block.address, count, code, root)
        same(x.fetch(), all_[root], "HcclBroadcast")
        whole = data(root, dtype, count * SIZE, 1)
        part = whole[RANK * count : (RANK + 1) * count]
        check("HcclScatter", dtype, data(RANK, dtype, count * SIZE, 1), (count, code, root), count, part)
    parts = gathered(dtype, count * SIZE, 2)
    expected = np.concatenate([p[RANK * count : (RANK + 1) * count] for p in parts])
    source, target = placed(parts[RANK]), room(count * SIZE, dtype)
    comm.queue("HcclAlltoAll", source.block.address, count, code, target.block.address, count, code)
    same(target.fetch(), expected, "HcclAlltoAll")
    # one way and back, all between 0 and 1
    if RANK < 2:
        target = room(count, dtype)
        for sender in range(2):
            if RANK == sender:
                comm.queue("HcclSend", placed(mine).block.address, count, code, 1 - RANK)
            else:
                comm.queue("HcclRecv", target.block.address, count, code, sender)
        same(target.fetch(), all_[1 - RANK], "HcclSend")
    if dtype.short not in hccl.REDUCED:
        continue
    for op, number in hccl.REDUCTION_CODES.items():
        if op == "prod" and dtype.short in hccl.NOT_MULTIPLIED:
            continue
        expected = REDUCE[op].reduce(all_).astype(dtype.numpy)
        check("HcclAllReduce", dtype, mine, (count, code, number), count, expected, op)
        root = SIZE - 1
        check("HcclReduce", dtype, mine, (count, code, number, root), count, expected if RANK == root else None, op)
        whole = REDUCE[op].reduce(gathered(dtype, count * SIZE, 3)).astype(dtype.numpy)
        part = whole[RANK * count : (RANK + 1) * count]
        check("HcclReduceScatter", dtype, data(RANK, dtype, count * SIZE, 3), (count, code, number), count, part, op)

# parts of different sizes, one of them empty: rank r sends r + j elements to rank j, and none to itself
sizes = [[0 if i == j else i + j for j in range(SIZE)] for i in range(SIZE)]
out, into = sizes[RANK], [sizes[i][RANK] for i in range(SIZE)]
u64 = ctypes.c_uint64 * SIZE
starts = lambda counts: u64(*np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist())
flat = lambda r: data(r, float32, sum(sizes[r]), 4)
cut = lambda r: np.split(flat(r), np.cumsum(sizes[r])[:-1])
source, target = placed(flat(RANK)), room(sum(into), float32)
sent = (source.block.address, u64(*out), starts(out), 4)
comm.queue("HcclAlltoAllV", *sent, target.block.address, u64(*into), starts(into), 4)
same(target.fetch(), np.concatenate([cut(r)[RANK] for r in range(SIZE)]), "HcclAlltoAllV")

# in place, and many queued before the first wait
x = placed(np.full(5, RANK + 1.0, np.float32))
for _ in range(20):
    comm.queue("HcclAllReduce", x.block.address, x.block.address, 5, 4, 2)
comm.queue("HcclBarrier")
same(x.fetch(), np.full(5, float(SIZE), np.float32), "in place")
assert comm.rank == RANK and comm.size == SIZE
core = ctypes.CDLL(os.environ["AUTODIFF_COMPILER_ASCEND_LIB"] + "/libaclsim.so")
core.aclsim_violations.restype = core.aclsim_leaks.restype = ctypes.c_char_p
del x, source, target
shutdown()
print(core.aclsim_violations().decode() + core.aclsim_leaks().decode(), end="")
"""


@pytest.mark.parametrize(("count", "mode"), [(2, "threads"), (3, "lazy")])
def test_every_collective_and_dtype_agrees_with_numpy(libraries: Path, tmp_path: Path, count: int, mode: str) -> None:
    assert well(together(COLLECTIVES, tmp_path, count, ACLSIM_MODE=mode)) == [""] * count
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []  # the last rank tidies up
