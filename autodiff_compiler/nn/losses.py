"""Losses as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..dtypes import float32
from ..errors import DTypeError, ShapeError
from ..runtime.tensor import Tensor
from .activation import get_activation
from .arguments import integer
from .cell import Cell
from .layer import Layer


class LossBase(Layer):
    """A loss of predictions and labels; `reduction` is "mean", "sum" or "none".

    A subclass ends its `construct` with `get_loss`.

    >>> from autodiff_compiler import Tensor
    >>> class Cubic(LossBase):
    ...     def construct(self, logits, labels):
    ...         return self.get_loss((logits - labels) ** 3)
    >>> Cubic("sum")(Tensor([1.0, 2.0]), Tensor([0.0, 0.0])).item()
    9.0
    """

    _reductions: tuple[str, ...] = ("mean", "sum", "none")

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in self._reductions:
            raise ValueError(f"`reduction` must be one of {', '.join(map(repr, self._reductions))}, not {reduction!r}")
        self.reduction = reduction

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of x."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """x times weights, reduced as `reduction` says; computed in float32, in the dtype of x."""
        y = x.astype(float32) * weights if x.dtype.bits < 32 else x * weights
        if self.reduction == "mean":
            y = ops.mean(y)
        elif self.reduction == "sum":
            y = ops.sum(y)
        return y.astype(x.dtype)


# ------------------------------------------------------------------------------------------------ of numbers
class MSELoss(LossBase):
    """Squared difference.

    >>> from autodiff_compiler import Tensor
    >>> MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.mse_loss(logits, labels, self.reduction)


class RMSELoss(LossBase, parameters=""):
    """The root of the mean of squared differences."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.sqrt(ops.mse_loss(logits, labels))


class L1Loss(LossBase):
    """Absolute difference.

    Its mean, its sum, or with `reduction` "none" element by element.

    >>> from autodiff_compiler import Tensor
    >>> L1Loss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    1.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.l1_loss(logits, labels, self.reduction)


class MAELoss(L1Loss):
    """Absolute difference, under another name."""


class SmoothL1Loss(LossBase, parameters="beta: number = 1.0, reduction: str = 'none'"):
    """Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."""

    def _make(self) -> None:
        if self.beta <= 0:
            raise ValueError(f"`beta` must be greater than 0, not {self.beta}")

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase, parameters="reduction: str = 'mean', delta: number = 1.0"):
    """Half the squared difference up to delta, beyond it linear with the slope delta."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class GaussianNLLLoss(LossBase, parameters="*, full: flag = False, eps: number = 1e-6, reduction: str = 'mean'"):
    """Negative log-likelihood of labels under normal distributions of mean `logits` and variance `var`."""

    def _make(self) -> None:
        if self.eps <= 0:
            raise ValueError(f"`eps` must be greater than 0, not {self.eps}")

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class PoissonNLLLoss(
    LossBase, parameters="log_input: flag = True, full: flag = False, eps: number = 1e-8, reduction: str = 'mean'"
):
    """Negative log-likelihood of counts under Poisson distributions of given rates, or with `log_input` their logs."""

    def construct(self, input: Any, target: Any) -> Any:
        return ops.poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


# ------------------------------------------------------------------------------------------------ of classes
class SoftmaxCrossEntropyWithLogits(LossBase, parameters="sparse: bool = False, reduction: str = 'none'"):
    """Cross entropy of logits [N, C] against classes [N] (``sparse=True``) or probabilities [N, C].

    DTypeError: labels that are no integers with `sparse`, or integers without.

    >>> from autodiff_compiler import Tensor
    >>> SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor([[0.0, 0.0]]), Tensor([1])).shape
    (1,)
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        if labels.dtype.is_int != self.sparse:
            wanted = "integer classes" if self.sparse else "probabilities of every class"
            raise DTypeError(f"with sparse={self.sparse} the labels must be {wanted}, not {labels.dtype.name}")
        return ops.cross_entropy(logits, labels, reduction=self.reduction)


