"""`compare`: what two functions cost, or one for two backends, line by line, and what is decided otherwise."""

from __future__ import annotations

import copy
from argparse import Namespace
from typing import Any

from .command import Argument, Command, Result, Usage
from .saved import writing
from .targets import BACKEND, GRAD, LOADED, MAKE, Files, artifact_of, asked_backend
from .values import ARGS


def _compared(options: Namespace) -> Result:
    if (options.second is None) == (options.against is None):
        raise Usage("a function is compared with another one, or with itself for another backend: --against numpy")
    files = Files()
    made = []
    for target, backend in ((options.first, options.backend), (options.second or options.first, options.against)):
        with asked_backend(side := _side(options, target, backend or options.backend)):
            artifact = artifact_of(side, files, drawn=options.timing)
            made.append((artifact, _timed(artifact, target) if options.timing else None))
    (before, took), (after, takes) = made
    names = (options.first, options.second) if options.second else None
    comparison = before.compare(after, names, (took, takes) if options.timing else None)
    if options.html is not None:
        with writing(options, options.html):
            comparison.to_html(options.html)
    text = str(comparison).rstrip("\n") + (f"\n\n{options.html}" if options.html else "")
    return Result(text, {"names": list(comparison.names), **_data(comparison), "html": options.html})


def _timed(artifact: Any, target: str) -> Any:
    try:
        return artifact.timing()
    except Exception as error:
        error.add_note(
            f"  so {target} cannot be timed with these arguments: give others (--args, --make), or leave out --timing"
        )
        raise


def _side(options: Namespace, target: str, backend: str | None) -> Namespace:
    side = copy.copy(options)
    side.target, side.backend = target, backend
    return side


def _data(comparison: Any) -> dict[str, Any]:
    return {
        "measured": comparison.measured,
        "figures": {x.what: [x.before, x.after] for x in comparison.figures},
        "lines": [{"line": x.place, "source": x.text, "seconds": list(x.seconds)} for x in comparison.lines],
        "decisions": [x._asdict() for x in comparison.decisions],
    }


COMMAND = Command(
    "compare",
    "show what two functions cost, or one for two backends, line by line, and what is decided otherwise",
    _compared,
    [
        Argument("first", help="file.py:function, file.py:Class.method, or module:function"),
        Argument("second", nargs="?", help="what it is compared with"),
        ARGS,
        MAKE,
        GRAD,
        BACKEND,
        Argument(
            "--against", choices=("native", "numpy"), help="compare with the same function, compiled for this backend"
        ),
        Argument("--timing", action="store_true", help="run both on random arguments: times are measured"),
        Argument("--html", metavar="FILE", help="write a page with both programs line beside line"),
    ],
    f"Texts alone are compared by `diff`. {LOADED}",
    [
        'compare before.py:loss after.py:loss --args "f32[32,784] i64[32]" --grad 0 --html changes.html',
        'compare model.py:f --args "f32[64,64]" --against numpy --timing',
    ],
)
