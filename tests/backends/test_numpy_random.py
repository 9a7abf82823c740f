"""Random programs give what a naive interpreter gives, bit for bit, and touch nothing that is not theirs."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autodiff_compiler.backends.numpy import NumpyBackend
from tests.backends.reference import ProgramMaker, assert_same, interpret
from tests.selection import part


def arguments():
    rng = np.random.default_rng(7)
    small = [rng.standard_normal(s).astype(np.float32) for s in ((), (40,), (40, 40), (40, 40))]
    return [*(np.asarray(a) for a in small), np.array(2)]


@settings(max_examples=part(120), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 14), st.integers(0, 3), st.sampled_from([1, 4096]))
def test_random_programs(random, size, depth, reuse_bytes):
    module = ProgramMaker(random, size, depth).make()
    program = NumpyBackend(reuse_bytes=reuse_bytes).compile(module)
    arrays = arguments()
    expected = interpret(module, *arrays)
    for _ in range(2):  # a second run finds constants as they were
        results = program(*arrays)
        try:
            assert_same(list(results), expected)
        except AssertionError:
            print(program.source)
            raise
        for array, original in zip(arrays, arguments(), strict=True):
            np.testing.assert_array_equal(array, original)
        plain = [r for r in results if isinstance(r, np.ndarray)]
        for i, r in enumerate(plain[:3]):
            assert not any(np.shares_memory(r, other) for other in (*arrays, *plain[:i]))
