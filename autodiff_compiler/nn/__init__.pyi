"""Written by `python tools/stubs.py` from the package itself; do not edit by hand."""

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.dtypes import DType as _DType
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.ops.operation import Operation
from autodiff_compiler.runtime.tensor import Tensor

from autodiff_compiler.optim.momentum import ASGD as ASGD
from autodiff_compiler.nn.metrics.classes import Accuracy as Accuracy
from autodiff_compiler.optim.adafactor import AdaFactor as AdaFactor
from autodiff_compiler.optim.adam import AdaMax as AdaMax
from autodiff_compiler.optim.rmsprop import Adadelta as Adadelta
from autodiff_compiler.optim.adagrad import Adagrad as Adagrad
from autodiff_compiler.optim.adam import Adam as Adam
from autodiff_compiler.optim.adam import AdamOffload as AdamOffload
from autodiff_compiler.optim.adam import AdamW as AdamW
from autodiff_compiler.optim.adam import AdamWeightDecay as AdamWeightDecay
from autodiff_compiler.nn.metrics.text import BleuScore as BleuScore
from autodiff_compiler.nn.cell import Cell as Cell
from autodiff_compiler.nn.containers import CellDict as CellDict
from autodiff_compiler.nn.containers import CellList as CellList
from autodiff_compiler.nn.image import CentralCrop as CentralCrop
from autodiff_compiler.nn.arrays import ClipByNorm as ClipByNorm
from autodiff_compiler.nn.metrics.confusion import ConfusionMatrix as ConfusionMatrix
from autodiff_compiler.nn.metrics.confusion import ConfusionMatrixMetric as ConfusionMatrixMetric
from autodiff_compiler.nn.padding import ConstantPad1d as ConstantPad1d
from autodiff_compiler.nn.padding import ConstantPad2d as ConstantPad2d
from autodiff_compiler.nn.padding import ConstantPad3d as ConstantPad3d
from autodiff_compiler.nn.combined import Conv2dBnAct as Conv2dBnAct
from autodiff_compiler.nn.learning_rate_schedule import CosineDecayLR as CosineDecayLR
from autodiff_compiler.nn.metrics.similarity import CosineSimilarity as CosineSimilarity
from autodiff_compiler.nn.combined import DenseBnAct as DenseBnAct
from autodiff_compiler.nn.metrics.means import Dice as Dice
from autodiff_compiler.nn.wrap.grad_reducer import DistributedGradReducer as DistributedGradReducer
from autodiff_compiler.nn.wrap.loss_scale import DynamicLossScaleUpdateCell as DynamicLossScaleUpdateCell
from autodiff_compiler.nn.learning_rate_schedule import ExponentialDecayLR as ExponentialDecayLR
from autodiff_compiler.nn.metrics.classes import F1 as F1
from autodiff_compiler.optim.adagrad import FTRL as FTRL
from autodiff_compiler.nn.metrics.classes import Fbeta as Fbeta
from autodiff_compiler.nn.wrap.loss_scale import FixedLossScaleUpdateCell as FixedLossScaleUpdateCell
from autodiff_compiler.nn.wrap.cell_wrapper import ForwardValueAndGrad as ForwardValueAndGrad
from autodiff_compiler.nn.recurrent import GRU as GRU
from autodiff_compiler.nn.recurrent import GRUCell as GRUCell
from autodiff_compiler.nn.wrap.micro_batches import GradAccumulationCell as GradAccumulationCell
from autodiff_compiler.nn.metrics.surfaces import HausdorffDistance as HausdorffDistance
from autodiff_compiler.nn.arrays import Identity as Identity
from autodiff_compiler.nn.image import ImageGradients as ImageGradients
from autodiff_compiler.nn.learning_rate_schedule import InverseDecayLR as InverseDecayLR
from autodiff_compiler.nn.derivatives import Jvp as Jvp
from autodiff_compiler.nn.losses import KLDivLoss as KLDivLoss
from autodiff_compiler.nn.losses import L1Loss as L1Loss
from autodiff_compiler.optim.layerwise import LARS as LARS
from autodiff_compiler.nn.recurrent import LSTM as LSTM
from autodiff_compiler.nn.recurrent import LSTMCell as LSTMCell
from autodiff_compiler.optim.layerwise import Lamb as Lamb
from autodiff_compiler.optim.adam import LazyAdam as LazyAdam
from autodiff_compiler.nn.learning_rate_schedule import LearningRateSchedule as LearningRateSchedule
from autodiff_compiler.nn.dense import Linear as Linear
from autodiff_compiler.optim.sign import Lion as Lion
from autodiff_compiler.nn.metrics.means import Loss as Loss
from autodiff_compiler.nn.losses import LossBase as LossBase
from autodiff_compiler.nn.metrics.means import MAE as MAE
from autodiff_compiler.nn.losses import MAELoss as MAELoss
from autodiff_compiler.nn.metrics.means import MSE as MSE
from autodiff_compiler.nn.losses import MSELoss as MSELoss
from autodiff_compiler.nn.image import MSSSIM as MSSSIM
from autodiff_compiler.nn.metrics.surfaces import MeanSurfaceDistance as MeanSurfaceDistance
from autodiff_compiler.nn.metrics.base import Metric as Metric
from autodiff_compiler.nn.wrap.micro_batches import MicroBatchInterleaved as MicroBatchInterleaved
from autodiff_compiler.nn.arrays import Moments as Moments
from autodiff_compiler.optim.momentum import Momentum as Momentum
from autodiff_compiler.nn.losses import MultiClassDiceLoss as MultiClassDiceLoss
from autodiff_compiler.nn.embedding import MultiFieldEmbeddingLookup as MultiFieldEmbeddingLookup
from autodiff_compiler.nn.attention import MultiheadAttention as MultiheadAttention
from autodiff_compiler.nn.losses import MultilabelMarginLoss as MultilabelMarginLoss
from autodiff_compiler.nn.learning_rate_schedule import NaturalExpDecayLR as NaturalExpDecayLR
from autodiff_compiler.nn.metrics.occlusion import OcclusionSensitivity as OcclusionSensitivity
from autodiff_compiler.nn.arrays import OneHot as OneHot
from autodiff_compiler.optim.optimizer import Optimizer as Optimizer
from autodiff_compiler.nn.image import PSNR as PSNR
from autodiff_compiler.nn.padding import Pad as Pad
from autodiff_compiler.nn.combined import ParameterUpdate as ParameterUpdate
from autodiff_compiler.nn.metrics.means import Perplexity as Perplexity
from autodiff_compiler.nn.learning_rate_schedule import PolynomialDecayLR as PolynomialDecayLR
from autodiff_compiler.nn.metrics.classes import Precision as Precision
from autodiff_compiler.optim.adagrad import ProximalAdagrad as ProximalAdagrad
from autodiff_compiler.optim.rmsprop import RMSProp as RMSProp
from autodiff_compiler.nn.recurrent import RNN as RNN
from autodiff_compiler.nn.recurrent import RNNCell as RNNCell
from autodiff_compiler.nn.metrics.curves import ROC as ROC
from autodiff_compiler.nn.arrays import Range as Range
from autodiff_compiler.nn.metrics.classes import Recall as Recall
from autodiff_compiler.nn.padding import ReflectionPad1d as ReflectionPad1d
from autodiff_compiler.nn.padding import ReflectionPad2d as ReflectionPad2d
from autodiff_compiler.nn.padding import ReflectionPad3d as ReflectionPad3d
from autodiff_compiler.nn.padding import ReplicationPad1d as ReplicationPad1d
from autodiff_compiler.nn.padding import ReplicationPad2d as ReplicationPad2d
from autodiff_compiler.nn.padding import ReplicationPad3d as ReplicationPad3d
from autodiff_compiler.nn.metrics.surfaces import RootMeanSquareDistance as RootMeanSquareDistance
from autodiff_compiler.optim.sign import Rprop as Rprop
from autodiff_compiler.optim.momentum import SGD as SGD
from autodiff_compiler.nn.image import SSIM as SSIM
from autodiff_compiler.nn.sampled import SampledSoftmaxLoss as SampledSoftmaxLoss
from autodiff_compiler.nn.containers import SequentialCell as SequentialCell
from autodiff_compiler.nn.losses import SoftMarginLoss as SoftMarginLoss
from autodiff_compiler.nn.combined import TimeDistributed as TimeDistributed
from autodiff_compiler.nn.metrics.classes import Top1CategoricalAccuracy as Top1CategoricalAccuracy
from autodiff_compiler.nn.metrics.classes import Top5CategoricalAccuracy as Top5CategoricalAccuracy
from autodiff_compiler.nn.metrics.classes import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from autodiff_compiler.nn.wrap.cell_wrapper import TrainOneStepCell as TrainOneStepCell
from autodiff_compiler.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell as TrainOneStepWithLossScaleCell
from autodiff_compiler.nn.attention import Transformer as Transformer
from autodiff_compiler.nn.attention import TransformerDecoder as TransformerDecoder
from autodiff_compiler.nn.attention import TransformerDecoderLayer as TransformerDecoderLayer
from autodiff_compiler.nn.attention import TransformerEncoder as TransformerEncoder
from autodiff_compiler.nn.attention import TransformerEncoderLayer as TransformerEncoderLayer
from autodiff_compiler.nn.arrays import Unflatten as Unflatten
from autodiff_compiler.nn.image import Unfold as Unfold
from autodiff_compiler.nn.derivatives import Vjp as Vjp
from autodiff_compiler.nn.learning_rate_schedule import WarmUpLR as WarmUpLR
from autodiff_compiler.nn.wrap.cell_wrapper import WithEvalCell as WithEvalCell
from autodiff_compiler.nn.wrap.cell_wrapper import WithGradCell as WithGradCell
from autodiff_compiler.nn.wrap.cell_wrapper import WithLossCell as WithLossCell
from autodiff_compiler.nn.padding import ZeroPad2d as ZeroPad2d
from autodiff_compiler.nn.metrics.curves import auc as auc
from autodiff_compiler.nn.dynamic_lr import cosine_decay_lr as cosine_decay_lr
from autodiff_compiler.nn.dynamic_lr import exponential_decay_lr as exponential_decay_lr
from autodiff_compiler.nn.activation import get_activation as get_activation
from autodiff_compiler.nn.metrics.names import get_metric_fn as get_metric_fn
from autodiff_compiler.nn.metrics.names import get_metrics as get_metrics
from autodiff_compiler.nn.dynamic_lr import inverse_decay_lr as inverse_decay_lr
from autodiff_compiler.nn.metrics.names import names as names
from autodiff_compiler.nn.dynamic_lr import natural_exp_decay_lr as natural_exp_decay_lr
from autodiff_compiler.nn.one_device import no_init_parameters as no_init_parameters
from autodiff_compiler.nn.dynamic_lr import piecewise_constant_lr as piecewise_constant_lr
from autodiff_compiler.nn.dynamic_lr import polynomial_decay_lr as polynomial_decay_lr
from autodiff_compiler.nn.metrics.base import rearrange_inputs as rearrange_inputs
from autodiff_compiler.nn.dynamic_lr import warmup_lr as warmup_lr

