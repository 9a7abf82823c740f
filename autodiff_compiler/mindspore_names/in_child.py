"""Run by its path in processes that `multiprocessing` starts, before the program's main module; see children.py."""

import importlib
import importlib.util
import os
import sys

if __name__ == "<run_path>":  # nobody only imports it
    if importlib.util.find_spec("autodiff_compiler") is None:
        # The search path of the parent comes later, and replaces this one.
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    importlib.import_module("autodiff_compiler.mindspore_names.children").begin()
