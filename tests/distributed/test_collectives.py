"""Collectives as ops under `mpiexec`: values, derivatives of every order, control flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.launched import Checks, needs_mpi, run

pytestmark = needs_mpi
_PROGRAMS = Path(__file__).parent / "programs"
FLOW = Checks(_PROGRAMS / "flow.py", 2, 200)


#: What four processes are asked for, of all that two are.
_SOME = ("all_reduce_sum", "all_reduce_prod", "all_gather", "reduce_scatter", "reduce_min", "all_to_all_v", "neighbors")


@pytest.mark.parametrize("processes", [2, 4])
def test_derivatives(processes: int) -> None:
    done = run(_PROGRAMS / "derivatives.py", processes, *(_SOME if processes > 2 else ()), limit=200)
    assert done.status == 0, "\n".join(done.err)
    assert "done" in done.out[0]


def test_flow() -> None:
    FLOW.verify()


_OTHER_PROGRAMS = """
import autodiff_compiler as ac
from autodiff_compiler import communication, ops

communication.init()

@ac.jit
def f(x):
    for i in range(30):
        x = ops.AllReduce()(x) * 0.5
    if communication.get_rank() == 0:
        x = ops.AllReduce("max")(x)
    return ops.AllReduce()(x * 2.0)

f(ac.Tensor([1.0, 2.0]))
"""


def test_programs_that_differ_are_told() -> None:
    done = run(_OTHER_PROGRAMS, 2)
    assert done.status != 0
    said = done.err[0]
    assert "all_reduce(max)" in said
    assert "first in line 3" in said
    assert 'process 0: all_reduce f32[2]  {op="max"' in said
    assert 'process 1: all_reduce f32[2]  {op="sum"' in said


_STEPS = """
import hashlib
import numpy as np
import autodiff_compiler as ac
from autodiff_compiler import communication, nn, ops

communication.init()
rank, size = communication.get_rank(), communication.get_group_size()
rng = np.random.default_rng(rank)
x = ac.Tensor(rng.standard_normal((16, 12)).astype(np.float32))
y = ac.Tensor(rng.integers(0, 5, 16).astype(np.int32))


def trained(compiled):
    ac.set_seed(0)
    net = nn.SequentialCell(nn.Dense(12, 20), nn.ReLU(), nn.Dense(20, 20), nn.Tanh(), nn.Dense(20, 5))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients = ac.value_and_grad(lambda x, y: nn.CrossEntropyLoss()(net(x), y), None, optimizer.parameters)
    add = ops.AllReduce()

    def step(x, y):
        loss, found = gradients(x, y)
        optimizer(tuple([add(g) / size for g in found]))
        return loss

    run = ac.jit(step) if compiled else step
    losses = [float(run(x, y).asnumpy()) for _ in range(5)]
    if compiled and rank == 0:
        print(str(ac.jit(step).lower(x, y).ir()))
    return losses, np.concatenate([p.asnumpy().ravel() for p in optimizer.parameters])


wanted, found = trained(False), trained(True)
np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-6)
print("weights", hashlib.sha256(found[1].tobytes()).hexdigest())
"""


def test_gradients_travel_in_buckets_while_others_are_computed() -> None:
    """A step in buckets trains as eager code, whose sums come one by one; all processes have the same bits after it."""
    done = run(_STEPS, 2, env={"AC_BUCKET_SIZE": "1000"})
    assert done.status == 0, "\n".join(done.err)
    lines = done.out[0].splitlines()
    begins = [i for i, line in enumerate(lines) if " begin_all_reduce " in line]
    products = [i for i, line in enumerate(lines) if " matmul " in line]
    ends = [i for i, line in enumerate(lines) if " end_all_reduce " in line]
    assert len(begins) == len(ends) > 1
    assert begins[0] < products[-1] < ends[0]
    (weights,) = {line for out in done.out for line in out.splitlines() if line.startswith("weights")}
    assert weights
