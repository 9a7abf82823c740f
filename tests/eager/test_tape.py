"""What tapes hold and for how long: memory, threads, exceptions, and writes in place."""

import gc
import threading
import weakref

import numpy as np
import pytest

from autodiff_compiler.eager import assign, differentiate, record, tracked, vjp
from autodiff_compiler.eager.tape import thread
from autodiff_compiler.errors import CompileError, DTypeError, NotDifferentiableError, ShapeError
from autodiff_compiler.ir.primitive import REGISTRY, F
from autodiff_compiler.runtime import Parameter, Tensor
from autodiff_compiler.runtime.parameter import versions
from autodiff_compiler.runtime.storage import SHARED, holders


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    yield
    assert holders.live == SHARED
    assert thread.state.active == 0
    assert versions.nodes == {}


@pytest.fixture
def no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def grad(f):
    return lambda x: differentiate(f, [x])[1][0]


# ------------------------------------------------------------------------------------------------ memory
def test_intermediate_arrays_die_without_the_garbage_collector(no_gc):
    arrays = []

    def f(x):
        h = x * 2
        arrays.append(weakref.ref(h._data))
        y = (h.tanh() * x).sum()
        arrays.append(weakref.ref(y._data))
        return y

    x = Tensor([1.0, 2.0])
    out, _, _ = differentiate(f, [x])
    assert arrays[0]() is None
    assert arrays[1]() is out._data
    del out
    assert arrays[1]() is None
    second = grad(lambda x: grad(f)(x).sum())(x)
    assert second.shape == (2,)
    assert [a() for a in arrays] == [None] * 4


def test_a_dead_result_frees_its_part_of_the_graph_while_the_tape_runs(no_gc):
    seen = []

    def f(x):
        lost = (x * 3).tanh()
        seen.append(weakref.ref(lost._data))
        del lost
        seen.append(seen[0]() is None)
        return x * x

    differentiate(f, [Tensor(2.0)])
    assert seen[1] is True


def test_the_graph_is_freed_during_the_backward_pass(no_gc):
    later, alive = [], []

    def first(x):
        out = Tensor(x.asnumpy())

        def pullback(gs):
            alive.extend(r() is not None for r in later)
            return gs

        record([x], [out], pullback)
        return out

    def f(x):
        y = first(x) * 2
        z = y.tanh()
        later.extend(weakref.ref(t._data) for t in (y, z))
        return z * z

    differentiate(f, [Tensor([1.0])])
    assert alive == [False, False]


def test_a_pullback_keeps_the_graph_and_frees_it(no_gc):
    arrays = []

    def f(x):
        y = x * 2
        arrays.append(weakref.ref(y._data))
        return y * y

    out, pullback = vjp(f, [Tensor(2.0)])
    assert arrays[0]() is not None
    assert pullback([1.0])[0].item() == 16.0
    assert holders.live != SHARED
    del pullback, out
    assert arrays[0]() is None
    assert holders.live == SHARED


def test_a_long_chain_needs_no_recursion():
    def f(x):
        y = x
        for _ in range(50_000):
            y = y + x
        return y

    assert grad(f)(Tensor(1.0)).item() == 50_001.0


# ------------------------------------------------------------------------------------------------ exceptions, threads
def test_an_exception_leaves_nothing_active():
    w = Parameter(1.0)

    def f(x):
        assert tracked(x)
        assert tracked(w)
        raise KeyError("mine")

    for nested in (False, True):
        with pytest.raises(KeyError, match="mine"):
            differentiate((lambda x: differentiate(f, [x], [w])) if nested else f, [Tensor(1.0)], [w])
        assert holders.live == SHARED
        assert not tracked(w)


def test_an_exception_in_a_backward_pass_leaves_nothing_active():
    def no_derivative(x):
        return F.check_derivative(x)

    class CheckDerivative(REGISTRY["tanh"].__base__):
        """The identity, without a derivative."""

        def infer(x):
            return x

        def numpy(x):
            return x.copy()

    try:
        assert no_derivative(Tensor(1.0)).item() == 1.0
        with pytest.raises(NotDifferentiableError, match="check_derivative"):
            differentiate(no_derivative, [Tensor(1.0)])
    finally:
        del REGISTRY["check_derivative"], CheckDerivative


def test_threads_differentiate_for_themselves():
    w = Parameter(2.0)
    ready = threading.Barrier(3)
    results = {}

    def work(k):
        def f(x):
            ready.wait()  # all tapes are live and all have their place for w
            y = x * w * k
            ready.wait()
            return y

        for _ in range(20):
            _, (gx,), (gw,) = differentiate(f, [Tensor(float(k))], [w])
        results[k] = (gx.item(), gw.item())

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: (2.0 * k, float(k * k)) for k in (1, 2, 3)}


def test_another_thread_does_not_record():
    recorded = []

    def f(x):
        t = threading.Thread(target=lambda: recorded.append(tracked(x * 2)))
        t.start()
        t.join()
        return x

    differentiate(f, [Tensor(1.0)])
    assert recorded == [False]