__all__ = [
    'ASGD',
    'Accuracy',
    'AdaFactor',
    'AdaMax',
    'Adadelta',
    'Adagrad',
    'Adam',
    'AdamOffload',
    'AdamW',
    'AdamWeightDecay',
    'AdaptiveAvgPool1d',
    'AdaptiveAvgPool2d',
    'AdaptiveAvgPool3d',
    'AdaptiveMaxPool1d',
    'AdaptiveMaxPool2d',
    'AdaptiveMaxPool3d',
    'AvgPool1d',
    'AvgPool2d',
    'AvgPool3d',
    'BCELoss',
    'BCEWithLogitsLoss',
    'BatchNorm1d',
    'BatchNorm2d',
    'BatchNorm3d',
    'BiDense',
    'BleuScore',
    'CELU',
    'CTCLoss',
    'Cell',
    'CellDict',
    'CellList',
    'CentralCrop',
    'ChannelShuffle',
    'ClipByNorm',
    'ConfusionMatrix',
    'ConfusionMatrixMetric',
    'ConstantPad1d',
    'ConstantPad2d',
    'ConstantPad3d',
    'Conv1d',
    'Conv1dTranspose',
    'Conv2d',
    'Conv2dBnAct',
    'Conv2dTranspose',
    'Conv3d',
    'Conv3dTranspose',
    'CosineDecayLR',
    'CosineEmbeddingLoss',
    'CosineSimilarity',
    'CrossEntropyLoss',
    'Dense',
    'DenseBnAct',
    'DiGamma',
    'Dice',
    'DiceLoss',
    'DistributedGradReducer',
    'Dropout',
    'Dropout1d',
    'Dropout2d',
    'Dropout3d',
    'DynamicLossScaleUpdateCell',
    'ELU',
    'Embedding',
    'EmbeddingLookup',
    'ExponentialDecayLR',
    'F1',
    'FTRL',
    'FastGelu',
    'Fbeta',
    'FixedLossScaleUpdateCell',
    'Flatten',
    'FocalLoss',
    'ForwardValueAndGrad',
    'FractionalMaxPool2d',
    'FractionalMaxPool3d',
    'GELU',
    'GLU',
    'GRU',
    'GRUCell',
    'GaussianNLLLoss',
    'GradAccumulationCell',
    'GroupNorm',
    'HShrink',
    'HSigmoid',
    'HSwish',
    'Hardtanh',
    'HausdorffDistance',
    'HingeEmbeddingLoss',
    'HuberLoss',
    'IGamma',
    'Identity',
    'ImageGradients',
    'InstanceNorm1d',
    'InstanceNorm2d',
    'InstanceNorm3d',
    'InverseDecayLR',
    'Jvp',
    'KLDivLoss',
    'L1Loss',
    'L1Regularizer',
    'LARS',
    'LBeta',
    'LGamma',
    'LPPool1d',
    'LPPool2d',
    'LRN',
    'LSTM',
    'LSTMCell',
    'Lamb',
    'LayerNorm',
    'LazyAdam',
    'LeakyReLU',
    'LearningRateSchedule',
    'Linear',
    'Lion',
    'LogSigmoid',
    'LogSoftmax',
    'Loss',
    'LossBase',
    'MAE',
    'MAELoss',
    'MSE',
    'MSELoss',
    'MSSSIM',
    'MarginRankingLoss',
    'MatDet',
    'MatInverse',
    'MatMul',
    'MatrixDiag',
    'MatrixDiagPart',
    'MatrixSetDiag',
    'MaxPool1d',
    'MaxPool2d',
    'MaxPool3d',
    'MaxUnpool1d',
    'MaxUnpool2d',
    'MaxUnpool3d',
    'MeanSurfaceDistance',
    'Metric',
    'MicroBatchInterleaved',
    'Mish',
    'Moments',
    'Momentum',
    'MultiClassDiceLoss',
    'MultiFieldEmbeddingLookup',
    'MultiLabelSoftMarginLoss',
    'MultiMarginLoss',
    'MultiheadAttention',
    'MultilabelMarginLoss',
    'NLLLoss',
    'NaturalExpDecayLR',
    'Norm',
    'OcclusionSensitivity',
    'OneHot',
    'Optimizer',
    'PReLU',
    'PSNR',
    'Pad',
    'ParameterUpdate',
    'Perplexity',
    'PixelShuffle',
    'PixelUnshuffle',
    'PoissonNLLLoss',
    'PolynomialDecayLR',
    'Precision',
    'ProximalAdagrad',
    'RMSELoss',
    'RMSProp',
    'RNN',
    'RNNCell',
    'ROC',
    'RReLU',
    'Range',
    'ReLU',
    'ReLU6',
    'Recall',
    'ReduceLogSumExp',
    'ReflectionPad1d',
    'ReflectionPad2d',
    'ReflectionPad3d',
    'ReplicationPad1d',
    'ReplicationPad2d',
    'ReplicationPad3d',
    'Roll',
    'RootMeanSquareDistance',
    'Rprop',
    'SGD',
    'SSIM',
    'SampledSoftmaxLoss',
    'SeLU',
    'SequentialCell',
    'SiLU',
    'Sigmoid',
    'SmoothL1Loss',
    'SoftMarginLoss',
    'SoftShrink',
    'Softmax',
    'Softmax2d',
    'SoftmaxCrossEntropyWithLogits',
    'Softmin',
    'Softplus',
    'Softsign',
    'SyncBatchNorm',
    'Tanh',
    'Tanhshrink',
    'Threshold',
    'TimeDistributed',
    'Top1CategoricalAccuracy',
    'Top5CategoricalAccuracy',
    'TopKCategoricalAccuracy',
    'TrainOneStepCell',
    'TrainOneStepWithLossScaleCell',
    'Transformer',
    'TransformerDecoder',
    'TransformerDecoderLayer',
    'TransformerEncoder',
    'TransformerEncoderLayer',
    'Tril',
    'TripletMarginLoss',
    'TripletMarginWithDistanceLoss',
    'Triu',
    'Unflatten',
    'Unfold',
    'Upsample',
    'Vjp',
    'WarmUpLR',
    'WithEvalCell',
    'WithGradCell',
    'WithLossCell',
    'ZeroPad2d',
    'auc',
    'cosine_decay_lr',
    'exponential_decay_lr',
    'get_activation',
    'get_metric_fn',
    'get_metrics',
    'inverse_decay_lr',
    'names',
    'natural_exp_decay_lr',
    'no_init_parameters',
    'piecewise_constant_lr',
    'polynomial_decay_lr',
    'rearrange_inputs',
    'warmup_lr',
]

