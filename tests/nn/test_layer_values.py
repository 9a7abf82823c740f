"""Values of layers against NumPy and SciPy, in both modes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.signal import correlate
from scipy.special import erf

from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import ShapeError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def array(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def close(found: Tensor, wanted: Any) -> None:
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-5, atol=2e-5)


def of(p: Any) -> Array:
    found: Array = p.asnumpy()
    return found


# ------------------------------------------------------------------------------------------------ convolutions
def convolved(x: Array, w: Array, stride: int, pads: list[tuple[int, int]], dilation: int, group: int) -> Array:
    """Cross-correlation channel by channel, with the windows that `stride` leaves out computed and thrown away."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    spread = np.zeros((*w.shape[:2], *[dilation * (k - 1) + 1 for k in w.shape[2:]]))
    spread[(..., *[slice(None, None, dilation)] * n)] = w
    per_in, per_out = x.shape[1] // group, w.shape[0] // group
    rows = []
    for sample in x:
        out = []
        for o, kernel in enumerate(spread):
            first = o // per_out * per_in
            with np.errstate(invalid="ignore"):  # SciPy casts memory that it has not written yet
                out.append(sum(correlate(sample[first + i], kernel[i], "valid") for i in range(per_in)))
        rows.append(out)
    return np.array(rows)[(..., *[slice(None, None, stride)] * n)]


