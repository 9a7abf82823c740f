"""`LearningRateScheduler`: the learning rate as a function of the rate before and the step."""

from __future__ import annotations

import math
from collections.abc import Callable

from ... import ops
from ...dtypes import float32
from ...errors import kind_of
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ._callback import Callback, RunContext, optimizer_of

__all__ = ["LearningRateScheduler"]


class LearningRateScheduler(Callback):
    """Sets the learning rate to ``learning_rate_function(rate, step)`` after each step; steps count from 1.

    TypeError: no function.  ValueError after a step: the optimizer's learning rate is not one number.

    >>> from autodiff_compiler import nn
    >>> optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), 1.0)
    >>> schedule = LearningRateScheduler(lambda rate, step: rate / step)
    >>> schedule.step_end(RunContext({"optimizer": optimizer, "cur_step_num": 4}))
    >>> optimizer.learning_rate.item()
    0.25
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        super().__init__()
        if not callable(learning_rate_function):
            raise TypeError(f"`learning_rate_function` is a function, not {kind_of(learning_rate_function)}")
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        """Sets the rate that the function returns."""
        args = run_context.original_args()
        rate = optimizer_of(args, "LearningRateScheduler").learning_rate
        if not isinstance(rate, Parameter) or rate.ndim > 0:
            raise ValueError("LearningRateScheduler needs an optimizer with one learning rate, which is a number")
        now = float(str(rate.asnumpy()))  # the shortest number that is the float32: 0.1, not 0.10000000149
        new = self.learning_rate_function(now, args["cur_step_num"])
        if not math.isclose(now, new, rel_tol=1e-10):
            ops.assign(rate, Tensor(new, float32))

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing: evaluation has no learning rate."""
