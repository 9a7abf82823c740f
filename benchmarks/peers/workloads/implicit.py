"""Values that an equation defines: a network repeated until it stays, and a differential equation, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..case import Arrays, Call, Case, derivative
from ..frameworks import blocking, put

BATCH, WIDTH = 32, 64
TIMES = np.linspace(0.0, 10.0, 11)


# ------------------------------------------------------------------------------------------------ a fixed point
def network() -> Arrays:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((WIDTH, WIDTH)) * 0.5 / WIDTH**0.5
    return [w.astype(np.float32), rng.standard_normal((BATCH, WIDTH)).astype(np.float32)]


def equilibrium(m: Any) -> Callable[..., Any]:
    def energy(w: Any, x: Any) -> Any:
        from autodiff_compiler import implicit

        z = implicit.fixed_point(lambda z: m.tanh(z @ w + x), x * 0.0, tol=1e-6).value
        return (z * z).sum()

    return energy


def equilibrium_of_jax(m: Any) -> Callable[..., Any]:
    """As JAX's documentation of `custom_vjp` shows it: both fixed points are found by iteration."""
    import jax
    from jax import numpy as jnp

    def found(f: Any, z: Any) -> Any:
        def goes_on(state: Any) -> Any:
            before, now = state
            return jnp.linalg.norm(now - before) > 1e-6 * (1 + jnp.linalg.norm(now))

        return jax.lax.while_loop(goes_on, lambda state: (state[1], f(state[1])), (z, f(z)))[1]

    def layer(z: Any, w: Any, x: Any) -> Any:
        return m.tanh(z @ w + x)

    @jax.custom_vjp
    def stays(w: Any, x: Any) -> Any:
        return found(lambda z: layer(z, w, x), x * 0.0)

    def forward(w: Any, x: Any) -> Any:
        z = stays(w, x)
        return z, (z, w, x)

    def backward(saved: Any, g: Any) -> Any:
        z, w, x = saved
        _, by_z = jax.vjp(lambda z: layer(z, w, x), z)
        u = found(lambda u: g + by_z(u)[0], g)
        return jax.vjp(lambda w, x: layer(z, w, x), w, x)[1](u)

    stays.defvjp(forward, backward)
    return lambda w, x: (stays(w, x) ** 2).sum()


def equilibrium_of_jaxopt() -> Call:
    """Its own iteration and implicit derivative, to about the same residual: its `tol` is absolute."""
    import jax
    import jaxopt
    from jax import numpy as jnp

    def energy(w: Any, x: Any) -> Any:
        search = jaxopt.FixedPointIteration(lambda z, w, x: jnp.tanh(z @ w + x), maxiter=1000, tol=3e-5)
        z = search.run(x * 0.0, w, x).params
        return (z * z).sum()

    return Call(blocking(jax.value_and_grad(energy, (0, 1))), *put("jax", network()))


def equilibrium_by_hand(w: Any, x: Any) -> tuple[Any, ...]:
    z = np.zeros_like(x)
    small = 1e-6 if x.dtype == np.float32 else 1e-14
    while True:
        before, z = z, np.tanh(z @ w + x)
        if np.linalg.norm(z - before) <= small * (1 + np.linalg.norm(z)):
            break
    slope = 1 - z * z
    u = g = 2 * z
    while True:
        before, u = u, g + (u * slope) @ w.T
        if np.linalg.norm(u - before) <= small * (1 + np.linalg.norm(u)):
            break
    u = u * slope
    return (z * z).sum(), z.T @ u, u


# ------------------------------------------------------------------------------------------------ an equation
def rates() -> Arrays:
    return [np.array([1.5, 1.0, 3.0, 1.0], np.float32)]


def _prey_and_predators(y: Any, k: Any, stack: Any) -> Any:
    return stack([k[0] * y[0] - k[1] * y[0] * y[1], k[3] * y[0] * y[1] - k[2] * y[1]])


def populations(m: Any) -> Callable[..., Any]:
    def total(k: Any) -> Any:
        import autodiff_compiler as ms
        from autodiff_compiler import ode, ops

        ys = ode.odeint(
            lambda y, t: _prey_and_predators(y, k, ops.stack), ms.Tensor([1.0, 1.0], ms.float32),
            ms.Tensor(TIMES, ms.float32), rtol=1e-5, atol=1e-6,
        )  # fmt: skip
        return ys.sum()

    return total


def populations_of_jax(m: Any) -> Callable[..., Any]:
    """`jax.experimental.ode`: steps of the same method, the continuous adjoint."""
    from jax import numpy as jnp
    from jax.experimental.ode import odeint

    def total(k: Any) -> Any:
        times = jnp.asarray(TIMES, jnp.float32)
        start = jnp.ones(2, jnp.float32)
        return odeint(lambda y, t: _prey_and_predators(y, k, jnp.stack), start, times, rtol=1e-5, atol=1e-6).sum()

    return total


def populations_of_diffrax() -> Call:
    """The same method and tolerances, with its default adjoint: the discrete one with checkpoints."""
    import diffrax
    import jax
    from jax import numpy as jnp

    def total(k: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, k: _prey_and_predators(y, k, jnp.stack)), diffrax.Dopri5(),
            0.0, float(TIMES[-1]), None, jnp.ones(2, jnp.float32), k,
            saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES, jnp.float32)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6), max_steps=1000,
        )  # fmt: skip
        return found.ys.sum()

    return Call(blocking(jax.value_and_grad(total)), *put("jax", rates()))


def populations_by_hand(k: Any) -> tuple[Any, ...]:
    """The equation and its derivatives by the rates, by small steps of the method of order 4."""
    steps = 400
    h = (TIMES[1] - TIMES[0]) / steps
    y = np.zeros((2, 5))
    y[:, 0] = 1.0

    def slope(y: Any) -> Any:
        (a, b), da, db = y[:, 0], y[0, 1:], y[1, 1:]
        both = a * b
        of_both = da * b + a * db
        first = k[0] * da - k[1] * of_both + np.array([a, -both, 0.0, 0.0])
        second = k[3] * of_both - k[2] * db + np.array([0.0, 0.0, -b, both])
        return np.array([[k[0] * a - k[1] * both, *first], [k[3] * both - k[2] * b, *second]])

    found = y.copy()
    for _ in TIMES[1:]:
        for _ in range(steps):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
        found += y
    return found[:, 0].sum(), found[:, 1:].sum(0)


def cases() -> Iterator[Case]:
    absent = dict.fromkeys(("torch", "torch.compile", "autograd"), "has none")
    yield derivative(
        f"fixed point of a layer, {BATCH} by {WIDTH}, gradients", equilibrium, network, (0, 1), equilibrium_by_hand,
        formulas={"jax": equilibrium_of_jax}, also={"jaxopt": equilibrium_of_jaxopt},
        targets={"jax": 1.0, "jaxopt": 1.0}, absent=absent, threads=(1,),
    )  # fmt: skip
    yield derivative(
        "Lotka-Volterra by Dormand-Prince, 10 times, gradient", populations, rates, (0,), populations_by_hand,
        formulas={"jax": populations_of_jax}, also={"diffrax": populations_of_diffrax},
        targets={"jax": 2.0, "diffrax": 1.0}, tolerance=2e-2,
        absent=absent | {"hand": "takes small steps"}, threads=(1,),
    )  # fmt: skip
