"""MindSpore's own checkpoint format: one protocol buffer, written and read without a protobuf library.

The message, as MindSpore 2 writes it (field numbers in brackets)::

    Checkpoint: repeated Value value [1]
    Value:      string tag [1], TensorProto tensor [2] or MapTensorProto maptensor [3]
    TensorProto: repeated int64 dims [1], string tensor_type [2], bytes tensor_content [3]

Large tensors stand in slices: consecutive values of one tag with the dims of the whole.  A text has the type "str", the
dims [0] and UTF-32 as content.  A scalar has no dims; files of old versions give it the dims [0].  A file may end with
the word "crc_num" and the CRC-32 of all before it as ten bytes, the highest first.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from ..dtypes import ALL, from_numpy
from ..errors import AutodiffWarning, warn_at
from ..runtime.tensor import Array
from ..source import calling_place
from .checkpoint_content import CheckpointError, Content, array_of_bytes

__all__ = ["decode", "write"]

_DTYPES = {str(d): d for d in ALL}
_TEXT = "str"
# MindSpore 2.10: a checkpoint holds a larger tensor in slices of so many bytes, as a message has less than 2 GB.
_SLICE = 512 * 1024 * 1024
_CRC_WORD = b"crc_num"
_CRC_BYTES = 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _Piece(NamedTuple):
    """A tensor or a slice of one."""

    dims: tuple[int, ...]
    kind: str
    content: memoryview


# ------------------------------------------------------------------------------------------------ writing
def write(file: BinaryIO, content: Content, crc: bool) -> None:
    """Writes a checkpoint; with `crc` its checksum, too."""
    checksum = 0
    for name, value in content.items():
        for part in _encoded(name, value):
            file.write(part)
            if crc:
                checksum = zlib.crc32(part, checksum)
    if crc:
        file.write(_CRC_WORD + checksum.to_bytes(_CRC_BYTES, "big"))


def _encoded(name: str, value: Array | str) -> Iterator[bytes | memoryview]:
    tag = _bytes_field(1, name.encode())
    if isinstance(value, str):
        dims, kind, content = _number_field(1, 0), _TEXT, memoryview((value or "\0").encode("utf-32-le"))
    else:
        dims, kind = b"".join(_number_field(1, n) for n in value.shape), str(from_numpy(value.dtype))
        content = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    facts = dims + _bytes_field(2, kind.encode())
    for start in range(0, len(content) or 1, _SLICE):
        piece = content[start : start + _SLICE]
        before = facts + _bytes_head(3, len(piece))
        head = tag + _bytes_head(2, len(before) + len(piece)) + before
        yield _bytes_head(1, len(head) + len(piece)) + head
        yield piece


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _bytes_head(number, len(value)) + value


def _bytes_head(number: int, size: int) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(size)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


# ------------------------------------------------------------------------------------------------ reading
def decode(data: bytes, crc: bool) -> Content:
    """The content of a file; CheckpointError if it is malformed.

    A checksum is compared wherever there is one; with `crc` its absence is warned of.
    """
    pieces: dict[str, list[_Piece]] = {}
    last = None
    for number, value in _fields(_without_checksum(data, crc)):
        if number != 1:
            continue
        tag, piece = _tagged(_message(value))
        if tag != last and tag in pieces:
            raise CheckpointError(f"{tag!r} stands there twice")
        pieces.setdefault(tag, []).append(piece)
        last = tag
    return {tag: _joined(tag, slices) for tag, slices in pieces.items()}


def _without_checksum(data: bytes, crc: bool) -> memoryview:
    end = len(data) - _CRC_BYTES
    start = end - len(_CRC_WORD)
    if start < 0 or data[start:end] != _CRC_WORD:
        if crc:
            warn_at(AutodiffWarning("the checkpoint file has no checksum to compare"), calling_place())
        return memoryview(data)
    body = memoryview(data)[:start]
    if zlib.crc32(body) != int.from_bytes(data[end:], "big"):
        raise CheckpointError("its checksum is not that of its content")
    return body


def _tagged(value: dict[int, list[int | memoryview]]) -> tuple[str, _Piece]:
    tag = _text("tag", value.get(1))
    if 3 in value:
        raise CheckpointError(f"{tag!r} is a MapParameter, which is not available here")
    tensor = _message(_only("tensor", value.get(2)))
    dims: list[int] = []
    for entry in tensor.get(1, ()):
        dims += [entry] if isinstance(entry, int) else _numbers(entry)
    content = _only("tensor_content", tensor.get(3))
    return tag, _Piece(tuple(dims), _text("tensor_type", tensor.get(2)), content)


def _joined(tag: str, slices: list[_Piece]) -> Array | str:
    dims, kind, content = slices[0]
    if any((s.dims, s.kind) != (dims, kind) for s in slices):
        raise CheckpointError(f"the slices of {tag!r} are of different types")
    if len(slices) > 1:
        content = memoryview(b"".join(s.content for s in slices))
    if kind == _TEXT:
        try:
            return bytes(content).decode("utf-32-le").rstrip("\0")
        except UnicodeDecodeError:
            raise CheckpointError(f"{tag!r} is a text that is not UTF-32") from None
    dtype = _DTYPES.get(kind)
    if dtype is None:
        raise CheckpointError(f"{tag!r} is of the unknown type {kind!r}; known are {', '.join(_DTYPES)}")
    if dims == (0,) and len(content) == dtype.numpy.itemsize:
        dims = ()
    return array_of_bytes(tag, content, dtype.numpy, dims)


# ------------------------------------------------------------------------------------------------ the wire format
def _message(data: int | memoryview) -> dict[int, list[int | memoryview]]:
    if isinstance(data, int):
        raise CheckpointError("a number stands where a message is expected")
    found: dict[int, list[int | memoryview]] = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message by number: integers, or the bytes of what has a length."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        size = {_FIXED64: 8, _FIXED32: 4}.get(wire, 0)
        if number == 0 or wire not in (_VARINT, _FIXED64, _BYTES, _FIXED32):
            raise CheckpointError(f"byte {at} begins no field")
        if wire == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _read_varint(data, at)
        if size > len(data) - at:
            raise CheckpointError("it ends in the middle of a field")
        yield number, data[at : at + size]
        at += size


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise CheckpointError("it ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise CheckpointError("a number is longer than 64 bits")


def _numbers(data: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        found.append(value)
    return found


def _only(what: str, values: list[int | memoryview] | None) -> memoryview:
    if values is None or len(values) != 1 or isinstance(values[0], int):
        raise CheckpointError(f"a value has no {what}, several, or one that is a number")
    return values[0]


def _text(what: str, values: list[int | memoryview] | None) -> str:
    try:
        return bytes(_only(what, values)).decode()
    except UnicodeDecodeError:
        raise CheckpointError(f"a {what} is not UTF-8") from None
