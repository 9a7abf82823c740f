"""Data-parallel train steps of 1, 2 and 4 processes, in turns with PyTorch's DistributedDataParallel on gloo.

    python benchmarks/distributed.py [processes ...]

Every process has a batch of its own, of the same size for any number of processes, and one thread.  A round is a block
of steps of each kind; its time is that of the slowest process.  Columns are medians over the rounds, in milliseconds:

`alone`     a step that combines nothing, while all processes compute
`paced`     the same, and after each step all wait for the slowest
`step`      the compiled step in data-parallel mode
`after`     compiled gradients, then one all_reduce for each, then the compiled optimizer
`sharded`   the compiled step with the optimizer's state cut between the processes
`sum`       one all_reduce of as many bytes as all gradients have
`torch`     the step of DDP, `t.alone` the same without DDP
`ratio`     torch / step, the median of rounds: above 1 this package is faster
`model`     paced + bytes / bandwidth, where the bandwidth is that of the line through sums of several lengths
`hidden`    the part of `sum` that `step` does not take longer than `paced`, at most 1
`efficiency`  alone / step, what is lost by waiting and by sending; paced / step is what is lost by sending
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from _measure import machine, np, table
from training import LeNet

import autodiff_compiler as ms
from autodiff_compiler import Tensor, communication, nn
from autodiff_compiler.collectives import group, transfer
from autodiff_compiler.collectives.launcher import find_launcher

ROUNDS, SECONDS = 7, 0.15
Step = Callable[[], Any]


def mlp() -> Any:
    return nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))


#: The network, the shape of an input, rows in the batch of a process.
CASES: dict[str, tuple[Callable[[], Any], tuple[int, ...], int]] = {
    "MLP": (mlp, (784,), 64),
    "LeNet": (LeNet, (1, 32, 32), 64),
}


# ------------------------------------------------------------------------------------------------ steps
def own_step(make: Callable[[], Any], batch: tuple[Any, Any], **settings: Any) -> Step:
    """A compiled step, in data-parallel mode if there are settings."""
    if settings:
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, **settings)
    ms.set_seed(1)
    net = make()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer).set_train()
    ms.reset_auto_parallel_context()
    return lambda: step(*batch)


def step_after(make: Callable[[], Any], batch: tuple[Any, Any]) -> Step:
    """Gradients are combined one by one when all of them are there."""
    ms.set_seed(1)
    net, loss, everybody = make(), nn.CrossEntropyLoss(), group("hccl_world_group")
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    gradients = ms.jit(ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters))

    def step() -> None:
        _, grads = gradients(*batch)
        sums = [transfer.all_reduce(g.asnumpy(), "sum", everybody) for g in grads]
        optimizer(tuple(Tensor(s * np.float32(1 / everybody.size)) for s in sums))

    return step


def torch_steps(name: str, batch: tuple[Any, Any]) -> dict[str, Step]:
    """The same network, loss and optimizer in PyTorch, with DDP and without."""
    import torch
    from torch import nn as tn

    torch.set_num_threads(1)

    def network() -> Any:
        torch.manual_seed(1)
        if name == "MLP":
            return tn.Sequential(tn.Linear(784, 512), tn.ReLU(), tn.Linear(512, 512), tn.ReLU(), tn.Linear(512, 10))
        return tn.Sequential(
            tn.Conv2d(1, 6, 5), tn.ReLU(), tn.MaxPool2d(2),
            tn.Conv2d(6, 16, 5), tn.ReLU(), tn.MaxPool2d(2), tn.Flatten(),
            tn.Linear(400, 120), tn.ReLU(), tn.Linear(120, 84), tn.ReLU(), tn.Linear(84, 10),
        )  # fmt: skip

    x, y = torch.from_numpy(batch[0].asnumpy()), torch.from_numpy(batch[1].asnumpy()).long()
    criterion = tn.CrossEntropyLoss()

    def stepping(net: Any) -> Step:
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)

        def step() -> None:
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()

        return step

    together = tn.parallel.DistributedDataParallel(network())
    return {"torch": stepping(together), "t.alone": stepping(network())}


# ------------------------------------------------------------------------------------------------ one process
def block(step: Step, count: int, everybody: Any) -> float:
    """Milliseconds for a step, of the slowest process."""
    transfer.barrier(everybody)
    start = time.perf_counter()
    for _ in range(count):
        step()
    taken = 1e3 * (time.perf_counter() - start) / count
    return float(transfer.all_reduce(np.array([taken]), "max", everybody)[0])


def measured(name: str, everybody: Any) -> dict[str, Any]:
    make, shape, rows = CASES[name]
    rng = np.random.default_rng(everybody.rank)
    x, y = rng.standard_normal((rows, *shape)).astype(np.float32), rng.integers(0, 10, rows).astype(np.int32)
    batch = Tensor(x), Tensor(y)
    size = sum(p.size for p in make().trainable_params())
    flat = np.zeros(size, np.float32)
    alone = own_step(make, batch)
    steps: dict[str, Step] = {
        "alone": alone,
        "paced": lambda: (alone(), transfer.barrier(everybody)),
        "step": own_step(make, batch, enable_parallel_optimizer=False),
        "after": step_after(make, batch),
        "sharded": own_step(make, batch, enable_parallel_optimizer=True),
        "sum": lambda: transfer.all_reduce(flat, "sum", everybody, out=flat),
        **torch_steps(name, batch),
    }
    for step in steps.values():
        for _ in range(25):  # compiled calls get their fast path
            step()
    counts = {kind: max(1, int(1e3 * SECONDS / block(step, 3, everybody))) for kind, step in steps.items()}
    times: dict[str, list[float]] = {kind: [] for kind in steps}
    for _ in range(ROUNDS):
        for kind, step in steps.items():
            times[kind].append(block(step, counts[kind], everybody))
    return {"case": name, "processes": everybody.size, "bytes": flat.nbytes, "times": times}


def line(everybody: Any) -> tuple[float, float]:
    """Milliseconds of a sum that do not depend on its bytes, and those for each MB: medians of rounds."""
    lengths = (2, 2**14, 2**17, 2**19, 2**20)
    arrays = [np.zeros(n, np.float32) for n in lengths]
    taken = [
        [block(lambda x=x: transfer.all_reduce(x, "sum", everybody, out=x), 5, everybody) for x in arrays]
        for _ in range(2 * ROUNDS)
    ]
    middle = np.median(taken, axis=0)
    slope = float((middle[-1] - middle[0]) / (4e-6 * (lengths[-1] - lengths[0])))
    return float(middle[0]), slope


def worker(port: int, written: str) -> None:
    """Measures all cases; the first process writes them down."""
    communication.init()
    ms.set_context(mode=ms.GRAPH_MODE)
    everybody = group("hccl_world_group")
    import torch.distributed as torch_processes

    address = f"tcp://127.0.0.1:{port}"
    torch_processes.init_process_group("gloo", init_method=address, rank=everybody.rank, world_size=everybody.size)
    latency, slope = line(everybody)
    found = [measured(name, everybody) | {"latency": latency, "slope": slope} for name in CASES]
    if everybody.rank == 0:
        pathlib.Path(written).write_text(json.dumps(found), "utf-8")
    transfer.barrier(everybody)
    torch_processes.destroy_process_group()


# ------------------------------------------------------------------------------------------------ all of them
def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def results(processes: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder, "results")
        command = [sys.executable, os.path.abspath(__file__), "--worker", str(free_port()), str(written)]
        subprocess.run(find_launcher().command(processes, command) if processes > 1 else command, check=True)
        return json.loads(written.read_text("utf-8"))


def row(found: dict[str, Any]) -> list[Any]:
    times = {kind: np.array(taken) for kind, taken in found["times"].items()}
    middle = {kind: float(np.median(taken)) for kind, taken in times.items()}
    ratio = float(np.median(times["torch"] / times["step"]))
    longer = float(np.median(times["step"] - times["paced"]))
    hidden = 1.0 if found["processes"] == 1 else float(np.clip(1 - longer / middle["sum"], 0, 1))
    efficiency = float(np.median(times["alone"] / times["step"]))
    kinds = ("alone", "paced", "step", "after", "sharded", "sum", "torch", "t.alone")
    columns = [middle[kind] for kind in kinds]
    sent = 0.0 if found["processes"] == 1 else found["slope"] * found["bytes"] / 1e6
    return [
        found["case"], found["processes"], f"{found['bytes']:,}", *columns, middle["paced"] + sent,
        ratio, hidden, efficiency,
    ]  # fmt: skip


def main() -> None:
    print(machine())
    head = ["network", "N", "bytes", "alone", "paced", "step", "after", "sharded", "sum", "torch", "t.alone"]
    rows, lines = [], []
    for processes in map(int, sys.argv[1:] or ("1", "2", "4")):
        found = results(processes)
        rows += [row(case) for case in found]
        lines.append([processes, found[0]["latency"], found[0]["slope"]])
    table("milliseconds for a step", [*head, "model", "ratio", "hidden", "efficiency"], rows)
    table("a sum over the processes", ["N", "latency [ms]", "ms for each MB"], lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(int(sys.argv[2]), sys.argv[3])
    else:
        main()
