"""The first step of calls of objects with short ways, in machine code: it is what the function says it is."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import pytest

from autodiff_compiler.backends.native.callpath import vectorcall
from tests import forked
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE

pytestmark = NEEDS_MACHINE_CODE


class Called:
    """An object whose `__call__` says whether it ran, or takes the short way."""

    _fast = None

    def __call__(self, *args, **kwargs):
        """What every call does."""
        fast = self._fast
        if fast is not None:
            return "in Python", fast(*args, **kwargs)
        return "whole", args, kwargs


@pytest.fixture(autouse=True)
def hastened():
    assert vectorcall.install_vectorcall(Called.__call__)


def given(*args, **kwargs):
    return args, kwargs


def test_calls_without_a_short_way_run_the_function():
    assert Called()() == ("whole", (), {})
    assert Called()(1, 2, a=3) == ("whole", (1, 2), {"a": 3})


def test_calls_with_a_short_way_take_it():
    one = Called()
    one._fast = given
    assert one() == ((), {})
    assert one(1, 2) == ((1, 2), {})
    assert one(1, a=2) == ((1,), {"a": 2})
    assert one(*range(50), **{"a": 1, "b": 2}) == (tuple(range(50)), {"a": 1, "b": 2})
    assert list(map(one, "ab")) == [(("a",), {}), (("b",), {})]
    one._fast = None
    assert one(1) == ("whole", (1,), {})


def test_what_comes_without_an_object_is_left_to_the_function():
    with pytest.raises(TypeError, match="self"):
        Called.__call__()
    with pytest.raises(AttributeError, match="_fast"):
        Called.__call__(5)


def test_an_object_that_runs_code_to_find_its_attributes():
    class Asked(Called):
        def __getattribute__(self, name):
            if name == "_fast":
                raise RuntimeError("asked")
            return super().__getattribute__(name)

    with pytest.raises(RuntimeError, match="asked"):
        Asked()()


def test_exceptions_leave_without_the_frames_of_this_package():
    from autodiff_compiler.transforms.jit import jit

    def fails(x):
        raise KeyError(x)

    one = Called()
    one._fast = fails
    with pytest.raises(KeyError) as caught:
        one(1)
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][-1] == "fails"
    one._fast = jit  # which fails within the package
    with pytest.raises(TypeError) as caught:
        one(1)
    package = str(Path(vectorcall.__file__).parents[3])
    assert not [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename.startswith(package)]
    one._fast = sys.exit
    with pytest.raises(SystemExit):
        one(3)


def test_other_code_counts():
    class Other(Called):
        def __call__(self):
            return 1

    one = Other()
    assert vectorcall.install_vectorcall(Other.__call__)
    one._fast = given
    assert one() == ((), {})
    Other.__call__.__code__ = (lambda self: 2).__code__
    assert one() == 2


def test_where_the_place_is_not_known_nothing_is_done(monkeypatch):
    monkeypatch.setattr(vectorcall, "_place", lambda: None)

    def call(self):
        return self._fast

    assert not vectorcall.install_vectorcall(call)


AT_THE_END = """
import atexit, builtins, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.backends.native.short_calls import A, SHORT, Net, warm
import autodiff_compiler as ms

ms.set_context(backend="native", mode=ms.GRAPH_MODE)
net = Net()
warm(net, A)
assert (net._fast is not None) is bool(SHORT)


class Last:
    def __init__(self):
        self.net, self.a, self.kinds = net, A, (Exception, TypeError)

    def __del__(self):
        for args in ((self.a,), (self.a, self.a)):
            try:
                self.net(*args)
            except self.kinds:
                pass


held, sys.held, builtins.held = Last(), Last(), Last()
atexit.register(lambda: print(net(A).tolist()))
"""


def test_calls_while_the_process_ends(tmp_path):
    file = tmp_path / "at_the_end.py"
    file.write_text(AT_THE_END.format(root=str(Path(__file__).parents[3])), "utf-8")
    done = forked.run(file)
    assert (done.returncode, done.stdout.strip()) == (0, "[2.0, 8.0, 18.0]"), done.stderr
