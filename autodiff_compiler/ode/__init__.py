"""Solutions of ordinary differential equations, with derivatives of every order."""

from .odeint import odeint
from .solve import Trajectory, at, solve

__all__ = ["Trajectory", "at", "odeint", "solve"]
