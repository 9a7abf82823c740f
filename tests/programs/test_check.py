"""`check`: what it lists of a file without running it, where, and what it says nothing about."""

from __future__ import annotations

import json
import textwrap

import pytest

import autodiff_compiler as ms
from autodiff_compiler.cli import main
from autodiff_compiler.inspection.check import check_file
from tests import forked
from tests.programs.compare import define

HEAD = """
import collections
import datetime
import math
import os
import pathlib
import random
import threading
import time
from time import time as now
import numpy as np
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, constexpr, jit, mutable, nn, ops, py_call

history, settings, seen = [], {}, set()
counter = 0

def scaled(x, factor, shift=0.0):
    return x * factor + shift

class Thing:
    pass

class Block(nn.Cell):
    def construct(self, x):
        return x

class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.part = nn.Dense(3, 3)
    def construct(self, x):
        return self.part(x)

drawn, older, dice = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
table, queue, counts = np.zeros(3), collections.deque(), collections.Counter()
weight = Parameter(Tensor([1.0, 2.0, 3.0]), name="weight")
lock = threading.Lock()
thing = Thing()
"""


@pytest.fixture
def listed(tmp_path):
    """The code (or class) and the marked text of all that is listed for a program."""

    def check(text, **options):
        path = tmp_path / "model.py"
        path.write_text(HEAD + textwrap.dedent(text), "utf-8")
        lines = path.read_text("utf-8").splitlines()
        errors = check_file(str(path), **options).errors
        return [
            (e.code or type(e).__name__, lines[e.loc.line - 1][e.loc.col : e.loc.end_col])
            for e in errors
            if e.hint or pytest.fail(f"no advice: {e}")
        ]

    return check


REFUSED = {
    "file": ("open('f')", "AC1806", "open('f')"),
    "eval": ("eval('1')", "AC1806", "eval('1')"),
    "exec": ("exec('y = 1')", "AC1806", "exec('y = 1')"),
    "clock": ("x * time.time()", "AC1604", "time.time()"),
    "clock by another name": ("x * now()", "AC1604", "now()"),
    "random number": ("x * random.random()", "AC1604", "random.random()"),
    "random array": ("x * np.random.rand(3)", "AC1604", "np.random.rand(3)"),
    "working directory": ("print(os.getcwd())", "AC1604", "os.getcwd()"),
    "generator": ("np.random.default_rng(0)", "AC1604", "np.random.default_rng(0)"),
    "generator of a class": ("np.random.RandomState(0)", "AC1604", "np.random.RandomState(0)"),
    "generator of Python's": ("random.Random(3)", "AC1804", "random.Random(3)"),
    "numbers of a generator": ("x * drawn.normal()", "AC1604", "drawn.normal()"),
    "numbers of an older generator": ("x * older.rand()", "AC1604", "older.rand()"),
    "numbers of a generator of Python's": ("x * dice.random()", "AC1604", "dice.random()"),
    "seed": ("np.random.seed(0)", "AC1604", "np.random.seed(0)"),
    "date": ("datetime.datetime.now()", "AC1604", "datetime.datetime.now()"),
    "environment": ("os.environ['HOME']", "AC1604", "os.environ['HOME']"),
    "environment by a method": ("os.environ.get('HOME')", "AC1604", "os.environ.get('HOME')"),
    "array saved": ("np.save('f', 1.0)", "AC1604", "np.save('f', 1.0)"),
    "object of a library": ("pathlib.Path('a')", "AC1804", "pathlib.Path('a')"),
    "forbidden class": ("memoryview(b'a')", "AC1806", "memoryview(b'a')"),
    "no method of a Parameter": ("weight.set_data(x)", "AC1605", "weight.set_data"),
    "array sorted in place": ("table.sort()", "AC1602", "table.sort()"),
    "array written to by a function": ("np.copyto(table, 1.0)", "AC1602", "np.copyto(table, 1.0)"),
    "outside deque": ("queue.append(x)", "AC1602", "queue.append(x)"),
    "outside counter": ("counts.update('a')", "AC1602", "counts.update('a')"),
    "list of a set": ("list({1, 2})", "AC1105", "list({1, 2})"),
    "sum of an outside set": ("x * sum(seen)", "AC1105", "sum(seen)"),
    "sentinel": ("list(iter(lambda: 1, 1))", "AC1103", "iter(lambda: 1, 1)"),
    "arguments of a lambda": ("(lambda y: y)(x, x)", "AC1204", "(lambda y: y)(x, x)"),
    "no method of text": ("x * len('a'.uper())", "AC1203", "'a'.uper"),
    "itself": ("f(x)", "AC1505", "f(x)"),
    "unknown name": ("x * factro", "AC1201", "factro"),
    "unknown name in a comprehension": ("[y * z for y in x]", "AC1201", "z"),
    "unknown function of a module": ("ops.softmaxx(x)", "AC1203", "ops.softmaxx"),
    "missing argument": ("scaled(x)", "AC1204", "scaled(x)"),
    "wrong argument": ("scaled(x, 2, factro=3)", "AC1204", "scaled(x, 2, factro=3)"),
    "new layer": ("nn.Dense(2, 3)", "AC1803", "nn.Dense(2, 3)"),
    "new layer of the file": ("Layer()", "AC1803", "Layer()"),
    "new Parameter": ("Parameter(x)", "AC1803", "Parameter(x)"),
    "plain object": ("Thing()", "AC1804", "Thing()"),
    "unhashable element": ("{[1]}", "TypeError", "{[1]}"),
    "unhashable key": ("{[1]: x}", "TypeError", "{[1]: x}"),
    "index": ("x * [1, 2][5]", "IndexError", "[1, 2][5]"),
    "length of a number": ("x + len(3)", "TypeError", "len(3)"),
    "division": ("x * (1 // 0)", "ZeroDivisionError", "1 // 0"),
    "key": ("x * {'a': 1}['b']", "KeyError", "{'a': 1}['b']"),
}


