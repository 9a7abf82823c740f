"""Solutions of ordinary differential equations and integrals, with derivatives of every order."""

from .odeint import odeint
from .quad import Integral, quad
from .solve import Trajectory, at, solve

__all__ = ["Integral", "Trajectory", "at", "odeint", "quad", "solve"]
