"""Rows of figures, what they say, as a table and as JSON."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._measure import machine, table

from .frameworks import COLUMNS, OURS, PACKAGES


@dataclasses.dataclass
class Row:
    """The figures of one case, by column one per round, and why columns are missing."""

    group: str
    name: str
    threads: int
    unit: str
    targets: dict[str, float] = dataclasses.field(default_factory=dict)
    #: The greatest that our own figure may be.
    at_most: float | None = None
    absent: dict[str, str] = dataclasses.field(default_factory=dict)
    failed: dict[str, str] = dataclasses.field(default_factory=dict)
    figures: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    @property
    def base(self) -> str:
        """The column that the others are divided by: our fastest way that ran."""
        return next((column for column in OURS if column in self.figures), "")

    def spread(self, column: str) -> tuple[float, float, float]:
        """The lower quartile, the median and the upper quartile of the figures of a column."""
        return _quartiles(self.figures[column])

    def ratio(self, column: str) -> tuple[float, float, float]:
        """The same of the figures divided by ours, round by round; by our median, where there are fewer of them."""
        figures, ours = np.array(self.figures[column]), np.maximum(self.figures[self.base], 1e-9)
        return _quartiles(figures / (ours if len(figures) == len(ours) else np.median(ours)))

    def verdicts(self) -> dict[str, bool]:
        """Whether each target was reached, of the columns that ran."""
        if not self.base:
            return {}
        found = {c: self.ratio(c)[1] >= target for c, target in self.targets.items() if c in self.figures}
        if self.at_most is not None:
            found["at most"] = self.spread(self.base)[1] <= self.at_most
        return found


def _quartiles(values: Any) -> tuple[float, float, float]:
    low, middle, high = np.quantile(np.asarray(values, np.float64), [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def number(x: float) -> str:
    """Three digits, without an exponent."""
    digits = max(0, 2 - int(np.floor(np.log10(abs(x))))) if x else 0
    return f"{x:,.{min(digits, 3)}f}"


def _cell(row: Row, column: str) -> str:
    if column in row.failed:
        return "failed"
    if column not in row.figures or not row.base:
        return ""
    low, middle, high = row.ratio(column)
    missed = "!" if row.verdicts().get(column) is False else ""
    return f"{missed}{number(middle)} [{number(low)}-{number(high)}]"


def _targets(row: Row) -> str:
    found = [f"{column} {target:g}" for column, target in row.targets.items()]
    if row.at_most is not None:
        found.append(("!" if row.verdicts().get("at most") is False else "") + f"<= {row.at_most:g} {row.unit}")
    return ", ".join(found)


def show(rows: Sequence[Row]) -> None:
    """Prints the table, what failed, and what is absent for which reason."""
    print(environment())
    used = {column for row in rows for column in row.figures}
    base = next((column for column in OURS if column in used), OURS[0])
    shown = [c for c in (*COLUMNS, *sorted(used.difference(COLUMNS))) if c in used and c != base]
    lines = []
    for row in rows:
        ours = ""
        if row.base:
            low, middle, high = row.spread(row.base)
            other = f" ({row.base})" if row.base != base else ""
            ours = f"{number(middle)} {row.unit} [{number(low)}-{number(high)}]{other}"
        cells = ["" if column == row.base else _cell(row, column) for column in shown]
        lines.append([f"{row.group}: {row.name}", row.threads, ours, *cells, _targets(row)])
    table("Figures of the others divided by ours", ["", "threads", base, *shown, "targets"], lines)
    for title, attribute in (("Failed, and not timed", "failed"), ("Absent", "absent")):
        reasons: dict[str, list[str]] = {}
        for row in rows:
            for column, why in getattr(row, attribute).items():
                reasons.setdefault(f"{column}: {why}", []).append(f"{row.group}: {row.name}")
        if reasons:
            print(f"\n{title}")
            for reason, names in reasons.items():
                names = list(dict.fromkeys(names))
                print(f"  {reason} ({', '.join(names) if len(names) <= 4 else f'{len(names)} cases'})")
    verdicts = [reached for row in rows for reached in row.verdicts().values()]
    if verdicts:
        print(f"\n{sum(verdicts)} of {len(verdicts)} targets reached")


def environment() -> str:
    """The machine and the versions of what is installed of the peers."""
    versions = []
    for package in dict.fromkeys((*PACKAGES.values(), "llvmlite", "scipy")):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join([machine(), *versions])


def as_json(rows: Sequence[Row]) -> str:
    """All figures, and what was made of them."""
    found = []
    for row in rows:
        ratios = {} if not row.base else {column: row.ratio(column) for column in row.figures if column != row.base}
        found.append({**dataclasses.asdict(row), "base": row.base, "ratios": ratios, "reached": row.verdicts()})
    return json.dumps({"environment": environment(), "rows": found}, indent=1)
