"""`diff`: two stages of a program, two programs, or two files of IR."""

from __future__ import annotations

import copy
import os
from argparse import Namespace
from typing import Any

from . import colour
from .command import Argument, Command, Result, Usage
from .dump import asked_stages
from .targets import BACKEND, GRAD, LOADED, MAKE, Files, artifact_of, asked_backend
from .values import ARGS


def _diff(options: Namespace) -> Result:
    stages = asked_stages(options.stage or ("opt" if options.second else "front,opt"))
    if options.second and len(stages) > 1:
        raise Usage("two programs are compared at one stage")
    if not options.second and len(stages) != 2:
        raise Usage("one program is compared at two stages: --stage front,opt")
    if "explain" in stages:
        raise Usage("`explain` is no stage that can be compared")
    files = Files()
    with asked_backend(options):
        if options.second:
            texts = [_text(options, target, stages[0], files) for target in (options.first, options.second)]
        else:
            artifact = _artifact(options, options.first, files)
            texts = [artifact.ir(stage) for stage in stages]
    difference = str(texts[0].diff(texts[1]))
    names = [options.first, options.second] if options.second else [f"{options.first} {s}" for s in stages]
    unknown = [
        name for name, text in zip(names, texts, strict=True) if "\nconstant @" in f"\n{text}" and not text.constants
    ]
    data = {"first": names[0], "second": names[1], "differs": bool(difference), "diff": difference}
    notes = [f"the numbers in the constants of {name} are not known, and not compared" for name in unknown]
    text = "\n".join([difference.rstrip("\n") or "no difference", *notes])
    return Result(text, {**data, "notes": notes}, int(bool(difference)), colour.comparison)


def _text(options: Namespace, target: str, stage: str, files: Files) -> Any:
    if not os.path.isfile(target):
        return _artifact(options, target, files).ir(stage)
    if target.endswith(".py"):
        raise Usage(f"{target} is a file of Python: write {target}:function")
    from .programs import read_text  # not for --help: it loads the compiler

    return read_text(target)


def _artifact(options: Namespace, target: str, files: Files) -> Any:
    options = copy.copy(options)
    options.target = target
    return artifact_of(options, files)


COMMAND = Command(
    "diff",
    "compare two stages of a program, two programs, or two files of IR",
    _diff,
    [
        Argument("first", help="file.py:function, or a file of IR that `dump --output` wrote"),
        Argument("second", nargs="?", help="what it is compared with; without it two stages of the first are"),
        ARGS,
        MAKE,
        GRAD,
        Argument("--stage", help="of two programs the one stage (opt), of one program both (front,opt)"),
        BACKEND,
    ],
    f"Exit status: 0 nothing differs, 1 something does. {LOADED}",
    [
        'diff model.py:f --args "f32[8]" --stage adjoint,opt',
        'diff model.py:f model.py:g --args "f32[8]"',
        "diff before.ir after.ir",
    ],
)
