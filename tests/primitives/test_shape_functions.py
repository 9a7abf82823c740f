"""Shape functions, eager and traced, against NumPy, and their derivatives as transposes of linear maps."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, bfloat16, eager, float16, jit, ops
from autodiff_compiler.errors import CompileError, DynamicShapeError, ShapeError, StaticValueError
from autodiff_compiler.ir.primitive import METHODS, call

X = np.arange(24.0).reshape(2, 3, 4)
M = X[0]
V = np.array([3.0, 1.0, 2.0])


def _listed(found):
    return list(found) if isinstance(found, tuple | list) else [found]


@pytest.fixture
def agrees(graph):
    """Checks values in both modes and, for a linear function, that <v, f(x)> = <f'(v), x>."""

    def check(fn, expected, *arrays, linear=True):
        expected = _listed(expected)
        found = [x.asnumpy() for x in _listed(fn(*map(Tensor, arrays)))]
        traced = graph.run(fn, *arrays)
        assert len(found) == len(traced) == len(expected)
        for a, b, e in zip(found, traced, expected, strict=True):
            assert a.shape == b.shape == np.shape(e)
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, e)
            np.testing.assert_array_equal(b, e)
        if linear:
            seeds = [Tensor(np.cos(np.arange(e.size)).reshape(e.shape)) for e in map(np.asarray, expected)]
            points = list(map(Tensor, arrays))
            _, grads, _ = eager.differentiate(lambda *xs: tuple(_listed(fn(*xs))), points, seeds=seeds)
            forward = sum(np.sum(s.asnumpy() * e) for s, e in zip(seeds, expected, strict=True))
            back = sum(np.sum(g.asnumpy() * a) for g, a in zip(grads, arrays, strict=True))
            assert back == pytest.approx(forward, rel=1e-12, abs=1e-12)

    return check


