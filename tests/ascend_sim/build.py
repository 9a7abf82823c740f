"""Builds the simulator's libraries into a folder laid out like a toolkit: ``python build.py FOLDER [OMITTED ...]``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-O2", "-std=gnu11", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
CORE, LIBRARIES = (
    ["core.c", "memory.c", "streams.c"],
    {"libascendcl.so": ["runtime.c"], "libnnopbase.so": ["base.c"],
     "libopapi.so": ["ops.c", "elementwise.c", "reduce.c", "matrix.c", "shape.c", "index.c", "sort.c", "neural.c"]},
)  # fmt: skip


def build(folder: Path, omitted: tuple[str, ...] = ()) -> Path:
    """The folder `lib64` with the libraries; functions named in `omitted` are not exported, as in an older release."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the simulator of the Ascend device needs a C compiler (cc or gcc)")
    folder = folder.resolve()
    lib = folder / "lib64"
    lib.mkdir(parents=True, exist_ok=True)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, cwd=HERE)

    run(compiler, *FLAGS, *CORE, "-o", str(lib / "libaclsim.so"), "-lpthread")
    hidden = folder / "hidden.map"
    hidden.write_text("{ global: *; local: " + "; ".join(("_no_function", *omitted)) + "; };\n", encoding="utf-8")
    for name, sources in LIBRARIES.items():
        run(compiler, *FLAGS, "-fvisibility=hidden", *sources, "-o", str(lib / name), f"-L{lib}", "-laclsim", "-lm",
            "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={hidden}")  # fmt: skip
    return lib


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Builds the simulator of an Ascend device; needs a C compiler.")
    parser.add_argument("folder", type=Path, help="where `lib64` with the libraries goes")
    parser.add_argument("omitted", nargs="*", help="functions to leave out, as an older release would")
    options = parser.parse_args()
    print(build(options.folder, tuple(options.omitted)))
