"""Printing the IR; `ir.text` describes the form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from .. import escape
from ..dtypes import BY_SHORT, DType, from_numpy
from ..source import Loc, shown_file
from .core import Block, Function, Module, Op, Value
from .naming import Namer, carries_of, definitions
from .sizes import ERASED_SYMBOL, Dim, Size, Symbol, symbols_of
from .types import Link, Seq, TensorType, TupleType, Type, tensor, tuple_of
from .walk import ops_of

__all__ = [
    "RESERVED",
    "SIZE_NAME",
    "WORDS",
    "FunctionPrinter",
    "Unbound",
    "attributes_text",
    "global_name",
    "implied_type",
    "literal_text",
    "print_declarations",
    "print_function",
    "print_module",
]

#: Comments by op, or by block: they go to its `yield` or `return`.
Notes: TypeAlias = "Mapping[Op | Block, str]"

_LOCATION_COLUMN = 72
#: Constants of at most this many elements are printed with their contents.
_SHOWN_ELEMENTS = 16

_PLAIN_GLOBAL = re.compile(r"[A-Za-z_<][\w.<>-]*", re.ASCII)
_PLAIN_FILE = re.compile(r"[\w.<>+-]+", re.ASCII)
_PLAIN_TAG = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: What a symbolic size may be called.
SIZE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: Literals that are words; a symbolic size cannot have their names.
WORDS = {"True": True, "False": False, "None": None, "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
RESERVED = frozenset([*WORDS, *BY_SHORT, "seq", "link", "max", "min"])


@dataclass(frozen=True)
class Unbound:
    """What a parsed module knows of a constant or a callable whose contents the text does not hold."""

    name: str
    type: TensorType | None = None

    def __call__(self, *_: Any) -> NoReturn:
        raise RuntimeError(f"@{self.name} comes from a text: bind it before running the module")


# ----------------------------------------------------------------------------------------------------------- printing
def print_module(module: Module, notes: Notes | None = None, *, places: bool = True) -> str:
    """The text of a module, ending in a newline; `notes` and `places` as for `print_function`."""
    declared = print_declarations(module)
    parts = [declared] if declared else []
    return "\n\n".join(parts + [print_function(f, notes, places=places) for f in module]) + "\n"


def print_declarations(module: Module) -> str:
    """The lines of a module's text in front of its functions: what is known of sizes, states, constants and callables.

    Of a state that was lifted they say which argument of the entry it is, and which result its next version.
    """
    lines = [_symbol_text(symbol) for symbol in _bounded(module)]
    for state in module.states.values():
        shown = {} if state.kind == "parameter" else {"kind": json.dumps(state.kind)}
        for word, names, values in (("argument", module.inputs, "args"), ("result", module.outputs, "outs")):
            if state.name in names:
                shown[word] = str(len(getattr(module.entry, values)) - len(names) + names.index(state.name))
        attrs = f" {{{', '.join([f'{word}={text}' for word, text in shown.items()])}}}" if shown else ""
        lines.append(f"state {global_name(state.name)}: {_type_text(state.type)}{attrs}")
    for name, array in module.constants.items():
        lines.append(f"constant {global_name(name)}: {_constant_text(array)}")
    lines += [f"callable {global_name(name)}" for name in module.callables]
    return "\n".join(lines)


def print_function(function: Function, notes: Notes | None = None, *, places: bool = True) -> str:
    """The text of one function, without a newline at its end.

    `notes` are comments put behind the first line of an op, or behind what a block yields or returns; `places`: whether
    it says where in the user's source they come from.

    >>> from autodiff_compiler import primitives
    >>> from autodiff_compiler.ir.text import parse_function
    >>> f = parse_function("func @f(%x: f32[4]) -> (f32[4]) { %y: f32[4] = tanh %x ; return %y }")
    >>> print(print_function(f, {f.body.ops[0]: "fused"}))
    func @f(%x: f32[4]) -> (f32[4]) {
      %y: f32[4] = tanh %x  // fused
      return %y
    }
    """
    printer = FunctionPrinter(places)
    lines = printer.function(function)
    for place, at in printer.line_of.items() if notes else ():
        if notes and place in notes:
            lines[at] += f"  // {escape.ascii_line(notes[place])}"
    return "\n".join(lines)


def attributes_text(op: Op) -> str:
    """The attributes of an op as they stand in its line, with a space in front; nothing if it has none."""
    return FunctionPrinter()._attrs(op)


def literal_text(value: Any) -> str:
    """An attribute as text; ValueError for what is no literal of the IR."""
    kind = type(value)
    if kind is int or kind is float or kind is bool or value is None:
        return repr(value)
    if kind is str:
        return json.dumps(value)
    if kind is tuple:
        return f"[{','.join(map(literal_text, value))}]"
    if kind is DType:
        return str(value.short)
    if kind is Dim:
        text = _size_text(value)
        return text if SIZE_NAME.fullmatch(text) else f"`{text}`"
    if isinstance(value, Type):
        return _type_text(value)
    raise ValueError(f"{value!r} of type {kind.__name__} is no literal of the IR")


def _size_text(size: Size) -> str:
    for symbol in symbols_of(size):
        if (symbol is not ERASED_SYMBOL and not SIZE_NAME.fullmatch(symbol.name)) or symbol.name in RESERVED:
            raise ValueError(f"a symbolic size cannot be called {symbol.name!r}")
    return str(size)


def _symbol_text(symbol: Symbol) -> str:
    """The line that says what is known of a symbol."""
    known = [f"low={symbol.low}"]
    known += [] if symbol.high is None else [f"high={literal_text(symbol.high)}"]
    known += ["data=True"] if symbol.of_data else []
    return f"size @{symbol.name} {{{', '.join(known)}}}"


def _bounded(module: Module) -> list[Symbol]:
    """The symbols in the types of a module of which more is known than that they are sizes, those of bounds first."""
    found: dict[Symbol, None] = {}

    def add(size: Size) -> None:
        for symbol in symbols_of(size):
            if symbol.high is not None:
                add(symbol.high)
            if (symbol.low or symbol.high is not None or symbol.of_data) and symbol is not ERASED_SYMBOL:
                found[symbol] = None

    types = {x.type: None for f in module for x in f.body.args}
    for op in (op for f in module for op in ops_of(f.body)):
        if op.defn.name == "bind_size":
            add(op.attrs[0])
        types.update({x.type: None for x in op.results})
        types.update({x.type: None for block in op.blocks for x in block.args})
    for t in types:
        for size in _sizes_in(t):
            add(size)
    return list(found)


def _sizes_in(t: Type) -> Iterator[Size]:
    """The sizes of a type, and of those that it is made of."""
    if isinstance(t, TensorType):
        yield from t.shape
    elif isinstance(t, Seq):
        yield from _sizes_in(t.elem)
    else:
        assert isinstance(t, TupleType | Link)
        for part in t.elems if isinstance(t, TupleType) else (*t.ins, *t.outs):
            yield from _sizes_in(part)


def _type_text(t: Type) -> str:
    if isinstance(t, TensorType):
        return f"{t.dtype.short}[{','.join(map(_size_text, t.shape))}]"
    if isinstance(t, Seq):
        return f"seq<{_type_text(t.elem)}>"
    if isinstance(t, Link):
        return f"link<{_type_text(tuple_of(t.ins))} -> {_type_text(tuple_of(t.outs))}>"
    assert isinstance(t, TupleType)
    return f"({', '.join(map(_type_text, t.elems))})"


def _constant_text(array: Any) -> str:
    if isinstance(array, Unbound):
        assert array.type is not None
        return _type_text(array.type)
    t = tensor(from_numpy(array.dtype), array.shape)
    if array.size > _SHOWN_ELEMENTS:
        return _type_text(t)
    flat = array.ravel().astype(np.float64 if t.dtype.is_float else array.dtype)
    return f"{_type_text(t)} = {literal_text(tuple(flat.tolist()))}"


def global_name(name: str) -> str:
    """A name as it stands behind ``func``, ``state`` and so on."""
    return f"@{name}" if _PLAIN_GLOBAL.fullmatch(name) else f"@{json.dumps(name)}"


def _location_text(loc: Loc) -> str:
    user = loc.of_user()
    text = f"@ {_place_text(loc)}" if user is loc else f"@ {_place_text(user)} in {_place_text(loc)}"
    if loc.tag:
        tag = escape.line(loc.tag)
        plain = _PLAIN_TAG.fullmatch(tag) and tag != "in"
        text += f" {tag if plain else json.dumps(tag)}"
    return text


def _place_text(loc: Loc) -> str:
    file = shown_file(loc.file)
    return f"{file if _PLAIN_FILE.fullmatch(file) else json.dumps(file)}:{loc.line}:{loc.col}"


class _Memo(dict[Any, str]):
    """Texts made once per key."""

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Any) -> str:
        text: str = self.make(key)
        self[key] = text
        return text


class FunctionPrinter:
    """Prints one function; afterwards `lines` is the text and `line_of` says where each op starts.

    Malformed IR is printed too (with a value nobody defined as ``%?name``), so that errors can show it.
    """

    #: How an attribute is written; an error report may take one that never refuses.
    literal: Callable[[Any], str] = staticmethod(literal_text)

    def __init__(self, places: bool = True) -> None:
        self._places = places
        self.lines: list[str] = []
        self.line_of: dict[Op | Block, int] = {}
        self.names: dict[Value, str] = {}
        self.types = _Memo(_type_text)
        self.locations = _Memo(_location_text)
        self._namer = Namer()

    def function(self, function: Function) -> list[str]:
        body = function.body
        self._namer = Namer(definitions(function))
        outs = ", ".join([self.types[x.type] for x in body.outs])
        head = f"func {global_name(function.name)}({self._definitions(body.args)}) -> ({outs}) {{"
        self._line(head, function.loc)
        self._ops(body, "  ")
        self.line_of[body] = len(self.lines)
        self.lines.append(f"  return {self._refs(body.outs)}".rstrip())
        self.lines.append("}")
        return self.lines

    # ------------------------------------------------------------------------------------------- names
    def _define(self, x: Value) -> str:
        name = self._namer.name(x.name) if x.name else self._namer.number(x.number)
        self.names[x] = text = f"%{name}"
        return text

    def _definitions(self, values: Sequence[Value]) -> str:
        return ", ".join([f"{self._define(x)}: {self.types[x.type]}" for x in values])

    def _refs(self, values: Sequence[Value]) -> str:
        names = self.names
        try:
            return ", ".join([names[x] for x in values])
        except KeyError:
            return ", ".join([names.get(x, f"%?{x.name or ''}") for x in values])

    # ------------------------------------------------------------------------------------------- ops
    def _line(self, text: str, loc: Loc | None) -> None:
        self.lines.append(
            text if loc is None or not self._places else f"{text:<{_LOCATION_COLUMN}} {self.locations[loc]}"
        )

    def _ops(self, block: Block, pad: str) -> None:
        for op in block.ops:
            self.line_of[op] = len(self.lines)
            left = f"{pad}{self._definitions(op.results)} = " if op.results else pad
            if op.blocks or op.defn.infer_blocks is not None:
                self._structured(op, left, pad)
            else:
                text = f"{left}{op.defn.name} {self._refs(op.operands)}" if op.operands else left + op.defn.name
                if op.attrs:
                    text += self._attrs(op)
                self._line(text, op.loc)

    def _attrs(self, op: Op, hidden: str = "") -> str:
        defn = op.defn
        if len(op.attrs) != len(defn.schema):
            return f" {{{', '.join(map(repr, op.attrs))}}}"  # malformed
        shown = []
        for name, value in zip(defn.schema, op.attrs, strict=True):
            if name == hidden or _is_implied(name, value, op):
                continue
            text = self.literal(value)
            if name not in defn._defaults or text != self.literal(defn._defaults[name]):
                shown.append(f"{name}={text}")
        return f" {{{', '.join(shown)}}}" if shown else ""

    def _structured(self, op: Op, left: str, pad: str) -> None:
        carries, args = carries_of(op), None
        if carries is None:
            head = self._plain_head(op)
        elif op.defn.name == "while":
            cond, body = op.blocks
            head, args = f"while ({self._bindings(body.args, op.operands)})", ""
            self.names.update(zip(cond.args, map(self.names.__getitem__, body.args), strict=True))
        else:
            (body,) = op.blocks
            inits = self._bindings(body.args[1 : 1 + carries], op.operands[1 : 1 + carries])
            elems = self._bindings(body.args[1 + carries :], op.operands[1 + carries :])
            bindings = f"{inits} ; {elems}".lstrip() if elems else inits
            head = f"scan {self._refs(op.operands[:1])} ({bindings}){self._attrs(op, 'carries')}"
            args = f" ({self._define(body.args[0])})"
        if not op.blocks:
            self._line(left + head, op.loc)
            return
        regions = op.defn.regions + tuple(f"block{i}" for i in range(len(op.defn.regions), len(op.blocks)))
        for i, (region, block) in enumerate(zip(regions, op.blocks, strict=False)):
            own = args if args is not None else (f" ({self._definitions(block.args)})" if block.args else "")
            if i == 0:
                self._line(f"{left}{head} {region}{own} {{", op.loc)
            else:
                self.lines.append(f"{pad}}} {region}{own} {{")
            self._ops(block, pad + "  ")
            self.line_of[block] = len(self.lines)
            self.lines.append(f"{pad}  yield {self._yielded(block, carries if region == 'body' else None)}".rstrip())
        self.lines.append(pad + "}")

    def _plain_head(self, op: Op) -> str:
        if op.defn.name == "call" and op.attrs and type(op.attrs[0]) is str and op.attrs[0].startswith("@"):
            head, attrs = f"call {global_name(op.attrs[0][1:])}", self._attrs(op, "fn")
        else:
            head, attrs = op.defn.name, self._attrs(op)
        return f"{head} {self._refs(op.operands)}{attrs}" if op.operands else head + attrs

    def _bindings(self, args: Sequence[Value], operands: Sequence[Value]) -> str:
        pairs = zip(args, operands, strict=True)
        return ", ".join([f"{self._define(arg)} = {self._refs([x])}" for arg, x in pairs])

    def _yielded(self, block: Block, carries: int | None) -> str:
        if carries is None or len(block.outs) <= carries:
            return self._refs(block.outs)
        return f"{self._refs(block.outs[:carries])} ; {self._refs(block.outs[carries:])}".lstrip()


def _is_implied(name: str, value: Any, op: Op) -> bool:
    """Whether an attribute only repeats the types of the results (or of the operand)."""
    if name == "type":
        return value is implied_type(op.results, op.operands)
    return name == "types" and value == tuple([x.type for x in op.results])


def implied_type(results: Sequence[Value], operands: Sequence[Value]) -> Type | None:
    shown = results or operands
    return shown[0].type if len(shown) == 1 else None
