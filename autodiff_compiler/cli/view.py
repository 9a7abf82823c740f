"""`view`: the report of a compiled function, in a browser."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from pathlib import Path

from .command import Argument, Command, Result
from .saved import write_report
from .targets import BACKEND, GRAD, LOADED, MAKE, TARGET, artifact_of, asked_backend, name_in
from .values import ARGS


def _view(options: Namespace) -> Result:
    import webbrowser

    with asked_backend(options):
        artifact = artifact_of(options, drawn=options.timing)
        timing = artifact.timing() if options.timing else None
        path = options.output
        if path is None:  # which stays: the browser reads it after this process ends
            handle, path = tempfile.mkstemp(".html", f"{name_in(options.target)}_")
            os.close(handle)
        write_report(options, path, artifact, timing)
    opened = not options.no_open and webbrowser.open(Path(path).resolve().as_uri())
    note = "" if opened or options.no_open else "\nno browser was found: open this file in one"
    return Result(path + note, {"file": path, "opened": opened})


COMMAND = Command(
    "view",
    "show source, IR and generated code of a function side by side in a browser",
    _view,
    [
        TARGET,
        ARGS,
        MAKE,
        GRAD,
        BACKEND,
        Argument("--timing", action="store_true", help="run it on random arguments, and show the times measured"),
        Argument("--output", "-o", metavar="FILE", help="write the report to this file, not to a temporary one"),
        Argument("--no-open", action="store_true", help="write the report only, and say where it is"),
    ],
    f"The report is one file that needs no network. {LOADED}",
    ['view model.py:loss --args "f32[32,784] i64[32]" --grad 0', 'view model.py:f --args "f32[8]" -o f.html --no-open'],
)
