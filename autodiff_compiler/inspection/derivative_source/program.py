"""A compiled function as the text of a Python module: arguments, statements, results and state updates."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import keyword
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import escape
from ...backends.numpy.kernels import Support
from ...backends.numpy.program import Loop, Node, Step, nodes_of, trees_of
from ...backends.numpy.syntax import (
    Var,
    array_tree,
    assign,
    call,
    literal,
    load,
    size_definitions,
    size_variable,
    store,
    subscript,
    tuple_expr,
    variables,
)  # fmt: skip
from ...compiler.argument_paths import Field
from ...dtypes import from_numpy
from ...errors import UnsupportedCallError
from ...frontend.effects.results import ByRank, Chosen, Copied, Shared, Unstacked
from ...frontend.lower import Arg, Out, State
from ...frontend.variables.structure import elements
from ...ir.core import Function, Module, Op, Value
from ...ir.types import Type, tensor
from ...ir.undefined import undefined_values
from ...ir.walk import ops_of
from ...runtime.commits import Commit
from . import control, places  # noqa: F401  (they enter how they write ops)
from .aliasing import Results, simultaneous, writes_arguments
from .hints import Hints, spelt
from .layout import WIDTH, Layout, docstring, quoted, wrapped
from .lowering import Lowering
from .memory import Memory
from .naming import name_variables
from .python_source import PythonSource

if TYPE_CHECKING:
    from ...compiler.specialised import Specialised

_TAKEN = {*keyword.kwlist, *dir(builtins), "np", "scipy", "ml_dtypes", "math", "sys"} - {"_"}


def python_of(name: str, arguments: str, compiled: Specialised) -> PythonSource:
    """The text of a compiled function, made for a call with these `arguments`.

    UnsupportedCallError: an op, named with its place, cannot be written as Python over NumPy.
    """
    lowered = compiled.lowered
    ends = Ends(
        len(lowered.argument_types),
        lowered.result,
        lowered.captures,
        lowered.states,
        lowered.writes,
        lowered.attributes,
        compiled.paths,
        lowered.sites,
        lowered.containers,
    )
    return _Text(name, arguments, compiled.program.stages.opt, ends).source()


def python_of_module(module: Module) -> PythonSource:
    """The text of a module's entry, which returns a tuple of its results; the module has passed all passes."""
    entry = module.entry
    results = tuple([Out(i) for i in range(len(entry.outs))])
    arguments = ", ".join(repr(a.type) for a in entry.args)
    bare = replace(module, inputs=(), outputs=())  # states are arguments and results like others
    return _Text(entry.name, arguments, bare, Ends(len(entry.args), results, sites=None)).source()


@dataclass
class Ends:
    """How a program is called: as `Lowered` says."""

    arguments: int
    result: Any
    captures: Sequence[Any] = ()
    states: Mapping[str, Any] = field(default_factory=dict)
    writes: Sequence[tuple[int, int]] = ()
    attributes: Sequence[tuple[Any, str, Any]] = ()
    #: where each argument stands in what the user gives: its position, then keys of containers
    paths: Sequence[tuple[Any, ...]] = ()
    #: what the notes before exceptions are about; None: nothing is written back
    sites: Mapping[Any, Any] | None = field(default_factory=dict)
    #: the lists, dicts and sets from outside that are changed
    containers: Sequence[tuple[Any, bool, Any]] = ()


@dataclass
class _Unnamed:
    """A function whose variables have no names yet."""

    function: Function
    name: str
    arguments: list[Var]
    #: further names that it takes
    extra: list[str]
    body: list[Node]


def _sizes(arrays: Iterable[tuple[Type, ast.expr]], body: list[Node]) -> list[Node]:
    """What sets the variables of sizes that a body reads."""
    read = {name.id for tree in trees_of(body) for name in ast.walk(tree) if isinstance(name, ast.Name)}
    found = size_definitions(arrays)
    return [Step(assign(store(size_variable(s)), tree), None) for s, tree in found.items() if size_variable(s) in read]


