"""`LossMonitor`: losses as lines, or as a bar in a terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from typing import Any

from ...nn.arguments import integer
from ._callback import Callback, RunContext, SoFar, loss_of, step_in_epoch

__all__ = ["LossMonitor"]

#: Seconds between two drawings of a bar.
_PAUSE = 0.05
_WIDEST_BAR = 30


class LossMonitor(Callback):
    """Prints the loss after each `per_print_times` steps (0: never), and in `Model.fit` the metrics of evaluations.

    Where the output is a terminal, a bar shows how far the epoch is instead, with the last loss.  The loss is the mean
    of the network's output; of several outputs the first.

    TypeError, ValueError: `per_print_times` is no int, or negative.  ValueError after a step whose loss is infinite or
    not a number.

    >>> import numpy as np
    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import Model
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> model.train(1, [batch, batch], callbacks=LossMonitor())
    epoch: 1 step: 1, loss is 4.0
    epoch: 1 step: 2, loss is 1.0
    """

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = integer("per_print_times", per_print_times, 0)
        self._last_print_time = 0
        self._bar = _Bar()

    def __exit__(self, *err: Any) -> None:
        self._bar.close()

    def step_end(self, run_context: RunContext) -> None:
        """Checks the loss, and prints it every `per_print_times` steps."""
        args = run_context.original_args()
        epoch, step, loss = args.get("cur_epoch_num", 1), step_in_epoch(args), loss_of(args["net_outputs"])
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ValueError(f"in epoch {epoch}, step {step} the loss is {loss}: training cannot go on")
        every, now = self._per_print_times, args["cur_step_num"]
        if every == 0:
            return
        if now <= self._last_print_time:  # another run has begun
            self._last_print_time = (now - 1) // every * every
        if now - self._last_print_time < every:
            return
        self._last_print_time = now
        if _Bar.fits():
            self._bar.draw(epoch, step, None if isinstance(args["batch_num"], SoFar) else args["batch_num"], loss)
        else:
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Prints the metrics, if there was an evaluation."""
        self._bar.close()
        args = run_context.original_args()
        metrics = args.get("metrics")
        if metrics:
            print(f"Eval result: epoch {args['cur_epoch_num']}, metrics: {metrics}", flush=True)


class _Bar:
    """A line of a terminal that is drawn again and again."""

    def __init__(self) -> None:
        self._drawn_at = -math.inf
        self._open = False

    @staticmethod
    def fits() -> bool:
        """Whether the output is a terminal that can draw over a line."""
        return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM", "") != "dumb"

    def draw(self, epoch: int, step: int, steps: int | None, loss: Any) -> None:
        """Draws the line if the last drawing is old enough; after the last step the cursor moves to the next one."""
        last, now = step == steps, time.monotonic()
        if not last and now - self._drawn_at < _PAUSE:
            return
        self._drawn_at = now
        shown = f"{loss:<12.6g}" if isinstance(loss, float) else loss  # padded, so that the bar keeps its width
        before, after = f"epoch {epoch}", f"{step}/{steps}, loss is {shown}" if steps else f"{step}, loss is {shown}"
        columns = shutil.get_terminal_size().columns - 1
        width = min(_WIDEST_BAR, columns - len(before) - len(after) - 4)
        if steps and width > 3:
            before += f" [{'#' * (width * step // steps):<{width}}]"
        sys.stdout.write(f"\r{f'{before} {after}'[:columns]:<{columns}}")
        self._open = True
        if last:
            self.close()
        sys.stdout.flush()

    def close(self) -> None:
        """Leaves the line."""
        if self._open:
            self._open = False
            sys.stdout.write("\n")
            sys.stdout.flush()
