"""Jump removal: the rewritten function does what the written one does, event by event, and stays small."""

import ast
import textwrap
from unittest import mock

import gast
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.frontend.syntax import jumps
from autodiff_compiler.frontend.syntax.jumps import remove_jumps
from tests.counted import calls_in
from tests.selection import part


def parse(source):
    return gast.parse(textwrap.dedent(source)).body[0]


def runnable(function):
    """The tree as Python text whose `for` loops obey their stop flags after each trip."""
    tree = ast.parse(ast.unparse(gast.gast_to_ast(_obeying(function))).replace("#", "_"))
    return ast.unparse(tree)


def _obeying(function):
    tree = gast.gast_to_ast(function)
    loops = [n for n in gast.walk(function) if isinstance(n, gast.For)]
    copies = [n for n in ast.walk(tree) if isinstance(n, ast.For)]
    for loop, copy in zip(loops, copies, strict=True):
        # A nested function keeps its jumps: its loops have no flags.
        for flag in getattr(loop, "stop_flags", ()):
            copy.body.append(ast.If(ast.Name(flag, ast.Load()), [ast.Break()], []))
    return gast.ast_to_gast(ast.fix_missing_locations(tree))


def behaviour(source, bits):
    """The questions a function asks, in order, and how it ends, when they are answered by `bits`."""
    events, answers = [], iter(bits)

    def ask(k):
        events.append(k)
        return next(answers)

    namespace = {"ask": ask}
    exec(compile(source, "<test>", "exec"), namespace)
    try:
        return events, "returned", namespace["f"]()
    except (StopIteration, KeyError, UnboundLocalError) as error:
        return events, type(error).__name__, None


def statements(function):
    """All statements of the function, not those of functions inside it."""
    todo = list(function.body)
    while todo:
        stmt = todo.pop()
        yield stmt
        if not isinstance(stmt, gast.FunctionDef):
            for part in ("body", "orelse"):
                todo += getattr(stmt, part, [])


def check_form(function):
    returns = [s for s in statements(function) if isinstance(s, gast.Return)]
    assert not returns or returns == [function.body[-1]]
    for stmt in statements(function):
        assert not isinstance(stmt, gast.Break | gast.Continue)
        if isinstance(stmt, gast.For | gast.While):
            assert stmt.orelse == []
            assert isinstance(stmt.stop_flags, tuple)
        if hasattr(stmt, "body"):
            assert stmt.body
        for node in gast.walk(stmt):
            if isinstance(node, gast.expr | gast.stmt):
                assert node.lineno >= 1


def size(function):
    return sum(1 for _ in gast.walk(function))


def depth(stmts):
    arms = [getattr(s, part, []) for s in stmts for part in ("body", "orelse")]
    return 1 + max((depth(a) for a in arms if a), default=0)


# -- random programs --------------------------------------------------------------------------------------


@st.composite
def programs(draw):
    counter = iter(range(10_000))

    def block(level, in_loop, margin):
        pad = "    " * margin
        lines = []
        for _ in range(draw(st.integers(1, 3))):
            kinds = ["ask", "set", "return", "raise", "bare"]
            kinds += ["break", "continue"] * 2 if in_loop else []
            kinds += ["if", "if", "ifelse", "elif", "for", "while", "forever", "with"] * 2 if level else []
            kind = draw(st.sampled_from(kinds))
            n = next(counter)

            def inner(loop=in_loop):
                return block(level - 1, loop, margin + 1)

            match kind:
                case "ask":
                    lines.append(f"{pad}ask({n})")
                case "set":
                    lines.append(f"{pad}x = x + [{n}]")
                case "return":
                    lines.append(f"{pad}return ({n}, x, ask({n}))")
                case "bare":
                    lines.append(f"{pad}return")
                case "raise":
                    lines.append(f"{pad}raise KeyError({n})")
                case "break" | "continue":
                    lines.append(pad + kind)
                case "if":
                    lines += [f"{pad}if ask({n}):", *inner()]
                case "ifelse":
                    lines += [f"{pad}if ask({n}):", *inner(), f"{pad}else:", *inner()]
                case "elif":
                    lines += [f"{pad}if ask({n}):", *inner(), f"{pad}elif ask(-{n}):", *inner()]
                case "with":
                    lines += [f"{pad}with __import__('contextlib').nullcontext(ask({n})):", *inner()]
                case _:
                    heads = {"for": f"for i{n} in range(3):", "while": f"while ask({n}):", "forever": "while True:"}
                    start = [f"{pad}    ask({n})"] if kind == "forever" else []
                    lines += [pad + heads[kind], *start, *inner(True)]
                    if draw(st.booleans()):
                        lines += [f"{pad}else:", *inner()]
        return lines

    return "\n".join(["def f():", "    x = []", *block(3, False, 1)])


