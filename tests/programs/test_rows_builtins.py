"""The rows of builtin functions and static iterators: one program per row, which gives the same in every mode.

Rows and tests: builtins and the libraries that run while compiling in `BUILTINS`; what `iter`, `zip`, `map`, ... give,
of which every element comes once, in `ITERATORS`.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ops

from .compare import define
from .rows import agree, body

BUILTINS = {
    "len": "return len(x), len(m), len('ab'), len([1]), len({}), len(range(4)), len((x, y)), x",
    "range": """
return (
    list(range(3)), list(range(5, 0, -2)), range(3)[1], 2 in range(3),
    len(range(int(n))) * x, range(3) == range(0, 3)
)
""",
    "enumerate": "return list(enumerate([x, y], 1)), [i * v for i, v in enumerate(m, start=2)]",
    "zip": """
return (
    list(zip([1, 2], (x, y), 'ab')), list(zip()), dict(zip('ab', m)), list(zip(m, x)),
    [a for a, in zip([1])], list(zip([1], [2], strict=True))
)
""",
    "zip strict": "return list(zip([1], [1, 2], strict=True))",
    "map": """
return (
    list(map(lambda v: v * 2, m)), list(map(lambda a, b: a + b, x, y)),
    tuple(map(int, ['1', '2']))
)
""",
    "filter": """
return (
    list(filter(lambda v: v % 2, range(5))), tuple(filter(None, (x.shape, (), 0))),
    len(list(filter(lambda t: t is not None, [x, None])))
)
""",
    "reversed": """
return (
    list(reversed([1, x])), [v for v in reversed(m)], tuple(reversed(range(3))),
    list(reversed((1, 2))), list(reversed('ab'))
)
""",
    "sorted": """
return (
    sorted([3, 1]), sorted('ba'), sorted([(1, 'b'), (1, 'a')]), sorted([x, y], key=len),
    sorted({'b': 1, 'a': 2}), sorted([1, 2], reverse=True), sorted([1, -2], key=abs)
)
""",
    "slice": """
return (
    x[slice(1)], m[slice(None, None, 2)], [1, 2, 3][slice(1, 3)], slice(1, 2).stop,
    slice(1, 5, 2).indices(4)
)
""",
    "int": """
return (
    int(3.7), int('12'), int('ff', 16), int(n), int(s), int(True), int(-2.5), int(x[0]), x,
    int(), int(x[:1])
)
""",
    "float": "return float('1.5'), float(n), float(3), float(s), float('inf'), float(), float(x[1])",
    "bool": "return bool(0), bool([]), bool(n), bool(''), bool(int(n)), x, bool(None)",
    "bool vector": "return bool(x)",
    "int vector": "return int(x)",
    "float nan": "return float('nan') != float('nan'), x",
    "abs": "return abs(-3), abs(-2.5), abs(x), abs(int(-n)), abs(float(-s)), abs(True)",
    "round": "return round(2.567, 2), round(2.5), round(3.5), round(-1.2), x, round(7, -1)",
    "pow": """
return (
    pow(2, 3), pow(x, 2), pow(2, 5, 7), pow(int(n), 2), pow(2, int(n)), pow(float(s), 2),
    pow(2, x)
)
""",
    "divmod": "return divmod(7, 2), divmod(x, y), divmod(int(n), 2), divmod(-7.5, 2), divmod(float(s), 0.5)",
    "min": """
return (
    min(3, 1), min([2, 1]), min(x.sum(), y.sum()), min((1, 2), (0, 5)), min(x),
    min([], default=4), min('b', 'a'), min([-2, 1], key=abs), min(int(n), 2), min(s, 3.0)
)
""",
    "max": """
return (
    max(3, 1), max([2, 1.5]), max(x.sum(), y.sum()), max(x), max([], default=x),
    max('b', 'a'), max([-2, 1], key=abs), max(int(n), 2), max(s, 1.0), max(2.0, s)
)
""",
    "min empty": "return min([])",
    "sum": """
return (
    sum([1, 2]), sum([x, y]), sum(m), sum([[1], [2]], []), sum([x], y), sum((1.5, 2)),
    sum(x), sum(range(int(n))) if False else 0, sum([x, y], start=1)
)
""",
    "sum str": "return sum(['a'])",
    "any all": """
return (
    any([0, 1]), all([]), any(()), all((1, 0)), any([n > 2, s > 9]), all([n > 2, s > 9]),
    any(x > 2), all(x > 0), x
)
""",
    "any short": "return any([True, x]), all([False, x]), x",
    "tuple list": """
