"""Executors that are planned once and captured graphs: when they are made, when they end, and what they never outlive.

The `device` fixture checks after each test that nothing leaks and that no rule of the interface was broken.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, ops
from autodiff_compiler.backends.ascend import modes
from autodiff_compiler.backends.ascend.device import Device, current
from autodiff_compiler.backends.ascend.library import Libraries
from autodiff_compiler.errors import AscendError
from tests.ascend.conftest import WHERE
from tests.ascend.on_device import MODES, array, ascend
from tests.ascend.test_faults import Faults, faults  # noqa: F401

simulated = pytest.mark.skipif(WHERE != "sim", reason="only a simulator fails on demand and counts what is alive")
KEEPING = ("cached", "captured")


class Watch:
    """Counts calls of CANN's functions; `before` is called when one is looked for, `after` when one has returned."""

    def __init__(self, monkeypatch: Any) -> None:
        self.calls: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda name: None
        self.after: Callable[[str], None] = lambda name: None
        function, phases = Libraries.function, Libraries.phases
        monkeypatch.setattr(Libraries, "function", lambda lib, name: self.watched(name, function(lib, name)))

        def both(lib: Libraries, operator: str) -> tuple[Any, Any]:
            plan, queue = phases(lib, operator)
            return self.watched(f"plan {operator}", plan), self.watched(f"queue {operator}", queue)

        monkeypatch.setattr(Libraries, "phases", both)

    def watched(self, name: str, found: Any) -> Any:
        self.before(name)

        def call(*args: Any) -> Any:
            self.calls[name] += 1
            result = found(*args)
            self.after(name)
            return result

        return call

    def of(self, run: Callable[[], object]) -> Counter[str]:
        """Those of a call."""
        before = self.calls.copy()
        run()
        return self.calls - before


@pytest.fixture
def watch(device: Any, monkeypatch: Any) -> Watch:
    return Watch(monkeypatch)


def alive(device: Any, kind: str) -> int:
    """How many objects of a kind the device holds, once it has ended what nobody needs."""
    gc.collect()
    ops.exp(Tensor([0.0]))
    return next((int(n) for name, n in (line.split(": ") for line in device.leaks().splitlines()) if name == kind), 0)


def network(seed: int = 0) -> Any:
    """A new program of several operators, some of which need a workspace; it reads a parameter."""
    w = Parameter(array(4, 3, seed=seed), name="w")

    @ms.jit
    def f(x: Any) -> Any:
        y = ops.tanh(ops.matmul(x, w))
        return (ops.sort(y)[0] * y).sum() + ops.exp(-y).mean()

    f.w = w
    return f


X = array(5, 4, seed=1)


def expected(f: Any, x: Any = X) -> float:
    y = np.tanh(x.astype(float) @ f.w.asnumpy().astype(float))
    return float((np.sort(y) * y).sum() + np.exp(-y).mean())


def settled(watch: Watch, run: Callable[[], object]) -> bool:
    """Whether nothing is planned or captured any more after a few runs, as the pool gives out the same addresses."""
    found = [watch.of(run) for _ in range(12)]
    return all(c["plan Tanh"] + c["aclmdlRICaptureBegin"] == 0 for c in found[-3:])


def right(f: Any, x: Any = X) -> None:
    np.testing.assert_allclose(f(Tensor(x)).item(), expected(f, x), rtol=1e-5)


def runs(f: Any, times: int = 4) -> None:
    for _ in range(times):
        right(f)


