"""Callbacks that monitor a value over the epochs and act when it no longer improves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...errors import kind_of
from ...nn.arguments import choice, flag, integer, number
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ..serialization import load_param_into_net
from ._callback import Callback, RunContext, loss_of, optimizer_of, warn

__all__ = ["EarlyStopping", "ReduceLROnPlateau"]

#: The metrics to minimise; all others are maximised.
_SMALLER = {
    "eval_loss", "hausdorff_distance", "loss", "mae", "mean_surface_distance", "mse", "perplexity",
    "root_mean_square_distance",
}  # fmt: skip


class _MonitorCallback(Callback):
    """The base of both: a callback that tracks the best value of a monitor."""

    def __init__(self, monitor: Any, mode: Any, min_delta: Any, patience: Any, verbose: Any) -> None:
        super().__init__()
        if not isinstance(monitor, str):
            raise TypeError(f"`monitor` must be the name of a value, not {kind_of(monitor)}")
        self.monitor = monitor
        self.mode = choice("mode", mode, ("auto", "min", "max"))
        self.min_delta = abs(number("min_delta", min_delta))
        self.patience = integer("patience", patience, 0)
        self.verbose = flag("verbose", verbose)
        self._falls = mode == "min" or (mode == "auto" and monitor in _SMALLER)
        self._restart()

    def _restart(self) -> None:
        self.wait, self._warned = 0, False
        self.best = np.inf if self._falls else -np.inf

    def is_improvement(self, value: Any, best: Any) -> bool:
        """Whether a value is better than another by more than `min_delta`."""
        return bool(value < best - self.min_delta if self._falls else value > best + self.min_delta)

    def _value(self, args: Any) -> float | None:
        """The present value; None, and a warning (once in a run), if the run does not have it."""
        if self.monitor == "loss":
            value, known = loss_of(args.get("net_outputs")), {"loss"}
        else:
            results = args.get("eval_results") or {}
            value, known = results.get(self.monitor), {"loss", *results}
        if value is None:
            if not self._warned:
                has = ", ".join(sorted(known))
                warn(f"{type(self).__name__} looks at {self.monitor!r}, and this epoch has {has} only")
            self._warned = True
            return None
        value = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
        if value.shape != ():
            raise ValueError(f"{self.monitor!r} has the shape {value.shape}: {type(self).__name__} needs one number")
        return float(value)


class EarlyStopping(_MonitorCallback):
    """Ends the training when a value has not improved for `patience` epochs.

    `monitor` is "loss", the loss of the last step; in `Model.fit` also "eval_loss", the mean loss of the evaluation, or
    the name of a metric.  An epoch is better when it beats the best one by more than `min_delta`, and `baseline` too if
    there is one.  `mode` says whether "min" or "max" is good; "auto" knows which of MindSpore's metrics are to fall.
    `restore_best_weights` gives the Parameters of the training the values of the best epoch when it stops.  With a
    `patience` of 0 the first epoch is the last one.

    TypeError, ValueError: an argument that does not fit; ValueError after an epoch whose value is no single number.

    >>> stop, context = EarlyStopping("loss", patience=1, verbose=True), RunContext({})
    >>> stop.on_train_begin(context)
    >>> for epoch, loss in enumerate([3.0, 2.0, 2.5], 1):
    ...     context.original_args().update(cur_epoch_num=epoch, net_outputs=Tensor(loss))
    ...     stop.on_train_epoch_end(context)
    >>> context.get_stop_requested(), stop.on_train_end(context)
    Epoch 00003: early stopping
    (True, None)
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        self.baseline = None if baseline is None else number("baseline", baseline)
        self.restore_best_weights = flag("restore_best_weights", restore_best_weights)
        self.stopped_epoch = 0
        self.best_weights_param_dict: dict[str, Any] | None = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forgets earlier runs."""
        self._restart()
        self.stopped_epoch = 0
        self.best_weights_param_dict = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the value of the epoch."""
        args = run_context.original_args()
        value = self._value(args)
        if value is None:
            return
        self.wait += 1
        better = self.is_improvement(value, self.best)
        if self.restore_best_weights and (better or self.best_weights_param_dict is None):
            kept = args["train_network"].parameters_dict()
            self.best_weights_param_dict = {name: Parameter(p.asnumpy().copy(), name=name) for name, p in kept.items()}
        if better:
            self.best = value
            if self.baseline is None or self.is_improvement(value, self.baseline):
                self.wait = 0
        if self.wait < self.patience:
            return
        self.stopped_epoch = args["cur_epoch_num"]
        run_context.request_stop()
        if self.best_weights_param_dict is not None:
            if self.verbose:
                print("Restoring model weights from the end of the best epoch.", flush=True)
            load_param_into_net(args["train_network"], self.best_weights_param_dict, strict_load=True)

    def on_train_end(self, run_context: RunContext) -> None:
        """With `verbose` says when it stopped the training."""
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


class ReduceLROnPlateau(_MonitorCallback):
    """Multiplies the learning rate by `factor` when a value has not improved for `patience` epochs.

    `monitor`, `mode` and `min_delta` are those of `EarlyStopping`.  After that, `cooldown` epochs do not count; the
    rate does not fall below `min_lr`.

    TypeError, ValueError: an argument that does not fit.  ValueError after an epoch: the optimizer's learning rate is
    not one number, or the value is not.

    >>> from autodiff_compiler import nn
    >>> optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), 1.0)
    >>> reduce, context = ReduceLROnPlateau("loss", factor=0.5, patience=1), RunContext({"optimizer": optimizer})
    >>> for epoch, loss in enumerate([3.0, 2.0, 2.5], 1):
    ...     context.original_args().update(cur_epoch_num=epoch, net_outputs=Tensor(loss))
    ...     reduce.on_train_epoch_end(context)
    >>> optimizer.learning_rate.item()
    0.5
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        if not isinstance(factor, float):
            raise TypeError(f"`factor` must be a float, not {kind_of(factor)}")
        if not 0.0 < factor < 1.0:
            raise ValueError(f"`factor` must be between 0 and 1, not {factor}")
        self.factor = factor
        self.cooldown = integer("cooldown", cooldown, 0)
        self.min_lr = number("min_lr", min_lr)
        self.cooldown_counter = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forgets earlier runs."""
        self._restart()
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the value of the epoch."""
        args = run_context.original_args()
        rate = optimizer_of(args, "ReduceLROnPlateau").learning_rate
        if not isinstance(rate, Parameter) or rate.ndim > 0:
            raise ValueError("ReduceLROnPlateau needs an optimizer with one learning rate, which is a number")
        value = self._value(args)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_improvement(value, self.best):
            self.best = value
            self.wait = 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(rate, args)

    def _reduce(self, rate: Parameter, args: Any) -> None:
        if rate.asnumpy() > np.float32(self.min_lr):
            ops.assign(rate, ops.maximum(ops.mul(rate, self.factor), self.min_lr))
            if self.verbose:
                epoch, shown = args["cur_epoch_num"], str(rate.asnumpy())
                print(f"Epoch {epoch:05d}: ReduceLROnPlateau reducing learning rate to {shown}.", flush=True)
        self.cooldown_counter = self.cooldown
        self.wait = 0
