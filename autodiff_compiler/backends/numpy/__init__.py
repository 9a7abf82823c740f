"""The NumPy backend: a module becomes readable Python over NumPy, which runs everywhere."""

from .backend import NumpyBackend, NumpyProgram

__all__ = ["NumpyBackend", "NumpyProgram"]
