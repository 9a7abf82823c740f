"""`jit`: a function or Cell that is compiled at its first call with new types."""

from __future__ import annotations

import copy
import functools
import types
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .. import escape
from ..compiler.call_key import Key, call_text, signature
from ..compiler.call_sizes import Sizes, general, shapes_of
from ..compiler.described_sizes import DESCRIBED
from ..compiler.fastcall.eligible import REFUSED, TAKEN, is_of_method, takes_fast_path
from ..compiler.history import HOT, Change, History, Recompiles, Watched, facets_of, stale_because, watched
from ..compiler.recorder import called, inside, recording, waited
from ..compiler.save_graphs import pictures
from ..compiler.seen_sizes import SeenSizes
from ..compiler.specialised import Specialised, specialise
from ..compiler.written_types import StandIns, with_open_sizes, with_symbols
from ..config import GRAPH_MODE, context, jit_disabled, switches, watchers
from ..errors import ArgumentError, leave_user_frames
from ..frontend.guards.objects import peek
from ..frontend.lower import Options
from ..inspection.cache_info import CacheInfo
from ..ir.core import Module
from ..locks import Lock
from ..passes.manager import dump
from ..runtime import epoch
from ..runtime.tensor import Tensor
from ..source import calling_place
from .by_structure import NOT_TAKEN, ByStructure
from .jit_options import Signature, check_options

if TYPE_CHECKING:
    from ..inspection.artifact import Artifact
    from ..inspection.derivative_source import PythonSource

__all__ = ["JitFunction", "jit", "ms_function"]

#: MindSpore's names; none of them changes anything.
_BACKENDS = ("", "ms_backend", "GE")
_MAX_ENTRIES = 64
_MAX_PER_KEY = 8


#: The functions whose calls may take fast paths, by identity; `switching` is held while that is changed.
leading: weakref.WeakValueDictionary[int, JitFunction] = weakref.WeakValueDictionary()
switching = Lock()


def _switched() -> None:
    """After a switch between eager and compiled calls: fast paths are closed."""
    with switching:
        for function in list(leading.values()):
            function._stay()


switches.append(_switched)
watchers.append(epoch.bump)


def _drawn(module: Module) -> str:
    """The picture of a module that `save_graphs` of level 3 leaves beside it."""
    from ..inspection.pictures import dot, graph  # inspection is loaded when somebody looks

    return dot.dot_text(graph.graph_of(module, dump(module), module.entry.name))


pictures.append(_drawn)


