"""Texts of IR that run: `IRText`, the text of one stage, and `parse_ir`, which reads a program back from a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from ..compiler.out_of_memory import explained
from ..compiler.pipeline import Stages, build, optimise, planned
from ..depth import deep
from ..dtypes import from_numpy
from ..ir.core import Module, Op, Value
from ..ir.parser import ParseError, parse_module
from ..ir.positions import verify_positions
from ..ir.printer import Unbound
from ..ir.text import print_module
from ..ir.types import TensorType, tensor
from ..ir.verify import VerifyError, verify, verify_sizes
from ..ir.walk import callee_of, callees, ops_of
from ..passes.manager import dump
from ..runtime.tensor import Tensor
from ..whole_files import write_with_arrays
from .highlight import ShownText, code_html, difference_html, ir_html
from .ir_arguments import argument, array, check_open_sizes
from .results import purposes_in
from .textdiff import Text, difference, side_by_side

_PYTHON = re.compile(r'def |class |import |from |@\w|"""|lambda |# ')


@dataclass(frozen=True)
class Bindings:
    """What a text names without holding it.

    `module`: the IR that was printed, with its large constants and host functions; `states`: what stands behind its
    states; `captures`: for the arguments of its entry that come from outside, functions that fetch them.  `code`: what
    makes a program of the text, where that is code over NumPy.
    """

    module: Module
    states: Mapping[str, Any] = field(default_factory=dict)
    captures: tuple[Callable[[], Any], ...] = ()
    code: Callable[[str], Callable[..., tuple[Any, ...]]] | None = None


class IRText(ShownText):
    """The text of a stage: a str which knows where it comes from.

    `stage` is one of "source", "front", "adjoint", "opt", "plan", "code" (or "diff"), `of` the call it was made for.

    >>> from autodiff_compiler import Tensor, jit
    >>> text = jit(lambda x: x * x).lower(Tensor([3.0])).ir("opt")
    >>> text.stage, text.of
    ('opt', 'lambda(f32[1])')
    >>> text.run([3.0])
    (array([9.], dtype=float32),)
    """

    stage: str
    of: str

    def __new__(cls, text: str, stage: str = "", of: str = "", bound: Bindings | None = None) -> IRText:
        made = super().__new__(cls, text)
        made.stage, made.of, made._bound = stage, of, bound
        return made

    _bound: Bindings | None

    # ------------------------------------------------------------------------------------------- what it leaves out
    @property
    def constants(self) -> dict[str, Any]:
        """The large constants, of which the text has names only; for `parse_ir`."""
        found = self._bound.module.constants if self._bound is not None else {}
        return {name: array for name, array in found.items() if not isinstance(array, Unbound)}

    @property
    def callables(self) -> dict[str, Callable[..., Any]]:
        """The host functions by their names in the text."""
        found = self._bound.module.callables if self._bound is not None else {}
        return {name: fn for name, fn in found.items() if not isinstance(fn, Unbound)}

    @property
    def states(self) -> dict[str, Any]:
        """Copies of what the states hold now, as arrays by their names in the text."""
        if self._bound is None:
            return {}
        kept = self._bound.module.states
        return {name: x._data.copy() for name, x in self._bound.states.items() if name in kept}

    # ------------------------------------------------------------------------------------------- what it can do
    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """The results of the program of this stage for these arrays; the same as ``parse_ir(text).run(*arrays)``.

        Arguments and constants that the function returns are no results of a program: they are left out.

        >>> from autodiff_compiler import Tensor, jit
        >>> jit(lambda x: (x, x * 2, 7)).lower(Tensor([3.0])).ir("opt").run([3.0])
        (array([6.], dtype=float32),)
        """
        return parse_ir(self).run(*arrays)

    def diff(self, other: str, *, context: int = 3, color: bool = False) -> IRText:
        """The changes from this text to another stage, or to another program; empty if there are none.

        Numbers of values, suffixes of names and places in the source do not count where they only moved: a line is
        shown if its op, its types, its attributes or its operands are others.  Removed lines name values as the new
        text does.  What stands behind ``//`` counts between texts of the same stage, but for the lines of the source
        that it names (of the comments in generated code only those on what Python runs), and so do the numbers in large
        constants, where both texts know them; the values of states and captured Tensors do not.  Functions are compared
        by their order, whatever they are called, if there are as many.  `context`: how many unchanged lines are shown
        around; `color`: with colours for a terminal.

        >>> from autodiff_compiler import Tensor, jit
        >>> text = jit(lambda x: (x * x) * 1.0).lower(Tensor([3.0]))
        >>> print(text.ir("front").diff(text.ir("opt"), context=0))  # doctest: +ELLIPSIS
        --- front of lambda(f32[1])
        +++ opt of lambda(f32[1])
        ...
        """
        before, after = (_compared(text) for text in (self, other))
        changes = difference(before, after, context, color)
        return IRText(changes, "diff", f"{before.title} and {after.title}")

    def beside(self, other: str) -> list[tuple[str, str | None, str | None]]:
        """The lines of both texts in pairs: " " for those that `diff` takes as equal, else "-" or "+" and one line."""
        return list(side_by_side(_compared(self), _compared(other)))

    def replace(self, old: str, new: str, count: Any = -1) -> IRText:
        """As of every str; the result can still be run."""
        return IRText(super().replace(old, new, count), self.stage, self.of, self._bound)

    def save(self, path: Any) -> None:
        """Writes the text to a file, and what IR has the names of to an .npz file beside it, if there is anything.

        So ``run f.ir`` finds constants and states in `f.ir.npz`.
        """
        values: dict[str, Any] = {}
        if self.stage not in ("source", "code", "diff"):
            values |= {f"constant/{name}": array for name, array in self.constants.items()}
            values |= {f"state/{name}": array for name, array in self.states.items()}
        write_with_arrays(path, self, values)

    def _repr_html_(self) -> str:
        if self.stage == "diff":
            return difference_html(self)
        return code_html(self) if self.stage in ("source", "code") else ir_html(self)

    def __reduce__(self) -> Any:
        return IRText, (str(self), self.stage, self.of)  # bindings belong to this process


