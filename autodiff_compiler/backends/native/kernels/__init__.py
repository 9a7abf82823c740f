"""Kernels: ops with code of their own outside fused loops, and ops that Python runs."""
