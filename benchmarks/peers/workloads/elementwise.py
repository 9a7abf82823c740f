"""Chains of elementwise functions with their derivatives: gelu, and options by Black and Scholes with their Greeks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import special

from ..case import Arrays, Call, Case, derivative, pullback

SIZES = (1_000, 10_000, 100_000, 1_000_000, 4_000_000)
DTYPES = ("float32", "float64")
STRIKE = 100.0
#: Python numbers: they take the dtype of what they meet.
ROOT_HALF, ROOT_TAU = math.sqrt(0.5), math.sqrt(2 * math.pi)
TARGETS = {"jax": 2.0, "torch": 5.0, "torch.compile": 1.5}


# ------------------------------------------------------------------------------------------------ gelu
def gelu(m: Any) -> Callable[..., Any]:
    """The sum of gelu(0.9 gelu(x) - 0.1)."""

    def one(x: Any) -> Any:
        return 0.5 * x * (1.0 + m.erf(x * ROOT_HALF))

    return lambda x: one(0.9 * one(x) - 0.1).sum()


def gelu_by_hand(x: np.ndarray) -> tuple[Any, np.ndarray]:
    def one(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        normal = 0.5 * (1.0 + special.erf(x * ROOT_HALF))
        return x * normal, normal + x * np.exp(-0.5 * x * x) / ROOT_TAU

    a, da = one(x)
    b, db = one(0.9 * a - 0.1)
    return b.sum(), 0.9 * da * db


def gelu_loops(x: Any) -> Any:
    """What numba compiles."""
    total, gradient = 0.0, np.empty_like(x)
    for i in range(x.size):
        v = x[i]
        normal = 0.5 * (1.0 + math.erf(v * ROOT_HALF))
        da = normal + v * math.exp(-0.5 * v * v) / ROOT_TAU
        u = 0.9 * v * normal - 0.1
        normal = 0.5 * (1.0 + math.erf(u * ROOT_HALF))
        total += u * normal
        gradient[i] = 0.9 * da * (normal + u * math.exp(-0.5 * u * u) / ROOT_TAU)
    return total, gradient


# ------------------------------------------------------------------------------------------------ options
def black_scholes(m: Any) -> Callable[..., Any]:
    """Prices of calls by spot, time, rate and volatility; their derivatives are delta, -theta, rho and vega."""

    def normal(x: Any) -> Any:
        return 0.5 * (1.0 + m.erf(x * ROOT_HALF))

    def price(spot: Any, time: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * m.sqrt(time)
        d1 = (m.log(spot / STRIKE) + (rate + 0.5 * volatility * volatility) * time) / spread
        return spot * normal(d1) - STRIKE * m.exp(-rate * time) * normal(d1 - spread)

    return price


def options_by_hand(g: Any, spot: Any, time: Any, rate: Any, volatility: Any) -> tuple[Any, ...]:
    root = np.sqrt(time)
    spread = volatility * root
    d1 = (np.log(spot / STRIKE) + (rate + 0.5 * volatility * volatility) * time) / spread
    n1, n2 = special.ndtr(d1), special.ndtr(d1 - spread)
    density = spot * np.exp(-0.5 * d1 * d1) / ROOT_TAU
    strike = STRIKE * np.exp(-rate * time)
    theta = 0.5 * density * volatility / root + rate * strike * n2
    return spot * n1 - strike * n2, g * n1, g * theta, g * strike * time * n2, g * density * root


def options(n: int, dtype: str) -> Arrays:
    rng = np.random.default_rng(0)
    ranges = ((60, 140), (0.2, 2), (0.01, 0.08), (0.1, 0.5))
    return [rng.uniform(low, high, n).astype(dtype) for low, high in ranges]


# ------------------------------------------------------------------------------------------------ cases
def cases() -> Iterator[Case]:
    for dtype in DTYPES:
        for n in SIZES:
            # Tapes of arrays that large do not fit everywhere, and say nothing new.
            common: dict[str, Any] = {"rounds": 5 if n > 100_000 else 1000, "targets": TARGETS}
            if n > 1_000_000:
                common["absent"] = {"autograd": "takes gigabytes"}

            def numbers(n: int = n, dtype: str = dtype) -> Arrays:
                return [np.random.default_rng(0).uniform(-3, 3, n).astype(dtype)]

            def numba(given: Callable[[], Arrays] = numbers) -> Call:
                import numba

                return Call(numba.njit(gelu_loops), *given())

            title = f"{n:,} {dtype}"
            yield derivative(f"gelu twice, {title}", gelu, numbers, (0,), gelu_by_hand, also={"numba": numba}, **common)
            yield pullback(
                f"Black-Scholes with Greeks, {title}", black_scholes,
                lambda n=n, dtype=dtype: options(n, dtype), lambda n=n, dtype=dtype: np.ones(n, dtype), options_by_hand,
                **common,
            )  # fmt: skip
