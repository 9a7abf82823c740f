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
#: A name and the value that it is bound to.
Capture = tuple[Any, Any]


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
        self._uses = _mentioned(function)
        self._subjects = 0

    def visit_Match(self, node: Any) -> list[Any]:
        subject, name = node.subject, getattr(node.subject, "id", None)
        captured = {n for case in node.cases for n in _mentioned(case.pattern, _CAPTURING)}
        guards = any(case.guard is not None for case in node.cases)
        if name is not None and name not in captured and not guards:
            return self._cases(node.cases, lambda at: _name(name, at)) or [gast.copy_location(gast.Pass(), node)]
        self._subjects += 1
        made = f"subject#{self._subjects}"
        first = _assign(_name(made, subject, gast.Store()), self.visit(subject))
        return [first, *self._cases(node.cases, lambda at: _name(made, at))]

    def _cases(self, cases: Sequence[Any], subject: Part) -> list[Any]:
        """What the cases do, if none of those before them has."""
        if not cases:
            return []
        case, later = cases[0], self._cases(cases[1:], subject)
        inside = _mentioned(case)
        case = self.generic_visit(case)
        fits, captures = _fits(case.pattern, subject), _captures(case.pattern, subject)
        body = [*[_assign(name, value) for name, value in captures], *case.body]
        if case.guard is not None:
            # Where the guard does not hold the names are bound all the same; who else may read them?
            elsewhere = [n.id for n, _ in captures if self._uses[n.id] > inside[n.id]]
            again = [_assign(n, v) for n, v in _captures(case.pattern, subject) if n.id in elsewhere]
            if again:
                later = [*_if(_fits(case.pattern, subject), again, []), *later]
            parts = {name.id: (lambda at, v=value: _moved(v, at)) for name, value in captures}
            fits = [*fits, _Substituted(parts).visit(case.guard)]
        return _if(fits, body, later)


_CAPTURING = ("name", "rest")


def _mentioned(node: Any, fields: Sequence[str] = ("id", *_CAPTURING)) -> Counter[str]:
    """How often each name is mentioned; by default captures of patterns are mentions, too."""
    return Counter(name for n in gast.walk(node) for field in fields if (name := getattr(n, field, None)))


