"""The binding's tables, the rules and the simulator speak of the same functions, with the same arguments."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from autodiff_compiler import backends, primitives
from autodiff_compiler.backends.ascend.library import c_type
from autodiff_compiler.backends.ascend.tables import Argument, functions, operators
from tests.ascend.conftest import SOURCES, WHERE, Simulator

pytestmark = pytest.mark.skipif(WHERE != "sim", reason="it is about the simulator")

#: C types of an operator's arguments by their kind in the table.
KINDS = {
    "tensor": "Tensor*", "tensors": "Tensors*", "scalar": "Scalar*", "ints": "Ints*", "bools": "Bools*",
    "dtype": "int32_t", "bool": "_Bool", "i8": "int8_t", "i32": "int", "i64": "int64_t", "u64": "uint64_t",
    "f32": "float", "f64": "double",
}  # fmt: skip
#: How the simulator describes an argument that it read, by kind.
READ = {
    "tensor": {"in", "out", "optional"}, "tensors": {"list"}, "scalar": {"scalar"}, "ints": {"ints"},
    "bools": {"bools"}, "f32": {"real"}, "f64": {"real"},
}  # fmt: skip
SIZES = {
    "int8_t": 1, "_Bool": 1, "int16_t": 2, "uint16_t": 2, "int": 4, "int32_t": 4, "uint32_t": 4, "Status": 4,
    "float": 4, "double": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8,
}  # fmt: skip


def _prototypes() -> dict[str, tuple[str, list[str]]]:
    """All exported functions of the simulator after the preprocessor: result type and argument types."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("a C compiler is needed")
    found = {}
    for path in sorted(SOURCES.glob("*.c")):
        text = subprocess.run([compiler, "-E", "-P", str(path)], capture_output=True, text=True, check=True).stdout
        exported = r'__attribute__\(\(visibility\("default"\)\)\)\s+((?:const )?\w+\s*\**)\s*(\w+)\(([^()]*)\)\s*\{'
        for result, name, args in re.findall(exported, text):
            types = [_type(a) for a in args.split(",")] if args.strip() not in ("", "void") else []
            found[name] = (re.sub(r"const|\s", "", result), types)
    return found


def _type(declared: str) -> str:
    """The type of a declared argument, without `const` and the name."""
    text = re.sub(r"\bconst\b", "", declared).strip()
    stars = "*" * text.count("*")
    return text.replace("*", " ").split()[0] + stars


@pytest.fixture(scope="module")
def prototypes() -> dict[str, tuple[str, list[str]]]:
    return _prototypes()


def _simulated(prototypes: dict[str, tuple[str, list[str]]]) -> set[str]:
    ends = "GetWorkspaceSize"
    return {name.removeprefix("aclnn").removesuffix(ends) for name in prototypes if name.endswith(ends)}


def test_the_simulator_has_the_operators_that_the_rules_use_and_no_others(prototypes) -> None:
    """Rules name operators as texts, in the classes of primitives and in the backend."""
    folders = [Path(primitives.__file__).parent, Path(backends.__file__).parent / "ascend"]
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.py")]
    words = {word for text in texts for word in re.findall(r'"([A-Z]\w+)"', text)}
    assert words & operators().keys() == _simulated(prototypes)


def test_both_phases_have_the_arguments_of_the_table(prototypes) -> None:
    for name in sorted(_simulated(prototypes)):
        wanted = [KINDS[a.kind] for a in operators()[name].args]
        assert prototypes[f"aclnn{name}GetWorkspaceSize"] == ("Status", [*wanted, "uint64_t*", "Executor**"]), name
        assert prototypes[f"aclnn{name}"] == ("Status", ["void*", "uint64_t", "Executor*", "Stream*"]), name


def test_functions_of_the_runtime_have_arguments_of_the_same_size(prototypes) -> None:
    """Every pointer is one; numbers are as wide as the binding makes them."""

    def width(text: str) -> int:
        return 8 if text.endswith("*") or text.startswith("acl") else SIZES[text]  # handles are pointers

    shared = functions().keys() & prototypes.keys()
    assert len(shared) > 40
    for name in sorted(shared):
        result, args = prototypes[name]
        wanted = [ctypes.sizeof(c_type(kind)) for _, kind in functions()[name].args]
        assert [width(a) for a in args] == wanted, name
        returned = c_type(functions()[name].returns)
        assert (0 if result == "void" else width(result)) == (ctypes.sizeof(returned) if returned else 0), name


def test_the_first_phase_reads_arguments_as_the_table_says(prototypes, libraries: Path, device: Simulator) -> None:
    """In order, with no dtype that the table does not have; with nothing given each refuses."""
    assert device.core is not None
    library = ctypes.CDLL(str(libraries / "libopapi.so"))
    library.aclsim_description.restype = ctypes.c_char_p
    for name in sorted(_simulated(prototypes)):
        args = operators()[name].args
        plan = library[f"aclnn{name}GetWorkspaceSize"]
        plan.argtypes = [*[c_type(a.kind) for a in args], ctypes.c_void_p, ctypes.c_void_p]
        nothing = [None if c_type(a.kind) is ctypes.c_void_p else 0 for a in args]
        assert plan(*nothing, None, None) != 0, name
        described = library.aclsim_description().decode().rstrip(";").split(";")
        assert len(described) == len(args), (name, described)
        for a, text in zip(args, described, strict=True):
            _compare(name, a, *text.split(" ", 1))


def _compare(name: str, a: Argument, read: str, dtypes: str) -> None:
    assert read in READ.get(a.kind, {"whole"}), (name, a.name, read)
    if a.kind in ("tensor", "tensors"):
        assert set(dtypes.split()) <= a.dtypes, (name, a.name, set(dtypes.split()) - a.dtypes)
    if a.kind == "tensor" and read != "optional":
        assert (read == "in") == (a.role == "in"), (name, a.name, a.role)
    if read == "optional":
        assert a.optional, (name, a.name)
