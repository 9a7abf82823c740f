"""`check_nonfinite`: which op made a NaN or infinity (`found`), and the error (`error_of`).

Compiled code and eager mode use the same check and the same error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import NonFiniteError
from ..ir.primitive import REGISTRY
from ..source import Loc, is_users, line_of

__all__ = ["MOVING", "Finding", "Operand", "Origin", "any_of", "error_of", "found", "inside_text"]

#: Ops that only move or select elements: they make no NaN, and may pass one on.
MOVING = frozenset({
    "broadcast_to", "check_exponent", "check_index", "check_solved", "concat", "const", "diag_embed", "diagonal",
    "expand_dims", "extend", "from_seq", "gather", "gradient_source", "kept", "missing_cotangent", "no_cotangent",
    "pad", "repeat_elements", "reshape", "roll", "select", "seq_add", "slice", "slice_update", "squeeze", "stack",
    "state_read", "stop_gradient", "take_along_axis", "to_seq", "transpose", "tril", "triu", "tuple_get",
    "tuple_make", "undef", "windows",
})  # fmt: skip

#: The op whose NaN stands for the result of a search that found nothing.
_UNFOUND = "if_converged"
_CODE_WIDTH = 70
#: The most possible sources of a NaN that a message names.
_SOURCES = 3


class Finding(NamedTuple):
    """The number of the first bad result, the mask of its bad elements, whether an operand had a NaN (`carried`)."""

    result: int
    mask: Any
    carried: bool


@dataclass(frozen=True)
class Operand:
    """An operand's name in the user's code, and where it comes from."""

    name: str = ""
    #: "input `x`", "a constant"; empty for the result of an op
    origin: str = ""


@dataclass(frozen=True)
class Origin:
    """An op's place in the user's code, and for an adjoint what its result is the gradient of."""

    name: str
    loc: Loc | None
    #: the result's own name
    result: str = ""
    #: of an adjoint: the op whose derivative it is a part of
    forward: str = ""
    #: the lines that computed its operands, the last first
    steps: tuple[Loc, ...] = ()
    #: other facts, such as the trip of a loop
    facts: tuple[str, ...] = ()


def found(results: Sequence[Any], operands: Sequence[Any], name: str, nan_only: bool) -> Finding | None:
    """The first result with a NaN, or with an infinity though all operands are finite.

    Infinities in operands are allowed, as attention masks contain them; for elementwise ops this is decided element by
    element.
    """
    elementwise = _is_elementwise(name)
    floats = [np.asarray(x) for x in operands if _is_float(x)]
    for i, result in enumerate(results):
        if not _is_float(result):
            continue
        bad = np.isnan(result)
        if bad.any():
            carried = any(np.isnan(x).any() for x in floats)
            return Finding(i, _fresh(bad, floats, np.isnan, elementwise), carried)
        if nan_only:
            continue
        bad = np.isinf(result)
        if not bad.any():
            continue
        if elementwise:
            bad = _fresh(bad, floats, _not_finite, True, strict=True)
            if bad.any():
                return Finding(i, bad, False)
        elif all(np.isfinite(x).all() for x in floats):
            return Finding(i, bad, False)
    return None


def _is_elementwise(name: str) -> bool:
    return name in REGISTRY and REGISTRY[name].scalar is not None


def _is_float(x: Any) -> bool:
    return getattr(x, "dtype", None) is not None and x.dtype.kind not in "biuOSU"


def _not_finite(x: Any) -> Any:
    return ~np.isfinite(x)


def _fresh(bad: Any, operands: Sequence[Any], asked: Any, elementwise: bool, strict: bool = False) -> Any:
    """The bad elements whose operands were good; all of them if there are none such (unless `strict`)."""
    bad = np.asarray(bad)
    if not elementwise:
        return bad
    fresh = bad.copy()
    for x in operands:
        try:
            fresh &= ~np.broadcast_to(asked(x), bad.shape)
        except ValueError:  # it is no elementwise operand
            return bad
    return fresh if strict or fresh.any() else bad


# ------------------------------------------------------------------------------------------------ the error
def error_of(
    finding: Finding, results: Sequence[Any], operands: Sequence[Any], known: Sequence[Operand], origin: Origin
) -> NonFiniteError:
    """The error about one op; `known`: name and origin of each operand."""
    result = np.asarray(results[finding.result])
    where = np.unravel_index(int(np.argmax(finding.mask)), result.shape)
    index = tuple(map(int, where))
    kind = _kind(result[index])
    adjoint = origin.loc is not None and origin.loc.tag == "adjoint"
    source = _source(finding, operands, known)
    named = f"`{origin.name}`" + (" in the derivative" if adjoint else "")
    if origin.name == _UNFOUND:
        message = "what this line asks for was not found: the search did not converge, or the time was not reached"
    elif source:
        message = f"{source} is NaN already, and {named} computes with it"
    elif finding.carried or _any_inf(operands):
        message = f"{named} gives {kind}"
    else:
        message = f"{named} makes {kind} of finite numbers"
    at = f", the first at {list(index)}" if index else ""
    notes = [f"result{_titled(origin.result)}: {_type(result)}, {_counted(finding.mask, result, index)}{at}"]
    notes += _operands(operands, known, result.shape, index if _is_elementwise(origin.name) else None)
    if adjoint:
        notes += _gradient_text(origin)
    notes += origin.facts
    notes += _steps_text(origin.loc, origin.steps)
    note = f"{kind} in the derivative" if adjoint else kind
    place, inside = _of_user(origin.loc)
    return NonFiniteError(
        message,
        spans=[(place, note)] if place is not None else (),
        notes=[*inside, *notes],
        hint=_hint(origin, bool(source), adjoint),
    )


def _of_user(loc: Loc | None) -> tuple[Loc | None, list[str]]:
    """The user's line that an op belongs to, and where inside of a layer of this package it stands."""
    if loc is None or is_users(loc.file):
        return loc, []
    place = loc.of_user()
    if not is_users(place.file):
        return loc, []
    return place._replace(tag=loc.tag), [inside_text(loc)]


