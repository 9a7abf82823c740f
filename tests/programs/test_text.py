"""Text made at run time: whatever eager mode prints or raises, compiled code prints or raises."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import typing
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from autodiff_compiler.errors import StaticValueError
from tests.programs.compare import define, roundtrip

X = np.array([1.25, -2.5, 30.0], np.float32)


class Pair(typing.NamedTuple):
    first: object
    second: int


@dataclasses.dataclass(frozen=True)
class Point:
    x: object
    y: str = "up"


class Shown:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"<{self.value}>"

    def __repr__(self):
        return "Shown(" + repr(self.value) + ")"

    def __format__(self, spec):
        return f"{self.value!s:{spec}}"


def printed(fn, capsys, *args):
    """What the function prints: to stdout and to stderr."""
    capsys.readouterr()
    fn(*args)
    return capsys.readouterr()


def assert_prints_the_same(fn, capsys, *args):
    eager = printed(fn, capsys, *args)
    compiled = ms.jit(fn)
    assert printed(compiled, capsys, *args) == eager
    roundtrip(compiled.lower(*args))
    return eager.out


EXPRESSIONS = """
    x; s; n; r; b; -n; r / 3; [x]; (x,); (s, [n, (r, b)]); {"a": x, 2: [s]}; {}; [[], (), {"k": ()}]; [None, "q", n]
    pair(x, n); point(s); shown; [shown]; {"s": shown}; dict(a=n); list(x); tuple(x[:2]); [1, 2.5, True, n]
    f"{n}"; f"{n:5d}|{n:<5}|{n:^5}|{n:05}|{n:+}|{n:x}|{n:b}|{n:,}"; f"{r:.3f} {r:10.2e} {r:g} {r:%}"; f"{b} {b!r} {b:5}"
    f"{x} {x!r} {x!s} {x!a}"; f"{s} {s!r} {s:.2f} {s:>12.3f}"; f"{n=} {r=:.1f} {x=} {s = }"; f"{{}} {n} {{{n}}}"
    f"{r:{n}.{k}f}|{n:{w}}|{n:>{n}}"; f"{b!r:>10}|{str(n):>6}|{n!s:<6}|{x!s:>40}"; f"{f'{n}-{r}':>{12}}"; f"{n!r:^{k}}"
    f"{[x, n]}"; f"{[n]!r:>10}"; f"{(n, r)!s}"; f"{shown} {shown!r} {shown:>40}"; f"{point(n)} {pair(n, 1)}"; f"{'é'}{n}"
    "%d %i %5d|%-5d|%05d|%+d|% d|%x|%o|%X" % (n, n, n, n, n, n, n, n, n, n); "%s %r %a" % (x, x, x); "%d" % n; "%s" % s
    "%f %.2f %8.3f|%-9.1e|%g|%G|%E" % (r, r, r, r, r, r, s); "%d %f" % (s, n); "%5s|%-8s|%.2s" % (n, r, r); "%d%%" % n
    "%*d" % (7, n); "%(a)d %(b)s" % {"a": n, "b": x}; "%s" % shown; "%s" % [x]; "%s" % (pair(n, 2),); "%d" % r; "%i" % b
    "{} {}".format(n, x); "{1} {0}".format(n, r); "{a:.2f} {b!r}".format(a=r, b=s); "{:>{}}".format(n, 8); "{x[0]}".format(x=[n])
    "{0.first} {0.second:>4} {1[a]}".format(pair(n, 3), {"a": r}); "{:{w}.{k}f}".format(r, w=n, k=2); "{}".format(point(x))
    str(n); str(x) + " and " + repr(x); repr(r); format(r, ".2f"); format(x); format(s, "+.1f"); ascii(["é", n]); str([x]) + "!"
    ", ".join([str(n), "a", str(r)]); "".join([str(i) for i in [n, n + 1]]); "-".join(str(v) for v in (n, r, s)); "a" + str(n)
    {1, 2}; {3} | {1, 2}; [{"a"}]; f"{set()} {k} { {1, 2} }"; str({1}); {"a": n}.keys(); {"a": n, 2: x}.items(); [{1: s}.values()]
    str(); str("q") + str(b); repr([str(n), "x"]); f"{str(n)!r}"; [str(n)]; {"k": f"{n}"}; f"{[f'{n}']}"
