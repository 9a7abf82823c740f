"""Embeddings: tables of vectors, looked up by integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..common.initializer import initializer
from ..dtypes import dtype_of, float32
from ..ir.primitive import call
from ..runtime.parameter import Parameter
from ..runtime.tensor import Tensor
from .arguments import choice, flag, integer, number, positive
from .layer import Layer


class Embedding(
    Layer,
    parameters="vocab_size: positive, embedding_size: positive, use_one_hot: flag = False, "
    "embedding_table='normal', dtype=float32, padding_idx: int | None = None",
    shown="vocab_size, embedding_size, use_one_hot, embedding_table, dtype, padding_idx",
):
    """The rows of `embedding_table` [vocab_size, embedding_size] that integers name.

    The table is filled by `embedding_table` (an initializer, normal by default), the row `padding_idx` with zeros.
    With `use_one_hot` rows are found by a matrix product.  IndexError: an integer outside of the table.

    >>> from autodiff_compiler import Tensor
    >>> Embedding(3, 2, embedding_table=Tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))(Tensor([2, 0])).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """

    embedding_table: Any

    def _make(self, embedding_table: Any, dtype: Any) -> None:
        self.dtype = dtype_of(dtype)
        table = initializer(embedding_table, (self.vocab_size, self.embedding_size), self.dtype)
        if self.padding_idx is not None:
            if not 0 <= integer("padding_idx", self.padding_idx) < self.vocab_size:
                raise ValueError(f"`padding_idx` must be from 0 to less than {self.vocab_size}, not {self.padding_idx}")
            rows: Any = np.array(table.asnumpy())
            rows[self.padding_idx] = 0
            table = Tensor(rows, self.dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids: Any) -> Any:
        if not self.use_one_hot:
            return ops.embedding(ids, self.embedding_table)
        on, off = Tensor(1.0, self.dtype), Tensor(0.0, self.dtype)
        return ops.matmul(ops.one_hot(ids, self.vocab_size, on, off), self.embedding_table)


class EmbeddingLookup(
    Layer,
    parameters="vocab_size: positive, embedding_size: positive, param_init='normal', target: str = 'CPU', "
    "slice_mode: str = 'batch_slice', manual_shapes=None, max_norm: float | None = None, "
    "sparse: bool = True, dtype=float32",
):
    """The rows of `embedding_table` that integers name; zeros for those beyond the table.

    Rows longer than `max_norm` are scaled to it.  `target`, `slice_mode`, `manual_shapes` and `sparse` say where
    MindSpore keeps the table of a distributed network; here it is in one place.

    >>> from autodiff_compiler import Tensor
    >>> EmbeddingLookup(2, 1, "ones")(Tensor([[1, 5]])).tolist()
    [[[1.0], [0.0]]]
    """

    embedding_table: Any

    def _make(self, param_init: Any, max_norm: Any, sparse: Any, dtype: Any) -> None:
        choice("target", self.target, ("CPU", "DEVICE"))
        if not flag("sparse", sparse) and self.target == "CPU":
            raise ValueError("`sparse` must be True with the target 'CPU'")
        choice("slice_mode", self.slice_mode, ("batch_slice", "field_slice", "table_row_slice", "table_column_slice"))
        self.max_norm = None if max_norm is None else float(number("max_norm", max_norm))
        if self.max_norm is not None and not self.max_norm > 0:
            raise ValueError(f"`max_norm` must be greater than 0, not {max_norm}")
        table = initializer(param_init, (self.vocab_size, self.embedding_size), dtype_of(dtype))
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, indices: Any) -> Any:
        beyond = indices >= self.vocab_size
        found = ops.gather(self.embedding_table, call.where(beyond, 0, indices), 0)
        found = call.where(ops.expand_dims(beyond, -1), 0, found)
        if self.max_norm is None:
            return found
        squares = ops.sum(ops.square(found), -1, True)
        norm = ops.sqrt(call.where(squares > 0, squares, 1))
        return found * self.max_norm / ops.maximum(norm, self.max_norm)


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Rows of a table, weighted and joined by fields: [batch, field_size, embedding_size].

    It is called with indices, weights and fields (0 to less than field_size), all [batch, features]; a weight of 0
    marks no feature.  `operator`: "SUM", "MEAN" (the sum divided by that of the absolute weights) or "MAX"; a field
    without features is 0.

    >>> from autodiff_compiler import Tensor
    >>> net = MultiFieldEmbeddingLookup(3, 1, 2, Tensor([[1.0], [2.0], [3.0]]))
    >>> net(Tensor([[0, 1, 2]]), Tensor([[1.0, 1.0, 0.5]]), Tensor([[0, 1, 1]])).tolist()
    [[[1.0], [3.5]]]
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: Any = float32,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm, sparse, dtype
        )
        self.field_size = positive("field_size", field_size)
        self.operator = choice("operator", operator, ("SUM", "MEAN", "MAX"))

    def construct(self, input_indices: Any, input_values: Any, field_ids: Any) -> Any:  # type: ignore[override]
        batch, features = input_indices.shape
        rows = super().construct(input_indices) * ops.expand_dims(input_values, -1)
        chosen = ops.equal(ops.expand_dims(field_ids, 1), ops.reshape(ops.arange(self.field_size), (1, -1, 1)))
        chosen = ops.logical_and(chosen, ops.expand_dims(ops.not_equal(input_values, 0), 1))
        if self.operator == "MAX":
            each = ops.broadcast_to(ops.expand_dims(rows, 1), (batch, self.field_size, features, self.embedding_size))
            found = ops.amax(call.where(ops.expand_dims(chosen, -1), each, -math.inf), 2)
            return call.where(ops.expand_dims(ops.any(chosen, 2), -1), found, 0)
        found = ops.matmul(chosen.astype(rows.dtype), rows)
        if self.operator == "SUM":
            return found
        weights = ops.matmul(chosen.astype(rows.dtype), ops.expand_dims(ops.abs(input_values), -1))
        return found / call.where(ops.equal(weights, 0), 1, weights)
