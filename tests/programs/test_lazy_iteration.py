"""Elements are computed when they are asked for: generator expressions, `any`, `all`, `in`, and what stops early.

Python's eager run says what must come out: result or exception, printed text, and the state of the random numbers.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import operator
from collections.abc import Iterator
from functools import reduce

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import CompileError
from autodiff_compiler.runtime.random import get_rng_state, set_rng_state
from tests.programs.compare import define


class Loud:
    """An object that tells when it is compared or its truth is asked for."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        print("eq", self.number)
        return self.number == other

    def __bool__(self):
        print("bool", self.number)
        return self.number > 1.5

    __hash__ = object.__hash__


@ms.jit_class
class Box:
    def __init__(self, v):
        self.v = v

    def __contains__(self, item):
        print("asked")
        return item == self.v


class Shelf:
    """An object that makes its items when they are asked for."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return (told(v) for v in self.items)


class Broken:
    def __iter__(self):
        return [1, 2]


def told(x):
    print("told", x)
    return x


pytestmark = pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.BranchRaisesWarning")

NAMES = {
    "ops": ops,
    "Box": Box,
    "math": math,
    "itertools": itertools,
    "operator": operator,
    "reduce": reduce,
    "Iterator": Iterator,
    "told": told,
    "shelf": Shelf((1, 2, 3)),
    "broken": Broken(),
    "one": Loud(1.0),
    "two": Loud(2.0),
    "three": Loud(3.0),
}


def outcome(fn, x):
    set_rng_state((7, 7, {}))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result = repr(fn(x.copy()))
        except CompileError:
            raise
        except Exception as error:
            result = type(error), str(error)
    return result, out.getvalue(), get_rng_state()


def program(body):
    return define("def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines()), **NAMES)


def assert_same(body):
    fn, x = program(body), Tensor(np.array([1.0, 2.0, 3.0]))
    eager, compiled = outcome(fn, x), ms.jit(fn)
    assert outcome(compiled, x) == eager
    assert outcome(compiled, x) == eager


GENERATORS = {
    "not before it is asked":
        "g = (told(v) * 2 for v in x)\nprint('made')\na = next(g)\nprint('then')\nreturn a, next(g)",
    "zip": "return [a + b for a, b in zip((told(v) for v in x), (told(v * 10) for v in x))]",
    "zip ends": "g = (told(v) for v in x)\nr = list(zip(range(2), g))\nreturn r, list(g)",
    "enumerate": "for i, y in enumerate(told(v) for v in x):\n    print('body', i)\n    if i == 1: break\nreturn y",
    "break at run time":
        "for i, y in enumerate(told(v) for v in x):\n    print('body', i)\n    if y > 1.5: break\nreturn y",
    "break over map": "for y in map(told, x):\n    if y > 1.5: break\nreturn y",
    "return at run time": "for v in (told(u) for u in x if u.ndim == 0):\n    if v > 1.5: return v * 2\nreturn x[0]",
    "break in a kept loop": """\
s = 0.0
for v in (told(i) * x[0] for i in range(40)):
    if v > 3.5: break
    s = s + v
else:
    s = s - 100
return s""",
    "kept loop": "y = 0.0\nfor v in (told(i) * x for i in range(20)): y = y + v\nreturn y",
    "kept loop and what it changes": """\
k, s = 1.0, 0.0
for v in (i * k for i in range(20)):
    s = s + v * x
    k = k * 1.1
return s""",
    "kept loop leaves nothing": "g = (i * x[0] for i in range(40))\ns = 0.0\nfor v in g: s = s + v\nreturn s, list(g)",
    "rest after a break": "g = (told(v) for v in (1, 2, 3, 4))\nfor v in g:\n    if v == 2: break\nreturn list(g)",
    "nested clauses": """\
g = ((a, b) for a in told(range(2)) for b in (told(v) for v in x) if a or True)
out = []
for a, b in g:
    out.append(a * b)
    if len(out) == 4: break
