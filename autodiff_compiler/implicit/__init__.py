"""Solutions of equations, with derivatives of every order by the implicit function theorem."""

from .flat import Solution
from .linear import linear_solve

__all__ = ["Solution", "linear_solve"]
