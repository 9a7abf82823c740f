"""The binding of HCCL: every collective and dtype between two and three processes, against NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autodiff_compiler.backends.ascend.library import LIBRARY_VARIABLE
from tests.ascend.conftest import WHERE, builder
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

# to both neighbors at once, and from them
sides = sorted({(RANK + 1) % SIZE, (RANK - 1) % SIZE})
own, others = placed(np.arange(3) + 10 * RANK), {side: room(3, int64) for side in sides}
messages = [hccl.Message(hccl.SENT, own.block.address, 3, 5, side) for side in sides]
messages += [hccl.Message(hccl.RECEIVED, others[side].block.address, 3, 5, side) for side in sides]
comm.queue("HcclBatchSendRecv", (hccl.Message * len(messages))(*messages), len(messages))
for side in sides:
    same(others[side].fetch(), np.arange(3) + 10 * side, "HcclBatchSendRecv")

# in place, and many queued before the first wait
x = placed(np.full(5, RANK + 1.0, np.float32))
for _ in range(20):
    comm.queue("HcclAllReduce", x.block.address, x.block.address, 5, 4, 2)
comm.queue("HcclBarrier")
same(x.fetch(), np.full(5, float(SIZE), np.float32), "in place")
assert comm.rank == RANK and comm.size == SIZE
core = ctypes.CDLL(os.environ["AUTODIFF_COMPILER_ASCEND_LIB"] + "/libaclsim.so")
core.aclsim_violations.restype = core.aclsim_leaks.restype = ctypes.c_char_p
del x, source, target, own, others
shutdown()
print(core.aclsim_violations().decode() + core.aclsim_leaks().decode(), end="")
"""


@pytest.mark.parametrize(("count", "mode"), [(2, "threads"), (3, "lazy")])
def test_every_collective_and_dtype_agrees_with_numpy(libraries: Path, tmp_path: Path, count: int, mode: str) -> None:
    assert well(together(COLLECTIVES, tmp_path, count, ACLSIM_MODE=mode)) == [""] * count
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []  # the last rank tidies up


# ------------------------------------------------------------------------------------------------ faults
def table(folder: Path, count: int = 2) -> Path:
    """A table of ranks, one for each device of one server."""
    devices = [{"device_id": str(i), "device_ip": f"10.0.0.{i}", "rank_id": str(i)} for i in range(count)]
    server = {"server_id": "node_0", "device": devices}
    path = folder / "table.json"
    head = {"status": "completed", "version": "1.0", "server_count": "1", "server_list": [server]}
    path.write_text(json.dumps(head), "utf-8")
    return path


FAULTS = """
from autodiff_compiler.errors import AscendError

def refused(*words):
    "The error of the statements inside, whose text and notes have these words."
    class Refusal:
        def __enter__(self): pass
        def __exit__(self, kind, error, trace):
            assert kind is not None and issubclass(kind, AscendError), (kind, error)
            told = " ".join([str(error), *getattr(error, "__notes__", ())])
            assert all(word in told for word in words), told
            return True
    return Refusal()


here = current()
path = str(HERE / "table.json")
block = here.allocate(4096)
with refused("HcclCommInitClusterInfo failed with 1 (HCCL_E_PARA)", "EI0004", "an argument is refused", "f.py:3"):
    hccl.Communicator.by_table(here, 1 - RANK, SIZE, path, loc="f.py:3")
with refused("HCCL_E_OPEN_FILE_FAILURE", "cannot be opened"):
    hccl.Communicator.by_table(here, RANK, SIZE, path + "x")
info = met("first", lambda: hccl.root_info(here))
with refused("root info has 4108 bytes, not 4107"):
    hccl.Communicator.by_root_info(here, RANK, SIZE, info[:-1])
with refused("HCCL_E_PARA", "not whole"):
    hccl.Communicator.by_root_info(here, RANK, SIZE, info[:-1] + b"\\0")
with refused("HCCL_E_PARA", "rank 2 of 2"):
    hccl.Communicator.by_root_info(here, 2, SIZE, info)
with refused("HCCL_E_PARA", "EI0005", "same counts, dtypes and group"):
    hccl.Communicator.by_root_info(here, RANK, SIZE + RANK, info)
assert here.held == []

comm = hccl.Communicator.by_table(here, RANK, SIZE, path)
with refused("HcclCommInitClusterInfo failed with 1", "in this communicator already"):
    hccl.Communicator.by_table(here, RANK, SIZE, path)
with refused("HcclAllReduce failed with 5 (HCCL_E_NOT_SUPPORT)", "does not do that", "at f.py:9", "CANN says: Hccl"):
    comm.queue("HcclAllReduce", block.address, block.address, 4, hccl.DTYPE_CODES["u8"], 0, loc="f.py:9")
with refused("HCCL_E_PARA", "there is no rank 2"):
    comm.queue("HcclBroadcast", block.address, 4, 4, 2)
with refused("HCCL_E_PARA", "aligned"):
    comm.queue("HcclBroadcast", block.address + 2, 4, 4, 0)
with refused("HCCL_E_PARA", "is this one"):
    comm.queue("HcclSend", block.address, 4, 4, RANK)
twice = [hccl.Message(hccl.SENT, block.address, 3, 5, 1 - RANK) for _ in range(2)]
with refused("HCCL_E_PARA", "two messages between the same ranks"):
    comm.queue("HcclBatchSendRecv", (hccl.Message * 2)(*twice), 2)
comm.queue("HcclAllReduce", block.address, block.address, 4, 4, 0)
here.synchronize()  # after what was refused it goes on
comm.close()
comm.close()
with refused("the communicator was closed before HcclBarrier at f.py:4"):
    comm.queue("HcclBarrier", loc="f.py:4")

# both ranks on one device
info = met("second", lambda: hccl.root_info(here))
with refused("HCCL_E_PARA", "the same device 0"):
    hccl.Communicator.by_root_info(device(0), RANK, SIZE, info)

# one does not come
info = met("third", lambda: hccl.root_info(here))
if RANK == 0:
    with refused("HCCL_E_TIMEOUT", "did not come in time (HCCL_CONNECT_TIMEOUT", "EI0006", "rank 1 of 2"):
        hccl.Communicator.by_root_info(here, RANK, SIZE, info)
print("all refused")
"""


