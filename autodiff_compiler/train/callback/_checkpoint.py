"""`ModelCheckpoint`: checkpoints during training, and the removal of old ones."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

from ...collectives.group import Group
from ...data_parallel.files import write_once
from ...data_parallel.lockstep import any_of
from ...data_parallel.texts import texts_of_all
from ...errors import UnsupportedCallError, kind_of
from ...nn.arguments import flag, integer
from ...nn.cell import Cell
from ...runtime.tensor import Tensor
from ..checkpoint_file import FORMATS
from ..serialization import join_parts, save_checkpoint
from ._callback import Callback, RunContext, step_in_epoch, warn

__all__ = ["CheckpointConfig", "ModelCheckpoint"]

_COUNTED = ("epoch_num", "step_num")
_BREAKPOINT = "_breakpoint"


class CheckpointConfig:
    """The settings of `ModelCheckpoint`: when it saves, what, and how many files it keeps.

    It saves every `save_checkpoint_steps` steps, or without these when `save_checkpoint_seconds` have passed; and at
    the end.  The newest `keep_checkpoint_max` files stay; without this limit (0), of those of the last
    `keep_checkpoint_per_n_minutes` the oldest and the newest.  `saved_network` is saved instead of the network of the
    training step, which has the optimizer's Parameters, too.  `append_info` is a list of "epoch_num", "step_num" (the
    file holds these numbers then) and one dict of numbers, texts and Tensors by name.  `format` is "ckpt",
    "safetensors" or "npz"; `crc_check` adds a checksum.  With `exception_save` the state at an error is saved.

    Without `integrated_save`, an optimizer whose state is cut between processes saves the part of this process only.
    `async_save`, `remove_redundancy` and MindSpore's `incremental` change nothing: a file is written when the step
    ends.  There is no encryption.

    TypeError, ValueError: an argument that does not fit.  UnsupportedCallError: an `enc_key`.

    >>> config = CheckpointConfig(save_checkpoint_steps=10, keep_checkpoint_max=3)
    >>> config.save_checkpoint_steps, config.save_checkpoint_seconds, config.keep_checkpoint_max
    (10, None, 3)
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
        **kwargs: Any,
    ) -> None:
        limits = {
            "save_checkpoint_steps": save_checkpoint_steps,
            "save_checkpoint_seconds": save_checkpoint_seconds,
            "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes,
        }
        for name, limit in limits.items():
            if limit is not None:
                integer(name, limit, 0)
        if not any(limits.values()):
            raise ValueError(f"{', '.join(limits)} must not all be 0: nothing would be saved")
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(f"`saved_network` is a Cell, not {kind_of(saved_network)}")
        unknown = set(kwargs) - {"incremental", "enable_redundance"}
        if unknown:
            raise TypeError(f"CheckpointConfig() has no argument {min(unknown)!r}")
        if format not in FORMATS:
            raise ValueError(f"`format` is {', '.join(map(repr, FORMATS))}, not {format!r}")
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = None if save_checkpoint_steps else save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_per_n_minutes = None if keep_checkpoint_max else keep_checkpoint_per_n_minutes
        if not keep_checkpoint_max and not keep_checkpoint_per_n_minutes:
            self.keep_checkpoint_max = 1
        self.integrated_save = flag("integrated_save", integrated_save)
        if not isinstance(async_save, bool) and async_save not in ("thread", "process"):
            raise ValueError(f"`async_save` is a bool, 'thread' or 'process', not {async_save!r}")
        self.async_save = async_save
        self.saved_network = saved_network
        self.append_dict = _appended(append_info)
        self.enc_key, self.enc_mode = enc_key, enc_mode
        self.exception_save = flag("exception_save", exception_save)
        self.crc_check = flag("crc_check", crc_check)
        self.remove_redundancy = flag("remove_redundancy", remove_redundancy)
        self.format = format
        if enc_key is not None:
            raise UnsupportedCallError(
                "checkpoints cannot be encrypted", hint="encrypt the files after they are written"
            )
        if format == "safetensors" and (crc_check or exception_save):
            raise ValueError("files in the format 'safetensors' have no `crc_check` and no `exception_save`")

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """The limits, and the network to save, in a dict."""
        names = ("save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max")
        return {name: getattr(self, name) for name in (*names, "keep_checkpoint_per_n_minutes", "saved_network")}


