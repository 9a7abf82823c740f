"""The import hook behind `as_mindspore`: ``import mindspore`` gives the names of this package."""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import did_you_mean
from .absent import reason
from .places import ABSENT, ALIASES, PLACES, VALUES, VERSION

__all__ = ["MindSporeNames", "as_mindspore", "is_place", "sources"]

_ROOT, _PACKAGE = "mindspore", __name__.partition(".")[0]
_PAGE = "docs/migration.md lists the names that there are"
#: Modules that are searched for a name missing from the module it was imported from.
_ELSEWHERE = ("", "nn", "ops", "train", "amp", "numpy", "common.dtype", "common.initializer", "ops.operations")


def as_mindspore() -> MindSporeNames:
    """Lets ``import mindspore``, and every module of MindSpore's that has names here, mean this package.

    Called plainly it holds until the process ends; as a context manager until the block does, and gives the module
    ``mindspore``.  What was imported stays usable afterwards.  MindSpore itself need not be installed, and is not seen
    if it is.

    ImportError: the real MindSpore is already imported.

    >>> with as_mindspore() as mindspore:
    ...     from mindspore.common.initializer import One, initializer
    >>> initializer(One(), [2])
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  1.00000000e+00])
    """
    return MindSporeNames()


class MindSporeNames:
    """What `as_mindspore` returns: ends the mapping at the end of a ``with`` block."""

    def __init__(self) -> None:
        _finder.begin()

    def __enter__(self) -> types.ModuleType:
        return importlib.import_module(_ROOT)

    def __exit__(self, *exception: object) -> None:
        _finder.end()


class _Finder:
    """Finds the modules below ``mindspore``, before any that are installed."""

    def __init__(self) -> None:
        self._users, self._lock = 0, threading.Lock()

    def begin(self) -> None:
        with self._lock:
            found = sys.modules.get(_ROOT)
            if found is not None and not is_place(found):
                raise ImportError(
                    f"MindSpore itself is already imported, from {getattr(found, '__file__', None)}: call "
                    f"`{_PACKAGE}.as_mindspore()` before the first `import mindspore`",
                    name=_ROOT,
                )
            self._users += 1
            if self not in sys.meta_path:
                sys.meta_path.insert(0, self)

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            sys.meta_path.remove(self)
            for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
                del sys.modules[name]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module of that name; an error that says what there is, where an import asks for what is not here."""
        root, _, place = fullname.partition(".")
        if root != _ROOT:
            return None
        if place in PLACES and sources(place):
            return importlib.machinery.ModuleSpec(fullname, _Loader(), origin=_PACKAGE, is_package=True)
        asked = _asked_by()
        if asked == "find_spec":
            return None
        above, _, name = fullname.rpartition(".")
        text = _advice(above.partition(".")[2], name)
        if asked == "_handle_fromlist":
            raise ImportError(f"cannot import name {name!r} from {above!r}: {text}", name=above)
        raise ModuleNotFoundError(f"No module named {fullname!r}: {text}", name=fullname)


_finder = _Finder()


def _asked_by() -> str:
    """The caller of the finder: ``import a.b``, ``from a import b`` or `find_spec`."""
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(8):
        if frame is None:
            break
        name = frame.f_code.co_name
        if name == "_handle_fromlist" or (name == "find_spec" and frame.f_globals.get("__name__") == "importlib.util"):
            return name
        frame = frame.f_back
    return "import"


class _Loader(importlib.abc.Loader):
    """Makes a module whose names are looked up lazily in the modules of this package that have them."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Lets Python make an ordinary module."""

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        place = name.partition(".")[2]
        space = vars(module)
        for known in [known for known in space if not known.startswith("__")]:  # loaded again
            del space[known]
        space["__doc__"] = f"MindSpore's `{name}`, as {_PACKAGE} has it."
        space["__getattr__"] = _getter(module, place)
        space["__dir__"] = lambda: sorted({*space, *_names(place), *_below(place)})
        space["__lacking__"] = lambda missing: _advice(place, missing)
        if place in ("", "version"):
            space["__version__"] = VERSION
        if not place:
            space["__file__"] = sys.modules[_PACKAGE].__file__
        for below in _below(place):
            inner = f"{place}.{below}" if place else below
            if inner in VALUES:  # Python would set the attribute to the imported module
                full = f"{_ROOT}.{inner}"
                spec = importlib.machinery.ModuleSpec(full, self, origin=_PACKAGE, is_package=True)
                sys.modules[full] = importlib.util.module_from_spec(spec)
                self.exec_module(sys.modules[full])


