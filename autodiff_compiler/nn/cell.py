"""Cells: networks and their parts, with Parameters and child Cells found by attribute.

A Cell's Parameters and children are exactly its attributes of these classes, in the order in which they were first set;
there is no second register.
"""

from __future__ import annotations

import textwrap
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self

from .. import escape
from ..compiler.described_sizes import DESCRIBED, by_names
from ..compiler.fastcall.eligible import takes_fast_path
from ..config import compiles
from ..dtypes import DType, bfloat16, dtype_of, float16, float32
from ..eager import assign, assignable
from ..errors import ParameterError, UnsupportedCallError, leave_user_frames
from ..keywords import refuse_peers
from ..peer_names import CELL, without
from ..runtime import epoch
from ..runtime.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from ..runtime.static import static_query
from ..runtime.tensor import Tensor
from ..transforms.compiled_form import HasCompiledForm
from ..transforms.jit import jit
from ..transforms.jit_options import JitConfig
from .calling import call_eagerly
from .cell_hooks import HookedCell
from .cell_state import CellState
from .one_device import OneDevice
from .summary import table

__all__ = ["Cell"]


def _compiled_already(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    raise UnsupportedCallError("a Cell is compiled with the code that calls it", hint="call the Cell itself")


class Cell(CellState, HookedCell, OneDevice, HasCompiledForm):
    """Base of networks: subclasses set Parameters and Cells as attributes in `__init__` and compute in `construct`.

    Calling a Cell runs `construct`: eagerly in PYNATIVE_MODE, compiled in GRAPH_MODE.  A Cell that is set
    as an attribute names all Parameters in it by their paths from there (`fc.weight`), in place of the names they had;
    what is added to it later has a path from it alone until its parent becomes an attribute.  With
    ``auto_prefix=False`` a Cell lets its children keep their names.

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

    #: The derivative that a subclass gives instead of that of `construct`: ``bprop(self, *inputs, out, dout)``.
    bprop: Any = None
    #: The float type in which the Cell computes; None: that of its inputs.
    _precision: DType | None = None
    #: Whether eager gradients recompute the Cell's intermediate values instead of keeping them (rematerialisation).
    _recompute: bool = False
    #: The tape of the last eager call after `set_grad()`, for the gradient that follows.
    _recorded: Any = None

    _auto_prefix: bool
    #: The path that `update_cell_prefix` set.
    _path: str = ""
    #: By attribute, the names of the Parameters of a ParameterTuple when it was set.
    _keys: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  (it is replaced, never changed)
    _compiled: Any
    #: The fast path into the compiled entry; None while calls must not take it.
    _fast: Any = None
    training: bool
    _phase: str = "train"
    requires_grad: bool = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if kwargs:
            refuse_peers(cls.__init__, kwargs)
        return super().__new__(cls)

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        self.__dict__.update(_auto_prefix=auto_prefix, _compiled=None, training=False, requires_grad=False)
        if flags:
            self.add_flags(**flags)

    # ------------------------------------------------------------------------------------------- calling
    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """What the Cell computes; every subclass defines it."""
        renamed = ": rename `forward` to `construct`" if callable(getattr(type(self), "forward", None)) else ""
        raise AttributeError(f"{type(self).__name__} has no method 'construct'{renamed}")

    @takes_fast_path
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            fast = self._fast
            if fast is not None:  # in GRAPH_MODE only
                return fast(*args, **kwargs) if kwargs else fast(*args)
            if not compiles():
                if (
                    self._hooks is None
                    and self._precision is None
                    and type(self).bprop is None
                    and not self.requires_grad
                    and not self._recompute
                ):
                    return self.construct(*args, **kwargs)
                return call_eagerly(self, args, kwargs)
            return (self._compiled or self._as_compiled())(*args, **kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise

    def _as_compiled(self) -> Any:
        if self._compiled is None:
            made = jit(self)
            made._front = self
            self.__dict__["_compiled"] = made
        return self._compiled

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the Cell for calls with arguments like these, without running it."""
        self._as_compiled().compile(*args, **kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the compiled Cell, whatever the mode.

        >>> from autodiff_compiler import Tensor, nn
        >>> nn.ReLU().compile_and_run(Tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
        """
        return self._as_compiled()(*args, **kwargs)

    compile.__graph_call__ = compile_and_run.__graph_call__ = _compiled_already  # type: ignore[attr-defined]

    def set_jit_config(self, jit_config: JitConfig) -> None:
        """Stores MindSpore's compile options, which have no effect; TypeError for anything but a `JitConfig`."""
        if not isinstance(jit_config, JitConfig):
            raise TypeError(f"jit_config is a JitConfig, not a {type(jit_config).__name__}")

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Describes inputs: sizes of None, or of a `Symbol`, are symbolic from the first compiled call on.

        A compiled call with other sizes than described is a ValueError.  TypeError: positions and keywords at once, or
        another number of inputs than `construct` takes.

        >>> from autodiff_compiler import Tensor, float32, nn
        >>> net = nn.ReLU(); net.set_inputs(Tensor(shape=[3, None], dtype=float32)); net.get_inputs()
        (Tensor(shape=[3, -1], dtype=Float32, value= ),)
        """
        if inputs and kwargs:
            raise TypeError("set_inputs() takes all inputs by position, or some by keyword, not both")
        self.__dict__[DESCRIBED] = by_names(self.construct, inputs) if inputs else kwargs
        self.__dict__["_described"] = inputs or tuple(kwargs.values())

    def get_inputs(self) -> tuple[Any, ...] | None:
        """The arguments of `set_inputs`; None if it was not called."""
        described: tuple[Any, ...] | None = self.__dict__.get("_described")
        return described

    def __graph_state__(self) -> dict[str, Parameter]:
        """The Parameters that compiled code may read and write, by path; having this method marks a Cell."""
        return dict(self.parameters_and_names())

    # ------------------------------------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        current = self.__dict__.get(name)
        if value is current and name in self.__dict__ and not isinstance(value, Cell):  # a new path may rename it
            return
        if isinstance(value, Parameter | ParameterTuple | Cell):
            self._adopt(name, value)
        elif isinstance(current, Parameter) and value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"{name!r} is a Parameter: it can be given a Tensor, not a {type(value).__name__}")
            value = assignable(current, value)
            current._leave()
            assign(current, value)
            return
        elif isinstance(current, Cell) and value is not None:
            raise TypeError(
                f"{name!r} is a Cell: it can be replaced by a Cell or None, not by a {type(value).__name__}"
            )
        elif self._kept and name in self._kept and not (value is None or isinstance(value, Tensor)):
            raise TypeError(
                f"{name!r} is a buffer: it can be replaced by a Tensor or None, not by a {type(value).__name__}"
            )
        object.__setattr__(self, name, value)
        epoch.bump()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if self._kept and name in self._kept:
            self.__dict__["_kept"] = {k: v for k, v in self._kept.items() if k != name}
        epoch.bump()

    def _adopt(self, name: str, value: Any) -> None:
        """Names the Parameters of a value that becomes a part of this Cell."""
        if "_auto_prefix" not in self.__dict__:
            raise AttributeError(f"call super().__init__() before {name!r} is set: a Cell's parts need it")
        if isinstance(value, Parameter):
            if value.name == DEFAULT_NAME:
                value.name = name
        elif isinstance(value, ParameterTuple):
            self.__dict__["_keys"] = {**self._keys, name: tuple(p.name for p in value)}
        elif self._auto_prefix:
            value.update_parameters_name(f"{name}.")

    def _set_part(self, name: str, part: Any) -> None:
        """Sets an attribute without naming Parameters."""
        object.__setattr__(self, name, part)
        epoch.bump()

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Sets a child Cell, whose Parameters keep their names.

        TypeError: no Cell.  KeyError: an empty name, one with a dot, or an attribute that exists.

        >>> net = Cell(); net.insert_child_to_cell("part", Cell()); list(net.name_cells())
        ['part']
        """
        if not isinstance(child_name, str):
            raise TypeError(f"`child_name` must be a string, not {type(child_name).__name__}")
        if not isinstance(child_cell, Cell):
            raise TypeError(f"`child_cell` must be a Cell, not {type(child_cell).__name__}")
        if not child_name or "." in child_name:
            raise KeyError(f"a Cell cannot be called {child_name!r}: a name must not be empty nor hold a dot")
        self._check_free(child_name)
        self._set_part(child_name, child_cell)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Sets a Parameter; TypeError for what is none, KeyError for a name with a dot or one that exists.

        >>> net = Cell(); net.insert_param_to_cell("w", Parameter([1.0])); net.w.name
        'w'
        """
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
    def get_sub_cell(self, target: str) -> Cell:
        """The Cell at a path of attributes, this one for ""; AttributeError if what is there is none.

        >>> from autodiff_compiler import nn
        >>> nn.SequentialCell(nn.SequentialCell(nn.Tanh())).get_sub_cell("0.0")
        Tanh()
        """
        found: Any = self
        for name in target.split(".") if target else ():
            found = getattr(found, name)
            if not isinstance(found, Cell):
                raise AttributeError(f"{name!r} in {target!r} is no Cell, but a {type(found).__name__}")
        return found

    @static_query
    def name_cells(self) -> OrderedDict[str, Cell]:
        """The child Cells by attribute, each once.

        >>> from autodiff_compiler import nn
        >>> list(nn.SequentialCell(nn.ReLU(), nn.Tanh()).name_cells().items())
        [('0', ReLU()), ('1', Tanh())]
        """
        found: OrderedDict[str, Cell] = OrderedDict()
        seen: set[int] = set()
        for name, value in self.__dict__.items():
            if isinstance(value, Cell) and id(value) not in seen:
                seen.add(id(value))
                found[name] = value
        return found

    @static_query
    def cells(self) -> Any:
        """The child Cells."""
        return self.name_cells().values()

    @static_query
    def cells_and_names(self, cells: set[int] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """This Cell and all Cells below it with their paths, parents first, each once (`cells`: ids left out).

        >>> from autodiff_compiler import nn
        >>> [name for name, _ in nn.CellList([nn.SequentialCell(nn.ReLU())]).cells_and_names()]
        ['', '0', '0.0']
        """
        seen = set() if cells is None else cells
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, child in self.name_cells().items():
            yield from child.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        for name, value in list(self.__dict__.items()):
            if isinstance(value, Parameter):
                yield name, value
            elif isinstance(value, ParameterTuple):
                yield from zip(self._keys[name], value, strict=True)

    @static_query
    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All Parameters with their paths: a Cell's own before its children's, each once.

        Without `expand` only this Cell's own.

        >>> from autodiff_compiler import nn
        >>> [(name, p.shape) for name, p in nn.SequentialCell(nn.Dense(3, 2)).parameters_and_names()]
        [('0.weight', (2, 3)), ('0.bias', (2,))]
        """
        seen: set[int] = set()
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, parameter in cell._own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    @static_query
    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """All Parameters, in the order of `parameters_and_names`."""
        return (p for _, p in self.parameters_and_names(expand=expand))

    @static_query
    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require a gradient.

        >>> from autodiff_compiler import nn
        >>> net = nn.Dense(3, 2)
        >>> net.weight.requires_grad = False
        >>> [p.name for p in net.trainable_params()], [p.name for p in net.untrainable_params()]
        (['bias'], ['weight'])
        """
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    @static_query
    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require no gradient."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    @static_query
    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """All Parameters by name; ParameterError (a ValueError) if two have one name.

        >>> from autodiff_compiler import nn
        >>> list(nn.SequentialCell(nn.Dense(3, 2, has_bias=False)).parameters_dict())
        ['0.weight']
        """
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

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """A dict from each Parameter to its replacement: itself, as Parameters have their values from the start."""
        return {p: p.init_data() for p in self.get_parameters()}

    def check_names(self) -> None:
        """Raises ParameterError, a ValueError, if two Parameters have one name."""
        self.parameters_dict()

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names all Parameters ``prefix`` + path; without `recurse` only this Cell's own.

        >>> from autodiff_compiler import nn
        >>> net = nn.Dense(3, 2, has_bias=False); net.update_parameters_name("teacher."); net.weight.name
        'teacher.weight'
        """
        for name, parameter in list(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + name

    # ------------------------------------------------------------------------------------------- flags
    def apply(self, fn: Callable[[Cell], object]) -> Cell:
        """Calls `fn` with every Cell, children before their parent, and returns this Cell.

        >>> from autodiff_compiler import nn
        >>> net = nn.SequentialCell(nn.ReLU()).apply(lambda cell: print(cell.cls_name))
        ReLU
        SequentialCell
        """
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
            cell._phase = "train" if mode else "predict"
        return self

    @property
    def phase(self) -> str:
        """ "train" or "predict", as `set_train` chose; "train" by default.  TypeError: set to anything but a string.

        >>> Cell().set_train(False).phase
        'predict'
        """
        return self._phase

    @phase.setter
    def phase(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`phase` must be a text, not a {type(value).__name__}")
        self._phase = value

    def add_flags(self, **flags: Any) -> Cell:
        """Sets attributes that `get_flags` returns, and returns this Cell.

        >>> Cell().add_flags(defer_inline=True).get_flags()
        {'defer_inline': True}
        """
        self._flags = {**self.get_flags(), **flags}
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self, **flags: Any) -> Cell:
        """Sets attributes here and in all children, and returns this Cell."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The attributes that were set as flags."""
        return dict(self.__dict__.get("_flags", {}))

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Sets `requires_grad` here and in all children, and returns this Cell.

        An eager call of such a Cell is recorded: if the next thing is its gradient with the same arguments, and nothing
        of them, of the Parameters and of the attributes is changed, `construct` is not run again.  It costs the memory
        of the recorded values until then.  Compiled code takes such a gradient from the Parameters before the call.
        """
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad
        return self

    def recompute(self, **kwargs: Any) -> Cell:
        """Makes eager gradients recompute this Cell's intermediate values; see `autodiff_compiler.recompute`.

        Compiled code chooses by itself.  Keywords are accepted without effect.  Returns this Cell.
        """
        self._recompute = True
        return self

    def to_float(self, dst_type: Any) -> Cell:
        """Lets this Cell and all in it compute in float16, bfloat16 or float32, and returns it.

        At each call Tensors of other float types among the inputs, and those that `construct` reads of its attributes,
        are cast.  Parameters keep their dtype, and so do their gradients: the cast is part of the program.  A call for
        a child overrides the type there.  ValueError: another type.

        >>> from autodiff_compiler import Tensor, nn
        >>> net = nn.Dense(2, 1).to_float(float16)
        >>> net(Tensor([[1.0, 2.0]])).dtype, net.weight.dtype
        (autodiff_compiler.float16, autodiff_compiler.float32)
        """
        try:
            wanted = dtype_of(dst_type)
        except TypeError:
            wanted = None
        if wanted not in (float16, bfloat16, float32):
            raise ValueError(f"to_float() takes float16, bfloat16 or float32, not {dst_type!r}")
        for _, cell in self.cells_and_names():
            cell._precision = wanted
        return self

    # ------------------------------------------------------------------------------------------- text and copies
    @property
    def param_prefix(self) -> str:
        """The path of this Cell below the one whose `update_cell_prefix` was called last; empty before."""
        return self._path

    def update_cell_prefix(self) -> None:
        """Sets `param_prefix` here and of all Cells below.

        >>> from autodiff_compiler import nn
        >>> net = nn.SequentialCell(nn.Dense(3, 2)); net.update_cell_prefix(); net[0].param_prefix
        '0'
        """
        for path, cell in self.cells_and_names():
            cell.__dict__["_path"] = path

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def extend_repr(self) -> str:
        """The text in the `repr` of this Cell before its children, for subclasses to define."""
        return ""

    def summary(self) -> str:
        """The Parameters as a table: name, shape, dtype, number of elements, and whether they are trained.

        >>> from autodiff_compiler import nn
        >>> print(nn.Dense(3, 2).summary())
        name    shape   dtype    elements  trained
        weight  (2, 3)  Float32         6  yes
        bias    (2,)    Float32         2  yes
        8 elements in 2 Parameters, 8 of them trained
        """
        return table(list(self.get_parameters()))

    def extra_repr(self) -> str:
        """Another name of `extend_repr`: a subclass defines one of them."""
        return self.extend_repr()

    def __repr__(self) -> str:
        lines = [f"({escape.line(name)}): {child!r}" for name, child in self.name_cells().items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n" + textwrap.indent("\n".join([extra] * bool(extra) + lines), "  ") + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_view", "_recorded", "_fast")} | {
            "_compiled": None
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


without(Cell, CELL)
