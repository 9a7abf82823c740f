"""What Python itself raises while a function is compiled, and messages in the user's own words."""

from __future__ import annotations

import collections
import time
from collections import OrderedDict, defaultdict, deque
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors, nn, ops
from tests.programs.compare import define

X = ms.Tensor(np.array([1.0, 2.0, 3.0], np.float32))


def refused(fn, *args):
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(fn)(*(args or (X,)))
    return caught.value


# ------------------------------------------------------------------------------------------- exceptions of Python
PLAIN = {
    "index": "x * [1, 2][5]",
    "key": "x * {'a': 1}['b']",
    "type": "x + len(3)",
    "operand": "x + 'a'",
    "zero": "x * (1 // 0)",
    "number": "x + int('q')",
    "callable": "x(1)",
    "argument": "print('a', sepp=1)",
    "unpacking": "[a + b for a, b in ((1, 2, 3),)]",
    "empty": "x * max([])",
    "reduce": "x.sum(axs=1)",
    "index of a Tensor": "x[5]",
    "text and a Tensor": "'a' + x",
    "power with a modulus": "pow(x, 2, 5)",
    "power of a number with a modulus": "pow(2, x, 5)",
}


@pytest.mark.parametrize("expression", PLAIN.values(), ids=PLAIN.keys())
def test_it_is_what_python_raises_with_the_place_in_a_note(expression):
    f = define(f"def f(x):\n    ä = x\n    return x, {expression}")
    with pytest.raises(Exception) as expected:  # noqa: PT011
        f(X)
    with pytest.raises(type(expected.value)) as caught:
        ms.jit(f)(X)
    assert type(caught.value) is type(expected.value)
    if expression not in ("print('a', sepp=1)", "x.sum(axs=1)"):  # whose eager names are `print` and our own
        assert str(caught.value) == str(expected.value)
    (note,) = caught.value.__notes__
    lines = note.split("\n")
    start, end = lines[3].index("^"), lines[3].rindex("^") + 1
    assert lines[0].startswith("  --> <program") or lines[0].startswith(" --> <program")
    assert "in f" in lines[0]
    marked = lines[2][start:end]
    assert marked in expression
    assert len(marked) >= 4
    assert "raised while this was compiled" in lines[-1]


def test_the_note_names_callers_and_values():
    f = define("def inner(d, k):\n    return d[k]\ndef f(x):\n    return x * inner({'a': 1}, 'b')")
    with pytest.raises(KeyError) as caught:
        ms.jit(f)(X)
    (note,) = caught.value.__notes__
    assert "| " + "    return d[k]" in note
    assert "called from <program" in note
    assert "`d` is a dict of the keys 'a', `k` is a str 'b'" in note


@pytest.mark.parametrize(
    ("head", "marked"), [("for i in 3:", "3"), ("while 'a' < 3:", "'a' < 3"), ("if 'a' < 3:", "'a' < 3")]
)
def test_of_a_statement_the_expression_is_marked(head, marked):
    f = define(f"def f(x):\n    {head}\n        x = x + 1\n    return x")
    with pytest.raises(TypeError) as caught:
        ms.jit(f)(X)
    text, carets = caught.value.__notes__[0].split("\n")[2:4]
    assert text[carets.index("^") : carets.rindex("^") + 1] == marked


# ------------------------------------------------------------------------------------------- the user's words
def test_changes_of_outside_containers_are_advised_by_name():
    table = collections.OrderedDict()

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.table = collections.OrderedDict()

        def construct(self, x):
            self.table["a"] = x
            return x

    net = Net()
    assert "`new_table = table.copy()`" in refused(lambda x: table.update(a=x)).hint
    assert "`l = l.copy()`" in refused(define("def f(l):\n    l.append(1)\n    return l"), [1]).hint
    assert "`new_table = self.table.copy()`" in refused(lambda x: net(x)).hint


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (lambda x: x * np.random.rand(), "numpy.random.rand"),
        (lambda x: x * time.time(), "time.time"),
        (lambda x: x * np.random.default_rng(0).normal(), "numpy.random.default_rng"),
    ],
)
def test_frozen_calls_go_by_the_names_users_know(fn, name):
    error = refused(fn)
    assert error.code == "AC1604"
    assert error.message.startswith(f"{name} would be called once")


@pytest.mark.parametrize(
    "source",
    [
        "async def f(x):\n    return x",
        "def f(x):\n    return x\n    yield x",
        "def f(x):\n    async_ = lambda: (yield x)\n    return async_()",
        "def f(x):\n    if False:\n        yield x\n    return x",
    ],
)
def test_functions_that_pause_are_refused_even_if_no_pause_is_reached(source):
    """Eager calls give a coroutine or generator: compiled ones must not give the result."""
    error = refused(define(source))
    assert error.code == "AC1107"
    assert error.spans


def test_text_that_leaves_is_shown_where_it_is_returned():
    error = refused(define("def f(x):\n    if x.sum() > 100:\n        x = x * 2\n    return f'{x.sum()}'"))
    (loc, _), *_ = error.spans
    assert (error.code, loc.line, loc.col, loc.end_col) == ("AC1302", 4, 11, 23)
    assert "`x = x * 2`" in str(error) or "it is dynamic because" in str(error)
    assert refused(lambda x: f"{x}").spans


