"""Multi-head attention, and the layers of a transformer."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

from .. import ops
from ..common.initializer import XavierNormal, XavierUniform, initializer
from ..dtypes import dtype_of, float32
from ..ir.primitive import call
from ..primitives.requirements import require
from ..runtime.parameter import Parameter
from .activation import get_activation
from .arguments import flag, positive, probability
from .cell import Cell
from .containers import CellList
from .dense import Dense
from .dropout import Dropout
from .normalization import LayerNorm


# These run while compiling, where the errors that they raise learn where the sizes are from.
def _check_features(name: str, shape: tuple[Any, ...], size: int) -> None:
    if len(shape) != 3 or shape[2] != size:
        message = f"`{name}` of shape {list(shape)} does not end with {size} features"
        require(False, message, between=(shape[2:], (size,)))


def _check_batches(query: tuple[Any, ...], key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
    message = f"query {list(query)}, key {list(key)}, value {list(value)} do not fit"
    require(key[:2] == value[:2], message, between=(key[:2], value[:2]))
    require(key[0] == query[0], message, between=(key[0], query[0]))


def _check_sides(src: tuple[Any, ...], tgt: tuple[Any, ...], batch: int, features: int) -> None:
    both = f"src {list(src)} and tgt {list(tgt)}"
    message = f"{both} are not of one batch"
    require(len(src) == len(tgt), message)
    require(len(src) != 3 or src[batch] == tgt[batch], message, between=(src[batch], tgt[batch]))
    for shape in (src, tgt):
        fits = shape[-1:] == (features,)
        require(fits, f"{both} do not end with {features} features", between=(shape[-1:], (features,)))


class MultiheadAttention(Cell):
    """softmax(q k^T / sqrt(d)) v for several heads of size d = embed_dim / num_heads, then `out_proj`.

    query [L, N, embed_dim], key [S, N, kdim], value [S, N, vdim]; with `batch_first` [N, L, ...]; or without N.  The
    result is (output [L, N, embed_dim], weights [N, L, S]), the weights averaged over heads, or [N, heads, L, S]
    without `average_attn_weights`; without `need_weights` it is (output,).  Masks are bools, True for what is left out,
    or floats that are added: `attn_mask` [L, S] or [N * heads, L, S], `key_padding_mask` [N, S].  `add_bias_kv` appends
    a trained key and value, `add_zero_attn` a zero one.  In training `dropout` acts on the weights.

    ValueError: `embed_dim` that cannot be divided into the heads; TypeError: masks that are neither bools nor floats.

    >>> from autodiff_compiler import ops
    >>> x = ops.ones((5, 2, 8))
    >>> out, weights = MultiheadAttention(8, 2)(x, x, x)
    >>> out.shape, weights.shape
    ((5, 2, 8), (2, 5, 5))
    """

    in_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.embed_dim, self.num_heads = positive("embed_dim", embed_dim), positive("num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(f"`embed_dim` must be a multiple of `num_heads`, but {embed_dim} is none of {num_heads}")
        self.kdim = embed_dim if kdim is None else positive("kdim", kdim)
        self.vdim = embed_dim if vdim is None else positive("vdim", vdim)
        self.head_dim, self.dropout = embed_dim // num_heads, probability("dropout", dropout)
        self.batch_first, self.add_zero_attn = flag("batch_first", batch_first), flag("add_zero_attn", add_zero_attn)
        self.dtype = float32 if dtype is None else dtype_of(dtype)
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == embed_dim:
            self._parameter("in_proj_weight", XavierUniform(), (3 * embed_dim, embed_dim))
        else:
            self._parameter("q_proj_weight", XavierUniform(), (embed_dim, embed_dim))
            self._parameter("k_proj_weight", XavierUniform(), (embed_dim, self.kdim))
            self._parameter("v_proj_weight", XavierUniform(), (embed_dim, self.vdim))
        self.in_proj_bias = self.bias_k = self.bias_v = None
        if flag("has_bias", has_bias):
            self._parameter("in_proj_bias", "zeros", (3 * embed_dim,))
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=self.dtype)
        if flag("add_bias_kv", add_bias_kv):
            self._parameter("bias_k", XavierNormal(), (1, 1, embed_dim))
            self._parameter("bias_v", XavierNormal(), (1, 1, embed_dim))

    def _parameter(self, name: str, init: Any, shape: tuple[int, ...]) -> None:
        setattr(self, name, Parameter(initializer(init, shape, self.dtype), name=name))

    def construct(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
    ) -> Any:
        single = query.ndim == 2
        if single:
            query, key, value = ops.unsqueeze(query, 0), ops.unsqueeze(key, 0), ops.unsqueeze(value, 0)
            key_padding_mask = None if key_padding_mask is None else ops.unsqueeze(key_padding_mask, 0)
        elif not self.batch_first:
            query, key, value = ops.swapaxes(query, 0, 1), ops.swapaxes(key, 0, 1), ops.swapaxes(value, 0, 1)
        self._check(query, key, value)
        q, k, v = self._projected(query, key, value)
        extra = 0
        if self.bias_k is not None:
            k = ops.cat([k, ops.broadcast_to(self.bias_k, (k.shape[0], 1, self.embed_dim))], 1)
            v = ops.cat([v, ops.broadcast_to(self.bias_v, (v.shape[0], 1, self.embed_dim))], 1)
            extra += 1
        if self.add_zero_attn:
            nothing = ops.zeros((k.shape[0], 1, self.embed_dim), k.dtype)
            k, v = ops.cat([k, nothing], 1), ops.cat([v, nothing], 1)
            extra += 1
        scores = ops.matmul(self._heads(q) / math.sqrt(self.head_dim), ops.swapaxes(self._heads(k), 2, 3))
        scores = self._masked(scores, key_padding_mask, attn_mask, extra)
        weights = ops.softmax(scores, -1)
        if self.training and self.dropout > 0:
            weights = ops.dropout(weights, self.dropout)
        y = ops.swapaxes(ops.matmul(weights, self._heads(v)), 1, 2)
        y = self.out_proj(ops.reshape(y, (*y.shape[:2], self.embed_dim)))
        if single:
            y = ops.squeeze(y, 0)
        elif not self.batch_first:
            y = ops.swapaxes(y, 0, 1)
        if not need_weights:
            return (y,)
        if average_attn_weights:
            weights = ops.mean(weights, 1)
        return y, ops.squeeze(weights, 0) if single else weights

    def _check(self, query: Any, key: Any, value: Any) -> None:
        sizes = (self.embed_dim, self.kdim, self.vdim)
        for name, x, size in zip(("query", "key", "value"), (query, key, value), sizes, strict=True):
            _check_features(name, x.shape, size)
        _check_batches(query.shape, key.shape, value.shape)

    def _projected(self, query: Any, key: Any, value: Any) -> Any:
        if self.in_proj_weight is None:
            weights: Any = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        else:
            weights = ops.chunk(self.in_proj_weight, 3, 0)
        biases: Sequence[Any] = (None, None, None) if self.in_proj_bias is None else ops.chunk(self.in_proj_bias, 3, 0)
        found = []
        for x, w, b in zip((query, key, value), weights, biases, strict=True):
            y = ops.matmul(x, ops.swapaxes(w, 0, 1))
            found.append(y if b is None else y + b)
        return found

    def _heads(self, x: Any) -> Any:
        """[N, L, embed_dim] as [N, heads, L, head_dim]."""
        return ops.swapaxes(ops.reshape(x, (*x.shape[:2], self.num_heads, self.head_dim)), 1, 2)

    def _masked(self, scores: Any, key_padding_mask: Any, attn_mask: Any, extra: int) -> Any:
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                heads = (attn_mask.shape[0] // self.num_heads, self.num_heads, *attn_mask.shape[1:])
                attn_mask = ops.reshape(attn_mask, heads)
            scores = self._without(scores, attn_mask, extra, "attn_mask")
        if key_padding_mask is not None:
            key_padding_mask = ops.reshape(key_padding_mask, (key_padding_mask.shape[0], 1, 1, -1))
            scores = self._without(scores, key_padding_mask, extra, "key_padding_mask")
        return scores

    def _without(self, scores: Any, mask: Any, extra: int, name: str) -> Any:
        """The scores after a mask, which does not cover the `extra` keys at the end (`add_bias_kv`,
        `add_zero_attn`)."""
        if not (mask.dtype.is_bool or mask.dtype.is_float):
            raise TypeError(f"`{name}` must hold bools or floats, not {mask.dtype.name}")
        if extra:
            mask = ops.pad(mask, (0, extra))
        return call.where(mask, -math.inf, scores) if mask.dtype.is_bool else scores + mask.astype(scores.dtype)


# ------------------------------------------------------------------------------------------------ layers
class _TransformerLayer(Cell):
    """The common part of both layers: self-attention and a feed-forward network of two dense layers."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Any,
        batch_first: bool,
        norm_first: bool,
        dtype: Any,
    ) -> None:
        super().__init__()
        if not callable(activation) and not isinstance(activation, str):
            raise ValueError(f"`activation` must be a Cell, a function or a name, not a {type(activation).__name__}")
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.d_model, self.nhead, self.dim_feedforward = d_model, nhead, positive("dim_feedforward", dim_feedforward)
        self.batch_first, self.norm_first = batch_first, flag("norm_first", norm_first)

    def _make_dense(self, dropout: float, activation: Any, dtype: Any) -> None:
        self.dense1 = Dense(self.d_model, self.dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(self.dim_feedforward, self.d_model, dtype=dtype)
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise ValueError(f"`activation` must be 'relu' or 'gelu', a Cell or a function, not {activation!r}")
            activation = ops.gelu if activation == "gelu" else get_activation("relu")
        self.activation = activation

    def _attended(self, attention: Any, x: Any, memory: Any, mask: Any, padding_mask: Any) -> Any:
        return attention(x, memory, memory, padding_mask, False, mask)[0]

    def _dense(self, x: Any) -> Any:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention of src [S, N, d_model] (with `batch_first` [N, S, d_model]) and a feed-forward network.

    Each part has a residual connection and a normalization after it, or with `norm_first` before it.  Masks as in
    `MultiheadAttention`.

    >>> from autodiff_compiler import ops
    >>> TransformerEncoderLayer(8, 2, dim_feedforward=16)(ops.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = float32,
    ) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, batch_first, norm_first, dtype)
        self._make_dense(dropout, activation, dtype)
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(p=dropout), Dropout(p=dropout)

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        x = src
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attended(self.self_attn, y, y, src_mask, src_key_padding_mask))
            return x + self.dropout2(self._dense(self.norm2(x)))
        x = self.norm1(x + self.dropout1(self._attended(self.self_attn, x, x, src_mask, src_key_padding_mask)))
        return self.norm2(x + self.dropout2(self._dense(x)))


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of tgt [T, N, d_model] to itself and to memory [S, N, d_model], and a feed-forward network.

    See `TransformerEncoderLayer`.

    >>> from autodiff_compiler import ops
    >>> TransformerDecoderLayer(8, 2, dim_feedforward=16)(ops.ones((5, 2, 8)), ops.ones((3, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = float32,
    ) -> None:
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, batch_first, norm_first, dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._make_dense(dropout, activation, dtype)
        self.norm1 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.norm3 = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(p=dropout), Dropout(p=dropout), Dropout(p=dropout)

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        x, other = tgt, self.multihead_attn
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attended(self.self_attn, y, y, tgt_mask, tgt_key_padding_mask))
            y = self.norm2(x)
            x = x + self.dropout2(self._attended(other, y, memory, memory_mask, memory_key_padding_mask))
            return x + self.dropout3(self._dense(self.norm3(x)))
        x = self.norm1(x + self.dropout1(self._attended(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask)))
        found = self._attended(other, x, memory, memory_mask, memory_key_padding_mask)
        x = self.norm2(x + self.dropout2(found))
        return self.norm3(x + self.dropout3(self._dense(x)))


# ------------------------------------------------------------------------------------------------ stacks
class _TransformerStack(Cell):
    """Copies of a layer, which start with the same weights, and a normalization after the last one."""

    def __init__(self, layer: Any, num_layers: int, norm: Any) -> None:
        super().__init__()
        self.layers = CellList([copy.deepcopy(layer) for _ in range(positive("num_layers", num_layers))])
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(_TransformerStack):
    """`num_layers` copies of a `TransformerEncoderLayer`, one after the other; then `norm`, if it is given.

    >>> from autodiff_compiler import ops
    >>> TransformerEncoder(TransformerEncoderLayer(8, 2, 16), 2)(ops.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        x = src
        for layer in self.layers:
            x = layer(x, src_mask, src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(_TransformerStack):
    """`num_layers` copies of a `TransformerDecoderLayer`, one after the other; then `norm`, if it is given."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        x = tgt
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class Transformer(Cell):
    """An encoder of src [S, N, d_model], and a decoder of tgt [T, N, d_model] that attends to its output.

    `custom_encoder` and `custom_decoder` replace them.  Weights of two dimensions and more start with XavierUniform.
    ShapeError (a ValueError): batches or features that do not fit.

    >>> from autodiff_compiler import ops
    >>> Transformer(8, 2, 1, 1, 16)(ops.ones((3, 2, 8)), ops.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        how = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)
        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*how), num_encoder_layers, norm)
        if custom_decoder is None:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*how), num_decoder_layers, norm)
        for p in self.get_parameters():
            if p.ndim > 1:
                p.set_data(initializer(XavierUniform(), p.shape, p.dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        _check_sides(src.shape, tgt.shape, 0 if self.batch_first else 1, self.d_model)
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
