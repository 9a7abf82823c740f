"""MindSpore's functional names for CTC, rotary embeddings, dense layers, batched products and gradient clipping.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call

# fmt: off
__all__ = [
    "batch_dot", "bidense", "clip_by_global_norm", "clip_by_norm", "ctc_greedy_decoder", "ctc_loss", "dense",
    "multilabel_margin_loss", "rotary_position_embedding",
]
# fmt: on


# ------------------------------------------------------------------------------------------------ alignments
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    """-log of the sum of the probabilities of all alignments, and the logarithms of the sums over their beginnings.

    `log_probs` [time, batch, classes] (or without batch), `targets` [batch, labels] or all labels one after the other.
    Reduction "mean" divides by the lengths of the targets first.  Where no alignment exists the loss is inf, or 0 with
    `zero_infinity`, and its derivative is 0.  IndexError: a label that is no class, an input longer than there is time.

    >>> from autodiff_compiler import Tensor
    >>> p = Tensor([[[0.5, 0.5]], [[0.5, 0.5]]])                  # three of four paths spell [1]
    >>> round(ctc_loss(p.log(), Tensor([[1]]), Tensor([2]), Tensor([1]))[0].exp().item(), 6)
    1.333333
    """
    loss, scores = call.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    return loss, scores


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> tuple[Any, Any, Any, Any]:
    """The likeliest class at every time without the blank, which is the last class; eager code only.

    Of [time, batch, classes]: places [labels, 2], classes and shape of a sparse matrix of the labels [batch, time], and
    minus the sum of the greatest numbers [batch, 1].
    """
    places, labels, shape, score = call.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)
    return places, labels, shape, score


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The sum of max(0, 1 - input[label] + input[other]) over the labels before the first -1 and all other classes.

    It is divided by the number of classes; `input` and `target` are [batch, classes] or [classes].
    """
    return call.multilabel_margin_loss(input, target, reduction)


# ------------------------------------------------------------------------------------------------ positions
def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Any:
    """x * cos plus x with its pairs of elements turned by 90 degrees * sin, along the last dimension.

    A pair is element i of both halves (mode 0), or two neighbours (mode 1).

    >>> from autodiff_compiler import Tensor
    >>> rotary_position_embedding(Tensor([1.0, 2.0, 3.0, 4.0]), 0.0, 1.0, mode=1).tolist()
    [-2.0, 1.0, -4.0, 3.0]
    """
    return call.rotary_position_embedding(x, cos, sin, mode)


# ------------------------------------------------------------------------------------------------ products
def dense(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias, along the last dimension.

    >>> from autodiff_compiler import Tensor
    >>> dense(Tensor([1.0, 2.0]), Tensor([[3.0, 4.0]]), Tensor([0.5])).tolist()
    [11.5]
    """
    return call.dense(input, weight, bias)


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 @ weight[i] @ input2 + bias[i] for every i, along the last dimensions."""
    return call.bidense(input1, input2, weight, bias)


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Any:
    """Sum of products over one axis of each tensor, for every element of the batch: the first dimension of both.

    By default over the last axis of x1 and the last but one of x2 (the last, if it has two dimensions).

    >>> from autodiff_compiler import ops
    >>> batch_dot(ops.ones((6, 2, 3, 4)), ops.ones((6, 5, 4, 8))).shape
    (6, 2, 3, 5, 8)
    """
    return call.batch_dot(x1, x2, axes)


# ------------------------------------------------------------------------------------------------ clipping
def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """A tensor, or several, times max_norm / (their common norm + 1e-6) if that is less than 1.

    With `error_if_nonfinite`, in eager code only: RuntimeError for a norm that is nan or infinite.
    """
    return call.clip_by_norm(x, max_norm, norm_type, error_if_nonfinite)


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Several tensors times clip_norm / the greater of clip_norm and their common norm, or `use_norm` in its place.

    >>> from autodiff_compiler import Tensor
    >>> [t.tolist() for t in clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 1.0, use_norm=2.0)]
    [[1.5], [2.0]]
    """
    return call.clip_by_global_norm(x, clip_norm, use_norm)
