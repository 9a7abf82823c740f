"""Compiled functions, gradients above all, as Python over NumPy that a person can read and run."""

from .program import python_of, python_of_module
from .python_source import PythonSource

__all__ = ["PythonSource", "python_of", "python_of_module"]
