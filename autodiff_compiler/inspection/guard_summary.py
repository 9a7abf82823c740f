"""Guards and states of a compiled call in a few lines: guards by kind, states by the pattern of their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..compiler.history import Watched
from ..frontend.guards.guards import LookupGuard, stated
from ..ir.core import Module
from ..primitives.flops import bytes_of_type
from .figures import size

#: How many of a kind are named.
_NAMED = 10
_NUMBERS = re.compile(r"\d+")
#: The kinds of guards, what users change most first: a heading, and how what is guarded and what was seen begin or end.
_KINDS = (
    ("functions as they are defined", "", r"the definition at "),
    ("no hooks and no `to_float`", r"(the hooks|to_float) of ", r"(none|None)$"),
    ("types", r"type of ", ""),
    ("classes of objects", r"class of ", ""),
    ("lengths and elements of containers", r"(element|the length of) ", ""),
    ("what names and attributes stand for", "", r"(class|function|module|a|an) .*|.* object$"),
)
_VALUES = "values"


def guards_by_kind(guards: Sequence[Watched]) -> Iterator[str]:
    """A line for each kind, with some of its members."""
    kinds: dict[str, list[str]] = {kind: [] for kind in (_VALUES, *(kind for kind, _, _ in _KINDS))}
    lookups = []
    for guard in guards:
        if guard.what == LookupGuard.what:
            lookups.append(names_guard(guard))
            continue
        found = (kind for kind, what, seen in _KINDS if re.match(what, guard.what) and re.match(seen, guard.seen))
        kind = next(found, _VALUES)
        kinds[kind].append(_member(guard, kind))
    yield f"{len(guards)} in all (`fn.guards()` has each, with the line that reads it)"
    for kind, members in kinds.items():
        named = [f"{what} x{n}" if n > 1 else what for what, n in Counter(members).items()]
        if named:
            yield f"{kind}: {_listed(named)}"
    yield from lookups


def names_guard(guard: Watched) -> str:
    """A guard of a list of names, in words."""
    names = _listed(guard.seen.split(", "))
    return f"these names in classes, modules and builtins still stand for what they did: {names}"


def _member(guard: Watched, kind: str) -> str:
    what = guard.what
    if kind == "functions as they are defined":
        return f"{what.removeprefix('function ')} ({guard.seen.removeprefix('the definition at ')})"
    if kind in ("types", "classes of objects", "no hooks and no `to_float`"):
        return re.sub(r"^(the hooks|to_float|type|class) of (an? )?", "", what).removesuffix(" object")
    if kind == "lengths and elements of containers":
        return what if what.startswith("the length") else f"{guard.seen} as an element"
    return stated(what, guard.seen) if kind == _VALUES else what.removeprefix("global ")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


# ---------------------------------------------------------------------------------------------------- states
def state_summary(module: Module) -> Iterator[str]:
    """The states of a program: their total, then one line for all whose names differ in numbers only."""
    written = set(module.outputs)
    used = {name: "read and written" if name in written else "read" for name in module.inputs}
    if len(used) > 1:
        yield f"{len(used)} in all, {_bytes(module, used)}"
    for names, of in _of_parameters(list(used)):
        alike: dict[tuple[str, str, str], list[str]] = {}
        for name in names:
            alike.setdefault((_NUMBERS.sub("*", name), repr(module.states[name].type), used[name]), []).append(name)
        if of:
            uses = " or ".join(dict.fromkeys(used[name] for name in names))
            yield f"{of}.*: one for each of {len(names)} Parameters, {_bytes(module, names)}, {uses}"
            continue
        for (_, type, use), same in alike.items():
            first = same[0] if len(same) == 1 else f"{same[0]} to {same[-1]}, {len(same)} of them"
            yield f"{first}: {type}, {use}" + (f", {_bytes(module, same)} together" if len(same) > 1 else "")


def _of_parameters(names: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Names of states; those that an optimizer keeps per Parameter (``adam_m.`` and its name) in groups."""
    known, beside = set(names), dict[str, list[str]]()
    for name in names:
        head, _, rest = name.partition(".")
        if rest in known:
            beside.setdefault(head, []).append(name)
    beside = {head: found for head, found in beside.items() if len(found) > 1}
    yield [name for name in names if name not in {n for found in beside.values() for n in found}], ""
    yield from ((found, head) for head, found in beside.items())


def _bytes(module: Module, names: Iterable[str]) -> str:
    return size(sum(bytes_of_type(module.states[name].type) for name in names))