class AdaptiveAvgPool1d(Layer):
    """Means of `output_size` nearly equal parts of the last dimension."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveAvgPool2d(Layer):
    """Means of nearly equal parts of [..., height, width]; `output_size` is one size or two, None keeps one."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveAvgPool3d(Layer):
    """Means of nearly equal parts of the last 3 dimensions; `output_size` is one size or three, None keeps one."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool1d(Layer):
    """Greatest elements of `output_size` nearly equal parts of the last dimension."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool2d(Layer):
    """Greatest elements of nearly equal parts of [..., height, width], with `return_indices` also their positions."""
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
class AdaptiveMaxPool3d(Layer):
    """Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
class AvgPool1d(Layer):
    """The mean of every window over the last dimension; see `AvgPool2d`."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
class AvgPool2d(Layer):
    """The mean of every window over [..., height, width]."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, data_format: str = 'NCHW') -> None: ...
class AvgPool3d(Layer):
    """The mean of every window over the last 3 dimensions; see `AvgPool2d`."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
class BCELoss(LossBase):
    """Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1."""
    def __init__(self, weight: Any = None, reduction: str = 'mean') -> None: ...
class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of sigmoid(logits), without overflow; `pos_weight` multiplies the part of the positives."""
    def __init__(self, reduction: str = 'mean', weight: Any = None, pos_weight: Any = None) -> None: ...
class BatchNorm1d(Layer):
    """[batch, channels] or [batch, channels, length] standardized per channel, times gamma plus beta; as `BatchNorm2d`."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.9, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', moving_mean_init: Any = 'zeros', moving_var_init: Any = 'ones', use_batch_statistics: bool | None = None, data_format: str = 'NCHW', dtype: Any = ...) -> None: ...