class JitFunction:
    """A compiled function: called like the original.

    Calls with new types of Tensors, or new values of anything else, compile again; so do calls after something that
    the function read from outside has changed.  At most 64 compiled forms are kept, the least recently used goes first.
    """

    #: the attribute that decides over what calls of it become in compiled code
    __compiled_from__ = ("_fn",)

    def __init__(self, fn: Any, options: Options) -> None:
        self._fn = fn
        self._options = options
        self._entries: OrderedDict[Key, list[Specialised]] = OrderedDict()
        #: types and entry of the last call whose arguments were Tensors only: such a call needs no key
        self._last: tuple[tuple[Any, ...], Specialised | None] = ((), None)
        #: the entry put in front last; the order of use matters only when entries may be dropped
        self._recent: Specialised | None = None
        self._seen = SeenSizes(options)
        self._lock = Lock()
        self._by_structure = ByStructure(fn, lambda of: JitFunction(of, options))
        #: the fast path into the compiled form used last, and the object whose calls take it in GRAPH_MODE, too
        self._fast: Callable[..., Any] | None = None
        self._front: Any = None
        #: fast paths for methods of an object, by its identity, with the object
        self._methods: dict[int, tuple[weakref.ref[Any], Callable[..., Any]]] = {}
        #: what was compiled last only to be looked at, if nothing was compiled to be called since
        self._looked_at: Artifact | None = None
        self._compiles = self._misses = self._dropped_hits = 0
        name = peek(fn, "__name__") or type(fn).__name__
        self._name = "lambda" if name == "<lambda>" else escape.line(name)
        self._history = History(self._name)
        if isinstance(fn, types.FunctionType):
            functools.update_wrapper(self, fn)

    @takes_fast_path
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            fast = self._fast
            if fast is not None:
                return fast(*args, **kwargs) if kwargs else fast(*args)
            if jit_disabled():
                return self._fn(*args, **kwargs)
            types, entry = self._last
            if entry is not None and len(types) == len(args) and not kwargs and entry.valid():
                for x, t in zip(args, types):  # noqa: B905  (the lengths are equal, and `strict` costs time)
                    if type(x) is not Tensor or (x._data.dtype, x._data.shape) != t:
                        break
                else:
                    entry.hits += 1
                    if entry.may_be_fast:
                        self._open(entry, args)
                    return entry(args)
            return self._slow_path(args, kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise

    def _slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that looks for its compiled entry by its key."""
        if not inside(self._history):
            return called(self._history, self._name, self._slow_path, args, kwargs)
        if jit_disabled():
            return self._fn(*args, **kwargs)
        key, leaves = signature(args, kwargs)
        for place, entry in enumerate(self._candidates(key, leaves)):
            if entry.function is not self._fast:
                found = entry.tried(args)
                if found is not REFUSED:
                    self._lead_method(args[0], entry.function) if entry.of_method else self._lead(entry.function)
                    return found
            if entry.valid() and entry.agrees(leaves):
                timed = entry.sizes if entry.sizes is not None and entry.needs_python else None
                if timed is not None and self._seen.pays_for_one(timed, leaves):
                    entry = self._for_one_size(key, leaves, args, kwargs)
                entry.hits += 1
                if timed is not None and entry.sizes is timed:
                    entry.check_aliases((args, kwargs))
                    return entry.timed(timed, leaves)
                if place or (entry is not self._recent and len(self._entries) > _MAX_ENTRIES // 2):
                    self._to_front(key if entry.sizes is None else general(key), entry)
                if entry.universal and len(leaves) == len(args) and not kwargs and all(type(x) in TAKEN for x in args):
                    if all(type(x) is Tensor for x in args) and recording() is None:
                        self._last = tuple([(x._data.dtype, x._data.shape) for x in args]), entry
                    if entry.may_be_fast:
                        self._open(entry, args)
                elif entry.may_be_fast and not kwargs and is_of_method(key, args, leaves):
                    self._open_method(entry, args)
                entry.check_aliases((args, kwargs))
                return entry(leaves)
        self._misses += 1
        if (found := self._by_structure.result(args, kwargs)) is not NOT_TAKEN:
            return found
        entry = self._compiled(key, leaves, args, kwargs)
        entry.check_aliases((args, kwargs))
        return entry(leaves)

    def _candidates(self, key: Key, leaves: list[Tensor]) -> list[Specialised]:
        """The entries for a key, and then those for several sizes of which these are some."""
        found = self._entries.get(key, [])
        if not self._seen:
            return found
        open_sizes = self._entries.get(general(key), ())
        shapes = shapes_of(leaves) if open_sizes else []
        return [*found, *[e for e in open_sizes if e.sizes is not None and e.sizes.of(shapes) is not None]]

    def _open(self, entry: Specialised, args: tuple[Any, ...]) -> None:
        """Opens the fast path into an entry that a call has reached by the slow one."""
        me = weakref.ref(self)  # which the function must not keep alive

        def slow(*args: Any, **kwargs: Any) -> Any:
            function = me()
            assert function is not None
            try:
                return function._slow_path(args, kwargs)
            except BaseException as error:
                leave_user_frames(error)
                raise

        found = entry.open_fast_path(slow, self._name, args, self._history)
        if found is not self._fast:
            self._lead(found)

    def _open_method(self, entry: Specialised, args: tuple[Any, ...]) -> None:
        """The same for a call whose first argument is an object, the others Tensors."""
        me, owner = weakref.ref(self), weakref.ref(args[0])

        def slow(*args: Any, **kwargs: Any) -> Any:
            function = me()
            assert function is not None
            try:
                return function._slow_path((owner(), *args), kwargs)
            except BaseException as error:
                leave_user_frames(error)
                raise

        entry.of_method = True
        self._lead_method(args[0], entry.open_fast_path(slow, self._name, args[1:], self._history))

    def _lead_method(self, instance: Any, fast: Callable[..., Any] | None) -> None:
        """Lets calls of the method of one object take a fast path from now on."""
        with switching:
            if fast is None or jit_disabled():
                self._methods.pop(id(instance), None)
            else:
                self._methods[id(instance)] = weakref.ref(instance), fast
                leading[id(self)] = self

    def _lead(self, fast: Callable[..., Any] | None) -> None:
        """Lets calls take a fast path from now on; those of the object whose compiled form this is, too."""
        with switching:
            self._fast = fast if not jit_disabled() else None
            leading[id(self)] = self
            front = self._front
            if front is not None:
                front.__dict__["_fast"] = self._fast if context.mode == GRAPH_MODE else None

    def _stay(self) -> None:
        """Lets all calls take the slow path, until one has."""
        self._fast = None
        self._methods = {}
        if self._front is not None:
            self._front.__dict__["_fast"] = None

    def _compiled(self, key: Key, leaves: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialised:
        """The valid entry of a key, compiled if there is none; one thread at a time compiles a function."""
        began = perf_counter_ns()
        with self._lock:
            waited(began)
            known = self._known(key, leaves)
            if known is not None:
                return known
            sizes = self._seen.opened(key, leaves, (self, self._fn), args, kwargs)
            unusable = [e for e in self._candidates(key, leaves) if not (e.valid() and e.agrees(leaves))]
            return self._added(key, leaves, args, kwargs, sizes, stale_because(unusable))

    def _added(
        self, key: Key, leaves: list[Tensor], args: Any, kwargs: Any, sizes: Sizes | None, stale: list[Change]
    ) -> Specialised:
        """A new entry, noted in the history; `stale` says why the others of the key are not used."""
        entry = self._specialised(key, args, kwargs, sizes)
        self._compiles += 1
        self._looked_at = None
        self._to_front(key if entry.sizes is None else general(key), entry)
        entry.call, entry.number = f"{self._name}({call_text(args, kwargs, entry.open_shapes(leaves))})", self._compiles
        facets = facets_of(self._fn, args, kwargs)
        self._history.add(entry, facets, stale, calling_place(), len(self._entries))
        return entry

    def _specialised(self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sizes | None) -> Specialised:
        """A new entry: with symbolic sizes, if there are any, unless that cannot be compiled."""
        if sizes is not None:
            try:
                return specialise(self._fn, args, kwargs, self._options, self._name, sizes)
            except Exception as error:  # whatever code that knows no symbolic sizes raises
                made = specialise(self._fn, args, kwargs, self._options, self._name)  # raises it if sizes don't matter
                made.must_be_known = self._seen.must_be_known(key, error)
                return made
        with self._seen.compiling_known():
            made = specialise(self._fn, args, kwargs, self._options, self._name)
        made.must_be_known = self._seen.why_known(key)
        return made

    def _for_one_size(self, key: Key, leaves: list[Tensor], args: Any, kwargs: Any) -> Specialised:
        """A compiled form for the very sizes of a call that has come often, beside the one for all sizes."""
        with self._lock:
            known = next((e for e in self._entries.get(key, ()) if e.valid() and e.agrees(leaves)), None)
            return known or self._added(key, leaves, args, kwargs, None, [HOT])

    def _known(self, key: Key, leaves: list[Tensor]) -> Specialised | None:
        """The valid entry of a key, if there is one."""
        return next((e for e in self._candidates(key, leaves) if e.valid() and e.agrees(leaves)), None)

    def _to_front(self, key: Key, entry: Specialised) -> None:
        """Makes an entry the one used last.  Entries whose guards fail stay: what they read may change back."""
        with self._lock:
            # Lists are replaced, never changed: other threads may be iterating over them.
            others = [e for e in self._entries.get(key, ()) if e is not entry]
            self._entries[key] = [entry, *others[: _MAX_PER_KEY - 1]]
            for dropped in others[_MAX_PER_KEY - 1 :]:
                self._drop(dropped)
            self._entries.move_to_end(key)
            self._recent = entry
            while sum(map(len, self._entries.values())) > _MAX_ENTRIES:
                oldest = next(iter(self._entries))
                kept = self._entries[oldest][:-1]
                self._drop(self._entries[oldest][-1])
                if kept:
                    self._entries[oldest] = kept
                else:
                    del self._entries[oldest]

    def _drop(self, entry: Specialised) -> None:
        """Forgets an entry but for its hits."""
        if entry.function is not None and (entry.of_method or entry.function is self._fast):
            self._stay()
        self._dropped_hits += entry.uses

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles for calls with arguments like these, without running anything."""
        try:
            key, leaves = signature(args, kwargs)
            self._compiled(key, leaves, args, kwargs).program.executable  # noqa: B018  (made when first asked for)
        except BaseException as error:
            leave_user_frames(error)
            raise

    def lower(self, *args: Any, **kwargs: Any) -> Artifact:
        """What compilation makes of a call with these arguments: IR at every stage, generated code, explanation.

        A `TensorSpec` may stand for any Tensor, its symbolic sizes for any sizes.  Nothing is run, and no state or
        cache changes: what was compiled only to be looked at is not what calls use.

        >>> from autodiff_compiler import TensorSpec
        >>> f = jit(lambda x: x * x)
        >>> f.lower(TensorSpec("f32[32,784]"))
        <compiled lambda(f32[32,784])>
        >>> f.cache_info()["entries"]
        0
        """
        types = StandIns()
        try:
            args, kwargs = types.of(args), types.of(kwargs)
            key, leaves = signature(args, kwargs)
            with self._lock:
                entry = self._looked_up(types, key, leaves, args, kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise
        call = call_text(args, kwargs, entry.open_shapes(leaves))
        values = entry.values_of_sizes(leaves)
        self._looked_at = self._artifact(call, entry, values)  # which must not keep the arguments alive
        return self._artifact(call, entry, values, leaves, types.made)

    def _looked_up(self, types: StandIns, key: Key, leaves: list[Tensor], args: Any, kwargs: Any) -> Specialised:
        """The entry that a call would use, or a new one that no call uses."""
        how = self._fn, args, kwargs, self._options, self._name
        if types.values:
            return with_symbols(*how, types.sizes(leaves))
        return self._known(key, leaves) or with_open_sizes(
            *how, self._seen.opened(key, leaves, (self, self._fn), args, kwargs, noted=False)
        )

    def _artifact(self, call: str, entry: Specialised, *leaves: Any) -> Artifact:
        from ..inspection.artifact import Artifact, CompiledCall  # inspection is loaded when somebody looks

        return Artifact(CompiledCall(self._name, self._fn, call, entry, *leaves))

    def source(self, *args: Any, **kwargs: Any) -> PythonSource:
        """What a call with these arguments computes, as Python over NumPy: a text to read, which runs by itself.

        A `TensorSpec` may stand for any Tensor.  Without arguments it is what was compiled last, or a call without
        arguments if nothing was; TypeError if there is no such call.
        UnsupportedCallError: something, named with its line, is not to be had with NumPy alone.

        >>> from autodiff_compiler import TensorSpec
        >>> jit(lambda x: (x * x).sum()).source(TensorSpec("f32[3]")).splitlines()[-1]
        '    return (x * x).sum()'
        """
        if args or kwargs:
            return self.lower(*args, **kwargs).source()
        if self._looked_at is not None:
            return self._looked_at.source()
        entry = self._recent
        if entry is None:
            try:
                return self.lower().source()
            except (ArgumentError, ValueError) as error:  # of a derivative: there is no such position
                raise TypeError(
                    f"source() of {self._name} needs the arguments of a call, or a TensorSpec for each Tensor: "
                    "it has not been compiled yet"
                ) from error
        return self._artifact(entry.call[len(self._name) + 1 : -1], entry).source()

    def cache_info(self) -> dict[str, Any]:
        """How many compiled forms are kept (`entries`), how many compilations there were, and how calls fared.

        `hits` are calls that found a compiled form, `misses` those that did not; `keys` has for every form kept the
        call it was compiled for, its hits, and whether what it read from outside is still the same (`valid`).
        """
        kept = [e for entries in tuple(self._entries.values()) for e in entries]
        keys = [{"call": e.call, "hits": e.uses, "valid": e.valid()} for e in kept]
        hits = self._dropped_hits + sum(e.uses for e in kept)
        return CacheInfo(entries=len(kept), compiles=self._compiles, hits=hits, misses=self._misses, keys=keys)

    def guards(self) -> list[Watched]:
        """What the compiled forms depend on besides their arguments: globals, closures, attributes, functions.

        Each says what it is, where it is read, what it was while compiling and what it is now; of several compiled
        forms also to which of them it belongs (`number` and `call`), unless all of them depend on it alike.

        >>> rate = 3
        >>> f = jit(lambda x: x * rate)
        >>> f.guards()
        []
        """
        kept = [e for entries in tuple(self._entries.values()) for e in entries]
        return watched(sorted(kept, key=lambda e: e.number))

    def explain_recompiles(self) -> Recompiles:
        """Why the function was compiled each time: a sequence of `Compile`, whose text can be printed.

        >>> from autodiff_compiler import Tensor
        >>> f = jit(lambda x, n: x * n)
        >>> a, b = f(Tensor([1.0]), 2), f(Tensor([1.0]), 3)
        >>> why = f.explain_recompiles()[1].changes[0]
        >>> why.kind, why.what, why.before, why.after
        ('value', 'argument `n`', '2', '3')
        """
        return Recompiles(self._history)

    def clear_cache(self) -> None:
        """Forgets all compiled forms."""
        with self._lock:
            self._dropped_hits += sum(e.uses for entries in self._entries.values() for e in entries)
            self._entries = OrderedDict()
            self._seen.clear()
            self._last, self._recent = ((), None), None
            self._stay()

    @property
    def __wrapped__(self) -> Any:
        return self._fn

    @__wrapped__.setter
    def __wrapped__(self, fn: Any) -> None:
        pass

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else _Bound(self, instance)

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Called from compiled code, the function becomes a part of the caller."""
        return ctx.call(self._fn, args, kwargs)

    def __copy__(self) -> JitFunction:
        return self  # as of a function: there is nothing to change in it

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return JitFunction(copy.deepcopy(self._fn, memo), self._options)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: pickle the function and apply jit again")

    def __repr__(self) -> str:
        return f"<jit of {self._name}>"


class _Bound:
    """A compiled method of one object."""

    is_bound_method = True

    def __init__(self, function: JitFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance
        self.__name__ = function._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            short = self.__func__._methods.get(id(self.__self__))
            if short is not None and short[0]() is self.__self__:
                return short[1](*args, **kwargs) if kwargs else short[1](*args)
            return self.__func__(self.__self__, *args, **kwargs)
        except BaseException as error:
            leave_user_frames(error)
            raise

    def lower(self, *args: Any, **kwargs: Any) -> Artifact:
        """See `JitFunction.lower`."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def source(self, *args: Any, **kwargs: Any) -> PythonSource:
        """See `JitFunction.source`."""
        fn = self.__func__
        known = fn._looked_at is not None or fn._recent is not None
        return fn.source(*(() if known and not (args or kwargs) else (self.__self__, *args)), **kwargs)

    def cache_info(self) -> dict[str, Any]:
        """See `JitFunction.cache_info`; the method has one cache for all objects."""
        return self.__func__.cache_info()

    def guards(self) -> list[Watched]:
        """See `JitFunction.guards`."""
        return self.__func__.guards()

    def explain_recompiles(self) -> Recompiles:
        """See `JitFunction.explain_recompiles`."""
        return self.__func__.explain_recompiles()

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return ctx.call(types.MethodType(self.__func__._fn, self.__self__), args, kwargs)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: bool | int | None = None,
    fullgraph: bool = False,
    backend: str = "",
    unroll_limit: int = 8,
    unroll_max: int = 1024,
    optimize: int | None = None,
    check_nonfinite: bool | str | None = None,
    **options: Any,
) -> Any:
    """Compiles a function, method or Cell: Python control flow on Tensors becomes part of one program.

    Used as ``@jit``, ``@jit(unroll_limit=4)`` or ``jit(fn)``.  Tensor arguments are dynamic (their dtypes and ranks
    select the compiled form), numbers, strings and other objects are compile-time constants: another value compiles
    again, unless a number is marked with `mutable`; `explain_recompiles` says why it did.  Sizes of Tensors become
    symbolic where calls differ, so that one compiled form is for all (`dynamic` None), from the first call on (True),
    or never (False: each shape has a compiled form); with ``backend="native"`` only if it is True.  `unroll_limit` and
    `unroll_max` say up to how many trips a loop with a known number of them is unrolled at once, and at most.
    ``optimize=0`` leaves out all rewriting (None: as `set_context` says).  With `check_nonfinite` True the first op
    that makes a NaN or an infinity raises NonFiniteError ("nan": a NaN only; None: as `check_nonfinite` around the call
    says).  `backend` is "native" or "numpy" (see `set_context`); MindSpore's names for it and the other arguments are
    accepted and change nothing; but an `input_signature`, Tensors or `TensorSpec`s, makes calls with other types a
    TypeError.

    Raises ValueError for a value that an argument cannot have, TypeError for an argument that does not exist,
    CompileError (with the place in the source and advice) for what cannot be compiled.

    >>> from autodiff_compiler import Tensor
    >>> @jit
    ... def f(x):
    ...     while x.sum() < 10:
    ...         x = x * 2
    ...     return x
    >>> f(Tensor([1.0, 2.0])).tolist()
    [4.0, 8.0]
    """
    if optimize is not None:
        context.check("optimize", optimize)
    if check_nonfinite is not None:
        context.check("check_nonfinite", check_nonfinite)
    backend = "" if backend in _BACKENDS else backend
    if backend:
        context.check("backend", backend)
    check_options(options, capture_mode=capture_mode, jit_level=jit_level, dynamic=dynamic, fullgraph=fullgraph)
    chosen = Options(
        unroll_limit, unroll_max, optimize, backend, check_nonfinite, None if dynamic is None else bool(dynamic)
    )
    signed = options.get("input_signature")
    if function is None:
        rest: dict[str, Any] = {} if signed is None else {"input_signature": signed}
        rest |= {"unroll_limit": unroll_limit, "unroll_max": unroll_max, "optimize": optimize, "backend": backend}
        rest |= {"check_nonfinite": check_nonfinite, "dynamic": dynamic}
        return lambda fn: jit(fn, **rest)
    if isinstance(function, JitFunction):
        return function
    if not callable(function):
        raise TypeError(f"jit() takes a function or a Cell, not a {type(function).__name__}")
    if isinstance(function, types.MethodType):
        return _Bound(_made(function.__func__, chosen, signed), function.__self__)
    return _made(function, chosen, signed)


def _made(fn: Any, options: Options, signed: Any) -> JitFunction:
    return JitFunction(fn, options) if signed is None else _Signed(fn, options, Signature(signed))


class _Signed(JitFunction):
    """A compiled function for arguments of certain types only."""

    def __init__(self, fn: Any, options: Options, signature: Signature) -> None:
        super().__init__(fn, options)
        self._signature = signature
        self.__dict__[DESCRIBED] = signature.by_names(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._signature.check(args, kwargs)
        return super().__call__(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> JitFunction:
        return _Signed(copy.deepcopy(self._fn, memo), self._options, self._signature)


def ms_function(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The name that `jit` had before; DeprecationWarning."""
    warnings.warn("ms_function is called jit now", DeprecationWarning, stacklevel=2)
    return jit(fn, **options)
