"""MindSpore's place of metrics: see `autodiff_compiler.nn`."""

from __future__ import annotations

from ..nn.metrics import *  # noqa: F403
from ..nn.metrics import __all__ as __all__
