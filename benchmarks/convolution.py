"""Convolution and pooling beside im2col with NumPy's matmul and beside what a user of NumPy would write.

    python benchmarks/convolution.py

Milliseconds per call, the better of two ways to write im2col; `ratio` is ours divided by it: below 1 we are faster.
"""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))  # runs from a checkout that is not installed

import autodiff_compiler.primitives  # noqa: F401
from autodiff_compiler.ir.primitive import REGISTRY, kernel_of

Array = np.ndarray

# batch, channels, size, filters, kernel, padding, stride, groups
SHAPES = [
    (32, 3, 32, 16, 3, 1, 1, 1), (32, 16, 32, 32, 3, 1, 1, 1), (32, 64, 16, 64, 3, 1, 1, 1),
    (64, 64, 8, 128, 3, 1, 2, 1), (8, 64, 56, 64, 3, 1, 1, 1), (1, 3, 224, 64, 7, 3, 2, 1),
    (64, 128, 4, 128, 3, 1, 1, 1), (32, 64, 16, 64, 1, 0, 1, 1), (64, 1, 28, 6, 5, 2, 1, 1),
    (16, 64, 32, 64, 3, 1, 1, 64),
]  # fmt: skip


def windows(x: Array, kernel: int, padding: int, stride: int) -> Array:
    """[batch, channels, rows, columns, kernel, kernel], a view of the padded input."""
    if padding:
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    return sliding_window_view(x, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]


def one_product(x: Array, w: Array, padding: int, stride: int, groups: int) -> Array:
    """im2col with a row per window: one matrix product, and the result transposed."""
    v = windows(x, w.shape[2], padding, stride)
    n, _, rows, columns = v.shape[:4]
    flat = v.reshape(n, groups, -1, *v.shape[2:]).transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, n * rows * columns, -1)
    out = flat @ w.reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
    return out.reshape(groups, n, rows, columns, -1).transpose(1, 0, 4, 2, 3).reshape(n, -1, rows, columns)


def product_per_sample(x: Array, w: Array, padding: int, stride: int, groups: int) -> Array:
    """im2col with a column per window: a matrix product per sample."""
    v = windows(x, w.shape[2], padding, stride)
    n, _, rows, columns = v.shape[:4]
    flat = v.transpose(0, 1, 4, 5, 2, 3).reshape(n, groups, -1, rows * columns)
    return np.matmul(w.reshape(groups, w.shape[0] // groups, -1), flat).reshape(n, -1, rows, columns)


def filter_gradient(x: Array, g: Array, kernel: int, padding: int, stride: int, groups: int) -> Array:
    """The gradient of the filters by one product with the columns."""
    v = windows(x, kernel, padding, stride)
    n, c, rows, columns = v.shape[:4]
    v = v.reshape(n, groups, c // groups, *v.shape[2:]).transpose(1, 0, 3, 4, 2, 5, 6)
    flat = v.reshape(groups, n * rows * columns, -1)
    per_group = g.reshape(n, groups, -1, rows * columns).transpose(1, 2, 0, 3).reshape(groups, -1, n * rows * columns)
    return (per_group @ flat).reshape(-1, c // groups, kernel, kernel)


def input_gradient(g: Array, w: Array, size: int, padding: int, stride: int, groups: int) -> Array:
    """The gradient of the input: a product per sample, then col2im."""
    n, filters, rows, columns = g.shape
    k = w.shape[2]
    flat = w.reshape(groups, filters // groups, -1).swapaxes(1, 2) @ g.reshape(n, groups, filters // groups, -1)
    flat = flat.reshape(n, w.shape[1] * groups, k, k, rows, columns)
    out = np.zeros((*flat.shape[:2], size + 2 * padding, size + 2 * padding), g.dtype)
    for i in range(k):
        for j in range(k):
            out[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride] += flat[:, :, i, j]
    return np.ascontiguousarray(out[:, :, padding : padding + size, padding : padding + size])


def interleaved(functions: list[Callable[[], Any]], rounds: int = 9) -> list[float]:
    """The best time of each function in milliseconds; the rounds alternate, so that drift hits all alike."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, f in enumerate(functions):
            start = time.perf_counter()
            f()
            best[i] = min(best[i], time.perf_counter() - start)
    return [1e3 * t for t in best]


def report(name: str, ours: Callable[[], Array], others: list[Callable[[], Array]]) -> None:
    """Checks that all agree, and prints a row."""
    for other in others:
        np.testing.assert_allclose(ours(), other(), rtol=1e-3, atol=1e-2)
    mine, *theirs = interleaved([ours, *others])
    print(f"{name:44s} {mine:9.2f} {min(theirs):9.2f} {mine / min(theirs):7.2f}")


def main() -> None:
    rng = np.random.default_rng(0)
    conv, conv_input, conv_filter, max_pool, window_sum = [
        kernel_of(REGISTRY[name]) for name in ("conv", "conv_input", "conv_filter", "max_pool", "window_sum")
    ]
    print(f"{'ms':44s} {'ours':>9s} {'NumPy':>9s} {'ratio':>7s}")
    for n, c, size, filters, k, p, s, groups in SHAPES:
        x = rng.standard_normal((n, c, size, size), np.float32)
        w = rng.standard_normal((filters, c // groups, k, k), np.float32)
        geometry = {"stride": (s, s), "padding": (p,) * 4, "dilation": (1, 1), "groups": groups}
        name = f"{n}x{c}x{size}x{size} * {filters}x{c // groups}x{k}x{k} /{s}"
        report(
            f"conv        {name}",
            lambda x=x, w=w, attrs=geometry: conv(x, w, **attrs),
            [lambda x=x, w=w, f=f, a=(p, s, groups): f(x, w, *a) for f in (one_product, product_per_sample)],
        )
        g = rng.standard_normal(conv(x, w, **geometry).shape, np.float32)
        report(
            f"conv_input  {name}",
            lambda g=g, w=w, d=size, attrs=geometry: conv_input(g, w, size=(d, d), **attrs),
            [lambda g=g, w=w, a=(size, p, s, groups): input_gradient(g, w, *a)],
        )
        report(
            f"conv_filter {name}",
            lambda x=x, g=g, k=k, attrs=geometry: conv_filter(x, g, kernel=(k, k), **attrs),
            [lambda x=x, g=g, a=(k, p, s, groups): filter_gradient(x, g, *a)],
        )
    x = rng.standard_normal((16, 32, 64, 64), np.float32)
    for k, s in ((2, 2), (3, 2), (3, 1)):
        attrs = {"kernel": (k, k), "stride": (s, s), "padding": (0,) * 4}
        report(
            f"max_pool {k}x{k}/{s}", lambda a=attrs: max_pool(x, **a, dilation=(1, 1)),
            [lambda k=k, s=s: windows(x, k, 0, s).max((-1, -2))],
        )  # fmt: skip
        report(
            f"window_sum {k}x{k}/{s}", lambda a=attrs: window_sum(x, **a),
            [lambda k=k, s=s: windows(x, k, 0, s).sum((-1, -2))],
        )  # fmt: skip


if __name__ == "__main__":
    main()
