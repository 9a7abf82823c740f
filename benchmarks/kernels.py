"""Every kernel beside the call of NumPy or SciPy that a user would write instead: microseconds per call, in turns.

    python benchmarks/kernels.py [--only FAMILY_OR_NAME ...] [--sizes BYTES ...] [--dtypes NAME ...] [--json FILE]
    python benchmarks/kernels.py --native [--only ...] [--sizes ...] [--dtypes ...] [--slow]
    python benchmarks/kernels.py --missing

Rows are data: `_number_cases.py` and `_array_cases.py`.  Each measures the public function on Tensors (`eager`), the
same function compiled by `jit` (`compiled`), and its peer on arrays, on operands of 64 KiB and 4 MiB (smaller where an
op is cubic), after comparing the results (where a size of the result depends on data, `compiled` is eager mode again).
`eager/peer` and `compiled/peer` are ratios of medians over the rounds.  `kernel` is the ratio of the better of ours to
the peer after the time of a call on one element (what dispatching costs, which is no kernel's; measured in the same
rounds) is taken off ours: of medians or of the best rounds, whichever is less, as other work on the machine only adds.
`slow` marks rows where that exceeds 1.3.

`note` says what the two do not have in common.

`--native` compares the two backends of compiled functions instead, forward and for the gradient of the sum of all
results: `numpy/native` and `peer/native` are ratios of the best times, calls included, and `slow` marks rows where the
former is below 1.  (Transposed results are views for the NumPy backend, and arrays in C order for machine code.)

What stays above it, with the reason:

- `tensor_scatter_update` of rows and `index_fill` at 64 KiB (to 1.45): whether the index is within bounds is looked up
  first, beside copies of 2 to 5 us.
- `mv`, `dot`, `norm`, `matrix_norm`, `norm` of order inf, `min` of columns at 64 KiB only (to 1.65): NumPy needs 2 to
  13 us there, and what several small calls of Python cost is not taken off.
- `argsort` of float64 numbers that are no float32 numbers, `sort` of columns of them (1.2 to 1.5): ours is stable.
- `topk` of float64 at 64 KiB (to 1.4): equal elements stay in order, nan is the greatest.
- `einsum` of `i,j->ij` (1.6 at 4 MiB): `np.multiply.outer` and `np.outer` take as long as ours.
- at 4 MiB a row may exceed the bound in one run and not in the next: the time depends on where fresh memory lies.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from _array_cases import CASES as ARRAY_CASES
from _cases import Case, KiB, MiB, Operands
from _measure import interleaved, machine, np, rounds_of, table
from _number_cases import CASES as NUMBER_CASES

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

CASES = [*NUMBER_CASES, *ARRAY_CASES]
LIMIT = 1.3


def arrays_of(result: Any) -> list[np.ndarray]:
    """A result as a flat list of arrays: Tensors, arrays, numbers, and tuples and lists of them."""
    if isinstance(result, tuple | list):
        return [a for part in result for a in arrays_of(part)]
    return [result.asnumpy() if isinstance(result, Tensor) else np.asarray(result)]


def compare(case: Case, dtype: np.dtype, *results: Any) -> None:
    """Raises AssertionError unless all results agree with the last one, the peer's."""
    *ours, peer = [arrays_of(r) for r in results]
    tolerance = case.tolerance * float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
    for mine in ours:
        if len(mine) != len(peer):
            raise AssertionError(f"{case.name}: {len(mine)} results beside the peer's {len(peer)}")
        for a, b in zip(mine, peer, strict=True):
            np.testing.assert_allclose(
                a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(b), initial=0))), err_msg=case.name
            )


def smallest_calls() -> list[Callable[[], Any]]:
    """One op on one element: eager, compiled, NumPy."""
    a = np.ones(1, np.float32)
    x, compiled = Tensor(a), ms.jit(ops.exp)
    return [lambda: ops.exp(x), lambda: compiled(x), lambda: np.exp(a)]


def measure(case: Case, nbytes: int, dtype: str, rounds: int, smallest: list[Callable[[], Any]]) -> dict[str, Any]:
    """One row."""
    arrays = case.inputs(Operands(nbytes, dtype))
    tensors = [Tensor(a) for a in arrays]
    compiled = ms.jit(case.ours) if case.compilable else case.ours
    functions: list[Callable[[], Any]] = [
        lambda: case.ours(*tensors), lambda: compiled(*tensors), lambda: case.peer(*arrays)
    ]  # fmt: skip
    if case.comparable:
        compare(case, np.dtype(dtype), *[f() for f in functions])
    times = rounds_of([*functions, *smallest], rounds, seconds=0.001)
    eager, graph, peer = map(statistics.median, times[:3])
    kernels = []
    for statistic in (statistics.median, min):
        ours, compiled_ours, other, eager_call, graph_call, bare = map(statistic, times)
        kernels.append((min(ours - eager_call, compiled_ours - graph_call) + bare) / other)
    return {
        "family": case.family, "name": case.name, "dtype": dtype, "KiB": nbytes // KiB, "eager": eager,
        "compiled": graph, "peer": peer, "eager/peer": eager / peer, "compiled/peer": graph / peer,
        "kernel": min(kernels), "note": case.note,
    }  # fmt: skip