def is_place(module: types.ModuleType) -> bool:
    """Whether a module was made by this importer."""
    return isinstance(getattr(module.__spec__, "loader", None), _Loader)


def _getter(module: types.ModuleType, place: str) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if name == "__all__":
            return [n for n in _names(place) if _found(place, n) is not None]
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)
        value = _found(place, name)
        if value is None:
            text = f"module {module.__name__!r} has no attribute {name!r}: {_advice(place, name)}"
            raise AttributeError(text, name=name, obj=module)
        value = value[0]
        vars(module)[name] = value
        return value

    return get


def _found(place: str, name: str) -> tuple[Any] | None:
    """The object that a name of a MindSpore module stands for."""
    inner = f"{place}.{name}" if place else name
    inner = ALIASES.get(inner, inner)
    if inner in PLACES and inner not in VALUES and sources(inner):
        return (importlib.import_module(f"{_ROOT}.{inner}"),)
    for source in sources(place):
        try:
            value = getattr(source, name)
        except AttributeError:
            continue
        if not isinstance(value, types.ModuleType):
            return (value,)
    return None


def sources(place: str) -> list[types.ModuleType]:
    """The modules of this package that have the names of one of MindSpore's, loaded."""
    found = []
    for source in PLACES[place].split():
        full = _PACKAGE if source == "." else f"{_PACKAGE}.{source}"
        try:
            found.append(importlib.import_module(full))
        except ModuleNotFoundError as error:
            if error.name is None or not full.startswith(error.name):
                raise
    return found


def _below(place: str) -> Iterator[str]:
    """The modules directly below one."""
    start = f"{place}." if place else ""
    return (p[len(start) :] for p in PLACES if p and p.startswith(start) and "." not in p[len(start) :])


def _names(place: str) -> dict[str, None]:
    """The public names of one of MindSpore's modules, each once."""
    found: dict[str, None] = {}
    for source in sources(place):
        public = getattr(source, "__all__", None) or [n for n in dir(source) if not n.startswith("_")]
        if source.__name__ == _PACKAGE:  # its `__all__` has a part of the lazily imported names
            public = [*public, *(n for n in source._LAZY if not n.startswith("_") and not hasattr(builtins, n))]
        values = [n for n in public if not isinstance(vars(source).get(n), types.ModuleType)]
        found |= dict.fromkeys(n for n in values if not n.startswith("__"))
    return found


def _advice(place: str, name: str) -> str:
    """What to write instead of a name that is not in one of MindSpore's modules."""
    full = f"{place}.{name}" if place else name
    for start, why in ABSENT.items():
        if f"{full}.".startswith(f"{start}."):
            return f"{why}; {_PAGE}"
    for source in sources(place):
        lacking = getattr(source, "__lacking__", lambda _: None)(name)
        if lacking:
            return f"{lacking}; {_PAGE}"
    here = [n for n in (*_names(place), *_below(place)) if not n.startswith("_")]
    same = " or ".join([f"`{n}`" for n in here if n.lower() == name.lower()])
    for other in _ELSEWHERE:
        found = None if other == place or name.startswith("_") else _found(other, name)
        if found is not None and not isinstance(found[0], types.ModuleType):
            there = f"`{'.'.join(filter(None, (_ROOT, other, name)))}`"
            return f"use {same}, or {there}; {_PAGE}" if same else f"it is {there}; {_PAGE}"
    if not_planned := reason(place, name):
        return f"{not_planned}; {_PAGE}"
    hint = did_you_mean(name, here)
    return f"{hint}; {_PAGE}" if hint else _PAGE
