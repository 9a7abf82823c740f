"""Rows of `kernels.py` for functions on whole arrays: linear algebra, shapes, indexing, convolution, pooling."""

from __future__ import annotations

import math
from typing import Any

from _cases import Case, Family, KiB, MiB, Operands, matrices, matrix
from _measure import np
from convolution import input_gradient, one_product, windows

from autodiff_compiler import ops

CASES: list[Case] = []
_Array = Any
_SMALL = 256 * KiB

# ------------------------------------------------------------------------------------------------ linear algebra
linalg = Family("linalg", CASES, matrix, largest=MiB)
linalg("matmul", lambda a, b: a @ b.T, lambda a, b: ops.matmul(a, b.T), matrices)
linalg("trace", np.trace, largest=4 * MiB)
linalg("diagonal", lambda x: np.diagonal(x).copy(), ops.diagonal, largest=4 * MiB, note="NumPy's alone is a view")
linalg("outer", np.outer, inputs=lambda d: [d.array(d.rows), d.array(d.columns)], largest=4 * MiB)
linalg("mv", np.matmul, inputs=lambda d: [d.matrix(), d.array(d.columns)], largest=4 * MiB)
linalg("bmm", np.matmul, inputs=lambda d: [d.array(d.n // 1024, 32, 32), d.array(d.n // 1024, 32, 32)])
linalg("dot vectors", np.dot, ops.dot, lambda d: [d.vector(), d.vector()], largest=4 * MiB)
linalg("inner", np.inner, inputs=matrices)
linalg("vecdot", lambda a, b: np.einsum("ij,ij->i", a, b), inputs=matrices, largest=4 * MiB)
linalg("tensordot", lambda a, b: np.tensordot(a, b, 2), lambda a, b: ops.tensordot(a, b, 2),
       lambda d: [d.array(d.n // 1024, 32, 32), d.array(32, 32, 16)])  # fmt: skip
linalg("kron", np.kron, inputs=lambda d: [d.array(16, 16), d.array(16, d.n // 4096)], largest=4 * MiB)
linalg("cross", np.cross, inputs=lambda d: [d.array(d.n // 3, 3), d.array(d.n // 3, 3)], largest=4 * MiB)
linalg("diag of a vector", np.diag, ops.diag, lambda d: [d.array(d.rows)], largest=4 * MiB)
linalg("matrix_power", lambda x: np.linalg.matrix_power(x, 5), lambda x: ops.matrix_power(x, 5),
       lambda d: [d.square() / math.isqrt(d.n)], largest=_SMALL)  # fmt: skip


def _einsum(equation: str, *shapes: Any, largest: int = 4 * MiB, note: str = "") -> None:
    linalg(
        f"einsum {equation}", lambda *xs: np.einsum(equation, *xs, optimize=len(xs) > 2),
        lambda *xs: ops.einsum(equation, *xs), lambda d: [d.array(*shape(d)) for shape in shapes],
        largest=largest, note=note,
    )  # fmt: skip


def _sized(d: Operands) -> tuple[int, ...]:
    return d.rows, d.columns


def _cubic(d: Operands) -> tuple[int, ...]:
    return d.n // 1024, 32, 32


_einsum("ij,kj->ik", _sized, _sized, largest=MiB)
_einsum("i,j->ij", lambda d: (d.rows,), lambda d: (d.columns,), note="ours as fast as np.outer")
_einsum("ij,ij->ij", _sized, _sized)
_einsum("ij,j->ij", _sized, lambda d: (d.columns,))
_einsum("ij,ij->i", _sized, _sized)
_einsum("ij,ij->j", _sized, _sized)
_einsum("ij,ij->", _sized, _sized)
_einsum("ijk,ikl->ijl", _cubic, _cubic)
_einsum("ijk,k->ij", _cubic, lambda d: (32,))
_einsum("ijk,j->ik", _cubic, lambda d: (32,))
_einsum("ijk,i->jk", _cubic, lambda d: (d.n // 1024,))
_einsum("ij,kl->ikjl", lambda d: (16, 16), lambda d: (16, d.n // 4096))
_einsum("i,ij,j->", lambda d: (d.rows,), _sized, lambda d: (d.columns,))
_einsum("bqhd,bkhd->bhqk", *[lambda d: (d.n // 8192, 64, 4, 32)] * 2)


def _positive(d: Operands) -> list[_Array]:
    x = d.square()
    return [x @ x.T + len(x) * np.eye(len(x), dtype=d.dtype)]


def _small_positive(d: Operands) -> list[_Array]:
    x = d.array(d.n // 256, 16, 16)
    return [x @ x.swapaxes(-1, -2) + 16 * np.eye(16, dtype=d.dtype)]


decompositions = Family("decompositions", CASES, lambda d: [d.square()], largest=64 * KiB)
for _kind, _inputs in (("", _positive), (" of a batch", _small_positive)):
    decompositions("inverse" + _kind, np.linalg.inv, inputs=_inputs)
    decompositions("det" + _kind, np.linalg.slogdet, ops.slogdet, _inputs)
    decompositions("cholesky" + _kind, lambda x: np.linalg.cholesky((x + x.swapaxes(-1, -2)) / 2), inputs=_inputs,
                   note="of the symmetric part")  # fmt: skip
    decompositions("eigvalsh" + _kind, np.linalg.eigvalsh, inputs=_inputs)
    decompositions("eigh" + _kind, np.linalg.eigh, inputs=_inputs, comparable=False)
    decompositions("svd" + _kind, lambda x: np.linalg.svd(x, full_matrices=False), inputs=_inputs, comparable=False)
    decompositions("qr" + _kind, np.linalg.qr, inputs=_inputs, comparable=False)
    decompositions("solve" + _kind, np.linalg.solve, inputs=lambda d, f=_inputs: f(d) * 2)
decompositions("triangular_solve", lambda a, b: _scipy_triangular(a, b), inputs=lambda d: [
    np.triu(d.square()), d.square()])  # fmt: skip
decompositions("triangular_solve of a batch", np.linalg.solve, inputs=lambda d: [
    np.triu(_small_positive(d)[0]), d.array(d.n // 256, 16, 4)])  # fmt: skip
decompositions("pinv", np.linalg.pinv, tolerance=1e5)
decompositions("lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], inputs=lambda d: [
    d.array(256, d.n // 256), d.array(256, 4)], tolerance=1e5)  # fmt: skip
decompositions("expm", lambda x: _scipy_expm(x), inputs=lambda d: [d.square() / math.isqrt(d.n)], tolerance=1e4)


def _scipy_triangular(a: _Array, b: _Array) -> _Array:
    from scipy.linalg import solve_triangular

    return solve_triangular(a, b, check_finite=False)


def _scipy_expm(x: _Array) -> _Array:
    from scipy.linalg import expm

    return expm(x)


# ------------------------------------------------------------------------------------------------ shapes
shape = Family("shape", CASES, matrix)
shape("concat", lambda x, y: np.concatenate([x, y], 1), lambda x, y: ops.concat([x, y], 1), matrices)
shape("stack", lambda x, y: np.stack([x, y], -1), lambda x, y: ops.stack([x, y], -1), matrices)
shape("flip", lambda x: np.ascontiguousarray(np.flip(x, 0)), lambda x: ops.flip(x, (0,)))
shape("moveaxis", lambda x: np.moveaxis(x, 0, 1) + x.dtype.type(1), lambda x: ops.moveaxis(x, 0, 1) + 1)

rearrange = Family("rearrange", CASES, matrix)
rearrange("roll", lambda x: np.roll(x, 3, 0), lambda x: ops.roll(x, 3, 0))
rearrange("roll flat", lambda x: np.roll(x, 3), lambda x: ops.roll(x, 3))
rearrange("roll two", lambda x: np.roll(x, (3, 5), (0, 1)), lambda x: ops.roll(x, (3, 5), (0, 1)))
rearrange("tril", np.tril)
rearrange("triu", np.triu)
rearrange("tile", lambda x: np.tile(x, (2, 3)), lambda x: ops.tile(x, (2, 3)), largest=MiB)
rearrange("repeat_interleave", lambda x: np.repeat(x, 3, 1), lambda x: ops.repeat_interleave(x, 3, 1), largest=MiB)
rearrange("rot90", lambda x: np.rot90(x) + x.dtype.type(1), lambda x: ops.rot90(x, 1, (0, 1)) + 1)
rearrange("meshgrid", lambda x, y: np.add(*np.meshgrid(x, y)), lambda x, y: ops.add(*ops.meshgrid(x, y)),
          lambda d: [d.array(d.columns), d.array(d.rows)])  # fmt: skip

padding = Family("padding", CASES, lambda d: [d.images()])
for _ours, _theirs in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
    padding(
        f"pad {_ours}", lambda x, mode=_theirs: np.pad(x, ((0, 0), (0, 0), (2, 2), (1, 1)), mode),
        lambda x, mode=_ours: ops.pad(x, (1, 1, 2, 2), mode),
    )  # fmt: skip

create = Family("create", CASES, lambda d: [], dtypes=("float32",), largest=64 * KiB)
create("arange", lambda: np.arange(0, 100_000, 3), lambda: ops.arange(0, 100_000, 3))
create("linspace", lambda: np.linspace(0, 1, 30_000, dtype=np.float32), lambda: ops.linspace(0.0, 1.0, 30_000))
create("eye", lambda: np.eye(300, dtype=np.float32), lambda: ops.eye(300))
create("full", lambda: np.full((300, 300), 2.5, np.float32), lambda: ops.full((300, 300), 2.5))

# ------------------------------------------------------------------------------------------------ indexing
index = Family("index", CASES, matrix)


def _rows(d: Operands) -> list[_Array]:
    return [d.matrix(), d.positions(d.rows, d.rows, dtype="int64")]


def _elements(d: Operands) -> list[_Array]:
    return [d.vector(), d.positions(d.n, dtype="int64")]


index("index_select", lambda x, i: np.take(x, i, 0), lambda x, i: ops.index_select(x, 0, i), _rows)
index("gather columns", lambda x, i: np.take(x, i, 1), lambda x, i: ops.gather(x, i, 1),
      lambda d: [d.matrix(), d.positions(d.columns, d.columns, dtype="int64")])  # fmt: skip
index("take", np.take, inputs=_elements)
index("gather_elements", lambda x, i: np.take_along_axis(x, i, 1), lambda x, i: ops.gather_elements(x, 1, i),
      lambda d: [d.matrix(), d.positions(d.columns, d.rows, d.columns, dtype="int64")])  # fmt: skip
index("gather_nd", lambda x, i: x[i[:, 0], i[:, 1]],
      inputs=lambda d: [d.matrix(), d.positions(d.rows, d.n, 2, dtype="int64")])  # fmt: skip
index("one_hot", lambda i: np.eye(64, dtype=np.float32)[i], lambda i: ops.one_hot(i, 64, 1.0, 0.0),
      lambda d: [d.positions(64, d.n // 64, dtype="int64")], dtypes=("float32",))  # fmt: skip


def _at(combine: Any) -> Any:
    def peer(x: _Array, index: _Array, updates: _Array) -> _Array:
        out = x.copy()
        combine.at(out, index, updates)
        return out

    return peer


def _replaced(x: _Array, index: _Array, updates: _Array) -> _Array:
    out = x.copy()
    out[index] = updates
    return out


def _reduced(combine: Any) -> Any:
    """What a user in a hurry writes for rows: sorts them by place and reduces every run of one place at once."""

    def peer(x: _Array, index: _Array, updates: _Array) -> _Array:
        out, order = x.copy(), np.argsort(index, kind="stable")
        places, starts = np.unique(index[order], return_index=True)
        out[places] = combine(out[places], combine.reduceat(updates[order], starts, axis=0))
        return out

    return peer


scatter = Family("scatter", CASES)


def _slices(d: Operands) -> list[_Array]:
    return [*_rows(d), d.matrix()]


def _numbers(d: Operands) -> list[_Array]:
    return [*_elements(d), d.vector()]


def _columned(function: Any) -> Any:
    """The function of places in the last dimension, for places along the first axis."""
    return lambda x, i, v: function(x, i[:, None], v)


scatter("tensor_scatter_add rows", _reduced(np.add), _columned(ops.tensor_scatter_add), _slices)
scatter("tensor_scatter_add numbers", _at(np.add), _columned(ops.tensor_scatter_add), _numbers)
scatter("tensor_scatter_max rows", _reduced(np.maximum), _columned(ops.tensor_scatter_max), _slices)
scatter("tensor_scatter_max numbers", _at(np.maximum), _columned(ops.tensor_scatter_max), _numbers)
scatter("tensor_scatter_update rows", _replaced, _columned(ops.tensor_scatter_update), _slices)
scatter("tensor_scatter_update numbers", _replaced, _columned(ops.tensor_scatter_update), _numbers)
scatter("index_add", _reduced(np.add), lambda x, i, v: ops.index_add(x, i, v, 0), _slices)
scatter("index_fill", lambda x, i: _replaced(x, i, 0), lambda x, i: ops.index_fill(x, 0, i, 0.0), _rows)
scatter("unsorted_segment_sum", lambda x, i: _reduced(np.add)(np.zeros_like(x), i, x),
        lambda x, i: ops.unsorted_segment_sum(x, i, x.shape[0]), _rows)  # fmt: skip
scatter("masked_fill", lambda x: np.where(x > 0, x.dtype.type(0), x), lambda x: ops.masked_fill(x, x > 0, 0.0))

# ------------------------------------------------------------------------------------------------ windows
pooling = Family("pooling", CASES, lambda d: [d.images()])
for _kernel, _stride in ((2, 2), (3, 1)):
    pooling(f"max_pool2d {_kernel}/{_stride}", lambda x, k=_kernel, s=_stride: windows(x, k, 0, s).max((-1, -2)),
            lambda x, k=_kernel, s=_stride: ops.max_pool2d(x, k, s))  # fmt: skip
    pooling(f"avg_pool2d {_kernel}/{_stride}", lambda x, k=_kernel, s=_stride: windows(x, k, 0, s).mean((-1, -2)),
            lambda x, k=_kernel, s=_stride: ops.avg_pool2d(x, k, s))  # fmt: skip
pooling("adaptive_avg_pool2d 1", lambda x: x.mean((-1, -2), keepdims=True), lambda x: ops.adaptive_avg_pool2d(x, 1))
pooling("unfold", lambda x: windows(x, 3, 0, 1).transpose(0, 1, 4, 5, 2, 3).reshape(len(x), x.shape[1] * 9, -1),
        lambda x: ops.unfold(x, 3), largest=MiB)  # fmt: skip

convolution = Family("convolution", CASES, largest=MiB)
convolution("conv2d", lambda x, w: one_product(x, w, 1, 1, 1), lambda x, w: ops.conv2d(x, w, None, 1, "pad", 1),
            lambda d: [d.images(), d.array(32, 16, 3, 3)])  # fmt: skip
convolution("conv2d depthwise", lambda x, w: one_product(x, w, 1, 1, 16),
            lambda x, w: ops.conv2d(x, w, None, 1, "pad", 1, 1, 16),
            lambda d: [d.images(), d.array(16, 1, 3, 3)])  # fmt: skip
convolution("conv_transpose2d", lambda x, w: input_gradient(x, w, 2 * x.shape[2] - 1, 1, 2, 1),
            lambda x, w: ops.conv_transpose2d(x, w, None, 2, 1),
            lambda d: [d.images(), d.array(16, 8, 3, 3)])  # fmt: skip


# ------------------------------------------------------------------------------------------------ resizing
def _resized_axis(x: _Array, axis: int) -> _Array:
    """Twice as many elements along an axis, linearly between the old ones."""
    old = x.shape[axis]
    place = np.maximum((np.arange(2 * old) + 0.5) / 2 - 0.5, 0)
    low = place.astype(int)
    part = (place - low).astype(x.dtype).reshape(-1, *(1,) * (-1 - axis))
    return np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, old - 1), axis) * part


def _sampled(x: _Array, grid: _Array) -> _Array:
    """Bilinear samples with zeros outside, by integer indexing with the channels last."""
    n, _, rows, columns = x.shape
    px, py = (grid[..., 0] + 1) * (columns / 2) - 0.5, (grid[..., 1] + 1) * (rows / 2) - 0.5
    left, top = np.floor(px).astype(int), np.floor(py).astype(int)
    tx, ty = (px - left).astype(x.dtype), (py - top).astype(x.dtype)
    last, example, out = x.transpose(0, 2, 3, 1), np.arange(n)[:, None, None], 0
    for i, wy in ((top, 1 - ty), (top + 1, ty)):
        for j, wx in ((left, 1 - tx), (left + 1, tx)):
            inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
            part = last[example, i.clip(0, rows - 1), j.clip(0, columns - 1)]
            out = out + part * (wy * wx * inside)[..., None]
    return out.transpose(0, 3, 1, 2)


def _places(d: Operands) -> list[_Array]:
    x = d.images()
    return [x, d.array(len(x), *x.shape[2:], 2, low=-1, high=1)]


def _twice(x: Any) -> tuple[int, int]:
    return 2 * x.shape[2], 2 * x.shape[3]


resizing = Family("resizing", CASES, lambda d: [d.images()], largest=MiB)
resizing("interpolate nearest", lambda x: x.repeat(2, 2).repeat(2, 3), lambda x: ops.interpolate(x, _twice(x)))
resizing("interpolate bilinear", lambda x: _resized_axis(_resized_axis(x, -2), -1),
         lambda x: ops.interpolate(x, _twice(x), mode="bilinear"))  # fmt: skip
resizing("grid_sample", _sampled, lambda x, grid: ops.grid_sample(x, grid, align_corners=False),
         _places)  # fmt: skip
