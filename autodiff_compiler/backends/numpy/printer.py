"""The text of a generated module: statements with the user's lines beside them."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterable, Iterator

from ... import escape
from ...blas import SINGLE
from ...ir.core import Module, Op
from ...ir.sizes import Dim, symbols_of
from ...ir.types import TensorType
from ...ir.walk import ops_of
from ...primitives.flops import flops_of
from ...source import Loc, line_of
from .module_code import ModuleCode
from .program import Branch, Exit, FunctionCode, Loop, Node, Step, nodes_of
from .syntax import Var, printed, size, size_variable, tuple_expr, variables

_OF_PROGRAMS = ("BLOCKS", "CONSTANTS", "CALLABLES", "CLOCK", "LAP", "PRODUCTS", "RUNS")
_TAKEN = {*keyword.kwlist, *dir(builtins), "np", "ml_dtypes", "scipy", *_OF_PROGRAMS}


#: From this depth on, arms that hold more blocks become functions of their own.
_DEEPEST = 60


class Namer:
    """Makes names from hints, each once: ``h``, ``h_1``, ..."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_TAKEN, *taken}
        self._next: dict[str, int] = {}

    def name(self, hint: str) -> str:
        base = escape.word(hint).strip("_") or "t"
        if base[0].isdigit():
            base = "t" + base
        name = base
        while name in self._taken:
            self._next[base] = self._next.get(base, 0) + 1
            name = f"{base}_{self._next[base]}"
        self._taken.add(name)
        return name


def module_text(code: ModuleCode, module: Module) -> str:
    """The whole file."""
    reserved = {*code.names.values(), *code.support.sources, *code.support.imports, *_size_variables(module)}
    constants = Namer(reserved)
    for var, _ in code.constants.values():
        var.name = constants.name(var.hint or var.fallback)
        reserved.add(var.name)
    functions = ["\n" + "\n".join(_Writer(function, reserved).lines) for function in code.functions]
    sources = [*code.support.mentioned(functions).values()]
    parts = [_header(code, module)]
    if sources:
        parts.append("from __future__ import annotations")  # those of printed functions need not exist here
    parts.append("\n".join(sorted(code.support.imports.values())))
    code.uses_products = any("with PRODUCTS(" in text for text in functions)
    bound = _bound_outside(code, module)
    if bound:
        parts.append(bound)
    parts += ["\n" * source.startswith(("def ", "class ")) + source for source in sources]
    if code.constants:
        parts.append("\n".join(f"{var} = {printed(tree)}" for var, tree in code.constants.values()))
    return "\n\n".join([*parts, *functions]) + "\n"


def _size_variables(module: Module) -> Iterator[str]:
    """The variables of the sizes that only a call knows."""
    for function in module:
        for arg in function.args:
            for d in arg.shape if isinstance(arg.type, TensorType) else ():
                yield from map(size_variable, symbols_of(d))
        for op in ops_of(function.body):
            if op.defn.name == "bind_size":
                yield from map(size_variable, symbols_of(op.attr("size")))


