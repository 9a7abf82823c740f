"""`functional_call`: a Cell called with other Tensors in the place of its Parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import did_you_mean, kind_of, users_frames
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from ..runtime.trees import replaced
from .cell import Cell

__all__ = ["functional_call"]


@users_frames
def functional_call(net: Cell, parameters: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> Any:
    """``net(*args, **kwargs)`` with these Tensors in the place of the Parameters of these names.

    The names are those of `Cell.parameters_dict`; Parameters that are not named stay what they are.  So a network is a
    function of its weights: they can be differentiated by, changed and mapped over like any other argument.

    ValueError: a name that no Parameter has, or a Tensor of another shape.  TypeError: what is no Cell or no Tensor.

    >>> from autodiff_compiler import Tensor, grad, nn
    >>> net = nn.Dense(2, 1, has_bias=False)
    >>> loss = lambda weights, x: functional_call(net, weights, x).sum()
    >>> grad(loss)({"weight": Tensor([[1.0, 2.0]])}, Tensor([[3.0, 4.0]]))["weight"].tolist()
    [[3.0, 4.0]]
    """
    if not isinstance(net, Cell):
        raise TypeError(f"functional_call calls a Cell, not a {type(net).__name__}")
    _check_names(parameters)
    known = net.parameters_dict()
    by_id: dict[int, Any] = {}
    for name, x in parameters.items():
        _check(name, x, known, isinstance(x, Tensor), lambda t: tuple(t.shape))
        by_id[id(known[name])] = x
    copies = _Copies(by_id)
    try:
        return copies.of(net)(*args, **kwargs)
    finally:
        copies.write_back()


def _check_names(parameters: Any) -> None:
    if not isinstance(parameters, Mapping):
        kind = kind_of(parameters)
        raise TypeError(f"functional_call takes Tensors by name, as `net.parameters_dict()` has them, not {kind}")


def _check(name: str, x: Any, known: Mapping[str, Any], is_tensor: bool, shape_of: Any) -> None:
    if name not in known:
        hint = did_you_mean(name, known)
        raise ValueError(f"the network has no Parameter {name!r}" + (f"; {hint}" if hint else ""))
    if not is_tensor:
        raise TypeError(f"what takes the place of the Parameter {name!r} must be a Tensor, not a {type(x).__name__}")
    wanted, given = shape_of(known[name]), shape_of(x)
    if wanted != given:
        raise ValueError(f"the Parameter {name!r} has the shape {list(wanted)}, what takes its place {list(given)}")


class _Copies:
    """Copies of Cells whose attributes hold other Tensors in the place of some Parameters.

    They are objects of their own, as what runs later (a `bprop`, a hook, what is computed again) reads them, too.
    """

    def __init__(self, instead: Mapping[int, Any]) -> None:
        self._instead = instead
        #: each Cell with its copy, and what that was given
        self._made: dict[int, tuple[Cell, Any, dict[str, Any]]] = {}

    def of(self, x: Any) -> Any:
        """What stands in the copies for a Parameter or Cell; everything else itself."""
        if isinstance(x, Parameter):
            return self._instead.get(id(x), x)
        if not isinstance(x, Cell):
            return x
        if id(x) not in self._made:
            given: dict[str, Any] = {}
            copy = object.__new__(type(x))
            self._made[id(x)] = x, copy, given
            given |= {name: replaced(value, self.of, (Parameter, Cell)) for name, value in x.__dict__.items()}
            copy.__dict__.update(given)
        return self._made[id(x)][1]

    def write_back(self) -> None:
        """Gives the Cells the attributes that their copies were assigned meanwhile."""
        for cell, copy, given in self._made.values():
            for name, value in copy.__dict__.items():
                if name not in given or value is not given[name]:
                    cell.__dict__[name] = value


def _functional_call_compiled(ctx: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    net, parameters, *rest = args
    if not isinstance(net, Cell):
        raise TypeError("functional_call calls a Cell made outside of compiled code")
    _check_names(parameters)
    known = ctx.call(net.parameters_dict, [], {})
    by_id = {}
    for name, x in parameters.items():
        _check(name, x, known, ctx.is_tensor(x), lambda t: tuple(t.type.shape))
        by_id[id(known[name].source)] = x
    with ctx.outside.replacing(by_id):
        return ctx.call(net, rest, kwargs)


functional_call.__graph_call__ = _functional_call_compiled  # type: ignore[attr-defined]
