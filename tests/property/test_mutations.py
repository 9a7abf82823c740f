"""A sample of mutated programs (`make fuzz` runs 100,000), and that the ways to find something find it."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.ir.text import parse_module
from tests import forked
from tests.property.mutations import examined, found_in, mutated, ran, texts
from tests.selection import part

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

INPUTS = part(400)


def test_no_mutated_program_reaches_memory_that_is_not_its_own():
    tally, findings = found_in(0, INPUTS)
    assert not findings, "\n".join(map(str, findings))
    assert tally["ran"] > INPUTS // 20  # it is no test of the parser alone
    assert tally.total() == INPUTS


def test_an_input_is_the_same_at_every_time():
    assert [mutated(seed) for seed in range(50)] == [mutated(seed) for seed in range(50)]
    assert len({mutated(seed) for seed in range(50)}) > 40


def test_texts_run_as_they_are():
    for text in dict.fromkeys(texts()[:9]):
        module = parse_module(text)
        assert module.entry.args


GATHER = "func @f(%x: f32[3], %i: i64[2]) -> (f32[2]) { %y: f32[2] = gather %x, %i {axis=-1} ; return %y }"
UNCLAMPED = """
import sys
from unittest import mock
import numpy as np
from autodiff_compiler.backends.native.kernels import indexing
from autodiff_compiler.ir.text import parse_module
from tests.property.mutations import ran

def anywhere(text, place, size):
    return text.load("i64", place, 8)

module = parse_module(%r)
with mock.patch.object(indexing, "position", anywhere):
    print(ran(module, [np.ones(3, np.float32), np.array([0, int(sys.argv[1])])], front=sys.argv[2] == "front"))
"""


@pytest.mark.parametrize(("place", "side"), [("3", "behind"), ("1000", "behind"), ("-1", "front"), ("-500", "front")])
def test_reads_beside_an_argument_end_the_process(place, side):
    """Without the limit of positions the forbidden pages are met; with it they are not."""
    done = forked.run("-c", UNCLAMPED % GATHER, place, side)
    assert done.returncode < 0, done.stdout
    arrays = [np.ones(3, np.float32), np.array([0, int(place)])]
    assert ran(parse_module(GATHER), arrays, front=side == "front") == "ran"


def test_examined_says_what_became_of_an_input():
    assert {examined(seed).split(" ")[0] for seed in range(40)} <= {
        "refused",
        "ran",
        "raised",
        "unbound",
        "too",
        "not",
        "no",
    }