def _constructed_exceptions(module: Module) -> dict[str, str]:
    """The host functions that only construct an exception, as source text."""
    texts = {name: getattr(fn, "text", None) for name, fn in module.callables.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _header(code: ModuleCode, module: Module) -> str:
    entry = module.entry
    args = escape.docstring(", ".join(f"{a.name or 'x'}: {a.type!r}" for a in entry.args))
    results = escape.docstring(", ".join(repr(v.type) for v in entry.outs))
    mentioned = [*code.support.imports.values(), *code.support.sources.values()]  # kernels import SciPy themselves
    needs = [name for name in ("ml_dtypes", "scipy") if any(name in text for text in mentioned)]
    lines = [
        f'"""`{code.names[entry.name]}`, written by the NumPy backend of autodiff_compiler.',
        "",
        "To run it, import this file and call the function with NumPy arrays; it returns a tuple:",
        "",
        f"    {code.names[entry.name]}({args}) -> ({results})",
        "",
        f"It needs {' and '.join(['NumPy', *needs])} only.  Comments name the lines of the program it was made from.",
    ]
    if code.overwritten:
        names = ", ".join(map(str, code.overwritten))
        lines.append(f"What becomes of {names} it writes over these arguments.")
    missing = sorted(module.callables.keys() - _constructed_exceptions(module).keys()) if code.uses_callables else []
    if missing:
        named = escape.docstring(", ".join(missing))
        lines.append(f"It calls functions back that this file does not hold: put them into CALLABLES as {named}.")
        tells = {name: getattr(module.callables[name], "tells", None) for name in missing}
        told = [f"    {escape.docstring(f'{name}: {text}')}" for name, text in tells.items() if text is not None]
        lines += ["", *told] if told else []
    return "\n".join([*lines, '"""'])


def _bound_outside(code: ModuleCode, module: Module) -> str:
    lines = []
    if code.arrays:
        lines += [
            'if "CONSTANTS" not in globals():  # whoever runs this text from memory brings them along',
            '    CONSTANTS = np.load(__file__ + ".npz")',
        ]
    if code.uses_callables:
        lines += [
            'if "CALLABLES" not in globals():  # functions of the program that it calls back, by name',
            "    CALLABLES = {",
            *(f"        {name!r}: lambda *operands: {text}," for name, text in _constructed_exceptions(module).items()),
            "    }",
        ]
    if code.uses_scratch:
        lines += ['if "BLOCKS" not in globals():  # memory that calls hand on to the next ones', "    BLOCKS = []"]
    if code.uses_products:
        lines += [
            'if "PRODUCTS" not in globals():  # so many blas_operations by BLAS: here with as many threads as it likes',
            "    from contextlib import nullcontext as PRODUCTS",
        ]
    if code.timer is not None:
        lines += [
            'if "LAP" not in globals():  # what measures the parts of the program',
            f"    CLOCK, LAP, RUNS = int, lambda number, before: 0, [0] * {len(code.timer.counts)}",
        ]
    return "\n".join(lines)


class _Segment:
    """A function's own statements, or those of an arm too deep for Python's limit of 100 indentations."""

    def __init__(self, name: str, body: list[Node]) -> None:
        self.name, self.body = name, body
        self.lines: list[str] = []
        self.stored: set[str] = set()
        self.mentioned: set[str] = set()

    def note(self, found: Iterable[tuple[Var, bool]]) -> None:
        """Variables of its text, and whether they get a value there."""
        for var, stored in found:
            self.mentioned.add(str(var))
            if stored:
                self.stored.add(str(var))


class _Writer:
    """The lines of one function."""

    def __init__(self, function: FunctionCode, reserved: set[str]) -> None:
        self.lines: list[str] = []
        self._comments: dict[Loc, str] = {}
        self._namer = Namer(reserved)
        _name_variables(function, self._namer)
        if function.is_entry:
            self.lines.append('@np.errstate(all="ignore")  # inf and nan are values like others')
        self._segments = [_Segment(function.name, function.body)]
        self._line(0, f"def {function.name}({', '.join(map(str, function.args))}):", function.loc)
        head = self.lines
        for segment in self._segments:  # grows on the way
            self._segment, self.lines = segment, segment.lines
            self._body(segment.body, 1 if segment is self._segments[0] else 2)
        main, *parts = self._segments
        main.note((var, True) for var in function.args)
        for tree, _ in function.returns:
            main.note(variables(tree))
        self.lines = head
        self._define(main, parts)
        self.lines += main.lines
        results = printed(tuple_expr(tree for tree, _ in function.returns))
        self._line(1, f"return {results}", None)

    def _define(self, main: _Segment, parts: list[_Segment]) -> None:
        """The parts as functions inside of the main one, whose variables they share."""
        elsewhere: set[str] = set()
        for part in parts:
            others = set().union(*(s.mentioned for s in [main, *parts] if s is not part))
            shared = sorted(part.stored & others)
            elsewhere.update(set(shared) - main.stored)
            self._line(1, f"def {part.name}():", None)
            if shared:
                self._line(2, f"nonlocal {', '.join(shared)}", None)
            self.lines += part.lines
        if elsewhere:
            self._line(1, f"{' = '.join(sorted(elsewhere))} = None", None)

    def _line(self, depth: int, text: str, loc: Loc | None) -> None:
        comment = self._comment(loc) if loc is not None else ""
        first, *rest = text.split("\n")
        self.lines.append("    " * depth + first + (f"  # {escape.line(comment)}" if comment else ""))
        self.lines += ["    " * depth + line for line in rest]

    def _comment(self, loc: Loc) -> str:
        found = self._comments.get(loc)
        if found is None:
            tag = escape.line(f" {loc.tag}") if loc.tag else ""
            user = loc.of_user()
            line, place = escape.line(line_of(user.file, user.line).strip()), user.short
            if user is not loc:
                place += f" in {loc.short}"
            found = self._comments[loc] = f"{place}{tag}" + (f": {line}" if line else "")
        return found

    def _body(self, body: list[Node], depth: int) -> None:
        body = [node for node in body if not _is_empty(node)]
        if not body:
            self._line(depth, "pass", None)
        for node in body:
            if isinstance(node, Step):
                binds = isinstance(node.node, ast.Delete)  # for Python, `del x` makes x a local variable
                self._segment.note((var, stored or binds) for var, stored in variables(node.node))
                counted = [text for text in map(blas_operations, node.ops) if text]
                if counted:
                    most = counted[0] if len(counted) == 1 else f"max({', '.join(counted)})"
                    self._line(depth, f"with PRODUCTS({most}):", None)
                self._line(depth + bool(counted), printed(node.node), node.loc)
                continue
            self._segment.note((var, False) for var in node.reads)
            if isinstance(node, Exit):
                self._line(depth, f"if not {_wrapped(node.test)}:", node.loc)
                self._line(depth + 1, "break", None)
            elif isinstance(node, Branch):
                self._branch(node, depth)
            elif isinstance(node, Loop):
                targets = ", ".join(map(str, node.targets))
                head = f"for {targets} in {printed(node.test)}:" if targets else f"while {printed(node.test)}:"
                self._segment.note((var, True) for var in node.targets)
                self._line(depth, head, node.loc)
                self._body(node.body, depth + 1)

    def _branch(self, node: Branch, depth: int) -> None:
        then, other = ([n for n in arm if not _is_empty(n)] for arm in node.arms)
        if not then:
            self._line(depth, f"if not {_wrapped(node.test)}:", node.loc)
            self._arm(other, depth + 1)
            return
        self._line(depth, f"if {printed(node.test)}:", node.loc)
        self._arm(then, depth + 1)
        if other:
            self._line(depth, "else:", None)
            self._arm(other, depth + 1)

    def _arm(self, body: list[Node], depth: int) -> None:
        if depth < _DEEPEST or all(isinstance(node, Step) for node in body):
            self._body(body, depth)
            return
        part = _Segment(self._namer.name("part"), body)
        self._segments.append(part)
        self._line(depth, f"{part.name}()", None)


def blas_operations(op: Op) -> str:
    """The floating-point operations of an op in BLAS, if they may be worth more than one thread; else empty.

    Where sizes are symbolic it is a formula.
    """
    if not op.defn.blas:
        return ""
    found = flops_of(op)
    return printed(size(found)) if isinstance(found, Dim) or found > SINGLE else ""


def _is_empty(node: Node) -> bool:
    """Whether a node has no text."""
    return isinstance(node, Branch) and all(_is_empty(n) for arm in node.arms for n in arm)


def _wrapped(tree: ast.expr) -> str:
    text = printed(tree)
    return text if isinstance(tree, ast.Name | ast.Call | ast.Subscript) else f"({text})"


def _name_variables(function: FunctionCode, namer: Namer) -> None:
    """Names all variables of a function in the order of the text."""

    def name(var: Var) -> None:
        if not var.name:
            var.name = namer.name(var.namesake().hint or var.namesake().fallback)

    for var in function.args:
        name(var)
    for node in nodes_of(function.body):
        if isinstance(node, Step):
            for var, _ in sorted(variables(node.node), key=lambda found: not found[1]):
                name(var)
        elif isinstance(node, Loop):
            for var in node.targets:
                name(var)
        if not isinstance(node, Step):
            for var in node.reads:
                name(var)
