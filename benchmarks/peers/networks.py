"""A network of dense layers in each framework, and its training step by hand: for several workloads."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .case import Arrays, Call
from .frameworks import blocking, compiled_torch, put, vocabulary

RATE = 0.1


def _pairs(parameters: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(parameters[::2], parameters[1::2], strict=True)


@dataclasses.dataclass(frozen=True)
class Mlp:
    """Layers of these sizes; `classify`: relu and cross entropy, else tanh and mean squared error."""

    sizes: tuple[int, ...]
    classify: bool

    def parameters(self) -> Arrays:
        """A matrix [inputs, outputs] and a bias per layer, float32."""
        rng = np.random.default_rng(1)
        shapes = [shape for a, b in itertools.pairwise(self.sizes) for shape in ((a, b), (b,))]
        return [(rng.standard_normal(s) / self.sizes[0] ** 0.5).astype(np.float32) for s in shapes]

    def data(self, batch: int) -> Arrays:
        """Inputs, and targets: numbers, or classes as rows with a single one."""
        rng = np.random.default_rng(2)
        x, outputs = rng.standard_normal((batch, self.sizes[0])), self.sizes[-1]
        t = np.eye(outputs)[rng.integers(0, outputs, batch)] if self.classify else rng.standard_normal((batch, outputs))
        return [x.astype(np.float32), t.astype(np.float32)]

    def loss(self, m: Any) -> Callable[..., Any]:
        """The loss as a function of inputs, targets and parameters."""
        layers, classify = len(self.sizes) - 1, self.classify
        activation, logsumexp = (m.relu, m.logsumexp) if classify else (m.tanh, None)

        def loss(x: Any, t: Any, *parameters: Any) -> Any:
            for i in range(layers):
                x = x @ parameters[2 * i] + parameters[2 * i + 1]
                if i < layers - 1:
                    x = activation(x)
            if classify:
                return (logsumexp(x, 1) - (x * t).sum(1)).mean()
            return ((x - t) ** 2).mean()

        return loss

    def by_hand(self, x: Any, t: Any, *parameters: Any) -> tuple[Any, ...]:
        """The loss and the gradients of all parameters."""
        inputs, n = [x], len(x)
        for w, b in _pairs(parameters):
            z = inputs[-1] @ w + b
            inputs.append(np.maximum(z, 0) if self.classify else np.tanh(z))
        if self.classify:
            e = np.exp(z - z.max(1, keepdims=True))
            total = e.sum(1, keepdims=True)
            value = (np.log(total[:, 0]) + z.max(1) - (z * t).sum(1)).mean()
            d = (e / total - t) / n
        else:
            value, d = ((z - t) ** 2).mean(), 2 * (z - t) / z.size
        gradients: list[Any] = []
        for i in range(len(self.sizes) - 2, -1, -1):
            gradients = [inputs[i].T @ d, d.sum(0), *gradients]
            if i:
                d = d @ parameters[2 * i].T
                d = d * (inputs[i] > 0) if self.classify else d * (1 - inputs[i] ** 2)
        return value, *gradients

    # -------------------------------------------------------------------------------------- training steps
    def cell(self) -> Any:
        """Ours: a Cell of inputs and targets that returns the loss."""
        import autodiff_compiler as ms
        from autodiff_compiler import nn

        sizes, given, classify = self.sizes, self.parameters(), self.classify

        class Network(nn.Cell):
            def __init__(self) -> None:
                super().__init__()
                layers = []
                for i, (a, b) in enumerate(itertools.pairwise(sizes)):
                    w, bias = ms.Tensor(given[2 * i].T.copy()), ms.Tensor(given[2 * i + 1])
                    layers.append(nn.Dense(a, b, weight_init=w, bias_init=bias))
                    if i < len(sizes) - 2:
                        layers.append(nn.ReLU() if classify else nn.Tanh())
                self.layers = nn.SequentialCell(*layers)
                self.loss = nn.CrossEntropyLoss() if classify else nn.MSELoss()

            def construct(self, x: Any, t: Any) -> Any:
                return self.loss(self.layers(x), t)

        return Network()

    def our_step(self, column: str, batch: int) -> Call:
        from autodiff_compiler import nn

        network = self.cell()
        step = nn.TrainOneStepCell(network, nn.SGD(network.trainable_params(), RATE))
        return Call(step, *put(column, self.data(batch)))

    def jax_step(self, batch: int) -> Callable[[], Any]:
        import jax

        derivative = jax.value_and_grad(lambda p, x, t: self.loss(vocabulary("jax"))(x, t, *p))

        def step(p: Any, x: Any, t: Any) -> Any:
            value, gradients = derivative(p, x, t)
            return value, [a - RATE * g for a, g in zip(p, gradients, strict=True)]

        compiled = jax.jit(step, donate_argnums=0)
        x, t = put("jax", self.data(batch))
        parameters = put("jax", self.parameters())

        def call() -> Any:
            nonlocal parameters
            value, parameters = compiled(parameters, x, t)
            jax.block_until_ready(parameters)
            return value

        return call

    def torch_step(self, column: str, batch: int) -> Call:
        import torch

        layers: list[Any] = []
        for w, b in _pairs(put(column, self.parameters())):
            layers.append(torch.nn.Linear(*w.shape))
            layers[-1].weight.data, layers[-1].bias.data = w.T.contiguous(), b
            layers.append(torch.nn.ReLU() if self.classify else torch.nn.Tanh())
        network = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.SGD(network.parameters(), RATE)
        loss = torch.nn.functional.cross_entropy if self.classify else torch.nn.functional.mse_loss

        def forward(x: Any, t: Any) -> Any:
            return loss(network(x), t)

        update = optimizer.step
        if column != "torch":
            forward, update = compiled_torch(forward), torch.compile(optimizer.step, dynamic=False)

        def step(x: Any, t: Any) -> Any:
            optimizer.zero_grad()
            value = forward(x, t)
            value.backward()
            update()
            return value

        return Call(step, *put(column, self.data(batch)))

    def step_of(self, derivative: Callable[..., Any], batch: int) -> Callable[[], Any]:
        """A step on NumPy's arrays, from what gives the loss and the gradients."""
        x, t = self.data(batch)
        parameters = self.parameters()

        def call() -> Any:
            value, *gradients = derivative(x, t, *parameters)
            for a, g in zip(parameters, gradients, strict=True):
                a -= np.float32(RATE) * g
            return value

        return call

    def autograd_step(self, batch: int) -> Callable[[], Any]:
        import autograd

        wanted = tuple(range(2, 2 * len(self.sizes)))
        derivative = autograd.value_and_grad(self.loss(vocabulary("autograd")), wanted)

        def flat(*arrays: Any) -> Any:
            value, gradients = derivative(*arrays)
            return value, *gradients

        return self.step_of(flat, batch)

    def losses(self, batch: int, steps: int) -> Arrays:
        """The losses of the first steps in float64."""
        x, t, *parameters = (a.astype(np.float64) for a in [*self.data(batch), *self.parameters()])
        found = []
        for _ in range(steps):
            value, *gradients = self.by_hand(x, t, *parameters)
            parameters = [a - RATE * g for a, g in zip(parameters, gradients, strict=True)]
            found.append(np.asarray(value))
        return found

    def value_and_gradients(self, column: str) -> Callable[..., Any]:
        """Compiled, by all parameters: of ours or JAX."""
        wanted = tuple(range(2, 2 * len(self.sizes)))
        loss = self.loss(vocabulary(column))
        if column == "jax":
            import jax

            return blocking(jax.value_and_grad(loss, wanted))
        import autodiff_compiler as ms

        return ms.jit(ms.value_and_grad(loss, wanted))