def same(size: int, k: int, stride: int, dilation: int) -> tuple[int, int]:
    total = max(0, (math.ceil(size / stride) - 1) * stride + dilation * (k - 1) + 1 - size)
    return total // 2, total - total // 2


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "dilation", "group", "pad_mode", "padding"),
    [(1, 1, 1, "same", 0), (2, 1, 2, "same", 0), (1, 2, 1, "valid", 0), (2, 1, 1, "pad", 2), (1, 1, 4, "pad", 1)],
)
def test_a_convolution(mode: str, n: int, stride: int, dilation: int, group: int, pad_mode: str, padding: int) -> None:
    cls = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[n - 1]
    net = cls(4, 8, 3, stride, pad_mode, padding, dilation, group, True)
    x = array(2, 4, *(6, 5, 7)[:n])
    w = of(net.weight)
    assert w.shape == ((8, 4 // group, 1, 3) if n == 1 else (8, 4 // group, *(3,) * n))
    w = w.reshape(8, 4 // group, *(3,) * n)
    pads = [(0, 0) if pad_mode == "valid" else (padding, padding)] * n
    if pad_mode == "same":
        pads = [same(size, 3, stride, dilation) for size in x.shape[2:]]
    wanted = convolved(x, w, stride, pads, dilation, group) + of(net.bias).reshape(-1, *(1,) * n)
    close(net(Tensor(x)), wanted)


@pytest.mark.parametrize(
    ("stride", "pad_mode", "padding", "output_padding"),
    [(1, "same", 0, 0), (2, "same", 0, 0), (2, "valid", 0, 0), (3, "valid", 0, 0), (2, "pad", 1, 0), (2, "pad", 1, 1)],
)
def test_a_transposed_convolution_is_the_transpose(
    mode: str, stride: int, pad_mode: str, padding: int, output_padding: int
) -> None:
    """<conv(y), x> = <y, transposed(x)> for every y, with the same weight."""
    net = nn.Conv2dTranspose(2, 3, 3, stride, pad_mode, padding, output_padding)
    x = array(1, 2, 4, 4)
    out = of(net(Tensor(x)))
    size = {"same": 4 * stride, "valid": max(4 * stride, 3 * stride + 3), "pad": 3 * stride + 3 - 2 * padding}[pad_mode]
    assert out.shape == (1, 3, *(size + output_padding,) * 2)
    forward = nn.Conv2d(3, 2, 3, stride, pad_mode, padding, weight_init=Tensor(of(net.weight)))
    y = array(*out.shape)
    np.testing.assert_allclose((of(forward(Tensor(y))) * x).sum(), (y * out).sum(), rtol=1e-4)


def test_channels_last_is_the_same_convolution(mode: str) -> None:
    first = nn.Conv2d(2, 3, 3, stride=2, has_bias=True)
    last = nn.Conv2d(2, 3, 3, stride=2, has_bias=True, bias_init=first.bias, data_format="NHWC")
    last.weight.set_data(ops.permute(first.weight, (0, 2, 3, 1)))
    x = array(2, 2, 5, 6)
    close(last(Tensor(x.transpose(0, 2, 3, 1))), of(first(Tensor(x))).transpose(0, 2, 3, 1))


@pytest.mark.parametrize(("cls", "n"), [(nn.Conv1d, 1), (nn.Conv2d, 2), (nn.Conv3d, 3), (nn.Conv2dTranspose, 2)])
def test_initial_weights_are_spread_as_the_document_says(cls: Any, n: int) -> None:
    """HeUniform(sqrt(5)) is even over +-1/sqrt(fan in), and so is the bias."""
    net = cls(12, 300, 3, has_bias=True)
    fan_in = net.weight.shape[1] * 3**n
    bound = 1 / math.sqrt(fan_in)
    for p in (net.weight, net.bias):
        values = of(p)
        assert abs(values).max() <= bound
        assert abs(values).max() > 0.9 * bound
        assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.15)


# ------------------------------------------------------------------------------------------------ normalization
def standardized(x: Array, axes: Any, eps: float = 1e-5) -> Array:
    x = x.astype(np.float64)
    found: Array = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    return found


@pytest.mark.parametrize(
    ("cls", "shape"), [(nn.BatchNorm1d, (6, 3)), (nn.BatchNorm2d, (4, 3, 2, 5)), (nn.BatchNorm3d, (2, 3, 2, 2, 2))]
)
def test_batch_normalization_in_training_and_after_it(mode: str, cls: Any, shape: tuple[int, ...]) -> None:
    net = cls(3, momentum=0.8, gamma_init="normal", beta_init="normal").set_train()
    axes, per = (0, *range(2, len(shape))), (1, 3, *(1,) * (len(shape) - 2))
    inner = net.bn2d if cls is nn.BatchNorm3d else net
    gamma, beta = of(inner.gamma).reshape(per), of(inner.beta).reshape(per)
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = 2 * array(*shape) + 1
        close(net(Tensor(x)), standardized(x, axes) * gamma + beta)
        mean = 0.8 * mean + 0.2 * x.mean(axes)
        variance = 0.8 * variance + 0.2 * x.astype(np.float64).var(axes, ddof=1)
    close(inner.moving_mean, mean)
    close(inner.moving_variance, variance)
    net.set_train(False)
    x = array(*shape)
    wanted = (x - mean.reshape(per)) / np.sqrt(variance.reshape(per) + 1e-5) * gamma + beta
    close(net(Tensor(x)), wanted)
    close(inner.moving_mean, mean)  # unchanged


def test_three_dimensions_keep_their_parameters_in_a_layer_of_two() -> None:
    """The names that MindSpore 2.10 gives them, under which checkpoints have them."""
    names = [p.name for p in nn.SequentialCell([nn.BatchNorm3d(2)]).get_parameters()]
    assert names == ["0.bn2d.moving_mean", "0.bn2d.moving_variance", "0.bn2d.gamma", "0.bn2d.beta"]
    names = [p.name for p in nn.BatchNorm3d(2).get_parameters()]
    assert names == ["bn2d.moving_mean", "bn2d.moving_variance", "bn2d.gamma", "bn2d.beta"]
    with pytest.raises(ValueError, match="5 dimensions"):
        nn.BatchNorm3d(2)(Tensor(array(1, 2, 3, 4)))


def test_statistics_move_also_under_a_gradient_and_only_once(mode: str) -> None:
    import autodiff_compiler as ms

    net = nn.BatchNorm2d(2, momentum=0.5).set_train()
    x = array(2, 2, 2, 2) + 1
    ms.value_and_grad(lambda v: (net(v) ** 3).sum(), 0, net.trainable_params())(Tensor(x))
    close(net.moving_mean, 0.5 * x.mean((0, 2, 3)))


def test_use_batch_statistics_decides_for_ever(mode: str) -> None:
    x = Tensor(3 * array(2, 2, 3, 3) + 1)
    always, never = nn.BatchNorm2d(2, use_batch_statistics=True), nn.BatchNorm2d(2, use_batch_statistics=False)
    close(always(x), standardized(of(x), (0, 2, 3)))
    close(never.set_train()(x), of(x) / math.sqrt(1 + 1e-5))
    close(never.moving_mean, [0, 0])


def test_batch_normalization_in_half_precision_keeps_its_statistics_whole(mode: str) -> None:
    import autodiff_compiler as ms

    net = nn.BatchNorm2d(2).to_float(ms.float16).set_train()
    x = array(2, 2, 3, 3)
    y = net(Tensor(x))
    assert y.dtype == ms.float16
    np.testing.assert_allclose(of(y), standardized(x, (0, 2, 3)), atol=5e-3)
    assert net.moving_mean.dtype == ms.float32
    np.testing.assert_allclose(of(net.moving_mean), 0.1 * x.mean((0, 2, 3)), atol=1e-4)


def test_other_normalizations(mode: str) -> None:
    x = array(2, 4, 3, 5)
    close(nn.LayerNorm((5,))(Tensor(x)), standardized(x, -1, 1e-7))
    close(nn.LayerNorm((4, 3, 5), 1, 1)(Tensor(x)), standardized(x, (1, 2, 3), 1e-7))
    net = nn.LayerNorm((5,), 1, -1, gamma_init="normal", beta_init="normal")
    close(net(Tensor(x)), standardized(x, (1, 2, 3), 1e-7) * of(net.gamma) + of(net.beta))
    groups = standardized(x.reshape(2, 2, 2, 3, 5), (2, 3, 4)).reshape(x.shape)
    close(nn.GroupNorm(2, 4)(Tensor(x)), groups)
    group = nn.GroupNorm(2, 4, gamma_init="normal", beta_init="normal", affine=False)
    close(group(Tensor(x)), groups * of(group.gamma).reshape(1, 4, 1, 1) + of(group.beta).reshape(1, 4, 1, 1))
    assert group.trainable_params() == []
    close(nn.InstanceNorm2d(4)(Tensor(x)), standardized(x, (2, 3)))


def test_normalizations_refuse_other_inputs(mode: str) -> None:
    for net, shape in (
        (nn.BatchNorm2d(3), (2, 3)),
        (nn.BatchNorm2d(3), (2, 4, 2, 2)),
        (nn.LayerNorm((3,)), (2, 4)),
        (nn.GroupNorm(2, 4), (2, 6, 2, 2)),
        (nn.InstanceNorm1d(2), (2, 2)),
    ):
        with pytest.raises(ShapeError):
            net(Tensor(array(*shape)))


# ------------------------------------------------------------------------------------------------ pooling
def windows(x: Array, k: int, stride: int) -> Array:
    found = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))[:, :, ::stride, ::stride]
    return found.reshape(*found.shape[:4], k * k)


