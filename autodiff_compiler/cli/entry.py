"""Parses the command line, runs the command, prints its result and returns the exit status."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from .. import command_line, escape
from ..environment import colours_wanted, flag, wrong_usage
from ..errors import CompileError, leave_user_frames, nearest
from ..source import look_at
from ..version import __version__
from . import (
    bench,
    cache,
    check,
    colour,
    compare,
    diff,
    dump,
    env,
    explain,
    gradcheck,
    launch,
    profile,
    run,
    selftest,
    view,
)
from .command import Command, Result, Usage, advice

COMMANDS: tuple[Command, ...] = (
    run.COMMAND,
    dump.COMMAND,
    view.COMMAND,
    check.COMMAND,
    explain.COMMAND,
    gradcheck.COMMAND,
    bench.COMMAND,
    profile.COMMAND,
    diff.COMMAND,
    compare.COMMAND,
    launch.COMMAND,
    env.COMMAND,
    cache.COMMAND,
    selftest.COMMAND,
)
_WHAT = "Shows what programs become, checks and measures them, and runs those that were written for MindSpore."
_STATUS = (
    "exit status: 0 done; 1 the program was refused or raised an exception, a check failed, or two things differ; "
    "2 wrong usage, or a file that is not what the command reads; 130 interrupted by Ctrl-C"
)

#: Names that other tools give to the option for an output file.
_OUTPUT = frozenset({"-o", "--file", "--out", "--output", "--save", "--write"})


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status (0 done, 1 refused, failed or different, 2 wrong usage)."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((c for c in COMMANDS if words[:1] == [c.name]), None)
    as_json = "--json" in words
    if command is not None and command.direct is not None:
        try:
            status = command.direct(words[1:])
        except Usage as error:
            return _print(_wrong(error), as_json)
        if status is not None:
            return status
    try:
        status = _done(words, as_json)
        if argv is None:
            command_line.done(status)
    except KeyboardInterrupt:  # a document that is written in part is followed by no other
        status = command_line.INTERRUPTED_STATUS
    except SystemExit as ended:  # of argparse, after --help or --version
        status = int(ended.code or 0)
    return status


def _done(words: Sequence[str], as_json: bool) -> int:
    """Runs a command, prints its result and returns the exit status."""
    try:
        command_line.begin()
        result = _result(words)
    except KeyboardInterrupt:
        if not as_json:
            return command_line.INTERRUPTED_STATUS
        result = _failed("", dict(command_line.INTERRUPTED), command_line.INTERRUPTED_STATUS)
    return _print(result, as_json)


def _result(words: Sequence[str]) -> Result:
    """The result of a command, errors included."""
    try:
        if words and not words[0].startswith("-"):
            _known(words[0])
        options, unknown = _parser().parse_known_args(words)
        if unknown:
            raise Usage(_too_much(options.command, unknown[0]))
        from ..mindspore_names import as_mindspore  # not for --help: it loads all public modules

        # The files looked at may be MindSpore users'; what they print is no part of the output.
        with as_mindspore(), contextlib.redirect_stdout(sys.stderr), _descriptor_redirected():
            return options.command.run(options)
    except CompileError as error:
        return _failed(error.render(), error.to_dict(), 1)
    except Usage as error:
        return _wrong(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # what the program itself raises: its message says more than our frames
        if flag("AC_FULL_TRACEBACK"):
            raise
        notes = list(getattr(error, "__notes__", ()))
        place, message = _raised_at(error), _message(error)
        text = "\n".join([f"{type(error).__name__}: {message}", *notes, *([f"  at {place}"] if place else [])])
        data = {"class": type(error).__name__, "message": message, "notes": notes, "place": place}
        return _failed(text, data, 1)
    finally:
        look_at(None)


@contextlib.contextmanager
def _descriptor_redirected() -> Iterator[None]:
    """Redirects file descriptor 1 to standard error: C code and child processes write there past Python."""
    try:
        _flush()
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        with contextlib.suppress(OSError):  # there is no standard error
            os.dup2(2, 1)
        yield
    finally:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)


def _flush() -> None:
    """Flushes Python's own standard output, also while it is replaced."""
    if sys.__stdout__ is not None and not sys.__stdout__.closed:
        sys.__stdout__.flush()


def _wrong(error: Usage) -> Result:
    return _failed(f"autodiff_compiler: {error}", wrong_usage(str(error)), 2)


def _failed(text: str, data: dict[str, Any], status: int) -> Result:
    return Result(text, {"error": {"code": None, **data}}, status, colour.error)


