"""A compiled entry with its fast path, and the compilation that makes one."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import progress
from ..config import check_backend, check_looked_at, context
from ..depth import deep
from ..errors import ShapeError
from ..frontend.lower import Lowered, NumberArgument, Options, TensorArgument, lower, name_of_argument
from ..frontend.variables.structure import flatten, map_leaves
from ..ir.primitive import trace
from ..ir.sizes import answering
from ..ir.types import Shape, tensor
from ..locks import Lock, importing
from ..runtime.tensor import Tensor
from ..source import Loc
from .argument_paths import paths_of, spelled
from .cache.query import in_use
from .call_key import specification
from .call_sizes import Sizes, Unified, shapes_of
from .entry import CompiledEntry
from .fastcall.eligible import REFUSED, obstacle, unusual_arguments
from .program import Program
from .recorder import compiling, observed, waited
from .size_conflicts import Origins, note_origins

if TYPE_CHECKING:
    from .cache.call_index import IndexedCall
    from .fastcall.direct_call import FastPath

#: After how many calls a fast path is opened: it costs about as much as a thousand calls save.
SLOW_CALLS = 8


class Specialised(CompiledEntry):
    """One entry of a compiled function's cache: it counts its calls, and opens the fast path for them."""

    #: where each dynamic leaf stands: the number of its argument, then keys of containers; empty if unknown
    paths: tuple[tuple[Any, ...], ...] = ()
    #: the arguments it was compiled for that the fast path does not take, as texts
    unusual: tuple[str, ...] = ()

    #: why it is for one shape only: the error of the compilation for several sizes, or the sizes that had to be known
    must_be_known = ""
    settled: Mapping[str, Loc | None] = MappingProxyType({})
    #: the names of the arguments
    names: Sequence[str] = ()

    def __init__(self, lowered: Lowered, program: Program) -> None:
        super().__init__(lowered, program)
        #: the call it was compiled for, as which one, and how often it was used since
        self.call, self.number, self.hits = "", 0, 0
        self._sizes_of_data: bool | None = None
        #: whether the program and its effects allow a fast path
        self.may_be_fast = not obstacle(self)
        self._fast_path: FastPath | None = None
        #: the fast path as a function, once there is one
        self.function: Callable[..., Any] | None = None
        self._opening = Lock()
        #: whether the first argument of its calls is an object, which the fast path is not given
        self.of_method = False

    @property
    def uses(self) -> int:
        """How many calls used it."""
        fast = self._fast_path
        return self.hits if fast is None else self.hits + fast.calls

    @property
    def needs_python(self) -> bool:
        """Whether Python runs the program, or some of its ops, and need not where the sizes of arguments are known."""
        return getattr(self.program.executable, "calls_python", True) and not self._has_sizes_of_data

    @property
    def _has_sizes_of_data(self) -> bool:
        if self._sizes_of_data is None:  # not remembered under a lock, which a fork could leave held
            self._sizes_of_data = self.lowered.module.has_sizes_of_data
        return self._sizes_of_data

    def said_of_sizes(self) -> list[tuple[str, Loc | None]]:
        """What it needs of the sizes of its arguments, in words, with the line that needs it."""
        if self.sizes is None:
            return [(self.must_be_known, None)] if self.must_be_known else [*self.settled.items()]
        named = [f"argument `{spelled(self.names[i], keys)}`" for i, *keys in self.paths]
        return list(self.sizes.described(named or ["an argument"] * len(self.sizes.shapes)))

    def open_shapes(self, leaves: Sequence[Tensor]) -> dict[int, Shape]:
        """The shapes that it is for where sizes are symbolic, by the ids of the Tensors of a call."""
        return {} if self.sizes is None else dict(zip(map(id, leaves), self.sizes.shapes, strict=True))

    def values_of_sizes(self, leaves: Sequence[Tensor]) -> dict[str, int]:
        """What its symbolic sizes are in a call, by their names."""
        return {} if self.sizes is None else self.sizes.of(shapes_of(leaves)) or {}

    def timed(self, sizes: Sizes, leaves: Sequence[Tensor]) -> Any:
        """A call of a program for several sizes, whose time says whether one for these sizes alone pays."""
        began = perf_counter_ns()
        found = self(leaves)
        sizes.took(shapes_of(leaves), perf_counter_ns() - began)
        return found

    def tried(self, args: Sequence[Any]) -> Any:
        """What a call gives that takes the fast path, or REFUSED; the guards need not have been checked."""
        fast = self._fast_path  # which another thread may close
        if fast is None:
            return REFUSED
        return fast.tried(args[1:] if self.of_method else args)

    def open_fast_path(
        self, slow: Callable[..., Any], name: str, args: Sequence[Any], owner: object
    ) -> Callable[..., Any] | None:
        """The fast path as a function, opened (again) after a call on the slow path; None if there is none.

        The guards hold, and `args` fit.  Calls that the fast path does not take go to `slow`.  `owner`: to whom calls
        are attributed while somebody measures.
        """
        if self.hits < SLOW_CALLS and self._fast_path is None:
            return None
        began = perf_counter_ns()
        with self._opening:
            waited(began)
            if self._fast_path is None and self.may_be_fast:
                with compiling():
                    with importing:  # not before the first fast path of the process: it needs the native backend
                        from .fastcall.direct_call import fast_path
                    self._fast_path = fast_path(self, [i for i, x in enumerate(args) if type(x) is np.ndarray])
                if self._fast_path is not None:
                    self.function = self._fast_path.function(slow, name)
                    times = getattr(self.program.executable, "times", None)
                    if times is not None:
                        self.function = observed(self.function, owner, name, times)
                self.may_be_fast = self._fast_path is not None
            elif self._fast_path is not None and not self._fast_path.settle(self):
                self.hits, self._fast_path = self.uses, None
                self.function, self.may_be_fast = None, False
            return self.function