print('rest', len(list(g)))
return out""",
    "one over another": "g = (told(v) for v in x)\nh = (w + 1 for w in g)\na = next(h)\nreturn a, list(g), list(h)",
    "late names": "g = (v * k for v in x)\nk = 3\nreturn sum(g)",
    "first iterable at once":
        "xs = [x[0], x[1]]\ng = (told(v) for v in told(xs))\nxs = [x[2]]\nprint('made')\nreturn list(g)",
    "first iterable is none": "g = (v for v in 3)\nprint('made')\nreturn list(g)",
    "second iterable late": "g = (v * w for v in x for w in ws)\nws = [1, 2]\nreturn len(list(g)), sum(g, 1)",
    "list grows": "xs = [x, x + 1]\ng = (a.sum() for a in xs)\nxs.append(x + 2)\nreturn list(g)",
    "later write": "t = x * 1\ng = (v * 2 for v in t)\na = next(g)\nt[1] = 50.0\nreturn a, list(g)",
    "values of a dict": "d = {'a': x, 'b': x + 1}\ng = (v.sum() for v in d.values())\nd['b'] = x * 5\nreturn list(g)",
    "sum of one object": """\
t = x * 1
def following():
    t[0] = t[0] * 2
    return t
return sum(following() for i in range(3))""",
    "min and max": "return max(told(v) for v in x), min((told(v) for v in x), default=3), max(told(v) for v in (3, 1))",
    "reduce": "return reduce(lambda a, b: told(a * b), (told(v) for v in x), 1.0)",
    "sorted": "return sorted((told(v) for v in (3, 1, 2)), key=lambda v: told(-v))",
    "containers":
        "return dict((k, told(v)) for k, v in zip('abc', x)), tuple(told(v) for v in x), [*(told(v) for v in x)]",
    "arguments": "def g(*a): return sum(a)\nreturn g(*(told(v) for v in x))",
    "unpacked": "a, b, *c = (told(v) for v in x)\nreturn a, b, c",
    "unpacked too short": "a, b = (told(v) for v in (1, 2, 3, 4))\nreturn a",
    "joined": "return ','.join(str(told(i)) for i in (1, 2)), ','.join(map(str, (1, 2)))",
    "extend": "s = []\ns.extend(told(v) + len(s) for v in x)\nt = [1]\nt += (len(t) for v in x)\nreturn s, t",
    "update": "d = {'a': 0}\nd.update((k, len(d)) for k in 'bcd')\nreturn d",
    "filter": "return list(filter(None, (told(v) for v in (0, 1, 2)))), list(map(told, (told(-v) for v in (1, 2))))",
    "passed on": """\
def take(g): return next(g) + next(g)
def make(k): return (told(v) * k for v in x)
g = make(3)
return take(g), list(g)""",
    "several": "gs = [(v * k for v in x) for k in (1, 2)]\nreturn [next(g) for g in gs], [list(g) for g in gs]",
    "both paths": "g = (told(v) for v in x)\nif x[0] > 0: a = next(g)\nelse: a = next(g) * 2\nreturn a, next(g)",
    "taken in a static loop":
        "g = (i for i in range(99))\nt = x\nfor i in range(30): t = t + next(g)\nreturn t, next(g)",
    "closures see the last": "fs = list((lambda: i * x) for i in range(3))\nreturn fs[0](), fs[2]()",
    "stop inside": "return list(next(iter(())) for v in x)",
    "function that stops": "it = iter((1, 2))\nreturn list(map(lambda v: next(it), x)), sum(x)",
    "asked by itself": "g = (next(g) for v in x)\nreturn next(g)",
    "default": "return next((v for v in (1, 2, 3) if v > 1)), next((v for v in () if v), None), next(v for v in ())",
    "many": "return len(list(enumerate(y for a in range(40) for y in range(40))))",
    "draws":
        "a = zip((ops.rand(()) for v in x), (ops.randn(()) for v in x))\nb = ops.rand(2)\nreturn next(a), b, list(a)",
    "raises": "for y in (told(1 // (2 - v)) for v in (1, 2, 3)):\n    print(y)\nreturn y",
    "never reached": "for y in (told(1 // (3 - v)) for v in (1, 2, 3)):\n    if x[1] * y > 1.5: break\nreturn y",
    "walrus": "s = 0.0\nfor v in (w for i in range(20) if (w := i * 2) >= 0): s = s + v * x\nreturn s, w",
    "kinds": "g = (v for v in x)\nreturn isinstance(g, Iterator), isinstance(zip(x), zip), iter(g) is g",
    "chain": """\
