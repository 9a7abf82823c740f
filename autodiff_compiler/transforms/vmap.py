"""`vmap`: a function of one example applied to many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never

import numpy as np

from ..config import GRAPH_MODE, compiles, context
from ..errors import users_frames
from ..frontend.derivatives.batching import is_one_for_all, vectorised
from ..frontend.variables.structure import arrays_as_tensors, elements, flatten, map_leaves
from ..frontend.variables.values import class_of, describe
from ..ir.primitive import F
from ..keywords import answering, refuse_unknown
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import attributes_of, mapped, parts, with_parts
from .compiled_form import HasCompiledForm
from .maps import belongs_to_run
from .memo import memoised
from .parts import Call, OfParts, at_positions, caller, eagerly, is_tensor, made_again, of_parts, taken_apart


class Vectorised(HasCompiledForm):
    """A function of many examples at once, made of a function of one."""

    def __init__(self, fn: Any, in_axes: Any = 0, out_axes: Any = 0) -> None:
        if not callable(fn):
            raise TypeError(f"the function to vectorise must be callable, not a {type(fn).__name__}")
        self.fn, self.in_axes, self.out_axes = fn, in_axes, out_axes
        _check_axes(self.in_axes, "in_axes")
        _check_axes(self.out_axes, "out_axes")
        self.__name__ = f"vmap_{getattr(fn, '__name__', type(fn).__name__)}".replace("<lambda>", "lambda")

    @users_frames
    def __call__(self, *args: Any) -> Any:
        if (by_parts := self._by_parts(args, {}, is_tensor)) is not None:
            return made_again(by_parts[0](*by_parts[1]))
        if compiles() and not belongs_to_run(self.fn):
            return self._as_compiled()(*args)
        given = tuple([wrap(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in args])
        axes = self._axes(given, lambda x: isinstance(x, Tensor))
        size = _size(given, axes, lambda x: x.shape)
        fronted = _with_axes(map_leaves, lambda x, axis: x if axis is None else _moved(x, axis, 0), given, axes)
        stacked = _zipped([self.fn(*_example(i, fronted, axes)) for i in range(size)])
        return _with_axes(mapped, _placed, stacked, _spread(self.out_axes, stacked, "out_axes", parts))

    def _by_parts(self, args: Sequence[Any], kwargs: dict[str, Any], tensor: Any) -> tuple[Any, list[Any], dict] | None:
        apart = at_positions(args, self._mapped(args), eagerly, tensor)
        return None if apart is None else (vmap(of_parts(self.fn), self.in_axes, self.out_axes), apart, kwargs)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            raise TypeError("a function under vmap takes positional arguments only")
        apart = at_positions(args, self._mapped(args), call := caller(ctx), ctx.is_tensor)
        if apart is not None:
            by_parts = Vectorised(OfParts(self.fn), self.in_axes, self.out_axes)
            return made_again(by_parts.__graph_call__(ctx, apart, {}), call)
        given = tuple(arrays_as_tensors(args))
        axes = self._axes(given, ctx.is_tensor)
        _size(given, axes, lambda x: x.type.shape)

        def moved(x: Any, axis: int | None) -> Any:
            return x if axis is None else ctx.native(_moved, [x, axis, 0])

        fronted = _with_axes(map_leaves, moved, given, axes)
        stacked = vectorised(ctx, self.fn, fronted, [axis is not None for axis in axes])
        out_axes = _spread(self.out_axes, stacked, "out_axes", elements)
        return _with_axes(map_leaves, lambda x, axis: ctx.native(_placed, [x, axis]), stacked, out_axes)

    def _mapped(self, args: Sequence[Any]) -> Iterable[int]:
        """The positions of the arguments that have an axis."""
        axes = self.in_axes
        several = isinstance(axes, tuple | list) and len(axes) == len(args)
        return [i for i in range(len(args)) if not several or axes[i] is not None]

    def _axes(self, args: tuple[Any, ...], is_tensor: Callable[[Any], bool]) -> list[int | None]:
        """For every leaf of the arguments the number of its axis, or None if it is the same for all examples."""
        axes = self.in_axes
        if isinstance(axes, tuple | list) and len(axes) != len(args):
            raise ValueError(f"in_axes has {len(axes)} entries, but there are {len(args)} arguments")
        several = axes if isinstance(axes, tuple | list) else [axes] * len(args)
        rows = [_spread(a, x, "in_axes", elements, is_tensor) for a, x in zip(several, args, strict=True)]
        found = [axis for row in rows for axis in row]
        for x, axis in zip(flatten(args), found, strict=True):
            if axis is not None and not is_tensor(x):
                raise TypeError(f"in_axes gives the axis {axis} to an argument that is no Tensor: give it None")
        return found


def _is_axis(x: Any) -> bool:
    return x is None or isinstance(x, int)


def _apart(axes: Any, call: Call = eagerly) -> Any:
    """Axes with the parts of objects in their place, as these are in the place of arguments."""
    return taken_apart(axes, call, _is_axis)


def _check_axes(axes: Any, name: str) -> None:
    items = elements(axes)
    for a in items or ():
        _check_axes(a, name)
    if items is None and (isinstance(axes, bool) or not _is_axis(axes)):
        raise TypeError(f"{name} holds ints, None and containers of those, not {type(axes).__name__}")


def _spread(
    axes: Any, tree: Any, name: str, parts_of: Callable[[Any], Any], has_axes: Callable[[Any], bool] = lambda x: True
) -> list[int | None]:
    """Axes given for whole parts of a tree, given for every leaf; what has no axes beside Tensors that do has None."""
    items = parts_of(tree)
    if items is None:
        if elements(axes) is not None:
            raise ValueError(f"{name} has a {_kind(axes)} where there is a single value")
        return [axes]
    rows = _rows(axes, tree, len(items), name)
    if elements(axes) is None:
        rows = [axis if parts_of(x) is not None or has_axes(x) else None for axis, x in zip(rows, items, strict=True)]
    return [axis for a, x in zip(rows, items, strict=True) for axis in _spread(a, x, name, parts_of, has_axes)]


def _rows(axes: Any, tree: Any, count: int, name: str) -> Sequence[Any]:
    """The axes of each element of a container, given for all of them or in a container like it."""
    if isinstance(axes, dict):
        if not isinstance(tree, dict):
            raise ValueError(f"{name} has a dict where there is a {_kind(tree)}")
        if axes.keys() != tree.keys():
            raise ValueError(f"{name} has the keys {list(axes)} where there are {list(tree)}")
        return [axes[key] for key in tree]
    items = elements(axes)
    if items is None or not (isinstance(tree, tuple | list) or type(axes) is type(tree)):
        return [axes] * count
    if len(items) != count:
        raise ValueError(f"{name} has {len(items)} entries where there are {count} values")
    return list(items)


def _kind(x: Any) -> str:
    return class_of(x).__name__


def _with_axes(map_over: Any, fn: Callable[[Any, int | None], Any], tree: Any, axes: Sequence[int | None]) -> Any:
    """``fn(leaf, its axis)`` for the leaves."""
    found = iter(axes)
    return map_over(lambda x: fn(x, next(found)), tree)


def _size(args: Any, axes: Any, shape_of: Callable[[Any], tuple[Any, ...]]) -> Any:
    """The number of examples."""
    sizes = []
    for x, axis in zip(flatten(args), axes, strict=True):
        if axis is None:
            continue
        shape = shape_of(x)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"in_axes names the axis {axis} of an argument of shape {list(shape)}")
        sizes.append(shape[axis])
    if not sizes:
        raise ValueError("in_axes is None for every argument: there is nothing to go over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(f"the arguments disagree about the number of examples: {sizes}")
    if sizes[0] == 0:
        raise ValueError("there are no examples: the mapped axis has the size 0")
    return sizes[0]


def _example(i: int, fronted: Any, axes: Any) -> Any:
    return _with_axes(map_leaves, lambda x, axis: x if axis is None else x[i], fronted, axes)


def _moved(x: Any, source: int, target: int) -> Any:
    """One axis moved to another place, the others in order."""
    n = x.ndim
    order = [i for i in range(n) if i != source % n]
    order.insert(target % n, source % n)
    return x if order == list(range(n)) else F.transpose(x, axes=tuple([i - n for i in order]))


def _placed(x: Any, axis: int | None) -> Any:
    """A stack with its examples along `axis`; None takes the result of any one, being the same for all."""
    if is_one_for_all(x):
        return x
    if axis is None:
        first = F.slice(x, axes=(-x.ndim,), starts=(0,), stops=(1,), steps=(1,))
        return F.reshape(first, shape=x.shape[1:])
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"out_axes names the axis {axis} of a result of {x.ndim} dimensions")
    return _moved(x, 0, axis)


def _zipped(examples: list[Any]) -> Any:
    """The results of all examples, stacked leaf by leaf."""
    first = examples[0]
    if parts(first) is None:
        return _stacked(examples)
    named = [_named_parts(e) for e in examples]
    if any(type(e) is not type(first) or n.keys() != named[0].keys() for e, n in zip(examples, named, strict=True)):
        raise ValueError("a function under vmap returned one container for one example and another for another")
    return with_parts(first, [_zipped([n[key] for n in named]) for key in named[0]])


def _named_parts(x: Any) -> dict[Any, Any]:
    if isinstance(x, dict):
        return x
    held: Any = attributes_of(x)
    return dict(enumerate(parts(x) or ())) if held is None else held


def _stacked(column: Sequence[Any]) -> Any:
    first = column[0]
    if is_one_for_all(first) and all(type(x) is type(first) and x == first for x in column):
        return first
    for x in column:
        if not isinstance(x, Tensor):
            raise TypeError(f"a function under vmap must return Tensors, not a {describe(x)}")
    return F.stack(*column, axis=-1 - first.ndim)


@answering
def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **unknown: Never) -> Vectorised:
    """`fn`, written for one example, for all examples along an axis of its arguments.

    `in_axes` says which axis of an argument counts the examples, or None if it is the same for all of them: a number
    for all arguments, or a tuple with one entry per argument, which is a container where the argument is one and its
    elements differ: ``({"w": None, "x": 0}, 1)``.  `out_axes` says where that axis stands in the results.  Compiled
    code runs the ops on all examples at once where it can, else in a
    loop; eager mode loops.  ValueError, TypeError: axes that do not fit.

    >>> from autodiff_compiler import Tensor
    >>> vmap(lambda x, y: x * y, (0, None))(Tensor([1.0, 2.0]), Tensor([1.0, 10.0])).tolist()
    [[1.0, 10.0], [2.0, 20.0]]
    """
    if unknown:
        refuse_unknown(vmap, unknown)
    in_axes, out_axes = _apart(in_axes), _apart(out_axes)
    made = Vectorised(fn, in_axes, out_axes)
    if context.mode != GRAPH_MODE:  # eager code has nothing to find again
        return made
    found: Vectorised = memoised(fn, ("vmap", _hashable(in_axes), _hashable(out_axes)), lambda: made)
    return found


def _hashable(axes: Any) -> Any:
    items = elements(axes)
    if items is None:
        return axes
    return type(axes), tuple(axes) if isinstance(axes, dict) else (), tuple(map(_hashable, items))


def _vmap_in_compiled_code(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Vectorised:
    def bound(fn: Any, in_axes: Any = 0, out_axes: Any = 0) -> Vectorised:
        return Vectorised(fn, _apart(in_axes, caller(ctx)), _apart(out_axes, caller(ctx)))

    return bound(*args, **kwargs)


vmap.__graph_call__ = _vmap_in_compiled_code  # type: ignore[attr-defined]
