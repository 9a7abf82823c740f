"""A training step with loss scaling, skipped when gradients overflow, and the Cells that adapt the scale."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...data_parallel.collective import all_reduce
from ...dtypes import float32, int32
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ..cell import Cell
from .cell_wrapper import TrainOneStepCell
from .overflow import all_finite

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]


def _state(value: Any, dtype: Any, name: str) -> Any:
    return Parameter(Tensor(value, dtype), name=name, requires_grad=False)


class DynamicLossScaleUpdateCell(Cell):
    """Adapts a loss scale: ``cell(loss_scale, overflow)`` changes the Parameter `loss_scale` and returns `overflow`.

    At an overflow the scale is divided by `scale_factor`, but never below 1; after `scale_window` steps without one,
    counted from the last change, it is multiplied by it.

    >>> scale = Parameter(1024.0)
    >>> update = DynamicLossScaleUpdateCell(1024.0, scale_factor=2, scale_window=2)
    >>> [update(scale, Tensor(o)).item() and None or scale.item() for o in (True, False, False)]
    [512.0, 512.0, 1024.0]
    """

    def __init__(self, loss_scale_value: Any, scale_factor: Any, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value
        self.scale_factor, self.scale_window = Tensor(scale_factor, float32), Tensor(scale_window, int32)
        self.minimum_loss_scale = Tensor(1.0, float32)
        self.cur_iter = _state(1, int32, "current_iterator_step")
        self.last_overflow_iter = _state(0, int32, "last_overflow_iterator_step")

    def get_loss_scale(self) -> Any:
        """The loss scale to begin with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        calm = self.cur_iter - self.last_overflow_iter >= self.scale_window
        lower = ops.maximum(loss_scale / self.scale_factor, self.minimum_loss_scale)
        higher = ops.select(calm, loss_scale * self.scale_factor, loss_scale * 1.0)
        changes = ops.logical_or(overflow, calm)
        ops.assign(loss_scale, ops.select(overflow, lower, higher))
        ops.assign(self.last_overflow_iter, ops.select(changes, self.cur_iter, self.last_overflow_iter))
        ops.assign(self.cur_iter, self.cur_iter + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Keeps a loss scale as it is: ``cell(loss_scale, overflow)`` returns `overflow`.

    >>> FixedLossScaleUpdateCell(1024.0).get_loss_scale()
    1024.0
    """

    def __init__(self, loss_scale_value: Any) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> Any:
        """The loss scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """A step of training with a scaled loss: returns the loss, whether gradients overflowed, and the scale after it.

    The loss is multiplied by the scale before it is differentiated, the gradients are divided by it after.  If an
    element of them is not finite, the optimizer is not called; of several processes in data-parallel mode it is called
    in all or in none.  `scale_sense` is a Cell with `get_loss_scale` that adapts the scale, such as
    `DynamicLossScaleUpdateCell`, or the scale itself: a Tensor of shape () or (1,), which `set_sense_scale` changes.

    TypeError: `scale_sense` is neither.  ValueError: it has another shape.

    >>> from autodiff_compiler import nn
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> optimizer = nn.SGD(net.trainable_params(), 0.25)
    >>> step = TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, Tensor(1024.0))
    >>> [t.item() for t in step(Tensor([[1.0]]), Tensor([[1.0]]))], net.weight.tolist()
    ([4.0, False, 1024.0], [[2.0]])
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        manager: Any = scale_sense if isinstance(scale_sense, Cell) else None
        self.loss_scaling_manager = manager
        if manager is not None:
            scale_sense = Tensor(manager.get_loss_scale(), float32)
        elif not isinstance(scale_sense, Tensor):
            raise TypeError(f"`scale_sense` must be a Cell or a Tensor, not a {type(scale_sense).__name__}")
        elif scale_sense.shape not in ((), (1,)):
            raise ValueError(f"the shape of `scale_sense` must be () or (1,), not {scale_sense.shape}")
        self.scale_sense = _state(scale_sense, scale_sense.dtype, "scale_sense")
        # Attributes that subclasses written for MindSpore use.
        self.hyper_map, self.base = ops.HyperMap(), Tensor(1.0, float32)
        self.reduce_sum, self.less_equal, self.is_distributed = ops.ReduceSum(), ops.LessEqual(), self.reducer_flag

    def construct(self, *inputs: Any) -> Any:
        scale = ops.reshape(self.scale_sense * 1.0, ())  # that of this step, whatever is assigned below
        loss, grads = self.loss_and_gradients(scale, inputs)
        unscale = 1.0 / scale
        grads = tuple([g * ops.cast(unscale, g.dtype) for g in grads])
        grads = self.scattered(grads) if self.scatters else self.grad_reducer(grads)
        overflows = self.get_overflow_status(None, grads)
        if not self.process_loss_scale(overflows):
            if self.scatters:
                self.optimizer.step_of_trained(grads)
            else:
                self.optimizer(grads)
        return loss, overflows, self.scale_sense * 1.0

    def set_sense_scale(self, sens: Any) -> None:
        """Sets the scale; TypeError for what is no Tensor."""
        if not isinstance(sens, Tensor):
            raise TypeError(f"the loss scale must be a Tensor, not a {type(sens).__name__}")
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> Any:
        """A status for `get_overflow_status`, which needs none here, and `compute_input` as it is."""
        return ops.zeros((8,), int32), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """Whether a Tensor in `compute_output`, a tuple or list, has an element that is not finite: a bool Tensor."""
        finite = all_finite(compute_output)
        if self.scatters:  # each process sees its own parts of the gradients
            finite = all_reduce(finite, self.grad_reducer.group, self.grad_reducer.processes, "min")
        return ops.logical_not(finite)

    def process_loss_scale(self, overflow: Any) -> Any:
        """Adapts the scale, if a Cell was given for it, and returns `overflow`."""
        return overflow if self.loss_scaling_manager is None else self.loss_scaling_manager(self.scale_sense, overflow)
