"""A network with its loss, with its gradient, and with one step of training.

These Cells name nothing: Parameters keep the names that they have in the network.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from ... import ops
from ...data_parallel.settings import is_data_parallel
from ...data_parallel.start import begin_with_first
from ...dtypes import float32
from ...errors import kind_of
from ...runtime.parameter import ParameterTuple
from ...transforms.grad import GradOperation, value_and_grad
from ...transforms.host import py_call
from ..arguments import flag
from ..arrays import Identity
from ..cell import Cell
from .grad_reducer import DistributedGradReducer

__all__ = ["ForwardValueAndGrad", "TrainOneStepCell", "WithEvalCell", "WithGradCell", "WithLossCell"]


class _NetworkWrapper(Cell):
    """A Cell around a network, of the same level of mixed precision."""

    def __init__(self, network: Any) -> None:
        super().__init__(auto_prefix=False)
        level = getattr(network, "_amp_level", None)
        if level is not None:
            self._amp_level = level


class WithLossCell(_NetworkWrapper):
    """``WithLossCell(backbone, loss_fn)(data, label)``: the loss of the network's output, a Tensor.

    >>> from autodiff_compiler import Tensor, nn
    >>> WithLossCell(nn.ReLU(), nn.MSELoss())(Tensor([-1.0, 2.0]), Tensor([1.0, 2.0])).item()
    0.5
    """

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__(backbone)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Any:
        """The network without its loss."""
        return self._backbone


class WithEvalCell(_NetworkWrapper):
    """``WithEvalCell(network, loss_fn)(data, label)``: the loss, the network's output and the label, for metrics.

    With `add_cast_fp32` output and label are float32 first.  TypeError: it is no bool.

    >>> from autodiff_compiler import Tensor, nn
    >>> [t.tolist() for t in WithEvalCell(nn.ReLU(), nn.MSELoss())(Tensor([-1.0, 2.0]), Tensor([1.0, 2.0]))]
    [0.5, [0.0, 2.0], [1.0, 2.0]]
    """

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(network)
        self._network, self._loss_fn = network, loss_fn
        self.add_cast_fp32 = flag("add_cast_fp32", add_cast_fp32)

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            label = ops.mixed_precision_cast(float32, label)
            outputs = ops.mixed_precision_cast(float32, outputs)
        return self._loss_fn(outputs, label), outputs, label


class WithGradCell(_NetworkWrapper):
    """The gradients by all trained Parameters of a network, whose output or whose `loss_fn` of it is the loss.

    `sens` is the cotangent of the loss; None: one.

    >>> from autodiff_compiler import Tensor, nn
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> WithGradCell(net, nn.MSELoss())(Tensor([[1.0]]), Tensor([[1.0]]))[0].tolist()
    [[4.0]]
    """

    def __init__(self, network: Any, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(network)
        self.network, self.loss_fn, self.sens = network, loss_fn, sens
        self.weights = ParameterTuple(network.trainable_params())
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs: Any) -> Any:
        if self.sens is not None:
            inputs = (*inputs, self.sens)
        return self.grad(self.network_with_loss, self.weights)(*inputs)


class _WithValue(GradOperation):
    _with_value = True


class ForwardValueAndGrad(_NetworkWrapper):
    """The output of a network (a Cell or a function) and the gradients of it; the network runs once.

    The gradients are those by the first input; by all inputs (a tuple) with `get_all`; by the `weights` with
    `get_by_list`; with both a pair of the two.  With `sens_param` the last argument is the cotangent of the output.

    TypeError: a network that cannot be called, flags that are no bools, no Parameters with `get_by_list`.

    >>> from autodiff_compiler import Tensor, nn
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> y, (dx, dw) = ForwardValueAndGrad(net, net.trainable_params(), True, True)(Tensor([[2.0]]))
    >>> y.tolist(), dx[0].tolist(), dw[0].tolist()
    ([[6.0]], [[3.0]], [[2.0]])
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(network)
        if not isinstance(network, Cell | FunctionType | MethodType):
            raise TypeError(f"`network` must be a Cell, a function or a method, not a {type(network).__name__}")
        flag("get_all", get_all), flag("get_by_list", get_by_list)
        if get_by_list and not isinstance(weights, tuple | list):
            raise TypeError(f"`weights` must be the Parameters in a tuple or list, not a {type(weights).__name__}")
        self.network, self.weights = network, weights
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, flag("sens_param", sens_param)
        self.grad = GradOperation(get_all, get_by_list, sens_param)
        self._value_and_grad = _WithValue(get_all, get_by_list, sens_param)

    def construct(self, *inputs: Any) -> Any:
        if self.get_by_list:
            return self._value_and_grad(self.network, self.weights)(*inputs)
        return self._value_and_grad(self.network)(*inputs)


