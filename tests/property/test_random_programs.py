"""Random programs mean the same in every mode; see `modes` for what is compared and `grammar` for the programs.

A longer run with fresh seeds and all checks for each program: ``make fuzz MINUTES=30``.
"""

from __future__ import annotations

import ast
import collections
import functools
import sys

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit import engine
from tests.property import fuzz, modes
from tests.property.found import FOUND
from tests.property.grammar import Program, program
from tests.property.modes import CHECKS, Difference, Judge
from tests.property.shrink import shrunk
from tests.selection import is_long

#: On the NumPy backend half of them: in the run on the default one a third of all programs is compared with it, too.
PARTS = (4 if ms.get_context("backend") == "numpy" else 8) if is_long() else 2
EACH = 25 if is_long() else 6


@pytest.fixture(autouse=True)
def verified():
    before = ms.get_context("verify"), ms.get_rng_state()
    ms.set_context(verify=True)
    yield
    ms.set_context(verify=before[0])
    ms.set_rng_state(before[1])


@pytest.mark.both_backends
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part, monkeypatch):
    """Half of them by machine code of level 2, as users have it, half of level 0, which is made much faster."""
    if part % 2:
        monkeypatch.setattr(engine, "LARGE", 0)
    tally = collections.Counter()
    for seed in range(part * EACH, (part + 1) * EACH):
        finding = fuzz.examined(program(seed), False, tally)
        assert finding is None, f"{finding.told}\n{finding.text(fuzz.smallest(finding))}"
    assert tally["programs"] == EACH
    assert tally["refused"] <= EACH // 5, f"too many programs are refused: {tally}"


@pytest.mark.some(6)
@pytest.mark.both_backends
@pytest.mark.parametrize("name", FOUND)
def test_programs_that_were_found(name):
    p = FOUND[name]
    judge = Judge(p)
    for check, args, _ in CHECKS:
        judge.check(check, *args)
    assert not judge.refused


def test_a_seed_always_makes_the_same_program():
    assert [program(seed) for seed in range(20)] == [program(seed) for seed in range(20)]
    assert len({program(seed).source for seed in range(20)}) == 20


# ------------------------------------------------------------------------------------------------ the tools themselves
WRONG = """
class Net(Base):
    def construct(self, x, y, ix, n, r, flag):
        c = 1
        a = ops.tanh(x) * y
        if flag or c:
            for i in range(3):
                a = a + i
            b = ops.sin(wrong(a) + 1.0)
        else:
            b = x
        return a, b, c
    def total(self, x, y, ix, n, r, flag):
        return (self.construct(x, y, ix, n, r, flag)[1] * 2.0).sum()
"""


class Wrong:
    """A function that compiled code runs wrongly."""

    def __call__(self, x):
        return x

    def __graph_call__(self, ctx, args, kwargs):
        return ctx.call(lambda x: x + 1.0, args, kwargs)


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setattr(modes, "define", functools.partial(modes.define, wrong=Wrong()))


def test_a_mistake_is_found_and_the_program_made_small(planted):
    p = Program(0, WRONG, "float64", (3,), False, True)
    finding = fuzz.examined(p, False, collections.Counter())
    assert finding.check == ("forward", (2,))
    small = fuzz.smallest(finding)
    assert len(ast.parse(small).body[0].body[0].body) <= 3
    assert "wrong" in small
    assert "for" not in small
    assert "if" not in small
    assert small == fuzz.smallest(finding)
    space = {}
    exec(finding.text(small), space)
    with pytest.raises(Difference, match=r"O2 on (native|auto|numpy) and eager"):
        space["test_found"]()


SIZED = """
class Net(Base):
    def construct(self, x, y, ix, n, r, flag):
        return wrong(x) * len(x), y[0]
    def total(self, x, y, ix, n, r, flag):
        out = self.construct(x, y, ix, n, r, flag)
        return out[0].sum() + out[1].sum()
"""


class WrongForAllSizes(Wrong):
    """A function that code for symbolic sizes runs wrongly."""

    def __graph_call__(self, ctx, args, kwargs):
        (x,) = args
        return x if all(isinstance(d, int) for d in x.value.shape) else super().__graph_call__(ctx, args, kwargs)


def test_a_mistake_of_symbolic_sizes_is_found_and_an_error_for_some_size_is_none(monkeypatch):
    p = Program(1, SIZED, "float64", (3, 2), False, True, True)
    monkeypatch.setattr(modes, "define", functools.partial(modes.define, wrong=lambda x: x * 2.0))
    for what in ("value", "gradient", "second"):  # `y[0]` of no rows is an IndexError
        Judge(p).sizes(what)
    monkeypatch.undo()
    monkeypatch.setattr(modes, "define", functools.partial(modes.define, wrong=WrongForAllSizes()))
    with pytest.raises(Difference, match="value with symbolic sizes at 7"):
        Judge(p).sizes("value")


def test_the_long_run_saves_what_it_finds(planted, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(fuzz, "program", lambda seed, size: Program(seed, WRONG, "float64", (3,), False, True))
    monkeypatch.setattr(
        sys, "argv", ["fuzz", "--programs", "2", "--jobs", "1", "--start", "0", "--folder", str(tmp_path)]
    )
    assert fuzz.main() == 1
    assert len(list(tmp_path.glob("test_found_*.py"))) == 2
    assert "2 programs" in capsys.readouterr().out


def test_the_long_run_ends_well_where_nothing_is_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(
        sys, "argv", ["fuzz", "--programs", "1", "--jobs", "1", "--start", "0", "--folder", str(tmp_path / "none")]
    )
    assert fuzz.main() == 0
    assert "1 programs, 0.0% refused, 0 failed" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_shrinking_keeps_what_fails():
    source = "def f(a, b):\n    c = a * 2\n    if a > b:\n        d = g(a + c, 3)\n        e = 1\n    return d\n"

    def fails(text):
        return any(
            isinstance(n, ast.Call) and n.func.id == "g" for n in ast.walk(ast.parse(text)) if hasattr(n, "func")
        )

    assert shrunk(source, fails) == "def f(a, b):\n    d = g(x, 3)\n"
    assert shrunk(source, lambda text: False) == source
