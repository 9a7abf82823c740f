"""The Ascend backend: modules to programs of CANN's operators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...config import context
from ...errors import UnsupportedCallError
from ...ir.core import Module
from ...ir.sizes import depends_on_data
from ...ir.types import TensorType
from ...ir.walk import ops_of
from ...source import Loc
from ..base import Coverage, Storage, Work
from ..op_by_op import pieces_of
from ..stacks import Stacks
from . import collectives, control  # noqa: F401  (they enter how they lower ops)
from .acl import acl
from .emit import Buffer
from .layout import lay_out
from .library import ABSENT
from .listing import listing
from .lower import Lowering
from .modes import MODES
from .program import AscendProgram
from .steps import Branch, Loop, Segment, Step, keys_of
from .symbolic import SymbolicProgram, example_of


@dataclass(frozen=True)
class _Common:
    """What the programs of one module for several sizes have in common: settings, and the buffers of its arrays."""

    mode: str
    fallback: bool
    arrays: dict[str, Buffer] = field(default_factory=dict)

    @classmethod
    def now(cls) -> _Common:
        """With the settings of now."""
        return cls(context.get("ascend_mode"), context.get("ascend_fallback") == "host")


class AscendBackend:
    """Runs modules on an Ascend device; `host` compiles what the host does: output, exceptions, host functions.

    Programs with ops that have no operator are refused when they are called, unless
    ``set_context(ascend_fallback="host")`` lets such ops run on the host.  `lacks` says why the installed CANN does not
    have an operator; "" if it has.
    """

    def __init__(self, host: Callable[[Module], Any], lacks: Callable[[str], str] = lambda name: "") -> None:
        self._host, self._lacks = host, lacks

    @classmethod
    def installed(cls, host: Callable[[Module], Any]) -> AscendBackend:
        """The backend for the CANN of this machine."""
        return cls(host, acl.libraries.lacks)

    def compile(self, module: Module) -> AscendProgram | SymbolicProgram:
        """The module as a program, whose calls are refused with all ops that the device cannot run.

        The settings of now are those of all its calls.
        """
        _refuse_sizes_of_data(module)
        if not module.has_open_sizes:
            return self.compile_known(module)
        return SymbolicProgram(module, partial(self.compile_known, common=_Common.now()))

    def compile_known(self, module: Module, common: _Common | None = None) -> AscendProgram:
        """The same of a module of known sizes; `common`: with others made of the same one."""
        common = common or _Common.now()
        low, args, outs = self._lowered(module, common)
        name = module.entry.name
        text = partial(listing, name, low.steps, [(a.name, a.type) for a in module.entry.args], args, outs)
        refusal = partial(_refusal, low.missing) if low.missing else None
        return AscendProgram(name, text, low.steps, args, outs, low.constants, MODES[common.mode](), refusal)

    def _lowered(self, module: Module, common: _Common | None = None) -> tuple[Lowering, list[Any], list[Any]]:
        common = common or _Common.now()
        low = Lowering(module, self._host, common.fallback, self._lacks, common.arrays)
        args = [low.fresh(a.type, a.name) for a in module.entry.args]
        found = low.function(module.entry, args)
        outs = [
            low.settled(low.constant(0, v.type) if x is None and isinstance(v.type, TensorType) else x)
            for x, v in zip(found, module.entry.outs, strict=True)
        ]
        low.flush()
        low.mark_optional()
        known = [*[key for a in args for key in keys_of(a)], *low.constants]
        lay_out(low.steps, known, [key for x in outs for key in keys_of(x)])
        return low, args, outs

    def coverage(self, module: Module) -> Coverage:
        """Which ops run as operators, which on the host or on the slow cores, and which cannot run.

        Of symbolic sizes it is said for an example.
        """
        low, _, _ = self._lowered(example_of(module))
        ways = dict(sorted(low.ways.items()))
        ways |= {f"aclnn{text}": "AI CPU (slow)" for text in sorted(low.slow)}
        missing = {name: _because(*low.missing[name]) for name in sorted(low.missing)}
        return Coverage({k: v for k, v in ways.items() if k not in low.missing}, missing)

    def work(self, module: Module, *, in_place: Collection[str] = ()) -> Work:
        """The work of one call, as if each op were one operator; arenas lie on the device.

        With symbolic sizes the arena is that of an example.
        """
        low, _, _ = self._lowered(example_of(module))
        constants = sum(getattr(x, "nbytes", 0) for x in module.constants.values())
        arena = max((segment.arena for segment in _segments(low.steps)), default=0)
        return Work("ascend", pieces_of(module), Storage(constants, arena, Stacks(module).whole()))


def _refuse_sizes_of_data(module: Module) -> None:
    """Refuses programs with sizes that only data know: the device's memory is planned before they run."""
    for op in (op for function in module for op in ops_of(function.body)):
        if any(isinstance(x.type, TensorType) and any(map(depends_on_data, x.type.shape)) for x in op.results):
            raise UnsupportedCallError(
                "a size depends on data, which the Ascend device cannot run",
                code="AC1902",
                loc=op.loc,
                hint="keep the shape (`ops.where`, `masked_fill`), or run the function on the CPU",
            )


def _segments(steps: Sequence[Step]) -> Iterator[Segment]:
    for step in steps:
        if isinstance(step, Segment):
            yield step
        elif isinstance(step, Branch | Loop):
            for inner in step.arms if isinstance(step, Branch) else step.blocks:
                yield from _segments(inner)


def _because(why: str, loc: Loc | None) -> str:
    return why + (f" at {loc.short}" if loc is not None else "")


def _refusal(missing: dict[str, tuple[str, Loc | None]]) -> UnsupportedCallError:
    """The error of a program with ops that the device cannot run: the first one's place, and why for each."""
    first = next(iter(missing.values()))[1]
    names, reasons = sorted(missing), [why for why, _ in missing.values()]
    cures = ["use float32"] if any("takes no float64" in why for why in reasons) else []
    cures += ["install a newer CANN"] if any(ABSENT in why for why in reasons) else []
    return UnsupportedCallError(
        "the Ascend device cannot run " + ", ".join(names),
        code="AC1902",
        loc=first,
        notes=[f"{n}: {missing[n][0] if missing[n][1] is first else _because(*missing[n])}" for n in names],
        hint=", or ".join([*cures, 'let the host do it: set_context(ascend_fallback="host")']),
    )
