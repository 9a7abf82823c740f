"""Where a function's text comes from: files of every kind, cells, archives, prompts; what cannot be found says so."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import linecache
import os
import sys
import zipfile

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import SourceUnavailableError

X = Tensor([1.0, 2.0])


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = {
    "windows": b"def f(x):\r\n    if x.sum() > 0:\r\n        x = x * 2\r\n    return x\r\n",
    "old_mac": b"def f(x):\r    y = x * 2\r    return y\r",
    "tabs": b"def f(x):\n\tif x.sum() > 0:\n\t\tx = x * 2\n\treturn x\n",
    "form_feed": b"\x0c\ndef g(x):\n    return x\n\x0c\ndef f(x):\n    return g(x) * 2\n",
    "continued": b"def f(x): \\\n    return x \\\n        * 2\n",
    "one_line": b"a = 1; f = lambda x: x * 2; g = lambda x: x * 3\n",
    "mark": b"\xef\xbb\xbfdef f(x):\n    return x * 2\n",
    "latin": b"# -*- coding: latin-1 -*-\ndef f(x):\n    gr\xf6\xdfe = x\n    return gr\xf6\xdfe * 2  # \xe4\n",
    "unicode": "def f(x):\n    größe = x; return größe * 2\n".encode(),
    "no_newline": b"def f(x):\n    return x * 2",
    "in_class": b"class A:\n    f = staticmethod(lambda x: x * 2)\nf = A.f\n",
    "in_function": b"def make():\n class A:\n  def m(self, x):\n   return x * 2\n return A().m\nf = make()\n",
    "default": b"def g(h=lambda x: x * 2, k=lambda x: x * 3):\n    return h\nf = g()\n",
    "listed": b"fs = [lambda x: x * 3, lambda x: x * 2,\n      lambda x: x * 5]\nf = fs[1]\n",
    "many_lines": b"f = (lambda x:\n     x\n     * 2)\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    path = tmp_path / f"file_{name}.py"
    path.write_bytes(FILES[name])
    f = imported(path).f
    assert f(X).tolist() == [2.0, 4.0]
    assert ms.jit(f)(X).tolist() == [2.0, 4.0]


def test_an_archive(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("zipped_functions.py", "def f(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(str(archive))
    module = importlib.import_module("zipped_functions")
    try:
        assert ms.jit(module.f)(X).tolist() == [2.0, 4.0]
    finally:
        del sys.modules["zipped_functions"]


def test_notebook_cells():
    for number in (1, 2):  # a cell run again defines another function under the same name
        name = f"<ipython-input-{number}-0123456789ab>"
        text = f"def f(x):\n    return x * {number + 1}\n"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        space = {}
        exec(compile(text, name, "exec"), space)
        assert ms.jit(space["f"])(X).tolist() == [number + 1.0, 2.0 * (number + 1)]


def test_an_edited_file_is_noticed_and_reloading_helps(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x * 2\n")
    module = imported(path)
    path.write_text("def f(x):\n    return x * 3 + 1\n")
    os.utime(path, (1, 1))
    with pytest.raises(SourceUnavailableError, match="changed since") as caught:
        ms.jit(module.f)(X)
    assert caught.value.code == "AC1002"
    linecache.checkcache(str(path))
    assert ms.jit(imported(path).f)(X).tolist() == [4.0, 7.0]


def test_a_function_already_compiled_survives_its_file(tmp_path):
    path = tmp_path / "deleted.py"
    path.write_text("def f(x, n):\n    return x * n\ndef g(x):\n    return x\n")
    module = imported(path)
    f = ms.jit(module.f)
    assert f(X, 2).tolist() == [2.0, 4.0]
    path.unlink()
    linecache.checkcache(str(path))
    assert f(X, 3).tolist() == [3.0, 6.0]  # another key compiles from the tree that was read
    with pytest.raises(SourceUnavailableError, match="cannot be read") as caught:
        ms.jit(module.g)(X)
    assert caught.value.code == "AC1001"


def test_code_made_by_exec():
    space = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(SourceUnavailableError, match="made by `exec`") as caught:
        ms.jit(space["f"])(X)
    assert caught.value.code == "AC1001"


def doubled(fn):
    @functools.wraps(fn)
    def around(*args):
        return fn(*args) * 2

    return around


def registered(fn):
    registered.seen = fn
    return fn


@registered
@doubled
@doubled
def decorated(x):
    return x + 1


def test_decorated_and_wrapped_functions():
    assert ms.jit(decorated)(X).tolist() == decorated(X).tolist() == [8.0, 12.0]
    assert ms.jit(registered.seen)(X).tolist() == [8.0, 12.0]
    assert ms.grad(ms.jit(decorated))(X).tolist() == [4.0, 4.0]


class Scaled:
    k = 2.0

    def method(self, x):
        return x * self.k

    @classmethod
    def of_class(cls, x):
        return x * cls.k

    @staticmethod
    def of_none(x):
        return x * 2.0

    @ms.jit
    def compiled(self, x):
        return x * self.k

    def __call__(self, x):
        return x * self.k


CALLABLES = [Scaled().method, Scaled.of_class, Scaled.of_none, Scaled(), functools.partial(Scaled().method)]


@pytest.mark.parametrize("fn", CALLABLES)
def test_methods_and_callable_objects(fn):
    assert ms.jit(fn)(X).tolist() == [2.0, 4.0]
    assert Scaled().compiled(X).tolist() == [2.0, 4.0]
