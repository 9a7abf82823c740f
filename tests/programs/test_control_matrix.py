"""{if, while, for kept, for dynamic, for unrolled} x {break, continue, return, else, nested} x derivative order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler.config import context
from tests.programs.compare import check, check_at, define

pytestmark = pytest.mark.both_backends

#: Loop heads, by what becomes of them; `k` counts the trips.
HEADS = {
    "unrolled": "for i in range(5):",
    "kept": "for i in range(9):",
    "dynamic": "for i in range(int(n)):",
    "while": "while k < n:",
    "while_data": "while (y * y).sum() < 60.0:",
    "tensor": "for row in m:",
}
#: Scales of x and values of n: jumps are taken early, late and never, and loops that look at n run up to five trips.
POINTS = [(0.31, 5), (0.71, 5), (1.33, 4), (0.57, 1), (0.57, 0)]

BODIES = {
    "plain": """
        k = k + 1
        y = y * 1.31 + x * 0.2
""",
    "break": """
        k = k + 1
        if y.sum() > 4.0:
            break
        y = y * 1.31 + x * x
""",
    "break_both_arms": """
        k = k + 1
        if y.sum() > 5.0:
            y = y * x
            break
        elif k > 6:
            y = y + x * x
            break
        y = y * 1.5 + x
""",
    "continue": """
        k = k + 1
        if y[0] > 1.2:
            y = y * 1.07 + x * x
            continue
        y = y * 1.9 + 0.3 * x
        z = z + y * y
""",
    "return": """
        k = k + 1
        if y.sum() > 4.5:
            return y * x, z * 2.0, k
        y = y * 1.4 + x
        z = z + y
""",
    "else": """
        k = k + 1
        if y.sum() > 7.0:
            break
        y = y * 1.4 + x
    else:
        z = z + y * y * x
""",
    "else_return": """
        k = k + 1
        if y.sum() > 7.0:
            return y * 3.0, z, k
        y = y * 1.4 + x
    else:
        if x[1] > 0.6:
            return y * x * x, z, -k
        z = z + y * x
""",
    "all": """
        k = k + 1
        if y[1] > 3.0 and k > 2:
            break
        if y[1] < 0.8:
            y = y * 2.0 + x
            continue
        if (y * x).sum() > 9.0:
            return y, x * y, k
        y = y + (x * y if k > 1 else x)
    else:
        z = z * x
""",
}

FRAME = """
def f(x, n):
    y = x * 1.0
    z = x + 0.5
    k = 0
    m = x.reshape(3, 1) * x
    {head}{body}
    return y * x, z, k
"""


def arguments(point):
    scale, n = point
    return scale * np.array([1.0, 0.8, 1.1]), np.array(n)


@pytest.mark.some(4)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("head", HEADS)
def test_loop(head, body):
    check_at(define(FRAME.format(head=HEADS[head], body=BODIES[body])), [arguments(p) for p in POINTS])


NESTED = """
def f(x, n):
    y = x * 1.0
    z = x + 0.5
    k = 0
    m = x.reshape(3, 1) * x
    {outer}
        k = k + 1
        {inner}
            k = k + 1
            if y.sum() > {bound}:
                {jump}
            y = y * 1.21 + x * z
            z = z * 0.9 + 0.1 * y
        if z.sum() > 3.0:
            y = y * 0.9
            {outer_jump}
        z = z + x
        if k > 40:
            break
    return y * x, z, k
"""
JUMPS = {
    "break": ("break", "continue"),
    "continue": (
        "z = z * 1.05\n                k = k + 1\n                y = y + 0.9\n                continue",
        "break",
    ),
    "return": ("return y, z * x, k", "continue"),
}
OUTER = {**HEADS, "unrolled": "for i in range(3):"}
INNER = {**{h: OUTER[h] for h in ("unrolled", "kept", "dynamic", "tensor")}, "while": "while (y * y).sum() < 9.0:"}


def nested():
    """Every outer loop with every inner one and every jump; on the NumPy backend, which prints what Python runs, all
    pairs of these: it sees one jump in each pair of loops."""
    pairs = context.backend == "numpy"
    outers = [h for h in HEADS if h != "while_data"]
    for (i, outer), (j, inner), (k, jump) in itertools.product(*map(enumerate, (outers, INNER, JUMPS))):
        if not pairs or (i + j + k) % len(JUMPS) == 0:
            yield outer, inner, jump


@pytest.mark.some(20)
@pytest.mark.parametrize(("outer", "inner", "jump"), list(nested()))
def test_nested(outer, inner, jump):
    first, second = JUMPS[jump]
    f = define(NESTED.format(outer=OUTER[outer], inner=INNER[inner], jump=first, outer_jump=second, bound=4.4))
    check(f, *arguments((0.48, 3)))


CONDITIONALS = {
    "else": """
def f(x, n):
    if x.sum() > 2.0:
        y = x * x
    else:
        y = x * x * x
    return y
""",
    "elif": """
