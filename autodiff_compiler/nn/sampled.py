"""The softmax loss over a sample of the classes."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..errors import DTypeError
from .arguments import flag, integer, positive
from .losses import LossBase


class SampledSoftmaxLoss(LossBase):
    """The cross entropy of the labels against `num_sampled` classes drawn at random, instead of all of them.

    Called with weights [classes, n], biases [classes], labels [batch, num_true] (or [batch]) and activations
    [batch, n]; the logit of a class is ``activation @ weight + bias`` less the logarithm of how often the class is
    expected to be drawn.  Several labels of an example share its probability.

    Classes are drawn uniformly, each once, and with `remove_accidental_hits` none that is a label of the batch (if
    there are not enough others, the rest count not).  `sampled_values` gives the drawn classes instead, with the
    expected counts of the labels [batch, num_true] and of the drawn ones.  A `seed` above 0 has a stream of draws
    of its own.  S. Jean and others, On using very large target vocabulary (2015).

    ValueError: more labels or drawn classes than classes; `sampled_values` are not three.  DTypeError: labels that are
    no integers.

    >>> from autodiff_compiler import Tensor, ops
    >>> loss = SampledSoftmaxLoss(num_sampled=2, num_classes=3)
    >>> loss(ops.zeros((3, 4)), ops.zeros((3,)), Tensor([0]), ops.ones((1, 4))).exp().tolist()  # one of three
    [3.0]
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ) -> None:
        super().__init__(reduction)
        self.num_classes = positive("num_classes", num_classes)
        self.num_sampled, self.num_true = positive("num_sampled", num_sampled), positive("num_true", num_true)
        for name in ("num_sampled", "num_true"):
            if getattr(self, name) > num_classes:
                raise ValueError(f"`{name}` is {getattr(self, name)}, but there are {num_classes} classes")
        if sampled_values is not None and not isinstance(sampled_values, list | tuple):
            raise TypeError(f"`sampled_values` must be a tuple, not a {type(sampled_values).__name__}")
        if sampled_values is not None and len(sampled_values) != 3:
            raise ValueError(f"`sampled_values` are the classes and two expected counts, not {len(sampled_values)}")
        self.sampled_values = sampled_values
        self.remove_accidental_hits = flag("remove_accidental_hits", remove_accidental_hits)
        self.seed = integer("seed", seed, 0)

    def construct(self, weights: Any, biases: Any, labels: Any, logits: Any) -> Any:
        if not labels.dtype.is_int:
            raise DTypeError(f"labels must be integers, not {labels.dtype.name}")
        labels = ops.reshape(labels, (-1, self.num_true))
        if self.sampled_values is None:
            sampled, of_true, of_sampled = self._drawn(labels), None, None
        else:
            sampled, of_true, of_sampled = self.sampled_values
        true = ops.sum(ops.expand_dims(logits, 1) * ops.gather(weights, labels, 0), -1) + ops.gather(biases, labels, 0)
        others = ops.matmul(logits, ops.gather(weights, sampled, 0).T) + ops.gather(biases, sampled, 0)
        if self.sampled_values is not None:  # else all expected counts are equal, and softmax ignores a common shift
            true, others = true - ops.log(of_true), others - ops.log(of_sampled)
        elif self.remove_accidental_hits:
            hits = ops.any(ops.equal(ops.reshape(labels, (-1, 1)), sampled), 0)
            others = ops.where(hits, float("-inf"), others)
        found = ops.log_softmax(ops.concat((true, others), 1), 1)
        return self.get_loss(-ops.mean(found[:, : self.num_true], 1))

    def _drawn(self, labels: Any) -> Any:
        """`num_sampled` classes: the first in a random order, in which labels that must not be drawn come last."""
        order = ops.uniform((self.num_classes,), 0.0, 1.0, self.seed or None)
        if self.remove_accidental_hits:
            order = order - ops.sum(ops.one_hot(ops.reshape(labels, (-1,)), self.num_classes), 0)
        return ops.topk(order, self.num_sampled)[1]
