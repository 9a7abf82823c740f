"""What the functions of one generated module share: names, constants, imports and printed kernels."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...dtypes import from_numpy
from ...ir.core import Module, Value
from ...ir.types import Type
from .instrumentation import Timer
from .kernels import Support
from .program import FunctionCode
from .syntax import Var, array_tree, attribute, call, constant, dtype_expr, load, subscript


class ModuleCode:
    """What the functions of one generated module share."""

    def __init__(self, module: Module, undefined: set[Value], names: dict[str, str], reuse_bytes: int) -> None:
        self.module, self.undefined, self.names, self.reuse_bytes = module, undefined, names, reuse_bytes
        self.support = Support()
        self.functions: list[FunctionCode] = []
        #: Constants that are too large to be literals: kept beside the source.
        self.arrays: dict[str, Any] = {}
        self.constants: dict[str, tuple[Var, ast.expr]] = {}
        self.uses_callables = self.uses_scratch = self.uses_products = False
        #: the instrumentation, if the program is timed
        self.timer: Timer | None = None
        #: The arguments of the entry that it writes results over.
        self.overwritten: list[Var] = []
        #: Per lowered function, per result: the number of its alias set; None where it may alias anything.
        self.results: dict[str, list[int | None]] = {}
        #: Per function, the operands of each call of it.
        self.sites: dict[str, list[list[Any]]] = {}

    def constant(self, name: str, type: Type) -> Var:
        """The module-level variable of a constant array."""
        found = self.constants.get(name)
        if found is None:
            array = np.ascontiguousarray(self.module.constants[name])
            self.support.dtype(from_numpy(array.dtype))
            var = Var(type, name, foreign=True)
            found = self.constants[name] = (var, self._written(name, array))
        return found[0]

    def _written(self, name: str, array: Any) -> ast.expr:
        found = array_tree(array)
        if found is not None:
            return found
        self.arrays[name] = array
        stored = subscript(load("CONSTANTS"), constant(name))
        # The .npz format knows no bfloat16: it holds the bits.
        bits = array.dtype.name == "bfloat16"
        return call(attribute(stored, "view"), dtype_expr(from_numpy(array.dtype))) if bits else stored
