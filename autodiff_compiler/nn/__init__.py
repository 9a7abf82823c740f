"""Networks: Cells, layers, losses, and MindSpore's optimizers (which live in `optim`).

Cells and their containers are imported with the package, a layer's module at the first access of one of its names.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .cell import Cell
from .containers import CellDict, CellList, SequentialCell

if TYPE_CHECKING:
    from .activation import *  # noqa: F403
    from .arrays import *  # noqa: F403
    from .attention import *  # noqa: F403
    from .combined import *  # noqa: F403
    from .convolution import *  # noqa: F403
    from .dense import *  # noqa: F403
    from .derivatives import *  # noqa: F403
    from .dropout import *  # noqa: F403
    from .dynamic_lr import *  # noqa: F403
    from .embedding import *  # noqa: F403
    from .image import *  # noqa: F403
    from .learning_rate_schedule import *  # noqa: F403
    from .losses import *  # noqa: F403
    from .matrices import *  # noqa: F403
    from .metrics import *  # noqa: F403
    from .normalization import *  # noqa: F403
    from .padding import *  # noqa: F403
    from .pooling import *  # noqa: F403
    from .recurrent import *  # noqa: F403
    from .sampled import *  # noqa: F403
    from .special import *  # noqa: F403
    from .wrap import *  # noqa: F403

#: The modules of the names that are imported lazily.
# fmt: off
_MODULES = {
    ".activation": (
        "CELU", "ELU", "GELU", "GLU", "FastGelu", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU",
        "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink",
        "Softmax", "Softmax2d", "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink", "Threshold", "get_activation",
    ),
    ".arrays": (
        "ClipByNorm", "Flatten", "Identity", "L1Regularizer", "MatMul", "Moments", "Norm", "OneHot", "Range",
        "ReduceLogSumExp", "Roll", "Tril", "Triu", "Unflatten",
    ),
    ".attention": (
        "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
        "TransformerEncoderLayer",
    ),
    ".combined": ("Conv2dBnAct", "DenseBnAct", "ParameterUpdate", "TimeDistributed"),
    ".convolution": ("Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"),
    ".dense": ("BiDense", "Dense", "Linear"),
    ".derivatives": ("Jvp", "Vjp"),
    ".dropout": ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"),
    ".dynamic_lr": (
        "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr", "piecewise_constant_lr",
        "polynomial_decay_lr", "warmup_lr",
    ),
    ".embedding": ("Embedding", "EmbeddingLookup", "MultiFieldEmbeddingLookup"),
    ".image": (
        "MSSSIM", "PSNR", "SSIM", "CentralCrop", "ChannelShuffle", "ImageGradients", "PixelShuffle", "PixelUnshuffle",
        "Unfold", "Upsample",
    ),
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
    ".matrices": ("MatDet", "MatInverse", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"),
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
    ".special": ("DiGamma", "IGamma", "LBeta", "LGamma"),
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


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name], __name__)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(_WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
