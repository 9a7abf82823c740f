"""NumPy's archive of arrays as a checkpoint: an uncompressed zip file that `numpy.load` reads, too.

A bfloat16 array, for which NumPy has no name, is stored as records of two bytes (`V2`), a text as an array of one
string.  Objects are neither written nor read: there is no pickle.
"""

from __future__ import annotations

import io
import zipfile
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from ..dtypes import bfloat16, from_numpy
from ..runtime.tensor import Array
from .checkpoint_content import CheckpointError, Content, array_of_bytes

__all__ = ["decode", "write"]

_SUFFIX = ".npy"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def write(file: BinaryIO, content: Content, crc: bool) -> None:
    """Writes an archive; every array in it has a checksum, whatever `crc` says."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in content.items():
            if "\0" in name:
                raise CheckpointError(f"a name in an .npz file cannot contain a zero byte: {name!r}")
            if len((name + _SUFFIX).encode()) >= 2**16:
                raise CheckpointError(f"a name in an .npz file cannot be as long as that of {name[:20]!r}...")
            array = np.array(value) if isinstance(value, str) else value
            if not isinstance(value, str) and from_numpy(array.dtype) is bfloat16:
                array = array.view("V2")
            with archive.open(zipfile.ZipInfo(name + _SUFFIX), "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def decode(data: bytes, crc: bool) -> Content:
    """The content of an archive; an exception of `zipfile`, NumPy or CheckpointError if it is malformed."""
    found: Content = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(info.file_size for info in members) > len(data):
            raise CheckpointError("its arrays are larger than the file: only uncompressed archives are read")
        for info in members:
            name = info.filename.removesuffix(_SUFFIX)
            if name == info.filename or name in found:
                raise CheckpointError(f"its member {info.filename!r} is no array, or stands there twice")
            if info.compress_type != zipfile.ZIP_STORED:
                raise CheckpointError(f"{name!r} is compressed; write it with numpy.savez")
            found[name] = _value(name, archive.read(info))
    return found


def _value(name: str, member: bytes) -> Array | str:
    stream = io.BytesIO(member)
    header = _HEADERS.get(npy.read_magic(stream))
    if header is None:
        raise CheckpointError(f"{name!r} is an array of an unknown version")
    shape, fortran, dtype = header(stream)
    content = memoryview(member)[stream.tell() :]
    if dtype.kind == "U":
        return str(array_of_bytes(name, content, dtype, shape).reshape(1)[0])
    stored = bfloat16.numpy if dtype == np.dtype("V2") else dtype
    native = from_numpy(stored).numpy  # refuses objects, records and complex numbers
    array = array_of_bytes(name, content, stored, shape[::-1] if fortran else shape)
    return (array.T if fortran else array).astype(native, copy=False)
