"""Refused syntax: one case per refused construct, with code, the exact text under the carets, and the advice."""

import linecache

import gast
import pytest

from autodiff_compiler.errors import CompileError, UnsupportedSyntaxError
from autodiff_compiler.frontend.syntax import source_tree, unsupported_syntax


@pytest.fixture
def tree_of(tmp_path):
    """The tree of `f` in a source text that is put in a file of its own."""

    def make(source):
        path = tmp_path / "user.py"
        path.write_text(source, encoding="utf-8")
        namespace = {}
        exec(compile(source, str(path), "exec"), namespace)
        return source_tree.load(namespace["f"])

    return make


def marked(error):
    """The source text under the carets of the first place."""
    loc = error.spans[0][0]
    assert loc.end_line == loc.line
    return linecache.getline(loc.file, loc.line)[loc.col : loc.end_col]


# source of the body of f(x) | code | marked text | a word of the advice
REFUSED = {
    "try": ("try:\n        y = x\n    except KeyError:\n        y = 1\n    return y", "AC1101", "try", "test before"),
    "finally": ("try:\n        y = x\n    finally:\n        print(x)\n    return y", "AC1101", "try", "test before"),
    "except group": ("try:\n        y = x\n    except* KeyError:\n        y = 1", "AC1101", "try", "test before"),
    "complex": ("return x + 2.5j", "AC1103", "2.5j", "imaginary part"),
    "bare raise": ("if x:\n        raise", "AC1104", "raise", "raise ValueError"),
    "set loop": ("for i in {1, 2}:\n        x = x + i\n    return x", "AC1105", "{1, 2}", "sorted"),
    "set comprehended": ("return [i for i in {1, 2}]", "AC1105", "{1, 2}", "sorted"),
    "yield": ("yield x", "AC1107", "yield", "list"),
    "yield from": ("yield from x", "AC1107", "yield from", "list"),
    "class": ("class A:\n        def g(self):\n            yield 1\n    return A", "AC1109", "class A", "module level"),
    "async def": ("async def g():\n        await x\n    return g", "AC1109", "async def", "module level"),
    "decorator": ("@abs\n    def g(): pass\n    return g", "AC1109", "abs", "module level"),
}


@pytest.mark.parametrize(("body", "code", "text", "advice"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(tree_of, body, code, text, advice):
    (error,) = unsupported_syntax.check(tree_of(f"def f(x):\n    {body}\n"))
    assert error.code == code
    assert marked(error) == text
    assert advice in error.hint
    assert isinstance(error, UnsupportedSyntaxError)
    assert error.spans[0][0].function == "f"


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        ("async def f(x):\n    return x\n", "AC1107", "async def"),
        ("async def f(x):\n    await x\n", "AC1107", "async def"),
        ("def f(x):\n    async def g():\n        async with x: pass\n", "AC1109", "async def"),
    ],
)
def test_async(tree_of, source, code, text):
    errors = unsupported_syntax.check(tree_of(source))
    assert (errors[0].code, marked(errors[0])) == (code, text)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("await x", "await"),
        ("async for i in x: pass", "async"),
        ("async with x: pass", "async"),
        ("return [i async for i in x]", "i"),
    ],
)
def test_async_parts(tree_of, statement, text):
    """Reached one by one, each part of an async function is refused on its own."""
    tree = tree_of(f"async def f(x):\n    {statement}\n")
    errors = [unsupported_syntax.reject(node, tree) for node in gast.walk(tree.node) if node is not tree.node]
    (error,) = [e for e in errors if e is not None]
    assert (error.code, marked(error)) == ("AC1107", text)


ACCEPTED = {
    "consumed generators": "return sum(y for y in x), max((y for y in x), default=0), ','.join(str(y) for y in x)",
    "zip of generators": "return list(zip(x, (y for y in x)))",
    "reading a global": "global n\n    return n + x",
    "nested functions": "def g(y):\n        return x + y\n    return [g(y) for y in x], lambda z: g(z)",
    "raise and assert": "assert x, 'no'\n    raise ValueError(x) from None",
    "with, sets, import": "import math\n    with open(x) as s:\n        return {1, 2}, 3 in {y for y in x}",
    "walrus and comprehension": "return [z for y in x if (z := y)]",
    "global names": "global n, os\n    n = x\n    import os\n    for n in x: pass\n    del n",
    "nonlocal names": "n = 0\n    def g():\n        nonlocal n\n        n += x\n    return g",
    "match": "match x:\n        case [1, *_] | {'a': int()}: return x",
    "global beside a local of a comprehension": "global n\n    return [n for n in x]",
    "global written by nobody here": "global n\n    def g():\n        n = 1\n        return n\n    return g",
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(tree_of, body):
    assert unsupported_syntax.check(tree_of(f"def f(x):\n    {body}\n")) == []


def test_nested_functions_are_checked_under_their_own_name(tree_of):
    tree = tree_of("def f(x):\n    def g():\n        return lambda: (yield x)\n    return g\n")
    (error,) = unsupported_syntax.check(tree)
    assert error.spans[0][0].function == "f.<locals>.g.<locals>.<lambda>"


def test_errors_come_in_the_order_of_the_source(tree_of):
    loop = "for i in {1}:\n        try:\n            yield 1j\n        except KeyError:\n            raise"
    errors = unsupported_syntax.check(tree_of(f"def f(x):\n    {loop}\n"))
    assert [e.code for e in errors] == ["AC1105", "AC1101", "AC1107", "AC1103", "AC1104"]


def test_only_the_node_that_is_met_is_refused(tree_of):
    tree = tree_of("def f(x):\n    if x:\n        try: pass\n        finally: pass\n    return x\n")
    branch, last = tree.node.body
    assert unsupported_syntax.reject(branch, tree) is None
    assert unsupported_syntax.reject(last, tree) is None
    assert unsupported_syntax.reject(branch.body[0], tree).code == "AC1101"


def test_whole_message(tree_of):
    tree = tree_of("def f(x):\n    try:\n        return x\n    except ValueError:\n        return 1\n")
    (error,) = unsupported_syntax.check(tree)
    assert error.render().replace(tree.file, "user.py") == "\n".join(
        [
            "UnsupportedSyntaxError [AC1101]: 'try' cannot be used in compiled code",
            " --> user.py:2:5 in f",
            "  |",
            "2 |     try:",
            "  |     ^^^ a graph cannot catch exceptions",
            "  |",
            "  = instead: test before, e.g. `if (y == 0).any(): ...`, or move the call out of the compiled function",
            "  = more: python -m autodiff_compiler explain AC1101",
        ]
    )


def test_missing_construct_is_named(tree_of):
    tree = tree_of("def f(x):\n    with x:\n        return 1\n")
    error = unsupported_syntax.missing(tree.node.body[0], tree)
    assert isinstance(error, CompileError)
    assert (error.code, error.message) == ("AC1103", "'with' cannot be compiled yet")
