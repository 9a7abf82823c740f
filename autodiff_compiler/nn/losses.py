"""Losses as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..errors import DTypeError
from .cell import Cell

__all__ = ["CrossEntropyLoss", "L1Loss", "LossBase", "MSELoss", "SoftmaxCrossEntropyWithLogits"]


class LossBase(Cell):
    """A loss of predictions and labels; `reduction` is "mean", "sum" or "none"."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"`reduction` must be 'mean', 'sum' or 'none', not {reduction!r}")
        self.reduction = reduction

    def extend_repr(self) -> str:
        return f"reduction={self.reduction}"


class MSELoss(LossBase):
    """Squared difference.

    >>> from autodiff_compiler import Tensor
    >>> MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
    2.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.mse_loss(logits, labels, self.reduction)


class L1Loss(LossBase):
    """Absolute difference."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.l1_loss(logits, labels, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of logits [N, C] against classes [N] (``sparse=True``) or probabilities [N, C].

    DTypeError: labels that are no integers with `sparse`, or integers without.

    >>> from autodiff_compiler import Tensor
    >>> SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor([[0.0, 0.0]]), Tensor([1])).shape
    (1,)
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Any:
        if labels.dtype.is_int != self.sparse:
            wanted = "integer classes" if self.sparse else "probabilities of every class"
            raise DTypeError(f"with sparse={self.sparse} the labels must be {wanted}, not {labels.dtype.name}")
        return ops.cross_entropy(logits, labels, reduction=self.reduction)


class CrossEntropyLoss(LossBase):
    """Cross entropy of logits [N, C, ...] against classes [N, ...] or probabilities of the logits' shape."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)
