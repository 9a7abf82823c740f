"""Saving and loading: round trips, names and choices, reports, and files that stay whole."""

from __future__ import annotations

import io
import os
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops, optim
from autodiff_compiler.dtypes import ALL
from autodiff_compiler.errors import AutodiffWarning, ParameterError, SideEffectError
from autodiff_compiler.train import CheckpointError, checkpoint_file, ckpt_format

FORMATS = ["ckpt", "npz", "safetensors"]
SHAPES = [(), (1,), (0,), (2, 0, 3), (5,), (2, 3, 4)]


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    if request.param == "safetensors":
        pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")
    return request.param


def net() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2, has_bias=False))


def values(cell: nn.Cell) -> dict[str, bytes]:
    return {p.name: p.asnumpy().tobytes() for p in cell.get_parameters()}


# ------------------------------------------------------------------------------------------------ round trips
def test_every_dtype_and_shape_comes_back(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    saved = {}
    for dtype in ALL:
        for shape in SHAPES:
            raw = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)  # NaNs and infinities, too
            array = (raw % 2).astype(bool)[..., 0] if dtype.is_bool else raw.view(dtype.numpy)[..., 0]
            saved[f"{dtype.name}.{'x'.join(map(str, shape))}"] = Parameter(Tensor(array))
    path = str(tmp_path / f"all.{form}")
    ms.save_checkpoint(saved, path, format=form, crc_check=True)
    loaded = ms.load_checkpoint(path, format=form, crc_check=True)
    assert sorted(loaded) == sorted(saved)
    for name, p in saved.items():
        assert (loaded[name].name, loaded[name].dtype, loaded[name].shape) == (name, p.dtype, p.shape)
        assert loaded[name].asnumpy().tobytes() == p.asnumpy().tobytes()


def test_other_libraries_read_the_files(tmp_path: Path) -> None:
    a = np.arange(6.0).reshape(2, 3).T  # not contiguous
    ms.save_checkpoint({"a": a, "t": "text"}, str(tmp_path / "x.npz"), format="npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["a"], a)
        assert str(archive["t"]) == "text"
    numpy_side = pytest.importorskip("safetensors.numpy", reason="the extra `safetensors` is not installed")
    ms.save_checkpoint({"a": a}, str(tmp_path / "x.safetensors"), format="safetensors")
    np.testing.assert_array_equal(numpy_side.load_file(tmp_path / "x.safetensors")["a"], a)
    numpy_side.save_file({"b": a.copy()}, tmp_path / "y.safetensors")
    loaded = ms.load_checkpoint(io.BytesIO((tmp_path / "y.safetensors").read_bytes()), format="safetensors")
    np.testing.assert_array_equal(loaded["b"].asnumpy(), a)
    np.savez(tmp_path / "y.npz", big_endian=a.astype(">f4"))
    np.testing.assert_array_equal(ms.load_checkpoint(str(tmp_path / "y.npz"), format="npz")["big_endian"].asnumpy(), a)


def test_a_network_with_its_optimizer(form: str, tmp_path: Path) -> None:
    def made(seed: int) -> tuple[nn.Cell, Any]:
        ms.set_seed(seed)
        network = net().set_train()
        return network, optim.Adam(network.trainable_params(), learning_rate=0.1)

    def trained(network: nn.Cell, optimizer: Any, steps: int) -> None:
        x = Tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))
        for _ in range(steps):
            weights = network.trainable_params()
            optimizer(ms.grad(lambda x: (network(x) ** 2).sum(), None, weights)(x))

    whole, part, other = made(1), made(1), made(2)
    trained(*whole, 5)
    trained(*part, 3)
    for cell, name in zip(part, ("net", "optimizer"), strict=True):
        ms.save_checkpoint(cell, str(tmp_path / f"{name}.{form}"), format=form)
    for cell, name in zip(other, ("net", "optimizer"), strict=True):
        loaded = ms.load_checkpoint(str(tmp_path / f"{name}.{form}"), cell, strict_load=True, format=form)
        assert loaded.keys() == {p.name for p in cell.get_parameters()}
    trained(*other, 2)
    for ours, theirs in zip(other, whole, strict=True):
        assert values(ours) == values(theirs)


