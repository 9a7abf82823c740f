"""MindSpore's operator classes of mathematics, networks, images and Parameters against NumPy, SciPy and definitions."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops import image_classes, math_classes, neural_classes, operations
from autodiff_compiler.testing import gradcheck

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
Y = np.array([[2.0, -1.25, 1.0], [0.5, 4.0, 3.0]])
U = np.array([[0.5, 0.25, 0.75], [0.125, 0.9, 0.6]])  # in (0, 1)
ABOVE = U + 1.25
I = np.array([[1, -7, 3], [8, 2, 5]], np.int32)
J = np.array([[2, 3, -2], [3, 1, 2]], np.int32)
B = np.array([[True, False, True], [False, False, True]])
SPECIAL = np.array([1.0, np.inf, -np.inf, np.nan])
SPD = np.array([[4.0, 1.0], [1.0, 3.0]])
M = np.array([[2.0, 1.0], [0.5, -1.5]])
LOW = np.linalg.cholesky(SPD)
IMAGE = np.arange(32.0).reshape(1, 2, 4, 4) * 0.25 - 1.7
WEIGHT = np.array([0.5, -1.0, 2.0, 0.25, 1.5, -0.75, 1.0, 0.1, -0.3, 0.2, 0.6, -0.9]).reshape(3, 2, 1, 2)
LOGITS = np.array([[0.2, -1.0, 0.7], [1.5, 0.1, -0.4]])
ONE_HOT = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
LABELS = np.array([1, 0], np.int32)
BOXES = np.array([[0.0, 0.0, 3.0, 3.0], [1.0, 1.0, 4.0, 2.0]])

Case = tuple[str, Any, tuple[Any, ...], Any]


def softmax(x: np.ndarray) -> np.ndarray:
    return scipy.special.softmax(x, -1)


def crossed(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -(labels * scipy.special.log_softmax(logits, -1)).sum(-1)


def windows(x: np.ndarray, kernel: int, step: int) -> np.ndarray:
    """[N, C, H', W', kernel * kernel]"""
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::step, ::step]
    return view.reshape(*view.shape[:4], -1)


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    view = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", view, w)


#: One operand each: class, NumPy's function, an operand.
UNARY: list[tuple[str, Callable[..., Any], np.ndarray]] = [
    ("ACos", np.arccos, U), ("Abs", np.abs, X), ("Acosh", np.arccosh, ABOVE), ("Asin", np.arcsin, U),
    ("Asinh", np.arcsinh, X), ("Atan", np.arctan, X), ("Atanh", np.arctanh, U), ("Ceil", np.ceil, X),
    ("Cos", np.cos, X), ("Cosh", np.cosh, X), ("Digamma", scipy.special.digamma, ABOVE), ("Erf", scipy.special.erf, X),
    ("Erfc", scipy.special.erfc, X), ("Erfinv", scipy.special.erfinv, U), ("Exp", np.exp, X), ("Expm1", np.expm1, X),
    ("FastGeLU", lambda x: x * scipy.special.expit(1.702 * x), X),
    ("FastGelu", lambda x: x * scipy.special.expit(1.702 * x), X), ("Floor", np.floor, X),
    ("GeLU", lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), X),
    ("Gelu", lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), X),
    ("HSigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), 1.2 * X),
    ("HSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 1.2 * X),
    ("IsFinite", np.isfinite, SPECIAL), ("IsInf", np.isinf, SPECIAL), ("IsNan", np.isnan, SPECIAL),
    ("L2Loss", lambda x: (x**2).sum() / 2, X), ("Lgamma", scipy.special.gammaln, ABOVE), ("Log", np.log, U),
    ("Log1p", np.log1p, U), ("LogicalNot", np.logical_not, B), ("MatrixDeterminant", np.linalg.det, M),
    ("MatrixExp", lambda a: scipy.linalg.expm(a), M), ("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), X),
    ("Neg", np.negative, X), ("ReLU", lambda x: np.maximum(x, 0), X), ("ReLU6", lambda x: np.clip(x, 0, 6), 2.5 * X),
    ("Reciprocal", np.reciprocal, X), ("Rint", np.rint, X), ("Round", np.round, X),
    ("Rsqrt", lambda x: 1 / np.sqrt(x), U), ("Sigmoid", scipy.special.expit, X), ("Sign", np.sign, X),
    ("SeLU", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), X),
    ("Sin", np.sin, X), ("Sinh", np.sinh, X), ("Softplus", lambda x: np.log1p(np.exp(x)), X),
    ("Softsign", lambda x: x / (1 + np.abs(x)), X), ("Sqrt", np.sqrt, U), ("Square", np.square, X),
    ("StopGradient", lambda x: x, X), ("Tan", np.tan, U), ("Tanh", np.tanh, X), ("Trace", np.trace, M),
    ("Trunc", np.trunc, X),
]  # fmt: skip
#: Two operands each.
BINARY: list[tuple[str, Callable[..., Any], np.ndarray, np.ndarray]] = [
    ("Add", np.add, X, Y), ("Atan2", np.arctan2, X, Y), ("BitwiseAnd", np.bitwise_and, I, J),
    ("BitwiseOr", np.bitwise_or, I, J), ("BitwiseXor", np.bitwise_xor, I, J), ("Div", np.divide, X, Y),
    ("Equal", np.equal, I, J), ("FloorDiv", np.floor_divide, I, J), ("FloorMod", np.mod, I, J), ("Fmax", np.fmax, X, Y),
    ("Fmin", np.fmin, X, Y), ("Ger", np.outer, X[0], Y[0]), ("Greater", np.greater, X, Y),
    ("GreaterEqual", np.greater_equal, I, J), ("Heaviside", np.heaviside, X, Y), ("Hypot", np.hypot, X, Y),
    ("LeftShift", np.left_shift, np.abs(I), np.abs(J)), ("Less", np.less, X, Y), ("LessEqual", np.less_equal, I, J),
    ("LogicalAnd", np.logical_and, B, ~B[:, ::-1]), ("LogicalOr", np.logical_or, B, B[:, ::-1]),
    ("LogicalXor", np.logical_xor, B, B[:, ::-1]), ("Maximum", np.maximum, X, Y), ("Minimum", np.minimum, X, Y),
    ("Mod", np.fmod, X, Y), ("Mul", np.multiply, X, Y), ("NotEqual", np.not_equal, I, J), ("Pow", np.power, U, Y),
    ("RealDiv", np.divide, X, Y), ("RightShift", np.right_shift, np.abs(I), np.abs(J)), ("Sub", np.subtract, X, Y),
    ("SquaredDifference", lambda a, b: (a - b) ** 2, X, Y),
    ("TruncateDiv", lambda a, b: np.trunc(a / b).astype(np.int32), I, J),
    ("TruncateMod", np.fmod, I, J), ("Xlogy", scipy.special.xlogy, X, U),
    ("Mod", np.fmod, np.array([-4.0, 5.0, 6.0]), np.array([3.0, 2.0, 3.0])),
]  # fmt: skip

MATHEMATICS: list[Case] = [
    ("Addcdiv", (), (X, Y, ABOVE, 0.5), X + 0.5 * Y / ABOVE),
    ("Addcmul", (), (X, Y, U, 2.0), X + 2 * Y * U),
    ("Angle", (), (np.array([1.0, -2.0]),), np.array([0.0, np.pi])),
    ("ArgMaxWithValue", (1,), (X,), (X.argmax(1).astype(np.int32), X.max(1))),
    ("ArgMinWithValue", (0, True), (X,), (X.argmin(0)[None].astype(np.int32), X.min(0, keepdims=True))),
    ("Argmax", (), (X,), X.argmax(-1).astype(np.int32)),
    ("Argmax", (0, ms.int64), (X,), X.argmax(0)),
    ("Argmin", {"axis": 0}, (X,), X.argmin(0).astype(np.int32)),
    ("BartlettWindow", (False,), (5,), np.bartlett(5).astype(np.float32)),
    ("BlackmanWindow", (False,), (5,), np.blackman(5).astype(np.float32)),
    ("HammingWindow", (False,), (5,), np.hamming(5).astype(np.float32)),
    ("Cholesky", (), (SPD,), LOW),
    ("Cholesky", (True,), (SPD,), LOW.T),
    ("CholeskyInverse", (), (LOW,), np.linalg.inv(SPD)),
    ("CholeskySolve", (), (M, LOW), np.linalg.solve(SPD, M)),
    ("CountNonZero", (), (np.where(X > 1, 0.0, X),), np.array(4)),
    ("CountNonZero", (1,), (np.where(X > 1, 0.0, X),), np.array([2, 2])),
    ("Cross", (), (X, Y), np.cross(X, Y)),
    ("Cummax", (1,), (X,), (np.maximum.accumulate(X, 1), np.array([[0, 0, 2], [0, 0, 0]]))),
    ("Cummin", (1,), (X,), (np.minimum.accumulate(X, 1), np.array([[0, 1, 1], [0, 1, 2]]))),
    ("CumulativeLogsumexp", (), (X, 1), np.logaddexp.accumulate(X, 1)),
    ("CumulativeLogsumexp", (False, True), (X, 1), np.logaddexp.accumulate(X[:, ::-1], 1)[:, ::-1]),
    (
        "CumulativeLogsumexp",
        (True,),
        (X, 1),
        np.hstack([np.full((2, 1), np.finfo(np.float64).min), np.logaddexp.accumulate(X[:, :2], 1)]),
    ),
    ("Diag", (), (X[0],), np.diag(X[0])),
    ("DivNoNan", (), (X, np.where(Y > 1, 0.0, Y)), np.where(Y > 1, 0.0, X / Y)),
    ("Einsum", ("ij,jk->ik",), ((X, Y.T),), X @ Y.T),
    ("EqualCount", (), (I, np.where(I > 2, I, 0)), np.array([3], np.int32)),
    ("EuclideanNorm", (), (X, (1,)), np.linalg.norm(X, axis=1)),
    ("FloatStatus", (), (SPECIAL,), np.array([1.0], np.float32)),
    ("FloatStatus", (), (X,), np.array([0.0], np.float32)),
    ("IsClose", (0.0, 0.5), (X, X + np.array([0.1, 0.6, -0.4])), np.array([[True, False, True]] * 2)),
    ("L2Normalize", (1,), (X,), X / np.linalg.norm(X, axis=1, keepdims=True)),
    ("L2Normalize", (0, 100.0), (X,), X / 10),
    ("Lerp", (), (X, Y, 0.25), X + 0.25 * (Y - X)),
    ("LerpScalar", (), (X, Y, 0.75), X + 0.75 * (Y - X)),
    ("LogMatrixDeterminant", (), (M,), tuple(np.array(v) for v in np.linalg.slogdet(M))),
    ("LogSpace", (4, 10, ms.float64), (0.0, 3.0), np.logspace(0, 3, 4)),
    ("Logit", (), (U,), scipy.special.logit(U)),
    ("Logit", (0.3,), (U,), scipy.special.logit(np.clip(U, 0.3, 0.7))),
    ("LpNorm", (1, 3), (X,), np.linalg.norm(X, 3, axis=1)),
    ("MatrixInverse", (), (M,), np.linalg.inv(M)),
    ("MatrixInverse", (True,), (M,), np.linalg.inv(M.T)),
    ("MatrixPower", (3,), (M,), np.linalg.matrix_power(M, 3)),
    ("MatrixSolve", (), (M, SPD), np.linalg.solve(M, SPD)),
    ("MatrixSolve", (True,), (M, SPD), np.linalg.solve(M.T, SPD)),
    ("MatrixTriangularSolve", (), (LOW, M), np.linalg.solve(LOW, M)),
    ("MatrixTriangularSolve", (False,), (LOW.T.copy(), M), np.linalg.solve(LOW.T, M)),
    ("MatrixTriangularSolve", (True, True), (LOW, M), np.linalg.solve(LOW.T, M)),
    ("Lstsq", (), (X.T, X.T @ M), M),
    ("Bincount", (), (J % 4, 5, np.ones(6)), np.bincount((J % 4).ravel(), minlength=5).astype(np.float64)),
    (
        "ConfusionMatrix",
        (3,),
        (np.array([0, 1, 2, 1]), np.array([0, 2, 2, 2])),
        np.array([[1, 0, 0], [0, 0, 2], [0, 0, 1]], np.int32),
    ),
    ("Median", (True,), (X,), (np.array(0.25), np.array(0))),
    ("Median", (False, 1), (X,), (np.array([0.5, 0.25]), np.array([0, 1]))),
    ("MulNoNan", (), (SPECIAL, np.array([2.0, 0.0, 0.0, 0.0])), np.array([2.0, 0.0, 0.0, 0.0])),
    ("Mvlgamma", (2,), (ABOVE,), np.log(np.pi) / 2 + scipy.special.gammaln(ABOVE) + scipy.special.gammaln(ABOVE - 0.5)),
    ("NanToNum", (0.5, 9.0, -9.0), (SPECIAL,), np.array([1.0, 9.0, -9.0, 0.5])),
    ("NuclearNorm", (), (M,), np.array(np.linalg.norm(M, "nuc"))),
    ("Polygamma", (), (1, ABOVE), scipy.special.polygamma(1, ABOVE)),
    ("ReduceAll", (), (B, 1), B.all(1)),
    ("ReduceAny", (True,), (B, 0), B.any(0, keepdims=True)),
    ("ReduceMax", (), (X, 1), X.max(1)),
    ("ReduceMean", (True,), (X, (0, 1)), X.mean(keepdims=True)),
    ("ReduceMin", (), (X,), np.array(X.min())),
    ("ReduceProd", {"keep_dims": True}, (I, 1), I.prod(1, keepdims=True, dtype=np.int32)),
    ("ReduceStd", (1,), (X,), (X.std(1, ddof=1), X.mean(1))),
    ("ReduceStd", ([], False), (X,), (np.array(X.std()), np.array(X.mean()))),
    ("ReduceSum", (), (I, 0), I.sum(0, dtype=np.int32)),
    ("ReduceSum", (True,), (X, -1), X.sum(-1, keepdims=True)),
    ("ReduceSum", (False, True), (X, ()), X),
    ("ReduceSum", (), (X, ()), np.array(X.sum())),
    ("SquareSumAll", (), (X, Y), (np.array((X**2).sum()), np.array((Y**2).sum()))),
    ("Svd", (False, False), (X,), np.linalg.svd(X, compute_uv=False)),
]

NETWORKS: list[Case] = [
    ("AdaptiveAvgPool2D", ((2, 2),), (IMAGE,), windows(IMAGE, 2, 2).mean(-1)),
    (
        "AdaptiveMaxPool2D",
        ((2, 2),),
        (IMAGE,),
        (windows(IMAGE, 2, 2).max(-1), np.tile([[[[5, 7], [13, 15]]]], (1, 2, 1, 1))),
    ),
    (
        "AdaptiveAvgPool3D",
        ((1, 2, 2),),
        (IMAGE[:, None],),
        windows(IMAGE.mean(1, keepdims=True), 2, 2).mean(-1)[:, None],
    ),
    ("AvgPool", (2, 2), (IMAGE,), windows(IMAGE, 2, 2).mean(-1)),
    ("AvgPool", (3, 3, "same"), (np.ones((1, 1, 4, 4)),), np.ones((1, 1, 2, 2))),
    ("AvgPool3D", ((1, 2, 2), (1, 2, 2)), (IMAGE[:, None],), windows(IMAGE, 2, 2).mean(-1)[:, None]),
    (
        "BCEWithLogitsLoss",
        ("sum",),
        (LOGITS, U, np.ones_like(U), np.ones_like(U)),
        np.array((np.log1p(np.exp(LOGITS)) - U * LOGITS).sum()),
    ),
    ("BiasAdd", (), (IMAGE, np.array([1.0, -2.0])), IMAGE + np.array([1.0, -2.0])[:, None, None]),
    ("BiasAdd", ("NHWC",), (IMAGE, np.arange(4.0)), IMAGE + np.arange(4.0)),
    ("BinaryCrossEntropy", (), (U, ONE_HOT), np.array(-np.where(ONE_HOT > 0, np.log(U), np.log(1 - U)).mean())),
    ("CeLU", (0.5,), (X,), np.where(X > 0, X, 0.5 * np.expm1(X / 0.5))),
    ("Conv2D", (3, (1, 2)), (IMAGE, WEIGHT), convolved(IMAGE, WEIGHT)),
    (
        "Conv2D",
        (3, (1, 2), 1, "pad", (0, 0, 1, 0)),
        (IMAGE, WEIGHT),
        convolved(np.pad(IMAGE, ((0, 0), (0, 0), (0, 0), (1, 0))), WEIGHT),
    ),
    (
        "Conv2D",
        (3, (1, 2), 1, "same"),
        (IMAGE, WEIGHT),
        convolved(np.pad(IMAGE, ((0, 0), (0, 0), (0, 0), (0, 1))), WEIGHT),
    ),
    (
        "Conv2D",
        {"out_channel": 3, "kernel_size": (1, 2), "stride": 2},
        (IMAGE, WEIGHT),
        convolved(IMAGE, WEIGHT)[:, :, ::2, ::2],
    ),
    ("Conv3D", (3, (1, 1, 2)), (IMAGE[:, :, None], WEIGHT[:, :, None]), convolved(IMAGE, WEIGHT)[:, :, None]),
    ("Dense", (), (X, Y, np.array([1.0, 2.0])), X @ Y.T + np.array([1.0, 2.0])),
    ("Elu", (), (X,), np.where(X > 0, X, np.expm1(X))),
    ("GLU", (0,), (X,), X[:1] * scipy.special.expit(X[1:])),
    ("HShrink", (), (X,), np.where(np.abs(X) > 0.5, X, 0)),
    ("KLDivLoss", ("sum",), (LOGITS, U), np.array((U * (np.log(U) - LOGITS)).sum())),
    ("LRN", (1,), (IMAGE,), IMAGE / np.sqrt(1 + (IMAGE**2).sum(1, keepdims=True))),
    (
        "LayerNorm",
        (1, 1, 1e-5),
        (X, Y[0], Y[1]),
        (
            (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5) * Y[0] + Y[1],
            X.mean(1, keepdims=True),
            X.var(1, keepdims=True),
        ),
    ),
    ("LogSoftmax", (), (LOGITS,), scipy.special.log_softmax(LOGITS, -1)),
    ("LogSoftmaxExt", (), (LOGITS, 0), scipy.special.log_softmax(LOGITS, 0)),
    ("MaxPool", (2, 2), (IMAGE,), windows(IMAGE, 2, 2).max(-1)),
    ("MaxPool", ((1, 1, 3, 3), (1, 1, 3, 3), "SAME"), (IMAGE,), IMAGE[:, :, [1, 3]][..., [1, 3]]),
    ("MaxPool3D", ((1, 2, 2), (1, 2, 2)), (IMAGE[:, None],), windows(IMAGE, 2, 2).max(-1)[:, None]),
    (
        "MaxPoolWithArgmaxV2",
        (2,),
        (IMAGE,),
        (windows(IMAGE, 2, 2).max(-1), np.tile([[[[5, 7], [13, 15]]]], (1, 2, 1, 1))),
    ),
    ("MaxUnpool2D", (2,), (np.array([[[[3.0]]]]), np.array([[[[2]]]])), np.array([[[[0.0, 0.0], [3.0, 0.0]]]])),
    (
        "MultiMarginLoss",
        (),
        (LOGITS, LABELS),
        np.array(((max(0, 1.2 + 1.0) + max(0, 1.7 + 1.0)) / 3 + (max(0, 1 - 1.4) + max(0, 1 - 1.9)) / 3) / 2),
    ),
    (
        "DepthwiseConv2dNative",
        (1, (1, 2)),
        (IMAGE, WEIGHT[:1]),
        np.concatenate([convolved(IMAGE[:, :1], WEIGHT[:1, :1]), convolved(IMAGE[:, 1:], WEIGHT[:1, 1:])], 1),
    ),
    ("NLLLoss", (), (LOGITS, LABELS, np.array([1.0, 3.0, 5.0])), (np.array(-(3 * -1.0 + 1 * 1.5) / 4), np.array(4.0))),
    ("NLLLoss", ("sum", 0), (LOGITS, LABELS, np.array([1.0, 3.0, 5.0])), (np.array(3.0), np.array(3.0))),
    (
        "PReLU",
        (),
        (IMAGE, np.array([0.5, 0.1])),
        np.where(IMAGE > 0, IMAGE, IMAGE * np.array([0.5, 0.1])[:, None, None]),
    ),
    (
        "RmsNorm",
        (1e-5,),
        (X, Y[0]),
        (X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5) * Y[0], 1 / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5)),
    ),
    ("SigmoidCrossEntropyWithLogits", (), (LOGITS, U), np.log1p(np.exp(LOGITS)) - U * LOGITS),
    ("SmoothL1Loss", (), (X, Y), np.where(np.abs(X - Y) < 1, (X - Y) ** 2 / 2, np.abs(X - Y) - 0.5)),
    ("SoftMarginLoss", (), (X, np.sign(Y)), np.array(np.log1p(np.exp(-np.sign(Y) * X)).mean())),
    ("SoftShrink", (), (X,), np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    ("Softmax", (), (LOGITS,), softmax(LOGITS)),
    ("SoftmaxCrossEntropyWithLogits", (), (LOGITS, ONE_HOT), (crossed(LOGITS, ONE_HOT), softmax(LOGITS) - ONE_HOT)),
    ("SparseSoftmaxCrossEntropyWithLogits", (), (LOGITS, LABELS), np.array(crossed(LOGITS, ONE_HOT).mean())),
    ("SparseSoftmaxCrossEntropyWithLogits", (True,), (LOGITS, LABELS), (softmax(LOGITS) - ONE_HOT) / 2),
    (
        "TripletMarginLoss",
        {"eps": 0.0},
        (X, Y, U, 1.0),
        np.array(np.maximum(np.linalg.norm(X - Y, axis=1) - np.linalg.norm(X - U, axis=1) + 1, 0).mean()),
    ),
]

IMAGES: list[Case] = [
    ("BatchToSpace", (2, ((0, 0), (0, 0))), (np.arange(4.0).reshape(4, 1, 1, 1),), np.arange(4.0).reshape(1, 1, 2, 2)),
    ("BatchToSpaceND", ((2, 2), ((0, 0), (0, 1))), (np.arange(4.0).reshape(4, 1, 1, 1),), np.array([[[[0.0], [2.0]]]])),
    ("BoundingBoxEncode", (), (BOXES[:1], BOXES[:1]), np.zeros((1, 4))),
    ("ChannelShuffle", (2,), (np.arange(4.0).reshape(1, 4, 1, 1),), np.array([0.0, 2.0, 1.0, 3.0]).reshape(1, 4, 1, 1)),
    ("CheckValid", (), (BOXES, np.array([4.5, 4.5, 1.0])), np.array([True, False])),
    ("Col2Im", ((2, 2), 1, 0, 2), (np.arange(4.0).reshape(1, 1, 4, 1), (2, 2)), np.arange(4.0).reshape(1, 1, 2, 2)),
    (
        "CropAndResize",
        ("nearest",),
        (
            IMAGE.transpose(0, 2, 3, 1).astype(np.float32),
            np.array([[0.0, 0.0, 1.0, 1.0]], np.float32),
            np.array([0], np.int32),
            (4, 4),
        ),
        IMAGE.transpose(0, 2, 3, 1).astype(np.float32),
    ),
    ("DepthToSpace", (2,), (np.arange(4.0).reshape(1, 4, 1, 1),), np.arange(4.0).reshape(1, 1, 2, 2)),
    (
        "DepthToSpace",
        (2,),
        (np.arange(8.0).reshape(1, 8, 1, 1),),
        np.arange(8.0).reshape(2, 2, 2).transpose(2, 0, 1)[None],
    ),
    (
        "SpaceToDepth",
        (2,),
        (np.arange(8.0).reshape(2, 2, 2).transpose(2, 0, 1)[None],),
        np.arange(8.0).reshape(1, 8, 1, 1),
    ),
    ("IOU", (), (BOXES[:1], BOXES[:1]), np.array([[1.0]])),
    ("Im2Col", ((2, 2), 2), (IMAGE,), windows(IMAGE, 2, 2).reshape(1, 2, 4, 4).transpose(0, 1, 3, 2)),
    ("ResizeBilinearV2", (True,), (np.array([[[[0.0, 3.0]]]]), (1, 4)), np.array([[[[0.0, 1.0, 2.0, 3.0]]]])),
    ("ResizeBilinearV2", (), (np.array([[[[0.0, 4.0]]]]), (1, 4)), np.array([[[[0.0, 2.0, 4.0, 4.0]]]])),
    ("ResizeBilinearV2", (False, True), (np.array([[[[0.0, 4.0]]]]), (1, 4)), np.array([[[[0.0, 1.0, 3.0, 4.0]]]])),
    ("ResizeBilinear", ((1, 4), True), (np.array([[[[0.0, 3.0]]]]),), np.array([[[[0.0, 1.0, 2.0, 3.0]]]])),
    ("ResizeLinear1D", (), (np.array([[[0.0, 3.0]]]), (4,)), np.array([[[0.0, 1.0, 2.0, 3.0]]])),
    ("ResizeLinear1D", ("half_pixel",), (np.array([[[0.0, 4.0]]]), (4,)), np.array([[[0.0, 1.0, 3.0, 4.0]]])),
    ("ResizeNearestNeighbor", ((2, 4),), (np.array([[[[0.0, 4.0]]]]),), np.array([[[[0.0, 0.0, 4.0, 4.0]] * 2]])),
    ("ResizeNearestNeighborV2", (True,), (np.array([[[[0.0, 1.0, 2.0]]]]), (1, 2)), np.array([[[[0.0, 2.0]]]])),
    ("ResizeNearestNeighborV2", (), (np.array([[[[0.0, 1.0, 2.0]]]]), (1, 2)), np.array([[[[0.0, 1.0]]]])),
    ("ResizeBicubic", (True,), (np.linspace(0, 3, 4).reshape(1, 1, 1, 4) ** 0, (1, 7)), np.ones((1, 1, 1, 7))),
    ("SpaceToBatch", (2, ((0, 0), (0, 0))), (np.arange(4.0).reshape(1, 1, 2, 2),), np.arange(4.0).reshape(4, 1, 1, 1)),
    (
        "SpaceToBatchND",
        ((2, 2), ((0, 0), (0, 0))),
        (np.arange(4.0).reshape(1, 1, 2, 2),),
        np.arange(4.0).reshape(4, 1, 1, 1),
    ),
]

CASES = [
    *[(name, (), (x,), np.asarray(f(x))) for name, f, x in UNARY],
    *[(name, (), (x, y), np.asarray(f(x, y))) for name, f, x, y in BINARY],
    *MATHEMATICS,
    *NETWORKS,
    *IMAGES,
]


def made(name: str, constants: Any) -> Any:
    cls = getattr(operations, name)
    return cls(**constants) if isinstance(constants, dict) else cls(*constants)


def as_operand(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(as_operand, x))
    return Tensor(x) if isinstance(x, np.ndarray) else x


def check(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert type(found) is tuple
        for f, e in zip(found, expected, strict=True):
            check(f, e)
    else:
        assert isinstance(found, Tensor)
        assert (found.shape, found.asnumpy().dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("name", "constants", "operands", "expected"), CASES, ids=[c[0] for c in CASES])
def test_classes_compute_what_numpy_does(name: str, constants: Any, operands: tuple[Any, ...], expected: Any) -> None:
    operator_class, operation = getattr(operations, name), made(name, constants)
    positional, named = ((), constants) if isinstance(constants, dict) else (constants, {})

    @ms.jit
    def inside(*operands):
        return operator_class(*positional, **named)(*operands)

    assert isinstance(operation, ops.Primitive)
    given = [as_operand(x) for x in operands]
    for run in (operation, ms.jit(lambda *given: operation(*given)), inside, pickle.loads(pickle.dumps(operation))):
        check(run(*given), expected)


#: No derivative: results of other kinds, steps, or what is not smooth where it is tested.
UNSMOOTH = {"Ceil", "Floor", "IsFinite", "Rint", "Round", "Sign", "StopGradient", "Trunc", "Heaviside"} | {
    "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "CountNonZero", "EqualCount", "FloatStatus", "IsClose",
    "DivNoNan", "HShrink", "Mod", "MulNoNan", "NanToNum", "SmoothL1Loss", "SoftShrink",
    "CropAndResize", "CheckValid", "IOU", "BoundingBoxEncode", "Col2Im", "LogSpace", "Greater",
    "Less", "SoftmaxCrossEntropyWithLogits", "SoftMarginLoss", "FloorDiv", "Angle", "IsInf", "IsNan",
    "CumulativeLogsumexp",
    "MultiMarginLoss", "SparseSoftmaxCrossEntropyWithLogits",
}  # fmt: skip


def differentiable(case: Case) -> bool:
    floats = any(isinstance(x, np.ndarray) and x.dtype == np.float64 for x in case[2])
    return floats and case[0] not in UNSMOOTH


SMOOTH = [next(group) for _, group in itertools.groupby(filter(differentiable, CASES), key=lambda c: c[0])]


@pytest.mark.some(3)
@pytest.mark.parametrize(("name", "constants", "operands", "expected"), SMOOTH, ids=[c[0] for c in SMOOTH])
def test_classes_are_differentiated(name: str, constants: Any, operands: tuple[Any, ...], expected: Any) -> None:
    if name in ("Cholesky", "CholeskyInverse"):  # of a symmetric matrix
        run = made(name, constants)
        assert gradcheck(lambda x: run(x + ops.t(x)), as_operand(operands))
    else:
        assert gradcheck(made(name, constants), as_operand(operands))
    if name in ("Tanh", "Mul", "MatMul", "Conv2D", "LayerNorm", "Softmax", "ReduceMean", "ResizeBilinearV2"):
        assert gradcheck(made(name, constants), as_operand(operands), order=2)


# ---------------------------------------------------------------------------------------------------- transposes
def test_a_transposed_convolution_is_the_adjoint_of_the_convolution() -> None:
    rng = np.random.default_rng(3)
    for mode, pad, stride, size in (
        ("valid", 0, 2, 7), ("valid", 0, 2, 8), ("same", 0, 2, 7), ("pad", 1, 2, 8), ("same", 0, 1, 5)
    ):  # fmt: skip
        x, w = Tensor(rng.normal(size=(2, 3, size, size))), Tensor(rng.normal(size=(4, 3, 3, 3)))
        forward = ops.Conv2D(4, 3, pad_mode=mode, pad=pad, stride=stride)
        y = forward(x, w)
        g = Tensor(rng.normal(size=y.shape))
        adjoint = ms.grad(lambda x, f=forward, w=w, g=g: (f(x, w) * g).sum())(x)
        for cls in (ops.Conv2DTranspose, ops.Conv2DBackpropInput):
            back = cls(4, 3, pad_mode=mode, pad=pad, stride=stride)
            shape = tuple(x.shape)
            for run in (back, ms.jit(lambda g, w, b=back, s=shape: b(g, w, s))):
                found = run(g, w, shape) if run is back else run(g, w)
                np.testing.assert_allclose(found.asnumpy(), adjoint.asnumpy(), rtol=1e-9, atol=1e-9)


def test_a_transposed_convolution_of_volumes() -> None:
    rng = np.random.default_rng(4)
    x, w = Tensor(rng.normal(size=(1, 2, 3, 3, 3))), Tensor(rng.normal(size=(2, 3, 2, 2, 2)))
    found = ops.Conv3DTranspose(2, 3, 2)(x, w)
    probe = Tensor(rng.normal(size=found.shape))
    forward = ops.Conv3D(2, 2)(probe, w)
    np.testing.assert_allclose((found * probe).sum().item(), (forward * x).sum().item(), rtol=1e-9)


# ---------------------------------------------------------------------------------------------------- functions
RNG = np.random.default_rng(5)
VOLUME = RNG.normal(size=(1, 2, 4, 4, 4))
THETA = np.array([[[1.0, 0.5, 0.1], [0.2, 1.0, -0.3]]])
GRID3 = RNG.uniform(-1, 1, (1, 2, 2, 2, 3))
TIMES = scipy.special.log_softmax(RNG.normal(size=(4, 1, 3)), -1)
#: class, constants, operands, and the function that it stands for (tested against NumPy where it is)
DELEGATED: list[tuple[str, Any, tuple[Any, ...], Callable[..., Any]]] = [
    ("AdaptiveMaxPool3D", (), (VOLUME, (2, 2, 1)), lambda x, s: ops.adaptive_max_pool3d(x, s, True)),
    ("AffineGrid", (True,), (THETA, (1, 1, 3, 4)), lambda t, s: ops.affine_grid(t, s, True)),
    ("BoundingBoxDecode", ((8, 8),), (BOXES, BOXES / 9), lambda a, d: ops.bounding_box_decode(a, d, (8, 8))),
    ("CTCGreedyDecoder", (False,), (TIMES, np.array([4], np.int32)), lambda x, n: ops.ctc_greedy_decoder(x, n, False)),
    (
        "CTCLossV2",
        (),
        (TIMES, np.array([[1, 2]]), np.array([4]), np.array([2])),
        lambda *given: ops.ctc_loss(*given, reduction="none"),
    ),
    (
        "GridSampler2D",
        ("nearest",),
        (IMAGE, np.array([[[[0.1, -0.7], [0.9, 0.3]]]])),
        lambda x, g: ops.grid_sample(x, g, "nearest", align_corners=False),
    ),
    (
        "GridSampler3D",
        ("bilinear", "border", True),
        (VOLUME, GRID3),
        lambda x, g: ops.grid_sample(x, g, "bilinear", "border", True),
    ),
    ("LuSolve", (), (M, SPD, np.array([1, 2], np.int32)), ops.lu_solve),
    ("LuUnpack", (), (SPD, np.array([2, 2], np.int32)), ops.lu_unpack),
    ("MaxUnpool3D", (2,), (np.array([[[[[3.0]]]]]), np.array([[[[[5]]]]])), lambda x, i: ops.max_unpool3d(x, i, 2)),
    ("UpsampleNearest3D", (), (VOLUME, (8, 8, 8)), lambda x, s: ops.interpolate(x, s, mode="nearest")),
    (
        "UpsampleTrilinear3D",
        (True,),
        (VOLUME, (5, 5, 5)),
        lambda x, s: ops.interpolate(x, s, mode="trilinear", align_corners=True),
    ),
]


@pytest.mark.parametrize(("name", "constants", "operands", "function"), DELEGATED, ids=[c[0] for c in DELEGATED])
def test_classes_stand_for_functions(name: str, constants: Any, operands: tuple[Any, ...], function: Any) -> None:
    operation, given = made(name, constants), [as_operand(x) for x in operands]

    def compared(found: Any, expected: Any) -> None:
        if isinstance(expected, tuple):
            for f, e in zip(found, expected, strict=True):
                compared(f, e)
        else:
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-9)

    expected = function(*given)
    compared(operation(*given), expected)
    if name != "CTCGreedyDecoder":  # its result is as long as the numbers say
        compared(ms.jit(lambda *tensors: operation(*tensors))(*given), expected)


def test_every_class_has_a_case() -> None:
    ours = {n for m in (math_classes, neural_classes, image_classes) for n in m.__all__}
    tested = {case[0] for case in (*CASES, *DELEGATED)}
    by_name = {
        "BatchNorm", "Conv2DBackpropInput", "Conv2DTranspose", "Conv3DTranspose", "Geqrf", "Orgqr", "Ormqr", "Qr",
    }  # fmt: skip
    in_the_other_file = {"MatMul", "BatchMatMul", "CumSum", "CumProd", "TridiagonalMatMul"}
    assert ours - tested <= by_name | in_the_other_file
