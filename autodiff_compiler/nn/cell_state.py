"""The state of a Cell: buffers, `state_dict` and `load_state_dict`, element types."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..config import check_device
from ..dtypes import dtype_of
from ..eager import assign
from ..runtime.hooks import HookHandle
from ..runtime.parameter import Parameter
from ..runtime.static import static_query
from ..runtime.tensor import Tensor, wrap

__all__ = ["CellState", "IncompatibleKeys", "Parts"]

#: The last part of the key of `get_extra_state` in a `state_dict`.
_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: `missing_keys` in the dict, and `unexpected_keys` that the Cell lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Parts(MutableMapping[str, Any]):
    """The attributes of a Cell that `belongs` accepts, by name; what is set or deleted here is set or deleted there."""

    def __init__(self, cell: Any, belongs: Callable[[str, Any], bool]) -> None:
        self._cell, self._belongs = cell, belongs

    def __getitem__(self, name: str) -> Any:
        value = vars(self._cell)[name]
        if not self._belongs(name, value):
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, CellState):  # its Parameters keep their names
            self._cell._set_part(name, value)
        else:
            setattr(self._cell, name, value)

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self._cell, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, value in vars(self._cell).items() if self._belongs(name, value)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @static_query
    def keys(self) -> KeysView[str]:
        """The names."""
        return super().keys()

    @static_query
    def values(self) -> ValuesView[Any]:
        """The attributes."""
        return super().values()

    @static_query
    def items(self) -> ItemsView[str, Any]:
        """The names with their attributes."""
        return super().items()

    def __repr__(self) -> str:
        return repr(dict(self))


class _StateHooks:
    """Hooks around saving and loading, by group and number, in the order of registration."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[int, Callable[..., Any]]] = {}
        self._number = itertools.count()

    def add(self, group: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not a {type(hook).__name__}")
        number = next(self._number)
        self.groups.setdefault(group, {})[number] = hook
        return HookHandle(self, group, number)

    def take(self, group: str, number: int) -> None:
        self.groups[group].pop(number, None)


class CellState:
    """The base of Cells with the methods that read, save and load their state."""

    #: The names of the buffers, each with whether `state_dict` has it; None: no buffer.
    _kept: dict[str, bool] | None = None
    _state_hooks: _StateHooks | None = None

    if TYPE_CHECKING:
        cells_and_names: Callable[..., Iterator[tuple[str, CellState]]]
        get_sub_cell: Callable[[str], CellState]
        _own_parameters: Callable[[], Iterator[tuple[str, Parameter]]]
        get_parameters: Callable[..., Iterator[Parameter]]

    # ------------------------------------------------------------------------------------------- buffers
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Sets an attribute that belongs to the state but is no Parameter; `state_dict` has it if it is `persistent`.

        A buffer can be None.  TypeError: no name, or neither a Tensor nor None.  KeyError: an empty name, one with a
        dot, or one of another attribute.

        >>> from autodiff_compiler import Tensor, nn
        >>> net = nn.ReLU(); net.register_buffer("steps", Tensor([1, 2])); net.steps.tolist(), list(net.state_dict())
        ([1, 2], ['steps'])
        """
        if "_auto_prefix" not in self.__dict__:
            raise AttributeError(f"call super().__init__() before the buffer {name!r} is registered")
        if not isinstance(name, str):
            raise TypeError(f"the name of a buffer must be a string, not {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"a buffer cannot be called {name!r}: a name must not be empty nor hold a dot")
        if hasattr(self, name) and name not in (self._kept or ()):
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"a buffer is a Tensor or None, not a {type(tensor).__name__}")
        self.__dict__["_kept"] = {**(self._kept or {}), name: bool(persistent)}
        setattr(self, name, tensor)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths, this Cell's own before its children's; each once with `remove_duplicate`.

        >>> from autodiff_compiler import Tensor, nn
        >>> part = nn.ReLU(); part.register_buffer("b", Tensor([1]))
        >>> [name for name, _ in nn.SequentialCell(part).named_buffers()]
        ['0.b']
        """
        return iter([(p, getattr(cell, name)) for p, cell, name in self._places(prefix, recurse, remove_duplicate)])

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, in the order of `named_buffers`."""
        return iter([getattr(cell, name) for _, cell, name in self._places("", recurse, True)])

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path; AttributeError if what is there is none."""
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        value: Tensor = getattr(cell, name)
        if name not in (cell._kept or ()):
            raise AttributeError(f"{target!r} is no buffer")
        return value

    @static_query
    def _places(self, prefix: str, recurse: bool, once: bool) -> list[tuple[str, CellState, str]]:
        """Where the buffers are: the path of each, its Cell and its name there."""
        found: list[tuple[str, CellState, str]] = []
        seen: set[int] = set()
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in cell._buffers.items():
                if value is not None and not (once and id(value) in seen):
                    seen.add(id(value))
                    found.append((f"{path}.{name}" if path else name, cell, name))
        return found

    @property
    def _buffers(self) -> Parts:
        kept = self._kept or {}
        return Parts(self, lambda name, value: name in kept)

    @property
    def _cells(self) -> Parts:
        return Parts(self, lambda name, value: isinstance(value, CellState))

    @property
    def _params(self) -> Parts:
        return Parts(self, lambda name, value: isinstance(value, Parameter))

    # ------------------------------------------------------------------------------------------- saving
    def get_extra_state(self) -> Any:
        """Further contents of `state_dict`; a subclass that has some defines this and `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Restores what `get_extra_state` returned."""
        raise RuntimeError(f"{type(self).__name__} has no extra state")

    def state_dict(
        self, *args: Any, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """The Parameters and persistent buffers by path, not copied; those of a Cell before its children's.

        They are put into `destination`, or into a new OrderedDict, under ``prefix`` + path.  `keep_vars` is for hooks.
        TypeError: arguments of other types.

        >>> from autodiff_compiler import nn
        >>> list(nn.SequentialCell(nn.Dense(3, 2)).state_dict())
        ['0.weight', '0.bias']
        """
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
        keep_vars = given.get("keep_vars", keep_vars)
        for name, value, cls in (("destination", destination, dict), ("prefix", prefix, str)):
            if value is not None and not isinstance(value, cls):
                raise TypeError(f"`{name}` must be a {cls.__name__}, not a {type(value).__name__}")
        if not isinstance(keep_vars, bool):
            raise TypeError(f"`keep_vars` must be a bool, not a {type(keep_vars).__name__}")
        if destination is None:
            destination = OrderedDict()
        for hook in self._hooks_of("save_pre"):
            hook(self, prefix, keep_vars)
        for name, held in self._own_state():
            destination[prefix + name] = held
        if type(self).get_extra_state is not CellState.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()
        for name, cell in self._cells.items():
            cell.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("save_post"):
            if hook(self, destination, prefix, {}) is not None:
                raise RuntimeError("a hook after `state_dict` must return None")
        return destination

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        yield from self._own_parameters()
        kept = self._kept or {}
        for name, value in self._buffers.items():
            if value is not None and kept[name]:
                yield name, value

    # ------------------------------------------------------------------------------------------- loading
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Gives the Parameters and persistent buffers the values of a dict, by path, cast to the type each has.

        TypeError: no mapping.  RuntimeError: a value is no Tensor or has another shape, and nothing is changed; or,
        with `strict`, names are missing or unexpected.

        >>> from autodiff_compiler import nn
        >>> net, other = nn.Dense(2, 1), nn.Dense(2, 1)
        >>> net.load_state_dict(other.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"`state_dict` must be a dict, not a {type(state_dict).__name__}")
        keys, errors = IncompatibleKeys([], []), list[str]()
        values: list[tuple[Tensor, Tensor]] = []
        extra: list[tuple[CellState, Any]] = []
        walked = list(self._matched(OrderedDict(state_dict), "", keys, errors, values, extra))
        if errors:
            raise _not_loaded(self, errors)
        for held, new in values:
            held._leave()
            assign(held, wrap(new._data.astype(held.dtype.numpy)))
        for cell, state in extra:
            cell.set_extra_state(state)
        for cell in walked:
            for hook in cell._hooks_of("load_post"):
                if hook(cell, keys) is not None:
                    raise RuntimeError("a hook after `load_state_dict` must return None: it changes the keys in place")
        if strict:
            errors += [f"the dict has no {', '.join(keys.missing_keys)}"] * bool(keys.missing_keys)
            errors += [f"the Cell has no {', '.join(keys.unexpected_keys)}"] * bool(keys.unexpected_keys)
        if errors:
            raise _not_loaded(self, errors)
        return keys

    def _matched(
        self,
        given: OrderedDict[str, Any],
        prefix: str,
        keys: IncompatibleKeys,
        errors: list[str],
        values: list[tuple[Tensor, Tensor]],
        extra: list[tuple[CellState, Any]],
    ) -> Iterator[CellState]:
        """Pairs the values here and below with those of the dict; returns the Cells, children before their parent."""
        for hook in self._hooks_of("load_pre"):
            hook(self, given, prefix, {}, True, keys.missing_keys, keys.unexpected_keys, errors)
        own = dict(self._own_state())
        for name, held in own.items():
            new = given.get(prefix + name)
            if prefix + name not in given:
                keys.missing_keys.append(prefix + name)
            elif not isinstance(new, Tensor):
                errors.append(f"{prefix + name} must be a Tensor, not a {type(new).__name__}")
            elif new.shape != held.shape:
                errors.append(f"{prefix + name} has the shape {list(new.shape)}, in the Cell {list(held.shape)}")
            else:
                values.append((held, new))
        has_extra = type(self).set_extra_state is not CellState.set_extra_state
        if has_extra and prefix + _EXTRA in given:
            extra.append((self, given[prefix + _EXTRA]))
        elif has_extra:
            keys.missing_keys.append(prefix + _EXTRA)
        known = {*own, _EXTRA} if has_extra else {*own}
        cells = self._cells
        for key in given:
            if key.startswith(prefix):
                name, dot, _ = key.removeprefix(prefix).partition(".")
                if name not in (cells if dot else known):
                    keys.unexpected_keys.append(key)
        for name, cell in cells.items():
            below = OrderedDict((k, v) for k, v in given.items() if k.startswith(f"{prefix}{name}."))
            yield from cell._matched(below, f"{prefix}{name}.", keys, errors, values, extra)
        yield self

    # ------------------------------------------------------------------------------------------- hooks
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(cell, prefix, keep_vars)`` before each `state_dict`; the handle's `remove` ends that."""
        return self._state_hook("save_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(cell, state_dict, prefix, local_metadata)`` after each `state_dict`; it returns None."""
        return self._state_hook("save_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls a hook before each `load_state_dict`.

        It is ``hook(cell, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``, and
        may change the dict, which is a copy, and the lists.
        """
        return self._state_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls ``hook(cell, incompatible_keys)`` after the values are loaded; it may change the two lists."""
        return self._state_hook("load_post", hook)

    def _state_hook(self, group: str, hook: Callable[..., Any]) -> HookHandle:
        if self._state_hooks is None:
            self.__dict__["_state_hooks"] = _StateHooks()
        return self._state_hooks.add(group, hook)  # type: ignore[union-attr]

    def _hooks_of(self, group: str) -> list[Callable[..., Any]]:
        return [] if self._state_hooks is None else list(self._state_hooks.groups.get(group, {}).values())

    # ------------------------------------------------------------------------------------------- element types
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Gives the float Parameters and buffers here and below another float type, and returns the Cell.

        It is called with a dtype, a Tensor that has it, a device (which can be the "CPU"), or by keyword: `dtype`,
        `device`, `non_blocking`.  TypeError: no float type.

        >>> from autodiff_compiler import float16, nn
        >>> nn.Dense(2, 1).to(float16).weight.dtype
        autodiff_compiler.float16
        """
        device, dtype = _wanted(*args, **kwargs)
        if device is not None:
            check_device(device)
        if dtype is not None and not dtype.is_float:
            raise TypeError(f"to() takes a float type, not {dtype.name}")
        for held in (*self.get_parameters(), *self.buffers()):
            if dtype is not None and held.dtype.is_float:
                held.set_dtype(dtype)
        return self


def _wanted(first: Any = None, *rest: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The device and the dtype among the arguments of `to`."""
    if isinstance(first, Tensor):
        first = first.dtype
    if isinstance(first, str) and first.lower() in ("cpu", "gpu", "ascend", "npu", "meta"):
        device, first, rest = first, rest[0] if rest else None, rest[1:]
    if len(rest) > 1 or not all(isinstance(x, bool) for x in rest):
        raise TypeError(f"to() takes a device, a dtype or a Tensor, and whether to wait; not {rest!r} besides")
    wanted = dtype if first is None else first
    return device, None if wanted is None else dtype_of(wanted)


def _not_loaded(cell: CellState, errors: list[str]) -> RuntimeError:
    return RuntimeError(f"the state of {type(cell).__name__} could not be loaded: {'; '.join(errors)}")
