"""`Model` where MindSpore's record says nothing: datasets, interrupts, levels, loss scales and names."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, train
from autodiff_compiler.errors import AutodiffWarning
from autodiff_compiler.train.callback import _InternalCallbackParam

from .expected import Again, Ends, trained
from .scenarios import batches, model_of, plain, printed


# ------------------------------------------------------------------------------------------------ datasets
class Indexed:
    """Batches by their numbers only."""

    def __init__(self, data: list[Any]) -> None:
        self.data = data

    def __getitem__(self, i: int) -> Any:
        return self.data[i]


DATASETS = {
    "list": list,
    "tuple": tuple,
    "lists of columns": lambda data: [list(batch) for batch in data],
    "dicts": lambda data: [{"data": x, "label": y} for x, y in data],
    "numbers": lambda data: [(x.tolist(), y.tolist()) for x, y in data],
    "Tensors": lambda data: [(Tensor(x), Tensor(y)) for x, y in data],
    "one array": lambda data: [np.array(x[:, 0]) for x, _ in data],
    "again": Again,
    "indexed": Indexed,
}


@pytest.mark.parametrize("kind", [kind for kind in DATASETS if kind != "one array"])
def test_datasets_train_alike(kind: str, mode: str) -> None:
    data = batches(3)
    model, seen = model_of(ms), []
    watch = train.LambdaCallback(
        on_train_step_end=lambda c: seen.append(c.original_args().net_outputs.item()),
        on_train_epoch_end=lambda c: seen.append(c.original_args().batch_num),
    )
    model.train(2, DATASETS[kind](data), callbacks=watch)
    w, b, losses = trained(2, data)
    np.testing.assert_allclose(seen, [*losses[:3], 3, *losses[3:], 3], rtol=1e-4)
    np.testing.assert_allclose(model.predict_network.weight.asnumpy(), w[None], rtol=1e-4)
    np.testing.assert_allclose(model.predict_network.bias.asnumpy(), b, rtol=1e-4)


@pytest.mark.parametrize("kind", ["list", "again"])
def test_steps_of_epochs_are_known_or_counted(kind: str) -> None:
    lines = printed(lambda: model_of(ms).train(2, DATASETS[kind](batches(2)), callbacks=train.LossMonitor()))
    assert [line.partition(",")[0] for line in lines] == [f"epoch: {e} step: {s}" for e in (1, 2) for s in (1, 2)]


def test_columns_of_other_kinds() -> None:
    seen: list[Any] = []

    class Takes(nn.Cell):
        def construct(self, *columns: Any) -> Any:
            seen.append(columns)
            return Tensor(0.0)

    batch = (np.int64(3), 2.5, "text", None, (np.ones(2), 1), {"a": np.ones(1)}, True)
    train.Model(Takes()).train(1, [batch])
    ((number, real, text, nothing, pair, named, truth),) = seen
    assert (number.item(), number.dtype, real.item(), real.dtype) == (3, ms.int64, 2.5, ms.float32)
    assert (text, nothing, plain(pair), plain(named), truth.dtype) == ("text", None, [[1, 1], 1], {"a": [1]}, ms.bool_)
    seen.clear()
    train.Model(Takes()).train(1, [np.ones((2, 2)), Tensor([1.0])])
    assert [[plain(column) for column in columns] for columns in seen] == [[[[1, 1], [1, 1]]], [[1]]]


def test_an_iterator_is_for_one_epoch() -> None:
    model = model_of(ms, metrics={"mae"})
    model.train(1, iter(batches(2)))
    with pytest.raises(ValueError, match="spent after one epoch, and 2 are wanted"):
        model.train(2, iter(batches(2)))
    with pytest.raises(ValueError, match="spent after one evaluation"):
        model.fit(2, batches(2), iter(batches(2)))
    with pytest.raises(ValueError, match="spent after one epoch"):
        model.build(iter(batches(2)))
    model.fit(1, batches(2), iter(batches(2)))


class Resetting:
    """An iterator of batches that `iter` lets begin again."""

    def __iter__(self) -> Resetting:
        self.left = iter(batches(2))
        return self

    def __next__(self) -> Any:
        return next(self.left)


def test_an_iterator_that_begins_again() -> None:
    data = Resetting()
    model, same = model_of(ms, metrics={"mae"}), model_of(ms, metrics={"mae"})
    model.fit(3, data, Resetting())
    same.fit(3, batches(2), batches(2))
    assert model.predict_network.weight.tolist() == same.predict_network.weight.tolist()


@pytest.mark.parametrize("dataset", [[], (), Again([]), iter([]), np.zeros((0, 2))])
def test_a_dataset_without_batches(dataset: Any) -> None:
    model = model_of(ms, metrics={"mae"})
    for run in (lambda: model.train(1, dataset), lambda: model.eval(dataset), lambda: model.build(dataset)):
        with pytest.raises(ValueError, match=r"no batches|spent"):
            run()
    with pytest.raises(TypeError, match="a dataset gives batches when it is iterated over"):
        model.train(1, 3)


def test_a_dataset_that_runs_dry() -> None:
    class Once(Again):
        def __iter__(self) -> Iterator[Any]:
            data, self.data = self.data, []
            yield from data

    with pytest.raises(ValueError, match="the dataset has no batches in epoch 2"):
        model_of(ms).train(2, Once(batches(1)))


def test_datasets_of_mindspores_kind_get_the_epochs() -> None:
    log: list[Any] = []

    class Dataset:
        def get_dataset_size(self) -> int:
            return 2

        def create_tuple_iterator(self, num_epochs: int = -1) -> Any:
            log.append(num_epochs)
            return [[Tensor(x), Tensor(y)] for x, y in batches(2)]

        def reset(self) -> None:
            log.append("reset")

    model_of(ms, metrics={"mae"}).fit(3, Dataset(), Dataset(), 2)
    assert log == [3, "reset", 1, "reset", "reset", "reset"]


def test_sink_mode_changes_nothing() -> None:
    lines = []
    for sink, size in ((False, -1), (True, -1), (True, 1), (True, 5)):
        model, monitor = model_of(ms, metrics={"mae": nn.MAE()}), train.LossMonitor()
        options = {"dataset_sink_mode": sink, "sink_size": size, "valid_dataset_sink_mode": sink}
        lines.append(printed(lambda: model.fit(2, batches(2), batches(1), callbacks=monitor, **options)))
        assert model.eval(batches(1), dataset_sink_mode=sink) == model.eval(batches(1))
    assert lines[0] == lines[1] == lines[2] == lines[3]
    assert len(lines[0]) == 6


# ------------------------------------------------------------------------------------------------ interrupts
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), ZeroDivisionError("x")])
def test_an_interrupt_leaves_the_state_of_the_last_step(error: BaseException, mode: str, tmp_path: Path) -> None:
    config = train.CheckpointConfig(2, exception_save=True, append_info=["step_num"])
    saves, ends, model = train.ModelCheckpoint("net", str(tmp_path), config), Ends(3, error), model_of(ms)
    data = batches(4)
    with pytest.raises(type(error)):
        model.train(2, data, callbacks=[ends, saves])
    assert ends.log == [type(error)]
    assert sorted(os.listdir(tmp_path)) == ["net-1_2.ckpt", "net-1_3_breakpoint.ckpt"]
    for name, steps in (("net-1_2.ckpt", 2), ("net-1_3_breakpoint.ckpt", 3)):
        loaded = ms.load_checkpoint(str(tmp_path / name))
        np.testing.assert_allclose(loaded["weight"].asnumpy()[0], trained(1, data[:steps])[0], rtol=1e-4)
        assert loaded["step_num"].item() == steps
    model.train(1, data[3:])  # and it goes on from there
    assert model.train_network.optimizer.global_step.item() == 4


def test_a_signal_between_steps_and_inside(mode: str) -> None:
    model = model_of(ms)
    data = batches(2)

    def interrupt(context: Any) -> None:
        if context.original_args().cur_step_num == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.train(3, data, callbacks=train.LambdaCallback(on_train_step_begin=interrupt))
    np.testing.assert_allclose(model.predict_network.weight.asnumpy()[0], trained(1, data[:1])[0], rtol=1e-5)


def test_a_file_that_cannot_be_written_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saves = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(keep_checkpoint_max=1))
    replace = os.replace

    def fail(source: Any, target: Any) -> None:
        if str(target).endswith("1_2.ckpt"):
            raise OSError("the disk is full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        model_of(ms).train(1, batches(3), callbacks=saves)
    assert os.listdir(tmp_path) == ["net-1_1.ckpt"]


def test_a_breakpoint_that_cannot_be_saved_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = train.CheckpointConfig(100, exception_save=True)
    saves, ends = train.ModelCheckpoint("net", str(tmp_path), config), Ends(1, ZeroDivisionError("x"))
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(ZeroDivisionError) as caught:
        model_of(ms).train(1, batches(1), callbacks=[saves, ends])
    (note,) = caught.value.__notes__
    assert note.startswith("and the Parameters could not be saved: OSError: ")
    assert "full" in note
    assert "net-1_1_breakpoint.ckpt" in note
    assert os.listdir(tmp_path) == []


def test_callbacks_that_cannot_be_entered_leave_those_before() -> None:
    class Fails(train.Callback):
        def __enter__(self) -> Any:
            raise ZeroDivisionError

    ends = Ends(9, ValueError())
    with pytest.raises(ZeroDivisionError):
        model_of(ms).train(1, batches(1), callbacks=[ends, Fails()])
    assert ends.log == [ZeroDivisionError]


def test_what_enters_takes_the_place_of_the_callback() -> None:
    log: list[int] = []
    inner = train.LambdaCallback(on_train_step_end=lambda c: log.append(c.original_args().cur_step_num))

    class Gives(train.Callback):
        def __enter__(self) -> Any:
            return inner

    model_of(ms).train(1, batches(2), callbacks=[Gives()])
    assert log == [1, 2]


# ------------------------------------------------------------------------------------------------ models
@pytest.mark.parametrize("manager", ["fixed", "dynamic"])
def test_loss_scale_managers(manager: str, mode: str) -> None:
    made: Any = train.FixedLossScaleManager(16.0) if manager == "fixed" else train.DynamicLossScaleManager(1024, 2, 2)
    model, kept, seen = model_of(ms, loss_scale_manager=made), train.History(), []
    note = train.LambdaCallback(on_train_step_end=lambda c: seen.append(plain(c.original_args().net_outputs)))
    data = batches(2)
    model.train(3, data, callbacks=[kept, note])
    np.testing.assert_allclose([loss for loss, _, _ in seen], trained(3, data)[2], rtol=1e-4)
    assert [overflow for _, overflow, _ in seen] == [False] * 6
    # Doubled at every second step without an overflow.
    grown = [1024, 2048, 2048, 4096, 4096, 8192]
    assert [scale for _, _, scale in seen] == ([16.0] * 6 if manager == "fixed" else grown)
    assert made.get_loss_scale() == (16.0 if manager == "fixed" else 8192)
    np.testing.assert_allclose(kept.history["net_output"], trained(3, data)[2][1::2], rtol=1e-4)


def test_an_overflow_is_dropped_and_tells_the_manager(mode: str) -> None:
    made = train.DynamicLossScaleManager(2.0**120, 2, 100)
    model = model_of(ms, loss_scale_manager=made)
    x, y = batches(1)[0]
    model.train(1, [(x * 1e6, y)])
    assert model.predict_network.weight.tolist() == [[1.0, 1.0]]
    assert made.get_loss_scale() == 2.0**119


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_mixed_precision(level: str, mode: str) -> None:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = nn.Momentum(net.trainable_params(), 1e-3, 0.5)
    scale = train.FixedLossScaleManager(8.0)  # that of O2 would begin with overflows
    model = train.Model(net, nn.MSELoss(), optimizer, {"mae"}, amp_level=level, loss_scale_manager=scale)
    kept, data = train.History(), batches(2)
    model.fit(2, data, data, callbacks=[kept])
    full = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    train.Model(full, nn.MSELoss(), nn.Momentum(full.trainable_params(), 1e-3, 0.5)).train(2, data)
    np.testing.assert_allclose(net.weight.asnumpy(), full.weight.asnumpy(), rtol=1e-2)
    assert model.predict(Tensor(data[0][0])).shape == (4, 1)
    assert kept.history["mae"][1] < kept.history["mae"][0]


def test_boost_says_that_it_is_not_there() -> None:
    for options in ({"boost_level": "O1"}, {"acc_level": "O2", "boost_config_dict": {}}):
        with pytest.warns(AutodiffWarning, match="changes nothing here"):
            train.Model(nn.Dense(1, 1), **options)
    with pytest.raises(ValueError, match="boost_level"):
        train.Model(nn.Dense(1, 1), boost_level="O9")


def test_layers_know_whether_they_are_trained(mode: str) -> None:
    seen: list[bool] = []

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(p=0.5)
            self.fc = nn.Dense(2, 1)

        def construct(self, x: Any) -> Any:
            return self.fc(self.drop(x))

    net = Net()
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), {"mae"})
    note = train.LambdaCallback(
        on_train_step_end=lambda c: seen.append(net.drop.training), on_eval_step_end=lambda c: seen.append(net.training)
    )

    class Evaluates(train.Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            model.eval(batches(1))

    model.fit(2, batches(2), batches(1), callbacks=[note, Evaluates()])
    assert seen == [True, True, False] * 2
    assert (model.predict(Tensor(np.ones((1, 2), np.float32))).shape, net.drop.training) == ((1, 1), False)


def test_build_compiles_and_changes_nothing(mode: str) -> None:
    model = model_of(ms, metrics={"mae": nn.MAE()})
    runs: list[str] = []
    model.predict_network.register_forward_hook(lambda *args: runs.append("run"))
    model.build(batches(2), batches(1))
    assert runs == []
    assert plain(model.train_network.parameters_dict())["weight"] == [[1.0, 1.0]]
    with pytest.raises(ValueError, match="there is none"):
        model.build()
    plainly = model_of(ms)
    plainly.build(batches(2), epoch=2, sink_mode=False)
    plainly.train(1, batches(2))
    np.testing.assert_allclose(plainly.predict_network.weight.asnumpy()[0], trained(1, batches(2))[0], rtol=1e-4)


def test_a_step_is_compiled_once() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        model = model_of(ms, metrics={"mae": nn.MAE()})
        schedule = train.LearningRateScheduler(lambda rate, step: 0.125 / step)
        model.fit(3, batches(3), batches(2), callbacks=schedule)
        for cell, calls in ((model.train_network, 9), (model.eval_network, 6)):
            info = cell._as_compiled().cache_info()
            assert (info["compiles"], info["hits"]) == (1, calls - 1)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_rates_follow_the_function_in_compiled_steps(mode: str) -> None:
    model, data = model_of(ms, rate=0.25), batches(1)
    model.train(2, data, callbacks=train.LearningRateScheduler(lambda rate, step: 0.0))
    w, b = np.ones(2), np.zeros(1)
    x, y = data[0]
    w = w - 0.25 * 2 * ((x @ w + b - y[:, 0])[:, None] * x).mean(0)
    np.testing.assert_allclose(model.predict_network.weight.asnumpy()[0], w, rtol=1e-5)
    listed = nn.Dense(2, 1)
    stepped = train.Model(listed, nn.MSELoss(), nn.SGD(listed.trainable_params(), [0.1, 0.2]))
    for callback in (train.LearningRateScheduler(lambda rate, step: rate), train.ReduceLROnPlateau("loss")):
        with pytest.raises(ValueError, match="one learning rate"):
            stepped.train(1, data, callbacks=callback)
        with pytest.raises(AttributeError, match="this training has none"):
            train.Model(nn.WithLossCell(listed, nn.MSELoss())).train(1, data, callbacks=callback)


def test_predict_may_be_asked_for_phones() -> None:
    x = Tensor(np.ones((1, 2), np.float32))
    assert model_of(ms).predict(x, backend="lite").tolist() == [[2.0]]


# ------------------------------------------------------------------------------------------------ names
def test_contexts_are_dicts_with_attributes() -> None:
    args = _InternalCallbackParam()
    args.mode = "train"
    assert (args["mode"], args.mode, hasattr(args, "batch_num"), args.get("batch_num", 4)) == (
        "train",
        "train",
        False,
        4,
    )
    with pytest.raises(AttributeError, match="no 'batch_num'"):
        args.batch_num


def test_names_are_where_mindspore_has_them() -> None:
    from autodiff_compiler.train import callback, metrics, model
    from autodiff_compiler.train.callback import _callback, _checkpoint, _loss_monitor, _time_monitor

    for name in callback.__all__:
        assert getattr(ms, name) is getattr(train, name) is getattr(ms.train.callback, name)
    for name in ("Accuracy", "Loss", "Metric", "Top5CategoricalAccuracy", "get_metric_fn"):
        assert getattr(ms, name) is getattr(train, name) is getattr(nn, name) is getattr(metrics, name)
    assert (ms.Model, ms.DatasetHelper) == (model.Model, train.DatasetHelper)
    assert (_callback.Callback, _checkpoint.ModelCheckpoint) == (ms.Callback, ms.ModelCheckpoint)
    assert (_loss_monitor.LossMonitor, _time_monitor.TimeMonitor) == (ms.LossMonitor, ms.TimeMonitor)
