"""Convolution against SciPy and against its definition, its transpose, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import signal

from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.primitive import REGISTRY, call, kernel_of
from autodiff_compiler.primitives import convolution

RNG = np.random.default_rng(5)


def draw(*shape):
    return RNG.normal(size=shape)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def by_definition(x, w, stride, padding, dilation, groups):
    """Every element of the result as the sum that defines it; `padding` has a pair per dimension."""
    n, filters = x.ndim - 2, w.shape[0]
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    counts = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    out = np.zeros((x.shape[0], filters, *counts))
    for f, place in itertools.product(range(filters), np.ndindex(*counts)):
        first = f // (filters // groups) * w.shape[1]
        window = [
            slice(p * s, p * s + d * (k - 1) + 1, d)
            for p, s, d, k in zip(place, stride, dilation, w.shape[2:], strict=True)
        ]
        part = x[(slice(None), slice(first, first + w.shape[1]), *window)]
        out[(slice(None), f, *place)] = (part * w[f]).sum(tuple(range(1, n + 2)))
    return out


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_plain_convolution_is_scipys_correlation(modes, n):
    x, w, b = draw(2, 3, *(5, 4, 6)[:n]), draw(4, 3, *(3, 2, 2)[:n]), draw(4)
    conv = (ops.conv1d, ops.conv2d, ops.conv3d)[n - 1]
    expected = [[sum(map(lambda c: signal.correlate(s[c], f[c], "valid"), range(3))) for f in w] for s in x]
    expected = np.array(expected) + b.reshape(-1, *(1,) * n)
    close(modes(conv, x, w, b)[0], expected)
    close(modes(conv, x[0], w, b)[0], expected[0])  # without a batch


CASES = [
    # sizes, kernel, stride, padding, dilation, groups
    ((7, 6), (3, 2), (2, 1), ((1, 1), (0, 0)), (1, 1), 1),
    ((7, 6), (2, 3), (1, 2), ((0, 2), (1, 3)), (2, 1), 2),
    ((5, 5), (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 4),
    ((5, 5), (1, 1), (2, 2), ((1, 0), (0, 0)), (1, 1), 1),
    ((9,), (3,), (2,), ((4, 4),), (3,), 4),
    ((3, 4, 3), (2, 2, 3), (1, 2, 1), ((1, 0), (0, 0), (1, 1)), (1, 1, 1), 2),
    ((8, 7), (3, 2), (1, 1), ((1, 1), (0, 0)), (1, 1), 2),  # enough windows for a product per sample
    ((60,), (17,), (3,), ((0, 0),), (1,), 2),  # windows copied at once
]


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation", "groups"), CASES)
@pytest.mark.parametrize("columns", [1, 40, 1 << 20], ids=["row by row", "small blocks", "at once"])
def test_stride_padding_dilation_groups(monkeypatch, sizes, kernel, stride, padding, dilation, groups, columns):
    monkeypatch.setattr(convolution, "COLUMNS", columns)
    x, w = draw(3, 4, *sizes), draw(4, 4 // groups, *kernel)
    pairs = [p for pair in padding for p in pair]
    fn = lambda x, w: call.convolution(x, w, None, stride, "pad", pairs, dilation, groups)
    expected = by_definition(x, w, stride, padding, dilation, groups)
    close(fn(Tensor(x), Tensor(w)).asnumpy(), expected)
    # the transposes, by what defines them: <g, conv(x, w)> = <conv_input(g, w), x> = <conv_filter(x, g), w>
    attrs = {"stride": stride, "padding": tuple(pairs), "dilation": dilation, "groups": groups}
    g = draw(*expected.shape)
    gx = kernel_of(REGISTRY["conv_input"])(g, w, size=sizes, **attrs)
    gw = kernel_of(REGISTRY["conv_filter"])(x, g, kernel=kernel, **attrs)
    assert (gx * x).sum() == pytest.approx((g * expected).sum(), rel=1e-10)
    assert (gw * w).sum() == pytest.approx((g * expected).sum(), rel=1e-10)


def test_pad_modes(modes):
    x, w = draw(1, 2, 6, 7), draw(3, 2, 3, 2)
    for pad_mode, padding, stride, pairs in [
        ("valid", 0, 1, ((0, 0), (0, 0))),
        ("same", 0, 1, ((1, 1), (0, 1))),
        ("same", 0, 2, ((0, 1), (0, 1))),
        ("pad", 1, 1, ((1, 1), (1, 1))),
        ("pad", (2, 0), 1, ((2, 2), (0, 0))),
        ("pad", (2, 0, 1, 3), 1, ((2, 0), (1, 3))),
    ]:
        (got,) = modes(lambda x, w: ops.conv2d(x, w, None, stride, pad_mode, padding), x, w)
        close(got, by_definition(x, w, (stride,) * 2, pairs, (1, 1), 1))


def test_second_order_of_a_whole_layer(derivatives):
    derivatives(
        lambda x, w, b: ops.tanh(ops.conv2d(x, w, b, stride=(2, 1), pad_mode="pad", padding=1, groups=2)),
        draw(2, 4, 4, 3), draw(2, 2, 3, 2), draw(2),
    )  # fmt: skip
    derivatives(
        lambda x, w: ops.tanh(ops.conv_transpose2d(x, w, None, 2, 1, 1, 1, (1, 2))), draw(1, 2, 3, 2), draw(2, 2, 2, 3)
    )


# ------------------------------------------------------------------------------------------------ the transpose
def scattered(x, w, stride, padding, extra, dilation):
    """The transposed convolution as its definition: every element adds its multiple of the filter."""
    sizes = [
        (t - 1) * s + d * (k - 1) + 1 for t, s, k, d in zip(x.shape[2:], stride, w.shape[2:], dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[1], *[a + e + 2 * p for a, e, p in zip(sizes, extra, padding, strict=True)]))
    for place in np.ndindex(*x.shape[2:]):
        target = tuple(
            [
                slice(p * s, p * s + d * (k - 1) + 1, d)
                for p, s, d, k in zip(place, stride, dilation, w.shape[2:], strict=True)
            ]
        )
        out[(..., *target)] += np.einsum("nc,cf...->nf...", x[(..., *place)], w)
    crop = [slice(p, a + e - p) for a, e, p in zip(sizes, extra, padding, strict=True)]
    return out[(..., *crop)]


@pytest.mark.parametrize(
    ("stride", "padding", "extra", "dilation"),
    [((1, 1), (0, 0), (0, 0), (1, 1)), ((2, 3), (1, 0), (1, 2), (1, 1)), ((2, 1), (1, 1), (0, 0), (1, 2))],
)
def test_a_transposed_convolution_scatters_multiples_of_the_filter(modes, stride, padding, extra, dilation):
    x, w, b = draw(2, 3, 3, 4), draw(3, 2, 3, 2), draw(2)
    (got,) = modes(lambda x, w, b: ops.conv_transpose2d(x, w, b, stride, padding, extra, 1, dilation), x, w, b)
    close(got, scattered(x, w, stride, padding, extra, dilation) + b[:, None, None])


def test_transposed_groups_are_apart(modes):
    x, w = draw(1, 4, 3, 3), draw(4, 1, 2, 2)
    (got,) = modes(lambda x, w: ops.conv_transpose2d(x, w, groups=2), x, w)
    halves = [scattered(x[:, h], w[h], (1, 1), (0, 0), (0, 0), (1, 1)) for h in (slice(0, 2), slice(2, 4))]
    close(got, np.concatenate(halves, 1))


def test_sizes_of_transposed_pad_modes():
    x, w = Tensor(draw(1, 2, 3, 3, 4)), Tensor(draw(2, 1, 2, 2, 2))
    assert ops.conv3d_transpose(x, w).shape == (1, 1, 4, 4, 5)
    assert ops.conv3d_transpose(x, w, stride=3).shape == (1, 1, 9, 9, 12)  # 'valid' leaves nothing out
    assert ops.conv3d_transpose(x, w, "same", stride=2).shape == (1, 1, 6, 6, 8)
    assert ops.conv3d_transpose(x, w, "pad", 1, 2, output_padding=1).shape == (1, 1, 5, 5, 7)


# ------------------------------------------------------------------------------------------------ the rest
def test_16_bit_floats_accumulate_in_float32():
    x, w = np.ones((1, 512, 3, 3), np.float16), np.full((1, 512, 3, 3), 0.501, np.float16)
    exact = float(w[0, 0, 0, 0]) * 512 * 9
    assert ops.conv2d(Tensor(x), Tensor(w)).asnumpy().item() == np.float16(exact)


def test_bias_add(modes):
    x, b = draw(2, 3, 4), draw(3)
    np.testing.assert_array_equal(modes(ops.bias_add, x, b)[0], x + b[:, None])
    with pytest.raises(ShapeError, match="does not fit the channels"):
        ops.bias_add(Tensor(x), Tensor(draw(4)))


@pytest.mark.parametrize(
    ("fn", "error", "text"),
    [
        (lambda x, w: ops.conv2d(x, w, padding=1), ValueError, "use pad_mode='pad'"),
        (lambda x, w: ops.conv2d(x, w, pad_mode="full"), ValueError, "must be 'valid', 'same' or 'pad'"),
        (lambda x, w: ops.conv2d(x, w, stride=0), ValueError, "`stride` must not be less than 1"),
        (lambda x, w: ops.conv2d(x, w, stride=(1, 2, 3)), ShapeError, "`stride` must be one int or 2"),
        (lambda x, w: ops.conv2d(x, w, groups=2), ShapeError, "filters cannot be divided into 2 groups"),
        (lambda x, w: ops.conv1d(x, w), ShapeError, "over 1 dimensions takes"),
        (lambda x, w: ops.conv2d(x, w, dilation=4), ShapeError, "does not fit into"),
        (lambda x, w: ops.conv2d(x.astype("int32"), w.astype("int32")), DTypeError, "one float dtype"),
        (lambda x, w: ops.conv_transpose2d(x, w, output_padding=1), ValueError, "less than the stride"),
        (lambda x, w: ops.conv_transpose2d(x, w, padding=3), ShapeError, "the padding is too large"),
    ],
)
def test_what_is_refused(fn, error, text):
    with pytest.raises(error, match=text):
        fn(Tensor(draw(1, 3, 4, 4)), Tensor(draw(3, 3, 3, 3)))
