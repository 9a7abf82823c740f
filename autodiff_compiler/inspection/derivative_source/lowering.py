"""Lowers one function to readable statements: short values that are used once are inlined."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...backends.numpy.control import SHARED
from ...backends.numpy.formula import Splat
from ...backends.numpy.kernels import Support, widened
from ...backends.numpy.program import Node, Step, Try
from ...backends.numpy.syntax import (
    Var,
    assign,
    attribute,
    call,
    dtype_expr,
    literal,
    load,
    number,
    store,
    subscript,
    targets_of,
    tuple_expr,
)  # fmt: skip
from ...backends.numpy.writer import Writer
from ...errors import CompileError, UnsupportedCallError
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.naming import definitions
from ...ir.primitive import Effect
from ...ir.types import TensorType
from ...runtime.commits import Commit
from .expressions import FORMULAS, Written, formula_of, kernel_tree, length, negated, plain_number, splat_tree
from .hints import Hints
from .memory import Memory

__all__ = ["SPECIAL", "Lowering"]

#: A write-back: targets and values; for a target that cannot be named, the op that noted it.
Writes: TypeAlias = list[tuple[ast.expr | None, ast.expr | Op]]

#: The longest expression that is inlined, in characters.
_LONGEST_PART = 44
#: Views, which are inlined at every use: they cost nothing.
_EVERYWHERE = {"transpose", "expand_dims", "broadcast_to", "stop_gradient", "to_seq", "tuple_make", "tuple_get"}


class Lowering(Writer):
    """Writes the statements of a function: `trees` says what each value is."""

    def __init__(
        self,
        module: Module,
        function: Function,
        support: Support,
        undefined: set[Value],
        hints: Hints,
        arguments: list[ast.expr],
    ) -> None:
        super().__init__(module, function, support, undefined)
        self.hints, self.table, self.formulas = hints, SPECIAL, FORMULAS
        self.trees: dict[Value, ast.expr] = dict(zip(function.args, arguments, strict=True))
        self._places: dict[Value, int] = {}
        #: fresh arrays that updates may write to in place
        self._updated: dict[Value, Var] = {}
        #: the versions of arrays that loops update in place, with the variable of all of them
        self.rewritten: dict[Value, Var] = {}
        #: the names that several values have
        self._often: set[str | None] | None = None
        #: the names that constant arrays have in the text
        self.constants: dict[str, str] = {}
        #: the names that functions of the module have in the text
        self.functions: dict[str, str] = {}
        #: functions that may return an operand
        self.handing_on: set[str] = set()
        #: the write-back before an exception leaves the next op, and before one leaves any later op
        self.writes: Writes = []
        self.lasting: Writes = []
        #: the targets of a note, with the numbers of the operands they get; None: they cannot be named
        self.noted: Callable[[Commit], list[tuple[ast.expr, int]] | None] = lambda commit: None
        #: where those writes stand in the text: a list of statements, the first and the number of them
        self.leavings: list[tuple[list[Node], int, int]] = []

    # ------------------------------------------------------------------------------------------- values
    def tree(self, value: Value) -> ast.expr:
        """The value as an expression of its exact type."""
        found = self.trees.get(value)
        if found is not None:
            return found
        number_ = value.constant
        if number_ is not None and isinstance(value.type, TensorType):
            return splat_tree(number_, value.type, self._like(value))
        op = value.op
        if op is not None and op.defn.name == "broadcast_to":
            written = self.written(value)
            assert isinstance(value.type, TensorType)
            if written.splat is not None:
                return splat_tree(written.splat.value, value.type, self._like(value))
            assert written.tree is not None
            return call("np.broadcast_to", written.tree, _shape(value.type))
        raise AssertionError(f"{value!r} has no expression")

    def _like(self, value: Value) -> ast.expr | None:
        """An argument of the same type that the value's name says it is the gradient of."""
        return self._model(self._hint_of_use(value), value)

    def _model(self, hint: str | None, value: Value) -> ast.expr | None:
        """The argument whose gradient has this name, if it has the value's type and keeps its own name."""
        for arg in self.function.args:
            if arg.name and value.type is arg.type and hint == f"d_{self.hint(arg)}" and self._keeps_name(arg):
                return self.trees[arg]
        return None

    def _keeps_name(self, arg: Value) -> bool:
        """Whether the user's program gives the argument's name to nothing else."""
        if self._often is None:
            counts = Counter(self.hint(v) for v in definitions(self.function))
            self._often = {hint for hint, n in counts.items() if n > 1}
        return self.hint(arg) not in self._often

    def start(self, value: Value, becomes: Value) -> ast.expr:
        """A new array with the content of `value`, which is about to be updated and then is `becomes`."""
        constant = value.constant
        if constant is None or value in self.trees or not isinstance(value.type, TensorType):
            return self._fresh(self.tree(value))
        hint = self.hint(becomes) or self._passed_on(becomes) or self._becomes(becomes)
        return splat_tree(constant, value.type, self._model(hint, value))

    def number_or_tree(self, value: Value) -> ast.expr:
        """The value as what is assigned to a part of an array: NumPy stretches a number, and makes it of the dtype."""
        constant = value.constant
        if constant is None or value in self.trees:
            written = self.written(value)
            return self.tree(value) if written.tree is None else written.tree
        return plain_number(constant, value.dtype)

    def update(self, op: Op, change: Callable[[ast.expr], ast.stmt]) -> None:
        """A new array with the content of the first operand, changed by a statement."""
        old, new = op.operands[0], op.results[0]
        if old in self.rewritten:
            name = self.rewritten[old]
        elif old in self._updated and self.places(old) == 1:
            name = self._updated[old]  # nobody else has seen the array
        else:
            name = self.variable(new, self.start(old, new))
        self._updated[new] = name
        self.bind(new, name)
        self.run(change(load(name)))

    def _hint_of_use(self, value: Value) -> str | None:
        """The name of a constant, or of what it becomes the first value of."""
        if value.name:
            return self.hint(value)
        for user, at in self.uses.get(value, ()):
            if isinstance(user, Op) and user.defn.name == "scan" and 0 < at <= user.attr("carries"):
                return self.hint(user.blocks[0].args[at])
        return None

    def written(self, value: Value) -> Written:
        """The value for an op that broadcasts its operands: as it was before it was stretched."""
        constant = value.constant
        if constant is not None and value not in self.trees:
            assert isinstance(value.type, TensorType)
            return Written(None, (), Splat(constant, value.type.dtype, value.type.shape))
        op = value.op
        if op is not None and op.defn.name == "broadcast_to" and value not in self.trees:
            inner = op.operands[0]
            while _adds_in_front(inner) and inner.block is value.block and inner.op is not None:
                inner = inner.op.operands[0]  # NumPy adds dimensions in front by itself
            return self.written(inner)
        return Written(self.tree(value), value.shape)

    # ------------------------------------------------------------------------------------------- statements
    def bind(self, value: Value, var: Var) -> None:
        self.trees[value] = load(var)

    def joined(self, value: Value) -> Var:
        return self.new_variable(value)

    def prefer(self, value: Value, var: Var) -> None:
        """Not here: what is only copied becomes one variable when names are given."""

    def is_read(self, value: Value) -> bool:
        return self.places(value) > 0

    def give(self, var: Var, value: Value) -> None:
        tree = self.tree(value)
        loc = value.op.loc if value.op is not None and self.is_part(value) else None
        self.body.append(Step(assign(store(var), tree), loc))

    def give_together(self, pairs: Sequence[tuple[Var, Value]]) -> None:
        trees = tuple_expr(self.tree(value) for _, value in pairs)
        self.run(assign(targets_of([var for var, _ in pairs]), trees))

    def join(self, op: Op, test: ast.expr, results: list[Var], arms: Sequence[list[Node]]) -> None:
        joined = _logic(test, results, arms)
        if joined is not None:
            self.define(op.results[0], joined)
            return
        then, other = arms
        self.branch(test, then, other)
        for result, var in zip(op.results, results, strict=True):
            self.bind(result, var)

    def places(self, value: Value) -> int:
        """In how many places the value's expression would stand if it were inlined.

        A use in an inner block counts twice: a loop would compute it again.
        """
        known = self._places.get(value)
        if known is None:
            known = 0
            for user, at in self.uses.get(value, ()):
                if at and isinstance(user, Op) and user.defn.name == "add" and user.operands[0] is value:
                    continue  # x + x is written 2 * x
                if isinstance(user, Op) and user.defn.name in _EVERYWHERE and user.parent is value.block:
                    known += self.places(user.results[0])
                else:
                    inside = user.parent if isinstance(user, Op) else user
                    known += 1 if inside is value.block else 2
            self._places[value] = known
        return known

    def define(self, value: Value, tree: ast.expr) -> None:
        """The value is this expression: in its place, or as a variable."""
        op = value.op
        assert op is not None
        places = self.places(value)
        if places == 0 and not op.defn.multiple:
            if is_check(op):
                self.run(ast.Expr(value=tree))
            return
        if any(x in self.rewritten for x in op.operands):  # read now, before the array changes
            self.bind(value, self.variable(value, self._fresh(tree)))
            return
        if _adds_in_front(value) and all(_is_stretch(u, op.parent) for u, _ in self.uses[value]):
            self.trees[value] = tree  # which `written` does not read
            return
        everywhere = op.defn.name in _EVERYWHERE
        if (everywhere or (places == 1 and not self._is_named(value))) and self._is_short(
            tree, everywhere and places > 1
        ):
            self.trees[value] = tree
            return
        self.bind(value, self.variable(value, tree))

    def variable(self, value: Value, tree: ast.expr) -> Var:
        """A variable for a value, and the statement that assigns it."""
        var = self.new_variable(value)
        self.run(assign(store(var), tree))
        return var

    def _fresh(self, tree: ast.expr) -> ast.expr:
        """The expression as an array of its own."""
        return call(attribute(tree, "copy")) if Memory([], self.handing_on).of(tree) else tree

    def is_part(self, value: Value) -> bool:
        """Whether the value is written where it is used, so that no comment has named its line yet."""
        return not isinstance(self.trees.get(value), ast.Name)

    def new_variable(self, value: Value, fallback: str = "") -> Var:
        if not fallback:
            type = value.type
            backward = self.loc is not None and self.loc.tag == "adjoint"
            fallback = "g" if backward else "t"
            if isinstance(type, TensorType) and type.dtype.is_bool:
                fallback = "mask" if type.shape else "condition"
        return Var(None, self.hint(value), fallback=fallback)

    def hint(self, value: Value) -> str | None:
        """The user's name of a value as a Python name."""
        return self.hints.of(value)

    def _is_short(self, tree: ast.expr, repeated: bool) -> bool:
        return length(tree) <= (_LONGEST_PART // 2 if repeated else _LONGEST_PART)

    def _is_named(self, value: Value) -> bool:
        """Whether the user knows the value by a name, so that it is a statement of its own."""
        hint = self.hint(value)
        if hint is None:
            return False
        tag = self.loc.tag if self.loc is not None else ""
        return not (tag and self._becomes(value) == hint)

    def _becomes(self, value: Value) -> str | None:
        """The name of what the only reader of a value makes of it."""
        found = self.uses.get(value, [])
        if len({user for user, _ in found}) != 1:
            return None
        user = found[0][0]
        if not isinstance(user, Op) or len(user.results) != 1:
            return None
        made = user.results[0]
        return self.hint(made) or self._passed_on(made)

    def _passed_on(self, value: Value) -> str | None:
        """The name under which a branch or loop passes the value on, if that is all that becomes of it."""
        found = self.uses.get(value, [])
        if len(found) != 1 or not isinstance(found[0][0], Block):
            return None
        (block, at), op = found[0], found[0][0].parent
        if op is None:
            return None
        if op.defn.name == "if":
            return self.hint(op.results[at])
        carries = op.attr("carries") if op.defn.name == "scan" else len(op.operands)
        return self.hint(block.args[at + (op.defn.name == "scan")]) if at < carries else None  # type: ignore[union-attr]

    # ------------------------------------------------------------------------------------------- ops
    def lower_block(self, block: Block) -> None:
        lasting = self.lasting
        super().lower_block(block)
        if self.lasting is not lasting and block is not self.function.body:
            self.lasting = [(None, op) for _, op in self.lasting]  # around the block, its values are not known

    def lower(self, op: Op) -> None:
        if "group" in op.defn.schema:
            raise unsupported(op, "it needs the processes of a group, and this package to know them")
        if (self.writes or self.lasting) and is_check(op):
            with self.into([]) as inside:
                self._checked(op)
            with self.into([]) as leaving:
                self.leave()
            self.body.append(Try(inside, leaving, self.loc))
        else:
            self.write(op)
        if op.defn.name != "host_call":
            self.writes = []

    def _checked(self, op: Op) -> None:
        """A check as a statement of its own."""
        self.kernel(op)
        result = op.results[0]
        if not self.body:  # it would be a part of another statement
            self.bind(result, self.variable(result, self.tree(result)))

    def leave(self) -> None:
        """Adds the writes that the caller must see if an exception leaves the op of now."""
        made: dict[str, Step] = {}
        for target, held in [*self.lasting, *self.writes]:
            if target is None or isinstance(held, Op):
                assert isinstance(held, Op)
                raise unsupported(held, "an exception would have to leave what was written elsewhere before")
            made[ast.unparse(target)] = Step(assign(target, held), self.loc)
        self.leavings.append((self.body, len(self.body), len(made)))
        self.body += made.values()

    def refuse(self, op: Op) -> None:
        raise unsupported(op, "there is no NumPy for it")

    def printed(self, value: Value, way: str) -> ast.expr:
        return call("repr", self.tree(value)) if way == "repr" else super().printed(value, way)

    def fail(self, op: Op, operands: Sequence[Value]) -> None:
        """Writes back what an exception must leave written, and raises it."""
        made = self.module.callables.get(op.attr("exception").removeprefix("@"))
        text = getattr(made, "text", None)
        if text is None:
            raise unsupported(op, "its exception is made by a function")
        error: ast.expr = _Shown(self, operands).visit(ast.parse(text, mode="eval").body)
        if operands and (self.writes or self.lasting):  # its message shows the values before the write-back
            var = Var(None, fallback="error")
            self.run(assign(store(var), error))
            error = load(var)
        self.leave()
        self.run(ast.Raise(exc=error, cause=None))

    def write(self, op: Op) -> None:
        try:
            super().write(op)
        except CompileError as error:
            if isinstance(error, UnsupportedCallError):
                raise
            raise unsupported(op, error.message) from error

    def formula(self, op: Op) -> None:
        operands = [self.written(x) for x in op.operands]

        def stretch(at: int) -> None:
            operands[at] = Written(self.tree(op.operands[at]), op.results[0].shape)

        self.define(op.results[0], formula_of(op, operands, stretch, self.named))

    def named(self, tree: ast.expr) -> ast.expr:
        """A variable for an expression that is used twice."""
        if isinstance(tree, ast.Name):
            return tree
        var = Var(None)
        self.run(assign(store(var), tree))
        return load(var)

    def kernel(self, op: Op) -> None:
        operands = [self.tree(x) for x in op.operands]
        self.support.dtypes(op)
        operands, narrow = widened(op, operands)
        tree = kernel_tree(op, operands, self.support)
        if op.defn.view is not None and isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            self.handing_on.add(tree.func.id)
        if not op.defn.multiple:
            if narrow is not None:
                tree = call(attribute(tree, "astype"), dtype_expr(op.results[0].dtype))
            self.define(op.results[0], tree)
            return
        made = [self.new_variable(r, op.defn.name) if self.places(r) else Var(None, "_") for r in op.results]
        self.run(assign(targets_of(made), tree))
        for r, var in zip(op.results, made, strict=True):
            name = load(var)
            if narrow is not None and r.type.dtype is not None and r.dtype.is_float:  # type: ignore[attr-defined]
                name = call(attribute(name, "astype"), dtype_expr(r.dtype))
            self.trees[r] = name

    # ------------------------------------------------------------------------------------------- containers
    def const(self, op: Op) -> None:
        value, type = op.attrs
        if isinstance(value, str):
            self.trees[op.results[0]] = self.constant(value.removeprefix("@"))
        self.support.dtype(type.dtype)

    def constant(self, name: str) -> ast.expr:
        """A constant array: a small one stands above the function, a large one is an argument."""
        return load(self.constants[name])

    def undef(self, op: Op) -> None:
        self.trees[op.results[0]] = ast.Constant(value=None)

    def broadcast_to(self, op: Op) -> None:
        """Elided where all users broadcast by themselves."""
        if self.places(op.results[0]) and not self._all_broadcast(op.results[0]):
            self.define(op.results[0], self.tree(op.results[0]))

    def _all_broadcast(self, value: Value) -> bool:
        for user, _ in self.uses.get(value, ()):
            if not isinstance(user, Op) or user.parent is not value.block:
                return False
            if user.defn.name not in FORMULAS and (user.defn.scalar is None or user.defn.numpy is not None):
                return False
        return True

    def tuple_make(self, op: Op) -> None:
        self.trees[op.results[0]] = tuple_expr([self.tree(x) for x in op.operands])

    def tuple_get(self, op: Op) -> None:
        tree, index = self.tree(op.operands[0]), op.attrs[0]
        if isinstance(tree, ast.Tuple):
            self.trees[op.results[0]] = tree.elts[index]
        else:
            self.define(op.results[0], subscript(tree, number(index)))

    def call(self, op: Op) -> None:
        """A call of another function of the module."""
        tree = call(self.functions[op.attr("fn").removeprefix("@")], *[self.tree(x) for x in op.operands])
        if not op.results:
            self.run(ast.Expr(value=tree))
            return
        made = [self.new_variable(r) for r in op.results]
        self.run(assign(targets_of(made), tree))
        for result, var in zip(op.results, made, strict=True):
            self.bind(result, var)

    def host_call(self, op: Op) -> None:
        """Notes the write-back for an exception in the next op, or in any later one."""
        name = op.attr("fn").removeprefix("@")
        commit = self.module.callables.get(name)
        if not isinstance(commit, Commit):
            raise unsupported(op, f"it calls the Python function {name}")
        targets = self.noted(commit)
        noted: Writes = [(None, op)] if targets is None else [(t, self.tree(op.operands[n])) for t, n in targets]
        if commit.lasting:
            self.lasting = [*self.lasting, *noted]
        else:
            self.writes = [*self.writes, *noted]


def _adds_in_front(x: Value) -> bool:
    """Whether a value is another one with more dimensions before its own."""
    op = x.op
    if op is None or op.defn.name != "expand_dims":
        return False
    axes = op.attr("axes")
    return {a % x.ndim for a in axes} == set(range(len(axes)))


def _is_stretch(user: Op | Block, block: Block | None) -> bool:
    return isinstance(user, Op) and user.defn.name == "broadcast_to" and user.parent is block


def _logic(test: ast.expr, results: list[Var], arms: Sequence[list[Node]]) -> ast.expr | None:
    """``test and other`` or ``test or other``, where a branch is no more than that."""
    only = [arm[0].value for arm in arms if len(arm) == 1 and isinstance(arm[0], Step)]
    if len(results) != 1 or len(only) < len(arms):
        return None
    then, other = only
    if then is None or other is None:
        return None
    if _is_truth(other, False):
        return ast.BoolOp(op=ast.And(), values=[negated(test, 2), negated(then, 2)])
    if _is_truth(then, True):
        return ast.BoolOp(op=ast.Or(), values=[negated(test, 2), negated(other, 2)])
    return None


def _is_truth(tree: ast.expr, value: bool) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree) == f"np.bool_({value})"


