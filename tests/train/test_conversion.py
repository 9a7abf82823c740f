"""Checkpoint files in another format, and loading beside other work."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, train

pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")


def saved(folder: Path, name: str, format: str = "ckpt", **values: object) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    ms.save_checkpoint({k: np.asarray(v) for k, v in values.items()}, str(path), format=format)
    return str(path)


def content(path: Path) -> dict[str, list[float]]:
    return {k: v.tolist() for k, v in ms.load_checkpoint(str(path), format=path.suffix[1:]).items()}


def test_there_and_back(tmp_path: Path) -> None:
    values = {"a": [1.5, -2.0], "b": [[3]], "half": np.array([0.5], np.float16)}
    path = saved(tmp_path, "net.ckpt", **values)
    train.ckpt_to_safetensors(path, str(tmp_path / "new"), {"a": "first"}, processes_num=3)
    other = tmp_path / "new" / "net.safetensors"
    wanted = {"first": [1.5, -2.0], "b": [[3]], "half": [0.5]}
    assert content(other) == wanted
    train.safetensors_to_ckpt(other)
    assert content(tmp_path / "new" / "net.ckpt") == wanted
    assert ms.load_checkpoint(str(tmp_path / "new" / "net.ckpt"))["half"].dtype is ms.float16


def test_folders_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x/rank0/a.ckpt", "x/rank1/a.ckpt", "x/b.ckpt"):
        saved(tmp_path, name, v=[1.0])
    (tmp_path / "x" / "notes.txt").write_text("")
    train.ckpt_to_safetensors(tmp_path / "x", tmp_path / "y", file_name_regex=r"rank\d")
    assert sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "y").rglob("*.*")) == [
        "y/rank0/a.safetensors",
        "y/rank1/a.safetensors",
    ]
    monkeypatch.chdir(tmp_path / "x")
    train.ckpt_to_safetensors("b.ckpt")
    train.ckpt_to_safetensors("rank0")
    assert sorted(os.listdir()) == ["b.ckpt", "b.safetensors", "notes.txt", "rank0", "rank1"]
    assert sorted(os.listdir("rank0")) == ["a.ckpt", "a.safetensors"]


def test_what_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "net.ckpt", a=[1.0], b=[2.0])
    for attempt, why in (
        (lambda: train.ckpt_to_safetensors(tmp_path / "none"), "neither a file nor a folder"),
        (lambda: train.safetensors_to_ckpt(path), "no .safetensors file"),
        (lambda: train.ckpt_to_safetensors(path, tmp_path / "new.safetensors"), "looks like a file"),
        (lambda: train.ckpt_to_safetensors(path, name_map=["a"]), "must be a dict"),
        (lambda: train.ckpt_to_safetensors(path, name_map={"a": "b"}), "one name"),
        (lambda: train.ckpt_to_safetensors(path, file_name_regex="rank"), "leaves it out"),
        (lambda: train.ckpt_to_safetensors(path, processes_num=0), "processes_num"),
    ):
        with pytest.raises(ValueError, match=why):
            attempt()
    assert os.listdir(tmp_path) == ["net.ckpt"]
    ms.save_checkpoint({"t": "text"}, str(tmp_path / "text.ckpt"))
    with pytest.raises(train.CheckpointError):
        train.ckpt_to_safetensors(tmp_path / "text.ckpt")


@pytest.mark.parametrize("format", ["ckpt", "safetensors", "npz"])
def test_loading_beside_other_work(format: str, tmp_path: Path) -> None:
    net = nn.Dense(2, 1, has_bias=False)
    path = saved(tmp_path, f"net.{format}", format, weight=np.ones((1, 2), np.float32), bias=[2.0])
    loading = train.load_checkpoint_async(path, net, choice_func=lambda name: name == "weight")
    assert list(loading.result()) == ["weight"]
    assert net.weight.tolist() == [[1.0, 1.0]]
    with pytest.raises(train.CheckpointError):
        train.load_checkpoint_async(str(tmp_path / "none.ckpt")).result()
    assert train.async_ckpt_thread_status() is ms.async_ckpt_thread_status() is False