# ------------------------------------------------------------------------------------------------ kept and used again
def test_what_is_kept_is_used_again(watch: Watch) -> None:
    f = network()
    with ascend(ascend_mode="cached"):
        assert settled(watch, lambda: right(f))
    g = network()
    with ascend(ascend_mode="captured"):
        runs(g, 3)
        found = watch.of(lambda: right(g))
        assert found["aclmdlRIExecuteAsync"] == 1
        assert found["plan Tanh"] == found["queue Tanh"] == found["aclmdlRICaptureBegin"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_addresses_that_change(mode: str, device: Any) -> None:
    """Parameters replaced, of the host or of the device; Tensors that come from the host; a pool that grows."""
    f, held = network(), []
    with ascend(ascend_mode=mode):
        for i in range(12):
            if i % 4 == 1:
                f.w.set_data(Tensor(array(4, 3, seed=i)))
            if i % 4 == 2:
                f.w.assign_value(ops.exp(Tensor(array(4, 3, seed=i))) - 1)
            if i % 4 == 3:
                f.w.asnumpy()
                held.append(Tensor(array(50, 10 + i)) * 2)
            x = array(5, 4, seed=i)
            right(f, x)
            right(f, x)
            np.testing.assert_allclose(f(ops.exp(Tensor(x))).item(), expected(f, np.exp(x)), rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_shapes_that_change(mode: str, device: Any) -> None:
    f = network()
    with ascend(ascend_mode=mode):
        for i in range(15):
            right(f, array(2 + i % 5, 4, seed=i))


@pytest.mark.some(2)
@simulated
@pytest.mark.parametrize("mode", KEEPING)
def test_a_program_that_is_gone_keeps_nothing(mode: str, device: Any) -> None:
    with ascend(ascend_mode=mode):
        for seed in range(3):
            f = network(seed)
            runs(f)
            ops.exp(Tensor([0.0]))
            assert alive(device, "executor" if mode == "cached" else "graph") > 0
            del f
            assert alive(device, "executor") == alive(device, "graph") == alive(device, "tensor") == 0


# ------------------------------------------------------------------------------------------------ memory given back
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", ["allocate", "workspace"])
def test_memory_is_given_back_in_the_middle_of_a_segment(mode: str, where: str, device: Any, monkeypatch: Any) -> None:
    """What a segment is at must not end meanwhile, and what has ended is not used again."""
    f = network()
    trims: list[bool] = []
    original = getattr(Device, where)

    def squeezed(self: Device, *args: Any) -> Any:
        trims.append(any(self._memory.unused.values()))
        self.trim()
        return original(self, *args)

    with ascend(ascend_mode=mode):
        runs(f, 1)
        for k in range(5):
            ops.exp(Tensor(array(100 + k)))  # there is something to give back
            with monkeypatch.context() as patch:
                patch.setattr(Device, where, squeezed)
                right(f)
            right(f)
        assert any(trims)


@pytest.mark.parametrize("mode", KEEPING)
def test_what_ends_right_before_it_is_used(mode: str, device: Any, monkeypatch: Any) -> None:
    """Garbage is collected at any time, and a finalizer may give memory back: the segment runs another way."""
    f, used = network(), modes._used

    def too_late(item: Any, queue: Any) -> bool:
        current().trim()
        return used(item, queue)

    with ascend(ascend_mode=mode):
        runs(f)
        monkeypatch.setattr(modes, "_used", too_late)
        for k in range(4):
            ops.exp(Tensor(array(100 + k)))
            right(f)


@pytest.mark.some(3)
@simulated
@pytest.mark.parametrize("mode", MODES)
def test_a_device_that_is_almost_full(mode: str, faults: Faults) -> None:  # noqa: F811
    """The pool asks for memory back, in whichever allocation it is, and programs go on."""
    f = network()
    with ascend(ascend_mode=mode):
        faults.memory_limit(200_000)
        for i in range(40):
            runs(f, 2)
            assert ops.exp(Tensor(np.zeros(9000 + 2000 * (i % 7), np.float32))).asnumpy()[5] == 1


@pytest.mark.some(3)
@pytest.mark.parametrize("mode", MODES)
def test_segments_share_the_memory_of_values_in_between(mode: str, device: Any) -> None:
    """Each of six segments needs a megabyte for itself, and none needs it when it has been queued."""

    @ms.jit
    def f(x: Any) -> Any:
        total = x.sum()
        for _ in range(6):
            if total > -1:  # the host decides, so a segment ends here
                total = total + ops.exp(x.reshape((512, 1)) * x).sum() * 0
        return total

    x = array(512)
    with ascend(ascend_mode=mode, max_device_memory="4MB"):
        for _ in range(4):
            np.testing.assert_allclose(f(Tensor(np.abs(x))).item(), np.abs(x).sum(), rtol=1e-5)


# ------------------------------------------------------------------------------------------------ devices, settings
@pytest.mark.parametrize("mode", KEEPING)
def test_each_device_keeps_its_own(mode: str, watch: Watch) -> None:
    f = network()
    with ascend(0, ascend_mode=mode):
        fixed = {}
        for number in (0, 1):
            ms.set_device("Ascend", number)
            fixed[number] = ops.exp(Tensor(X))

        def there_and_back() -> None:
            for number in (0, 1):
                ms.set_device("Ascend", number)
                for _ in range(2):
                    f(fixed[number])  # the last one is on the stream while the other device runs

        assert settled(watch, there_and_back)
        found = watch.of(there_and_back)
        assert found["aclmdlRIDestroy"] == found["aclDestroyAclOpExecutor"] == 0
        ms.set_device("Ascend", 1)
        f(Tensor(X))
        ms.set_device("Ascend", 0)
        current().trim()
        ms.set_device("Ascend", 1)
        runs(f)


@pytest.mark.parametrize("mode", KEEPING)
def test_what_was_made_without_determinism_is_not_used_with_it(mode: str, watch: Watch) -> None:
    f = network()
    with ascend(ascend_mode=mode):
        try:
            runs(f)
            assert watch.of(lambda: right(f))["plan Tanh"] == 0
            ms.set_deterministic(True)
            found = watch.of(lambda: right(f))
            assert found["plan Tanh"] == found["queue Tanh"] == 1
            assert found["aclmdlRIExecuteAsync"] == 0
            runs(f)
            assert watch.of(lambda: right(f))["plan Tanh"] == 0
        finally:
            ms.set_deterministic(False)
        found = watch.of(lambda: right(f))
        assert found["plan Tanh"] == 0, "what was made before is good again"


# ------------------------------------------------------------------------------------------------ failures
@pytest.mark.some(2)
@simulated
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operator", ["Mm", "Tanh", "Sort", "Exp"])
@pytest.mark.parametrize("run", [1, 2, 3, 4])
@pytest.mark.parametrize("kth", [1, 2])
def test_an_operator_that_fails(mode: str, operator: str, run: int, kth: int, faults: Faults) -> None:  # noqa: F811
    """The exception names it, or the segment runs another way; the next runs are right."""
    f = network()
    with ascend(ascend_mode=mode):
        runs(f, run - 1)
        faults.call(f"aclnn{operator}", kth, 561103)  # whichever phases these are
        failed: list[AscendError] = []
        try:
            for _ in range(3):
                right(f)
        except AscendError as error:
            failed.append(error)
        if not failed:
            assert (mode == "captured" and run > 1) or (mode, kth) == ("cached", 2)
        for error in failed:
            assert error.function.startswith(f"aclnn{operator}")
            assert "test_modes.py:" in error.loc
        faults.reset()
        runs(f, 5)


@simulated
@pytest.mark.parametrize("mode", KEEPING)
def test_a_failure_that_shows_while_a_graph_is_made_is_not_lost(
    mode: str,
    faults: Faults,  # noqa: F811
    monkeypatch: Any,
) -> None:
    """Memory for the capture is asked for, so the stream is waited for, and an earlier operator failed there."""
    f, workspace = network(), Device.workspace
    with ascend(ascend_mode=mode):
        runs(f, 1)
        faults.task("Cos", 1, 507015)
        lost = ops.cos(Tensor([0.0]))
        current()._workspace = None  # for the capture one is allocated, and for that memory given back
        monkeypatch.setattr(Device, "workspace", lambda self, n: (self.trim(), workspace(self, n))[1])
        with pytest.raises(AscendError, match="507015"):
            f(Tensor(X)).item()
        del lost
        runs(f)


@pytest.mark.some(3)
@simulated
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_at_any_call_of_a_run(mode: str, when: str, watch: Watch) -> None:
    """Before or after calls that plan, queue, capture or replay: nothing leaks, and the stream is free."""
    f, left = network(), 0

    def interrupt(name: str) -> None:
        nonlocal left
        if name.startswith(("queue ", "aclmdlRI", "aclSetAcl", "plan ")) and name != "aclmdlRIDestroy":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    with ascend(ascend_mode=mode):
        for k in range(1, 1000, 5):
            g = network(k)
            runs(g, 1)
            left = k
            setattr(watch, when, interrupt)
            try:
                for _ in range(2):
                    g(Tensor(X))
            except KeyboardInterrupt:
                pass
            setattr(watch, when, lambda name: None)
            runs(g, 3)
            right(f)
            if left > 0:
                break
    assert 10 < k < 900


@pytest.mark.some(4)
@pytest.mark.parametrize("what", ["value", "program", "new value", "memory"])
@pytest.mark.parametrize("place", ["aclmdlRICaptureBegin", "queue Mm", "queue Tanh", "queue Exp"])
def test_the_handler_of_a_signal_uses_the_device_while_a_segment_is_captured(
    what: str, place: str, watch: Watch
) -> None:
    """It comes between two operators; what it needs is not recorded, and the segment is right all the same."""
    f, g = network(), network(1)
    seen: list[Any] = []

    def handler(name: str) -> None:
        begun = watch.calls["aclmdlRICaptureBegin"] - watch.calls["aclmdlRICaptureEnd"]
        if name == place and begun == 1 and not seen:
            seen.append(None)
            seen[0] = uses[what]()

    with ascend(ascend_mode="captured"):
        value = ops.exp(Tensor(X))
        uses = {
            "value": lambda: value.asnumpy().sum(),
            "program": lambda: g(Tensor(X)).item(),
            "new value": lambda: ops.exp(Tensor(X)).asnumpy().sum(),
            "memory": lambda: current().trim(),
        }
        runs(g, 1)
        ops.exp(Tensor(X))
        runs(f, 1)
        watch.after = handler
        runs(f, 4)
        runs(g, 4)
        watch.after = lambda name: None
        wanted = {"program": expected(g), "memory": None}.get(what, np.exp(X.astype(float)).sum())
    assert len(seen) == 1
    assert seen[0] is wanted or seen[0] == pytest.approx(wanted, rel=1e-5)


# ------------------------------------------------------------------------------------------------ limits
@pytest.fixture
def log(caplog: Any) -> Iterator[Any]:
    with caplog.at_level(logging.WARNING, "autodiff_compiler.backends.ascend"):
        yield caplog


@simulated
def test_so_many_graphs_and_no_more(device: Any, monkeypatch: Any, log: Any) -> None:
    monkeypatch.setattr(modes._Graph, "most", 3)
    programs = [network(k) for k in range(6)]
    with ascend(ascend_mode="captured"):
        for _ in range(5):
            for f in programs:
                right(f)
        assert alive(device, "graph") == 3
        assert alive(device, "executor") > 0, "the others run by executors"
        assert [r.getMessage() for r in log.records] == [
            "device 0, captured graphs: there is room for 3 of them; "
            "other segments run by executors that are planned once"
        ]
        for _ in range(40):
            right(programs[-1])  # the others are idle, so it gets its graph
        assert alive(device, "graph") == 3
        del programs[:-1]
        assert alive(device, "graph") == 1


@simulated
def test_so_many_executors_and_no_more(device: Any, monkeypatch: Any, log: Any) -> None:
    monkeypatch.setattr(modes._Executors, "most", 20)
    programs = [network(k) for k in range(5)]
    with ascend(ascend_mode="cached"):
        for _ in range(5):
            for f in programs:
                right(f)
        assert 0 < alive(device, "executor") <= 20
        assert len(log.records) == 1
        assert "there is room for 20 of them; other operators are planned each time" in log.text
        monkeypatch.setattr(modes._Executors, "most", 2)
    with ascend(1, ascend_mode="cached"):
        runs(programs[0])
        assert alive(device, "executor") > 2, "what is more than that goes alone"


@pytest.mark.some(2)
@simulated
@pytest.mark.parametrize("code", [207005, 207007, 207008, 207009, 207010, 207012])
@pytest.mark.parametrize("function", ["aclmdlRICaptureBegin", "aclmdlRICaptureEnd", "aclmdlRIExecuteAsync"])
def test_no_room_for_a_graph(code: int, function: str, faults: Faults, watch: Watch, log: Any) -> None:  # noqa: F811
    f, g, h = (network(k) for k in range(3))
    with ascend(ascend_mode="captured"):
        runs(f)
        faults.call(function, 2 if function == "aclmdlRIExecuteAsync" else 1, code)
        runs(f, 1)
        runs(g)
        runs(h)
        assert settled(watch, lambda: (right(g), right(h))), "executors are kept"
        assert watch.of(lambda: (right(g), right(h)))["queue Tanh"] >= 1
        assert len([r for r in log.records if str(code) in r.getMessage()]) == 1


@simulated
def test_a_segment_that_cannot_be_captured_is_planned_once(faults: Faults, watch: Watch, log: Any) -> None:  # noqa: F811
    f, g = network(), network(1)
    with ascend(ascend_mode="captured"):
        faults.refuse_capture(True)
        runs(f)
        runs(g)
        assert settled(watch, lambda: right(f))
        assert len(log.records) == 1
        assert "captured graphs: aclmdlRICaptureBegin failed with 207000" in log.text


@simulated
def test_no_room_for_executors(faults: Faults, watch: Watch, log: Any) -> None:  # noqa: F811
    f, g = network(), network(1)
    with ascend(ascend_mode="cached"):
        runs(f)
        faults.call("aclSetAclOpExecutorRepeatable", 2, 207005)
        runs(g)
        assert settled(watch, lambda: right(f))
        assert watch.of(lambda: right(g))["plan Tanh"] == 1
        assert len(log.records) == 1


# ------------------------------------------------------------------------------------------------ threads
@pytest.mark.parametrize("mode", MODES)
def test_threads_run_one_program_while_memory_is_given_back(mode: str, device: Any) -> None:
    f = network()
    found: list[float] = []
    done = threading.Event()

    def work() -> None:
        found.extend(f(Tensor(X)).item() for _ in range(15))

    def squeeze() -> None:
        while not done.is_set():
            current().trim()

    with ascend(ascend_mode=mode):
        runs(f, 1)
        workers = [threading.Thread(target=work) for _ in range(3)]
        squeezer = threading.Thread(target=squeeze)
        for t in (*workers, squeezer):
            t.start()
        for t in workers:
            t.join()
        done.set()
        squeezer.join()
    np.testing.assert_allclose(found, [expected(f)] * 45, rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_a_function_of_the_host_calls_the_same_program(mode: str, device: Any) -> None:
    """Between the segments of a program the same program runs with other values."""
    depth = [0]

    def again(y: Any) -> Any:
        if depth[0] == 3:
            return np.asarray(y)
        depth[0] += 1
        try:
            return np.asarray(y) + f(Tensor(np.asarray(y))).asnumpy()
        finally:
            depth[0] -= 1

    call = ops.Custom(again, lambda x: x, lambda x: x, "pyfunc")

    @ms.jit
    def f(x: Any) -> Any:
        return call(ops.tanh(x) * 2) * x

    def wanted(x: Any, left: int) -> Any:
        y = np.tanh(x) * 2
        return (y + wanted(y, left - 1) if left else y) * x

    with ascend(ascend_mode=mode):
        for _ in range(5):
            np.testing.assert_allclose(f(Tensor(X)).asnumpy(), wanted(X, 3), rtol=1e-5, atol=1e-6)
