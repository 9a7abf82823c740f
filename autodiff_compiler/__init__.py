"""Graph-mode automatic differentiation for Python."""