c = itertools.chain((told(v) for v in x), [x[0] * 5])
print('made')
a, k = next(c), 0.0
for v in c:
    k = k + v
    if k > 4: break
return a, k""",
    "islice": "g = (told(v) for v in x)\na = list(itertools.islice(g, 2))\nprint('then')\nreturn a, list(g)",
    "other itertools": """\
g = itertools.chain.from_iterable((told(v), v + 1) for v in x)
return next(g), list(itertools.pairwise(told(v) for v in x)), list(itertools.product((told(v) for v in x), '1'))""",
    "taken whole":
        "return math.prod(told(v) for v in (1, 2, 3)), math.fsum(told(v) for v in (1.0, 2)), frozenset(v for v in '')",
}  # fmt: skip


@pytest.mark.parametrize("body", GENERATORS.values(), ids=GENERATORS)
def test_generators_run_when_they_are_asked(body):
    assert_same(body)


SEARCHES = {
    "any": "return any(told(v) > 1.5 for v in x), any(told(v) > 9 for v in x)",
    "all": "return all(told(v) < 1.5 for v in x), all(told(v) < 9 for v in x)",
    "static items": "return any(told(v) for v in (0, 2, 3)), all(told(v) for v in (1, 0, 3)), any(()), all(())",
    "static after run-time":
        "return any((x[0] > 5, True, 1 // 1)), all([x[0] > 0, 0, x[1]]), all((x[0] > 0, x[1] < 9))",
    "exception not reached": "return any(1 / v for v in (1, 0)), all(v - 1 for v in (1, 0, 'a'))",
    "exception reached at run time": "return any(told(1 // int(v - 2)) > 5 for v in x)",
    "exception not reached at run time": "return any(int(v) == 1 or 1 // int(v - 3) > 0 for v in x)",
    "witness": "if any((w := v) > 1.5 for v in x): return w\nreturn x[0]",
    "draws": "r = any(ops.rand(()) * 0 + told(v) > 1.5 for v in x)\nreturn r, ops.rand(2)",
    "objects":
        "return any([one, two, three]), all((two, one, three)), x[1] in [one, two, three], x[0] not in (two, one)",
    "any of map": "return any(map(told, (x[0] > 2, x[1] > 1, x[2] > 1)))",
    "in a generator": "return 2.0 in (told(v) for v in x), 7 not in (told(v) for v in (1, 2))",
    "rest": "g = (told(v) for v in (1, 2, 3, 4))\nreturn 2 in g, list(g), any(g)",
    "identity":
        "n = x[0] * float('nan')\nreturn n in [n], x in [x], n in [n + 1], x in (x, 1), (x[0] / 0 - x[0] / 0) in [n]",
    "in numbers":
        "return x[0] in {'a': 1}.values(), x[1] in [1.0, 2.0], 3 in (x[0], x[2]), 2 not in x, x[0] in range(1, 5)",
    "in an object": "b = Box(x[0])\nreturn x[0] in b, x[1] not in b, b in [b], b not in [1, b]",
    "in what is none": "return 3 in 4",
    "in a run-time number": "return 3 in int(x[0])",
    "in text": "return x[0] in 'abc'",
    "condition": "if all(v > 0 for v in x) and not any(v > 10 for v in x): return x * 2\nreturn x",
    "many":
        "return any(v > 2.5 for i in range(100) for v in (x * 1)), any([v > 7 for i in range(300) for v in (x[0],)])",
}  # fmt: skip


@pytest.mark.parametrize("body", SEARCHES.values(), ids=SEARCHES)
def test_searches_stop_at_the_first(body):
    assert_same(body)


OTHERS = {
    "values of a dict in a loop": """\