def _message(error: BaseException) -> str:
    """The message of an exception, whose `__str__` may raise."""
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _raised_at(error: BaseException) -> str | None:
    """The line of the user's that raised, as ``file:line``."""
    leave_user_frames(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return f"{name}:{trace.tb_lineno}" if trace is not None and os.path.isfile(name) else None


def _print(result: Result, as_json: bool) -> int:
    failed = isinstance(result.data, dict) and result.data.keys() == {"error"}
    if as_json:
        stream, text = sys.stdout, json.dumps(_plain(result.data), indent=2, default=str)
    else:
        stream, text = sys.stderr if failed else sys.stdout, result.text
        if stream is not None and stream.isatty():  # a name or a line of a file must not command the terminal
            text = escape.lines(text)
        if result.paint is not None and colours_wanted(stream):
            text = result.paint(text)
    try:
        _write(stream, text + "\n")
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _give_up(stream)
    except OSError as error:  # a full disk, or no stream at all
        _give_up(stream)
        if stream is not sys.stderr:
            with contextlib.suppress(OSError):
                _write(sys.stderr, f"autodiff_compiler: the output cannot be written: {error.strerror}\n")
        return result.status or 1
    return result.status


def _give_up(stream: Any) -> None:
    """Points a broken stream at the null device, so that the flush at exit succeeds."""
    if stream is not None:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())


def _write(stream: Any, text: str) -> None:
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # a terminal of another language, or a name that is no text
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(text)
    stream.flush()


def _plain(data: Any) -> Any:
    """Data as JSON allows it: infinities and NaN as "inf", "-inf" and "nan"."""
    data = data._asdict() if hasattr(data, "_asdict") else data
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    return str(data) if isinstance(data, float) and not abs(data) < float("inf") else data


# ------------------------------------------------------------------------------------------------ the parser
class _Parser(argparse.ArgumentParser):
    """Raises Usage for wrong usage, which is then printed as text or JSON."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message}; `{self.prog} --help` says what there is")


def _known(name: str) -> None:
    names = [command.name for command in COMMANDS]
    if name not in names:
        raise Usage(f"there is no command {name!r}{advice(name, names, 'there are ' + ', '.join(names))}")


def _too_much(command: Command, word: str) -> str:
    """The message for a word that a command does not take, with the nearest option."""
    listed = f"; `{_prog()} {command.name} --help` says what there is"
    options = {name: argument.options for argument in command.arguments for name in argument.names if name[0] == "-"}
    if not word.startswith("-"):
        together = '; in --args several are one word: --args "f32[2] f32[3]"' if "--args" in options else ""
        return f"{command.name} has no use for {word}{together}{listed}"
    name = word.partition("=")[0]
    near = nearest(name, options)
    if not near and name in _OUTPUT:
        near = [n for n, how in options.items() if n.startswith("--") and how.get("metavar") in ("FILE", "PATH")]
    meant = " or ".join([f"{n} {options[n].get('metavar', '')}".rstrip() for n in near])
    return f"{command.name} has no option {name}{f'; did you mean {meant}?' if meant else ''}{listed}"


def _prog() -> str:
    console = os.path.basename(sys.argv[0]).startswith("autodiff-compiler")
    return "autodiff-compiler" if console else "python -m autodiff_compiler"


def _parser() -> argparse.ArgumentParser:
    prog = _prog()
    raw = argparse.RawDescriptionHelpFormatter
    kept: dict[str, Any] = {"formatter_class": raw, "allow_abbrev": False}  # --json is looked for by its name
    parser = _Parser(prog=prog, description=_WHAT, epilog=_filled(_STATUS), **kept)
    parser.add_argument("--version", action="version", version=f"autodiff_compiler {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command", parser_class=_Parser)
    for command in COMMANDS:
        lines = ["examples:", *(f"  {prog} {example}" for example in command.examples), "", _filled(_STATUS)]
        description = _filled(f"{command.help[0].upper()}{command.help[1:]}. {command.description}".rstrip())
        inner = commands.add_parser(
            command.name,
            help=command.help,
            description=description,
            epilog="\n".join(lines),
            **kept,
            usage=command.usage and f"{prog} {command.usage}",
        )
        for argument in command.arguments:
            inner.add_argument(*argument.names, **argument.options)
        inner.add_argument("--json", action="store_true", help="print one JSON document")
        inner.set_defaults(command=command)
    return parser


def _filled(text: str) -> str:
    return textwrap.fill(text, max(40, min(shutil.get_terminal_size().columns, 120) - 2), break_on_hyphens=False)
