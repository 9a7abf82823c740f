"""docs/native_operators.md, and what coverage says of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.native.codegen.values import FUSED, HOST, NATIVE
from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.dtypes import float32
from autodiff_compiler.inspection.samples import module_of
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.primitives import F
from tests import forked
from tests.backends.native.sampled import WITH_SAMPLES
from tests.selection import one_in
from tools.native_page import REASONS, ways

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
def test_the_page_is_current():
    """`make check` looks at it, too."""
    assert forked.run(ROOT / "tools" / "native_page.py", "--check").returncode == 0, "run python tools/native_page.py"


def test_numpy_computes_what_the_page_says_and_nothing_else():
    """Without ``--long`` of all that are on the page, and of one in four others."""
    names = {name for name in WITH_SAMPLES if name in REASONS or one_in(4, name)}
    assert {name for name in names if HOST in ways(name)} == REASONS.keys() & names


def test_coverage_names_each_op_of_a_module():
    def build(x):
        return F.softmax(x, axis=-1), *F.sort(x, axis=-1), F.argmax(x, axis=-1), F.cumsum(F.exp(x), axis=-1)

    covered = NativeBackend(NumpyBackend).coverage(module_of([tensor(float32, (4, 5))], build))
    assert covered.complete
    assert covered.ways == {"argmax": FUSED, "cumsum": NATIVE, "exp": FUSED, "softmax": FUSED, "sort": HOST}