def inside_text(loc: Loc) -> str:
    """A line of this package's own."""
    return f"in {loc.function} ({loc.short}):  {line_of(loc.file, loc.line).strip()}"


def _gradient_text(origin: Origin) -> list[str]:
    """A note that says what the result of an adjoint is the gradient of."""
    of = origin.result[2:] if origin.result.startswith("d_") else ""
    parts = [f"of the derivative of `{origin.forward}`"] if origin.forward else []
    parts += [f"of the gradient with respect to `{of}`"] if of else []
    return [f"it is a part {', '.join(parts)}"] if parts else []


def _kind(x: Any) -> str:
    return "NaN" if np.isnan(x) else "inf" if x > 0 else "-inf"


def _titled(name: str) -> str:
    return f" `{name}`" if name else ""


def _type(x: Any) -> str:
    dtype = str(x.dtype)
    for long, short in (("bfloat", "bf"), ("float", "f"), ("complex", "c"), ("uint", "u"), ("int", "i")):
        dtype = dtype.replace(long, short)
    return f"{dtype}[{','.join(map(str, x.shape))}]"


def _counted(mask: Any, result: Any, index: tuple[int, ...]) -> str:
    if not result.shape:
        return _kind(result[index])
    count, size = int(np.count_nonzero(mask)), result.size
    kinds = {_kind(x) for x in np.asarray(result)[mask][:1000]}
    return f"{count} of {size} elements {'is' if count == 1 else 'are'} {' or '.join(sorted(kinds))}"


def _any_inf(operands: Sequence[Any]) -> bool:
    return any(_is_float(x) and not np.isfinite(x).all() for x in operands)