@pytest.mark.parametrize(("k", "stride"), [(2, 1), (3, 2)])
def test_pooling_over_windows(mode: str, k: int, stride: int) -> None:
    x = array(2, 3, 6, 7)
    close(nn.MaxPool2d(k, stride)(Tensor(x)), windows(x, k, stride).max(-1))
    close(nn.AvgPool2d(k, stride)(Tensor(x)), windows(x, k, stride).mean(-1))
    pads = [(0, 0), (0, 0), *[same(size, k, stride, 1) for size in x.shape[2:]]]
    for cls, fill, reduce in ((nn.MaxPool2d, -np.inf, np.max), (nn.AvgPool2d, np.nan, np.nanmean)):
        padded = np.pad(x, pads, constant_values=fill)
        close(cls(k, stride, "same")(Tensor(x)), reduce(windows(padded, k, stride), -1))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    close(nn.AvgPool2d(k, stride, "pad", 1)(Tensor(x)), windows(padded, k, stride).mean(-1))


def test_maxima_are_found_and_put_back(mode: str) -> None:
    x = array(1, 2, 4, 6)
    found, where = nn.MaxPool2d(2, 2, "pad", return_indices=True)(Tensor(x))
    flat = x.reshape(1, 2, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, of(where).reshape(1, 2, -1), 2).reshape(found.shape), of(found)
    )
    back = of(nn.MaxUnpool2d(2)(found, where))
    np.testing.assert_array_equal(back, np.where(np.isin(x, of(found)), x, 0))


