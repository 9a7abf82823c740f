"""Random programs: eager, as a NumPy program, as machine code, and differences of eager code.

The seed of a run is the day's, printed, and can be given: ``AC_RANDOM_PROGRAMS=seed,how_many``.
"""

from __future__ import annotations

import datetime
import os

import pytest

import autodiff_compiler as ms
from autodiff_compiler.backends.native.jit.machine import why_not
from tests.property.grammar import program
from tests.property.modes import Judge

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

_GIVEN = os.environ.get("AC_RANDOM_PROGRAMS", "").split(",")
START = int(_GIVEN[0] or datetime.date.today().toordinal() * 1000)
COUNT = int(_GIVEN[1]) if len(_GIVEN) > 1 else 8


@pytest.fixture
def backend():
    """Sets the backend; the one from before comes back."""
    before = ms.get_context("backend"), ms.get_context("mode"), ms.get_context("verify")
    ms.set_context(mode=ms.PYNATIVE_MODE, verify=True)
    yield lambda name: ms.set_context(backend=name)
    ms.set_context(backend=before[0], mode=before[1], verify=before[2])


@pytest.mark.some(2)
@pytest.mark.parametrize("number", range(COUNT))
def test_a_random_program_is_the_same_everywhere(number, backend):
    seed = START + number
    print(f"seed {seed}: again with AC_RANDOM_PROGRAMS={seed},1")
    judge = Judge(program(seed, 12 + number % 3 * 6))
    backend("numpy")
    judge.check("forward", 2)
    judge.check("differences", 0)  # of eager code: what the gradients below are compared with is right
    backend("native")
    judge.check("forward", 2)
    judge.check("gradients", number % 2)