@compiling()  # with the thread that `deep` may begin
@deep
def specialise(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str, sizes: Sizes | None = None
) -> Specialised:
    """Compiles a function for the types and static values of these arguments, or with symbolic `sizes` of Tensors.

    RuntimeError where the backend that is asked for cannot be used: AC_BACKEND is not looked at before.
    """
    if context.device_target == "CPU":
        check_backend(options.backend or context.backend)
    if options.check_nonfinite is None:
        options = replace(options, check_nonfinite=context.check_nonfinite)
    if options.check_nonfinite:
        check_looked_at(context.device_target)
    specs = [specification(a) for a in args]
    named = {k: specification(v) for k, v in kwargs.items()}
    with _collector_paused(), _builder_restored(), progress.shown(f"compiling {name}"):
        call = None if sizes is not None else _indexed(fn, args, kwargs, options, name)
        made = _recalled(call)
        if made is None:
            lowered, sizes = _lowered(fn, specs, named, options, name, sizes)
            made = Specialised(lowered, Program(lowered.module, lowered.states))
            made.settled = {} if sizes is None else sizes.settled
            made.sizes = sizes if sizes is not None and sizes.is_open else None
            if call is not None and made.program.key is not None:
                call.store(lowered, made.program.key)
        made.paths = tuple(paths_of([*specs, *named.values()]))
        made.unusual = tuple(unusual_arguments(fn, args, kwargs))
        made.names = [*(name_of_argument(fn, i) for i in range(len(args))), *kwargs]
        return made


def _lowered(
    fn: Any, specs: list[Any], named: dict[str, Any], options: Options, name: str, sizes: Sizes | None
) -> tuple[Lowered, Sizes | None]:
    """The function as typed SSA, and its sizes with what was taken for granted of them."""
    if sizes is None:
        try:
            return lower(fn, specs, named, options, name), None
        except ShapeError as error:
            _note_origins(error, fn, specs, named, options, name)
            raise
    dynamic = [leaf for leaf in flatten([specs, named]) if isinstance(leaf, TensorArgument | NumberArgument)]
    given = [leaf.type.shape if isinstance(leaf, TensorArgument) else () for leaf in dynamic]
    while True:
        opened, named_opened = map_leaves(partial(_with_shape, shapes=iter(sizes.shapes)), [specs, named])
        try:
            with answering(sizes):
                return lower(fn, opened, named_opened, options, name), sizes
        except Unified as found:
            sizes = sizes.replaced(found, given)


def _note_origins(
    error: ShapeError, fn: Any, specs: list[Any], named: dict[str, Any], options: Options, name: str
) -> None:
    """Adds to an error where the sizes in conflict come from."""
    origins = Origins()
    names = [*(name_of_argument(fn, i) for i in range(len(specs))), *named]
    leaves = [leaf for leaf in flatten([specs, named]) if isinstance(leaf, TensorArgument | NumberArgument)]
    shapes = [
        origins.argument(f"`{spelled(names[i], keys)}`", leaf.type.shape) if isinstance(leaf, TensorArgument) else ()
        for leaf, (i, *keys) in zip(leaves, paths_of([*specs, *named.values()]), strict=True)
    ]
    opened, named_opened = map_leaves(partial(_with_shape, shapes=iter(shapes)), [specs, named])
    note_origins(error, origins, lambda: lower(fn, opened, named_opened, options, name))


def _with_shape(leaf: Any, shapes: Iterator[Shape]) -> Any:
    if isinstance(leaf, TensorArgument):
        return replace(leaf, type=tensor(leaf.type.dtype, next(shapes)))
    if isinstance(leaf, NumberArgument):
        next(shapes)
    return leaf


def _indexed(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, name: str) -> IndexedCall | None:
    """The call with its key in the disk cache, if it has one."""
    if not in_use(options.backend):
        return None
    with importing:  # not before the disk cache is in use: it needs the whole native backend
        from .cache.call_index import indexed_call
    return indexed_call(fn, args, kwargs, options, name)


def _recalled(call: IndexedCall | None) -> Specialised | None:
    """What the disk cache has for a call."""
    found = None if call is None else call.find(lower)
    if found is None:
        return None
    made = Specialised(found, Program(found.module_again, wanted=found.program))
    # the program may have been compiled anew, and show that the record was of another call
    return made if made.program.interface.results == found.program.results else None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A compilation makes many objects that live until its end: looking for garbage among them costs a third."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _builder_restored() -> Iterator[None]:
    """An interrupt in the very step that enters or leaves a builder would leave it to the eager code that follows."""
    before = trace.builder
    try:
        yield
    finally:
        trace.builder = before
