"""Cells that only call a function with what their constructors were given."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CELLS", "CellRow"]


class CellRow(NamedTuple):
    """A Cell of `nn` that has no body of its own.

    `signature` calls its constructor and then the Cell, ``LeakyReLU(alpha: number = 0.2)(x)``; an annotation names the
    check of an argument.  `calls` is what `construct` returns, over `self`, which has the arguments of the constructor
    as attributes, its own parameters and `ops`.  `doc` is by default the first sentence of the function's.  `shown` are
    the attributes in the `repr`.
    """

    signature: str
    calls: str
    doc: str = ""
    shown: str = ""

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]


# fmt: off
_ROWS = (
    # Activations without arguments.
    CellRow("ReLU()(x)", "ops.relu(x)", """
        max(x, 0) for every element.

        >>> nn.ReLU()(Tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
        """),
    CellRow("ReLU6()(x)", "ops.relu6(x)"),
    CellRow("SeLU()(x)", "ops.selu(x)"),
    CellRow("SiLU()(x)", "ops.silu(x)"),
    CellRow("Tanh()(x)", "ops.tanh(x)", """
        Hyperbolic tangent of every element.

        >>> nn.Tanh()(Tensor([0.0, 1.0])).tolist()
        [0.0, 0.761594...]
        """),
    CellRow("Tanhshrink()(x)", "ops.tanhshrink(x)"),
    CellRow("Sigmoid()(x)", "ops.sigmoid(x)", """
        1 / (1 + exp(-x)) for every element.

        >>> nn.Sigmoid()(Tensor([0.0, 800.0])).tolist()
        [0.5, 1.0]
        """),
    CellRow("LogSigmoid()(x)", "ops.logsigmoid(x)"),
    CellRow("Softsign()(x)", "ops.softsign(x)"),
    CellRow("HSwish()(x)", "ops.hardswish(x)"),
    CellRow("HSigmoid()(x)", "ops.hardsigmoid(x)"),
    CellRow("Mish()(x)", "ops.mish(x)"),
    CellRow("FastGelu()(x)", "ops.fast_gelu(x)"),
    CellRow("Softmax2d()(x)", "ops.softmax(x, -3)",
        "Softmax over the channels of [batch, channels, height, width] or [channels, height, width]."),
    # Activations with arguments.
    CellRow("ELU(alpha: number = 1.0)(x)", "ops.elu(x, self.alpha)"),
    CellRow("LeakyReLU(alpha: number = 0.2)(x)", "ops.leaky_relu(x, self.alpha)", """
        x where it is positive, else alpha * x; its derivative at 0 is alpha.

        >>> nn.LeakyReLU(0.5)(Tensor([-4.0, 4.0])).tolist()
        [-2.0, 4.0]
        """),
    CellRow("GELU(approximate: flag = True)(x)", "ops.gelu(x, 'tanh' if self.approximate else 'none')", """
        x times the standard normal distribution function at x: approximated by tanh, or exact without `approximate`.

        >>> round(nn.GELU()(Tensor(1.0)).item(), 4), round(nn.GELU(approximate=False)(Tensor(1.0)).item(), 4)
        (0.8412, 0.8413)
        """),
    CellRow("HShrink(lambd: number = 0.5)(x)", "ops.hardshrink(x, self.lambd)"),
    CellRow("SoftShrink(lambd: number = 0.5)(x)", "ops.softshrink(x, self.lambd)"),
    CellRow("Softplus(beta: number = 1, threshold: number = 20)(x)", "ops.softplus(x, self.beta, self.threshold)"),
    CellRow("Threshold(threshold: number, value: number)(x)", "ops.threshold(x, self.threshold, self.value)",
        "x where it is greater than `threshold`, else `value`; its derivative at `threshold` is 0."),
    CellRow("Softmin(axis: integer = -1)(x)", "ops.softmin(x, self.axis)"),
    CellRow("LogSoftmax(axis: integer = -1)(x)", "ops.log_softmax(x, self.axis)"),
    CellRow("GLU(axis: integer = -1)(x)", "ops.glu(x, self.axis)"),
    # Special functions.
    CellRow("LGamma()(x)", "ops.lgamma(x)", """
        The logarithm of the absolute value of the gamma function.

        >>> nn.LGamma()(Tensor([1.0, 2.0])).tolist()
        [0.0, 0.0]
        """),
    CellRow("DiGamma()(x)", "ops.digamma(x)", """
        The derivative of the logarithm of the gamma function.

        >>> round(nn.DiGamma()(Tensor(1.0)).item(), 5)  # minus Euler's constant
        -0.57722
        """),
    CellRow("IGamma()(a, x)", "ops.igamma(a, x)", """
        The lower incomplete gamma function of `a` at x, divided by the gamma function; they broadcast.

        >>> round(nn.IGamma()(Tensor(1.0), Tensor(2.0)).item(), 5)  # 1 - exp(-2)
        0.86466
        """),
    CellRow("LBeta()(x, y)", "ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)", """
        The logarithm of the beta function: ``lgamma(x) + lgamma(y) - lgamma(x + y)``; they broadcast.

        >>> nn.LBeta()(Tensor(2.0), Tensor(3.0)).exp().item()  # 1 / 12
        0.08333...
        """),
    # Matrices: the last two dimensions.
    CellRow("MatDet()(a)", "ops.det(a)", """
        The determinants of square matrices.

        >>> nn.MatDet()(Tensor([[4.0, 2.0], [2.0, 5.0]])).item()
        16.0
        """),
    CellRow("MatInverse()(a)", "ops.inverse(a)", """
        The inverses of square matrices; LinAlgError if one is singular.

        >>> nn.MatInverse()(Tensor([[4.0, 0.0], [0.0, 2.0]])).tolist()
        [[0.25, 0.0], [0.0, 0.5]]
        """),
    CellRow("MatrixDiag()(input_x)", "ops.matrix_diag(input_x)", """
        Square matrices with the given diagonals, [..., n] as [..., n, n], and zeros elsewhere.

        >>> nn.MatrixDiag()(Tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
        """),
    CellRow("MatrixDiagPart()(input_x)", "ops.matrix_diag_part(input_x, 0, 0)", """
        The diagonals of matrices, [..., m, n] as [..., min(m, n)].

        >>> nn.MatrixDiagPart()(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).tolist()
        [1.0, 4.0]
        """),
    CellRow("MatrixSetDiag()(input_x, diagonal)", "ops.matrix_set_diag(input_x, diagonal)", """
        Matrices [..., m, n] with other diagonals, [..., min(m, n)].

        >>> nn.MatrixSetDiag()(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([7.0, 8.0])).tolist()
        [[7.0, 2.0], [3.0, 8.0]]
        """),
    CellRow("Tril()(x, k: int = 0)", "ops.tril(x, k)",
        "The lower triangle of matrices up to the diagonal `k`, elsewhere 0."),
    CellRow("Triu()(x, k: int = 0)", "ops.triu(x, k)",
        "The upper triangle of matrices from the diagonal `k` on, elsewhere 0."),
    # Shapes and images.
    CellRow("Flatten(start_dim: integer = 1, end_dim: integer = -1)(x)",
        "ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)", """
        The dimensions from `start_dim` to `end_dim` made one: by default all but the first, the batch.

        >>> nn.Flatten()(Tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])).tolist()
        [[1, 2, 3, 4], [5, 6, 7, 8]]
        """),
    CellRow("Roll(shift, axis)(x)", "ops.roll(x, self.shift, self.axis)", """
        Elements shifted along axes; those that leave one end come back at the other.

        >>> nn.Roll(1, 0)(Tensor([1, 2, 3])).tolist()
        [3, 1, 2]
        """),
    CellRow("PixelShuffle(upscale_factor: positive)(x)", "ops.pixel_shuffle(x, self.upscale_factor)", """
        [..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor.

        >>> nn.PixelShuffle(2)(Tensor([[[1]], [[2]], [[3]], [[4]]])).tolist()
        [[[1, 2], [3, 4]]]
        """),
    CellRow("PixelUnshuffle(downscale_factor: positive)(x)", "ops.pixel_unshuffle(x, self.downscale_factor)",
        "The inverse of `PixelShuffle`."),
    CellRow("ChannelShuffle(groups: positive)(x)", "ops.channel_shuffle(x, self.groups)", shown="groups"),
    CellRow("Upsample(size=None, scale_factor=None, mode: str = 'nearest', align_corners: bool | None = None, "
        "recompute_scale_factor: bool | None = None)(x)",
        "ops.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)",
        """
        [batch, channels, ...] resized to `size`, or by `scale_factor`; modes as in `ops.interpolate`.

        >>> nn.Upsample(size=3, mode="linear", align_corners=True)(Tensor([[[0.0, 2.0]]])).tolist()
        [[[0.0, 1.0, 2.0]]]
        """),
    # Dropout of whole channels.
    CellRow("Dropout1d(p: probability = 0.5)(x)", "ops.dropout1d(x, self.p, self.training)",
        "In training whole channels of [batch, channels, n] are 0 with probability p, the others times 1 / (1 - p).",
        "p"),
    CellRow("Dropout2d(p: probability = 0.5)(x)", "ops.dropout2d(x, self.p, self.training)",
        "In training whole channels of [batch, channels, h, w] are 0 with probability p, the others times 1 / (1 - p).",
        "p"),
    CellRow("Dropout3d(p: probability = 0.5)(x)", "ops.dropout3d(x, self.p, self.training)",
        "In training whole channels of [batch, channels, d, h, w] are 0 with probability p, others times 1 / (1 - p).",
        "p"),
)
# fmt: on

#: The rows by name.
CELLS = {row.name: row for row in _ROWS}
