"""The two call paths do the same, and a layout that is not as expected leaves its work to Python."""

from __future__ import annotations

import dataclasses
import operator
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import cli
from autodiff_compiler.backends.native.callpath import abi, choose, dicts, instances, memory_guards, objects, vectorcall
from autodiff_compiler.backends.native.callpath.choose import call_path, unknown_layouts, why_plain
from autodiff_compiler.backends.native.callpath.plain import PlainEntry
from tests.backends.native.short_calls import NEEDS_MACHINE_CODE, A, Counting, long, native, of, warm  # noqa: F401

pytestmark = NEEDS_MACHINE_CODE
ROOT = Path(__file__).parents[3]

#: Calls of all kinds while what they read changes; prints what they give; the log says what is compiled anew.
PROGRAM = """
import sys
sys.path.insert(0, {root!r})
import numpy as np
import autodiff_compiler as ms
import first  # what is done before
from autodiff_compiler import Parameter, Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)
A = Tensor(np.array([1, 2, 3], np.float32))
scale, table, box = 2.0, {{"a": 3.0}}, [4.0]


class Settings:
    factor = 5.0


settings, weights = Settings(), np.array([1, 0, 2], np.float32)


def reads(x):
    return x * scale * table["a"] * box[0] * settings.factor + Tensor(weights)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([1, 2, 3], np.float32), name="w")
        self.total = Parameter(np.zeros(3, np.float32), name="total")

    def construct(self, x):
        ops.assign_add(self.total, x)
        return (self.w * x).sum() + self.total.sum()


class Method:
    def __init__(self, k):
        self.k = k

    @ms.jit
    def __call__(self, x):
        return x * self.k


def show(*found):
    print(*[f.asnumpy().tolist() if isinstance(f, Tensor) else f for f in found])


f, g, net = ms.jit(reads), ms.value_and_grad(lambda x: (x * x * settings.factor).sum()), Net()
changes = [
    lambda: None,
    lambda: globals().update(scale=2.5),
    lambda: table.update(a=1.0),
    lambda: table.update(b=1.0),
    lambda: box.__setitem__(0, 0.5),
    lambda: setattr(settings, "factor", 6.0),
    lambda: setattr(Settings, "factor", 7.0),
    lambda: delattr(settings, "factor"),
    lambda: weights.__setitem__(1, 9),
    lambda: net.w.set_data(Tensor(np.array([3, 2, 1], np.float32))),
    lambda: globals().update(settings=Settings()),
]
for change in changes:
    change()
    for _ in range(6):
        show(f(A), *g(A), net(A), net.total)
one, other = Method(2.0), Method(3.0)
for _ in range(6):
    show(one(A), other(A))
several = ms.jit(lambda x, y: {{"sum": x + y, "list": [x, (y * 2, None)], "n": 3}})
for _ in range(6):
    found = several(A, A)
    show(found["sum"], *found["list"][:1], *found["list"][1], found["n"])
picked = ms.jit(lambda x, i: x[i])
for i in [0, 1, 2, 0, 7, 1]:
    try:
        show(picked(A, Tensor(np.array(i))))
    except IndexError as error:
        print("IndexError", error)
for wrong in [(), (A, A), (A[:2],), ("no",), (np.ones(3, np.float32),), (Tensor(np.ones(3, np.int32)),)]:
    try:
        show(f(*wrong))
    except Exception as error:
        print(type(error).__name__, error)
doubled = ms.jit(lambda x: x + x)
large = Tensor(np.arange(1 << 20, dtype=np.float32))
for _ in range(6):
    show(doubled(large).sum(), doubled(large[::2]).sum(), doubled(A))
A.asnumpy()
with_grad = ms.Tensor(np.ones(3, np.float32))
show(doubled(with_grad))
"""


def printed(tmp_path, first="", **variables):
    """What the program prints in a process with these variables, and what it logs."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(root=str(ROOT)), "utf-8")
    (tmp_path / "first.py").write_text(first, "utf-8")
    environ = {**os.environ, "AC_CACHE_DIR": "", "AC_LOG": "recompiles", **variables}
    environ = {name: text for name, text in environ.items() if name != "AC_CALLPATH" or "AC_CALLPATH" in variables}
    done = subprocess.run([sys.executable, str(file)], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


#: What fails whenever an object is read by its layout.
FORBID = """
from autodiff_compiler.backends.native.callpath import abi, dicts, instances, memory_guards
def forbidden(address):
    raise AssertionError("an object is read by its layout")
for module in (abi, dicts, instances, memory_guards):
    for name in ("word", "byte", "uint32", "int32"):
        if hasattr(module, name):
            setattr(module, name, forbidden)
