"""Normalization over batches, layers, groups and instances as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..common.initializer import initializer
from ..data_parallel.collective import all_reduce
from ..data_parallel.start import own_group
from ..dtypes import dtype_of, float32, float64
from ..errors import ShapeError, kind_of
from ..locks import remembered
from ..primitives.requirements import require
from ..runtime.parameter import Parameter
from . import channels
from .arguments import choice, integer
from .cell import Cell
from .layer import Layer


def _check_rank(cell: Cell, shape: tuple[Any, ...], ranks: tuple[int, ...]) -> None:
    if len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ShapeError(f"{type(cell).__name__} takes an input of {wanted} dimensions, not of shape {list(shape)}")


def _check_channels(cell: Cell, wanted: int, shape: tuple[Any, ...], axis: int) -> None:
    if shape[axis] != wanted:
        layer = type(cell).__name__
        found = f"not the {shape[axis]} of an input of shape {list(shape)}"
        message = f"{layer}(num_features={wanted}) takes {wanted} channels, {found}"
        require(False, message, f"make it `{layer}({shape[axis]})`", between=(shape[axis], wanted))


def _check_normalized(shape: tuple[Any, ...], found: tuple[Any, ...], wanted: tuple[int, ...]) -> None:
    """Whether the last axes of a shape, `found`, are those that are normalized."""
    if found != wanted:
        message = f"LayerNorm({list(wanted)}) does not fit an input of {list(shape)}"
        require(False, message, between=(found, wanted))


#: Parameters of constructors.
_AFFINE = "affine: flag = True, gamma_init='ones', beta_init='zeros'"
_OF_BATCH = (
    f"num_features: positive, eps: number = 1e-5, momentum: fraction = 0.9, {_AFFINE}, moving_mean_init='zeros', "
    "moving_var_init='ones', use_batch_statistics: bool | None = None"
)
_OF_INSTANCES = f"num_features: positive, eps: number = 1e-5, momentum: fraction = 0.1, {_AFFINE}, dtype=float32"


class _PerChannel(Layer, shown="num_features, eps, momentum=_unchanged, gamma, beta, moving_mean, moving_variance"):
    """Statistics, gamma and beta for every channel."""

    moving_mean: Any
    moving_variance: Any
    gamma: Any
    beta: Any
    #: How many dimensions the input may have.
    _ranks: tuple[int, ...] = ()

    def _make_statistics(self, affine: Any, inits: tuple[Any, ...], dtype: Any) -> None:
        names = ("mean", "moving_mean"), ("variance", "moving_variance"), ("gamma", "gamma"), ("beta", "beta")
        for (name, attribute), init, learned in zip(names, inits, (False, False, affine, affine), strict=True):
            value = initializer(init, (self.num_features,), dtype_of(dtype))
            setattr(self, attribute, Parameter(value, name=name, requires_grad=learned))

    def _check(self, shape: tuple[Any, ...], axis: int = 1) -> None:
        _check_rank(self, shape, self._ranks)
        _check_channels(self, self.num_features, shape, axis)

    @property
    def _unchanged(self) -> float:
        return 1 - self.momentum


class _BatchNorm(_PerChannel):
    _formats: tuple[str, ...] = ("NCHW",)
    data_format = "NCHW"

    def _make(
        self,
        momentum: Any,
        affine: Any,
        gamma_init: Any,
        beta_init: Any,
        moving_mean_init: Any,
        moving_var_init: Any,
        dtype: Any,
    ) -> None:
        # MindSpore 2.10: `momentum` is the part of the moving statistics that stays; the attribute is the batch's part.
        self.momentum = 1.0 - momentum
        batch = self.use_batch_statistics
        if batch is not None and not isinstance(batch, bool):
            raise ValueError(f"`use_batch_statistics` must be a bool or None, not {batch!r}")
        choice("data_format", self.data_format, self._formats)
        self._make_statistics(affine, (moving_mean_init, moving_var_init, gamma_init, beta_init), dtype)

    def construct(self, x: Any) -> Any:
        self._check(x.shape, 3 if self.data_format == "NHWC" else 1)
        batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        x = channels.first(x, self.data_format)
        y = ops.batch_norm(
            x, self.moving_mean, self.moving_variance, self.gamma, self.beta, batch, self.momentum, self.eps
        )
        return channels.last(y, self.data_format)


class BatchNorm1d(_BatchNorm, parameters=f"{_OF_BATCH}, data_format: str = 'NCHW', dtype=float32"):
    """[batch, channels] or [batch, channels, length] standardized per channel, times gamma plus beta; as `BatchNorm2d`.

    >>> from autodiff_compiler import Tensor
    >>> net = BatchNorm1d(1, eps=0.0).set_train()
    >>> net(Tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm, parameters=f"{_OF_BATCH}, data_format: str = 'NCHW', dtype=float32"):
    """[batch, channels, height, width] standardized per channel, times `gamma` plus `beta`.

    In training (`set_train`) mean and variance are those of the batch, and the moving ones become ``momentum * moving +
    (1 - momentum) * batch`` with the unbiased variance; otherwise the moving ones are used.  `use_batch_statistics`
    True or False overrides the mode.  Without `affine` gamma and beta are not trained.  A second call in the same
    compiled program sees what the first one has written.

    TypeError, ValueError: arguments that are none of these; ShapeError (a ValueError): another input.

    >>> from autodiff_compiler import ops
    >>> net = BatchNorm2d(1).set_train()
    >>> net(ops.ones((1, 1, 1, 2))).tolist(), round(net.moving_mean.item(), 4)
    ([[[[0.0, 0.0]]]], 0.1)
    """

    _ranks = (4,)
    _formats = ("NCHW", "NHWC")


