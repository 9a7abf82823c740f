"""The state of one compilation, and the tables of rules that say what each piece of syntax does.

Static values are evaluated by Python while compiling; operations on dynamic ones emit ops.  `statements`,
`expressions`, `control` and `loops` put their rules into the tables; every rule gets the `Interpreter` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CompileError, RecursionDepthError, place_note
from ...ir.build import Builder
from ...ir.core import Block, Function, Module, UnknownValueError, Value
from ...ir.primitive import trace
from ...ir.sizes import Size
from ...ir.types import TensorType, tensor
from ...no_memory import naming_memory
from ...peer_names import CALLED
from ...primitives.requirements import naming_parameter
from ...runtime.mutable import NUMBER_DTYPE
from ...runtime.parameter import Parameter
from ...runtime.tensor import Tensor
from ...source import Loc, calling_place
from ..derivatives.callbacks import changes_outside
from ..derivatives.cell_calls import call_cell
from ..derivatives.context import Derivatives
from ..derivatives.custom import call_with_rule
from ..effects.after_forward import check_names, read_after_forward
from ..effects.effects import Effects
from ..effects.exceptions import emit_check, emit_raise
from ..effects.inputs import Foreknown
from ..report.operands import whose
from ..report.reasons import Reasons
from ..report.report import Report
from ..syntax import source_tree, unsupported_syntax
from ..syntax.scope import Prepared, bind_arguments, prepare
from ..variables import grown_lists
from ..variables.base import variable_of
from ..variables.calls import call
from ..variables.frames import Closure, Frame
from ..variables.interpreter import Diverged, Options, Program
from ..variables.structure import map_leaves
from ..variables.unions import for_each_rank, holds_union
from ..variables.values import ARRAY, GrownList, LocalDict, TensorVar, is_tensor
from .collected import each
from .context import EXPRESSIONS, STATEMENTS, LoopMemory
from .control import branch

_DEPTH = 256
#: What is said of an exception that a static operation raised.
_AS_PYTHON = "raised while this was compiled, as Python raises it without `jit`"


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


def _advice(node: Any, error: Exception) -> list[str]:
    """What to write where a property of a Tensor is called, as `x.size(0)` is in other frameworks."""
    advice = CALLED.get(getattr(getattr(node, "func", None), "attr", ""))
    return [f"instead: {advice}"] if advice and str(error).endswith("object is not callable") else []


def _localized(prepared: Prepared, env: dict[str, Any]) -> dict[str, Any]:
    """The bound arguments, with the dict of ``**kwargs`` as one that compiled code made."""
    rest = prepared.node.args.kwarg
    return env if rest is None else {**env, rest.id: LocalDict(env[rest.id])}


class Interpreter:
    """One compilation of one function."""

    def __init__(self, name: str, options: Options, known: Foreknown) -> None:
        self.options = options
        module = Module(optimize=options.optimize, backend=options.backend)
        module.check_nonfinite = options.check_nonfinite or False
        entry = Function(name, Block())
        self.program = Program(module, entry, Builder(entry.body, module=module))
        self.effects = Effects(known, self.program)
        self.outside = self.effects.outside
        self.derivatives = Derivatives()
        called_from, boxes, captured = calling_place(), self.effects.inputs.boxes, self.program.captured
        self.report = Report(called_from, Reasons(called_from, entry, boxes, captured, self.outside.captures))
        self.loops = LoopMemory()
        self.frame: Frame = None  # type: ignore[assignment]
        self.after_statement: Callable[[], None] = lambda: None
        self.depth = 0
        #: how many branches chosen at run time surround the present place
        self.arms = 0
        #: the operands of what is being compiled, and what they stand for in this frame
        self.operands: tuple[Frame, Sequence[Any], Sequence[Any]] | None = None

    # ------------------------------------------------------------------------------------------- arguments
    def argument(self, spec: Any, name: str) -> Any:
        """The abstract value of an argument; its dynamic leaves become arguments of the entry."""

        def leaf(x: Any) -> Any:
            if isinstance(x, TensorArgument):
                value = self.program.entry.body.add_arg(x.type, name)
                return self.effects.inputs.add(value, x.source, locked=ARRAY if x.array else "")
            if isinstance(x, NumberArgument):
                return self.effects.inputs.add(
                    self.program.entry.body.add_arg(tensor(NUMBER_DTYPE[x.kind], ()), name), None, x.kind
                )
            return self.outside.state(x) if isinstance(x, Parameter) else x

        return map_leaves(leaf, spec)

    # ------------------------------------------------------------------------------------------- evaluation
    @property
    def differentiated(self) -> bool:
        """Whether a function that is differentiated is being compiled."""
        return self.derivatives.differentiated

    @property
    def here(self) -> Loc | None:
        return trace.builder.loc if trace.builder is not None else self.program.builder.loc

    def place(self, node: Any) -> Loc:
        """Makes a node the place that emitted ops and errors without a place refer to."""
        loc = self.frame.tree.loc(node, self.frame.caller)
        if self.frame.turn is not None:
            loc = loc._replace(turn=self.frame.turn)
        trace.builder.loc = loc
        return loc

    def whose(self, size: Size) -> str:
        """What the user calls the only operand with a size, and where it is from; empty if that is not clear."""
        if self.operands is None or self.operands[0] is not self.frame:
            return ""
        return whose(size, *self.operands)

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
        if not (self.effects.hooks.in_hook and self._is_callback(node)):
            self._guarded(rule, node)
            self.after_statement()

    def _is_callback(self, node: Any, silent: bool = False) -> bool:
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
                self.report.reasons.add_to(error, self.frame, node)
            self.report.note_failure(error, trace.builder, self.frame.tree.loc(node, self.frame.caller))
            raise
        except Diverged:
            raise
        except Exception as error:  # what Python itself raises for a static operation
            self.report.note_failure(error, trace.builder, self.frame.tree.loc(node, self.frame.caller))
            if not getattr(error, "__notes__", None):
                node = getattr(node, "iter", getattr(node, "test", node))  # the part of a statement that it evaluates
                loc = self.frame.tree.loc(node, self.frame.caller).of_user()
                known = self.report.reasons.known(self.frame, node)
                error.add_note(place_note(loc, *known, *_advice(node, error), _AS_PYTHON))
                self.report.certain = loc, trace.builder
            raise

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
                return None if self.effects.hooks.in_hook and self._is_callback(body, silent=True) else self.expr(body)
            self.block(body)
            returned = frame.env.pop("return", None)
            if self.effects.late_reads:
                check_names(self, frame)
            return returned
        finally:
            if self.depth == 1:
                self.report.reasons.leave(frame.names())
            self.frame, self.depth = previous, self.depth - 1
            trace.builder.loc = loc

    def note_return(self, node: Any) -> None:
        """Notes where the result of the outermost function was returned, for errors about it."""
        if self.depth == 1:
            self.report.returned_at = self.frame.tree.loc(node, self.frame.caller).of_user()

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
        frame = Frame(prepared, source_tree.bindings(fn), None, caller, _localized(prepared, env), method_of)
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
        env = _localized(prepared, env)
        frame = Frame(prepared, closure.frame.bindings, closure.frame, caller, env, closure.frame.method_of)
        return self.run_function(prepared, frame)

    def call(self, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)`` on abstract values; for objects that say how they are compiled (`__graph_call__`)."""
        return call(self, fn, list(args), kwargs)

    # What rooms above that of the values do for them (see `ValueContext`).
    call_cell = call_cell
    call_with_rule = call_with_rule
    branch = branch
    each = each
    check = emit_check
    raise_at_run_time = emit_raise
    attribute_after_forward = read_after_forward
    is_tensor = staticmethod(is_tensor)

    # ------------------------------------------------------------------------------------------- native code
    def unwrap(self, x: Any) -> Any:
        """What a function of this package gets for an abstract value: Values for Tensors."""
        return map_leaves(lambda v: variable_of(v).unwrap(self), x)

    def wrap(self, x: Any) -> Any:
        """The abstract value for what such a function returned."""
        return map_leaves(lambda v: TensorVar(v) if type(v) is Value else v, x)

    def native(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Runs a function of this package on Values: it emits ops."""
        if any(type(a) is GrownList for a in args):
            return grown_lists.native(self, fn, args, kwargs or {})
        if holds_union((*args, *(kwargs or {}).values())):
            return for_each_rank(self, lambda a, k: self.native(fn, a, k), tuple(args), kwargs or {})
        given = [self.unwrap(a) for a in args]
        named = {k: self.unwrap(v) for k, v in (kwargs or {}).items()}
        try:
            with naming_memory():
                return self.wrap(fn(*given, **named))
        except UnknownValueError as error:
            raise naming_parameter(error, fn, given, named).with_traceback(error.__traceback__) from None