class _Substituted(gast.NodeTransformer):
    """An expression with parts of the subject in the place of names."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self._parts = parts

    def visit_Name(self, node: Any) -> Any:
        found = self._parts.get(node.id)
        return node if found is None else found(node)

    def visit_NamedExpr(self, node: Any) -> Any:
        node.value = self.visit(node.value)
        return node

    def visit_Lambda(self, node: Any) -> Any:
        defaults, node.args.defaults = [self.visit(x) for x in node.args.defaults], []
        node.body = self._without(node.args).visit(node.body)
        node.args.defaults = defaults
        return node

    def _comprehension(self, node: Any) -> Any:
        inner = self._without(*[loop.target for loop in node.generators])
        first = self.visit(node.generators[0].iter)  # what it goes over is no part of its scope
        made = gast.NodeTransformer.generic_visit(inner, node)
        made.generators[0].iter = first
        return made

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _without(self, *own: Any) -> _Substituted:
        """The same for a scope that has names of its own."""
        hidden = {name for node in own for name in _mentioned(node, ("id",))}
        return _Substituted({name: value for name, value in self._parts.items() if name not in hidden})


# ------------------------------------------------------------------------------------------------ kinds of patterns
#: By the class of a pattern: the conditions under which it fits, in the order in which they are asked (none: always),
#: and the names that it binds where it does, with their values.
_FITS: dict[type, Callable[[Any, Part], list[Any]]] = {}
_CAPTURES: dict[type, Callable[[Any, Part], list[Capture]]] = {}


def _fits(pattern: Any, x: Part) -> list[Any]:
    return _FITS[type(pattern)](pattern, x)


def _captures(pattern: Any, x: Part) -> list[Capture]:
    return _CAPTURES[type(pattern)](pattern, x)


def _nothing(pattern: Any, x: Part) -> list[Any]:
    return []


def _fits_value(pattern: Any, x: Part) -> list[Any]:
    return [_compare(x(pattern), gast.Eq(), pattern.value, pattern)]


def _fits_singleton(pattern: Any, x: Part) -> list[Any]:
    return [_compare(x(pattern), gast.Is(), _constant(pattern.value, pattern), pattern)]


def _fits_as(pattern: Any, x: Part) -> list[Any]:
    return _fits(pattern.pattern, x) if pattern.pattern is not None else []


def _captures_as(pattern: Any, x: Part) -> list[Capture]:
    inner = _captures(pattern.pattern, x) if pattern.pattern is not None else []
    return [*inner, *_captures_star(pattern, x)]


def _captures_star(pattern: Any, x: Part) -> list[Capture]:
    return [(_name(pattern.name, pattern, gast.Store()), x(pattern))] if pattern.name else []


def _fits_or(pattern: Any, x: Part) -> list[Any]:
    ways = [_fits(p, x) for p in pattern.patterns]
    return [_joined(gast.Or(), [_all(w, pattern) for w in ways], pattern)] if all(ways) else []


def _captures_or(pattern: Any, x: Part) -> list[Capture]:
    """The captures of the first of several patterns that fits."""
    *before, last = pattern.patterns
    found = _captures(last, x)
    for p in reversed(before):
        mine = {name.id: value for name, value in _captures(p, x)}
        fits = _all(_fits(p, x), p)
        found = [(n, gast.copy_location(gast.IfExp(fits, mine[n.id], other), p)) for n, other in found]
    return found


def _fits_sequence(pattern: Any, x: Part) -> list[Any]:
    star = _star(pattern)
    count = len(pattern.patterns) - (star is not None)
    text = _call(isinstance, [x(pattern), _constant((str, bytes, bytearray), pattern)], pattern)
    found = [
        _call(isinstance, [x(pattern), _constant(Sequence, pattern)], pattern),
        gast.copy_location(gast.UnaryOp(gast.Not(), text), pattern),
    ]
    if star is None or count:
        op = gast.Eq() if star is None else gast.GtE()
        found.append(_compare(_call(len, [x(pattern)], pattern), op, _constant(count, pattern), pattern))
    return found + [condition for inner, at in _elements(pattern, x) for condition in _fits(inner, at)]


def _captures_sequence(pattern: Any, x: Part) -> list[Capture]:
    found = [pair for inner, at in _elements(pattern, x) for pair in _captures(inner, at)]
    star = _star(pattern)
    return found if star is None else [*found, *_captures(pattern.patterns[star], _starred(pattern, star, x))]


def _fits_mapping(pattern: Any, x: Part) -> list[Any]:
    found = [_call(isinstance, [x(pattern), _constant(Mapping, pattern)], pattern)]
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        found += [_compare(key, gast.In(), x(pattern), pattern), *_fits(inner, _at(x, key))]
    return found


def _captures_mapping(pattern: Any, x: Part) -> list[Capture]:
    pairs = zip(pattern.keys, pattern.patterns, strict=True)
    found = [pair for key, inner in pairs for pair in _captures(inner, _at(x, key))]
    rest = [(_name(pattern.rest, pattern, gast.Store()), _others(pattern, x))] if pattern.rest else []
    return [*found, *rest]


def _fits_class(pattern: Any, x: Part) -> list[Any]:
    found = [_call(is_instance, [x(pattern), pattern.cls], pattern)]
    count = len(pattern.patterns)
    for i, inner in enumerate(pattern.patterns):
        found.append(_call(has_part, _positional(x, pattern, i, count), pattern))
        found += _fits(inner, _part(x, pattern, i, count))
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        found.append(_call(hasattr, [x(pattern), _constant(name, pattern)], pattern))
        found += _fits(inner, _attribute(x, name))
    return found


def _captures_class(pattern: Any, x: Part) -> list[Capture]:
    count = len(pattern.patterns)
    parts = [(p, _part(x, pattern, i, count)) for i, p in enumerate(pattern.patterns)]
    parts += [(p, _attribute(x, name)) for name, p in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)]
    return [pair for inner, at in parts for pair in _captures(inner, at)]


for _class, _fit, _capture in (
    (gast.MatchValue, _fits_value, _nothing),
    (gast.MatchSingleton, _fits_singleton, _nothing),
    (gast.MatchAs, _fits_as, _captures_as),
    (gast.MatchStar, _nothing, _captures_star),
    (gast.MatchOr, _fits_or, _captures_or),
    (gast.MatchSequence, _fits_sequence, _captures_sequence),
    (gast.MatchMapping, _fits_mapping, _captures_mapping),
    (gast.MatchClass, _fits_class, _captures_class),
):
    _FITS[_class], _CAPTURES[_class] = _fit, _capture


# ------------------------------------------------------------------------------------------------ parts
def _star(pattern: Any) -> int | None:
    return next((i for i, p in enumerate(pattern.patterns) if p._fields == gast.MatchStar._fields), None)


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
    items = gast.copy_location(gast.Call(_attribute(x, "items")(pattern), [], []), pattern)
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
    """A call of an object that no name of the user's hides."""
    return gast.copy_location(gast.Call(_constant(fn, at), args, []), at)


def _compare(left: Any, op: Any, right: Any, at: Any) -> Any:
    return gast.copy_location(gast.Compare(left, [op], [right]), at)


def _joined(op: Any, values: list[Any], at: Any) -> Any:
    return values[0] if len(values) == 1 else gast.copy_location(gast.BoolOp(op, values), at)


def _all(conditions: list[Any], at: Any) -> Any:
    return _joined(gast.And(), conditions, at) if conditions else _constant(True, at)


def _if(conditions: list[Any], body: list[Any], orelse: list[Any]) -> list[Any]:
    """The statements for a case; the other ones are dropped where there are no conditions."""
    if not conditions:
        return body
    test = _all(conditions, conditions[0])
    return [gast.copy_location(gast.If(test, body, orelse), test)]
