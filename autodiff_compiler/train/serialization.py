"""Checkpoints: saving Parameters to files and loading them, with a report of all that does not fit."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import escape
from ..config import called_outside
from ..data_parallel.parts import own_part, whole_array
from ..dtypes import DType
from ..errors import AutodiffWarning, ParameterError, UnsupportedCallError, kind_of, warn_at
from ..nn.cell import Cell
from ..runtime.parameter import NAME_APART, Parameter
from ..runtime.tensor import Array, Tensor, wrap
from ..source import calling_place
from . import checkpoint_file
from .checkpoint_content import CheckpointError, Content

__all__ = ["CheckpointError", "load_checkpoint", "load_param_into_net", "save_checkpoint"]

_Choice = Callable[[str], bool]

#: Options of MindSpore about training on many devices; they change nothing here.
_IGNORED_OPTIONS = ("global_step_num", "incremental", "remove_redundancy")
#: How many names a message lists.
_SHOWN = 8


# ------------------------------------------------------------------------------------------------ saving
@called_outside
def save_checkpoint(
    save_obj: Cell | list[Any] | dict[str, Any],
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: _Choice | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: Any,
) -> None:
    """Saves Parameters of any dtype and shape in a file, which is replaced as a whole or not at all.

    `save_obj` is a Cell (an optimizer's state and step and a train step's are its Parameters), a list of Parameters or
    of ``{"name": ..., "data": Tensor}``, or a dict as `load_checkpoint` returns it.  `choice_func(name)` chooses among
    them.  `append_dict` adds numbers, texts and Tensors by name.  `format` is "ckpt" (MindSpore's own), "safetensors"
    (needs that package, holds no texts) or "npz"; the name is given that ending if it has none.  `crc_check` adds a
    checksum.  `async_save` changes nothing: the file is there when this returns.

    Of an optimizer whose state is cut between processes (`enable_parallel_optimizer`), all processes call this: the
    file has the whole state then, for any number of processes.  Without `integrated_save` it has the part of this
    process, and each needs a path of its own.

    TypeError: what is no Cell, Parameter or name.  ValueError: an unknown format, what the format cannot hold (a
    CheckpointError), or two Parameters of one name (a ParameterError).  Encryption is not available.

    >>> import os, tempfile
    >>> from autodiff_compiler import nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    >>> save_checkpoint(nn.Dense(3, 2), path, append_dict={"epoch": 4, "note": "first try"})
    >>> loaded = load_checkpoint(path)
    >>> list(loaded), loaded["epoch"].item(), loaded["note"]
    (['weight', 'bias', 'epoch', 'note'], 4, 'first try')
    """
    path = _path("save_checkpoint", ckpt_file_name)
    _check_flags(integrated_save=integrated_save, crc_check=crc_check)
    _check_format(format)
    if not isinstance(async_save, bool) and async_save not in ("thread", "process"):
        kind = ValueError if isinstance(async_save, str) else TypeError
        raise kind(f"`async_save` is a bool, 'thread' or 'process', not {async_save!r}")
    if enc_key is not None:
        raise UnsupportedCallError("checkpoints cannot be encrypted", hint="encrypt the file after it is written")
    for name in kwargs:
        if name not in _IGNORED_OPTIONS:
            raise TypeError(f"save_checkpoint() has no argument {name!r}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder, not a file")
    content = _content_of(_named(save_obj, choice_func) + _appended(append_dict), integrated_save)
    checkpoint_file.write(path if path.endswith(format) else f"{path}.{format}", format, content, crc_check)


def _named(save_obj: Any, choose: _Choice | None) -> list[tuple[str, Any]]:
    """The values to save, by name."""
    if isinstance(save_obj, Cell):
        pairs: list[tuple[Any, Any]] = list(save_obj.parameters_dict().items())
    elif isinstance(save_obj, dict):
        pairs = list(save_obj.items())
    elif isinstance(save_obj, list):
        pairs = [_item(entry, described=isinstance(save_obj[0], dict)) for entry in save_obj]
    else:
        several = save_obj if isinstance(save_obj, tuple) else ()
        raise TypeError(f"`save_obj` is a Cell, a list or a dict, not {kind_of(save_obj)}{_way_out(*several)}")
    for name, value in pairs:
        fits = isinstance(value, Tensor | np.ndarray | str) if isinstance(save_obj, dict) else isinstance(value, Tensor)
        if not isinstance(name, str) or not fits:
            raise TypeError(
                f"a checkpoint holds Parameters by name, not {kind_of(value)} called {name!r}{_way_out(value)}"
            )
    return [(name, value) for name, value in pairs if choose is None or choose(name)]


def _item(entry: Any, described: bool) -> tuple[Any, Any]:
    if described and isinstance(entry, dict) and {"name", "data"} <= set(entry):
        return entry["name"], entry["data"]
    if not described and isinstance(entry, Parameter):
        return entry.name, entry
    wanted = "dicts with 'name' and 'data'" if described else "Parameters"
    raise TypeError(f"a list to save holds {wanted}, this one {kind_of(entry)}{_way_out(entry)}")


def _way_out(*found: Any) -> str:
    """What to do where a network stands in the place of Parameters, as the end of a message."""
    several = "; save each network into a file of its own, or several as one: `nn.CellList([a, b])`"
    return several if any(isinstance(x, Cell) for x in found) else ""


def _appended(append_dict: Any) -> list[tuple[str, Any]]:
    if append_dict is None:
        return []
    if not isinstance(append_dict, dict):
        raise TypeError(f"`append_dict` is a dict, not {kind_of(append_dict)}")
    for name, value in append_dict.items():
        if not isinstance(name, str) or not isinstance(value, int | float | str | Tensor):
            raise TypeError(
                f"`append_dict` holds numbers, texts and Tensors by name, not {kind_of(value)} called {name!r}"
                f"{_way_out(value)}"
            )
    return [(name, value if isinstance(value, str) else Tensor(value)) for name, value in append_dict.items()]


def join_parts(network: Cell) -> None:
    """Gives the other processes what they need to save the Parameters of which each has a part."""
    for parameter in network.get_parameters():
        if parameter.whole_shape is not None:
            whole_array(parameter)


def _content_of(pairs: list[tuple[str, Any]], whole: bool) -> Content:
    content: Content = {}
    for name, value in pairs:
        if name in content:
            raise ParameterError(f"two things to save are called {name!r}", hint=NAME_APART)
        if isinstance(value, str):
            content[name] = value
        elif whole and isinstance(value, Parameter) and value.whole_shape is not None:
            content[name] = whole_array(value)
        else:
            data = value if isinstance(value, Tensor) else Tensor(value)
            content[name] = np.asarray(data._data, order="C")
    return content


# ------------------------------------------------------------------------------------------------ loading
@called_outside
def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str] | io.BytesIO,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | list[str] | tuple[str, ...] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | list[str] | tuple[str, ...] | None = None,
    choice_func: _Choice | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Any]:
    """The content of a checkpoint file as a dict of Parameters (and texts) by name; `net`, if given, is loaded with it.

    Names that start with one of `filter_prefix` are left out, so are those that start with none of `specify_prefix`;
    without these, `choice_func(name)` chooses.  A file's checksum is compared, with `crc_check` a warning says where it
    has none.  `strict_load` is that of `load_param_into_net`.

    CheckpointError, a ValueError: the file is missing (a FileNotFoundError, too), truncated or malformed, or holds
    nothing of what was chosen.  No Parameter is changed then.

    >>> import os, tempfile
    >>> from autodiff_compiler import nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.npz")
    >>> save_checkpoint(nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 1)), path, format="npz")
    >>> load_checkpoint(path, choice_func=lambda name: name.startswith("1.b"), format="npz")
    {'1.bias': Parameter (name=1.bias, shape=(1,), dtype=Float32, requires_grad=True)}
    """
    _check_format(format)
    source = ckpt_file_name
    if not isinstance(source, io.BytesIO):
        source = _path("load_checkpoint", source)
        if not source.endswith(format):
            raise CheckpointError(f"{source!r} does not end in .{format}: name its format with `format`")
    left_out, wanted = _prefixes("filter_prefix", filter_prefix), _prefixes("specify_prefix", specify_prefix)
    _check_flags(strict_load=strict_load, crc_check=crc_check, remove_redundancy=remove_redundancy)
    if dec_key is not None:
        raise UnsupportedCallError("encrypted checkpoints cannot be read", hint="decrypt the file first")
    content = checkpoint_file.read(source, format, crc_check)

    def chosen(name: str) -> bool:
        if wanted is None and left_out is None:
            return choice_func is None or bool(choice_func(name))
        return (wanted is None or name.startswith(wanted)) and not (left_out and name.startswith(left_out))

    loaded = {
        name: value if isinstance(value, str) else Parameter(value, name=name)
        for name, value in content.items()
        if chosen(name)
    }
    if not loaded:
        why = "none of its names was chosen" if content else "it is empty"
        raise CheckpointError(f"the checkpoint has nothing to load: {why}")
    if net is not None:
        load_param_into_net(net, loaded, strict_load, remove_redundancy)
    return loaded


@called_outside
def load_param_into_net(
    net: Cell, parameter_dict: dict[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Gives the Parameters of a Cell the values of those that have their names in a dict.

    Returns the names of the Parameters that `parameter_dict` does not have (a warning lists them, too), and the names
    of the dict that no Parameter has.  Names, dtypes and `requires_grad` of the Parameters stay.  All is checked before
    the first one is written.

    Without `strict_load`, values of another float type, or of another signed integer type, are cast, and a prefix that
    the names of the dict have before those of the Cell is left out; a warning says so.  Sizes of 1 at the end of a
    shape may be missing in the Cell.

    TypeError: no Cell, or no dict of Parameters (and texts).  RuntimeError: shapes, dtypes or values that do not fit;
    it lists them all.

    >>> from autodiff_compiler import nn
    >>> a, b = nn.Dense(2, 1, weight_init="ones"), nn.Dense(2, 1, has_bias=False)
    >>> load_param_into_net(b, {p.name: p for p in a.get_parameters()}), b.weight.tolist()
    (([], ['bias']), [[1.0, 1.0]])
    """
    _check_loading(net, parameter_dict, strict_load, remove_redundancy)
    found, missing = [], []
    for parameter in net.get_parameters():
        new = parameter_dict.get(parameter.name)
        if isinstance(new, Parameter):
            found.append((parameter, new))
        else:
            missing.append(parameter)
    taken: set[str] = set()
    for parameter, _ in found:
        if parameter.name in taken:
            raise ParameterError(f"two Parameters of {type(net).__name__} are both called {parameter.name!r}")
        taken.add(parameter.name)
    unexpected = [name for name in parameter_dict if name not in taken]
    notes = []
    if missing and not strict_load:
        more = _matched_by_prefix(missing, parameter_dict)
        if more:
            notes.append(f"loaded under other names: {_listed(f'{p.name} from {new.name}' for p, new in more)}")
        found += more
        served = {id(p) for p, _ in more}
        missing = [p for p in missing if id(p) not in served]
    for parameter, value in _fitted(net, found, strict_load, notes):
        parameter.set_data(wrap(value))
    if missing:
        notes.insert(0, f"not in the checkpoint, and left as they were: {_listed(p.name for p in missing)}")
    if notes:
        text = f"the checkpoint was loaded into {type(net).__name__}; " + "; ".join(notes)
        warn_at(AutodiffWarning(escape.line(text)), calling_place())
    return [p.name for p in missing], unexpected