class _Shown(ast.NodeTransformer):
    """Puts what operands are in place of ``operands[n]``."""

    def __init__(self, low: Lowering, operands: Sequence[Value]) -> None:
        self._low, self._operands = low, operands

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        assert ast.unparse(node.value) == "operands"
        return self._low.tree(self._operands[ast.literal_eval(node.slice)])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "str" and _is_text(node.args[0]):
            return node.args[0]
        return node


def _is_text(tree: ast.expr) -> bool:
    """Whether it is ``"...".format(...)``."""
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "format"


def is_check(op: Op) -> bool:
    """Whether the op does nothing but stop the program where its operand is not as it must be."""
    return op.defn.effect is Effect.IO and op.defn.numpy is not None


def unsupported(op: Op, why: str) -> UnsupportedCallError:
    """The error for an op that cannot be written as Python over NumPy."""
    return UnsupportedCallError(f"{op.defn.name} cannot be written as Python over NumPy: {why}", loc=op.loc)


def _shape(type: TensorType) -> ast.expr:
    tree = literal(type.shape)
    if tree is None:
        raise UnsupportedCallError(f"sizes that only a call knows cannot be written: {type}")
    return tree


#: How ops are written that are more than a formula or a kernel; `control` and `places` enter theirs.
SPECIAL: dict[str, Callable[[Lowering, Op], None]] = {
    **SHARED,
    "const": Lowering.const, "undef": Lowering.undef, "broadcast_to": Lowering.broadcast_to,
    "tuple_make": Lowering.tuple_make, "tuple_get": Lowering.tuple_get, "call": Lowering.call,
    "host_call": Lowering.host_call,
}  # fmt: skip
