"""The package's own files change while a process runs: what it has imported goes on, or says what to do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autodiff_compiler

#: Calls a function compiled from a kernel of convolution.py, which is changed after it was imported.
PROGRAM = """
import pathlib, sys
import autodiff_compiler as ms
import autodiff_compiler.primitives.convolution as changed
from autodiff_compiler import Tensor, ops

ms.set_context(backend="numpy")  # whose programs read the kernels' files
path = pathlib.Path(changed.__file__)
text = path.read_text()
other = text.replace("return ", "return 2 * ")
path.write_text({"shifted": "# more\\n\\n" + text, "other": other, "empty": "", "broken": "def"}[sys.argv[1]])
f = ms.jit(lambda x, w: ops.conv2d(x, w))
for _ in range(2):
    try:
        print(f(ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 2, 2))).item())
    except ms.CompileError as error:
        print(error.code, "restart Python" in str(error), "changed on disk" in str(error))
"""


@pytest.mark.some(2)
@pytest.mark.parametrize("change", ["shifted", "other", "empty", "broken"])
def test_a_kernel_whose_file_was_changed(tmp_path: Path, change: str) -> None:
    shutil.copytree(Path(autodiff_compiler.__file__).parent, tmp_path / "autodiff_compiler")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", change]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    # The window of ones has the sum 4.
    assert done.stdout == ("4.0\n" if change == "shifted" else "AC1002 True True\n") * 2
