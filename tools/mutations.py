"""Measures what the test suite catches: mutations of the compiler's code, and which of them no test sees.

    python tools/mutations.py --json result.json                     # 200 mutations against the whole suite
    python tools/mutations.py --tests tests/primitives tests/passes  # the same against a part of it

One process imports the package and collects all tests.  It forks for everything else: first to note which functions
each test enters (once for a commit, or for what `--map` lacks), then for each mutation, whose code takes the place of
the function's in the child.  The tests that enter the function run there, those first that enter the fewest functions,
until one fails.  A function that is called while the package is imported is mutated in a new interpreter.  Nothing is
written into the source tree.
"""

from __future__ import annotations

import argparse
import builtins
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mutants import ROOMS, Finder, Loader, Mutation, mutations, put_in
from python_files import ROOT

#: Bytes that a child may map (a simulated device reserves 128 GB), its seconds of wall time for each of CPU time, and
#: the CPU time of one test that loops.
MEMORY, PATIENCE, ENDLESS = 512 << 30, 5, 40
#: Tests that one child runs to note what they enter.
CHUNK = 100


class Ran(NamedTuple):
    """A test that passed, or not, with its CPU time and what it entered."""

    test: str
    passed: bool
    seconds: float
    entered: list[str]


class Outcomes:
    """A plugin that notes whether a test passed."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.phases.append(report.outcome)


def run_items(items: list[pytest.Item], say: Callable[[Ran], None], first_failure: bool, bound: float) -> None:
    """Runs tests until one fails or the CPU time is over; one that loops is killed."""
    outcomes = Outcomes()
    items[0].config.pluginmanager.register(outcomes)
    for item, following in zip(items, [*items[1:], None], strict=True):
        start = time.process_time()
        if start > bound:
            return
        outcomes.phases = []
        Loader.entered.clear()
        resource.setrlimit(resource.RLIMIT_CPU, (int(start) + ENDLESS, resource.RLIM_INFINITY))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        passed = outcomes.phases == ["passed"] * 3
        say(Ran(item.nodeid, passed, round(time.process_time() - start, 3), sorted(Loader.entered)))
        if first_failure and "failed" in outcomes.phases:
            return


class Child:
    """A forked process, which leaves lines of JSON in a file."""

    def __init__(self, work: Callable[[Path], None], bound: float) -> None:
        self.path = Path(tempfile.mkstemp(prefix="mutations_")[1])
        self.deadline = time.monotonic() + PATIENCE * bound + 60
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(nothing, fd)
            os.environ["AC_CACHE_DIR"] = tempfile.mkdtemp()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
            code = 1
            try:
                work(self.path)
                code = 0
            finally:
                os._exit(code)

    def ended(self) -> int | None:
        """The status of a process that has ended; one that hangs is killed."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        late = time.monotonic() > self.deadline
        if not pid and late:
            os.killpg(self.pid, signal.SIGKILL)
            status = os.waitpid(self.pid, 0)[1]
        return status if pid or late else None

    def lines(self) -> list[Ran]:
        found = [Ran(*json.loads(line)) for line in self.path.read_text("utf-8").splitlines()]
        self.path.unlink()
        return found


def in_children(
    works: list[Any], run: Callable[[Any, Path], None], bound: float
) -> Iterator[tuple[Any, int, list[Ran]]]:
    """Each work with the status of its process and what it said; two run at a time."""
    waiting = list(reversed(works))
    running: dict[Child, Any] = {}
    while waiting or running:
        while waiting and len(running) < 2:
            work = waiting.pop()
            running[Child(lambda path, work=work: run(work, path), bound)] = work  # type: ignore[misc]
        for child in list(running):
            if (status := child.ended()) is not None:
                yield running.pop(child), status, child.lines()
        time.sleep(0.01)


# --- What enters what -------------------------------------------------------------------------------------------------


