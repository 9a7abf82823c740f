"""The base class of callbacks, the context that they get, and the manager that calls several in turn."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Self

import numpy as np

from ...errors import AutodiffWarning, kind_of, warn_at
from ...runtime.tensor import Tensor
from ...source import calling_place

__all__ = ["Callback", "CallbackManager", "InternalCallbackParam", "RunContext", "loss_of"]


class Callback:
    """Base of callbacks: `train.Model` calls the methods that a subclass defines.

    Each gets a `RunContext`.  ``on_train_begin``, ``on_train_epoch_begin``, ``on_train_step_begin``,
    ``on_train_step_end``, ``on_train_epoch_end``, ``on_train_end`` are called while training, the same with ``on_eval``
    while evaluating.  Those of both call ``begin``, ``epoch_begin``, ``step_begin``, ``step_end``, ``epoch_end``,
    ``end``, MindSpore's older names, unless a subclass says otherwise.

    A callback is a context manager: `Model` enters it before a run and leaves it afterwards, whatever happens.  After
    an error or an interrupt that is all: no ``..._end`` is called.

    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import Model
    >>> class Steps(Callback):
    ...     def on_train_step_end(self, run_context):
    ...         args = run_context.original_args()
    ...         print(args.cur_epoch_num, args.cur_step_num, args.net_outputs.item())
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> model.train(2, [batch], callbacks=Steps())
    1 1 4.0
    2 2 1.0
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *err: Any) -> None:
        """Frees what the callback holds."""

    # Older names, for training and evaluation.
    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""
        self.epoch_begin(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before a step."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After a step."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After an epoch and, in `Model.fit`, its evaluation."""
        self.epoch_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After the last epoch, also one at which a stop was requested."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the only epoch of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before a batch is evaluated."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After a batch is evaluated."""
        self.step_end(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the last batch; the metrics are not known yet."""
        self.epoch_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After an evaluation; `metrics` of the context are known."""
        self.end(run_context)


_OLDER = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


def listed(callbacks: Any) -> list[Any]:
    """Callbacks that are given as None, one or several, in a new list."""
    if callbacks is None:
        return []
    one = isinstance(callbacks, Callback) or not isinstance(callbacks, Iterable)
    return [callbacks] if one else list(callbacks)


class CallbackManager(Callback):
    """Several callbacks as one, which calls them in their order and leaves them in the opposite one.

    TypeError: what is no Callback, nor a list of such.
    """

    def __init__(self, callbacks: Any) -> None:
        self.callbacks = listed(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"callbacks are Callbacks or a list of them, not {kind_of(callback)}")
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as entered:  # if one raises, those entered before it are exited
            targets = [(callback, entered.enter_context(callback)) for callback in self.callbacks]
            self.callbacks = [target if isinstance(target, Callback) else callback for callback, target in targets]
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *err: Any) -> None:
        self._entered.__exit__(*err)


def _of_each(stage: str) -> Any:
    def call(self: CallbackManager, run_context: RunContext) -> None:
        for callback in self.callbacks:
            getattr(callback, stage)(run_context)

    return call


for _stage in (*_OLDER, *[f"on_{_mode}_{_name}" for _mode in ("train", "eval") for _name in _OLDER]):
    setattr(CallbackManager, _stage, _of_each(_stage))


class InternalCallbackParam(dict[str, Any]):
    """A dict whose entries are attributes, too.

    >>> args = InternalCallbackParam(cur_step_num=3)
    >>> args.mode = "train"
    >>> args.cur_step_num, args["mode"]
    (3, 'train')
    """

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"this context of a run has no {key!r}") from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value


class RunContext:
    """The state of a run, for its callbacks, which may also request the end of it.

    ``original_args()`` is a dict with attributes.  It holds, from the beginning: `mode` ("train" or "eval"), `network`,
    `batch_num` (the batches of an epoch; while they are not known yet, those so far), `cur_step_num` (steps so far,
    that of now included), `dataset_sink_mode` (False), `list_callback`; in training `train_network`, `train_dataset`,
    `epoch_num` (epochs of the run), `loss_fn`, `optimizer`, `loss_scale_mananger` (sic), `parallel_mode`,
    `device_number`, `initial_step`; in evaluation `eval_network`, `valid_dataset`.  Then `cur_epoch_num` (from 1),
    `train_dataset_element` or `eval_dataset_element` (the inputs of the step), `net_outputs` (what the network gave),
    `last_save_ckpt_step` and `latest_ckpt_file`; after an evaluation `metrics`, in `Model.fit` also `eval_results`,
    these with "eval_loss".

    TypeError: the argument is no dict.

    >>> context = RunContext({"cur_step_num": 2})
    >>> context.original_args()["cur_step_num"], context.get_stop_requested()
    (2, False)
    >>> context.request_stop(); context.get_stop_requested()
    True
    """

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise TypeError(f"`original_args` of a RunContext is a dict, not {kind_of(original_args)}")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The contents of the context."""
        return self._original_args

    def request_stop(self) -> None:
        """Ends the run after this step, or after this epoch."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether a callback asked for the end of the run."""
        return self._stop_requested


class SoFar(int):
    """A number of batches that may still grow: in the first epoch of a dataset that does not know its size."""


def loss_of(outputs: Any) -> Any:
    """The loss among a network's outputs: of several the first, a Tensor; of one the mean, a float."""
    if isinstance(outputs, tuple | list) and outputs and isinstance(outputs[0], Tensor):
        return outputs[0]
    return float(np.mean(outputs.asnumpy())) if isinstance(outputs, Tensor) else outputs


def step_in_epoch(args: Any) -> int:
    """The number of the current step in its epoch, from 1."""
    return int((args["cur_step_num"] - 1) % args["batch_num"] + 1)


def optimizer_of(args: Any, asking: str) -> Any:
    """The optimizer of a training, or of its network where that is a step; AttributeError if there is none."""
    optimizer = args.get("optimizer")
    if optimizer is None:
        optimizer = getattr(args.get("train_network"), "optimizer", None)
    if optimizer is None:
        raise AttributeError(f"{asking} changes the learning rate of an optimizer, and this training has none")
    return optimizer


def warn(text: str) -> None:
    """Warns at the line that started the training."""
    warn_at(AutodiffWarning(text), calling_place())