def _compared(text: str) -> Text:
    """What `difference` is given of a text."""
    if not isinstance(text, IRText):
        return Text(text)
    title = f"{text.stage} of {text.of}" if text.stage else "text"
    return Text(str(text), text.stage, title, text.constants)


@deep
def parse_ir(
    text: str,
    *,
    constants: Mapping[str, Any] | None = None,
    states: Mapping[str, Any] | None = None,
    callables: Mapping[str, Callable[..., Any]] | None = None,
) -> ParsedIR:
    """Reads a dump of any stage back, as something that runs.

    A text has the names of large constants, states and host functions only.  An `IRText` of this process
    (`artifact.ir(stage)`) knows what they are; others are given by name, e.g. ``constants=text.constants``.  The code
    over NumPy can be read, too.

    Raises ParseError with the place for what is no IR (the source of a function and LLVM text are none), CompileError
    for IR whose types do not fit.

    >>> square = parse_ir("func @f(%x: f32[2]) -> (f32[2]) { %y: f32[2] = mul %x, %x ; return %y }")
    >>> square.run([3.0, 4.0])
    (array([ 9., 16.], dtype=float32),)
    """
    stage, bound = (text.stage, text._bound) if isinstance(text, IRText) else ("", None)
    if bound is not None and bound.code is not None:
        return ParsedIR(bound.module, bound, states, bound.code(text))
    places: dict[Op, int] = {}
    try:
        module = parse_module(text, places)
    except ParseError as error:
        raise _told(error, text, stage) from None
    if not module.functions:
        raise ParseError("there is no function in it", text, len(text.rstrip()))
    try:
        verify(module)
        verify_sizes(module)
        if bound is None:
            verify_positions(module)
    except VerifyError as error:
        at = places[error.op] if error.op is not None else text.index("func ")
        raise ParseError(error.problem, text, at) from None
    _check_calls(module, places, text)
    known = bound.module if bound is not None else Module()
    _bind(module.constants, constants, known.constants, "constant")
    _bind(module.callables, callables, known.callables, "host function")
    module.backend = known.backend
    made = ParsedIR(module, bound, states)
    made.purposes = purposes_in(text)
    return made


