"""`History`, which records the epochs of a run, and `LambdaCallback`, made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import kind_of
from ...runtime.tensor import Tensor
from ._callback import Callback, RunContext

__all__ = ["History", "LambdaCallback"]


class _ShortRepr(np.float32):
    """A float32 whose `repr` is its digits only, as with NumPy 1, which MindSpore uses."""

    def __repr__(self) -> str:
        return str(self)


class History(Callback):
    """Keeps, of each epoch, the output of the last step and the metrics, in the dict of lists `history`.

    "net_output" is the mean of the output, of several outputs that of the first.  `epoch` is ``{"epoch": [...]}``, the
    numbers of the epochs of the last run.

    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import Model
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25), metrics={"mae"})
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> kept = History()
    >>> model.fit(2, [batch], [batch], callbacks=kept)
    >>> kept.history, kept.epoch
    ({'net_output': [4.0, 1.0], 'mae': [1.0, 0.5]}, {'epoch': [1, 2]})
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def begin(self, run_context: RunContext) -> None:
        """Begins a new list of epochs; `history` goes on."""
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        """Records the output and the metrics of an epoch."""
        args = run_context.original_args()
        if self.epoch is None:
            self.epoch = {"epoch": []}
        self.epoch["epoch"].append(args.get("cur_epoch_num", 1))
        output = args["net_outputs"]
        if isinstance(output, tuple | list) and output and isinstance(output[0], Tensor):
            output = output[0]
        if isinstance(output, Tensor):
            mean = np.mean(output.asnumpy())
            output = _ShortRepr(mean) if mean.dtype == np.float32 else mean.item()
        for name, value in {"net_output": output, **(args.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)


_Stage = Callable[[RunContext], Any]


class LambdaCallback(Callback):
    """A callback of functions; each gets the `RunContext` of the stage that it is for.

    >>> callback = LambdaCallback(on_train_begin=lambda context: print(context.original_args()["mode"]))
    >>> callback.on_train_begin(RunContext({"mode": "train"}))
    train
    """

    def __init__(
        self,
        on_train_epoch_begin: _Stage | None = None,
        on_train_epoch_end: _Stage | None = None,
        on_train_step_begin: _Stage | None = None,
        on_train_step_end: _Stage | None = None,
        on_train_begin: _Stage | None = None,
        on_train_end: _Stage | None = None,
        on_eval_epoch_begin: _Stage | None = None,
        on_eval_epoch_end: _Stage | None = None,
        on_eval_step_begin: _Stage | None = None,
        on_eval_step_end: _Stage | None = None,
        on_eval_begin: _Stage | None = None,
        on_eval_end: _Stage | None = None,
    ) -> None:
        given = {name: function for name, function in locals().items() if name.startswith("on_") and function}
        super().__init__()
        for name, function in given.items():
            if not callable(function):
                raise TypeError(f"`{name}` must be a function, not {kind_of(function)}")
            setattr(self, name, function)