"""


def test_both_paths_give_the_same_and_the_plain_one_reads_no_layout(tmp_path):
    machine = printed(tmp_path)
    plain = printed(tmp_path, FORBID, AC_CALLPATH="plain")
    assert machine == plain
    results, log = machine
    assert len(results) > 90
    assert len(log) > 5


@pytest.mark.skipif(why_plain() is not None, reason="the plain call path was asked for")
def test_machine_code_is_what_is_forbidden(tmp_path):
    with pytest.raises(AssertionError, match="an object is read by its layout"):
        printed(tmp_path, FORBID)


# ------------------------------------------------------------------------------------------------ self-tests
@pytest.fixture
def machine_path(monkeypatch):
    """The path in machine code, whatever was asked for."""
    monkeypatch.delenv("AC_CALLPATH", raising=False)
    assert call_path().name == "machine code"


def calls_are_right():
    """Calls of a function, and of a Cell with a state, while what they read changes; all in Python."""
    k = [2.0]
    f, net = ms.jit(lambda x: x * k[0]), Counting()
    warm(f, A)
    assert long(f, A).tolist() == [2, 4, 6]
    k[0] = 5.0
    assert long(f, A).tolist() == [5, 10, 15]
    assert [net(A).tolist() for _ in range(6)][-1] == [6, 12, 18]
    with pytest.raises(IndexError):
        ms.jit(lambda x, i: x[i])(A, of(7, dtype=np.int64))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(abi.Layout)])
def test_a_layout_that_is_not_as_expected_falls_back(machine_path, monkeypatch, field):
    real = abi.layout()
    wrong = dataclasses.replace(real, **{field: getattr(real, field) + 8})
    monkeypatch.setattr(abi, "layout", lambda: wrong)
    monkeypatch.setattr(abi, "why_not", abi.why_not.__wrapped__)
    assert "laid out in another way" in why_plain()
    assert call_path().name == "plain"
    calls_are_right()


@pytest.mark.parametrize("kind", [float, bytes])
def test_the_content_of_floats_and_bytes_is_checked(machine_path, monkeypatch, kind):
    module, name = {float: ("struct", "pack"), bytes: ("ctypes", "string_at")}[kind]
    another = types.SimpleNamespace(**vars(getattr(abi, module)) | {name: lambda *given: b"another"})
    monkeypatch.setattr(abi, module, another)  # other threads of this process use the module itself
    assert "laid out in another way" in abi.why_not.__wrapped__()


def test_tensors_whose_slots_are_not_found_fall_back(machine_path, monkeypatch):
    def lost(cls, name):
        raise ValueError(f"the slot {name} of {cls.__name__} is not found")

    monkeypatch.setattr(objects, "slot_offset", lost)
    monkeypatch.setattr(objects, "tensor_slots", objects.tensor_slots.__wrapped__)
    monkeypatch.setattr(objects, "why_not", objects.why_not.__wrapped__)
    assert why_plain() == "Tensors are laid out in another way (the slot _data of Tensor is not found)"
    calls_are_right()


@pytest.mark.parametrize(
    ("module", "name", "what"),
    [
        (dicts, "dicts_are_known", "dicts"),
        (instances, "attributes_are_known", "attributes of objects"),
        (instances, "slots_are_known", "slots"),
        (memory_guards, "lists_are_known", "lists"),
        (memory_guards, "fields_are_known", "fields of functions, classes and cells"),
        (memory_guards, "locks_are_known", "locks"),
        (vectorcall, "works", "vectorcall of functions"),
    ],
)
def test_what_only_guards_read_is_left_to_their_predicates(machine_path, monkeypatch, module, name, what):
    assert unknown_layouts() == []
    for place in (module, memory_guards, instances):
        if hasattr(place, name):
            monkeypatch.setattr(place, name, lambda: False)
    monkeypatch.setitem(choose._OPTIONAL, what, lambda: False)
    assert unknown_layouts() == [what]
    assert call_path().name == "machine code"

    class Box:
        factor = 2.0

    box, table, row = Box(), {"a": 3.0}, [4.0]
    f = ms.jit(lambda x: x * box.factor * table["a"] * row[0])
    for factor, a, first in [(2.0, 3.0, 4.0), (5.0, 3.0, 4.0), (5.0, 1.0, 4.0), (5.0, 1.0, 2.0)]:
        box.factor, table["a"], row[0] = factor, a, first
        for _ in range(6):
            assert f(A).tolist() == [n * factor * a * first for n in (1, 2, 3)]


# ------------------------------------------------------------------------------------------------ the setting
def test_the_plain_path_says_what_it_cannot(monkeypatch):
    monkeypatch.setenv("AC_CALLPATH", "plain")
    path = call_path()
    assert (why_plain(), path.name) == ("AC_CALLPATH=plain", "plain")
    assert path.place_read(operator.attrgetter("__code__"), long) is None
    assert path.names_absent({}.keys().isdisjoint) is path.method(A, "sum") is path.absence(A, "x") is None
    assert path.array(np.zeros(2), b"") is path.element_places([1]) is None
    assert path.unlocked_words([]) == []
    assert not path.install_vectorcall(long)
    calls_are_right()


def test_it_is_said_by_env(monkeypatch, capsys):
    monkeypatch.delenv("AC_CALLPATH", raising=False)
    assert cli.main(["env"]) == 0
    assert "calls: checked in machine code\n" in capsys.readouterr().out
    monkeypatch.setenv("AC_CALLPATH", "plain")
    assert cli.main(["env"]) == 0
    told = capsys.readouterr().out
    assert "calls: checked in Python: AC_CALLPATH=plain\n" in told
    assert "AC_CALLPATH: plain" in told


def test_explain_says_it(monkeypatch):
    monkeypatch.setenv("AC_CALLPATH", "plain")
    f = ms.jit(lambda x: x * 2)
    warm(f, A)
    assert "calls take the plain call path" in str(f.lower(A).explain())


def test_programs_of_the_plain_path_are_entered_by_ctypes(monkeypatch):
    monkeypatch.setenv("AC_CALLPATH", "plain")
    seen = []
    real = PlainEntry.bind
    monkeypatch.setattr(PlainEntry, "bind", lambda self, *a, **k: seen.append(self) or real(self, *a, **k))
    assert ms.jit(lambda x: x * 3 + 17)(A).tolist() == [20, 23, 26]
    assert seen
