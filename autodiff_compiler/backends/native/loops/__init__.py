"""Loops over elements: fused loops, loop nests, copies that go across."""
