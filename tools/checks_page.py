"""Writes docs/checks.md: which test checks which op.

python tools/checks_page.py            writes the page
python tools/checks_page.py --check    fails if the page is not what the tests say

The matrix is read off the tests themselves: pytest collects them, and the parameters of a case say which op it is of.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections import defaultdict
from typing import NamedTuple

import pytest

from generated_pages import write_or_check
from python_files import ROOT

PAGE = ROOT / "docs" / "checks.md"
#: Where tests are of ops and not of what users call by the same name.
FOLDERS = ("primitives", "backends", "autodiff", "inspection", "ascend")
#: A test is a column when its cases are of so many ops.
MANY = 12

HEAD = """# What every op is checked for

Written by `python tools/checks_page.py` from the tests themselves; do not edit by hand.

Cases come from the samples in the class of an op, so a new op is checked by all of these as soon as its class is there.
Beside them stand the tests of single ops in `tests/primitives`, which compare with NumPy, SciPy or a formula, and
those of the public functions (`tests/api`, `tests/numpy`, `tests/nn`). `make test` runs all of a column unless the list
says otherwise; `make test-long` always does. An op is not in a column that cannot apply to it: integers have no
derivative, only some derivatives have ties, control flow has tests of its own.

"""


class Check(NamedTuple):
    """A test and the ops that it has cases of."""

    title: str
    part: str
    ops: set[str]


class Matrix:
    """A plugin of pytest that keeps what is collected, as a check for each test."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.ops: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        from autodiff_compiler.ir.primitive import REGISTRY

        found: dict[str, Check] = {}
        named: dict[str, set[str]] = defaultdict(set)
        for item in session.items:
            if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
                test = item.nodeid.partition("[")[0]
                values = [getattr(v, "name", v) for v in item.callspec.params.values()]
                named[test] |= {v for v in values if isinstance(v, str) and v in REGISTRY}
                found.setdefault(test, _check(item, test, named[test]))
        self.checks = [check for check in found.values() if len(check.ops) >= MANY]
        self.ops = sorted(set().union(*(check.ops for check in self.checks)))


def _check(item: pytest.Function, test: str, ops: set[str]) -> Check:
    path, _, name = test.partition("::")
    said = (inspect.getdoc(item.function) or "").split("\n\n")[0].replace("\n", " ")
    some = item.get_closest_marker("some")
    part = "only `make test-long`" if item.get_closest_marker("long") else ""
    part = f"`make test` runs one case in {some.args[0]}" if some else part
    words = name.removeprefix("test_").replace("_", " ")
    folder = path.removeprefix("tests/").rpartition("/")[0]
    return Check(f"{folder}: [{words}](../{path}){'. ' + said.rstrip('.') if said else ''}", part, ops)


def page(checks: list[Check], ops: list[str]) -> str:
    """The list of checks, by their numbers, and the table of ops."""
    lines = [HEAD]
    for number, check in enumerate(checks, 1):
        part = f" ({check.part})" if check.part else ""
        lines.append(f"{number}. {check.title}{part}")
    lines += ["", f"| op | {' | '.join(str(n) for n in range(1, len(checks) + 1))} |", "|---" * (len(checks) + 1) + "|"]
    lines += [f"| `{op}` | {' | '.join('x' if op in check.ops else '' for check in checks)} |" for op in ops]
    return "\n".join(lines) + "\n"


def main() -> int:
    matrix = Matrix()
    folders = [str(ROOT / "tests" / folder) for folder in FOLDERS]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main(["--collect-only", "-q", "--long", "-p", "no:cacheprovider", *folders], plugins=[matrix])
    if status:
        print(printed.getvalue(), file=sys.stderr)
        return int(status)
    return write_or_check(PAGE, page(matrix.checks, matrix.ops))


if __name__ == "__main__":
    sys.exit(main())
