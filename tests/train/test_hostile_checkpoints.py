"""Damaged and hostile checkpoint files: refused with the documented error, and nothing is loaded."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import random
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, nn
from autodiff_compiler.train import CheckpointError
from autodiff_compiler.train.ckpt_format import _bytes_field, _number_field, decode
from tests.selection import part

DATA = Path(__file__).parent / "data"


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        for name, dtype in [("half", ms.bfloat16), ("flags", ms.bool_), ("count", ms.int32), ("weight", ms.float32)]:
            setattr(self, name, Parameter(ms.Tensor(np.ones((2, 3)), dtype), name=name))
        self.step = Parameter(ms.Tensor(7), name="step")
        self.nothing = Parameter(ms.Tensor(np.zeros((0, 4), np.float32)), name="nothing")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to three kinds of damage."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        start = rng.randrange(len(out) + 1)
        end = min(len(out), start + rng.choice((1, 2, 8, 40)))
        noise = bytes(rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))) for _ in range(end - start))
        match rng.randrange(7):
            case 0 | 1:
                out[start:end] = noise
            case 2:
                if start < len(out):
                    out[start] ^= 1 << rng.randrange(8)
            case 3:
                del out[start:]
            case 4:
                del out[start:end]
            case 5:
                out[start:start] = noise
            case 6:
                out[start:start] = out[(at := rng.randrange(len(out) + 1)) : at + 200]
    return bytes(out)


@pytest.mark.parametrize(("form", "files"), [("ckpt", part(5000)), ("npz", part(2500)), ("safetensors", part(2500))])
def test_ten_thousand_damaged_files(form: str, files: int, tmp_path: Path) -> None:
    if form == "safetensors":
        pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")
    rng, path = random.Random(20), str(tmp_path / f"x.{form}")
    net = Net()
    start = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
    whole = []
    for crc in (False, True):
        extra = {} if form == "safetensors" else {"note": "héllo"}
        ms.save_checkpoint({n: np.zeros_like(a) for n, a in start.items()} | extra, path, format=form, crc_check=crc)
        whole.append(Path(path).read_bytes())
    outcomes = {"loaded": 0, CheckpointError: 0, RuntimeError: 0}
    file = open(path, "r+b", buffering=0)  # one that is opened and emptied again and again is slow on a busy disk
    for _ in range(files):
        file.seek(0)
        file.truncate(file.write(mutated(rng.choice(whole), rng)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = ms.load_checkpoint(path, net, format=form)
            except (CheckpointError, RuntimeError) as error:
                outcomes[type(error)] += 1
                for p in net.get_parameters():
                    assert p._data.tobytes() == start[p.name].tobytes()
                continue
        outcomes["loaded"] += 1
        for p in net.get_parameters():
            new = loaded.get(p.name)
            if isinstance(new, Parameter) and new.dtype is p.dtype:
                assert p._data.tobytes() == new._data.tobytes()
            p.set_data(start[p.name])
    file.close()
    assert sum(outcomes.values()) == files
    assert min(outcomes["loaded"], outcomes[CheckpointError]) > files // 50, outcomes


def test_every_truncation_of_a_file(tmp_path: Path) -> None:
    data = (DATA / "checksum.ckpt").read_bytes()
    values = [0]  # where a value ends: nothing shows there that more of them followed
    while values[-1] < len(data) - 17:
        length = data[values[-1] + 1]
        values.append(values[-1] + 2 + length)
    assert len(values) == 20
    for size in range(len(data)):
        if size in values:
            assert list(decode(data[:size], False)) == list(decode(data, False))[: values.index(size)]
            continue
        with pytest.raises(CheckpointError):
            decode(data[:size], False)


# ------------------------------------------------------------------------------------------------ .ckpt
def value(tag: bytes, dims: list[int], kind: bytes, content: bytes) -> bytes:
    shape = b"".join(_number_field(1, n) * len(list(same)) for n, same in itertools.groupby(dims))
    tensor = shape + _bytes_field(2, kind) + _bytes_field(3, content)
    return _bytes_field(1, _bytes_field(1, tag) + _bytes_field(2, tensor))


ONE = struct.pack("<f", 1.0)
GOOD = value(b"a", [1], b"Float32", ONE)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (GOOD[:-1], "middle of a field"),
        (b"\x0a" + b"\xff" * 8 + b"\x7f", "middle of a field"),  # a length of 2**63 - 1
        (b"\x0a" + b"\xff" * 20, "longer than 64 bits"),
        (b"\x0a", "middle of a number"),
        (b"\x0b\x0c", "begins no field"),  # a group
        (b"\x02\x00", "begins no field"),  # the field 0
        (b"\x08\x01", "a number stands where a message"),
        (GOOD + value(b"b", [1], b"Float32", ONE) + GOOD, "'a' stands there twice"),
        (GOOD + GOOD, "'a' has 8 bytes"),
        (GOOD + value(b"a", [2], b"Float32", ONE), "different types"),
        (value(b"a", [2], b"Float32", ONE), r"'a' has 4 bytes, shape \[2\]"),
        (value(b"a", [1 << 40, 1 << 40], b"Float32", ONE), "'a' has 4 bytes"),
        (value(b"a", [(1 << 64) - 1], b"Float32", ONE), "'a' has 4 bytes"),
        (value(b"a", [0, 1 << 62, 1 << 62], b"Float32", b""), "impossible shape"),
        (value(b"a", [(1 << 63) + 1] * 100_000, b"Float32", ONE), "too many dimensions"),
        (value(b"a", [1], b"Complex64", ONE * 2), "unknown type 'Complex64'"),
        (value(b"a", [1], b"Bool", b"\x02"), "neither true nor false"),
        (value(b"a", [0], b"str", b"\xff\xff\xff\xff"), "not UTF-32"),
        (value(b"\xff", [1], b"Float32", ONE), "not UTF-8"),
        (_bytes_field(1, _bytes_field(1, b"a")), "has no tensor"),
        (_bytes_field(1, _bytes_field(2, b"")), "has no tag"),
        (_bytes_field(1, _bytes_field(1, b"a") + _bytes_field(3, b"")), "MapParameter"),
        (GOOD + b"crc_num" + bytes(10), "checksum"),
    ],
)
def test_malformed_messages(data: bytes, why: str) -> None:
    with pytest.raises(CheckpointError, match=why):
        decode(data, False)


def test_forms_of_a_message_that_others_may_write() -> None:
    packed = _bytes_field(1, bytes([2, 1])) + _bytes_field(2, b"Int8") + _bytes_field(3, b"\x05\x06")
    unknown = b"\x31" + bytes(8) + b"\x3d" + bytes(4) + _number_field(9, 1 << 40)
    data = unknown + _bytes_field(1, unknown + _bytes_field(2, packed + unknown) + _bytes_field(1, b"p"))
    assert decode(data, False)["p"].tolist() == [[5], [6]]
    old_scalar = decode(value(b"s", [0], b"Float32", ONE), False)["s"]
    assert (old_scalar.shape, old_scalar.item()) == ((), 1.0)
    checked = GOOD + b"crc_num" + zlib.crc32(GOOD).to_bytes(10, "big")
    assert decode(checked, True)["a"].tolist() == [1.0]


def test_a_checksum_that_was_asked_for_and_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "x.ckpt").write_bytes(GOOD)
    with pytest.warns(UserWarning, match="has no checksum") as found:
        ms.load_checkpoint(str(tmp_path / "x.ckpt"), crc_check=True)
    assert found[0].filename == __file__


# ------------------------------------------------------------------------------------------------ .npz, .safetensors
def npy(header: str, content: bytes) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def archive(*members: tuple[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as file:
        for name, content in members:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a name stands there twice
                file.writestr(name, content)
    return out.getvalue()


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("exploded",)


HEADER = "{{'descr': '{}', 'fortran_order': False, 'shape': {}}}"
OBJECTS = npy(HEADER.format("|O", "(1,)"), pickle.dumps(Bomb()))
ZEROS = npy(HEADER.format("<f4", "(1000000,)"), bytes(4_000_000))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (archive(("a.npy", OBJECTS)), "arrays of object are not supported"),
        (archive(("a.npy", npy(HEADER.format("<f4", "(1000000000000,)"), ONE))), "'a' has 4 bytes"),
        (archive(("a.npy", npy(HEADER.format("<f4", "(-1,)"), ONE))), "negative size"),
        (archive(("a.npy", npy(HEADER.format("<c8", "(1,)"), ONE * 2))), "complex"),
        (archive(("a.npy", npy("[" * 3000, ONE))), "Error"),
        (archive(("a.npy", npy(HEADER.format("<f4", "(1,)"), ONE)), ("a.npy", ONE)), "twice"),
        (archive(("a.txt", ONE)), "is no array"),
        (archive(("a.npy", ZEROS), how=zipfile.ZIP_DEFLATED), "only uncompressed"),
        (archive(("a.npy", ZEROS))[:-1000], "Error|BadZipFile"),
        (b"", "BadZipFile"),
    ],
)
def test_hostile_archives(data: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(CheckpointError, match=why):
        ms.load_checkpoint("x.npz", format="npz")
    assert os.listdir(tmp_path) == ["x.npz"]


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4]}}',
        b'{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}',
        b'{"a":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}',
        b"[" * 100_000,
        b"{}",
    ],
)
def test_hostile_safetensors(header: bytes, tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="the extra `safetensors` is not installed")
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + ONE)
    with pytest.raises(CheckpointError):
        ms.load_checkpoint(str(path), format="safetensors")
