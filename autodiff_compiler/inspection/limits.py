"""How fast this machine is, as far as it was measured: what estimates of cost are made of."""

from __future__ import annotations

from ..backends.native.machine import why_not
from .machine_limits import known_limits, machine_limits

__all__ = ["environment"]


def environment(*, measure: bool = False) -> dict[str, str]:
    """The limits of one thread in the code of the best backend there is; `measure` takes a second."""
    backend = "numpy" if why_not() is not None else "native"
    found = machine_limits(backend, measure=True) if measure else known_limits(backend)
    if found is None:
        return {"state": "not measured yet; `env --measure`, or the first artifact.cost(), does it"}
    return {"backend": backend, **found.summary()}