class BatchNorm2d(Layer):
    """[batch, channels, height, width] standardized per channel, times `gamma` plus `beta`."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.9, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', moving_mean_init: Any = 'zeros', moving_var_init: Any = 'ones', use_batch_statistics: bool | None = None, data_format: str = 'NCHW', dtype: Any = ...) -> None: ...
class BatchNorm3d(Layer):
    """[batch, channels, depth, height, width] standardized per channel, times gamma plus beta."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.9, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', moving_mean_init: Any = 'zeros', moving_var_init: Any = 'ones', use_batch_statistics: bool | None = None, dtype: Any = ...) -> None: ...
class BiDense(Layer):
    """``x1 @ weight[k] @ x2.T + bias[k]`` for every output channel k, over the last dimensions of two inputs."""
    def __init__(self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None, has_bias: bool = True, dtype: Any = ...) -> None: ...
class CELU(Layer):
    """x where it is positive, else alpha * (exp(x / alpha) - 1); ValueError: alpha is 0."""
    def __init__(self, alpha: float = 1.0) -> None: ...
class CTCLoss(LossBase):
    """Connectionist temporal classification of log-probabilities [T, N, C] or [T, C]; see `ops.ctc_loss`."""
    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> None: ...
class ChannelShuffle(Layer):
    """[..., channels, height, width] with the channels of all groups interleaved."""
    def __init__(self, groups: int) -> None: ...
