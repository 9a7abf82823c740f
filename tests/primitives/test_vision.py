"""Blocks, further forms of pooling, boxes and deformable convolution against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import autodiff_compiler as ac
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError, UnsupportedCallError

RNG = np.random.default_rng(7)


# ------------------------------------------------------------------------------------------------ blocks
def test_pixel_shuffle_and_back(modes):
    x = RNG.normal(size=(2, 8, 3, 4))
    (got,) = modes(lambda x: ops.pixel_shuffle(x, 2), x)
    assert got.shape == (2, 2, 6, 8)
    for n, c, i, j in np.ndindex(*got.shape):
        assert got[n, c, i, j] == x[n, 4 * c + 2 * (i % 2) + j % 2, i // 2, j // 2]
    np.testing.assert_array_equal(modes(lambda x: ops.pixel_unshuffle(x, 2), got)[0], x)
    np.testing.assert_array_equal(modes(lambda x: ops.pixel_shuffle(x, 1), x)[0], x)


def test_channel_shuffle(modes):
    x = RNG.normal(size=(2, 6, 1, 2))
    (got,) = modes(lambda x: ops.channel_shuffle(x, 2), x)
    np.testing.assert_array_equal(got, x[:, [0, 3, 1, 4, 2, 5]])


@pytest.mark.parametrize(
    ("shape", "block", "pads"),
    [((2, 3, 4, 6), (2, 3), [(0, 0), (0, 0)]), ((1, 2, 3), 2, [(1, 2)]), ((3, 3, 5), (1, 2), [(1, 0), (0, 1)])],
)
def test_space_to_batch_and_back(modes, shape, block, pads):
    x = RNG.normal(size=shape)
    m = len(pads)
    sizes = (block,) * m if isinstance(block, int) else block
    (got,) = modes(lambda x: ops.space_to_batch_nd(x, block, pads), x)
    padded = np.pad(x, [(0, 0)] * (x.ndim - m) + pads)
    lead = slice(None)
    for number, place in enumerate(np.ndindex(*sizes)):
        part = padded[(lead,) * (x.ndim - m) + tuple(slice(p, None, b) for p, b in zip(place, sizes, strict=True))]
        np.testing.assert_array_equal(got[number * shape[0] : (number + 1) * shape[0]], part)
    np.testing.assert_array_equal(modes(lambda x: ops.batch_to_space_nd(x, block, pads), got)[0], x)


# ------------------------------------------------------------------------------------------------ pooling
@pytest.mark.parametrize("p", [1, 2, 3.5, float("inf")])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_lp_pooling(modes, p, ceil_mode):
    x = RNG.uniform(0.1, 2, size=(2, 3, 5, 6))
    (got,) = modes(lambda x: ops.lp_pool2d(x, p, (2, 3), (2, 2), ceil_mode), x)
    assert got.shape == (2, 3, 3 if ceil_mode else 2, 3 if ceil_mode else 2)
    for i, j in np.ndindex(*got.shape[2:]):
        window = x[..., 2 * i : 2 * i + 2, 2 * j : 2 * j + 3].reshape(2, 3, -1)
        np.testing.assert_allclose(got[..., i, j], np.linalg.norm(window, p, axis=-1), rtol=1e-12)
    (line,) = modes(lambda x: ops.lp_pool1d(x, p, 5), x[0])
    np.testing.assert_allclose(line[..., 0], np.linalg.norm(x[0, ..., :5], p, axis=-1), rtol=1e-12)


def test_the_derivative_of_a_window_of_zeros_is_0():
    gradient = ac.grad(lambda x: ops.lp_pool1d(x, 2, 2).sum())
    for run in (gradient, ac.jit(gradient)):
        np.testing.assert_array_equal(run(Tensor([[0.0, 0.0, 3.0, 4.0]])).asnumpy(), np.float32([[0, 0, 0.6, 0.8]]))


def test_max_unpooling(modes):
    x = RNG.permutation(48).reshape(1, 2, 4, 6).astype(float)
    pooled, index = (t.asnumpy() for t in ops.max_pool2d(Tensor(x), 2, return_indices=True))
    (got,) = modes(lambda p, i: ops.max_unpool2d(p, i, 2), pooled, index)
    np.testing.assert_array_equal(got, np.where(np.isin(x, pooled), x, 0))
    (line,) = modes(lambda p, i: ops.max_unpool1d(p, i, 2, output_size=(5,)), pooled[0, 0, :1], np.array([[0, 4, 2]]))
    np.testing.assert_array_equal(line, [[pooled[0, 0, 0, 0], 0, pooled[0, 0, 0, 2], 0, pooled[0, 0, 0, 1]]])
    cube, places = ops.max_pool3d(Tensor(x[None, 0]), (1, 2, 2), return_indices=True)
    np.testing.assert_array_equal(
        ops.max_unpool3d(cube, places, (1, 2, 2)).asnumpy()[0], np.where(np.isin(x[0], cube.asnumpy()), x[0], 0)
    )
    assert ops.max_unpool2d(Tensor(pooled), Tensor(index), 2, output_size=(1, 2, 5, 7)).shape == (1, 2, 5, 7)
    with pytest.raises(ValueError, match="is not between"):
        ops.max_unpool2d(Tensor(pooled), Tensor(index), 2, output_size=(6, 7))
    with pytest.raises(IndexError):
        ops.max_unpool1d(Tensor([[1.0]]), Tensor([[2]]), 2)


def starts(size, kernel, count, sample):
    """Where B. Graham's pseudo-random regions begin, as PyTorch and MindSpore compute it."""
    if count == 1:
        return [size - kernel]
    alpha = (size - kernel) / (count - 1)
    return [int((i + sample) * alpha) - int(sample * alpha) for i in range(count - 1)] + [size - kernel]


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_max_pooling(modes, n):
    sizes, kernel, output = (7, 6, 5)[-n:], (2, 3, 2)[-n:], (3, 2, 1)[:n]
    x, samples = RNG.permutation(4 * np.prod(sizes)).reshape(2, 2, *sizes) * 1.0, RNG.uniform(size=(2, 2, n))
    pool = ops.fractional_max_pool2d if n == 2 else ops.fractional_max_pool3d
    got, index = modes(lambda x, s: pool(x, kernel, output, return_indices=True, _random_samples=s), x, samples)
    for b, c in np.ndindex(2, 2):
        u = samples[b, c, ::-1] if n == 2 else samples[b, c]
        begins = [starts(*axis) for axis in zip(sizes, kernel, output, u, strict=True)]
        for place in np.ndindex(*output):
            region = tuple(slice(s[p], s[p] + k) for s, p, k in zip(begins, place, kernel, strict=True))
            assert got[(b, c, *place)] == x[b, c][region].max()
            assert x[b, c].reshape(-1)[index[(b, c, *place)]] == got[(b, c, *place)]