def _check_loading(net: Any, parameter_dict: Any, strict_load: Any, remove_redundancy: Any) -> None:
    if not isinstance(net, Cell):
        raise TypeError(f"the argument 'net' of load_param_into_net should be a Cell, but got {type(net)}")
    if not isinstance(parameter_dict, dict):
        raise TypeError(f"`parameter_dict` is a dict as load_checkpoint returns it, not {kind_of(parameter_dict)}")
    for name, value in parameter_dict.items():
        if not isinstance(name, str) or not isinstance(value, Parameter | str):
            raise TypeError(f"`parameter_dict` holds Parameters by name, not {kind_of(value)} called {name!r}")
    _check_flags(strict_load=strict_load, remove_redundancy=remove_redundancy)
    if remove_redundancy:
        raise TypeError("`remove_redundancy` is not supported: a checkpoint has all Parameters")


def _matched_by_prefix(missing: list[Parameter], given: dict[str, Any]) -> list[tuple[Parameter, Parameter]]:
    """The missing Parameters that the dict has under a common prefix: `fc.weight` as ``net.fc.weight``.

    The first match determines the prefix; all names with that prefix are taken.
    """
    found: dict[int, tuple[Parameter, Parameter]] = {}
    for shown in missing:
        if id(shown) in found:
            continue
        longer = next((n for n, v in given.items() if n.endswith(shown.name) and isinstance(v, Parameter)), None)
        if longer is None:
            continue
        prefix = longer.removesuffix(shown.name)
        for p in missing:
            new = given.get(prefix + p.name)
            if id(p) not in found and isinstance(new, Parameter):
                found[id(p)] = (p, new)
    return list(found.values())


