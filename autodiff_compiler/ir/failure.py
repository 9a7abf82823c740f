"""Reports of failed compilations: a file of IR with the failing op marked, and InternalCompilerError for our own."""

from __future__ import annotations

import dis
import itertools
import linecache
import os
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import escape
from ..errors import CompileError, InternalCompilerError
from ..locks import Lock
from ..source import Loc
from ..whole_files import write_text
from .core import Block, Function, Module, Op
from .graphs_folder import graphs_folder, writing_graphs
from .printer import FunctionPrinter, print_module
from .walk import ops_of

_PACKAGE = str(Path(__file__).resolve().parents[1])
_numbers = itertools.count()
_lock = Lock()
#: By process: a forked one has its own.
_folders: dict[int, Path] = {}
#: Layers whose lookups are of our own tables only.
_BELOW_FRONTEND = ("ir", "primitives", "autodiff", "passes", "backends", "compiler")


def failing_op(error: BaseException) -> Op | None:
    """The op that was at work when an exception was raised: the innermost one that a frame knows."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        for value in frame.f_locals.values():
            if isinstance(value, Op) and value.loc is not None:
                return value
    return None


def op_of(module: Module, error: CompileError) -> Op | None:
    """The op of a module that a user's error is about: the one at work, or the first of its line."""
    op = failing_op(error)
    ops = [o for function in module for o in ops_of(function.body)]
    if op in ops or error.loc is None:
        return op
    return next((o for o in ops if o.loc is not None and o.loc[:3] == error.loc[:3]), op)


def place_of(error: BaseException, module: Module) -> Loc | None:
    """The place in the user's file that was at work, or the first of the program."""
    op = failing_op(error)
    loc: Loc | None = getattr(error, "loc", None) or (op.loc if op is not None else module.entry.loc)
    return loc or next((o.loc for o in module.entry.body.ops if o.loc is not None), None)


def is_ours(error: BaseException) -> bool:
    """Whether an exception met while a user's code was read is a mistake of ours and not what Python says of that code.

    Static operations run in our frames too, so only what they cannot raise there counts.
    """
    if isinstance(error, CompileError) or error.__traceback__ is None:
        return isinstance(error, InternalCompilerError)
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    if not code.co_filename.startswith(_PACKAGE):
        return False
    if isinstance(error, AssertionError):
        return linecache.getline(code.co_filename, last.tb_lineno).lstrip().startswith("assert ")
    if dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS":  # somebody meant to say so
        return False
    if isinstance(error, AttributeError):
        return type(error.obj).__module__.startswith(f"{__package__.partition('.')[0]}.")
    layer = Path(code.co_filename).relative_to(_PACKAGE).parts[0]
    return isinstance(error, NameError) or (isinstance(error, KeyError | IndexError) and layer in _BELOW_FRONTEND)


def marked(module: Module, op: Op | None, note: str) -> str:
    """The text of a module with a note behind an op, or at its head where the op is none of the module's."""
    if op is not None and any(op is other for function in module for other in ops_of(function.body)):
        return _text(module, {op: f"<-- {_on_one_line(note)}"})
    at = escape.ascii_line(f" ({op.defn.name} @ {op.loc})") if op is not None else ""
    return f"// {escape.ascii_line(_on_one_line(note))}{at}\n{_text(module)}"


def _text(module: Module, notes: dict[Op | Block, str] | None = None) -> str:
    try:
        return print_module(module, notes)
    except Exception as error:  # a module too broken to be printed must not hide what broke it
        return f"// the module cannot be printed: {escape.ascii_line(repr(error))}\n"


def unfinished(module: Module, entry: Function, blocks: list[Block], note: str) -> str:
    """The text of a module that is being built: the blocks are the open ones of its entry, the outermost first."""
    printer = FunctionPrinter()
    printer.function(entry)
    lines = printer.lines[:-2]  # the end is not reached yet
    for depth, block in enumerate(blocks, 1):
        pad, printer.lines = "  " * (depth + 1), []
        arguments = f" of {printer._definitions(block.args)}" if block.args else ""
        head = f"{'  ' * depth}// in a block{arguments}"
        printer._ops(block, pad)
        lines += [head, *printer.lines]
    lines.append(f"{'  ' * (len(blocks) + 1)}// <-- {_on_one_line(note)}")
    return f"{_text(module)}\n".lstrip() + "\n".join(lines) + "\n}\n"


def leave(folder: Path | None, name: str, text: str) -> str:
    """Writes a file to a folder (that for the reports of this process for None), as a whole; returns its path."""
    if folder is None:
        folder, name = reports_folder(), f"{next(_numbers):03d}_{name}"
    path = folder / name
    with writing_graphs():
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return str(path)


def reports_folder() -> Path:
    """The temporary folder of this process that takes the reports of failures."""
    with _lock:
        made = _folders.get(os.getpid())
        if made is None or not made.is_dir():
            made = _folders[os.getpid()] = Path(tempfile.mkdtemp(prefix="autodiff_compiler_"))
        return made


def internal_error(error: BaseException, what: str, stage: str, files: list[str], loc: Loc | None) -> CompileError:
    """The error that stands for an exception of our own; to be raised from it."""
    kind = "" if isinstance(error, CompileError) else f"{type(error).__name__}: "
    message = error.message if isinstance(error, CompileError) else str(error)
    loc = loc.of_user() if loc is not None else None
    return InternalCompilerError(
        f"{what}: {kind}{message}",
        spans=[(loc, "while this was compiled")] if loc is not None else (),
        notes=[f"stage: {stage}", f"left for a report: {' and '.join(files)}"],
        hint="this is a mistake of the compiler: please report it with the file; `disable_jit()` runs the code eagerly",
        stage=stage,
    )


@contextmanager
def stage(name: str, module: Module) -> Iterator[None]:
    """Turns any exception that is no refusal of the user's program into InternalCompilerError; leaves the module."""
    try:
        yield
    except Exception as error:
        folder, entry = graphs_folder(), escape.file_name(module.entry.name)
        refused = isinstance(error, CompileError | RecursionError) and not isinstance(error, InternalCompilerError)
        if refused and isinstance(error, CompileError) and folder is not None:
            text = marked(module, op_of(module, error), error.message)
            path = leave(folder, f"failed_{next(_numbers):03d}_{entry}_{name}.ir", text)
            error.notes += (f"the program as it was then: {path}",)
        if refused or (isinstance(error, InternalCompilerError) and error.stage):
            raise
        text = marked(module, failing_op(error), f"{type(error).__name__}: {error}")
        stem = f"failed_{next(_numbers):03d}_{entry}_" if folder is not None else ""
        file = leave(folder, f"{stem}{name}.ir", f"{text}\n{history_of(error)}")
        raise internal_error(error, f"the {name} failed", name, [file], place_of(error, module)) from error


def history_of(error: BaseException) -> str:
    """The traceback as comment lines of IR."""
    text = "".join(traceback.format_exception(error))
    return "".join(f"// {escape.ascii_line(line)}\n" for line in text.split("\n")[:-1])


def _on_one_line(text: str) -> str:
    return escape.ascii_line(text.partition("\n")[0])