class Map(dict[str, Ran]):
    """What each test entered, by its name; kept in a file, to which tests are added as they run."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                self.note(Ran(*json.loads(line)))

    def note(self, ran: Ran) -> None:
        self[ran.test] = ran._replace(entered=[sys.intern(name) for name in ran.entered])

    def record(self, items: list[pytest.Item], seconds: float) -> None:
        """Runs the tests that are not there, in chunks, each of which is a sample of all."""
        missing = [item for item in items if item.nodeid not in self]
        count = -(-len(missing) // CHUNK)
        chunks = [missing[i::count] for i in range(count)]
        end = time.monotonic() + seconds

        def run(chunk: list[pytest.Item], path: Path) -> None:
            if time.monotonic() < end:
                run_items(chunk, said(path), False, 1e9)

        with self.path.open("a", encoding="utf-8") as file:
            for chunk, _, rans in in_children(chunks, run, 200):
                for ran in rans:
                    self.note(ran)
                    file.write(json.dumps(ran) + "\n")
                if rans:
                    tell(f"noted {len(self)} of {len(items)} tests, last {chunk[-1].nodeid[:70]}")

    def for_function(self, function: str, names: set[str]) -> list[str]:
        """The tests that pass and enter a function, the most specific first."""
        found = [ran for name, ran in self.items() if name in names and ran.passed and function in ran.entered]
        return [ran.test for ran in sorted(found, key=lambda ran: (len(ran.entered), ran.seconds, ran.test))]


def said(path: Path) -> Callable[[Ran], None]:
    """Appends what ran to a file, at once: the process may be killed."""

    def say(ran: Ran) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(ran) + "\n")

    return say


def tell(text: str) -> None:
    print(text, file=sys.__stdout__, flush=True)


# --- The measurement --------------------------------------------------------------------------------------------------


class Measurement:
    """A plugin that runs mutations in the place of the tests that pytest collected."""

    def __init__(self, found: list[Mutation], options: argparse.Namespace) -> None:
        self.found, self.options = found, options

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.map = Map(self.options.map)
        self.map.record(session.items, self.options.record_seconds)
        self.measure([m for m in self.found if m.outcome in ("untested", "survived")], set(self.items))
        while unsound := self.failing({m.test for m in self.found if m.outcome == "caught"}):
            again = [m for m in self.found if m.test in unsound]
            self.items = {name: item for name, item in self.items.items() if name not in unsound}
            self.measure(again, set(self.items))
        return True

    def measure(self, found: list[Mutation], names: set[str]) -> None:
        tests = {m.function: self.map.for_function(m.function, names) for m in found}

        def run(mutation: Mutation, path: Path) -> None:
            chosen, bound = tests[mutation.function], self.options.seconds
            if mutation.function in Loader.at_import or not put_in(mutation):
                work = {"mutation": asdict(mutation), "tests": chosen[:200], "path": str(path), "seconds": bound}
                os.execv(sys.executable, [sys.executable, __file__, "--alone", json.dumps(work)])
            if chosen:
                run_items([self.items[name] for name in chosen], said(path), True, time.process_time() + bound)

        for mutation, status, rans in in_children([m for m in found if tests[m.function]], run, self.options.seconds):
            judge(mutation, status, rans)
            tell(f"{mutation.outcome:9} {describe(mutation)}")

    def failing(self, names: set[str]) -> set[str]:
        """Tests that fail by themselves, without a mutation: what they seemed to catch is measured again."""
        works = [[self.items[name]] for name in sorted(names & set(self.items))]

        def run(items: list[pytest.Item], path: Path) -> None:
            run_items(items, said(path), True, 1e9)

        done = in_children(works, run, self.options.seconds)
        return {items[0].nodeid for items, _, rans in done if not (rans and rans[0].passed)}


class Alone:
    """A plugin of a new interpreter: runs the given tests in the given order."""

    def __init__(self, names: list[str], path: Path, seconds: float) -> None:
        self.names, self.path, self.seconds = names, path, seconds

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        chosen = [items[name] for name in self.names if name in items]
        run_items(chosen, said(self.path), True, time.process_time() + self.seconds)
        return True


def alone(work: dict[str, Any]) -> int:
    """The child of a mutation that is there while the package is imported; where that fails, it is caught."""
    Loader.mutation, path = Mutation(**work["mutation"]), Path(work["path"])
    files = sorted({name.partition("::")[0] for name in work["tests"]})
    status = run_pytest(files, Alone(work["tests"], path, work["seconds"]))
    if status and not path.stat().st_size:
        said(path)(Ran("collection", False, 0, []))
    return status


def judge(mutation: Mutation, status: int, rans: list[Ran]) -> None:
    """Notes at a mutation what its process came to."""
    mutation.tried, mutation.test = len(rans), rans[-1].test if rans else ""
    if rans and not rans[-1].passed:
        mutation.outcome = "caught"
    elif status and os.WIFSIGNALED(status):
        endless = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        mutation.outcome, mutation.test = ("timeout" if endless else "crash"), ""
    else:
        mutation.outcome, mutation.test = ("survived" if rans and not status else "broken"), ""


def describe(mutation: Mutation) -> str:
    where = f"{mutation.path}:{mutation.line}"
    return f"{where}: {mutation.before} -> {mutation.after} ({mutation.tried} tests)"


def summary(found: list[Mutation]) -> dict[str, str]:
    """Shares that are caught, of what any test enters: overall and for each room."""
    rooms = {"all": found} | {room: [m for m in found if m.room == room] for room in ROOMS}
    shares = {}
    for room, some in rooms.items():
        counts = Counter(m.outcome for m in some)
        tried = len(some) - counts["untested"] - counts["broken"]  # this tool failed at the broken ones, and no test
        caught = tried - counts["survived"]
        shares[room] = f"{caught}/{tried} = {caught / max(tried, 1):.0%}, {counts['untested']} entered by no test"
    return shares


def run_pytest(arguments: list[str], plugin: object) -> int:
    builtins.__dict__["_entered_"] = Loader.entered
    sys.meta_path.insert(0, Finder())
    os.chdir(ROOT)
    return int(pytest.main(["-q", "-q", "-s", "-p", "no:cacheprovider", *arguments], plugins=[plugin]))


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--alone"]:
        return alone(json.loads(arguments[1]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="mutations (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="CPU time for the tests of one mutation (60)")
    parser.add_argument(
        "--tests", nargs="+", default=["tests", "autodiff_compiler"], help="files, folders or test names"
    )
    parser.add_argument("--map", type=Path, help="what tests enter, noted earlier; tests that it lacks are added")
    parser.add_argument(
        "--record-seconds", type=float, default=1e9, help="wall time for that, after it a sample must do"
    )
    parser.add_argument("--json", type=Path, help="where the mutations and their outcomes are written")
    parser.add_argument("--again", type=Path, help="an earlier --json: what it says is caught is not measured again")
    parser.add_argument("--list", action="store_true", help="only show the mutations")
    options = parser.parse_args(arguments)
    found = mutations(ROOT, options.count, options.seed)
    if options.again:
        earlier = [Mutation(**row) for row in json.loads(options.again.read_text("utf-8"))["mutations"]]
        known = {(m.function, m.before, m.after): m for m in earlier}
        for m in found:
            was = known.get((m.function, m.before, m.after), m)
            m.outcome, m.test, m.tried = was.outcome, was.test, was.tried
    if options.list:
        print(*map(describe, found), sep="\n")
        return 0
    if options.map is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "autodiff_compiler_mutations"
        cache.mkdir(parents=True, exist_ok=True)
        options.map = cache / f"{commit()}.jsonl"
    status = run_pytest(options.tests, Measurement(found, options))
    tell("\n".join(["", "survivors:", *(describe(m) for m in found if m.outcome == "survived")]))
    tell(json.dumps(summary(found), indent=2))
    if options.json:
        results = {
            "commit": commit(),
            "seed": options.seed,
            "shares": summary(found),
            "mutations": [*map(asdict, found)],
        }
        options.json.write_text(json.dumps(results, indent=1), "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
