"""Writes docs/benchmarks.md, and its picture, from the figures in benchmarks/results.

python tools/benchmarks_page.py            writes the page
python tools/benchmarks_page.py --check    fails if the page is not what the figures say
python tools/benchmarks_page.py --plot     writes docs/pictures/peers.svg, too (needs matplotlib)

The figures are those of ``python -m benchmarks.peers --threads N --json benchmarks/results/peers_N.json``.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from generated_pages import write_or_check
from python_files import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "pictures" / "peers.svg"
#: How columns are called; others than these stand for scale, and are told in words.
NAMES = {
    "jax": "JAX", "torch": "torch", "torch.compile": "torch.compile", "autograd": "autograd", "numba": "numba",
    "jaxopt": "jaxopt", "diffrax": "diffrax",
    "hand": "NumPy by hand", "numpy": "ours on NumPy", "eager": "ours, eager",
}  # fmt: skip
#: What the groups measure.
GROUPS = {
    "calls": "What one call costs",
    "rosenbrock": "Rosenbrock's function and its gradient",
    "mlp": "A network of dense layers: one step of training",
    "elementwise": "Chains of elementwise functions with their gradient",
    "rows": "Softmax and layer norm with their gradient",
    "logistic": "Logistic regression: value and gradient",
    "implicit": "Values that an equation defines, with gradients",
    "ode": "A differential equation, solved in a `while` loop, with its adjoint",
    "rnn": "A recurrent network over 100 steps, with its gradient",
    "hvp": "Products of a Hessian and a vector",
    "gmm": "Mixture of Gaussians: value and gradient",
    "compilation": "The first call, compilation included",
    "batches": "A new size of batch at every call",
    "lstm": "An LSTM over sequences of varying length: an epoch of training",
    "streaming": "Large arrays, bound by memory",
    "imports": "Importing the package",
    "memory": "Memory of a process",
}
#: The rows of the picture: group and name of the case.
SHOWN = [
    ("calls", "jit function tanh(x * w), 2 Tensors of 8"),
    ("rosenbrock", "Rosenbrock n=100"),
    ("mlp", "step of MLP 8-16-1, batch 16"),
    ("mlp", "step of MLP 784-512-256-10, batch 128"),
    ("elementwise", "gelu twice, 10,000 float32"),
    ("elementwise", "gelu twice, 1,000,000 float32"),
    ("elementwise", "Black-Scholes with Greeks, 1,000,000 float32"),
    ("rows", "softmax 4096 x 1000"),
    ("rows", "layer norm 4096 x 768"),
    ("logistic", "logistic regression 100,000 x 100 float32"),
    ("ode", "while of 1,709 trips with adjoint"),
    ("rnn", "RNN of 100 steps, batch 16, 32 to 64"),
    ("hvp", "H v of logistic regression 1,000 x 100"),
    ("gmm", "GMM d=10 K=25 n=1,000"),
    ("gmm", "GMM d=64 K=25 n=10,000"),
]
HEAD = """\
# Benchmarks

<!-- written by tools/benchmarks_page.py from benchmarks/results; do not edit by hand -->

The same work in this package and in others, side by side in one process. `make bench-peers` measures it on your
machine; `python -m benchmarks.peers --only mlp --rounds 5` measures a part. These figures lie in `benchmarks/results`,
where `--threads 1 --rounds 5 --json benchmarks/results/peers_1.json` put them; `python tools/benchmarks_page.py --plot`
makes this page and its picture of them.

- A framework is timed only after its values and gradients have agreed with NumPy's in float64, whose formulas are
  written by hand and agree with central differences.
- *ours* is the time of the compiled program (the native backend). Every other column is that framework's time (or
  memory) divided by ours: above 1 it takes longer, or more, than this package. These are medians of {rounds} rounds (of
  memory 3), in brackets the quartiles of ours; in each round all frameworks take turns.