class CrossEntropyLoss(
    LossBase, parameters="weight=None, ignore_index: int = -100, reduction: str = 'mean', label_smoothing: float = 0.0"
):
    """Cross entropy of logits [N, C, ...] against classes [N, ...] or probabilities of the logits' shape.

    A `weight` [C] per class weighs the mean; samples of the class `ignore_index` are left out; `label_smoothing` is the
    part of every label that is spread evenly over all classes.  IndexError: another class outside of 0 ... C - 1.

    >>> from autodiff_compiler import Tensor
    >>> round(CrossEntropyLoss()(Tensor([[0.0, 0.0]]), Tensor([1])).item(), 4)
    0.6931
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(LossBase, parameters="weight=None, ignore_index: integer = -100, reduction: str = 'mean'"):
    """Negative log-likelihood of classes [N, ...], given log-probabilities [N, C, ...]."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase, parameters="weight=None, reduction: str = 'mean'"):
    """Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1.

    >>> from autodiff_compiler import Tensor
    >>> round(BCELoss()(Tensor([0.5]), Tensor([1.0])).item(), 4)
    0.6931
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase, parameters="reduction: str = 'mean', weight=None, pos_weight=None"):
    """Binary cross entropy of sigmoid(logits), without overflow; `pos_weight` multiplies the part of the positives."""

    def _make(self) -> None:
        for name, given in (("weight", self.weight), ("pos_weight", self.pos_weight)):
            if given is not None and not isinstance(given, Tensor):
                raise TypeError(f"`{name}` must be a Tensor, not a {type(given).__name__}")

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)


class KLDivLoss(LossBase):
    """labels * (log(labels) - logits); reduction "batchmean" divides the sum by the first dimension."""

    _reductions = ("mean", "sum", "none", "batchmean")

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.kl_div(logits, labels, self.reduction)


class FocalLoss(LossBase, parameters="weight=None, gamma: number = 2.0, reduction: str = 'mean'"):
    """``-(1 - p) ** gamma * log(p)`` of the probabilities p of the classes that are labels.

    `logits` are [N, C, ...], `labels` integer classes [N, 1, ...] or codes [N, C, ...]; the loss of a sample is the
    mean over its positions.  `weight` [C] multiplies that of a class.  ValueError, TypeError: what does not fit.

    >>> from autodiff_compiler import Tensor
    >>> FocalLoss(gamma=0.0)(Tensor([[0.0, 0.0]]), Tensor([[1]])).item()
    0.693147...
    """

    def _make(self) -> None:
        weight = self.weight
        if weight is not None and not isinstance(weight, Tensor):
            raise TypeError(f"`weight` must be a Tensor, not a {type(weight).__name__}")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"`weight` must have one dimension, not the shape {list(weight.shape)}")

    def construct(self, logits: Any, labels: Any) -> Any:
        if logits.ndim != labels.ndim or labels.shape[1] not in (1, logits.shape[1]):
            raise ShapeError(f"labels {list(labels.shape)} do not fit logits {list(logits.shape)}")
        batch, classes = logits.shape[:2]
        logits, labels = ops.reshape(logits, (batch, classes, -1)), ops.reshape(labels, (batch, labels.shape[1], -1))
        logp = ops.log_softmax(logits, 1)
        if self.weight is None:
            weight = ops.ones_like(logp)
        else:
            weight = ops.broadcast_to(ops.reshape(self.weight.astype(logp.dtype), (1, classes, 1)), logp.shape)
        if labels.shape[1] == 1:
            chosen = labels.astype(ops.arange(1).dtype)
            logp, weight = ops.gather_elements(logp, 1, chosen), ops.gather_elements(weight, 1, chosen)
            loss = ops.squeeze(-((1 - ops.exp(logp)) ** self.gamma) * logp * weight, 1)
        else:
            loss = -((1 - ops.exp(logp)) ** self.gamma) * labels * logp * weight
        return self.get_loss(ops.mean(loss, -1))


class DiceLoss(LossBase, parameters="smooth: number = 1e-5"):
    """``1 - 2 * sum(x * y) / (sum(x * x) + sum(y * y) + smooth)``.

    >>> from autodiff_compiler import Tensor
    >>> DiceLoss(smooth=0.0)(Tensor([1.0, 1.0]), Tensor([1.0, 0.0])).item()
    0.333...
    """

    def _make(self) -> None:
        if self.smooth < 0:
            raise ValueError(f"`smooth` must not be negative, but it is {self.smooth}")

    def construct(self, logits: Any, label: Any) -> Any:
        if logits.shape != label.shape:
            raise ShapeError(f"label {list(label.shape)} must have the shape of logits {list(logits.shape)}")
        common = ops.sum(logits * label)
        return 1 - 2 * common / (ops.sum(logits * logits) + ops.sum(label * label) + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean over classes (axis 1) of `DiceLoss` of `activation` (a name, a Cell or None) of the logits.

    `weights` [classes] multiply those of the classes; the class `ignore_indiex` counts as no loss.
    """

    def __init__(self, weights: Any = None, ignore_indiex: int | None = None, activation: Any = "softmax") -> None:
        super().__init__()
        self.binarydiceloss = DiceLoss()
        if weights is not None and not isinstance(weights, Tensor):
            raise TypeError(f"`weights` must be a Tensor, not a {type(weights).__name__}")
        self.weights: Any = weights
        self.ignore_indiex = None if ignore_indiex is None else integer("ignore_indiex", ignore_indiex)
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not isinstance(self.activation, Cell):
            raise TypeError(f"`activation` must be a name, a Cell or None, not a {type(activation).__name__}")

    def construct(self, logits: Any, label: Any) -> Any:
        if logits.shape != label.shape or label.ndim < 2:
            raise ShapeError(f"label {list(label.shape)} must have the shape of logits {list(logits.shape)}")
        if self.activation is not None:
            logits = self.activation(logits)
        total = 0.0
        for i in range(label.shape[1]):
            if i != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / label.shape[1]


