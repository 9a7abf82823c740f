"""Linear maps that transforms return: pullbacks, and maps of tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import GradientError

__all__ = ["LinearMap", "belongs_to_run", "made_eagerly"]


class LinearMap:
    """A pullback or a tangent map that compiled code made: what runs is `__graph_call__`."""

    def __call__(self, *_: Any) -> Any:
        raise GradientError(
            "a pullback or linear map that compiled code made exists only there",
            code="AC1710",
            hint="return what it gives",
        )


def made_eagerly(function: Callable[..., Any], maker: str) -> Callable[..., Any]:
    """The function, with what compiled code says when it meets it: it holds a run, which has no source to compile."""

    def refuse(ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise GradientError(
            f"what `{maker}` returned outside of compiled code cannot be called in it: it holds the values of one run",
            code="AC1710",
            hint=f"call `{maker}` in the compiled function too, or what it returned outside",
        )

    function.__graph_call__ = refuse  # type: ignore[attr-defined]
    function.__run__ = maker  # type: ignore[attr-defined]
    return function


def belongs_to_run(function: Any) -> bool:
    """Whether a function is such a map: it runs eagerly in GRAPH_MODE, too."""
    return hasattr(function, "__run__")