# ------------------------------------------------------------------------------------------------ order
@pytest.mark.parametrize(("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (2, 0)), ([2, 0], [0, 1]), (1, 1)])
def test_moveaxis(agrees, source, destination):
    agrees(lambda x: ops.moveaxis(x, source, destination), np.moveaxis(X, source, destination), X)


def test_order_of_elements(agrees):
    agrees(lambda x: ops.flip(x, (0, -1)), np.flip(X, (0, 2)), X)
    agrees(lambda x: x.flip(1) if isinstance(x, Tensor) else call.flip(x, 1), np.flip(X, 1), X)
    agrees(lambda x: ops.flip(x, 0), np.zeros((0, 2)), np.zeros((0, 2)))
    agrees(ops.fliplr, np.fliplr(X), X)
    agrees(ops.flipud, np.flipud(X), X)
    agrees(lambda x: ops.reverse(x, [2]), X[..., ::-1], X)
    for k in (-1, 0, 1, 2, 3, 6):
        agrees(lambda x, k=k: ops.rot90(x, k, (0, 1)), np.rot90(M, k), M)
        agrees(lambda x, k=k: ops.rot90(x, k, (2, 0)), np.rot90(X, k, (2, 0)), X)
    agrees(lambda x: ops.roll(x, (1, -5), (0, 2)), np.roll(X, (1, -5), (0, 2)), X)
    agrees(lambda x: ops.roll(x, 7), np.roll(X, 7), X)
    agrees(lambda x: ops.swapdims(x, 0, -1), X.swapaxes(0, 2), X)
    agrees(ops.t, M.T, M)


def test_reverse_sequence(agrees):
    lengths = np.array([1, 3])
    expected = X.copy()
    for b, n in enumerate(lengths):
        expected[b, :n] = X[b, :n][::-1]
    agrees(lambda x: ops.reverse_sequence(x, call.arange(1, 4, 2), 1), expected, X)
    with pytest.raises(IndexError, match="index 4"):
        ops.reverse_sequence(Tensor(X), Tensor([4, 1]), 1)


# ------------------------------------------------------------------------------------------------ repeated
@pytest.mark.parametrize("counts", [(2,), (1, 2, 3), (2, 1, 1, 1), (0, 1, 1), (1,), 2])
def test_tile(agrees, counts):
    agrees(lambda x: ops.tile(x, counts), np.tile(X, counts), X)


def test_repeats(agrees):
    agrees(lambda x: ops.repeat_interleave(x, 2, 1), X.repeat(2, 1), X)
    agrees(lambda x: ops.repeat_interleave(x, 3), X.repeat(3), X)
    agrees(lambda x: ops.repeat_interleave(x, [0, 2, 1], -2), X.repeat([0, 2, 1], 1), X)
    agrees(lambda x: ops.repeat_elements(x, 2), X.repeat(2, 0), X)
    agrees(lambda x: METHODS["repeat"](x, 2, 1, 1), np.tile(X, (2, 1, 1)), X)
    agrees(lambda x: METHODS["repeat"](x, 2, axis=2), X.repeat(2, 2), X)
    agrees(lambda x: ops.expand(x, (5, -1, -1, 4)), np.broadcast_to(X, (5, 2, 3, 4)), X)
    with pytest.raises(ShapeError, match="too few"):
        Tensor(X).repeat(2)


# ------------------------------------------------------------------------------------------------ parts
def test_split(agrees):
    agrees(lambda x: ops.split(x, 3, -1), [X[..., :3], X[..., 3:]], X)
    agrees(lambda x: ops.split(x, [1, 0, 3], 2), [X[..., :1], X[..., 1:1], X[..., 1:]], X)
    agrees(lambda x: ops.chunk(x, 3, 2), [X[..., :2], X[..., 2:]], X)
    agrees(lambda x: ops.chunk(x, 5, 1), np.split(X, 3, 1), X)
    agrees(lambda x: ops.tensor_split(x, 3, 2), np.array_split(X, 3, 2), X)
    agrees(lambda x: ops.tensor_split(x, (1, -1, 7), 2), np.array_split(X, (1, -1, 7), 2), X)
    agrees(lambda x: ops.hsplit(x, 3), np.hsplit(X, 3), X)
    agrees(lambda x: ops.hsplit(x, 3), np.hsplit(V, 3), V)
    agrees(lambda x: ops.vsplit(x, (1,)), np.vsplit(X, (1,)), X)
    agrees(lambda x: ops.dsplit(x, 2), np.dsplit(X, 2), X)
    agrees(lambda x: ops.unstack(x, 1), [X[:, i] for i in range(3)], X)
    with pytest.raises(ShapeError, match="do not make up"):
        ops.split(Tensor(X), (1, 2), 2)
    with pytest.raises(ShapeError, match="does not exist"):
        ops.split(Tensor(X), 1, 3)


def test_joined(agrees):
    a, b = M, M + 0.5
    agrees(lambda x, y: ops.hstack((x, y)), np.hstack((a, b)), a, b)
    agrees(lambda x, y: ops.vstack((x, y)), np.vstack((a, b)), a, b)
    agrees(lambda x, y: ops.dstack((x, y)), np.dstack((a, b)), a, b)
    agrees(lambda x, y: ops.hstack((x, y)), np.hstack((V, V)), V, V)
    agrees(lambda x, y: ops.vstack((x, y)), np.vstack((V, V)), V, V)
    agrees(lambda x, y: ops.dstack((x, y)), np.dstack((V, V)), V, V)
    agrees(lambda x, y: ops.column_stack((x, y)), np.column_stack((V, M)), V, M)
    for n, reference in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
        for array in (np.array(1.0), V, M, X):
            agrees(getattr(ops, f"atleast_{n}d"), reference(array), array)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(agrees, indexing):
    w = np.arange(2.0)
    agrees(lambda x, y: ops.meshgrid(x, y, indexing=indexing), np.meshgrid(V, w, indexing=indexing), V, w)
    u = np.arange(4.0)
    agrees(lambda x, y, z: ops.meshgrid(x, y, z, indexing=indexing), np.meshgrid(V, w, u, indexing=indexing), V, w, u)


def test_combined(agrees):
    w = np.array([7.0, 8.0])
    agrees(lambda x, y: ops.cartesian_prod(x, y), np.array([[a, b] for a in V for b in w]), V, w)
    agrees(ops.combinations, np.array([[3.0, 1.0], [3.0, 2.0], [1.0, 2.0]]), V)
    agrees(lambda x: ops.combinations(x, 1, True), V[:, None], V)


# ------------------------------------------------------------------------------------------------ borders
@pytest.mark.parametrize(
    ("mode", "reference"),
    [("constant", "constant"), ("reflect", "reflect"), ("symmetric", "symmetric"), ("replicate", "edge"),
     ("circular", "wrap")],
)  # fmt: skip
def test_pad_follows_numpy(agrees, mode, reference):
    for padding, widths in (((1, 2), [(0, 0), (0, 0), (1, 2)]), ((0, 3, 2, 1), [(0, 0), (2, 1), (0, 3)])):
        agrees(lambda x, p=padding: ops.pad(x, p, mode=mode), np.pad(X, widths, mode=reference), X)


def test_pad_values_and_cropping(agrees, graph):
    expected = np.pad(M, [(0, 2), (1, 0)], constant_values=3)
    agrees(lambda x: ops.pad(x, (1, 0, 0, 2), value=3.0), expected, M, linear=False)
    agrees(lambda x: ops.pad(x, [-1, 2]), np.pad(M[:, 1:], [(0, 0), (0, 2)]), M)
    agrees(lambda x: ops.pad(x, (-1, -1), mode="reflect"), M[:, 1:-1], M)
    agrees(lambda x: ops.pad(x, ()), X, X)
    expected = np.pad(V, (1, 1), constant_values=9)
    agrees(lambda x, v: ops.pad(x, (1, 1), value=v), expected, V, np.array(9.0))
    assert ops.pad(Tensor(V), Tensor([1, 1])).shape == (5,)
    with pytest.raises(StaticValueError, match="`padding` must be a constant"):
        graph.run(lambda x, p: ops.pad(x, p), V, np.array([1, 1]))
    agrees(lambda x: ops.mirror_pad(x, ((1, 0), (0, 2)), "REFLECT"), np.pad(M, ((1, 0), (0, 2)), "reflect"), M)
    for padding, mode, text in (
        ((3, 0), "reflect", "needs more"), ((1,), "constant", "pairs"), ((4, 0), "circular", "needs more"),
        ((-2, -2), "constant", "take more"), ((1, 1) * 2, "constant", "2 pairs of widths"),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=text):
            ops.pad(Tensor(V), padding, mode=mode)


# ------------------------------------------------------------------------------------------------ windows
def _columns(x, kernel, dilation, padding, stride):
    """Windows read one by one."""
    n, c, h, w = x.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    rows = range(0, h + 2 * padding[0] - dilation[0] * (kernel[0] - 1), stride[0])
    cols = range(0, w + 2 * padding[1] - dilation[1] * (kernel[1] - 1), stride[1])
    out = np.empty((n, c, *kernel, len(rows), len(cols)))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            for a, r in enumerate(rows):
                for b, s in enumerate(cols):
                    out[:, :, i, j, a, b] = x[:, :, r + i * dilation[0], s + j * dilation[1]]
    return out.reshape(n, c * kernel[0] * kernel[1], -1)


@pytest.mark.parametrize(
    ("kernel", "dilation", "padding", "stride"),
    [((2, 3), (1, 1), (0, 0), (1, 1)), ((2, 2), (2, 1), (1, 0), (2, 3)), ((1, 1), (1, 1), (0, 2), (1, 1))],
)
def test_unfold_and_fold(agrees, kernel, dilation, padding, stride):
    x = np.sin(np.arange(60.0)).reshape(1, 2, 5, 6)
    columns = _columns(x, kernel, dilation, padding, stride)
    agrees(lambda x: ops.unfold(x, kernel, dilation, padding, stride), columns, x)
    # Folding is the transpose: the columns of ones count how often an element is read.
    g = np.cos(np.arange(columns.size)).reshape(columns.shape)
    folded = ops.fold(Tensor(g), (5, 6), kernel, dilation, padding, stride).asnumpy()
    assert np.sum(folded * x) == pytest.approx(np.sum(g * columns), rel=1e-12)
    agrees(lambda g: ops.fold(g, (5, 6), kernel, dilation, padding, stride), folded, g)
    with pytest.raises(ShapeError, match="does not fit"):
        ops.unfold(Tensor(x), (9, 1))
    four = g.reshape(1, 2, kernel[0] * kernel[1], -1)
    agrees(lambda g: ops.col2im(g, (5, 6), kernel, dilation, padding, stride), folded, four)


# ------------------------------------------------------------------------------------------------ triangles, creation
@pytest.mark.parametrize("k", [-5, -1, 0, 2])
def test_triangles(agrees, k):
    agrees(lambda x: ops.tril(x, k), np.tril(X, k), X)
    agrees(lambda x: ops.triu(x, k), np.triu(X, k), X)
    np.testing.assert_array_equal(ops.tril_indices(3, 4, k).asnumpy(), np.stack(np.tril_indices(3, k, 4)))
    np.testing.assert_array_equal(ops.triu_indices(3, 4, k).asnumpy(), np.stack(np.triu_indices(3, k, 4)))


def test_creation(graph):
    np.testing.assert_array_equal(ops.eye(3, 2).asnumpy(), np.eye(3, 2, dtype=np.float32))
    assert ops.eye(2, dtype=bfloat16).dtype is bfloat16
    np.testing.assert_array_equal(ops.linspace(-1, 2, 7).asnumpy(), np.linspace(-1, 2, 7, dtype=np.float32))
    np.testing.assert_array_equal(ops.linspace(5, 2, 1).asnumpy(), [5])
    np.testing.assert_allclose(ops.logspace(0, 3, 4, 2).asnumpy(), [1, 2, 4, 8])
    np.testing.assert_allclose(graph.run(lambda a, b: ops.linspace(a, b, 4), np.array(1.0), V)[0],
                               np.linspace(np.full(3, 1.0), V, 4, axis=-1), rtol=1e-15)  # fmt: skip
    np.testing.assert_allclose(ops.hamming_window(5).asnumpy(), np.hamming(6)[:-1], rtol=1e-6)
    np.testing.assert_allclose(ops.kaiser_window(5, False, 3.0).asnumpy(), np.kaiser(5, 3.0), rtol=1e-6)
    assert ops.range(2, 9, 3).tolist() == [2, 5, 8]
    assert ops.fill("int32", (2,), 7).tolist() == [7, 7]
    x = Tensor(np.zeros((2, 2), np.float16))
    assert x.new_zeros((3,)).dtype is float16
    assert x.new_ones(2, 1).tolist() == [[1.0], [1.0]]
    assert x.new_full((1,), 2.5).tolist() == [2.5]
    assert Tensor([1, 2]).type_as(x).dtype is float16
    assert (x.numel(), x.dim(), ops.size(x)) == (4, 2, 4)


def test_sequence_mask(graph):
    lengths = np.array([[0, 2], [3, 1]])
    expected = np.arange(3) < lengths[..., None]
    np.testing.assert_array_equal(ops.sequence_mask(Tensor(lengths)).asnumpy(), expected)
    np.testing.assert_array_equal(graph.run(lambda n: ops.sequence_mask(n, 3), lengths)[0], expected)
    with pytest.raises(CompileError, match="`maxlen` must be a constant"):
        graph.run(ops.sequence_mask, lengths)


def test_flatten_keeps_outer_dimensions(agrees):
    flatten = METHODS["flatten"]
    agrees(flatten, X.reshape(-1), X)
    agrees(lambda x: flatten(x, start_dim=1), X.reshape(2, -1), X)
    agrees(lambda x: flatten(x, end_dim=1), X.reshape(6, 4), X)
    agrees(lambda x: flatten(x, "F"), X.flatten("F"), X)
    assert Tensor(3.0).flatten().shape == (1,)


def test_compiled_functions_take_narrow_floats():
    @jit
    def f(x):
        y = ops.pad(x.tile((1, 2)), (1, 1), mode="reflect").roll(1, 0)
        return ops.fold(ops.unfold(y.reshape(1, 1, 2, 6), 2), (2, 6), 2).tril(), x.repeat_interleave(2, 1).triu()

    for dtype in (float16, bfloat16):
        x = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]])).astype(dtype)
        for compiled, direct in zip(f(x), f.__wrapped__(x), strict=True):
            assert compiled.dtype is direct.dtype is dtype
            assert compiled.tolist() == direct.tolist()


