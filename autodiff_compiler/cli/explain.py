"""`explain`: what an error code means, or what was decided when a function was compiled."""

from __future__ import annotations

from argparse import Namespace

from ..catalogue import CATALOGUE, explain
from .command import Argument, Command, Result, Usage, advice
from .targets import BACKEND, GRAD, LOADED, MAKE, artifact_of, asked_backend
from .values import ARGS


def _explained(options: Namespace) -> Result:
    what = options.what
    if what and (":" in what or what.endswith(".py")):
        options.target = what
        with asked_backend(options):
            told = artifact_of(options).explain()
        call, *short = told.head
        sections = {title: [line.strip() for line in lines] for title, lines in told.sections}
        return Result(told.rstrip("\n"), {"target": what, "call": call, "summary": short, "sections": sections})
    if options.args or options.make or options.grad or options.backend:
        raise Usage("--args, --make, --grad and --backend are about a function: write file.py:function")
    entries = [{"code": code, **CATALOGUE[code]._asdict()} for code in ([_code(what)] if what else CATALOGUE)]
    texts = [explain(str(entry["code"])) for entry in entries]
    if what:
        return Result(texts[0], entries[0])
    return Result("\n".join(text.partition("\n")[0] for text in texts), entries)


def _code(text: str) -> str:
    code = text.upper() if text.upper().startswith("AC") else f"AC{text}"
    if code not in CATALOGUE:
        raise Usage(f"there is no error code {text!r}{advice(code, CATALOGUE, '`explain` alone lists all')}")
    return code


COMMAND = Command(
    "explain",
    "what an error code means and what to do, or what was decided when a function was compiled",
    _explained,
    [
        Argument("what", nargs="?", metavar="CODE | TARGET", help="AC1402, or file.py:function; without it all codes"),
        ARGS,
        MAKE,
        GRAD,
        BACKEND,
    ],
    LOADED,
    ["explain AC1402", 'explain model.py:loss --args "f32[32,784] i64[32]" --grad 0'],
)
