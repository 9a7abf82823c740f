"""Finding the tree of a function: the right one, at the right place, or an error that says why not."""

import ast
import builtins
import functools
import gc
import importlib.util
import linecache
import math
import os
import subprocess
import sys
import threading
import weakref

import gast
import pytest

from autodiff_compiler.errors import RecursionDepthError, SourceUnavailableError, UnboundVariableError, UnknownNameError
from autodiff_compiler.frontend.syntax import source_tree
from autodiff_compiler.frontend.syntax.source_tree import bindings, load


def text(fn):
    return ast.unparse(gast.gast_to_ast(load(fn).node))


def at(tree, node):
    """The characters a node's place names."""
    loc = tree.loc(node)
    lines = linecache.getlines(loc.file)[loc.line - 1 : loc.end_line]
    lines[-1] = lines[-1][: loc.end_col]
    lines[0] = lines[0][loc.col :]
    return "".join(lines)


def decorated(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)

    return wrapper


class Net:
    @decorated
    def construct(self, x):
        return x + 1

    @staticmethod
    def plain(x):
        return x - 1

    @property
    def double(self):
        return lambda x: x * 2

    def __mangled(self):
        return self.__mangled

    def parent(self):
        return super().__repr__()


def outer(k):
    def inner(x):
        return x + k

    return inner


# ---------------------------------------------------------------------------------------------- the right function


@pytest.mark.parametrize(
    ("fn", "name", "body"),
    [
        (outer, "outer", "return inner"),
        (outer(2), "outer.<locals>.inner", "return x + k"),
        (Net.construct.__wrapped__, "Net.construct", "return x + 1"),
        (Net.construct, "decorated.<locals>.wrapper", "return fn(*args)"),
        (Net.plain, "Net.plain", "return x - 1"),
        (Net().parent, "Net.parent", "return super().__repr__()"),
        (Net._Net__mangled, "Net.__mangled", "return self.__mangled"),
    ],
)
def test_functions_and_methods(fn, name, body):
    tree = load(fn)
    assert tree.function == name
    assert ast.unparse(gast.gast_to_ast(tree.node.body[-1])) == body
    assert tree.file == __file__


def test_lambdas_on_one_line_are_told_apart():
    # fmt: off
    fns = [lambda x: x, lambda x: x, lambda x: (lambda y: y + x), lambda x: 1 if x else 2, lambda: 0, lambda x: (yield)]
    # fmt: on
    sources = ["lambda x: x", "lambda x: x", "lambda x: (lambda y: y + x)", "lambda x: 1 if x else 2", "lambda: 0"]
    places = [at(load(f), load(f).node) for f in fns]
    assert places[:5] == sources
    assert len({load(f).node.col_offset for f in fns}) == len(fns)
    assert at(load(fns[2](1)), load(fns[2](1)).node) == "lambda y: y + x"
    assert Net().double(4) == 8
    assert text(Net().double) == "lambda x: x * 2"