def _told(error: ParseError, text: str, stage: str) -> ParseError:
    """For a text that is no IR at all, an error that says what to do instead; otherwise the error itself."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    start, look = text.find(first), "look at another stage, e.g. artifact.ir('opt')"
    if stage == "code" or first.startswith(("; ", "source_filename", "target ", "define ")):
        return ParseError(f"this is generated code, not IR: call the function itself, or {look}", text, start)
    if stage == "source" or _PYTHON.match(first.strip()):
        return ParseError(f"this is Python, not IR: call the function itself, or {look}", text, start)
    return error


def _bind(mine: dict[str, Any], given: Mapping[str, Any] | None, known: Mapping[str, Any], what: str) -> None:
    """Replaces names without a value by the value given, else by the known one."""
    for name in given or ():
        if name not in mine:
            raise KeyError(f"the text has no {what} {name}; it has {', '.join(mine) or 'none'}")
    for name, unbound in mine.items():
        found = (given or {}).get(name)
        if found is None and isinstance(unbound, Unbound):
            found = known.get(name)
            if found is None or isinstance(found, Unbound) or _type_of(found, unbound) != unbound.type:
                continue
        if found is not None:
            type = unbound.type if isinstance(unbound, Unbound) else _type_of(unbound, unbound)
            mine[name] = found if type is None else array(found, type, f"constant {name}")


def _type_of(array: Any, unbound: Any) -> TensorType | None:
    """The type of a constant; None for a host function."""
    if isinstance(unbound, Unbound) and unbound.type is None:
        return None
    return tensor(from_numpy(array.dtype), array.shape)


class ParsedIR:
    """A program that was read from text: it can be run, and its later stages can be looked at.

    Its states are its own: they begin with copies of what was given, and a run leaves in them what it wrote.
    """

    def __init__(
        self,
        module: Module,
        bound: Bindings | None,
        states: Mapping[str, Any] | None,
        code: Callable[..., tuple[Any, ...]] | None = None,
    ) -> None:
        self._module = module
        self._stages: Stages | None = None
        #: the module that runs, and its program
        self._made: tuple[Module, Callable[..., tuple[Any, ...]]] | None = None if code is None else (module, code)
        arguments = module.entry.args[: len(module.entry.args) - len(module.inputs)]
        captures = bound.captures if bound is not None else ()
        fits = len(captures) <= len(arguments)
        self._captures = captures if fits else ()
        #: the names and types of the arrays that `run` takes
        self.inputs = [(_name(x, i), x.type) for i, x in enumerate(arguments[: len(arguments) - len(self._captures)])]
        #: by numbers of results what they are for, where the header of a dump says that they are not just returned
        self.purposes: dict[int, str] = {}
        #: what the states hold now, as arrays by their names
        self.states: dict[str, Any] = {}
        given = dict(states or {})
        for name in given:
            if name not in module.states:
                raise KeyError(f"the text has no state {name}; it has {', '.join(module.states) or 'none'}")
        for name, info in module.states.items():
            value = given.get(name)
            if value is None and bound is not None and name in bound.states:
                value = bound.states[name]._data
            if value is not None:
                self.states[name] = array(value, info.type, f"state {name}").copy()

    # ------------------------------------------------------------------------------------------- running
    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """The results of the entry for these arguments, as arrays; versions of states are left in `states`.

        What the function returns though no program computes it, arguments and constants, is no result of the entry.
        Of passes only those run that a program cannot do without: what the text says is computed as it stands there.
        Arguments are arrays, Tensors or numbers of the right dtype and shape; those that the function took from outside
        are filled in where the text knows them.  TypeError for too many or too few and for another dtype, ValueError
        for another shape, OverflowError for a number that the dtype cannot hold, LookupError for a constant, state or
        host function that is not given, TooLittleMemoryError for what there is no memory for.
        """
        given = self.arguments(*arrays)
        captured = [fetch()._data for fetch in self._captures]
        module, run = self._program()
        types = [x.type for x in module.entry.args[len(module.entry.args) - len(module.inputs) :]]
        inputs = [array(self.states[n], t, f"state {n}").copy() for n, t in zip(module.inputs, types, strict=True)]
        operands = [*given, *[np.array(x) for x in captured], *inputs]
        try:
            found = run(*operands)
        except (MemoryError, ValueError) as error:
            told = explained(error, module, run, [np.shape(x) for x in operands])
            if told is None:
                raise
            raise told from None
        count = len(found) - len(module.outputs)
        self.states.update({n: np.array(x) for n, x in zip(module.outputs, found[count:], strict=True)})
        return tuple([np.array(x) if isinstance(x, np.ndarray | np.generic) else x for x in found[:count]])

    def arguments(self, *arrays: Any) -> list[Any]:
        """The arguments as `run` converts them; raises what `run` raises."""
        self._check_bound()
        if len(arrays) != len(self.inputs):
            wanted = ", ".join([f"{name}: {type!r}" for name, type in self.inputs]) or "none"
            raise TypeError(f"{len(self.inputs)} arrays are wanted ({wanted}), {len(arrays)} are given")
        given = [argument(x, t, name) for x, (name, t) in zip(arrays, self.inputs, strict=True)]
        check_open_sizes(given, self.inputs)
        return given

    def _program(self) -> tuple[Module, Callable[..., tuple[Any, ...]]]:
        if self._made is None:
            lowered = optimise(replace(self._module, optimize=0)).opt
            self._made = lowered, build(lowered)
        return self._made

    def _check_bound(self) -> None:
        constants = [name for name, x in self._module.constants.items() if isinstance(x, Unbound)]
        callables = [name for name, x in self._module.callables.items() if isinstance(x, Unbound)]
        states = [name for name in self._module.states if name not in self.states]
        kinds = {"constants": constants, "callables": callables, "states": states}
        missing = [f"{kind}={_listed(names)}" for kind, names in kinds.items() if names]
        if missing:
            raise LookupError(
                f"the text has names only of what parse_ir must be given: {', '.join(missing)}; what `artifact.ir` "
                "returns knows them (`.constants`, `.callables`, `.states`)"
            )

    # ------------------------------------------------------------------------------------------- looking
    def ir(self, stage: str = "opt") -> IRText:
        """The text again ("front": as it was read), or what the passes make of it: "adjoint", "opt", "plan", "code".

        >>> text = "func @f(%x: f32[2]) -> (f32[2]) { %y: f32[2] = neg %x ; %z: f32[2] = neg %y ; return %z }"
        >>> print(parse_ir(text).ir("opt"), end="")
        func @f(%x: f32[2]) -> (f32[2]) {
          return %x
        }
        """
        if stage not in ("front", "adjoint", "opt", "plan", "code"):
            raise ValueError(f"stage must be front, adjoint, opt, plan or code, not {stage!r}")
        if stage == "front":
            module, text = self._module, print_module(self._module)
        else:
            stages = self._optimised()
            module = stages.adjoint if stage == "adjoint" else stages.opt
            if stage == "code":
                text = build(module).source
            else:
                text = dump(planned(module), "plan_memory") if stage == "plan" else print_module(module)
        states = {name: Tensor(x) for name, x in self.states.items()}
        return IRText(text, stage, module.entry.name, Bindings(module, states, self._captures))

    def _optimised(self) -> Stages:
        if self._stages is None:
            self._stages = optimise(self._module)
        return self._stages

    def __repr__(self) -> str:
        inputs = ", ".join([f"{name}: {type!r}" for name, type in self.inputs])
        return f"<program {self._module.entry.name}({inputs})>"


def _check_calls(module: Module, places: Mapping[Op, int], text: str) -> None:
    """ParseError at a recursive call, direct or indirect."""
    graph = {function.name: callees(function) for function in module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        callee, caller = error.args[1][:2]  # each name of the cycle is called by the one behind it
        at = min(places[op] for op in ops_of(module.functions[caller].body) if callee_of(op) == callee)
        raise ParseError(f"@{callee} calls itself: write the recursion as a loop", text, at) from None


def _listed(names: Sequence[str]) -> str:
    """A dict display with these keys; of many the first."""
    most = 3
    shown = [f"{name!r}: ..." for name in names[:most]]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return f"{{{', '.join([*shown, *more])}}}"


def _name(x: Value, i: int) -> str:
    return f"%{x.name}" if x.name else f"argument {i}"
