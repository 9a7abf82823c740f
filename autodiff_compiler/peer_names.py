"""What people who come from PyTorch or JAX ask for by its name there, and what to write here."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["CALLED", "CELL", "NN", "OPTIMIZER", "PACKAGE", "TENSOR", "advice_of", "of_ops", "without"]

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
    "is_cuda": _DEVICE,
    "is_leaf": _ARGUMENTS,
    "pin_memory": "there is one memory, that of the host",
    "requires_grad": _ARGUMENTS,
    "requires_grad_": _ARGUMENTS,
    "retain_grad": _BY_FUNCTION,
}
CELL = {
    "backward": _BY_WEIGHTS,
    "bfloat16": "`net.to_float(ms.bfloat16)`",
    "children": "`net.cells()`",
    "double": "`net.to_float(ms.float64)`",
    "float": "`net.to_float(ms.float32)`",
    "half": "`net.to_float(ms.float16)`",
    "init": "weights are made with the Cell, and `ms.functional_call(net, weights, x)` takes others",
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
OPTIMIZER = {
    "add_param_group": "groups are given when the optimizer is made: dicts with `params`, `lr`, `weight_decay`",
    "param_groups": "`optimizer.parameters` are the Parameters, `optimizer.learning_rate` is the rate",
    "step": "call it with the gradients: `optimizer(grads)`",
}
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
    "Size": "shapes are tuples: `x.shape`",
    "as_tensor": "`ms.Tensor(data)` copies, `ms.from_numpy(array)` does not",
    "checkpoint": "`ms.recompute(fn)` saves memory, `ms.save_checkpoint(net, file)` keeps weights",
    "clone": "`x.copy()`",
    "cond": "an `if` in compiled code",
    "cuda": _DEVICE,
    "debug": "`print(x)` in compiled code prints when it runs",
    "detach": "`ops.stop_gradient(x)`",
    "device": _DEVICE,
    "devices": _DEVICE,
    "distributed": "`communication` and `mint.distributed` have collectives of several processes",
    "fori_loop": "a `for` in compiled code",
    "hub": "there is no collection of trained networks",
    "is_grad_enabled": _NO_TAPE,
    "jnp": "`autodiff_compiler.numpy`",
    "make_jaxpr": "`print(ms.jit(fn).lower(x).ir())`",
    "multiprocessing": "`multiprocessing` of Python's own library",
    "optax": "optimizers are in `nn`",
    "pmap": "`ms.vmap` maps over an axis; `ms.set_auto_parallel_context` shares batches between processes",
    "random": "`ops.randn(2, 3)` draws numbers, `ms.set_seed(n)` makes them repeat",
    "remat": "`ms.recompute(fn)`",
    "scan": "a `for` in compiled code, with `ms.keep(range(n))` where it is not to be unrolled",
    "sparse": "sparse Tensors are not there: use dense ones, `ops.gather` and `ops.scatter_nd`",
    "utils": "datasets are in `ms.dataset`",
    "value_and_jacrev": "`ms.jacrev(fn, has_aux=True)`",
    "while_loop": "a `while` in compiled code",
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
    "init": "`ms.common.initializer`, or `weight_init=` of a layer",
    "linear": "`ops.dense`",
    "parallel": "`ms.set_auto_parallel_context(parallel_mode='data_parallel')` shares batches between processes",
    "utils": "`ops.clip_by_norm`, `ops.clip_by_global_norm`",
}


#: What to write where a property of a Tensor is called.
CALLED = {
    "dtype": "`x.dtype` is no method: `x.astype(dtype)` converts",
    "ndim": "`x.ndim` is no method",
    "shape": "`x.shape` is a tuple, `x.shape[0]` one of its sizes",
    "size": "`x.shape` are all sizes, `x.shape[0]` is the first, `x.size` the number of elements",
}


def of_ops(name: str, module: str) -> str | None:
    """Advice on the name of a function of `ops`, for a module of this package that lacks it."""
    if not (name.isidentifier() and name[0].islower()) or importlib.util.find_spec(f"{module}.{name}") is not None:
        return None  # a submodule that is being imported, before which Python asks for an attribute
    known = importlib.import_module(".ops", __name__.partition(".")[0]).__all__
    return f"`ops.{name}`" if name in known else None


class Absent:
    """An attribute that other frameworks have: who asks for it gets an AttributeError that says what to write here."""

    def __init__(self, name: str, advice: str) -> None:
        self._name, self.advice = name, advice

    def __get__(self, obj: Any, cls: type) -> NoReturn:
        text = f"{cls.__name__!r} object has no attribute {self._name!r}: {self.advice}"
        raise AttributeError(text, name=self._name, obj=cls if obj is None else obj)


def advice_of(found: Any) -> str | None:
    """What to write instead of a class attribute, if that is one that other frameworks have."""
    return found.advice if isinstance(found, Absent) else None


def without(cls: type, names: Mapping[str, str]) -> None:
    """Makes names attributes of a class that are `Absent`, each with its advice."""
    for name, advice in names.items():
        setattr(cls, name, Absent(name, advice))
