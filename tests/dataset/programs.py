"""Small programs on datasets, in the files `*_programs.py`: data/record.py notes what MindSpore makes of them.

Each takes the modules `ms` and `ds` (``mindspore.dataset``) and returns plain data.  What is random is sorted, counted
or compared with itself: no two libraries draw the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PLAIN = (bool, int, float, str, list, tuple, type(None))
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


def outcome(f: Callable[[], Any]) -> Any:
    """What `f` returns, or the kind of exception."""
    try:
        found = f()
        return found if isinstance(found, PLAIN) else type(found).__name__
    except Exception as error:
        kinds = (TypeError, ValueError, KeyError, RuntimeError, StopIteration)
        return next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)


def cell(value: Any) -> list:
    array = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    return [kind, list(array.shape), array.astype("U" if array.dtype.kind == "S" else array.dtype).tolist()]


def rows(data: Any, **options: Any) -> list:
    return [{name: cell(v) for name, v in row.items()} for row in data.create_dict_iterator(num_epochs=1, **options)]


def values(data: Any) -> list:
    """Rows without dtypes, a single column without its name."""
    found = [[v.asnumpy().tolist() for v in row] for row in data.create_tuple_iterator(num_epochs=1)]
    return [row[0] for row in found] if data.get_col_names().__len__() == 1 else found


def numbers(ds: Any, n: int = 6, name: str = "x", **options: Any) -> Any:
    return ds.NumpySlicesDataset(np.arange(n), [name], **({"shuffle": False} | options))


class Squares:
    def __init__(self, n: int = 4):
        self.n = n

    def __getitem__(self, i: int) -> Any:
        return np.array([i, i * i], np.float32), i

    def __len__(self) -> int:
        return self.n
