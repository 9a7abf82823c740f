"""CANN's shared libraries: where they are, and their functions with the C types that they take."""

from __future__ import annotations

import ctypes
import glob
import os
from typing import Any

from ...errors import AscendError, did_you_mean
from ...locks import Lock
from .tables import functions, operators

#: The environment variable that names the folder of the libraries, or the toolkit's above it, before all others.
LIBRARY_VARIABLE = "AUTODIFF_COMPILER_ASCEND_LIB"

#: The files that a function's library may be in, in order.
_FILES = {
    "runtime": ("libascendcl.so", "libacl_rt.so"), "base": ("libnnopbase.so",), "operators": ("libopapi.so",),
    "hccl": ("libhccl.so",),
}  # fmt: skip
_SPLIT_OPERATORS = "libopapi_*.so"

_C: dict[str, Any] = {
    "i8": ctypes.c_int8, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "size": ctypes.c_size_t, "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
    "ptr": ctypes.c_void_p, "text": ctypes.c_char_p, "dtype": ctypes.c_int32,
}  # fmt: skip
#: Types of arguments that are pointers to objects of the base library.
_OBJECTS = ("tensor", "tensors", "scalar", "ints", "bools")


#: The message for a function that the installed CANN does not have.
ABSENT = "the installed CANN has no function"


class MissingSymbolError(AscendError):
    """A function that the installed CANN does not have, or a library that cannot be loaded."""

    def __init__(self, text: str) -> None:
        super().__init__(text=text)


def folders() -> list[str]:
    """The folders in which libraries are searched, before the system's loader searches its own."""
    named = os.environ.get(LIBRARY_VARIABLE, "")
    below = os.path.join(named, "lib64")
    found = [below if named and os.path.isdir(below) else named]
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        home = os.environ.get(variable)
        found.append(os.path.join(home, "lib64") if home else "")
    return [folder for folder in dict.fromkeys(found) if folder]


def c_type(kind: str) -> Any:
    """The ctypes class of a type as the tables name it."""
    if kind.startswith("*"):
        return ctypes.POINTER(_C[kind[1:]])
    return ctypes.c_void_p if kind in _OBJECTS else _C[kind]


class Libraries:
    """The loaded libraries; each is loaded, and each function looked up, when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: dict[str, list[ctypes.CDLL]] = {}
        self._functions: dict[str, Any] = {}

    def paths(self, group: str) -> list[str]:
        """The files that `group` ("runtime", "base", "operators", "hccl") would be loaded from, in order."""
        found = []
        for folder in folders():
            found += [os.path.join(folder, name) for name in _FILES[group]]
            if group == "operators":
                found += sorted(glob.glob(os.path.join(folder, _SPLIT_OPERATORS)))
        there = [path for path in found if os.path.exists(path)]
        return there or list(_FILES[group])

    def load(self, group: str) -> list[ctypes.CDLL]:
        """The libraries of a group; MissingSymbolError if there is none."""
        with self._lock:
            if group not in self._loaded:
                loaded, reasons = [], []
                for path in self.paths(group):
                    try:
                        loaded.append(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL))
                    except OSError as error:
                        reasons.append(str(error))
                if not loaded:
                    raise MissingSymbolError(
                        f"no library of CANN for {group} could be loaded: {'; '.join(reasons)}; looked for in "
                        f"{', '.join(folders()) or 'no folder'} and where the loader looks; run `source set_env.sh` "
                        f"of the toolkit before Python starts, or set {LIBRARY_VARIABLE} to the folder of the libraries"
                    )
                self._loaded[group] = loaded
            return self._loaded[group]

    def function(self, name: str) -> Any:
        """A function of the tables that is no operator, with its argument and result types."""
        found = self._functions.get(name)
        if found is None:
            prototype = functions()[name]
            found = self._symbol(prototype.library, name)
            found.argtypes = [c_type(kind) for _, kind in prototype.args]
            found.restype = c_type(prototype.returns)
            self._functions[name] = found
        return found

    def phases(self, operator: str) -> tuple[Any, Any]:
        """The two functions of an operator: the one that plans, and the one that queues it."""
        name = f"aclnn{operator}"
        found = self._functions.get(name)
        if found is None:
            prototype = operators().get(operator)
            if prototype is None:
                hint = did_you_mean(operator, operators())
                raise MissingSymbolError(f"no prototype of {name} is known" + (f"; {hint}" if hint else ""))
            plan = self._symbol("operators", f"{name}GetWorkspaceSize")
            tail = [ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_void_p)]
            plan.argtypes = [*[c_type(a.kind) for a in prototype.args], *tail]
            queue = self._symbol("operators", name)
            queue.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
            plan.restype = queue.restype = ctypes.c_int32
            found = self._functions[name] = (plan, queue)
        return found

    def lacks(self, operator: str) -> str:
        """Why the installed CANN does not have an operator; "" if it has, or without CANN: compiling needs none."""
        try:
            self.load("operators")
        except MissingSymbolError:
            return ""
        try:
            self.phases(operator)
            return ""
        except MissingSymbolError:
            return f"{ABSENT} aclnn{operator}"

    def _symbol(self, group: str, name: str) -> Any:
        for library in self.load(group):
            try:
                return library[name]  # a new function object: nobody else sets its types
            except AttributeError:
                continue
        raise MissingSymbolError(f"{ABSENT} {name}; `python -m autodiff_compiler ascend-selftest` lists what it lacks")
