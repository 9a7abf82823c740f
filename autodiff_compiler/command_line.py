"""What the command line needs before it begins, while the package is imported, and after its command is done.

Ctrl-C ends it quietly at any of these times, too.  So this is what is imported first, and it imports little itself.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

__all__ = ["INTERRUPTED", "INTERRUPTED_STATUS", "begin", "done", "end_quietly", "is_ours"]

#: What Ctrl-C is with ``--json``, and the exit status.
INTERRUPTED = {"class": "KeyboardInterrupt", "message": "interrupted by Ctrl-C"}
INTERRUPTED_STATUS = 130


def is_ours() -> bool:
    """Whether this process was started as our command line."""
    words = sys.argv or [""]
    # While Python looks for the module to run, "-m" stands where its path will stand.
    module = sys.orig_argv[-len(words)].removeprefix("-m") if words[0] == "-m" else ""
    return module == "autodiff_compiler" or os.path.basename(words[0]).startswith("autodiff-compiler")


def end_quietly() -> None:
    """From now on Ctrl-C ends the command line without a traceback; where it means something else already, it stays."""
    if is_ours() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
        # Registered first, it runs last: what then remains of the process must not be killed.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def begin() -> None:
    """The command begins: it is interrupted by KeyboardInterrupt, as Python is."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def done(status: int) -> None:
    """The command is done and has printed what it had to: Ctrl-C ends what is left of the process with its status."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(status))


def _end(*_: object) -> None:
    words = sys.argv[1:]
    programs = words[:1] == ["run"] and not any(word.endswith(".ir") for word in words)  # whose option it is then
    if "--json" in words and not programs:
        rows = "".join(f',\n    "{key}": "{value}"' for key, value in INTERRUPTED.items())
        os.write(1, f'{{\n  "error": {{\n    "code": null{rows}\n  }}\n}}\n'.encode())
    os._exit(INTERRUPTED_STATUS)
