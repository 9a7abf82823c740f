"""Random programs on the device: compiled as eager, in every way to launch; see `tests.property` for the programs."""

from __future__ import annotations

import pytest

from tests.ascend.conftest import Simulator
from tests.ascend.on_device import MODES, ascend
from tests.property.grammar import program
from tests.property.modes import Judge


@pytest.mark.some(6)
@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_is_the_same_compiled(device: Simulator, seed: int) -> None:
    judge = Judge(program(seed))
    with ascend(ascend_mode=MODES[seed % 3], ascend_fallback="host"):
        judge.check("forward", 2)
        judge.check("gradients", 0)
    assert judge.compared == ["forward", "gradients"]