def test_fractional_max_pooling_draws_its_regions():
    x = Tensor(RNG.permutation(200).reshape(1, 2, 10, 10) * 1.0)
    for run in (ops.fractional_max_pool2d, ac.jit(lambda x, k, **o: ops.fractional_max_pool2d(x, k, **o))):
        ac.set_seed(3)
        drawn = [run(x, 2, output_ratio=0.61).asnumpy() for _ in range(6)]
        assert drawn[0].shape == (1, 2, 6, 6)
        assert len({d.tobytes() for d in drawn}) > 1
    with pytest.raises(ValueError, match="either"):
        ops.fractional_max_pool2d(x, 2)
    with pytest.raises(ShapeError, match="10 regions of 2 elements do not fit"):
        ops.fractional_max_pool2d(x, 2, 10)


def test_derivatives_of_pooling(derivatives):
    x = RNG.permutation(60).reshape(2, 6, 5) / 10 + 0.5
    samples, index = Tensor(RNG.uniform(size=(1, 2, 2))), Tensor([[[3, 1], [7, 0]]])
    derivatives(lambda x: ops.lp_pool2d(x, 3, 2), x)
    derivatives(lambda x: ops.fractional_max_pool2d(x * x, 2, 3, _random_samples=samples), x)
    derivatives(lambda x: ops.max_unpool2d(x * x, index, 2), RNG.normal(size=(1, 2, 2)))
    derivatives(lambda x: ops.pixel_shuffle(x * x, 2), RNG.normal(size=(4, 2, 1)))
    derivatives(lambda x: ops.space_to_batch_nd(x * x, 2, [(1, 0)]), RNG.normal(size=(2, 3)))


