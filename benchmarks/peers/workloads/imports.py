"""The time of an import in a new process, beyond that of an empty one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from ..case import Case, Maker

#: What users import to compute something.
STATEMENTS = {
    "numpy": "import autodiff_compiler",
    "native": "import autodiff_compiler; autodiff_compiler.jit(len); autodiff_compiler.set_context(backend='native')",
    "jax": "import jax, jax.numpy",
    "torch": "import torch",
    "autograd": "import autograd, autograd.numpy",
    "numba": "import numba",
    "hand": "import numpy",
}


def milliseconds(statement: str) -> float:
    """Of the import alone: the interpreter has started."""
    code = f"import time; start = time.perf_counter()\n{statement}\nprint(1e3 * (time.perf_counter() - start))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def whole(statement: str) -> float:
    """Of a process that imports and ends."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return 1e3 * (time.perf_counter() - start)


def makers(figure: Callable[[str], float]) -> dict[str, Maker]:
    return {column: lambda s=statement: lambda: figure(s) for column, statement in STATEMENTS.items()}


def cases() -> Iterator[Case]:
    yield Case("import", makers(milliseconds), at_most=250.0, kind="figure", unit="ms", threads=(1,), rounds=7)
    yield Case("process that imports and ends", makers(whole), kind="figure", unit="ms", threads=(1,), rounds=7)
