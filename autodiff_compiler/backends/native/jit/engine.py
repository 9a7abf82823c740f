"""Compiles LLVM text to object code, and links object code into this process.

No optimisation passes run: the text has explicit vectors and no common subexpressions, so code generation is all that
is left.  Object code comes from the disk cache if it is there.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cache
from typing import Any

from ....errors import InternalCompilerError
from ....locks import waited_for
from .cache import cached, keep, key_of
from .machine import Machine, binding, machine
from .symbols import addresses, symbols

#: The global array of pointers by which a module reaches objects of this process; the loader fills it.
CONTEXT = "context"
#: Lines from which on code generation does not optimise, which would take too long.
LARGE = 40_000
#: Position-independent code of at most 2 GiB.
_CODE = {"reloc": "pic", "codemodel": "small", "jit": True}
#: Libraries that share a linker.
_SHARING = 16
_PARSE_PLACE = re.compile(r"<string>:(\d+):(\d+): (?:error: )?(.*)")


def _lock() -> Any:
    """llvmlite's own lock, which every call of LLVM takes, destructors too."""
    return binding().ffi.lib._lock


# Forks wait for it: a child would find the lock taken for ever, and LLVM in the middle of a call.
waited_for(lambda: _lock() if binding.cache_info().currsize else None)


class Loaded:
    """The functions of a module linked into this process, for the life of this object.

    `context`: the pointers that the module reads, writable; `size`: the bytes of its object code; `key`: its cache key.
    """

    def __init__(self, key: str, code: bytes, context_size: int) -> None:
        self.key, self.size = key, len(code)
        self._memory, self._addresses = _linked(code)
        self.context: ctypes.Array[ctypes.c_void_p] = (ctypes.c_void_p * context_size).from_address(
            self.address(CONTEXT) if context_size else 1
        )

    def has(self, name: str) -> bool:
        """Whether the module defines a function or global of that name."""
        return bool(self._addresses.get(name))

    def address(self, name: str) -> int:
        """The address of a function or global of the module."""
        if not self._addresses.get(name):
            raise InternalCompilerError(f"the loaded module has no {name!r}")
        return self._addresses[name]

    def fill(self, pointers: Sequence[int]) -> None:
        """Writes the context; the caller keeps alive what it points to."""
        if len(pointers) != len(self.context):
            raise InternalCompilerError(f"{len(pointers)} pointers for a context of {len(self.context)}")
        self.context[:] = list(pointers)


def load(text: str, *, level: int | None = None, context_size: int = 0, target: Machine | None = None) -> Loaded:
    """The functions of a module, from the cache or compiled now.

    `context_size`: how many pointers `@context` has, which the text uses without defining it.  `level`: of LLVM's code
    generation, 0 to 3; None: by the size of the text.  `target`: None: the current one.  InternalCompilerError: the
    text is no valid module, or calls a function that compiled code may not call.
    """
    target = target or machine()
    level = level_for(text) if level is None else level
    whole = _with_context(text, context_size)
    key = key_of(whole, target, level)
    code = cached(key)
    if code is None:
        code = _object(whole, target, level)
        keep(key, code, symbols(code).undefined)
    return Loaded(key, code, context_size)


def load_cached(key: str, *, context_size: int) -> Loaded | None:
    """The functions of a module by its `Loaded.key`, if its object code is still in the cache."""
    code = cached(key)
    return None if code is None else Loaded(key, code, context_size)


def assembly(text: str, *, context_size: int = 0) -> str:
    """The assembly of a module, compiled anew at each call."""
    target = machine()
    with _lock():
        maker = _target_machine(target, level_for(text))
        module = _parsed(_with_context(text, context_size), maker, target)
        with _order_as_written(target):
            return str(maker.emit_assembly(module))


def emit(text: str, *, level: int | None = None, context_size: int = 0) -> bytes:
    """The object file of a module for the current target, which need not be this host (see `machine.override`)."""
    target = machine()
    level = level_for(text) if level is None else level
    return _object(_with_context(text, context_size), target, level)


def _object(text: str, target: Machine, level: int) -> bytes:
    with _lock():
        maker = _target_machine(target, level)
        module = _parsed(text, maker, target)
        with _order_as_written(target):
            code: bytes = maker.emit_object(module)
    _refuse(symbols(code).undefined - addresses().keys())
    return code


