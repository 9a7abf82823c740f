"""The state of one compilation, and the tables of rules that say what each piece of syntax does.

Static values are evaluated by Python while compiling; operations on dynamic ones emit ops.  `statements`,
`expressions`, `control` and `loops` put their rules into the tables; every rule gets the `Lowering` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...errors import AutodiffWarning, CompileError, RecursionDepthError, SideEffectError, place_note, warn_once
from ...ir.build import Builder
from ...ir.core import Block, Function, Module, Op, UnknownValueError, Value
from ...ir.primitive import F, trace
from ...ir.types import TensorType, tensor
from ...no_memory import naming_memory
from ...primitives.family import naming_parameter
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...source import Loc, calling_place
from ..derivatives.keeping import Kept
from ..effects.inputs import ARRAY, NOTHING_KNOWN, Foreknown, Inputs, check_writable
from ..effects.may_alias import Ties, chosen, unknown
from ..effects.reads_after_host import HostRan
from ..effects.snapshots import Snapshots
from ..guards.outside import Outside
from ..syntax import source_tree, unsupported_syntax
from ..syntax.scope import Closure, Frame, Prepared, bind_arguments, prepare
from ..variables.values import ArrayVar, AttributeVar, StateVar, TensorVar, content, map_leaves, serial_now, set_content
from .joins import NUMBER_DTYPE
from .loop_memory import LoopMemory
from .reasons import Reasons

__all__ = [
    "EXPRESSIONS",
    "STATEMENTS",
    "Diverged",
    "Lowering",
    "NumberArgument",
    "Options",
    "Region",
    "TensorArgument",
    "expression",
    "statement",
]

_DEPTH = 256
#: What is said of an exception that a static operation raised.
_AS_PYTHON = "raised while this was compiled, as Python raises it without `jit`"

Rule = Callable[["Lowering", Any], Any]
EXPRESSIONS: dict[str, Rule] = {}
STATEMENTS: dict[str, Rule] = {}


def expression(*kinds: str) -> Callable[[Rule], Rule]:
    """Registers what gives the abstract value of these kinds of expression."""

    def register(rule: Rule) -> Rule:
        EXPRESSIONS.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def statement(*kinds: str) -> Callable[[Rule], Rule]:
    """Registers what executes these kinds of statement."""

    def register(rule: Rule) -> Rule:
        STATEMENTS.update(dict.fromkeys(kinds, rule))
        return rule

    return register


class Diverged(Exception):
    """The path being compiled ends here: it raises at run time."""


@dataclass(frozen=True)
class Options:
    """How loops with a known number of trips are compiled (python_subset section 5), and how much is rewritten."""

    unroll_limit: int = 8
    unroll_max: int = 1024
    optimize: int | None = None
    backend: str = ""
    check_nonfinite: bool | str | None = None  # None: as the context says


@dataclass(frozen=True)
class TensorArgument:
    """A Tensor among the arguments: only its type is known.

    `source` is the Tensor of the first call, which says which arguments are one object; `array`: it was an ndarray.
    """

    type: TensorType
    source: Tensor | None = None
    array: bool = False


@dataclass(frozen=True)
class NumberArgument:
    """A Python number known only at run time (`mutable`)."""

    kind: type


@dataclass
class Region:
    """Changes made to mutable compile-time objects since the region began: what they held then."""

    start: int
    saved: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    #: where the first of these changes was made
    first_change: Loc | None = None


def _too_deep(frame: Frame, function: str, *, at_run_time: bool) -> RecursionDepthError:
    cycle, place = [frame.prepared.tree.function], frame.caller
    while place is not None and place.function != function and len(cycle) < _DEPTH:
        cycle.insert(0, place.function)
        place = place.caller
    way = "" if frame.prepared.tree.function == function else f" by way of {', '.join(cycle)}"
    what = f"{function} calls itself more than {_DEPTH} deep{way}"
    if at_run_time:
        what += ": whether it goes on is decided at run time"
        return RecursionDepthError(what, code="AC1506", hint="write it as a `while` loop")
    numbers = [f"{k} = {v!r}" for k, v in frame.env.items() if type(v) in (bool, int, float, str) and "#" not in k]
    notes = [f"in the last call of {frame.prepared.tree.function}: {', '.join(numbers)}"] if numbers else []
    hint = "write it as a loop, or stop it earlier by a number known at compile time"
    return RecursionDepthError(what, notes=notes, hint=hint)


class Lowering:
    """One compilation of one function."""

    def __init__(self, name: str, options: Options, known: Foreknown = NOTHING_KNOWN) -> None:
        self.options = options
        #: the user's line whose call is being compiled
        self.called_from = calling_place()
        self.module = Module(optimize=options.optimize, backend=options.backend)
        self.module.check_nonfinite = options.check_nonfinite or False
        self.entry = Function(name, Block())
        self.builder = Builder(self.entry.body, module=self.module)
        self.outside = Outside(self.module, self._capture, self._note_outside_read, known)
        self.frame: Frame = None  # type: ignore[assignment]
        self.after_statement: Callable[[], None] = lambda: None
        self.regions: list[Region] = []
        self.ties = Ties()
        self.depth = 0
        #: how many branches chosen at run time surround the present place
        self.arms = 0
        self.snapshots = Snapshots()
        self.known = known
        self.inputs = Inputs(known)
        #: the attributes that are written, by the id of the object and their name
        self.attributes: dict[tuple[int, str], AttributeVar] = {}
        self.differentiated, self.called = False, dict[int, Any]()  # see `ahead`
        #: whether a block that runs in the backward pass is being compiled, and the attributes it read as they are
        self.in_backward = False
        #: whether the code of a hook is being compiled (see `callbacks`)
        self.in_hook = False
        self.kept: Kept | None = None
        self.read_backward: set[tuple[int, str]] = set()
        #: variables that such a block read, and the serial from which on frames are its own (see `after_forward`)
        self.late_reads: list[Any] = []
        self.backward_since = 0
        #: what hooks read and change of the objects outside, and what was changed before the present place
        self.hook_reads: set[Any] = set()
        self.hook_changes: set[Any] = set()
        self.changed_before: set[Any] = set()
        self.host_ran = HostRan()
        #: what Tensors with hooks hold, and the hooks (see `tensor_hooks`)
        self.hooked: dict[Value, Any] = {}
        #: the overriding ops whose rule gives a Python number, with the numbers of those operands (see `custom`)
        self.bare_numbers: set[tuple[Op, int]] = set()
        #: the state cells of those that a backward block reads, and whose they are (see `after_forward`)
        self.cells: dict[tuple[int, str], list[str]] = {}
        self.cell_owners: dict[tuple[int, str], tuple[Any, str]] = {}
        self.captured: list[Value] = []
        self.reasons = Reasons(self.called_from, self.entry, self.inputs.boxes, self.captured, self.outside.captures)
        #: where Python raised an exception, and the builder of the path that always gets there
        self.certain: tuple[Loc, Builder] | None = None
        #: what was written to arguments and attributes by the places where the program may stop
        self.sites: dict[Any, Any] = {}
        self.loops = LoopMemory()
        #: the place of the last `return` of the outermost function
        self.returned_at: Loc | None = None
        #: the last exception, the builder it left and the place of the node it came from (see `failed`)
        self.failure: tuple[Exception, Builder, Loc] | None = None
        #: warnings with their places, for the end: a part that is given up warns of nothing
        self.warnings: list[tuple[AutodiffWarning, Loc | None]] = []

    # ------------------------------------------------------------------------------------------- arguments
    def argument(self, spec: Any, name: str) -> Any:
        """The abstract value of an argument; its dynamic leaves become arguments of the entry."""

        def leaf(x: Any) -> Any:
            if isinstance(x, TensorArgument):
                value = self.entry.body.add_arg(x.type, name)
                return self.inputs.add(value, x.source, locked=ARRAY if x.array else "")
            if isinstance(x, NumberArgument):
                return self.inputs.add(self.entry.body.add_arg(tensor(NUMBER_DTYPE[x.kind], ()), name), None, x.kind)
            return self.outside.state(x) if isinstance(x, Parameter) else x

        return map_leaves(leaf, spec)

    def _capture(self, type_: TensorType, name: str, source: Tensor | None, kind: type | None = None) -> Any:
        value = Value(type_, self.entry.body, -1, name)  # gets its index when all arguments are known
        self.captured.append(value)
        return self.inputs.add(value, source, kind)

    def _note_outside_read(self, value: Any, key: tuple[Any, ...]) -> None:
        self.host_ran.read(key)
        if self.in_backward and self.outside.changed.holds(value):
            raise SideEffectError(
                "code of the backward pass reads a container that compiled code changes",
                code="AC1602",
                hint="give it what it needs by an argument, or keep that in an attribute of a Cell",
            )
        if self.in_hook or self.changed_before:
            from ..derivatives.callbacks import note_read

            note_read(self, value, key)

    # ------------------------------------------------------------------------------------------- evaluation
    @property
    def here(self) -> Loc | None:
        return trace.builder.loc if trace.builder is not None else self.builder.loc

    def place(self, node: Any) -> Loc:
        """Makes a node the place that emitted ops and errors without a place refer to."""
        loc = self.frame.tree.loc(node, self.frame.caller)
        if self.frame.turn is not None:
            loc = loc._replace(turn=self.frame.turn)
        trace.builder.loc = loc
        return loc

    def expr(self, node: Any) -> Any:
        """The abstract value of an expression."""
        rule = EXPRESSIONS.get(type(node).__name__)
        if rule is None:
            raise self.refused(node)
        return self._guarded(rule, node)

    def exprs(self, nodes: Sequence[Any]) -> list[Any]:
        return [self.expr(n) for n in nodes]

    def stmt(self, node: Any) -> None:
        rule = STATEMENTS.get(type(node).__name__)
        if rule is None:
            raise self.refused(node)
        self.place(node)
        if not (self.in_hook and self._is_callback(node)):
            self._guarded(rule, node)
            self.after_statement()

    def _is_callback(self, node: Any, silent: bool = False) -> bool:
        from ..derivatives.callbacks import changes_outside

        return changes_outside(self, getattr(node, "value", node) if type(node).__name__ == "Expr" else node, silent)

    def block(self, stmts: Sequence[Any]) -> None:
        for s in stmts:
            self.stmt(s)

    def _guarded(self, rule: Callable[..., Any], node: Any) -> Any:
        try:
            return rule(self, node)
        except CompileError as error:
            if not error.spans:
                error.at(self.frame.tree.loc(node, self.frame.caller).of_user())
            if not error.explained:
                self.reasons.add_to(error, self.frame, node)
            self._note_failure(error, node)
            raise
        except Diverged:
            raise
        except Exception as error:  # what Python itself raises for a static operation
            self._note_failure(error, node)
            if not getattr(error, "__notes__", None):
                node = getattr(node, "iter", getattr(node, "test", node))  # the part of a statement that it evaluates
                loc = self.frame.tree.loc(node, self.frame.caller).of_user()
                error.add_note(place_note(loc, *self.reasons.known(self.frame, node), _AS_PYTHON))
                self.certain = loc, trace.builder
            raise

    def _note_failure(self, error: Exception, node: Any) -> None:
        """Notes where compilation stood when this was raised; the innermost node that it passes counts."""
        if self.failure is None or self.failure[0] is not error:
            self.failure = error, trace.builder, self.frame.tree.loc(node, self.frame.caller)

    def warn(self, warning: AutodiffWarning) -> None:
        """Warns at the user's line and not at one of ours, when all is compiled."""
        self.warnings.append((warning, self.here and self.here.of_user()))

    def flush_warnings(self) -> None:
        """Gives the warnings collected, each once per place."""
        for warning, place in self.warnings:
            warn_once(warning, place)

    def refused(self, node: Any) -> CompileError:
        error = unsupported_syntax.reject(node, self.frame.tree) or unsupported_syntax.missing(node, self.frame.tree)
        called = self.frame.tree.loc(node, self.frame.caller)
        if called.of_user() is not called:  # the place counts from which the user calls it
            error.spans = tuple([(loc._replace(caller=called.caller), note) for loc, note in error.spans])
        return error

    # ------------------------------------------------------------------------------------------- functions
    def run_function(self, prepared: Prepared, frame: Frame) -> Any:
        """Compiles the body of a function in its frame and gives its result."""
        if self.depth >= _DEPTH:
            raise _too_deep(self.frame, prepared.tree.function, at_run_time=self.arms > 0)
        previous, self.frame = self.frame, frame
        self.depth += 1
        loc = trace.builder.loc
        try:
            body = prepared.node.body
            if not isinstance(body, list):
                self.note_return(body)
                return None if self.in_hook and self._is_callback(body, silent=True) else self.expr(body)
            self.block(body)
            returned = frame.env.pop("return", None)
            if self.late_reads:
                self.check_names(frame)
            return returned
        finally:
            if self.depth == 1:
                self.reasons.leave(frame.env)
            self.frame, self.depth = previous, self.depth - 1
            trace.builder.loc = loc

    def note_return(self, node: Any) -> None:
        """Notes where the result of the outermost function was returned, for errors about it."""
        if self.depth == 1:
            self.returned_at = self.frame.tree.loc(node, self.frame.caller).of_user()

    def call_python(self, fn: Any, args: list[Any], kwargs: dict[str, Any], method_of: Any = None) -> Any:
        """Compiles the call of a Python function into the current place."""
        prepared = prepare(fn)
        self.outside.function(fn)
        defaults = [
            self._default(fn, i, d, lambda i=i: fn.__defaults__[i])  # type: ignore[misc]
            for i, d in enumerate(fn.__defaults__ or ())
        ]
        named = (fn.__kwdefaults__ or {}).items()
        kw_defaults = {k: self._default(fn, k, d, lambda k=k: fn.__kwdefaults__[k]) for k, d in named}  # type: ignore[misc]
        caller = self.here
        tree = prepared.tree
        env = bind_arguments(prepared.node, fn.__name__, args, kwargs, tuple(defaults), kw_defaults, caller, tree)
        frame = Frame(prepared, source_tree.bindings(fn), None, caller, env, method_of)
        return self.run_function(prepared, frame)

    def _default(self, fn: Any, key: Any, value: Any, fetch: Callable[[], Any]) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value  # guarded together with the function
        return self.outside.read(value, ("default", id(fn), key), f"default {key} of {fn.__qualname__}", fetch)

    def call_closure(self, closure: Closure, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Compiles the call of a function that compiled code defined."""
        prepared, caller = closure.prepared, self.here
        env = bind_arguments(
            prepared.node, closure.__name__, args, kwargs, closure.defaults, closure.kw_defaults, caller, prepared.tree
        )
        frame = Frame(prepared, closure.frame.bindings, closure.frame, caller, env, closure.frame.method_of)
        return self.run_function(prepared, frame)

    def call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)`` on abstract values; for objects that say how they are compiled (`__graph_call__`)."""
        from ..variables.calls import call  # the rules of calls are written in terms of this class

        return call(self, fn, list(args), kwargs)

    def push_forward(self, *args: Any, **kwargs: Any) -> Any:
        """A tangent inside compiled code; see `derivatives.push_forward`."""
        from ..derivatives.grad import push_forward

        return push_forward(self, *args, **kwargs)

    @property
    def scouting(self) -> bool:
        """Whether this compilation only finds out what attributes hold at the end: backward blocks are left out."""
        return self.known.scouting

    @contextmanager
    def backward(self) -> Iterator[None]:
        """What is compiled inside runs in the backward pass."""
        outer = self.in_backward, self.backward_since
        self.in_backward, self.backward_since = True, serial_now()
        try:
            yield
        finally:
            self.in_backward, self.backward_since = outer

    def attribute_after_forward(self, owner: Any, name: str) -> Any:
        """``owner.name`` in a block that runs in the backward pass; see `after_forward.read_after_forward`."""
        from ..effects.after_forward import read_after_forward

        return read_after_forward(self, owner, name)

    def call_with_rule(self, *args: Any) -> Any:
        """A call with a user's derivative; see `custom.call_with_rule`."""
        from ..derivatives.custom import call_with_rule

        return call_with_rule(self, *args)

    def run_hook(self, fn: Any, args: Sequence[Any], what: str) -> Any:
        """A hook's call; see `callbacks.run_hook`."""
        from ..derivatives.callbacks import run_hook

        return run_hook(self, fn, args, what)

    def register_hook(self, owner: Any, hook_fn: Any) -> Any:
        """``owner.register_hook(hook_fn)`` of a Tensor; see `tensor_hooks.register`."""
        from ..derivatives.tensor_hooks import register

        return register(self, owner, hook_fn)

    def edited(self, *args: Any) -> Any:
        """A Tensor whose cotangent a user's rule edits; see `custom.edited`."""
        from ..derivatives.custom import edited

        return edited(self, *args)

    def check_names(self, frame: Frame | None = None) -> None:
        """To be called where a function ends or a backward pass has run; see `after_forward.check_names`."""
        from ..effects.after_forward import check_names

        check_names(self, frame)

    def flush_attributes(self) -> None:
        """To be called where a forward pass ends: backward blocks see what attributes hold here."""
        from ..effects.after_forward import flush

        flush(self)

    def at_compile_time(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a `constexpr` function; see `host.at_compile_time`."""
        from ..functions.host import at_compile_time

        return at_compile_time(self, fn, args, kwargs)

    @staticmethod
    def objects(x: Any) -> Any:
        """Abstract values with Parameters as the objects they are, for code that wants the object and not its value."""
        return map_leaves(lambda v: v.source if type(v) is StateVar else v, x)

    @staticmethod
    def as_tensors(args: Sequence[Any]) -> list[Any]:
        """The arguments with a Tensor of its own for each ndarray of the caller: transforms of eager code make one."""
        return [TensorVar(x.value) if getattr(x, "locked", "") == ARRAY else x for x in args]

    @staticmethod
    def is_tensor(x: Any) -> bool:
        """Whether an abstract value is a Tensor."""
        return type(x) in (TensorVar, StateVar)

    def differentiate(self, *args: Any, **kwargs: Any) -> Any:
        """A derivative inside compiled code; see `derivatives.differentiate`."""
        from ..derivatives.grad import differentiate

        return differentiate(self, *args, **kwargs)

    def linearise(self, *args: Any, **kwargs: Any) -> Any:
        """A call inside compiled code that is differentiated later; see `derivatives.linearise`."""
        from ..derivatives.grad import linearise

        return linearise(self, *args, **kwargs)

    # ------------------------------------------------------------------------------------------- native code
    def unwrap(self, x: Any) -> Any:
        """What a function of this package gets for an abstract value: Values for Tensors."""

        def leaf(v: Any) -> Any:
            if type(v) is TensorVar:
                self.snapshots.note_read(v, self.here)
                return v.value
            if type(v) is ArrayVar:
                return v.value
            if type(v) is StateVar:
                return F.state_read(state=v.name, type=v.type)
            if isinstance(v, Tensor):  # bound in a partial, or held by an object whose code runs natively
                return leaf(self.outside.captured(v))
            return self.unwrap(v.iterate(self)) if hasattr(type(v), "iterate") else v

        return map_leaves(leaf, x)

    def wrap(self, x: Any) -> Any:
        """The abstract value for what such a function returned."""
        return map_leaves(lambda v: TensorVar(v) if type(v) is Value else v, x)

    def native(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Runs a function of this package on Values: it emits ops."""
        given = [self.unwrap(a) for a in args]
        named = {k: self.unwrap(v) for k, v in (kwargs or {}).items()}
        try:
            with naming_memory():
                return self.wrap(fn(*given, **named))
        except UnknownValueError as error:
            raise naming_parameter(error, fn, given, named).with_traceback(error.__traceback__) from None

    # ------------------------------------------------------------------------------------------- mutable objects
    def write(self, box: TensorVar, value: Value) -> None:
        """Gives a Tensor other elements, for all names of it; an argument's are written back to the caller's Tensor."""
        self._set(box, value)
        for other, ways in self.ties.spread(box):
            self._set(other, chosen(box, other, ways, self.known))

    def _set(self, box: TensorVar, value: Value) -> None:
        check_writable(box, self.known)
        self.inputs.note_write(box)
        self.touch(box)
        box.value = value

    def change(self, obj: Any) -> None:
        """To be called before compiled code changes a list, dict, set or object that it made."""
        self.touch(obj)
        for other, _ in self.ties.spread(obj):
            self._lose(obj, other)

    def _lose(self, p: Any, q: Any) -> None:
        self.touch(q)
        set_content(q, unknown(p))

    def touch(self, obj: Any) -> None:
        """Notes what a mutable compile-time object holds, before that is replaced."""
        for region in reversed(self.regions):
            if id(obj) in region.saved or obj.serial >= region.start:
                return
            if not region.saved:
                region.first_change = self.here
            region.saved[id(obj)] = (obj, content(obj))

    @contextmanager
    def region(self) -> Iterator[Region]:
        """Notes the objects changed inside, so that they can be put back or joined."""
        region = Region(serial_now())
        self.regions.append(region)
        try:
            yield region
        finally:
            self.regions.pop()

    @staticmethod
    def restore(region: Region) -> dict[int, tuple[Any, Any]]:
        """Puts the objects of a region back to what they held before; returns what they held at its end."""
        after = {}
        for key, (obj, before) in region.saved.items():
            after[key] = (obj, content(obj))
            set_content(obj, before)
        return after
