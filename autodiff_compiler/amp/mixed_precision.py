"""Mixed precision of networks: some of their Cells compute in float16 or bfloat16.

Such a Cell has `to_float`; where the rest of the network computes in another type, a `_ResultsIn` around it casts its
results.  Parameters keep their dtype and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import nn, ops
from ..dtypes import DType, bfloat16, dtype_of, float16, float32
from ..errors import UnsupportedCallError
from ..nn.arguments import choice
from ..ops.primitive import Primitive
from ..runtime import epoch
from ..runtime.static import static_query

__all__ = [
    "auto_mixed_precision",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
    "keep_in_float32",
    "replace_parts",
]

_LEVELS = ("O0", "O1", "O2", "O3", "auto")
_CELLS = "Conv1d Conv2d Conv3d Conv1dTranspose Conv2dTranspose Conv3dTranspose Dense LSTMCell RNNCell GRUCell"
_PRIMITIVES = "Conv2D Conv3D Conv2DTranspose Conv3DTranspose Conv2DBackpropInput MatMul BatchMatMul PReLU ReLU Ger"


def get_white_list() -> list[type]:
    """The classes of Cells and primitives that level O1 computes in lower precision: a new list.

    >>> nn.Dense in get_white_list(), ops.MatMul in get_white_list()
    (True, True)
    """
    return [getattr(nn, name) for name in _CELLS.split()] + [getattr(ops, name) for name in _PRIMITIVES.split()]


def get_black_list() -> list[type]:
    """The classes of Cells that level O2 computes in float32: a new list.

    >>> get_black_list() == [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]
    True
    """
    return [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]


class _ResultsIn(nn.Cell):
    """A wrapper that casts the results of a Cell; everything else is delegated to the Cell."""

    def __init__(self, backbone: Any, dtype: DType) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._dtype_out = backbone, dtype

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return ops.mixed_precision_cast(self._dtype_out, self._backbone(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        backbone = self.__dict__.get("_backbone")
        if backbone is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(backbone, name)


class _Lowered(_ResultsIn):
    """A Cell that computes in lower precision and returns float32; the paths of its Parameters do not change."""

    @static_query
    def cells_and_names(self, cells: set[int] | None = None, name_prefix: str = "") -> Iterator[tuple[str, nn.Cell]]:
        """This Cell, then the one that it wraps, under the path of this one."""
        seen = set() if cells is None else cells
        if id(self) not in seen:
            seen.add(id(self))
            yield name_prefix, self
            yield from self._backbone.cells_and_names(seen, name_prefix)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: Any = float16) -> Any:
    """A network that computes in lower precision, `dtype`, and returns float32.  The network given is changed, too.

    ==== ==========================================================================
    O0   nothing is changed
    O1   Cells and primitives of the classes in `get_white_list()` compute in `dtype`
    O2   everything does but Cells of the classes in `get_black_list()`
    O3   everything does
    ==== ==========================================================================

    With O1 a Cell whose own `to_float` was called is left as it is.

    TypeError: `network` is no Cell.  ValueError: another level or dtype.  UnsupportedCallError: level "auto".

    >>> from autodiff_compiler import Tensor
    >>> net = auto_mixed_precision(nn.Dense(1, 1, weight_init=1.0, bias_init=0.0), "O3")
    >>> net(Tensor([[1.0009765625 + 2.0**-12]])).tolist()  # rounded to float16
    [[1.0009765625]]
    """
    level, lower = choice("amp_level", amp_level, _LEVELS), _checked(network, dtype)
    if level == "auto":
        raise UnsupportedCallError(
            "mixed precision of level 'auto' is not supported",
            hint="use a level from O0 to O3, or custom_mixed_precision with a list of classes",
        )
    if level == "O0":
        return network
    if level == "O1":
        network = _listed_lower(network, get_white_list(), lower)
    else:
        network = _all_lower(network, get_black_list() if level == "O2" else [], lower)
    network._amp_level = level
    return network


def custom_mixed_precision(
    network: Any, *, white_list: list[type] | None = None, black_list: list[type] | None = None, dtype: Any = float16
) -> Any:
    """A network of which the parts of the classes in `white_list`, or those not in `black_list`, compute in `dtype`.

    A white list has classes of Cells and primitives, a black list classes of Cells.  The network is changed, too.

    TypeError: `network` is no Cell, a list is none or holds something else.  ValueError: none or both of the lists,
    another dtype.

    >>> from autodiff_compiler import Tensor
    >>> net = custom_mixed_precision(nn.SequentialCell(nn.ReLU()), white_list=[nn.ReLU])
    >>> net(Tensor([1.0009765625 + 2.0**-12])).tolist()
    [1.0009765625]
    """
    lower = _checked(network, dtype)
    if (white_list is None) == (black_list is None):
        raise ValueError("one of `white_list` and `black_list` must be given, and not both")
    if white_list is not None:
        return _listed_lower(network, _classes("white_list", white_list, (nn.Cell, Primitive)), lower)
    return _all_lower(network, _classes("black_list", black_list, (nn.Cell,)), lower)


def _checked(network: Any, dtype: Any) -> DType:
    if not isinstance(network, nn.Cell):
        raise TypeError(f"`network` must be a Cell, not a {type(network).__name__}")
    try:
        lower = dtype_of(dtype)
    except TypeError:
        lower = float32
    if lower not in (float16, bfloat16):
        raise ValueError(f"`dtype` must be float16 or bfloat16, not {dtype!r}")
    return lower


def _classes(name: str, given: Any, bases: tuple[type, ...]) -> list[type]:
    if not isinstance(given, list):
        raise TypeError(f"`{name}` must be a list, not a {type(given).__name__}")
    for cls in given:
        if not isinstance(cls, type) or not issubclass(cls, bases):
            raise TypeError(f"`{name}` holds classes of {' and '.join(b.__name__ for b in bases)}s, not {cls!r}")
    return given


# ------------------------------------------------------------------------------------------------ parts
def _all_lower(network: Any, but: list[type], dtype: DType) -> Any:
    network.to_float(dtype)
    keep_in_float32(network, but, dtype)
    return _ResultsIn(network, float32)


def keep_in_float32(network: Any, classes: list[type], dtype: DType) -> None:
    """Makes the Cells of these classes in a network that computes in `dtype` compute in float32."""

    def kept(part: Any) -> Any:
        return _ResultsIn(part.to_float(float32), dtype) if issubclass(type(part), tuple(classes)) else None

    replace_parts(network, kept)


def _listed_lower(network: Any, classes: list[type], dtype: DType) -> Any:
    """Makes the parts of exactly these classes compute in `dtype` and return float32."""

    def lowered(part: Any) -> Any:
        if isinstance(part, nn.Cell) and part._precision is not None:  # the user's choice
            return part
        return _Lowered(_cell_of(part).to_float(dtype), float32) if type(part) in classes else None

    replaced = lowered(network)
    if replaced is None:
        replace_parts(network, lowered)
    return network if replaced is None else replaced


class _Called(nn.Cell):
    """A primitive as a Cell."""

    def __init__(self, primitive: Any) -> None:
        super().__init__(auto_prefix=False)
        self.primitive = primitive

    def construct(self, *args: Any) -> Any:
        return self.primitive(*args)


def _cell_of(part: Any) -> Any:
    return part if isinstance(part, nn.Cell) else _Called(part)


def replace_parts(network: Any, replaced: Callable[[Any], Any]) -> None:
    """Replaces Cells and primitives below a Cell by what `replaced` returns for them.

    It is called once for each, the outermost first; where it returns None, also for the parts of that Cell.
    """
    answers: dict[int, Any] = {}

    def within(cell: Any) -> None:
        for name, part in list(cell.__dict__.items()):
            if not isinstance(part, nn.Cell | Primitive):
                continue
            if id(part) not in answers:
                answers[id(part)] = replaced(part)
                if answers[id(part)] is None and isinstance(part, nn.Cell):
                    within(part)
            if answers[id(part)] is not None:
                cell.__dict__[name] = answers[id(part)]  # past `__setattr__`, which would rename Parameters
        epoch.bump()

    within(network)
