"""Lists, dicts, sets and plain objects from outside that compiled code changes: left as eager code leaves them."""

from __future__ import annotations

import collections
import dataclasses
import threading
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors, nn

from .compare import assert_close, define
from .places import Net, Plain, X, described, outside

# Bodies of `f(x)`.
PROGRAMS = {
    "item": "D['last'] = x * 2.0\nreturn D['last'] + 1.0",
    "item of the argument": "D['z'] = x\nD['y'] = x\nreturn D['z'] * 1.0",
    "counter": "D['n'] = D['n'] + 1\nD['n'] += 1\nreturn x * D['n']",
    "item then alias": "d = D\nd['a'] = x\nreturn D['a'] * 2.0, len(d), list(D)",
    "delete": "D['q'] = 1\ndel D['q']\nD['z'] = D['z'] + x\nreturn D['z']",
    "delete and insert again": "v = D['n']\ndel D['n']\nD['n'] = v\nreturn x",
    "update": "D.update(a=x, n=3)\nD.update({'b': x * 2.0})\nreturn D['a'] + D['b']",
    "pop": "D['t'] = x\ny = D.pop('t')\nreturn y * D.pop('missing', 2.0)",
    "setdefault": "y = D.setdefault('s', x * 3.0)\nz = D.setdefault('z', x)\nreturn y + z",
    "clear": "D.clear()\nD['only'] = x\nreturn x * len(D)",
    "append": "H.append(x * 2.0)\nH.append(3)\nreturn x",
    "append and read": "H.append(x)\nreturn H[-1] * len(H)",
    "extend": "H.extend([x, x * 2.0])\nH.extend((1, 'a', None))\nreturn x",
    "iadd": "h = H\nh += [x]\nreturn x",
    "append in a loop": "for i in range(12):\n    H.append(x * i)\nreturn x",
    "append a tuple, a list and a dict": "l = [x]\nH.append((x, l))\nH.append(l)\nH.append({'a': l})\nreturn l",
    "insert pop remove": "I.insert(0, 9)\na = I.pop()\nI.remove(9)\nI.append(a)\nreturn x * a, I[0]",
    "sort and reverse": "I.sort()\nI.reverse()\nreturn x * I[0]",
    "list item": "L[0] = L[0] + x\nL[1] += 1\nL[-1] = L[-1] * 2.0\nreturn L[0] * L[1] + L[2]",
    "slice": "L[1:] = [x, x * 2.0]\nreturn L[1] + L[2]",
    "list delete": "L.append(x)\ndel L[1]\nreturn L[0] * len(L)",
    "list cleared": "L.clear()\nreturn x * (len(L) + 1)",
    "element of an element": "L[0][1] = 7.0\nL.append(L[0])\nreturn L[0] * 1.0",
    "two names of one list": "L.append(x)\nreturn A[-1] * len(A), len(L)",
    "inside of others": "N['l'].append(x)\nN['k'].append(x * 2.0)\nN['d']['a'] += 1\nreturn L[-1] + N['d']['a']",
    "held by a tuple": "N['t'][0][1] = 5\nreturn x * L[1]",
    "objects": "H.append(o)\nD['o'] = slots\nD['p'] = (o, x)\nH[0].n += 1\nreturn x * D['p'][0].n",
    "moved": "N['other'] = N['k']\nN['k'].append(x)\nreturn x",
    "set": "S.add(3)\nS.discard(1)\nreturn x * len(S)",
    "set by operators": "s = S\ns |= {5, 6}\ns -= {2}\nreturn x * len(S)",
    "plain attribute": "o.z = x * 2.0\no.fresh = x\nreturn o.z * o.fresh",
    "plain counter": "o.n += 1\no.total += 2\nreturn x * o.n + o.total",
    "plain float and text": "o.rate *= 0.5\no.tag = 'a' + str(2)\nreturn x * o.rate",
    "plain deleted": "o.q = x\ndel o.q\no.r = 1\nreturn x * hasattr(o, 'q')",
    "plain by setattr": "setattr(o, 'z', x)\nreturn getattr(o, 'z') * 2.0",
    "property": "o.level = 4\nreturn x * o.level",
    "method": "a = o.count(2)\nreturn x * o.count(a)",
    "list of an object": "o.items.append(x)\no.items += [o.n]\nreturn x",
    "slots": "slots.b = x * slots.a\nslots.a += 1.0\nreturn slots.b * slots.a",
    "own __setattr__": "watching.a = x\nprint('between')\nwatching.b = 2\nreturn watching._a * watching._b",
    "dataclass": "data.n += 1\ndata.last = x\ndata.seen.append(data.n)\nreturn data.last * data.n",
    "namespace": "space.n += 1\nspace.v = x\nreturn space.v * space.n",
    "one object twice": "twin[0].n += 1\nreturn x * twin[1].n",
    "containers of a Cell": """net.log.append(x.sum())
net.log += [x]
net.cache['k'].append(x)
net.cache['n'] += 1
return x * net.cache['n'] * net.w""",
    "branch": """if x.sum() > 0:
    D['z'] = x * 2.0
    D['n'] += 1
    o.rate = o.rate * 0.5
else:
    D['z'] = D['z'] - 1.0
    o.n += 1
return D['z'] * D['n'] + o.n""",
    "branch on one path": "if x.sum() > 0:\n    D['z'] = x\n    I[0] = 7\nreturn D['z'] * I[0]",
    "append on both paths": "if x.sum() > 0:\n    H.append(x)\nelse:\n    H.append(x * 2.0)\nreturn x",
    "early return": "D['n'] += 1\nif x[0] > 0:\n    D['z'] = x * 3.0\n    return x\nD['z'] = x\nreturn x * 2.0",
    "for": "for i in range(20):\n    D['z'] = D['z'] * 0.5 + x * i\n    D['n'] += i\n    o.n += 1\nreturn D['z'] * o.n",
    "while": "while D['z'].sum() < 40:\n    D['z'] = D['z'] + x * x\n    D['n'] += 1\nreturn x * D['n']",
    "order with prints": "print('n', D['n'])\nD['n'] += 1\nprint('n', D['n'])\nH.append(x)\nprint(len(H))\nreturn x",
    "in a function": "def g(d, v):\n    d['n'] += 1\n    d['v'] = v\n    return v * d['n']\nreturn g(D, x) + g(D, x)",
    "comprehension": "[H.append(x * i) for i in range(3)]\nreturn x",
    "in a differentiated function": """def loss(v):
    D['n'] += 1
    D['z'] = v * v
    H.append(v * 2.0)
    o.z = v * D['n']
    return (D['z'] * v).sum()
d = ms.grad(loss)(x)
return d + D['z'] * D['n'] + o.z""",
    "in a twice differentiated function": """def loss(v):
    H.append(v * v)
    D['n'] += 1
    return (v * v * v).sum()
return ms.grad(lambda v: (ms.grad(loss)(v) * v).sum())(x) * D['n']""",
    "under jvp": """def g(v):
    H.append(v * 2.0)
    D['z'] = v * v
    return D['z'] * v
return ms.jvp(g, (x,), (x * 0.5,))""",
}  # fmt: skip
#: Programs whose containers are other ones at later calls, or hold another constant, in ways that matter.
COMPILED_ONCE = (
    *("counter", "append", "extend", "iadd", "append in a loop", "list item", "own __setattr__", "plain counter"),
    *("set", "for", "while", "branch", "method", "one object twice", "list of an object", "sort and reverse"),
)


