"""Purposes of a program's results that are not simply returned in order: state updates, writes, choices.

A function may return an argument as it is, or something that was known while compiling: no program computes that.  And
a program may have results that the function does not return: what attributes and elements of arguments become, and
which of several Tensors it is that is returned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ..frontend.effects.outside_containers import Standing
from ..frontend.effects.results import ByRank, Chosen, Copied, Shared, Unstacked
from ..frontend.guards.outer_names import called, is_outer
from ..frontend.lower import Arg, Lowered, Out, State
from ..frontend.variables.structure import elements
from ..frontend.variables.values import LocalObject

#: How many parts of a container are named, and how long the text of a constant is.
_PARTS, _WIDTH = 8, 30
_LINE = re.compile(r"(?m)^// result (\d+) \(%\w+\): (.*)$")


def purposes(lowered: Lowered, arguments: Sequence[str]) -> dict[int, str]:
    """The purpose of each result that is not only returned, by its number.

    `arguments`: what the entry's arguments are called.
    """
    found: dict[int, list[str]] = defaultdict(list)
    for owner, name, template in lowered.attributes:
        what = called(owner, name) if is_outer(owner) else f"the attribute {name} of {_named(owner)}"
        _add(template, what, arguments, found, "becomes ")
    for place, grows, template in lowered.containers:
        kind = f"a {type(place.seen).__name__} from outside"
        what, becomes = (f"what is appended to {kind}", "is ") if grows else (f"the content of {kind}", "becomes ")
        _add(template, what, arguments, found, becomes)
    for i, result in lowered.writes:
        found[result].append(f"what the elements of the argument {arguments[i]} become")
    _add(lowered.result, "what is returned", arguments, found)
    out = {x.index for x in _leaves(lowered.result) if isinstance(x, Out)}
    return {i: " and ".join([*["returned"] * (i in out), *dict.fromkeys(found[i])]) for i in sorted(found)}


def purposes_in(text: str) -> dict[int, str]:
    """The same, parsed from the header of a dump."""
    return {int(number): said for number, said in _LINE.findall(text)}


def returned(lowered: Lowered, arguments: Sequence[str]) -> str | None:
    """The returned structure as text, if part of it is no result of the program."""
    leaves = [*_leaves(lowered.result)]
    if lowered.result is None or all(isinstance(x, Out) for x in leaves):
        return None
    return _text(lowered.result, arguments, {id(x): name for name, x in lowered.states.items()})


def _add(
    template: Any, what: str, arguments: Sequence[str], found: dict[int, list[str]], becomes: str | None = None
) -> None:
    """Notes `what` as the purpose of the results in a structure."""
    if isinstance(template, Chosen):
        before: list[str] = []
        for index, one in template.ways:
            where = f"where {' and '.join(before)} {'are' if before[1:] else 'is'} false: " if before else ""
            that = _text(one, arguments, {})
            found[index].append(f"{where}whether {what} is {that} (else result {template.otherwise.index})")
            before.append(f"result {index}")
        template = template.otherwise
    if isinstance(template, ByRank):
        found[template.rank.index].append(f"the rank of {what}")
        for rank, way in template.ways.items():
            _add(way, f"{what} if it has rank {rank}", arguments, found, becomes)
    if isinstance(template, Shared):
        template = template.tensor
    if isinstance(template, Out) and becomes is not None:
        found[template.index].append(f"{becomes}{what}")
    for key, part in _parts(template):
        _add(part, f"{key} of {what}", arguments, found, becomes)


def _parts(template: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container, by what they are called in it."""
    items = elements(template) or ()
    if isinstance(template, dict):
        keys = [f"[{_short(key)}]" for key in template]
    elif isinstance(template, tuple | list):
        keys = [f"[{i}]" for i in range(len(items))]
    elif isinstance(template, LocalObject):
        keys = sorted(template.slots)
    else:
        keys = [f"part {i}" for i in range(len(items))]
    yield from zip(keys, items, strict=True)


def _leaves(template: Any) -> Iterator[Any]:
    """The leaves of a structure; what is chosen at run time counts as the result that is new."""
    if isinstance(template, Chosen):
        yield template.otherwise
    elif isinstance(template, ByRank):
        for way in template.ways.values():
            yield from _leaves(way)
    elif elements(template) is None:
        yield template
    else:
        for _, part in _parts(template):
            yield from _leaves(part)


def _text(template: Any, arguments: Sequence[str], states: dict[int, str]) -> str:
    """A structure as text."""
    if isinstance(template, Chosen):
        return _text(template.otherwise, arguments, states)
    if isinstance(template, ByRank):
        ways = [f"{_text(way, arguments, states)} if that is {rank}" for rank, way in template.ways.items()]
        return f"what has the rank that result {template.rank.index} is ({', '.join(ways)})"
    if isinstance(template, Out):
        return f"result {template.index}"
    if isinstance(template, Arg):
        return f"the argument {arguments[template.index]} itself"
    if isinstance(template, State):
        name = states.get(id(template.source))
        return f"the state @{name} itself" if name else "a Parameter itself"
    if isinstance(template, Standing):
        return f"a {type(template.seen).__name__} from outside itself"
    if isinstance(template, Unstacked):
        return f"the list of the slices of result {template.index}"
    if isinstance(template, Shared):
        return f"the array of {_text(template.tensor, arguments, states)}"
    if isinstance(template, Copied):
        return "a constant array"
    if elements(template) is None:
        return _short(template)
    texts = [
        f"{key[1:-1]}: " * isinstance(template, dict) + _text(part, arguments, states)
        for key, part in _parts(template)
    ]  # fmt: skip
    inner = ", ".join([*texts[:_PARTS], *["..."] * (len(texts) > _PARTS)])
    if isinstance(template, dict):
        return f"{{{inner}}}"
    if isinstance(template, tuple) and not hasattr(template, "_fields"):
        return f"({inner}{',' * (len(texts) == 1)})"
    if isinstance(template, list):
        return f"[{inner}]"
    return f"{_named(template)}({inner})"


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= _WIDTH and "\n" not in text else f"a constant of the class {type(x).__name__}"


def _named(owner: Any) -> str:
    cls = owner.cls if isinstance(owner, LocalObject) else type(owner)
    return f"{cls.__name__}"
