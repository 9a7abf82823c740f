"""Solutions of ordinary differential equations, with derivatives of every order."""

from .odeint import odeint

__all__ = ["odeint"]