def level_for(text: str) -> int:
    """The level of LLVM's code generation by the size of a module."""
    return 2 if text.count("\n") < LARGE else 0


# ------------------------------------------------------------------------------------------------ LLVM, the lock held
def _with_context(text: str, size: int) -> str:
    # dso_local: it is addressed relative to the code, not through a global offset table
    return f"{text}\n@{CONTEXT} = dso_local global [{size} x ptr] zeroinitializer, align 64\n" if size else text


@cache
def _target_machine(target: Machine, level: int) -> Any:
    """LLVM's target machine: position-independent, in the small code model.

    The large one, LLVM's default for JITs, loads the address of every constant into a register first.
    """
    llvm = binding()
    try:
        kind = llvm.Target.from_triple(target.triple)
    except RuntimeError:  # a target that is not this host, in tests
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        kind = llvm.Target.from_triple(target.triple)
    return kind.create_target_machine(cpu=target.cpu, features=target.features, opt=level, **_CODE)


@contextmanager
def _order_as_written(target: Machine) -> Iterator[None]:
    """Within it, on machines with few registers, LLVM's scheduler is off.

    To save registers it would put interleaved vectors one behind the other again, whose dependency chains then take up
    to 1.4 times as long (docs/decisions/0021).  The option is global, so it is set back at once: others in the process
    (numba) use LLVM, too.
    """
    if not target.few_registers:
        yield
        return
    binding().set_option("", "-enable-misched=false")
    try:
        yield
    finally:
        binding().set_option("", "-enable-misched=true")


def _parsed(text: str, maker: Any, target: Machine) -> Any:
    llvm = binding()
    try:
        # a context of its own: LLVM never frees types and constants of the global one
        module = llvm.parse_assembly(text, context=llvm.create_context())
    except RuntimeError as error:
        raise InternalCompilerError(_marked(str(error), text)) from None
    module.triple, module.data_layout = target.triple, str(maker.target_data)
    try:
        module.verify()
    except RuntimeError as error:
        raise InternalCompilerError(f"generated code is not valid: {error}") from None
    return module


def _marked(message: str, text: str) -> str:
    """LLVM's parse error, with the lines around its place."""
    found = _PARSE_PLACE.search(message)
    if found is None:
        return f"generated code is not valid: {message}"
    line, column = int(found[1]), int(found[2])
    lines = text.split("\n")
    shown = [f"  {lines[i]}" for i in range(max(0, line - 4), line)]
    after = [f"  {lines[i]}" for i in range(line, min(line + 2, len(lines)))]
    mark = "  " + " " * (column - 1) + "^"
    return "\n".join([f"generated code is not valid: {found[3]} (line {line})", *shown, mark, *after])


def _linked(code: bytes) -> tuple[Any, dict[str, int]]:
    """Links an object file: its library, which frees the memory when dropped, and the addresses of its symbols."""
    names = symbols(code)
    _refuse(names.undefined - addresses().keys())
    with _lock():
        library = binding().JITLibraryBuilder().add_object_img(code)
        for name in names.undefined:
            library.import_symbol(name, addresses()[name])
        for name in names.defined:
            library.export_symbol(name)
        try:
            memory = library.link(*_linker_and_name())
        except RuntimeError as error:
            raise InternalCompilerError(f"an object file cannot be loaded: {error}") from None
        return memory, {name: memory[name] for name in names.defined}


def _refuse(unknown: Set[str]) -> None:
    if unknown:
        raise InternalCompilerError(f"generated code asks for {', '.join(sorted(unknown))}, which it may not call")


_linker: Any = None
_libraries = 0


def _linker_and_name() -> tuple[Any, str]:
    """A linker, and the name of a new library in it.

    A linker leaks memory for every library that it unloads, so only a few share one, which is freed with the last.
    """
    global _linker, _libraries
    if _linker is None or _libraries % _SHARING == 0:
        llvm = binding()
        maker = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**_CODE)
        # LLVM's newer linker (JITLink) puts all sections into one block, as the small code model needs it
        _linker = llvm.create_lljit_compiler(maker, use_jit_link=True, suppress_errors=True)
    _libraries += 1
    return _linker, f"library{_libraries}"
