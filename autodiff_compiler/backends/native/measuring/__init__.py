"""Measurement: the work of a program, the times of its parts, and the limits of this machine."""
