"""Keywords of other frameworks: what to write here, said by the TypeError for an argument that a function lacks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

__all__ = ["KEYWORDS", "advise", "answering", "refuse", "refuse_peers", "refuse_unknown"]

_PACKAGE = __name__.partition(".")[0] + "."
_F = TypeVar("_F", bound=Callable[..., Any])
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'$")
_DEVICE = "the device is that of the context: `ms.set_device('CPU')` or `ms.set_device('Ascend')`"
_STATIC = "numbers and strings are constants of a compilation as they are, and `mutable(n)` makes an input of a number"

#: By keyword: the parameters of the same meaning, or a sentence where there is none.
KEYWORDS: dict[str, tuple[str, ...] | str] = {
    "allow_int": "integer Tensors are variables like others",
    "amsgrad": ("use_amsgrad",),
    "argnums": ("grad_position",),
    "axis": ("dim",),
    "betas": ("beta1", "beta2"),
    "bias": ("has_bias",),
    "create_graph": "a derivative is a function, so `ms.grad(ms.grad(fn))` is the second",
    "device": _DEVICE,
    "dim": ("axis",),
    "donate_argnums": "nothing is to be donated: Parameters are written in place, and dead Tensors are reused",
    "elementwise_affine": "LayerNorm always has `gamma` and `beta`: `requires_grad = False` freezes one",
    "generator": "random numbers follow `ms.set_seed(n)`",
    "in_dims": ("in_axes",),
    "in_features": ("in_channels",),
    "inplace": "Cells return new Tensors; `x.add_(y)` and the like write in place",
    "keep_dims": ("keepdim", "keepdims"),
    "keepdim": ("keepdims", "keep_dims"),
    "keepdims": ("keepdim", "keep_dims"),
    "lr": ("learning_rate",),
    "num_embeddings": ("vocab_size",),
    "embedding_dim": ("embedding_size",),
    "out_dims": ("out_axes",),
    "out_features": ("out_channels",),
    "requires_grad": "derivatives are taken by arguments, `ms.grad(fn)(x)`; weights are a `ms.Parameter`",
    "retain_graph": "nothing is kept from one derivative to the next",
    "static_argnames": _STATIC,
    "static_argnums": _STATIC,
    "track_running_stats": "`use_batch_statistics=True` is what `track_running_stats=False` says",
    "unbiased": ("ddof", "correction"),
}


def _advice(name: str, taken: Iterable[str]) -> str:
    """What to write instead of a keyword in a call of a function with these parameters; "" if nothing is known."""
    meant = KEYWORDS.get(name, ())
    if isinstance(meant, str):
        return meant
    taken = set(taken)
    names = " and ".join(f"`{m}`" for m in meant if m in taken)
    return names and f"write {names}"


def refuse(function: str, unknown: Mapping[str, Any], taken: Iterable[str]) -> NoReturn:
    """Raises the TypeError for the first keyword of `unknown`, which is none of the parameters `taken`."""
    name = next(iter(unknown))
    advice = _advice(name, taken)
    raise TypeError(f"{function}() got an unexpected keyword argument {name!r}" + (f": {advice}" if advice else ""))


def refuse_unknown(function: Callable[..., Any], unknown: Mapping[str, Any]) -> NoReturn:
    """Raises the TypeError for what came to the parameter `unknown` of an `answering` function."""
    refuse(function.__qualname__, unknown, inspect.signature(function).parameters)


def refuse_peers(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raises the TypeError for the first keyword of other frameworks which a function of this package does not take."""
    if not KEYWORDS.keys() & given.keys() or not function.__module__.startswith(_PACKAGE):
        return
    taken = inspect.signature(function).parameters
    unknown = {name: value for name, value in given.items() if name in KEYWORDS and name not in taken}
    if unknown:
        refuse(function.__qualname__, unknown, taken)


def answering(function: _F) -> _F:
    """Hides the parameter `**unknown` of a public function, which passes it to `refuse_unknown`.

    A decorator that wraps would cost each call a frame.
    """
    shown = inspect.signature(function)
    kept = [p for p in shown.parameters.values() if p.name != "unknown"]
    function.__signature__ = shown.replace(parameters=kept)  # type: ignore[attr-defined]
    return function


def advise(error: TypeError, function: Any) -> None:
    """Adds to Python's own error for an unexpected keyword what to write in its place."""
    found = _UNEXPECTED.search(str(error))
    if found is None:
        return
    try:
        taken: Iterable[str] = inspect.signature(function).parameters
    except (TypeError, ValueError):  # one that C defines
        return
    advice = "" if found[1] in taken else _advice(found[1], taken)
    if advice:
        called = f"{function.__qualname__}{'.__init__' if isinstance(function, type) else ''}"
        error.args = (f"{called}() {found[0]}: {advice}",)
