"""The state that users' functions see when a program calls them, and the check that they leave it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import SideEffectError
from ..frontend.guards.contents import content_of, matches
from ..frontend.guards.guards import AnyGuard, Guard
from ..frontend.guards.objects import UNBOUND, plainly, same_static, type_of
from ..frontend.lower import Lowered
from ..frontend.variables.values import Held
from ..runtime.commits import Committed
from ..runtime.storage import holders
from ..runtime.tensor import Array, Tensor

#: Writes committed values back: to attributes, and to Tensors with the function given.
WriteBack = Callable[[Committed, Sequence[Tensor], Callable[[Tensor, Tensor], None]], None]


class CallbackState:
    """The state of one run of a program: called with the committed writes, it shows them while a callback runs.

    The program works on the buffers that the Tensors had at the entry.  So for the callback written Tensors get other
    buffers, whose contents `take_back` copies into the old ones in the end; and a write by the callback goes to a copy
    and is detected (SideEffectError).
    """

    def __init__(
        self, lowered: Lowered, inputs: Sequence[Tensor], owners: Sequence[Any], write_back: WriteBack
    ) -> None:
        self._lowered, self._inputs, self._write_back = lowered, inputs, write_back
        self._before: dict[int, tuple[Tensor, Array, int]] = {}
        self._at_entry: dict[tuple[int, str], tuple[Any, Any]] = {}
        self._contents = [(owner, owner.copy()) for owner in owners]

    @contextmanager
    def __call__(self, noted: Committed) -> Iterator[None]:
        for owner, name, _ in self._lowered.attributes:
            self._at_entry.setdefault((id(owner), name), (owner, plainly(owner, name)))
        self._take_contents_back()
        self._write_back(noted, self._inputs, self._replace)
        states = [(name, x) for name, x in self._lowered.states.items() if isinstance(x, Tensor)]
        tensors = [*states, *[(self._name(i), x) for i, x in enumerate(self._inputs)]]
        attributes = [(o, name, plainly(o, name)) for o, name, _ in self._lowered.attributes]
        contents = [content_of(value) for _, _, value in attributes]
        containers = [(owner, content_of(owner)) for owner, _ in self._contents]
        after = [(guard, _tensor_of(guard)) for guard in self._lowered.after_host]
        bit = holders.take()
        lent = [(what, x, x._data, x._held & ~bit) for what, x in tensors]
        for _, x, _, _ in lent:
            x._held |= bit
        try:
            yield
        finally:
            holders.give(bit)
            changed = [what for what, x, data, held in lent if not _unchanged(x, data, held, bit)]
        for (owner, name, value), content in zip(attributes, contents, strict=True):
            now = plainly(owner, name)
            if not (now is value and matches(now, content)):
                changed.append(f"{type(owner).__name__}.{name}")
        changed += [f"a {type(owner).__name__}" for owner, was in containers if not matches(owner.copy(), was)]
        changed += [guard.what for guard, x in after if not guard.holds() or _tensor_of(guard) is not x]
        if changed:
            raise SideEffectError(
                f"a function that runs as plain Python changed {changed[0]}, which compiled code uses or writes too",
                code="AC1602",
                hint="let it return the new value (py_call), or change it after the call",
            )

    def take_back(self) -> None:
        """Undoes what was shown, when the program has ended and before its results are written back.

        Only the elements of Tensors stay, in the buffers that they had.
        """
        for x, data, held in self._before.values():
            now = x._data
            if now.shape == data.shape:
                x._data, x._held = data, held
                x._own()[...] = now
        self._take_contents_back()
        for (_, name), (owner, value) in self._at_entry.items():
            set_attribute(owner, name, value)

    def _take_contents_back(self) -> None:
        for owner, content in self._contents:
            set_content(owner, False, content)

    def _replace(self, target: Tensor, new: Tensor) -> None:
        self._before.setdefault(id(target), (target, target._data, target._held))
        target._data, target._held, target._node = new._data, 0, None

    def _name(self, i: int) -> str:
        n = i - (len(self._inputs) - len(self._lowered.captures))
        return self._lowered.captures[n].what if n >= 0 else f"argument {i}"


def replace_value(target: Tensor, new: Tensor) -> None:
    """Writes the new value of a Parameter or Tensor back, with its node on the tapes.

    It is written in place unless somebody else holds the buffer; perhaps the program has done so already.
    """
    data = target._own()
    if data is not new._data:
        data[...] = new._data
    target._node = new._node


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Writes an attribute back; the epoch moves only if a guard might fail."""
    if type(value) is Held:
        if value.kept:
            return
        value = value.value
    if value is UNBOUND:
        if plainly(owner, name) is not UNBOUND:
            delattr(owner, name)
        return
    if getattr(type(owner), "__graph_state__", None) is None:  # its own `__setattr__` has run in compiled code
        object.__setattr__(owner, name, value)
        return
    old = getattr(owner, name, owner)
    if type(old) is Tensor and type(value) is Tensor and type_of(old) is type_of(value):
        object.__setattr__(owner, name, value)
    elif isinstance(value, Tensor) or not same_static(old, value):
        setattr(owner, name, value)


def set_content(owner: Any, grows: bool, content: Any) -> None:
    """Writes a list, dict or set back; of one that `grows`, the elements appended."""
    if isinstance(owner, list):
        owner[len(owner) if grows else 0 :] = content
    elif isinstance(owner, set):
        owner.intersection_update(content)
        owner.update(content)
    else:
        for key in owner.keys() - content.keys():
            del owner[key]
        if [*owner] != [*content][: len(owner)]:
            owner.clear()  # the order of the keys is another one
        owner.update(content)


def _tensor_of(guard: AnyGuard) -> Tensor | None:
    """The Tensor whose type the guard checks."""
    found = guard.fetch() if isinstance(guard, Guard) and guard.holds() else None
    return found if isinstance(found, Tensor) else None


def _unchanged(x: Tensor, data: Array, held: int, bit: int) -> bool:
    """Whether a Tensor has the elements that it had; reading its array may have given it a copy."""
    if x._data is not data:
        if x._data.shape != data.shape or x._data.dtype != data.dtype or x._data.tobytes() != data.tobytes():
            return False
        x._data, x._held = data, held
    x._held &= ~bit
    return True
