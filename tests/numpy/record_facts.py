"""Writes `facts.json`: the dtypes, shapes and containers that MindSpore gives for the calls, and its parameters.

Run with MindSpore 2.10 on a CPU (``pip install mindspore==2.10 "numpy<2"``), in this folder:
``python record_facts.py``.  A call that MindSpore refuses is noted with the name of its exception.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.numpy as mnp
import numpy as np
from calls import BINARY, CALLS, COMPARISONS, OTHERS, QUESTIONS, UNARY, D

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
MIXED = "bool uint8 int8 int32 int64 float16 float32 float64".split()
REDUCTIONS = (
    "sum mean std var amax amin cumsum cumprod nansum nanmean nanmax nanstd ptp count_nonzero argmax argmin trace norm "
    "average diff trapz gradient cov around"
)


def given(x: Any) -> Any:
    """An argument as MindSpore takes it."""
    if isinstance(x, np.ndarray):
        return ms.Tensor(x)
    if isinstance(x, D):
        return getattr(ms, x.name)
    if isinstance(x, tuple | list):
        return type(x)(given(y) for y in x)
    return x


def seen(x: Any) -> Any:
    """What is recorded of a result."""
    if isinstance(x, ms.Tensor):
        return [str(x.dtype).lower(), list(x.shape)]
    if isinstance(x, tuple | list):
        return {type(x).__name__: [seen(y) for y in x]}
    return type(x).__name__ if isinstance(x, bool | int | str) else str(x)


def outcome(name: str, args: Any, kwargs: Any) -> Any:
    try:
        found = getattr(mnp, name)(*given(args), **{k: given(v) for k, v in kwargs.items()})
        for t in found if isinstance(found, tuple | list) else (found,):
            if isinstance(t, ms.Tensor):
                t.asnumpy()  # kernels run later
        return seen(found)
    except Exception as error:
        with contextlib.suppress(Exception):
            ms.runtime.synchronize()  # what is left of the error
        return "! " + type(error).__name__


def signature(name: str) -> list[list[str]]:
    """The parameters of a function: name, kind and default."""
    parameters = inspect.signature(getattr(mnp, name)).parameters.values()
    return [[p.name, p.kind.name, "" if p.default is p.empty else str(p.default)] for p in parameters]


def main() -> None:
    ms.runtime.launch_blocking()  # else an error is raised by whatever comes next
    facts: dict[str, Any] = {"calls": {c.key: outcome(c.name, c.args, c.kwargs) for c in CALLS}}
    one = np.array([[1, 1], [1, 1]])
    facts["unary"] = {
        name: {d: outcome(name, (one.astype(d),), {}) for d in DTYPES}
        for name in (UNARY + " " + QUESTIONS + " " + REDUCTIONS).split()
    }
    facts["binary"] = {
        name: {f"{a} {b}": outcome(name, (one.astype(a), one.astype(b)), {}) for a in MIXED for b in MIXED}
        | {f"{a} {n!r}": outcome(name, (one.astype(a), n), {}) for a in MIXED for n in (True, 1, 1.5)}
        for name in (BINARY + " " + COMPARISONS).split()
    }
    facts["signatures"] = {name: signature(name) for name in sorted({c.name for c in CALLS} | OTHERS)}
    facts["names"] = sorted(n for n in vars(mnp) if n in mnp.__all__ or isinstance(getattr(mnp, n), float))
    path = Path(__file__).parent / "facts.json"
    path.write_text(json.dumps(facts, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