def _source(finding: Finding, operands: Sequence[Any], known: Sequence[Operand]) -> str:
    """The input, constant or Parameter that a carried NaN comes from."""
    if not finding.carried:
        return ""
    for x, about in zip(operands, known, strict=True):
        if _is_float(x) and np.isnan(x).any():
            return about.origin
    return ""


def any_of(sources: Iterable[str]) -> str:
    """The names of possible sources as one text; empty if they are too many."""
    texts = [*dict.fromkeys(sources)]
    return " or ".join(texts) if len(texts) <= _SOURCES else ""


def _operands(
    operands: Sequence[Any], known: Sequence[Operand], shape: tuple[int, ...], index: tuple[int, ...] | None
) -> list[str]:
    lines = []
    for i, (x, about) in enumerate(zip(operands, known, strict=True)):
        array = np.asarray(x)
        if array.dtype.kind in "OSU":
            continue
        text = f"operand {i + 1}{_titled(about.name)}: {_type(array)}, {_range(array)}"
        if array.shape == shape and index:
            text += f"; at {list(index)} it is {_number(array[index])}"
        elif about.origin and not about.name:
            text += f" ({about.origin})"
        lines.append(text)
    return lines


def _number(x: Any) -> str:
    return f"{x.item():.6g}" if x.dtype.kind not in "biu" else str(x.item())


def _range(array: Any) -> str:
    if array.size == 0:
        return "empty"
    if array.dtype.kind in "biu":
        return _number(array[()]) if not array.ndim else f"{_number(array.min())} .. {_number(array.max())}"
    if not array.ndim:
        return _number(array[()])
    finite = array[np.isfinite(array)]
    parts = [f"{_number(finite.min())} .. {_number(finite.max())}"] if finite.size else []
    nans, infs = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    parts += [f"{n} {kind}" for n, kind in ((nans, "NaN"), (infs, "inf")) if n]
    return ", ".join(parts)


def _steps_text(loc: Loc | None, steps: Sequence[Loc]) -> list[str]:
    """The way back to what the op was given, a line each: "computed from"."""
    lines: list[str] = []
    here = None if loc is None else (loc.of_user().file, loc.of_user().line)
    seen = set()
    for step in steps:
        place = step.of_user()
        key = (place.file, place.line, step.tag)
        if key in seen or key[:2] == here:
            continue
        seen.add(key)
        code = line_of(place.file, place.line).strip()
        code = code if len(code) <= _CODE_WIDTH else code[: _CODE_WIDTH - 3] + "..."
        tag = " (adjoint)" if step.tag == "adjoint" else ""
        lines.append(f"computed from {place.short}{tag}" + (f":  {code}" if code else ""))
    return lines


