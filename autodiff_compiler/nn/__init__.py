"""Networks: Cells, layers, losses, and MindSpore's optimizers (which live in `optim`).

Cells and their containers are imported with the package, a layer's module at the first access of one of its names;
layers that only call a function are rows of `surface.cells`, made then.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..peer_names import NN as _PEERS
from ..peer_names import of_ops as _of_ops
from ..surface.cells import CELLS as _CELLS
from .cell import Cell
from .containers import CellDict, CellList, SequentialCell

#: The modules of the names that are imported lazily.
# fmt: off
_MODULES = {
    ".activation": ("CELU", "Hardtanh", "PReLU", "RReLU", "Softmax", "get_activation"),
    ".arrays": (
        "ClipByNorm", "Identity", "L1Regularizer", "MatMul", "Moments", "Norm", "OneHot", "Range", "ReduceLogSumExp",
        "Unflatten",
    ),
    ".attention": (
        "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerEncoderLayer",
    ),
    ".combined": ("Conv2dBnAct", "DenseBnAct", "ParameterUpdate", "TimeDistributed"),
    ".convolution": ("Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"),
    ".dense": ("BiDense", "Dense", "Linear"),
    ".derivatives": ("Jvp", "Vjp"),
    ".dropout": ("Dropout",),
    ".dynamic_lr": (
        "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr", "piecewise_constant_lr",
        "polynomial_decay_lr", "warmup_lr",
    ),
    ".embedding": ("Embedding", "EmbeddingLookup", "MultiFieldEmbeddingLookup"),
    ".image": ("MSSSIM", "PSNR", "SSIM", "CentralCrop", "ImageGradients", "Unfold"),
    ".learning_rate_schedule": (
        "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule", "NaturalExpDecayLR",
        "PolynomialDecayLR", "WarmUpLR",
    ),
    ".losses": (
        "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "DiceLoss", "FocalLoss",
        "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LossBase", "MAELoss", "MSELoss",
        "MarginRankingLoss", "MultiClassDiceLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
        "MultilabelMarginLoss", "NLLLoss", "PoissonNLLLoss", "RMSELoss", "SmoothL1Loss", "SoftMarginLoss",
        "SoftmaxCrossEntropyWithLogits",
        "TripletMarginLoss", "TripletMarginWithDistanceLoss",
    ),
    ".metrics": (
        "F1", "MAE", "MSE", "ROC", "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric",
        "CosineSimilarity", "Dice", "Fbeta", "HausdorffDistance", "Loss", "MeanSurfaceDistance", "Metric",
        "OcclusionSensitivity", "Perplexity", "Precision", "Recall", "RootMeanSquareDistance",
        "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc", "get_metric_fn",
        "get_metrics", "names", "rearrange_inputs",
    ),
    ".normalization": (
        "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
        "LRN", "LayerNorm", "SyncBatchNorm",
    ),
    ".one_device": ("no_init_parameters",),
    ".padding": (
        "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Pad", "ReflectionPad1d", "ReflectionPad2d",
        "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad2d",
    ),
    ".pooling": (
        "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
        "LPPool1d", "LPPool2d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
    ),
    ".recurrent": ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"),
    ".sampled": ("SampledSoftmaxLoss",),
    ".wrap": (
        "DistributedGradReducer", "DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "ForwardValueAndGrad",
        "GradAccumulationCell", "MicroBatchInterleaved",
        "TrainOneStepCell", "TrainOneStepWithLossScaleCell", "WithEvalCell", "WithGradCell", "WithLossCell",
    ),
    # Optimizers are Cells, so `optim` imports this package; importing it eagerly here would be a cycle.
    "..optim": (
        "ASGD", "FTRL", "LARS", "SGD", "AdaFactor", "AdaMax", "Adadelta", "Adagrad", "Adam", "AdamOffload", "AdamW",
        "AdamWeightDecay", "Lamb", "LazyAdam", "Lion", "Momentum", "Optimizer", "ProximalAdagrad", "RMSProp", "Rprop",
    ),
}
# fmt: on
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

#: Submodules that users of MindSpore access as attributes.
_SUBMODULES = {
    "dynamic_lr": ".dynamic_lr",
    "learning_rate_schedule": ".learning_rate_schedule",
    "optim": "..optim",
    "wrap": ".wrap",
}

__all__ = ["Cell", "CellDict", "CellList", "SequentialCell"]
__all__ += _WHERE
__all__ += _CELLS


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here; compiled code asks for it too."""
    return _PEERS.get(name) or _of_ops(name, __name__)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name], __name__)
    if name in _CELLS:
        value: Any = importlib.import_module(".layer", __name__).made(name)
    elif name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name], __name__), name)
    else:
        advice = __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    return globals().setdefault(name, value)  # another thread may have made the class meanwhile


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
