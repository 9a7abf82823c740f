"""What compilation costs: milliseconds of each step for functions of growing size.

    python benchmarks/compile_time.py

The targets are those of the project for 5,000 ops on one core; `per op` must not grow with the size.
"""

from __future__ import annotations

import time
from typing import Any

from _measure import machine, once, table

import autodiff_compiler as ms
import autodiff_compiler.transforms.jit
from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, F
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import count_ops
from autodiff_compiler.passes.manager import PASSES

SIZES = (1_250, 2_500, 5_000, 10_000, 20_000)
TARGETS = {"build": 30, "verify": 40, "print": 30, "parse": 100, "simplify": 60, "dce": 10, "adjoint": 120}
VECTOR = tensor(float32, (64,))


def emit(x: Any, y: Any, n: int) -> Any:
    """n ops of a mixed kind, each depending on the one before; nothing folds."""
    for i in range(n):
        kind = i % 5
        if kind == 0:
            x = F.mul(x, y)
        elif kind == 1:
            x = F.tanh(x)
        elif kind == 2:
            x, y = F.add(x, y), x
        elif kind == 3:
            x = F.sub(x, y)
        else:
            x = F.sin(x)
    return x


def build(n: int) -> Module:
    """A function of n ops on vectors."""
    module = Module()
    builder = Builder(Block([VECTOR, VECTOR], ["x", "y"]), module=module)
    with builder:
        result = emit(*builder.block.args, n)
    builder.ret(result)
    module.functions = {"f": Function("f", builder.block)}
    return module


def build_gradient(n: int) -> Module:
    """The gradient of such a function, not yet expanded."""
    module = Module()
    builder = Builder(Block([VECTOR, VECTOR], ["x", "y"]), module=module)
    inner = builder.nested([VECTOR, VECTOR], ["x", "y"])
    with inner:
        result = emit(*inner.block.args, n)
    block = inner.ret(result)
    attrs = tuple({"wrt": (0, 1), "seeds": None}.get(name, ()) for name in REGISTRY["grad"].schema)
    op = builder.emit_op(REGISTRY["grad"], builder.block.args, attrs, (block,))
    builder.ret(*op.results)
    module.functions = {"f": Function("f", builder.block)}
    return module


def steps(n: int) -> dict[str, float]:
    """Milliseconds of every step for a function of n ops."""
    module = build(n)
    text = print_module(module)
    assert count_ops(module.entry) == n
    return {
        "build": once(lambda: n, build),
        "verify": once(lambda: module, verify),
        "print": once(lambda: module, print_module),
        "parse": once(lambda: text, parse_module),
        "simplify": once(lambda: build(n), PASSES["simplify"]),
        "dce": once(lambda: build(n), PASSES["dce"]),
        "adjoint": once(lambda: build_gradient(n), expand_grads, rounds=3),
    }


def half_returning(n: int) -> Any:
    """A function with n ifs that may return, one after the other."""
    import linecache

    lines = ["def f(x):"]
    for i in range(n):
        lines += [
            f"    if x.sum() > {i}.5:",
            f"        if x[0] > {i}.25:",
            f"            return x * {i}.0",
            "    x = x * 1.5 + 1.0",
        ]
    text = "\n".join([*lines, "    return x", ""])
    linecache.cache["<half returning>"] = (len(text), None, text.splitlines(keepends=True), "<half returning>")
    space: dict[str, Any] = {}
    exec(compile(text, "<half returning>", "exec"), space)
    return space["f"]


def half_returning_rows() -> list[tuple[int, int, int, float]]:
    rows = []
    for n in (6, 12, 24, 48):
        f = ms.jit(half_returning(n))
        start = time.perf_counter()
        artifact = f.lower(ms.Tensor([0.1, 0.2]))
        seconds = time.perf_counter() - start
        front, opt = (sum(map(count_ops, parse_module(artifact.ir(stage)))) for stage in ("front", "opt"))
        rows.append((n, front, opt, 1e3 * seconds))
    return rows


def main() -> None:
    print(machine())
    found = {n: steps(n) for n in SIZES}
    rows = []
    for name, target in TARGETS.items():
        times = [found[n][name] for n in SIZES]
        growth = (times[-1] / SIZES[-1]) / (times[0] / SIZES[0])
        rows.append([name, *times, target, times[2] / target, growth])
    head = ["ms", *(f"{n:,}" for n in SIZES), "target (5,000)", "ratio", "growth per op"]
    table("Steps of compilation by number of ops", head, rows)
    table(
        "Half-returning ifs",
        ["ifs", "ops lowered", "ops at the end (target for 12: < 500)", "ms to compile"],
        half_returning_rows(),
    )


if __name__ == "__main__":
    main()