def _fitted(
    net: Cell, pairs: list[tuple[Parameter, Parameter]], strict: bool, notes: list[str]
) -> list[tuple[Parameter, Array]]:
    """The arrays to write; a RuntimeError with all that does not fit."""
    fitted, misfits, cast = [], [], []
    for parameter, new in pairs:
        value, own, other = new._data, parameter.whole_shape or parameter.shape, new.shape
        if len(other) > len(own) and other == own + (1,) * (len(other) - len(own)):
            value = value.reshape(own)
        if parameter.whole_shape is not None and value.shape in (own, parameter.shape):
            value, own = own_part(value, parameter), parameter.shape
        if value.shape != own:
            misfits.append(f"{parameter.name}: shape {other}, the network has {own}")
            continue
        if new.dtype is not parameter.dtype:
            casts = None if strict else _cast(value, new.dtype, parameter.dtype)
            if casts is None:
                misfits.append(f"{parameter.name}: {new.dtype}, the network has {parameter.dtype}")
                continue
            value = casts
            cast.append(f"{parameter.name} from {new.dtype} to {parameter.dtype}")
        fitted.append((parameter, value))
    if misfits:
        raise RuntimeError(
            f"the checkpoint does not fit {type(net).__name__}, and nothing was loaded:\n  "
            + "\n  ".join(map(escape.line, misfits))
        )
    if cast:
        notes.append(f"cast: {_listed(cast)}")
    return fitted