def test_data_dependent_sizes_are_refused_while_tracing(graph):
    with pytest.raises(DynamicShapeError) as caught:
        graph.run(lambda x: ops.bincount(call.cast(x, np.int64)), V)
    assert caught.value.code == "AC1307"


# ------------------------------------------------------------------------------------------------ other names
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("movedim", (0, 1), np.moveaxis(X, 0, 1)), ("ravel", (), X.ravel()),
        ("unbind", (-2,), [X[:, i] for i in range(3)]), ("fills", (2,), np.full(X.shape, 2.0)),
    ],
)  # fmt: skip
def test_further_names(agrees, name, args, expected):
    agrees(lambda x: getattr(ops, name)(x, *args), expected, X, linear=name != "fills")


def test_names_that_take_another_tensor(agrees):
    other = np.zeros((4, 2, 3, 4), np.float32)
    agrees(lambda x: ops.expand_as(x, call.zeros(other.shape)), np.broadcast_to(X, other.shape), X)
    agrees(lambda x: ops.view_as(x, call.zeros((4, 6))), X.reshape(4, 6), X)
    agrees(lambda x: ops.type_as(x, call.zeros((1,))), X.astype(np.float32), X, linear=False)
    agrees(lambda x, y: ops.row_stack((x, y)), np.vstack((M, V[None, [0, 1, 2, 0]])), M, V[None, [0, 1, 2, 0]])
    assert ops.numel(Tensor(X)) == 24


def test_signal_windows():
    for name, reference in (("bartlett", np.bartlett), ("blackman", np.blackman), ("hann", np.hanning)):
        window = getattr(ops, f"{name}_window")
        np.testing.assert_allclose(window(6, False).asnumpy(), reference(6), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(window(6, dtype="float64").asnumpy(), reference(7)[:-1], rtol=1e-15, atol=1e-16)


def test_a_compiled_cell_uses_operator_classes():
    split, concat, transpose = ops.Split(1, 2), ops.Concat(axis=1), ops.Transpose()

    def swapped_halves(x):
        a, b = split(x)
        return transpose(concat((b, a)), (1, 0))

    expected = np.concatenate((M[:, 2:], M[:, :2]), 1).T
    for fn in (swapped_halves, jit(swapped_halves)):
        np.testing.assert_array_equal(fn(Tensor(M)).asnumpy(), expected)
    with pytest.raises(ValueError, match="3 elements of axis 0 cannot be split into 2 equal parts"):
        ops.Split(0, 2)(Tensor(M))
    assert ops.Pad(((1, 0), (0, 2)))(Tensor(M)).shape == (4, 6)
    assert [x.shape for x in ops.TopK()(Tensor(M), 2)] == [(3, 2), (3, 2)]
