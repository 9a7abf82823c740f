"""Random programs do the same before and after each pass: results bit by bit, prints in order, final states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.passes import PASSES, state_plan
from tests.passes.programs import arguments, outcome, programs
from tests.selection import part

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check(module: Module, names: list[str], seed: int) -> None:
    """Runs passes one after another and compares with the program as it was."""
    text = print_module(module)
    args = arguments(seed)
    expected = outcome(module, args)
    for name in names:
        module = PASSES[name](module)
        verify(module)
        assert outcome(module, args) == expected, f"after {name}:\n{print_module(module)}"
        assert print_module(parse_module(print_module(module))) == print_module(module)
    assert print_module(parse_module(text)) == text


@pytest.mark.parametrize("name", ["simplify", "dce", "inline", "licm", "fuse"])
@given(module=programs(), seed=st.integers(0, 1000))
@settings(max_examples=part(100), deadline=None)
def test_a_pass_keeps_what_a_program_does(name: str, module: Module, seed: int) -> None:
    before = print_module(module)
    check(module, [name], seed)
    assert print_module(module) == before, "a pass must not edit the module it is given"


@given(module=programs(), seed=st.integers(0, 1000))
@settings(max_examples=part(100), deadline=None)
def test_passes_after_each_other_keep_what_a_program_does(module: Module, seed: int) -> None:
    check(module, ["simplify", "inline", "simplify", "licm", "simplify", "fuse", "plan_memory", "dce"], seed)


@given(module=programs(states=True), seed=st.integers(0, 1000))
@settings(max_examples=part(60), deadline=None)
def test_lifted_states_end_as_the_cells_did(module: Module, seed: int) -> None:
    args = arguments(seed)
    cells: dict[str, Any] = {"a": np.float32([1, -0.0, 3]), "b": np.float32([0.5, np.inf, -2])}
    results, printed, final = outcome(module, args, cells)
    for names in (["lift_state"], ["simplify", "lift_state", "simplify", "inline", "licm"]):
        lifted = module
        for name in names:
            lifted = PASSES[name](lifted)
        verify(lifted, "PURE")
        plan = state_plan(lifted)
        got, shown, untouched = outcome(lifted, [*args, *(cells[n] for n in plan.inputs)])
        users = len(results)
        assert (got[:users], shown, untouched) == (results, printed, {})
        after = {n: outcome_bits for n, outcome_bits in zip(plan.outputs, got[users:], strict=True)}
        for n, value in final.items():
            assert [after[n]] == value if n in after else value[0][2] == cells[n].tobytes()


@given(module=programs(states=True))
@settings(max_examples=20, deadline=None)
def test_lifting_again_changes_nothing(module: Module) -> None:
    lifted = PASSES["lift_state"](module)
    again = PASSES["lift_state"](lifted)
    assert print_module(again) == print_module(lifted)
    assert state_plan(again) == state_plan(lifted)


@given(module=programs())
@settings(max_examples=30, deadline=None)
def test_simplifying_again_changes_little(module: Module) -> None:
    """What one sweep leaves to the next are carries that a rule uncovers twice: the third finds nothing."""
    for _ in range(3):
        module = PASSES["simplify"](module)
    assert print_module(PASSES["simplify"](module)) == print_module(module)
