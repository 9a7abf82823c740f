"""Programs found again on disk: never one that was made from something else.

A module that is imported anew stands for another process: its functions are new objects, and what they find is found
by the files.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.backends.native import backend, recipe
from autodiff_compiler.backends.native.jit import cache, machine
from autodiff_compiler.compiler import program
from autodiff_compiler.compiler.cache.fingerprint import Fingerprinter, NoFingerprintError
from autodiff_compiler.config import context
from tests import forked
from tests.compiler.world import HEAD, World

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code here: {machine.why_not()}")

PLAIN = "K = 2.0\ndef helper(x):\n    return ops.tanh(x) * K\ndef f(x):\n    return helper(x) + 1.0\n"
X = np.array([0.5, -1.5])


def numbers(found):
    return found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)


def first_call(world, text, x=X, name="f", **more):
    """The first call of a function of a new module, and what it took."""
    f = ms.jit(getattr(world.module(text), name))
    world.steps()
    found = numbers(f(Tensor(x), **more))
    return found, world.steps()


ALL = ["lower", "optimise", "written"]


# ------------------------------------------------------------------------------------------------ found again
def test_the_first_level_does_nothing_again(world):
    expected = np.tanh(X) * 2.0 + 1.0
    for steps in (ALL, [], []):
        found, done = first_call(world, PLAIN)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert done == steps


def test_derivatives_too(world):
    text = PLAIN + "g = ms.value_and_grad(lambda x: f(x).sum())\n"
    for steps in (ALL, []):
        g = ms.jit(world.module(text).g)
        world.steps()
        value, gradient = g(Tensor(X))
        assert world.steps() == steps
        np.testing.assert_allclose(value.item(), (np.tanh(X) * 2 + 1).sum(), rtol=1e-14)
        np.testing.assert_allclose(gradient.asnumpy(), 2 / np.cosh(X) ** 2, rtol=1e-14)


def test_the_second_level_needs_the_frontend_only(world):
    first, _ = first_call(world, PLAIN)
    found, done = first_call(world, PLAIN.replace("return helper", "return  helper") + "# another comment\n")
    assert done == ["lower"]
    np.testing.assert_array_equal(found, first)


def test_other_types_and_values_are_other_calls(world):
    text = "def f(x, n=1):\n    return x * n\n"
    first_call(world, text)
    for x, more in ((X.astype(np.float32), {}), (X[:1], {}), (X, {"n": 3})):
        found, done = first_call(world, text, x, **more)
        assert done
        np.testing.assert_array_equal(found, x * more.get("n", 1))


# ------------------------------------------------------------------------------------------------ something changed
CHANGES = {
    "the body of a helper": ("ops.tanh(x) * K", "ops.sin(x) * K", lambda x: np.sin(x) * 2 + 1),
    "a global number": ("K = 2.0", "K = 3.0", lambda x: np.tanh(x) * 3 + 1),
    "its type": ("K = 2.0", "K = True", lambda x: np.tanh(x) * 1.0 + 1),
    "its sign": ("K = 0.0", "K = -0.0", lambda x: np.tanh(x) * -0.0 + 1),
    "another function of that name": ("def f", "helper = lambda x: x\ndef f", lambda x: x + 1),
}


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_of_the_source(world, change):
    old, new, expected = CHANGES[change]
    text = PLAIN.replace("K = 2.0", old) if old.startswith("K") else PLAIN
    first_call(world, text)
    found, done = first_call(world, text.replace(old, new))
    assert "lower" in done
    np.testing.assert_allclose(found, expected(X), rtol=1e-14)


#: Modules whose functions differ in a way that the text of `f` does not show: set up in one way, and in another.
SETUPS = {
    "closure": "def made(c):\n    def f(x):\n        return x * c\n    return f\nf = made({})\n",
    "default": "D = {}\ndef f(x, c=D):\n    return x * c\n",
    "keyword default": "D = {}\ndef f(x, *, c=D):\n    return x * c\n",
    "list": "L = [1, {}]\ndef f(x):\n    return x * L[1]\n",
    "dict": "L = dict(a={})\ndef f(x):\n    return x * L['a']\n",
    "class attribute": "class C:\n    c = {}\ndef f(x):\n    return x * C.c\n",
    "attribute": "class C:\n    pass\nC = C()\nC.c = {}\ndef f(x):\n    return x * C.c\n",
    "attribute of a function": "def f(x):\n    return x * f.c\nf.c = {}\n",
    "array": "import numpy as np\nA = np.full(2, {})\ndef f(x):\n    return x * A\n",
    "static object": "class N(int):\n    pass\nS = N({})\ndef f(x):\n    return x * int(S)\n",
}


@pytest.mark.parametrize("setup", SETUPS)
def test_values_that_were_read(world, setup, monkeypatch):
    """The file is the same: the values come from elsewhere."""
    text = SETUPS[setup].format("ms.given")
    for value in (2, 3, 2, 3, 5):
        monkeypatch.setattr(ms, "given", value, raising=False)
        found, _ = first_call(world, text)
        np.testing.assert_array_equal(found, X * value)


def test_a_captured_tensor_is_read_anew(world, monkeypatch):
    for value in (2.0, 3.0):
        monkeypatch.setattr(ms, "given", value, raising=False)
        found, _ = first_call(world, "T = ms.Tensor(ms.given)\ndef f(x):\n    return x * T\n")
        np.testing.assert_allclose(found, X * value)


def test_a_name_that_hides_a_builtin(world, monkeypatch):
    text = "if ms.given:\n    globals()['len'] = lambda x: 7\ndef f(x):\n    return x * len((1, 2))\n"
    for given, factor in ((False, 2), (True, 7), (False, 2)):
        monkeypatch.setattr(ms, "given", given, raising=False)
        found, _ = first_call(world, text)
        np.testing.assert_array_equal(found, X * factor)


def test_which_objects_are_one(world, monkeypatch):
    text = """
        def one(x):
            return x
        a = one
        b = one if ms.given else (lambda fn: type(fn)(fn.__code__, fn.__globals__, 'one'))(one)
        def f(x):
            return a(b(x)) * (2 if a is b else 3)
    """
    for given, factor in ((True, 2), (False, 3), (True, 2)):
        monkeypatch.setattr(ms, "given", given, raising=False)
        found, _ = first_call(world, text)
        np.testing.assert_array_equal(found, X * factor)


def test_a_patched_function_of_the_package(world, monkeypatch):
    first_call(world, PLAIN)
    other = world.module("def tanh(x):\n    return x * 10.0\n", "other").tanh
    monkeypatch.setattr("autodiff_compiler.ops.tanh", other)
    found, _ = first_call(world, PLAIN)
    np.testing.assert_array_equal(found, X * 10.0 * 2.0 + 1.0)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("__version__", "0"),
        ("_sources", lambda: "others"),
        ("_versions", lambda: ("others",)),
        ("_sources", lambda: None),
    ],
)
def test_other_surroundings(world, monkeypatch, what, value):
    first_call(world, PLAIN)
    monkeypatch.setattr(recipe, what, value)
    assert "optimise" in first_call(world, PLAIN)[1]


def test_settings_count(world, monkeypatch):
    monkeypatch.delenv("AC_CALLPATH", raising=False)  # the suite may run with the plain one
    first_call(world, PLAIN)
    with machine.override("x86-64-v3"):
        assert "written" in first_call(world, PLAIN)[1]
    monkeypatch.setenv("AC_CALLPATH", "plain")
    assert "written" in first_call(world, PLAIN)[1]
    monkeypatch.delenv("AC_CALLPATH")
    context.set(optimize=0)
    try:
        assert "optimise" in first_call(world, PLAIN)[1]
    finally:
        context.set(optimize=2)
    assert first_call(world, PLAIN)[1] == []


@pytest.mark.parametrize("setting", [{"verify": True}, {"backend": "numpy"}])
def test_settings_that_look_at_the_steps(world, setting):
    first_call(world, PLAIN)
    before = {name: context.get(name) for name in setting}
    context.set(**setting)
    try:
        assert first_call(world, PLAIN)[1][:2] == ["lower", "optimise"]
    finally:
        context.set(**before)


# ------------------------------------------------------------------------------------------------ afterwards
def test_guards_of_what_was_found_again(world):
    first_call(world, PLAIN)
    module = world.module(PLAIN)
    f = ms.jit(module.f)
    world.steps()
    f(Tensor(X))
    assert world.steps() == []
    assert {g.what for g in f.guards()} >= {"global K", "global helper", "function f", "function helper"}
    module.K = 5.0
    np.testing.assert_allclose(numbers(f(Tensor(X))), np.tanh(X) * 5 + 1, rtol=1e-15)
    module.helper = lambda x: x
    np.testing.assert_array_equal(numbers(f(Tensor(X))), X + 1)


def test_what_is_shown_is_made_when_it_is_asked_for(world):
    artifact = ms.jit(world.module(PLAIN).f).lower(Tensor(X))
    shown = [artifact.ir("front"), artifact.ir("opt"), artifact.code()]
    again = ms.jit(world.module(PLAIN).f).lower(Tensor(X))
    assert [again.ir("front"), again.ir("opt"), again.code()] == shown
    assert "main:" in again.code("assembly")


def test_derivatives_of_calls(world):
    """A call on a tape needs the module, from which its derivative is made."""
    text = PLAIN + "compiled = ms.jit(f)\n"
    for _ in range(2):
        compiled = world.module(text).compiled
        compiled(Tensor(X))
        gradient = ms.grad(lambda x, f=compiled: f(x).sum())(Tensor(X))
        np.testing.assert_allclose(gradient.asnumpy(), 2 / np.cosh(X) ** 2, rtol=1e-14)


def test_parameters_are_those_of_now(world, monkeypatch):
    text = """
        class Net(ms.nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = ms.Parameter(ms.Tensor([1.0, ms.given]), name="w")
            def construct(self, x):
                y = x * self.w
                self.w += x.astype(ms.float32)
                return y
        net = Net()
        def f(x):
            return net(x)
    """
    for given in (2.0, 3.0):
        monkeypatch.setattr(ms, "given", given, raising=False)
        module = world.module(text)
        f = ms.jit(module.f)
        w = np.array([1.0, given])
        for _ in range(3):
            np.testing.assert_allclose(numbers(f(Tensor(X))), X * w, rtol=1e-6)
            w = w + X
            np.testing.assert_allclose(module.net.w.asnumpy(), w, rtol=1e-6)


def test_warnings_are_given_each_time(world):
    text = "def f(x):\n    ms.ops.tanh(x)\n    return ms.ops.masked_fill(x, x > 0, float('nan'))\n"
    found = [first_call(world, text)[0] for _ in range(2)]
    np.testing.assert_array_equal(found[0], found[1])


# ------------------------------------------------------------------------------------------------ the files
@pytest.mark.parametrize("kind", ["o", "r"])
@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:20], lambda d: d[:-3] + b"xyz", lambda d: b"", lambda d: d * 2]
)
def test_damaged_files_are_as_if_they_were_not_there(world, kind, damage):
    expected, _ = first_call(world, PLAIN)
    for file in world.files(kind):
        file.write_bytes(damage(file.read_bytes()))
    found, done = first_call(world, PLAIN)
    assert "written" in done
    np.testing.assert_array_equal(found, expected)
    assert first_call(world, PLAIN)[1] == []


def test_files_of_another_kind_or_name(world):
    expected, _ = first_call(world, PLAIN)
    one, two = world.files("r")
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    np.testing.assert_array_equal(first_call(world, PLAIN)[0], expected)


def test_a_record_that_is_no_json(world):
    cache.keep_record("0" * 64, {"a": [1]})
    assert cache.record("0" * 64, {"a": [int]}) == {"a": [1]}
    assert cache.record("0" * 64, {"a": [str]}) is None
    for content in (b"\xff{", b"[" * 100_000, b"9" * 10_000):
        cache._keep("0" * 64, "r", b"", content)
        assert cache.record("0" * 64, object) is None


@pytest.mark.parametrize("kind", ["o", "r"])
def test_a_part_is_gone(world, kind):
    expected, _ = first_call(world, PLAIN)
    for file in world.files(kind):
        file.unlink()
        np.testing.assert_array_equal(first_call(world, PLAIN)[0], expected)


def test_no_cache(world, monkeypatch):
    monkeypatch.setenv("AC_CACHE_DIR", "")
    for _ in range(2):
        assert first_call(world, PLAIN)[1] == ALL
    assert not world.objects.exists()


def test_a_folder_that_cannot_be_used(world):
    expected, _ = first_call(world, PLAIN)
    world.objects.chmod(0o777)
    found, done = first_call(world, PLAIN)
    assert done == ALL
    np.testing.assert_array_equal(found, expected)


def test_a_full_disk(world, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_write", full)
    for _ in range(2):
        found, done = first_call(world, PLAIN)
        assert done == ALL
        np.testing.assert_allclose(found, np.tanh(X) * 2 + 1, rtol=1e-15)


_PROCESS = """
import sys
sys.path.insert(0, {folder!r})
import autodiff_compiler as ms
from autodiff_compiler.backends.native import recipe
recipe._sources = lambda: "sources"
ms.set_context(backend="native")
import shared
print([ms.jit(f)(ms.Tensor([0.5, -1.5])).tolist() for f in shared.functions])
"""


def test_two_processes_at_once(world):
    functions = "functions = [(lambda k: lambda x: ops.sin(x) * k)(k) for k in range(6)]\n"
    (world.folder / "shared.py").write_text(HEAD + functions)
    command = [sys.executable, "-c", _PROCESS.format(folder=str(world.folder))]
    root = Path(__file__).parents[2]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(root)})
        for _ in range(2)
    ]
    for process in started:
        found = json.loads(process.communicate(timeout=120)[0])
        np.testing.assert_allclose(found, [np.sin(X) * k for k in range(6)], rtol=1e-6)
    assert not [name for name in os.listdir(world.objects) if not name.endswith((".o", ".r"))]


# ------------------------------------------------------------------------------------------------ keys
def test_sources_that_are_not_what_runs(tmp_path, monkeypatch):
    sources = recipe._sources.__wrapped__
    package = tmp_path / "package"
    (package / "part").mkdir(parents=True)
    monkeypatch.setattr(recipe, "_PACKAGE", str(package))
    assert sources() is None  # an archive
    for name in ("a.py", "part/b.py"):
        (package / name).write_text("x = 1")
        os.utime(package / name, (1, 1))
    first = sources()
    assert first == sources()
    (package / "part/b.py").write_text("x = 2")
    assert sources() is None  # it is newer than this process
    os.utime(package / "part/b.py", (1, 1))
    assert sources() not in (None, first)


@pytest.mark.parametrize(
    "x",
    [object(), {1}, np.ones(2), os.environ, os.getenv, os, sys, print, id, hash, input, type, 1j, Tensor([1.0]), World,
     ms.get_seed, ms.get_context, len.__call__, "".join, itertools.count()],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_objects_that_have_no_description(x):
    for held in (x, [x], {"a": x}):
        with pytest.raises(NoFingerprintError):
            Fingerprinter().text(held)


def test_descriptions_differ():
    values = [None, True, 1, 1.0, -1.0, 0.0, -0.0, "1", b"1", (1,), [1], {1: 1}, ms.float32, ms.float64, ms.ops.sin,
              ms.ops.cos, ms.ops, ms.mint, len, max, int, float, np.float32, (1, (2,)), ((1,), 2), (1, 2)]  # fmt: skip
    texts = [Fingerprinter().text(x) for x in values]
    assert len(set(texts)) == len(values)
    a, b = [1], [1]
    assert Fingerprinter().text([a, a]) != Fingerprinter().text([a, b])


# ------------------------------------------------------------------------------------------------ other threads
#: What another thread changes: the module, and what has the factor then.
MEANWHILE = {
    "list": ("L = [2.0]\ndef f(x):\n    return x * L[0]\n", lambda m: m.L.__setitem__(0, 3.0)),
    "nested": ("L = [1, dict(a=2.0)]\ndef f(x):\n    return x * L[1]['a']\n", lambda m: m.L[1].update(a=3.0)),
    "closure": (
        "def made(c):\n    def f(x):\n        return x * c\n    return f\nf = made(2.0)\n",
        lambda m: setattr(m.f.__closure__[0], "cell_contents", 3.0),
    ),
    "name": ("K = 2.0\ndef f(x):\n    return x * K\n", lambda m: setattr(m, "K", 3.0)),
    "code of a helper": (
        "def h(x):\n    return x * 2.0\ndef other(x):\n    return x * 3.0\ndef f(x):\n    return h(x)\n",
        lambda m: setattr(m.h, "__code__", m.other.__code__),
    ),
    "default of a helper": (
        "def h(x, c=2.0):\n    return x * c\ndef f(x):\n    return h(x)\n",
        lambda m: setattr(m.h, "__defaults__", (3.0,)),
    ),
    "keyword default of a helper": (
        "def h(x, *, c=2.0):\n    return x * c\ndef f(x):\n    return h(x)\n",
        lambda m: setattr(m.h, "__kwdefaults__", dict(c=3.0)),
    ),
    "own default": ("def f(x, c=2.0):\n    return x * c\n", lambda m: setattr(m.f, "__defaults__", (3.0,))),
}


@pytest.mark.parametrize("case", MEANWHILE)
@pytest.mark.parametrize("when", ["optimise", "written"])
def test_a_change_while_compiling_poisons_no_note(world, monkeypatch, case, when):
    """As another thread would make it: after the frontend, and before the note is kept."""
    text, change = MEANWHILE[case]
    m = world.module(text)
    place = {"optimise": program, "written": backend}[when]
    before = getattr(place, when)

    def changing(*args, **kwargs):
        change(m)
        return before(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(place, when, changing)
        np.testing.assert_array_equal(numbers(ms.jit(m.f)(Tensor(X))), X * 2)
    assert "optimise" in world.steps()
    for setup, factor in ((change, 3), (None, 2), (change, 3)):
        m = world.module(text)
        if setup:
            setup(m)
        np.testing.assert_array_equal(numbers(ms.jit(m.f)(Tensor(X))), X * factor)


@pytest.mark.some(3)
@pytest.mark.parametrize("case", MEANWHILE)
@pytest.mark.parametrize("nth", range(12))
def test_a_change_while_a_note_is_taken(world, monkeypatch, case, nth):
    """At each text that is made then: what is taken is what held before or what holds now, and is guarded as that."""
    text, change = MEANWHILE[case]
    for setup in (None, change):  # notes of both
        m = world.module(text)
        if setup:
            setup(m)
        ms.jit(m.f)(Tensor(X))
    m = world.module(text)
    texts, before = itertools.count(), Fingerprinter.text

    def changing(self, x):
        found = before(self, x)
        if next(texts) == nth:
            change(m)
        return found

    f = ms.jit(m.f)
    with monkeypatch.context() as patched:
        patched.setattr(Fingerprinter, "text", changing)
        f(Tensor(X))
    change(m)
    for _ in range(3):
        np.testing.assert_array_equal(numbers(f(Tensor(X))), X * 3)


# ------------------------------------------------------------------------------------------------ warnings
CUT = """
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, ops

ms.set_context(backend="native")
w = Parameter(Tensor([2.0]), name="w")

def stopped(x):
    return (ops.stop_gradient(x) * 2).sum()

def weighed(x):
    return (ops.stop_gradient(x) * w).sum()

first, second = ms.jit(ms.grad(stopped)), ms.jit(ms.grad(weighed))
for _ in range(2):
    assert first(Tensor([1.0])).tolist() == [0.0]
    assert second(Tensor([1.0])).tolist() == [0.0]
"""


def test_every_process_hears_that_a_gradient_is_zero(tmp_path):
    """Once for a line, by the first level (`stopped`) and by the second (`weighed`); by a file's own line."""

    def heard(name, text):
        file = tmp_path / name
        file.write_text(text)
        environment = {**os.environ, "AC_CACHE_DIR": str(tmp_path / "cache")}
        ran = forked.run(file, env=environment)
        assert ran.returncode == 0, ran.stderr
        return [line.split(": ")[0] for line in ran.stderr.splitlines() if "[AC2003]" in line]

    line = CUT[: CUT.index("    assert first(")].count("\n") + 1
    for _ in range(3):
        assert heard("one.py", CUT) == [f"{tmp_path / 'one.py'}:{n}" for n in (line, line + 1)]
    for _ in range(2):
        assert heard("other.py", "\n\n" + CUT) == [f"{tmp_path / 'other.py'}:{n}" for n in (line + 2, line + 3)]
