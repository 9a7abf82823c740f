"""Callbacks where MindSpore's record says nothing: what differs on purpose, terminals, and files."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, train
from autodiff_compiler.errors import AutodiffWarning, UnsupportedCallError
from autodiff_compiler.train.callback import _InternalCallbackParam

from .expected import Again, Ends, trained
from .scenarios import batches, model_of, printed


# ------------------------------------------------------------------------------------------------ differences
def test_the_loss_of_an_evaluation_is_the_mean_of_its_batches(mode: str) -> None:
    # MindSpore 2.10 keeps the loss of the last batch only.
    data, kept = batches(3), []
    model = model_of(ms, rate=0.0, metrics={"loss": nn.Loss()})
    note = train.LambdaCallback(on_train_epoch_end=lambda c: kept.append(c.original_args().eval_results))
    model.fit(1, batches(1), data, callbacks=note)
    losses = [np.mean((x.sum(1, keepdims=True) - y) ** 2) for x, y in data]
    assert kept[0]["eval_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    assert kept[0]["eval_loss"] == kept[0]["loss"]


def test_lambdas_are_called_in_evaluations_of_fit() -> None:
    # MindSpore 2.10 calls none of its own callbacks but TimeMonitor there.
    log: list[Any] = []
    stages = ["begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"]
    notes = {f"on_eval_{stage}": lambda c, stage=stage: log.append(stage) for stage in stages}
    model_of(ms, metrics={"mae"}).fit(1, batches(1), batches(1), callbacks=train.LambdaCallback(**notes))
    assert log == stages


def watched(callback: Any, name: str, values: list[float]) -> list[int]:
    args = _InternalCallbackParam(
        train_network=nn.Dense(1, 1), optimizer=nn.SGD(nn.Dense(1, 1).trainable_params(), 1.0)
    )
    context = train.RunContext(args)
    callback.on_train_begin(context)
    waits = []
    for epoch, value in enumerate(values, 1):
        args.update(cur_epoch_num=epoch, eval_results={name: value}, net_outputs=Tensor(value))
        callback.on_train_epoch_end(context)
        waits.append(callback.wait)
        if context.get_stop_requested():
            break
    return waits


def test_zero_is_a_value_as_others() -> None:
    # MindSpore 2.10 takes 0.0 for a value that is missing.
    assert watched(train.EarlyStopping("acc", patience=2), "acc", [0.0, 0.0, 0.0, 1.0]) == [0, 1, 2]
    assert watched(train.ReduceLROnPlateau("mae", patience=3), "mae", [1.0, 0.0, 0.5]) == [0, 0, 1]


def test_a_baseline_has_to_be_beaten() -> None:
    # MindSpore 2.10 compares with `min_delta` in its place.
    stop = train.EarlyStopping("acc", patience=3, baseline=0.5)
    assert watched(stop, "acc", [0.1, 0.2, 0.6, 0.7, 0.7, 0.7, 0.7]) == [1, 2, 0, 0, 1, 2, 3]
    assert stop.stopped_epoch == 7


def test_a_value_that_is_not_there() -> None:
    for callback in (train.EarlyStopping(), train.ReduceLROnPlateau()):
        with pytest.warns(
            AutodiffWarning, match=f"{type(callback).__name__} looks at 'eval_loss', and .* has loss only"
        ):
            model_of(ms).train(1, batches(1), callbacks=callback)
        with pytest.warns(AutodiffWarning) as caught:
            model_of(ms).train(3, batches(1), callbacks=callback)
        assert len([w for w in caught if "looks at" in str(w.message)]) == 1  # in a run
        with pytest.raises(ValueError, match=r"'eval_loss' has the shape \(2,\)"):
            watched(callback, "eval_loss", [np.ones(2)])  # type: ignore[list-item]


def test_a_run_again_saves_again(tmp_path: Path) -> None:
    # MindSpore 2.10 goes on from the number of the last saved step, and may save nothing.
    saves = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(2))
    model = model_of(ms)
    for _ in range(2):
        model.train(1, batches(2), callbacks=saves)
    assert os.listdir(tmp_path) == ["net-1_2.ckpt"]
    np.testing.assert_array_equal(
        ms.load_checkpoint(saves.latest_ckpt_file_name)["weight"].asnumpy(), model.predict_network.weight.asnumpy()
    )


def test_a_history_is_printed_as_where_mindspore_runs() -> None:
    class Third(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x / 3

    for dtype, shown in ((np.float32, "0.33333334"), (np.float64, "0.3333333333333333")):
        kept = train.History()
        train.Model(Third()).train(2, [np.ones(2, dtype)], callbacks=kept)
        assert str(kept.history) == f"{{'net_output': [{shown}, {shown}]}}"
        assert kept.history["net_output"][0] == dtype(1) / dtype(3)
        assert pickle.loads(pickle.dumps(kept)).history == kept.history


def test_times_of_training_are_without_those_of_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    # MindSpore 2.10 measures the training from the begin of the evaluation on.
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def passes(seconds: float) -> Any:
        def step(context: Any) -> None:
            clock[0] += seconds

        return step

    class Slow(Again):
        def __iter__(self) -> Iterator[Any]:
            for batch in self.data:
                clock[0] += 0.25
                yield batch

    takes = train.LambdaCallback(on_train_step_begin=passes(1.0), on_eval_step_begin=passes(10.0))
    callbacks, model = [train.TimeMonitor(data_time=True), takes], model_of(ms, metrics={"mae"})
    assert printed(lambda: model.fit(2, Slow(batches(4)), Slow(batches(2)), 2, callbacks=callbacks)) == [
        "Train epoch time: 5000.000 ms, per step time: 1250.000 ms (data time: 250.000 ms)",
        "Eval epoch time: 20500.000 ms, per step time: 10250.000 ms (data time: 250.000 ms)",
        "Train epoch time: 5000.000 ms, per step time: 1250.000 ms (data time: 250.000 ms)",
    ]


# ------------------------------------------------------------------------------------------------ terminals
class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("autodiff_compiler.train.callback._loss_monitor._PAUSE", 0.0)


def drawn(run: Any) -> str:
    out = Terminal()
    with contextlib.redirect_stdout(out):
        run()
    return out.getvalue()


def test_a_bar_in_a_terminal(terminal: None) -> None:
    model = model_of(ms, metrics={"mae": nn.MAE()})
    callbacks = [train.TimeMonitor(), train.LossMonitor()]
    text = drawn(lambda: model.fit(2, batches(4), batches(1), 2, callbacks=callbacks))
    bars = text.partition("Train epoch")[0].rstrip("\n").split("\r")[1:]
    losses = trained(1, batches(4))[2]
    for step, (line, loss) in enumerate(zip(bars, losses, strict=True), 1):
        assert len(line) == 79
        found = re.fullmatch(r"epoch 1 \[(#*) *\] (\d)/4, loss is (\S+) *", line)
        assert found
        assert (int(found[2]), len(found[1])) == (step, 30 * step // 4)
        assert float(found[3]) == pytest.approx(loss, rel=1e-4)
    lines = [line.rpartition("\r")[2].rstrip() for line in text.strip().split("\n")]
    assert [line.split()[0] for line in lines] == ["epoch", "Train", "epoch", "Eval", "Train", "Eval"]
    assert [line[:12] for line in lines if line.startswith("Eval")] == ["Eval epoch t", "Eval result:"]


def test_a_bar_that_is_broken_off_ends_its_line(terminal: None) -> None:
    def run() -> None:
        with pytest.raises(ZeroDivisionError):
            model_of(ms).train(1, batches(3), callbacks=[train.LossMonitor(), Ends(2, ZeroDivisionError())])

    assert re.fullmatch(r"(\r[^\n]*){2}\n", drawn(run))


def test_bars_of_narrow_terminals_and_of_unknown_sizes(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(lambda: model_of(ms).train(2, Again(batches(2)), callbacks=train.LossMonitor()))
    lines = [[part.partition(",")[0] for part in line.split("\r")[1:]] for line in text.split("\n")]
    assert lines == [["epoch 1 1", "epoch 1 2"], [f"epoch 2 [{'#' * 15:<30}] 1/2", f"epoch 2 [{'#' * 30}] 2/2"], []]
    monkeypatch.setenv("COLUMNS", "20")
    assert drawn(lambda: model_of(ms).train(1, batches(1), callbacks=train.LossMonitor())) == "\repoch 1 1/1, loss i\n"
    monkeypatch.setenv("TERM", "dumb")
    text = drawn(lambda: model_of(ms).train(1, batches(1), callbacks=train.LossMonitor()))
    assert text == "epoch: 1 step: 1, loss is 30.875\n"


def test_bars_are_not_drawn_more_often_than_one_sees(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autodiff_compiler.train.callback._loss_monitor._PAUSE", 1000.0)
    text = drawn(lambda: model_of(ms).train(1, batches(50), callbacks=train.LossMonitor()))
    assert [part.split()[-4] for part in text.split("\r")[1:]] == ["1/50,", "50/50,"]


# ------------------------------------------------------------------------------------------------ files
def test_the_newest_files_stay_when_they_are_of_one_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def at_one_time(source: Any, target: Any) -> None:
        os.utime(source, ns=(10**18, 10**18))
        replace(source, target)

    monkeypatch.setattr(os, "replace", at_one_time)
    saves = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(keep_checkpoint_max=3))
    model_of(ms).train(2, batches(11), callbacks=saves)
    assert sorted(os.listdir(tmp_path)) == ["net-2_10.ckpt", "net-2_11.ckpt", "net-2_9.ckpt"]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    others = {"net-best.ckpt", "network-1_1.ckpt", "net-1_1.txt", "xnet-1_1.ckpt", "net_1-1_1.npz"}
    for name in others:
        (tmp_path / name).write_bytes(b"")
    saves = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(keep_checkpoint_max=1))
    model_of(ms).train(2, batches(2), callbacks=saves)
    assert set(os.listdir(tmp_path)) == others | {"net_2-2_2.ckpt"}


def test_npz_files_and_their_breakpoints(tmp_path: Path) -> None:
    config = train.CheckpointConfig(1, format="npz", exception_save=True, crc_check=False)
    saves, ends = train.ModelCheckpoint("net", str(tmp_path), config), Ends(2, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        model_of(ms).train(1, batches(3), callbacks=[ends, saves])
    assert sorted(os.listdir(tmp_path)) == ["net-1_1.npz", "net-1_2_breakpoint.npz"]
    loaded = ms.load_checkpoint(str(tmp_path / "net-1_2_breakpoint.npz"), format="npz")
    np.testing.assert_allclose(loaded["weight"].asnumpy()[0], trained(1, batches(2))[0], rtol=1e-4)


def test_options_of_files_are_checked_before_the_training() -> None:
    with pytest.raises(UnsupportedCallError, match="cannot be encrypted"):
        train.CheckpointConfig(enc_key=b"0123456789abcdef")
    with pytest.raises(ValueError, match="async_save"):
        train.CheckpointConfig(async_save="later")
    with pytest.raises(ValueError, match="'ckpt', 'safetensors', 'npz'"):
        train.CheckpointConfig(format="pickle")
    with pytest.raises(TypeError, match="no argument 'speed'"):
        train.CheckpointConfig(speed=3)
    policy = train.CheckpointConfig(0, 30, 0, 2, async_save="thread", incremental=True).get_checkpoint_policy()
    assert policy == {
        "save_checkpoint_steps": 0,
        "save_checkpoint_seconds": 30,
        "keep_checkpoint_max": 0,
        "keep_checkpoint_per_n_minutes": 2,
        "saved_network": None,
    }


def test_seconds_between_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    saves = train.ModelCheckpoint("net", str(tmp_path), train.CheckpointConfig(0, 10, keep_checkpoint_max=9))

    def pass_on(context: Any) -> None:
        clock[0] += 4

    model_of(ms).train(1, batches(8), callbacks=[train.LambdaCallback(on_train_step_begin=pass_on), saves])
    assert sorted(os.listdir(tmp_path)) == ["net-1_3.ckpt", "net-1_6.ckpt", "net-1_8.ckpt"]


def test_a_run_that_is_asked_to_end(mode: str, tmp_path: Path) -> None:
    earlier = signal.getsignal(signal.SIGTERM)
    ask = train.LambdaCallback(
        on_train_step_begin=lambda c: c.original_args().cur_step_num == 3 and signal.raise_signal(signal.SIGTERM),
        on_eval_step_begin=lambda c: signal.raise_signal(signal.SIGTERM),
    )
    data, seen, model = batches(4), [], model_of(ms, metrics={"mae": nn.MAE()})
    exits = train.OnRequestExit(save_mindir=False, directory=str(tmp_path))
    model.train(2, data, callbacks=[exits, ask])
    w, b, _ = trained(1, data[:3])
    np.testing.assert_allclose(model.predict_network.weight.asnumpy()[0], w, rtol=1e-4)
    again = model_of(ms, metrics={"mae": nn.MAE()})  # begins where the other ended, momentum included
    note = train.LambdaCallback(on_train_step_end=lambda c: seen.append(c.original_args().net_outputs.item()))
    again.train(1, data[3:], callbacks=[train.OnRequestExit(save_mindir=False, directory=str(tmp_path)), note])
    assert seen == pytest.approx(trained(1, data)[2][3:], rel=1e-4)
    found = model_of(ms, metrics={"mae": nn.MAE()}).eval(data, callbacks=[exits, ask])
    assert found["mae"] == pytest.approx(np.abs(data[0][0] @ w[:, None] + b - data[0][1]).sum() / 4, rel=1e-4)
    assert sorted(os.listdir(tmp_path / "rank_0")) == ["Net_eval.ckpt", "Net_train.ckpt"]
    assert signal.getsignal(signal.SIGTERM) is earlier


def test_a_file_may_ask_for_the_end(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    steps: list[int] = []

    def write(context: Any) -> None:
        steps.append(context.original_args().cur_step_num)
        file.write_text({1: "", 2: "{", 3: "[1]", 4: '{"GracefulExit": 0}'}.get(steps[-1], '{"GracefulExit": 1}'))

    exits = train.OnRequestExit(False, False, directory=str(tmp_path), config_file=str(file), sig=signal.SIGINT)
    model_of(ms).train(3, batches(4), callbacks=[train.LambdaCallback(on_train_step_begin=write), exits])
    assert (steps, os.listdir(tmp_path)) == ([1, 2, 3, 4, 5], ["config.json"])
    with pytest.warns(AutodiffWarning, match="no MindIR"):
        train.OnRequestExit(False)
    with pytest.raises(ValueError, match="SIGKILL"):
        train.OnRequestExit(False, False, sig=signal.SIGKILL)
