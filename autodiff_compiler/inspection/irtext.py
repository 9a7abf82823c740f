"""`IRText`: the text of one stage, which can be compared, coloured, saved, and run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import escape
from ..ir.printer import Unbound
from ..whole_files import write_with_arrays

if TYPE_CHECKING:
    from ..ir.core import Module

__all__ = ["Bindings", "IRText"]

#: Colours that can be read on white and on black; where a notebook has its own for code, those.
_COLOURS = {
    "comment": "var(--jp-mirror-editor-comment-color, #7a7a7a)",
    "place": "var(--jp-mirror-editor-comment-color, #7a7a7a)",
    "adjoint": "#c2600c",
    "value": "var(--jp-mirror-editor-variable-color, #2f7fd0)",
    "symbol": "#8a63d2",
    "type": "#1d8a6b",
    "string": "var(--jp-mirror-editor-string-color, #c2463a)",
    "op": "font-weight:bold",
    "minus": "#d1433a",
    "plus": "#238a3e",
    "hunk": "#8a63d2",
}
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)
      | (?P<place>@[ ](?:"[^"\n]*"|[\w.<>+-]+):\d+:\d+(?:(?![ ]+//)[^\n])*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<adjoint>%d\d*_\w+) | (?P<value>%\w+) | (?P<symbol>@[\w.<>-]+)
      | (?P<type>\b(?:bool|[uif]\d+|bf16)\[[^\]\n]*\]|\bseq<)
      | (?P<op>(?<==[ ])[a-z]\w*|\b(?:func|return|yield|body|cond|then|else|state|constant|callable)\b)""",
    re.VERBOSE,
)
_DIFF_LINES = {"-": "minus", "+": "plus", "@": "hunk"}


@dataclass(frozen=True)
class Bindings:
    """What a text is about and does not hold.

    `module`: the IR that was printed, with its large constants and host functions; `states`: what stands behind its
    states; `captures`: for the arguments of its entry that come from outside, functions that fetch them.  `code`: what
    makes a program of the text, where that is code over NumPy.
    """

    module: Module
    states: Mapping[str, Any] = field(default_factory=dict)
    captures: tuple[Callable[[], Any], ...] = ()
    code: Callable[[str], Callable[..., tuple[Any, ...]]] | None = None


class IRText(str):
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
        """What the program of this stage makes of these arrays; the same as ``parse_ir(text).run(*arrays)``.

        It computes less than the function returns if that returns arguments or constants: these are left out.

        >>> from autodiff_compiler import Tensor, jit
        >>> jit(lambda x: (x, x * 2, 7)).lower(Tensor([3.0])).ir("opt").run([3.0])
        (array([6.], dtype=float32),)
        """
        from .runnable import parse_ir

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
        from .textdiff import difference

        return difference(self, other, context, color)

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
            lines = [_span(_DIFF_LINES.get(line[:1], ""), line) for line in self.split("\n")]
            return _page("\n".join(lines))
        if self.stage in ("source", "code"):
            return _page(escape.markup(self))
        parts, end = [], 0
        for found in _TOKEN.finditer(self):
            parts += [escape.markup(self[end : found.start()]), _span(found.lastgroup or "", found[0])]
            end = found.end()
        return _page("".join(parts) + escape.markup(self[end:]))

    def __reduce__(self) -> Any:
        return IRText, (str(self), self.stage, self.of)  # what it is bound to belongs to this process


def _span(kind: str, text: str) -> str:
    if not kind:
        return escape.markup(text)
    style = _COLOURS[kind]
    return f'<span style="{style if ":" in style else "color:" + style}">{escape.markup(text)}</span>'


def _page(inner: str) -> str:
    return f'<pre style="line-height:1.35;overflow-x:auto;background:transparent;color:inherit">{inner}</pre>'
