"""LLVM text becomes object code, and object code becomes functions of this process.

No passes run over the text: it is written in explicit vectors by an emitter that numbers values itself, so code
generation is all that is left.  Objects come from the cache on disk where they are there.
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

__all__ = ["CONTEXT", "LARGE", "Loaded", "assembly", "emit", "level_for", "load", "load_cached"]

#: The global of a module through which it reaches objects of this process: an array of pointers, filled by the loader.
CONTEXT = "context"
#: Lines from which on code generation is made quicker at the cost of the code.
LARGE = 40_000
#: The kind of code: for a place unknown, at most 2 GiB large.
_CODE = {"reloc": "pic", "codemodel": "small", "jit": True}
#: Libraries in one linker.
_SHARING = 16
_PARSE_PLACE = re.compile(r"<string>:(\d+):(\d+): (?:error: )?(.*)")


def _lock() -> Any:
    """llvmlite's own lock, which every call of LLVM takes, those of dropped objects too."""
    return binding().ffi.lib._lock


# A process forks only between two calls of LLVM: the child would find the lock taken, and LLVM half way.
waited_for(lambda: _lock() if binding.cache_info().currsize else None)


class Loaded:
    """Functions of one module in this process; they are there as long as this object is.

    `context`: the pointers that the module reads, writable; `size`: the bytes of its object code; `key`: the name of
    that in the cache.
    """

    def __init__(self, key: str, code: bytes, context_size: int) -> None:
        self.key, self.size = key, len(code)
        self._memory, self._addresses = _linked(code)
        self.context: ctypes.Array[ctypes.c_void_p] = (ctypes.c_void_p * context_size).from_address(
            self.address(CONTEXT) if context_size else 1
        )

    def has(self, name: str) -> bool:
        """Whether the module has a function or a global variable of that name."""
        return bool(self._addresses.get(name))

    def address(self, name: str) -> int:
        """Where a function or a global variable of the module lies."""
        if not self._addresses.get(name):
            raise InternalCompilerError(f"the loaded module has no {name!r}")
        return self._addresses[name]

    def fill(self, pointers: Sequence[int]) -> None:
        """Writes the context; the caller keeps alive what it points to."""
        if len(pointers) != len(self.context):
            raise InternalCompilerError(f"{len(pointers)} pointers for a context of {len(self.context)}")
        self.context[:] = list(pointers)


def load(text: str, *, level: int | None = None, context_size: int = 0) -> Loaded:
    """The functions of a module, from the cache or made now.

    `context_size`: how many pointers `@context` has, which the text uses without defining it.  `level`: of LLVM's code
    generation, 0 to 3; by the size of the text where it is None.  InternalCompilerError: the text is no valid module,
    or it calls what compiled code may not call.
    """
    target = machine()
    level = level_for(text) if level is None else level
    whole = _with_context(text, context_size)
    key = key_of(whole, target, level)
    code = cached(key)
    if code is None:
        code = _object(whole, target, level)
        keep(key, code, symbols(code).undefined)
    return Loaded(key, code, context_size)


def load_cached(key: str, *, context_size: int) -> Loaded | None:
    """The functions of a module that was loaded before, if they are still in the cache under its `Loaded.key`."""
    code = cached(key)
    return None if code is None else Loaded(key, code, context_size)


def assembly(text: str, *, context_size: int = 0) -> str:
    """The machine code of a module as text, made anew at each call."""
    target = machine()
    with _lock():
        maker = _target_machine(target, level_for(text))
        module = _parsed(_with_context(text, context_size), maker, target)
        with _order_as_written(target):
            return str(maker.emit_assembly(module))


def emit(text: str, *, level: int | None = None, context_size: int = 0) -> bytes:
    """The object file of a module for the machine of now, which may be another than this host."""
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
    """The level of code generation by the size of a module: good code, unless that takes too long."""
    return 2 if text.count("\n") < LARGE else 0


# ------------------------------------------------------------------------------------------------ LLVM, the lock held
def _with_context(text: str, size: int) -> str:
    # dso_local: it lies next to the code, which reaches it without a table of addresses
    return f"{text}\n@{CONTEXT} = dso_local global [{size} x ptr] zeroinitializer, align 64\n" if size else text


@cache
def _target_machine(target: Machine, level: int) -> Any:
    """What generates code for a place unknown, but with its constants at hand.

    LLVM's choice for jits, the large code model, would load the address of every constant into a register first.
    """
    llvm = binding()
    try:
        kind = llvm.Target.from_triple(target.triple)
    except RuntimeError:  # of another processor than this host's, for tests
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        kind = llvm.Target.from_triple(target.triple)
    return kind.create_target_machine(cpu=target.cpu, features=target.features, opt=level, **_CODE)


@contextmanager
def _order_as_written(target: Machine) -> Iterator[None]:
    """Within it LLVM leaves instructions in the order of the text, where registers are few.

    Its scheduler would put the vectors that the text goes on with at the same time one after the other, to keep fewer
    values at hand; then each of them waits for itself, which takes up to 1.4 times as long (docs/decisions/0021).  The
    option is one of the process, so it is taken back at once: others in it (numba) make code by LLVM, too.
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
        # a context of its own: types and constants of the global one are never given back
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
    """What LLVM says of a text, with the lines around the place."""
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
    """The memory in which an object file was placed, given back when dropped, and where its names lie there."""
    names = symbols(code)
    _refuse(names.undefined - addresses().keys())
    with _lock():
        library = binding().JITLibraryBuilder().add_object_img(code)
        for name in names.undefined:
            library.import_symbol(name, addresses()[name])
        for name in names.defined:
            library.export_symbol(name)
        try:
            memory = library.link(*_place())
        except RuntimeError as error:
            raise InternalCompilerError(f"an object file cannot be loaded: {error}") from None
        return memory, {name: memory[name] for name in names.defined}


def _refuse(unknown: Set[str]) -> None:
    if unknown:
        raise InternalCompilerError(f"generated code asks for {', '.join(sorted(unknown))}, which it may not call")


_linker: Any = None
_libraries = 0


def _place() -> tuple[Any, str]:
    """A linker and a new name in it.

    It keeps something of every library after that was unloaded, so a few share one, which goes with the last of them.
    """
    global _linker, _libraries
    if _linker is None or _libraries % _SHARING == 0:
        llvm = binding()
        maker = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**_CODE)
        # LLVM's newer linker places all sections in one piece of memory, as the small code model needs it
        _linker = llvm.create_lljit_compiler(maker, use_jit_link=True, suppress_errors=True)
    _libraries += 1
    return _linker, f"library{_libraries}"
