"""Checks of data-parallel training: every process also trains alone with the whole batches, which is what is right."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, communication, nn, ops
from autodiff_compiler.collectives import group, transfer

MODES = (ms.PYNATIVE_MODE, ms.GRAPH_MODE)
BATCH, STEPS = 8, 3


def everybody() -> Any:
    communication.init()
    return group("hccl_world_group")


@contextlib.contextmanager
def data_parallel(**settings: Any) -> Iterator[None]:
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, **settings)
    try:
        yield
    finally:
        ms.reset_auto_parallel_context()


@contextlib.contextmanager
def mode(which: int) -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=which)
    try:
        yield
    finally:
        ms.set_context(mode=before)


def chosen(names: Any) -> list[str]:
    """What is trained: all with two processes, the first and the last with more, as they share the same cores."""
    return list(names) if everybody().size == 2 else [*names][:: len(names) - 1]


def mine(batch: Any) -> Any:
    """The part of a batch that belongs to this process."""
    g = everybody()
    each = len(batch) // g.size
    return batch[g.rank * each : (g.rank + 1) * each]


def mean_of_all(value: float) -> float:
    g = everybody()
    return float(transfer.all_reduce(np.array([value]), "sum", g)[0]) / g.size


def bits(parameters: Any) -> str:
    return hashlib.sha256(b"".join(p.asnumpy().tobytes() for p in parameters)).hexdigest()


def same_everywhere(parameters: Any) -> None:
    """The Parameters have the same bits in all processes."""
    own = np.frombuffer(bytes.fromhex(bits(parameters)), np.uint8)
    rows = transfer.all_gather(own[None], everybody())
    assert (rows == rows[0]).all(), "the weights differ between processes"


# ------------------------------------------------------------------------------------------------ networks
class LeNet(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, pad_mode="same"), nn.Conv2d(4, 6, 3, pad_mode="valid")
        self.pool, self.relu, self.flatten = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten()
        self.fc1, self.fc2 = nn.Dense(24, 12), nn.Dense(12, 10)

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(ops.pad(self.conv2(x), (1, 1, 1, 1))))
        return self.fc2(self.relu(self.fc1(self.flatten(x))))


class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 4, batch_first=True), nn.Dense(4, 10)

    def construct(self, x: Any) -> Any:
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def digits(n: int = BATCH * STEPS) -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.images[:n] / 16).astype(np.float32), found.target[:n].astype(np.int32)


def mlp() -> Any:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(64, 24), nn.Tanh(), nn.Dense(24, 10))


NETS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "digits": (mlp, (8, 8)),
    "lstm": (Recurrent, (8, 8)),
    "lenet": (LeNet, (1, 8, 8)),
}


def trained(make: Callable[[], Any], shape: tuple[int, ...], optimizer: Any, part: Any, after: Any) -> Any:
    """Losses of a training from one seed, and the network."""
    images, labels = digits()
    ms.set_seed(3)
    net = make()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer(net.trainable_params()))
    step.set_train()
    losses = []
    for start in range(0, len(images), BATCH):
        x, y = images[start : start + BATCH].reshape(BATCH, *shape), labels[start : start + BATCH]
        losses.append(step(Tensor(part(x)), Tensor(part(y))).item())
        after(net.trainable_params())
    return losses, net, step


def trained_alone(name: str, optimizer: Any) -> Any:
    losses, net, _ = trained(*NETS[name], optimizer, lambda x: x, lambda ps: None)
    return losses, net


def trained_together(name: str, optimizer: Any, **settings: Any) -> Any:
    with data_parallel(**settings):
        losses, net, step = trained(*NETS[name], optimizer, mine, same_everywhere)
    return [mean_of_all(loss) for loss in losses], net, step


def refusal(call: Callable[[], Any], kind: type[Exception]) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def close(found: Any, wanted: Any, **rounding: float) -> None:
    np.testing.assert_allclose(found, wanted, **{"rtol": 3e-5, "atol": 1e-6, **rounding})


def momentum(params: Any) -> Any:
    return nn.Momentum(params, 0.1, 0.9)


# ------------------------------------------------------------------------------------------------ checks
def check_losses_are_those_of_the_whole_batch() -> None:
    for name in chosen(NETS):
        wanted, alone = trained_alone(name, momentum)
        for which in MODES:
            with mode(which):
                found, net, _ = trained_together(name, momentum)
            close(found, wanted)
            for p, q in zip(net.trainable_params(), alone.trainable_params(), strict=True):
                close(p.asnumpy(), q.asnumpy(), atol=2e-5)


#: Optimizers that take each element by itself, and Lamb, whose norms are those of whole Parameters.
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda ps: nn.SGD(ps, 0.1, 0.9, weight_decay=0.01),
    "Momentum": momentum,
    "Adam": lambda ps: nn.Adam(ps, 0.01),
    "amsgrad": lambda ps: nn.Adam(ps, 0.01, use_amsgrad=True),
    "LazyAdam": lambda ps: nn.LazyAdam(ps, 0.01),
    "AdamWeightDecay": lambda ps: nn.AdamWeightDecay(ps, 0.01, weight_decay=0.1),
    "AdaMax": lambda ps: nn.AdaMax(ps, 0.01),
    "Adagrad": lambda ps: nn.Adagrad(ps, learning_rate=0.1),
    "ProximalAdagrad": lambda ps: nn.ProximalAdagrad(ps, learning_rate=0.1, l1=0.001),
    "FTRL": lambda ps: nn.FTRL(ps, learning_rate=0.1),
    "RMSProp": lambda ps: nn.RMSProp(ps, 0.01, centered=True),
    "Adadelta": lambda ps: nn.Adadelta(ps),
    "ASGD": lambda ps: nn.ASGD(ps, 0.1),
    "Rprop": lambda ps: nn.Rprop(ps, 0.01),
    "Lion": lambda ps: nn.Lion(ps, 0.01),
    "groups": lambda ps: nn.Adam([{"params": ps[:1], "lr": 0.1, "weight_decay": 0.1}, {"params": ps[1:]}], 0.01),
}


def check_optimizers_that_share_their_state() -> None:
    for name in chosen(OPTIMIZERS):
        _, net, _ = trained_together("digits", OPTIMIZERS[name])
        _, cut, step = trained_together("digits", OPTIMIZERS[name], enable_parallel_optimizer=True)
        pairs = list(zip(net.trainable_params(), cut.trainable_params(), strict=True))
        assert step.optimizer.sharding is not None
        if everybody().size == 2:  # sums of two have one order
            assert all((p.asnumpy() == q.asnumpy()).all() for p, q in pairs), name
        for p, q in pairs:
            close(q.asnumpy(), p.asnumpy(), atol=1e-4)


def check_compiled_optimizers_that_share_their_state() -> None:
    with mode(ms.GRAPH_MODE):
        for name in ("groups", "Adam") if everybody().size == 2 else ("groups",):
            _, net, _ = trained_together("digits", OPTIMIZERS[name])
            _, cut, _ = trained_together("digits", OPTIMIZERS[name], enable_parallel_optimizer=True)
            for p, q in zip(net.trainable_params(), cut.trainable_params(), strict=True):
                close(q.asnumpy(), p.asnumpy(), rtol=1e-6, atol=1e-6 if everybody().size == 2 else 1e-4)


def check_norms_of_whole_parameters() -> None:
    for optimizer in (lambda ps: nn.Lamb(ps, 0.01), lambda ps: nn.LARS(nn.Momentum(ps, 0.1, 0.9))):
        _, net, _ = trained_together("digits", optimizer)
        _, cut, _ = trained_together("digits", optimizer, enable_parallel_optimizer=True)
        for p, q in zip(net.trainable_params(), cut.trainable_params(), strict=True):
            close(q.asnumpy(), p.asnumpy(), atol=2e-5)


def check_state_takes_a_part_of_the_memory() -> None:
    sizes = []
    for shares in (False, True):
        with data_parallel(enable_parallel_optimizer=shares):
            net = mlp()
            optimizer = nn.Adam(net.trainable_params(), 0.01)
            sizes.append(sum(p.size for p in (*optimizer.moment1, *optimizer.moment2)))
    weights = sum(p.size for p in net.trainable_params())
    n = everybody().size
    assert sizes[0] == 2 * weights
    assert sizes[1] == 2 * sum(-(-p.size // n) for p in net.trainable_params())


def check_steps_that_need_whole_parameters_are_refused() -> None:
    class Own(nn.Optimizer):
        def construct(self, gradients: Any) -> Any:
            return gradients

    def centralized(ps: Any) -> Any:
        return nn.Adam([{"params": ps, "grad_centralization": True}], 0.01)

    with data_parallel(enable_parallel_optimizer=True):
        for make in (nn.AdaFactor, lambda ps: Own(0.1, ps), centralized):
            told = refusal(lambda: make(mlp().trainable_params()), ms.UnsupportedCallError)
            assert "whole Parameters" in told


def check_overflow_in_one_process_is_one_in_all() -> None:
    for which, shares in itertools.product(MODES, (False, True)):
        with mode(which), data_parallel(enable_parallel_optimizer=shares):
            ms.set_seed(1)
            net = nn.Dense(3, 2)
            manager = nn.DynamicLossScaleUpdateCell(1024.0, 2, 100)
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, manager)
            x, before = np.ones((2, 3), np.float32), bits(net.trainable_params())
            if everybody().rank == 1:
                x[0, 0] = np.inf
            _, overflow, scale = step(Tensor(x), Tensor(np.zeros((2, 2), np.float32)))
            assert (bool(overflow.item()), scale.item()) == (True, 512.0)
            assert bits(net.trainable_params()) == before
            x = np.ones((2, 3), np.float32)
            _, overflow, scale = step(Tensor(x), Tensor(np.zeros((2, 2), np.float32)))
            assert (bool(overflow.item()), scale.item()) == (False, 512.0)
            assert bits(net.trainable_params()) != before
            same_everywhere([*net.trainable_params(), step.scale_sense])


def check_batch_norm_over_all_processes() -> None:
    rng = np.random.default_rng(5)
    for which, shape in itertools.product(MODES, ((8, 3), (8, 3, 4, 5))):
        x, w = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape).astype(np.float32)
        ms.set_seed(2)
        whole = (nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d)(3, gamma_init="normal").set_train()
        ms.set_seed(2)
        parted = nn.SyncBatchNorm(3, gamma_init="normal").set_train()

        def weighted(net: Any, x: Any, w: Any) -> Any:
            y = net(x)
            return (y * w).sum() + (y * y * y * w).sum()

        def derivative(net: Any, x: Any, w: Any) -> Any:
            by = ms.grad(lambda x, w: weighted(net, x, w), 0, net.trainable_params())
            return by(Tensor(x), Tensor(w))

        with mode(which):
            dx, dp = derivative(whole, x, w)
            own_dx, own_dp = derivative(parted, mine(x), mine(w))
        close(own_dx.asnumpy(), mine(dx.asnumpy()), rtol=1e-4, atol=1e-4)
        for own, wanted in zip(own_dp, dp, strict=True):
            close(transfer.all_reduce(own.asnumpy(), "sum", everybody()), wanted.asnumpy(), rtol=1e-4, atol=1e-4)
        close(parted.moving_mean.asnumpy(), whole.moving_mean.asnumpy())
        close(parted.moving_variance.asnumpy(), whole.moving_variance.asnumpy())


def check_batch_norm_over_groups() -> None:
    n = everybody().size
    groups = [[r for r in range(n) if r < n // 2], [r for r in range(n) if r >= n // 2]]
    own = next(ranks for ranks in groups if everybody().rank in ranks)
    net = nn.SyncBatchNorm(1, eps=0.0, process_groups=groups).set_train()
    x = np.array([[float(everybody().rank)], [float(everybody().rank) + 2.0]], np.float32)
    whole = np.concatenate([[r, r + 2.0] for r in own])
    close(net(Tensor(x)).asnumpy(), (x - whole.mean()) / whole.std(), rtol=1e-5)
    assert "once" in refusal(lambda: nn.SyncBatchNorm(1, process_groups=[[0, 0]]), ValueError)


def check_masks_differ_and_weights_do_not() -> None:
    for which in MODES:
        with mode(which), data_parallel():
            ms.set_seed(4)
            net = nn.Dense(4, 4)
            nn.DistributedGradReducer(net.trainable_params())
            drop = nn.Dropout(p=0.5).set_train()
            dropped = drop(Tensor(np.ones((64,), np.float32))).asnumpy()
        same_everywhere(net.trainable_params())
        rows = transfer.all_gather(dropped[None], everybody())
        assert len({row.tobytes() for row in rows}) == everybody().size
        with mode(which), data_parallel():
            ms.set_seed(4)
            assert (drop(Tensor(np.ones((64,), np.float32))).asnumpy() == dropped).all()


def check_different_weights_are_told() -> None:
    for which in MODES:
        for broadcast in (False, True):
            with mode(which), data_parallel(parameter_broadcast=broadcast):
                ms.set_seed(everybody().rank)
                net = nn.Dense(2, 2)
                step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
                x = Tensor(np.ones((2, 2), np.float32))
                if broadcast:
                    step(x, x)
                    same_everywhere(net.trainable_params())
                else:
                    assert "weight" in refusal(lambda: step(x, x), ms.ParameterError)


# ------------------------------------------------------------------------------------------------ Model
def rows(count: int) -> Any:
    from autodiff_compiler import dataset as ds

    g = everybody()
    images, labels = digits(count)
    data = (images.reshape(count, 64), labels)
    return ds.NumpySlicesDataset(data, ["x", "y"], num_shards=g.size, shard_id=g.rank)


def model(**settings: Any) -> Any:
    ms.set_seed(6)
    net = nn.SequentialCell(nn.Dense(64, 8), nn.Tanh(), nn.Dense(8, 10))
    return ms.train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01), {"acc"}), net


def folder() -> str:
    """A new folder, of which all processes know."""
    import tempfile

    from autodiff_compiler.data_parallel.texts import texts_of_all

    return texts_of_all(tempfile.mkdtemp(), everybody())[0]


def check_shards_are_shuffled_alike_and_equally_long() -> None:
    g = everybody()
    for epoch_seed in (1, 2):
        ms.set_seed(epoch_seed)
        data = rows(21)
        seen = []
        for _ in range(2):
            own = np.array([y.item() for _, y in data.create_tuple_iterator(num_epochs=1)], np.int64)
            assert len(own) == -(-21 // g.size)
            seen.append(transfer.all_gather(own[None], g))
        every = sorted(np.stack(seen[0]).T.reshape(-1)[:21].tolist())  # what comes twice comes last
        assert every == sorted(digits()[1][:21].tolist())


def check_model_trains_saves_and_goes_on() -> None:
    import os

    for shares in (False, True):
        losses: list[list[float]] = []
        place = folder()
        for part in ("whole", "first", "second"):
            with data_parallel(enable_parallel_optimizer=shares):
                trainer, net = model()
                saves = ms.train.ModelCheckpoint("m", f"{place}/{part}", ms.train.CheckpointConfig(100))
                if part == "second":
                    [file] = [f for f in os.listdir(f"{place}/first") if f.endswith(".ckpt")]
                    ms.load_checkpoint(f"{place}/first/{file}", trainer.train_network)
                seen: list[float] = []
                noted = ms.train.LambdaCallback(
                    on_train_step_end=lambda c, seen=seen: seen.append(c.original_args().net_outputs.item())
                )
                data = [(x, y) for x, y in rows(32).batch(4).create_tuple_iterator(num_epochs=1)]
                trainer.train(2 if part == "whole" else 1, data, [saves, noted])
                same_everywhere(net.trainable_params())
                losses.append(seen)
                assert len(os.listdir(f"{place}/{part}")) == 1
        assert losses[0] == losses[1] + losses[2]
        [file] = os.listdir(f"{place}/whole")
        stored = ms.load_checkpoint(f"{place}/whole/{file}")
        assert stored["moment1.0.weight"].shape == (8, 64)  # also where each process has a part
        alone, net = model()  # ... and a single process goes on with it
        ms.load_checkpoint(f"{place}/whole/{file}", alone.train_network)


def check_own_folders_have_own_files() -> None:
    import os

    place, me = folder(), everybody().rank
    with data_parallel():
        trainer, _ = model()
        saves = ms.train.ModelCheckpoint("m", f"{place}/rank_{me}", ms.train.CheckpointConfig(100))
        trainer.train(1, rows(16).batch(4), saves)
    transfer.barrier(everybody())
    assert sorted(os.listdir(place)) == [f"rank_{r}" for r in range(everybody().size)]
    assert all(len(os.listdir(f"{place}/rank_{r}")) == 1 for r in range(everybody().size))
    with data_parallel():  # only one process saves: nobody waits for the others
        trainer, _ = model()
        only = [ms.train.ModelCheckpoint("n", place, ms.train.CheckpointConfig(1))] if me == 0 else []
        trainer.train(1, rows(16).batch(4), only)


def check_a_file_that_cannot_be_written_is_told_to_all() -> None:
    import os

    place = folder()
    with data_parallel():
        trainer, _ = model()
        saves = ms.train.ModelCheckpoint("m", place, ms.train.CheckpointConfig(1, keep_checkpoint_max=5))
        trainer.train(1, rows(8 * everybody().size).batch(4), saves)
        transfer.barrier(everybody())
        before = sorted(os.listdir(place))
        transfer.barrier(everybody())
        if everybody().rank == 0:
            os.mkdir(f"{place}/m-2_1.ckpt")
        transfer.barrier(everybody())
        trainer, _ = model()
        saves = ms.train.ModelCheckpoint("x", place, ms.train.CheckpointConfig(1))
        saves._prefix = "m"

        def go_on() -> None:
            trainer.train(2, rows(4 * everybody().size).batch(4), saves, initial_epoch=1)

        told = refusal(go_on, OSError)
        assert "m-2_1.ckpt" in told, told
    whole = [f for f in before if f.endswith(".ckpt")]
    assert len(whole) == 2
    for file in whole:
        ms.load_checkpoint(f"{place}/{file}")


def check_processes_without_a_batch_are_told() -> None:
    g = everybody()
    with data_parallel():
        trainer, _ = model()
        x, y = np.ones((4, 64), np.float32), np.zeros((4,), np.int32)
        told = refusal(lambda: trainer.train(1, [(x, y)] * (3 if g.rank == 0 else 2)), ValueError)
        assert "step 3 of epoch 1" in told
        assert "process 0 has float32[4, 64]" in told
        assert "none" in told
        trainer, _ = model()
        last = (x[:3], y[:3]) if g.rank == 1 else (x, y)
        told = refusal(lambda: trainer.train(1, [(x, y), last]), ValueError)
        assert "step 2 of epoch 1" in told
        assert "float32[3, 64]" in told


def check_all_stop_with_one() -> None:
    with data_parallel():
        trainer, net = model()
        steps = []

        def stop(context: Any) -> None:
            steps.append(1)
            if everybody().rank == 1 and len(steps) == 3:
                context.request_stop()

        x, y = np.ones((4, 64), np.float32), np.zeros((4,), np.int32)
        trainer.train(5, [(x, y)] * 2, ms.train.LambdaCallback(on_train_step_end=stop))
    assert len(steps) == 3
    same_everywhere(net.trainable_params())


def check_who_is_asked_to_end_ends_all_and_each_saves() -> None:
    import os
    import signal

    me, n = everybody().rank, everybody().size
    x, y = digits(6 * n)
    data = [(x[i : i + 2].reshape(2, 64), y[i : i + 2]) for i in range(2 * me, 6 * n, 2 * n)]
    for shares in (False, True):
        place, seen = folder(), []
        with data_parallel(enable_parallel_optimizer=shares):
            for part in ("whole", "ended", "rest"):
                trainer, net = model()
                steps: list[float] = []

                def noted(context: Any, part: str = part, steps: list[float] = steps) -> None:
                    steps.append(context.original_args().net_outputs.item())
                    if part == "ended" and me == n - 1:
                        signal.raise_signal(signal.SIGTERM)

                exits = [] if part == "whole" else [ms.train.OnRequestExit(save_mindir=False, directory=place)]
                given = data[1:] if part == "rest" else data
                trainer.train(1, given, [ms.train.LambdaCallback(on_train_step_end=noted), *exits])
                same_everywhere(net.trainable_params())
                seen.append(steps)
        assert len(seen[1]) == 1
        assert seen[1] == seen[0][:1]
        assert seen[2] == seen[0][1:]
        transfer.barrier(everybody())
        assert sorted(os.listdir(place)) == [f"rank_{r}" for r in range(n)]
        assert os.listdir(f"{place}/rank_{me}") == ["Net_train.ckpt"]


def check_counts_of_metrics_add_up() -> None:
    """What the how-to writes for a metric over all processes."""
    rng = np.random.default_rng(7)
    scores, labels = rng.standard_normal((16, 3)).astype(np.float32), rng.integers(0, 3, 16).astype(np.int32)
    own = nn.Accuracy("classification")
    own.update(Tensor(mine(scores)), Tensor(mine(labels)))
    right, seen = ops.AllReduce()(Tensor([own.eval() * 16 / everybody().size, 16.0 / everybody().size])).tolist()
    close(right / seen, (scores.argmax(1) == labels).mean())


# ------------------------------------------------------------------------------------------------ groups of gradients
def check_groups_of_gradients() -> None:
    g = everybody()
    own = [np.full(shape, 1.0 + g.rank, np.float32) for shape in ((2, 3), (4,), (), (5, 1), (0, 2))]
    total = sum(1.0 + rank for rank in range(g.size))
    for settings in (
        {},
        {"all_reduce_fusion_config": [1, 3]},
        {"comm_fusion": {"allreduce": {"mode": "index", "config": [0]}}},
        {"comm_fusion": {"allreduce": {"mode": "size", "config": 1}}},
    ):
        for which, mean in itertools.product(MODES, (False, True)):
            with mode(which), data_parallel(**settings):
                kept = [ms.Parameter(x, f"p{i}", layerwise_parallel=i == 1) for i, x in enumerate(own)]
                for p in kept:
                    p.set_data(Tensor(np.zeros_like(p.asnumpy())))
                reducer = nn.DistributedGradReducer(kept, mean)
                found = reducer(tuple(map(Tensor, own)))
            for i, (x, y) in enumerate(zip(own, found, strict=True)):
                wanted = x if i == 1 else np.full_like(x, total / g.size if mean else total)
                close(y.asnumpy(), wanted, rtol=1e-6)
                assert y.shape == x.shape
        sizes = [tuple(group) for group in reducer.groups]
        if "all_reduce_fusion_config" in settings:
            assert sizes == [(4,), (2, 3), (0,)], sizes


def check_half_precision_is_added_in_float32() -> None:
    g = everybody()
    p = ms.Parameter(np.zeros(2, np.float16), "p")
    with data_parallel():
        reducer = nn.DistributedGradReducer([p], mean=False)
        own = np.array([2048.0 if g.rank == 0 else 1.0, 1.0], np.float16)
        found = reducer((Tensor(own),))[0].asnumpy()
    assert found.dtype == np.float16
    assert found[0] == np.float16(2048.0 + g.size - 1)  # one by one in float16 it would stay 2048
