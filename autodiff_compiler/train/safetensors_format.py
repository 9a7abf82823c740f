"""The safetensors format, read and written by the library of that name (an extra of this package)."""

from __future__ import annotations

import json
import zlib
from typing import Any, BinaryIO

import numpy as np

from ..dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..errors import AutodiffWarning, warn_at
from ..source import calling_place
from .checkpoint_content import CheckpointError, Content, array_of_bytes

__all__ = ["decode", "write"]

# fmt: off
_DTYPES = {
    "BOOL": bool_, "U8": uint8, "U16": uint16, "U32": uint32, "U64": uint64, "I8": int8, "I16": int16, "I32": int32,
    "I64": int64, "F16": float16, "BF16": bfloat16, "F32": float32, "F64": float64,
}
# fmt: on
#: The key of the metadata in the header, beside the arrays.
_METADATA = "__metadata__"


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            "the format 'safetensors' needs the package safetensors: pip install 'autodiff-compiler[safetensors]'"
        ) from None
    return safetensors


def write(file: BinaryIO, content: Content, crc: bool) -> None:
    """Writes a file with MindSpore's metadata; with `crc` its checksum of names and arrays, too."""
    texts = [name for name, value in content.items() if isinstance(value, str)]
    if texts:
        raise CheckpointError(f"a .safetensors file holds no texts such as {texts[0]!r}: use the format 'ckpt'")
    if _METADATA in content:
        raise CheckpointError(f"a .safetensors file has no place for the name {_METADATA!r}: use the format 'ckpt'")
    metadata = {"format": "ms"} | ({"crc_num": str(_checksum(content))} if crc else {})
    file.write(_library().numpy.save(content, metadata))


def decode(data: bytes, crc: bool) -> Content:
    """The content of a file, by name; an exception of the library or CheckpointError if it is malformed."""
    found: Content = {}
    for name, entry in sorted(_library().deserialize(data)):
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise CheckpointError(f"{name!r} is of the type {entry['dtype']}; known are {', '.join(_DTYPES)}")
        if name in found:
            raise CheckpointError(f"{name!r} stands there twice")
        found[name] = array_of_bytes(name, memoryview(entry["data"]), dtype.numpy, tuple(entry["shape"]))
    if crc:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        written = header.get(_METADATA, {}).get("crc_num")
        if written is None:
            warn_at(AutodiffWarning("the checkpoint file has no checksum to compare"), calling_place())
        elif written != str(_checksum(found)):
            raise CheckpointError("its checksum is not that of its content")
    return found


def _checksum(content: Content) -> int:
    checksum = 0
    for name in sorted(content):
        checksum = zlib.crc32(np.asarray(content[name]).tobytes(), zlib.crc32(name.encode(), checksum))
    return checksum
