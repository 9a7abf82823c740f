"""Programs on which modes disagreed once, made small."""

from __future__ import annotations

from tests.property.grammar import Program

_ARGUMENTS = "self, x, y, ix, n, r, flag"


def _program(body: str, result: str = "out") -> Program:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    source = f"""class Net(Base):
    def construct({_ARGUMENTS}):
        c, d = 1, 0
{lines}
    def total({_ARGUMENTS}):
        out = self.construct(x, y, ix, n, r, flag)
        return {result}.sum() + self.z.sum()
"""
    return Program(3, source, "float64", (3,), True, True)


FOUND = {
    "a return from a helper's loop in a loop of run time": _program(
        """def g(v):
    for q in range(2):
        if v[0] > 1.0:
            return v * 0.5
        v = v * 0.9
    return v
for i in range(n + 1):
    x = g(x * 1.5) * y
return x"""
    ),
    "a write to what a helper may have returned from a loop of run time": _program(
        """def g(v):
    for q in range(n):
        v[0] = v[0] * 0.5
        if v[0] > 0.1:
            return v
    return y
out = g(x * 1.5)
out[1] = 7.0
return out * y"""
    ),
    "a write to what a name stood for in the trip before": _program(
        """for i in range(12):
    v = y
    v[1] = 0.5
return v * x"""
    ),
    "a branch of branches without text": _program("if x.sum():\n    if y.sum():\n        pass\nreturn x * y"),
    "an index that is out of bounds at run time": _program("c = c + n + 1\nreturn x[c] * y"),
    "what was written before an index is out of bounds": _program(
        "self.count += 1\nx[0] = 5.0\nself.z = x * 2.0\nself.w = y * 1.0\nreturn x[c if y.sum() > 50.0 else 3]"
    ),
    "effects before an exception in a derivative": _program(
        "print(x)\nself.w = x * 2.0\nself.z = x * y\nreturn x * (1 // d)"
    ),
    "conditions of an inner block": _program(
        """v1 = x
v2 = x
if v1.sum() > -5.0:
    v2 = ops.sigmoid(x)
    if v2.sum() > 0.0:
        v9 = v2 if y.sum() > 0.0 else x
v2[0] = 3.0
return v1 * v2"""
    ),
    "a list that is changed where another branch raises": _program(
        """l = [x, y]
if r > 5.0:
    raise ValueError("never")
elif y.sum() > -5.0:
    l[0] = x * 5.0
return l""",
        "out[0]",
    ),
    "a draw on a path that is not taken": _program("if y.sum() > 50.0:\n    x = ops.rand_like(x)\nreturn x * y"),
    "an exception in each trip of a loop of which there is none": _program(
        "while x.sum() > 500.0:\n    x = x + x[5]\nfor i in range(n - 9):\n    x = x + y[5]\nreturn x * y"
    ),
    "an exception in the first trip": _program(
        "for i in range(n):\n    print(i)\n    self.z = x * 2.0\n    x = x + x[5]\nreturn x * y"
    ),
    "arrays that change places in an inner loop": _program(
        """v, w = x, ops.sin(x)
for e in y:
    k = 0
    while k < 3 + n and e > 0.0:
        k += 1
        v, w = w, v * 0.9
    v = v + ops.cos(y * k - w.max())
return v * 1.0"""
    ),
    "written on a path that raises only": _program(
        "if y.sum() > -50.0:\n    y[:] = x\n    self.count = 7\n    c = 1 // d\nreturn x * y"
    ),
}
