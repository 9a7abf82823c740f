"""The buffer plan: large results reuse the buffers of dead arrays, and large arrays are freed early.

Variables that may alias form sets (`Var.share`).  A call may write its result into the buffer of a dead variable
if no live variable is in its set, nor in the result's.  The result then joins the set, so sets grow while decisions are
made; therefore all decisions are checked again with the final sets, and those that do not hold are taken back.

The next version of a state is written over the state itself, at its last use, once nothing can raise any more: an
exception leaves all states as they were.  A large temporary for which there is no dead array gets a buffer that
outlives the call: see `scratch`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ...ir.sizes import Dim
from ...ir.types import Seq, TensorType
from .program import Branch, Exit, FunctionCode, Loop, Node, Step, nodes_of
from .scratch import SMALLEST
from .syntax import Var, load


def plan_buffers(
    function: FunctionCode, results: Iterable[Var | None], reuse_bytes: int, states: Mapping[Var, Var] | None = None
) -> list[Var]:
    """Adds `out=` and `del` to the statements of a function; returns the buffers that they need from outside.

    `states`: by the variable of a result, the argument that is the state whose next version it is.
    """
    if not any(_worth(v, reuse_bytes) for n in nodes_of(function.body) if isinstance(n, Step) for v in n.writes):
        return []
    live_out = {v for v in results if v is not None}
    Liveness().run(function.body, set(live_out))
    late = _after_exceptions(function.body) if states else set()
    first = _Walk(function.args, reuse_bytes, states or {}, late)
    first.run(function.body)
    second = _Walk(function.args, reuse_bytes, states or {}, late, first.buffers, {v.root() for v in live_out})
    second.run(function.body)
    steps = [n for n in nodes_of(function.body) if isinstance(n, Step) and n.donor is not None]
    for step in steps:
        assert step.donor is not None
        assert step.call is not None
        if step.into is not None:
            step.into[1]()
            continue
        step.call.keywords.append(ast.keyword(arg="out", value=load(step.donor)))
        step.reads.append(step.donor)
    Liveness().run(function.body, set(live_out))
    for step in steps:
        _merge_names(step)
    _Deleter(function, reuse_bytes).run(function.body, inside=False)
    return list(dict.fromkeys(step.donor for step in steps if step.donor in first.buffers))


def _worth(var: Var, reuse_bytes: int) -> bool:
    return var.nbytes >= reuse_bytes or isinstance(var.type, Seq)


def _after_exceptions(body: list[Node]) -> set[Step]:
    """The statements from which on nothing can raise."""
    late: set[Step] = set()
    for node in reversed(body):
        steps = [n for n in nodes_of([node]) if isinstance(n, Step)]
        if not all(step.safe for step in steps):
            break
        late.update(steps)
    return late


def _merge_names(step: Step) -> None:
    """``h = np.exp(t, out=t)`` becomes ``h = np.exp(h, out=h)`` where t ends: no second name keeps the array alive."""
    donor, (result,) = step.donor, step.writes
    assert donor is not None
    if donor.joined or result.joined or donor not in step.dies:
        return
    a, b = donor.namesake(), result.namesake()
    if a.joined or b.joined or (a.hint and a.hint != b.hint):
        return  # a name of the user's program goes on meaning what it means there
    donor.rename(result)


# ------------------------------------------------------------------------------------------------ liveness
class Liveness:
    """Liveness: one backward sweep that fills in `dies`, the last uses."""

    def __init__(self) -> None:
        self._summaries: dict[int, tuple[set[Var], set[Var]]] = {}
        self._loops: list[tuple[Loop, set[Var], set[Var]]] = []

    def run(self, body: list[Node], live: set[Var]) -> set[Var]:
        """`live` after the body becomes what is live before it (the same set, changed)."""
        for node in reversed(body):
            if isinstance(node, Step):
                node.dies = [v for v in dict.fromkeys((*node.writes, *node.reads)) if v not in live]
                live.difference_update(node.writes)
                live.update(node.reads)
            elif isinstance(node, Branch):
                befores = [self.run(arm, set(live)) for arm in node.arms]
                either = befores[0] | befores[1]
                either.update(node.reads)
                node.dies = (sorted_vars(either - befores[0]), sorted_vars(either - befores[1]))
                live.clear()
                live.update(either)
            elif isinstance(node, Exit):
                _, after, dies = self._loops[-1]
                live.update(node.reads)
                dies |= live - after
                live |= after
            elif isinstance(node, Loop):
                self._loop(node, live)
        return live

    def _loop(self, node: Loop, live: set[Var]) -> None:
        after = set(live)
        top = after | self.exposed(node.body)
        if not node.targets:
            top.update(node.reads)
        top.difference_update(node.targets)
        dies = top - after
        self._loops.append((node, after, dies))
        before = self.run(node.body, set(top))
        self._loops.pop()
        node.dies = sorted_vars(dies)
        live |= before
        live.update(node.reads)
        live.difference_update(node.targets)

    def exposed(self, body: list[Node]) -> set[Var]:
        """What a body reads before it assigns it."""
        return self._summary(body)[0]

    def _summary(self, body: list[Node]) -> tuple[set[Var], set[Var]]:
        """What a body reads before it assigns it, and what it assigns on every path."""
        known = self._summaries.get(id(body))
        if known is not None:
            return known
        exposed: set[Var] = set()
        assigned: set[Var] = set()
        for node in body:
            reads, writes = set(node.reads), set[Var]()
            if isinstance(node, Step):
                writes.update(node.writes)
            elif isinstance(node, Branch):
                (then, in_then), (other, in_other) = (self._summary(arm) for arm in node.arms)
                reads |= then | other
                writes = in_then & in_other
            elif isinstance(node, Loop):
                reads |= self.exposed(node.body).difference(node.targets)
            exposed |= reads - assigned
            assigned |= writes
        self._summaries[id(body)] = exposed, assigned
        return exposed, assigned


def sorted_vars(variables: Iterable[Var]) -> list[Var]:
    """In an order that does not depend on addresses."""
    return sorted(variables, key=lambda v: v.number)


# ------------------------------------------------------------------------------------------------ reuse
class _Walk:
    """A forward sweep with liveness: chooses donors, or takes back those that alias something live."""

    def __init__(
        self,
        args: list[Var],
        reuse_bytes: int,
        states: Mapping[Var, Var],
        late: set[Step],
        buffers: set[Var] | None = None,
        leaving: set[Var] | None = None,
    ) -> None:
        self.reuse_bytes, self.states, self.late = reuse_bytes, states, late
        #: The walk chooses donors if `buffers` is None; else it checks them, given the alias sets of what leaves.
        self.decide = buffers is None
        self.buffers: set[Var] = set() if buffers is None else buffers
        self.leaving: set[Var] = set() if leaving is None else leaving
        self.live: set[Var] = set()
        #: Live variables per alias set, by its root.
        self.count: dict[Var, int] = {}
        #: Dead variables per type, innermost block last.
        self.free: list[dict[TensorType, list[Var]]] = [{}]
        for arg in args:
            self._born(arg)

    def _born(self, var: Var) -> None:
        if var not in self.live:
            self.live.add(var)
            root = var.root()
            self.count[root] = self.count.get(root, 0) + 1

    def _kill(self, var: Var) -> None:
        if var not in self.live:
            return
        self.live.remove(var)
        self.count[var.root()] -= 1
        if self.decide and var.nbytes >= self.reuse_bytes and var.whole:
            assert isinstance(var.type, TensorType)
            self.free[-1].setdefault(var.type, []).append(var)

    def run(self, body: list[Node]) -> None:
        for node in body:
            if isinstance(node, Step):
                self._step(node)
            elif isinstance(node, Branch):
                live = self.live
                joined: set[Var] = set()
                for arm, dies in zip(node.arms, node.dies, strict=True):
                    self._restore(live)
                    self._nested(arm, dies)
                    joined |= self.live
                self._restore(joined)
            elif isinstance(node, Loop):
                for var in node.targets:
                    self._born(var)
                self._nested(node.body, ())
                for var in (*node.targets, *node.dies):
                    self._kill(var)

    def _restore(self, live: set[Var]) -> None:
        self.live = set(live)
        self.count = {}
        for var in self.live:
            root = var.root()
            self.count[root] = self.count.get(root, 0) + 1

    def _nested(self, body: list[Node], dies: Iterable[Var]) -> None:
        self.free.append({})
        for var in dies:
            self._kill(var)
        self.run(body)
        self.free.pop()

    def _step(self, step: Step) -> None:
        # Operands whose last use is this statement are dead once it has written its result.
        for var in step.dies:
            self._kill(var)
        for var in step.writes:
            self._forget(var)
        if step.call is not None and len(step.writes) == 1:
            if self.decide:
                step.donor = self._donor(step, step.writes[0])
                if step.donor is not None:
                    self._share(step.donor, step.writes[0])
            elif step.donor is not None and not self._fits(step, step.donor):
                step.donor = None
        for var in step.writes:
            if var not in step.dies:
                self._born(var)

    def _forget(self, var: Var) -> None:
        """The variable is reassigned, so its old array is no donor any more."""
        if var in self.live:
            self.live.remove(var)
            self.count[var.root()] -= 1

    def _share(self, a: Var, b: Var) -> None:
        x, y = a.root(), b.root()
        if x is not y:
            total = self.count.pop(x, 0) + self.count.pop(y, 0)
            a.share(b)
            self.count[a.root()] = total

    def _donor(self, step: Step, result: Var) -> Var | None:
        if not isinstance(result.type, TensorType) or not result.whole:
            return None
        if step.into is not None:
            operand = step.into[0]
            over = operand in step.dies or operand is result
            return operand if over and operand.whole and self._fits(step, operand) else None
        state = self.states.get(result)
        if state is not None and self._fits(step, state):
            return state
        if result in step.reads and self._fits(step, result):
            return result
        for scope in reversed(self.free):
            dead = scope.get(result.type, [])
            for i in range(len(dead) - 1, max(-1, len(dead) - 9), -1):
                if self._fits(step, dead[i]):
                    return dead.pop(i)
        if any(isinstance(d, Dim) for d in result.type.shape):
            return None  # how large a buffer must be is not known before
        buffer = Var(result.type, fallback="buffer", joined=True)
        if buffer.nbytes < SMALLEST or result.foreign or not self._fits(step, buffer):
            return None
        self.buffers.add(buffer)
        return buffer

    def _fits(self, step: Step, donor: Var) -> bool:
        """Whether no live variable may alias the donor, or what the result may alias."""
        mine, theirs = donor.root(), step.writes[0].root()
        states = mine.states | theirs.states
        if states and not (step in self.late and states <= {self.states.get(step.writes[0])}):
            return False
        if donor in self.buffers and mine in self.leaving:
            return False
        if donor in self.live or donor.foreign or self.count.get(mine, 0) or self.count.get(theirs, 0):
            return False
        if step.elementwise:
            return True
        reads = list(step.reads)
        if step.into is not None:
            reads.remove(donor)
        return all(v.root() not in (mine, theirs) for v in reads)


# ------------------------------------------------------------------------------------------------ del
class _Deleter:
    """Inserts `del` after the last use of a large array, where more arrays are made afterwards.

    A view keeps its base array alive: their names are deleted together, after the last use of any of them.  Arguments
    and the module's constants stay: no statement of the function makes them.
    """

    def __init__(self, function: FunctionCode, reuse_bytes: int) -> None:
        self.args, self.reuse_bytes = set(function.args), reuse_bytes
        self.alive: set[Var] = set()
        self.groups: dict[Var, list[Var]] = {}
        for node in nodes_of(function.body):
            if isinstance(node, Step):
                for var in node.writes:
                    self.groups.setdefault(_base_of(var), []).append(var)

    def run(self, body: list[Node], *, inside: bool) -> None:
        last = len(body) if inside else self._last_allocation(body)
        here = {v for node in body if isinstance(node, Step) for v in node.writes}
        waiting: dict[Var, list[Var]] = {}
        out: list[Node] = []
        for i, node in enumerate(body):
            out.append(node)
            if isinstance(node, Branch):
                for arm, dies in zip(node.arms, node.dies, strict=True):
                    before = set(self.alive)
                    start = self._statement(dies, (), set(), waiting) if arm else []
                    self.run(arm, inside=True)
                    arm[:0] = start if i <= last else []
                    self.alive = before
                self.alive.difference_update(*node.dies)
            elif isinstance(node, Loop):
                self.run(node.body, inside=True)
                out += self._statement(node.dies, (), here, waiting) if i < last else []
            elif isinstance(node, Step):
                self.alive.update(v for v in node.writes if v not in node.dies)
                out += self._statement(node.dies, node.writes, here, waiting) if i < last else []
        body[:] = out

    def _last_allocation(self, body: list[Node]) -> int:
        last = -1
        for i, node in enumerate(body):
            if not isinstance(node, Step) or any(_worth(v, self.reuse_bytes) for v in node.writes):
                last = i
        return last

    def _statement(
        self, dies: list[Var], writes: Iterable[Var], here: set[Var], waiting: dict[Var, list[Var]]
    ) -> list[Node]:
        self.alive.difference_update(dies)
        gone: dict[Var, Var] = {}
        reborn = {v.namesake(): v for v in writes}
        for var in dies:
            if reborn.get(var.namesake(), var) is not var:
                continue  # the name has gone over to the result
            shown = _base_of(var)
            group = self.groups.get(shown, [])
            if shown in self.args or shown not in group or not any(_worth(v, self.reuse_bytes) for v in group):
                continue
            if var in here and not var.joined and any(v in self.alive and v in here for v in group):
                waiting.setdefault(shown, []).append(var)
                continue
            for v in (*waiting.pop(shown, ()), var):
                gone[v.namesake()] = v
        if not gone:
            return []
        targets: list[ast.expr] = [ast.Name(id=v, ctx=ast.Del()) for v in gone.values()]
        return [Step(ast.Delete(targets=targets), None)]


def _base_of(var: Var) -> Var:
    """The variable that owns the bytes: the end of the chain of views."""
    while var.base is not None:
        var = var.base
    return var
