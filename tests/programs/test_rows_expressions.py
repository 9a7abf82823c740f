"""The rows of the table of expressions: one program per row, which gives the same in every mode.

Rows and tests: everything here is in `ROWS`, by the name of the row.  More programs for arithmetic, indices and
promotion are in test_expressions.py, for scopes of comprehensions in test_scopes.py, for text known at run time in the
tests of text, for assignment to elements in test_setitem.py.  What is refused is in test_errors.py and
test_rows_refused.py.
"""

from __future__ import annotations

import pytest

from .rows import agree, body

ROWS = {
    "int": "return x * 3, 1_000_000, 0xff, 0b11",
    "float": "return x * 1e-3 + .5",
    "ellipsis": """
a = ...
return x, a is ...
""",
    "none": "return None, x",
    "bytes": "return len(b'abc') * x",
    "text": "return x * len('a' 'b'), 'q'",
    "closure name": """
k = 2.0
g = lambda: k
return x * g()
""",
    "ops static": """
return (
    x * (7 // 2 + 7 % 3 + 2 ** 3 + (5 & 3) + (5 | 3) + (5 ^ 3) + ~5 + (1 << 3) + (9 >> 1) - -3 + +2),
    3 @ m if False else x
)
""",
    "neg pow": "return 2 ** -1 * x, (-2) ** 3",
    "true div": "return 7 / 2 * x, -7 // 2, -7 % 3, 7 % -3, 5.5 // 2",
    "divmod": """
q, r = divmod(7, 2)
return x * q + r
""",
    "str ops": "return x * len('ab' * 3 + 'c'), 'a' < 'b', 'b' in 'abc'",
    "list ops": "return [1, 2] + [x], [y] * 2, (1,) + (x,), 2 * (x,)",
    "cmp static": "return 1 < 2, 1 == 1.0, 'a' != 'b', (1, 2) < (1, 3), [1] == [1], {1: 2} == {1: 2}, {1, 2} >= {1}",
    "cmp none": "return x == None, None != x, x is None, x is not None",
    "chain": "return 1 < 2 < 3, 0 < x.sum() < 9, x < y",
    "in tuple": "return (n in (1, 3)), (n not in (1, 3)), 2 in [1, 2], 'a' in {'a': x}, 3 in range(5), 2 in {1, 2}",
    "in bytes": "return n in b'\\x01\\x03', n in b'ab', 'b' in 'abc'",
    "in list of Tensor": "return (x.sum() in [y.sum(), x.sum()])",
    "is": """
a = [x]
b = a
return a is b, a is [x], None is None, True is True, x is None, (a[0] is None) is False
""",
    "is type": "return type(n) is int, type(x) is ms.Tensor, type(1) is int, type([]) is list",
    "is dynamic": """
a = int(n)
return a is None, a is not None, x if a is not None else y
""",
    "and static": """
return (
    (0 and x), (1 and x), (0 or x), (x if None or 1 else y), ('' or 'b'), (not 0), not [],
    not (1,)
)
""",
    "and dyn": """
a = int(n)
b = float(s)
return (
    (b and 2.5), (b or 1.5), not a, (a > 1 and b > 1), (a > 5 or b > 1), not (a > 1),
    a and 7, a - 3 or 5
)
""",
    "and tensor": "return (n and s.astype(ms.int64)), (x.sum() or y.sum()), not n",
    "not vector1": """
t = x[:1]
return (x if t else y), not t
""",
    "ternary nested": "return x if n > 5 else y if n > 2 else x * y",
    "ternary static": "return x if len(m) == 2 else undefined_name",
    "walrus": """
a = (b := x * 2.0) + b
if (c := a.sum()) > 1:
    a = a * c
return a, c, b
""",
    "walrus while": """
k = 0
while (k := k + 1) < 5:
    x = x * k
return x, k
""",
    "walrus dyn while": """
while (t := x.sum()) < 50:
    x = x * 2
return x, t
""",
    "attr": "return x.shape, x.ndim, x.size, x * x.itemsize, m.T, x.dtype == ms.float64, m.shape[0] * x",
    "setdisp": "return x * len({1, 2, 2, 3}), sorted({3, 1, 2}), {1} | {2} == {1, 2}, 1 in {1, *[2, 3]}",
    "set comp": """
a = {i % 3 for i in range(7)}
return x * len(a), sorted(a), sum(sorted(a))
""",
    "set ops": """
a = {1, 2, 3}
b = {2, 3, 4}
return (
    x * len(a & b), sorted(a | b), sorted(a - b), sorted(a ^ b), a.issubset(b),
    a.union({9}) == {1, 2, 3, 9}
)
""",
    "set add": """
a = {1}
a.add(2)
a.discard(1)
return x * len(a), 2 in a
""",
    "dict disp": """
d = {'a': x, **{'b': y}, 'c': 1}
return d, [*d], {**d, 'a': 2}
""",
    "starred": """
a = [*(x, y), *[1], *range(2)]
b = (*a, 3)
return a, b, [*m], [*{'k': 1}]
""",
    "slice obj": """
a = slice(0, 2)
b = [1, 2, 3, 4]
return x[a], b[a], b[slice(None, None, -1)], a.start, m[:, slice(1, None)], m[(slice(None), 0)]
""",
    "idx": """
a = (x, y, 3)
return a[-1], a[0], a[1:], 'abc'[1], range(9)[2], [1, 2, 3][::2], {'k': x}['k'], (1, 2, 3)[True]
""",
    "idx user": """
a = [[x, y], [1, 2]]
return a[0][1], a[1][0], a[True]
""",
    "mask assign": """
t = x * 1.0
t[t > 1] = 0.0
return t
""",
    "dyn idx": """
a = int(n)
return x[a - 1], x[-1], m[a - 3, a - 1], m[0, a - 2]
""",
    "listcomp": """
return (
    [i * x for i in range(3) if i], [(i, j) for i in range(2) for j in range(i)],
    [a for a in m], [v for v in x]
)
""",
    "dictcomp": """
return (
    {k: v * x for k, v in zip('ab', (1, 2))},
    {i: j for i in range(2) for j in range(2) if i != j}
)
""",
    "nested comp": "return [[x * i * j for j in range(2)] for i in range(2)]",
    "comp uncond": "return [x if i % 2 else y for i in range(4)]",
    "comp dyn val": "return [x if n > i else y for i in range(4)]",
    "gens": """
return (
    sum(i * x for i in range(3)), any(i > 1 for i in range(3)), all(i > 1 for i in range(3)),
    min(i for i in (3, 1)), max(i for i in (3, 1)), tuple(i * x for i in (1, 2)),
    list(i for i in (1,)), dict((k, x) for k in 'ab'), set(i for i in (1, 1)) == {1},
    sorted(-i for i in range(3)), ''.join(c for c in 'ab'),
    list(zip((i for i in (1, 2)), (x, y))), list(enumerate(i * y for i in (1, 2)))
)
""",
    "gen dyn any": "return any(v > 2 for v in x), all(v > 0 for v in x), sum(v * v for v in x), max(v for v in x)",
    "lambda": """
f = lambda a, b=2, *c, d=3, **e: a * b + d + len(c) + len(e)
return f(x), f(x, 1, 2, 3, d=4, q=5)
""",
    "lambda late": """
fs = [lambda: x * i for i in range(3)]
return fs[0](), fs[2]()
""",
    "lambda dict": """
t = {'a': lambda v: v * 2, 'b': lambda v: v + 1}
return t['a'](x) + t['b'](y)
""",
    "fstr": "return x * len(f'{1 + 1} {\"a\"!r} {3:>{5}}'), f'{x.shape} {m.ndim}'",
    "percent": "return '%d %s' % (3, 'a'), '{} {a}'.format(1, a=2), x",
    "condexpr method": "return (x if True else y).sum()",
    "bool ops on bools": """
b = x > 1
return b & (y > 1), b | (y > 1), b ^ (y > 1), ~b, b == b
""",
    "unary": "return -x, +x, abs(-x), -n, ~n",
    "matmul": "return m @ x, x @ y, m.T @ m",
    "shift": "return n << 2, n >> 1, n & 1, n | 4, n ^ 1",
    "aug": """
a = 5
a //= 2
a **= 3
a %= 5
a <<= 2
a |= 1
a &= 7
a ^= 2
a >>= 1
return x * a
""",
    "frozenset": "return x * len(frozenset((1, 2))), 1 in frozenset((1, 2))",
    "str methods": """
return (
    'a,b'.split(','), 'AB'.lower(), ' a '.strip(), 'a'.join(['x', 'y']),
    'abc'.replace('a', 'b'), 'abc'.startswith('a'), 'a'.upper() + 'b', 'ab'.index('b'), x
)
""",
}


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    agree(body(ROWS[name]))
