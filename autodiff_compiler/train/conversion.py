"""Conversion of checkpoint files between formats, and asynchronous loading."""

from __future__ import annotations

import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ..config import called_outside
from ..errors import kind_of
from ..nn.arguments import positive
from .serialization import load_checkpoint, save_checkpoint

__all__ = ["async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint_async", "safetensors_to_ckpt"]


@called_outside
def ckpt_to_safetensors(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes a .ckpt file, or all in a folder and the folders in it, as .safetensors files.

    They have the same names, beside the originals or in the folder `save_path` (with the same folders in it).
    `name_map` gives Parameters other names.  Only files whose path `file_name_regex` is found in are converted.
    `processes_num` changes nothing.

    ValueError: no file or folder, a file of another format or that the expression leaves out, a `save_path` that looks
    like a file, a `name_map` that is no dict, two Parameters that get one name.  CheckpointError: a file is malformed,
    or has texts, which .safetensors files do not hold.

    >>> import tempfile
    >>> from autodiff_compiler import nn
    >>> folder = tempfile.mkdtemp()
    >>> save_checkpoint(nn.Dense(3, 2), os.path.join(folder, "net.ckpt"))
    >>> ckpt_to_safetensors(os.path.join(folder, "net.ckpt"), name_map={"weight": "w"})
    >>> list(load_checkpoint(os.path.join(folder, "net.safetensors"), format="safetensors"))
    ['bias', 'w']
    """
    _convert(file_path, save_path, name_map, file_name_regex, processes_num, "ckpt", "safetensors")


@called_outside
def safetensors_to_ckpt(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes .safetensors files as .ckpt files; the arguments are those of `ckpt_to_safetensors`."""
    _convert(file_path, save_path, name_map, file_name_regex, processes_num, "safetensors", "ckpt")


def _convert(path: Any, save_path: Any, names: Any, wanted: str | None, processes: Any, old: str, new: str) -> None:
    positive("processes_num", processes)
    if names is not None and not isinstance(names, dict):
        raise ValueError(f"`name_map` must be a dict, not {kind_of(names)}")
    if save_path is not None and os.path.splitext(save_path)[1]:
        raise ValueError(f"`save_path` must be a folder, and {os.fspath(save_path)!r} looks like a file")
    matches = re.compile(wanted or "").search
    path = os.fspath(path)
    if os.path.isfile(path):
        if not path.endswith(f".{old}") or not matches(path):
            raise ValueError(f"{path!r} is no .{old} file, or `file_name_regex` leaves it out")
        root, files = os.path.dirname(path), [path]
    elif os.path.isdir(path):
        found = [os.path.join(folder, name) for folder, _, inside in os.walk(path) for name in inside]
        root, files = path, sorted(file for file in found if file.endswith(f".{old}") and matches(file))
    else:
        raise ValueError(f"{path!r} is neither a file nor a folder")
    for file in files:
        loaded = load_checkpoint(file, format=old)
        renamed = {(names or {}).get(name, name): value for name, value in loaded.items()}
        if len(renamed) < len(loaded):
            raise ValueError(f"`name_map` gives two Parameters of {file!r} one name")
        target = os.path.join(root if save_path is None else save_path, os.path.relpath(file, root or "."))
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        save_checkpoint(renamed, target.removesuffix(old) + new, format=new)


@called_outside
def load_checkpoint_async(
    ckpt_file_name: str,
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: str | list[str] | tuple[str, ...] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | list[str] | tuple[str, ...] | None = None,
    choice_func: Any = None,
) -> Future[dict[str, Any]]:
    """Loads a checkpoint in a thread of its own; ``.result()`` waits, and gives or raises what `load_checkpoint` does.

    The format is that of the file's ending.

    >>> import tempfile
    >>> from autodiff_compiler import nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    >>> save_checkpoint(nn.Dense(3, 2), path)
    >>> list(load_checkpoint_async(path).result())
    ['weight', 'bias']
    """
    ending = os.path.splitext(ckpt_file_name)[1][1:]
    options = (net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func)
    runs = ThreadPoolExecutor(1, "load_checkpoint")
    format = ending if ending in ("safetensors", "npz") else "ckpt"
    loading = runs.submit(load_checkpoint, ckpt_file_name, *options, format=format)
    runs.shutdown(wait=False)  # the thread ends after this
    return loading


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is still being saved: never, as `save_checkpoint` returns after the file is written.

    >>> async_ckpt_thread_status()
    False
    """
    return False
