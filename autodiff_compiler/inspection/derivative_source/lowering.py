"""Lowers one function to readable statements: short values that are used once are inlined."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from ...backends.numpy.formula import Splat
from ...backends.numpy.kernels import Support, widened
from ...backends.numpy.syntax import attribute, call, dtype_expr, literal, number, subscript, tuple_expr
from ...errors import CompileError, UnsupportedCallError
from ...ir.core import Block, Function, Module, Op, Value
from ...ir.naming import definitions
from ...ir.primitive import Effect
from ...ir.types import TensorType
from ...ir.walk import uses
from ...runtime.commits import Commit
from ...source import Loc
from .expressions import FORMULAS, Written, formula_of, kernel_tree, length, plain_number, splat_tree
from .hints import Hints
from .statements import Assign, Do, Statement, Try, Var, tree_of

__all__ = ["SPECIAL", "Lowering", "Writes"]

#: A write-back: targets and values; for a target that cannot be named, the op that noted it.
Writes: TypeAlias = list[tuple[ast.expr | None, ast.expr | Op]]

#: The longest expression that is inlined, in characters.
_LONGEST_PART = 44
#: Views, which are inlined at every use: they cost nothing.
_EVERYWHERE = {"transpose", "expand_dims", "broadcast_to", "stop_gradient", "tuple_make", "tuple_get"}


class Lowering:
    """Writes the statements of a function: `trees` says what each value is, `body` receives the statements."""

    def __init__(
        self,
        module: Module,
        function: Function,
        support: Support,
        undefined: set[Value],
        hints: Hints,
        arguments: list[ast.expr],
    ) -> None:
        self.module, self.function, self.support, self.undefined = module, function, support, undefined
        self.hints = hints
        self.uses = uses(function)
        self.trees: dict[Value, ast.expr] = dict(zip(function.args, arguments, strict=True))
        self.body: list[Statement] = []
        self.loc: Loc | None = function.loc
        #: callbacks for when a value exists: it is appended to the residuals
        self.pushes: dict[Value, list[Callable[[], None]]] = {}
        self._places: dict[Value, int] = {}
        #: fresh arrays that updates may write to in place
        self._updated: dict[Value, Var] = {}
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
        self.leavings: list[tuple[list[Statement], int, int]] = []

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
            tree = self.tree(value)
            return call(attribute(tree, "copy"))
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
        if old in self._updated and self.places(old) == 1:
            name = self._updated[old]  # nobody else has seen the array
        else:
            name = self.variable(new, self.start(old, new))
        self._updated[new] = name
        self.trees[new] = tree_of(name)
        self.body.append(Do(change(tree_of(name)), self.loc))

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
            made = inner.op
            while made is not None and made.defn.name == "expand_dims" and inner.block is value.block:
                axes, source = made.attr("axes"), made.operands[0]
                if {a % inner.ndim for a in axes} != set(range(len(axes))):
                    break
                inner, made = source, source.op  # NumPy adds dimensions in front by itself
            return self.written(inner)
        return Written(self.tree(value), value.shape)

    # ------------------------------------------------------------------------------------------- statements
    def into(self, body: list[Statement], write: Callable[[], Any]) -> Any:
        """Statements go to `body` meanwhile."""
        outer, self.body = self.body, body
        try:
            return write()
        finally:
            self.body = outer

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
                self.body.append(Do(ast.Expr(value=tree), self.loc))
            return
        everywhere = op.defn.name in _EVERYWHERE
        if (everywhere or (places == 1 and not self._is_named(value))) and self._is_short(
            tree, everywhere and places > 1
        ):
            self.trees[value] = tree
            return
        self.trees[value] = tree_of(self.variable(value, tree))

    def variable(self, value: Value, tree: ast.expr) -> Var:
        """A variable for a value, and the statement that assigns it."""
        var = self.new_variable(value)
        self.body.append(Assign([var], tree, self.loc))
        return var

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
        return Var(self.hint(value), fallback)

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
    def block(self, block: Block) -> None:
        lasting = self.lasting
        self._ops(block)
        if self.lasting is not lasting and block is not self.function.body:
            self.lasting = [(None, op) for _, op in self.lasting]  # around the block, its values are not known

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            self.loc = op.loc or self.loc
            self.op(op)
            if self.pushes:
                for result in op.results:
                    for push in self.pushes.pop(result, ()):
                        push()

    def op(self, op: Op) -> None:
        if (self.writes or self.lasting) and is_check(op):
            inside: list[Statement] = []
            self.into(inside, lambda: self._checked(op))
            leaving: list[Statement] = []
            self.leave(leaving)
            self.body.append(Try(inside, leaving, self.loc))
        else:
            self._op(op)
        if op.defn.name != "host_call":
            self.writes = []

    def _checked(self, op: Op) -> None:
        """A check as a statement of its own."""
        self.kernel(op)
        result = op.results[0]
        if not self.body:  # it would be a part of another statement
            self.trees[result] = tree_of(self.variable(result, self.tree(result)))

    def leave(self, body: list[Statement]) -> None:
        """Adds the writes that the caller must see if an exception leaves the op of now."""
        made: dict[str, Do] = {}
        for target, held in [*self.lasting, *self.writes]:
            if target is None or isinstance(held, Op):
                assert isinstance(held, Op)
                raise unsupported(held, "an exception would have to leave what was written elsewhere before")
            made[ast.unparse(target)] = Do(ast.Assign(targets=[target], value=held, lineno=0), self.loc)
        self.leavings.append((body, len(body), len(made)))
        body += made.values()

    def _op(self, op: Op) -> None:
        special = SPECIAL.get(op.defn.name)
        try:
            if special is not None:
                special(self, op)
            elif op.defn.name in FORMULAS or (op.defn.scalar is not None and op.defn.numpy is None):
                self._formula(op)
            elif op.defn.numpy is not None:
                self.kernel(op)
            else:
                raise unsupported(op, "there is no NumPy for it")
        except CompileError as error:
            if isinstance(error, UnsupportedCallError):
                raise
            raise unsupported(op, error.message) from error

    def _formula(self, op: Op) -> None:
        operands = [self.written(x) for x in op.operands]
        type = op.results[0].type
        assert isinstance(type, TensorType)
        tree, shape = formula_of(op, operands, self._part)
        if shape != type.shape:  # the operands are smaller than the result
            at = next((i for i, w in enumerate(operands) if w.splat is None), 0)
            operands[at] = Written(self.tree(op.operands[at]), type.shape)
            tree, _ = formula_of(op, operands, self._part)
        self.define(op.results[0], tree)

    def _part(self, tree: ast.expr) -> ast.expr:
        """A variable for a part of a formula that is used twice."""
        if isinstance(tree, ast.Name):
            return tree
        var = Var(None, "t")
        self.body.append(Assign([var], tree, self.loc))
        return tree_of(var)

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
        made = [self.new_variable(r, op.defn.name) if self.places(r) else Var("_") for r in op.results]
        self.body.append(Assign(made, tree, self.loc))
        for r, var in zip(op.results, made, strict=True):
            name = tree_of(var)
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
        return tree_of(self.constants[name])

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
            self.body.append(Do(ast.Expr(value=tree), self.loc))
            return
        made = [self.new_variable(r) for r in op.results]
        self.body.append(Assign(made, tree, self.loc))
        self.trees.update({r: tree_of(v) for r, v in zip(op.results, made, strict=True)})


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


#: How ops are written that are more than a formula or a kernel; `control`, `effects` and `places` enter theirs.
SPECIAL: dict[str, Callable[[Lowering, Op], None]] = {
    "const": Lowering.const, "undef": Lowering.undef, "broadcast_to": Lowering.broadcast_to,
    "tuple_make": Lowering.tuple_make, "tuple_get": Lowering.tuple_get, "call": Lowering.call,
}  # fmt: skip
