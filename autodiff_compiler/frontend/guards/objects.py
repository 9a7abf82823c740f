"""What classes, modules and objects hold, by Python's rules: asked without running code of the user's."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import numpy as np

from ...dtypes import DType
from ...ir.types import TensorType, tensor
from ...runtime.tensor import Tensor
from ...source import PACKAGE


def type_of(t: Tensor) -> TensorType:
    """The IR type of a run-time Tensor."""
    return tensor(t.dtype, t.shape)


#: Flags of classes: made at run time, as those written in Python are; closed to changes all the same.
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8


def is_changeable(cls: type) -> bool:
    """Whether a class, or the class of its objects, can be changed: those built in cannot."""
    return cls.__flags__ & (_HEAP | _IMMUTABLE) == _HEAP


def class_attribute(cls: type, name: str) -> Any:
    """What the first class of the MRO that has this name has under it; None if there is none."""
    for c in cls.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return None


def plainly(owner: Any, name: str) -> Any:
    """What an object holds under a name, whatever code its class has for that; UNBOUND if there is nothing."""
    try:
        return object.__getattribute__(owner, name)
    except AttributeError:
        return UNBOUND


def own_attributes(owner: Any) -> Any:
    """The dict of an object; an empty one where it has none."""
    held = plainly(owner, "__dict__")
    return {} if held is UNBOUND else held


class _Unbound:
    #: a value on no path is no error, until it is read
    error = None

    def __repr__(self) -> str:
        return "no value"


UNBOUND = _Unbound()


def module_name(x: types.ModuleType) -> str:
    """The name of a module; "" for one that has lost it."""
    return str(vars(x).get("__name__", ""))


#: Modules whose classes run natively: their objects do not change, or are watched by content.
NATIVE = {
    "builtins",
    "dataclasses",
    "numpy",
    "scipy",
    "fractions",
    "decimal",
    "datetime",
    "pathlib",
    "types",
    "typing",
    "re",
    "inspect",
    "packaging",
}


_HOOKS = ("__getattribute__", "__getattr__")


def is_ours(obj: Any) -> bool:
    """Whether a class, function or module belongs to this package (and so may run natively on Values)."""
    if isinstance(obj, types.FunctionType):  # the file decides: an example in a docstring has its module's name
        return obj.__code__.co_filename.startswith(PACKAGE)
    module = module_name(obj) if isinstance(obj, types.ModuleType) else peek(obj, "__module__")
    root = __name__.partition(".")[0]
    return isinstance(module, str) and (module == root or module.startswith(root + "."))


def is_written(method: Any) -> bool:
    """Whether a method is the user's: a function that belongs neither to Python's own library nor to this package."""
    if not isinstance(method, types.FunctionType) or is_ours(method):
        return False
    return str(method.__module__).partition(".")[0] not in sys.stdlib_module_names | NATIVE


def peek(x: Any, name: str) -> Any:
    """An attribute that the compiler itself asks for, or None; no code of the user's runs."""
    cls = type(x)
    if not any(isinstance(class_attribute(cls, hook), types.FunctionType) for hook in _HOOKS):
        return getattr(x, name, None)
    found = class_attribute(cls, name)
    return found.__get__(x, cls) if isinstance(found, types.FunctionType) else found


def definer(cls: type, name: str) -> type:
    """The class of the MRO that defines a name."""
    return next(c for c in cls.__mro__ if name in c.__dict__)


def is_watched(cls: type) -> bool:
    """Whether the epoch moves when an attribute of an object of a class is set: a Cell or of a `jit_class` class."""
    return hasattr(cls, "__graph_state__")


def same_static(a: Any, b: Any) -> bool:
    """Whether two static values are one and the same for compiled code."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.generic):  # bit by bit: NaNs equal themselves, 0.0 is not -0.0
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, slice | range):  # equal ranges may have other bounds
        return all(map(same_static, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    if isinstance(a, bool | int | str | bytes | DType):
        return bool(a == b)
    if isinstance(a, set | frozenset):
        return a == b and {(type(x), x) for x in a} == {(type(x), x) for x in b}
    bound = type(a) is types.MethodType or getattr(type(a), "is_bound_method", False)
    return bound and bool(a == b)