def test_adaptive_pooling_by_its_definition(mode: str) -> None:
    x = array(1, 2, 5, 7)
    mean, most = np.zeros((1, 2, 3, 2)), np.zeros((1, 2, 3, 2))
    for i in range(3):
        for j in range(2):
            part = x[:, :, i * 5 // 3 : -(-(i + 1) * 5 // 3), j * 7 // 2 : -(-(j + 1) * 7 // 2)]
            mean[:, :, i, j], most[:, :, i, j] = part.mean((2, 3)), part.max((2, 3))
    close(nn.AdaptiveAvgPool2d((3, 2))(Tensor(x)), mean)
    close(nn.AdaptiveMaxPool2d((3, 2))(Tensor(x)), most)


# ------------------------------------------------------------------------------------------------ recurrent
def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x.astype(np.float64)))
    return found


def lstm_step(x: Array, h: Array, c: Array, w: list[Array]) -> tuple[Array, Array]:
    i, f, g, o = np.split(x @ w[0].T + w[2] + h @ w[1].T + w[3], 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x: Array, h: Array, w: list[Array]) -> Array:
    (r, z, n), (hr, hz, hn) = np.split(x @ w[0].T + w[2], 3, axis=1), np.split(h @ w[1].T + w[3], 3, axis=1)
    z = sigmoid(z + hz)
    found: Array = (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h
    return found


def weights_of(net: Any, k: int) -> list[Array]:
    return [of(p[k]) for p in (net.w_ih_list, net.w_hh_list, net.b_ih_list, net.b_hh_list)]


@pytest.mark.parametrize("batch_first", [False, True])
def test_an_lstm_in_both_directions_with_lengths(mode: str, batch_first: bool) -> None:
    net = nn.LSTM(3, 4, 2, bidirectional=True, batch_first=batch_first)
    x, h, c, lengths = array(5, 2, 3), array(4, 2, 4), array(4, 2, 4), (5, 3)
    given = Tensor(x.transpose(1, 0, 2) if batch_first else x)
    out, (hn, cn) = net(given, (Tensor(h), Tensor(c)), Tensor(np.array(lengths, np.int32)))
    wanted, ends = x.astype(np.float64), np.zeros((2, 4, 2, 4))
    for layer in range(2):
        found = np.zeros((5, 2, 8))
        for direction in range(2):
            k = 2 * layer + direction
            for b, length in enumerate(lengths):
                state = h[k, b : b + 1], c[k, b : b + 1]
                for t in range(length)[:: -1 if direction else 1]:
                    state = lstm_step(wanted[t, b : b + 1], *state, weights_of(net, k))
                    found[t, b, 4 * direction : 4 * direction + 4] = state[0][0]
                ends[0, k, b], ends[1, k, b] = state[0][0], state[1][0]
        wanted = found
    close(out, wanted.transpose(1, 0, 2) if batch_first else wanted)
    close(hn, ends[0])
    close(cn, ends[1])


def test_a_gru_and_an_elman_network(mode: str) -> None:
    x = array(4, 2, 3)
    net = nn.GRU(3, 5)
    out, end = net(Tensor(x))
    h = np.zeros((2, 5))
    for t in range(4):
        h = gru_step(x[t], h, weights_of(net, 0))
        close(out[t], h)
    close(end[0], h)
    elman = nn.RNN(3, 5, nonlinearity="relu", has_bias=False)
    out, end = elman(Tensor(x))
    h = np.zeros((2, 5))
    for t in range(4):
        h = np.maximum(x[t] @ of(elman.w_ih_list[0]).T + h @ of(elman.w_hh_list[0]).T, 0)
    close(out[3], h)
    close(end[0], h)


def test_a_long_sequence(mode: str) -> None:
    """Compiled as a loop, which is not unrolled."""
    net = nn.LSTM(2, 3)
    x = array(200, 1, 2)
    out, (hn, _) = net(Tensor(x))
    state, w = (np.zeros((1, 3)), np.zeros((1, 3))), weights_of(net, 0)
    for t in range(200):
        state = lstm_step(x[t], *state, w)
        close(out[t], state[0])
    close(hn[0], state[0])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_sequence_turns_its_weights_once_and_not_at_each_step(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turned = []
    swapaxes = ops.swapaxes
    monkeypatch.setattr(ops, "swapaxes", lambda x, a, b: turned.append(x) or swapaxes(x, a, b))
    net = kind(2, 3, num_layers=2)
    net(Tensor(array(30, 1, 2)))
    assert len(turned) == 4  # two weights of two layers


def test_single_steps(mode: str) -> None:
    x, h, c = array(2, 3), array(2, 4), array(2, 4)
    cell = nn.LSTMCell(3, 4)
    weights = [of(p) for p in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)]
    found = cell(Tensor(x), (Tensor(h), Tensor(c)))
    for a, b in zip(found, lstm_step(x, h, c, weights), strict=True):
        close(a, b)
    gru = nn.GRUCell(3, 4)
    weights = [of(p) for p in (gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh)]
    close(gru(Tensor(x), Tensor(h)), gru_step(x, h, weights))
    elman = nn.RNNCell(3, 4, has_bias=False)
    close(elman(Tensor(x), Tensor(h)), np.tanh(x @ of(elman.weight_ih).T + h @ of(elman.weight_hh).T))
    assert [p.name for p in gru.get_parameters()] == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    with pytest.raises(ShapeError):
        gru(Tensor(x), Tensor(array(3, 4)))


def test_names_of_recurrent_parameters() -> None:
    net = nn.SequentialCell(nn.LSTM(3, 4, 2, bidirectional=True))
    names = [p.name for p in net.get_parameters()]
    assert len(names) == 16
    assert names[:4] == [f"0.weight_ih_l{layer}{end}" for layer in (0, 1) for end in ("", "_reverse")]
    assert dict(net.parameters_dict())["0.weight_ih_l1_reverse"].shape == (16, 8)


# ------------------------------------------------------------------------------------------------ attention
def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    found: Array = e / e.sum(-1, keepdims=True)
    return found


def attention(net: Any, q: Array, k: Array, v: Array, mask: Array) -> tuple[Array, Array]:
    """Batch first; the mask is added to the scores [N, heads, L, S]."""
    e, heads = net.embed_dim, net.num_heads
    parts = []
    for x, w, b in zip((q, k, v), np.split(of(net.in_proj_weight), 3), np.split(of(net.in_proj_bias), 3), strict=True):
        y = x @ w.T + b
        parts.append(y.reshape(*y.shape[:2], heads, e // heads).transpose(0, 2, 1, 3))
    weights = softmax(parts[0] @ parts[1].transpose(0, 1, 3, 2) / math.sqrt(e // heads) + mask)
    y = (weights @ parts[2]).transpose(0, 2, 1, 3).reshape(q.shape)
    return y @ of(net.out_proj.weight).T + of(net.out_proj.bias), weights


@pytest.mark.parametrize("masked", ["not", "bool", "float", "padding"])
def test_attention_of_several_heads(mode: str, masked: str) -> None:
    net = nn.MultiheadAttention(6, 3, batch_first=True)
    net.in_proj_bias.set_data(Tensor(array(18)))
    q, k, v = array(2, 4, 6), array(2, 5, 6), array(2, 5, 6)
    mask, given = np.zeros((2, 1, 4, 5)), {}
    if masked == "bool":
        left_out = np.triu(np.ones((4, 5), bool), 2)
        mask, given = np.where(left_out, -np.inf, 0)[None, None], {"attn_mask": Tensor(left_out)}
    elif masked == "float":
        added = array(6, 4, 5)
        mask, given = added.reshape(2, 3, 4, 5), {"attn_mask": Tensor(added)}
    elif masked == "padding":
        left_out = np.array([[False] * 5, [False, False, True, True, True]])
        mask, given = np.where(left_out, -np.inf, 0)[:, None, None], {"key_padding_mask": Tensor(left_out)}
    out, weights = net(Tensor(q), Tensor(k), Tensor(v), **given)
    wanted, per_head = attention(net, q, k, v, mask)
    close(out, wanted)
    close(weights, per_head.mean(1))
    close(net(Tensor(q), Tensor(k), Tensor(v), average_attn_weights=False, **given)[1], per_head)
    assert len(net(Tensor(q), Tensor(k), Tensor(v), need_weights=False, **given)) == 1


def test_attention_without_a_batch_and_sequence_first(mode: str) -> None:
    net = nn.MultiheadAttention(4, 2)
    x = array(3, 2, 4)
    out, _ = net(Tensor(x), Tensor(x), Tensor(x))
    batch = x.transpose(1, 0, 2)
    wanted, per_head = attention(net, batch, batch, batch, np.zeros(1))
    close(out, wanted.transpose(1, 0, 2))
    one, its = net(Tensor(x[:, 0]), Tensor(x[:, 0]), Tensor(x[:, 0]))
    close(one, wanted[0])
    close(its, per_head.mean(1)[0])


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_encoder_layer(mode: str, norm_first: bool) -> None:
    net = nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", batch_first=True, norm_first=norm_first)
    x = array(2, 3, 4)

    def norm(y: Array) -> Array:
        return standardized(y, -1)

    def dense(y: Array) -> Array:
        y = y @ of(net.dense1.weight).T + of(net.dense1.bias)
        y = y * (1 + erf(y / math.sqrt(2))) / 2
        found: Array = y @ of(net.dense2.weight).T + of(net.dense2.bias)
        return found

    if norm_first:
        y = x + attention(net.self_attn, norm(x), norm(x), norm(x), np.zeros(1))[0]
        wanted = y + dense(norm(y))
    else:
        y = norm(x + attention(net.self_attn, x, x, x, np.zeros(1))[0])
        wanted = norm(y + dense(y))
    close(net(Tensor(x)), wanted)


def test_a_transformer(mode: str) -> None:
    net = nn.Transformer(4, 2, 2, 2, 8)
    memory = net.encoder(Tensor(array(3, 2, 4)))
    assert memory.shape == (3, 2, 4)
    src, tgt = array(3, 2, 4), array(5, 2, 4)
    close(net(Tensor(src), Tensor(tgt)), of(net.decoder(Tensor(tgt), net.encoder(Tensor(src)))))
    names = {p.name for p in net.get_parameters()}
    assert {"encoder.layers.1.self_attn.in_proj_weight", "decoder.layers.0.multihead_attn.out_proj.bias"} <= names
    with pytest.raises(ShapeError):
        net(Tensor(src), Tensor(array(5, 3, 4)))


# ------------------------------------------------------------------------------------------------ the rest
def test_embedding(mode: str) -> None:
    net = nn.Embedding(5, 3, padding_idx=2)
    ids = np.array([[0, 2], [4, 0]])
    np.testing.assert_array_equal(of(net(Tensor(ids))), of(net.embedding_table)[ids])
    np.testing.assert_array_equal(of(net.embedding_table)[2], [0, 0, 0])
    coded = nn.Embedding(5, 3, True, embedding_table=net.embedding_table)
    close(coded(Tensor(ids)), of(net.embedding_table)[ids])
    with pytest.raises(IndexError):
        net(Tensor([7]))
    limited = nn.EmbeddingLookup(5, 3, "ones", max_norm=1.0)
    close(limited(Tensor([1, 9])), [[1 / math.sqrt(3)] * 3, [0, 0, 0]])


@pytest.mark.parametrize("operator", ["SUM", "MEAN", "MAX"])
def test_rows_joined_by_fields(mode: str, operator: str) -> None:
    ids, weights = np.array([[2, 4, 6, 0], [1, 3, 5, 2]]), np.array([[1, -0.5, 2, 1], [3, 0, 1, 1]], np.float32)
    fields = np.array([[0, 1, 1, 0], [0, 0, 2, 2]])
    net = nn.MultiFieldEmbeddingLookup(7, 2, 3, operator=operator)
    table, wanted = of(net.embedding_table), np.zeros((2, 3, 2))
    for b in range(2):
        for f in range(3):
            at = [k for k in range(4) if fields[b, k] == f and weights[b, k] != 0]
            if at:
                rows = table[ids[b, at]] * weights[b, at, None]
                wanted[b, f] = rows.max(0) if operator == "MAX" else rows.sum(0)
                wanted[b, f] /= abs(weights[b, at]).sum() if operator == "MEAN" else 1
    close(net(Tensor(ids), Tensor(weights), Tensor(fields)), wanted)


def test_images_are_compared(mode: str) -> None:
    a, b = array(2, 1, 12, 12), array(2, 1, 12, 12)
    close(nn.PSNR(2.0)(Tensor(a), Tensor(b)), 10 * np.log10(4 / ((a - b) ** 2).mean((1, 2, 3))))
    bell = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    window = np.outer(bell, bell) / np.outer(bell, bell).sum()
    for k in range(2):
        parts = [
            [correlate(x * y, window, "valid") for y in (np.ones((12, 12)), a[k, 0], b[k, 0])]
            for x in (a[k, 0], b[k, 0])
        ]
        (ma, aa, ab), (mb, _, bb) = parts
        value = (2 * ma * mb + 1e-4) * (2 * (ab - ma * mb) + 9e-4)
        value /= (ma**2 + mb**2 + 1e-4) * (aa - ma**2 + bb - mb**2 + 9e-4)
        np.testing.assert_allclose(of(nn.SSIM()(Tensor(a), Tensor(b)))[k], value.mean(), rtol=1e-3, atol=1e-5)


def test_padding_layers(mode: str) -> None:
    x = array(1, 2, 3, 4)
    for cls, how in ((nn.ReflectionPad2d, "reflect"), (nn.ReplicationPad2d, "edge"), (nn.ZeroPad2d, "constant")):
        wanted = np.pad(x, [(0, 0), (0, 0), (2, 0), (1, 2)], mode=how)
        np.testing.assert_array_equal(of(cls((1, 2, 2, 0))(Tensor(x))), wanted)
    widths = ((0, 0), (1, 1), (2, 1), (0, 3))
    for name, how in (("CONSTANT", "constant"), ("SYMMETRIC", "symmetric"), ("REFLECT", "reflect")):
        np.testing.assert_array_equal(of(nn.Pad(widths, name)(Tensor(x))), np.pad(x, widths, mode=how))


def test_unfold_gives_the_channels_of_each_place(mode: str) -> None:
    x = array(2, 3, 4, 5)
    found = of(nn.Unfold([1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1])(Tensor(x)))
    assert found.shape == (2, 18, 2, 3)
    for i in range(2):
        for j in range(3):
            part = x[:, :, 2 * i : 2 * i + 2, j : j + 3]  # [N, C, row, column]
            np.testing.assert_array_equal(found[:, :, i, j], part.transpose(0, 2, 3, 1).reshape(2, -1))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Conv2d(0, 1, 1), ValueError),
        (lambda: nn.Conv2d(1.0, 1, 1), TypeError),
        (lambda: nn.Conv2d(3, 4, 1, group=2), ValueError),
        (lambda: nn.Conv2d(1, 1, (1, 2, 3)), ValueError),
        (lambda: nn.Conv2d(1, 1, 1, pad_mode="full"), ValueError),
        (lambda: nn.Conv2d(1, 1, 1, padding=1), ValueError),
        (lambda: nn.Conv2d(1, 1, 1, pad_mode="pad", padding=-1), ValueError),
        (lambda: nn.Conv2d(1, 1, 1, has_bias=1), TypeError),
        (lambda: nn.Conv2dTranspose(1, 1, 1, output_padding=1), ValueError),
        (lambda: nn.BatchNorm2d(0), ValueError),
        (lambda: nn.BatchNorm2d(1, momentum=1.5), ValueError),
        (lambda: nn.BatchNorm2d(1, use_batch_statistics=1), ValueError),
        (lambda: nn.LayerNorm(3), TypeError),
        (lambda: nn.GroupNorm(2, 3), ValueError),
        (lambda: nn.MaxPool2d(0), ValueError),
        (lambda: nn.MaxPool2d(2, padding=1), ValueError),
        (lambda: nn.MaxPool2d(2, ceil_mode=True), ValueError),
        (lambda: nn.AvgPool2d(2, "2"), TypeError),
        (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), ValueError),
        (lambda: nn.ConstantPad1d((1, 2, 3), 0), ValueError),
        (lambda: nn.ReflectionPad1d(-1), ValueError),
        (lambda: nn.Embedding(2, 2, padding_idx=2), ValueError),
        (lambda: nn.RNN(1, 1, nonlinearity="sin"), ValueError),
        (lambda: nn.LSTM(1, 1, dropout=1.0), ValueError),
        (lambda: nn.MultiheadAttention(5, 2), ValueError),
        (lambda: nn.Hardtanh(1.0, 0.5), ValueError),
        (lambda: nn.OneHot(depth=1.5), TypeError),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_forms_of_arguments(mode: str) -> None:
    x = array(2, 3)
    close(nn.PReLU(3, [0.5, 1.0, 2.0])(Tensor(x)), np.where(x > 0, x, x * [0.5, 1, 2]))
    close(nn.Softmax((0,))(Tensor(x)), softmax(x.T).T)
    close(nn.MaxPool1d([2], [1])(Tensor(x)), np.maximum(x[:, :-1], x[:, 1:]))
    close(nn.AvgPool1d((2,), None)(Tensor(x[:, :2])), x[:, :2].mean(1, keepdims=True))
    w = array(2, 1, 2, 2)
    one = nn.Conv2d(1, 2, [2, 2], pad_mode="PAD", padding=[1], weight_init=Tensor(w))(Tensor(array(1, 1, 3, 3)))
    assert one.shape == (1, 2, 4, 4)


def test_what_layers_print() -> None:
    assert [repr(c) for c in (nn.Flatten(), nn.Softmax(0), nn.LeakyReLU())] == ["Flatten()", "Softmax()", "LeakyReLU()"]
    assert repr(nn.MaxPool2d(2, 2)) == "MaxPool2d(kernel_size=2, stride=2, pad_mode=VALID)"
    assert repr(nn.GroupNorm(1, 2)) == "GroupNorm(num_groups=1, num_channels=2)"
    assert repr(nn.Conv2d(1, 2, 3, weight_init="ones")) == (
        "Conv2d(input_channels=1, output_channels=2, kernel_size=(3, 3), stride=(1, 1), pad_mode=same, padding=0, "
        "dilation=(1, 1), group=1, has_bias=False, weight_init=ones, bias_init=None, format=NCHW)"
    )