def gradient_of(function: Callable[..., Any], positions: tuple[int, ...]) -> Callable[..., Any]:
    """The gradient of the sum of a function's results that are floats."""

    def total(*xs: Any) -> Any:
        results = function(*xs)
        if not isinstance(results, tuple | list):
            return ops.sum(results)
        return sum([ops.sum(r) for r in results if r.dtype in (ms.float32, ms.float64)])

    return ms.grad(total, grad_position=positions)


def measure_backends(case: Case, nbytes: int, dtype: str, rounds: int) -> list[dict[str, Any]]:
    """The rows of a case that can be compiled: machine code, the NumPy backend, and (of the forward part) the peer."""
    arrays = case.inputs(Operands(nbytes, dtype))
    tensors = [Tensor(a) for a in arrays]
    floats = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    kinds = [("forward", case.ours)]
    if floats and case.comparable:
        kinds.append(("gradient", gradient_of(case.ours, floats)))
    rows = []
    for kind, function in kinds:
        native, plain = (ms.jit(function, backend=backend) for backend in ("native", "numpy"))
        functions: list[Callable[[], Any]] = [lambda f=native: f(*tensors), lambda f=plain: f(*tensors)]  # type: ignore[misc]
        try:
            results = [f() for f in functions]
        except (TypeError, ValueError, RuntimeError):  # it has no gradient
            if kind == "forward":
                raise
            continue
        if case.comparable:
            compare(case, np.dtype(dtype), *results)
        peer = [lambda: case.peer(*arrays)] if kind == "forward" else []
        ours, other, *rest = interleaved([*functions, *peer], rounds, seconds=0.001)
        rows.append({
            "family": case.family, "name": case.name, "dtype": dtype, "KiB": nbytes // KiB, "what": kind,
            "native": ours, "numpy": other, "numpy/native": other / ours,
            "peer/native": rest[0] / ours if rest else "", "note": case.note,
        })  # fmt: skip
    return rows


def missing() -> list[str]:
    """Public functions without a row; a function of several names needs one."""
    measured = {getattr(ops, case.name.split()[0], None) for case in CASES}
    names: dict[Any, list[str]] = {}  # operator classes (capitalised) wrap the functions of the same name
    for name in [n for n in ops.__all__ if n[0].islower()]:
        names.setdefault(getattr(ops, name), []).append(name)
    return [found[0] for function, found in names.items() if function not in measured]


def chosen(only: Sequence[str]) -> list[Case]:
    return [c for c in CASES if not only or c.family in only or c.name in only or c.name.split()[0] in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="families or public functions")
    parser.add_argument("--sizes", nargs="+", type=int, default=[64 * KiB, 4 * MiB], help="bytes of an operand")
    parser.add_argument("--dtypes", nargs="+", default=[], help="of those of a row")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--slow", action="store_true", help="print the slow rows only")
    parser.add_argument("--json", help="file for the rows")
    parser.add_argument("--native", action="store_true", help="compare machine code with the NumPy backend")
    parser.add_argument("--missing", action="store_true", help="print the public functions without a row")
    options = parser.parse_args()
    if options.missing:
        print(" ".join(missing()))
        return
    print(machine())
    np.ones(31 * MiB, np.uint8)  # once one of this size was freed, glibc keeps the memory of smaller arrays
    smallest = smallest_calls()
    print("a call on one element: {:.1f} us eager, {:.1f} us compiled, {:.1f} us NumPy".format(*interleaved(smallest)))
    rows: list[dict[str, Any]] = []
    for case in chosen(options.only):
        if options.native and not case.compilable:
            continue
        for dtype in case.dtypes:
            if options.dtypes and dtype not in options.dtypes:
                continue
            for nbytes in sorted({min(s, case.largest) for s in options.sizes}):
                if options.native:
                    rows += measure_backends(case, nbytes, dtype, options.rounds)
                else:
                    rows.append(measure(case, nbytes, dtype, options.rounds, smallest))
    slow = [row for row in rows if (row["numpy/native"] < 1 if options.native else row["kernel"] > LIMIT)]
    columns = [*(rows[0] if rows else ())][:-1]
    shown = [
        [*[row[c] for c in columns], "slow" if row in slow else "", row["note"]]
        for row in (slow if options.slow else rows)
    ]
    table("Microseconds per call", [*columns, "", "note"], shown)
    print(f"\n{len(slow)} of {len(rows)} rows {'below 1' if options.native else f'over {LIMIT}'}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