class Conv1d(Layer):
    """Convolution of [batch, channels, length] with a weight [out_channels, in_channels / group, 1, kernel_size]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, dtype: Any = ...) -> None: ...
class Conv1dTranspose(Layer):
    """The transpose of a `Conv1d` in its input; its weight is [in_channels, out_channels / group, 1, kernel_size]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, dtype: Any = ...) -> None: ...
class Conv2d(Layer):
    """Convolution of [batch, channels, height, width] with a weight [out_channels, in_channels / group, h, w]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = 'NCHW', dtype: Any = ...) -> None: ...
class Conv2dTranspose(Layer):
    """The transpose of a `Conv2d` in its input; its weight is [in_channels, out_channels / group, h, w]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, dtype: Any = ...) -> None: ...
class Conv3d(Layer):
    """Convolution of [batch, channels, depth, height, width] with a weight [out_channels, in_channels / group, ...]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = 'NCDHW', dtype: Any = ...) -> None: ...
class Conv3dTranspose(Layer):
    """The transpose of a `Conv3d` in its input; its weight is [in_channels, out_channels / group, d, h, w]."""
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = 'same', padding: Any = 0, dilation: Any = 1, group: int = 1, output_padding: Any = 0, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = 'NCDHW', dtype: Any = ...) -> None: ...
class CosineEmbeddingLoss(LossBase):
    """1 - cosine where the label is 1, max(0, cosine - margin) where it is -1."""
    def __init__(self, margin: float = 0.0, reduction: str = 'mean') -> None: ...
class CrossEntropyLoss(LossBase):
    """Cross entropy of logits [N, C, ...] against classes [N, ...] or probabilities of the logits' shape."""
    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean', label_smoothing: float = 0.0) -> None: ...