def program(name, places):
    body = "\n".join("    " + line for line in PROGRAMS[name].splitlines())
    return define(f"def f(x):\n{body}\n", **places)


def run(name, make, capsys, times=4):
    places = outside()
    kept = list(places.values())  # so that no id is used again
    call, found = make(program(name, places)), []
    for k in range(times):
        x = ms.Tensor(X * (1 if k % 2 == 0 else -1))
        kept.append(x)
        result = call(x)
        kept.append(result)
        found.append((described([x, result, places], {}), capsys.readouterr().out))
    return found


HOW = {"jit": {}, "O0": {"optimize": 0}, "O1": {"optimize": 1}, "numpy": {"backend": "numpy"}}


@pytest.mark.some(4)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_code_leaves_what_eager_code_leaves(name, how, capsys):
    expected = run(name, lambda f: f, capsys)
    for k, (found, wanted) in enumerate(zip(run(name, lambda f: ms.jit(f, **HOW[how]), capsys), expected, strict=True)):
        assert found == wanted, k


@pytest.mark.some(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name, capsys):
    """Of the result and of what is left outside: eager, around a compiled call, all compiled."""

    def gradients(inner, outer):
        places = outside()
        call = inner(program(name, places))

        def loss(x):
            out = call(x * 1.0)
            total = sum(
                [(t * t).sum() for t in (out if isinstance(out, tuple | list) else (out,)) if isinstance(t, ms.Tensor)]
            )
            return total + (places["D"]["z"] * x).sum() if "z" in places["D"] else total

        def second(x):
            return (ms.grad(loss)(x) * x).sum()

        return [outer(ms.grad(f))(ms.Tensor(X)) for f in (loss, second)]

    eager = gradients(lambda f: f, lambda f: f)
    for inner, outer in ((ms.jit, lambda f: f), (lambda f: f, ms.jit)):
        for a, b in zip(gradients(inner, outer), eager, strict=True):
            assert_close(a, b, name, 1e-12)


