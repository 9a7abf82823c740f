"""The same work in this package and in its peers, side by side in one process.

    python -m benchmarks.peers [--only NAME] [--rounds N] [--json FILE] [--threads N]

Columns: this package compiled on the backends "native" (where there is one) and "numpy", and eager; JAX under `jit`,
torch eager and compiled, HIPS autograd, numba, and NumPy by hand: as far as installed (`pip install -e '.[bench]'`).

A framework is timed only after its values and gradients have agreed with those of NumPy in float64, whose formulas are
written by hand and agree with central differences.  Rounds alternate between the frameworks, each round starting with
another.  The first column is our time, that of the native backend where there is one; every other is the time (or
memory) of the other divided by ours, the median over the rounds with its quartiles: above 1 we are better.  `!` marks
a ratio below its target.

Every group of cases runs in a process of its own per number of threads: that number is in the environment of all
libraries, and the process is bound to as many processors.  JAX and torch work with inputs that are theirs already; a
call is over when its results are there.
"""

from .case import Case, derivative, pullback
from .report import Row, as_json, show
from .run import run_group, run_groups

__all__ = ["Case", "Row", "as_json", "derivative", "pullback", "run_group", "run_groups", "show"]
