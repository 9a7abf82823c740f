"""``python -m autodiff_compiler``: runs a program of MindSpore's (`run`), shows what a function becomes (`dump`), what
cannot be compiled in a file (`check`), what an error code means (`explain`), what there is of devices (`env`),
what machine code is kept (`cache`), and whether an Ascend device does all that it should (`ascend-selftest`)."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from .catalogue import CATALOGUE, explain
from .compiler.figures import size
from .dtypes import BY_SHORT
from .environment import flag
from .errors import CompileError
from .mindspore_names import as_mindspore

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status (0 done, 1 the program was refused, 2 wrong usage)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["run"] and arguments[1:2] not in (["-h"], ["--help"]):
        return _run(arguments[1:])  # whose arguments are the program's own
    options = _parser().parse_args(arguments)
    status = 0
    try:
        with as_mindspore():  # the files looked at may be MindSpore users'
            text = options.run(options)
        if isinstance(text, tuple):
            text, status = text
    except CompileError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except (_Usage, FileNotFoundError) as error:
        print(f"autodiff_compiler: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # what the program itself raises: its message says more than our frames
        if flag("AC_FULL_TRACEBACK"):
            raise
        print("\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 1
    try:
        print(text)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


class _Usage(Exception):
    """The command line names something that does not exist."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autodiff_compiler", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    run = commands.add_parser(
        "run",
        help="run a program in which `import mindspore` means this package",
        description="Runs a program as `python script.py argument ...` does, unchanged, with `import mindspore` "
        "meaning this package. MindSpore need not be installed.",
        usage="python -m autodiff_compiler run (script.py | folder | -m module) [argument ...]",
    )
    run.add_argument("program", nargs=argparse.REMAINDER, help="a script, a folder with a __main__.py, or -m module")
    dump = commands.add_parser("dump", help="print the IR and the generated code of a function")
    dump.add_argument("target", help="file.py:function")
    dump.add_argument("--args", default="", help='types of the arguments, e.g. "f32[32,784] i64[32] 3 True"')
    dump.add_argument(
        "--grad", type=int, action="append", metavar="N", help="dump the derivative by argument N (may be repeated)"
    )
    dump.add_argument("--backend", choices=("auto", "native", "numpy"), help="which backend makes the code")
    dump.add_argument("--stage", default="opt", help="source, front, adjoint, opt, plan, code, explain or all")
    dump.set_defaults(run=_dump)
    explanation = commands.add_parser("explain", help="what an error code means and what to do")
    explanation.add_argument("code", nargs="?", help="e.g. AC1402; without it all codes are listed")
    explanation.add_argument("--json", action="store_true", help="as JSON")
    explanation.set_defaults(run=_explained)
    check = commands.add_parser(
        "check",
        help="list everything in a file that cannot be compiled",
        description="Lists every construct, name and call that cannot be compiled in the functions and lambdas "
        "decorated with jit or given to it, in every Cell's construct, and in what these call in the same file. The "
        "file is read, not imported; with --args it is imported, and the function compiled too. Exit status: 0 clean, "
        "1 refused, 2 wrong usage.",
    )
    check.add_argument("target", help="file.py, file.py:function or file.py:Class.method")
    check.add_argument("--args", help='compile the function for these types, e.g. "f32[32,784] i64[32] 3 True"')
    check.add_argument("--all", action="store_true", help="look at every function of the file")
    check.add_argument("--json", action="store_true", help="as JSON")
    check.set_defaults(run=_checked)
    _of_machines(commands)
    return parser


def _of_machines(commands: Any) -> None:
    """The commands about the processor, its machine code, and devices."""
    env = commands.add_parser(
        "env", help="versions, and what is found of this processor and of an Ascend device or why neither can be used"
    )
    env.add_argument("--measure", action="store_true", help="measure how fast this machine is, for estimates of cost")
    env.add_argument("--json", action="store_true", help="as JSON")
    env.set_defaults(run=_environment)
    cache = commands.add_parser(
        "cache",
        help="what machine code is kept on disk",
        description="Machine code is kept on disk, so that a program is compiled once for each machine: in "
        "AC_CACHE_DIR, else the user's cache folder, up to AC_CACHE_SIZE (1G). AC_CACHE=0 switches that off.",
    )
    cache.add_argument("action", choices=("info", "clear"), help="show what is kept, or remove it")
    cache.add_argument("--json", action="store_true", help="as JSON")
    cache.set_defaults(run=_cache)
    selftest = commands.add_parser(
        "ascend-selftest",
        help="test an Ascend device in stages and print one report",
        description="Tests an Ascend device from its libraries to training, in stages that go on where they can when "
        "one fails. The report is for sharing: it names the environment, what is missing, and each operator's error. "
        "Exit status: 0 all stages passed, 1 some did not.",
    )
    selftest.add_argument("--device", type=int, default=0, metavar="N", help="the device's number (0)")
    selftest.add_argument("--json", action="store_true", help="as JSON, with the error of every operator and dtype")
    selftest.add_argument("--out", metavar="FILE", help="write the report as JSON to a file too")
    selftest.set_defaults(run=_self_tested)


