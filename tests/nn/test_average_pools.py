"""AvgPool1d, 2d and 3d with all their options, as MindSpore 2.10 computes them (data/record_average_pools.py)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn

RECORDED = json.loads((Path(__file__).parent / "data" / "recorded_average_pools.json").read_text())


@pytest.mark.some(2)
@pytest.mark.parametrize(("name", "options", "shape", "out", "values"), RECORDED)
def test_options_in_all_pad_modes(
    mode: str, name: str, options: dict[str, Any], shape: list[int], out: list[int] | None, values: Any
) -> None:
    if out is None:
        assert values == "ValueError"
        with pytest.raises(ValueError, match="divisor_override"):
            getattr(nn, name)(**options)
        return
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = getattr(nn, name)(**options)(Tensor(x))
    assert list(found.shape) == out
    np.testing.assert_allclose(found.asnumpy().ravel(), values, rtol=1e-6)
