"""Builds the simulator's libraries into a folder laid out like a toolkit: ``python build.py FOLDER [OMITTED ...]``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-O1", "-std=gnu11", "-fPIC", "-Wall", "-Wextra", "-Werror"]
CORE, LIBRARIES = (
    ["core.c", "memory.c", "streams.c"],
    {"libascendcl.so": ["runtime.c"], "libnnopbase.so": ["base.c"],
     "libopapi.so": ["ops.c", "elementwise.c", "reduce.c", "matrix.c", "shape.c", "index.c", "sort.c", "neural.c"],
     "libhccl.so": ["hccl.c", "exchange.c"]},
)  # fmt: skip


def compile_sources(objects: Path) -> None:
    """Compiles what is not there yet into a folder, which several builds may have in common."""
    compiler = _compiler()
    for source in [source for sources in (CORE, *LIBRARIES.values()) for source in sources]:
        if not (made := _object(objects, source)).exists():
            visible = [] if source in CORE else ["-fvisibility=hidden"]
            _run(compiler, *FLAGS, *visible, "-c", source, "-o", f"{made}.new")
            Path(f"{made}.new").rename(made)  # as a whole


def build(folder: Path, omitted: tuple[str, ...] = (), objects: Path | None = None) -> Path:
    """The folder `lib64` with the libraries; functions named in `omitted` are not exported, as in an older release.

    `objects`: see `compile_sources`.
    """
    if objects is None:
        with tempfile.TemporaryDirectory() as made:
            return build(folder, omitted, Path(made))
    compiler, folder = _compiler(), folder.resolve()
    lib = folder / "lib64"
    lib.mkdir(parents=True, exist_ok=True)
    compile_sources(objects)
    _run(compiler, "-shared", *_objects(objects, CORE), "-o", str(lib / "libaclsim.so"), "-lpthread")
    hidden = folder / "hidden.map"
    hidden.write_text("{ global: *; local: " + "; ".join(("_no_function", *omitted)) + "; };\n", encoding="utf-8")
    for name, sources in LIBRARIES.items():
        _run(compiler, "-shared", *_objects(objects, sources), "-o", str(lib / name), f"-L{lib}", "-laclsim", "-lm",
             "-Wl,-rpath,$ORIGIN", f"-Wl,--version-script={hidden}")  # fmt: skip
    return lib


def _compiler() -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the simulator of the Ascend device needs a C compiler (cc or gcc)")
    return compiler


def _object(objects: Path, source: str) -> Path:
    return objects.resolve() / f"{source}.o"


def _objects(objects: Path, sources: list[str]) -> list[str]:
    return [str(_object(objects, source)) for source in sources]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=HERE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Builds the simulator of an Ascend device; needs a C compiler.")
    parser.add_argument("folder", type=Path, help="where `lib64` with the libraries goes")
    parser.add_argument("omitted", nargs="*", help="functions to leave out, as an older release would")
    parser.add_argument("--objects", type=Path, help="a folder for compiled sources, which other builds find again")
    options = parser.parse_args()
    print(build(options.folder, tuple(options.omitted), options.objects))
