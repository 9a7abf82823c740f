"""A function cut in two gives the gradients of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.autodiff import split
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import ops_of
from tests.autodiff.derivatives import central_difference, directions, expanded, parsed
from tests.autodiff.interpreter import run
from tests.autodiff.test_control_flow import PROGRAMS


def gradients(parts, args, seeds):
    """What `forward` then `backward` give: results, and cotangents by argument."""
    for part in (parts.forward, parts.backward):
        verify(part, "PURE")
        text = print_module(part)
        assert print_module(parse_module(text)) == text
    results = run(parts.forward, *args)
    extra = sum(r.kind == "residual" for r in parts.residuals)
    original = len(results) - extra
    place = {"arg": list(args), "out": results[:original], "residual": results[original:]}
    found = run(parts.backward, *[place[r.kind][r.number] for r in parts.residuals], *seeds)
    for g, mask in zip(found, parts.masks, strict=False):
        assert mask is None or found[mask] or not np.any(g)
    assert len(found) == len(parts.cotangents) + len({mask for mask in parts.masks if mask is not None})
    return results[:original], dict(zip(parts.cotangents, found, strict=False))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    text, samples = PROGRAMS[name]
    module = parsed(text)
    rs = directions(module.entry)
    wrt = [i for i, r in enumerate(rs) if r is not None]
    parts = split(module, wrt)
    for args in samples:
        results, found = gradients(parts, args, [1.0])
        assert np.array_equal(results[0], run(module, *args)[0])
        total = sum(np.sum(found[i] * rs[i]) for i in found)
        np.testing.assert_allclose(total, central_difference(module, args), rtol=1e-6, atol=1e-8)


TEXT = """func @f(%x: f64[3], %w: f64[3], %unused: f64[], %n: i64[]) -> (f64[3], i64[], f64[3]) {
  %t: f64[3] = tanh %x
  %m: f64[3,1] = reshape %t {shape=[3,1]}; %v: f64[1,3] = reshape %w {shape=[1,3]}
  %o: f64[3,3] = matmul %m, %v; %p: f64[3,3] = matmul %o, %o
  %s: f64[3] = sum %p {axes=[-1]}
  return %t, %n, %s
}"""


def test_arguments_and_results_are_no_extra_residuals():
    parts = split(parsed(TEXT), [0, 1, 2])
    # tanh' and the first product need t, which is a result; that product w, too; the second product needs o alone.
    assert {(r.kind, r.number) for r in parts.residuals} == {("out", 0), ("arg", 1), ("residual", 0)}
    assert parts.seeds == (0, 2)
    assert parts.cotangents == (0, 1)
    assert [len(f.outs) for f in (parts.forward.entry, parts.backward.entry)] == [4, 2]
    x, w, g0, g2 = np.arange(3.0) / 3, np.arange(3.0) + 1, np.ones(3), np.arange(3.0)
    _, found = gradients(parts, (x, w, 0.0, 5), [g0, g2])
    # s_i = t_i (w . t) sum(w)
    t, total = np.tanh(x), w.sum()
    dt = g0 + g2 * (w @ t) * total + w * (g2 @ t) * total
    np.testing.assert_allclose(found[0], dt * (1 - t * t))
    np.testing.assert_allclose(found[1], (g2 @ t) * (t * total + (w @ t)))


def test_overrides_act_in_the_backward_part():
    parts = split(parsed("""func @f(%x: f64[]) -> (f64[]) {
      %a: f64[] = grad_map %x bwd (%g: f64[]) { %h: f64[] = neg %g; yield %h }
      %b: f64[] = custom_vjp %a fwd (%p: f64[]) { %q: f64[] = sin %p; yield %q }
        bwd (%r: f64[], %s: f64[], %t: f64[]) { %u: f64[] = mul %r, %t; yield %u }
      return %b
    }"""), [0])  # fmt: skip
    assert [op.defn.name for op in ops_of(parts.backward.entry.body)] == ["mul", "neg"]
    results, found = gradients(parts, (0.4,), [1.0])
    assert float(results[0]) == np.sin(0.4)
    assert float(found[0]) == -0.4


def test_expanded_gradients_are_cut_and_callees_come_along():
    parts = split(expanded(parsed("""func @f(%x: f64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%a: f64[]) { %b: f64[] = call @g %a; yield %b }
      return %d
    }
    func @g(%x: f64[]) -> (f64[]) { %s: f64[] = sin %x; %m: f64[] = mul %s, %x; return %m }""")), [0])  # fmt: skip
    _, found = gradients(parts, (0.4,), [1.0])
    np.testing.assert_allclose(found[0], 2 * np.cos(0.4) - 0.4 * np.sin(0.4))


def test_a_module_with_a_grad_left_is_refused():
    module = parsed("""func @f(%x: f64[]) -> (f64[]) {
      %o: f64[], %d: f64[] = grad %x {wrt=[0]} body (%a: f64[]) { %b: f64[] = sin %a; yield %b }
      return %d
    }""")
    with pytest.raises(InternalCompilerError, match="too late"):
        split(module, [0])


def test_a_function_without_float_results_has_no_cotangents():
    parts = split(parsed("func @f(%x: f64[]) -> (bool[]) { %p: bool[] = less %x, %x; return %p }"), [0])
    assert parts.seeds == ()
    assert parts.cotangents == ()
    assert not parts.backward.entry.body.ops
