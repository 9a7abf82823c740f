"""`OnRequestExit`: ends a run gracefully on a signal, after its step, and saves the state."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from ...collectives import world
from ...collectives.group import WORLD_NAMES
from ...data_parallel.lockstep import any_of
from ...data_parallel.settings import together
from ...nn.arguments import flag, integer
from ..serialization import load_checkpoint, save_checkpoint
from ._callback import Callback, RunContext, warn

__all__ = ["OnRequestExit"]

#: The key in a JSON file that requests the end.
_KEY = "GracefulExit"


class OnRequestExit(Callback):
    """Ends a training or an evaluation after its step when the process gets the signal `sig`, and saves the Parameters.

    Or when the JSON file `config_file` says ``{"GracefulExit": 1}``.  The checkpoint is
    ``<directory>/rank_0/<file_name>_train.ckpt`` (``..._eval.ckpt`` for an evaluation), with the number of the process
    for 0; a later run that finds it begins with it.  Of processes that train together all have this callback: they end
    after the same step where one is asked to, and each saves.  `save_ckpt` says whether all this is wanted.  There is
    no MindIR here, so `save_mindir` writes nothing, and a warning says so; give False.

    The signal's earlier handler is there again after the run.  Runs have to be in the main thread, as Python has it
    with signals.

    TypeError, ValueError: an argument that does not fit; SIGKILL, which nobody can handle.

    >>> import tempfile
    >>> import numpy as np
    >>> from autodiff_compiler import nn
    >>> from autodiff_compiler.train import LambdaCallback, Model
    >>> net = nn.Dense(1, 1)
    >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
    >>> batch = (np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    >>> folder = tempfile.mkdtemp()
    >>> exits = OnRequestExit(save_mindir=False, directory=folder)
    >>> asked = LambdaCallback(on_train_step_begin=lambda context: signal.raise_signal(signal.SIGTERM))
    >>> model.train(1000, [batch], callbacks=[exits, asked])
    >>> os.listdir(os.path.join(folder, "rank_0"))
    ['Net_train.ckpt']
    """

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str | os.PathLike[str] | None = "./",
        config_file: str | os.PathLike[str] | None = None,
        sig: int = signal.SIGTERM,
    ) -> None:
        super().__init__()
        self.save_ckpt = flag("save_ckpt", save_ckpt)
        if flag("save_mindir", save_mindir):
            warn("OnRequestExit saves a checkpoint, and no MindIR: give it save_mindir=False")
        self.sig = integer("sig", sig)
        if sig == getattr(signal, "SIGKILL", None):
            raise ValueError("the process cannot be told of SIGKILL: use another signal")
        if not isinstance(file_name, str) or "/" in file_name:
            raise ValueError(f"`file_name` is the beginning of a file's name, without slashes, not {file_name!r}")
        rank = world.group(WORLD_NAMES[0]).rank if world.is_initialized() else 0
        folder = os.path.join(os.path.realpath(directory or os.getcwd()), f"rank_{rank}")
        if save_ckpt:
            os.makedirs(folder, exist_ok=True)
        self.train_name, self.eval_name = (os.path.join(folder, f"{file_name}_{run}.ckpt") for run in ("train", "eval"))
        self.config_file = config_file
        self.exit = False
        self._earlier: Any = None

    def __exit__(self, *err: Any) -> None:
        if self._earlier is not None:
            signal.signal(self.sig, self._earlier)
            self._earlier = None

    def _begin(self, network: Any, *files: str) -> None:
        self.exit = False
        earlier = signal.signal(self.sig, self._asked)
        if self._earlier is None:
            self._earlier = signal.SIG_DFL if earlier is None else earlier
        found = [file for file in files if os.path.isfile(file)]
        if self.save_ckpt and found:
            load_checkpoint(found[0], net=network)

    def _asked(self, signum: int, frame: Any) -> None:
        self.exit = True

    def _step_end(self, run_context: RunContext) -> None:
        if self.config_file is not None and os.path.isfile(self.config_file):
            with open(self.config_file, encoding="utf-8") as file:
                try:
                    said = json.load(file)
                except ValueError:  # perhaps half written: read again after the next step
                    said = None
            self.exit = self.exit or (isinstance(said, dict) and said.get(_KEY) == 1)
        if self.exit:
            run_context.request_stop()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Loads what was saved, and listens to the signal."""
        self._begin(run_context.original_args()["train_network"], self.train_name)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Ends the training if that was requested."""
        self._step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Saves the state if the end was requested, of any of the processes that train together."""
        everybody = together()
        if everybody is not None:
            self.exit = any_of(self.exit, everybody)
        if self.exit and self.save_ckpt:
            save_checkpoint(run_context.original_args()["train_network"], self.train_name)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Loads what was saved, by an evaluation or a training, and listens to the signal."""
        self._begin(run_context.original_args()["eval_network"], self.eval_name, self.train_name)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Ends the evaluation if that was requested."""
        self._step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Saves the state if the end was requested."""
        if self.exit and self.save_ckpt:
            save_checkpoint(run_context.original_args()["eval_network"], self.eval_name)