# ------------------------------------------------------------------------------------------------ advice
_DOUBLE = "bound its operand first, also where a `where` drops the result: `ops.log(ops.where(x > 0, x, 1.0))`"
_HINTS = {
    "log": f"log of 0 is -inf, of a negative number NaN: {_DOUBLE}; `log_softmax` for the log of a softmax",
    "sqrt": "the root of a negative number is NaN: `ops.sqrt(ops.maximum(x, 0.0))`",
    "rsqrt": "add a small number: `ops.rsqrt(x + eps)`",
    "div": "the divisor is 0, or too small: `x / (y + eps)`, or `x / ops.where(y != 0, y, 1.0)`",
    "exp": "exp overflows (float32: beyond 88.7, float16: 11.1): subtract the maximum, or use `softmax`, "
    "`log_softmax`, `logsumexp`, `softplus`; or `ops.clip` its operand",
    "pow": "a negative base with a broken exponent is NaN, 0 to a negative power is inf: `ops.maximum(x, eps) ** p`",
    "mul": "0 * inf is NaN, and large factors overflow: look where the operand that is not small comes from",
    "sub": "inf - inf is NaN: look where the infinities come from",
    "sum": "the sum overflows its dtype: add in float32 (float64), or take the mean of scaled numbers",
    "matmul": "the products overflow their dtype: scale the operands down, or compute in float32 (float64)",
    "cast": "the number is too large for the narrower dtype: scale it down (float16: at most 65504), or use bfloat16",
    "host_call": "the function that runs as plain Python returned it: check it there with `numpy.isfinite`",
    "acos": "its operand lies outside of -1 .. 1: `ops.clip(x, -1.0, 1.0)`",
    "inverse": "the matrix is singular: add a small multiple of the unit matrix",
}
_HINTS[_UNFOUND] = "see `converged` of the result: allow more steps or a looser `tol`, or take another method"
_HINTS |= {
    **dict.fromkeys(("log2", "log10", "log1p", "floored_log", "xlogy"), _HINTS["log"]),
    **dict.fromkeys(("reciprocal", "mod", "fmod", "floordiv"), _HINTS["div"]),
    **dict.fromkeys(("exp2", "expm1", "sinh", "cosh"), _HINTS["exp"]),
    **dict.fromkeys(("abs_power", "int_pow"), _HINTS["pow"]),
    **dict.fromkeys(("conv", "prod", "cumprod", "einsum", "product_sum"), _HINTS["matmul"]),
    **dict.fromkeys(("cumsum", "add"), "it overflows its dtype, or adds inf and -inf: look at the operands' ranges"),
    **dict.fromkeys(("asin", "acosh", "atanh", "erfinv"), "its operand lies outside of the function's domain: clip it"),
    **dict.fromkeys(("solve", "cholesky", "triangular_solve", "pinv", "det", "slogdet", "eigh"), _HINTS["inverse"]),
}
_GRADIENT = (
    "the derivative of this line has no finite value here, or the gradient that arrives has overflowed: look at the "
    "operands' ranges"
)
_GRADIENTS = {
    "sqrt": "the derivative of sqrt at 0 is inf, and 0 * inf NaN: `ops.sqrt(x + eps)`, or bound the operand first, "
    "`ops.sqrt(ops.where(x > 0, x, 1.0))`",
    "log": "the derivative of log at 0 is inf, also where a `where` drops the result: "
    "`ops.log(ops.where(x > 0, x, 1.0))`; `log_softmax` for the log of a softmax",
    "div": "the derivative of x / y contains 1 / y: `x / (y + eps)`, or `x / ops.where(y != 0, y, 1.0)`",
    "pow": "the derivative of a power below 1 is inf at 0: `ops.maximum(x, eps) ** p`",
    "euclidean_norm": "the norm has no derivative at 0: add eps inside, `ops.sqrt((x * x).sum() + eps)`",
    "exp": _HINTS["exp"],
}
_GRADIENTS |= {
    **dict.fromkeys(("log2", "log10", "log1p", "xlogy"), _GRADIENTS["log"]),
    **dict.fromkeys(("rsqrt", "cbrt"), _GRADIENTS["sqrt"]),
    **dict.fromkeys(("abs_power", "int_pow"), _GRADIENTS["pow"]),
    "reciprocal": _GRADIENTS["div"],
    "select": "a `where` drops the result of an arm, but not its derivative (0 * inf is NaN): bound the operand of "
    "that arm first",
}


_GIVEN = "look at the data, or replace what is missing before: `ops.where(ops.isnan(x), 0.0, x)`, `ops.nan_to_num(x)`"
_ANY = "look at the operands' ranges; where infinities are meant: `check_nonfinite(inf=False)`"


def _hint(origin: Origin, given: bool, adjoint: bool) -> str:
    if origin.name == _UNFOUND:
        return _HINTS[_UNFOUND]
    if given:
        return _GIVEN
    if adjoint and origin.forward:
        return _GRADIENTS.get(origin.forward, _GRADIENT)
    return _HINTS.get(origin.name, _GRADIENT if adjoint else _ANY)  # a rule of the user's says itself what it computes