# ------------------------------------------------------------------------------------------------ writes
def test_writes_after_a_value_was_saved_do_not_change_the_gradient():
    w = Tensor([2.0, 3.0])

    def f(x):
        y = x * w  # saves x and w
        h = y * y  # saves y
        w[0] = 100.0
        y[1] = 100.0
        x.asnumpy()[...] = 100.0
        return h

    assert grad(f)(Tensor([1.0, 1.0])).tolist() == [8.0, 18.0]
    assert w.tolist() == [100.0, 3.0]


def test_a_write_is_differentiated():
    def f(x):
        y = x * 1.0
        y[0] = x[1] * x[1]
        y[1:] += 1.0
        y[2] = 7.0
        return (y * y).sum()

    # y = (b^2, b + 1, 7): d/db (b^4 + (b + 1)^2) = 4 b^3 + 2 (b + 1)
    assert grad(f)(Tensor([5.0, 2.0, 9.0])).tolist() == [0.0, 38.0, 0.0]


def test_a_write_to_an_argument_reaches_the_caller_and_the_gradient_is_that_at_entry():
    x = Tensor([1.0, 2.0])

    def f(x):
        y = (x * x).sum()
        x[0] = 10.0
        return y + (x * 3).sum()

    out, (g,), _ = differentiate(f, [x])
    assert (out.item(), g.tolist(), x.tolist()) == (41.0, [2.0, 7.0], [10.0, 2.0])
    assert not tracked(x)


def test_reading_an_argument_as_an_array_leaves_the_callers_buffer():
    x = Tensor([1.0, 2.0])
    view = x.asnumpy()
    differentiate(lambda x: x * float(x.asnumpy().sum()), [x])
    x[0] = 5.0
    assert view.tolist() == [5.0, 2.0]


def test_assigned_parameters():
    w = Parameter([1.0, 2.0])

    def f(x):
        before = (w * x).sum()
        assign(w, w * w * x)
        return before + w.sum()

    _, (gx,), (gw,) = differentiate(f, [Tensor([3.0, 4.0])], [w])
    assert gx.tolist() == [1 + 1, 2 + 4]  # w + w^2
    assert gw.tolist() == [3 + 2 * 3, 4 + 2 * 2 * 4]  # x + 2 w x
    assert w.tolist() == [3.0, 16.0]


def test_an_assignment_inside_an_inner_gradient_is_seen_by_the_outer_one():
    w = Parameter(2.0)

    def f(x):
        differentiate(lambda v: assign(w, x * v), [Tensor(5.0)])
        return w * w  # (5 x)^2

    assert grad(f)(Tensor(3.0)).item() == 2 * 25 * 3.0


def test_a_parameter_assigned_a_constant_is_one():
    w = Parameter(2.0)

    def f():
        y = w * 3
        w.set_data(4.0)
        return y + w * w

    assert differentiate(f, [], [w])[2][0].item() == 3.0
    assert w.item() == 4.0


def test_augmented_assignment_of_a_parameter_is_in_place():
    p = q = Parameter([1.0, 2.0])
    view = p.asnumpy()
    p += 1
    p *= Tensor([2.0, 3.0])
    assert q is p
    assert view.tolist() == [4.0, 9.0]


def test_assign_checks_what_it_is_given():
    p = Parameter([1.0, 2.0])
    assert assign(p, 3) is p
    assert p.tolist() == [3.0, 3.0]
    assert assign(p, np.array([1, 2])).tolist() == [1.0, 2.0]
    assert assign(p, p[::-1]).tolist() == [2.0, 1.0]
    with pytest.raises(ShapeError):
        assign(p, Tensor([1.0]))
    with pytest.raises(DTypeError):
        assign(p, np.zeros(2))
    with pytest.raises(DTypeError):
        assign(Tensor([1]), 0.5)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, 5.0),
        (-1, 5),
        (slice(None), [7.0, 8.0, 9.0]),
        (slice(2, None, -2), 1.0),
        ((None, 1), 2.0),
        (..., 3.0),
        ([0, 2], 4.0),
        ([0, 0], [1.0, 2.0]),
        (np.array([True, False, True]), 6.0),
    ],
)
def test_writes_follow_numpy(index, value):
    expected, t = np.zeros(3, np.float32), Tensor([0.0, 0.0, 0.0])
    view = t.asnumpy()
    expected[index] = value
    t[index] = Tensor(value) if isinstance(value, list) else value
    assert t.tolist() == expected.tolist()
    assert view.tolist() == expected.tolist()


def test_tensor_indices_and_values_in_writes():
    t = Tensor([[1.0, 2.0], [3.0, 4.0]])
    t[Tensor(1), Tensor([0])] = Tensor([9])
    t[t < 2] = 0
    assert t.tolist() == [[0.0, 2.0], [9.0, 4.0]]
    before = t.tolist()
    for index, value, error in [
        (5, 0.0, IndexError),
        (0, [1.0, 2.0, 3.0], (CompileError, ValueError)),
        ("a", 1, TypeError),
    ]:
        with pytest.raises(error):
            t[index] = value if not isinstance(value, list) else Tensor(value)
    assert t.tolist() == before
