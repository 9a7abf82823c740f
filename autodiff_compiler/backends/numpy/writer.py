"""What writes a function as Python statements, in one of two styles.

The fast style is `lower.Lowering`: every value has a variable whose memory the buffer plan knows.  The readable one is
`inspection.derivative_source.lowering.Lowering`: short values stand where they are used, under the user's names.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...ir.core import Block, Function, Module, Op, Value
from ...ir.walk import uses
from ...source import Loc
from .kernels import Support
from .program import Branch, Node, Step
from .syntax import Var, attribute, call, none, number


class Writer(ABC):
    """Writes one function: `body` receives the statements, `loc` is the place that they come from."""

    #: How ops are written that are more than a formula or a kernel.
    table: Mapping[str, Callable[[Any, Op], None]]
    #: Ops that have a kernel and are written from their formula.
    formulas: Container[str] = ()

    def __init__(self, module: Module, function: Function, support: Support, undefined: set[Value]) -> None:
        self.module, self.function, self.support, self.undefined = module, function, support, undefined
        self.uses = uses(function)
        self.body: list[Node] = []
        self.loc: Loc | None = function.loc
        #: Callbacks for when a value exists: it is stored as a residual.
        self.pushes: dict[Value, list[Callable[[], None]]] = {}

    # ------------------------------------------------------------------------------------------- values
    @abstractmethod
    def tree(self, value: Value) -> ast.expr:
        """The value as an expression of its exact type."""

    @abstractmethod
    def define(self, value: Value, tree: ast.expr) -> None:
        """The value is this expression."""

    @abstractmethod
    def bind(self, value: Value, var: Var) -> None:
        """The value is what the variable holds."""

    @abstractmethod
    def joined(self, value: Value) -> Var:
        """A variable that several statements assign."""

    @abstractmethod
    def give(self, var: Var, value: Value) -> None:
        """``var = value``"""

    @abstractmethod
    def give_together(self, pairs: Sequence[tuple[Var, Value]]) -> None:
        """``a, b = x, y``"""

    def is_read(self, value: Value) -> bool:
        return bool(self.uses.get(value))

    @abstractmethod
    def prefer(self, value: Value, var: Var) -> None:
        """Lets a value that a variable gets be computed into it."""

    def length(self, sequence: Value, tree: ast.expr) -> ast.expr:
        """The length of a sequence; an undefined one is empty: its zero cotangent has a length."""
        size: ast.expr = call("len", tree)
        if sequence in self.undefined:
            test = ast.Compare(left=self.tree(sequence), ops=[ast.Is()], comparators=[none()])
            size = ast.IfExp(test=test, body=number(0), orelse=size)
        return call("np.int64", size)

    # ------------------------------------------------------------------------------------------- statements
    @contextmanager
    def into(self, body: list[Node]) -> Iterator[list[Node]]:
        """Statements go to `body` meanwhile."""
        outer, self.body = self.body, body
        try:
            yield body
        finally:
            self.body = outer

    def run(self, statement: ast.stmt) -> Step:
        step = Step(statement, self.loc)
        self.body.append(step)
        return step

    def branch(self, test: ast.expr, then: list[Node], other: list[Node]) -> None:
        self.body.append(Branch(test, (then, other), self.loc))

    # ------------------------------------------------------------------------------------------- ops
    def lower_block(self, block: Block) -> None:
        for op in block.ops:
            first = len(self.body)
            self.loc = op.loc or self.loc
            self.lower(op)
            if self.pushes:
                for value in op.results:
                    for push in self.pushes.pop(value, ()):
                        push()
            for node in self.body[first:]:
                node.ops = node.ops or (op,)

    def lower(self, op: Op) -> None:
        """The statements of an op, and what must be done before or behind it."""
        self.write(op)

    def write(self, op: Op) -> None:
        defn = op.defn
        special = self.table.get(defn.name)
        if special is not None:
            special(self, op)
        elif defn.name in self.formulas or (defn.scalar is not None and defn.numpy is None):
            self.formula(op)
        elif defn.numpy is not None:
            self.kernel(op)
        else:
            self.refuse(op)

    @abstractmethod
    def formula(self, op: Op) -> None:
        """An elementwise op, by its formula."""

    @abstractmethod
    def kernel(self, op: Op) -> None:
        """An op that has a NumPy kernel."""

    @abstractmethod
    def refuse(self, op: Op) -> None:
        """Raises the error for an op that cannot be written."""

    @abstractmethod
    def join(self, op: Op, test: ast.expr, results: list[Var], arms: Sequence[list[Node]]) -> None:
        """The branch of an `if` whose arms assign the results."""

    def printed(self, value: Value, way: str) -> ast.expr:
        """What `print` is given for a value that is printed that way; see `kernels.print_call`."""
        tree = self.tree(value)
        return call(attribute(tree, "item")) if way == "number" else tree

    @abstractmethod
    def fail(self, op: Op, operands: Sequence[Value]) -> None:
        """Raises the exception of a `raise` or an `assert` with these operands."""
