"""What is shown of programs with symbolic sizes: costs and memory against closed forms, and against static programs."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, nn, ops
from autodiff_compiler.backends.op_by_op import peak, pieces_of
from autodiff_compiler.compiler.pipeline import named_backend
from autodiff_compiler.dtypes import float64
from autodiff_compiler.errors import CompileError
from autodiff_compiler.inspection import compiled_call
from autodiff_compiler.inspection.artifact import Artifact
from autodiff_compiler.inspection.samples import samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.known_sizes import with_known_sizes
from autodiff_compiler.ir.primitive import REGISTRY
from autodiff_compiler.ir.sizes import Dim, Size, evaluate, symbol, symbols_of
from autodiff_compiler.ir.text import print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.primitives.flops import flops_of, flops_of_functions
from tests.inspection.test_cost import limits
from tests.primitives.test_symbolic_sizes import (
    OPS,
    VALUES,
    WITHOUT,
    N,
    attributes,
    exchanged,
    forward,
    has_sizes,
    symbolic,
    types_of,
)
from tests.programs.compare import define
from tests.programs.test_sizes_of_calls import ROWS

TANH = flops_of_functions()["tanh"]


@pytest.fixture(autouse=True)
def _known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_call, "machine_limits", limits)


def lowered(f: Any, *types: str, backend: str = "numpy") -> Artifact:
    found: Artifact = ms.jit(f, backend=backend).lower(*map(TensorSpec, types))
    return found


def product(a: Any, b: Any) -> Any:
    return a @ b


def network(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = ops.tanh(ops.matmul(x, w1) + b1)
    error = ops.matmul(hidden, w2) + b2
    return (error * error).sum()


NETWORK = ("f32[b,i]", "f32[i,h]", "f32[h]", "f32[h,1]", "f32[1]")


def total(x: Any) -> Any:
    s = x[0] * 0.0
    for row in x:
        s = ops.tanh(s + row)
    return s.sum()


# ------------------------------------------------------------------------------------------------ closed forms
def test_a_product_is_a_formula_of_its_sizes() -> None:
    n, m, k = symbol("n"), symbol("m"), symbol("k")
    artifact = lowered(product, "f32[n,k]", "f32[k,m]")
    cost, memory = artifact.cost(), artifact.memory()
    assert cost.flops is 2 * n * m * k
    assert (cost.read, cost.written) == (4 * n * k + 4 * k * m, 4 * n * m)
    assert (memory.arguments, memory.results, memory.arena) == (4 * n * k + 4 * k * m, 4 * n * m, 0)
    assert (cost.seconds, list(cost.symbols)) == (None, ["n", "k", "m"])
    text = str(cost)
    assert text.startswith("product on numpy: 2*k*m*n operations, (4*k*m + 4*k*n + 4*m*n) B moved\n")
    assert "n: any size >= 0, from argument `a`, axis 0\nk: any size >= 0, from argument `a`, axis 1\n" in text
    assert text.endswith("no time: it depends on n, k, m; cost(n=..., k=..., m=...) has it for given sizes\n")
    assert "n: any size >= 0, from argument `a`, axis 0" in str(memory)
    with pytest.raises(TypeError, match="operations per byte depend on n, k, m"):
        cost.intensity


@pytest.mark.parametrize(("b", "i", "h"), [(1, 1, 1), (16, 8, 12), (3, 5, 2), (64, 1, 7)])
def test_a_network_forward_and_backward(b: int, i: int, h: int) -> None:
    artifact = lowered(ms.value_and_grad(network, (1, 2, 3, 4)), *NETWORK)
    before = 2 * b * i * h + b * h + TANH * b * h + 2 * b * h + b + b + b
    # 2 times the error, its sum for the last bias; products by both weights; the sum for the first bias; 1 - t * t
    after = b + b + 2 * b * h + 2 * b * h + b * h + 3 * b * h + 2 * b * i * h
    assert evaluate(artifact.cost().flops, {"b": b, "i": i, "h": h}) == before + after
    assert artifact.cost(b=b, i=i, h=h).flops == before + after


def test_a_loop_over_rows_takes_as_many_trips_as_there_are_rows() -> None:
    artifact = lowered(total, "f64[n,m]")
    flops = artifact.cost().flops
    for n, m in ((1, 1), (10, 3), (7, 0)):
        assert evaluate(flops, {"n": n, "m": m}) == m + n * m * (1 + TANH) + m  # x[0] * 0.0, the loop, the sum
    assert artifact.cost().per_trip == ()
    kept = lowered(ms.grad(total), "f64[n,m]").memory().stacks
    assert isinstance(kept, Dim)
    assert evaluate(kept, {"n": 10, "m": 3}) == 2 * 10 * 3 * 8  # the results of tanh, and what each row gets


def test_a_module_for_known_sizes_computes_the_same() -> None:
    """Loops, sequences, and constants whose type has a symbol."""
    net = nn.LSTM(4, 5)

    def f(x: Any) -> Any:
        states, _ = net(x)
        return (states * states).sum()

    call = lowered(ms.value_and_grad(f), "f32[n,2,4]")._call
    (n,) = call.sizes
    for rows in (1, 6):
        module = call.opt_at({n: rows})
        assert not module.has_open_sizes
        assert "n," not in "".join(re.findall(r"\[.*?\]", print_module(module).replace("const", "")))
        x = np.random.default_rng(rows).standard_normal((rows, 2, 4)).astype(np.float32)
        states = [state._data for state in call.compiled.states_read]
        found = named_backend("numpy").compile(module)(x, *states)
        expected = ms.value_and_grad(f)(Tensor(x))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_sizes_that_have_a_value_are_numbers_and_others_stay() -> None:
    artifact = lowered(product, "f32[n,k]", "f32[k,m]")
    assert artifact.cost(k=8).flops is 16 * symbol("m") * symbol("n")
    assert list(artifact.cost(k=8).symbols) == ["n", "m"]
    known = artifact.cost(n=10, k=8, m=4)
    static = ms.jit(product, backend="numpy").lower(Tensor(np.ones((10, 8), "f")), Tensor(np.ones((8, 4), "f"))).cost()
    assert (known.flops, known.read, known.written, known.seconds) == (640, 448, 160, static.seconds)
    assert known.intensity == 640 / 608
    assert not known.symbols
    assert artifact.memory(n=10, k=8, m=4).total == 448 + 160


def test_formulas_of_sorting_and_factorisations() -> None:
    n = symbol("n")
    sort = lowered(lambda x: ops.sort(x)[0], "f32[3,n]").cost().flops
    assert [evaluate(sort, {"n": k}) for k in (0, 1, 2, 3, 4, 1024)] == [0, 0, 6, 18, 24, 30720]  # k log2 k
    assert str(sort) == "3*bit_length(n-1)*n"
    assert lowered(lambda x: ops.cholesky(x), "f32[n,n]").cost().flops is n * n * n // 3


def test_sizes_that_are_none_of_the_program_are_refused() -> None:
    def halves(x: Any) -> Any:
        return x.reshape(2, -1).sum(0) if x.shape[0] % 2 == 0 and x.shape[0] > 4 else x * x

    artifact = lowered(halves, "f32[n]")
    assert artifact.cost(n=7).flops == 7
    with pytest.raises(ValueError, match=r"n = 6 is no call of this program: n % 2 != 0"):
        artifact.cost(n=6)
    with pytest.raises(ValueError, match=r"n = -1 is no call of this program: n: any size >= 0"):
        artifact.memory(n=-1)
    with pytest.raises(TypeError, match="'m' is no symbolic size: those of this program are n"):
        artifact.cost(m=3)
    with pytest.raises(TypeError, match="the size n is an int, not of type float"):
        artifact.cost(n=3.0)  # type: ignore[arg-type]
    static = ms.jit(halves).lower(TensorSpec("f32[3]"))
    with pytest.raises(TypeError, match="'n' is no symbolic size: all of this program are known"):
        static.cost(n=3)


def test_names_of_sizes_that_no_program_can_have() -> None:
    with pytest.raises(ValueError, match=r"^sizes must be known, write numbers for n: n had to be a number"):
        lowered(lambda x: ops.split(x, 2)[0], "f32[n]")
    with pytest.raises(ValueError, match=r"^sizes must be known, write numbers for n, m: "):
        lowered(lambda x, y: x * len((1, 2) * x.shape[0]) + y.sum(), "f32[n]", "f32[m]")
    with pytest.raises(CompileError, match=r"inner sizes differ: \[n,3\] @ \[4,m\]: 3 != 4"):
        lowered(product, "f32[n,3]", "f32[4,m]")
    with pytest.raises(ValueError, match=r"what the size m is cannot be told from \[n\*m\], \[n\]|\[m\*n\], \[n\]"):
        lowered(lambda x, y: x.sum() * y, "f32[n*m]", "f32[n]")


# ------------------------------------------------------------------------------------------------ every op
def total_of(module: Module) -> tuple[Size, Size, Size, Size]:
    """Operations, bytes read and written by pieces, and the peak of a module of plain ops."""
    flops = sum([flops_of(op) for op in ops_of(module.entry.body)], 0)
    moves = [move for piece in pieces_of(module) for move in piece.moves]
    read, written = (sum([getattr(move, side) for move in moves], 0) for side in ("read", "written"))
    return flops, read, written, peak(module.entry.body)


#: What is one formula for large sizes and another for few.
FORMULAS_DIFFER = {"logsumexp": "of nothing it is a constant"}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [name for name in OPS if name not in WITHOUT and has_sizes(REGISTRY[name])])
def test_formulas_of_ops_are_what_static_programs_have(name: str) -> None:
    defn, make, count = REGISTRY[name], functools.partial(forward, name), 0
    for xs, attrs in samples_of(defn, float64):
        for size in sorted({d for x in xs for d in x.shape if d > 1}):
            for module, which in symbolic(make, defn, xs, attrs, size):
                for n in VALUES:
                    exchange = exchanged(size, n)
                    try:
                        known = make(attributes(defn, attrs, exchange, which), types_of(xs, exchange))
                    except CompileError:  # not of this size
                        continue
                    if name in FORMULAS_DIFFER and n == 0:
                        continue
                    count += 1
                    found = total_of(module)
                    wanted = total_of(known)
                    assert [evaluate(x, {"n": n}) for x in (found[0], found[3])] == [wanted[0], wanted[3]]
                    put_in = with_known_sizes(module, {next(symbols_of(N)): n})
                    verify(put_in, "PURE")
                    assert print_module(put_in) == print_module(known)
                    assert total_of(put_in) == total_of(known)
    assert count


# ------------------------------------------------------------------------------------------------ programs
#: Rows whose program for known sizes is another one: it computes with the size as a number, or unrolls a loop.
OF_NUMBERS = {
    "arithmetic", "unpacked", "length and size", "remainder", "mean by hand", "root", "function of math", "float",
    "number returned", "text", "Tensor of it", "least", "loop", "rows", "while",
}  # fmt: skip
#: Rows whose formula of the cost takes temporary arrays as they are at a usual size, and whose program for known sizes
#: is another one: only their memory is compared.
ABOUT = {
    "deviations of few", "padded to a multiple", "tiled by it", "segments", "products of segments", "filled with it",
    "numbers that fall", "later updates", "sums of products", "running product",
    "sums of exponentials",
}  # fmt: skip
#: Rows that are simplified where there is one row only.
OF_ONE_ROW = {"slice", "last"}


def derivative_of(body: str) -> Callable[..., Any]:
    source = (
        f"def inner(x):\n    {body}\n\n\n"
        "def f(x):\n    r = inner(x)\n    r = r[0] if isinstance(r, tuple) else r\n    return (r * r).sum()\n"
    )
    return ms.value_and_grad(define(source, "f", ops=ops, Tensor=Tensor, ms=ms))


@pytest.mark.some(6)
@pytest.mark.parametrize("name", [name for name in ROWS if name != "one of a list"])  # of which n is 3*n_3 + k
@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("written", ["n", "2*n"])
def test_formulas_of_programs_are_what_static_programs_have(name: str, differentiated: bool, written: str) -> None:
    body = ROWS[name][0]
    f = (
        derivative_of(body)
        if differentiated
        else define(f"def f(x):\n    {body}\n", "f", ops=ops, Tensor=Tensor, ms=ms)
    )
    if name == "number returned" and differentiated:
        pytest.skip("its result is a number")
    artifact = lowered(f, f"f64[{written},3]")
    cost, memory = artifact.cost(), artifact.memory()
    checked = 0
    for n in VALUES:
        rows = n if written == "n" else 2 * n
        try:
            here, needed = artifact.cost(n=n), artifact.memory(n=n)
        except ValueError:  # of no such call
            continue
        exact = name not in ABOUT and not (differentiated and name == "gather" and n < 2)
        if exact:  # else what is indexed is larger than what comes out
            counts = [evaluate(x, {"n": n}) for x in (cost.flops, cost.read, cost.written)]
            assert counts == [here.flops, here.read, here.written]
        sizes = ("arguments", "results", "arena", "stacks", "per_trip", "constants", "overwritten")
        assert [evaluate(getattr(memory, x), {"n": n}) for x in sizes] == [getattr(needed, x) for x in sizes]
        assert needed.arguments == rows * 3 * 8
        checked += 1
        if name in OF_NUMBERS or name in ABOUT or (name in OF_ONE_ROW and rows <= 2):
            continue
        static = ms.jit(f, backend="numpy").lower(TensorSpec(f"f64[{rows},3]"))
        one, whole = static.cost(), static.memory()
        assert (one.flops, one.read, one.written) == (here.flops, here.read, here.written), n
        assert [getattr(whole, x) for x in sizes] == [getattr(needed, x) for x in sizes], n
    assert checked


# ------------------------------------------------------------------------------------------------ what is shown
def test_dumps_have_the_symbols_and_what_is_known_of_them(tmp_path: Path) -> None:
    artifact = lowered(ms.grad(network, (1, 2, 3, 4)), *NETWORK)
    assert repr(artifact) == "<compiled grad_network(f32[b,i], f32[i,h], f32[h], f32[h,1], f32[1])>"
    text = artifact.ir("opt")
    assert "// size b: any size >= 0, from argument `x`, axis 0\n" in text
    assert "%x: f32[b,i], %w1: f32[i,h]" in text
    assert re.search(r"kept for the adjoint: .* \(up to 4\*b\*h .*bytes\)", text)
    explained = artifact.explain()
    assert "Symbolic sizes: b, i, h; the guards say what they may be. In this call b = 37, i = 41, h = 43" in explained
    assert "b: any size >= 0, from argument `x`, axis 0" in explained
    assert "4*b*h B: for" in explained
    artifact.to_html(str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["sizes"] == "b = 37, i = 41, h = 43"
    assert max(life[2] for life in data["memory"]["lives"]) == 4 * 41 * 43  # the weights of the first layer
    assert "b: any size >= 0" in data["memory"]["needs"]


def test_a_program_over_numpy_is_for_all_sizes() -> None:
    text = str(lowered(ms.value_and_grad(network, (1, 3)), *NETWORK).source())
    space: dict[str, Any] = {}
    exec(text, space)
    rng = np.random.default_rng(0)
    for b, i, h in ((1, 1, 1), (7, 3, 2), (0, 4, 5)):
        args = [rng.standard_normal(s).astype(np.float32) for s in ((b, i), (i, h), (h,), (h, 1), (1,))]
        value, (d_w1, d_w2) = space["grad_network"](*args)
        x, w1, b1, w2, b2 = (a.astype(np.float64) for a in args)
        hidden = np.tanh(x @ w1 + b1)
        error = hidden @ w2 + b2
        np.testing.assert_allclose(value, (error * error).sum(), rtol=1e-5)
        np.testing.assert_allclose(d_w2, hidden.T @ (2 * error), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(d_w1, x.T @ ((2 * error @ w2.T) * (1 - hidden**2)), rtol=1e-4, atol=1e-5)


def test_what_calls_made_symbolic_is_shown_so_and_measured_at_the_sizes_of_the_call() -> None:
    f = ms.jit(product, backend="numpy")
    w = Tensor(np.ones((4, 2), np.float32))
    for n in (3, 5):
        f(Tensor(np.ones((n, 4), np.float32)), w)
    artifact = f.lower(Tensor(np.ones((6, 4), np.float32)), w)
    assert artifact.of == "product(f32[n,4], f32[4,2])"
    assert artifact.cost().flops is 16 * symbol("n")
    (row,) = [row for row in artifact.timing(2).ops if row.ops == ("matmul",)]
    assert row.flops == 2 * 6 * 4 * 2
    assert f.cache_info()["compiles"] == 2
    assert ms.jit(product, dynamic=True).lower(Tensor(np.ones((6, 4))), Tensor(np.ones((4, 2)))).of == (
        "product(f64[n,m], f64[m,k])"
    )


def test_a_profile_of_calls_of_several_sizes_shows_times_without_rates() -> None:
    f = ms.jit(product, backend="numpy", dynamic=True)
    w = Tensor(np.ones((4, 2), np.float32))
    with ms.profile() as profile:
        for n in (3, 5, 6):
            f(Tensor(np.ones((n, 4), np.float32)), w)
    (row,) = [row for row in profile.by("op") if "matmul" in row.ops]
    assert (row.flops, row.bytes, row.limit) == (0, 0, 0.0)
    assert row.seconds > 0