def f(x, n):
    y = x
    if x.sum() > 3.0:
        y = x * x
    elif n > 4 and x[0] > 0.5:
        y = y * 3.0
        y = y * y
    elif n < 1:
        y = y / (1.0 + x * x)
    return y * x
""",
    "return": """
def f(x, n):
    if n < 1:
        return x * 0.5
    if x.sum() > 2.0:
        if x[0] > 1.0:
            return x * x
        y = x * 3.0
    else:
        y = x * x * x
    y = y * y
    if n > 4:
        return y * 2.0
    return y + x
""",
    "return_half": """
def f(x, n):
    if x.sum() > 2.0:
        if n > 4:
            return x * x * 2.0
    z = x * 4.0
    if x[0] > 0.4:
        return z * x
    return z / x
""",
    "ternary": """
def f(x, n):
    y = x * x if x[0] > 0.5 else x + 1.0
    z = (y * 2.0 if n > 4 else y / x) if x.sum() > 1.5 else y
    return y * z, (x if n > 0 else y).sum()
""",
    "short_circuit": """
def f(x, n):
    y = x
    if (x[0] > 0.4 and x[1] < 1.0) or not (n > 2):
        y = y * x
    if n > 0 and (x / n).sum() > 0.3:
        y = y * y
    return y, 0.2 < x[0] < 1.0 < x[2] + 0.3
""",
    "nested": """
def f(x, n):
    y = x
    if x.sum() > 1.2:
        if x.sum() > 2.0:
            y = y * x
        else:
            y = y + x * x
            if n > 4:
                y = y * 1.5
        y = y * y
    else:
        if n > 0:
            y = y - x * x * x
    return y
""",
    "in_loop": """
def f(x, n):
    y = x
    for i in range(4):
        if y.sum() > 3.0:
            y = y * 0.7
        elif i % 2 == 0:
            y = y * x + x
        else:
            y = y + 1.0
    return y * y
""",
    "loop_in_branch": """
def f(x, n):
    y = x
    if x[0] > 0.5:
        for i in range(int(n)):
            y = y * x + 0.1
    else:
        while y.sum() < 5.0:
            y = y * 1.7
    return y * x
""",
}


@pytest.mark.parametrize("program", CONDITIONALS)
def test_if(program):
    check_at(define(CONDITIONALS[program]), [arguments(p) for p in POINTS])


@pytest.mark.parametrize("program", ["nested", "loop_in_branch", "return"])
def test_if_third_order(program):
    check(define(CONDITIONALS[program]), *arguments((0.74, 5)), order=3)


@pytest.mark.some(8)
@pytest.mark.parametrize("body", ["break", "continue", "return", "else_return"])
@pytest.mark.parametrize("head", HEADS)
def test_loop_third_order(head, body):
    check(define(FRAME.format(head=HEADS[head], body=BODIES[body])), *arguments((0.52, 4)), order=3)


ALIASES = {
    "two names of one Tensor": """
def f(x, n):
    y = x
    for i in range(int(n)):
        x, y = x * y, x + y * 0.5
    return x * y, x
""",
    "as long as they stay one": """
def f(x, n):
    y = x
    z = x * 1.0
    for i in range(int(n)):
        z = z * y
        x = x * 1.1 + z
        y = x
    return x * y, z
""",
    "two names of one number": """
def f(x, n):
    a = b = int(n)
    for i in range(int(n)):
        a, b = b + 1, a * 2
    return x * a + x * b, a, b
""",
    "one of them only": """
def f(x, n):
    y = x
    k = 0
    while k < n:
        y = y * x + 0.1
        k = k + 1
    return y * x
""",
    "rotating": """
def f(x, n):
    a, b, c = x, x * 2.0, x * 3.0
    for i in range(int(n)):
        a, b, c = b, c, a * b
    return a + 2.0 * b + 3.0 * c
""",
    "elements of one list": """
def f(x, n):
    l = [x, x]
    for i in range(int(n)):
        l[0], l[1] = l[1] * x, l[0] + x
    return l[0] * l[1]
""",
}


@pytest.mark.parametrize("program", ALIASES)
def test_names_of_one_value_before_a_kept_loop(program):
    check_at(define(ALIASES[program]), [arguments(p) for p in POINTS])


def test_what_the_heads_become():
    """The heads stand for the loops they are named after: unrolled to no loop, kept as one."""
    import autodiff_compiler as ms

    kinds = {}
    for head in HEADS:
        f = ms.jit(define(FRAME.format(head=HEADS[head], body=BODIES["plain"])))
        x, n = arguments((0.52, 4))
        text = f.lower(ms.Tensor(x), ms.Tensor(n)).ir("front")
        kinds[head] = [kind for kind in ("scan", "while") if f"{kind}(" in text or f"{kind} " in text]
    assert kinds["unrolled"] == []
    assert kinds["tensor"] == []
    assert kinds["kept"] == ["scan"]
    assert kinds["dynamic"] == ["scan"]
    assert kinds["while"] == ["while"]
    assert kinds["while_data"] == ["while"]