#: Programs that put lambdas into the list `made`, and the texts of these lambdas in that order.
LAMBDAS = {
    "constants": ("made = [lambda: 0, lambda: 0.0, lambda: -0.0, lambda: None, lambda: 'a', lambda x: 0]",
                  "lambda: 0", "lambda: 0.0", "lambda: -0.0", "lambda: None", "lambda: 'a'", "lambda x: 0"),
    "nested": ("f = lambda: (lambda: (lambda: 1)); made = [f, f(), f()()]",
               "lambda: lambda: lambda: 1", "lambda: lambda: 1", "lambda: 1"),
    "nested, with a twin": ("made = [f := lambda x: lambda y: (x, y), f(1), lambda y: (x, y)]",
                            "lambda x: lambda y: (x, y)", "lambda y: (x, y)", "lambda y: (x, y)"),
    "several lines": ("made = [lambda x: (\n    x +\n    1), lambda x: (\n    x + 2), lambda: (\n    lambda: 3)]\n"
                      "made.append(made[2]())",
                      "lambda x: x + 1", "lambda x: x + 2", "lambda: lambda: 3", "lambda: 3"),
    "line of a continuation": ("made = [\\\n    lambda x: x, lambda x: -x,\\\n    lambda x: +x]",
                               "lambda x: x", "lambda x: -x", "lambda x: +x"),
    "defaults of a function": ("def f(a=lambda: 1, *, b=lambda: 2, c=lambda x, y=lambda: 3: y): pass\n"
                               "made = [*f.__defaults__, *f.__kwdefaults__.values()]; made += made[2].__defaults__",
                               "lambda: 1", "lambda: 2", "lambda x, y=lambda: 3: y", "lambda: 3"),
    "decorator": ("made = []\nkeep = lambda f, *g: made.extend([*g, f]) or f\n"
                  "@(lambda f: keep(f, lambda: 1, lambda: 2))\ndef g(): pass\nmade = made[:2]",
                  "lambda: 1", "lambda: 2"),
    "comprehension": ("made = [f for k in (1, 2) for f in (lambda: k, lambda: -k, lambda: 0)]",
                      *("lambda: k", "lambda: -k", "lambda: 0") * 2),
    "over a comprehension": ("made = [lambda x: [a for a in x], lambda x: {a: 0 for a in x}, lambda x: (a for a in x)]",
                             "lambda x: [a for a in x]", "lambda x: {a: 0 for a in x}", "lambda x: (a for a in x)"),
    "comparison chain": ("made = [lambda a, b: a < b < 1, lambda a, b: a < b and b < 2, lambda a: not a]",
                         "lambda a, b: a < b < 1", "lambda a, b: a < b and b < 2", "lambda a: not a"),
    "body of a class": ("class A: f = lambda self: self.__x; g = lambda self: __class__; h = lambda self: 1\n"
                        "made = [A.f, A.g, A.h]",
                        "lambda self: self.__x", "lambda self: __class__", "lambda self: 1"),
    "f-string": ("made = []; f'{made.append(lambda: 1)}{made.append(lambda x: x)}'" if sys.version_info < (3, 12) else
                 "made = []; f'{made.append(lambda: 1)}{made.append(lambda x: f\"{x}\")}'",
                 "lambda: 1", "lambda x: x" if sys.version_info < (3, 12) else "lambda x: f'{x}'"),
}  # fmt: skip


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("name", LAMBDAS)
def test_lambdas(name, columns, module, monkeypatch):
    if not columns:  # as with python -X no_debug_ranges
        monkeypatch.setattr(source_tree, "_holding", lambda nodes, code: [])
    source, *expected = LAMBDAS[name]
    user = module(source)
    assert [text(f) for f in user.made] == expected


def test_same_lambda_made_in_a_loop_is_one_tree():
    fns = [(lambda x: x + k) for k in range(3)]
    assert len({id(load(f)) for f in fns}) == 1


def test_decorator_lambda_and_decorated_function_of_one_place():
    @(lambda f: f)
    def g(x):
        return x

    assert text(g).startswith("@lambda f: f\ndef g(x):")


def test_default_argument_lambda():
    def g(a, key=lambda v: -v):
        return key(a)

    assert text(g.__defaults__[0]) == "lambda v: -v"
    assert load(g).node.name == "g"


def test_every_function_of_a_large_library_file():
    """Argument parsing has methods, properties, nested functions and lambdas of all sorts."""
    import argparse
    import inspect

    count = 0
    for owner in [argparse, *(c for c in vars(argparse).values() if inspect.isclass(c))]:
        for fn in vars(owner).values():
            if inspect.isfunction(fn) and fn.__code__.co_filename == argparse.__file__:
                source = inspect.getsource(fn)
                indented = source.startswith(" ")
                found = ast.parse("if 1:\n" + source if indented else source).body[0]
                found = found.body[0] if indented else found
                assert gast.dump(load(fn).node) == gast.dump(gast.ast_to_gast(found))
                count += 1
    assert count > 100


