"""Programs of the first day, after JAX's and PyTorch's tutorials: in both modes, checked by NumPy.

Each takes `jit`, which compiles or leaves a function as it is, checks what it can by other means, and returns what both
modes must agree in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, dataset, functional_call, grad, nn, ops, tree, value_and_grad, vmap

close = np.testing.assert_allclose
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.normal(size=shape)


# ------------------------------------------------------------------------------------------------ JAX's
def selu_and_its_derivatives(jit):
    @jit
    def selu(x, alpha=1.67, scale=1.05):
        return scale * ops.where(x > 0, x, alpha * ops.exp(x) - alpha)

    x = np.array([-1.0, 0.5, 2.0])
    first, second = grad(selu)(Tensor(x)), ms.hessian(lambda x: selu(x).sum())(Tensor(x))
    close(first, 1.05 * np.where(x > 0, 1, 1.67 * np.exp(x)))
    close(second, np.diag(1.05 * np.where(x > 0, 0, 1.67 * np.exp(x))))
    return selu(Tensor(x)), first


def logistic_regression_to_the_second_order(jit):
    x, right, w = normal(4, 3), np.array([True, True, False, True]), normal(3)

    def loss(w, b):
        p = ops.sigmoid(Tensor(x) @ w + b)
        return -ops.log(p * Tensor(right) + (1 - p) * ~Tensor(right)).sum()

    g, h = jit(grad(loss, (0, 1)))(Tensor(w), Tensor(0.5)), jit(ms.hessian(loss))(Tensor(w), Tensor(0.5))
    p = 1 / (1 + np.exp(-(x @ w + 0.5)))
    close(g[0], x.T @ (p - right), rtol=1e-6)
    close(h, x.T @ np.diag(p * (1 - p)) @ x, rtol=1e-6)
    return g, h


def a_convolution_for_batches(jit):
    def convolve(x, w):
        return ops.stack([(x[i - 1 : i + 2] * w).sum() for i in range(1, len(x) - 1)])

    xs, w = normal(2, 6), np.array([2.0, 3.0, 4.0])
    found = jit(vmap(convolve, in_axes=(0, None)))(Tensor(xs), Tensor(w))
    close(found, [np.convolve(x, w[::-1], "valid") for x in xs])
    close(jit(vmap(convolve, (1, None), 1))(Tensor(xs.T), Tensor(w)), found.asnumpy().T)
    return found


class Line(NamedTuple):
    weight: Tensor
    bias: Tensor


def a_regression_whose_state_is_a_record(jit):
    x = normal(32, 1)
    y = 3 * x - 1 + 0.1 * normal(32, 1)

    def loss(line, x, y):
        return ((line.weight * x + line.bias - y) ** 2).mean()

    @jit
    def update(line, x, y):
        return tree.map(lambda p, g: p - 0.3 * g, line, grad(loss)(line, x, y))

    line = Line(Tensor(np.float64(0.1)), Tensor(np.float64(0.0)))
    for _ in range(60):
        line = update(line, Tensor(x), Tensor(y))
    assert isinstance(line, Line)
    close([line.weight, line.bias], np.linalg.lstsq(np.c_[x, np.ones(32)], y[:, 0], rcond=None)[0], rtol=1e-6)
    return line


def a_network_that_is_a_list_of_dicts(jit):
    def predict(layers, x):
        for layer in layers[:-1]:
            x = ops.relu(x @ layer["w"] + layer["b"])
        return ops.log_softmax(x @ layers[-1]["w"] + layers[-1]["b"])

    @jit
    def update(layers, x, y):
        value, grads = value_and_grad(lambda p: -(predict(p, x) * y).sum(1).mean())(layers)
        return tree.map(lambda p, g: p - 0.5 * g, layers, grads), value

    own = np.random.default_rng(1)
    layers = [{"w": Tensor(own.normal(size=s)), "b": Tensor(np.zeros(s[1]))} for s in ((4, 8), (8, 3))]
    labels = own.integers(0, 3, 30)
    x, y = Tensor(np.eye(3, 4)[labels] + 0.1 * own.normal(size=(30, 4))), Tensor(np.eye(3)[labels])
    for _ in range(40):
        layers, value = update(layers, x, y)
    assert (predict(layers, x).asnumpy().argmax(1) == labels).all()
    return value


def branches_and_loops_of_data(jit):
    @jit
    def f(x, n):
        y = x * 2 if x.sum() > 0 else -x
        i = 0
        while i < n:
            y = ops.sin(y)
            i += 1
        return y.sum()

    x = np.array([0.3, 0.4])
    for factor, times, start in ((2, 3, x), (-1, 2, -x)):
        y, slope = factor * start, np.full(2, float(factor))
        for _ in range(times):
            y, slope = np.sin(y), slope * np.cos(y)
        close(grad(f)(Tensor(start), Tensor(times)), slope)
    return f(Tensor(x), Tensor(3))


def temporal_differences(jit):
    def loss(theta, s, reward, after):
        target = reward + (theta * after).sum()
        return -0.5 * (ops.stop_gradient(target) - (theta * s).sum()) ** 2

    theta, s, after, reward = normal(3), normal(5, 3), normal(5, 3), normal(5)
    each = jit(vmap(grad(loss), (None, 0, 0, 0)))(*map(Tensor, (theta, s, reward, after)))
    close(each, ((reward + after @ theta - s @ theta)[:, None]) * s)
    return each


def gradients_clipped_for_each_example(jit):
    w, x, y = normal(3), normal(6, 3), normal(6)

    def clipped(w, x, y):
        g = grad(lambda w: ((x * w).sum() - y) ** 2)(w)
        return g / ops.maximum(ops.norm(g), 1.0)

    found = jit(lambda w, x, y: vmap(clipped, (None, 0, 0))(w, x, y).mean(0))(*map(Tensor, (w, x, y)))
    each = 2 * (x @ w - y)[:, None] * x
    close(found, (each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1)).mean(0))
    return found


def a_gaussian_process(jit):
    x = np.linspace(-3, 3, 8)

    def negative_log_likelihood(p, x, y):
        k = ops.exp(-0.5 * ((x.reshape(-1, 1) - x) / p["length"]) ** 2) + ops.eye(8, 8, ms.float64) * p["noise"]
        lower = ops.cholesky(k)
        return 0.5 * (y.reshape(1, -1) @ ops.cholesky_solve(y.reshape(-1, 1), lower)).sum() + (
            ops.log(lower.diagonal()).sum() + 4 * np.log(2 * np.pi)
        )

    def truth(length, noise):
        k = np.exp(-0.5 * ((x[:, None] - x) / length) ** 2) + noise * np.eye(8)
        return -stats.multivariate_normal(np.zeros(8), k).logpdf(np.sin(x))

    p = {"length": Tensor(np.float64(1.2)), "noise": Tensor(np.float64(0.3))}
    value, g = jit(value_and_grad(negative_log_likelihood))(p, Tensor(x), Tensor(np.sin(x)))
    close(value, truth(1.2, 0.3))
    close(g["length"], (truth(1.2 + 1e-5, 0.3) - truth(1.2 - 1e-5, 0.3)) / 2e-5, rtol=1e-5)
    close(g["noise"], (truth(1.2, 0.3 + 1e-5) - truth(1.2, 0.3 - 1e-5)) / 2e-5, rtol=1e-5)
    return value, g


def learning_to_learn(jit):
    net = nn.Dense(1, 1, weight_init=0.7, has_bias=False)
    (x1, y1), (x2, y2) = (1.5, 2.0), (-0.5, 0.25)

    def error(p, x, y):
        return ((functional_call(net, p, x) - y) ** 2).sum()

    @jit
    def after_a_step(p):
        at = lambda v: ops.full((1, 1), v, dtype=ms.float32)
        adapted = tree.map(lambda w, g: w - 0.1 * g, p, grad(error)(p, at(x1), at(y1)))
        return error(adapted, at(x2), at(y2))

    g = grad(after_a_step)(net.parameters_dict())["weight"]
    w = 0.7 - 0.1 * 2 * x1 * (0.7 * x1 - y1)
    close(g, [[2 * x2 * (w * x2 - y2) * (1 - 0.2 * x1**2)]], rtol=1e-5)
    return g


def a_root_by_newtons_method(jit):
    @jit
    def root(a):
        x = a
        while ops.abs(x * x - a) > 1e-12 * a:
            x = x - (x * x - a) / (2 * x)
        return x

    a = Tensor(np.float64(2.0))
    close(root(a), np.sqrt(2.0))
    close(grad(root)(a), 0.5 / np.sqrt(2.0), rtol=1e-6)
    return root(a), grad(root)(a)


def clusters(jit):
    points = normal(20, 2)

    @jit
    def step(centres):
        near = ((Tensor(points)[:, None] - centres) ** 2).sum(-1).argmin(1)
        mine = ops.one_hot(near, 3).astype(ms.float64)
        return (mine.T @ Tensor(points)) / ops.maximum(mine.sum(0)[:, None], 1.0)

    centres = Tensor(points[:3])
    near = ((points[:, None] - points[:3]) ** 2).sum(-1).argmin(1)
    close(step(centres), [points[near == k].mean(0) for k in range(3)])
    for _ in range(4):
        centres = step(centres)
    return centres


def a_minimum_by_scipy(jit):
    f = jit(value_and_grad(lambda x: ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()))
    found = optimize.minimize(lambda x: tuple(map(np.asarray, f(Tensor(x)))), np.zeros(3), jac=True)
    close(found.x, 1, rtol=1e-4)
    return f(Tensor(np.full(3, 0.5)))


# ------------------------------------------------------------------------------------------------ PyTorch's
def a_polynomial_for_the_sine(jit):
    x = np.linspace(-3, 3, 50).astype(np.float32)
    powers = x[:, None] ** np.arange(1, 4, dtype=np.float32)
    model = nn.SequentialCell(nn.Dense(3, 1, weight_init=0.1, bias_init="zeros"))
    optimizer = nn.SGD(model.trainable_params(), 1e-6)
    step = value_and_grad(lambda x, y: ((model(x)[:, 0] - y) ** 2).sum(), None, optimizer.parameters)

    @jit
    def train(x, y):
        loss, grads = step(x, y)
        optimizer(grads)
        return loss, grads

    loss, (of_weight, of_bias) = train(Tensor(powers), Tensor(np.sin(x)))
    rest = powers @ np.full(3, 0.1) - np.sin(x)
    close(loss, (rest**2).sum(), rtol=1e-4)
    close(of_weight, [2 * powers.T @ rest], rtol=1e-4, atol=1e-2)
    close(model[0].weight, 0.1 - 1e-6 * of_weight.asnumpy(), rtol=1e-5)
    return loss, of_bias


def a_function_with_its_own_backward(jit):
    @ops.custom_vjp
    def legendre(x):
        return 0.5 * (5 * x**3 - 3 * x)

    @legendre.defbwd
    def _(x, out, dout):
        return (dout * 1.5 * (5 * x**2 - 1),)

    x = normal(5)
    found = jit(grad(lambda c, d, x: legendre(c + d * x).sum(), (0, 1)))(
        *map(Tensor, (np.array(0.1), np.array(0.3), x))
    )
    slope = 1.5 * (5 * (0.1 + 0.3 * x) ** 2 - 1)
    close(found[0], slope.sum())
    close(found[1], (slope * x).sum())
    return found


class Polynomial(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.e = (Parameter(Tensor(np.float64(v)), name=n) for n, v in zip("abe", (0.1, 0.5, 0.2)))

    def construct(self, x, orders):
        y = self.a + self.b * x
        for power in range(2, orders):
            y = y + self.e * x**power
        return y


def a_network_of_as_many_terms_as_it_is_told(jit):
    net, x = Polynomial(), normal(7)
    step = jit(value_and_grad(lambda x, n: (net(x, n) ** 2).sum(), None, net.trainable_params()))
    results = []
    for orders in (2, 3, 4):
        y = 0.1 + 0.5 * x + 0.2 * sum((x**k for k in range(2, orders)), 0 * x)
        value, (a, b, e) = step(Tensor(x), orders)
        close(value, (y**2).sum())
        close([a, b, e], [(2 * y).sum(), (2 * y * x).sum(), sum(((2 * y * x**k).sum() for k in range(2, orders)), 0.0)])
        results.append(value)
    return results


class Bars:
    """Pictures with a bar at one of three heights."""

    def __init__(self):
        own = np.random.default_rng(0)
        self.labels = own.integers(0, 3, 24).astype(np.int32)
        self.images = (0.1 * own.normal(size=(24, 1, 6, 6))).astype(np.float32)
        for image, label in zip(self.images, self.labels, strict=True):
            image[0, 2 * label : 2 * label + 2] += 1

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def a_classifier_with_a_dataset(jit):
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(36, 3))
    optimizer, measure = nn.Momentum(net.trainable_params(), 0.1, 0.9), nn.CrossEntropyLoss()
    step = value_and_grad(lambda x, y: measure(net(x), y), None, optimizer.parameters)

    @jit
    def train(x, y):
        loss, grads = step(x, y)
        optimizer(grads)
        return loss

    batches = dataset.GeneratorDataset(Bars(), ["image", "label"], shuffle=False).batch(12)
    losses = [train(x, y).item() for _ in range(12) for x, y in batches.create_tuple_iterator()]
    assert abs(losses[0] - np.log(3)) < 0.3
    assert losses[-1] < 0.1
    return losses[:3]


def names_letter_by_letter(jit):
    ms.set_seed(2)
    cell, out = nn.RNNCell(26, 6), nn.Dense(6, 2)

    def loss(letters, y):
        h = ops.zeros((1, 6))
        for letter in letters:
            h = cell(letter, h)
        return ops.cross_entropy(out(h), y)

    optimizer = nn.SGD([*cell.trainable_params(), *out.trainable_params()], 0.3)
    step = value_and_grad(loss, None, optimizer.parameters)

    @jit
    def train(letters, y):
        value, grads = step(letters, y)
        optimizer(grads)
        return value

    def letters(name):
        return Tensor(np.eye(26, dtype=np.float32)[[ord(c) - 97 for c in name]][:, None])

    names = [("ada", 0), ("robert", 1), ("eva", 0), ("tom", 1)]
    totals = [sum(train(letters(n), Tensor([y], ms.int32)).item() for n, y in names) for _ in range(12)]
    assert totals[-1] < 0.5 * totals[0]
    return totals[0]


def two_networks_against_each_other(jit):
    ms.set_seed(3)
    generator, judge = nn.Dense(2, 1), nn.SequentialCell(nn.Dense(1, 4), nn.LeakyReLU(0.2), nn.Dense(4, 1))
    entropy = nn.BCEWithLogitsLoss()
    of_judge, of_generator = nn.Adam(judge.trainable_params(), 0.01), nn.Adam(generator.trainable_params(), 0.01)

    def judged(real, z):
        true, false = judge(real), judge(ops.stop_gradient(generator(z)))
        return entropy(true, ops.ones_like(true)) + entropy(false, ops.zeros_like(false))

    def fooled(z):
        found = judge(generator(z))
        return entropy(found, ops.ones_like(found))

    teach, fool = (
        value_and_grad(judged, None, of_judge.parameters),
        value_and_grad(fooled, None, of_generator.parameters),
    )

    @jit
    def train(real, z):
        loss, grads = teach(real, z)
        of_judge(grads)
        other, grads = fool(z)
        of_generator(grads)
        return loss, other

    own = np.random.default_rng(0)
    before = [generator(Tensor(np.zeros((1, 2), np.float32))).item()]
    first = train(
        Tensor(2 + own.normal(size=(8, 1)).astype(np.float32)), Tensor(own.normal(size=(8, 2)).astype(np.float32))
    )
    for _ in range(60):
        train(Tensor(np.float32(2 + own.normal(size=(8, 1)))), Tensor(np.float32(own.normal(size=(8, 2)))))
    assert generator(Tensor(np.zeros((1, 2), np.float32))).item() > before[0] + 0.2  # towards what is real
    return first


def a_network_that_follows_another(jit):
    ms.set_seed(4)
    policy, target = nn.Dense(2, 2), nn.Dense(2, 2)
    target.load_state_dict(policy.state_dict())
    optimizer = nn.SGD(policy.trainable_params(), 0.1)

    def loss(s, a, reward, after):
        q = ops.gather_elements(policy(s), 1, a.unsqueeze(1)).squeeze(1)
        return ((q - reward - 0.9 * ops.stop_gradient(target(after)).max(axis=1)) ** 2).mean()

    step = value_and_grad(loss, None, optimizer.parameters)

    @jit
    def train(*batch):
        value, grads = step(*batch)
        optimizer(grads)
        for t, p in zip(target.trainable_params(), policy.trainable_params(), strict=True):
            ops.assign(t, 0.9 * t + 0.1 * p)
        return value

    own, w, b = np.random.default_rng(0), policy.weight.asnumpy().copy(), policy.bias.asnumpy().copy()
    s, a, after = np.float32(own.normal(size=(8, 2))), own.integers(0, 2, 8), np.float32(own.normal(size=(8, 2)))
    value = train(Tensor(s), Tensor(a), Tensor(s[:, 0]), Tensor(after))
    rest = (s @ w.T + b)[np.arange(8), a] - s[:, 0] - 0.9 * (after @ w.T + b).max(1)
    close(value, (rest**2).mean(), rtol=1e-5)
    close(target.weight, 0.9 * w + 0.1 * policy.weight.asnumpy(), rtol=1e-5)
    return value, policy.bias.copy()


def a_new_head_on_frozen_layers(jit):
    ms.set_seed(5)
    net = nn.SequentialCell(nn.Dense(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dense(6, 4))
    for p in net.get_parameters():
        p.requires_grad = False
    net[-1] = nn.Dense(6, 2)
    optimizer, measure = nn.SGD(net.trainable_params(), 0.5), nn.CrossEntropyLoss()
    step = value_and_grad(lambda x, y: measure(net(x), y), None, optimizer.parameters)

    @jit
    def train(x, y):
        loss, grads = step(x, y)
        optimizer(grads)
        return loss

    x, y = Tensor(np.float32(np.random.default_rng(0).normal(size=(8, 4)))), Tensor(np.arange(8) % 2, ms.int32)
    before = net[0].weight.asnumpy().copy()
    losses = [train(x, y).item() for _ in range(10)]
    assert [p.name for p in net.trainable_params()] == ["3.weight", "3.bias"]
    assert (net[0].weight.asnumpy() == before).all()
    assert losses[-1] < losses[0]
    return losses


class Reader(nn.Cell):
    """One block of a transformer that sees what came before."""

    def __init__(self, vocabulary, width, length):
        super().__init__()
        self.embedding, self.place = nn.Embedding(vocabulary, width), Parameter(ops.randn(length, width), name="place")
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm, self.out = nn.LayerNorm([width]), nn.Dense(width, vocabulary)
        self.mask = Tensor(np.triu(np.ones((length, length), bool), 1))

    def construct(self, x):
        h = self.embedding(x) + self.place
        seen, _ = self.attention(h, h, h, attn_mask=self.mask)
        return self.out(self.norm(h + seen))


def a_transformer_that_does_not_see_what_comes(jit):
    ms.set_seed(7)
    net = Reader(6, 8, 5)
    logits = jit(lambda x: net(x))
    x = np.arange(10).reshape(2, 5) % 6
    changed = x.copy()
    changed[:, 3:] = 0
    one, other = logits(Tensor(x, ms.int32)), logits(Tensor(changed, ms.int32))
    close(one[:, :3], other[:, :3], rtol=1e-5, atol=1e-6)
    assert (one[:, 3:] - other[:, 3:]).abs().max() > 1e-3
    return one


def several_networks_at_once(jit):
    ms.set_seed(8)
    nets = [nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2)) for _ in range(3)]
    weights = tree.map(lambda *p: ops.stack(p), *[net.parameters_dict() for net in nets])
    x = Tensor(np.float32(np.random.default_rng(0).normal(size=(5, 3))))
    together = jit(vmap(lambda p, x: functional_call(nets[0], p, x), (0, None)))(weights, x)
    close(together, np.stack([net(x).asnumpy() for net in nets]), rtol=1e-5, atol=1e-6)
    each = jit(vmap(grad(lambda p, x: functional_call(nets[0], p, x).sum()), (None, 0)))(nets[0].parameters_dict(), x)
    hidden = np.tanh(x.asnumpy() @ nets[0][0].weight.asnumpy().T + nets[0][0].bias.asnumpy())
    close(each["2.weight"], np.stack([hidden, hidden], 1), rtol=1e-5)
    return together


def pictures_that_are_moved(jit):
    image = normal(1, 1, 5, 5)

    def warped(theta):
        grid = ops.affine_grid(theta, (1, 1, 5, 5), align_corners=True)
        return ops.grid_sample(Tensor(image), grid, align_corners=True)

    same = jit(warped)(Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], ms.float64))
    close(same, image, atol=1e-6)
    moved = jit(warped)(Tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], ms.float64))
    close(moved[..., :4], image[..., 1:], atol=1e-6)  # by a quarter of the width 2, one pixel
    return jit(grad(lambda t: (warped(t) ** 2).sum()))(Tensor([[[0.9, 0.1, 0.0], [-0.1, 1.1, 0.2]]], ms.float64))


PROGRAMS = [
    *(selu_and_its_derivatives, logistic_regression_to_the_second_order, a_convolution_for_batches),
    *(a_regression_whose_state_is_a_record, a_network_that_is_a_list_of_dicts, branches_and_loops_of_data),
    *(a_root_by_newtons_method, clusters, a_minimum_by_scipy),
    *(temporal_differences, gradients_clipped_for_each_example, a_gaussian_process, learning_to_learn),
    *(a_polynomial_for_the_sine, a_function_with_its_own_backward, a_network_of_as_many_terms_as_it_is_told),
    *(a_classifier_with_a_dataset, names_letter_by_letter, two_networks_against_each_other),
    *(a_network_that_follows_another, a_new_head_on_frozen_layers, a_transformer_that_does_not_see_what_comes),
    *(several_networks_at_once, pictures_that_are_moved),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_both_modes_agree(program):
    results = []
    for jit in (lambda function: function, ms.jit):
        global rng
        rng = np.random.default_rng(0)
        results.append([np.asarray(x) for x in tree.leaves(program(jit))])
    for eager, compiled in zip(*results, strict=True):
        close(compiled, eager, rtol=1e-3, atol=1e-5)
