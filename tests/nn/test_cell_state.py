"""The state of Cells: buffers, `state_dict`, loading, element types."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn


class Counting(nn.Cell):
    """Scales, and counts its calls in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", Tensor([0.0]))
        self.register_buffer("work", Tensor([7.0]), persistent=False)
        self.scale = Parameter(Tensor([2.0]))

    def construct(self, x: Any) -> Any:
        self.calls = self.calls + 1
        return x * self.scale


class Nested(nn.Cell):
    """A Cell with a buffer and a part with some."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Counting()
        self.register_buffer("shift", Tensor([10.0]))

    def construct(self, x: Any) -> Any:
        total = self.get_sub_cell("part")(x) + self.get_buffer("shift")
        for b in self.buffers():
            total = total + b
        return total


def test_buffers_are_part_of_the_program(mode: str) -> None:
    net = Nested()
    assert net(Tensor([1.0])).tolist() == [2 + 10 + (10 + 1 + 7)]
    assert net(Tensor([1.0])).tolist() == [2 + 10 + (10 + 2 + 7)]
    net.shift = Tensor([0.0])
    assert net(Tensor([1.0])).tolist() == [2 + 3 + 7]
    assert net.get_buffer("part.calls").tolist() == [3.0]


def test_where_buffers_are() -> None:
    net = Nested()
    assert [name for name, _ in net.named_buffers()] == ["shift", "part.calls", "part.work"]
    assert [name for name, _ in net.named_buffers("net", recurse=False)] == ["net.shift"]
    net.register_buffer("again", net.shift)
    assert len(list(net.buffers())) == 3
    assert len(list(net.named_buffers(remove_duplicate=False))) == 4
    assert [p.name for p in net.trainable_params()] == ["part.scale"]


def test_what_can_be_a_buffer() -> None:
    net = Counting()
    net.register_buffer("none", None)
    assert net.none is None
    assert "none" not in net.state_dict()
    for name, error in (("", KeyError), ("a.b", KeyError), ("scale", KeyError), (3, TypeError)):
        with pytest.raises(error):
            net.register_buffer(name, Tensor([1.0]))
    with pytest.raises(TypeError, match="a Tensor or None"):
        net.register_buffer("new", 3.0)
    with pytest.raises(TypeError, match="is a buffer"):
        net.calls = 3.0
    for path in ("scale", "part.calls", "missing"):
        with pytest.raises(AttributeError):
            net.get_buffer(path)
    del net.work
    assert [name for name, _ in net.named_buffers()] == ["calls"]
    net.work = Tensor([1.0])
    assert [name for name, _ in net.named_buffers()] == ["calls"]

    class Early(nn.Cell):
        def __init__(self) -> None:
            self.register_buffer("b", Tensor([1.0]))

    with pytest.raises(AttributeError, match="super"):
        Early()


def test_parts_by_kind() -> None:
    net = Nested()
    assert (list(net._cells), list(net._params), list(net._buffers)) == (["part"], [], ["shift"])
    net._params["extra"] = Parameter([1.0])
    assert net.extra.name == "extra"
    del net._cells["part"]
    assert not hasattr(net, "part")
    with pytest.raises(KeyError):
        net._cells["shift"]


def test_parts_are_read_by_the_program(mode: str) -> None:
    class Chain(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self._cells["first"] = nn.ReLU()
            self.bias = Parameter([1.0])

        def construct(self, x: Any) -> Any:
            for cell in self._cells.values():
                x = cell(x)
            for name, p in self._params.items():
                x = x + p * len(name)
            return x

    net = Chain()
    assert net(Tensor([-1.0, 3.0])).tolist() == [4.0, 7.0]
    net._cells["second"] = nn.ReLU6()
    net._cells["first"] = nn.Identity()
    net.bias.set_data(Tensor([0.5]))
    assert net(Tensor([-1.0, 9.0])).tolist() == [2.0, 8.0]


def test_the_state_is_not_copied() -> None:
    net = Nested()
    state = net.state_dict()
    assert list(state) == ["shift", "part.scale", "part.calls"]
    assert state["part.scale"] is net.part.scale
    assert state["shift"] is net.shift
    assert list(net.state_dict(prefix="net.")) == ["net." + name for name in state]
    into: dict[str, Any] = OrderedDict(kept=1)
    assert net.state_dict(into) is into
    assert list(into) == ["kept", *state]
    for wrong in ({"destination": []}, {"prefix": 3}, {"keep_vars": 1}):
        with pytest.raises(TypeError):
            net.state_dict(**wrong)


def test_a_state_is_loaded_in_place(mode: str) -> None:
    net, other = Nested(), Nested()
    other.part.scale.set_data(Tensor([5.0]))
    other.shift = Tensor([100.0])
    assert net(Tensor([1.0])).tolist() == [30.0]
    scale, shift = net.part.scale, net.shift
    assert repr(net.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert (net.part.scale, net.shift) == (scale, shift)
    assert net(Tensor([1.0])).tolist() == [5 + 100 + (100 + 1 + 7)]
    net.load_state_dict({"part.scale": Tensor(np.array([3.0]))}, strict=False)
    assert (scale.tolist(), scale.dtype) == ([3.0], ms.float32)


def test_a_state_that_does_not_fit() -> None:
    net = Nested()
    found = net.load_state_dict(
        {"shift": Tensor([1.0]), "part.other": Tensor([1.0]), "x.y": Tensor([1.0])}, strict=False
    )
    assert found.missing_keys == ["part.scale", "part.calls"]
    assert sorted(found.unexpected_keys) == ["part.other", "x.y"]
    with pytest.raises(RuntimeError, match=r"has no part.scale, part.calls; the Cell has no x.y"):
        net.load_state_dict({"shift": Tensor([1.0]), "x.y": Tensor([1.0])})
    for wrong in (Tensor([1.0, 2.0]), 5.0):
        with pytest.raises(RuntimeError, match="scale"):
            net.load_state_dict({"shift": Tensor([9.0]), "part.scale": wrong}, strict=False)
    assert net.shift.tolist() == [1.0]  # nothing of the last two is loaded
    with pytest.raises(TypeError, match="dict"):
        net.load_state_dict([1])


def test_hooks_around_the_state() -> None:
    net, log = Counting(), []
    before = net.register_state_dict_pre_hook(lambda cell, prefix, keep_vars: log.append((prefix, keep_vars)))
    net.register_state_dict_post_hook(lambda cell, state, prefix, metadata: state.__delitem__("calls"))
    assert list(net.state_dict(prefix="", keep_vars=True)) == ["scale"]
    before.remove()
    before.remove()
    net.state_dict()
    assert log == [("", True)]

    def fill(cell, state, prefix, metadata, strict, missing, unexpected, errors):
        state["calls"] = Tensor([4.0])

    handle = net.register_load_state_dict_pre_hook(fill)
    net.register_load_state_dict_post_hook(lambda cell, keys: keys.unexpected_keys.clear())
    net.load_state_dict({"scale": Tensor([1.0]), "unknown": Tensor([1.0])})
    assert net.calls.tolist() == [4.0]
    handle.remove()
    with pytest.raises(RuntimeError, match="calls"):
        net.load_state_dict({"scale": Tensor([1.0])})
    with pytest.raises(TypeError, match="callable"):
        net.register_state_dict_pre_hook(3)


def test_extra_state() -> None:
    class Remembering(nn.Cell):
        def __init__(self, word: str) -> None:
            super().__init__()
            self.word = word

        def get_extra_state(self) -> Any:
            return self.word

        def set_extra_state(self, state: Any) -> None:
            self.word = state

    one, two = nn.SequentialCell(Remembering("a")), nn.SequentialCell(Remembering("b"))
    assert one.state_dict() == {"0._extra_state": "a"}
    two.load_state_dict(one.state_dict())
    assert two[0].word == "a"
    with pytest.raises(RuntimeError, match="_extra_state"):
        two.load_state_dict({})


def test_other_float_types(mode: str) -> None:
    net = nn.SequentialCell(nn.Dense(2, 1), nn.ReLU())
    net.register_buffer("b", Tensor([1.0]))
    net.register_buffer("n", Tensor([1]))
    weight, x = net[0].weight, Tensor([[1.0, 2.0]])
    net(x)
    assert net.to(ms.float16) is net
    assert (net[0].weight is weight, weight.dtype, net.b.dtype, net.n.dtype) == (True, ms.float16, ms.float16, ms.int64)
    assert net(x.astype(ms.float16)).dtype is ms.float16
    assert net.to("CPU", ms.float64).b.dtype is ms.float64
    assert net.to(Tensor([1.0])).b.dtype is ms.float32
    assert net.to(device="CPU").b.dtype is ms.float32
    with pytest.raises(TypeError, match="float type"):
        net.to(ms.int32)
    with pytest.raises(RuntimeError, match="can be used"):
        net.to("GPU")


# ------------------------------------------------------------------------------------------------ one device
def test_what_is_said_about_several_devices() -> None:
    net = nn.SequentialCell(nn.Dense(2, 1))
    net.set_data_parallel()
    assert net.set_comm_fusion(2)[0].weight.comm_fusion == 2
    net.offload(3)
    for wrong, error in (("soon", ValueError), (0, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            net.offload(wrong)
    weight = net[0].weight
    assert (weight.key, weight.sliced, weight.cache_enable, weight.cache_shape, weight.inited_param) == (
        *(-1, False, False, []),
        None,
    )
    weight.cache_shape = [1, 2]
    assert (weight.clone().cache_shape, net[0].bias.cache_shape) == ([1, 2], [])


def test_inputs_of_open_sizes_are_kept() -> None:
    net, x = nn.ReLU(), Tensor(shape=[3, None], dtype=ms.float32)
    assert net.get_inputs() is None
    net.set_inputs(x)
    assert net.get_inputs() == (x,)
    net.set_inputs(x=x)
    assert net.get_inputs() == (x,)
    with pytest.raises(TypeError, match="not both"):
        net.set_inputs(x, x=x)
    with pytest.raises(TypeError):
        net.set_inputs(x, x)
    assert net(Tensor([[1.0, -1.0]])).tolist() == [[1.0, 0.0]]
