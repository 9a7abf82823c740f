"""The function, method or Cell that a command line names: ``model.py:Net.construct``, ``package.module:f``."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import sys
import types
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..config import context
from ..source import Loc, look_at
from .command import Argument, Usage, advice, no_file
from .values import random_values, read_values


def _position(text: str) -> int | str:
    if text == "weights":
        return text
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is neither the number of an argument, counted from 0, nor weights")
    return int(text)


TARGET = Argument("target", help="file.py:function, file.py:Class.method, or module:function")
MAKE = Argument(
    "--make",
    metavar="EXPRESSION",
    help='makes the object of a Class, or what a file alone stands for, in its names: "Net(3, 1)"',
)
GRAD = Argument(
    "--grad",
    type=_position,
    action="append",
    metavar="N",
    help='the derivative by argument N (may be repeated), or by the Parameters of a Cell: "weights"',
)
BACKEND = Argument("--backend", choices=("auto", "native", "numpy"), help="which backend makes the code")
LOADED = "The file is imported under its own name: what it trains or prints belongs under `if __name__ == '__main__':`."


class Files:
    """The files and modules that a command has loaded: each once."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType] = {}

    def find(self, target: str, make: str | None = None) -> Any:
        """The object that a target names; for a class an instance, made by `make` or without arguments.

        A file alone stands for what `make` makes there.
        """
        place, _, name = target.rpartition(":")
        if make is not None and os.path.isfile(target):
            return _made(self._loaded(target), target, make)
        if not place or not name:
            if (os.sep in target or target.endswith((".py", ".ir"))) and not os.path.exists(target):
                raise no_file(target)
            raise Usage(f"{target!r} does not name a function: write {_proposal(target)}")
        return _inside(self._loaded(place), place, name.split("."), make)

    def _loaded(self, place: str) -> types.ModuleType:
        if place not in self._modules:
            self._modules[place] = _file(place) if _is_file(place) else _module(place)
        return self._modules[place]


def name_in(target: str) -> str:
    """The name of a target: behind the file, or the file's own."""
    name = target.rpartition(":")[2]
    return os.path.splitext(os.path.basename(name))[0] if os.path.isfile(target) else name


def function_of(options: Namespace, arguments: Sequence[Any], files: Files | None = None) -> Any:
    """The target of a command, which takes these arguments, or its derivative with ``--grad``."""
    fn = (files or Files()).find(options.target, options.make)
    if not callable(fn):
        raise Usage(f"{options.target} is of the class {type(fn).__name__}, which cannot be called")
    look_at(_place_of(fn))
    _check_arguments(fn, options, arguments)
    return _derivative(fn, options, len(arguments)) if getattr(options, "grad", None) else fn


def _check_arguments(fn: Any, options: Namespace, arguments: Sequence[Any]) -> None:
    """Usage if a function does not take these arguments, with an example where there are none."""
    try:
        signature = inspect.signature(getattr(fn, "construct", fn))
    except (TypeError, ValueError):  # it says nothing of its arguments
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = f"{name_in(options.target)}{signature}"
        example = _example(signature)
        if arguments and len(arguments) < len(example):  # what is given stays as it is
            example = [options.args.strip(), *example[len(arguments) :]]
        shown = f'e.g. --args "{" ".join(example)}"'
        if arguments or not example:
            raise Usage(f"--args does not fit {name}: {error}{f'; {shown}' if example else ''}") from None
        raise Usage(f"{name} needs arguments: write their types or values, {shown}") from None


#: Example values by annotation; parameters without one are Tensors.
_VALUES = {"bool": "True", "int": "3", "float": "0.5", "str": "'text'"}