def test_what_hccl_refuses_is_told_and_the_process_goes_on(libraries: Path, tmp_path: Path) -> None:
    table(tmp_path)
    assert well(together(FAULTS, tmp_path, HCCL_CONNECT_TIMEOUT="1")) == ["all refused\n"] * 2


def test_counts_that_differ_fail_at_the_next_wait_on_all_ranks(libraries: Path, tmp_path: Path) -> None:
    program = """
    comm, here = joined(), current()
    block = here.allocate(4096)
    comm.queue("HcclBarrier", loc="user.py:1")
    comm.queue("HcclAllReduce", block.address, block.address, 4 + RANK, 4, 0, loc="user.py:2")
    here.synchronize()
    """
    for rank, ended in enumerate(together(program, tmp_path)):
        assert ended.status == 1
        assert "CANN says: EI0005: The arguments for collective communication are inconsistent" in ended.err
        assert f"count; local HcclAllReduce of {4 + rank}" in ended.err
        assert (
            "queued last, the failing one among them: HcclBarrier at user.py:1; HcclAllReduce at user.py:2" in ended.err
        )


@pytest.mark.parametrize("other", ["os._exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(3)"])
def test_a_rank_that_ended_or_hangs_is_waited_for_only_so_long(libraries: Path, tmp_path: Path, other: str) -> None:
    program = f"""
    comm, here = joined(), current()
    block = here.allocate(4096)
    comm.queue("HcclBarrier")
    here.synchronize()
    if RANK == 1:
        {other}
    comm.queue("HcclAllReduce", block.address, block.address, 4, 4, 0, loc="user.py:7")
    here.synchronize()
    """
    first = together(program, tmp_path, HCCL_EXEC_TIMEOUT="1")[0]
    assert first.status == 1
    assert "507048 (ACL_ERROR_RT_FFTS_PLUS_TIMEOUT): a task waited too long: of a collective, for another" in first.err
    assert "EI0002" in first.err
    assert "HcclAllReduce waited for rank 1" in first.err
    assert "HcclAllReduce at user.py:7" in first.err


def test_without_the_library_or_a_function_it_is_named(libraries: Path, objects: Path, tmp_path: Path) -> None:
    program = """
    from autodiff_compiler.errors import AscendError
    x = ms.Tensor([1.0, 2.0]) + 1  # operators need no HCCL
    for use in (lambda: joined("a"), lambda: joined("b").queue("HcclBroadcast", 0, 1, 4, 0, loc="user.py:3")):
        try:
            use()
        except AscendError as error:
            print(str(error).split(";")[0], str(error).endswith("; HcclBroadcast is needed at user.py:3"))
    print(x.tolist())
    """
    folder = builder().build(tmp_path / "older", ("HcclBroadcast",), objects)
    environment = {LIBRARY_VARIABLE: str(folder), "LD_LIBRARY_PATH": ""}
    lacks = "the installed CANN has no function HcclBroadcast"
    assert well(together(program, tmp_path, 1, **environment)) == [f"{lacks} True\n[2.0, 3.0]\n"]
    (folder / "libhccl.so").unlink()
    out = well(together(program, tmp_path, 1, **environment))[0]
    assert out.count("no library of CANN for hccl could be loaded: libhccl.so: cannot open shared object") == 2
    assert out.endswith("[2.0, 3.0]\n")