"""  # noqa: E501


@pytest.mark.parametrize("line", [line.strip() for line in EXPRESSIONS.splitlines() if line.strip()])
def test_what_is_printed(line, capsys):
    body = "".join(f"    print({e.strip()}, end='|')\n    print({e.strip()})\n" for e in line.split(";"))
    setup = "s = x.sum(); n = int(s) - 20; r = float(x[0]) * 1.1; b = bool(n > 3); k = 2; w = 9"
    f = define(f"def f(x):\n    {setup}\n{body}", pair=Pair, point=Point, shown=Shown(ms.Tensor(X * 2)))
    out = assert_prints_the_same(f, capsys, ms.Tensor(X))
    assert len(out) > len(line.split(";"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int32", "uint8", "bool_"])
@pytest.mark.parametrize("value", [0.1, [0.1, 1.75, 3.0], [[1.0, 200.5]] * 9, [], [[[1.0], [7.0]]]])
def test_every_dtype_and_shape(dtype, value, capsys):
    def f(t):
        print(t, [t], f"{t} {t!r}", t + t, sep="\n")
        if t.ndim == 0:
            print(t.item(), [t.item()])
        if t.size == 1:
            print(f"{t:.3f}")

    assert_prints_the_same(f, capsys, ms.Tensor(np.array(value)).astype(getattr(ms, dtype)))


def test_separators_ends_and_streams(capsys):
    def f(x, sep):
        n = int(x[0])
        print(n, x, sep="", end="")
        print(n, x, sep=sep, end="\n\n")
        print(n, x, sep=None, end=None, flush=True)
        print("err", n, file=sys.stderr)
        print("out", n, file=sys.stdout)
        print()
        print(end="")
        print(*[n, x, "q"], **{"sep": "\t"})
        ops.print_("p", x, n)
        ops.Print()("P", x)

    assert_prints_the_same(f, capsys, ms.Tensor(X), "<>")
    assert printed(ms.jit(f), capsys, ms.Tensor(X), "<>").err == "err 1\n"


def test_text_is_of_the_moment_it_was_made(capsys):
    def f(x):
        t = x * 1
        text, kept = f"{t}", [t, str(t)]
        t[0] = 7
        print(text, t, kept)

    out = assert_prints_the_same(f, capsys, ms.Tensor(X))
    assert out.startswith("[ 1.25 -2.5  30.  ] [ 7.  ")


def test_text_in_branches_loops_and_functions(capsys):
    def label(x):
        return f"<{float(x[0]):.1f}>"

    def f(x):
        text = f"{float(x[1])}" if x[0] > 0 else f"{float(x[0])}"
        print(text)
        for i in range(20):
            x = x + 1
            line = f"{i}: {label(x)} {x.sum()}"
            if i % 7 == int(x[0]) % 7:
                print(line)
        n = 0
        while x.sum() > 0:
            x = x - 10
            n = n + 1
            print("down", n, x, f"{n:03d}")
        if x[0] < 0:
            why = f"negative {x[0]}"
        else:
            raise ValueError(f"positive {x}")
        print(why)

    assert_prints_the_same(f, capsys, ms.Tensor(X))


def test_a_parameter_prints_as_such(capsys):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
            self.weights = ms.ParameterTuple([self.w])

        def construct(self, x):
            print(self.w, [self.w], f"{self.w!r}", self.w + x, self.weights)
            return x

    net = Net()
    assert_prints_the_same(lambda x: net(x), capsys, ms.Tensor([1.0, 2.0]))


def test_forward_prints_once_under_grad(capsys):
    def f(x):
        y = x * x
        print("forward", y, f"{float(y.sum()):.2f}")
        return y.sum()

    x = ms.Tensor([1.0, 2.0])
    out = assert_prints_the_same(lambda x: ms.grad(f)(x), capsys, x)
    assert out == "forward [1. 4.] 5.00\n"
    assert_prints_the_same(lambda x: ms.grad(lambda x: ms.grad(f)(x).sum())(x), capsys, x)
    assert printed(ms.grad(ms.jit(f)), capsys, x).out == out
    assert printed(ms.grad(lambda x: ms.grad(ms.jit(f))(x).sum()), capsys, x).out == out


def test_arrays_of_numpy(capsys):
    def f(x):
        a = x.asnumpy()
        print(a, [a], f"{a} {a!r}", a.sum(), [a.sum()], f"{a.sum():.2f}", str(a))

    assert_prints_the_same(f, capsys, ms.Tensor(X))


@pytest.mark.parametrize(
    "expression",
    [
        "f'{n:q}'",
        "f'{x:.2f}'",
        "'%d' % x",
        "'%q' % n",
        "'{} {}'.format(n)",
        "'%s %s' % n",
        "f'{b:.2q}'",
        "'%d' % (n, n)",
    ],
)
def test_formats_that_python_refuses(expression, capsys):
    f = define(f"def f(x):\n    n = int(x[0]); b = bool(n)\n    print('first')\n    return {expression}")
    with pytest.raises((ValueError, TypeError, IndexError)) as eager:
        printed(f, capsys, ms.Tensor(X))
    capsys.readouterr()
    with pytest.raises(eager.type) as compiled:
        printed(ms.jit(f), capsys, ms.Tensor(X))
    assert capsys.readouterr().out == "first\n"
    assert str(compiled.value) == str(eager.value)


class Named:
    """A class with a text and no `__format__`."""

    def __repr__(self):
        return "Named"


def test_an_object_without_format_takes_no_specification():
    named = Named()

    def f(x, spec):
        return f"{named:{spec}}" == "Named"

    for g in (f, ms.jit(f)):
        assert g(1.0, "")
        with pytest.raises(TypeError, match=r"unsupported format string passed to Named.__format__"):
            g(1.0, "7")


@pytest.mark.parametrize(
    "use",
    [
        "return t", "return [t]", "return len(t)", "return t == 'a'", "return t in ('a',)", "return 'a' in t",
        "return t[0]", "return t.upper()", "return {t: 1}", "return t * 2", "return 1 if t else 2",
        "return getattr(x, t)", "return int(t)", "return list(t)", "return {'a': x}[t]", "return t + 1",
        "return print('a', sep=t)",
        "return ops.cast(x, t)", "return t.join(['a', 'b'])", "return t % 3", "return sorted([t])",
    ],
)  # fmt: skip
def test_what_text_made_at_run_time_cannot_do(use):
    f = define(f"def f(x):\n    t = str(int(x[0]))\n    {use}", ops=ops)
    with pytest.raises((StaticValueError, TypeError)) as caught:
        ms.jit(f)(ms.Tensor(X))
    assert getattr(caught.value, "code", "AC1302") == "AC1302"


def test_different_texts_at_a_join():
    f = define("def f(x):\n    t = f'{x} a' if x[0] > 0 else f'b {x}'\n    print(t)")
    with pytest.raises(ms.CompileError, match="AC1405"):
        ms.jit(f)(ms.Tensor(X))


def test_other_files_are_refused(tmp_path):
    with open(tmp_path / "out", "w") as file, pytest.raises(ms.CompileError, match="AC1807"):
        ms.jit(lambda x: print(x, file=file))(ms.Tensor(X))


def test_a_saved_program_prints_by_itself(tmp_path, capsys, numpy_backend):
    def f(x):
        n = int(x[0])
        print(f"{n:>4}|{x}|{x.sum():.2f}", [x, n], x, file=sys.stderr)
        assert x[1] < 0, f"at {n}: {x}"

    expected = printed(f, capsys, ms.Tensor(X)).err
    ms.jit(f).lower(ms.Tensor(X)).save(tmp_path / "f.py")
    call = "import numpy as np, f; f.f(np.array([1.25, -2.5, 30], np.float32)); f.f(np.array([1, 2, 3], np.float32))"
    run = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, cwd=tmp_path, check=False)
    second = printed(lambda x: print(f"{1:>4}|{x}|6.00", [x, 1], x), capsys, ms.Tensor(np.array([1, 2, 3], np.float32)))
    assert run.stderr.startswith(expected + second.out)
    assert run.stderr.endswith("AssertionError: at 1: [1. 2. 3.]\n")


# ------------------------------------------------------------------------------------------------ warnings
def test_warnings(capsys):
    def g(x, level):
        warnings.warn(f"sum {x.sum()}", stacklevel=level)
        warnings.warn(RuntimeWarning(f"{int(x[0])}"), stacklevel=1)
        warnings.warn("plain", DeprecationWarning, stacklevel=level)

    def f(x, level):
        for i in range(12):
            if i % 5 == 2:
                g(x + i, level)

    def seen(fn, level, action):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter(action)
            fn(ms.Tensor(X), level)
        return [(str(w.message), w.category, w.filename, w.lineno) for w in found]

    for level in (1, 2, 3):
        for action in ("always", "default"):
            assert seen(ms.jit(f), level, action) == seen(f, level, action), (level, action)


def test_a_warning_can_be_an_error():
    def f(x):
        warnings.warn(f"sum {x.sum()}", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"sum 28\.75"):
            ms.jit(f)(ms.Tensor(X))


def test_keys_of_a_display_come_before_their_values(capsys):
    f = define("""
def said(what, value):
    print(what)
    return value

def f(x):
    d = {said('key', 'a'): said('value', x), **said('rest', {'b': x * 2}), said('last', 'c'): x}
    return d['a'] + d['b'] + d['c']
""")
    assert assert_prints_the_same(f, capsys, ms.Tensor([1.0])) == "key\nvalue\nrest\nlast\n"


@pytest.mark.parametrize("look", ["d.get(key, 1.0)", "d.setdefault(key, 1.0)", "d.pop(key, 1.0)", "dict([(key, 5.0)])"])
def test_a_text_of_run_time_is_no_key(look):
    """A dict that is looked into while compiling must not miss what it has."""
    f = define(f"""
def f(x):
    d, key = {{'3': 2.0}}, f"{{x.sum().item():.0f}}"
    return x, {look}
""")
    with pytest.raises(StaticValueError, match="a dictionary key must be known at compile time"):
        ms.jit(f)(ms.Tensor([1.0, 2.0]))
