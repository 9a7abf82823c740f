"""Lowers ops to statements of a Python function: straight-line code.

Every value gets a variable, except three kinds that are absorbed into their consumers: splat constants become numbers,
`broadcast_to` is left to NumPy's broadcasting, and tuples are taken apart.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...dtypes import DType
from ...errors import InternalCompilerError
from ...ir.core import Block, Function, Op, Value
from ...ir.primitive import Effect
from ...ir.sizes import symbol_of
from ...ir.types import Seq, TensorType, TupleType, has_erased_sizes, seq, tensor
from ...runtime.commits import sees_state
from ...runtime.text import tensor_repr
from . import formula as fm
from .control import SHARED
from .formula import Applied, Leaf, Splat
from .kernels import attributes, kernel_expression, overwriting_kernel, result_call, starts_from_copy, widened
from .module_code import ModuleCode
from .program import FunctionCode, Node, Step
from .runtime import add_sequences, narrowed_results
from .syntax import (
    Var,
    assign,
    attribute,
    call,
    constant,
    dtype_expr,
    load,
    none,
    number,
    size,
    size_variable,
    store,
    subscript,
    tuple_expr,
)
from .writer import Writer

#: NumPy functions besides ufuncs that give the same bits with `out=`.
_TAKES_OUT = {"sum", "max", "min", "amax", "amin", "prod", "mean", "any", "all", "concatenate", "stack", "cumsum"}


def _takes_out(path: str) -> bool:
    """Whether ``np.<path>`` is such a function, a ufunc, or the reduction by one."""
    name, _, method = path.partition(".")
    if method not in ("", "reduce", "accumulate"):
        return False
    return isinstance(getattr(np, name, None), np.ufunc) or (not method and name in _TAKES_OUT)


def _always_ordered(op: Op, result: Var) -> bool:
    """Whether a kernel that makes a new array makes it in C order, whatever the order of its operands."""
    type = result.type
    if op.defn.inplace is not None and starts_from_copy(op):
        return True
    return isinstance(type, TensorType) and (type.ndim <= 1 or (op.defn.name == "matmul" and type.ndim == 2))


#: Ops whose result is a view in C order if the operand is in C order.
_KEEPS_ORDER = {"reshape", "squeeze", "expand_dims", "stop_gradient"}


#: The operand that a kernel assigns to a part of its result: NumPy broadcasts a Python number there.
_ASSIGNED = {"scatter_update": 2, "slice_update": 1}


#: Functions for ops of two results whose second result is dead.
_FIRST_ALONE = {"cummax": "np.maximum.accumulate", "cummin": "np.minimum.accumulate"}


#: Functions that are called though an operator does the same.
_CALLED = {"floor_divide", "remainder", "power"}


class Stretched:
    """A `broadcast_to` that its consumers carry out themselves."""

    __slots__ = ("source", "type")

    def __init__(self, source: Var, type: TensorType) -> None:
        self.source, self.type = source, type


class Pack:
    """A tuple whose elements are known one by one."""

    __slots__ = ("elems",)

    def __init__(self, elems: list[Operand]) -> None:
        self.elems = elems


class _Undef:
    """A value nobody reads: it has no bytes."""


UNDEF = _Undef()
Absorbed: TypeAlias = Splat | Stretched | Pack | _Undef
Operand: TypeAlias = Var | Absorbed


class Lowering(Writer):
    """Lowers one function: `env` says what each value is, `wanted` which variable a value is to be computed into."""

    def __init__(self, code: ModuleCode, function: Function, *, is_entry: bool) -> None:
        super().__init__(code.module, function, code.support, code.undefined)
        self.code, self.table = code, LOWERINGS
        self.env: dict[Value, Operand] = {}
        self.wanted: dict[Value, Var] = {}
        self.out = FunctionCode(code.names[function.name], [], function.loc, is_entry)
        self.body = self.out.body
        #: Commits to be noted if the next op that can raise does.
        self.commits: list[Op] = []
        #: Calls of other functions: callee, variables of the results, operands.
        self.calls: list[tuple[str, list[Var], list[Operand]]] = []

    # ------------------------------------------------------------------------------------------- statements
    def run(self, statement: ast.stmt, out: ast.Call | None = None, elementwise: bool = False) -> Step:
        step = Step(statement, self.loc, out, elementwise)
        self.body.append(step)
        return step

    def target(self, value: Value, fallback: str = "t") -> Var:
        """The variable a value is assigned to: that of the result or carry which is its only use, else a new one."""
        var = self.wanted.pop(value, None)
        if var is None:
            var = Var(value.type, value.name, fallback=fallback)
        self.env[value] = var
        return var

    def define(self, value: Value, tree: ast.expr) -> None:
        self.run(assign(store(self.target(value)), tree))

    def bind(self, value: Value, var: Var) -> None:
        self.env[value] = var

    def joined(self, value: Value) -> Var:
        return Var(value.type, value.name, joined=True)

    def prefer(self, value: Value, var: Var) -> None:
        if isinstance(value.owner, Op) and value not in self.wanted:
            self.wanted[value] = var

    def give(self, var: Var, value: Value) -> None:
        self.wanted.pop(value, None)
        if self.env[value] is not var:
            self.copy(var, self.env[value])

    def give_together(self, pairs: Sequence[tuple[Var, Value]]) -> None:
        trees = [self.tree(value) for _, value in pairs]
        for var, value in pairs:
            self.wanted.pop(value, None)
            self.share(var, self.env[value])
            self.order(var, [self.env[value]], view=True)
        self.run(assign(tuple_expr((store(var) for var, _ in pairs), stored=True), tuple_expr(trees)))

    def join(self, op: Op, test: ast.expr, results: list[Var], arms: Sequence[list[Node]]) -> None:
        then, other = arms
        self.branch(test, then, other)
        self.env.update(zip(op.results, results, strict=True))

    def copy(self, var: Var, operand: Operand) -> None:
        """``var = operand``: the two may alias from now on."""
        self.show(var, operand)
        tree = self.expr(operand)
        self.share(var, operand)
        self.order(var, [operand], view=True)
        self.run(assign(store(var), tree)).safe = True

    def order(self, var: Var, operands: Iterable[Operand], view: bool = False) -> None:
        """The variable is in C order if the operands, as arrays, are."""
        for operand in operands:
            if isinstance(operand, Var):
                var.follow(operand, view)
            elif isinstance(operand, Stretched):
                var.lose_order()

    def share(self, var: Var, operand: Operand) -> None:
        """Notes that the variable may alias the operand."""
        if isinstance(operand, Var):
            var.share(operand)
        elif isinstance(operand, Stretched):
            var.share(operand.source)
        elif isinstance(operand, Pack):
            for elem in operand.elems:
                self.share(var, elem)
        elif operand is UNDEF:
            var.set_foreign()  # there may be no bytes to write to

    def show(self, var: Var, operand: Operand) -> None:
        """The variable is a view of the operand in every assignment."""
        if isinstance(operand, Stretched):
            operand = operand.source
        if isinstance(operand, Var) and not var.joined:
            var.base = operand

    # ------------------------------------------------------------------------------------------- operands
    def expr(self, operand: Operand) -> ast.expr:
        """The operand as an expression that has its exact type."""
        if isinstance(operand, Var):
            return load(operand)
        if isinstance(operand, Splat):
            dtype = self.dtype(operand.dtype)
            if operand.shape == ():
                return operand.typed()
            shape = tuple_expr(self.dims(operand.shape))
            if operand.value == 0 and not np.signbit(operand.value):
                return call("np.zeros", shape, dtype)
            return call("np.full", shape, number(operand.value, operand.dtype), dtype)
        if isinstance(operand, Stretched):
            return call("np.broadcast_to", load(operand.source), tuple_expr(self.dims(operand.type.shape)))
        if isinstance(operand, Pack):
            return tuple_expr(self.expr(e) for e in operand.elems)
        return none()

    def tree(self, value: Value) -> ast.expr:
        return self.expr(self.env[value])

    def dims(self, shape: tuple[Any, ...]) -> list[ast.expr]:
        return [size(d) for d in shape]

    def dtype(self, dtype: DType) -> ast.expr:
        self.support.dtype(dtype)
        return dtype_expr(dtype)

    def materialised(self, value: Value, operand: Absorbed) -> None:
        """Keeps a value absorbed if all its users absorb it; otherwise gives it a variable."""
        self.env[value] = operand
        wanted = self.wanted.get(value) is not None
        if isinstance(operand, _Undef) or (isinstance(operand, Splat) and operand.shape == () and not wanted):
            return
        if not wanted and all(isinstance(by, Op) and self._absorbs(by, at) for by, at in self.uses.get(value, ())):
            return
        var = self.target(value)
        self.copy(var, operand)
        if isinstance(operand, Stretched):
            var.set_foreign()  # its elements alias each other

    def _absorbs(self, op: Op, at: int) -> bool:
        name = op.defn.name
        return _ASSIGNED.get(name) == at or op.defn.scalar is not None or name in ("tuple_make", "tuple_get")

    # ------------------------------------------------------------------------------------------- ops
    def lower_block(self, block: Block) -> None:
        super().lower_block(block)
        self._flush_commits()

    def lower(self, op: Op) -> None:
        if self.commits and (op.defn.effect is Effect.IO or op.blocks or op.defn.name == "call"):
            self._noting(op)
        else:
            self.write(op)

    def _noting(self, op: Op) -> None:
        """Lowers an op that may raise inside a `try` whose handler runs the pending commits."""
        if op.blocks or op.defn.name in ("call", "raise", "assert") or self._sees_state(op):
            self._flush_commits()
        commits, made = list(self.commits), list[Node]()
        with self.into(made):
            self.write(op)
        if self.commits != commits:  # one more of them
            return
        self.commits.clear()
        for node in made:
            if isinstance(node, Step) and commits:
                notes: list[ast.stmt] = [ast.Expr(value=self._commit(c)) for c in commits]
                handler = ast.ExceptHandler(type=load("BaseException"), name=None, body=[*notes, ast.Raise()])
                statement = ast.Try(body=[node.node], handlers=[handler], orelse=[], finalbody=[])
                node = Step(statement, node.loc)
            self.body.append(node)

    def _sees_state(self, op: Op) -> bool:
        name = op.attr("fn").removeprefix("@") if op.defn.name == "host_call" else None
        return name is not None and sees_state(self.code.module.callables.get(name))

    def _flush_commits(self) -> None:
        for op in self.commits:
            self.run(ast.Expr(value=self._commit(op)))
            for operand in (self.env[v] for v in op.operands):
                if isinstance(operand, Var):
                    operand.set_foreign()  # it is kept
        self.commits.clear()

    def _commit(self, op: Op) -> ast.expr:
        return call(self.host(op.attr("fn")), *(self.tree(v) for v in op.operands))

    # ------------------------------------------------------------------------------------------- host code
    def host(self, name: str) -> ast.expr:
        """A function of the program that is called back."""
        self.code.uses_callables = True
        return subscript(load("CALLABLES"), constant(name.removeprefix("@")))

    def array(self, value: Value) -> ast.expr:
        """The value for host code: an ndarray even without dimensions."""
        tree, operand = self.tree(value), self.env[value]
        if isinstance(operand, Var):
            operand.set_foreign()  # they may keep it
        scalar = isinstance(value.type, TensorType) and value.type.shape == ()
        return call("np.asarray", tree) if scalar else tree

    def printed(self, value: Value, way: str) -> ast.expr:
        if way == "array":
            return self.array(value)
        if way == "scalar":
            return subscript(self.array(value), tuple_expr([]))
        if way == "repr":
            assert isinstance(value.type, TensorType)
            return call(self.support.include(tensor_repr), self.array(value), constant(str(value.type.dtype)))
        return super().printed(value, way)

    def fail(self, op: Op, operands: Sequence[Value]) -> None:
        made = call(self.host(op.attr("exception")), *(self.array(v) for v in operands))
        self.run(ast.Raise(exc=made, cause=None))

    def refuse(self, op: Op) -> None:
        raise InternalCompilerError(
            f"the NumPy backend cannot run {op.defn.name}: a pass should have removed it", loc=op.loc, stage="code"
        )

    def link(self) -> None:
        """Notes the aliases of call results, once the callees are planned."""
        for callee, targets, operands in self.calls:
            groups = self.code.results.get(callee, [None] * len(targets))  # of a recursive call nothing is known
            for var, group in zip(targets, groups, strict=True):
                if group is None:
                    for operand in operands:
                        self.share(var, operand)
                    var.set_foreign()
                else:
                    var.share(targets[groups.index(group)])

    # ------------------------------------------------------------------------------------------- formulas
    def formula(self, op: Op) -> None:
        """An elementwise op: nested calls if it is small, else one statement per call so that buffers can be reused."""
        operands = [self.env[x] for x in op.operands]
        out = op.results[0]
        assert isinstance(out.type, TensorType)
        shapes = []
        for x, operand in zip(op.operands, operands, strict=True):
            shape = operand.source.type.shape if isinstance(operand, Stretched) else x.shape  # type: ignore[union-attr]
            shapes.append((shape, operand if isinstance(operand, Splat) else None))
            self.support.dtype(x.dtype)

        def stretch(at: int) -> None:
            whole, var = operands[at], Var(tensor(op.operands[at].dtype, out.shape))
            self.copy(var, Splat(whole.value, whole.dtype, out.shape) if isinstance(whole, Splat) else whole)
            operands[at] = var

        root = fm.trace_whole(op, shapes, attributes(op), stretch)
        if isinstance(root, Leaf):
            self.copy(self.target(out), operands[root.index])
            return
        if not isinstance(root, Applied) or root.dtype is not out.dtype:
            raise InternalCompilerError(f"the formula of {op.defn.name} makes {root!r}, not {out.type}", loc=op.loc)
        trees: dict[Applied, ast.expr] = {}
        self._apply(root, trees, operands, self.target(out, op.defn.name))

    def _apply(self, root: Applied, trees: dict[Applied, ast.expr], operands: list[Operand], target: Var) -> None:
        """Emits a statement per call below `root`, then ``target = ...``; small calls used once stay nested."""
        stack: list[tuple[Applied, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in trees:
                continue
            if not ready:
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(node.args) if isinstance(a, Applied))
                continue
            var = target
            if node is not root:
                var = Var(tensor(node.dtype, node.shape), None)
            large = var.nbytes >= self.code.reuse_bytes
            args = fm.argument_trees(node, trees, lambda at: self._source(operands[at]))
            shorter = None if node.fn in _CALLED or (large and node.is_ufunc) else fm.operator_tree(node.fn, args)
            tree = shorter or call(f"np.{node.fn}", *args)
            if node is not root and node.uses == 1 and not large:
                trees[node] = tree
                continue
            self.order(var, [o.source if isinstance(o, Stretched) else o for o in operands])
            takes_out = large and node.is_ufunc and isinstance(tree, ast.Call)
            step = self.run(assign(store(var), tree), tree if takes_out else None, elementwise=True)  # type: ignore[arg-type]
            step.safe = not fm.may_raise(node)
            trees[node] = load(var)

    @staticmethod
    def _source(operand: Operand) -> ast.expr:
        """What NumPy broadcasts by itself."""
        return load(operand.source if isinstance(operand, Stretched) else operand)  # type: ignore[arg-type]

    # ------------------------------------------------------------------------------------------- kernels
    def kernel(self, op: Op) -> None:
        """An op with a NumPy kernel."""
        name = op.defn.name
        if name == "broadcast_to" and self._broadcast(op):
            return
        operands = [self.env[x] for x in op.operands]
        trees = [self.expr(o) for o in operands]
        assigned = operands[_ASSIGNED[name]] if name in _ASSIGNED else None
        if isinstance(assigned, Splat):
            trees[_ASSIGNED[name]] = assigned.typed()
        self.support.dtypes(op)
        trees, narrow = widened(op, trees)
        if name in _FIRST_ALONE and not self.uses.get(op.results[1]):
            var = self.target(op.results[0], name)
            self.order(var, operands)
            self.run(assign(store(var), call(_FIRST_ALONE[name], trees[0], axis=number(op.attr("axis")))))
            return
        tree, inlined = kernel_expression(op, trees, self.support)
        if op.defn.collective and op.loc is not None and isinstance(tree, ast.Call):  # who waits says where
            tree.keywords.append(ast.keyword(arg="at", value=constant(op.loc.of_user().short)))
        if narrow is not None:
            if op.defn.multiple:
                tree = call(self.support.include(narrowed_results), tree, dtype_expr(narrow))
            else:
                tree = call(attribute(tree, "astype"), dtype_expr(narrow))
            inlined = False
        self._assign_results(op, tree, operands, inlined)

    def _assign_results(self, op: Op, tree: ast.expr, operands: list[Operand], inlined: bool) -> None:
        targets = [self.target(r, op.defn.name) for r in op.results]
        if op.defn.view is not None:
            source = operands[op.defn.operand_names.index(op.defn.view)]
            for var in targets:
                self.share(var, source)
                self.show(var, source)
                self.order(var, operands, view=True)
                if op.defn.name == "slice" and min(op.attr("steps"), default=1) > 0:
                    var.become_part()
                elif op.defn.name not in _KEEPS_ORDER:
                    var.lose_order()
            if op.defn.name == "broadcast_to":
                targets[0].set_foreign()
        else:
            for var in targets:
                if not _always_ordered(op, var):
                    self.order(var, operands)
        if len(targets) == 1 and not op.defn.multiple:
            called = result_call(tree) if inlined else None
            takes_out = op.defn.view is None and called is not None and _takes_out(called)
            large = targets[0].nbytes >= self.code.reuse_bytes
            step = self.run(assign(store(targets[0]), tree), tree if takes_out and large else None)  # type: ignore[arg-type]
            step.safe = inlined
            if op.defn.inplace is not None and large and isinstance(tree, ast.Call):
                self._overwrites(op, step, tree, operands)
        else:
            self.run(assign(tuple_expr((store(v) for v in targets), stored=True), tree))

    def _overwrites(self, op: Op, step: Step, tree: ast.Call, operands: list[Operand]) -> None:
        """Notes that the op can write into the operand `Primitive.inplace` names."""
        operand = operands[op.defn.operand_names.index(op.defn.inplace or "")]
        if not isinstance(operand, Var) or isinstance(tree.func, ast.Attribute):
            return

        def overwrite() -> None:
            name = overwriting_kernel(op, self.support)
            if name is not None:
                tree.func = load(name)

        step.call, step.into = tree, (operand, overwrite)

    def _broadcast(self, op: Op) -> bool:
        """`broadcast_to` as an absorbed value; False if the operand is neither a variable nor absorbed itself."""
        operand, type = self.env[op.operands[0]], op.results[0].type
        assert isinstance(type, TensorType)
        if isinstance(operand, Splat):
            self.materialised(op.results[0], Splat(operand.value, operand.dtype, type.shape))
        elif isinstance(operand, Stretched):
            self.materialised(op.results[0], Stretched(operand.source, type))
        elif isinstance(operand, Var) and operand.type is not None:
            self.materialised(op.results[0], Stretched(operand, type))
        else:
            return False
        return True

    # ------------------------------------------------------------------------------------------- containers
    def const(self, op: Op) -> None:
        value, type = op.attrs
        if isinstance(value, str):
            self.env[op.results[0]] = self.code.constant(value.removeprefix("@"), type)
        else:
            self.materialised(op.results[0], Splat(value, type.dtype, type.shape))

    def undef(self, op: Op) -> None:
        self.env[op.results[0]] = UNDEF

    def tuple_make(self, op: Op) -> None:
        self.materialised(op.results[0], Pack([self.env[x] for x in op.operands]))

    def tuple_get(self, op: Op) -> None:
        operand, index = self.env[op.operands[0]], op.attrs[0]
        if isinstance(operand, Pack):
            self.env[op.results[0]] = operand.elems[index]
            return
        if not isinstance(operand, Var):
            self.env[op.results[0]] = UNDEF
            return
        var = self.target(op.results[0])
        self.share(var, operand)
        self.run(assign(store(var), subscript(load(operand), constant(index))))

    def seq_len(self, op: Op) -> None:
        tree, type = self.tree(op.operands[0]), op.operands[0].type
        while isinstance(type, Seq) and isinstance(type.elem, TupleType) and type.elem.elems:
            tree, type = subscript(tree, constant(0)), seq(type.elem.elems[0])
        self.define(op.results[0], self.length(op.operands[0], tree))

    def seq_add(self, op: Op) -> None:
        x, y = [self.tree(v) for v in op.operands]
        elem = op.results[0].type.elem  # type: ignore[attr-defined]
        if isinstance(elem, TensorType) and not has_erased_sizes(elem):
            tree: ast.expr = ast.BinOp(left=x, op=ast.Add(), right=y)
        else:
            tree = call(self.support.include(add_sequences), x, y)
        self.define(op.results[0], tree)

    def same(self, op: Op) -> None:
        """A tensor as a sequence or back, or of which the type says another thing: the bytes are the same."""
        self.copy(self.target(op.results[0]), self.env[op.operands[0]])

    def bind_size(self, op: Op) -> None:
        """The variable of a symbol of data."""
        symbol = symbol_of(op.attr("size"))
        assert symbol is not None
        self.env[op.results[0]] = self.env[op.operands[0]]
        self.run(assign(store(size_variable(symbol)), call("int", self.tree(op.operands[0]))))

    def check_sizes(self, op: Op) -> None:
        tree, _ = kernel_expression(op, [], self.support)
        self.run(ast.Expr(value=tree))


#: How ops are lowered that are more than a formula or a kernel; `loops` and `calls` enter theirs.
LOWERINGS: dict[str, Callable[[Lowering, Op], None]] = {
    **SHARED,
    "const": Lowering.const, "undef": Lowering.undef, "tuple_make": Lowering.tuple_make,
    "tuple_get": Lowering.tuple_get, "seq_len": Lowering.seq_len, "seq_add": Lowering.seq_add,
    "to_seq": Lowering.same, "from_seq": Lowering.same, "with_sizes": Lowering.same, "bind_size": Lowering.bind_size,
    "check_sizes": Lowering.check_sizes,
}  # fmt: skip
