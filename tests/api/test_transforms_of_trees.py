"""Every transform by random nested containers: eager and compiled code against the mathematics of their leaves."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import optree
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, tree


class Pair(NamedTuple):
    a: object
    b: object


@dataclass(frozen=True)
class Record:
    v: object
    w: object


@dataclass
class State:
    pos: object
    vel: object
    name: str = "state"


class Box:
    def __init__(self, held, unit):
        self.held, self.unit = held, unit


tree.register(Box, lambda box: ((box.held,), box.unit), lambda unit, held: Box(*held, unit))


def drawn(rng, values, depth=0):
    """A random tree, with Tensors drawn from `values` at its leaves."""
    kinds = ["leaf"] * (2 * depth) + ["tuple", "list", "dict", "pair", "record", "state", "box"]
    kind = rng.choice(kinds)
    inner = (drawn(rng, values, depth + 1) for _ in iter(int, 1))
    if kind == "leaf" or depth == 3:
        return Tensor(values.standard_normal(rng.choice([(2,), (1, 2), (2, 2)])) * 0.7)
    if kind in ("tuple", "list"):
        items = [next(inner) for _ in range(rng.randint(1, 2))]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: next(inner) for key in rng.sample("xyz", rng.randint(1, 2))}
    if kind == "box":
        return Box(next(inner), rng.choice(["m", "s"]))
    return {"pair": Pair, "record": Record, "state": State}[kind](next(inner), next(inner))


def tensors(x):
    return [leaf for leaf in tree.leaves(x) if isinstance(leaf, Tensor)]


def flat(x):
    return np.concatenate([t.asnumpy().reshape(-1) for t in tensors(x)])


def energy(x):
    """``sum_i sum(sin l_i) * sum(l_{i+1}^2)`` over the leaves in a circle."""
    found = [leaf for leaf in tree.leaves(x) if not isinstance(leaf, str)]
    total = 0.0
    for i, leaf in enumerate(found):
        total = total + ops.sin(leaf).sum() * (found[(i + 1) % len(found)] ** 2).sum()
    return total


def slopes(vector, sizes):
    """The gradient of `energy`, by hand."""
    parts = np.split(vector, np.cumsum(sizes)[:-1])
    sines, squares = [np.sin(p).sum() for p in parts], [(p**2).sum() for p in parts]
    n = len(parts)
    return np.concatenate([np.cos(p) * squares[(i + 1) % n] + 2 * p * sines[i - 1] for i, p in enumerate(parts)])


def second(vector, sizes, h=1e-5):
    """The Hessian, by central differences of the gradient."""
    steps = h * np.eye(len(vector))
    return np.array([(slopes(vector + d, sizes) - slopes(vector - d, sizes)) / (2 * h) for d in steps])


def scaled(x, by):
    return tree.map(lambda leaf: leaf if isinstance(leaf, str) else leaf * by, x)


def first(x):
    return next(leaf for leaf in tree.leaves(x) if not isinstance(leaf, str)).reshape(-1)[0]


def after_a_step(x):
    """What one step of gradient descent leaves, as in MAML."""
    return energy(tree.map(lambda leaf, g: leaf if g is None else leaf - 0.1 * g, x, ms.grad(energy)(x)))


def stacked(x):
    return tree.map(lambda leaf: leaf if isinstance(leaf, str) else ops.stack([leaf, 2 * leaf], 0), x)


def of_step(v, sizes):
    """The gradient of ``energy(v - 0.1 * slopes(v))`` by the chain rule."""
    return (np.eye(len(v)) - 0.1 * second(v, sizes)).T @ slopes(v - 0.1 * slopes(v, sizes), sizes)


def parts_of_hessian(found, at, sizes):
    """The blocks of a Hessian as one matrix."""
    blocks = iter(tensors(found))
    return np.block([[next(blocks).asnumpy().reshape(n, m) for m in sizes] for n in sizes])


#: a transform at a tree, as a tree or Tensor; and what it must be for the vector of its leaves, in the same order
CASES = {
    "grad": (lambda x: ms.grad(energy)(x), slopes),
    "value_and_grad": (lambda x: ms.value_and_grad(energy)(x)[1], slopes),
    "vjp": (lambda x: ms.vjp(energy, x)[1](ops.ones((), ms.float64))[0], slopes),
    "jacrev": (lambda x: ms.jacrev(energy)(x), slopes),
    "jacfwd": (lambda x: ms.jacfwd(energy)(x), slopes),
    "hvp": (lambda x: ms.hvp(energy, (x,), (scaled(x, 3.0),))[0], lambda v, s: second(v, s) @ (3 * v)),
    "jvp": (lambda x: ms.jvp(energy, (x,), (scaled(x, 3.0),))[1], lambda v, s: slopes(v, s) @ (3 * v)),
    "linearize": (lambda x: ms.linearize(energy, (x,))[1]((scaled(x, 3.0),)), lambda v, s: slopes(v, s) @ (3 * v)),
    "tangent of a tree": (lambda x: ms.jvp(lambda y: scaled(y, first(y)), (x,), (x,))[1], lambda v, s: 2 * v * v[0]),
    "step": (lambda x: ms.grad(after_a_step)(x), of_step),
    "vmap": (lambda x: ms.vmap(ms.grad(energy))(stacked(x)), None),
    "hessian": (lambda x: ms.hessian(energy)(x), None),
}
MODES = ["eager", "compiled", "in compiled code", "over NumPy"]


def run(transform, x, mode):
    ms.set_context(mode=ms.PYNATIVE_MODE if mode == "eager" else ms.GRAPH_MODE)
    if mode in ("eager", "compiled"):
        return transform(x)
    return ms.jit(transform, backend="numpy" if mode == "over NumPy" else "auto")(x)


def check(name, x, found):
    expected = CASES[name][1]
    v, sizes = flat(x), [t.size for t in tensors(x)]
    if name == "hessian":
        np.testing.assert_allclose(parts_of_hessian(found, v, sizes), second(v, sizes), rtol=1e-5, atol=1e-7)
    elif name == "vmap":
        for i, factor in enumerate((1, 2)):
            row = np.concatenate([t.asnumpy()[i].reshape(-1) for t in tensors(found)])
            np.testing.assert_allclose(row, slopes(factor * v, sizes), rtol=1e-9)
    else:
        np.testing.assert_allclose(np.squeeze(flat(found)), expected(v, sizes), rtol=1e-6, atol=1e-8)
    if np.size(flat(found)) == len(v) > 1:
        without = tree.map(lambda leaf: None if isinstance(leaf, str) else leaf, x)
        assert tree.structure(tree.map(lambda leaf: None if isinstance(leaf, str) else leaf, found)) == tree.structure(
            without
        )


#: seeds of trees in which every kind of container stands in some other one
SEEDS = [4, 12, 20]


@pytest.fixture(autouse=True)
def eager_again():
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_transforms_by_trees_are_those_by_their_leaves(name, mode):
    seed = SEEDS[(list(CASES).index(name) + MODES.index(mode)) % len(SEEDS)]
    x = drawn(random.Random(seed), np.random.default_rng(seed))
    check(name, x, run(CASES[name][0], x, mode))


# ------------------------------------------------------------------------------------------------ results
def plain(x):
    return tree.map(lambda leaf: leaf.tolist() if isinstance(leaf, Tensor) else leaf, x)


#: of x and its square, at x = [1, 2]; the tangent is along x, the cotangent is the result itself
RESULTS = {
    "dataclass": (lambda x: State(x, x * x), lambda a, b: State(a, b)),
    "dict of dataclasses": (lambda x: {"s": State(x, [x * x])}, lambda a, b: {"s": State(a, [b])}),
    "registered": (lambda x: Box((x, x * x), "m"), lambda a, b: Box((a, b), "m")),
    "frozen": (lambda x: Record(x, x * x), Record),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RESULTS)
def test_what_a_function_returns_may_hold_objects(name, mode):
    function, made = RESULTS[name]
    x, made_of = Tensor([1.0, 2.0]), lambda *lists: made(*map(Tensor, lists))

    def agrees(transform, expected):
        found = run(transform, x, mode)
        assert tree.structure(found) == tree.structure(expected)
        assert plain(tree.leaves(found)) == plain(tree.leaves(expected))

    agrees(lambda x: ms.jvp(function, x, x)[1], made_of([1.0, 2.0], [2.0, 8.0]))
    agrees(lambda x: ms.linearize(function, x)[1](x), made_of([1.0, 2.0], [2.0, 8.0]))
    agrees(lambda x: ms.jacrev(function)(x), made_of([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]]))
    agrees(lambda x: ms.jacfwd(function)(x), made_of([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]]))
    agrees(lambda x: ms.vmap(function)(x), made_of([1.0, 2.0], [1.0, 4.0]))
    agrees(lambda x: ms.grad(function)(x), Tensor([3.0, 5.0]))
    agrees(lambda x: ms.vjp(function, x)[1](function(x))[0], Tensor([1 + 2.0, 2 + 16.0]))


# ------------------------------------------------------------------------------------------------ vmap
def weighted(p, x):
    return (p["w"] * x).sum() + p["b"].sum()


@pytest.mark.parametrize("mode", MODES)
def test_axes_of_vmap_are_containers_like_the_arguments(mode):
    w, b, x = draw(3, 2), draw(2), draw(2, 3)
    of_each = [(w[i] * x[:, i]).sum() + b.sum() for i in range(3)]

    def by_dict(t):
        found = ms.vmap(weighted, ({"b": None, "w": 0}, 1))({"w": t, "b": Tensor(b)}, Tensor(x))
        slopes = ms.vmap(ms.grad(weighted), ({"b": None, "w": 0}, 1), {"w": -1, "b": 0})
        return found, slopes({"w": t, "b": Tensor(b)}, Tensor(x))

    found, slope = run(by_dict, Tensor(w), mode)
    np.testing.assert_allclose(found.asnumpy(), of_each)
    np.testing.assert_allclose(slope["w"].asnumpy(), x)  # the examples last: columns of x
    np.testing.assert_allclose(slope["b"].asnumpy(), np.ones((3, 2)))

    def by_object(t):
        state = State(t, Tensor(b))
        return ms.vmap(lambda s, x: weighted({"w": s.pos, "b": s.vel}, x), (State(0, None, None), 1))(state, Tensor(x))

    np.testing.assert_allclose(run(by_object, Tensor(w), mode).asnumpy(), of_each)


def draw(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (({"w": 0}, 0), r"in_axes has the keys \['w'\] where there are \['w', 'b'\]"),
        (({"w": 0, "b": 0}, {"x": 0}), "in_axes has a dict where there is a single value"),
        (({"w": "0", "b": 0}, 0), "in_axes holds ints, None and containers of those, not str"),
        (({"w": 0, "b": (0, 1)}, 0), "in_axes has a tuple where there is a single value"),
    ],
)
def test_axes_that_are_no_containers_like_the_arguments_are_refused(axes, message):
    p = {"w": Tensor([1.0, 2.0]), "b": Tensor([3.0, 4.0])}
    with pytest.raises((TypeError, ValueError), match=message):
        ms.vmap(lambda p, x: x, axes)(p, Tensor([1.0, 2.0]))


# ------------------------------------------------------------------------------------------------ what objects are
def test_trees_from_outside_are_read_at_every_call():
    held, record = {"w": Tensor([1.0, 2.0]), "l": [Tensor([3.0])]}, Record(1.0, {"a": Tensor([5.0])})
    state = State(Tensor([7.0]), held)

    @ms.jit
    def read(x):
        slope = ms.grad(lambda p: (p["w"] ** 2).sum())(held)["w"]
        return (
            slope + x,
            tree.map(lambda leaf: leaf + x.sum(), record).w["a"],
            tree.leaves(state)[0],
            tree.leaves(state),
        )

    x = Tensor([0.0, 0.0])
    assert plain(read(x)[:3]) == ([2.0, 4.0], [5.0], [7.0])
    held["w"], record.w["a"], state.pos = Tensor([10.0, 10.0]), Tensor([20.0]), Tensor([30.0])
    assert plain(read(x)[:3]) == ([20.0, 20.0], [20.0], [30.0])
    held["w"][0] = 0.0
    record.w["a"][0] = state.pos[0] = -1.0
    assert plain(read(x)[:3]) == ([0.0, 20.0], [-1.0], [-1.0])
    held["l"].append(Tensor([4.0]))
    assert len(read(x)[3]) == 5


def test_steps_by_new_objects_are_those_by_hand():
    def loss(s):
        return (s.pos * s.vel).sum()

    state = State(Tensor([1.0]), Tensor([2.0]))
    for _ in range(3):
        state = tree.map(lambda x, g: x if g is None else x - 0.5 * g, state, ms.grad(loss)(state))
    assert plain(state) == State([-1.5], [1.875])  # (1, 2), (0, 1.5), (-0.75, 1.5), and this


@pytest.mark.parametrize("mode", MODES)
def test_objects_stand_at_positions_among_auxiliary_results_and_as_sensitivity(mode):
    state, box = State(Tensor([1.0, 2.0]), Tensor([0.0])), Box(Tensor([3.0, 4.0]), "m")

    def product(s, b):
        return (s.pos * b.held).sum(), b

    def both(x):
        by_all = ms.value_and_grad(product, (0, 1), has_aux=True, return_ids=True)(state, b=box)
        doubled = ms.grad(lambda s: State(s.pos * 2, s.vel * x), sens_param=True)
        return by_all, doubled(state, State(Tensor([1.0, 10.0]), Tensor([100.0])))

    ((value, aux), ((_, of_state), (_, of_box))), doubled = run(both, Tensor([5.0]), mode)
    assert (value.item(), plain(aux.held), aux.unit) == (11.0, [3.0, 4.0], "m")
    assert (plain(of_state), plain(of_box.held)) == (State([3.0, 4.0], [0.0], None), [1.0, 2.0])
    assert plain(doubled) == State([2.0, 20.0], [500.0], None)


def test_forms_by_objects_are_looked_at_by_their_parts():
    state, box = State(Tensor([1.0, 2.0]), Tensor([3.0])), Box(Tensor([5.0]), "m")
    text = ms.grad(lambda s, b: (s.pos**2).sum() * b.held.sum(), (0, 1)).source(state, box)
    assert "s.pos: f32[2]" in text
    assert "b[0]: f32[1]" in text
    given = State(np.float32([1.0, 2.0]), None), [np.float32([5.0])]  # what the names in the text ask for
    (of_pos, _, _), (of_held,) = text.function(*given)
    assert (of_pos.tolist(), of_held.tolist()) == ([10.0, 20.0], [5.0])
    described = State(ms.TensorSpec("f32[7]"), None)
    assert ms.grad(lambda s: (s.pos**2).sum()).lower(described).memory().arguments == 28
    assert ms.hessian(lambda s: (s.pos**2).sum()).lower(state).memory().results >= 16
    assert ms.vmap(lambda s: s.pos * 2).lower(State(Tensor([1.0, 2.0]), None)).memory().results == 8


def test_what_compiles_anew_for_each_object_says_what_would_not():
    @ms.jit
    def step(s):
        s.pos = s.pos * 2

    for x in (1.0, 2.0):
        step(State(Tensor([x]), None))
    assert "make State a frozen dataclass" in str(step.explain_recompiles())


@pytest.mark.parametrize("mode", MODES[:2])
def test_a_function_gets_a_copy_with_all_attributes(mode):
    def moved(s):
        s.extra = s.extra * 2
        return (s.pos * s.extra).sum()

    state = State(Tensor([1.0, 2.0]), None)
    state.extra, state.name = Tensor([3.0, 4.0]), state  # an object that holds itself is a leaf there
    found = run(ms.grad(moved), state, mode)
    assert (plain(found.pos), plain(found.extra), found.vel) == ([6.0, 8.0], [2.0, 4.0], None)
    assert state.extra.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("mode", MODES)
def test_compiled_code_makes_objects_of_dataclasses(mode):
    def leapfrog(x):
        s = State(x, x * 0.5)
        s.pos = s.pos + s.vel
        return {"last": s, "energy": (s.pos * s.vel).sum()}

    found = run(leapfrog, Tensor([2.0, 4.0]), mode)
    assert plain(found["last"]) == State([3.0, 6.0], [1.0, 2.0])
    slope = run(ms.grad(lambda x: leapfrog(x)["energy"]), Tensor([2.0, 4.0]), mode)
    assert slope.tolist() == [3.0, 6.0]  # of 0.75 * x * x


class Interval:
    """A class that only `optree` knows, with names for its elements."""

    def __init__(self, low, high):
        self.low, self.high = low, high


optree.register_pytree_node(
    Interval,
    lambda i: ((i.low, i.high), "closed", ("low", "high")),
    lambda kind, ends: Interval(*ends),
    namespace=getattr(optree.registry, "__GLOBAL_NAMESPACE"),
)


@pytest.mark.parametrize("mode", MODES[:2])
def test_classes_of_optree_are_containers_of_transforms(mode):
    found = run(ms.grad(lambda i: (i.low * i.high).sum()), Interval(Tensor([1.0]), Tensor([3.0])), mode)
    assert (type(found), plain(found.low), plain(found.high)) == (Interval, [3.0], [1.0])


class Unhashable:
    def __init__(self, held):
        self.held = held


tree.register(Unhashable, lambda u: ((u.held,), [1]), lambda more, held: Unhashable(*held))


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (
            lambda: ms.grad(energy)(Unhashable(Tensor(1.0))),
            "`flatten` of Unhashable gives beside .* hashable, not a list",
        ),
        (lambda: ms.grad(energy)(State(1.0, "no Tensor")), "of type State: only the derivative by a Tensor"),
        (
            lambda: ms.jvp(energy, (Box(Tensor(1.0), "m"),), (Box(Tensor(1.0), "s"),)),
            "the tangent of a container must be a container of the same structure",
        ),
        (
            lambda: ms.vjp(lambda x: State(x, [x]), Tensor(1.0))[1](State(Tensor(1.0), Tensor(1.0))),
            "the cotangent of a result must be a container of the same structure",
        ),
    ],
)
def test_objects_that_do_not_fit_are_refused(transform, message):
    with pytest.raises((TypeError, ms.GradientError), match=message):
        transform()


# ------------------------------------------------------------------------------------------------ weights
@pytest.mark.parametrize("mode", MODES)
def test_gradients_by_weights_in_a_dict_are_in_a_dict(mode):
    net = nn.Dense(2, 1)
    x = Tensor([[3.0, 4.0]])

    def output(x):
        return net(x).sum()

    def by_all(x):
        named = net.parameters_dict()
        listed = ops.GradOperation(get_by_list=True)(output, named)(x)
        pulled = ms.vjp(output, x, weights=named)[1](Tensor(1.0))[1]
        of_call = ms.grad(lambda p: ms.functional_call(net, p, x).sum())(named)
        return ms.grad(output, None, named)(x), listed, pulled, of_call

    for found in run(by_all, x, mode):
        assert list(found) == ["weight", "bias"]
        assert plain(found) == {"weight": [[3.0, 4.0]], "bias": [1.0]}