ANSWERS = st.lists(st.lists(st.booleans(), min_size=4, max_size=40), min_size=6, max_size=6)


@settings(max_examples=part(300), deadline=None)
@given(programs(), ANSWERS, st.sampled_from([0, 1, 20]))
def test_random_programs_behave_as_written(source, answers, nesting):
    """`nesting` is where guards begin to stand one after the other instead of inside each other."""
    function = parse(source)
    before = gast.dump(function, include_attributes=True)
    with mock.patch.object(jumps, "_NESTING", nesting):
        result = remove_jumps(function)
    assert gast.dump(function, include_attributes=True) == before
    check_form(result)
    assert size(result) < 6 * size(function) + 40
    rewritten = runnable(result)
    for bits in answers:
        assert behaviour(rewritten, bits) == behaviour(source, bits), rewritten


# -- hand cases -------------------------------------------------------------------------------------------

KEPT = {
    "one trailing return": "def f(x):\n    'doc'\n    y = x\n    return y",
    "no return": "def f(x):\n    print(x)",
    "lone raise": "def f(x):\n    if x:\n        raise KeyError\n    return x",
    "nested function": "def f(x):\n    def g(y):\n        while y:\n            break\n        return y\n    return g",
}


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT.keys())
def test_functions_without_jumps_stay_as_written(source):
    function = parse(source)
    assert gast.dump(remove_jumps(function), include_attributes=True) == gast.dump(function, include_attributes=True)


def test_lambda_is_returned_unchanged():
    node = gast.parse("lambda x: x").body[0].value
    assert remove_jumps(node) is node


CASES = {
    "early return": (
        """
        def f(c, a):
            if c:
                return a
            b = a
            return b
        """,
        """
        def f(c, a):
            if c:
                return_value = a
            else:
                b = a
                return_value = b
            return return_value
        """,
    ),
    "else leaves, end falls off": (
        """
        def f(c):
            if c:
                g()
            else:
                return 1
            h()
        """,
        """
        def f(c):
            if c:
                g()
                h()
                return_value = None
            else:
                return_value = 1
            return return_value
        """,
    ),
    "half return": (
        """
        def f(a, b):
            if a:
                if b:
                    return 1
            g()
            return 2
        """,
        """
        def f(a, b):
            ret_1 = False
            if a:
                if b:
                    return_value = 1
                    ret_1 = True
            if not ret_1:
                g()
                return_value = 2
            return return_value
        """,
    ),
    "continue needs no flag": (
        """
        def f(xs):
            for x in xs:
                if x:
                    continue
                g(x)
        """,
        """
        def f(xs):
            for x in xs:
                if x:
                    pass
                else:
                    g(x)
        """,
    ),
    "continue with flag": (
        """
        def f(xs):
            for x in xs:
                if x:
                    if g(x):
                        continue
                h(x)
        """,
        """
        def f(xs):
            for x in xs:
                cont_1 = False
                if x:
                    if g(x):
                        cont_1 = True
                if not cont_1:
                    h(x)
        """,
    ),
    "break and else": (
        """
        def f(x):
            while p(x):
                if x:
                    break
                x = g(x)
            else:
                h()
            return x
        """,
        """
        def f(x):
            brk_1 = False
            while not brk_1 and p(x):
                if x:
                    brk_1 = True
                else:
                    x = g(x)
            if not brk_1:
                h()
            return x
        """,
    ),
    "else without break": (
        """
        def f(xs):
            for x in xs:
                g(x)
            else:
                h()
        """,
        """
        def f(xs):
            for x in xs:
                g(x)
            h()
        """,
    ),
    "return ends both loops": (
        """
        def f(xs, n):
            for x in xs:
                while n:
                    if p(x):
                        return x
                    n = g(n)
            return 0
        """,
        """
        def f(xs, n):
            ret_1 = False
            for x in xs:
                while not ret_1 and n:
                    if p(x):
                        return_value = x
                        ret_1 = True
                    else:
                        n = g(n)
                if ret_1:
                    break
            if not ret_1:
                return_value = 0
            return return_value
        """,
    ),
    "endless loop": (
        """
        def f(n):
            while True:
                n = g(n)
                if n:
                    return n
            h()
        """,
        """
        def f(n):
            ret_1 = False
            while not ret_1:
                n = g(n)
                if n:
                    return_value = n
                    ret_1 = True
            return return_value
        """,
    ),
    "raise takes the rest along": (
        """
        def f(c):
            if c:
                y = 1
            else:
                raise KeyError(c)
            return y
        """,
        """
        def f(c):
            if c:
                y = 1
                return_value = y
            else:
                raise KeyError(c)
            return return_value
        """,
    ),
    "unreachable is dropped": (
        """
        def f(c):
            for i in c:
                break
                g(i)
            return 1
            h()
        """,
        """
        def f(c):
            brk_1 = False
            for i in c:
                brk_1 = True
                if brk_1:
                    break
            return_value = 1
            return return_value
        """,
    ),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES.keys())