# ---------------------------------------------------------------------------------------------- places


@pytest.fixture
def module(tmp_path):
    """Writes source text to a file and imports it."""

    def make(source, name="user", encoding="utf-8"):
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding=encoding)
        os.utime(path, (1, 1))
        spec = importlib.util.spec_from_file_location(name, path)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded

    return make


def test_columns_count_characters(module):
    user = module('def f(größe, b):\n\tif b:\n\t\treturn "日本é" + größe * b  # ∂\n\treturn b\n')
    tree = load(user.f)
    product = tree.node.body[0].body[0].value.right
    assert at(tree, product) == "größe * b"
    loc = tree.loc(product)
    assert (loc.line, loc.col, loc.end_line, loc.end_col) == (3, 17, 3, 26)
    assert at(tree, tree.node.args.args[1]) == "b"


def test_other_encoding(module):
    user = module('# coding: latin-1\ndef f(x):\n    return "é" + x\n', encoding="latin-1")
    tree = load(user.f)
    assert at(tree, tree.node.body[0].value.right) == "x"


def test_location_has_function_and_caller():
    tree = load(outer(1))
    call = load(outer).loc(load(outer).node.body[1])
    loc = tree.loc(tree.node.body[0].value, call)
    assert (loc.function, loc.caller) == ("outer.<locals>.inner", call)
    assert loc.line == outer(1).__code__.co_firstlineno + 1


def test_node_without_a_place_spans_its_parts():
    def f(x):
        return [a for a, b in x if b]

    tree = load(f)
    comprehension = tree.node.body[0].value.generators[0]
    assert at(tree, comprehension) == "a, b in x if b"
    assert tree.loc(gast.Add()).line == tree.node.lineno
    assert at(tree, tree.node.args) == "x"


def test_inner_tree():
    tree = load(outer)
    inner = tree.inner(tree.node.body[0])
    assert (inner.function, inner.root, inner.outer) == ("outer.<locals>.inner", tree, tree)


# ---------------------------------------------------------------------------------------------- where source comes from


def test_notebook_cell():
    name = "/tmp/ipykernel_1/cell.py"
    function = "def f(x):\n    return x + 1\n"
    source = "import asyncio\nawait asyncio.sleep(0)\n" + function
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {}
    exec(compile("\n\n" + function, name, "exec"), namespace)  # without the lines that need an event loop
    try:
        assert text(namespace["f"]) == "def f(x):\n    return x + 1"
    finally:
        del linecache.cache[name]


def test_future_flags_of_a_notebook_are_inherited():
    import __future__

    name = "<ipython-input-7>"
    source = "def f(x: Undefined) -> Undefined:\n    def g(y: Undefined): return y\n    return g(x)\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {}
    exec(compile(source, name, "exec", __future__.annotations.compiler_flag, True), namespace)
    try:
        assert load(namespace["f"]).node.name == "f"
    finally:
        del linecache.cache[name]


@pytest.mark.parametrize("name", ["<ipython-input-3-abc>", "<python-input-0>", "<stdin>-0", "<doctest a[1]>"])
def test_text_that_has_a_name_of_its_own(name, monkeypatch):
    source = "f, g = lambda x: x + 1, lambda: 0\n"
    monkeypatch.setitem(linecache.cache, name, (len(source), None, [source], "<stdin>"))
    namespace = {}
    exec(compile(source, name, "single"), namespace)
    assert [text(namespace["f"]), text(namespace["g"])] == ["lambda x: x + 1", "lambda: 0"]
    assert load(namespace["f"]).file == name