@pytest.mark.parametrize("name", COMPILED_ONCE)
def test_state_that_changes_does_not_compile_again(name):
    f = ms.jit(program(name, outside()))
    for _ in range(6):
        f(ms.Tensor(X))
    assert f.cache_info()["compiles"] <= 2


@pytest.mark.parametrize(
    "form", [ms.grad, lambda f: lambda x: ms.jvp(f, (x,), (x,)), lambda f: lambda x: ms.vjp(f, x)[0]]
)
def test_what_stands_beside_a_change_stays_that_very_object(form):
    places = outside()
    N = places["N"]
    before = [N["k"], N["d"], N["l"], N["t"], N["t"][0]]

    def loss(x):
        N["e"] = {"a": x * 2.0}
        return (x * x).sum()

    for _ in range(2):
        ms.jit(form(loss))(ms.Tensor(X))
        assert all(a is b for a, b in zip(before, [N["k"], N["d"], N["l"], N["t"], N["t"][0]], strict=True))
        assert N["e"]["a"].tolist() == (X * 2).tolist()


# ---------------------------------------------------------------------------------------------------- guards
def test_changes_from_outside_are_seen():
    D, o = {"n": 0, "k": 2}, Plain()

    def f(x):
        D["n"] += 1
        o.n += 1
        return x * D["n"] * D["k"] * o.n * o.rate

    compiled = ms.jit(f)
    compiled(ms.Tensor(X))
    for change in (
        lambda: D.update(n=10),
        lambda: D.update(k=5),
        lambda: D.update(n=0.5),
        lambda: setattr(o, "n", 7),
        lambda: setattr(o, "rate", 3.0),
        lambda: D.pop("k") and D.update(k=1),
    ):
        change()
        n, k, m, rate = D["n"], D["k"], o.n, o.rate
        assert_close(compiled(ms.Tensor(X)), ms.Tensor(X * (n + 1) * k * (m + 1) * rate), "result", 1e-12)


def test_another_list_in_its_place_is_changed_then():
    net = Net()
    compiled = ms.jit(lambda x: net.log.append(x) or x * 1.0)
    for _ in range(5):
        old, net.log = net.log, []
        compiled(ms.Tensor(X))
        assert len(net.log) == 1
    assert len(old) == 1
    assert compiled.cache_info()["compiles"] == 1


def test_a_container_that_is_replaced_by_an_equal_one_is_kept():
    D = {"k": [1, 2], "t": ([3],), "n": 0}

    def f(x):
        D["n"] += 1
        return x * D["k"][0]

    compiled = ms.jit(f)
    for _ in range(3):
        D["k"], D["t"] = [1, 2], ([3],)
        kept = D["k"], D["t"]
        compiled(ms.Tensor(X))
        assert (D["k"], D["t"]) == kept
        assert D["k"] is kept[0]
        assert D["t"] is kept[1]


def test_lists_that_become_one_list():
    A, B = [1], [1]
    f = define("def f(x):\n    A.append(2)\n    return x * len(B)\n", A=A, B=B)
    compiled = ms.jit(f)
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X), "apart", 0)
    f.__globals__["B"] = A
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X * 3), "one", 0)
    f.__globals__["A"] = [1]
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X * 3), "apart again", 0)
    assert f.__globals__["A"] == [1, 2]
    assert A == [1, 2, 2]