def test_forms_of_what_is_saved(tmp_path: Path) -> None:
    network = net()
    path = str(tmp_path / "x.ckpt")
    forms: list[Any] = [
        network,
        list(network.get_parameters()),
        [{"name": p.name, "data": p} for p in network.get_parameters()],
        {p.name: p for p in network.get_parameters()},
        {p.name: p.asnumpy() for p in network.get_parameters()},
    ]
    files = []
    for what in forms:
        ms.save_checkpoint(what, path, choice_func=lambda name: "bias" not in name)
        files.append(Path(path).read_bytes())
    assert len(set(files)) == 1
    names = [p.name for p in network.get_parameters() if "bias" not in p.name]
    assert list(ms.load_checkpoint(path)) == names != [p.name for p in network.get_parameters()]


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given, made in [("a", "a.ckpt"), ("b.ckpt", "b.ckpt"), ("c.npz", "c.npz.ckpt")]:
        ms.save_checkpoint(nn.Dense(1, 1), given)
        assert (tmp_path / made).exists()
    ms.save_checkpoint(nn.Dense(1, 1), tmp_path / "d", format="npz")
    assert list(ms.load_checkpoint(tmp_path / "d.npz", format="npz")) == ["weight", "bias"]


def test_choices_while_loading(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    ms.save_checkpoint({n: Parameter(1.0) for n in ("fc1.w", "fc1.b", "fc2.w", "conv.w")}, path)
    assert list(ms.load_checkpoint(path, filter_prefix="fc1")) == ["fc2.w", "conv.w"]
    assert list(ms.load_checkpoint(path, specify_prefix=["fc", "x"])) == ["fc1.w", "fc1.b", "fc2.w"]
    assert list(ms.load_checkpoint(path, specify_prefix="fc", filter_prefix=("fc2",))) == ["fc1.w", "fc1.b"]
    assert list(ms.load_checkpoint(path, choice_func=lambda n: n.endswith("b"))) == ["fc1.b"]
    assert list(ms.load_checkpoint(path, filter_prefix="fc", choice_func=lambda n: False)) == ["conv.w"]
    with pytest.raises(ValueError, match="none of its names was chosen"):
        ms.load_checkpoint(path, choice_func=lambda n: False)


# ------------------------------------------------------------------------------------------------ reports
def parameters(**arrays: Any) -> dict[str, Parameter]:
    return {name.replace("_", "."): Parameter(Tensor(a), name.replace("_", ".")) for name, a in arrays.items()}


class Two(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.a = Parameter(np.zeros((2, 3), np.float32), requires_grad=False)
        self.b = Parameter(np.zeros(4, np.int32))


A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4, dtype=np.int32)


def test_missing_and_unexpected_names_are_returned_and_warned_of() -> None:
    cell = Two()
    with pytest.warns(AutodiffWarning, match="not in the checkpoint, and left as they were: b") as found:
        assert ms.load_param_into_net(cell, parameters(a=A, c=B)) == (["b"], ["c"])
    assert found[0].filename == __file__
    assert (cell.a.tolist(), cell.b.tolist()) == (A.tolist(), [0, 0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ms.load_param_into_net(cell, parameters(a=A, b=B, c=B)) == ([], ["c"])
    assert (cell.a.name, cell.a.requires_grad, cell.b.requires_grad) == ("a", False, True)


def test_compiled_code_sees_what_was_loaded() -> None:
    cell = Two()

    @ms.jit
    def total(x: Tensor) -> Tensor:
        return (cell.a * x).sum()

    assert total(Tensor(2.0)).item() == 0.0
    ms.load_param_into_net(cell, parameters(a=A, b=B))
    assert total(Tensor(2.0)).item() == 30.0


def test_what_was_loaded_is_a_copy() -> None:
    cell, given = Two(), parameters(a=A, b=B)
    ms.load_param_into_net(cell, given)
    given["a"][0, 0] = 100.0
    assert cell.a.tolist() == A.tolist()


def test_arrays_taken_before_keep_their_values(tmp_path: Path) -> None:
    # MindSpore 2.10 keeps them too; `ops.assign`, and the update of an optimizer, may write to them in both.
    net, zeros = nn.Dense(2, 1, weight_init="ones", bias_init="ones"), Tensor(np.zeros((1, 2), np.float32))
    ms.save_checkpoint(nn.Dense(2, 1, weight_init="zeros"), str(tmp_path / "zeros.ckpt"))
    loads = {
        "load_param_into_net": lambda: ms.load_param_into_net(net, ms.load_checkpoint(str(tmp_path / "zeros.ckpt"))),
        "load_state_dict": lambda: net.load_state_dict({"weight": zeros}, strict=False),
        "set_data": lambda: net.weight.set_data(zeros),
        "attribute": lambda: setattr(net, "weight", zeros),
    }
    for name, load in loads.items():
        ops.assign(net.weight, Tensor(np.ones((1, 2), np.float32)))
        weight, before = net.weight, net.weight.asnumpy()
        load()
        assert (before.tolist(), net.weight.tolist()) == ([[1.0, 1.0]], [[0.0, 0.0]]), name
        assert net.weight is weight
        net.weight.asnumpy()[0, 1] = 5
        assert weight.tolist() == [[0.0, 5.0]]
    before = net.weight.asnumpy()
    with pytest.raises(ms.ShapeError):
        net.weight = Tensor([1.0])
    before[0, 0] = 7
    assert net.weight.tolist() == [[7.0, 5.0]]


def test_all_misfits_are_listed_and_nothing_is_loaded() -> None:
    cell = Two()
    before = values(cell)
    with pytest.raises(RuntimeError) as error:
        ms.load_param_into_net(cell, parameters(a=A.T, b=B.astype(np.float32)))
    assert "nothing was loaded" in str(error.value)
    assert "a: shape (3, 2), the network has (2, 3)" in str(error.value)
    assert "b: Float32, the network has Int32" in str(error.value)
    for misfit in (parameters(a=A, b=B.astype(np.int64)), parameters(a=A.astype(np.float64), b=B)):
        with pytest.raises(RuntimeError, match="nothing was loaded"):
            ms.load_param_into_net(cell, misfit, strict_load=True)
    for misfit in (parameters(a=A, b=np.full(4, 2**40)), parameters(a=np.full((2, 3), 1e300), b=B)):
        with pytest.raises(RuntimeError, match="nothing was loaded"):  # the values do not fit
            ms.load_param_into_net(cell, misfit)
    for misfit in (parameters(a=A, b=B.astype(np.uint32)), parameters(a=A > 0, b=B)):
        with pytest.raises(RuntimeError, match="nothing was loaded"):
            ms.load_param_into_net(cell, misfit)
    assert values(cell) == before


def test_casts_within_a_kind() -> None:
    cell = Two()
    with pytest.warns(AutodiffWarning, match="cast: a from Float64 to Float32, b from Int64 to Int32"):
        ms.load_param_into_net(cell, parameters(a=A.astype(np.float64), b=B.astype(np.int64)))
    assert (cell.a.dtype, cell.b.dtype) == (ms.float32, ms.int32)
    assert (cell.a.tolist(), cell.b.tolist()) == (A.tolist(), B.tolist())


def test_prefixes_and_sizes_of_one() -> None:
    cell = Two()
    with pytest.warns(AutodiffWarning, match=r"loaded under other names: a from net\.a, b from net\.b"):
        result = ms.load_param_into_net(cell, parameters(net_a=A.reshape(2, 3, 1), net_b=B))
    assert result == ([], ["net.a", "net.b"])  # as MindSpore reports it: no Parameter has these names
    assert (cell.a.tolist(), cell.b.tolist()) == (A.tolist(), B.tolist())
    with pytest.warns(AutodiffWarning, match="left as they were: a, b"):
        assert ms.load_param_into_net(Two(), parameters(net_a=A, net_b=B), strict_load=True)[0] == ["a", "b"]


def test_two_parameters_of_one_name(tmp_path: Path) -> None:
    cell = Two()
    cell.b.name = "a"
    with pytest.raises(ParameterError, match="both called 'a'"):
        ms.save_checkpoint(cell, str(tmp_path / "x"))
    with pytest.raises(ParameterError, match="called 'a'"):
        ms.save_checkpoint([cell.a, cell.b], str(tmp_path / "x"))
    with pytest.raises(ParameterError, match="both called 'a'"):
        ms.load_param_into_net(cell, parameters(a=A))
    with pytest.raises(ParameterError, match="called 'b'"):
        ms.save_checkpoint(parameters(b=B), str(tmp_path / "x"), append_dict={"b": 1})
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------ refusals
W = Parameter(1.0, name="w")


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (TypeError, lambda f: ms.save_checkpoint(3, f)),
        (TypeError, lambda f: ms.save_checkpoint([3], f)),
        (TypeError, lambda f: ms.save_checkpoint({"a": 3}, f)),
        (TypeError, lambda f: ms.save_checkpoint({3: W}, f)),
        (TypeError, lambda f: ms.save_checkpoint([{"name": "a", "data": "text"}], f)),
        (TypeError, lambda f: ms.save_checkpoint([{"name": "a"}], f)),
        (TypeError, lambda f: ms.save_checkpoint([W], 3)),
        (TypeError, lambda f: ms.save_checkpoint([W], f, integrated_save=1)),
        (TypeError, lambda f: ms.save_checkpoint([W], f, async_save=3)),
        (ValueError, lambda f: ms.save_checkpoint([W], f, async_save="soon")),
        (TypeError, lambda f: ms.save_checkpoint([W], f, append_dict=3)),
        (TypeError, lambda f: ms.save_checkpoint([W], f, append_dict={"a": [1]})),
        (TypeError, lambda f: ms.save_checkpoint([W], f, no_such_option=1)),
        (ValueError, lambda f: ms.save_checkpoint([W], f, format="pickle")),
        (NotImplementedError, lambda f: ms.save_checkpoint([W], f, enc_key=b"0123456789abcdef")),
        (IsADirectoryError, lambda f: ms.save_checkpoint([W], os.path.dirname(f))),
        (FileNotFoundError, lambda f: ms.save_checkpoint([W], f + "/no/folder")),
        (TypeError, lambda f: ms.load_checkpoint(3)),
        (ValueError, lambda f: ms.load_checkpoint(f)),
        (FileNotFoundError, lambda f: ms.load_checkpoint(f)),
        (CheckpointError, lambda f: ms.load_checkpoint(f + ".txt")),
        (TypeError, lambda f: ms.load_checkpoint(f, filter_prefix=["a", 3])),
        (ValueError, lambda f: ms.load_checkpoint(f, filter_prefix="")),
        (ValueError, lambda f: ms.load_checkpoint(f, specify_prefix=[])),
        (TypeError, lambda f: ms.load_param_into_net([1, 2], {})),
        (TypeError, lambda f: ms.load_param_into_net(Two(), [1])),
        (TypeError, lambda f: ms.load_param_into_net(Two(), {"a": Tensor(1.0)})),
        (TypeError, lambda f: ms.load_param_into_net(Two(), {}, strict_load=1)),
        (TypeError, lambda f: ms.load_param_into_net(Two(), {}, remove_redundancy=True)),
    ],
)
def test_wrong_arguments(kind: type[Exception], call: Any, tmp_path: Path) -> None:
    with pytest.raises(kind):
        call(str(tmp_path / "x.ckpt"))
    assert os.listdir(tmp_path) == []


def test_nothing_to_load(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    ms.save_checkpoint([], path)
    with pytest.raises(CheckpointError, match="it is empty"):
        ms.load_checkpoint(path)


NAMES = ["__metadata__", "", "a/b", "../x", "a b", "ü", "a\\b", ".npy", "a.npy", "x" * 70_000, "a\0b", "\ud800"]


@pytest.mark.parametrize("format", ["ckpt", "safetensors", "npz"])
@pytest.mark.parametrize("name", NAMES, ids=[ascii(name[:12]) for name in NAMES])
def test_a_name_comes_back_or_is_refused(tmp_path: Path, format: str, name: str) -> None:
    path = tmp_path / f"file.{format}"
    refused = {"ckpt": ["\ud800"], "safetensors": ["\ud800", "__metadata__"], "npz": ["\ud800", "a\0b", "x" * 70_000]}
    if name in refused[format]:
        with pytest.raises(ValueError, match=r"surrogates|name"):
            ms.save_checkpoint([{"name": name, "data": Tensor([1.0])}], path, format=format)
        assert not path.exists()
    else:
        ms.save_checkpoint([{"name": name, "data": Tensor([1.0])}], path, format=format)
        assert list(ms.load_checkpoint(path, format=format)) == [name]


def test_texts_need_a_format_that_has_them(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")
    with pytest.raises(CheckpointError, match="holds no texts such as 'note'"):
        ms.save_checkpoint([W], str(tmp_path / "x"), append_dict={"note": "text"}, format="safetensors")
    assert os.listdir(tmp_path) == []


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"autodiff-compiler\[safetensors\]"):
        ms.save_checkpoint([W], str(tmp_path / "x"), format="safetensors")
    (tmp_path / "y.safetensors").write_bytes(b"")
    with pytest.raises(ImportError, match=r"autodiff-compiler\[safetensors\]"):
        ms.load_checkpoint(str(tmp_path / "y.safetensors"), format="safetensors")
    assert os.listdir(tmp_path) == ["y.safetensors"]


def test_compiled_code_saves_nothing(tmp_path: Path) -> None:
    cell, path = Two(), str(tmp_path / "x.ckpt")

    @ms.jit
    def step(x: Tensor) -> Tensor:
        ms.save_checkpoint(cell, path)
        return x

    with pytest.raises(SideEffectError, match="would be called once"):
        step(Tensor(1.0))
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------ files stay whole
@pytest.mark.parametrize("fails", ["write", "sync", "replace"])
def test_a_failed_write_leaves_the_old_file(fails: str, form: str, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / f"x.{form}"
    ms.save_checkpoint(parameters(a=A), str(path), format=form)
    before = path.read_bytes()

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    if fails == "write":
        codec = checkpoint_file._codec(form)
        whole = codec.write
        monkeypatch.setattr(codec, "write", lambda file, *rest: (file.write(b"half"), whole(file, *rest), fail()))
    else:
        monkeypatch.setattr(os, "fsync" if fails == "sync" else "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        ms.save_checkpoint(parameters(a=A + 1), str(path), format=form)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "x.ckpt", tmp_path / "link.ckpt"
    old = os.umask(0o027)
    try:
        ms.save_checkpoint(parameters(a=A), str(path))
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o400)  # as MindSpore leaves its files
    link.symlink_to(path)
    ms.save_checkpoint(parameters(b=B), str(link))
    assert (link.is_symlink(), stat.S_IMODE(path.stat().st_mode)) == (True, 0o400)
    assert list(ms.load_checkpoint(str(path))) == ["b"]


def test_large_tensors_are_written_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ckpt_format, "_SLICE", 10)  # not even a whole number of elements
    path = str(tmp_path / "x.ckpt")
    ms.save_checkpoint(parameters(a=A, b=B), path)
    assert Path(path).read_bytes().count(b"Float32") == 3  # 24 bytes
    loaded = ms.load_checkpoint(path)
    assert (loaded["a"].tolist(), loaded["b"].tolist()) == (A.tolist(), B.tolist())