def _appended(info: Any) -> dict[str, Any] | None:
    """The values saved beside the Parameters, by name."""
    if info is None or info == []:
        return None
    if not isinstance(info, list):
        raise TypeError(f"`append_info` is a list, not {kind_of(info)}")
    found: dict[str, Any] = {}
    dicts = 0
    for entry in info:
        if isinstance(entry, str):
            if entry not in _COUNTED:
                raise ValueError(f"`append_info` knows {' and '.join(map(repr, _COUNTED))}, not {entry!r}")
            found[entry] = 0
        elif isinstance(entry, dict):
            dicts += 1
            if dicts > 1:
                raise TypeError("`append_info` holds one dict, not several")
            for name, value in entry.items():
                if not isinstance(name, str) or not isinstance(value, int | float | str | Tensor):
                    raise TypeError(
                        f"`append_info` holds numbers, texts and Tensors by name, not {kind_of(value)} called {name!r}"
                    )
            found.update(entry)
        else:
            raise TypeError(f"`append_info` holds names and a dict, not {kind_of(entry)}")
    return found


_Naming = Callable[[Any], str]


class ModelCheckpoint(Callback):
    """Saves the Parameters while a network is trained, in files ``<prefix>-<epoch>_<step in the epoch>.<format>``.

    If the folder has files of that prefix already, a number is added to it: ``CKP_1-...``, ``CKP_2-...``.  `prefix` and
    `directory` may be functions of the run's context, of ``run_context.original_args()``; the file is called
    ``<prefix>.<format>`` then if `prefix` is one.  Folders are made where they are missing; without `directory` it is
    the current one.

    Of processes that train together, all with this callback, the first one writes, and the others wait until the file
    is there; where they have different folders, each writes its own.

    A file is written as a whole or not at all, and older ones are removed after that: an interrupt leaves at least
    what there was.  With `exception_save` an error or an interrupt is followed by ``..._breakpoint.ckpt``.

    TypeError, ValueError: a `prefix` with a slash, or a `config` that is no `CheckpointConfig`.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import Model
    >>> net = nn.Dense(1, 1)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> folder = tempfile.mkdtemp()
    >>> saves = ModelCheckpoint("net", folder, CheckpointConfig(2, keep_checkpoint_max=2))
    >>> model.train(3, [batch, batch], callbacks=saves)
    >>> sorted(os.listdir(folder)), os.path.basename(saves.latest_ckpt_file_name)
    (['net-2_2.ckpt', 'net-3_2.ckpt'], 'net-3_2.ckpt')
    """

    def __init__(
        self,
        prefix: str | _Naming = "CKP",
        directory: str | os.PathLike[str] | _Naming | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(f"`config` is a CheckpointConfig, not {kind_of(config)}")
        self._config = CheckpointConfig() if config is None else config
        self._prefix_of = prefix if callable(prefix) else None
        self._directory_of = directory if callable(directory) else None
        self._prefix = "" if callable(prefix) else _checked(prefix)
        #: The prefix of files after errors.
        self._given_prefix = self._prefix or "CKP"
        self._directory = os.getcwd() if directory is None or callable(directory) else _made(directory)
        if self._prefix_of is None and self._directory_of is None:
            self._prefix = _unused(self._directory, self._prefix)
        self._append_dict = dict(self._config.append_dict or {})
        self._latest_ckpt_file_name = ""
        #: The processes that save together; None: this one saves for itself.
        self._group: Group | None = None
        self._last_step = 0
        self._saved_at = time.time()

    def save_together(self, group: Group | None) -> None:
        """Lets processes that all have this callback save one file, if its path is the same for all."""
        self._group = group
        if group is not None and self._prefix_of is None:
            self._prefix = texts_of_all(self._prefix, group)[0]

    def when(self) -> str:
        """When it saves, as a text that is equal where callbacks of several processes save in the same steps."""
        return f"{self._config.save_checkpoint_steps} steps, {self._config.save_checkpoint_seconds} seconds"

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begins to count the steps."""
        self._last_step = 0
        super().on_train_begin(run_context)

    def step_end(self, run_context: RunContext) -> None:
        """Saves if a checkpoint is due."""
        args = run_context.original_args()
        if self._prefix_of is not None:
            self._prefix = _checked(self._prefix_of(args))
        if self._directory_of is not None:
            self._directory = _made(self._directory_of(args))
        steps, seconds = self._config.save_checkpoint_steps, self._config.save_checkpoint_seconds
        if steps:
            due = args["cur_step_num"] >= self._last_step + steps
        else:
            due = bool(seconds) and time.time() - self._saved_at > seconds  # type: ignore[operator]
            due = due if self._group is None else any_of(due, self._group)
        if due:
            self._save(args)

    def end(self, run_context: RunContext) -> None:
        """Saves the last state."""
        self._save(run_context.original_args())

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Nothing: evaluation changes no Parameters."""

    def on_eval_end(self, run_context: RunContext) -> None:
        """Nothing: evaluation changes no Parameters."""

    def _save(self, args: Any) -> None:
        step = args["cur_step_num"]
        if step == self._last_step:
            return
        config, counted = self._config, f"-{args['cur_epoch_num']}_{step_in_epoch(args)}"
        name = self._prefix + ("" if self._prefix_of is not None else counted)
        path = os.path.join(self._directory, f"{name}.{config.format}")
        now = time.time()
        network = args["train_network"] if config.saved_network is None else config.saved_network
        appended = self._appended(args["cur_epoch_num"], step)

        def write(wanted: bool) -> None:
            if wanted:
                self._write(network, path, appended)
            elif config.integrated_save:
                join_parts(network)

        if self._group is None:
            write(True)
            wrote = True
        else:
            wrote = write_once(path, write, self._group)
        self._last_step, self._saved_at, self._latest_ckpt_file_name = step, now, path
        args["last_save_ckpt_step"], args["latest_ckpt_file"] = step, path
        if wrote:
            self._clear(path, now)

    def _write(self, network: Any, path: str, appended: dict[str, Any]) -> None:
        config = self._config
        save_checkpoint(
            network, path, config.integrated_save, config.async_save, appended, config.enc_key, config.enc_mode,
            crc_check=config.crc_check, format=config.format,
        )  # fmt: skip

    def _appended(self, epoch: int, step: int) -> dict[str, Any]:
        now = dict(self._append_dict)
        for name, count in zip(_COUNTED, (epoch, step), strict=True):
            if name in now:
                now[name] += count
        return now

    def _clear(self, written: str, now: float) -> None:
        """Removes the files beyond the limit."""
        older = sorted((path for path in self._files() if path != written), key=_age)
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes
        if most:
            unwanted = older[: max(len(older) + 1 - most, 0)]
        else:
            unwanted = [path for path in older if now - os.path.getmtime(path) < 60 * (minutes or 0)][1:]
        for path in unwanted:
            try:
                os.remove(path)
            except OSError as error:
                warn(f"an older checkpoint stays: {error}")

    def _files(self) -> list[str]:
        """The files of this prefix."""
        name = re.compile(rf"{re.escape(self._prefix)}-[^a-zA-Z]*\.{self._config.format}")
        return [os.path.join(self._directory, file) for file in os.listdir(self._directory) if name.fullmatch(file)]

    def save_breakpoint(self, network: Any, epoch: int, step: int) -> None:
        """Saves the state at an error, if the configuration wants it; `step` is counted in the epoch."""
        if not self._config.exception_save:
            return
        prefix = _unused(self._directory, self._given_prefix, _BREAKPOINT)
        path = os.path.join(self._directory, f"{prefix}-{epoch}_{step}{_BREAKPOINT}.{self._config.format}")
        self._write(network, path, self._appended(epoch, step))

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the last file; empty before the first."""
        return self._latest_ckpt_file_name


def _checked(prefix: Any) -> str:
    if not isinstance(prefix, str) or "/" in prefix:
        raise ValueError(f"`prefix` is the beginning of a file's name, without slashes, not {prefix!r}")
    return prefix


def _made(directory: Any) -> str:
    """The absolute path of a folder, created if it is missing."""
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory):
        raise TypeError(f"`directory` is the path of a folder, not {directory!r}")
    path = os.path.realpath(directory)
    os.makedirs(path, exist_ok=True)
    return path


def _age(path: str) -> tuple[int, list[int]]:
    """The sort key of files: their times, then the numbers in their names."""
    return os.stat(path).st_mtime_ns, [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def _unused(directory: str, prefix: str, ending: str = "") -> str:
    """The prefix, with a number that no file of the folder has."""
    name = re.compile(rf"{re.escape(prefix)}(?:_(\d+))?-.*\.(?:{'|'.join(FORMATS)})")
    taken = 0
    for file in os.listdir(directory):
        found = name.fullmatch(file)
        if found and os.path.splitext(file)[0].endswith(_BREAKPOINT) == bool(ending):
            taken = max(taken, int(found[1] or 0) + 1)
    return f"{prefix}_{taken}" if taken else prefix