class _Text:
    """One module of text."""

    def __init__(self, name: str, arguments: str, module: Module, ends: Ends) -> None:
        types = [(a.type, load("")) for f in module for a in f.args]
        self.taken = {*_TAKEN, *map(size_variable, size_definitions(types))}
        self.name = self._fresh(spelt(name) if not keyword.iskeyword(name) else "function")
        self.arguments, self.module, self.ends = arguments, module, ends
        self.support = Support()
        self.undefined = undefined_values(self.module)
        self.hints = Hints(self.module)
        self.given: dict[str, Any] = {}
        #: lines above the functions: small arrays
        self.arrays: list[str] = []
        #: the names of constant arrays, and of those the ones that are arguments
        self.constants: dict[str, str] = {}
        self.defaults: list[str] = []
        #: what the entry takes, with types
        self.takes: list[str] = []
        self.functions = {f.name: self._fresh(spelt(f.name)) for f in module if f is not module.entry}
        self.functions[module.entry.name] = self.name
        self.handing_on = set(self.functions.values())

    def source(self) -> PythonSource:
        entry = self.module.entry
        unnamed = [self._function(f) for f in self.module if f is not entry]
        unnamed.append(self._entry(entry))
        named = self._helpers(unnamed)
        functions = [self._written(f, named) for f in unnamed]
        helpers = {named[name]: _renamed(text, named) for name, text in self.support.sources.items()}
        used = self.support.mentioned([x for lines in functions for x in lines], helpers)
        sources = [_tidied(text.strip("\n")) for text in used.values()]
        annotated = any(re.search(r"def .*\) ->|def .*\w: ", text) for text in sources)
        parts = [self._header()]
        parts += ["from __future__ import annotations"] if annotated else []
        parts.append("\n".join(sorted(self.support.imports.values())))
        parts += ["\n".join(self.arrays)] if self.arrays else []
        text = "\n\n".join(parts) + "\n"
        for block in (*sources, *("\n".join(lines) for lines in functions)):
            text += ("\n\n" if block.startswith(("def ", "class ")) else "\n") + block + "\n"
        return PythonSource(text, self.name, self.given)

    def _helpers(self, functions: list[_Unnamed]) -> dict[str, str]:
        """The names of functions of ours: those of their ops, if nothing of the user's is called so."""
        users = set(self.taken)
        for f in functions:
            assigned = (v for n in nodes_of(f.body) if isinstance(n, Step | Loop) for v in _assigned(n))
            users |= {v.hint or v.fallback for v in (*f.arguments, *assigned)}
        words = {word for text in self.support.sources.values() for word in re.findall(r"\w+", text)}
        named: dict[str, str] = {}
        for name in self.support.sources:
            plain = name.removeprefix("_")
            new, k = plain if plain not in words else name, 0
            while new in users or (k and new in words):
                k += 1
                new = f"{plain}_{k}"
            named[name] = new
            users.add(new)
        return named

    def _header(self) -> str:
        lines = [f"`{self.name}` over NumPy, made by autodiff_compiler for {self.name}({self.arguments})."]
        return "\n".join(docstring(lines[0], 0))

    # ------------------------------------------------------------------------------------------- functions
    def _function(self, function: Function) -> _Unnamed:
        """A function that others call: it returns its result, or a tuple of several."""
        arguments = [Var(None, spelt(a.name or "x")) for a in function.args]
        low = self._lowered(function, [load(v) for v in arguments])
        trees = [low.tree(v) for v in function.outs]
        returned = trees[0] if len(trees) == 1 else tuple_expr(trees)
        body = [*low.body, Step(ast.Return(value=returned), None)]
        body[:0] = _sizes(zip([a.type for a in function.args], map(load, arguments), strict=True), body)
        return _Unnamed(function, self.functions[function.name], arguments, [], body)

    def _lowered(self, function: Function, arguments: list[ast.expr], noted: Any = None) -> Lowering:
        low = Lowering(self.module, function, self.support, self.undefined, self.hints, arguments)
        for op in ops_of(function.body):
            if op.defn.name == "const" and isinstance(op.attrs[0], str):
                self._constant(op)
        low.constants, low.functions, low.handing_on = self.constants, self.functions, self.handing_on
        low.noted = noted or low.noted
        low.lower_block(function.body)
        return low

    def _constant(self, op: Op) -> None:
        """A constant array: a line above the functions, or an argument if it is large."""
        key = op.attrs[0].removeprefix("@")
        if key not in self.constants:
            self.constants[key] = self._given(key, np.asarray(self.module.constants[key]), "constant")

    def _given(self, hint: str, array: Any, fallback: str) -> str:
        """The name of an array that the text holds or gets as an argument."""
        base = spelt(hint) if re.match(r"[A-Za-z_]", hint) else fallback
        if (written := self._array(array)) is not None:
            name = self._fresh(base.upper())
            self.arrays += wrapped(f"{name} = {ast.unparse(written)}", 0)
            return name
        name = self._fresh(base)
        self.given[name] = array
        self.defaults.append(name)
        return name

    def _array(self, array: Any) -> ast.expr | None:
        """A small array as an expression."""
        written = array_tree(array)
        if written is not None:
            self.support.dtype(from_numpy(array.dtype))
        return written

    def _fresh(self, base: str) -> str:
        base = name = escape.name(base)
        k = 0
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name

    def _entry(self, entry: Function) -> _Unnamed:
        count = self.ends.arguments
        leaves, inputs = entry.args[:count], self.module.inputs
        arguments, trees = self._arguments(leaves)
        for capture in self.ends.captures:
            array = np.asarray(capture.fetch().asnumpy())
            trees.append(load(self._given(re.split(r"\W", capture.what)[-1] or "tensor", array, "tensor")))
        states, before = self._states(entry.args[len(entry.args) - len(inputs) :])
        trees += [load(v) for v in before]
        low = self._lowered(entry, trees, functools.partial(self._noted, trees, states))
        reading = [
            Step(assign(store(v), subscript(load(states), ast.Constant(value=n))), None)
            for v, n in zip(before, inputs, strict=True)
        ]
        memory = Memory([*reading, *low.body], self.handing_on)
        for body, start, count in low.leavings:
            body[start : start + count] = simultaneous(body[start : start + count], memory, set())
        given: set[str] = set()
        updates = simultaneous(self._updates(low, entry, states), memory, given)
        results = Results(low, memory, given, writes_arguments(updates))
        returned = self._returned(self.ends.result, results.tree, trees)
        low.body[:0] = [a for a in reading if self._is_read(low, a.writes[0], updates, returned)]
        low.body += [*updates, Step(ast.Return(value=returned), None)]
        low.body[:0] = _sizes(zip([a.type for a in entry.args], trees, strict=True), low.body)
        return _Unnamed(entry, self.name, arguments, [states] if states else [], low.body)

    def _noted(self, inputs: list[ast.expr], states: str, commit: Commit) -> list[tuple[ast.expr, int]]:
        """What a note before an exception says is written, with the numbers of the operands that are written."""
        if self.ends.sites is None:
            return []
        if commit.states is not None:
            names = commit.states
            return [(subscript(load(states), ast.Constant(value=n)), i) for i, n in enumerate(names)]
        site = self.ends.sites[commit]
        return [(self._written_argument(inputs, at), n) for at, n in site.writes]

    def _written_argument(self, inputs: list[ast.expr], at: int) -> ast.expr:
        if at >= self.ends.arguments:
            raise UnsupportedCallError(f"{self.name} writes to a Tensor from outside, which NumPy alone cannot do")
        return subscript(inputs[at], ast.Constant(value=...))

    def _is_read(self, low: Lowering, var: Var, updates: list[Node], returned: ast.expr | None) -> bool:
        trees = [*trees_of(updates), *([returned] if returned is not None else [])]
        return bool(low.uses.get(next(a for a in low.function.args if _is_name(low.trees[a], var)))) or any(
            v is var for t in trees for v, _ in variables(t)
        )

    def _arguments(self, leaves: list[Value]) -> tuple[list[Var], list[ast.expr]]:
        """The arguments as the user gives them, and what each Tensor is: one of them, or a part of a container."""
        paths = self.ends.paths if len(self.ends.paths) == len(leaves) else [(i,) for i in range(len(leaves))]
        arguments: dict[Any, Var] = {}
        trees: list[ast.expr] = []
        for leaf, (position, *keys) in zip(leaves, paths, strict=True):
            if position not in arguments:
                hint = self.hints.of(leaf) if keys else spelt(leaf.name or "x")
                arguments[position] = Var(None, self._fresh(hint or "x"), fixed=True)
            tree = load(arguments[position])
            for key in keys:
                tree = ast.Attribute(tree, key) if isinstance(key, Field) else subscript(tree, ast.Constant(value=key))
            self.takes.append(f"{_named(tree)}: {leaf.type!r}")
            trees.append(tree)
        return list(arguments.values()), trees

    def _states(self, values: list[Value]) -> tuple[str, list[Var]]:
        """The name of the dict of states, and a variable for each."""
        inputs = self.module.inputs
        if not (inputs or self.module.outputs):
            return "", []
        names = dict.fromkeys((*inputs, *self.module.outputs))
        kinds = {self.module.states[n].kind for n in names if n in self.module.states}
        states = self._fresh("parameters" if kinds <= {"parameter"} else "states")
        self.given[states] = {n: _content(self.ends.states[n]) for n in names}
        hints = _short_names(list(inputs))
        self.hints.short = {spelt(n): short for n, short in hints.items()}
        return states, [Var(None, hints[n]) for n in inputs]

    def _updates(self, low: Lowering, entry: Function, states: str) -> list[Node]:
        """What the program changes besides returning something, as its last statements."""
        if self.ends.attributes:
            owner, name, _ = self.ends.attributes[0]
            what = f"the attribute {name!r} of a {type(owner).__name__} object"
            raise UnsupportedCallError(f"{self.name} sets {what}, which NumPy alone cannot do")
        if self.ends.containers:
            kind = type(self.ends.containers[0][0].seen).__name__
            raise UnsupportedCallError(f"{self.name} changes a {kind} from outside, which NumPy alone cannot do")
        made: list[Node] = []
        outs, outputs = entry.outs, self.module.outputs
        for at, result in self.ends.writes:
            target = self._written_argument([low.trees[a] for a in entry.args], at)
            made.append(_stored(target, low.tree(outs[result])))
        for name, value in zip(outputs, outs[len(outs) - len(outputs) :], strict=True):
            made.append(_stored(subscript(load(states), ast.Constant(value=name)), low.tree(value)))
        return made

    # ------------------------------------------------------------------------------------------- results
    def _returned(self, template: Any, results: Callable[[int], ast.expr], inputs: list[ast.expr]) -> ast.expr | None:
        """What is returned, put together as the function does it."""
        if type(template) is Out:
            tree = results(template.index)
            return tree if template.kind in (None, np.ndarray, np.generic) else call("np.asarray", tree)
        if type(template) is Arg:
            return inputs[template.index]
        if type(template) is Chosen:  # which Tensor it is means nothing here: the number is that of a new one
            return self._returned(template.otherwise, results, inputs)
        if type(template) is ByRank:
            *others, last = template.ways
            chosen: Any = self._returned(template.ways[last], results, inputs)
            for rank in others:
                test = ast.Compare(results(template.rank.index), [ast.Eq()], [ast.Constant(rank)])
                way = self._returned(template.ways[rank], results, inputs)
                chosen = ast.IfExp(test=test, body=way, orelse=chosen)  # type: ignore[arg-type]
            return chosen
        if type(template) is Unstacked:
            return call("list", results(template.index))
        if type(template) is Shared:
            return self._returned(template.tensor, results, inputs)
        if type(template) is Copied:
            written = self._array(np.asarray(template.array))
            return written if written is not None else load(self._given("result", template.array, "result"))
        if type(template) is State:
            return load(self._given(template.source.name, _content(template.source), "parameter"))
        if isinstance(template, dict):
            keys = [literal(k) for k in template]
            values = [self._returned(v, results, inputs) for v in template.values()]
            if None not in keys:
                return ast.Dict(keys=keys, values=values)  # type: ignore[arg-type]
        parts = elements(template)
        if parts is not None and isinstance(template, tuple | list):
            trees = [self._returned(t, results, inputs) for t in parts]
            return ast.List(elts=trees, ctx=ast.Load()) if isinstance(template, list) else tuple_expr(trees)  # type: ignore[arg-type]
        found = literal(template)
        if found is None:
            raise UnsupportedCallError(
                f"{self.name} returns a {type(template).__name__}, which NumPy alone does not have"
            )
        return found

    def _written(self, unnamed: _Unnamed, helpers: dict[str, str]) -> list[str]:
        """The lines of a function whose statements are known."""
        arguments, body, entry = unnamed.arguments, unnamed.body, unnamed.function is self.module.entry
        for tree in trees_of(body):
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and not isinstance(node.id, Var):
                    node.id = helpers.get(node.id, node.id)
        given = {str(v.hint) for v in arguments} if entry else set()
        names = name_variables(body, arguments, self.taken - given | {*helpers.values()})
        taken = [*names, *unnamed.extra]
        taken += ["*", *self.defaults] if entry and self.defaults else []
        layout = Layout()
        layout.add(f"def {unnamed.name}({', '.join(taken)}):", 0)
        layout.lines += self._described() if entry else []
        layout.body(body, 1)
        return layout.lines

    def _described(self) -> list[str]:
        text = "Takes " + ", ".join(self.takes) + "." if self.takes else "Takes no arrays."
        lines = docstring(text, 4)
        lines[-1] = lines[-1].removesuffix('"""').rstrip()
        lines = lines if lines[-1] else lines[:-1]
        for name, value in self.given.items():
            if isinstance(value, dict):
                lines += ["", f"    {name}:"]
                lines += [
                    f"        {escape.docstring(quoted(repr(key)) + ': ' + str(_type_of(a)))}"
                    for key, a in value.items()
                ]
            else:
                lines += ["", f"    {name}: {_type_of(value)}"]
        if len(lines) == 1:
            return [lines[0] + '"""']
        return [*lines, '    """']


