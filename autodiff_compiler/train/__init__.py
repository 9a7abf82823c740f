"""Training: checkpoints."""

from __future__ import annotations

from .serialization import CheckpointError, load_checkpoint, load_param_into_net, save_checkpoint

__all__ = ["CheckpointError", "load_checkpoint", "load_param_into_net", "save_checkpoint"]