@pytest.mark.parametrize("name", ["<stdin>", "<string>"])
def test_text_kept_for_each_code_object(name, monkeypatch):
    """As Python 3.13.1 does with what is typed at the prompt."""
    monkeypatch.delitem(linecache.cache, name, raising=False)  # Python 3.13.0 keeps `python -c` there
    kept = lambda code: [f"def {code.co_name}(x): return x\n"]
    monkeypatch.setattr(linecache, "_getlines_from_code", kept, raising=False)
    f, g = {}, {}
    exec(compile("def f(x): return x", name, "exec"), f)
    exec(compile("def g(x): return -x", name, "exec"), g)
    assert text(f["f"]) == "def f(x):\n    return x"
    with pytest.raises(SourceUnavailableError, match=r"AC1001.*made by|AC1001.*typed"):
        load(g["g"])


def run_python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, **options)


def at_the_prompt(typed):
    """What an interactive Python prints."""
    run = run_python("-i", "-q", input=typed)
    return run.stdout.split("\n")[:-1], run.stderr


PROMPT = """from autodiff_compiler.frontend.syntax.source_tree import load
def f(x):
    return x + 1

print(load(f).node.name)
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python keeps what is typed from version 3.13 on")
def test_prompt():
    assert at_the_prompt(PROMPT)[0] == ["f"]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python keeps what is typed from version 3.13 on")
def test_prompt_of_older_python():
    out, errors = at_the_prompt(PROMPT)
    assert out == []
    assert "[AC1001] the source of `f` is not available: it was typed at the prompt" in errors


@pytest.mark.some(2)
@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",), ("-X", "no_debug_ranges")])
def test_interpreter_options(flags, tmp_path):
    path = tmp_path / "user.py"
    path.write_text(
        "from autodiff_compiler.frontend.syntax.source_tree import load\n"
        "def f(x):\n    'Text.'\n    assert x\n    if __debug__:\n        x += 1\n    return x\n"
        "fs = [lambda: 0, lambda x: x, lambda x: -x]\n"
        "print(load(f).node.lineno, *(load(f).node.col_offset for f in fs))\n"
    )
    assert run_python(*flags, str(path)).stdout == "2 6 17 30\n"


def made_by(filename):
    namespace = {}
    exec(compile("def f(x): return x", filename, "exec"), namespace)
    return namespace["f"]


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (math.sin, "builtin_function_or_method"),
        (len, "`len`"),
        (Net, "type type"),
        (functools.partial(outer, 1), "partial"),
        (made_by("<string>"), "`exec` or `eval`"),
        (made_by("<stdin>"), "typed at the prompt"),
        (made_by("/no/such/file.py"), "/no/such/file.py"),
    ],
)
def test_no_source(fn, reason):
    with pytest.raises(SourceUnavailableError, match=r"AC1001") as caught:
        load(fn)
    assert caught.value.code == "AC1001"
    assert reason in caught.value.message
    assert isinstance(caught.value, OSError)


ORIGINAL = "import math\n\ndef f(x):\n    return x + 1\n\ndef h(x):\n    return x\n"


@pytest.mark.parametrize(
    "edited",
    [
        ORIGINAL.replace("x + 1", "x + 2"),
        ORIGINAL.replace("x + 1", "x + 1.0"),
        ORIGINAL.replace("x + 1", "x + True"),
        ORIGINAL.replace("x + 1", "x - 1"),
        ORIGINAL.replace("(x):\n    return x +", "(x, y=2):\n    return x +"),
        ORIGINAL.replace("def f", "def g"),
        ORIGINAL.replace("return x + 1", "return x +"),
        "x = 1\n",
    ],
)
def test_changed_source(module, edited):
    user = module(ORIGINAL)
    path = user.__file__
    with open(path, "w") as file:
        file.write(edited)
    os.utime(path, (2, 2))
    with pytest.raises(SourceUnavailableError) as caught:
        load(user.f)
    assert caught.value.code == "AC1002"
    assert "`f`" in caught.value.message
    assert path in caught.value.message


def test_changed_inner_function(module):
    source = "def f(x):\n    def g(y):\n        return [a + 1 for a in y]\n    return g(x)\n"
    user = module(source)
    with open(user.__file__, "w") as file:
        file.write(source.replace("a + 1", "a + 2"))
    os.utime(user.__file__, (2, 2))
    with pytest.raises(SourceUnavailableError, match="AC1002"):
        load(user.f)


def test_an_edit_elsewhere_moves_the_function(module):
    user = module(ORIGINAL)
    with open(user.__file__, "w") as file:
        file.write("# a new line\n" + ORIGINAL.replace("return x\n", "return 7\n"))
    os.utime(user.__file__, (2, 2))
    tree = load(user.f)
    assert tree.loc(tree.node).line == 4
    with pytest.raises(SourceUnavailableError, match="AC1002"):
        load(user.h)


def test_function_with_asserts_rewritten_by_the_test_runner(tmp_path, monkeypatch):
    from _pytest.assertion.rewrite import rewrite_asserts

    source = "def f(x):\n    assert x > 0, 'no'\n    return x\n"
    path = tmp_path / "user.py"
    path.write_text(source)
    tree = ast.parse(source)
    rewrite_asserts(tree, source.encode(), str(path))
    namespace = {}
    exec(compile(tree, str(path), "exec"), namespace)
    assert "@py_assert1" in namespace["f"].__code__.co_varnames
    assert text(namespace["f"]) == source.strip()


def test_equal_code_in_two_files(module):
    first, second = module(ORIGINAL, "first"), module(ORIGINAL, "second")
    assert first.f.__code__ == second.f.__code__
    assert load(first.f).file != load(second.f).file


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are syntax of Python 3.12")
def test_generic_function(module):
    user = module("def f[T](x: T) -> T:\n    return x\n")
    assert load(user.f).node.name == "f"


# ---------------------------------------------------------------------------------------------- cache


def test_tree_is_cached_and_forgotten_with_the_code(module):
    user = module(ORIGINAL)
    tree = load(user.f)
    assert load(user.f) is tree
    key = id(user.f.__code__)
    assert key in source_tree._trees
    gone = weakref.ref(user.f.__code__)
    del user, tree
    gc.collect()
    assert gone() is None
    assert key not in source_tree._trees


def test_threads_get_one_tree(module):
    user = module(ORIGINAL)
    found, gate = [], threading.Barrier(8)

    def ask():
        gate.wait()
        found.append(load(user.f))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    assert len({id(tree) for tree in found}) == 1


def test_very_long_elif_chain(module):
    chain = "".join(f"    elif x == {i}:\n        return {i}\n" for i in range(1, 400))
    user = module("def f(x):\n    if x == 0:\n        return 0\n" + chain)
    with pytest.raises(RecursionDepthError, match="`f` is nested too deeply"):
        load(user.f)


# ---------------------------------------------------------------------------------------------- bindings

some_global = 5


def test_bindings():
    scope = bindings(outer(3))
    assert scope.lookup("k") == ("closure", 3)
    assert scope.lookup("some_global") == ("global", 5)
    assert scope.lookup("len") == ("builtin", builtins.len)
    assert bindings(Net().parent).lookup("__class__") == ("closure", Net)


def test_bindings_see_changes(monkeypatch):
    scope = bindings(outer)
    monkeypatch.setitem(globals(), "some_global", 6)
    assert scope.lookup("some_global") == ("global", 6)


def test_unknown_name():
    with pytest.raises(UnknownNameError) as caught:
        bindings(outer).lookup("some_globl")
    assert (caught.value.code, caught.value.hint) == ("AC1201", "use `some_global`")
    assert isinstance(caught.value, NameError)


def test_enclosing_variable_without_value():
    def early(x):
        return x + later

    with pytest.raises(UnboundVariableError) as caught:
        bindings(early).lookup("later")
    assert caught.value.code == "AC1202"
    later = 1
    assert bindings(early).lookup("later") == ("closure", later)