def _run(arguments: Sequence[str]) -> int:
    """Runs a program; what it raises is its own."""
    from .mindspore_names.script import NoProgram, run

    try:
        run(arguments)
    except NoProgram as error:
        print(f"autodiff_compiler: {error}", file=sys.stderr)
        return 2
    return 0


def _explained(options: Any) -> str:
    codes = [options.code] if options.code else list(CATALOGUE)
    try:
        texts = [explain(code) for code in codes]
    except KeyError:
        raise _Usage(f"there is no error code {options.code!r}") from None
    if options.json:
        known = [text.partition(" ")[0] for text in texts]
        entries = [{"code": code, **CATALOGUE[code]._asdict()} for code in known]
        return json.dumps(entries[0] if options.code else entries, indent=2)
    return texts[0] if options.code else "\n".join(text.partition("\n")[0] for text in texts)


def _checked(options: Any) -> tuple[str, int]:
    from .inspection.check import check_file

    path, name = options.target, None
    if not os.path.exists(path):
        path, _, name = path.rpartition(":")
    if not os.path.isfile(path):
        raise _Usage(f"there is no file {path or options.target}")
    if options.args is not None and name is None:
        raise _Usage("--args needs a function: write file.py:function")
    try:
        found = check_file(path, name, everything=options.all)
    except KeyError:
        raise _Usage(f"{path} has no function {name!r}") from None
    except (SyntaxError, ValueError) as error:  # null bytes are a ValueError
        raise _Usage(f"{path} is not Python: {error}") from None
    errors = list(found.errors)
    failure = None
    if options.args is not None:
        more, failure = _compiled(options, errors)
        errors += more
    status = int(bool(errors or failure))
    if options.json:
        data = {"file": path, "functions": found.functions, "errors": [e.to_dict() for e in errors], "raised": failure}
        return json.dumps(data, indent=2), status
    counts = f"{_count(len(errors), 'problem')} in {_count(len(found.functions), 'function')} of {path}"
    if not found.functions:
        counts += ": none is decorated with jit, given to it, or the construct of a Cell; --all looks at every one"
    raised = [f"not compiled: {failure}"] if failure else []
    return "\n\n".join([*[e.render() for e in errors], *raised, counts]), status


def _compiled(options: Any, known: Sequence[CompileError]) -> tuple[list[CompileError], str | None]:
    """What compilation refuses besides (one error at most, as it stops at the first), or what the file raises."""
    from .transforms.jit import jit

    try:
        jit(_load(options.target)).lower(*_arguments(options.args))
    except CompileError as error:
        places = {(e.code, e.loc and e.loc[1:3]) for e in known}
        return [] if (error.code, error.loc and error.loc[1:3]) in places else [error], None
    except _Usage:
        raise
    except Exception as error:
        return [], f"{type(error).__name__}: {error}"
    return [], None


def _environment(options: Any) -> str:
    from .inspection import ascend, limits, native

    found = ascend.environment()
    cann = found.pop("cann")
    found = {**found, **native.settings(), "native": native.environment()}
    found = {**found, "limits": limits.environment(measure=options.measure), "cann": cann}
    return json.dumps(found, indent=2) if options.json else "\n".join(_lines(found))


def _cache(options: Any) -> tuple[str, int]:
    from .backends.native import cache

    found = cache.info()
    off = found["state"].startswith("off")
    if options.action == "clear":
        count, size = cache.clear()
        found = {**found, "removed": count, "removed bytes": size}
        found["objects"], found["bytes"] = found["objects"] - count, found["bytes"] - size
    text = json.dumps(found, indent=2) if options.json else "\n".join(_lines(found))
    return text, int(off and options.action == "clear")


