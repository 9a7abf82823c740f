"""Makes of `match` statements the `if` statements that they are: later steps know of no patterns.

A case is ``if <the pattern fits>: <captures>; <body>`` with the later cases as its `else`.  The subject is evaluated
once, into the name ``subject#1`` unless it is a name already.  A guard is asked before the captures are bound, with the
parts of the subject in the place of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gast

#: Makes an expression that stands at the place of a node.
Part = Callable[[Any], Any]


def part(x: Any, cls: Any, number: int, count: int) -> Any:
    """What pattern `number` of the `count` patterns by position in ``cls(...)`` is about; compiled code has a rule."""
    raise NotImplementedError


def has_part(x: Any, cls: Any, number: int, count: int) -> bool:
    """Whether x has that; compiled code has a rule."""
    raise NotImplementedError


def is_instance(x: Any, cls: Any) -> bool:
    """Whether a class pattern may fit; compiled code has a rule."""
    raise NotImplementedError


def remove_patterns(function: Any) -> Any:
    """The node of a function, which is changed, without `match` statements; those of functions inside go, too."""
    return _Remover(function).visit(function)


class _Remover(gast.NodeTransformer):
    def __init__(self, function: Any) -> None:
        self._uses = _names_in(function)
        self._subjects = 0

    def visit_Match(self, node: Any) -> list[Any]:
        subject = node.subject
        captured = {name for case in node.cases for name in _captured(case.pattern)}
        guards = any(case.guard is not None for case in node.cases)
        if isinstance(subject, gast.Name) and subject.id not in captured and not guards:
            return self._cases(node.cases, lambda at: _name(subject.id, at)) or [gast.copy_location(gast.Pass(), node)]
        self._subjects += 1
        name = f"subject#{self._subjects}"
        first = _assign(_name(name, subject, gast.Store()), self.visit(subject))
        return [first, *self._cases(node.cases, lambda at: _name(name, at))]

    def _cases(self, cases: Sequence[Any], subject: Part) -> list[Any]:
        """What the cases do, if none of those before them has."""
        if not cases:
            return []
        case, later = cases[0], self._cases(cases[1:], subject)
        fits, captures = _fits(case.pattern, subject), _captures(case.pattern, subject)
        bound = [_assign(name, value) for name, value in captures]
        if case.guard is not None:
            # Where the guard does not hold the names are bound all the same; who else may read them?
            inside = _names_in(case)
            elsewhere = [a for a in bound if self._uses[a.targets[0].id] > inside[a.targets[0].id]]
            if elsewhere:
                again = [_assign(n, v) for n, v in _captures(case.pattern, subject) if _is_among(n, elsewhere)]
                again_fits = _fits(case.pattern, subject)
                later = [*([_if(again_fits, again, [])] if again_fits else again), *later]
            parts = {name.id: (lambda at, v=value: _moved(v, at)) for name, value in captures}
            fits = [*fits, _Substituted(parts).visit(self.visit(case.guard))]
        body = [*bound, *(s for stmt in case.body for s in _listed(self.visit(stmt)))]
        return [_if(fits, body, later)] if fits else body


def _listed(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _is_among(name: Any, assignments: Sequence[Any]) -> bool:
    return any(a.targets[0].id == name.id for a in assignments)


def _names_in(node: Any) -> Counter[str]:
    """How often each name is mentioned, captures of patterns included."""
    found: Counter[str] = Counter()
    for n in gast.walk(node):
        if isinstance(n, gast.Name):
            found[n.id] += 1
        elif isinstance(n, gast.MatchAs | gast.MatchStar) and n.name:
            found[n.name] += 1
        elif isinstance(n, gast.MatchMapping) and n.rest:
            found[n.rest] += 1
    return found


def _captured(pattern: Any) -> set[str]:
    """The names that a pattern binds."""
    return {*_names_in(pattern)} - {n.id for n in gast.walk(pattern) if isinstance(n, gast.Name)}


class _Substituted(gast.NodeTransformer):
    """An expression with parts of the subject in the place of names."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = parts

    def visit_Name(self, node: Any) -> Any:
        found = self._parts.get(node.id) if isinstance(node.ctx, gast.Load) else None
        return node if found is None else found(node)

    def _scope(self, node: Any) -> Any:
        """An expression with names of its own."""
        own = {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
        rest = {name: value for name, value in self._parts.items() if name not in own}
        if not isinstance(node, gast.Lambda):  # what a comprehension goes over is no part of its scope
            node.generators[0].iter = self.visit(node.generators[0].iter)
        return gast.NodeTransformer.generic_visit(_Substituted(rest), node)

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope


# ------------------------------------------------------------------------------------------------ whether it fits
def _fits(pattern: Any, x: Part) -> list[Any]:
    """The conditions under which a pattern fits, in the order in which they are asked; none: always."""
    match pattern:
        case gast.MatchValue():
            return [_compare(x(pattern), gast.Eq(), pattern.value, pattern)]
        case gast.MatchSingleton():
            return [_compare(x(pattern), gast.Is(), _constant(pattern.value, pattern), pattern)]
        case gast.MatchAs():
            return _fits(pattern.pattern, x) if pattern.pattern is not None else []
        case gast.MatchOr():
            ways = [_fits(p, x) for p in pattern.patterns]
            return [_joined(gast.Or(), [_all(w, pattern) for w in ways], pattern)] if all(ways) else []
        case gast.MatchSequence():
            return _fits_sequence(pattern, x)
        case gast.MatchMapping():
            found = [_call(isinstance, [x(pattern), _constant(Mapping, pattern)], pattern)]
            for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
                found.append(_compare(key, gast.In(), x(pattern), pattern))
                found += _fits(inner, _at(x, key))
            return found
        case gast.MatchClass():
            found = [_call(is_instance, [x(pattern), pattern.cls], pattern)]
            count = len(pattern.patterns)
            for i, inner in enumerate(pattern.patterns):
                found.append(_call(has_part, _positional(x, pattern, i, count), pattern))
                found += _fits(inner, _part(x, pattern, i, count))
            for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                found.append(_call(hasattr, [x(pattern), _constant(name, pattern)], pattern))
                found += _fits(inner, _attribute(x, name))
            return found
    return []


def _fits_sequence(pattern: Any, x: Part) -> list[Any]:
    star = _star(pattern)
    count = len(pattern.patterns) - (star is not None)
    text = _constant((str, bytes, bytearray), pattern)
    found = [
        _call(isinstance, [x(pattern), _constant(Sequence, pattern)], pattern),
        gast.copy_location(gast.UnaryOp(gast.Not(), _call(isinstance, [x(pattern), text], pattern)), pattern),
    ]
    if star is None or count:
        op = gast.Eq() if star is None else gast.GtE()
        found.append(_compare(_call(len, [x(pattern)], pattern), op, _constant(count, pattern), pattern))
    for inner, at in _elements(pattern, x):
        found += _fits(inner, at)
    return found


# ------------------------------------------------------------------------------------------------ what it captures
def _captures(pattern: Any, x: Part) -> list[tuple[Any, Any]]:
    """The names that a pattern binds, where it fits, and their values."""
    match pattern:
        case gast.MatchAs() | gast.MatchStar() if pattern.name is None:
            return []
        case gast.MatchStar():
            return [(_name(pattern.name, pattern, gast.Store()), x(pattern))]
        case gast.MatchAs():
            inner = _captures(pattern.pattern, x) if pattern.pattern is not None else []
            return [*inner, (_name(pattern.name, pattern, gast.Store()), x(pattern))]
        case gast.MatchOr():
            return _captures_of_one(pattern, x)
        case gast.MatchSequence():
            found = [pair for inner, at in _elements(pattern, x) for pair in _captures(inner, at)]
            star = _star(pattern)
            return found if star is None else [*found, *_captures(pattern.patterns[star], _starred(pattern, star, x))]
        case gast.MatchMapping():
            pairs = zip(pattern.keys, pattern.patterns, strict=True)
            found = [pair for key, inner in pairs for pair in _captures(inner, _at(x, key))]
            rest = pattern.rest and [(_name(pattern.rest, pattern, gast.Store()), _others(pattern, x))]
            return [*found, *(rest or ())]
        case gast.MatchClass():
            count = len(pattern.patterns)
            parts = [(p, _part(x, pattern, i, count)) for i, p in enumerate(pattern.patterns)]
            named = zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)
            parts += [(p, _attribute(x, name)) for name, p in named]
            return [pair for inner, at in parts for pair in _captures(inner, at)]
    return []


