"""Reading the IR back from its text; `ir.text` describes the form.

Only the form is checked here; whether types and attributes fit is the verifier's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .. import escape
from ..depth import deep
from ..dtypes import BY_SHORT
from ..errors import ShapeError, did_you_mean
from ..source import Loc, in_library
from .core import Attrs, Block, Function, Module, Op, StateInfo, Value
from .primitive import REGISTRY
from .printer import RESERVED, SIZE_NAME, WORDS, Unbound, implied_type
from .size_text import parse
from .sizes import Dim, Size, symbol
from .types import Seq, TensorType, Type, link, scan_types, seq, tensor, tuple_of

__all__ = ["ParseError", "parse_function", "parse_module"]

T = TypeVar("T")

_TOKEN = re.compile(
    r"""\s*(?://[^\n]*\s*)*(
      %\w+
    | (?:bool|[uif]\d+|bf16)\[[^\]\n]*\] | `[^`\n]*`
    | [A-Za-z_]\w*
    | -> | [(){}\[\]=,;:<>]
    | @[ \t]+(?:"(?:[^"\\\n]|\\.)*"|[\w.<>+-]+):\d+:\d+
       (?:[ \t]+in[ \t]+(?:"(?:[^"\\\n]|\\.)*"|[\w.<>+-]+):\d+:\d+)?(?:[ \t]+(?:[A-Za-z_]\w*|"(?:[^"\\\n]|\\.)*"))?
    | @(?:"(?:[^"\\\n]|\\.)*"|[A-Za-z_<][\w.<>-]*)
    | -?\d+(?:\.\d*)?(?:[eE][+-]?\d+)? | -inf\b
    | "(?:[^"\\\n]|\\.)*"
    | . | \Z)""",
    re.ASCII | re.VERBOSE,
)
_PLACE = r'("(?:[^"\\]|\\.)*"|[\w.<>+-]+):(\d+):(\d+)'
_LOCATION = re.compile(rf"@[ \t]+{_PLACE}(?:[ \t]+in[ \t]+{_PLACE})?(?:[ \t]+(.+))?", re.ASCII | re.DOTALL)
_LOOPS = ("while", "scan")
_OPENERS = {"size", "state", "constant", "callable", "func"}
#: How deep types and literals may be nested, and how deep blocks: far deeper than any program has them.
_MOST_BRACKETS, _MOST_BLOCKS = 200, 1000


class ParseError(ValueError):
    """The text is no IR; says where (line and column count from 1) and shows the line."""

    def __init__(self, message: str, text: str, position: int) -> None:
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        self.line, self.col = text.count("\n", 0, position) + 1, position - start + 1
        shown = escape.line(text[start : len(text) if end < 0 else end])
        caret = re.sub(r"[^\t]", " ", escape.line(text[start:position])) + "^"
        super().__init__(f"{self.line}:{self.col}: {escape.line(message)}\n  {shown}\n  {caret}")


@deep
def parse_module(text: str, places: dict[Op, int] | None = None) -> Module:
    """Reads a module; constants without contents and all callables come back as `Unbound`.  Raises ParseError.

    `places` is filled with where in the text each op is named.
    """
    parser = _Parser(text)
    module = parser.module()
    if places is not None:
        starts = [m.start(1) for m in _TOKEN.finditer(text)]
        places.update({op: starts[i] for op, i in parser.places.items()})
    return module


@deep
def parse_function(text: str) -> Function:
    """Reads one function.  Raises ParseError.  See `print_function` for an example."""
    parser = _Parser(text)
    function = parser.function()
    parser.expect("")
    return function


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = _TOKEN.findall(text)
        self.tokens.append("")
        self.i = 0
        #: The values visible here by name, and their names in order.
        self.scope: dict[str, Value] = {}
        self.defined: list[str] = []
        self.types: dict[str, Type] = {}
        #: The symbols by name.
        self.sizes: dict[str, Size] = {}
        #: The tokens that name the ops.
        self.places: dict[Op, int] = {}
        #: How many types or literals, and how many blocks, are open.
        self.brackets = self.blocks = 0

    # ------------------------------------------------------------------------------------------- tokens
    def error(self, message: str, at: int | None = None) -> ParseError:
        """The error at token number `at`, or at the next one."""
        wanted = self.i if at is None else at
        starts = [m.start(1) for m in _TOKEN.finditer(self.text)]
        return ParseError(message, self.text, starts[min(wanted, len(starts) - 1)])

    def expect(self, token: str, what: str = "") -> None:
        found = self.tokens[self.i]
        if found != token:
            raise self.error(f"expected {what or token or 'the end'}, found {found or 'the end'}")
        self.i += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.i] == token:
            self.i += 1
            return True
        return False

    def commas(self, item: Callable[[], T], *stops: str) -> list[T]:
        """Items divided by commas, up to and without one of the tokens `stops`."""
        items: list[T] = []
        while self.tokens[self.i] not in stops:
            if items:
                self.expect(",")
            items.append(item())
        return items

    @contextmanager
    def bracket(self) -> Iterator[None]:
        """Reads what stands inside of brackets of a type or a literal."""
        self.brackets += 1
        if self.brackets > _MOST_BRACKETS:
            raise self.error(f"types and literals are nested at most {_MOST_BRACKETS} levels deep")
        yield
        self.brackets -= 1

    def globl(self) -> str:
        token = self.tokens[self.i]
        if token[:1] != "@" or token[1:2] in ("", " ", "\t"):
            raise self.error(f"expected a name like @f, found {token or 'the end'}")
        self.i += 1
        return self.string(token[1:]) if token[1] == '"' else token[1:]

    def location(self) -> Loc | None:
        token = self.tokens[self.i]
        match = _LOCATION.fullmatch(token) if token[:1] == "@" else None
        if match is None:
            return None
        groups = [self.string(text) if text[:1] == '"' else text for text in match.groups("")]
        if any(map(escape.has_controls, groups)):
            raise self.error(r"a place must not hold control characters: a newline, say, is written \\n")
        self.i += 1
        (file, inner, tag), lines = groups[0::3], [self.integer(x or "0") for x in (*groups[1:3], *groups[4:6])]
        if not groups[4]:
            return Loc(file, lines[0], lines[1], tag=tag)
        return Loc(in_library(inner), lines[2], lines[3], caller=Loc(file, lines[0], lines[1]), tag=tag)

    # ------------------------------------------------------------------------------------------- types and literals
    def type(self) -> Type:
        token = self.tokens[self.i]
        found = self.types.get(token)
        if found is not None:
            self.i += 1
            return found
        if token[-1:] == "]" and len(token) > 1:
            self.types[token] = found = self.tensor_type(token)
            self.i += 1
            return found
        if token == "seq" and self.tokens[self.i + 1] == "<":
            self.i += 2
            with self.bracket():
                elem = self.type()
            self.expect(">")
            return seq(elem)
        if token == "link" and self.tokens[self.i + 1] == "<":
            self.i += 2
            ins = self.elements()
            self.expect("->")
            outs = self.elements()
            self.expect(">")
            return link(ins, outs)
        if token == "(":
            return tuple_of(self.elements())
        raise self.error(f"expected a type, found {token or 'the end'}")

    def elements(self) -> tuple[Type, ...]:
        """``(type, ...)``"""
        self.expect("(")
        with self.bracket():
            elems = self.commas(self.type, ")")
        self.i += 1
        return tuple(elems)

    def tensor_type(self, token: str) -> Type:
        short, _, sizes = token[:-1].partition("[")
        if short not in BY_SHORT:
            raise self.error(f"there is no dtype {short}; there are {', '.join(BY_SHORT)}")
        shape = self.size_list(sizes) if sizes.strip() else []
        try:
            return tensor(BY_SHORT[short], tuple(shape))
        except ShapeError as error:
            raise self.error(error.message) from None

    def size_list(self, text: str) -> list[Size]:
        try:
            return parse(text, self.named_size)
        except ValueError as error:
            shown = text if len(text) <= 60 else f"{text[:60]}..."
            raise self.error(f"{shown!r} is no size of a dimension: {error}") from None

    def named_size(self, name: str) -> Size:
        if name in RESERVED or not SIZE_NAME.fullmatch(name):
            raise ValueError(f"no size can be called {name}")
        return self.sizes.setdefault(name, symbol(name))

    def literal(self) -> Any:
        token = self.tokens[self.i]
        first = token[:1]
        if token in WORDS:
            value: Any = WORDS[token]
        elif first.isdecimal() or (first == "-" and token[1:2].isdecimal()):
            value = self.integer(token) if token.lstrip("-").isdecimal() else float(token)
        elif first == '"' and len(token) > 1:
            value = self.string(token)
        elif token in BY_SHORT:
            value = BY_SHORT[token]
        elif token == "[":
            self.i += 1
            with self.bracket():
                value = tuple(self.commas(self.literal, "]"))
        elif token[:1] == "`" and len(token) > 1:
            (value,) = self.size_list(token[1:-1])
        elif SIZE_NAME.fullmatch(token) and token not in RESERVED:
            value = self.named_size(token)
        else:
            return self.type()
        self.i += 1
        return value

    def integer(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:  # Python reads no more digits than `sys.set_int_max_str_digits` allows
            raise self.error(f"a number of {len(digits)} digits is too long") from None

    def string(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError:
            raise self.error(f"{token} is no string: escapes are those of JSON") from None

    # ------------------------------------------------------------------------------------------- values
    def define(self, x: Value, token: str, at: int) -> None:
        if token in self.scope:
            raise self.error(f"{token} is defined twice", at)
        self.scope[token] = x
        self.defined.append(token)
        if token[1:].isdecimal():
            x.number = self.integer(token[1:])
        else:
            x.name = token[1:]

    def new_name(self) -> tuple[str, int]:
        token = self.tokens[self.i]
        if token[:1] != "%" or len(token) < 2:
            raise self.error(f"expected a value like %x, found {token or 'the end'}")
        self.i += 1
        return token, self.i - 1

    def use(self) -> Value:
        token = self.tokens[self.i]
        found = self.scope.get(token)
        if found is None:
            name, at = self.new_name()
            raise self.error(f"{name} is not defined here", at)
        self.i += 1
        return found

    def uses(self) -> list[Value]:
        if self.tokens[self.i][:1] != "%" or self.tokens[self.i + 1] == ":":  # with a colon it is the next op's result
            return []
        values = [self.use()]
        while self.tokens[self.i] == ",":
            self.i += 1
            values.append(self.use())
        return values

    def definition(self) -> tuple[str, int, Type]:
        name, at = self.new_name()
        self.expect(":")
        return name, at, self.type()

    def arguments(self, block: Block) -> None:
        """``(%a: type, ...)`` as the arguments of a block."""
        self.expect("(")
        for name, at, t in self.commas(self.definition, ")"):
            self.define(block.add_arg(t), name, at)
        self.i += 1

    # ------------------------------------------------------------------------------------------- module, function
    def module(self) -> Module:
        module = Module()
        places: dict[str, list[tuple[int, str, int]]] = {"argument": [], "result": []}
        while (opener := self.tokens[self.i]) in _OPENERS:
            start = self.i
            if opener == "func":
                found: Any = self.function()
                table: dict[str, Any] = module.functions
                name = found.name
            else:
                self.i += 1
                name = self.globl()
                if opener == "size":
                    table, found = self.sizes, self.declared_size(name)
                else:
                    table, found = self.declaration(opener, name, module, places)
            if name in table:
                raise self.error(f"@{name} is declared twice", start)
            table[name] = found
            self.accept(";")
        self.expect("", "func, size, state, constant or callable")
        if any(places.values()):
            entry = module.entry if module.functions else Function("", Block())
            module.inputs = self.lifted("argument", places["argument"], len(entry.args))
            module.outputs = self.lifted("result", places["result"], len(entry.outs))
        return module

    def lifted(self, word: str, found: list[tuple[int, str, int]], count: int) -> tuple[str, ...]:
        """The names of states that are the last arguments, or results, of the entry, which has so many."""
        found = sorted(found)
        for expected, (place, _, at) in enumerate(found, count - len(found)):
            if place != expected:
                raise self.error(f"states are the last {word}s of the first function: {word}={expected} is missing", at)
        return tuple([name for _, name, _ in found])

    def declared_size(self, name: str) -> Size:
        """``{low=1, high=64}``: what is known of a symbol."""
        known: dict[str, Any] = {}
        self.expect("{")
        while not self.accept("}"):
            at, word = self.i, self.tokens[self.i]
            if word not in ("low", "high", "data") or word in known:
                raise self.error(f"a size has one low, one high and one data, but not {word or 'the end'}")
            self.i += 1
            self.expect("=")
            known[word] = self.literal()
            if word == "data":
                if known[word] is not True:
                    raise self.error("data is True", at + 2)
            elif type(known[word]) is not int and (word == "low" or type(known[word]) is not Dim):
                raise self.error(f"{word} is a number", at + 2)
            self.accept(",")
        return symbol(name, known.get("low", 0), known.get("high"), of_data="data" in known)

    def declaration(
        self, opener: str, name: str, module: Module, places: dict[str, list[tuple[int, str, int]]]
    ) -> tuple[dict[str, Any], Any]:
        if opener == "callable":
            return module.callables, Unbound(name)
        self.expect(":")
        at, t = self.i, self.type()
        if not isinstance(t, TensorType):
            raise self.error(f"a {opener} is a tensor", at)
        if opener == "constant":
            return module.constants, self.contents(t) if self.accept("=") else Unbound(name, t)
        kind = "parameter"
        if self.accept("{"):
            while self.tokens[self.i] != "}":
                at, word = self.i, self.tokens[self.i]
                if word not in ("kind", *places):
                    raise self.error(f"a state has kind, argument and result, but not {word or 'the end'}")
                self.i += 1
                self.expect("=")
                value = self.literal()
                if word in places:
                    if type(value) is not int:
                        raise self.error(f"{word} is a number", at + 2)
                    places[word].append((value, name, at))
                else:
                    kind = str(value)
                self.accept(",")
            self.i += 1
        return module.states, StateInfo(name, t, kind)

    def contents(self, t: TensorType) -> Any:
        at, values = self.i, self.literal()
        wanted = float if t.dtype.is_float else (bool if t.dtype.is_bool else int)
        try:
            if type(values) is not tuple or not all(type(x) is wanted for x in values):
                raise TypeError(f"they must be a list of {wanted.__name__}s")
            exact = np.array(values, np.float64 if t.dtype.is_float else t.dtype.numpy)
            return exact.astype(t.dtype.numpy).reshape(t.shape)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(f"these are not the elements of {t}: {error}", at) from None

    def function(self) -> Function:
        self.expect("func")
        self.scope, self.defined = {}, []
        name, body = self.globl(), Block()
        self.arguments(body)
        self.expect("->")
        at = self.i
        self.expect("(")
        types = self.commas(self.type, ")")
        self.i += 1
        self.expect("{")
        loc = self.location()
        self.ops(body, "return")
        body.outs = self.uses()
        self.accept(";")
        self.expect("}")
        found = [x.type for x in body.outs]
        if found != types:
            raise self.error(f"the function returns {_types(found)}, but declares {_types(types)}", at)
        return Function(name, body, loc)

    # ------------------------------------------------------------------------------------------- ops
    def ops(self, block: Block, terminator: str) -> None:
        """The ops of a block up to its terminator, which is consumed."""
        tokens, ops = self.tokens, block.ops
        while tokens[self.i] != terminator:
            ops.append(self.op(block))
            while tokens[self.i] == ";":
                self.i += 1
        self.i += 1

    def op(self, parent: Block) -> Op:
        tokens = self.tokens
        left: list[tuple[str, int, Type]] = []
        if tokens[self.i][:1] == "%":
            left.append(self.definition())
            while self.accept(","):
                left.append(self.definition())
            self.expect("=")
        defn = REGISTRY.get(tokens[self.i])
        if defn is None:
            found = tokens[self.i]
            hint = did_you_mean(found, REGISTRY)
            raise self.error(f"there is no primitive {found or 'here: the text ends'}" + (f"; {hint}" if hint else ""))
        at = self.i
        self.i += 1
        op = Op(defn, (), [t for _, _, t in left], (), (), None, parent)
        self.places[op] = at
        if defn.infer_blocks is None:
            op.operands = tuple(self.uses())
            op.attrs = self.attrs(op, {}, at)
            op.loc = self.location()
        else:
            self.structured(op, at)
        for (name, position, _), x in zip(left, op.results, strict=True):
            self.define(x, name, position)
        return op

    def attrs(self, op: Op, given: dict[str, Any], at: int) -> Attrs:
        """``{key=literal, ...}`` after the operands, with defaults and implied types, in the order of the schema."""
        defn, tokens = op.defn, self.tokens
        if tokens[self.i] == "{" and tokens[self.i + 2] == "=":
            self.i += 1
            while True:
                key = tokens[self.i]
                if key not in defn.schema:
                    raise self.error(f"{defn.name} has no attribute {key}; it has {', '.join(defn.schema) or 'none'}")
                if key in given:
                    raise self.error(f"{key} is given twice")
                self.i += 1
                self.expect("=")
                given[key] = self.literal()
                if not self.accept(","):
                    break
            self.expect("}")
        return tuple([given[key] if key in given else self.unwritten(op, key, at) for key in defn.schema])

    def unwritten(self, op: Op, key: str, at: int) -> Any:
        if key == "types":
            return tuple([x.type for x in op.results])
        if key == "type" and (implied := implied_type(op.results, op.operands)) is not None:
            return implied
        if key not in op.defn._defaults:
            raise self.error(f"{op.defn.name} needs the attribute {key}", at)
        return op.defn._defaults[key]

    def structured(self, op: Op, at: int) -> None:
        defn, given = op.defn, dict[str, Any]()
        if defn.name == "call" and self.tokens[self.i][:1] == "@":
            given["fn"] = "@" + self.globl()
        bound: list[tuple[str, int]] | None = None
        operands = self.uses()
        if defn.name in _LOOPS and self.tokens[self.i] == "(":
            if len(operands) != (defn.name == "scan"):
                raise self.error("before its carries, scan takes the trip count and while takes nothing", at)
            bound, firsts, others = self.bindings()
            operands += firsts + others
            if defn.name == "scan":
                given["carries"] = len(firsts)
        op.operands = tuple(operands)
        op.attrs = self.attrs(op, given, at)
        op.loc = self.location()
        types = [x.type for x in operands]
        if bound is not None and defn.name == "scan":
            if not all(isinstance(t, Seq) for t in types[1 + len(firsts) :]):
                raise self.error("scan reads its elements from sequences", at)
            types = scan_types(types, len(firsts))
        carries = len(operands) if defn.name == "while" else (op.attrs[0] if defn.name == "scan" else None)
        op.blocks = tuple([self.block(op, region, bound, types, carries) for region in defn.regions])
        op.loc = op.loc or self.location()

    def bindings(self) -> tuple[list[tuple[str, int]], list[Value], list[Value]]:
        """``(%c = %x, ... ; %e = %es, ...)``: the names, what carries start from, the sequences of elements."""
        names: list[tuple[str, int]] = []

        def binding() -> Value:
            names.append(self.new_name())
            self.expect("=")
            return self.use()

        self.expect("(")
        firsts = self.commas(binding, ")", ";")
        others = self.commas(binding, ")") if self.accept(";") else []
        self.expect(")")
        return names, firsts, others

    def block(
        self, op: Op, region: str, bound: list[tuple[str, int]] | None, types: Sequence[Type], carries: int | None
    ) -> Block:
        """One block of an op; `bound` are the names a loop gives to arguments of `types`."""
        block, visible = Block(), len(self.defined)
        block.parent = op
        if self.tokens[self.i] == region or len(op.defn.regions) > 1:
            self.expect(region)
        if bound is None:
            if self.tokens[self.i] == "(":
                self.arguments(block)
        else:
            if op.defn.name == "scan":
                self.expect("(")
                bound = [self.new_name(), *bound]
                self.expect(")")
            for (name, at), t in zip(bound, types, strict=True):
                self.define(block.add_arg(t), name, at)
        self.expect("{")
        self.blocks += 1
        if self.blocks > _MOST_BLOCKS:
            raise self.error(f"blocks are nested at most {_MOST_BLOCKS} levels deep")
        op.loc = op.loc or self.location()
        self.ops(block, "yield")
        self.blocks -= 1
        block.outs = self.yielded(carries if region == "body" else None)
        self.expect("}")
        for name in self.defined[visible:]:
            del self.scope[name]
        del self.defined[visible:]
        return block

    def yielded(self, carries: int | None) -> list[Value]:
        """The values after `yield`; in the body of a loop, `;` divides the next carries from what is collected."""
        at, outs = self.i, self.uses()
        collected = self.uses() if self.accept(";") else []
        if carries is None and collected:
            raise self.error("only the body of a loop collects values after ';'", at)
        if carries is not None and (len(outs) != carries if collected else len(outs) > carries):
            raise self.error(f"the loop carries {carries}, not {len(outs)}; what it collects stands after ';'", at)
        self.accept(";")
        return outs + collected


def _types(types: Sequence[Type]) -> str:
    """Types of results, as a declaration has them."""
    return f"({', '.join(map(repr, types))})"
