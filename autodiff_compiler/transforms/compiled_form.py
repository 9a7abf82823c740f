"""`HasCompiledForm`: the methods by which Cells and derivatives show their compiled form, as jitted functions do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..compiler.history import Recompiles
from ..errors import UnsupportedCallError, users_frames
from ..runtime.host import TensorSpec
from ..runtime.tensor import Tensor
from .jit import JitFunction, jit

if TYPE_CHECKING:
    from ..inspection.artifact import Artifact
    from ..inspection.derivative_source import PythonSource


class HasCompiledForm:
    """Base of what GRAPH_MODE compiles; it can be looked at in either mode.

    A class or object that has attributes of these names itself keeps them: of MindSpore's Cells only `RReLU`, whose
    `lower` is a number.
    """

    _jit: JitFunction | None = None

    def _as_compiled(self) -> JitFunction:
        """The compiled form, made where there is none."""
        if self._jit is None:
            self._jit = jit(self)  # type: ignore[arg-type]
        return self._jit

    def _by_parts(self, args: Sequence[Any], kwargs: dict[str, Any], tensor: Any) -> tuple[Any, list[Any], dict] | None:
        """The form that takes the parts of objects among these arguments, with these; None if there are no objects."""
        return None

    def _form_for(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[JitFunction, Sequence[Any], dict]:
        """The compiled form for these arguments or their types, and what it takes: objects are taken apart."""
        found = self._by_parts(args, kwargs, lambda x: isinstance(x, Tensor | TensorSpec))
        if found is None:
            return self._as_compiled(), args, kwargs
        form, parts, named = found
        return form._as_compiled(), parts, named

    @users_frames
    def lower(self, *args: Any, **kwargs: Any) -> Artifact:
        """What compilation makes of a call with these arguments: IR at every stage, generated code, explanation.

        A `TensorSpec` may stand for any Tensor; see `lower` of what `jit` returns.

        >>> from autodiff_compiler import Tensor, grad, nn
        >>> nn.ReLU().lower(Tensor([-1.0, 2.0])).memory().results
        8
        >>> grad(lambda x: x * x).lower(Tensor(2.0)).memory().arguments
        4
        """
        form, parts, named = self._form_for(args, kwargs)
        return form.lower(*parts, **named)

    @users_frames
    def source(self, *args: Any, **kwargs: Any) -> PythonSource:
        """What a call with these arguments computes, as Python over NumPy: a text to read, which runs by itself.

        A `TensorSpec` may stand for any Tensor.  Without arguments it is what was compiled last, by a call or to be
        looked at, or a call without arguments if nothing was; TypeError if there is no such call.
        UnsupportedCallError: something, named with its line, is not to be had with NumPy alone.

        >>> from autodiff_compiler import Tensor, grad
        >>> gradient = grad(lambda w, x: (w * x).sum()).source(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
        >>> gradient.splitlines()[-1]
        '    return x.copy()'
        """
        form, parts, named = self._form_for(args, kwargs)
        return form.source(*parts, **named)

    def explain_recompiles(self) -> Recompiles:
        """Why it was compiled each time: a sequence of `Compile`, whose text can be printed."""
        return self._as_compiled().explain_recompiles()

    lower.__graph_call__ = source.__graph_call__ = lambda *_: _refuse()  # type: ignore[attr-defined]
    explain_recompiles.__graph_call__ = lambda *_: _refuse()  # type: ignore[attr-defined]


def _refuse() -> Any:
    raise UnsupportedCallError(
        "compiled code cannot look at compiled forms", hint="call `lower`, `source` and `explain_recompiles` outside"
    )