def test_shape_of_result(source, expected):
    result = remove_jumps(parse(source))
    check_form(result)
    assert runnable(result) == ast.unparse(ast.parse(textwrap.dedent(expected)))


def test_flags_stand_where_the_jumps_stand():
    result = remove_jumps(
        parse(
            """
            def f(xs):
                for x in xs:
                    if x:
                        break
            """
        )
    )
    init, loop = result.body
    (flag,) = loop.body[0].body
    assert (flag.targets[0].id, flag.value.value, flag.lineno, flag.col_offset) == ("brk#1", True, 5, 12)
    assert (init.value.value, init.lineno) == (False, 3)
    assert loop.stop_flags == ("brk#1",)


def test_refused_syntax_is_left_alone():
    source = """
    def f(x):
        if x:
            try:
                return 1
            except KeyError:
                pass
        return 2
    """
    result = remove_jumps(parse(source))
    assert isinstance(result.body[0].body[0], gast.Try)


# -- size and time ----------------------------------------------------------------------------------------


def half_returning(n, pattern):
    return parse(
        "def f(x):\n" + "".join(textwrap.indent(pattern.format(i=i), "    ") for i in range(n)) + "    return x"
    )


PATTERNS = {
    "if return": "if x > {i}:\n    return x + {i}\n",
    "half return": "if x > {i}:\n    if x < {i}:\n        return x + {i}\n",
    "loop return": "for i in x:\n    if i > {i}:\n        return i\n",
    "raise": "if x > {i}:\n    g(x)\nelse:\n    raise KeyError({i})\n",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
def test_size_is_linear_and_nesting_bounded(pattern):
    results = [remove_jumps(half_returning(n, pattern)) for n in (12, 100, 200, 400)]
    sizes = [size(r) for r in results]
    assert sizes[0] < 500
    assert sizes[3] - sizes[2] == 2 * (sizes[2] - sizes[1])
    assert depth(results[3].body) <= 30
    check_form(results[3])


def unbound_reads(stmts, bound):
    """Names read where no statement before, on every path, has given them a value."""
    found = set()
    for stmt in stmts:
        if isinstance(stmt, gast.If):
            found |= names(stmt.test, gast.Load) - bound
            arms = [set(bound), set(bound)]
            found |= unbound_reads(stmt.body, arms[0]) | unbound_reads(stmt.orelse, arms[1])
            bound |= arms[0] & arms[1]
        else:
            found |= names(stmt, gast.Load) - bound
            bound |= names(stmt, gast.Store)
    return found


def names(node, context):
    return {n.id for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, context)}


@pytest.mark.parametrize("n", [5, 60])
def test_a_variable_never_crosses_a_guard(n):
    """Put after a guard, a read of a variable set under the same guard would look unbound to a join."""
    source = "def f(v0):\n" + "".join(
        f"    if v{i} > 1:\n        if v{i} > 2:\n            return v{i}\n    v{i + 1} = v{i} * 2\n" for i in range(n)
    )
    result = remove_jumps(parse(source + f"    return v{n}"))
    assert unbound_reads(result.body[:-1], {"v0"}) == set()
    assert size(result) <= size(parse(source)) * 3


def test_twice_the_statements_take_twice_the_work():
    once, twice = (half_returning(n, PATTERNS["half return"]) for n in (200, 400))
    assert calls_in(lambda: remove_jumps(twice)) < 2.3 * calls_in(lambda: remove_jumps(once))
