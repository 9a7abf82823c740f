"""A folder of sources and one of what is kept on disk, apart from all others."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import textwrap

from autodiff_compiler.backends.native import backend
from autodiff_compiler.compiler import program, specialised

HEAD = "import autodiff_compiler as ms\nfrom autodiff_compiler import ops\n"


class World:
    """A folder of sources and one of what is kept, and what had to be done since it was asked last."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.objects = folder, folder / "cache" / "objects"
        self._numbers = itertools.count()
        self.done: list[str] = []
        for module, name in ((specialised, "lower"), (program, "optimise"), (backend, "written")):
            monkeypatch.setattr(module, name, self._noting(name, getattr(module, name)))

    def _noting(self, name, fn):
        def noted(*args, **kwargs):
            self.done.append(name)
            return fn(*args, **kwargs)

        return noted

    def module(self, text, name="mine"):
        """A module of that text, imported anew."""
        path = self.folder / f"{name}.py"
        path.write_text(HEAD + textwrap.dedent(text))
        os.utime(path, ns=(0, next(self._numbers) * 10**9))  # or Python believes in the code it has in its cache
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def steps(self):
        """What was done since the last time: nothing for what the first level has, `lower` for the second."""
        done, self.done[:] = list(self.done), []
        return done

    def files(self, kind):
        return sorted(self.objects.glob(f"*.{kind}"))