class Dense(Layer):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` over the last dimension of x."""
    def __init__(self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None, has_bias: bool = True, activation: Any = None, dtype: Any = ...) -> None: ...
class DiGamma(Layer):
    """The derivative of the logarithm of the gamma function."""
    def __init__(self) -> None: ...
class DiceLoss(LossBase):
    """``1 - 2 * sum(x * y) / (sum(x * x) + sum(y * y) + smooth)``."""
    def __init__(self, smooth: float = 1e-05) -> None: ...
class Dropout(Layer):
    """In training 0 with probability p, else x / (1 - p); otherwise x."""
    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = None) -> None: ...
class Dropout1d(Layer):
    """In training whole channels of [batch, channels, n] are 0 with probability p, the others times 1 / (1 - p)."""
    def __init__(self, p: float = 0.5) -> None: ...
class Dropout2d(Layer):
    """In training whole channels of [batch, channels, h, w] are 0 with probability p, the others times 1 / (1 - p)."""
    def __init__(self, p: float = 0.5) -> None: ...
class Dropout3d(Layer):
    """In training whole channels of [batch, channels, d, h, w] are 0 with probability p, others times 1 / (1 - p)."""
    def __init__(self, p: float = 0.5) -> None: ...
class ELU(Layer):
    """x where it is positive, else alpha * (exp(x) - 1); its derivative at 0 is alpha."""
    def __init__(self, alpha: float = 1.0) -> None: ...
class Embedding(Layer):
    """The rows of `embedding_table` [vocab_size, embedding_size] that integers name."""
    def __init__(self, vocab_size: int, embedding_size: int, use_one_hot: bool = False, embedding_table: Any = 'normal', dtype: Any = ..., padding_idx: int | None = None) -> None: ...
class EmbeddingLookup(Layer):
    """The rows of `embedding_table` that integers name; zeros for those beyond the table."""
    def __init__(self, vocab_size: int, embedding_size: int, param_init: Any = 'normal', target: str = 'CPU', slice_mode: str = 'batch_slice', manual_shapes: Any = None, max_norm: float | None = None, sparse: bool = True, dtype: Any = ...) -> None: ...
class FastGelu(Layer):
    """x * sigmoid(1.702 x), a rough gelu."""
    def __init__(self) -> None: ...
class Flatten(Layer):
    """The dimensions from `start_dim` to `end_dim` made one: by default all but the first, the batch."""
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...
class FocalLoss(LossBase):
    """``-(1 - p) ** gamma * log(p)`` of the probabilities p of the classes that are labels."""
    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = 'mean') -> None: ...
class FractionalMaxPool2d(Layer):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool2d`."""
    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None) -> None: ...
class FractionalMaxPool3d(Layer):
    """The greatest elements of regions of random place; see `ops.fractional_max_pool3d`."""
    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None) -> None: ...
class GELU(Layer):
    """x times the standard normal distribution function at x: approximated by tanh, or exact without `approximate`."""
    def __init__(self, approximate: bool = True) -> None: ...
class GLU(Layer):
    """The first half of an axis times the sigmoid of the second."""
    def __init__(self, axis: int = -1) -> None: ...
class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of labels under normal distributions of mean `logits` and variance `var`."""
    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> None: ...
class GroupNorm(Layer):
    """[batch, channels, ...] standardized over groups of neighbouring channels, times gamma plus beta per channel."""
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', dtype: Any = ...) -> None: ...
class HShrink(Layer):
    """x, but 0 from -lambd to lambd; its derivative at both is 0."""
    def __init__(self, lambd: float = 0.5) -> None: ...
class HSigmoid(Layer):
    """(x + 3) / 6 between 0 and 1; its derivative at -3 and 3 is 0."""
    def __init__(self) -> None: ...
class HSwish(Layer):
    """x * hardsigmoid(x); its derivative at -3 is 0, at 3 it is 1."""
    def __init__(self) -> None: ...
class Hardtanh(Layer):
    """x between two bounds; ValueError if min_val > max_val."""
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None: ...
class HingeEmbeddingLoss(LossBase):
    """The input where the label is 1, max(0, margin - input) where it is -1."""
    def __init__(self, margin: float = 1.0, reduction: str = 'mean') -> None: ...
class HuberLoss(LossBase):
    """Half the squared difference up to delta, beyond it linear with the slope delta."""
    def __init__(self, reduction: str = 'mean', delta: float = 1.0) -> None: ...
class IGamma(Layer):
    """The lower incomplete gamma function of `a` at x, divided by the gamma function; they broadcast."""
    def __init__(self) -> None: ...
class InstanceNorm1d(Layer):
    """[batch, channels, length] standardized for every sample and channel, times gamma plus beta per channel."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', dtype: Any = ...) -> None: ...
class InstanceNorm2d(Layer):
    """[batch, channels, height, width] standardized for every sample and channel, times gamma plus beta."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', dtype: Any = ...) -> None: ...