@pytest.mark.parametrize(("expression", "code", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_expressions_that_are_listed(listed, expression, code, text):
    program = f"@jit\ndef f(x):\n    return {expression}\n"
    assert listed(program) == [(code, text)]
    # What is listed is what a call raises: the same class, and for a refusal the same code.
    with pytest.raises((ms.CompileError, TypeError, LookupError, ArithmeticError)) as caught:
        ms.jit(define(HEAD + program.removeprefix("@jit\n")))(ms.Tensor([1.0, 2.0, 3.0]))
    assert getattr(caught.value, "code", type(caught.value).__name__) == code


BODIES = {
    "element of an array": ("table[0] = 1\nreturn x", "AC1602", "table[0]"),
    "element of an array deleted": ("del table[0]\nreturn x", "AC1602", "table[0]"),
    "lock": ("with lock:\n    return x", "AC1108", "lock"),
    "set by its name": ("a = {1, 2}\nfor v in a:\n    x = x * v\nreturn x", "AC1105", "a"),
    "set unpacked": ("a, b = {1, 2}\nreturn x", "AC1105", "a, b = {1, 2}"),
    "element taken out of a set": ("a = {1, 2}\nreturn x * a.pop()", "AC1105", "a.pop()"),
    "no end": ("while True:\n    x = x * 2", "AC1503", "True"),
    "read before it has a value": ("z = y\ny = x\nreturn z", "AC1202", "y"),
    "changed before it has a value": ("weight += 1\nreturn x", "AC1202", "weight"),
    "declared only": ("y: int\nreturn y", "AC1202", "y"),
    "deleted": ("z = x\ndel z\nreturn z", "AC1202", "z"),
    "read in the condition": ("if x.sum() > z:\n    z = x\nreturn x", "AC1202", "z"),
    "in a nested function": ("def g(v):\n    return g(v)\nreturn g(x)", "AC1505", "g(v)"),
    "generator by a yield that is not reached": ("return x\nyield x", "AC1107", "yield"),
    "no attribute of a list": ("d = []\nreturn d.appnd(x)", "AC1203", "d.appnd"),
}


@pytest.mark.parametrize(("body", "code", "text"), BODIES.values(), ids=BODIES.keys())
def test_statements_that_are_listed(listed, body, code, text):
    program = f"def f(x):\n{textwrap.indent(body, '    ')}\n"
    assert listed(program, name="f") == [(code, text)]
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(define(HEAD + program))(ms.Tensor([1.0, 2.0, 3.0]))
    assert caught.value.code == code


def test_a_cell_that_overrides_its_call(listed):
    call = "class Net(nn.Cell):\n    def __call__(self, x):\n        return x * 2\n"
    program = call + "    def construct(self, x):\n        return x"
    (found,) = listed(program)
    assert found[0] == "AC1802"
    assert found[1].startswith("def __call__(")


@pytest.mark.parametrize("layer", ["nn.ReLU()", "nn.Flatten()", "nn.MSELoss()", "nn.Dropout()", "Block()"])
def test_layers_without_weights_may_be_made_where_they_are_called(listed, layer):
    assert listed(f"@jit\ndef f(x):\n    return {layer}\n") == []


ROOTS = {
    "decorated": "@jit\ndef f(x):\n    return nothing",
    "decorated with options": "@ms.jit(unroll_limit=2)\ndef f(x):\n    return nothing",
    "given": "def f(x):\n    return nothing\nk = ms.jit(f)",
    "given by keyword": "def f(x):\n    return nothing\nk = ms.jit(function=f)",
    "derivative": "def f(x):\n    return nothing\nk = ms.jit(ms.grad(f))",
    "lambda": "k = ms.jit(lambda x: nothing)",
    "lambda in a function": "def main():\n    return ms.jit(lambda x: nothing)",
    "nested": "def main():\n    @jit\n    def f(x):\n        return nothing",
    "nested and given": "def main():\n    def f(x):\n        return nothing\n    return jit(f)",
    "called by one": "def g(x):\n    return nothing\n@jit\ndef f(x):\n    return g(x)",
    "mentioned by one": "def g(x):\n    return nothing\n@jit\ndef f(x):\n    return [h(x) for h in (g,)]",
    "construct": "class Net(nn.Cell):\n    def construct(self, x):\n        return nothing",
    "construct of a class in a function": "def main():\n    class Net(nn.Cell):\n"
    "        def construct(self, x):\n            return nothing",
    "construct of a loss": "class L(nn.LossBase):\n    def construct(self, x):\n        return nothing",
    "construct of an optimizer": "class O(ms.nn.Adam): pass\n"
    "class P(O):\n    def construct(self, x):\n        return nothing",
    "construct of an imported layer": "from mindspore.nn.layer.basic import Dense as Base\n"
    "class Net(Base):\n    def construct(self, x):\n        return nothing",
    "method": "class Net(nn.Cell):\n    def construct(self, x):\n        return self.g(x)\n"
    "    def g(self, x):\n        return nothing",
    "method of a base": "class Base(nn.Cell):\n    def g(self, x):\n        return nothing\n"
    "class Net(Base):\n    def construct(self, x):\n        return self.g(x)",
}


@pytest.mark.parametrize("program", ROOTS.values(), ids=ROOTS.keys())
def test_functions_that_are_looked_at(listed, program):
    assert listed(program) == [("AC1201", "nothing")]


NOT_LOOKED_AT = {
    "construct of no Cell": "from mindspore.train import Callback\n"
    "class Net(Callback):\n    def construct(self, x):\n        return nothing",
    "not compiled": "def f(x):\n    return nothing",
    "same name elsewhere": "def main():\n    def f(x):\n        return nothing\n"
    "def other():\n    def f(x):\n        return x\n    return jit(f)",
    "parametrized by jit": "import pytest\n@pytest.mark.parametrize('w', [jit])\ndef test(w):\n    return nothing",
    "constexpr": "@constexpr\ndef g(n):\n    return nothing\n@jit\ndef f(x):\n    return x * g(3)",
    "host function": "def g(x):\n    return nothing\n@jit\ndef f(x):\n    return py_call(g, x, out=x)",
    "host lambda": "@jit\ndef f(x):\n    return py_call(lambda x: time.time(), x, out=x)",
    "hidden by a local": "def g(x):\n    return nothing\n@jit\ndef f(x):\n    g = ops.relu\n    return g(x)",
}


@pytest.mark.parametrize("program", NOT_LOOKED_AT.values(), ids=NOT_LOOKED_AT.keys())
def test_functions_that_are_not_looked_at(listed, program):
    assert listed(program) == []


ACCEPTED = {
    "locals": "@jit\ndef f(x, *xs, k=1, **named):\n    y = x\n    for i, z in enumerate(xs):\n        y = y + z\n"
    "    return [y * w for w in (1, 2)], [(v := x), v], named, (lambda q: q * k)(x)",
    "local containers": "@jit\ndef f(x):\n    history = []\n    history.append(x)\n    settings = {}\n"
    "    settings['a'] = x\n    return history, settings",
    "containers of an argument": "@jit\ndef f(history):\n    history.append(1)\n    return history",
    "reading outside ones": "@jit\ndef f(x):\n    return len(history), settings.get('a'), history.index",
    "attribute bound anew": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
    "        self.l = []\n    def construct(self, x):\n        self.l = [*self.l, x]\n        self.l.append(x)\n"
    "        return x",
    "name of a global statement": "def prepare():\n    global made\n    made = 2\n@jit\ndef f(x):\n    return x * made",
    "names of a star import": "from numpy.linalg import *\n@jit\ndef f(x):\n    return x * somewhere",
    "names of globals()": "globals().update(hidden=2)\n@jit\ndef f(x):\n    return x * hidden",
    "module names": "@jit\ndef f(x):\n    print(__name__, __file__)\n    return x",
    "class of a method": "class Net(nn.Cell):\n    def construct(self, x):\n        return __class__, super()",
    "name of two meanings": "try:\n    import fast as time\nexcept ImportError:\n    import time\n"
    "@jit\ndef f(x):\n    return x, time.time()",
    "hidden builtin": "def open(x):\n    return x\n@jit\ndef f(x):\n    return open(x)",
    "import in the function": "@jit\ndef f(x):\n    import math as m\n    return x * m.pi * math.sqrt(2.0)",
    "arguments by stars": "@jit\ndef f(x):\n    a = (2,)\n    return scaled(x, *a), scaled(x, **{'factor': 2})",
    "raised on a path": "@jit\ndef f(x):\n    if x.sum() > 100:\n        return x * [1, 2][5]\n    return x",
    "raised perhaps": "@jit\ndef f(x, k=None):\n    return x if k is None else 1 // 0",
    "records": "import typing, dataclasses\nclass P(typing.NamedTuple):\n    a: int\n"
    "@dataclasses.dataclass(frozen=True)\nclass Q:\n    a: int\n@ms.jit_class\nclass R:\n    pass\n"
    "class E(ValueError):\n    pass\n@jit\ndef f(x):\n    return P(1), Q(2), R(), E('a')",
    "annotations": "@jit\ndef f(x: 'Undefined') -> Undefined:\n    y: Undefined = x\n    return y",
    "never taken": "@jit\ndef f(x):\n    if False:\n        return nothing\n    return x if True else time.time()",
    "endings of loops": "@jit\ndef f(x):\n    while True:\n        if x.sum() > 1:\n            break\n"
    "        x = x + 1\n    while True:\n        x = scaled(x, 2)",
    "a nested function in a compiled one": "@jit\ndef f(x):\n    kept = []\n    def g(v):\n        kept.append(v)\n"
    "    g(x)\n    return kept",
    "names bound in between": "@jit\ndef f(x):\n    if x.sum() > 1:\n        y = x\n    else:\n        y = -x\n"
    "    import math as m\n    def g():\n        return z\n    z = (w := x)\n    return y, m.pi, g(), w, z",
    "reading arrays": "@jit\ndef f(x):\n    return table[0], table.mean(), table.copy(), len(queue), "
    "counts.most_common()",
    "a name of an object": "@jit\ndef f(x, drawn, lock):\n    with lock:\n        return drawn.normal()",
    "objects of libraries": "import fractions, decimal\n@jit\ndef f(x):\n    return fractions.Fraction(1, 2), "
    "decimal.Decimal(1), collections.deque(), np.dtype('f4'), bytearray(b'a'), np.vectorize(abs), frozenset((1,)), "
    "sorted({2, 1})",
    "stops at some time": "@jit\ndef f(x, n=3):\n    return x if n == 0 else f(x, n - 1)",
    "a property of a plain object": "class Held:\n    @property\n    def k(self):\n        return 1\nheld = Held()\n"
    "@jit\ndef f(x):\n    held.k = 1\n    return x",
    "non-ASCII text": "@jit\ndef f(x):\n    größe = 'ä', x\n    return größe",
}  # fmt: skip


@pytest.mark.parametrize("program", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_no_false_alarm(listed, program):
    assert listed(program) == []


def test_carets_stand_right_after_non_ascii_text(listed):
    assert listed("@jit\ndef f(x):\n    return 'ä漢', nothing\n") == [("AC1201", "nothing")]


def test_changes_of_an_attribute(listed):
    program = """
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.l, self.d = [], {}
                self.log = []
                self.table = dict()
            def construct(self, x):
                self.log.append(x)
                self.table["a"] = x
                del self.log[0]
                return x
    """
    assert listed(program) == []


def test_what_encloses_a_compiled_function_is_outside(listed):
    program = """
        def main():
            found, n = [], 0
            kept = []
            @jit
            def f(x):
                nonlocal n
                n = 1
                kept.append(x)
                mine = []
                def g():
                    mine.append(x)
                g()
                return mine
    """
    assert listed(program) == []


def test_everything_at_once_and_exit_status(tmp_path, capsys):
    path = tmp_path / "model.py"
    path.write_text(HEAD + "@jit\ndef f(x):\n    y = x * time.time() * nothing\n    table[0] = 1.0\n    return y\n")
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    places = [shown.index(word) for word in ("[AC1604]", "[AC1201]", "[AC1602]")]
    assert places == sorted(places)
    assert shown.count("instead:") == 3
    assert "new_table = table.copy()" in shown
    assert shown.endswith(f"3 problems in 3 functions of {path}\n")
    assert main(["check", "--json", str(path)]) == 1
    assert [e["code"] for e in json.loads(capsys.readouterr().out)["errors"]] == ["AC1604", "AC1201", "AC1602"]
    assert main(["check", f"{path}:scaled"]) == 0


def test_nothing_of_the_file_is_run(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        "print('running')\nimport no_such_module\nfrom mindspore import jit\n"
        "@jit\ndef f(x):\n    return no_such_module.g(x)\n"
    )
    done = forked.run("-m", "autodiff_compiler", "check", path)
    assert (done.returncode, done.stdout) == (0, f"no problems in 1 function of {path}\n")


def test_changes_by_methods_called_by_name(listed):
    found = listed(
        """
        def elsewhere():
            global history
            history = []

        def other():
            global seen
            seen = None

        @jit
        def f(x):
            history.append(x)
            settings.__setitem__("a", x)
            dict.update(settings, a=x)
            list.append(history, x)
            seen.add(1)
            return x
        """
    )
    assert found == []


NOTHING_FOR_SURE = {
    "a name that is only annotated": "@jit\ndef f(x):\n    y = x + 1\n    y: Tensor\n    return y",
    "an argument that is annotated": "@jit\ndef f(x):\n    x: Tensor\n    return x * 2",
    "imported sum": "from autodiff_compiler.numpy import sum\n@jit\ndef f(x):\n    return x * sum([[1.0, 2.0]])",
    "imported abs": "from autodiff_compiler.numpy import abs\n@jit\ndef f(x):\n    return x * abs([1.0, 2.0, -3.0])",
    "own len": "def len(x):\n    return 3\n@jit\ndef f(x):\n    return x * len(5)",
    "argument sum": "@jit\ndef f(x, sum=lambda a, b: b):\n    return x * sum(1, 2)",
    "own list": "def list():\n    return weight\nheld = list()\n"
    "@jit\ndef f(x):\n    held[0] = 1.0\n    return x * held",
    "own set": "def set(v):\n    return v\n@jit\ndef f(x):\n    return x * sum(set([1, 2])) + len({set((1,))})",
    "nested, not called": "@jit\ndef f(x):\n    def fail():\n        return 1 / 0\n    return x",
    "nested, called perhaps": "@jit\ndef f(x, n=0):\n    def fail():\n        return 1 // 0\n"
    "    return fail() if n else x",
    "called perhaps": "def fail():\n    return 1 // 0\n"
    "@jit\ndef f(x, n=0):\n    if n:\n        return fail()\n    return x",
    "nested, refused but not called": "@jit\ndef f(x):\n    def fail():\n        try:\n            history.append(x)\n"
    "        except ValueError:\n            return nothing\n    return x",
    "nested, called by itself only": "@jit\ndef f(x):\n    def fail(n):\n        return nothing if n else fail(n)\n"
    "    return x",
    "lambda, not called": "@jit\ndef f(x):\n    fail = lambda: nothing\n    return x",
    "walrus on the left": "@jit\ndef f(x, n=3):\n    r = (n and (y := n + 1)) + y\n    return x * r",
    "walrus in a comprehension": "@jit\ndef f(x):\n    r = sum([(y := i) for i in range(3)]) + y\n    return x * r",
    "walrus of a condition": "@jit\ndef f(x, n=3):\n    return x * ((y := 2) if n else 5) + (y if n else 0)",
    "walrus in a dict": "@jit\ndef f(x):\n    d = {1: (y := 2), y: 3}\n    return x * d[2]",
    "end of a chain": "@jit\ndef f(x, n=5):\n    if 3 < n < 4 < 1 / 0:\n        return x\n    return x * 2",
    "global constant": "DEBUG = False\n@jit\ndef f(x):\n    if DEBUG:\n        return nothing(x)\n    return x",
    "constant of constants": "LEVEL = 1\nDEBUG = LEVEL > 1 and True\n@jit\ndef f(x):\n"
    "    return nothing(x) if DEBUG or not LEVEL else x",
    "try that is not reached": "DEBUG = False\n@jit\ndef f(x):\n    if DEBUG:\n        try:\n            print(x)\n"
    "        except ValueError:\n            pass\n    return x",
    "function called where nothing gets": "DEBUG = False\ndef log(x):\n    history.append(x)\n@jit\ndef f(x):\n"
    "    if DEBUG:\n        log(x)\n    return x",
    "guard by hasattr": "@jit\ndef f(x):\n    if hasattr(np, 'nothing'):\n        return x * np.nothing(3)\n"
    "    return x",
    "name of a guard": "HAS = hasattr(np, 'nothing')\n@jit\ndef f(x):\n    return np.nothing(x) if HAS else x",
    "guard by version": "import sys\n"
    "@jit\ndef f(x):\n    if sys.version_info >= (4, 0):\n        return np.nothing(x)\n"
    "    elif sys.version_info[0] < 3:\n        return nothing(x)\n    return x",
    "while False": "@jit\ndef f(x):\n    while False:\n        nothing()\n    return x",
    "loop over nothing": "@jit\ndef f(x):\n    for y in ():\n        x = nothing(y)\n"
    "    return x, [nothing for y in ()]",
    "after return": "@jit\ndef f(x):\n    return x\n    return nothing",
    "after an if of two returns": ""
    "@jit\ndef f(x):\n    if x.sum() > 1:\n        return x\n    else:\n        return -x\n"
    "    history.append(x)",
    "after a known return": "FAST = True\n"
    "@jit\ndef f(x):\n    if FAST:\n        return x\n    history.append(x)\n    return x",
    "after break": "@jit\ndef f(x):\n    for i in range(3):\n        x = x + i\n        break\n"
    "        nothing()\n    return x",
    "choice by a tuple": "@jit\ndef f(x):\n    return x if (1,) else nothing",
    "never the second": "@jit\ndef f(x):\n    return (False and nothing, True or nothing, 3 < 2 < nothing), x",
    "text of an assert": "@jit\ndef f(x):\n    assert True, 1 / 0\n    return x",
}  # fmt: skip


@pytest.mark.parametrize("program", NOTHING_FOR_SURE.values(), ids=NOTHING_FOR_SURE.keys())
def test_what_compiles_and_runs_is_no_alarm(listed, program):
    assert listed(program) == []
    define(HEAD + program)(ms.Tensor([1.0, 2.0, 3.0]))


BOUND_AGAIN = {
    "in a tuple": "self.items, self.k = weight, 3",
    "after a star": "[*self.rest, self.items] = [3, weight]",
    "with an annotation": "self.items: Parameter = weight",
    "in a loop": "for self.items in [weight]:\n            pass",
    "by setattr": "setattr(self, 'items', weight)",
    "by a computed name": "for name in ('items',):\n            setattr(self, name, weight)",
    "by insert_param_to_cell": "del self.items\n        self.insert_param_to_cell('items', weight)",
    "outside": "pass\n\ndef change(net):\n    net.items = weight",
    "in a subclass": "pass\n\nclass Sub(Net):\n    def __init__(self):\n        super().__init__()\n"
    "        self.items = weight",
}  # fmt: skip


@pytest.mark.parametrize("statement", BOUND_AGAIN.values(), ids=BOUND_AGAIN.keys())
def test_an_attribute_that_is_bound_again_is_not_known(listed, statement):
    program = f"""class Net(nn.Cell):
    def construct(self, x):
        self.items[0] = 5.0
        return x * self.items

    def __init__(self):
        super().__init__()
        self.items = np.zeros(3)
        {statement}
"""
    path_program = program.replace("\n        " + statement, "")
    assert listed(program) == []
    assert listed(path_program) == [("AC1602", "self.items[0]")]


def test_attributes_of_classes_that_have_nothing_to_do_with_each_other(listed):
    one = "class {}(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.log = np.zeros(3)\n"
    append = "    def construct(self, x):\n        self.log.sort()\n        return x\n"
    found = [("AC1602", "self.log.sort()")]
    assert listed(one.format("A") + append + one.format("B")) == found
    assert listed(one.format("A") + append + one.format("B").replace("nn.Cell", "A")) == []


def test_an_attribute_that_is_a_constant(listed):
    program = """
        class Net(nn.Cell):
            def __init__(self, loud=False):
                super().__init__()
                self.debug = False
                self.loud = loud
            def construct(self, x):
                if self.debug:
                    self.nothing(x)
                    queue.append(x)
                if self.loud:
                    table[0] = 1.0
                return x
    """
    assert listed(program) == [("AC1602", "table[0]")]


def test_what_arguments_decide_is_listed(listed):
    program = """
        CHANGED = False
        def change():
            global CHANGED
            CHANGED = True
        def log(x):
            queue.append(x)
        @jit
        def f(x, debug=False):
            if debug:
                log(x)
            if CHANGED:
                table.sort()
            def later(v):
                table[0] = 1.0
            return [g(x) for g in (later,)]
    """
    assert listed(program) == [("AC1602", "queue.append(x)"), ("AC1602", "table.sort()"), ("AC1602", "table[0]")]


def test_constants_in_functions_that_are_always_called(listed):
    program = """
        def outer(x):
            return inner(x) + (y := 1)
        def inner(x):
            return x * [1, 2][5]
        @jit
        def f(x):
            z = y + (y := 2)
            def g():
                return 1 // 0
            return outer(x) * g()
    """
    assert listed(program) == [("IndexError", "[1, 2][5]"), ("AC1202", "y"), ("ZeroDivisionError", "1 // 0")]
