"""Where the elements of Tensors are: they move to the device where it uses them, and stay."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.eager.recorded_call import RecordedCall
from tests.ascend.on_device import Copies, Waits, array, ascend


def test_parameters_stay_on_the_device(device: Any, monkeypatch: Any) -> None:
    network = nn.Dense(32, 32, weight_init="ones")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
    gradient = ms.value_and_grad(lambda x: (network(x) ** 2).mean(), None, optimizer.parameters)

    def step(x: Any) -> Any:
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    with ascend():
        for run in (ms.jit(step), step):
            run(Tensor(array(4, 32)))
            copies = Copies(monkeypatch, least=4 * 32 * 8)  # more than the bias, less than the weight
            assert copies.of(lambda run=run: run(Tensor(array(4, 32)))) == (0, 0)
            assert network.weight.device == "Ascend:0"
    assert network.weight.device == "Ascend:0"  # until the CPU uses it
    assert np.isfinite((network.weight * 1).asnumpy()).all()
    assert network.weight.device == "CPU"


def test_labels_are_checked_without_waiting(device: Any, monkeypatch: Any) -> None:
    """What came from the host is known there, also what a few operators make of it (-100: not counted)."""
    logits, waits = Tensor(array(4, 3)), Waits(monkeypatch)
    gradient = ms.jit(ms.value_and_grad(lambda x, y: ops.cross_entropy(x, y)))
    labels = np.array([0, 2, -100, 1], np.int32)
    expected = gradient(logits, Tensor(labels))[0].item()
    with ascend():
        for _ in range(2):
            assert waits.of(lambda: gradient(logits, Tensor(labels))) == 0
            assert waits.of(lambda: logits[Tensor([1, -1])]) == 0
        np.testing.assert_allclose(gradient(logits, Tensor(labels))[0].item(), expected, rtol=1e-5)
        beyond = np.array([0, 3, -100, 1], np.int32)
        for known in (0, 1):  # what an operator made only the device knows
            make = Tensor if known else lambda values: Tensor(values) + 0
            np.testing.assert_allclose(gradient(logits, make(labels))[0].item(), expected, rtol=1e-5)
            with pytest.raises(IndexError, match="index 3 is out of bounds for size 3"):
                gradient(logits, make(beyond))
        y = Tensor(labels)
        gradient(logits, y)
        y[0] = 9  # what is written is seen
        with pytest.raises(IndexError, match="index 9 is out of bounds for size 3"):
            gradient(logits, y)
        held = Tensor.from_numpy(own := labels.copy())
        gradient(logits, held)
        own[1] = -1
        with pytest.raises(IndexError, match="index -1 is out of bounds for size 3"):
            gradient(logits, held)


def test_indices_that_many_operators_make_are_checked_too(device: Any, monkeypatch: Any) -> None:
    x, waits = Tensor(array(7)), Waits(monkeypatch)

    def through(steps: int) -> Any:
        @ms.jit(unroll_limit=100)
        def f(x: Any, i: Any) -> Any:
            for _ in range(steps):
                i = (i * i + 1) % 11
            return x[i]

        return f

    with ascend():
        for steps, waited in ((1, 0), (60, 1)):
            f, where = through(steps), 2
            f(x, Tensor([2]))
            assert waits.of(lambda f=f: f(x, Tensor([2]))) == waited
            for _ in range(steps):
                where = (where * where + 1) % 11
            assert f(x, Tensor([2])).asnumpy() == array(7)[where]
        with pytest.raises(IndexError, match="index 10 is out of bounds for size 7"):
            through(1)(x, Tensor([3]))


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("make", [nn.SGD, nn.Adam, nn.AdamWeightDecay])
def test_training_waits_for_nothing(device: Any, monkeypatch: Any, compiled: bool, make: Any) -> None:
    network, waits = nn.Dense(3, 2), Waits(monkeypatch)
    optimizer = make(network.trainable_params(), 0.01)
    gradient = ms.value_and_grad(lambda x, y: ops.mse_loss(network(x), y), None, optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    run = ms.jit(step) if compiled else step
    x, y = Tensor(array(4, 3)), Tensor(array(4, 2))
    with ascend():
        run(x, y)
        assert waits.of(lambda: [run(x, y) for _ in range(3)]) == 0


def test_a_value_that_is_assigned_stays_on_the_device(device: Any, monkeypatch: Any) -> None:
    p, seen = Parameter(array(4), name="p"), Parameter(array(4), name="seen")
    shared = seen.asnumpy()
    with ascend():
        value, waits = Tensor(array(4)) * 2, Waits(monkeypatch)
        assert waits.of(lambda: ops.assign(p, value)) == 0
        assert p.device == "Ascend:0"
        ops.assign(seen, value)  # whose array somebody else has
        value[0] = 7
        for found in (p.asnumpy(), seen.asnumpy(), shared):
            np.testing.assert_array_equal(found, array(4) * 2)


def test_a_result_goes_from_program_to_program_without_the_host(device: Any, monkeypatch: Any) -> None:
    f = ms.jit(lambda x: ops.tanh(x) * 2)
    with ascend():
        x = Tensor(array(100))
        f(f(x))
        copies = Copies(monkeypatch)
        assert copies.of(lambda: f(f(f(x)))) == (0, 0)
        assert copies.of(lambda: f(x).asnumpy()) == (0, 1)
        assert copies.of(lambda: (x + x).item if False else (x + x) * x) == (0, 0)


def test_a_gradient_after_set_grad_reads_nothing_back_and_sees_writes(device: Any, monkeypatch: Any) -> None:
    network = nn.Dense(32, 32, weight_init="ones", bias_init="zeros")
    network.set_grad()
    gradient = ms.grad(network, None, network.trainable_params())
    pulled: list[Any] = []
    pull = RecordedCall.pull
    monkeypatch.setattr(RecordedCall, "pull", lambda call, *args: pulled.append(call) or pull(call, *args))
    with ascend():
        copies = Copies(monkeypatch)
        for _ in range(2):
            x = Tensor(array(4, 32))
            network(x)
            assert copies.of(lambda x=x: gradient(x))[1] == 0
        assert len(pulled) == 2, "the gradient is that of the call before it"
        network(x)
        x.copy_(x * 0)
        assert not gradient(x)[0].asnumpy().any()
    assert (len(pulled), copies.down) == (2, 1)


def test_an_array_that_others_see_stays_on_the_host(device: Any) -> None:
    own = array(4)
    x = Tensor.from_numpy(own)
    p = Parameter(array(4), name="p")
    seen = p.asnumpy()
    f = ms.jit(lambda x: x * p)
    with ascend():
        f(x)
        own[0], seen[0] = 10, 3  # each shows what is written to the other
        assert f(x).asnumpy()[0] == 30
        assert (x * p).asnumpy()[0] == 30
        assert (x.device, p.device) == ("CPU", "CPU")
        ops.assign(p, Tensor(np.full(4, 2, np.float32)))
        assert seen[0] == 2
        p.set_data(Tensor(np.full(4, 5, np.float32)))
        assert (seen[0], f(x).asnumpy()[0]) == (2, 50)
        del seen
        f(x)
        assert p.device == "Ascend:0"


def test_asnumpy_shares_memory_as_on_the_cpu(device: Any) -> None:
    with ascend():
        x = ops.exp(Tensor(np.zeros(3, np.float32)))
        x.asnumpy()[1] = 7
        assert x.tolist() == [1, 7, 1]
        assert (x + 1).tolist() == [2, 8, 2]


def test_writes_do_not_reach_copies_and_tapes(device: Any) -> None:
    with ascend():
        x = ops.exp(Tensor(np.zeros(3, np.float32)))
        y, z = x.copy(), copy.deepcopy(x)
        x[0] = 5
        assert (x.tolist(), y.tolist(), z.tolist()) == ([5, 1, 1], [1, 1, 1], [1, 1, 1])
        x[Tensor([1, 2])] = Tensor(np.array([8, 9], np.float32))
        assert x.tolist() == [5, 8, 9]
        p = Parameter(np.array([1.0, 2.0], np.float32), name="p")

        def changes(v: Any) -> Any:
            product = p * v
            p.assign_value(p + 10)
            return product * product

        assert ms.grad(changes)(Tensor(np.array([3.0, 1.0], np.float32))).tolist() == [6, 8]
        assert p.tolist() == [11, 12]


def test_what_a_tensor_says_without_moving(device: Any, monkeypatch: Any) -> None:
    with ascend():
        x = ops.exp(Tensor(np.zeros((2, 3), np.float32)))
        copies = Copies(monkeypatch)
        assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides) == ((2, 3), 2, 6, 4, 24, (12, 4))
        assert (len(x), x.dtype, x.device) == (2, ms.float32, "Ascend:0")
        assert (copies.up, copies.down) == (0, 0)
        assert repr(x) == repr(Tensor(np.ones((2, 3), np.float32)))
        assert str(x) == "[[1. 1. 1.]\n [1. 1. 1.]]"
        assert float(x[0, 0]) == 1
        assert x.get_bytes() == np.ones((2, 3), np.float32).tobytes()
        assert bool((x == 1).all())
        assert x.device == "Ascend:0"


def test_pickles_and_clones(device: Any) -> None:
    with ascend():
        p = Parameter(array(3), name="p")
        x = p * 1
        assert p.device == "Ascend:0"
        for made in (pickle.loads(pickle.dumps(p)), p.clone()):
            assert (made.name, made.tolist()) == ("p", p.tolist())
        assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
        assert p.clone("zeros").tolist() == [0, 0, 0]
        assert Tensor(x).tolist() == x.tolist()
        assert x.move_to("CPU").device == "CPU"


def test_checkpoints_from_the_device(device: Any, tmp_path: Path) -> None:
    network = nn.Dense(3, 2)
    with ascend():
        network(Tensor(array(4, 3)))
        file = str(tmp_path / "dense.ckpt")
        ms.save_checkpoint(network, file)
        other = nn.Dense(3, 2)
        other(Tensor(array(4, 3)))
        assert other.weight.device == "Ascend:0"
        assert ms.load_param_into_net(other, ms.load_checkpoint(file)) == ([], [])
        np.testing.assert_array_equal(other.weight.asnumpy(), network.weight.asnumpy())
        np.testing.assert_array_equal(other(Tensor(array(4, 3))).asnumpy(), network(Tensor(array(4, 3))).asnumpy())


def test_numpy_does_not_compute_with_it_unasked(device: Any) -> None:
    with ascend():
        data: Any = ops.exp(Tensor(np.zeros(3, np.float32)))._data
        with pytest.raises(TypeError, match="ufunc"):
            np.add(data, 1)
        with pytest.raises(TypeError, match="__array_function__"):
            np.concatenate([data, data])
        assert np.asarray(data).tolist() == [1, 1, 1]
        with pytest.raises(ValueError, match="without a copy"):
            data.__array__(copy=False)


def test_one_function_for_two_devices(device: Any) -> None:
    p = Parameter(np.array([1.0, 2.0], np.float32), name="p")

    @ms.jit
    def step(x: Any) -> Any:
        p.assign_value(p * 2)
        return x * p

    x = Tensor(np.array([1.0, 10.0], np.float32))
    assert step(x).tolist() == [2, 40]
    with ascend():
        assert step(x).tolist() == [4, 80]
        with ascend(1):
            assert (step(x).tolist(), p.device) == ([8, 160], "Ascend:1")
        ms.set_device("Ascend", 0)
        assert (step(x).tolist(), p.device) == ([16, 320], "Ascend:0")
    assert (step(x).tolist(), p.device) == ([32, 640], "CPU")
    assert step.cache_info()["compiles"] == 2
    assert [change.kind for change in step.explain_recompiles()[1].changes] == ["device"]


def test_a_pullback_that_outlives_the_device(device: Any) -> None:
    f = ms.jit(lambda x: (ops.sin(x) * x).sum())
    x = Tensor(array(4))
    wanted = ms.grad(lambda x: (ops.sin(x) * x).sum())(x).asnumpy()
    with ascend():
        _, pull = ms.vjp(f, x)
    found = pull(Tensor(np.array(1, np.float32)))
    np.testing.assert_allclose(found.asnumpy() if isinstance(found, Tensor) else found[0].asnumpy(), wanted, rtol=1e-5)
