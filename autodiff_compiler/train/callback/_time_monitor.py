"""`TimeMonitor`: how long epochs and steps take."""

from __future__ import annotations

import time

from ...nn.arguments import flag, positive
from ._callback import Callback, RunContext

__all__ = ["TimeMonitor"]


class TimeMonitor(Callback):
    """Prints after each epoch, of training or evaluation, its time and the mean time of a step, in milliseconds.

    The time of an epoch of training is without that of its evaluation in `Model.fit`.  `data_size` is the number of
    steps where the run does not know `batch_num`.  With `data_time` the mean time to get a batch is printed, too.

    TypeError: `data_time` is no bool.  TypeError, ValueError at the end of an epoch: no positive number of steps.

    >>> from autodiff_compiler.train import RunContext
    >>> monitor, context = TimeMonitor(), RunContext({"mode": "train", "batch_num": 4})
    >>> monitor.epoch_begin(context); monitor.epoch_end(context)
    Train epoch time: ... ms, per step time: ... ms
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        self.data_size = data_size
        self.data_time = flag("data_time", data_time)
        self.epoch_time = time.time()
        self._epochs: dict[str, _Epoch] = {}

    def _epoch(self, run_context: RunContext) -> _Epoch:
        return self._epochs.setdefault(run_context.original_args().get("mode", ""), _Epoch())

    def step_begin(self, run_context: RunContext) -> None:
        """Ends the wait for a batch."""
        epoch = self._epoch(run_context)
        epoch.waited += time.perf_counter() - epoch.waits_since

    def step_end(self, run_context: RunContext) -> None:
        """Begins the wait for a batch."""
        self._epoch(run_context).waits_since = time.perf_counter()

    def epoch_begin(self, run_context: RunContext) -> None:
        """Begins to measure."""
        self.epoch_time = time.time()
        self._epochs[run_context.original_args().get("mode", "")] = _Epoch()

    def epoch_end(self, run_context: RunContext) -> None:
        """Prints the times."""
        args, epoch = run_context.original_args(), self._epoch(run_context)
        taken = time.perf_counter() - epoch.begun - epoch.elsewhere
        mode, known = args.get("mode", ""), args.get("batch_num")
        steps = positive("data_size", known if isinstance(known, int) and known > 0 else self.data_size)
        if mode == "eval" and "train" in self._epochs:
            self._epochs["train"].elsewhere += taken
        each = taken / steps * 1000
        line = f"{mode.title()} epoch time: {taken * 1000:5.3f} ms, per step time: {each:5.3f} ms"
        if self.data_time:
            line += f" (data time: {epoch.waited / steps * 1000:5.3f} ms)"
        print(line, flush=True)


class _Epoch:
    """When an epoch began, how long it waited for batches, and how long another one ran inside it."""

    def __init__(self) -> None:
        self.begun = self.waits_since = time.perf_counter()
        self.waited = self.elsewhere = 0.0
