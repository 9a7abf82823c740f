"""`Model`: training, evaluation and prediction of a network with loss, optimizer and metrics."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import nn
from ..amp.train_network import build_train_network
from ..config import GRAPH_MODE, get_context
from ..data_parallel.lockstep import any_of, in_step
from ..data_parallel.settings import get_auto_parallel_context, together
from ..data_parallel.start import begin_with_first
from ..data_parallel.texts import texts_of_all
from ..dataset.rows import lasts_once
from ..errors import AutodiffWarning, kind_of, warn_at
from ..nn.arguments import choice, flag, integer, positive
from ..runtime.tensor import Tensor
from ..source import calling_place
from .callback import LambdaCallback, ModelCheckpoint, RunContext, TimeMonitor
from .callback import __name__ as _CALLBACKS
from .callback._callback import CallbackManager, InternalCallbackParam, SoFar, listed
from .dataset_helper import DatasetHelper

__all__ = ["Model"]

_OPTIONS = ("acc_level", "boost_config_dict", "keep_batchnorm_fp32", "loss_scale_manager")
_OLDER_NAMES = {"begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end"}


class Model:
    """A network to be trained with `train` or `fit`, evaluated with `eval` and used with `predict`.

    With an `optimizer` the step is that of `amp.build_train_network` for `amp_level` and the options
    `keep_batchnorm_fp32` and `loss_scale_manager`.  Without `loss_fn` the network's output is the loss; without an
    `optimizer` the network (with its loss) is called as it is, so it may be a training step itself.  In GRAPH_MODE a
    step is one compiled call.

    `metrics` are a set of names, or a dict of metrics by names.  They are given the network's output and the label, the
    metric `nn.Loss` the loss.  `eval_network` takes the place of the network with its loss; its outputs at
    `eval_indexes` are loss, output and label, without these all go to each metric.

    `boost_level` and the options `acc_level` and `boost_config_dict` choose MindSpore's shortcuts of training, which
    are not taken here: a warning says so, and every step is computed in full.

    A dataset is what `DatasetHelper` takes, a list of batches for instance.

    TypeError, ValueError: what does not fit together.

    >>> from autodiff_compiler.train import LossMonitor
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25), metrics={"mae"})
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> model.fit(2, [batch], [batch], callbacks=LossMonitor())
    epoch: 1 step: 1, loss is 4.0
    Eval result: epoch 1, metrics: {'mae': 1.0}
    epoch: 2 step: 1, loss is 1.0
    Eval result: epoch 2, metrics: {'mae': 0.5}
    >>> model.eval([batch]), model.predict(Tensor([[2.0]])).item()
    ({'mae': 0.5}, 3.0)
    """

    def __init__(
        self,
        network: Any,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Any = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: Any,
    ) -> None:
        if not isinstance(network, nn.Cell):
            raise TypeError(f"`network` must be a Cell, not {kind_of(network)}")
        for name in kwargs:
            if name not in _OPTIONS:
                raise ValueError(f"Model() has no argument {name!r}; options are {', '.join(_OPTIONS)}")
        choice("amp_level", amp_level, ("O0", "O1", "O2", "O3", "auto"))
        if optimizer is None and amp_level != "O0":
            raise ValueError(f"amp_level={amp_level!r} is for training, and there is no `optimizer`")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._amp_level = amp_level
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        if self._loss_scale_manager is not None and optimizer is None:
            raise ValueError("a `loss_scale_manager` is for training, and there is no `optimizer`")
        self._boost_level = choice("boost_level", kwargs.get("acc_level", boost_level), ("O0", "O1", "O2"))
        if self._boost_level != "O0":
            text = f"boost_level={self._boost_level!r} changes nothing here: every step is computed in full"
            warn_at(AutodiffWarning(text), calling_place())
        options = {name: kwargs[name] for name in ("loss_scale_manager",) if name in kwargs}
        if kwargs.get("keep_batchnorm_fp32") is not None:
            options["keep_batchnorm_fp32"] = kwargs["keep_batchnorm_fp32"]
        self._train_network = self._build_train_network(options)
        self._predict_network = network
        self._metrics = metrics
        self._metric_fns = nn.get_metrics(metrics)
        self._eval_network, self._eval_indexes = self._build_eval_network(eval_network, eval_indexes)
        #: The mode of the last `set_train`: training or evaluation.
        self._backbone_is_train: bool | None = None
        #: The progress of the run, for checkpoints after an error.
        self._current_epoch_num = self._current_step_num = 0

    def _build_train_network(self, options: dict[str, Any]) -> Any:
        if self._optimizer is not None:
            return build_train_network(self._network, self._optimizer, self._loss_fn, self._amp_level, **options)
        return self._network if self._loss_fn is None else nn.WithLossCell(self._network, self._loss_fn)

    def _build_eval_network(self, given: Any, indexes: Any) -> tuple[Any, list[int] | None]:
        if not self._metric_fns or given is not None:
            if indexes is not None and not (isinstance(indexes, list) and len(indexes) == 3):
                raise ValueError(f"`eval_indexes` are those of loss, output and label in a list, not {indexes!r}")
            return given, indexes
        if self._loss_fn is None:
            raise ValueError("`metrics` need a `loss_fn`, or an `eval_network` that gives what they are to measure")
        return nn.WithEvalCell(self._network, self._loss_fn, self._amp_level in ("O2", "O3", "auto")), [0, 1, 2]

    @property
    def train_network(self) -> Any:
        """The Cell of a training step."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The Cell whose outputs the metrics get, or None."""
        return self._eval_network

    @property
    def predict_network(self) -> Any:
        """The network itself."""
        return self._predict_network

    # ------------------------------------------------------------------------------------------- training
    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains for the epochs after `initial_epoch` up to `epoch`.

        `callbacks` are a Callback or a list of them.  `dataset_sink_mode` and `sink_size` change nothing: on a CPU a
        batch is where it is computed with, and an epoch is all batches of the dataset.

        An error or an interrupt passes through after the callbacks are left (their ``__exit__`` is called, no
        ``..._end``), and Parameters keep the values of the last step.

        TypeError, ValueError: arguments that do not fit, a dataset without batches, batches of other than two columns
        where there is a `loss_fn`.
        """
        self._train(epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains as `train` does, and evaluates after each `valid_frequency` epochs, or after those of a list.

        After an evaluation, the context of callbacks has `metrics`, and `eval_results` with "eval_loss" beside them,
        the mean loss of the evaluation.  Callbacks of this package but TimeMonitor and LambdaCallback are not called
        during evaluations.

        TypeError, ValueError: those of `train`; a `valid_dataset` without `metrics`; a callback that defines methods
        of MindSpore's older names, like ``step_end``, which would mean both training and evaluation.
        """
        flag("valid_dataset_sink_mode", valid_dataset_sink_mode)
        if isinstance(valid_frequency, int):
            positive("valid_frequency", valid_frequency)
        elif not isinstance(valid_frequency, list):
            raise TypeError(f"`valid_frequency` is an int or a list, not {kind_of(valid_frequency)}")
        if valid_dataset is not None:
            self._check_metrics()
        for callback in listed(callbacks):
            older = _OLDER_NAMES & set(vars(type(callback)))
            if older and not _is_ours(callback):
                raise ValueError(
                    f"{type(callback).__name__} defines {', '.join(sorted(older))}, which would be called for training "
                    "and evaluation alike: name them on_train_... or on_eval_... to use it in `fit`"
                )
        when = (valid_dataset, valid_frequency)
        self._train(epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, when)

    def _train(
        self,
        epoch: int,
        dataset: Any,
        callbacks: Any,
        sink: bool,
        sink_size: int,
        initial_epoch: int,
        validation: tuple[Any, Any] = (None, 1),
    ) -> None:
        flag("dataset_sink_mode", sink)
        epochs = positive("epoch", epoch) - integer("initial_epoch", initial_epoch, 0)
        if epochs <= 0:
            raise ValueError(f"`epoch` must be greater than `initial_epoch`, not {epoch} after {initial_epoch}")
        if epochs > 1 and lasts_once(validation[0]):
            raise ValueError("an iterator is spent after one evaluation: use a list, or an object that begins again")
        helper = DatasetHelper(dataset, sink, sink_size, epoch)
        args = InternalCallbackParam(
            mode="train", network=self._network, train_network=self._train_network, loss_fn=self._loss_fn,
            optimizer=self._optimizer, loss_scale_mananger=self._loss_scale_manager, train_dataset=dataset,
            train_dataset_element=None, epoch_num=epochs, batch_num=SoFar(0) if helper.size is None else helper.size,
            cur_step_num=0, dataset_sink_mode=False, parallel_mode=get_auto_parallel_context("parallel_mode"),
            device_number=get_auto_parallel_context("device_num"),
            list_callback=listed(callbacks), last_save_ckpt_step=None, latest_ckpt_file=None, initial_step=None,
        )  # fmt: skip
        self._current_epoch_num = self._current_step_num = 0
        try:
            with CallbackManager(callbacks) as manager:
                self._train_epochs(range(initial_epoch + 1, epoch + 1), helper, manager, args, validation)
        except BaseException as error:
            self._save_breakpoints(args.list_callback, error)
            raise

    def _train_epochs(
        self, epochs: range, helper: DatasetHelper, manager: Any, args: Any, validation: tuple[Any, Any]
    ) -> None:
        run_context = RunContext(args)
        begin_with_first(self._train_network.get_parameters())
        _save_together([c for c in manager.callbacks if isinstance(c, ModelCheckpoint)])
        self._set_train(self._train_network, True, renew=True)
        manager.on_train_begin(run_context)
        for epoch in epochs:
            args.cur_epoch_num = self._current_epoch_num = epoch
            self._current_step_num = 0
            manager.on_train_epoch_begin(run_context)
            for inputs in self._batches(helper, epoch, run_context):
                self._train_step(inputs, manager, run_context)
            if self._current_step_num == 0:
                raise ValueError(f"the dataset has no batches in epoch {epoch}")
            args.batch_num = int(args.batch_num)
            self._evaluate_in_fit(validation, manager, args)
            helper.epoch_done()
            manager.on_train_epoch_end(run_context)
            args.pop("metrics", None)
            args.pop("eval_results", None)
            if _stops(run_context):
                break
        manager.on_train_end(run_context)

    def _batches(self, helper: DatasetHelper, epoch: int, run_context: RunContext) -> Iterator[tuple[Any, ...]]:
        """The batches of an epoch, until a stop is requested.

        ValueError where processes that train together have different ones.
        """
        everybody = together()
        if everybody is not None:
            yield from in_step(helper, everybody, f"epoch {epoch}", run_context.get_stop_requested)
            return
        for inputs in helper:
            yield inputs
            if run_context.get_stop_requested():
                return

    def _train_step(self, inputs: tuple[Any, ...], manager: Any, run_context: RunContext) -> None:
        args = run_context.original_args()
        if self._loss_fn is not None and len(inputs) != 2:
            raise ValueError(
                f"with a `loss_fn` a batch of `train_dataset` has two columns, data and label, not {len(inputs)}"
            )
        args.cur_step_num += 1
        self._current_step_num += 1
        if isinstance(args.batch_num, SoFar):
            args.batch_num = SoFar(self._current_step_num)
        args.train_dataset_element = inputs
        manager.on_train_step_begin(run_context)
        self._set_train(self._train_network, True)
        outputs = args.net_outputs = self._train_network(*inputs)
        scale = self._loss_scale_manager
        if scale is not None and isinstance(outputs, tuple) and getattr(scale, "get_drop_overflow_update", bool)():
            scale.update_loss_scale(bool(np.all(outputs[1].asnumpy())))
        manager.on_train_step_end(run_context)

    def _save_breakpoints(self, callbacks: list[Any], error: BaseException) -> None:
        for callback in callbacks:
            if isinstance(callback, ModelCheckpoint):
                try:
                    callback.save_breakpoint(self._train_network, self._current_epoch_num, self._current_step_num)
                except Exception as failed:  # the error that ended the training must not be replaced by this one
                    error.add_note(f"and the Parameters could not be saved: {type(failed).__name__}: {failed}")

    def _set_train(self, network: Any, mode: bool, renew: bool = False) -> None:
        if renew or self._backbone_is_train is not mode:
            network.set_train(mode)
            self._backbone_is_train = mode

    # ------------------------------------------------------------------------------------------- evaluation
    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """The metrics of a dataset, by their names.  `dataset_sink_mode` changes nothing.

        TypeError, ValueError: the Model has no `metrics`, the dataset no batches, or they do not fit.
        """
        flag("dataset_sink_mode", dataset_sink_mode)
        self._check_metrics()
        args = InternalCallbackParam(network=self._network, list_callback=listed(callbacks))
        with CallbackManager(callbacks) as manager:
            return self._evaluate(valid_dataset, manager, args)

    def _check_metrics(self) -> None:
        if not self._metric_fns:
            raise ValueError("to evaluate, the Model needs `metrics`")

    def _evaluate_in_fit(self, validation: tuple[Any, Any], manager: Any, args: Any) -> None:
        dataset, when = validation
        epoch = args.cur_epoch_num
        if dataset is None or not (epoch % when == 0 if isinstance(when, int) else epoch in when):
            return
        kept = {name: args[name] for name in ("mode", "cur_step_num", "batch_num", "net_outputs")}
        called = [c for c in manager.callbacks if not _is_ours(c) or isinstance(c, TimeMonitor | LambdaCallback)]
        with CallbackManager(called) as inner:
            self._evaluate(dataset, inner, args)
        args.update(kept)

    def _evaluate(self, dataset: Any, manager: Any, args: Any) -> dict[str, Any]:
        helper = DatasetHelper(dataset, dataset_sink_mode=False)
        args.update(
            mode="eval", eval_network=self._eval_network, valid_dataset=dataset, cur_step_num=0,
            batch_num=SoFar(0) if helper.size is None else helper.size, dataset_sink_mode=False,
        )  # fmt: skip
        for metric in self._metric_fns.values():
            metric.clear()
        losses = nn.Loss() if "train_network" in args and self._eval_indexes is not None else None
        run_context = RunContext(args)
        manager.on_eval_begin(run_context)
        self._set_train(self._eval_network, False, renew=True)
        manager.on_eval_epoch_begin(run_context)
        for inputs in helper:
            args.cur_step_num += 1
            if isinstance(args.batch_num, SoFar):
                args.batch_num = SoFar(args.cur_step_num)
            args.eval_dataset_element = inputs
            manager.on_eval_step_begin(run_context)
            self._set_train(self._eval_network, False)
            outputs = args.net_outputs = self._eval_network(*inputs)
            manager.on_eval_step_end(run_context)
            self._measure(outputs, losses)
            if run_context.get_stop_requested():
                break
        if args.cur_step_num == 0:
            raise ValueError("the dataset to evaluate has no batches")
        manager.on_eval_epoch_end(run_context)
        helper.epoch_done()
        metrics = {name: metric.eval() for name, metric in self._metric_fns.items()}
        args.metrics = metrics
        if "train_network" in args:
            args.eval_results = copy.deepcopy(metrics)
            if losses is not None:
                args.eval_results["eval_loss"] = losses.eval()
        manager.on_eval_end(run_context)
        return metrics

    def _measure(self, outputs: Any, losses: Any) -> None:
        """Gives a batch to the metrics."""
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        if not isinstance(outputs, tuple):
            raise ValueError(f"an `eval_network` gives a tuple of Tensors, not {kind_of(outputs)}")
        if self._eval_indexes is None:
            for metric in self._metric_fns.values():
                metric.update(*outputs)
            return
        if len(outputs) < 3:
            raise ValueError(f"an `eval_network` gives loss, output and label, not {len(outputs)} outputs")
        loss, output, label = (outputs[i] for i in self._eval_indexes)
        if losses is not None:
            losses.update(loss)
        for metric in self._metric_fns.values():
            if isinstance(metric, nn.Loss):
                metric.update(loss)
            else:
                metric.update(output, label)

    # ------------------------------------------------------------------------------------------- use
    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """The network's output for inputs: Tensors, numbers, texts or None.

        `backend` may be "lite", MindSpore's library for phones, which is not here: the network runs as it does without.

        TypeError: another input.  ValueError: an empty Tensor, or an unknown `backend`.
        """
        if backend not in (None, "lite"):
            raise ValueError(f"`backend` is None or 'lite', not {backend!r}")
        for data in predict_data:
            if isinstance(data, Tensor):
                if data.size == 0:
                    raise ValueError(f"there is nothing to predict for an empty Tensor of shape {data.shape}")
            elif data is not None and not isinstance(data, int | float | str | tuple | list | dict):
                raise TypeError(f"`predict` takes Tensors and numbers, not {kind_of(data)}: make it a Tensor")
        self._set_train(self._predict_network, False, renew=True)
        return self._predict_network(*predict_data)

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Compiles the training step, and the evaluation, for the first batch of a dataset, without running them.

        In PYNATIVE_MODE there is nothing to compile.  TypeError, ValueError: no dataset, or one that is spent after
        one epoch: its first batch would be missing in the training.
        """
        flag("sink_mode", sink_mode), positive("epoch", epoch)
        if train_dataset is None and valid_dataset is None:
            raise ValueError("`build` compiles for the batches of a dataset, and there is none")
        if valid_dataset is not None:
            self._check_metrics()
        for dataset, network, training in (
            (train_dataset, self._train_network, True),
            (valid_dataset, self._eval_network, False),
        ):
            if dataset is None:
                continue
            inputs = next(iter(DatasetHelper(dataset, sink_mode, sink_size, epoch_num=2)), None)
            if inputs is None:
                raise ValueError("the dataset has no batches")
            self._set_train(network, training, renew=True)
            if get_context("mode") == GRAPH_MODE:
                network.compile(*inputs)


def _save_together(savers: list[ModelCheckpoint]) -> None:
    """Lets processes that train together save one file, if all of them have callbacks for that."""
    everybody = together()
    same = everybody is not None and len(set(texts_of_all("; ".join(s.when() for s in savers), everybody))) == 1
    for saver in savers:
        saver.save_together(everybody if same else None)


def _stops(run_context: RunContext) -> bool:
    """Whether a stop was requested; of processes that train together all stop with one."""
    everybody = together()
    if everybody is None:
        return run_context.get_stop_requested()
    stops = any_of(run_context.get_stop_requested(), everybody)
    if stops:
        run_context.request_stop()
    return stops


def _is_ours(callback: Any) -> bool:
    """Whether the class of a callback is one of this package, not a subclass."""
    return type(callback).__module__.startswith(f"{_CALLBACKS}.")
