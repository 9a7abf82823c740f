"""The call path from Python into compiled code, and all that reads layouts of CPython's and NumPy's objects."""
