"""Measured times, added up."""

from __future__ import annotations

import gc

from autodiff_compiler.inspection.measured import Row, Tally, notes_of, table_of
from autodiff_compiler.source import Loc

gone = []


class Watched(Loc):
    """A place that tells when it is gone."""

    def __del__(self):
        gone.append(self.line)


def test_places_of_programs_that_were_dropped_are_not_kept():
    place = Watched("/home/me/model.py", 3, caller=Loc("/home/me/train.py", 4))
    tally = Tally()
    tally.add_eager("sin", place, 1, 1e-6)
    assert [(row.place, row.cumulative) for row in tally.lines.values()] == [("model.py:3", 1e-6), ("train.py:4", 1e-6)]
    assert gone == []
    del place, tally
    gc.collect()
    assert gone == [3]


def test_what_is_faster_than_the_limit_says_so():
    """Limits are measured on large operands: a share of more than 100 % would be read as a mistake."""
    slow, fast = (Row(name, seconds=1.0, limit=limit) for name, limit in (("slow", 0.5), ("fast", 2.3)))
    head, cells = table_of([slow, fast], "kernel")
    assert [row[head.index("of limit")] for row in cells] == ["50 %", ">100 %"]
    assert notes_of([slow]) == []
    (note,) = notes_of([slow, fast])
    assert note.startswith(">100 %: ")
