"""`vmap` ops: every primitive for many examples at once gives what it gives for each, whichever operands differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autodiff_compiler.autodiff import expand_grads
from autodiff_compiler.dtypes import from_numpy
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.core import Block, Function, Module
from autodiff_compiler.ir.primitive import REGISTRY, F, kernel_of
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.types import tensor
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import inline, ops_of
from autodiff_compiler.primitives.samples import Draw
from tests.autodiff.derivatives import parsed
from tests.autodiff.interpreter import Interpreter
from tests.autodiff.test_random_programs import programs
from tests.selection import part

N = 3

#: Run example by example where all operands differ: their kernels know no further leading dimension.
LOOPED = {
    "conv", "conv_filter", "conv_input", "histc", "random_gamma", "random_integers", "random_normal", "random_order",
    "random_poisson", "random_uniform", "run_starts", "searchsorted",
}  # fmt: skip


def _samples():
    for name, defn in sorted(REGISTRY.items()):
        if defn.samples is None:
            continue
        draws = [list(defn.samples(Draw(seed))) for seed in range(N)]
        for i, sample in enumerate(zip(*draws, strict=True)):
            split = [(*s[:-1], s[-1]) if isinstance(s[-1], dict) else (*s, {}) for s in sample]
            examples = [[np.asarray(x) for x in s[:-1]] for s in split]
            if examples[0]:
                yield pytest.param(defn, examples, split[0][-1], id=f"{name}-{i}")


def _type(x):
    return tensor(from_numpy(x.dtype), x.shape)


def _vmapped(defn, attrs, examples, which):
    """A module that applies a primitive under `vmap`, the operands flagged in `which` differing by example."""
    module = Module()
    first = examples[0]
    types = [tensor(_type(x).dtype, (N, *x.shape)) if flag else _type(x) for x, flag in zip(first, which, strict=True)]
    builder = Builder(Block(types), module=module)
    inner = builder.nested([_type(x) for x, flag in zip(first, which, strict=True) if flag])
    slices = iter(inner.block.args)
    with inner:
        xs = [next(slices) if flag else x for x, flag in zip(builder.block.args, which, strict=True)]
        out = getattr(F, defn.name)(*xs, **attrs)
    inner.ret(*(out if isinstance(out, tuple) else (out,)))
    mapped = [x for x, flag in zip(builder.block.args, which, strict=True) if flag]
    builder.ret(*builder.emit_op(REGISTRY["vmap"], mapped, (N,), (inner.block,)).results)
    module.add(Function("main", builder.block))
    verify(module)
    return module


@pytest.mark.parametrize(("defn", "examples", "attrs"), list(_samples()))
def test_a_primitive_for_many_examples_is_that_for_each(defn, examples, attrs):
    canonical = dict(zip(defn.schema, defn.attrs_of(attrs), strict=True))
    count = len(examples[0])
    choices = [w for w in itertools.product((True, False), repeat=count) if any(w)]
    for which in choices if count <= 3 else choices[:1] + choices[-1:]:
        rows = [[x if flag else y for x, y, flag in zip(e, examples[0], which, strict=True)] for e in examples]
        try:
            with np.errstate(all="ignore"):
                found = [kernel_of(defn)(*row, **canonical) for row in rows]
        except Exception:
            continue  # the operands of two draws do not go together (a factorisation checked against its matrix)
        expected = [np.stack(x) for x in zip(*(r if defn.multiple else [r] for r in found), strict=True)]
        given = [np.stack([r[k] for r in rows]) if flag else rows[0][k] for k, flag in enumerate(which)]
        result = expand_grads(_vmapped(defn, attrs, examples, which))
        verify(result, "PURE")
        assert not any(op.defn.name == "vmap" for op in ops_of(result.entry.body))
        for got, e in zip(Interpreter(result).run(None, *given), expected, strict=True):
            np.testing.assert_allclose(got, e, rtol=1e-9, atol=1e-10, err_msg=f"{which}")
        if all(which):
            looped = any(op.defn.name == "scan" for op in ops_of(result.entry.body))
            assert not looped or defn.name in LOOPED


# ------------------------------------------------------------------------------------------------ control flow
def _results(text, *args):
    result = expand_grads(parsed(text))
    verify(result, "PURE")
    assert not any(op.defn.name in ("vmap", "grad") for op in ops_of(result.entry.body))
    return [np.asarray(x).tolist() for x in Interpreter(result).run(None, *args)]


def _names(text):
    return [op.defn.name for op in ops_of(expand_grads(parsed(text)).entry.body)]


def test_the_text_of_a_vmap_is_read_back():
    text = """func @f(%x: f64[3,2]) -> (f64[3]) {
      %y: f64[3] = vmap %x {size=3} body (%a: f64[2]) { %s: f64[] = sum %a {axes=[-1]}; yield %s }
      return %y
    }"""
    printed = print_module(parsed(text))
    assert print_module(parse_module(printed)) == printed
    assert _results(text, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) == [[3.0, 7.0, 11.0]]


def test_a_branch_on_what_all_examples_share_stays_one_branch():
    text = """func @f(%x: f64[2], %p: bool[], %k: f64[]) -> (f64[2], f64[2]) {
      %y: f64[2], %z: f64[2] = vmap %x {size=2} body (%a: f64[]) {
        %r: f64[], %q: f64[] = if %p then { %m: f64[] = mul %a, %k; yield %m, %k } else { yield %k, %k }
        yield %r, %q
      }
      return %y, %z
    }"""
    assert _results(text, [1.0, 2.0], True, 5.0) == [[5.0, 10.0], [5.0, 5.0]]
    assert _results(text, [1.0, 2.0], False, 5.0) == [[5.0, 5.0], [5.0, 5.0]]
    assert "scan" not in _names(text)


def test_a_branch_each_example_takes_for_itself_runs_in_a_loop():
    text = """func @f(%x: f64[3]) -> (f64[3]) {
      %y: f64[3] = vmap %x {size=3} body (%a: f64[]) {
        %n: f64[] = neg %a
        %p: bool[] = less %a, %n
        %r: f64[] = if %p then { yield %n } else { %s: f64[] = sqrt %a; yield %s }
        %e: f64[] = exp %r
        yield %r
      }
      return %y
    }"""
    assert _results(text, [4.0, -3.0, 9.0]) == [[2.0, 3.0, 3.0]]
    assert _names(text).count("scan") == 1


def test_what_one_arm_leaves_undefined_can_be_stacked():
    text = """func @f(%x: f64[2]) -> (f64[2]) {
      %y: f64[2] = vmap %x {size=2} body (%a: f64[]) {
        %n: f64[] = neg %a
        %p: bool[] = less %a, %n
        %s: f64[] = if %p then { %e: f64[] = exp %a; yield %e } else { %u: f64[] = undef {type=f64[]}; yield %u }
        %r: f64[] = if %p then { %m: f64[] = mul %s, %s; yield %m } else { yield %a }
        yield %r
      }
      return %y
    }"""
    np.testing.assert_allclose(_results(text, [-1.0, 3.0]), [[np.exp(-2.0), 3.0]], rtol=1e-12)


def test_carries_that_come_to_depend_on_the_example_are_found():
    # b enters a after one trip, a enters c after two: only the fixed point knows that all three carry examples.
    text = """func @f(%x: f64[2], %n: i64[], %z: f64[]) -> (f64[2], f64[2]) {
      %y: f64[2], %w: f64[2] = vmap %x {size=2} body (%e: f64[]) {
        %c: f64[], %a: f64[], %b: f64[], %k: f64[], %s: seq<f64[]> = scan %n (%c1 = %z, %a1 = %z, %b1 = %e, %k1 = %z)
          body (%i) { %d: f64[] = add %k1, %k1; yield %a1, %b1, %b1, %d ; %a1 }
        %t: f64[3] = from_seq %s {length=3}
        %u: f64[] = sum %t {axes=[-1]}
        yield %c, %u
      }
      return %y, %w
    }"""
    assert _results(text, [1.0, 2.0], 3, 7.0) == [[1.0, 2.0], [9.0, 11.0]]
    assert _names(text).count("scan") == 1


def test_a_while_ends_for_each_example_by_itself():
    text = """func @f(%x: f64[2], %limit: f64[]) -> (f64[2]) {
      %y: f64[2] = vmap %x {size=2} body (%e: f64[]) {
        %n: i64[], %r: f64[] = while (%c = %e) cond { %p: bool[] = less %c, %limit; yield %p }
          body { %d: f64[] = add %c, %c; yield %d }
        yield %r
      }
      return %y
    }"""
    assert _results(text, [1.0, 3.0], 8.0) == [[8.0, 12.0]]


def test_sequences_per_example_are_read_and_collected():
    text = """func @f(%x: f64[2,3], %n: i64[]) -> (f64[2,3], f64[2]) {
      %y: f64[2,3], %l: f64[2] = vmap %x {size=2} body (%e: f64[3]) {
        %xs: seq<f64[]> = to_seq %e
        %zero: f64[] = const {value=0.0}
        %c: f64[], %s: seq<f64[]> = scan %n (%a = %zero ; %v = %xs) body (%i) { %b: f64[] = add %a, %v; yield %b ; %b }
        %r: f64[3] = from_seq %s {length=3}
        yield %r, %c
      }
      return %y, %l
    }"""
    sums, last = _results(text, [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], 3)
    assert sums == [[1.0, 3.0, 6.0], [10.0, 30.0, 60.0]]
    assert last == [6.0, 60.0]


def test_a_users_derivative_rule_is_batched_with_the_function():
    text = """func @f(%x: f64[2]) -> (f64[2]) {
      %y: f64[2] = vmap %x {size=2} body (%e: f64[]) {
        %o: f64[], %d: f64[] = grad %e {wrt=[0]} body (%a: f64[]) {
          %r: f64[] = custom_vjp %a fwd (%b: f64[]) { %s: f64[] = mul %b, %b; yield %s }
            bwd (%b: f64[], %s: f64[], %g: f64[]) {
              %k: f64[] = const {value=5.0}; %m: f64[] = mul %g, %k; %t: f64[] = mul %m, %b; yield %t }
          yield %r
        }
        yield %d
      }
      return %y
    }"""
    assert _results(text, [1.0, 3.0]) == [[5.0, 15.0]]


def test_the_derivative_of_a_vmap_around_a_users_rule():
    text = """func @f(%x: f64[2]) -> (f64[2]) {
      %o: f64[2], %d: f64[2] = grad %x {wrt=[0]} body (%q: f64[2]) {
        %y: f64[2] = vmap %q {size=2} body (%a: f64[]) {
          %r: f64[] = custom_vjp %a fwd (%b: f64[]) { %s: f64[] = mul %b, %b; yield %s }
            bwd (%b: f64[], %s: f64[], %g: f64[]) {
              %k: f64[] = const {value=5.0}; %m: f64[] = mul %g, %k; %t: f64[] = mul %m, %b; yield %t }
          yield %r
        }
        yield %y
      }
      return %d
    }"""
    assert _results(text, [1.0, 3.0]) == [[5.0, 15.0]]


def test_vmaps_nest_and_tuples_fall_back_to_a_loop_over_everything():
    text = """func @f(%x: f64[2,3]) -> (f64[2,3]) {
      %y: f64[2,3] = vmap %x {size=2} body (%r: f64[3]) {
        %z: f64[3] = vmap %r {size=3} body (%a: f64[]) {
          %t: (f64[], f64[]) = tuple_make %a, %a
          %b: f64[] = tuple_get %t {index=1}
          %m: f64[] = mul %a, %b
          yield %m
        }
        yield %z
      }
      return %y
    }"""
    assert _results(text, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) == [[[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]]


def test_what_does_not_depend_on_the_example_is_computed_once():
    text = """func @f(%x: f64[4], %k: f64[]) -> (f64[4]) {
      %y: f64[4] = vmap %x {size=4} body (%a: f64[]) { %e: f64[] = exp %k; %m: f64[] = mul %a, %e; yield %m }
      return %y
    }"""
    (exp,) = [op for op in expand_grads(parsed(text)).entry.body.ops if op.defn.name == "exp"]
    assert exp.results[0].shape == ()


# ------------------------------------------------------------------------------------------------ random programs
def _per_example(module, which, derivative):
    """A module that applies the entry of another (or its gradient by the first two arguments) under `vmap`."""
    entry = module.entry
    out = module.like(dict(module.functions))
    types = [a.type for a in entry.args]
    given = [tensor(t.dtype, (N,)) if flag else t for t, flag in zip(types, which, strict=True)]
    builder = Builder(Block(given), module=out)
    body = builder.nested([t for t, flag in zip(types, which, strict=True) if flag])
    slices = iter(body.block.args)
    args = [next(slices) if flag else x for x, flag in zip(builder.block.args, which, strict=True)]
    if derivative:
        inner = body.nested(types)
        inner.ret(*inline(inner, entry.body, inner.block.args))
        results = body.emit_op(REGISTRY["grad"], args, ((0, 1), None, (), False, ()), (inner.block,)).results
    else:
        results = inline(body, entry.body, args)
    body.ret(*results)
    mapped = [x for x, flag in zip(builder.block.args, which, strict=True) if flag]
    builder.ret(*builder.emit_op(REGISTRY["vmap"], mapped, (N,), (body.block,)).results)
    return Module({"main": Function("main", builder.block), **out.functions}, out.constants, out.states, out.callables)


def _gradient_of_sum(module):
    """The gradient, by the first two arguments, of the sum of the entry over the examples."""
    types = [tensor(a.type.dtype, (N,)) for a in module.entry.args]
    builder = Builder(Block(types), module=Module())
    inner = builder.nested(types)
    body = inner.nested([a.type for a in module.entry.args])
    body.ret(*inline(body, module.entry.body, body.block.args))
    inner.ret(*inner.emit_op(REGISTRY["vmap"], inner.block.args, (N,), (body.block,)).results)
    op = builder.emit_op(REGISTRY["grad"], builder.block.args, ((0, 1), None, (), False, ()), (inner.block,))
    builder.ret(*op.results)
    return builder.module.like({"main": Function("main", builder.block)})


@settings(max_examples=part(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.tuples(st.booleans(), st.booleans(), st.booleans()).filter(any))
def test_random_programs_for_many_examples_are_those_for_each(module, which):
    columns = [np.array([0.3, -0.7, 1.1]), np.array([0.9, 0.2, -0.4]), np.array([2, 0, 3])]
    given_ = [c if flag else c[0] for c, flag in zip(columns, which, strict=True)]
    rows = [[c[i] if flag else c[0] for c, flag in zip(columns, which, strict=True)] for i in range(N)]
    for derivative in (False, True):
        result = expand_grads(_per_example(module, which, derivative))
        verify(result, "PURE")
        alone = expand_grads(_alone(module, derivative))
        expected = [Interpreter(alone).run(None, *row) for row in rows]
        for got, each in zip(Interpreter(result).run(None, *given_), zip(*expected, strict=True), strict=True):
            np.testing.assert_allclose(got, np.stack(each), rtol=1e-9, atol=1e-12)
    if all(which):
        result = expand_grads(_gradient_of_sum(module))
        verify(result, "PURE")
        found = Interpreter(result).run(None, *columns)[1:]
        for got, each in zip(found, list(zip(*expected, strict=True))[1:], strict=True):
            np.testing.assert_allclose(got, np.stack(each), rtol=1e-9, atol=1e-12)


def _alone(module, derivative):
    if not derivative:
        return module
    types = [a.type for a in module.entry.args]
    builder = Builder(Block(types), module=Module())
    inner = builder.nested(types)
    inner.ret(*inline(inner, module.entry.body, inner.block.args))
    op = builder.emit_op(REGISTRY["grad"], builder.block.args, ((0, 1), None, (), False, ()), (inner.block,))
    builder.ret(*op.results)
    return builder.module.like({"main": Function("main", builder.block)})