d, out = {'a': x, 'b': x + 1}, []
for k, v in d.items():
    d['b'] = x * 5
    out.append(v)
return out""",
    "list changed before its loop": """\
xs = [x] * 12
z = enumerate(xs)
xs[3] = x * 100
xs.append(x)
s = 0.0
for i, v in z: s = s + v * i
return s""",
    "objects in a kept loop": """\
boxes = [Box(x * i) for i in range(12)]
y = x
for b in boxes:
    b.v = b.v + 1
    y = y + b.v
return y, [b.v for b in boxes]""",
    "object changed by another name": """\
boxes = [Box(x * i) for i in range(12)]
y, last = x, boxes[11]
for b in boxes:
    last.v = last.v + 1
    y = y + b.v
return y, [b.v for b in boxes]""",
    "sets in a kept loop": "sets = [{1} for i in range(12)]\nfor s in sets: s.add(2)\nreturn x, [len(s) for s in sets]",
    "objects with iterators": "for v in shelf:\n    x = x * v\n    if x[0] > 1: break\nreturn x, list(zip(shelf, x))",
    "search in an object": "return any(v * x[0] > 1.5 for v in shelf), any(shelf), 2 in shelf, 9 in shelf, max(shelf)",
    "unpacked object": "a, b, c = shelf\nreturn [v + a for v in shelf], [*shelf], a\n",
    "unpacked object too long": "a, b = shelf\nreturn a",
    "object that gives no iterator": "return list(broken)",
    "start of enumerate": "return list(enumerate('ab', start=int(x[1]))), list(enumerate('ab', x[1].astype('int32')))",
    "start that is no integer": "return list(enumerate('ab', x[0]))",
    "range of a float": "return list(range(x[0]))",
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_what_is_iterated_over_may_change(body):
    assert_same(body)


# What cannot be followed: the code, and words of the message.
REFUSED = {
    "taken on one path": ("g = (v for v in x)\nif x[0] > 0: a = next(g)\nelse: a = x[0]\nreturn a, next(g)",
        "AC1302", "depends on data"),
    "taken in a while": ("g, i = (v for v in x), 0\nwhile x[0] + i < 3:\n    y, i = next(g), i + 1\nreturn i",
        "AC1406", "taken from an iterator"),
    "rest after any": ("g = (v > 1 for v in x)\na = any(g)\nreturn a, list(g)", "AC1302", "depends on data"),
    "rest after a break": ("g = (v for v in x)\nfor v in g:\n    if v > 1: break\nreturn list(g)",
        "AC1302", "depends on data"),
    "condition": ("return [v * 2 for v in x], sum(v for v in x if v > 1)", "AC1303", "mask"),
    "chain on two paths": (
        "c = itertools.chain((v for v in x), x)\nif x[0] > 0: a = next(c)\nelse: a = next(c) * 2\nreturn a",
        "AC1302", "one path only"),
    "returned": ("return (v for v in x)", "AC1106", "list comprehension"),
    "tee": ("return itertools.tee(v for v in x)", "AC1807", "list"),
    "strict": ("return list(zip([1], [2], strict=x[0] > 0))", "AC1302", "`strict`"),
    "reverse": ("return sorted([1, 2], reverse=x[0] > 0)", "AC1302", "`reverse`"),
    "name": ("return getattr(x, x[0])", "AC1302", "name of an attribute"),
    "index of": ("return [1, 2].index(x[0])", "AC1302", "comparison"),
    "flush": ("print('a', flush=x[0])", "AC1302", "truth value"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code", "word"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_refused(body, code, word):
    with pytest.raises(CompileError) as caught:
        ms.jit(program(body))(Tensor(np.array([1.0, 2.0, 3.0])))
    assert caught.value.code == code
    assert word in str(caught.value)
    assert caught.value.spans


def test_a_truth_that_only_run_time_knows_is_asked_of_no_function():
    """`full_matrices` of a Tensor would decide which shapes `svd` returns."""
    fn = program("return ops.svd(x.reshape(1, 2), full_matrices=x[0])")
    with pytest.raises(CompileError, match="full_matrices"):
        ms.jit(fn)(Tensor([1.0, 2.0]))


def test_a_loop_over_a_generator_is_kept():
    fn = program("s = 0\nfor v in (i * x for i in range(200)): s = s + v\nreturn s")
    compiled = ms.jit(fn)
    np.testing.assert_array_equal(compiled(Tensor([1.0, 2.0])).asnumpy(), [19900.0, 39800.0])
    assert compiled.lower(Tensor([1.0, 2.0])).ir("front").count("scan") == 1


def test_derivatives_of_searches_and_generators():
    """With respect to each element of x = [1, 2, 3]: the elements summed up to the first greater than 1.5, and 2x."""
    first = program("s = 0.0\nfor v in (u * u for u in x):\n    s = s + v\n    if v > 1.5: break\nreturn s")
    found = ms.grad(ms.jit(first))(Tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found.asnumpy(), [2.0, 4.0, 0.0])
    chosen = program("if any((w := v * v) > 1.5 for v in x): return w\nreturn x[0]")
    np.testing.assert_allclose(ms.grad(ms.jit(chosen))(Tensor([1.0, 2.0, 3.0])).asnumpy(), [0.0, 4.0, 0.0])


ITERATORS = {
    "range": "iter(range(20))",
    "run-time range": "iter(range(int(x[0]) + 14))",
    "generator": "(i for i in range(20))",
    "enumerate": "enumerate(range(20))",
    "zip": "zip(range(20), range(20))",
    "map": "map(lambda i: i + 1, range(20))",
    "list": "iter([float(i) for i in range(20)])",
    "rows": "iter(ops.stack([x] * 20))",
    "reversed": "reversed(range(20))",
}

#: Programs that take a number of elements from `it` that depends on data.
TAKING = {
    "break": "for i in it:\n    if y > 5:\n        break\n    y = y + 1",
    "branch": "if y > 5:\n    next(it)",
    "next in a loop": "for i in range(20):\n    if y > 5:\n        break\n    next(it)\n    y = y + 1",
    "zip": "for a, b in zip(it, range(30)):\n    if y > 5:\n        break\n    y = y + 1",
    "return": (
        "def g(y):\n    for i in it:\n        if y > 5:\n            return y\n        y = y + 1\n    return y * 2\n"
        "y = g(y)"
    ),
}

#: Programs that ask for the rest.
RESTS = {
    "for": "for i in it:\n    y = y + 100",
    "zip": "for a, b in zip(range(30), it):\n    y = y + 100",
    "enumerate": "for a, b in enumerate(it):\n    y = y + 100",
    "sum": "y = y + sum([1 for _ in it])",
    "stoppable": "for i in it:\n    if y > 500:\n        break\n    y = y + 100",
}


def taking(iterator, first, rest):
    body = f"it = {iterator}\ny = x.sum()\n{first}\n{rest}\nreturn y"
    return define("def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines()), ops=ops)


@pytest.mark.some(3)
@pytest.mark.parametrize("iterator", ITERATORS)
@pytest.mark.parametrize("first", TAKING)
def test_what_is_left_of_an_iterator_is_followed_or_refused(iterator, first):
    """Never a loop that starts over: the eager result, or AC1302 where the rest is asked for."""
    for rest in RESTS.values():
        f = taking(ITERATORS[iterator], TAKING[first], rest)
        for x in ([1.0, 2.0], [3.0, 4.0]):
            try:
                found = ms.jit(f)(Tensor(x)).item()
            except CompileError as error:
                found = error.code
            assert found in ("AC1302", f(Tensor(x)).item())


def test_a_used_iterator_in_a_kept_loop_is_refused():
    f = taking(ITERATORS["range"], TAKING["break"], RESTS["for"])
    assert f(Tensor([1.0, 2.0])).item() == 6.0 + 16 * 100.0
    with pytest.raises(CompileError, match="elements of this range_iterator object are left depends on data"):
        ms.jit(f)(Tensor([1.0, 2.0]))
