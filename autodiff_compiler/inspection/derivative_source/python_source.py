"""A program as Python text that runs by itself."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

from ...whole_files import beside, write_with_arrays
from ..highlight import ShownText, code_html
from ..saved_values import read_values


class PythonSource(ShownText):
    """The text of a Python module with one function, made by `source()`; a `str`.

    `name` is that of the function; `given` holds, by name, the arguments that the user does not write: the dict of
    parameters, Tensors found outside, and large constants, with their values of now.

    >>> from autodiff_compiler import Tensor, grad
    >>> import numpy as np
    >>> source = grad(lambda x: (x * x).sum()).source(Tensor([1.0, 2.0]))
    >>> source.function(np.float32([1, 2]))
    array([2., 4.], dtype=float32)
    """

    name: str
    given: dict[str, Any]

    def __new__(cls, text: str, name: str, given: dict[str, Any]) -> PythonSource:
        made = super().__new__(cls, text)
        made.name, made.given = name, given
        return made

    @property
    def function(self) -> Callable[..., Any]:
        """The function, which takes NumPy arrays; what it needs besides them is in `given`."""
        namespace: dict[str, Any] = {"__name__": self.name}
        exec(compile(self, f"<source of {self.name}>", "exec"), namespace)
        found: Callable[..., Any] = namespace[self.name]
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text to a file, and what is in `given` beside it, to `f.py.npz` for `f.py`, if there is anything.

        `PythonSource.load(path)` reads both.  `numpy.load` knows bfloat16 as two bytes: those arrays need
        `.view(ml_dtypes.bfloat16)` then.
        """
        arrays = {}
        for name, value in self.given.items():
            for key, array in value.items() if isinstance(value, dict) else [("", value)]:
                arrays[f"{name}/{key}" if key else name] = array
        write_with_arrays(path, self, arrays)

    def _repr_html_(self) -> str:
        return code_html(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PythonSource:
        """The text in a file that `save` wrote, with what was given; OSError if the file cannot be read."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        given: dict[str, Any] = {}
        for key, array in read_values(beside(path)).items() if os.path.isfile(beside(path)) else ():
            name, inside, part = key.partition("/")
            if inside:
                given.setdefault(name, {})[part] = array
            else:
                given[name] = array
        functions = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        return cls(text, functions[-1], given)
