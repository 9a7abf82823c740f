"""MindSpore's functional names for CTC, rotary embeddings, dense layers, batched products and gradient clipping.

As everything in `ops` they promote as `Tensor` operators do and run in eager mode and in compiled code.
"""

from __future__ import annotations

from typing import Any

from ..ir.primitive import call

__all__ = ["ctc_greedy_decoder", "ctc_loss"]


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


# ------------------------------------------------------------------------------------------------ positions


# ------------------------------------------------------------------------------------------------ products


# ------------------------------------------------------------------------------------------------ clipping
