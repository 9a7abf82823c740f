"""Which ops of a program become one walk."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import why_not
from autodiff_compiler.primitives import F
from tests.backends.native.sampled import assert_like_numpy, module_for

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")


def test_numbers_per_channel_are_computed_before_the_walk_that_uses_them() -> None:
    """Batch normalisation by known moments goes over the images once, whatever the order of its ops is."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 8, 20, 20)).astype(np.float32)
    moments = [rng.random(8).astype(np.float32) for _ in range(4)]

    def build(v, mean, variance, scale, shift):
        spread = lambda y: F.broadcast_to(F.reshape(y, shape=(8, 1, 1)), shape=v.shape)
        centred = v - spread(mean)
        return centred * spread(F.rsqrt(variance + 1e-5)) * spread(scale) + spread(shift)

    program = assert_like_numpy(module_for(build, x, *moments), [x, *moments], "batch normalisation")
    assert program.source.count("define internal void @k") == 1