def _captures_of_one(pattern: Any, x: Part) -> list[tuple[Any, Any]]:
    """The captures of the first of several patterns that fits."""
    *before, last = pattern.patterns
    found = _captures(last, x)
    for p in reversed(before):
        mine = {name.id: value for name, value in _captures(p, x)}
        fits = _all(_fits(p, x), p)
        found = [(n, gast.copy_location(gast.IfExp(fits, mine[n.id], other), p)) for n, other in found]
    return found


# ------------------------------------------------------------------------------------------------ parts
def _star(pattern: Any) -> int | None:
    return next((i for i, p in enumerate(pattern.patterns) if isinstance(p, gast.MatchStar)), None)


def _elements(pattern: Any, x: Part) -> list[tuple[Any, Part]]:
    """The patterns of a sequence but for the one with a star, with what each is about."""
    star, n = _star(pattern), len(pattern.patterns)
    numbers = [i if star is None or i < star else i - n for i in range(n) if i != star]
    return [(pattern.patterns[i], _at(x, _constant(i, pattern.patterns[i]))) for i in numbers]


def _starred(pattern: Any, star: int, x: Part) -> Part:
    """The list of the elements that a pattern with a star is about."""
    behind = len(pattern.patterns) - star - 1

    def made(at: Any) -> Any:
        stop = _constant(-behind, at) if behind else None
        rows = gast.Slice(_constant(star, at), stop, None)
        return _call(list, [gast.copy_location(gast.Subscript(x(at), rows, gast.Load()), at)], at)

    return made


