"""From a line to the operators of the device that compute it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from tests.ascend.on_device import ascend
from tests.inspection.linked_programs import line_of, net


def test_a_line_has_its_operators(device: Any, tmp_path: Path) -> None:
    x, w = (Tensor(np.ones(shape, np.float32)) for shape in ((16, 8), (8, 32)))
    with ascend():
        artifact = ms.grad(net, (0, 1)).lower(x, w)
        found = artifact.where(f"linked_programs.py:{line_of('active = ops')}")
        lines = artifact.code().splitlines()
        artifact.to_html(str(tmp_path / "report.html"))
    operators = [line for code in found.code for line in lines[code.span.first - 1 : code.span.last]]
    assert any("aclnnTanh(" in line for line in operators)
    assert not any("aclnnMatmul" in line or "aclnnMm" in line for line in operators)
    assert found.time == ()  # the limits of the device are not known
    assert "Operators" in (tmp_path / "report.html").read_text()