class BatchNorm3d(Layer, parameters=f"{_OF_BATCH}, dtype=float32"):
    """[batch, channels, depth, height, width] standardized per channel, times gamma plus beta.

    The depths are rows more of a `BatchNorm2d`, `bn2d`, which has the Parameters: `bn2d.gamma` and so on.

    >>> from autodiff_compiler import ops
    >>> net = BatchNorm3d(1)
    >>> net(ops.ones((1, 1, 1, 1, 1))).shape, [p.name for p in net.trainable_params()]
    ((1, 1, 1, 1, 1), ['bn2d.gamma', 'bn2d.beta'])
    """

    def _make(
        self,
        num_features: Any,
        eps: Any,
        momentum: Any,
        affine: Any,
        gamma_init: Any,
        beta_init: Any,
        moving_mean_init: Any,
        moving_var_init: Any,
        use_batch_statistics: Any,
        dtype: Any,
    ) -> None:
        inits = gamma_init, beta_init, moving_mean_init, moving_var_init
        self.bn2d = BatchNorm2d(num_features, eps, momentum, affine, *inits, use_batch_statistics, dtype=dtype)

    def construct(self, x: Any) -> Any:
        _check_rank(self, x.shape, (5,))
        n, c, d, h, w = x.shape
        return ops.reshape(self.bn2d(ops.reshape(x, (n, c, d * h, w))), x.shape)