def test_two_changed_lists_that_become_one_list():
    f = define("def f(x):\n    A.append(2)\n    B.append(3)\n    return x * len(A)\n", A=[], B=[])
    compiled = ms.jit(f)
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X), "apart", 0)
    f.__globals__["A"] = f.__globals__["B"]
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X * 3), "one", 0)
    assert f.__globals__["B"] == [3, 2, 3]


def test_a_list_is_returned_as_itself():
    H = [1]
    compiled = ms.jit(define("def f(x):\n    H.append(x)\n    H.pop()\n    return H, x * 1.0\n", H=H))
    for _ in range(2):
        assert compiled(ms.Tensor(X))[0] is H
    assert H == [1]


def test_the_default_of_a_parameter():
    def f(x, seen=[]):
        seen.append(x)
        return x * len(seen)

    compiled = ms.jit(f)
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X), "first", 0)
    assert_close(compiled(ms.Tensor(X)), ms.Tensor(X * 2), "second", 0)


def test_threads_count_together():
    D = {"n": 0}
    compiled = ms.jit(define("def f(x):\n    D['n'] += 1\n    return x\n", D=D))
    compiled(ms.Tensor(X))
    threads = [threading.Thread(target=lambda: [compiled(ms.Tensor(X)) for _ in range(100)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert D["n"] == 401


@pytest.mark.parametrize("start", [2**63, -(2**63) - 1, 2**70])
@pytest.mark.parametrize("text", ["D['n'] += 1", "L[0] += 1", "o.n += 1", "o.t = (o.t[0] + 1, 2)"])
def test_a_counter_beyond_64_bits_is_an_error_that_names_it(text, start):
    """Also after a program was compiled for smaller ones; nothing is written."""
    D, L, o = {"n": start}, [start], types.SimpleNamespace(n=start, t=(start, 1))
    compiled = ms.jit(define(f"def f(x):\n    {text}\n    return x * 2.0\n", D=D, L=L, o=o))
    what = {"D": r"global D\['n'\]", "L": r"global L\[0\]"}.get(text[0], r"SimpleNamespace\.(n|t\[0\])")
    for _ in range(2):
        with pytest.raises(OverflowError, match=f"^{start} does not fit into 64 bits, .*: it is {what}, which"):
            compiled(ms.Tensor(X))
        assert (D, L, o.n, o.t) == ({"n": start}, [start], start, (start, 1))
    D["n"] = L[0] = o.n = 5
    o.t = (5, 1)
    compiled(ms.Tensor(X))
    D["n"] = L[0] = o.n = start
    o.t = (start, 1)
    with pytest.raises(OverflowError, match=f"^{start} does not fit into 64 bits"):
        compiled(ms.Tensor(X))


def test_what_changes_in_a_vectorised_function_is_pointed_at():
    """Also where the vectorised function is compiled itself, so that no line of the program says `vmap`."""
    H = []
    f = define("def f(x):\n    y = x * 2.0\n    H.append(y)\n    return y\n", H=H)
    for compiled in (ms.jit(ms.vmap(f)), ms.jit(lambda x: ms.vmap(f)(x))):
        with pytest.raises(ms.SideEffectError, match="AC1601") as caught:
            compiled(ms.Tensor(X))
        loc, note = caught.value.spans[0]
        assert (loc.line, loc.function, note) == (3, "f", "changed here")
        assert "H.append(y)" in str(caught.value)


# ---------------------------------------------------------------------------------------------------- derivatives
def test_a_gradient_goes_through_what_was_stored():
    """d/dx of x * x**2, where compiled code leaves x**2 in a list: 3 x**2."""
    H = []
    store = ms.jit(define("def f(x):\n    H.append(x * x)\n    return x\n", H=H))

    def loss(x):
        store(x)
        return (H[-1] * x).sum()

    assert_close(ms.grad(loss)(ms.Tensor(X)), ms.Tensor(3 * X**2), "gradient", 1e-12)


@pytest.mark.parametrize("how", ["recompute", "twice", "vmap outside"])
def test_it_is_written_once(how):
    class Storing(nn.Cell):
        def __init__(self):
            super().__init__()
            self.log = []

        def construct(self, x):
            self.log.append(x * 2.0)
            return ms.ops.tanh(x) * x

    net = Storing()
    if how == "recompute":
        net.recompute()
    first = ms.grad(lambda v: net(v).sum())
    call = first if how != "twice" else ms.grad(lambda v: (first(v) * v).sum())
    if how == "vmap outside":
        call = lambda v: ms.vmap(lambda e: e * 2.0)(v) + first(v)
    ms.jit(call)(ms.Tensor(X))
    assert [type(x) for x in net.log] == [ms.Tensor]
    assert_close(net.log[0], ms.Tensor(X * 2), "what is stored", 0)


# ---------------------------------------------------------------------------------------------------- refused
REFUSED = {
    "appended on one path": ("AC1504", "if x.sum() > 0:\n    H.append(x)\nreturn x", "cannot leave"),
    "a key on one path": ("AC1403", "if x.sum() > 0:\n    D['new'] = x\nreturn x", "global D"),
    "appended in a dynamic loop": (
        "AC1606",
        "while x.sum() < 9:\n    H.append(x)\n    x = x * 2\nreturn x",
        "global H",
    ),
    "types differ": ("AC1401", "if x.sum() > 0:\n    D['z'] = x.astype(ms.float32)\nreturn x", "D"),
    "a Parameter": ("AC1606", "H.append(net.w)\nreturn x", "copy"),
    "a function": ("AC1606", "H.append(lambda: 1)\nreturn x", "function"),
    "an outside list": ("AC1606", "H.append(I)\nreturn x", "list"),
    "an array": ("AC1602", "array[0] = 1.0\nreturn x", "array"),
    "a defaultdict": ("AC1602", "counts['a'].append(x)\nreturn x", "defaultdict"),
    "an OrderedDict": ("AC1602", "ordered['a'] = x\nreturn x", "OrderedDict"),
    "in a vmap": ("AC1601", "return ms.vmap(lambda v: H.append(v) or v)(x)", "vectorised"),
    "in a bprop": ("AC1602", "return ms.grad(rule)(x)", "backward"),
    "a __dict__": ("AC1602", "o.__dict__['n'] = 2\nreturn x", "dict"),
    "a frozen dataclass by object": ("AC1606", "object.__setattr__(frozen, 'n', 2)\nreturn x", "Frozen"),
    "deleted on one path": ("AC1606", "if x.sum() > 0:\n    del o.n\nreturn x", "deleted on some paths"),
    "deleted, and of the class": ("AC1606", "o.total = 1\ndel o.total\nreturn x", "total"),
    "a class attribute": ("AC1606", "type(o).total = 3\nreturn x", "total"),
    "its own __getattribute__": ("AC1606", "odd.n = 3\nreturn x", "__getattribute__"),
}


class Rule(nn.Cell):
    def __init__(self):
        super().__init__()
        self.seen = []

    def construct(self, x):
        return x * 2.0

    def bprop(self, x, out, dout):
        self.seen.append(dout)
        return (dout * 2.0,)


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int = 1


class Odd:
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_ordered_is_refused(name):
    code, body, word = REFUSED[name]
    places = {
        **outside(),
        **{"array": np.zeros(3), "counts": collections.defaultdict(list), "ordered": collections.OrderedDict()},
        **{"rule": Rule(), "frozen": Frozen(), "odd": Odd()},
    }
    before = described({k: v for k, v in places.items() if k in outside()}, {})
    f = define("def f(x):\n" + "\n".join("    " + line for line in body.splitlines()), **places)
    with pytest.raises(ms.CompileError, match=word) as caught:
        ms.jit(f)(ms.Tensor(X))
    assert caught.value.code == code
    assert caught.value.hint
    assert caught.value.loc is not None
    assert described({k: v for k, v in places.items() if k in outside()}, {}) == before


def test_an_argument_that_is_changed_from_outside_too():
    H = [2]
    compiled = ms.jit(define("def f(x, l):\n    H.append(3)\n    return x * l[0]\n", H=H))
    assert_close(compiled(ms.Tensor(X), [2]), ms.Tensor(X * 2), "another list", 0)
    del H[1:]
    with pytest.raises(ms.SideEffectError, match="AC1602"):
        compiled(ms.Tensor(X), H)
    assert H == [2]


def test_a_hook_of_the_backward_pass_and_compiled_code_do_not_change_one_list():
    H, net = [], nn.Tanh()
    net.register_backward_hook(lambda cell, grad_input, grad_output: H.append(grad_output[0]))

    def f(x):
        H.append(x)
        return ms.grad(net)(x)

    with pytest.raises(ms.SideEffectError, match="AC1602"):
        ms.jit(f)(ms.Tensor(X))
    assert H == []


# ---------------------------------------------------------------------------------------------------- index
def test_a_constant_tensor_is_an_index_into_a_list():
    def f(x):
        rows = [[1, 2, 3], [x, x * 2.0]]
        rows[0][ms.Tensor([1])] = 7
        del rows[0][ms.Tensor(2)]
        return rows[1][ms.Tensor([1])] * rows[0][ms.Tensor(1)], (5, 6)[ms.Tensor([-1])], len(rows[0])

    for make in (lambda f: f, ms.jit):
        result = make(f)(ms.Tensor(X))
        assert_close(result[0], ms.Tensor(X * 14), "result", 0)
        assert result[1:] == (6, 2)
    with pytest.raises(IndexError):
        ms.jit(lambda x: [x, x][ms.Tensor([2])])(ms.Tensor(X))
    with pytest.raises(TypeError, match="integer"):
        ms.jit(lambda x: [x, x][ms.Tensor([1.0])])(ms.Tensor(X))
    with pytest.raises(ms.CompileError, match="AC1305"):
        ms.jit(lambda x, i: [x, x][i])(ms.Tensor(X), ms.Tensor([1]))


# ---------------------------------------------------------------------------------------------------- tools
def test_dumps_say_what_is_written_back_and_texts_over_numpy_refuse_it():
    H, D = [], {"n": 0}
    compiled = ms.jit(define("def f(x):\n    H.append(x * 2.0)\n    D['n'] += 1\n    return x\n", H=H, D=D))
    artifact = compiled.lower(ms.Tensor(X))
    shown = str(artifact.ir("opt"))
    assert "is [0] of what is appended to a list from outside" in shown
    assert "becomes ['n'] of the content of a dict from outside" in shown
    with pytest.raises(ms.UnsupportedCallError, match="from outside"):
        artifact.source()
    assert (H, D) == ([], {"n": 0})


def test_a_benchmark_leaves_containers_as_they_were():
    H, D = [1], {"n": 0}
    f = define("def f(x):\n    H.append(x)\n    D['n'] += 1\n    return x * D['n']\n", H=H, D=D)
    ms.benchmark(f, ms.Tensor(X), seconds=0.05)
    assert (H, D) == ([1], {"n": 0})


# ---------------------------------------------------------------------------------------------------- what holds itself
def test_a_container_that_holds_itself_is_refused():
    """Read, changed, found at a later call, or made: with an error of ours, wherever a walk over it would not end."""
    x = ms.Tensor(X)
    d, items = {"n": 1}, [1]
    d["self"] = d
    items.append((items,))
    for f in (lambda x: x * d["n"], lambda x: x * items[0], lambda x: items.append(x)):
        with pytest.raises(errors.RecursionDepthError, match="holds itself"):
            ms.jit(f)(x)
    assert len(items) == 2

    later = {"n": 1, "s": 0}

    def count(x):
        later["n"] += 1
        return x * later["n"]

    count = ms.jit(count)
    count(x)
    later["s"] = later
    with pytest.raises(errors.RecursionDepthError, match="holds itself"):
        count(x)
    later["s"] = 0
    assert count(x).tolist() == (X * 3).tolist()
    assert later == {"n": 3, "s": 0}

    def keep(x):
        made = [x]
        made.append(made)
        later["made"] = made
        return x

    with pytest.raises(errors.RecursionDepthError, match="holds itself"):
        ms.jit(keep)(x)
    assert "made" not in later


def test_a_list_may_be_given_itself():
    items = []

    def f(x):
        items.append((1, items))
        return x * len(items)

    assert ms.jit(f)(ms.Tensor(X)).tolist() == X.tolist()
    assert items[0][1] is items
