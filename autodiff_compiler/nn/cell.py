"""Cells: networks and their parts, with Parameters and child Cells found by attribute.

A Cell's Parameters and children are exactly its attributes of these classes, in the order in which they were first set;
there is no second register.
"""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..config import PYNATIVE_MODE, context, jit_disabled
from ..eager import assign
from ..errors import ParameterError, UnsupportedCallError, leave_user_frames
from ..runtime import epoch
from ..runtime.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from ..runtime.tensor import Tensor
from ..transforms.jit import jit

__all__ = ["Cell"]


class Cell:
    """Base of networks: subclasses set Parameters and Cells as attributes in `__init__` and compute in `construct`.

    Calling a Cell runs `construct`: eagerly in PYNATIVE_MODE, compiled in GRAPH_MODE.  A Parameter inside of children
    is named by its attribute path (`fc.weight`); with ``auto_prefix=False`` a Cell adds nothing to those names.

    >>> from autodiff_compiler import Parameter, Tensor
    >>> class Scale(Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter([2.0])
    ...     def construct(self, x):
    ...         return x * self.factor
    >>> net = Scale()
    >>> net(Tensor([1.0, 3.0])).tolist(), [p.name for p in net.trainable_params()]
    ([2.0, 6.0], ['factor'])
    """

    _auto_prefix: bool
    #: The path of this Cell with a dot at its end, once it is a part of another.
    _prefix: str
    _compiled: Any
    training: bool
    requires_grad: bool

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        if hasattr(type(self), "bprop"):
            raise UnsupportedCallError(f"{type(self).__name__} defines `bprop`, which is not available yet")
        self.__dict__.update(_auto_prefix=auto_prefix, _prefix="", _compiled=None, training=False, requires_grad=False)
        self.__dict__.update(flags or {})

    # ------------------------------------------------------------------------------------------- calling
    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the Cell computes; every subclass defines it."""
        raise AttributeError(f"{type(self).__name__} has no method 'construct'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if context.mode == PYNATIVE_MODE or jit_disabled():
                return self.construct(*args, **kwargs)
            compiled = self._compiled
            if compiled is None:
                compiled = self.__dict__["_compiled"] = jit(self)
            return compiled(*args, **kwargs)
        except Exception as error:
            leave_user_frames(error)
            raise

    def __graph_state__(self) -> dict[str, Parameter]:
        """The Parameters that compiled code may read and write, by path; having this method marks a Cell."""
        return dict(self.parameters_and_names())

    # ------------------------------------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        current = self.__dict__.get(name)
        if value is current and name in self.__dict__:
            return
        if isinstance(value, Parameter | ParameterTuple | Cell):
            self._adopt(name, value)
        elif isinstance(current, Parameter) and value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"{name!r} is a Parameter: it can be given a Tensor, not a {type(value).__name__}")
            assign(current, value)
            return
        elif isinstance(current, Cell) and value is not None:
            raise TypeError(
                f"{name!r} is a Cell: it can be replaced by a Cell or None, not by a {type(value).__name__}"
            )
        object.__setattr__(self, name, value)
        epoch.bump()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        epoch.bump()

    def _adopt(self, name: str, value: Any) -> None:
        """Names what becomes a part of this Cell."""
        if "_prefix" not in self.__dict__:
            raise AttributeError(f"call super().__init__() before {name!r} is set: a Cell's parts need it")
        if isinstance(value, Parameter):
            if value.name == DEFAULT_NAME:
                value.name = self._prefix + name
        elif isinstance(value, Cell) and self._auto_prefix:
            value._place(f"{self._prefix}{name}.")

    def _place(self, prefix: str) -> None:
        """Names all Parameters by their paths below `prefix`."""
        placed = [(path, cell, list(cell._own_parameters())) for path, cell in self.cells_and_names()]
        for path, cell, parameters in placed:
            cell.__dict__["_prefix"] = prefix + (f"{path}." if path else "")
            for name, parameter in parameters:
                parameter.name = cell._prefix + name

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Sets a child Cell; TypeError for what is none, KeyError if the attribute exists.

        >>> net = Cell(); net.insert_child_to_cell("part", Cell()); list(net.name_cells())
        ['part']
        """
        if not isinstance(child_name, str):
            raise TypeError(f"`child_name` must be a string, not {type(child_name).__name__}")
        if not isinstance(child_cell, Cell):
            raise TypeError(f"`child_cell` must be a Cell, not {type(child_cell).__name__}")
        self._check_free(child_name)
        setattr(self, child_name, child_cell)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Sets a Parameter; TypeError for what is none, KeyError for a name with a dot or one that exists."""
        if not isinstance(param_name, str):
            raise TypeError(f"`param_name` must be a string, not {type(param_name).__name__}")
        if not isinstance(param, Parameter):
            raise TypeError(f"`param` must be a Parameter, not {type(param).__name__}")
        if check_name_contain_dot and "." in param_name:
            raise KeyError(f"the name {param_name!r} contains a dot")
        self._check_free(param_name)
        setattr(self, param_name, param)

    def _check_free(self, name: str) -> None:
        if getattr(self, name, None) is not None:
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")

    # ------------------------------------------------------------------------------------------- parts
    def name_cells(self) -> OrderedDict[str, Cell]:
        """The child Cells by attribute, each once."""
        found: OrderedDict[str, Cell] = OrderedDict()
        seen: set[int] = set()
        for name, value in self.__dict__.items():
            if isinstance(value, Cell) and id(value) not in seen:
                seen.add(id(value))
                found[name] = value
        return found

    def cells(self) -> Any:
        """The child Cells."""
        return self.name_cells().values()

    def cells_and_names(self, cells: set[int] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """This Cell and all Cells below it with their paths, parents first, each once (`cells`: ids left out)."""
        seen = set() if cells is None else cells
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, child in self.name_cells().items():
            yield from child.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        for name, value in self.__dict__.items():
            if isinstance(value, Parameter):
                yield name, value
            elif isinstance(value, ParameterTuple):
                for p in value:
                    yield p.name.removeprefix(self._prefix), p

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All Parameters with their paths: a Cell's own before its children's, each once.

        Without `expand` only this Cell's own.
        """
        seen: set[int] = set()
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, parameter in cell._own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """All Parameters, in the order of `parameters_and_names`."""
        return (p for _, p in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require a gradient."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require no gradient."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """All Parameters by name; ParameterError if two have one name."""
        found: OrderedDict[str, Parameter] = OrderedDict()
        paths: dict[str, str] = {}
        for path, p in self.parameters_and_names(expand=recurse):
            if p.name in found:
                raise ParameterError(
                    f"two Parameters of {type(self).__name__} are both called {p.name!r}",
                    notes=[f"they are `{paths[p.name]}` and `{path}`"],
                    hint="give one of them another name",
                )
            found[p.name], paths[p.name] = p, path
        return found

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names all Parameters ``prefix`` + path."""
        for name, parameter in list(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + name

    # ------------------------------------------------------------------------------------------- flags
    def apply(self, fn: Callable[[Cell], object]) -> Cell:
        """Calls `fn` with every Cell, children before their parent, and returns this Cell."""
        for child in self.cells():
            child.apply(fn)
        fn(self)
        return self

    def set_train(self, mode: bool = True) -> Cell:
        """Sets `training` here and in all children, and returns this Cell.

        >>> Cell().set_train().training
        True
        """
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Sets `requires_grad` here and in all children, and returns this Cell."""
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad
        return self

    # ------------------------------------------------------------------------------------------- text and copies
    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def extend_repr(self) -> str:
        """What `repr` says about this Cell besides its children."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {child!r}" for name, child in self.name_cells().items()]
        extra = self.extend_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n" + textwrap.indent("\n".join([extra] * bool(extra) + lines), "  ") + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