class TrainOneStepCell(_NetworkWrapper):
    """``TrainOneStepCell(network, optimizer)(*inputs)``: the network's loss, after one step of the optimizer.

    The network, its gradient and the update are one program in GRAPH_MODE; the network runs once in both modes.  `sens`
    is the cotangent of the loss, a number; None: one.  With `return_grad` the gradients follow the loss, in a dict by
    the names of the Parameters.  In data-parallel mode (`set_auto_parallel_context`) the gradients are those of all
    processes, as `DistributedGradReducer` combines them; the loss is that of this process.

    ValueError: `sens` is 0.  TypeError: no network, or no optimizer.

    >>> from autodiff_compiler import Tensor, nn
    >>> net = nn.Dense(1, 1, weight_init=3.0, has_bias=False)
    >>> step = TrainOneStepCell(WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.25))
    >>> step(Tensor([[1.0]]), Tensor([[1.0]])).item(), net.weight.tolist()
    (4.0, [[2.0]])
    """

    def __init__(self, network: Any, optimizer: Any, sens: Any = None, return_grad: bool = False) -> None:
        super().__init__(network)
        if not callable(network):
            raise TypeError(f"`network` must be a Cell that gives the loss, not {kind_of(network)}")
        if not hasattr(optimizer, "parameters"):
            raise TypeError(f"`optimizer` must be an optimizer, as nn.SGD makes one, not {kind_of(optimizer)}")
        if sens == 0:
            raise ValueError("`sens`, the cotangent of the loss, must not be 0: every gradient would be 0")
        self.network, self.optimizer = network, optimizer
        if not type(self).construct.__module__.startswith(__name__.rpartition(".")[0]):
            network.set_grad()  # a user's `construct` calls the network, then its gradient: one tape serves both
        self.weights = optimizer.parameters
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.sense_flag = sens is not None
        self.sens = 1.0 if sens is None else sens
        self.return_grad = return_grad
        self.weights_name = [p.name for p in self.weights]
        begin_with_first(p for part in (network, optimizer) if isinstance(part, Cell) for p in part.get_parameters())
        #: Where several processes combine their gradients.
        self.reducer_flag = is_data_parallel()
        self.grad_reducer: Any = DistributedGradReducer(self.weights) if self.reducer_flag else Identity()
        #: Whether each process gets only those elements of the gradients that it updates.
        self.scatters = self.reducer_flag and getattr(optimizer, "sharding", None) is not None and not return_grad

    def construct(self, *inputs: Any) -> Any:
        if self.sense_flag:
            loss, grads = self.loss_and_gradients(self.sens, inputs)
        else:
            loss, grads = value_and_grad(self.network, None, self.weights)(*inputs)
        if self.scatters:
            self.optimizer.step_of_trained(self.scattered(grads))
            return loss
        grads = self.grad_reducer(grads)
        self.optimizer(grads)
        if self.return_grad:
            return loss, dict(zip(self.weights_name, grads, strict=True))
        return loss

    def scattered(self, grads: Any) -> Any:
        """What this process updates of the gradients of all processes."""
        py_call(self.grad_reducer.begins.compare)
        factor = 1.0 / self.grad_reducer.degree if self.grad_reducer.mean else 1.0
        return self.optimizer.scattered(self.optimizer.checked(grads), factor)

    def loss_and_gradients(self, sens: Any, inputs: Any) -> Any:
        """The network's loss and the gradients by the trained Parameters, for the cotangent `sens` of every element."""

        def scaled(*inputs: Any) -> Any:
            loss = self.network(*inputs)
            return loss * ops.mixed_precision_cast(loss.dtype, sens), loss

        (_, loss), grads = value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        return loss, grads
