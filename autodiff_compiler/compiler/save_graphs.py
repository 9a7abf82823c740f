"""The files of `save_graphs`: a folder for each program, whose files sort in the order of the steps.

Level 1 (MindSpore's meaning): the IR that the frontend made and what each pass made of it.  Level 2, or True: what the
backend does, too: the plan and the generated code.  Level 3: pictures besides, as text that Graphviz draws.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from .. import escape
from ..backends.base import Executable
from ..config import context
from ..ir.core import Module
from ..ir.failure import leave
from ..ir.graphs_folder import graphs_folder, writing_graphs
from ..passes.manager import PLANNING, dump, run

#: Functions that draw a module as text for Graphviz; layers above add them.
pictures: list[Callable[[Module], str]] = []

_numbers = itertools.count()
_OURS = re.compile(r"\d\d_\w+(\.failed|\.before|\.after)?\.(ir|dot|py|ll)")


def dump_folder(name: str) -> Path | None:
    """A folder for the dumps of a program, without those of an earlier process; None if none are asked for."""
    mine = graphs_folder()
    if mine is None:
        return None
    folder = mine / f"{next(_numbers):03d}_{escape.file_name(name)}"
    with writing_graphs():
        for file in folder.iterdir() if folder.is_dir() else ():
            if _OURS.fullmatch(file.name):
                file.unlink(missing_ok=True)
    return folder


def save_late(folder: Path, opt: Module, passes: int, made: Executable) -> None:
    """Writes the plan and the generated code, numbered behind so many passes."""
    if _level() < 2:
        return
    plan = run(opt, PLANNING)[0]
    leave(folder, f"{passes + 1:02d}_plan.ir", dump(plan, "plan_memory"))
    code = getattr(made, "source", None)
    if isinstance(code, str):
        leave(folder, f"{passes + 2:02d}_code.{'ll' if hasattr(made, 'assembly') else 'py'}", code)


def save_picture(folder: Path, number: int, name: str, module: Module) -> None:
    """Writes a picture of the module behind a pass, where level 3 asks for it."""
    if _level() > 2:
        for draw in pictures:
            leave(folder, f"{number:02d}_{name}.dot", draw(module))


def _level() -> int:
    return 2 if context.save_graphs is True else int(context.save_graphs)
