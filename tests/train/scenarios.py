"""Trainings that run on MindSpore and on this package alike; what they do is noted down as plain data.

`data/record_model.py` runs them with MindSpore and keeps the notes in `data/model.json`; test_model_recorded.py runs
them here.  Each function takes the package, the function that makes a dataset of batches, and an empty folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import Any

import numpy as np

STAGES = [
    f"on_{mode}_{stage}"
    for mode in ("train", "eval")
    for stage in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
]
LEGACY = ["begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"]


def batches(count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        x = rng.integers(-3, 4, (4, 2)).astype(np.float32)
        made.append((x, (x @ np.array([[0.5], [-1.0]], np.float32)).astype(np.float32)))
    return made


def model_of(ms: Any, rate: Any = 0.125, metrics: Any = None, **options: Any) -> Any:
    net = ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = ms.nn.Momentum(net.trainable_params(), learning_rate=rate, momentum=0.5)
    return ms.train.Model(net, loss_fn=ms.nn.MSELoss(), optimizer=optimizer, metrics=metrics, **options)


def plain(value: Any) -> Any:
    """Numbers of Tensors and arrays, lists of tuples."""
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def watcher(ms: Any, log: list[Any], note: Any, stages: list[str], acts: Any = None) -> Any:
    """A Callback that logs each call of it; `acts(stage, run_context)` may do something then."""

    def called(stage: str) -> Any:
        def method(self: Any, run_context: Any) -> None:
            log.append([stage, *note(run_context.original_args())])
            if acts is not None:
                acts(stage, run_context)

        return method

    def enter(self: Any) -> Any:
        log.append(["enter"])
        return self

    def leave(self: Any, *error: Any) -> None:
        log.append(["exit", error[0].__name__ if error[0] else None])

    methods = {stage: called(stage) for stage in stages} | {"__enter__": enter, "__exit__": leave}
    return type("Watcher", (ms.train.Callback,), methods)()


NUMBERS = ("mode", "cur_epoch_num", "cur_step_num", "batch_num", "epoch_num", "dataset_sink_mode")


def numbers(args: dict[str, Any]) -> list[Any]:
    """Numbers, and the loss, of a context."""
    return [args.get(name) for name in NUMBERS] + [plain(args.get("net_outputs"))]


def names(args: dict[str, Any]) -> list[Any]:
    """What a context holds."""
    return [sorted(args)]


def kinds(args: dict[str, Any]) -> list[Any]:
    """Of what classes it is."""
    return [{k: type(args[k]).__name__ for k in ("train_network", "eval_network", "network", "optimizer") if k in args}]


def printed(run: Any) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run()
    return out.getvalue().splitlines()


def raised(run: Any) -> str:
    """The builtin class that an error belongs to."""
    try:
        run()
    except (TypeError, ValueError, RuntimeError, KeyError, AttributeError, ZeroDivisionError) as error:
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return "nothing"


# ------------------------------------------------------------------------------------------------ order of calls
def order_in_train(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model_of(ms).train(2, dataset(batches(3)), callbacks=watcher(ms, log, numbers, STAGES))
    return log


def order_in_fit(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"mae": ms.nn.MAE(), "loss": ms.nn.Loss()})
    watching = [watcher(ms, log, numbers, STAGES), watcher(ms, log, kinds, STAGES)]
    model.fit(2, dataset(batches(2)), dataset(batches(1, 5)), callbacks=watching)
    return log


def order_in_eval(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    found = model.eval(dataset(batches(2)), callbacks=watcher(ms, log, numbers, STAGES))
    return [log, plain(found)]


def order_of_older_names(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    model.train(1, dataset(batches(2)), callbacks=watcher(ms, log, numbers, LEGACY))
    model.eval(dataset(batches(2)), callbacks=watcher(ms, log, numbers, LEGACY))
    return log


def names_in_context(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    model.fit(2, dataset(batches(1)), dataset(batches(1)), 2, callbacks=watcher(ms, log, names, STAGES))
    model.eval(dataset(batches(1)), callbacks=watcher(ms, log, names, STAGES))
    return log


def resumed(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model_of(ms).train(3, dataset(batches(2)), callbacks=watcher(ms, log, numbers, STAGES), initial_epoch=1)
    return log


def chosen_evaluations(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    model.fit(4, dataset(batches(1)), dataset(batches(1)), 3, callbacks=watcher(ms, log, numbers, STAGES))
    log.append("a list of epochs")
    model.fit(4, dataset(batches(1)), dataset(batches(1)), [1, 4], callbacks=watcher(ms, log, numbers, STAGES))
    return [[entry[0], entry[2]] if len(entry) > 2 else entry for entry in log]


# ------------------------------------------------------------------------------------------------ ends
def stopped(ms: Any, dataset: Any, folder: str) -> Any:
    logs = {}
    for stage, step in (("on_train_step_end", 3), ("on_train_epoch_end", 2), ("on_train_begin", 0)):
        log = logs[stage] = []

        def stop(at: str, run_context: Any, stage: str = stage, step: int = step) -> None:
            if at == stage and run_context.original_args()["cur_step_num"] == step:
                run_context.request_stop()

        model = model_of(ms, metrics={"mae": ms.nn.MAE()})
        model.fit(3, dataset(batches(2)), dataset(batches(1)), callbacks=watcher(ms, log, numbers, STAGES, stop))
    return logs


def stopped_evaluation(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    model = model_of(ms, metrics={"loss": ms.nn.Loss()})

    def stop(at: str, run_context: Any) -> None:
        if at == "on_eval_step_end":
            run_context.request_stop()

    found = model.eval(dataset(batches(3)), callbacks=watcher(ms, log, numbers, STAGES, stop))
    return [log, plain(found)]


def broken_off(ms: Any, dataset: Any, folder: str) -> Any:
    logs = {}
    for stage in ("on_train_step_end", "on_eval_begin"):
        log = logs[stage] = []

        def fail(at: str, run_context: Any, stage: str = stage) -> None:
            if at == stage and run_context.original_args()["cur_epoch_num"] == 2:
                raise KeyError("enough")

        model = model_of(ms, metrics={"mae": ms.nn.MAE()})
        watching = [watcher(ms, log, numbers, STAGES, fail), watcher(ms, log, numbers, [])]
        log.append(raised(lambda: model.fit(2, dataset(batches(1)), dataset(batches(1)), callbacks=watching)))
    return logs


# ------------------------------------------------------------------------------------------------ what is printed
def losses_printed(ms: Any, dataset: Any, folder: str) -> Any:
    monitor = ms.train.LossMonitor(3)
    found = {
        "every": printed(lambda: model_of(ms).train(2, dataset(batches(2)), callbacks=ms.train.LossMonitor())),
        "third": printed(lambda: model_of(ms).train(2, dataset(batches(4)), callbacks=[monitor])),
        "again": printed(lambda: model_of(ms).train(2, dataset(batches(4)), callbacks=[monitor])),
        "none": printed(lambda: model_of(ms).train(1, dataset(batches(2)), callbacks=ms.train.LossMonitor(0))),
    }
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    found["fit"] = printed(
        lambda: model.fit(3, dataset(batches(1)), dataset(batches(2)), 2, callbacks=ms.train.LossMonitor(2))
    )
    found["eval"] = printed(lambda: model.eval(dataset(batches(2)), callbacks=ms.train.LossMonitor()))
    return found


def tuples_printed(ms: Any, dataset: Any, folder: str) -> Any:
    """Of several outputs the first one counts."""

    class Outputs(ms.nn.Cell):
        def construct(self, x: Any, y: Any) -> Any:
            return x.sum(), y

    model, kept, log = ms.train.Model(Outputs()), ms.train.History(), []
    watching = [ms.train.LossMonitor(), kept, watcher(ms, log, numbers, ["on_train_step_end"])]
    lines = printed(lambda: model.train(2, dataset(batches(1)), callbacks=watching))
    return [lines, plain(kept.history), kept.epoch, log]


def scaled_losses_printed(ms: Any, dataset: Any, folder: str) -> Any:
    manager = ms.train.FixedLossScaleManager(16.0, drop_overflow_update=False)
    model, kept = model_of(ms, loss_scale_manager=manager), ms.train.History()
    lines = printed(lambda: model.train(2, dataset(batches(1)), callbacks=[ms.train.LossMonitor(), kept]))
    return [lines, plain(kept.history), kept.epoch]


def times_printed(ms: Any, dataset: Any, folder: str) -> Any:
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    lines = printed(lambda: model.train(1, dataset(batches(2)), callbacks=ms.train.TimeMonitor()))
    lines += printed(lambda: model.train(1, dataset(batches(2)), callbacks=ms.train.TimeMonitor(data_time=True)))
    lines += printed(lambda: model.fit(2, dataset(batches(2)), dataset(batches(1)), callbacks=ms.train.TimeMonitor(4)))
    lines += printed(lambda: model.eval(dataset(batches(2)), callbacks=ms.train.TimeMonitor()))
    return [re.sub(r"\d+\.\d{3}", "T", line) for line in lines]


def not_finite(ms: Any, dataset: Any, folder: str) -> Any:
    data = batches(3)
    data[1][1][0] = np.inf
    lines: list[str] = []
    error = raised(
        lambda: lines.extend(printed(lambda: model_of(ms).train(1, dataset(data), callbacks=[ms.train.LossMonitor()])))
    )
    return [error, lines]


# ------------------------------------------------------------------------------------------------ records
def history(ms: Any, dataset: Any, folder: str) -> Any:
    found = []
    for run in ("train", "fit", "eval"):
        model, kept = model_of(ms, metrics={"mae": ms.nn.MAE()}), ms.train.History()
        if run == "train":
            model.train(2, dataset(batches(3)), callbacks=kept)
            model.train(1, dataset(batches(3)), callbacks=kept)
        elif run == "fit":
            model.fit(3, dataset(batches(2)), dataset(batches(1)), callbacks=kept)
        else:
            model.eval(dataset(batches(3)), callbacks=kept)
        found.append([plain(kept.history), kept.epoch])
    return found


def lambdas(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []
    callback = ms.train.LambdaCallback(
        on_train_epoch_end=lambda c: log.append(["epoch", c.original_args().cur_epoch_num]),
        on_train_step_end=lambda c: log.append(["step", c.original_args().cur_step_num]),
        on_train_end=lambda c: log.append(["end"]),
    )
    model = model_of(ms, metrics={"mae": ms.nn.MAE()})
    model.fit(2, dataset(batches(2)), dataset(batches(1)), callbacks=[callback])
    return log


def rates(ms: Any, dataset: Any, folder: str) -> Any:
    seen: list[Any] = []

    def change(rate: float, step: int) -> float:
        seen.append([rate, step])
        return rate * 0.5 if step % 2 == 0 else rate

    model, kept = model_of(ms, rate=0.1), ms.train.History()
    model.train(2, dataset(batches(3)), callbacks=[ms.train.LearningRateScheduler(change), kept])
    return [seen, plain(kept.history), plain(model.train_network.optimizer.learning_rate)]


# ------------------------------------------------------------------------------------------------ plateaus
class _Context:
    """A run over values of a monitor that are given."""

    def __init__(self, ms: Any, monitor: str) -> None:
        self.model = model_of(ms)
        self.monitor = monitor
        self.ms = ms

    def run(self, callback: Any, values: list[float]) -> list[Any]:
        ms, found = self.ms, []
        args: dict[str, Any] = {"train_network": self.model.train_network}
        args["optimizer"] = self.model.train_network.optimizer
        args = type(ms.train.RunContext(args).original_args())(args)
        args = ms.train.callback._InternalCallbackParam(args)
        context = ms.train.RunContext(args)
        callback.on_train_begin(context)
        for epoch, value in enumerate(values, 1):
            args.cur_epoch_num = epoch
            args.net_outputs = ms.Tensor(value)
            args.eval_results = {self.monitor: value}
            self.model.train_network.network._backbone.weight.set_data(ms.Tensor([[value, float(epoch)]], ms.float32))
            callback.on_train_epoch_end(context)
            found.append([callback.wait, float(callback.best), plain(args.optimizer.learning_rate)])
            if context.get_stop_requested():
                break
        callback.on_train_end(context)
        return [found, plain(self.model.train_network.network._backbone.weight)]


VALUES = [1.0, 0.75, 0.875, 0.75, 0.5, 0.625, 0.5, 0.75, 0.6875, 0.25]


def early_stops(ms: Any, dataset: Any, folder: str) -> Any:
    found = {}
    for options in (
        {"patience": 3},
        {"patience": 2},
        {"patience": 0},
        {"patience": 2, "min_delta": 0.3},
        {"patience": 2, "mode": "max"},
        {"patience": 2, "monitor": "acc", "verbose": True},
        {"patience": 3, "monitor": "loss"},
        {"patience": 2, "restore_best_weights": True, "verbose": True},
        {"patience": 20, "restore_best_weights": True},
    ):
        callback = ms.train.EarlyStopping(**options)
        context, result = _Context(ms, options.get("monitor", "eval_loss")), []
        lines = printed(lambda: result.extend(context.run(callback, VALUES)))
        found[str(options)] = [result, lines, callback.stopped_epoch]
    return found


def plateaus(ms: Any, dataset: Any, folder: str) -> Any:
    found = {}
    for options in (
        {"patience": 2},
        {"patience": 1, "factor": 0.5, "verbose": True},
        {"patience": 1, "factor": 0.5, "cooldown": 2},
        {"patience": 1, "factor": 0.5, "min_lr": 0.05, "verbose": True},
        {"patience": 1, "factor": 0.5, "mode": "max"},
        {"patience": 2, "factor": 0.5, "min_delta": 0.3},
        {"patience": 2, "factor": 0.5, "monitor": "acc"},
        {"patience": 2, "factor": 0.5, "monitor": "loss"},
    ):
        callback = ms.train.ReduceLROnPlateau(**options)
        context, result = _Context(ms, options.get("monitor", "eval_loss")), []
        lines = printed(lambda: result.extend(context.run(callback, VALUES)))
        found[str(options)] = [result, lines]
    return found


def early_stop_in_fit(ms: Any, dataset: Any, folder: str) -> Any:
    model = model_of(ms, rate=0.5, metrics={"mae": ms.nn.MAE()})
    kept = ms.train.History()
    stop = ms.train.EarlyStopping("mae", patience=2, restore_best_weights=True, verbose=True, mode="min")
    lines = printed(lambda: model.fit(9, dataset(batches(3)), dataset(batches(1, 5)), callbacks=[stop, kept]))
    weights = {name: plain(p) for name, p in model.train_network.parameters_dict().items()}
    return [lines, plain(kept.history), weights]


# ------------------------------------------------------------------------------------------------ files
def _files(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.endswith(".meta"))


def _checkpointed(ms: Any, dataset: Any, folder: str, epochs: int, count: int, **options: Any) -> list[str]:
    folder = os.path.join(folder, "kept")
    prefix = options.pop("prefix", "CKP")
    config = ms.train.CheckpointConfig(**options)
    saves = ms.train.ModelCheckpoint(prefix, folder, config)
    model_of(ms).train(epochs, dataset(batches(count)), callbacks=[saves])
    return [*_files(folder), os.path.basename(saves.latest_ckpt_file_name)]


def checkpoint_names(ms: Any, dataset: Any, folder: str) -> Any:
    found = {}
    for number, options in enumerate(
        (
            {},
            {"save_checkpoint_steps": 2},
            {"save_checkpoint_steps": 3, "prefix": "net"},
            {"save_checkpoint_steps": 100},
            {"keep_checkpoint_max": 20},
            {"keep_checkpoint_max": 2},
            {"keep_checkpoint_max": 0},
            {"save_checkpoint_steps": 0, "save_checkpoint_seconds": 1000},
            {"keep_checkpoint_max": 0, "keep_checkpoint_per_n_minutes": 5},
            {"format": "safetensors", "keep_checkpoint_max": 2},
        )
    ):
        found[str(options)] = _checkpointed(ms, dataset, os.path.join(folder, str(number)), 3, 4, **options)
    return found


def checkpoint_again(ms: Any, dataset: Any, folder: str) -> Any:
    """Prefixes of files that are there already are counted on."""
    found = []
    for prefix in ("CKP", "CKP", "CKP", "CK", "CKP_1", "CKPnet"):
        found.append(_checkpointed(ms, dataset, folder, 1, 2, prefix=prefix, keep_checkpoint_max=1))
    return found


def checkpoint_content(ms: Any, dataset: Any, folder: str) -> Any:
    kept = os.path.join(folder, "kept")
    extra = ["epoch_num", "step_num", {"note": 3, "rate": 0.5}]
    config = ms.train.CheckpointConfig(append_info=extra, save_checkpoint_steps=2)
    model = model_of(ms)
    model.train(2, dataset(batches(3)), callbacks=ms.train.ModelCheckpoint("full", kept, config))
    only = ms.train.CheckpointConfig(saved_network=model.predict_network, save_checkpoint_steps=3)
    model.train(1, dataset(batches(3)), callbacks=ms.train.ModelCheckpoint("part", kept, only))
    return {
        name: {key: plain(value) for key, value in ms.load_checkpoint(os.path.join(kept, name)).items()}
        for name in _files(kept)
    }


def checkpoint_names_of_functions(ms: Any, dataset: Any, folder: str) -> Any:
    saves = ms.train.ModelCheckpoint(
        lambda args: f"e{args.cur_epoch_num}s{args.cur_step_num}",
        lambda args: os.path.join(folder, f"epoch{args.cur_epoch_num}"),
        ms.train.CheckpointConfig(save_checkpoint_steps=2),
    )
    model_of(ms).train(2, dataset(batches(3)), callbacks=saves)
    return {name: _files(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def checkpoint_of_a_failure(ms: Any, dataset: Any, folder: str) -> Any:
    kept, log, found = os.path.join(folder, "kept"), [], []

    def fail(at: str, run_context: Any) -> None:
        if at == "on_train_step_begin" and run_context.original_args()["cur_step_num"] == 5:
            raise ValueError("enough")

    for _ in range(2):
        config = ms.train.CheckpointConfig(save_checkpoint_steps=100, exception_save=True, append_info=["step_num"])
        saves = ms.train.ModelCheckpoint("net", kept, config)
        model, watching = model_of(ms), watcher(ms, log, numbers, STAGES, fail)
        found.append(raised(lambda: model.train(3, dataset(batches(3)), callbacks=[saves, watching])))
    loaded = {name: plain(ms.load_checkpoint(os.path.join(kept, name))) for name in _files(kept)}
    return [found, loaded]


def backups(ms: Any, dataset: Any, folder: str) -> Any:
    log: list[Any] = []

    def acts(at: str, run_context: Any) -> None:
        log.append(sorted(os.listdir(folder)))
        log.append(plain(run_context.original_args().network.weight))
        if at == "on_train_epoch_end" and run_context.original_args().cur_epoch_num == 2 and len(log) < 12:
            raise ValueError("enough")

    stages = ["on_train_begin", "on_train_epoch_end", "on_train_end"]
    for _ in range(2):
        model = model_of(ms)
        saves = ms.train.BackupAndRestore(folder)
        watching = watcher(ms, log, lambda args: [], stages, acts)
        log.append(raised(lambda: model.train(3, dataset(batches(2)), callbacks=[saves, watching])))
    log.append(sorted(os.listdir(folder)))
    model = model_of(ms)
    model.train(3, dataset(batches(2)), callbacks=ms.train.BackupAndRestore(folder, 2, False))
    return [*log, sorted(os.listdir(folder))]


# ------------------------------------------------------------------------------------------------ models
def results(ms: Any, dataset: Any, folder: str) -> Any:
    model = model_of(ms, metrics={"mae", "mse", "loss"})
    found = [plain(model.eval(dataset(batches(3))))]
    model.train(2, dataset(batches(2)))
    found.append(plain(model.eval(dataset(batches(3)))))
    found.append(plain(model.predict(ms.Tensor(batches(1)[0][0]))))
    found.append(plain(model.train_network.parameters_dict()))
    return found


def evaluated_by_another(ms: Any, dataset: Any, folder: str) -> Any:
    class Evaluates(ms.nn.Cell):
        def __init__(self, network: Any) -> None:
            super().__init__(auto_prefix=False)
            self.network = network

        def construct(self, x: Any, y: Any) -> Any:
            return y, self.network(x) * 2, y - y

    net = ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    found = []
    for indexes in (None, [0, 1, 2], [2, 1, 0]):
        metrics = {"mae": ms.nn.MAE(), "loss": ms.nn.Loss()}
        if indexes is None:
            metrics = {"mae": ms.nn.MAE().set_indexes([0, 1])}
        else:
            metrics = {"mae": ms.nn.MAE()}
        model = ms.train.Model(net, metrics=metrics, eval_network=Evaluates(net), eval_indexes=indexes)
        found.append(plain(model.eval(dataset(batches(2)))))
    return found


def a_step_of_ones_own(ms: Any, dataset: Any, folder: str) -> Any:
    net = ms.nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = ms.nn.Momentum(net.trainable_params(), learning_rate=0.125, momentum=0.5)
    step = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, ms.nn.MSELoss()), optimizer)
    model, log = ms.train.Model(step), []
    model.train(1, dataset(batches(2)), callbacks=watcher(ms, log, numbers, STAGES))
    return log


def refused(ms: Any, dataset: Any, folder: str) -> Any:
    net, loss, t = ms.nn.Dense(2, 1), ms.nn.MSELoss(), ms.train
    model, good = model_of(ms), batches(1)
    old = type("Old", (t.Callback,), {"step_end": lambda self, run_context: None})()
    measured = model_of(ms, metrics={"mae": ms.nn.MAE()})
    tries = {
        "no cell": lambda: t.Model(5),
        "a keyword": lambda: t.Model(net, speed=3),
        "level without optimizer": lambda: t.Model(net, loss, amp_level="O2"),
        "a level": lambda: model_of(ms, amp_level="O7"),
        "metrics without loss": lambda: t.Model(net, metrics={"mae"}),
        "a metric": lambda: model_of(ms, metrics={"mae": 3}),
        "an unknown metric": lambda: model_of(ms, metrics={"speed"}),
        "indexes": lambda: t.Model(net, metrics={"mae"}, eval_network=net, eval_indexes=[1]),
        "scale without optimizer": lambda: t.Model(net, loss_scale_manager=t.FixedLossScaleManager()),
        "epochs": lambda: model.train(0, dataset(good)),
        "epochs of floats": lambda: model.train(1.5, dataset(good)),
        "first epoch": lambda: model.train(1, dataset(good), initial_epoch=1),
        "sink mode": lambda: model.train(1, dataset(good), dataset_sink_mode=1),
        "sink size": lambda: model.train(1, dataset(good), sink_size=0),
        "a callback": lambda: model.train(1, dataset(good), callbacks=[3]),
        "callbacks": lambda: model.train(1, dataset(good), callbacks=3),
        "columns": lambda: model.train(1, dataset([(good[0][0],)])),
        "more columns": lambda: model.train(1, dataset([(*good[0], good[0][1])])),
        "eval without metrics": lambda: model.eval(dataset(good)),
        "fit without metrics": lambda: model.fit(1, dataset(good), dataset(good)),
        "frequency": lambda: measured.fit(1, dataset(good), dataset(good), valid_frequency="x"),
        "older names in fit": lambda: measured.fit(1, dataset(good), dataset(good), callbacks=old),
        "predict nothing": lambda: model.predict(ms.Tensor(np.zeros((0, 2), np.float32))),
        "predict an array": lambda: model.predict(good[0][0]),
        "backend": lambda: model.predict(ms.Tensor(good[0][0]), backend="fast"),
        "times": lambda: t.LossMonitor(-1),
        "times of text": lambda: t.LossMonitor("x"),
        "data time": lambda: t.TimeMonitor(data_time=1),
        "prefix": lambda: t.ModelCheckpoint("a/b", folder),
        "config": lambda: t.ModelCheckpoint("a", folder, 3),
        "no limit": lambda: t.CheckpointConfig(0, 0, 0, 0),
        "steps": lambda: t.CheckpointConfig(-1),
        "info": lambda: t.CheckpointConfig(append_info=["loss"]),
        "info of numbers": lambda: t.CheckpointConfig(append_info=[3]),
        "info of a list": lambda: t.CheckpointConfig(append_info=[{"a": [1]}]),
        "info of two": lambda: t.CheckpointConfig(append_info=[{"a": 1}, {"b": 1}]),
        "infos": lambda: t.CheckpointConfig(append_info="epoch_num"),
        "saved network": lambda: t.CheckpointConfig(saved_network=3),
        "format": lambda: t.CheckpointConfig(format="safetensors", crc_check=True),
        "mode": lambda: t.EarlyStopping(mode="middle"),
        "patience": lambda: t.EarlyStopping(patience=-1),
        "monitor": lambda: t.EarlyStopping(monitor=3),
        "factor": lambda: t.ReduceLROnPlateau(factor=1.0),
        "mode of rates": lambda: t.ReduceLROnPlateau(mode="middle"),
        "saved each": lambda: t.BackupAndRestore(folder, 0),
        "saved each time": lambda: t.BackupAndRestore(folder, "step"),
        "context": lambda: t.RunContext(3),
    }
    return {name: raised(attempt) for name, attempt in tries.items()}


SCENARIOS = [
    order_in_train, order_in_fit, order_in_eval, order_of_older_names, names_in_context, resumed,
    chosen_evaluations, stopped, stopped_evaluation, broken_off, losses_printed, tuples_printed,
    scaled_losses_printed, times_printed, not_finite, history, lambdas, rates, early_stops, plateaus,
    early_stop_in_fit, checkpoint_names, checkpoint_again, checkpoint_content, checkpoint_names_of_functions,
    checkpoint_of_a_failure, backups, results, evaluated_by_another, a_step_of_ones_own, refused,
]  # fmt: skip
