"""Which of the collected tests run: all with ``--long``; without it a part of large families, and on the NumPy backend
what differs there.

Markers say it where the tests are:

- `long`: only with ``--long``, before a release.
- `some(n)`: one case in n of each parametrised test, each value of each parameter as often as the others.
- `both_backends`: whole on the NumPy backend, too, as its lowering of control flow, effects and states is its own; of
  other tests one in sixteen runs there.

``--quick`` is the inner loop: first tests of the rooms that changed, then one test in thirty of the others, until
`QUICK_SECONDS` are over.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

ROOT = Path(__file__).parents[1]
TESTS = Path(__file__).parent
#: Of tests that are not for `both_backends`, one in so many runs on the NumPy backend.
ON_NUMPY = 16
#: Of tests of rooms that did not change, ``--quick`` runs one in so many.
UNCHANGED = 30
#: When ``--quick`` starts no test any more, counted from the start of the process; collecting takes some of it.
QUICK_SECONDS = 75
#: Folders of tests for rooms of the package whose tests have another name.
TESTS_OF = {
    "frontend": ("frontend", "programs"),
    "interpreter": ("programs",),
    "ops": ("api", "primitives"),
    "surface": ("api",),
    "mint": ("api",),
    "runtime": ("eager", "api"),
    "transforms": ("autodiff", "programs"),
    "common": ("api",),
    "experimental": ("optim",),
    "testing": ("api",),
}
_EXAMPLES = re.compile(rb">>>|\b__getattr__\b")
_STARTED = time.monotonic()
_LONG = False
#: How many tests ``--quick`` had no time for: in this process, and in the main one those of all workers.
left_out = 0


def is_long() -> bool:
    """Whether everything runs: tests that choose cases themselves ask here."""
    return _LONG


def part(number: int) -> int:
    """How many random cases run of so many: all with ``--long``, else a fifth."""
    return number if _LONG else -(-number // 5)


def one_in(n: int, text: str) -> bool:
    """Whether a case with this text is one of those that run without ``--long``; the same ones in every run."""
    return _LONG or _hash(text) % n == 0


def is_one_in(n: int) -> bool:
    """Whether the test that runs is one of those, one in n, that check what is not checked in each of its kind."""
    return one_in(n, os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0])


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run all cases of all tests, on either backend")
    parser.addoption("--quick", action="store_true", help="run tests of changed rooms, and a few others, for 90 s")


def configure(config: pytest.Config) -> None:
    global _LONG
    _LONG = bool(config.getoption("--long"))
    config.addinivalue_line("markers", "long: runs only with --long")
    config.addinivalue_line("markers", "some(n): without --long, one case in n of each parametrised test runs")
    config.addinivalue_line("markers", "both_backends: all cases run on the NumPy backend, too")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps of the items what this run is for, and tells pytest of the others; see `Parts` for families of them."""
    if _whole(config):
        return
    kept = [i for i in items if i.get_closest_marker("long") is None]
    if os.environ.get("AC_BACKEND") == "numpy":
        kept = [i for i in kept if i.get_closest_marker("both_backends") or one_in(ON_NUMPY, i.nodeid)]
    if config.getoption("--quick"):
        changed = _changed_folders()
        # Each sixteenth of them is from all files: when the time is over, no file was left out as a whole.
        first = sorted((i for i in kept if i.nodeid.startswith(changed)), key=lambda i: _hash(i.nodeid) % 16)
        kept = first + [i for i in kept if not i.nodeid.startswith(changed) and one_in(UNCHANGED, i.nodeid)]
    chosen = set(map(id, kept))
    config.hook.pytest_deselected(items=[i for i in items if id(i) not in chosen])
    items[:] = kept


def _whole(config: pytest.Config) -> bool:
    """Whether all cases run: with ``--long``, and of a file or test that the command line names."""
    return _LONG or any("::" in a or a.endswith(".py") for a in config.args)


class Parts:
    """Of tests marked `some`, cases that do not run are not made: collecting a third of all would take longer."""

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        marker = metafunc.definition.get_closest_marker("some")
        if marker is not None and not _whole(metafunc.config):
            metafunc._calls[:] = covering(metafunc._calls, marker.args[0])


class Examples:
    """Which files are searched for examples in docstrings: no tests; of the package those that have one, and those
    whose functions are made at the first access, with docstrings of the table."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[object], list[object]]:
        found = yield
        if file_path.is_relative_to(TESTS) or not _EXAMPLES.search(file_path.read_bytes()):
            return [collector for collector in found if not isinstance(collector, DoctestModule)]
        return found


def covering(family: list[Any], n: int) -> list[Any]:
    """One case in n, in their order: always one whose parameters have values that were chosen least so far.

    Each has the place of each parameter's value in `indices`.
    """
    values = [list(case.indices.items()) for case in family]
    items_with: dict[tuple[str, int], list[int]] = defaultdict(list)
    for i, having in enumerate(values):
        for value in having:
            items_with[value].append(i)
    left = dict.fromkeys(i for start in range(n) for i in range(start, len(family), n))
    seen = [0] * len(family)  # how often the values of an item were chosen
    chosen: list[int] = []
    for _ in range(-(-len(family) // n)):
        best = min(left, key=seen.__getitem__)
        del left[best]
        chosen.append(best)
        for value in values[best]:
            for i in items_with[value]:
                seen[i] += 1
    return [family[i] for i in sorted(chosen)]


# ------------------------------------------------------------------------------------------------ the inner loop
def out_of_time(config: pytest.Config) -> bool:
    """Whether ``--quick`` starts no further test; counts those that it is asked for."""
    global left_out
    over = bool(config.getoption("--quick")) and time.monotonic() - _STARTED > QUICK_SECONDS
    left_out += over
    return over


def _changed_folders() -> tuple[str, ...]:
    """Where the tests of what changed are: since the branch left main, or on main since the commit before the last."""
    changed = [*_git("diff", "--name-only", _base()), *_git("ls-files", "--others", "--exclude-standard")]
    return tuple(dict.fromkeys(folder for path in changed for folder in _tests_of(Path(path))))


def _base() -> str:
    """The commit that changes are counted from."""
    head, common = _git("rev-parse", "HEAD"), _git("merge-base", "HEAD", "main")
    return common[0] if common and common != head else "HEAD~1"


def _tests_of(path: Path) -> Iterator[str]:
    if path.parts[0] == "tests":
        yield path.as_posix()
    elif path.parts[0] == "autodiff_compiler" and len(path.parts) > 2:
        yield path.as_posix()  # the examples in its docstrings
        yield from (f"tests/{folder}/" for folder in TESTS_OF.get(path.parts[1], (path.parts[1],)))


def _git(*command: str) -> list[str]:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()
