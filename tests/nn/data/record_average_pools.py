"""Records what MindSpore's AvgPool1d, 2d and 3d make of their options in every pad mode.

Run with an interpreter that has MindSpore 2.10 (CPU): ``python tests/nn/data/record_average_pools.py``; it writes
recorded_average_pools.json beside itself: [class, options, input's shape, output's shape, output], where the input is
0, 1, 2, ... and what raises is recorded as the name of its exception.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor, nn

SHAPES = {"AvgPool1d": (1, 2, 6), "AvgPool2d": (1, 1, 6, 5), "AvgPool3d": (1, 1, 4, 3, 3)}


def recorded(name: str, options: dict[str, Any]) -> list[Any]:
    shape = SHAPES[name]
    try:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        y = getattr(nn, name)(**options)(Tensor(x)).asnumpy()
    except Exception as error:
        return [name, options, shape, None, type(error).__name__]
    return [name, options, shape, y.shape, [float(v) for v in y.ravel()]]


def cases() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, mode, ceil, count, divisor in itertools.product(
        SHAPES, ("valid", "same", "pad"), (False, True), (True, False), (None, 2, -3)
    ):
        if divisor is not None and name == "AvgPool1d":
            continue
        options = {"kernel_size": 3, "stride": 2, "pad_mode": mode, "ceil_mode": ceil, "count_include_pad": count}
        options |= {"padding": 1} if mode == "pad" else {}
        options |= {} if divisor is None else {"divisor_override": divisor}
        found.append((name, options))
    return found


if __name__ == "__main__":
    lines = [json.dumps(recorded(name, options)) for name, options in cases()]
    Path(__file__).with_name("recorded_average_pools.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
