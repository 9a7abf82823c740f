"""`check`: everything in a file that cannot be compiled."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence

from ..errors import CompileError
from . import colour
from .command import Argument, Command, Result, Usage, advice, no_file
from .report import count
from .targets import LOADED, MAKE, artifact_of, nested_too_deeply
from .values import ARGS


def _checked(options: Namespace) -> Result:
    from ..inspection.check import check_file  # not for --help: it loads the frontend

    path, name = options.target, None
    if not os.path.exists(path):
        path, _, name = path.rpartition(":")
    if not os.path.isfile(path):
        path = path or options.target
        raise Usage(f"{path} is a folder, not a file") if os.path.isdir(path) else no_file(path)
    if options.args is not None and name is None:
        raise Usage("--args needs a function: write file.py:function")
    if options.make is not None and options.args is None:
        raise Usage("--make is for compiling: write --args, too")
    try:
        found = check_file(path, name, everything=options.all)
    except KeyError:
        everything = check_file(path, everything=True).functions
        raise Usage(f"{path} has no function {name!r}{advice(str(name), everything)}") from None
    except MemoryError:
        raise nested_too_deeply(path) from None
    except (SyntaxError, ValueError, LookupError) as error:  # null bytes are a ValueError, rot13 a LookupError
        raise Usage(f"{path} is not Python: {error}") from None
    errors = list(found.errors)
    failure = None
    if options.args is not None:
        more, failure = _compiled(options, errors)
        errors += more
    counts = f"{count(len(errors), 'problem')} in {count(len(found.functions), 'function')} of {path}"
    if not found.functions:
        counts += ": none is decorated with jit, given to it, or the construct of a Cell; --all looks at every one"
    raised = [f"not compiled: {failure}"] if failure else []
    data = {"file": path, "functions": found.functions, "errors": [e.to_dict() for e in errors], "raised": failure}
    text = "\n\n".join([*[e.render() for e in errors], *raised, counts])
    return Result(text, data, int(bool(errors or failure)), colour.error)


def _compiled(options: Namespace, known: Sequence[CompileError]) -> tuple[list[CompileError], str | None]:
    """What compilation refuses besides (one error at most, as it stops at the first), or what the file raises."""
    try:
        artifact_of(options)
    except CompileError as error:
        places = {(e.code, e.loc and e.loc[1:3]) for e in known}
        return [] if (error.code, error.loc and error.loc[1:3]) in places else [error], None
    except Usage:
        raise
    except Exception as error:
        return [], f"{type(error).__name__}: {error}"
    return [], None


COMMAND = Command(
    "check",
    "list everything in a file that cannot be compiled",
    _checked,
    [
        Argument("target", help="file.py, file.py:function or file.py:Class.method"),
        ARGS,
        MAKE,
        Argument("--all", action="store_true", help="look at every function of the file"),
    ],
    "Looked at are the functions and lambdas decorated with jit or given to it, every Cell's construct, and what these "
    "call in the same file. The file is read, not imported; with --args it is imported, and the function compiled "
    f"too. {LOADED}",
    ["check model.py", 'check model.py:Net --make "Net(3, 1)" --args "f32[8,3]"'],
)
