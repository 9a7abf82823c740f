"""Makes docs/pictures/report.png, the picture of the HTML report in the README: needs playwright and Chromium.

python tools/report_picture.py
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import autodiff_compiler as ms

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "report.png"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MODEL = """\
from autodiff_compiler import ops


def layer(x, w, b):
    return ops.tanh(ops.matmul(x, w) + b)


def loss(w1, b1, w2, x, y):
    h = layer(x, w1, b1)
    error = ops.matmul(h, w2) - y
    return (error * error).mean()
"""


def artifact(folder: Path) -> Any:
    """The gradient of a small network, compiled from a file of its own."""
    (folder / "model.py").write_text(MODEL)
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    shapes = ((64, 256), (256,), (256, 10), (128, 64), (128, 10))
    return ms.value_and_grad(model.loss, (0, 1, 2)).lower(*[ms.Tensor(np.ones(s, np.float32)) for s in shapes])


def main() -> None:
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit("there is no Chromium: tools/install_programs.sh installs one")
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        report = Path(folder) / "report.html"
        made = artifact(Path(folder))
        made.to_html(str(report), made.timing(50))
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 680})
        page.goto(report.as_uri())
        page.locator("#source .row", has_text="return ops.tanh").click()
        page.mouse.move(1, 1)
        page.wait_for_selector("#ir .row.forward")
        page.locator("#ir .text").evaluate("box => box.scrollTop = 108")
        page.wait_for_selector("#ir .row.adjoint")
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