def _example(signature: inspect.Signature) -> list[str]:
    """Arguments for the parameters that need one, or none where ``--args`` cannot give them."""
    needed = [p for p in signature.parameters.values() if p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY for p in needed):
        return []
    given = [p.annotation for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [_VALUES.get(str(getattr(x, "__name__", x)), "f32[2,3]") for x in given]


def _place_of(fn: Any) -> Loc | None:
    """Where a function, or what a Cell computes, begins."""
    code = getattr(inspect.unwrap(getattr(fn, "construct", fn)), "__code__", None)
    return None if code is None else Loc(code.co_filename, code.co_firstlineno, function=code.co_qualname)


def artifact_of(options: Namespace, files: Files | None = None, drawn: bool = False) -> Any:
    """What the target of a command compiles to; `drawn`: for Tensors of random numbers, not for types alone."""
    arguments = (random_values if drawn else read_values)(options.args or "")
    return compiled_of(options, arguments, files).lower(*arguments)


def compiled_of(options: Namespace, arguments: Sequence[Any], files: Files | None = None) -> Any:
    """The target of a command, or its derivative, as a compiled function."""
    from ..transforms.jit import jit  # not for --help: it loads the compiler

    return jit(function_of(options, arguments, files))


@contextmanager
def asked_backend(options: Namespace) -> Iterator[None]:
    """Compiles with the backend of ``--backend`` in here."""
    before = context.backend
    if options.backend:
        context.set(backend=options.backend)
    try:
        yield
    finally:
        context.set(backend=before)


def _derivative(fn: Any, options: Namespace, count: int) -> Any:
    from ..transforms.grad import grad  # not for --help: it loads the compiler

    positions = tuple(n for n in options.grad if n != "weights")
    if positions and not count:
        raise Usage(f"--grad {max(positions)}: {name_in(options.target)} is given no argument; --args has them")
    if any(n >= count for n in positions):
        raise Usage(f"--grad {max(positions)}: the last argument of --args has the number {count - 1}")
    weights = None
    if "weights" in options.grad:
        weights = trainable_of(fn)
        if weights is None:
            raise Usage(f"--grad weights needs a Cell, which {options.target} is not")
    return grad(fn, positions[0] if len(positions) == 1 else positions or None, weights)


def trainable_of(fn: Any) -> list[Any] | None:
    """The Parameters that require a gradient of the Cell that a target is, or a method of; None: of no Cell."""
    owner = getattr(fn, "__self__", fn)
    return owner.trainable_params() if hasattr(owner, "trainable_params") else None


# ------------------------------------------------------------------------------------------------ files and modules
def _is_file(place: str) -> bool:
    return place.endswith(".py") or os.path.isfile(place) or not all(part.isidentifier() for part in place.split("."))


def _file(path: str) -> types.ModuleType:
    """A Python file as a module; it gets the name `__main__` only when it is run."""
    if not os.path.isfile(path):
        raise Usage(f"{path} is a folder, not a file") if os.path.isdir(path) else no_file(path)
    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    if getattr(sys.modules.get(name), "__file__", path) != path:
        name = f"{name} of the command line"  # a file may be called as a module that others need
    _search_first(os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Usage(f"{path} is not Python: its name does not end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    try:
        _imported(path, lambda: _compiled(path, loader, name))
        _imported(path, lambda: loader.exec_module(module))
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _compiled(path: str, loader: Any, name: str) -> Any:
    """The code of a file; Usage where Python itself gives up on it."""
    try:
        return loader.get_code(name)
    except (RecursionError, MemoryError):
        raise nested_too_deeply(path) from None


def nested_too_deeply(path: str) -> Usage:
    """The error for a file that Python itself gives up on."""
    return Usage(f"{path} is nested too deeply for Python: split its longest expressions")


def _module(name: str) -> types.ModuleType:
    _search_first(os.getcwd())
    try:
        return _imported(name, lambda: importlib.import_module(name))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        hint = f"; there is a file {name}.py" if os.path.isfile(f"{name}.py") else ""
        raise Usage(f"there is no module {error.name!r}{hint}") from None


def _search_first(folder: str) -> None:
    if not sys.flags.safe_path and sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _imported(name: str, load: Callable[[], Any]) -> Any:
    """Runs an import that may read `sys.argv` or exit, as scripts do."""
    before, sys.argv = sys.argv, [name]
    try:
        return load()
    except SystemExit as ended:
        raise RuntimeError(
            f"{name} ended itself while it was imported (status {ended.code}): put what runs under "
            "`if __name__ == '__main__':`"
        ) from None
    except SyntaxError as error:
        raise Usage(f"{error.filename or name} is not Python: {error}") from None
    except ImportError as error:
        if "attempted relative import" in str(error):
            error.add_note("a file of a package is named as a module: package.module:function")
        raise
    finally:
        sys.argv = before


# ------------------------------------------------------------------------------------------------ names
def _inside(module: types.ModuleType, place: str, names: list[str], make: str | None) -> Any:
    made = None if make is None else [_made(module, place, make)]
    found: Any = module
    for i, name in enumerate(names):
        if not hasattr(found, name):
            what = ".".join([*names[:i], name])
            raise Usage(f"{place} has no {what!r}{_did_you_mean(name, _functions_of(found))}")
        found = getattr(found, name)
        if isinstance(found, type) and not _belongs_to_class(found, names[i + 1 : i + 2]):
            found = _object_of(found, place, made)
            made = made and []
    if made:
        raise Usage(f"--make is for a class, which {'.'.join(names)} of {place} is not")
    return found


def _belongs_to_class(cls: type, names: list[str]) -> bool:
    """Whether the next name is one for which no object is needed."""
    return any(isinstance(inspect.getattr_static(cls, n, None), type | staticmethod | classmethod) for n in names)


def _object_of(cls: type, place: str, made: list[Any] | None) -> Any:
    if made:
        if not isinstance(made[0], cls):
            raise Usage(f"--make must make an object of {cls.__name__}, not of {type(made[0]).__name__}")
        return made[0]
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        raise Usage(f'{cls.__name__} of {place} needs arguments: write --make "{cls.__name__}({", ".join(needed)})"')
    return cls()


def _made(module: types.ModuleType, place: str, expression: str) -> Any:
    """The value of an expression in the namespace of a file."""
    try:
        return eval(compile(expression.strip(), "--make", "eval", dont_inherit=True), vars(module))
    except SyntaxError as error:
        raise Usage(f"--make {expression!r} is no expression: {error.msg}") from None
    except NameError as error:
        name = getattr(error, "name", None) or ""
        raise Usage(f"--make: {place} has no {name!r}{_did_you_mean(name, vars(module))}") from None
    except Exception as error:
        trace = error.__traceback__ and error.__traceback__.tb_next
        if trace is not None and trace.tb_next is not None:  # the program's own, from within what is called
            error.add_note(f"in --make {expression!r}")
            raise
        raise Usage(f"--make {expression!r} raises {type(error).__name__}: {error}") from None


def _functions_of(owner: Any) -> list[str]:
    """The names in a module that were made there, or the public ones of an object."""
    if isinstance(owner, types.ModuleType):
        return [n for n, x in vars(owner).items() if callable(x) and getattr(x, "__module__", None) == owner.__name__]
    return [name for name in dir(owner) if not name.startswith("_")]


_MANY = 12


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    public = [n for n in names if not n.startswith("_")]
    return advice(name, public, f"it has {', '.join(public)}" if 0 < len(public) <= _MANY else "")


def _proposal(target: str) -> str:
    """A proposal for a target without a name: the functions and classes of the file, which is not imported."""
    place = target.rstrip(":") or "file.py"
    if os.path.isfile(f"{place}.py"):
        place += ".py"
    names = []
    if os.path.isfile(place):
        try:
            with open(place, "rb") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            return f"{place}:function"
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if not names:
        return f"{place}:function" if os.path.isfile(place) else f"file.py:{target.strip(':') or 'function'}"
    shown = [f"{place}:{name}" for name in names[:_MANY]]
    return " or ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} or {shown[-1]}"
