"""Eager mode: primitives run at once on Tensors and are recorded on tapes for the derivatives.

Importing this package gives `Tensor` its operators and methods.
"""

from __future__ import annotations

from ..config import context, watchers
from ..locks import Lock
from ..runtime.trees import leaves
from . import numpy_protocol as numpy_protocol  # importing it gives Tensors the protocol
from .execute import alias, run
from .grad import Tape, differentiate, vjp
from .operators import add_in_place, add_method, assign, assignable
from .tape import Watcher, record, tracked, unwatch, watch

__all__ = [
    "Tape",
    "add_in_place",
    "add_method",
    "alias",
    "assign",
    "assignable",
    "differentiate",
    "leaves",
    "record",
    "run",
    "tracked",
    "vjp",
]


#: the observer that looks for NaN (and infinities), and the setting that it was made for
_looking: list[tuple[bool | str, Watcher]] = []
_settling = Lock()


def _settings_changed() -> None:
    with _settling:
        asked = context.check_nonfinite
        if _looking and _looking[0][0] == asked:
            return
        while _looking:
            unwatch(_looking.pop()[1])
        if asked:
            from .nonfinite import looking  # loaded only if it is asked for

            _looking.append((asked, looking(nan_only=asked == "nan")))
            watch(_looking[0][1])


watchers.append(_settings_changed)
_settings_changed()  # the environment may have asked for it
