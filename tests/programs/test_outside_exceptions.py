"""What is left of containers and objects from outside where compiled code raises, or runs functions as plain Python."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors

from .compare import define
from .places import Plain, X, described, outside

RAISING = {
    "certain": "H.append(x)\nD['n'] += 1\no.n += 1\nraise ValueError('stop')",
    "in a branch": "H.append(x)\nD['z'] = x * 2.0\nif x[0] > 0:\n    raise ValueError('stop')\nD['z'] = x\nreturn x",
    "in a loop": "for i in range(20):\n    D['n'] += 1\n    o.n += i\n    assert D['n'] < 5, 'stop'\nreturn x",
    "by Python": "S.add(9)\nI.insert(0, 7)\nreturn x * I[11]",
    "of an index": "L[1] = 8\nL.append(x)\nk = int(x.sum())\nreturn x[k + 7] * L[1]",
}


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("name", RAISING)
def test_what_was_changed_before_an_exception_stays(name, backend):
    left = []
    for make in (lambda f: f, lambda f: ms.jit(f, backend=backend) if backend else ms.jit(f)):
        places = outside()
        body = "\n".join("    " + line for line in RAISING[name].splitlines())
        call = make(define(f"def f(x):\n{body}\n", **places))
        with pytest.raises((ValueError, AssertionError, IndexError)):
            call(ms.Tensor(X))
        left.append(described(places, {}))
    assert left[0] == left[1]


#: Endings of `f`; the write before them happens on some paths only.
UNCLEAR = {
    "an append": "H.append(x)",
    "a new key": "D['q'] = x",
    "a new element": "S.add(7)",
    "another kind": "D['n'] = 'a'",
    "a new attribute": "o.fresh = x",
    "an attribute of another kind": "o.n = 'a'",
}


@pytest.mark.parametrize("form", ["nested", "differentiated", "written later"])
@pytest.mark.parametrize("name", UNCLEAR)
def test_a_write_on_some_paths_only_is_not_lost_before_an_exception(name, form):
    """Where the program cannot say what is left, it is refused, as without the exception."""
    write, body = f"if x[1] < 0:\n    {UNCLEAR[name]}", "raise ValueError('stop')"
    if form == "nested":
        body = f"if x[0] > 0:\n    {write.replace(chr(10), chr(10) + '    ')}\n    {body}\nreturn x"
    elif form == "written later":
        body = f"{write}\nassert x[0] < 0, 'stop'\no.fresh, o.n = 1, 2\nreturn x"
    else:
        body = f"{write}\n{body}"
    places = outside()
    call = define("def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines()), **places)
    before = described(places, {})
    compiled = ms.jit(ms.grad(call) if form == "differentiated" else call)
    with pytest.raises((errors.JoinError, errors.LoopError, ms.SideEffectError)):
        compiled(ms.Tensor(X))
    assert described(places, {}) == before


def test_sets_that_differ_are_told_by_their_sizes():
    S = {1, 2}

    def f(x):
        if x.sum() > 0:
            S.add(3)
        return x

    with pytest.raises(errors.JoinError, match="is set of 3 on one path and set of 2 on the other"):
        ms.jit(f)(ms.Tensor(X))


def test_functions_that_run_as_plain_python_see_it(capsys):
    def body(x):
        H.append(x)
        D["n"] += 1
        o.n += 1
        y = ms.py_call(show, x, out=x)
        H.append(y)
        D["n"] += 1
        return ms.py_call(show, y, out=y)

    texts = []
    for make in (lambda f: f, ms.jit):
        H, D, o = [], {"n": 0}, Plain()

        def show(a):
            print(len(H), D, o.n)
            return a * 2.0

        call = make(body)
        call(ms.Tensor(X))
        call(ms.Tensor(X))
        texts.append((capsys.readouterr().out, len(H), D))
    assert texts[0] == texts[1]


def test_a_function_that_runs_as_plain_python_must_not_change_it():
    H = []

    def add(a):
        H.append(7)
        return a

    def f(x):
        H.append(x)
        return ms.py_call(add, x, out=x)

    with pytest.raises(ms.SideEffectError, match="AC1602"):
        ms.jit(f)(ms.Tensor(X))