def test_a_while_that_never_ends_names_what_its_condition_reads():
    error = refused(define("def f(x, n=3):\n    while n > 0:\n        x = x * 2\n    return x"))
    assert error.notes == ("`n` is an int 3",)
    assert "`mutable`" in error.hint
    assert "`break`" in refused(define("def f(x):\n    while True:\n        x = x + 1\n    return x")).hint


def test_branches_that_change_a_dict_differently_name_it():
    error = refused(define("def f(x):\n    d = {}\n    if x.sum() > 0:\n        d['a'] = x\n    return d"))
    assert error.code == "AC1403"
    assert error.message.startswith("'d' has the keys ['a']")


def test_a_global_number_goes_by_its_name():
    f = define("def f(x):\n    return x.sum(n)", n=ms.mutable(2))
    assert "`n` is dynamic because: global n" in refused(f).notes[0]


def test_an_unknown_name_is_advised_even_if_nothing_comes_near():
    assert refused(define("def f(x):\n    return qqqq")).hint == "define or import `qqqq`, or pass it as an argument"


def test_a_function_of_compiled_code_has_a_short_text():
    assert repr(ms.jit(define("def f(x):\n    return lambda: x"))(X)) == "<function <lambda> of compiled code>"


def test_all_classes_of_errors_and_warnings_are_attributes_of_the_package():
    classes = {n: c for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, Exception)}
    public = {n: c for n, c in classes.items() if not n.startswith("_")}
    assert len(public) > 25
    for name, cls in public.items():
        assert getattr(ms, name) is cls
        assert name in ms.__all__
    with pytest.raises(ms.ShapeError):
        ms.jit(lambda x: x @ ops.ones((2, 2)))(X)


@dataclass(frozen=True)
class Frozen:
    v: object


def test_a_field_of_a_frozen_dataclass_is_not_assigned():
    def made_inside(x):
        record = Frozen(x)
        record.v = x * 2
        return record

    def given(record):
        record.v = record.v * 2

    for f, x in ((made_inside, X), (given, Frozen(X))):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'v'"):
            f(x)
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'v'"):
            ms.jit(f)(x)


def test_what_was_made_while_compiling_did_not_come_from_outside():
    array = refused(define("def f(x):\n    a = np.zeros(3)\n    a[1] = 2\n    return x"))
    assert array.message.startswith("the ndarray `a`, which was made while compiling,")
    assert "Tensor" in array.hint
    head = "def f(x):\n    d = defaultdict(list)\n"
    nested = refused(define(head + "    d['a'].append(x)\n    return x", defaultdict=defaultdict))
    assert "made while compiling" in nested.message
    outer = np.zeros(3)
    assert "came from outside" in refused(define("def f(x):\n    a[1] = 2\n    return x", a=outer)).message


@pytest.mark.parametrize(("made", "instead"), [("OrderedDict(a=x)", "a dict"), ("deque([x])", "a list")])
def test_classes_of_collections_are_not_for_tensors(made, instead):
    error = refused(define(f"def f(x):\n    return {made}", OrderedDict=OrderedDict, deque=deque))
    assert f"makes no {made.partition('(')[0]} of what is known only at run time" in error.message
    assert error.hint == f"use {instead}"


def test_a_number_in_text_made_at_run_time_is_not_read():
    error = refused(define("def f(x, n):\n    return x * int(str(n))"), X, ms.mutable(3))
    assert error.message == "int() of a str that is known only at run time"


def test_a_list_grown_in_a_long_loop_is_told_of_the_limit():
    f = define("def f(x):\n    k = []\n    for i in range(40):\n        k.insert(0, x * i)\n    return k[-1]")
    with pytest.raises(ms.LoopError) as caught:
        ms.jit(f, unroll_max=30)(X)
    assert "`unroll_max` is 30: jit(fn, unroll_max=...) unrolls loops of more trips" in caught.value.notes
    assert "known at compile time" not in caught.value.hint
    assert ms.jit(f, unroll_max=50)(X).tolist() == f(X).tolist()


def test_articles_fit_the_names_of_classes():
    assert ms.CompileError("a int and a Out object, a dict").message == "an int and an Out object, a dict"


CELLS = {
    "ReLU": "nn.ReLU()(x - 2.0)",
    "with a setting": "nn.LeakyReLU(0.25)(x - 2.0)",
    "a loss": "nn.MSELoss()(x, x * 2.0)",
    "pooling": "nn.MaxPool1d(3)(x.reshape((1, 1, 3)))",
    "flatten": "nn.Flatten()(x.reshape((1, 3, 1)))",
    "padding": "nn.Pad(((1, 2),))(x)",
}


@pytest.mark.parametrize("call", CELLS.values(), ids=CELLS)
def test_cells_without_weights_may_be_made_in_compiled_code(call):
    f = define(f"def f(x):\n    return {call}", nn=nn)
    assert ms.jit(f)(X).tolist() == f(X).tolist()
    assert ms.jit(ms.grad(f))(X).tolist() == ms.grad(f)(X).tolist()


@pytest.mark.parametrize("call", ["nn.Dense(3, 2)(x)", "nn.PReLU()(x)"])
def test_cells_with_weights_may_not(call):
    assert refused(define(f"def f(x):\n    return {call}", nn=nn)).code == "AC1803"


def test_what_starts_a_module_is_no_place_of_the_user():
    space = {}
    program = "from autodiff_compiler.source import calling_place\nfound = calling_place()"
    exec(compile(program, "<frozen runpy>", "exec"), space)
    assert space["found"] is None
