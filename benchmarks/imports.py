"""What importing the package costs: processor time in fresh interpreters, and which rooms take it.

python benchmarks/imports.py
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections import Counter

from _measure import machine, table

#: Milliseconds of processor time that ``import autodiff_compiler`` may take.
TARGET = 150
#: What a fresh interpreter runs.
STEPS = {
    "numpy": "import numpy",
    "autodiff_compiler": "import autodiff_compiler",
    "and first use of ops": "import autodiff_compiler as ms; ms.ops.relu",
    "and of nn": "import autodiff_compiler as ms; ms.ops.relu; ms.nn.Dense",
    "and of jit": "import autodiff_compiler as ms; ms.ops.relu; ms.nn.Dense; ms.jit",
}
_MEASURED = """
import sys, time
start = time.process_time()
{code}
print(time.process_time() - start, len(sys.modules), "llvmlite" in sys.modules, "scipy" in sys.modules)
"""
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)$")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter beside the package; bytecode is there from the second run on."""
    command, here = [sys.executable, *arguments], pathlib.Path(__file__).parents[1]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=here)


def step(code: str, rounds: int = 7) -> list[float | str]:
    """The best milliseconds of processor time of code, how many modules are loaded after it, and which large ones."""
    found = [run("-c", _MEASURED.format(code=code)).stdout.split() for _ in range(rounds)]
    ms = min(1e3 * float(words[0]) for words in found)
    _, modules, *large = found[-1]
    return [ms, modules, *("yes" if word == "True" else "no" for word in large)]


def rooms(rounds: int = 7) -> list[list[float | str]]:
    """Milliseconds of each room of the package, of NumPy and of the standard library, without what they import."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        taken: Counter[str] = Counter()
        for line in run("-X", "importtime", "-c", "import autodiff_compiler").stderr.splitlines():
            if found := _LINE.match(line):
                taken[room(found[2])] += int(found[1])
        best = {name: min(best.get(name, float("inf")), us / 1000) for name, us in taken.items()}
    return [[name, ms] for name, ms in sorted(best.items(), key=lambda item: -item[1])]


def room(module: str) -> str:
    """The part of the table that a module counts to."""
    first, *rest = module.split(".")
    if first == "autodiff_compiler":
        return f"autodiff_compiler.{rest[0]}" if len(rest) > 1 else "autodiff_compiler, other modules"
    return "numpy" if first == "numpy" else "standard library and what it finds"


def main() -> None:
    print(machine())
    run("-c", "import autodiff_compiler")  # writes the bytecode
    rows = [[name, *step(code)] for name, code in STEPS.items()]
    title = f"Processor time of imports; the target for autodiff_compiler is {TARGET} ms"
    table(title, ["import", "ms", "modules", "llvmlite", "scipy"], rows)
    table("Milliseconds of each room, with -X importtime, which adds some itself", ["room", "ms"], rooms())


if __name__ == "__main__":
    main()
