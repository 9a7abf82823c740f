"""The derivative is a pass of a layer that `passes` may not import; here it stands among them for the cases."""

from __future__ import annotations

from autodiff_compiler.autodiff.expand import expand_grads
from autodiff_compiler.passes import PASSES

PASSES.setdefault("expand_grad", expand_grads)
