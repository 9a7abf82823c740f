"""`build_train_network`: a network with mixed precision, loss, optimizer and loss scale as one Cell."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from ..dtypes import dtype_of, float16, float32
from ..nn.arguments import choice, flag
from .loss_scale_manager import DynamicLossScaleManager, LossScaleManager
from .mixed_precision import auto_mixed_precision, get_black_list, keep_in_float32

__all__ = ["build_train_network"]

_OPTIONS = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")


class _LossInFloat32(nn.WithLossCell):
    """The loss of a network's output and a label, both in float32 first."""

    def construct(self, data: Any, label: Any) -> Any:
        outputs = ops.mixed_precision_cast(float32, self._backbone(data))
        return self._loss_fn(outputs, ops.mixed_precision_cast(float32, label))


def build_train_network(
    network: Any, optimizer: Any, loss_fn: Any = None, level: str = "O0", boost_level: str = "O0", **kwargs: Any
) -> Any:
    """The Cell of a training step: a `nn.TrainOneStepCell`, or a `nn.TrainOneStepWithLossScaleCell`.

    Without `loss_fn` the output of the network is the loss.  `level` is that of `auto_mixed_precision`; O2 comes with
    a `DynamicLossScaleManager`, the others without a loss scale.  Keywords say otherwise: `cast_model_type` (float16 or
    float32), `keep_batchnorm_fp32`, `loss_scale_manager`.  `boost_level` changes nothing.

    TypeError, ValueError: something else.

    >>> net = nn.Dense(1, 1)
    >>> step = build_train_network(net, nn.SGD(net.trainable_params(), 0.1), nn.MSELoss(), "O2")
    >>> step.cls_name, step.scale_sense.item()
    ('TrainOneStepWithLossScaleCell', 16777216.0)
    """
    if not isinstance(optimizer, nn.Optimizer):
        raise TypeError(f"`optimizer` must be an Optimizer, not a {type(optimizer).__name__}")
    choice("level", level, ("O0", "O1", "O2", "O3", "auto"))
    choice("boost_level", boost_level, ("O0", "O1", "O2"))
    lowers, keeps, manager = _configuration(level, kwargs)
    if lowers:
        network.to_float(float16)
        if keeps:
            keep_in_float32(network, get_black_list(), float16)
    elif level not in ("O2", "O3"):
        network = auto_mixed_precision(network, level)
    if loss_fn is not None:
        if not isinstance(loss_fn, nn.Cell):
            raise TypeError(f"`loss_fn` must be a Cell, not a {type(loss_fn).__name__}")
        casts = lowers or getattr(network, "_amp_level", None) in ("O2", "O3")
        network = (_LossInFloat32 if casts else nn.WithLossCell)(network, loss_fn)
    if manager is None:
        return nn.TrainOneStepCell(network, optimizer).set_train()
    update = manager.get_update_cell()
    if update is None:
        return nn.TrainOneStepCell(network, optimizer, manager.get_loss_scale()).set_train()
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()


def _configuration(level: str, given: dict[str, Any]) -> tuple[bool, bool, LossScaleManager | None]:
    """Whether the network is cast to float16, whether BatchNorm and LayerNorm are not, and the loss scale manager."""
    unknown = [name for name in given if name not in _OPTIONS]
    if unknown:
        raise ValueError(f"build_train_network has no argument {unknown[0]!r}; options are {', '.join(_OPTIONS)}")
    keeps = flag("keep_batchnorm_fp32", given.get("keep_batchnorm_fp32", level == "O2"))
    lowers = level in ("O2", "O3")
    if "cast_model_type" in given:
        cast = dtype_of(given["cast_model_type"])
        if cast not in (float16, float32):
            raise ValueError(f"`cast_model_type` must be float16 or float32, not {cast!r}")
        lowers = cast is float16 or (level == "O2" and not keeps)
    if "loss_scale_manager" in given:
        manager = given["loss_scale_manager"]
        if manager is not None and not isinstance(manager, LossScaleManager):
            raise TypeError(f"`loss_scale_manager` must be a LossScaleManager, not a {type(manager).__name__}")
    else:
        manager = DynamicLossScaleManager() if level == "O2" else None
    return lowers, keeps, manager
