"""How a call gets from Python into compiled code: everything that reads the layouts of CPython's and NumPy's objects."""