class InstanceNorm3d(Layer):
    """[batch, channels, depth, height, width] standardized for every sample and channel, times gamma plus beta."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', dtype: Any = ...) -> None: ...
class L1Regularizer(Layer):
    """`scale` times the sum of absolute values of the weights; TypeError, ValueError: no finite positive number."""
    def __init__(self, scale: float) -> None: ...
class LBeta(Layer):
    """The logarithm of the beta function: ``lgamma(x) + lgamma(y) - lgamma(x + y)``; they broadcast."""
    def __init__(self) -> None: ...
class LGamma(Layer):
    """The logarithm of the absolute value of the gamma function."""
    def __init__(self) -> None: ...
class LPPool1d(Layer):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, length]."""
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None: ...
class LPPool2d(Layer):
    """The `norm_type`-th root of the sum of powers in every window of [..., channels, height, width]."""
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None: ...
class LRN(Layer):
    """Local response normalization over 2 depth_radius + 1 neighbouring channels; see `ops.lrn`."""
    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, norm_region: str = 'ACROSS_CHANNELS') -> None: ...
class LayerNorm(Layer):
    """Standardized over the dimensions from `begin_norm_axis` on, times `gamma` plus `beta`."""
    def __init__(self, normalized_shape: Any, begin_norm_axis: int = -1, begin_params_axis: int = -1, gamma_init: Any = 'ones', beta_init: Any = 'zeros', epsilon: float = 1e-07, dtype: Any = ...) -> None: ...
class LeakyReLU(Layer):
    """x where it is positive, else alpha * x; its derivative at 0 is alpha."""
    def __init__(self, alpha: float = 0.2) -> None: ...
class LogSigmoid(Layer):
    """log(sigmoid(x)), without overflow."""
    def __init__(self) -> None: ...
class LogSoftmax(Layer):
    """Logarithm of softmax along an axis, without overflow."""
    def __init__(self, axis: int = -1) -> None: ...
class MarginRankingLoss(LossBase):
    """max(0, margin - target * (input1 - input2))."""
    def __init__(self, margin: float = 0.0, reduction: str = 'mean') -> None: ...
class MatDet(Layer):
    """The determinants of square matrices."""
    def __init__(self) -> None: ...
class MatInverse(Layer):
    """The inverses of square matrices; LinAlgError if one is singular."""
    def __init__(self) -> None: ...
class MatMul(Layer):
    """The matrix product of two inputs, with the last two dimensions of one exchanged first by its `transpose_x...`."""
    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None: ...
class MatrixDiag(Layer):
    """Square matrices with the given diagonals, [..., n] as [..., n, n], and zeros elsewhere."""
    def __init__(self) -> None: ...
class MatrixDiagPart(Layer):
    """The diagonals of matrices, [..., m, n] as [..., min(m, n)]."""
    def __init__(self) -> None: ...
class MatrixSetDiag(Layer):
    """Matrices [..., m, n] with other diagonals, [..., min(m, n)]."""
    def __init__(self) -> None: ...
class MaxPool1d(Layer):
    """The greatest element of every window over the last dimension; see `MaxPool2d`."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
class MaxPool2d(Layer):
    """The greatest element of every window over [..., height, width]."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False, data_format: str = 'NCHW') -> None: ...
class MaxPool3d(Layer):
    """The greatest element of every window over the last 3 dimensions; see `MaxPool2d`."""
    def __init__(self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
class MaxUnpool1d(Layer):
    """Zeros with the elements of x where a `MaxPool1d` found them (`indices`)."""
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None: ...
class MaxUnpool2d(Layer):
    """Zeros with the elements of x where a `MaxPool2d` found them (`indices`)."""
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None: ...
class MaxUnpool3d(Layer):
    """Zeros with the elements of x where a `MaxPool3d` found them (`indices`)."""
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None: ...
class Mish(Layer):
    """x * tanh(softplus(x))."""
    def __init__(self) -> None: ...
class MultiLabelSoftMarginLoss(LossBase):
    """Binary cross entropy with logits, averaged over the classes, for [batch, classes]."""
    def __init__(self, weight: Any = None, reduction: str = 'mean') -> None: ...
class MultiMarginLoss(LossBase):
    """The mean over the other classes of max(0, margin - x[target] + x[class]) ** p; p is 1 or 2."""
    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = 'mean', weight: Any = None) -> None: ...
class NLLLoss(LossBase):
    """Negative log-likelihood of classes [N, ...], given log-probabilities [N, C, ...]."""
    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean') -> None: ...
class Norm(Layer):
    """The root of the sum of squares over axes, by default over all."""
    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None: ...
class PReLU(Layer):
    """x where it is positive, else w * x, with a trained `w`: one for all, or one per channel (axis 1)."""
    def __init__(self, channel: int = 1, w: Any = 0.25) -> None: ...
class PixelShuffle(Layer):
    """[..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor."""
    def __init__(self, upscale_factor: int) -> None: ...