return (
    tuple([x, 1]), list((x, 1)), tuple(m), list(x), tuple('ab'), list(range(2)),
    tuple({'a': 1}), list({'a': 1}.values()), tuple(), list()
)
""",
    "dict": "return dict(a=x), dict([('a', 1)]), dict({'b': y}, c=2), dict(zip('ab', (x, y))), dict()",
    "set": """
return (
    len(set([1, 1, 2])) * x, sorted(set('aab')), 1 in set((1,)), set() == set(),
    len(frozenset([1, 1]))
)
""",
    "isinstance": """
return (
    isinstance(x, ms.Tensor), isinstance(n.item(), int), isinstance(s.item(), float),
    isinstance((n > 2), ms.Tensor), isinstance(bool(n > 2), bool),
    isinstance([1], (list, tuple)), isinstance('a', str), isinstance(None, type(None)),
    isinstance(lambda: 0, type), isinstance(len, object)
)
""",
    "type": """
return (
    type(1) is int, type(1.5) == float, type('a').__name__, type(x) is ms.Tensor,
    type(x) == ms.Tensor, type(int(n)) is int, type({}) is dict, type([]) == list,
    type(()) is tuple, type(set()) is set, type(type(1)) is type
)
""",
    "issubclass": """
return (
    issubclass(bool, int), issubclass(ValueError, (KeyError, Exception)),
    issubclass(ms.Parameter, ms.Tensor), x
)
""",
    "callable": """
return (
    callable(lambda: 0), callable(3), callable(x), callable(int), callable('a'.upper),
    callable(x.sum), callable(x.asnumpy().sum)
)
""",
    "hasattr": """
return (
    hasattr(x, 'shape'), hasattr(x, 'foo'), hasattr([], 'append'), hasattr('a', 'lower'),
    hasattr(3, 'real'), hasattr(x, 'sum'), hasattr({}, 'zz')
)
""",
    "getattr": """
return (
    getattr(x, 'shape'), getattr(x, 'foo', 3), getattr('ab', 'upper')(),
    getattr([3, 4], 'index')(4), getattr(x, 'sum')()
)
""",
    "item": "return n.item(), s.item() * 2, x[1].item(), x.sum().item()",
    "chars": "return chr(97), ord('a'), bin(5), hex(255), oct(8), ascii('é'), x",
    "str": """
return (
    str(1), repr('a'), str((1, 'b')), format(3.14159, '.2f'), str(None), repr([1, 2]),
    str(1.0), x
)
""",
    "sorted by names": """
d = {'b': x, 'c': x * 3, 'a': x + 1}
pairs = [(2, x), (1, [x, x])]
pairs.sort()
return (
    sorted(d.items()), sorted(d.items(), reverse=True), sorted([(1, 'b', x), (1, 'a', x * 2), (0, 'z', x)]),
    sorted([[3, x], [2, x]]), sorted([(1, x), (1,)]), sorted([((2, 1), x), ((1, 2), x * 2)]), sorted([x]), pairs
)
""",
    "ordered by names": """
return (
    min({'b': x, 'a': x * 2}.items()), max([(1, x), (3, x * 2), (2, x)]), (1, x) < (2, x), [3, x] >= [2, x * 2],
    (1, x) <= (1, x), (1, x) < (1, x), (1,) < (1, x), (1, x, 2) < (1, x, 3), (0.5, x) > (True, x), x
)
""",
    "complexity": "return sum(i * v for i, v in enumerate(x)), max(enumerate([3, 5]), key=lambda p: p[1]), x",
    "functools": """
import functools
return (
    functools.reduce(lambda a, b: a * b, [x, y]),
    functools.reduce(lambda a, b: a + b, range(4), 1)
)
""",
    "collections": """
import collections
c = collections.Counter('aab')
return x * c['a']
""",
    "numpy static": """
import numpy as np
return (
    x * np.prod((2, 3)), x * np.sqrt(4.0), x + np.array([1.0, 2.0, 3.0]),
    np.arange(3).sum() * x, x * np.float32(2), np.pi * x
)
""",
    "math static": """
import math
return math.ceil(2.1), math.sqrt(2) * x, math.log(3.0), math.inf, math.isclose(1, 1), math.gcd(4, 6)
""",
    "math dyn": """
import math
u = float(s)
return math.sin(u), math.sqrt(u), math.floor(u), math.exp(u) * x
""",
    "text methods": """
return (
    'a b'.split(), 'x'.join(['1', '2']), 'abc'.find('c'), 'a'.isalpha(), 'abc'[::-1],
    'ab'.center(6, '*'), '%s' % (1,), 'a' + 'b', x
)
""",
    "tensor methods": """