def _named(tree: ast.expr) -> str:
    """An argument, or a part of one, before it has its name for good."""
    return quoted(re.sub(r"@\d+", "", ast.unparse(tree)))


def _is_name(tree: ast.expr, var: Var) -> bool:
    return isinstance(tree, ast.Name) and tree.id is var


def _type_of(array: Any) -> str:
    return repr(tensor(from_numpy(array.dtype), array.shape))


def _assigned(node: Step | Loop) -> list[Var]:
    return node.writes if isinstance(node, Step) else node.targets


def _stored(target: ast.expr, value: ast.expr) -> Step:
    return Step(assign(target, value), None)


def _content(state: Any) -> Any:
    found = state.asnumpy() if hasattr(state, "asnumpy") else state
    return np.array(found)


def _short_names(names: list[str]) -> dict[str, str]:
    """The last parts of dotted names where these differ, else the whole names."""
    last = {n: n.rpartition(".")[2] for n in names}
    counts = list(last.values())
    return {n: spelt(last[n] if counts.count(last[n]) == 1 else n) for n in names}


def _tidied(source: str) -> str:
    """The text of a function of ours within the width of the others, without notes to linters."""
    text = re.sub(r"  # (noqa|fmt): .*", "", source)
    if max(map(len, text.split("\n"))) <= WIDTH:
        return text
    tree = ast.parse(text)
    said: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (doc := ast.get_docstring(node)) is not None:
            mark = f"docstring {len(said)}"
            said[repr(mark)] = doc
            node.body[0] = ast.Expr(value=ast.Name(id=repr(mark), ctx=ast.Load()))
    lines: list[str] = []
    for line in ast.unparse(tree).split("\n"):
        word = line.strip()
        indent = len(line) - len(line.lstrip())
        lines += docstring(said[word], indent) if word in said else wrapped(quoted(word), indent)
    return "\n".join(lines)


def _renamed(text: str, names: dict[str, str]) -> str:
    """The text of a function of ours that calls others by these names."""
    lines = text.splitlines(keepends=True)
    found = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type in (tokenize.NAME, tokenize.OP)]
    for before, token in reversed([*zip([None, *found], found, strict=False)]):
        if token.string in names and (before is None or before.string != "."):
            row, start = token.start
            lines[row - 1] = lines[row - 1][:start] + names[token.string] + lines[row - 1][token.end[1] :]
    return "".join(lines)
