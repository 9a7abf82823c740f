"""Measured times, added up."""

from __future__ import annotations

import gc

from autodiff_compiler.inspection.measured import Tally
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
