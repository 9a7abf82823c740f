"""New Tensors: filled, counted, windows and frequencies."""

from __future__ import annotations

from .row import Row

__all__ = ["ROWS"]

# fmt: off
ROWS = (
    Row("zeros(size, dtype=None)", doc="""
    A tensor of zeros, float32 by default.

    >>> ops.zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """),
    Row("ones(shape, dtype=None)", mint="ones", doc="""
    A tensor of ones, float32 by default.

    >>> ops.ones((2, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """),
    Row("full(size, fill_value, *, dtype=None)", calls="call.full(size, fill_value, dtype)", mint="full",
        doc="A tensor whose elements all are `fill_value`."),
    Row("zeros_like(input, *, dtype=None)", calls="call.zeros_like(input, dtype)", mint="zeros_like", doc="""
    Zeros of the shape of `input`, and of its dtype by default.

    >>> ops.zeros_like(Tensor([1, 2])).tolist()
    [0, 0]
    """),
    Row("ones_like(input, *, dtype=None)", calls="call.ones_like(input, dtype)", mint="ones_like",
        doc="Ones of the shape of `input`, and of its dtype by default."),
    Row("full_like(input, fill_value, *, dtype=None)", calls="call.full_like(input, fill_value, dtype)",
        mint="full_like", doc="`fill_value` in the shape of `input`, and of its dtype by default."),
    Row("arange(start=0, end=None, step=1, *, dtype=None)", calls="call.arange(start, end, step, dtype)",
        mint="arange", doc="""
    The numbers from start (0 if only one argument is given) up to before end.

    >>> ops.arange(1, 6, 2).tolist()
    [1, 3, 5]
    """),
    Row("one_hot(indices, depth: int, on_value=1, off_value=0, axis=-1)", doc="""
    A new dimension of size `depth` at `axis`: `on_value` at the position each index names, elsewhere `off_value`.

    An index outside of 0 ... depth - 1 names no position.

    >>> ops.one_hot(Tensor([1, 3]), 3).tolist()
    [[0, 1, 0], [0, 0, 0]]
    """),
    Row("eye(n: int, m: int | None = None, dtype=None)", mint="eye", doc="""
    A matrix with ones on its main diagonal, float32 by default.

    >>> ops.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """),
    Row("linspace(start, end, steps: int)", mint="linspace", doc="""
    `steps` numbers from start to end, both included, at equal distances; both may be Tensors.

    >>> ops.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """),
    Row("logspace(start, end, steps: int, base=10, *, dtype=None)",
        calls="call.logspace(start, end, steps, base, dtype)",
        doc="`base` to the powers of `linspace(start, end, steps)`; float32 by default."),
    Row("fill(type, shape, value)", op="Fill", calls="call.full(shape, value, dtype_of(type))",
        doc="A tensor of a dtype and shape whose elements all are `value`."),
    Row("fills(x, value)", op="Fills", calls="call.full_like(x, value)", doc="`value` in the shape and dtype of x."),
    Row("tril_indices(row: int, col: int, offset=0, *, dtype=None)",
        calls="call.tril_indices(row, col, offset, dtype)",
        doc="The indices [2, n] on and below a diagonal of a matrix, row by row; int64 by default."),
    Row("triu_indices(row: int, col: int, offset=0, *, dtype=None)",
        calls="call.triu_indices(row, col, offset, dtype)",
        doc="The indices [2, n] on and above a diagonal of a matrix, row by row; int64 by default."),
    Row("bartlett_window(window_length: int, periodic=True, *, dtype=None)",
        calls="call.signal_window('bartlett', window_length, periodic, dtype)",
        doc="A triangular window, float32 by default; see NumPy's `bartlett`."),
    Row("blackman_window(window_length: int, periodic=True, *, dtype=None)",
        calls="call.signal_window('blackman', window_length, periodic, dtype)",
        doc="A Blackman window, float32 by default; see NumPy's `blackman`."),
    Row("hann_window(window_length: int, periodic=True, *, dtype=None)",
        calls="call.signal_window('hanning', window_length, periodic, dtype)",
        doc="A Hann window, float32 by default; see NumPy's `hanning`."),
    Row("hamming_window(window_length: int, periodic=True, alpha=0.54, beta=0.46, *, dtype=None)",
        calls="call.cosine_window(window_length, periodic, alpha, beta, dtype)",
        doc="alpha - beta cos(2 pi i / n): with these coefficients a Hamming window, float32 by default."),
    Row("kaiser_window(window_length: int, periodic=True, beta=12.0, *, dtype=None)",
        calls="call.signal_window('kaiser', window_length, periodic, dtype, beta)",
        doc="A Kaiser window, float32 by default; see NumPy's `kaiser`."),
)