class CTCLoss(LossBase, parameters="blank: integer = 0, reduction: str = 'mean', zero_infinity: flag = False"):
    """Connectionist temporal classification of log-probabilities [T, N, C] or [T, C]; see `ops.ctc_loss`."""

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        found = ops.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
        return found[0].squeeze(0) if log_probs.ndim == 2 and self.reduction == "none" else found[0]


# ------------------------------------------------------------------------------------------------ with a margin


class CosineEmbeddingLoss(LossBase, parameters="margin: number = 0.0, reduction: str = 'mean'"):
    """1 - cosine where the label is 1, max(0, cosine - margin) where it is -1."""

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase, parameters="margin: number = 0.0, reduction: str = 'mean'"):
    """max(0, margin - target * (input1 - input2))."""

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase, parameters="margin: number = 1.0, reduction: str = 'mean'"):
    """The input where the label is 1, max(0, margin - input) where it is -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-label * logit)) for labels 1 and -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class MultiLabelSoftMarginLoss(LossBase, parameters="weight=None, reduction: str = 'mean'"):
    """Binary cross entropy with logits, averaged over the classes, for [batch, classes]."""

    def construct(self, x: Any, target: Any) -> Any:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """Hinge loss of every label class against every other class; see `ops.multilabel_margin_loss`."""

    def construct(self, x: Any, target: Any) -> Any:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class MultiMarginLoss(
    LossBase, parameters="p: integer = 1, margin: number = 1.0, reduction: str = 'mean', weight=None"
):
    """The mean over the other classes of max(0, margin - x[target] + x[class]) ** p; p is 1 or 2."""

    def _make(self) -> None:
        if self.p not in (1, 2):
            raise ValueError(f"`p` must be 1 or 2, not {self.p}")

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        return ops.multi_margin_loss(
            x, target, self.p, self.margin, self.weight if weight is None else weight, self.reduction
        )


class TripletMarginLoss(
    LossBase,
    parameters="p: number = 2, swap: flag = False, eps: number = 1e-6, reduction: str = 'mean', margin: number = 1.0",
):
    """max(0, margin + distance to the positive - distance to the negative)."""

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Any:
        margin = self.margin if margin is None else margin
        return ops.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(
    LossBase, parameters="distance_function=None, swap: flag = False, reduction: str = 'mean', margin: number = 1.0"
):
    """max(0, margin + distance to the positive - distance to the negative), with a distance of one's own.

    `distance_function` of two Tensors [..., features] is by default the euclidean one.  With `swap` the negative counts
    with its distance to the positive where that is less.
    """

    def _make(self) -> None:
        if self.distance_function is not None and not callable(self.distance_function):
            raise TypeError(f"`distance_function` must be a function, not a {type(self.distance_function).__name__}")
        if self.margin < 0:
            raise ValueError(f"`margin` must not be negative, but it is {self.margin}")

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        near, far = self._distance(x, positive), self._distance(x, negative)
        if self.swap:
            far = ops.minimum(far, self._distance(positive, negative))
        return self.get_loss(ops.relu(near - far + self.margin))

    def _distance(self, x: Any, y: Any) -> Any:
        if self.distance_function is not None:
            return self.distance_function(x, y)
        squares = ops.sum(ops.square(x - y), -1)
        apart = squares > 0  # the root has no finite derivative at 0
        return ops.where(apart, ops.sqrt(ops.where(apart, squares, ops.ones_like(squares))), squares)
