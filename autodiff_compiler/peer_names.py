"""What people who come from PyTorch or JAX ask for by its name there, and what to write here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["CELL", "NN", "OPTIMIZER", "PACKAGE", "TENSOR", "without"]

_BY_FUNCTION = "derivatives are taken of functions: `ms.grad(fn)(x)`, or `ms.value_and_grad(fn)(x)`"
_BY_WEIGHTS = (
    "gradients are values: `ms.value_and_grad(fn, None, optimizer.parameters)(x)` returns those of the weights"
)
_NOTHING_KEPT = "gradients are returned, and nothing is added to them: there is nothing to reset"
_DEVICE = "the device is that of the context: `ms.set_device('CPU')` or `ms.set_device('Ascend')`"
_ARGUMENTS = "`ms.grad(fn, grad_position)` says what to differentiate by; weights are a `Parameter`"
_NO_TAPE = "nothing is recorded unless a derivative is asked for; `ops.stop_gradient(x)` makes a constant of a value"

TENSOR = {
    "at": "assign by index, which is differentiated, too: `y = x.copy(); y[i] = v`",
    "backward": _BY_FUNCTION,
    "block_until_ready": "a call returns when its result is there",
    "cuda": _DEVICE,
    "cpu": _DEVICE,
    "data": "`x.asnumpy()` is its ndarray, `ops.stop_gradient(x)` the value without its derivative",
    "detach": "`ops.stop_gradient(x)`",
    "grad": _BY_FUNCTION,
    "grad_fn": _BY_FUNCTION,
    "is_leaf": _ARGUMENTS,
    "requires_grad": _ARGUMENTS,
    "requires_grad_": _ARGUMENTS,
    "retain_grad": _BY_FUNCTION,
}
CELL = {
    "backward": _BY_WEIGHTS,
    "children": "`net.cells()`",
    "cuda": _DEVICE,
    "eval": "`net.set_train(False)`",
    "forward": "`net(x)` runs the method `construct`",
    "modules": "`[cell for _, cell in net.cells_and_names()]`",
    "named_modules": "`net.cells_and_names()`",
    "named_parameters": "`net.parameters_and_names()`",
    "parameters": "`net.trainable_params()`, or `net.get_parameters()` for all",
    "requires_grad_": "`p.requires_grad = False` for each of `net.get_parameters()`",
    "train": "`net.set_train()`",
    "zero_grad": _NOTHING_KEPT,
}
OPTIMIZER = {"step": "call it with the gradients: `optimizer(grads)`"}
PACKAGE = {
    "Module": "`nn.Cell`, with the method `construct`",
    "device_put": _DEVICE,
    "enable_grad": _NO_TAPE,
    "jacobian": "`ms.jacrev(fn)` or `ms.jacfwd(fn)`",
    "no_grad": _NO_TAPE,
    "set_grad_enabled": _NO_TAPE,
    "inference_mode": _NO_TAPE,
    "custom_vjp": "`ops.custom_vjp`",
    "custom_jvp": "`ops.custom_vjp`, which forward mode transposes",
    "tree_util": "`ms.tree`",
    "tree_map": "`ms.tree.map`",
    "export": "`ms.save_checkpoint(net, file)` keeps weights, `ms.jit(net).lower(x).save(folder)` the compiled program",
    "autograd": "`ms.grad`, `ms.vjp`, `ms.jacrev` and the like",
    "func": "`ms.grad`, `ms.vmap`, `ms.functional_call` and the like",
    "lax": "loops and branches are plain Python in compiled code; operators are in `ops`",
    "compile": "`ms.jit(fn)`",
    "save": "`ms.save_checkpoint(net, file)`",
    "load": "`ms.load_checkpoint(file)`",
    "randn": "`ops.randn`",
    "zeros": "`ops.zeros`",
    "ones": "`ops.ones`",
    "COOTensor": "sparse Tensors are not there: use dense ones, `ops.gather` and `ops.scatter_nd`",
    "CSRTensor": "sparse Tensors are not there: use dense ones, `ops.gather` and `ops.scatter_nd`",
    "RowTensor": "sparse Tensors are not there: use dense ones, `ops.gather` and `ops.scatter_nd`",
}
NN = {
    "Module": "`nn.Cell`, with the method `construct`",
    "ModuleDict": "`nn.CellDict`",
    "ModuleList": "`nn.CellList`",
    "Parameter": "`ms.Parameter`",
    "ParameterList": "`ms.ParameterTuple`",
    "Sequential": "`nn.SequentialCell`",
    "functional": "`ops`",
}


class Absent:
    """An attribute that other frameworks have: who asks for it gets an AttributeError that says what to write here."""

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice

    def __get__(self, obj: Any, cls: type) -> NoReturn:
        text = f"{cls.__name__!r} object has no attribute {self._name!r}: {self._advice}"
        raise AttributeError(text, name=self._name, obj=cls if obj is None else obj)


def without(cls: type, names: Mapping[str, str]) -> None:
    """Makes names attributes of a class that are `Absent`, each with its advice."""
    for name, advice in names.items():
        setattr(cls, name, Absent(name, advice))
