"""`vmap`: a function of one example applied to many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..config import GRAPH_MODE, context, jit_disabled
from ..errors import users_frames
from ..frontend.batching import map_marked, vectorised
from ..ir.primitive import F
from ..runtime.tensor import Tensor, wrap
from .jit import JitFunction, jit
from .jvp import belongs_to_run
from .kept import kept

__all__ = ["Vectorised", "vmap"]


class Vectorised:
    """A function of many examples at once, made of a function of one."""

    def __init__(self, fn: Any, in_axes: Any = 0, out_axes: Any = 0) -> None:
        if not callable(fn):
            raise TypeError(f"the function to vectorise must be callable, not a {type(fn).__name__}")
        _check_axes(in_axes, "in_axes")
        _check_axes(out_axes, "out_axes")
        self.fn, self.in_axes, self.out_axes = fn, in_axes, out_axes
        self.__name__ = f"vmap_{getattr(fn, '__name__', type(fn).__name__)}".replace("<lambda>", "lambda")
        self._jit: JitFunction | None = None

    @users_frames
    def __call__(self, *args: Any) -> Any:
        if context.mode == GRAPH_MODE and not jit_disabled() and not belongs_to_run(self.fn):
            if self._jit is None:
                self._jit = jit(self)
            return self._jit(*args)
        given = tuple([wrap(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in args])
        axes = self._axes(given, lambda x: isinstance(x, Tensor))
        size = _size(given, axes, lambda x: x.shape)
        fronted = map_marked(lambda x, axis: x if axis is None else _moved(x, axis, 0), given, axes)
        stacked = _zipped([self.fn(*_example(i, fronted, axes)) for i in range(size)])
        return map_marked(_placed, stacked, _spread(self.out_axes, stacked, "out_axes"))

    def __graph_call__(self, lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        given = tuple(args)
        if kwargs:
            raise TypeError("a function under vmap takes positional arguments only")
        axes = self._axes(given, lw.is_tensor)
        _size(given, axes, lambda x: x.type.shape)
        fronted = map_marked(lambda x, axis: x if axis is None else lw.native(_moved, [x, axis, 0]), given, axes)
        flags = map_marked(lambda axis, _: axis is not None, axes, axes)
        stacked = vectorised(lw, self.fn, fronted, flags)
        out_axes = _spread(self.out_axes, stacked, "out_axes")
        return map_marked(lambda x, axis: lw.native(_placed, [x, axis]), stacked, out_axes)

    def _axes(self, args: tuple[Any, ...], is_tensor: Callable[[Any], bool]) -> Any:
        """For every leaf of the arguments the number of its axis, or None if it is the same for all examples."""
        axes = self.in_axes
        if isinstance(axes, tuple | list) and len(axes) != len(args):
            raise ValueError(f"in_axes has {len(axes)} entries, but there are {len(args)} arguments")

        def checked(x: Any, axis: int | None) -> int | None:
            if axis is not None and not is_tensor(x):
                raise TypeError(f"in_axes gives the axis {axis} to an argument that is no Tensor: give it None")
            return axis

        return map_marked(checked, args, _spread(axes, args, "in_axes"))


def _check_axes(axes: Any, name: str) -> None:
    if isinstance(axes, tuple | list):
        for a in axes:
            _check_axes(a, name)
    elif axes is not None and (isinstance(axes, bool) or not isinstance(axes, int)):
        raise TypeError(f"{name} holds ints, None and tuples of those, not {type(axes).__name__}")


def _spread(axes: Any, tree: Any, name: str) -> Any:
    """Axes given for whole parts of a tree, given for every leaf."""
    if isinstance(tree, dict):
        return {k: _spread(axes, v, name) for k, v in tree.items()}
    if isinstance(tree, tuple | list):
        if isinstance(axes, tuple | list):
            if len(axes) != len(tree):
                raise ValueError(f"{name} has {len(axes)} entries where there are {len(tree)} values")
            return tuple([_spread(a, v, name) for a, v in zip(axes, tree, strict=True)])
        return tuple([_spread(axes, v, name) for v in tree])
    if isinstance(axes, tuple | list):
        raise ValueError(f"{name} has a tuple where there is a single value")
    return axes


def _size(args: Any, axes: Any, shape_of: Callable[[Any], tuple[Any, ...]]) -> Any:
    """The number of examples."""
    sizes = []

    def note(x: Any, axis: int | None) -> None:
        if axis is None:
            return
        shape = shape_of(x)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"in_axes names the axis {axis} of an argument of shape {list(shape)}")
        sizes.append(shape[axis])

    map_marked(note, args, axes)
    if not sizes:
        raise ValueError("in_axes is None for every argument: there is nothing to go over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(f"the arguments disagree about the number of examples: {sizes}")
    if sizes[0] == 0:
        raise ValueError("there are no examples: the mapped axis has the size 0")
    return sizes[0]


def _example(i: int, fronted: Any, axes: Any) -> Any:
    return map_marked(lambda x, axis: x if axis is None else x[i], fronted, axes)


def _moved(x: Any, source: int, target: int) -> Any:
    """One axis moved to another place, the others in order."""
    n = x.ndim
    order = [i for i in range(n) if i != source % n]
    order.insert(target % n, source % n)
    return x if order == list(range(n)) else F.transpose(x, axes=tuple([i - n for i in order]))


def _placed(x: Any, axis: int | None) -> Any:
    """A stack with its examples along `axis`; None takes the result of any one, being the same for all."""
    if x is None:
        return None
    if axis is None:
        first = F.slice(x, axes=(-x.ndim,), starts=(0,), stops=(1,), steps=(1,))
        return F.reshape(first, shape=x.shape[1:])
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"out_axes names the axis {axis} of a result of {x.ndim} dimensions")
    return _moved(x, 0, axis)


def _zipped(examples: list[Any]) -> Any:
    """The results of all examples, stacked leaf by leaf."""
    first = examples[0]
    if isinstance(first, Tensor):
        return F.stack(*examples, axis=-1 - first.ndim)
    if isinstance(first, dict):
        return {k: _zipped([e[k] for e in examples]) for k in first}
    if isinstance(first, tuple | list):
        items = [_zipped(list(column)) for column in _columns(examples)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if first is None:
        return None
    raise TypeError(f"a function under vmap must return Tensors, not a {type(first).__name__}")


def _columns(examples: list[Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*examples, strict=True)


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Vectorised:
    """`fn`, written for one example, for all examples along an axis of its arguments.

    `in_axes` says which axis of an argument counts the examples, or None if it is the same for all of them: a number
    for all arguments, or a tuple with one entry per argument (itself a tuple for a tuple of Tensors).  `out_axes` says
    where that axis stands in the results.  Compiled code runs the ops on all examples at once where it can, else in a
    loop; eager mode loops.  ValueError, TypeError: axes that do not fit.

    >>> from autodiff_compiler import Tensor
    >>> vmap(lambda x, y: x * y, (0, None))(Tensor([1.0, 2.0]), Tensor([1.0, 10.0])).tolist()
    [[1.0, 10.0], [2.0, 20.0]]
    """
    made = Vectorised(fn, in_axes, out_axes)
    if context.mode != GRAPH_MODE:  # eager code has nothing to find again
        return made
    found: Vectorised = kept(fn, ("vmap", _hashable(in_axes), _hashable(out_axes)), lambda: made)
    return found


def _hashable(axes: Any) -> Any:
    return tuple(map(_hashable, axes)) if isinstance(axes, tuple | list) else axes


def _vmap_in_compiled_code(lw: Any, args: list[Any], kwargs: dict[str, Any]) -> Vectorised:
    return Vectorised(*args, **kwargs)


vmap.__graph_call__ = _vmap_in_compiled_code  # type: ignore[attr-defined]
