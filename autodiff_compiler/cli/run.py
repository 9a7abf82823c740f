"""`run`: programs of MindSpore's as they are, and programs saved as IR."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import command_line
from .command import Argument, Command, Result, Usage
from .values import ARGS, RANDOM, random_values

if TYPE_CHECKING:
    from ..ir.types import Type


def _program(words: Sequence[str]) -> int | None:
    """Runs a script or module; what it prints and raises is its own."""
    if words and words[0] != "-m" and (words[0].startswith("-") or words[0].endswith(".ir")):
        return None
    from ..mindspore_names.script import NoProgram, run  # not for --help: it loads all public modules

    try:
        command_line.begin()
        run(words)
    except NoProgram as error:
        raise Usage(str(error)) from None
    return 0


def _run(options: Namespace) -> Result:
    if not options.program.endswith(".ir"):
        raise Usage(f"the options of `run` are for files of IR; a program has its own: run {options.program} ...")
    from .programs import read_program  # not for --help: it loads the compiler

    program = read_program(options.program)
    text = _types(options.program, [type for _, type in program.inputs]) if options.args is None else options.args
    given = random_values(text, options.seed, options.range)
    try:
        program.arguments(*given)
    except LookupError as error:
        raise Usage(f"{options.program} cannot be run without the .npz beside it: {error.args[0]}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise Usage(f"--args does not fit {options.program}: {error}") from None
    arrays = [np.asarray(x) for x in program.run(*given)]
    said = [program.purposes.get(i, "") for i in range(len(arrays))]
    data = [
        {"dtype": str(x.dtype), "shape": list(x.shape), "values": x.tolist(), "purpose": purpose}
        for x, purpose in zip(arrays, said, strict=True)
    ]
    shown = [
        f"result {i}: {x.dtype}{list(x.shape)}{f', {purpose}' if purpose else ''}\n{x}"
        for i, (x, purpose) in enumerate(zip(arrays, said, strict=True))
    ]
    return Result("\n".join(shown), {"file": options.program, "results": data})


def _types(path: str, types: Sequence[Type]) -> str:
    """The types of a program's arguments, as `--args` reads them; Usage if they leave sizes or lengths open."""
    written, fixed = [" ".join([repr(t) for t in found]) for found in (types, list(map(_fixed, types)))]
    if written != fixed:
        raise Usage(f'{path} takes {written}: choose what that leaves open, such as --args "{fixed}"')
    return written


def _fixed(type: Type) -> Any:
    """A type with 2 for what it leaves open."""
    from ..ir.types import Seq, TensorType, tensor

    if isinstance(type, Seq):
        return [_fixed(type.elem)] * 2
    if isinstance(type, TensorType):
        return tensor(type.dtype, tuple([n if isinstance(n, int) else 2 for n in type.shape]))
    return type


COMMAND = Command(
    "run",
    "run a program in which `import mindspore` means this package, or a file of IR",
    _run,
    [Argument("program", help="a script, a folder with a __main__.py, -m module, or file.ir"), ARGS, *RANDOM],
    "The program is run as by `python script.py argument ...`; MindSpore need not be installed. A file of IR, as "
    "`dump --output` saves it, runs on --args, without them on random arrays of the types that it takes.",
    ["run train.py --epochs 3", "run -m project.train", 'run loss.ir --args "f32[32,784] labels.npy"'],
    usage="run (script.py | folder | -m module) [argument ...]\n       ... run file.ir [--args VALUES] [--json]",
    direct=_program,
)
