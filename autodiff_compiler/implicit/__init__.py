"""Solutions of equations, with derivatives of every order by the implicit function theorem."""

from .equations import argmin, fixed_point, root
from .flat import Solution
from .linear import linear_solve

__all__ = ["Solution", "argmin", "fixed_point", "linear_solve", "root"]