def _others(pattern: Any, x: Part) -> Any:
    """The dict of the items whose keys a mapping pattern does not name."""
    key, value = (lambda ctx: _name("key#", pattern, ctx)), (lambda ctx: _name("value#", pattern, ctx))
    items = _call(gast.copy_location(gast.Attribute(x(pattern), "items", gast.Load()), pattern), [], pattern)
    keys = gast.copy_location(gast.Tuple([*pattern.keys], gast.Load()), pattern)
    others = [_compare(key(gast.Load()), gast.NotIn(), keys, pattern)] if pattern.keys else []
    target = gast.copy_location(gast.Tuple([key(gast.Store()), value(gast.Store())], gast.Store()), pattern)
    loop = gast.comprehension(target, items, others, 0)
    return gast.copy_location(gast.DictComp(key(gast.Load()), value(gast.Load()), [loop]), pattern)


def _at(x: Part, key: Any) -> Part:
    return lambda at: gast.copy_location(gast.Subscript(x(at), key, gast.Load()), at)


def _attribute(x: Part, name: str) -> Part:
    return lambda at: gast.copy_location(gast.Attribute(x(at), name, gast.Load()), at)


def _part(x: Part, pattern: Any, i: int, count: int) -> Part:
    return lambda at: _call(part, _positional(x, pattern, i, count), at)


def _positional(x: Part, pattern: Any, i: int, count: int) -> list[Any]:
    return [x(pattern), pattern.cls, _constant(i, pattern), _constant(count, pattern)]


# ------------------------------------------------------------------------------------------------ nodes
def _constant(value: Any, at: Any) -> Any:
    return gast.copy_location(gast.Constant(value, None), at)


def _name(name: str, at: Any, ctx: Any = None) -> Any:
    return gast.copy_location(gast.Name(name, ctx or gast.Load(), None, None), at)


def _moved(value: Any, at: Any) -> Any:
    """An expression at another place."""
    for n in gast.walk(value):
        if hasattr(n, "lineno"):
            gast.copy_location(n, at)
    return value


def _assign(name: Any, value: Any) -> Any:
    return gast.copy_location(gast.Assign([name], value, None), name)


def _call(fn: Any, args: list[Any], at: Any) -> Any:
    """A call of an object that no name of the user's hides, or of what an expression gives."""
    callee = fn if isinstance(fn, gast.AST) else _constant(fn, at)
    return gast.copy_location(gast.Call(callee, args, []), at)


def _compare(left: Any, op: Any, right: Any, at: Any) -> Any:
    return gast.copy_location(gast.Compare(left, [op], [right]), at)


def _joined(op: Any, values: list[Any], at: Any) -> Any:
    return values[0] if len(values) == 1 else gast.copy_location(gast.BoolOp(op, values), at)


def _all(conditions: list[Any], at: Any) -> Any:
    return _joined(gast.And(), conditions, at) if conditions else _constant(True, at)


def _if(conditions: list[Any], body: list[Any], orelse: list[Any]) -> Any:
    test = _all(conditions, conditions[0])
    return gast.copy_location(gast.If(test, body, orelse), test)
