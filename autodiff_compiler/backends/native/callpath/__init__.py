"""How calls of Python get into compiled code, and all that reads the layouts of CPython's and NumPy's objects."""
