"""Checkpoints that MindSpore 2.10 wrote (data/make_fixtures.py): what they hold, and that ours are the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, optim
from autodiff_compiler.train import CheckpointError, ckpt_format

DATA = Path(__file__).parent / "data"
NAMES = "bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
VALUES = [[0, 1, 2], [3, 100, 5]]  # exact in every dtype but bool


def load(name: str, **options) -> dict:
    return ms.load_checkpoint(str(DATA / name), **options)


@pytest.mark.parametrize("name", ["dtypes.ckpt", "checksum.ckpt"])
def test_every_dtype_and_what_was_appended(name: str) -> None:
    loaded = load(name, crc_check=name == "checksum.ckpt")
    assert list(loaded) == [*NAMES, "scalar", "step", "rate", "flag", "note", "nothing"]
    for dtype in NAMES:
        p = loaded[dtype]
        assert isinstance(p, ms.Parameter)
        assert (p.name, p.dtype, p.requires_grad) == (dtype, getattr(ms, dtype), True)
        assert p.tolist() == (np.array(VALUES, bool).tolist() if dtype == "bool_" else VALUES)
    scalars = {name: (loaded[name].shape, loaded[name].dtype, loaded[name].item()) for name in list(loaded)[13:17]}
    assert scalars == {
        "scalar": ((), ms.float32, 2.5),
        "step": ((), ms.int64, 3),
        "rate": ((), ms.float32, 0.5),
        "flag": ((), ms.bool_, True),
    }
    assert (loaded["note"], loaded["nothing"]) == ("héllo \U0001f600", "")


def test_slices_are_joined() -> None:
    loaded = load("slices.ckpt")
    np.testing.assert_array_equal(loaded["long"].asnumpy(), np.arange(700, dtype=np.float32).reshape(7, 100))


@pytest.mark.parametrize("name", ["dtypes.ckpt", "checksum.ckpt", "slices.ckpt", "training.ckpt"])
def test_what_is_saved_again_is_the_same_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "slices.ckpt":
        monkeypatch.setattr(ckpt_format, "_SLICE", 1024)
    ms.save_checkpoint(load(name), str(tmp_path / name), crc_check=name == "checksum.ckpt")
    assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_safetensors() -> None:
    pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")
    loaded = load("dtypes.safetensors", format="safetensors", crc_check=True)
    assert sorted(loaded) == sorted({*NAMES, "scalar"} - {"bfloat16"})
    for dtype in set(loaded) - {"scalar", "bool_"}:
        assert (loaded[dtype].dtype, loaded[dtype].tolist()) == (getattr(ms, dtype), VALUES)
    assert loaded["bool_"].tolist() == np.array(VALUES, bool).tolist()
    assert loaded["scalar"].item() == 2.5


def test_an_encrypted_file_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"encrypted\.ckpt is no valid \.ckpt file"):
        load("encrypted.ckpt")
    with pytest.raises(NotImplementedError, match="cannot be read"):
        load("encrypted.ckpt", dec_key=b"0123456789abcdef")


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(3, 2)
        self.bn = nn.BatchNorm1d(2)

    def construct(self, x):
        return self.bn(self.fc(x))


def test_a_network_goes_on_where_mindspore_stopped() -> None:
    net = Block()
    assert ms.load_param_into_net(net, load("training.ckpt"))[0] == []
    # The values as MindSpore printed them.
    np.testing.assert_array_equal(
        net.fc.weight.asnumpy(),
        np.array([[0.99052149, 0.84704256, 1.15305305], [1.11081111, 1.13634074, 0.73535001]], np.float32),
    )
    np.testing.assert_array_equal(net.bn.moving_mean.asnumpy(), np.array([0.81612813, 0.8120389], np.float32))
    x = np.array([[1.0, 0.0, 2.0]], np.float32)
    loaded = {name: p.asnumpy().astype(np.float64) for name, p in load("training.ckpt").items()}
    dense = x @ loaded["fc.weight"].T + loaded["fc.bias"]
    scale = loaded["bn.gamma"] / np.sqrt(loaded["bn.moving_variance"] + 1e-5)
    expected = (dense - loaded["bn.moving_mean"]) * scale + loaded["bn.beta"]
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), expected, rtol=1e-5)


def test_an_optimizer_goes_on_where_mindspore_stopped() -> None:
    net = Block()
    optimizer = optim.Momentum(net.trainable_params(), 1.0, 0.5)
    missing, _ = ms.load_param_into_net(optimizer, load("training.ckpt"))
    assert missing == []
    assert (int(optimizer.global_step.asnumpy().item()), float(optimizer.learning_rate)) == (3, 0.25)
    before = net.bn.gamma.asnumpy().copy()
    optimizer(tuple(ms.ops.zeros_like(p) for p in net.trainable_params()))
    # Without a gradient a step is -rate * momentum * (the moments as MindSpore printed them).
    moments = np.array([0.6499363, 0.9730278])
    np.testing.assert_allclose(before - net.bn.gamma.asnumpy(), 0.25 * 0.5 * moments, rtol=1e-5)