class SyncBatchNorm(_BatchNorm, parameters=f"{_OF_BATCH}, process_groups=None, dtype=float32"):
    """`BatchNorm1d` or `BatchNorm2d` with the statistics of the batches of all processes together.

    `process_groups` are lists of the numbers of processes, which share statistics where they stand in one list; without
    it all do, and one that stands in none uses its own.  The batches may have different sizes.  Derivatives are those
    of one BatchNorm over the whole batch, where the loss is the sum of the losses of the processes.

    TypeError, ValueError: `process_groups` that are no lists of processes.
    """

    _ranks = (2, 4)

    def _make(
        self,
        momentum: Any,
        affine: Any,
        gamma_init: Any,
        beta_init: Any,
        moving_mean_init: Any,
        moving_var_init: Any,
        dtype: Any,
        process_groups: Any = None,
    ) -> None:
        super()._make(momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init, dtype)
        group = own_group(process_groups)
        self.group, self.processes = ("", 1) if group is None else (group.name, group.size)

    def construct(self, x: Any) -> Any:
        batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        if not batch or self.processes == 1:
            return super().construct(x)
        self._check(x.shape)
        wide = x if x.dtype is float64 else ops.cast(x, float32)
        axes = (0, *range(2, x.ndim))
        row = (1, -1, *(1 for _ in range(2, x.ndim)))
        here = ops.full((1,), x.size // self.num_features, dtype=wide.dtype)
        sums = all_reduce(ops.concat([ops.sum(wide, axes), here], 0), self.group, self.processes)
        number = sums[self.num_features]
        center = sums[: self.num_features] / number
        away = wide - ops.reshape(center, row)
        variance = all_reduce(ops.sum(away * away, axes), self.group, self.processes) / number
        unbiased = variance * (number / (number - 1.0).clip(1.0))
        stay = 1.0 - self.momentum
        ops.assign(self.moving_mean, self.moving_mean * stay + ops.stop_gradient(center) * self.momentum)
        ops.assign(self.moving_variance, self.moving_variance * stay + ops.stop_gradient(unbiased) * self.momentum)
        return ops.batch_norm(x, center, variance, self.gamma, self.beta, False, self.momentum, self.eps)


# ------------------------------------------------------------------------------------------------ one sample
class LayerNorm(
    Layer,
    parameters="normalized_shape, begin_norm_axis: integer = -1, begin_params_axis: integer = -1, "
    "gamma_init='ones', beta_init='zeros', epsilon: number = 1e-7, dtype=float32",
    shown="normalized_shape, begin_norm_axis, begin_params_axis, gamma, beta",
):
    """Standardized over the dimensions from `begin_norm_axis` on, times `gamma` plus `beta`.

    Both have the shape `normalized_shape`, that of the input from `begin_params_axis` on.  TypeError: a
    `normalized_shape` that is no tuple or list.  ShapeError (a ValueError): another input.

    >>> from autodiff_compiler import Tensor
    >>> LayerNorm((2,), epsilon=0.0)(Tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    gamma: Any
    beta: Any

    def _make(self, normalized_shape: Any, gamma_init: Any, beta_init: Any, dtype: Any) -> None:
        if not isinstance(normalized_shape, tuple | list):
            raise TypeError(f"`normalized_shape` must be a tuple or a list, not {kind_of(normalized_shape)}")
        self.normalized_shape = tuple(normalized_shape)
        for name, init in (("gamma", gamma_init), ("beta", beta_init)):
            setattr(self, name, Parameter(initializer(init, self.normalized_shape, dtype_of(dtype)), name=name))

    @remembered
    def layer_norm(self) -> Any:
        """What subclasses with a `construct` of their own call: it takes x, gamma, beta; returns y, mean, variance."""
        return ops.LayerNorm(self.begin_norm_axis, self.begin_params_axis, self.epsilon)

    def construct(self, x: Any) -> Any:
        normalized, scaled = x.shape[self.begin_norm_axis :], x.shape[self.begin_params_axis :]
        _check_normalized(x.shape, scaled, self.normalized_shape)
        if normalized == scaled:
            return ops.layer_norm(x, normalized, self.gamma, self.beta, self.epsilon)
        return ops.layer_norm(x, normalized, None, None, self.epsilon) * self.gamma + self.beta


class GroupNorm(
    Layer,
    parameters=f"num_groups: positive, num_channels: positive, eps: number = 1e-5, {_AFFINE}, dtype=float32",
    shown="num_groups, num_channels",
):
    """[batch, channels, ...] standardized over groups of neighbouring channels, times gamma plus beta per channel.

    Without `affine` gamma and beta are not trained.  ValueError: channels that cannot be divided into the groups.

    >>> from autodiff_compiler import Tensor
    >>> GroupNorm(1, 2, eps=0.0)(Tensor([[[[1.0]], [[3.0]]]])).tolist()
    [[[[-1.0]], [[1.0]]]]
    """

    gamma: Any
    beta: Any

    def _make(self, gamma_init: Any, beta_init: Any, dtype: Any) -> None:
        if self.num_channels % self.num_groups:
            raise ValueError(f"{self.num_channels} channels cannot be divided into {self.num_groups} groups")
        for name, init in (("gamma", gamma_init), ("beta", beta_init)):
            value = initializer(init, (self.num_channels,), dtype_of(dtype))
            setattr(self, name, Parameter(value, name=name, requires_grad=self.affine))

    def construct(self, x: Any) -> Any:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)


class _InstanceNorm(_PerChannel):
    """Every sample and channel by itself, in training or not.

    `moving_mean` and `moving_variance` are there for checkpoints; nothing reads or changes them.
    """

    def _make(self, affine: Any, gamma_init: Any, beta_init: Any, dtype: Any) -> None:
        self._make_statistics(affine, ("zeros", "ones", gamma_init, beta_init), dtype)

    def construct(self, x: Any) -> Any:
        self._check(x.shape)
        return ops.instance_norm(x, self.gamma, self.beta, self.eps)


class InstanceNorm1d(_InstanceNorm, parameters=_OF_INSTANCES):
    """[batch, channels, length] standardized for every sample and channel, times gamma plus beta per channel.

    >>> from autodiff_compiler import Tensor
    >>> InstanceNorm1d(1, eps=0.0)(Tensor([[[1.0, 3.0]], [[4.0, 2.0]]])).tolist()
    [[[-1.0, 1.0]], [[1.0, -1.0]]]
    """

    _ranks = (3,)


class InstanceNorm2d(_InstanceNorm, parameters=_OF_INSTANCES):
    """[batch, channels, height, width] standardized for every sample and channel, times gamma plus beta."""

    _ranks = (4,)


class InstanceNorm3d(_InstanceNorm, parameters=_OF_INSTANCES):
    """[batch, channels, depth, height, width] standardized for every sample and channel, times gamma plus beta."""

    _ranks = (5,)


class LRN(
    Layer,
    parameters="depth_radius: integer = 5, bias: number = 1.0, alpha: number = 1.0, beta: number = 0.5, "
    "norm_region: str = 'ACROSS_CHANNELS'",
):
    """Local response normalization over 2 depth_radius + 1 neighbouring channels; see `ops.lrn`."""

    def _make(self) -> None:
        integer("depth_radius", self.depth_radius, 0)
        choice("norm_region", self.norm_region, ("ACROSS_CHANNELS",))

    def construct(self, x: Any) -> Any:
        return ops.lrn(x, self.depth_radius, self.bias, self.alpha, self.beta, self.norm_region)
