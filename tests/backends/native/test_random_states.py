"""Random programs that assign Parameters under branches and in loops, in machine code and as eager code."""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor
from autodiff_compiler.backends.native.jit.machine import why_not
from tests.selection import part

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}"),
    pytest.mark.usefixtures("native_backend"),
]

STATES = ("a", "b", "c")
#: Functions in one file, which is compiled once.
FUNCTIONS = 12


class Writer:
    """Writes one function; `depth` limits how blocks lie in each other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.lines, self.names, self.count = rng, [], 0, 0

    def value(self, kept: list[str]) -> str:
        rng = self.rng
        x = rng.choice([*(f"s.{n}" for n in STATES), *kept])
        y = rng.choice([*(f"s.{n}" for n in STATES), *kept])
        forms = (
            f"{x} * 0.5 + x", f"{x} * 0.5 + {y}", f"{x}.T - {y} * 0.5", f"({x} @ {y}) * 0.1", f"ops.tanh({x})",
            f"{x}[::-1] * 0.5", f"{x} - {y}.mean()", f"{x}", f"ops.roll({x}, 1, 0)",
        )  # fmt: skip
        return rng.choice(forms)

    def block(self, indent: str, depth: int, kept: list[str]) -> None:
        kept = list(kept)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(indent, depth, kept)

    def statement(self, indent: str, depth: int, kept: list[str]) -> None:
        rng, kind = self.rng, self.rng.random()
        if depth and kind < 0.3:
            self.lines.append(f"{indent}if x * {rng.choice((1, -1, 2))} > {rng.choice((0.0, 1.0, -1.0))}:")
            self.block(indent + "    ", depth - 1, kept)
            if rng.random() < 0.6:
                self.lines.append(f"{indent}else:")
                self.block(indent + "    ", depth - 1, kept)
        elif depth and kind < 0.45:
            self.lines.append(f"{indent}for _ in range({rng.choice((2, 17, 18, 19))}):")
            self.block(indent + "    ", depth - 1, kept)
        elif depth and kind < 0.52:
            self.count += 1
            self.lines.append(f"{indent}t{self.count} = x * 0.0")
            self.lines.append(f"{indent}while t{self.count} < {rng.choice((2.0, 3.0))}:")
            self.lines.append(f"{indent}    t{self.count} = t{self.count} + 1.0")
            self.block(indent + "    ", 0, kept)
        elif kind < 0.65:
            self.names += 1
            self.lines.append(f"{indent}v{self.names} = {self.value(kept)} + 0.0")
            kept.append(f"v{self.names}")
        elif kind < 0.75:
            to, source = rng.choice(STATES), rng.choice(STATES)
            part = rng.choice((f"[1:] = s.{source}[:-1]", f"[2] = s.{source}[0] * 0.5", "[::2] = x"))
            self.lines.append(f"{indent}s.{to}{part}")
        else:
            self.lines.append(f"{indent}ops.assign(s.{rng.choice(STATES)}, {self.value(kept)})")

    def function(self, name: str) -> str:
        self.lines = [f"def {name}(s, x):"]
        kept: list[str] = []
        for _ in range(self.rng.randint(2, 5)):
            self.statement("    ", 3, kept)
        last = self.rng.choice([*(f"s.{n}" for n in STATES), *kept])
        return "\n".join([*self.lines, f"    return {last} * 1.0"])


class States:
    def __init__(self) -> None:
        rng = np.random.default_rng(11)
        for name in STATES:
            setattr(self, name, Parameter(Tensor(rng.standard_normal((8, 8))), name=name))


@pytest.mark.parametrize("seed", range(part(4)))
def test_random_programs_leave_states_as_eager_code_does(seed, tmp_path):
    writer = Writer(random.Random(seed))
    path = tmp_path / f"states_{seed}.py"
    path.write_text(
        "from autodiff_compiler import ops\n\n\n" + "\n\n\n".join(writer.function(f"f{i}") for i in range(FUNCTIONS))
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for i in range(FUNCTIONS):
        f = getattr(module, f"f{i}")
        graph, eager = States(), States()
        run = ms.jit(lambda x, f=f, s=graph: f(s, x))
        for number in (0.5, -2.0, 1.5):
            x = Tensor(np.array(number))
            np.testing.assert_allclose(run(x).asnumpy(), f(eager, x).asnumpy(), rtol=1e-8, atol=1e-9, err_msg=f"f{i}")
            for name in STATES:
                a, b = getattr(graph, name).asnumpy(), getattr(eager, name).asnumpy()
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=f"f{i}: {name}")
