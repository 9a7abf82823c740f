"""Ops with code of their own, and those that Python runs."""
