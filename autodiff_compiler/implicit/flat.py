"""Trees of Tensors as one vector, which the searches work on."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ops, tree
from ..ir.primitive import F
from ..runtime.tensor import Tensor
from .modes import Mode, from_source


class Solution(NamedTuple):
    """What a search found, and how it went.

    `converged` (a bool) says whether `residual`, the norm of what shall be zero, or the last step became small enough
    within the steps allowed.  A solution that did not converge has derivatives of NaN.
    """

    value: Any
    converged: Tensor
    iterations: Tensor
    residual: Tensor


@from_source
def itself(x: Any) -> Any:
    return x


@from_source
def flat(x: Any, what: str) -> Any:
    """The elements of a tree of Tensors of one float dtype."""
    found = tree.leaves(x)
    if len(found) == 0:
        raise TypeError(f"{what} holds no Tensor")
    for leaf in found:
        if not isinstance(leaf, Tensor):
            raise TypeError(f"{what} is made of Tensors of floats; one is a {type(leaf).__name__}: write `Tensor(x)`")
        if not leaf.dtype.is_float:
            raise TypeError(f"{what} is made of floats, not of {leaf.dtype}: cast it, `x.astype(ms.float32)`")
        if leaf.dtype != found[0].dtype:
            raise TypeError(
                f"{what} is made of Tensors of one dtype, not of {found[0].dtype} and {leaf.dtype}: cast one of them"
            )
    parts = [leaf.reshape(-1) for leaf in found]
    return parts[0] if len(parts) == 1 else ops.concat(parts)


@from_source
def shaped(v: Any, like: Any) -> Any:
    """A tree with the structure of another one, of the elements of a vector, or of each of several in rows."""
    found, form = tree.flatten(like)
    made = []
    at = 0
    for leaf in found:
        made.append(v[..., at : at + leaf.size].reshape((*v.shape[:-1], *leaf.shape)))
        at = at + leaf.size
    return tree.unflatten(form, made)


@from_source
def flat_like(y: Any, like: Any, what: str) -> Any:
    """The elements of a result that has to have the structure of `like`."""
    found, wanted = tree.leaves(y), tree.leaves(like)
    if isinstance(like, Tensor) and not isinstance(y, Tensor):
        raise TypeError(f"{what} is a {type(y).__name__}, and has to be a Tensor of shape {list(like.shape)}")
    if tree.structure(y) != tree.structure(like):
        raise TypeError(f"{what} is {tree.structure(y)}, and has to be {tree.structure(like)}")
    for a, b in zip(found, wanted, strict=True):
        if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype:
            raise TypeError(
                f"{what} is {a.dtype} of shape {list(a.shape)}, and has to be {b.dtype} of shape {list(b.shape)}"
            )
    return flat(y, what)


def on_vectors(mode: Mode, f: Any, like: Any, args: Any, what: str) -> Any:
    """``f(x, *args)``, of trees like `like` to such trees, as a function of vectors."""

    def run(v: Any) -> Any:
        return mode.call(flat_like, mode.call(f, mode.call(shaped, v, like), *args), like, what)

    return mode.function(run)


def or_nan(x: Any, converged: Any) -> Any:
    """The same, or NaN where a search did not converge; linear in x."""
    return F.if_converged(F.broadcast_to(converged, shape=x.shape), x)


@from_source
def scaled(g: Any, by: Any) -> Any:
    return g * by


@from_source
def default_tolerance(x: Any) -> float:
    """A relative error that a search in this dtype can get below."""
    name = str(x.dtype)
    return 2e-12 if "64" in name else 6e-6 if "32" in name else 4e-3