return (
    x.sum(), x.mean(), m.max(1), x.reshape(3, 1), m.T, x.astype(ms.float32), x.shape[0],
    x.ndim, m.transpose(1, 0), x.view(3, 1) if hasattr(x, 'view') else 0
)
""",
    "len scalar": "return len(n)",
    "neg range": "return [i for i in range(3, -1, -1)], x",
    "nested gens": "return sum(sum(a * b for b in (1, 2)) for a in (x, y)), [*(v for v in (1, 2))] if False else 0",
}
ITERATORS = {
    "iter next": """
it = iter([x, y])
a = next(it)
b = next(it)
c = next(it, 5)
return a, b, c
""",
    "iter range": """
it = iter(range(3))
next(it)
return x * next(it), list(it)
""",
    "iter for": """
it = iter([1, 2, 3])
for v in it:
    x = x * v
    break
return x, next(it), list(it), list(it)
""",
    "iter tensor": """
it = iter(m)
return next(it), next(it)
""",
    "iter enumerate": """
it = enumerate([x, y])
return next(it), next(it)
""",
    "iter zip": """
it = zip([1, 2], [x, y])
a, b = next(it)
return a * b, list(it)
""",
    "iter stop": """
it = iter([])
return next(it)
""",
    "iter in loop": """
it = iter((1.0, 2.0, 3.0))
for i in range(3): x = x * next(it)
return x
""",
    "iter twice": """
z = zip([1, 2], (x, y))
return list(z), list(z)
""",
    "map twice": """
z = map(lambda v: v * 2, (x, y))
return list(z), list(z)
""",
    "enumerate twice": """
z = enumerate((x, y))
a = [v for v in z]
b = [v for v in z]
return a, b
""",
    "reversed twice": """
z = reversed([1, 2])
return list(z), list(z), x
""",
    "dict iter": """
it = iter({'a': x, 'b': y})
return next(it), next(it), x
""",
    "iter of iter": """
a = [1, 2, 3, 4]
it = iter(a)
return list(zip(it, it)), x
""",
    "itertools": """
import itertools
r = []
for a, b in itertools.product((1, 2), (3, 4)): r.append(a * b)
for a, b in itertools.combinations(range(3), 2): x = x * (a + b)
return x, r, list(itertools.accumulate(r))
""",
    "zip held kept": """
z = zip([x] * 20, range(20))
for a, i in z: y = y + a * i
return y, list(z)
""",
    "zip break dyn": """
z = iter([x, y, x * y])
for a in z:
    if a.sum() > 3.5: break
return a
""",
    "for next": """
it = iter(range(12))
for a in it:
    b = next(it)
    x = x * 0.5 + a * b
return x
""",
    "map lazy": """
def f(v):
    print('f', v)
    return v * 2
for v in map(f, (1, 2)): print('body', v)
return x * v
""",
    "map kept": """
for v in map(lambda v: v * 2, [x] * 20): y = y * 0.5 + v
return y
""",
    "zip of map": """
return (
    list(zip(map(lambda v: v * 2, (x, y)), 'ab')),
    dict(zip('ab', map(lambda v: v + 1, (x, y))))
)
""",
    "enum of zip kept": """
for i, (a, b) in enumerate(zip([x] * 15, [y] * 15)): x = x * 0.9 + a * b * i
return x
""",
    "enum reversed kept": """
for i, a in enumerate(reversed([x] * 15)): x = x * 0.9 + a * i
return x
""",
    "count": """
import itertools
return [a * i for a, i in zip((x, y), itertools.count(1))]
""",
    "cycle": """
import itertools
c = itertools.cycle((1.0, 2.0))
for i in range(3): x = x * next(c)
return x
""",
    "iter branch": """
it = iter((x, y))
if n > 2: a = next(it)
else: a = next(it) * 2
return a, next(it)
""",
    "filter break": """
for v in filter(lambda v: v > 1, (1, 2, 3)):
    x = x * v
return x
""",
    "in iterator": "return 2 in iter((1, 2, 3)), x",
}
ROWS = {**BUILTINS, **ITERATORS}


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    agree(body(ROWS[name]))


def test_a_constant_tensor_where_numbers_are_needed():
    """Its elements are known while compiling; those of another Tensor are not."""
    program = "def f(x):\n    return ops.fold(x.reshape(1, 4, 9) * x.sum(), ms.Tensor([4, 4]), 2)"
    agree(program, np.linspace(0.1, 1.0, 36), ops=ops)
    f = ms.jit(define("def f(x, size):\n    return ops.fold(x.reshape(1, 4, 9), size, 2)", ops=ops))
    with pytest.raises(ms.CompileError) as caught:
        f(ms.Tensor(np.ones(36)), ms.Tensor([4, 4]))
    assert (caught.value.code, caught.value.hint) == ("AC1302", "give it as a tuple of numbers")
