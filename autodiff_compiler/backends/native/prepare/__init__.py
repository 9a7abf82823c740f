"""Rewrites of a module before it is lowered: inlined calls, decomposed ops."""