# ------------------------------------------------------------------------------------------------ boxes
def interpolated(image, y, x):
    """image [height, width, channels] at a place, linearly; zeros outside."""
    total = 0.0
    for i, j in itertools.product((0, 1), (0, 1)):
        row, column = int(np.floor(y)) + i, int(np.floor(x)) + j
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            total = total + (1 - abs(y - row)) * (1 - abs(x - column)) * image[row, column]
    return total


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_crop_and_resize(modes, method):
    image = RNG.normal(size=(2, 5, 4, 3))
    boxes = np.array([[0.1, 0.2, 0.9, 0.7], [0.8, 0.0, 0.3, 1.0], [-0.2, 0.1, 1.1, 1.4]])
    index = np.array([1, 0, 1])
    (got,) = modes(lambda i, b: ops.crop_and_resize(i, b, Tensor(index), (4, 1), method, 7.0), image, boxes)
    assert got.shape == (3, 4, 1, 3)
    for n, (y1, x1, y2, x2) in enumerate(boxes):
        for i in range(4):
            y, x = (y1 + (y2 - y1) * i / 3) * 4, (x1 + x2) / 2 * 3
            if not (0 <= y <= 4 and 0 <= x <= 3):
                expected = 7.0
            elif method == "bilinear":
                expected = interpolated(image[index[n]], y, x)
            else:
                expected = image[index[n], int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
            np.testing.assert_allclose(got[n, i, 0], expected, rtol=1e-12)


def test_crop_and_resize_of_whole_elements(modes):
    """The elements that a box touches, resized with half pixel centres, which is what `interpolate` does."""
    image = RNG.normal(size=(2, 5, 8, 3))
    boxes, index = np.array([[0.2, 0.25, 0.65, 0.8], [0.0, 0.5, 1.0, 0.5], [0.7, 0.0, 0.1, 2.0]]), [1, 0, 1]
    (got,) = modes(lambda i, b: ops.crop_and_resize(i, b, Tensor(index), (4, 3), "bilinear_v2", 7.0), image, boxes)
    rows, columns = [(1, 3), (0, 5), (3, 3)], [(2, 6), (4, 4), (0, 16)]  # 5 * 0.65 is 3.25, 8 * 0.8 is 6.4
    for k, ((top, bottom), (left, right)) in enumerate(zip(rows, columns, strict=True)):
        y, x = np.minimum(np.arange(top, bottom + 1), 4), np.minimum(np.arange(left, right + 1), 7)
        part = image[index[k]][y][:, x].transpose(2, 0, 1)[None]
        known = ops.interpolate(Tensor(part), size=(4, 3), mode="bilinear", align_corners=False).asnumpy()
        np.testing.assert_allclose(got[k], known[0].transpose(1, 2, 0), rtol=1e-12)


def test_crop_and_resize_refuses():
    image, boxes = Tensor(np.ones((1, 2, 2, 1))), Tensor(np.ones((1, 4)))
    with pytest.raises(UnsupportedCallError, match="bilinear_v2"):
        ops.crop_and_resize(image, boxes, Tensor([0]), (2, 2), "bicubic")
    with pytest.raises(IndexError):
        ops.crop_and_resize(image, boxes, Tensor([1]), (2, 2))


def test_iou(modes):
    corner = RNG.integers(0, 6, (5, 2))
    boxes = np.concatenate([corner, corner + RNG.integers(0, 5, (5, 2))], 1).astype(float)
    anchors, truths = boxes[:3], boxes[2:]

    def elements(box):
        return set(itertools.product(range(int(box[0]), int(box[2]) + 1), range(int(box[1]), int(box[3]) + 1)))

    common = np.array([[len(elements(a) & elements(t)) for a in anchors] for t in truths])
    union = np.array([[len(elements(a) | elements(t)) for a in anchors] for t in truths])
    own = np.array([[len(elements(t))] for t in truths])
    np.testing.assert_allclose(modes(ops.iou, anchors, truths)[0], common / union, atol=1e-9)
    np.testing.assert_allclose(modes(lambda a, t: ops.iou(a, t, "iof"), anchors, truths)[0], common / own, atol=1e-9)


def test_the_documented_boxes():
    box, truth = Tensor([[2.0, 2.0, 2.0, 3.0]]), Tensor([[1.0, 2.0, 1.0, 4.0]])
    np.testing.assert_allclose(ops.bounding_box_encode(box, truth).asnumpy(), [[-1, 0.25, 0, 0.40551758]], rtol=1e-3)
    anchors, deltas = Tensor([[4.0, 1, 2, 1], [2, 2, 2, 3]]), Tensor([[3.0, 1, 2, 2], [1, 2, 1, 4]])
    known = [[4.1953125, 0, 0, 5.1953125], [2.140625, 0, 3.859375, 60.59375]]  # MindSpore's, in float16
    np.testing.assert_allclose(ops.bounding_box_decode(anchors, deltas, (768, 1280)).asnumpy(), known, rtol=1e-3)
    boxes = Tensor(np.linspace(0, 6, 12).reshape(3, 4))
    assert ops.check_valid(boxes, Tensor([2.0, 1.0, 3.0])).tolist() == [True, False, False]
    with pytest.raises(ShapeError, match="one shape"):
        ops.bounding_box_encode(box, boxes)


def test_moves_of_boxes(modes, derivatives):
    corner = RNG.uniform(10, 20, (4, 2))
    boxes = np.concatenate([corner, corner + RNG.uniform(1, 9, (4, 2))], 1)
    means, stds = (0.1, 0.2, 0.3, 0.4), (0.5, 2.0, 0.7, 1.5)
    (moves,) = modes(lambda a, b: ops.bounding_box_encode(a, b, means, stds), boxes[:2], boxes[2:])
    size, new = (b[:, 2:] - b[:, :2] + 1 for b in (boxes[:2], boxes[2:]))
    shift = (boxes[2:, 2:] + boxes[2:, :2] - boxes[:2, 2:] - boxes[:2, :2]) / 2 / size
    np.testing.assert_allclose(moves, (np.concatenate([shift, np.log(new / size)], 1) - means) / stds, rtol=1e-12)
    (back,) = modes(lambda a, d: ops.bounding_box_decode(a, d, (99, 99), means, stds), boxes[:2], moves)
    np.testing.assert_allclose(back, boxes[2:], rtol=1e-12)
    (cut,) = modes(lambda a, d: ops.bounding_box_decode(a, d, (12, 25), means, stds), boxes[:2], moves)
    np.testing.assert_allclose(cut, np.minimum(boxes[2:], [24, 11, 24, 11]), rtol=1e-12)
    derivatives(ops.bounding_box_encode, boxes[:2], boxes[2:])
    derivatives(lambda a, d: ops.bounding_box_decode(a, d, (99, 99)), boxes[:2], moves / 9)


# ------------------------------------------------------------------------------------------------ convolution
def moves(n, groups, taps, *counts):
    places = RNG.uniform(-1.7, 1.7, (n, 2 * groups * taps, *counts))
    return np.concatenate([places, RNG.uniform(0, 1, (n, groups * taps, *counts))], 1)


def test_deformable_convolution_without_moves_is_a_convolution(modes):
    x, w, b = RNG.normal(size=(2, 4, 6, 5)), RNG.normal(size=(6, 2, 3, 2)), RNG.normal(size=6)
    counts = (3, 5)
    offsets = np.concatenate([np.zeros((2, 24, *counts)), np.ones((2, 12, *counts))], 1)
    (got,) = modes(
        lambda x, w, o, b: ops.deformable_conv2d(
            x, w, o, (3, 2), (1, 1, 2, 1), (1, 0, 1, 1), b, (1, 1, 1, 2), groups=2, deformable_groups=2
        ),
        x, w, offsets, b,
    )  # fmt: skip
    plain = ops.conv2d(Tensor(x), Tensor(w), Tensor(b), (2, 1), "pad", (1, 0, 1, 1), (1, 2), 2)
    np.testing.assert_allclose(got, plain.asnumpy(), rtol=1e-12)


def test_deformable_convolution_by_definition(modes):
    x, w = RNG.normal(size=(1, 4, 4, 5)), RNG.normal(size=(3, 4, 2, 2))
    offsets = moves(1, 2, 4, 3, 4)
    (got,) = modes(
        lambda x, w, o: ops.deformable_conv2d(x, w, o, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0), deformable_groups=2),
        x, w, offsets,
    )  # fmt: skip
    right, down, mask = offsets[0].reshape(3, 2, 2, 2, 3, 4)
    for f, i, j in np.ndindex(*got.shape[1:]):
        total = 0.0
        for c, p, q in np.ndindex(4, 2, 2):
            at = (c // 2, p, q, i, j)
            value = interpolated(x[0, c][..., None], i + p + down[at], j + q + right[at])
            total += w[f, c, p, q] * mask[at] * np.asarray(value).sum()
        assert got[0, f, i, j] == pytest.approx(total, rel=1e-11)


def test_derivatives_of_sampling(derivatives):
    x, w, offsets = RNG.normal(size=(1, 2, 3, 3)), RNG.normal(size=(2, 2, 2, 2)), moves(1, 1, 4, 2, 2)
    derivatives(lambda x, w, o: ops.deformable_conv2d(x, w, o, 2, (1,) * 4, (0,) * 4), x, w, offsets)
    boxes = Tensor([[0.1, 0.2, 0.9, 0.7]])
    derivatives(lambda i, b: ops.crop_and_resize(i, b * 1.0, Tensor([0]), (2, 3)), RNG.normal(size=(1, 4, 4, 2)),
                boxes.asnumpy().astype(np.float64))  # fmt: skip
    derivatives(ops.iou, np.array([[0.0, 0.1, 3.0, 4.0]]), np.array([[1.0, 1.2, 5.0, 3.3], [0.5, 2.0, 2.0, 6.0]]))


def test_deformable_convolution_refuses():
    x, w = Tensor(np.ones((1, 1, 2, 2))), Tensor(np.ones((1, 1, 1, 1)))
    with pytest.raises(ShapeError, match="offsets have the shape"):
        ops.deformable_conv2d(x, w, x, 1, (1,) * 4, (0,) * 4)
    with pytest.raises(ShapeError, match=r"shape \[1, 2, 2, 2\]"):
        ops.deformable_conv2d(x, w, x, 1, (1,) * 4, (0,) * 4, modulated=False)


def test_deformable_convolution_without_masks(modes, derivatives):
    x, w, offsets = RNG.normal(size=(2, 4, 4, 5)), RNG.normal(size=(3, 4, 2, 2)), moves(2, 2, 4, 3, 4)
    offsets[:, 16:] = 1.0

    def conv(offsets, modulated):
        return ops.deformable_conv2d(
            Tensor(x), Tensor(w), offsets, 2, (1,) * 4, (0,) * 4, deformable_groups=2, modulated=modulated
        )

    (got,) = modes(lambda o: conv(o, False), offsets[:, :16])
    np.testing.assert_allclose(got, conv(Tensor(offsets), True).asnumpy(), rtol=1e-12)
    derivatives(lambda o: conv(o, False), offsets[:, :16])
