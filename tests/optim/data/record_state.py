"""Records the state that MindSpore's optimizers keep: names, dtypes, shapes, and values after 3 and after 5 steps.

Run with an interpreter that has MindSpore 2.10 (CPU): ``python tests/optim/data/record_state.py``; it writes
recorded_state.json beside itself.  What raises there is recorded as its error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore import Parameter, Tensor, nn
from mindspore.experimental import optim

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from state_cases import CASES, gradients, start  # noqa: E402


def state_of(cell: nn.Cell) -> list[Any]:
    """[name, dtype, shape, values] of every Parameter."""
    return [
        [p.name, str(p.dtype).lower(), list(p.shape), [float(v) for v in p.asnumpy().ravel()]]
        for p in cell.get_parameters()
    ]


def recorded(name: str) -> Any:
    try:
        made = CASES[name](nn, optim, [Parameter(Tensor(value), name=key) for key, value in start().items()])
        kept = {}
        for step in range(5):
            made(tuple(Tensor(g) for g in gradients(step)))
            if step in (2, 4):
                kept[str(step + 1)] = state_of(made)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return kept


if __name__ == "__main__":
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found = {name: recorded(name) for name in CASES}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    (HERE / "recorded_state.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