def _cast(value: Array, source: DType, target: DType) -> Array | None:
    """The values in another dtype, or None for dtypes of another kind and for values that it cannot hold."""
    if source.kind != target.kind or target.kind not in "if":
        return None
    with np.errstate(all="ignore"):
        out = value.astype(target.numpy)
        kept = np.isfinite(out) == np.isfinite(value) if target.is_float else out == value
    return out if np.all(kept) else None


# ------------------------------------------------------------------------------------------------ arguments
def _path(function: str, name: Any) -> str:
    if not isinstance(name, str | os.PathLike) or not isinstance(os.fspath(name), str):
        raise TypeError(f"`ckpt_file_name` of {function} is a string, not {kind_of(name)}")
    return os.fspath(name)


def _check_format(format: Any) -> None:
    if format not in checkpoint_file.FORMATS:
        raise ValueError(f"`format` is {', '.join(map(repr, checkpoint_file.FORMATS))}, not {format!r}")


def _check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"`{name}` is a bool, not {kind_of(value)}")


def _prefixes(name: str, prefixes: Any) -> tuple[str, ...] | None:
    if prefixes is None:
        return None
    found = (prefixes,) if isinstance(prefixes, str) else prefixes
    if not isinstance(found, list | tuple) or not all(isinstance(p, str) for p in found):
        raise TypeError(f"`{name}` is a string or a list of strings, not {prefixes!r}")
    if not found or "" in found:
        raise ValueError(f"`{name}` is not empty, nor is any prefix in it")
    return tuple(found)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more
