"""Runs random programs in all modes: ``python -m tests.property.fuzz --minutes 30``; see `modes` and `grammar`.

Exit code 1 if modes disagree; the smallest programs that show it are printed and saved.

What a program never does, or no check runs, is not compared.  A gradient of a helper that returns from its loop failed
on the NumPy backend alone and stayed unseen for both reasons: no helper had a loop, and gradients were compared on the
backend in use only.  So a construct that is new in the language belongs into the grammar inside of every other one (in
helpers, in loops of run time), and a new check into `modes.CHECKS` for both backends.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import autodiff_compiler as ms
from tests.property.grammar import Program, program
from tests.property.modes import CHECKS, Difference, Judge, Late, at_most
from tests.property.shrink import shrunk

SECONDS = 120.0  # for all checks of one program


@dataclass
class Finding:
    """A program on which modes disagree, and the check that shows it."""

    program: Program
    check: tuple[str, tuple]
    what: str
    told: str

    def text(self, source: str) -> str:
        """A test that fails."""
        p = self.program
        made = f"Program({p.seed}, SOURCE, {p.dtype!r}, {p.shape}, {p.dynamic}, {p.smooth}, {p.sized})"
        name, args = self.check
        return (
            f"# {self.what}\n"
            f"from tests.property.grammar import Program\nfrom tests.property.modes import Judge\n\n"
            f'SOURCE = """\n{source}"""\n\n\n'
            f"def test_found():\n    Judge({made}).{name}({', '.join(map(repr, args))})\n"
        )


def examined(p: Program, every: bool, tally: collections.Counter) -> Finding | None:
    """Compares the modes of a program; `every` runs all checks, otherwise a part of them that the seed chooses."""
    judge = Judge(p)
    tally["programs"] += 1
    for number, (name, args, one_in) in enumerate(CHECKS):
        if not every and (p.seed + number) % one_in:
            continue
        problem = problem_of(judge, name, args)
        if problem is not None:
            return Finding(p, (name, args), *problem)
    for name in judge.compared:
        tally[name] += 1
    for name, code in judge.refused.items():
        tally[f"refused {code}" if name == "forward" else f"refused {code} ({name})"] += 1
    if "forward" in judge.refused:
        tally["refused"] += 1
    return None


def problem_of(judge: Judge, name: str, args: tuple, seconds: float = SECONDS) -> tuple[str, str] | None:
    try:
        with at_most(seconds):
            judge.check(name, *args)
    except Difference as error:
        return error.what, str(error)
    except Late:
        return f"{name}: too slow", f"more than {seconds} seconds"
    return None


def smallest(finding: Finding, seconds: float = 120.0) -> str:
    """The smallest program found on which the same modes disagree on the same thing."""
    name, args = finding.check

    def fails(source: str) -> bool:
        try:
            problem = problem_of(Judge(finding.program, source), name, args, 20.0)
        except Exception:
            return False
        return problem is not None and problem[0] == finding.what

    return shrunk(finding.program.source, fails, seconds)


def results(options: argparse.Namespace, end: float) -> Iterator[tuple[collections.Counter, Finding | None]]:
    """What is counted and found in each program, until the time or the programs are over."""
    seeds = itertools.count(options.start) if options.programs is None else range(
        options.start, options.start + options.programs
    )  # fmt: skip
    seeds = itertools.takewhile(lambda _: time.monotonic() < end, seeds)
    work = functools.partial(worked, size=options.size, every=not options.part)
    if options.jobs == 1:
        yield from map(work, seeds)
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        pending: collections.deque = collections.deque()
        for seed in seeds:
            pending.append(pool.submit(work, seed))
            if len(pending) >= 4 * options.jobs:
                yield pending.popleft().result()
        for future in pending:
            yield future.result()


def worked(seed: int, size: int, every: bool) -> tuple[collections.Counter, Finding | None]:
    ms.set_context(verify=True)
    tally: collections.Counter = collections.Counter()
    return tally, examined(program(seed, size), every, tally)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--start", type=int, default=int(time.time()) % 10**8 * 100, help="the first seed")
    parser.add_argument("--programs", type=int, default=None, help="how many; until the time is over if not given")
    parser.add_argument("--size", type=int, default=24, help="statements of a program")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_findings"), help="for programs that fail")
    parser.add_argument("--part", action="store_true", help="a part of the checks for each program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    start = shown = time.monotonic()
    tally: collections.Counter = collections.Counter()
    found: collections.Counter = collections.Counter()
    for counted, finding in results(options, start + 60 * options.minutes):
        tally += counted
        if finding is not None:
            found[finding.what] += 1
            if found[finding.what] <= 2:
                save(finding, options.folder)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{shown - start:.0f} s: {summary(tally, found)}", file=sys.stderr, flush=True)
    print(f"seeds from {options.start}: {summary(tally, found)}")
    for name, count in sorted(tally.items()):
        print(f"  {count:7d} {name}")
    for what, count in found.items():
        print(f"  {count:7d} FOUND {what}")
    return 1 if found else 0


def save(finding: Finding, folder: Path) -> None:
    text = finding.text(smallest(finding))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"test_found_{finding.program.seed}.py").write_text(text + f'\n\n"""\n{finding.told}\n"""\n', "utf-8")
    print(f"== seed {finding.program.seed}: {finding.told}\n{text}", flush=True)


def summary(tally: collections.Counter, found: collections.Counter) -> str:
    programs = max(1, tally["programs"])
    return f"{tally['programs']} programs, {tally['refused'] / programs:.1%} refused, {sum(found.values())} failed"


if __name__ == "__main__":
    sys.exit(main())