def _self_tested(options: Any) -> tuple[str, int]:
    from .inspection.ascend import self_test

    if options.out:
        try:
            open(options.out, "a", encoding="utf-8").close()  # not after minutes of testing
        except OSError as error:
            raise _Usage(f"the report cannot be written: {error}") from None
    found, passed = self_test(options.device, lambda stage: print(f"{stage} ...", file=sys.stderr, flush=True))
    text = json.dumps(found, indent=2)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    if not options.json:
        lines = _lines(found["environment"])
        for stage in found["stages"]:
            lines.append(f"\n[{stage['status']}] {stage['stage']} ({stage['seconds']} s)")
            lines += [f"  {line}" for part in stage["text"] for line in part.split("\n")]
        text = "\n".join(lines)
    return text, int(not passed)


_WIDTH = 120
#: Amounts of memory in reports, by their names.
_BYTES = ("bytes", "limit", "removed bytes")


def _lines(found: Any, indent: str = "") -> list[str]:
    """Nested dicts and lists as indented lines."""
    lines = []
    for name, value in found.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list | dict) else value
            shown = size(value) if name in _BYTES and isinstance(value, int) else shown
            line = f"{indent}{name}: {shown if shown != '' else 'none'}"
            lines += (
                textwrap.wrap(line, _WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False)
                if len(line) > _WIDTH
                else [line]
            )
    return lines


def _count(n: int, what: str) -> str:
    return f"{n or 'no'} {what}{'s' * (n != 1)}"


def _dump(options: Any) -> str:
    from .compiler.artifact import STAGES
    from .transforms.grad import grad
    from .transforms.jit import jit

    stages = [*STAGES, "explain"] if options.stage == "all" else options.stage.split(",")
    for stage in stages:
        if stage not in (*STAGES, "explain"):
            raise _Usage(f"there is no stage {stage!r}; stages are {', '.join(STAGES)}, explain and all")
    fn = _load(options.target)
    arguments = _arguments(options.args)
    if options.grad:
        if not arguments:
            raise _Usage("--grad needs --args: write the types of the arguments, e.g. --args 'f32[2,3]'")
        fn = grad(fn, tuple(options.grad) if len(options.grad) > 1 else options.grad[0])
    artifact = jit(fn, backend=options.backend or "").lower(*arguments)
    parts = []
    for stage in stages:
        text = artifact.explain() if stage == "explain" else artifact.ir(stage)
        parts.append(f"// ---- {stage} ----\n{text}" if len(stages) > 1 else text)
    return "\n".join(parts).rstrip("\n")


def _load(target: str) -> Any:
    """The object that ``file.py:name`` names (``file.py:Class`` gives an instance made without arguments)."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise _Usage(f"{target!r} does not name a function: write file.py:function")
    if not os.path.exists(path):
        raise _Usage(f"there is no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: Any = module
    for part in name.split("."):
        found = found() if isinstance(found, type) else found  # a method is one of an object
        if not hasattr(found, part):
            raise _Usage(f"{path} has no {name!r}")
        found = getattr(found, part)
    return found() if isinstance(found, type) else found


_BY_NAME = {dtype.name: dtype for dtype in BY_SHORT.values()}
_TENSOR = re.compile(r"(\w+)\[([\d,\s]*)\]$")


def _arguments(text: str) -> list[Any]:
    """Arguments written as types: Tensors of zeros; plain literals are static values."""
    from .runtime.tensor import Tensor

    out: list[Any] = []
    for word in re.findall(r"\w+\[[\d,\s]*\]|\S+", text):
        match = _TENSOR.match(word)
        if match:
            dtype = BY_SHORT.get(match[1]) or _BY_NAME.get(match[1])
            if dtype is None:
                raise _Usage(f"{match[1]!r} in --args is no dtype; dtypes are {', '.join(BY_SHORT)}")
            shape = tuple(int(d) for d in match[2].split(",") if d.strip())
            out.append(Tensor(np.zeros(shape, dtype.numpy)))
        else:
            out.append(_literal(word))
    return out


def _literal(word: str) -> Any:
    known = {"None": None, "True": True, "False": False}
    if word in known:
        return known[word]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    raise _Usage(f"cannot read the argument {word!r}; write a type such as f32[2,3], a number, True, None or 'text'")