- **Bold** is a ratio below the target that was set for it beforehand. [Which were missed](#targets) says why.
- Every process is bound to as many cores as it has threads. Arrays belong to each framework already; a call is over
  when its results are there. *NumPy by hand* is a gradient derived on paper and written in NumPy.

![Times of other frameworks relative to this package](pictures/peers.svg)

"""


def load() -> list[dict[str, Any]]:
    """The runs, by their file."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("peers_*.json"))]


def number(x: float) -> str:
    """About three digits."""
    return f"{x:,.0f}" if x >= 99.5 else f"{x:.1f}" if x >= 9.95 else f"{x:.2f}"


def quantity(x: float, unit: str) -> str:
    """A time in the unit that fits, or a figure in its own."""
    if unit == "us" and x >= 1000:
        return f"{number(x / 1000)} ms"
    return f"{number(x)} {unit}".rstrip()


def cell(row: dict[str, Any], column: str) -> str:
    if column in row["failed"]:
        return "failed"
    if column not in row["ratios"]:
        return ""
    ratio = number(row["ratios"][column][1])
    return f"**{ratio}**" if row["reached"].get(column) is False else ratio


def ours(row: dict[str, Any]) -> str:
    """Our median with its quartiles."""
    if not row["base"]:
        return "failed" if row["failed"] else ""
    figures = row["figures"][row["base"]]
    low, middle, high = statistics.quantiles(figures * 2 if len(figures) == 1 else figures, n=4, method="inclusive")
    spread = f" [{number(low / scale)}-{number(high / scale)}]" if (scale := scale_of(middle, row["unit"])) else ""
    text = f"{quantity(middle, row['unit'])}{spread}"
    return f"**{text}** (at most {row['at_most']:g})" if row["reached"].get("at most") is False else text


def scale_of(x: float, unit: str) -> float:
    return 1000.0 if unit == "us" and x >= 1000 else 1.0


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A table for each group."""
    for group, title in GROUPS.items():
        found = [row for row in rows if row["group"] == group]
        if not found:
            continue
        used = {column for row in found for column in row["ratios"]} | {c for row in found for c in row["failed"]}
        columns = [c for c in (*NAMES, *sorted(used - set(NAMES))) if c in used and c not in {r["base"] for r in found}]
        yield f"\n### {title}\n"
        yield "| | ours |" + "".join(f" {NAMES.get(column, column)} |" for column in columns)
        yield "|---|---|" + "--:|" * len(columns)
        for row in found:
            yield f"| {row['name']} | {ours(row)} |" + "".join(f" {cell(row, column)} |" for column in columns)


def targets(runs: list[dict[str, Any]]) -> Iterator[str]:
    """What was reached, and what was not."""
    rows = [row for run in runs for row in run["rows"]]
    verdicts = [reached for row in rows for reached in row["reached"].values()]
    yield f"\n## Targets\n\n{sum(verdicts)} of {len(verdicts)} targets were reached. Those that were not:\n"
    yield "| case | threads | | measured | target |\n|---|--:|---|--:|--:|"
    for row in rows:
        for column, reached in row["reached"].items():
            if reached:
                continue
            if column == "at most":
                than, target = "itself", row["at_most"]
                measured = quantity(statistics.median(row["figures"][row["base"]]), row["unit"])
            else:
                than, target = NAMES.get(column, column), row["targets"][column]
                measured = number(row["ratios"][column][1])
            yield f"| {row['name']} | {row['threads']} | {than} | {measured} | {target:g} |"
    why = RESULTS / "missed.md"
    yield "\n" + why.read_text("utf-8").strip() if why.exists() else ""


def page(runs: list[dict[str, Any]]) -> str:
    """The whole page."""
    rounds = max((len(f) for run in runs for row in run["rows"] for f in row["figures"].values()), default=0)
    lines = [HEAD.format(rounds=rounds).rstrip()]
    rows = [row for run in runs for row in run["rows"]]
    for threads in sorted({row["threads"] for row in rows}):
        lines.append(f"\n## With {threads} thread{'s' * (threads > 1)}\n")
        lines += [f"- {run['environment']}" for run in runs if threads in {row["threads"] for row in run["rows"]}]
        lines += tables([row for row in rows if row["threads"] == threads])
    measured = {row["group"] for row in rows}
    if left := [title[0].lower() + title[1:] for group, title in GROUPS.items() if group not in measured]:
        lines.append(f"\nNot in these runs, and measured by the same command: {'; '.join(left)}.")
    return "\n".join([*lines, *targets(runs)]).rstrip() + "\n"


def plot(runs: list[dict[str, Any]]) -> None:
    """The picture: a row for each of SHOWN, a mark for each framework."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "peers", "font.size": 9})  # the same figures give the same file
    import matplotlib.pyplot as plt

    rows = {(row["group"], row["name"]): row for run in runs for row in run["rows"] if row["threads"] == 1}
    shown = [rows[key] for key in SHOWN if key in rows]
    marks = {"jax": ("o", "#1f77b4"), "torch": ("s", "#d95f02"), "torch.compile": ("D", "#a6761d"),
             "autograd": ("v", "#7570b3"), "numba": ("^", "#1b9e77"), "hand": ("P", "#666666")}  # fmt: skip
    figure, axes = plt.subplots(figsize=(8.6, 0.32 * len(shown) + 1.3))
    for column, (mark, colour) in marks.items():
        at = [(row["ratios"][column][1], i) for i, row in enumerate(shown) if column in row["ratios"]]
        axes.scatter(
            [x for x, _ in at], [i for _, i in at], marker=mark, s=34, color=colour, label=NAMES[column], zorder=3
        )
    axes.axvline(1, color="black", linewidth=1.2, zorder=2)
    axes.text(1, -0.9, "this package", ha="center", va="bottom", fontsize=8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g} x")
    axes.set_yticks(range(len(shown)), [f"{row['name']}  ({ours(row).split(' [')[0]})" for row in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -1)
    axes.set_xlabel("time relative to this package, 1 thread (logarithmic; right of the line: takes longer)")
    axes.grid(axis="x", which="major", color="#dddddd", zorder=0)
    axes.legend(loc="lower right", fontsize=8, framealpha=1)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


def main() -> int:
    runs = load()
    if not runs:
        print(f"error: no figures in {RESULTS}", file=sys.stderr)
        return 2
    if "--plot" in sys.argv[1:]:
        plot(runs)
    return write_or_check(PAGE, page(runs))


if __name__ == "__main__":
    sys.exit(main())
