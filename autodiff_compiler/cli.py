"""``python -m autodiff_compiler``: `dump` shows what a function becomes, `explain` what an error code means."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .catalogue import explain
from .dtypes import BY_SHORT
from .errors import CompileError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status (0 done, 1 the program was refused, 2 wrong usage)."""
    options = _parser().parse_args(argv)
    try:
        text = options.run(options)
    except CompileError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except (_Usage, FileNotFoundError) as error:
        print(f"autodiff_compiler: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # what the program itself raises: its message says more than our frames
        if os.environ.get("AC_FULL_TRACEBACK"):
            raise
        print("\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 1
    try:
        print(text)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class _Usage(Exception):
    """The command line names something that does not exist."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autodiff_compiler", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    dump = commands.add_parser("dump", help="print the IR and the generated code of a function")
    dump.add_argument("target", help="file.py:function")
    dump.add_argument("--args", default="", help='types of the arguments, e.g. "f32[32,784] i64[32] 3 True"')
    dump.add_argument(
        "--grad", type=int, action="append", metavar="N", help="dump the derivative by argument N (may be repeated)"
    )
    dump.add_argument("--stage", default="opt", help="source, front, adjoint, opt, plan, code, explain or all")
    dump.set_defaults(run=_dump)
    explanation = commands.add_parser("explain", help="what an error code means and what to do")
    explanation.add_argument("code", help="e.g. AC1402")
    explanation.set_defaults(run=lambda options: _explained(options.code))
    return parser


def _explained(code: str) -> str:
    try:
        return explain(code)
    except KeyError:
        raise _Usage(f"there is no error code {code!r}") from None


def _dump(options: Any) -> str:
    from .compiler.artifact import STAGES
    from .transforms.grad import grad
    from .transforms.jit import jit

    stages = [*STAGES, "explain"] if options.stage == "all" else options.stage.split(",")
    for stage in stages:
        if stage not in (*STAGES, "explain"):
            raise _Usage(f"there is no stage {stage!r}; stages are {', '.join(STAGES)}, explain and all")
    fn = _load(options.target)
    if options.grad:
        fn = grad(fn, tuple(options.grad) if len(options.grad) > 1 else options.grad[0])
    artifact = jit(fn).lower(*_arguments(options.args))
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
        if not hasattr(found, part):
            raise _Usage(f"{path} has no {name!r}")
        found = getattr(found, part)
    return found() if isinstance(found, type) else found


_TENSOR = re.compile(r"(\w+)\[([\d,\s]*)\]$")


def _arguments(text: str) -> list[Any]:
    """Arguments written as types: Tensors of zeros; plain literals are static values."""
    from .runtime.tensor import Tensor

    out: list[Any] = []
    for word in re.findall(r"\w+\[[\d,\s]*\]|\S+", text):
        match = _TENSOR.match(word)
        if match:
            dtype = BY_SHORT.get(match[1])
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
