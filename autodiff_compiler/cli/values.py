"""Arguments written on a command line: types of Tensors, files of arrays, and Python's literals."""

from __future__ import annotations

import argparse
import ast
import math
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import BY_SHORT, DType
from ..ir.size_text import parse
from ..ir.sizes import Size, symbol
from ..ir.types import Shape
from ..no_memory import made
from ..runtime.host import TensorSpec
from ..runtime.tensor import Tensor
from .command import Argument, Usage, advice, no_file


def positive(text: str) -> float:
    """A number above 0."""
    return _number(text, lambda x: 0 < x < math.inf, "a positive number")


def tolerance(text: str) -> float:
    """A number of at least 0."""
    return _number(text, lambda x: 0 <= x < math.inf, "a number of at least 0")


def _limit(text: str) -> float:
    return _number(text, math.isfinite, "a finite number")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _number(text: str, fits: Callable[[float], bool], what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not fits(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return found


class _Range(argparse.Action):
    """Two limits in their order."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        low, high = values
        if low > high:
            raise argparse.ArgumentError(self, f"LOW comes first: {low:g} is above {high:g}")
        if not math.isfinite(high - low):
            raise argparse.ArgumentError(self, f"{low:g} and {high:g} are too far apart")
        setattr(namespace, self.dest, (low, high))


ARGS = Argument(
    "--args",
    metavar="VALUES",
    help='the arguments, with spaces between: types of Tensors, .npy files, and literals; "f32[32,784] x.npy 3 True"; '
    "commands that run nothing take names for sizes: f32[n,784]",
)
#: Of commands that run the function.
RANDOM = (
    Argument("--seed", type=_seed, default=0, metavar="N", help="of the random Tensors that types stand for (0)"),
    Argument(
        "--range",
        type=_limit,
        action=_Range,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="draw floats evenly between these; without it from a normal distribution, and ints are 0 or 1",
    ),
)

_BY_NAME = {dtype.name: dtype for dtype in BY_SHORT.values()}
#: What is quoted, or the type of a scalar: `f32[]` is no Python.
_SCALAR = re.compile(r"""('[^']*'|"[^"]*")|(?<=\w)\[\s*\]""")


def read_values(text: str) -> list[Any]:
    """Arguments for compiling: types stay types."""
    return _read(text, TensorSpec)


def random_values(text: str, seed: int = 0, limits: tuple[float, float] | None = None) -> list[Any]:
    """Arguments for running: Tensors of random numbers for types, the same for the same seed."""
    source = np.random.default_rng(seed)

    def tensor(shape: Any, dtype: DType) -> Any:
        if not dtype.is_float:
            return Tensor(source.integers(0, 2, shape).astype(dtype.numpy), dtype)
        values = source.standard_normal(shape) if limits is None else source.uniform(*limits, shape)
        return Tensor(np.asarray(values).astype(dtype.numpy), dtype)

    def drawn(shape: Shape, dtype: DType) -> Any:
        known = [n for n in shape if isinstance(n, int)]
        if len(known) < len(shape):
            written = f"{dtype.short}[{','.join(map(str, shape))}]"
            raise _Refused(f"{written} in --args has a size with a name, but the function is run: choose a number")
        return made(known, lambda: tensor(known, dtype), dtype.numpy)

    return _read(text, drawn)


def array_files(text: str) -> list[str]:
    """The files of arrays that arguments name."""
    return [path for word in _words(text) if (path := _array_file(word))]


def _read(text: str, fill: Callable[[Shape, DType], Any]) -> list[Any]:
    return [_value(word, fill) for word in _words(text)]


def _words(text: str) -> list[str]:
    """Splits a text at spaces and commas outside of brackets and quotes."""
    words, word, depth, quote = [], "", 0, ""
    for mark in text:
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        else:
            depth += (mark in "([{") - (mark in ")]}")
        if (mark.isspace() or mark == ",") and not depth and not quote:
            words.append(word)
            word = ""
        else:
            word += mark
    if depth or quote:
        raise Usage(f"cannot read --args {text!r}: {f'{quote} is not closed' if quote else 'brackets do not match'}")
    return [w for w in [*words, word] if w]


def _value(word: str, fill: Callable[[Shape, DType], Any]) -> Any:
    if path := _array_file(word):
        return _array(path)
    try:
        return _evaluated(ast.parse(_SCALAR.sub(lambda m: m[1] or "[()]", word), mode="eval").body, fill)
    except (SyntaxError, ValueError) as error:
        if isinstance(error, _Refused):
            raise Usage(str(error)) from None
        raise Usage(
            f"cannot read the argument {word!r}; write a type such as f32[2,3], a file such as x.npy, a number, True, "
            "None, 'text', or a tuple, list or dict of them"
        ) from None


def _array_file(word: str) -> str:
    """The file of an array that an argument is, or nothing."""
    path = word.strip("'\"")
    return path if path.endswith(".npy") else ""


class _Refused(ValueError):
    """A part of an argument that can be named."""


def _evaluated(node: ast.expr, fill: Callable[[Shape, DType], Any]) -> Any:
    if isinstance(node, ast.Subscript):
        return _tensor(node, fill)
    if isinstance(node, ast.Tuple | ast.List):
        items = [_evaluated(item, fill) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [ast.literal_eval(key) for key in node.keys if key]
        return dict(zip(keys, [_evaluated(value, fill) for value in node.values], strict=True))
    return float(node.id) if isinstance(node, ast.Name) and node.id in ("inf", "nan") else ast.literal_eval(node)


def _tensor(node: ast.Subscript, fill: Callable[[Shape, DType], Any]) -> Any:
    name = ast.unparse(node.value)
    dtype = BY_SHORT.get(name) or _BY_NAME.get(name)
    if dtype is None:
        hint = advice(name, [*BY_SHORT, *_BY_NAME], f"dtypes are {', '.join(BY_SHORT)}")
        raise _Refused(f"{name!r} in --args is no dtype{hint}")
    sizes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    shape = tuple([_size(size, node) for size in sizes])
    if math.prod([n for n in shape if isinstance(n, int)]) >= 1 << 63:
        raise _Refused(f"{ast.unparse(node)} in --args has more elements than can be counted")
    return fill(shape, dtype)


def _size(node: ast.expr, of: ast.Subscript) -> Size:
    """A size of a type: a number, or a formula of names."""
    try:
        (size,) = parse(ast.unparse(node), symbol)
    except ValueError:
        size = -1
    if isinstance(size, int) and size < 0:
        raise _Refused(f"{ast.unparse(of)} in --args is no type: sizes are whole numbers, names or formulas of these")
    return size


def _array(path: str) -> Any:
    from ..inspection.saved_values import UNREADABLE  # not for --help: it loads zipfile

    if not os.path.isfile(path):
        raise no_file(path)
    try:
        return Tensor(np.load(path, allow_pickle=False))
    except UNREADABLE as error:
        raise Usage(f"{path} holds no array: {error}") from None
    except MemoryError as error:
        raise Usage(f"{path} holds more than there is memory for: {error}") from None
