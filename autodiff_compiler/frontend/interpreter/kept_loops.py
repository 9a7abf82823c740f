"""What loops that run at run time share: attempts to compile one, and what becomes of names and values after it."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ...errors import CompileError, LoopError
from ...ir.build import Builder
from ...ir.primitive import trace
from ...ir.types import tensor
from ..variables.interpreter import Diverged, Region
from ..variables.iteration import Iteration
from ..variables.values import describe
from .carries import Loop
from .context import StatementContext

COUNT = tensor(int64, ())


class Restart(Exception):
    """A loop run trip by trip must be compiled as a dynamic one: its condition is `dynamic`, or holds for too long."""

    def __init__(self, *, dynamic: bool, condition: Any = None) -> None:
        super().__init__()
        self.dynamic, self.condition = dynamic, condition


def refuse_changes(loop: Loop, iteration: Iteration) -> None:
    """A kept loop goes over the elements that were there at its beginning, so they must stay."""
    changed = {id(cell.obj) for cell in loop.cells}
    for source in iteration.sources():
        if id(source) in changed:
            raise LoopError(
                f"it changes the {describe(source)} it goes over",
                code="AC1502",
                loc=loop.loc,
                hint="go over a copy of it",
            )


def leave(loop: Loop, body: Any, results: Any) -> None:
    """Gives what a loop has carried its names and values after it."""
    for value, name in zip(results, body.names, strict=False):
        if value.name is None:
            value.name = name
    loop.leave(body, results)


class Attempt:
    """Compiles into a block of its own, which joins the surrounding one only if all went well."""

    def __init__(self, ctx: StatementContext) -> None:
        self.ctx = ctx
        self.kept = False
        self.exception: BaseException | None = None

    @property
    def error(self) -> CompileError | None:
        """Why the attempt failed, as an error of the compiler; None if it was only given up."""
        if self.exception is None or isinstance(self.exception, CompileError | Restart):
            return self.exception if isinstance(self.exception, CompileError) else None
        return LoopError(f"{type(self.exception).__name__}: {self.exception}", loc=self.ctx.here)

    def __enter__(self) -> Attempt:
        self.outer: Builder = trace.builder
        self.env = dict(self.ctx.frame.env)
        self._warnings, self._decisions = len(self.ctx.report.warnings), len(self.ctx.report.reasons.decisions)
        self._snapshots = self.ctx.effects.snapshots.state()
        self.builder = self.outer.nested()
        self.builder.__enter__()
        self._region = self.ctx.effects.region()
        self.region: Region = self._region.__enter__()
        return self

    def keep(self) -> None:
        """Everything went well."""
        self.kept = True

    def __exit__(self, kind: Any, error: Any, tb: Any) -> bool:
        self._region.__exit__(None, None, None)
        self.builder.__exit__(None, None, None)
        if self.kept or kind is Diverged:
            self.kept = True
            self._join()
            return False
        self.ctx.effects.restore(self.region)
        self.ctx.effects.snapshots.restore(self._snapshots)
        del self.ctx.report.warnings[self._warnings :], self.ctx.report.reasons.decisions[self._decisions :]
        self.ctx.frame.env.clear()
        self.ctx.frame.env.update(self.env)
        self.exception = error
        return isinstance(error, Exception) and not isinstance(error, RecursionError)

    def _join(self) -> None:
        for op in self.builder.block.ops:
            op.parent = self.outer.block
        self.outer.block.ops += self.builder.block.ops
        self.outer.numbers.update(self.builder.numbers)
        self.outer.bound.update(self.builder.bound)
        for obj, before in self.region.saved.values():  # the surrounding regions learn of the changes
            now = obj.content()
            obj.set_content(before)
            self.ctx.effects.touch(obj)
            obj.set_content(now)
