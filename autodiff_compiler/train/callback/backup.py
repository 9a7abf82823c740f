"""`BackupAndRestore`: an interrupted training resumes from its last saved epoch."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from ...nn.arguments import flag, positive
from ..serialization import load_checkpoint, save_checkpoint
from ._callback import Callback, RunContext

__all__ = ["BackupAndRestore"]


class BackupAndRestore(Callback):
    """Saves the Parameters of the training every `save_freq` epochs in ``backup.ckpt``, and loads them at the start.

    So an interrupted training resumes from its last saved state when it is started again; epochs are counted from 1
    again.  At the end of a training the file is removed if `delete_checkpoint` is True.

    TypeError, ValueError: no path; a `save_freq` that is neither "epoch" nor a positive int; no bool.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import Model
    >>> net = nn.Dense(1, 1)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> folder = tempfile.mkdtemp()
    >>> model.train(2, [batch], callbacks=BackupAndRestore(folder, delete_checkpoint=False))
    >>> os.listdir(folder)
    ['backup.ckpt']
    """

    def __init__(
        self, backup_dir: str | os.PathLike[str], save_freq: str | int = "epoch", delete_checkpoint: bool = True
    ) -> None:
        super().__init__()
        if not isinstance(backup_dir, str | os.PathLike) or not os.fspath(backup_dir):
            raise TypeError(f"`backup_dir` is the path of a folder, not {backup_dir!r}")
        self.save_freq = 1 if save_freq == "epoch" else positive("save_freq", save_freq)
        self.delete_checkpoint = flag("delete_checkpoint", delete_checkpoint)
        folder = os.path.realpath(backup_dir)
        os.makedirs(folder, exist_ok=True)
        self.backup_file = os.path.join(folder, "backup.ckpt")

    def on_train_begin(self, run_context: RunContext) -> None:
        """Loads the file, if there is one."""
        if os.path.exists(self.backup_file):
            load_checkpoint(self.backup_file, net=run_context.original_args()["train_network"])

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Saves the file every `save_freq` epochs."""
        args: Any = run_context.original_args()
        if args["cur_epoch_num"] % self.save_freq == 0:
            save_checkpoint(args["train_network"], self.backup_file)

    def on_train_end(self, run_context: RunContext) -> None:
        """Removes the file."""
        if self.delete_checkpoint:
            with suppress(FileNotFoundError):  # of processes that train together one is the first
                os.remove(self.backup_file)
