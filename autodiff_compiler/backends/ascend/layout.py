"""The buffer plan: buffers that only one segment uses lie in its arena, others are blocks until their last use.

Operators of a segment run in order, so a place in the arena is free after the last operator that mentions its buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..base import first_fit
from .emit import Buffer, Call, Ref
from .memory import padded
from .steps import Bind, Branch, Collective, Host, Key, Loop, Segment, keys_of

_ALIGNMENT = 64


def lay_out(steps: list[Any], known: Iterable[Key], outs: Sequence[Key]) -> None:
    """Liveness: for every segment the buffers of its arena, and for every step the values that die after it.

    `known` exist from the start (arguments and constants), `outs` are needed at the end.
    """
    segments: dict[Buffer, set[int]] = {}
    shared: set[Key] = {*known, *outs}
    for step in _all(steps):
        if isinstance(step, Segment):
            for call in step.calls:
                for ref in refs_of(call):
                    segments.setdefault(ref.buffer, set()).add(id(step))
        else:
            shared.update(_mentions(step))
    shared.update(buffer for buffer, where in segments.items() if len(where) > 1)
    made: set[Key] = {*known}
    for step in _all(steps):
        if not isinstance(step, Segment):
            made.update(_makes(step))
    for step in _all(steps):
        if isinstance(step, Segment):
            _plan_segment(step, shared, made)
    _deaths(steps, {*known, *outs})


def refs_of(call: Call) -> Iterator[Ref]:
    """The views that an operator mentions."""
    for value in call.values:
        if isinstance(value, Ref):
            yield value
        elif isinstance(value, list):
            yield from value


def _all(steps: Sequence[Any]) -> Iterator[Any]:
    """All steps, those of branches and loops after the step that has them."""
    waiting = [iter(steps)]
    while waiting:
        for step in waiting[-1]:
            yield step
            blocks = _blocks(step)
            if blocks:
                waiting += [iter(block) for block in reversed(blocks)]
                break
        else:
            waiting.pop()


def _blocks(step: Any) -> Sequence[list[Any]]:
    return step.arms if isinstance(step, Branch) else step.blocks if isinstance(step, Loop) else ()


def _makes(step: Any) -> list[Key]:
    return list(step.results) if isinstance(step, Host) else list(step.makes)


def _mentions(step: Any) -> Iterator[Key]:
    """What a step that is no segment reads or makes, without its blocks."""
    if isinstance(step, Host):
        for x in step.operands:
            yield from keys_of(x)
    elif isinstance(step, Branch):
        yield step.test.buffer
    elif isinstance(step, Bind | Collective | Loop):
        yield from step.reads
    yield from _makes(step)


def _plan_segment(segment: Segment, shared: set[Key], made: set[Key]) -> None:
    """Places the segment's own buffers in its arena (first fit); lists the others that it makes."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for i, call in enumerate(segment.calls):
        for ref in refs_of(call):
            first.setdefault(ref.buffer, i)
            last[ref.buffer] = i
    segment.outside = [b for b in first if b in shared]
    segment.made = [b for b in segment.outside if b not in made]
    made.update(segment.made)
    taken: list[tuple[int, int, int]] = []  # start, end, last operator
    for buffer, start in sorted(first.items(), key=lambda item: item[1]):
        if buffer in shared:
            continue
        room = -(-padded(buffer.nbytes) // _ALIGNMENT) * _ALIGNMENT
        taken = [t for t in taken if t[2] >= start]
        at = first_fit(room, [t[:2] for t in taken])
        taken.append((at, at + room, last[buffer]))
        segment.offsets[buffer] = at
        segment.arena = max(segment.arena, at + room)


def _deaths(steps: list[Any], kept: set[Key]) -> dict[Key, None]:
    """Enters in each step the values made in its list that no later step mentions.

    It returns what the list mentions and others may, too.
    """
    last: dict[Key, Any] = {}
    own: set[Key] = set()
    for step in steps:
        if isinstance(step, Segment):
            mentioned: dict[Key, None] = dict.fromkeys(ref.buffer for call in step.calls for ref in refs_of(call))
        else:
            mentioned = dict.fromkeys(_mentions(step))
        needed = _needed_after(step) - kept if _blocks(step) else set()
        kept |= needed
        for block in _blocks(step):
            mentioned |= _deaths(block, kept)
        kept -= needed
        last.update(dict.fromkeys(mentioned, step))
        # What a `Bind` names may be another list's: of a loop's carries, of a branch's results.
        own.update(step.made if isinstance(step, Segment) else () if isinstance(step, Bind) else _makes(step))
    for key, step in last.items():
        if key in own and key not in kept:
            step.dead.append(key)
    return {key: None for key in last if key not in own or key in kept}


def _needed_after(step: Any) -> set[Key]:
    """What a branch or loop reads after one of its blocks has run."""
    return set(step.makes) | (set(step.reads) if isinstance(step, Loop) else set())
