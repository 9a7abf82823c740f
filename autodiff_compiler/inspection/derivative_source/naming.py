"""Names of variables: the user's, shared by all values that the user calls so.

A compiled program has a new value for each assignment.  Here variables become one again where the values never live at
the same time: first those that are only copied (what a loop carries, what branches yield), then those that the user
called by one name.  What remains copied is a statement.
"""

from __future__ import annotations

import ast

from ...backends.numpy.program import Branch, Exit, Loop, Node, Step, Try, nodes_of, trees_of
from ...backends.numpy.syntax import Var


def name_variables(body: list[Node], arguments: list[Var], taken: set[str]) -> list[str]:
    """Gives all variables names, in place, drops copies that have become superfluous, returns those of `arguments`."""
    lives = _Lives(body)
    live = lives.before(body, set(), set())
    lives.defined(arguments, live)
    classes = _Classes(lives)
    for target, source in lives.copies:
        classes.join(target, source)
    names = classes.names([*arguments, *lives.order], taken)
    _rename(body, names)
    return [names[a] for a in arguments]


class _Lives:
    """Liveness, and the interference of variables: which are live where others are assigned."""

    def __init__(self, body: list[Node]) -> None:
        self.conflicts: dict[Var, set[Var]] = {}
        self.copies: list[tuple[Var, Var]] = []
        #: all variables that are assigned, in the order of the text
        self.order: list[Var] = []
        for node in nodes_of(body):
            if isinstance(node, Step):
                self.order += node.writes
                if node.copied is not None:
                    self.copies.append((node.writes[0], node.copied))
            elif isinstance(node, Loop):
                self.order += node.targets
        self._copied = {var for pair in self.copies for var in pair}

    def defined(self, targets: list[Var], live: set[Var], copied: Var | None = None) -> None:
        """Notes an assignment to the targets where these are live."""
        for t in targets:
            known = self.conflicts.setdefault(t, set())
            everything = t in self._copied
            for v in (*live, *targets):
                if v is not t and v is not copied and (everything or v.hint == t.hint or v in self._copied):
                    known.add(v)
                    self.conflicts.setdefault(v, set()).add(t)

    def before(self, body: list[Node], live: set[Var], after_loop: set[Var]) -> set[Var]:
        """The variables live before the statements, given those live after them and after the loop around them."""
        live = set(live)
        for s in reversed(body):
            if isinstance(s, Step):
                self.defined(s.writes, live, s.copied)
                live.difference_update(s.writes)
                live.update(s.reads)
            elif isinstance(s, Branch):
                then, other = (self.before(arm, live, after_loop) for arm in s.arms)
                live = then.union(other, s.reads)
            elif isinstance(s, Try):
                leaving = self.before(s.leaving, set(), set())
                live = self.before(s.body, live | leaving, after_loop) | leaving
            elif isinstance(s, Loop):
                live = self._before_loop(s, live)
            elif isinstance(s, Exit):
                live |= after_loop.union(s.reads)
        return live

    def _before_loop(self, loop: Loop, after: set[Var]) -> set[Var]:
        head = set(loop.reads)
        around = after | (head if not loop.targets else set())
        while True:
            inside = self.before(loop.body, around, after)
            self.defined(loop.targets, inside)
            more = around | (inside - set(loop.targets))
            if more == around:
                return around | head
            around = more


class _Classes:
    """Coalesced variables: union-find."""

    def __init__(self, lives: _Lives) -> None:
        self._conflicts = lives.conflicts
        self._of: dict[Var, Var] = {}
        self._members: dict[Var, list[Var]] = {}

    def _root(self, var: Var) -> Var:
        return self._of.get(var, var)

    def _all(self, root: Var) -> list[Var]:
        return self._members.get(root, [root])

    def _hint(self, root: Var) -> Var:
        """The member that names the class."""
        return next((v for v in self._all(root) if v.fixed), None) or next((v for v in self._all(root) if v.hint), root)

    def _apart(self, a: Var, b: Var) -> bool:
        """Whether members of the two interfere."""
        few, many = sorted((self._all(a), self._all(b)), key=len)
        return any(not self._conflicts.get(v, set()).isdisjoint(many) for v in few)

    def join(self, target: Var, source: Var) -> None:
        a, b = self._root(target), self._root(source)
        hints = {v.hint for v in (self._hint(a), self._hint(b)) if v.hint}
        if a is b or len(hints) > 1 or self._apart(a, b):
            return
        members = [*self._all(a), *self._all(b)]
        self._members[a] = members
        for v in members:
            self._of[v] = a

    def names(self, order: list[Var], taken: set[str]) -> dict[Var, str]:
        """Each variable's name; `taken` are not to be used."""
        named: dict[str, list[Var]] = {}
        found: dict[Var, str] = {}
        for var in order:
            root = self._root(var)
            if root in found:
                continue
            by = self._hint(root)
            base = by.hint or by.fallback
            name, k = base, 0
            while (name in taken and not by.fixed) or not self._free(root, name, named, by):
                k += 1
                name = f"{base}_{k}"
            named.setdefault(name, []).append(root)
            found[root] = name
        return {v: name for root, name in found.items() for v in self._all(root)}

    def _free(self, root: Var, name: str, named: dict[str, list[Var]], by: Var) -> bool:
        others = named.get(name)
        if not others or name == "_":
            return True
        if by.hint is None or by.fixed:
            return False
        return not any(self._hint(o).hint != by.hint or self._apart(root, o) for o in others)


def _rename(body: list[Node], names: dict[Var, str]) -> None:
    for tree in trees_of(body):
        for name in ast.walk(tree):
            if isinstance(name, ast.Name) and isinstance(name.id, Var):  # a part may stand in two places of one tree
                name.id = names[name.id]
    for var in names:
        var.name = names[var]
    _drop_copies(body)


def _drop_copies(body: list[Node]) -> None:
    """Without what copies a variable to itself."""
    body[:] = [s for s in body if not isinstance(s, Step) or s.copied is None or s.copied.name != s.writes[0].name]
    for s in body:
        if isinstance(s, Branch):
            for arm in s.arms:
                _drop_copies(arm)
        elif isinstance(s, Loop | Try):
            _drop_copies(s.body)
