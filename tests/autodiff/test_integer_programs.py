"""Random polynomial programs: while nothing overflows, gradients in integers are those in floats."""

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.backends.native.jit.machine import why_not

WAYS = [None] + [(b, o) for b in ("native", "numpy") for o in (0, 2) if b == "numpy" or not why_not()]

#: Some of the programs do not depend on what they are differentiated by.
pytestmark = pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.GradientWarning")


class Program:
    """A random polynomial program over two numbers, with branches and loops, for Tensors and for Python's integers."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.steps = [self.step(2) for _ in range(4)]

    def step(self, depth):
        kind = self.rng.choice(["assign", "if", "for", "while"] if depth else ["assign"])
        if kind == "assign":
            return "assign", *map(int, self.rng.integers(0, 2, 3)), str(self.rng.choice(["+", "-", "*"])), int(
                self.rng.integers(-2, 3)
            )  # fmt: skip
        inner = [self.step(depth - 1) for _ in range(2)]
        return str(kind), int(self.rng.integers(1, 3)), inner, [self.step(depth - 1)]

    def source(self):
        lines = ["def f(x, y, zero):", "    v0, v1 = x, y"]
        self.write(self.steps, lines, "    ")
        return "\n".join([*lines, "    return v0 + v1"])

    def write(self, steps, lines, margin):
        for number, (kind, *rest) in enumerate(steps):
            deeper = margin + "    "
            if kind == "assign":
                target, a, b, op, c = rest
                lines.append(f"{margin}v{target} = v{a} {op} v{b} + {c}")
                continue
            count, inner, other = rest
            if kind == "if":
                lines.append(f"{margin}if v0 > v1 * {count}:")
                self.write(inner, lines, deeper)
                lines.append(f"{margin}else:")
                self.write(other, lines, deeper)
            elif kind == "for":
                lines.append(f"{margin}for _ in range({count}):")
                self.write(other, lines, deeper)
            else:
                name = f"i{len(margin)}_{number}"
                lines += [f"{margin}{name} = zero", f"{margin}while {name} < {count}:"]
                self.write(other, lines, deeper)
                lines.append(f"{deeper}{name} = {name} + 1")


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(40))
def test_gradients_in_integers_are_those_in_floats(tmp_path, monkeypatch, seed):
    """While the floats are whole numbers that float64 holds; beyond, integers wrap around."""
    source = Program(seed).source()
    name = f"integer_program_{seed}"
    (tmp_path / f"{name}.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    f = __import__(name).f
    ways = [WAYS[0], WAYS[1 + seed % (len(WAYS) - 1)]]
    for g in (ms.grad(f, (0, 1)), ms.grad(lambda x, y, zero: ms.grad(f)(x, y, zero), (0, 1))):
        in_floats = [t.item() for t in g(*(Tensor(v, ms.float64) for v in (2, -1, 0)))]
        if not all(abs(v) < 2**50 for v in in_floats):
            continue
        for way in ways:
            run = g if way is None else ms.jit(g, backend=way[0], optimize=way[1])
            found = run(*(Tensor(v, ms.int64) for v in (2, -1, 0)))
            assert [(t.dtype, t.item()) for t in found] == [(ms.int64, int(v)) for v in in_floats]
