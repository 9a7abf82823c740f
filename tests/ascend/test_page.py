"""docs/ascend_operators.md says what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler.backends.ascend.lower import CONTROL
from autodiff_compiler.primitives import REGISTRY
from tests import forked
from tools.ascend_page import HOST

ROOT = Path(__file__).resolve().parents[2]
#: What `autodiff` and passes expand before a backend sees it.
EXPANDED = {
    "again", "custom_vjp", "grad", "grad_map", "gradient_source", "linearize", "missing_cotangent", "no_cotangent",
    "pull", "state_read", "state_write", "vmap",
}  # fmt: skip


@pytest.mark.long
def test_the_page_is_current():
    """`make check` looks at it, too."""
    assert forked.run(ROOT / "tools" / "ascend_page.py", "--check").returncode == 0, "run python tools/ascend_page.py"


def test_every_primitive_has_a_rule_or_a_reason():
    own = {name: d for name, d in REGISTRY.items() if d.__module__.startswith("autodiff_compiler.")}
    ruled = {name for name, d in own.items() if d.aclnn is not None or d.decomposed is not None}
    assert not ruled & HOST.keys()
    assert ruled | HOST.keys() | CONTROL.keys() | EXPANDED == own.keys()
