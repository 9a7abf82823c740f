"""Loops over elements: fused loops, loop nests, transposed copies, non-temporal stores."""
