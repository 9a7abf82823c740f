"""The end of the entry: builds the object that a call returns."""

from __future__ import annotations

from collections import Counter

from .entry_writer import EntryWriter
from .signature import Form, Signature


class ResultsText:
    """Writes the end of one entry.

    New results stand in a row on the stack, which owns them until a container does; the error path drops what is left
    in the row, and the root container.
    """

    def __init__(self, entry: EntryWriter, arguments: list[str], made: list[str]) -> None:
        self.entry, self.arguments, self.made = entry, arguments, made
        self.form = entry.signature.form or _usual(entry.signature)
        self.number = {i: k for k, i in enumerate(entry.signature.fresh)}
        self.uses = Counter(leaf.number for leaf in self.form.leaves() if leaf.kind in ("result", "array"))
        self.row = entry.on_stack(f"[{len(made)} x ptr]") if made else ""

    def write(self) -> None:
        entry = self.entry
        for k, array in enumerate(self.made):
            entry.do(f"  store ptr {array}, ptr {self.at(k)}")
        if entry.signature.tensors:
            bare = {form.number for form in self.form.leaves() if form.kind == "array"}
            for i, (k, array) in zip(entry.signature.fresh, enumerate(self.made), strict=True):
                if i not in bare:
                    self.wrap(k, array)
        if self.form.kind in _NEW:
            root = self.container(self.form, "lost")
            self.fill(root, self.form)
        else:
            root = self.taken(self.form)
        for k, i in enumerate(entry.signature.fresh):
            if self.uses[i] == 0:
                self.drop(k)
        entry.do(f"  ret ptr {root}")
        if self.form.items:
            entry.block("undone")
            entry.call("void", "Py_DecRef", ("ptr", root))
            entry.do("  br label %lost")
        entry.block("lost")
        for k in range(len(self.made)):
            self.drop(k)
        entry.do("  ret ptr null")

    def at(self, k: int) -> str:
        return self.entry.at(self.row, 8 * k)

    def drop(self, k: int) -> None:
        """Drops the object in the row, if it is still there."""
        self.entry.call("void", "Py_DecRef", ("ptr", self.entry.load("ptr", self.at(k))))

    def wrap(self, k: int, array: str) -> None:
        """Replaces an array of the row by a Tensor of it, as `wrap` makes it."""
        entry = self.entry
        alloc, kind = entry.known("tensor_alloc"), entry.known("tensor")
        tensor = entry.let(f"call ptr {alloc}(ptr {kind}, i64 0)")
        entry.require(entry.let(f"icmp ne ptr {tensor}, null"), "lost")
        for name, value in (
            ("_data", array),
            ("_node", entry.keep(entry.known("none"))),
            ("_held", entry.keep(entry.known("zero"))),
        ):
            entry.do(f"  store ptr {value}, ptr {entry.at(tensor, entry.slots[name])}")
        entry.do(f"  store ptr {tensor}, ptr {self.at(k)}")

    def taken(self, form: Form) -> str:
        """A new reference to an object that is no container."""
        entry = self.entry
        if form.kind == "argument":
            return entry.keep(self.arguments[form.number])
        if form.kind == "constant":
            return entry.keep(entry.known(form.name))
        written_over = entry.signature.results[form.number].argument
        if written_over is not None:
            return entry.keep(self.arguments[written_over])
        place = self.at(self.number[form.number])
        found = entry.load("ptr", place)
        self.uses[form.number] -= 1
        if self.uses[form.number]:
            return entry.keep(found)
        entry.do(f"  store ptr null, ptr {place}")
        self.uses[form.number] = -1  # nothing is left to drop
        return found

    def container(self, form: Form, otherwise: str) -> str:
        """A new empty container."""
        entry = self.entry
        size = () if form.kind == "dict" else (("i64", str(len(form.items))),)
        made = entry.call("ptr", _NEW[form.kind], *size)
        entry.require(entry.let(f"icmp ne ptr {made}, null"), otherwise)
        return made

    def fill(self, owner: str, form: Form) -> None:
        """Fills a container; a container in it is put in first, and filled then, so the root owns everything."""
        entry = self.entry
        for place, item in enumerate(form.items):
            holds = item.kind in _NEW
            value = self.container(item, "undone") if holds else self.taken(item)
            if form.kind == "tuple":
                entry.do(f"  store ptr {value}, ptr {entry.at(owner, entry.layout.items + 8 * place)}")
            elif form.kind == "list":  # it cannot fail: there is such a place
                entry.call("i32", "PyList_SetItem", ("ptr", owner), ("i64", str(place)), ("ptr", value))
            else:
                key = ("ptr", entry.known(form.keys[place]))
                failed = entry.call("i32", "PyDict_SetItem", ("ptr", owner), key, ("ptr", value))
                entry.call("void", "Py_DecRef", ("ptr", value))
                entry.require(entry.let(f"icmp eq i32 {failed}, 0"), "undone")
            if holds:
                self.fill(value, item)


_NEW = {"tuple": "PyTuple_New", "list": "PyList_New", "dict": "PyDict_New"}


def _usual(s: Signature) -> Form:
    """The form without `Signature.form`: the one result itself, or a tuple of all."""
    made = tuple(Form("result", number=i) for i in range(len(s.results)))
    return made[0] if s.bare else Form("tuple", items=made)
