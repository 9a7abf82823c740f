"""Writes docs/checks.md: which test checks which op, and which tests run whole only in `make test-long`.

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
FOLDERS = tuple(f"tests/{folder}/" for folder in ("primitives", "backends", "autodiff", "inspection", "ascend"))
#: A test is a column when its cases are of so many ops.
MANY = 12

HEAD = """# What every op is checked for

Written by `python tools/checks_page.py` from the tests themselves; do not edit by hand.

Cases come from the samples in the class of an op, so a new op is checked by all of these as soon as its class is there.
Beside them stand the tests of single ops in `tests/primitives`, which compare with NumPy, SciPy or a formula, and
those of the public functions (`tests/api`, `tests/numpy`, `tests/nn`). The end of the page says what `make test` runs
of which test; `make test-long` runs all. An op is not in a column that cannot apply to it: integers have no
derivative, only some derivatives have ties, control flow has tests of its own.

"""


PARTS = """
## What `make test` leaves to `make test-long`

One case in so many of these runs, those that cover the values of each parameter best; of `long` tests none, or none of
those that are marked. Beside them, random tests draw a fifth as many cases (`part` of `tests/selection.py`). For each
program of the language's tables optimised code and its gradient are compared; for one in six unoptimised code, tapes
through compiled calls, second derivatives, tangents and printed stages, too, and for one in three every pass is
verified. Of single ops compiled second derivatives are compared in one test of three. Ops run as machine code in
float32 as users have it, and in two of four other dtypes at LLVM's level 0; `make test-long` takes ten dtypes. On the
NumPy backend one test in sixteen runs where it is not marked `both_backends`. The pages of operators and of rooms, and
foreign text in generated text, are looked at by `make check`.

| test | one case in |
|---|---|
"""


class Check(NamedTuple):
    """A test and the ops that it has cases of."""

    title: str
    ops: set[str]


class Matrix:
    """A plugin of pytest that keeps what is collected, as a check for each test."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.ops: list[str] = []
        #: What `make test` runs of the tests that it does not run whole.
        self.parts: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        from autodiff_compiler.ir.primitive import REGISTRY

        found: dict[str, Check] = {}
        named: dict[str, set[str]] = defaultdict(set)
        parts: dict[str, set[str]] = defaultdict(set)
        for item in session.items:
            test = item.nodeid.partition("[")[0]
            parts[test].add(_part(item))
            if isinstance(item, pytest.Function) and hasattr(item, "callspec") and test.startswith(FOLDERS):
                values = [getattr(v, "name", v) for v in item.callspec.params.values()]
                named[test] |= {v for v in values if isinstance(v, str) and v in REGISTRY}
                found.setdefault(test, _check(item, test, named[test]))
        self.checks = [check for check in found.values() if len(check.ops) >= MANY]
        self.parts = {test: ", others ".join(sorted(said)) for test, said in parts.items() if said != {"all"}}
        self.ops = sorted(set().union(*(check.ops for check in self.checks)))


def _part(item: pytest.Item) -> str:
    some = item.get_closest_marker("some")
    return "`long`" if item.get_closest_marker("long") else str(some.args[0]) if some else "all"


def _check(item: pytest.Function, test: str, ops: set[str]) -> Check:
    path, _, name = test.partition("::")
    said = (inspect.getdoc(item.function) or "").split("\n\n")[0].replace("\n", " ")
    words, folder = _words(name), path.removeprefix("tests/").rpartition("/")[0]
    return Check(f"{folder}: [{words}](../{path}){'. ' + said.rstrip('.') if said else ''}", ops)


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


def page(matrix: Matrix) -> str:
    """The list of checks, by their numbers, the table of ops, and the tests of which `make test` runs a part."""
    checks = matrix.checks
    lines = [HEAD, *(f"{number}. {check.title}" for number, check in enumerate(checks, 1))]
    lines += ["", f"| op | {' | '.join(str(n) for n in range(1, len(checks) + 1))} |", "|---" * (len(checks) + 1) + "|"]
    lines += [f"| `{op}` | {' | '.join('x' if op in check.ops else '' for check in checks)} |" for op in matrix.ops]
    rows = []
    for test, part in matrix.parts.items():
        path, _, name = test.partition("::")
        rows.append(f"| {path.removeprefix('tests/').removesuffix('.py')}: [{_words(name)}](../{path}) | {part} |\n")
    return "\n".join(lines) + "\n" + PARTS + "".join(rows)


def main() -> int:
    matrix = Matrix()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main(["--collect-only", "-q", "--long", "-p", "no:cacheprovider", "tests"], plugins=[matrix])
    if status:
        print(printed.getvalue(), file=sys.stderr)
        return int(status)
    return write_or_check(PAGE, page(matrix))


if __name__ == "__main__":
    sys.exit(main())