class PixelUnshuffle(Layer):
    """The inverse of `PixelShuffle`."""
    def __init__(self, downscale_factor: int) -> None: ...
class PoissonNLLLoss(LossBase):
    """Negative log-likelihood of counts under Poisson distributions of given rates, or with `log_input` their logs."""
    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-08, reduction: str = 'mean') -> None: ...
class RMSELoss(LossBase):
    """The root of the mean of squared differences."""
    def __init__(self) -> None: ...
class RReLU(Layer):
    """x where it is positive, else x times a random slope from `lower` to `upper`; ValueError if lower > upper."""
    def __init__(self, lower: float = 0.125, upper: float = 0.3333333333333333) -> None: ...
class ReLU(Layer):
    """max(x, 0) for every element."""
    def __init__(self) -> None: ...
class ReLU6(Layer):
    """x between 0 and 6; its derivative at both is 0."""
    def __init__(self) -> None: ...
class ReduceLogSumExp(Layer):
    """log of the sum of exp(x) over axes, without overflow."""
    def __init__(self, axis: Any, keep_dims: bool = False) -> None: ...
class Roll(Layer):
    """Elements shifted along axes; those that leave one end come back at the other."""
    def __init__(self, shift: Any, axis: Any) -> None: ...
class SeLU(Layer):
    """elu with the two constants for which activations keep mean 0 and variance 1; at 0 the left derivative."""
    def __init__(self) -> None: ...
class SiLU(Layer):
    """x * sigmoid(x), also called swish."""
    def __init__(self) -> None: ...
class Sigmoid(Layer):
    """1 / (1 + exp(-x)) for every element."""
    def __init__(self) -> None: ...
class SmoothL1Loss(LossBase):
    """Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."""
    def __init__(self, beta: float = 1.0, reduction: str = 'none') -> None: ...
class SoftShrink(Layer):
    """x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."""
    def __init__(self, lambd: float = 0.5) -> None: ...
class Softmax(Layer):
    """exp(x) divided by its sum along an axis, an int or a tuple of one."""
    def __init__(self, axis: Any = -1) -> None: ...
class Softmax2d(Layer):
    """Softmax over the channels of [batch, channels, height, width] or [channels, height, width]."""
    def __init__(self) -> None: ...
class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of logits [N, C] against classes [N] (``sparse=True``) or probabilities [N, C]."""
    def __init__(self, sparse: bool = False, reduction: str = 'none') -> None: ...
class Softmin(Layer):
    """softmax(-x) along an axis."""
    def __init__(self, axis: int = -1) -> None: ...
class Softplus(Layer):
    """log(1 + exp(beta x)) / beta without overflow; x itself where beta x exceeds the threshold."""
    def __init__(self, beta: float = 1, threshold: float = 20) -> None: ...
class Softsign(Layer):
    """x / (1 + abs(x))."""
    def __init__(self) -> None: ...
class SyncBatchNorm(Layer):
    """`BatchNorm1d` or `BatchNorm2d` with the statistics of the batches of all processes together."""
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.9, affine: bool = True, gamma_init: Any = 'ones', beta_init: Any = 'zeros', moving_mean_init: Any = 'zeros', moving_var_init: Any = 'ones', use_batch_statistics: bool | None = None, process_groups: Any = None, dtype: Any = ...) -> None: ...
class Tanh(Layer):
    """Hyperbolic tangent of every element."""
    def __init__(self) -> None: ...
class Tanhshrink(Layer):
    """x - tanh(x), which does not cancel near 0."""
    def __init__(self) -> None: ...
class Threshold(Layer):
    """x where it is greater than `threshold`, else `value`; its derivative at `threshold` is 0."""
    def __init__(self, threshold: float, value: float) -> None: ...
class Tril(Layer):
    """The lower triangle of matrices up to the diagonal `k`, elsewhere 0."""
    def __init__(self) -> None: ...
class TripletMarginLoss(LossBase):
    """max(0, margin + distance to the positive - distance to the negative)."""
    def __init__(self, p: float = 2, swap: bool = False, eps: float = 1e-06, reduction: str = 'mean', margin: float = 1.0) -> None: ...
class TripletMarginWithDistanceLoss(LossBase):
    """max(0, margin + distance to the positive - distance to the negative), with a distance of one's own."""
    def __init__(self, distance_function: Any = None, swap: bool = False, reduction: str = 'mean', margin: float = 1.0) -> None: ...
class Triu(Layer):
    """The upper triangle of matrices from the diagonal `k` on, elsewhere 0."""
    def __init__(self) -> None: ...
class Upsample(Layer):
    """[batch, channels, ...] resized to `size`, or by `scale_factor`; modes as in `ops.interpolate`."""
    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None: ...
