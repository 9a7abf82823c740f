"""Files that are written once for several processes."""

from __future__ import annotations

from collections.abc import Callable

from ..collectives.group import Group
from .texts import texts_of_all

__all__ = ["write_once"]


def write_once(path: str, write: Callable[[bool], None], group: Group) -> bool:
    """Calls ``write(True)`` in the first process of a group and ``write(False)`` in the others, if they share `path`.

    Where the processes have different paths, each writes.  All wait until it is done.  Returns whether this process
    wrote.  OSError, in all processes: the first one could not write.
    """
    shared = len(set(texts_of_all(path, group))) == 1
    writes = group.rank == 0 or not shared
    failed = ""
    try:
        write(writes)
    except OSError as error:
        if not writes or not shared:
            raise
        failed = f"{type(error).__name__}: {error}"
        raised: OSError | None = error
    else:
        raised = None
    told = texts_of_all(failed, group)
    if raised is not None:
        raise raised
    if shared and told[0]:
        raise OSError(f"process 0 could not write {path}: {told[0]}")
    return writes
