"""Functions that run as plain Python in compiled code see what it has written, and must not change what it uses."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.errors import SideEffectError

LEVELS = [0, 2]


class Net(nn.Cell):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.n = 0
        self.p = Parameter(Tensor(np.array([1.0, 2.0])), name="p")
        self.q = Tensor(np.zeros(2))

    def construct(self, x):
        return self.body(self, x)

    def left(self):
        return self.n, self.p.asnumpy().tolist(), self.q.asnumpy().tolist()


def scaled(s, x):
    s.n = s.n + 1
    ops.assign(s.p, s.p + x)
    return ms.py_call(lambda a: a * s.p.asnumpy() + s.n, x, out=x)


def of_attribute(s, x):
    s.q = s.q + x
    return ms.py_call(lambda a: a + s.q.asnumpy(), x, out=x)


def several(s, x):
    s.q = s.q + 1
    x = ms.py_call(lambda a: a + s.q.asnumpy(), x, out=x)
    s.q = s.q + 1
    ops.assign(s.p, s.p + x)
    x = ms.py_call(lambda a: a + s.q.asnumpy() * s.p.asnumpy(), x, out=x)
    ops.assign(s.p, s.p + x)
    return x


def unrolled(s, x):
    for _ in range(3):
        s.n = s.n + 1
        x = ms.py_call(lambda a: a + s.n, x, out=x)
    return x


def kept_loop(s, x):
    i = 0
    while x.sum() > -100 and i < 3:
        ops.assign(s.p, s.p + 1.0)
        x = ms.py_call(lambda a: a + s.p.asnumpy(), x, out=x)
        i += 1
    return x


def branch(s, x):
    if x.sum() > 0:
        s.q = s.q + x
        x = ms.py_call(lambda a: a + s.q.asnumpy(), x, out=x)
    else:
        s.q = x
    return x + s.q


def put_back(s, x):
    old = s.q
    s.q = x
    x = ms.py_call(lambda a: a + s.q.asnumpy(), x, out=x)
    s.q = old
    return ms.py_call(lambda a: a + s.q.asnumpy(), x, out=x)


def old_value_kept(s, x):
    first = s.p[0]
    ops.assign(s.p, s.p * 2)
    return ms.py_call(lambda a: a * s.p.asnumpy(), x, out=x) + first


def new_attribute(s, x):
    s.made = [x * 2]
    return ms.py_call(lambda a: a + s.made[0].asnumpy(), x, out=x)


def argument(s, x):
    x[0] = 5.0
    return ms.py_call(lambda a: a + s.n, x, out=x)


def read_before(s, x):
    y = x * s.n
    return ms.py_call(counting(s), y, out=y)


def counting(s):
    def count(a):
        s.n = s.n + 1
        return a

    return count


SEEN = [
    scaled, of_attribute, several, unrolled, kept_loop, branch, put_back, old_value_kept, new_attribute, argument,
    read_before,
]  # fmt: skip


def runs(body, optimize=None):
    net = Net(body)
    fn = (lambda x: net(x)) if optimize is None else ms.jit(lambda x: net(x), optimize=optimize)
    found = []
    for _ in range(3):
        x = Tensor(np.array([1.0, 2.0]))
        found.append((fn(x).tolist(), x.tolist(), net.left()))
    return found


@pytest.mark.parametrize("optimize", LEVELS)
@pytest.mark.parametrize("body", SEEN, ids=lambda body: body.__name__)
def test_what_was_written_is_seen(body, optimize):
    assert runs(body, optimize) == runs(body)


@pytest.mark.parametrize("optimize", LEVELS)
def test_a_hook_that_runs_as_a_whole_sees_it_too(optimize):
    def runs(jit):
        net, seen = Net(scaled), []

        def hook(cell, inputs, output):
            try:
                seen.append((net.n, net.p.asnumpy().tolist()))
            finally:
                seen.append("left")

        net.register_forward_hook(hook)
        fn = ms.jit(lambda x: net(x), optimize=optimize) if jit else net
        return [fn(Tensor(np.array([1.0, 2.0]))).tolist() for _ in range(2)], seen

    assert runs(True) == runs(False)


@pytest.mark.parametrize("optimize", [None, *LEVELS])
def test_the_state_of_the_moment_stays_when_it_raises(optimize):
    def failing(s, x):
        ops.assign(s.p, s.p + x)
        s.q = x * 2
        ms.py_call(lambda: fail(s), out=None)
        ops.assign(s.p, s.p + x)
        return x

    def fail(s):
        raise ValueError(f"{s.p.asnumpy().tolist()} {s.q.asnumpy().tolist()}")

    net = Net(failing)
    fn = net if optimize is None else ms.jit(lambda x: net(x), optimize=optimize)
    with pytest.raises(ValueError, match=r"\[2.0, 4.0\] \[2.0, 4.0\]"):
        fn(Tensor(np.array([1.0, 2.0])))
    assert net.left() == (0, [2.0, 4.0], [2.0, 4.0])


@pytest.mark.parametrize("optimize", LEVELS)
def test_arrays_still_share_the_memory_of_a_parameter(optimize):
    net = Net(scaled)
    shared = net.p.asnumpy()
    ms.jit(lambda x: net(x), optimize=optimize)(Tensor(np.array([1.0, 2.0])))
    assert shared.tolist() == [2.0, 4.0]


# ---------------------------------------------------------------------------------------------------- changes
def changed_number(s, x):
    return ms.py_call(counting(s), x, out=x) * s.n


def changed_where_written(s, x):
    s.n = s.n + 1
    return ms.py_call(counting(s), x, out=x)


def changed_parameter(s, x):
    def change(a):
        s.p.set_data(Tensor(a * 3))
        return a

    return ms.py_call(change, x, out=x) * s.p


def changed_written_parameter(s, x):
    def change(a):
        s.p.set_data(Tensor(a * 3))
        return a

    ops.assign(s.p, s.p * 2)
    return ms.py_call(change, x, out=x)


def changed_tensor(s, x):
    def change(a):
        s.q = Tensor(a)
        return a

    return ms.py_call(change, x, out=x) * s.q


def changed_in_a_loop(s, x):
    i = 0
    while x.sum() > -100 and i < 3:
        x = x + s.n
        x = ms.py_call(counting(s), x, out=x)
        i += 1
    return x


def changed_list(s, x):
    def change(a):
        s.made.append(2.0)
        return a

    s.made = [1.0]
    return ms.py_call(change, x, out=x)


CHANGES = {
    changed_number: "Net.n",
    changed_where_written: "Net.n",
    changed_parameter: "p",
    changed_written_parameter: "p",
    changed_tensor: "Net.q",
    changed_in_a_loop: "Net.n",
    changed_list: "Net.made",
}


@pytest.mark.parametrize("optimize", LEVELS)
@pytest.mark.parametrize("body", CHANGES, ids=lambda body: body.__name__)
def test_what_compiled_code_uses_must_not_be_changed(body, optimize):
    net = Net(body)
    with pytest.raises(SideEffectError, match=f"changed {CHANGES[body]}, which") as caught:
        ms.jit(lambda x: net(x), optimize=optimize)(Tensor(np.array([1.0, 2.0])))
    assert caught.value.code == "AC1602"
