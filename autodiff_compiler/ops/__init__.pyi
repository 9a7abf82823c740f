"""Written by `python tools/stubs.py` from the package itself; do not edit by hand."""

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.dtypes import DType as _DType
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.ops.operation import Operation
from autodiff_compiler.runtime.tensor import Tensor

from autodiff_compiler.ops.user_functions import Custom as Custom
from autodiff_compiler.transforms.grad import GradOperation as GradOperation
from autodiff_compiler.transforms.custom import HookBackward as HookBackward
from autodiff_compiler.ops.composite_functions import HyperMap as HyperMap
from autodiff_compiler.transforms.custom import InsertGradientOf as InsertGradientOf
from autodiff_compiler.ops.composite_functions import Map as Map
from autodiff_compiler.ops.composite_functions import MultitypeFuncGraph as MultitypeFuncGraph
from autodiff_compiler.ops.communication import P2POp as P2POp
from autodiff_compiler.ops.user_functions import Partial as Partial
from autodiff_compiler.ops.primitive import Primitive as Primitive
from autodiff_compiler.ops.primitive import PrimitiveWithCheck as PrimitiveWithCheck
from autodiff_compiler.ops.primitive import PrimitiveWithInfer as PrimitiveWithInfer
from autodiff_compiler.ops.user_functions import PyFunc as PyFunc
from autodiff_compiler.ops.communication import ReduceOp as ReduceOp
from autodiff_compiler.ops.math import addn as accumulate_n
from autodiff_compiler.ops.aliases import adaptive_avg_pool2d_ext as adaptive_avg_pool2d_ext
from autodiff_compiler.ops.aliases import add_ext as add_ext
from autodiff_compiler.ops.linalg import addbmm as addbmm
from autodiff_compiler.ops.math import addn as addn
from autodiff_compiler.primitives.arithmetic import allclose as allclose
from autodiff_compiler.primitives.summaries import argmax_with_value as argmax_with_value
from autodiff_compiler.primitives.summaries import argmin_with_value as argmin_with_value
from autodiff_compiler.ops.python_values import array_to_scalar as array_to_scalar
from autodiff_compiler.ops.state import assign as assign
from autodiff_compiler.ops.state import assign_add as assign_add
from autodiff_compiler.ops.state import assign_sub as assign_sub
from autodiff_compiler.ops.array import atleast_1d as atleast_1d
from autodiff_compiler.ops.array import atleast_2d as atleast_2d
from autodiff_compiler.ops.array import atleast_3d as atleast_3d
from autodiff_compiler.ops.python_values import scalar_add as augassign_add
from autodiff_compiler.ops.python_values import scalar_div as augassign_div
from autodiff_compiler.ops.python_values import scalar_floordiv as augassign_floordiv
from autodiff_compiler.ops.python_values import scalar_mod as augassign_mod
from autodiff_compiler.ops.python_values import scalar_mul as augassign_mul
from autodiff_compiler.ops.python_values import scalar_sub as augassign_sub
from autodiff_compiler.ops.linalg import baddbmm as baddbmm
from autodiff_compiler.ops.aliases import baddbmm_ext as baddbmm_ext
from autodiff_compiler.ops.nn_func import batch_norm as batch_norm
from autodiff_compiler.ops.random import bernoulli as bernoulli
from autodiff_compiler.ops.in_place import bernoulli_ as bernoulli_
from autodiff_compiler.ops.python_values import bool_and as bool_and
from autodiff_compiler.ops.python_values import bool_eq as bool_eq
from autodiff_compiler.ops.python_values import bool_not as bool_not
from autodiff_compiler.ops.python_values import bool_or as bool_or
from autodiff_compiler.ops.random import choice_with_mask as choice_with_mask
from autodiff_compiler.primitives.placement import choose as choose
from autodiff_compiler.ops.in_place import clamp_ as clamp_
from autodiff_compiler.primitives.conversion import clone as clone
from autodiff_compiler.transforms.host import constexpr as constexpr
from autodiff_compiler.ops.nn_func import cross_entropy as cross_entropy
from autodiff_compiler.transforms.custom import custom_vjp as custom_vjp
from autodiff_compiler.ops.python_values import deepcopy as deepcopy
from autodiff_compiler.ops.aliases import depend as depend
from autodiff_compiler.transforms.taylor import derivative as derivative
from autodiff_compiler.ops.linalg import diag as diag
from autodiff_compiler.ops.python_values import dict_getitem as dict_getitem
from autodiff_compiler.ops.python_values import dict_setitem as dict_setitem
from autodiff_compiler.ops.aliases import diff_ext as diff_ext
from autodiff_compiler.primitives.shape import dim as dim
from autodiff_compiler.ops.basic import div as div
from autodiff_compiler.ops.basic import div as divide
from autodiff_compiler.ops.basic import dot as dot
from autodiff_compiler.ops.random import dropout as dropout
from autodiff_compiler.ops.random import dropout1d as dropout1d
from autodiff_compiler.ops.random import dropout2d as dropout2d
from autodiff_compiler.ops.random import dropout3d as dropout3d
from autodiff_compiler.ops.aliases import dtype as dtype
from autodiff_compiler.ops.aliases import dyn_shape as dyn_shape
from autodiff_compiler.ops.nn_func import embedding as embedding
from autodiff_compiler.ops.math import eps as eps
from autodiff_compiler.ops.in_place import erfinv_ as erfinv_
from autodiff_compiler.ops.array import expand_as as expand_as
from autodiff_compiler.ops.in_place import exponential_ as exponential_
from autodiff_compiler.ops.spectral import fftfreq as fftfreq
from autodiff_compiler.ops.spectral import fftshift as fftshift
from autodiff_compiler.primitives.placement import fill_diagonal as fill_diagonal
from autodiff_compiler.ops.basic import flatten as flatten
from autodiff_compiler.ops.vision import fractional_max_pool2d as fractional_max_pool2d
from autodiff_compiler.ops.vision import fractional_max_pool3d as fractional_max_pool3d
from autodiff_compiler.ops.random import gamma as gamma
from autodiff_compiler.ops.linalg import geqrf as geqrf
from autodiff_compiler.transforms.grad import get_grad as get_grad
from autodiff_compiler.transforms.grad import grad as grad
from autodiff_compiler.ops.random import gumbel_softmax as gumbel_softmax
from autodiff_compiler.ops.python_values import hastype as hastype
from autodiff_compiler.ops.python_values import identity as identity
from autodiff_compiler.ops.spectral import ifftshift as ifftshift
from autodiff_compiler.ops.python_values import in_dict as in_dict
from autodiff_compiler.primitives.subscript import index_put as index_put
from autodiff_compiler.ops.indexing import inplace_add as inplace_add
from autodiff_compiler.ops.state import inplace_index_add as inplace_index_add
from autodiff_compiler.ops.in_place import inplace_sigmoid as inplace_sigmoid
from autodiff_compiler.ops.indexing import inplace_sub as inplace_sub
from autodiff_compiler.primitives.normalization import instance_norm as instance_norm
from autodiff_compiler.ops.math import intopk as intopk
from autodiff_compiler.ops.python_values import is_ as is_
from autodiff_compiler.ops.math import is_complex as is_complex
from autodiff_compiler.primitives.conversion import is_contiguous as is_contiguous
from autodiff_compiler.ops.math import is_floating_point as is_floating_point
from autodiff_compiler.ops.python_values import is_nonzero as is_nonzero
from autodiff_compiler.ops.python_values import is_not as is_not
from autodiff_compiler.ops.python_values import is_sequence_shape_unknown as is_sequence_shape_unknown
from autodiff_compiler.ops.python_values import is_sequence_value_unknown as is_sequence_value_unknown
from autodiff_compiler.primitives.conversion import is_signed as is_signed
from autodiff_compiler.ops.aliases import is_tensor as is_tensor
from autodiff_compiler.ops.aliases import isconstant as isconstant
from autodiff_compiler.transforms.jacobian import jacfwd as jacfwd
from autodiff_compiler.transforms.jacobian import jacrev as jacrev
from autodiff_compiler.transforms.taylor import jet as jet
from autodiff_compiler.transforms.jvp import jvp as jvp
from autodiff_compiler.primitives.summaries import kthvalue as kthvalue
from autodiff_compiler.ops.random import laplace as laplace
from autodiff_compiler.transforms.jacobian import linearize as linearize
from autodiff_compiler.ops.python_values import tuple_equal as list_equal
from autodiff_compiler.ops.python_values import tuple_getitem as list_getitem
from autodiff_compiler.ops.python_values import tuple_len as list_len
from autodiff_compiler.ops.python_values import list_setitem as list_setitem
from autodiff_compiler.ops.nn_func import lrn as lrn
from autodiff_compiler.ops.linalg import lu_unpack as lu_unpack
from autodiff_compiler.ops.python_values import make_dict as make_dict
from autodiff_compiler.ops.python_values import make_list as make_list
from autodiff_compiler.ops.python_values import make_range as make_range
from autodiff_compiler.ops.python_values import make_slice as make_slice
from autodiff_compiler.ops.python_values import make_tuple as make_tuple
from autodiff_compiler.primitives.update import masked_scatter as masked_scatter
from autodiff_compiler.ops.linalg import matrix_solve as matrix_solve
from autodiff_compiler.ops.basic import max as max
from autodiff_compiler.ops.basic import mean as mean
from autodiff_compiler.ops.basic import min as min
from autodiff_compiler.ops.aliases import mixed_precision_cast as mixed_precision_cast
from autodiff_compiler.ops.random import multinomial as multinomial
from autodiff_compiler.ops.random import multinomial_with_replacement as multinomial_with_replacement
from autodiff_compiler.primitives.create import new_full as new_full
from autodiff_compiler.primitives.create import new_ones as new_ones
from autodiff_compiler.primitives.create import new_zeros as new_zeros
from autodiff_compiler.ops.nn_func import nll_loss as nll_loss
from autodiff_compiler.ops.random import normal as normal
from autodiff_compiler.ops.in_place import normal_ as normal_
from autodiff_compiler.ops.python_values import not_in_dict as not_in_dict
from autodiff_compiler.ops.array import padding as padding
from autodiff_compiler.ops.random import poisson as poisson
from autodiff_compiler.primitives.losses import poisson_nll_loss as poisson_nll_loss
from autodiff_compiler.ops.primitive import prim_attr_register as prim_arg_register
from autodiff_compiler.ops.primitive import prim_attr_register as prim_attr_register
from autodiff_compiler.ops.aliases import print_ as print_
from autodiff_compiler.primitives.summaries import ptp as ptp
from autodiff_compiler.ops.in_place import put_ as put_
from autodiff_compiler.ops.linalg import qr as qr
from autodiff_compiler.ops.random import rand as rand
from autodiff_compiler.ops.random import rand_like as rand_like
from autodiff_compiler.ops.random import randint as randint
from autodiff_compiler.ops.random import randint_like as randint_like
from autodiff_compiler.ops.random import randn as randn
from autodiff_compiler.ops.random import randn_like as randn_like
from autodiff_compiler.ops.in_place import random_ as random_
from autodiff_compiler.ops.random import random_categorical as random_categorical
from autodiff_compiler.ops.random import random_gamma as random_gamma
from autodiff_compiler.ops.random import random_poisson as random_poisson
from autodiff_compiler.ops.random import randperm as randperm
from autodiff_compiler.ops.array import range as range
from autodiff_compiler.ops.basic import rank as rank
from autodiff_compiler.ops.math import reduce_prod as reduce_prod
from autodiff_compiler.ops.basic import reduce_sum as reduce_sum
from autodiff_compiler.ops.basic import relu as relu
from autodiff_compiler.primitives.rearrange import repeat as repeat
from autodiff_compiler.primitives.rearrange import reshape_as as reshape_as
from autodiff_compiler.primitives.placement import resize as resize
from autodiff_compiler.ops.spectral import rfftfreq as rfftfreq
from autodiff_compiler.ops.random import rrelu as rrelu
from autodiff_compiler.ops.python_values import scalar_add as scalar_add
from autodiff_compiler.ops.aliases import scalar_cast as scalar_cast
from autodiff_compiler.ops.python_values import scalar_div as scalar_div
from autodiff_compiler.ops.python_values import scalar_eq as scalar_eq
from autodiff_compiler.ops.python_values import scalar_floordiv as scalar_floordiv
from autodiff_compiler.ops.python_values import scalar_ge as scalar_ge
from autodiff_compiler.ops.python_values import scalar_gt as scalar_gt
from autodiff_compiler.ops.python_values import scalar_le as scalar_le
from autodiff_compiler.ops.python_values import scalar_log as scalar_log
from autodiff_compiler.ops.python_values import scalar_lt as scalar_lt
from autodiff_compiler.ops.python_values import scalar_max as scalar_max
from autodiff_compiler.ops.python_values import scalar_min as scalar_min
from autodiff_compiler.ops.python_values import scalar_mod as scalar_mod
from autodiff_compiler.ops.python_values import scalar_mul as scalar_mul
from autodiff_compiler.ops.python_values import scalar_ne as scalar_ne
from autodiff_compiler.ops.python_values import scalar_pow as scalar_pow
from autodiff_compiler.ops.python_values import scalar_sub as scalar_sub
from autodiff_compiler.ops.aliases import scalar_to_array as scalar_to_array
from autodiff_compiler.ops.aliases import scalar_to_tensor as scalar_to_tensor
from autodiff_compiler.ops.python_values import scalar_uadd as scalar_uadd
from autodiff_compiler.ops.python_values import scalar_usub as scalar_usub
from autodiff_compiler.ops.state import scatter_add as scatter_add
from autodiff_compiler.ops.state import scatter_div as scatter_div
from autodiff_compiler.ops.state import scatter_max as scatter_max
from autodiff_compiler.ops.state import scatter_min as scatter_min
from autodiff_compiler.ops.state import scatter_mul as scatter_mul
from autodiff_compiler.ops.state import scatter_nd_add as scatter_nd_add
from autodiff_compiler.ops.state import scatter_nd_div as scatter_nd_div
from autodiff_compiler.ops.state import scatter_nd_max as scatter_nd_max
from autodiff_compiler.ops.state import scatter_nd_min as scatter_nd_min
from autodiff_compiler.ops.state import scatter_nd_mul as scatter_nd_mul
from autodiff_compiler.ops.state import scatter_nd_sub as scatter_nd_sub
from autodiff_compiler.ops.state import scatter_nd_update as scatter_nd_update
from autodiff_compiler.ops.state import scatter_update as scatter_update
from autodiff_compiler.ops.indexing import searchsorted as searchsorted
from autodiff_compiler.ops.array import sequence_mask as sequence_mask
from autodiff_compiler.ops.basic import shape as shape
from autodiff_compiler.ops.aliases import shape_ as shape_
from autodiff_compiler.ops.python_values import shape_mul as shape_mul
from autodiff_compiler.ops.random import shuffle as shuffle
from autodiff_compiler.ops.nn_func import softmax as softmax
from autodiff_compiler.ops.nn_func import softmin as softmin
from autodiff_compiler.ops.indexing import sort as sort
from autodiff_compiler.ops.segments import sparse_segment_mean as sparse_segment_mean
from autodiff_compiler.ops.random import standard_laplace as standard_laplace
from autodiff_compiler.ops.random import standard_normal as standard_normal
from autodiff_compiler.ops.basic import stop_gradient as stop_gradient
from autodiff_compiler.primitives.conversion import stride as stride
from autodiff_compiler.ops.python_values import string_concat as string_concat
from autodiff_compiler.ops.python_values import string_eq as string_eq
from autodiff_compiler.ops.aliases import sub_ext as sub_ext
from autodiff_compiler.ops.basic import subtract as subtract
from autodiff_compiler.primitives.placement import sum_to_size as sum_to_size
from autodiff_compiler.ops.python_values import tail as tail
from autodiff_compiler.ops.in_place import tanh_ as tanh_
from autodiff_compiler.ops.aliases import tensor_range as tensor_range
from autodiff_compiler.ops.aliases import tensor_slice as tensor_slice
from autodiff_compiler.ops.indexing import top_k as top_k
from autodiff_compiler.ops.indexing import topk as topk
from autodiff_compiler.ops.linalg import trace as trace
from autodiff_compiler.ops.math import truncate_div as truncate_div
from autodiff_compiler.ops.python_values import tuple_div as tuple_div
from autodiff_compiler.ops.python_values import tuple_equal as tuple_equal
from autodiff_compiler.ops.python_values import tuple_getitem as tuple_getitem
from autodiff_compiler.ops.python_values import tuple_len as tuple_len
from autodiff_compiler.ops.python_values import tuple_reversed as tuple_reversed
from autodiff_compiler.ops.python_values import tuple_setitem as tuple_setitem
from autodiff_compiler.ops.aliases import tuple_to_array as tuple_to_array
from autodiff_compiler.ops.python_values import typeof as typeof
from autodiff_compiler.ops.random import uniform as uniform
from autodiff_compiler.ops.in_place import uniform_ as uniform_
from autodiff_compiler.ops.indexing import unique as unique
from autodiff_compiler.ops.indexing import unique_with_pad as unique_with_pad
from autodiff_compiler.transforms.grad import value_and_grad as value_and_grad
from autodiff_compiler.transforms.vjp import vjp as vjp
from autodiff_compiler.transforms.vmap import vmap as vmap
from autodiff_compiler.ops.in_place import zero_ as zero_

__all__ = [
    'ACos',
    'Abs',
    'AccumulateNV2',
    'Acosh',
    'Adam',
    'AdamWeightDecay',
    'AdaptiveAvgPool2D',
    'AdaptiveAvgPool3D',
    'AdaptiveMaxPool2D',
    'AdaptiveMaxPool3D',
    'Add',
    'AddN',
    'Addcdiv',
    'Addcmul',
    'AffineGrid',
    'AllGather',
    'AllGatherV',
    'AllReduce',
    'AlltoAll',
    'AlltoAllV',
    'AlltoAllVC',
    'Angle',
    'ApplyAdaMax',
    'ApplyAdadelta',
    'ApplyAdagrad',
    'ApplyAdagradDA',
    'ApplyAdagradV2',
    'ApplyAdamWithAmsgrad',
    'ApplyAdamWithAmsgradV2',
    'ApplyAddSign',
    'ApplyCenteredRMSProp',
    'ApplyFtrl',
    'ApplyGradientDescent',
    'ApplyKerasMomentum',
    'ApplyMomentum',
    'ApplyPowerSign',
    'ApplyProximalAdagrad',
    'ApplyProximalGradientDescent',
    'ApplyRMSProp',
    'ApproximateEqual',
    'ArgMaxWithValue',
    'ArgMinWithValue',
    'Argmax',
    'Argmin',
    'Asin',
    'Asinh',
    'Assign',
    'AssignAdd',
    'AssignSub',
    'Atan',
    'Atan2',
    'Atanh',
    'AvgPool',
    'AvgPool3D',
    'BCEWithLogitsLoss',
    'Barrier',
    'BartlettWindow',
    'BatchMatMul',
    'BatchNorm',
    'BatchToSpace',
    'BatchToSpaceND',
    'Bernoulli',
    'BesselI0',
    'BesselI0e',
    'BesselI1',
    'BesselI1e',
    'BesselJ0',
    'BesselJ1',
    'BesselK0',
    'BesselK0e',
    'BesselK1',
    'BesselK1e',
    'BesselY0',
    'BesselY1',
    'BiasAdd',
    'BinaryCrossEntropy',
    'Bincount',
    'BitwiseAnd',
    'BitwiseOr',
    'BitwiseXor',
    'BlackmanWindow',
    'BoundingBoxDecode',
    'BoundingBoxEncode',
    'Broadcast',
    'BroadcastTo',
    'Bucketize',
    'CTCGreedyDecoder',
    'CTCLossV2',
    'Cast',
    'Cauchy',
    'Cdist',
    'CeLU',
    'Ceil',
    'ChannelShuffle',
    'CheckValid',
    'Cholesky',
    'CholeskyInverse',
    'CholeskySolve',
    'Col2Im',
    'CollectiveGather',
    'CollectiveScatter',
    'Concat',
    'ConfusionMatrix',
    'Conj',
    'Conv2D',
    'Conv2DBackpropInput',
    'Conv2DTranspose',
    'Conv3D',
    'Conv3DTranspose',
    'Cos',
    'Cosh',
    'CountNonZero',
    'CropAndResize',
    'Cross',
    'CumProd',
    'CumSum',
    'Cummax',
    'Cummin',
    'CumulativeLogsumexp',
    'Custom',
    'DType',
    'DataFormatDimMap',
    'DataFormatVecPermute',
    'Dense',
    'Depend',
    'DepthToSpace',
    'DepthwiseConv2dNative',
    'Diag',
    'DiagPart',
    'Digamma',
    'Div',
    'DivNoNan',
    'Dropout',
    'Dropout2D',
    'Dropout3D',
    'DynamicShape',
    'Einsum',
    'Elu',
    'EmbeddingLookup',
    'Eps',
    'Equal',
    'EqualCount',
    'Erf',
    'Erfc',
    'Erfinv',
    'EuclideanNorm',
    'Exp',
    'Expand',
    'ExpandDims',
    'Expm1',
    'Eye',
    'FastGeLU',
    'FastGelu',
    'Fill',
    'FillDiagonal',
    'FillV2',
    'Fills',
    'Flatten',
    'FloatStatus',
    'Floor',
    'FloorDiv',
    'FloorMod',
    'Fmax',
    'Fmin',
    'ForiLoop',
    'GLU',
    'Gamma',
    'Gather',
    'GatherD',
    'GatherNd',
    'GatherV2',
    'Gcd',
    'GeLU',
    'Gelu',
    'Geqrf',
    'Ger',
    'GradOperation',
    'Greater',
    'GreaterEqual',
    'GridSampler2D',
    'GridSampler3D',
    'HShrink',
    'HSigmoid',
    'HSwish',
    'HammingWindow',
    'Heaviside',
    'Histogram',
    'HookBackward',
    'HyperMap',
    'Hypot',
    'IOU',
    'Identity',
    'IdentityN',
    'Igamma',
    'Igammac',
    'Im2Col',
    'Imag',
    'InTopK',
    'IndexAdd',
    'IndexFill',
    'IndexPut',
    'InplaceAdd',
    'InplaceIndexAdd',
    'InplaceSub',
    'InplaceUpdate',
    'InplaceUpdateV2',
    'InsertGradientOf',
    'Inv',
    'Invert',
    'InvertPermutation',
    'IsClose',
    'IsFinite',
    'IsInf',
    'IsNan',
    'KLDivLoss',
    'L2Loss',
    'L2Normalize',
    'LRN',
    'LayerNorm',
    'Lcm',
    'LeftShift',
    'Lerp',
    'LerpScalar',
    'Less',
    'LessEqual',
    'Lgamma',
    'LinSpace',
    'Log',
    'Log1p',
    'LogMatrixDeterminant',
    'LogNormalReverse',
    'LogSoftmax',
    'LogSoftmaxExt',
    'LogSpace',
    'LogicalAnd',
    'LogicalNot',
    'LogicalOr',
    'LogicalXor',
    'Logit',
    'LowerBound',
    'LpNorm',
    'Lstsq',
    'LuSolve',
    'LuUnpack',
    'Map',
    'MaskedFill',
    'MaskedScatter',
    'MaskedSelect',
    'MatMul',
    'MatrixBandPart',
    'MatrixDeterminant',
    'MatrixDiagPartV3',
    'MatrixDiagV3',
    'MatrixExp',
    'MatrixInverse',
    'MatrixPower',
    'MatrixSetDiagV3',
    'MatrixSolve',
    'MatrixTriangularSolve',
    'MaxPool',
    'MaxPool3D',
    'MaxPoolWithArgmaxV2',
    'MaxUnpool2D',
    'MaxUnpool3D',
    'Maximum',
    'Median',
    'Meshgrid',
    'Minimum',
    'MirrorPad',
    'Mish',
    'Mod',
    'MoveTo',
    'Mul',
    'MulNoNan',
    'MultiMarginLoss',
    'Multinomial',
    'MultinomialWithReplacement',
    'MultitypeFuncGraph',
    'Mvlgamma',
    'NLLLoss',
    'NanToNum',
    'Neg',
    'NeighborExchange',
    'NextAfter',
    'NonZero',
    'NotEqual',
    'NthElement',
    'NuclearNorm',
    'OneHot',
    'Ones',
    'OnesLike',
    'Orgqr',
    'Ormqr',
    'P2POp',
    'PReLU',
    'Pack',
    'Pad',
    'PadV3',
    'Padding',
    'ParallelConcat',
    'Partial',
    'Pdist',
    'Poisson',
    'Polygamma',
    'PopulationCount',
    'Pow',
    'Primitive',
    'PrimitiveWithCheck',
    'PrimitiveWithInfer',
    'Print',
    'PyFunc',
    'Qr',
    'RandomCategorical',
    'RandomChoiceWithMask',
    'RandomGamma',
    'RandomPoisson',
    'RandomShuffle',
    'Randperm',
    'RandpermV2',
    'Range',
    'Rank',
    'ReLU',
    'ReLU6',
    'Real',
    'RealDiv',
    'Receive',
    'Reciprocal',
    'Reduce',
    'ReduceAll',
    'ReduceAny',
    'ReduceMax',
    'ReduceMean',
    'ReduceMin',
    'ReduceOp',
    'ReduceProd',
    'ReduceScatter',
    'ReduceScatterV',
    'ReduceStd',
    'ReduceSum',
    'Renorm',
    'Reshape',
    'ResizeBicubic',
    'ResizeBilinear',
    'ResizeBilinearV2',
    'ResizeLinear1D',
    'ResizeNearestNeighbor',
    'ResizeNearestNeighborV2',
    'ReverseSequence',
    'ReverseV2',
    'RightShift',
    'Rint',
    'RmsNorm',
    'Roll',
    'Round',
    'Rsqrt',
    'SGD',
    'ScalarCast',
    'ScalarToArray',
    'ScalarToTensor',
    'Scan',
    'ScatterAdd',
    'ScatterAddWithAxis',
    'ScatterDiv',
    'ScatterMax',
    'ScatterMin',
    'ScatterMul',
    'ScatterNd',
    'ScatterNdAdd',
    'ScatterNdDiv',
    'ScatterNdMax',
    'ScatterNdMin',
    'ScatterNdMul',
    'ScatterNdSub',
    'ScatterNdUpdate',
    'ScatterNonAliasingAdd',
    'ScatterSub',
    'ScatterUpdate',
    'SeLU',
    'SearchSorted',
    'SegmentMax',
    'SegmentMean',
    'SegmentMin',
    'SegmentProd',
    'SegmentSum',
    'Select',
    'Send',
    'Shape',
    'Sigmoid',
    'SigmoidCrossEntropyWithLogits',
    'Sign',
    'Sin',
    'Sinc',
    'Sinh',
    'Size',
    'Slice',
    'SmoothL1Loss',
    'SoftMarginLoss',
    'SoftShrink',
    'Softmax',
    'SoftmaxCrossEntropyWithLogits',
    'Softplus',
    'Softsign',
    'Sort',
    'SpaceToBatch',
    'SpaceToBatchND',
    'SpaceToDepth',
    'SparseApplyAdagradV2',
    'SparseApplyFtrl',
    'SparseSoftmaxCrossEntropyWithLogits',
    'Split',
    'SplitV',
    'Sqrt',
    'Square',
    'SquareSumAll',
    'SquaredDifference',
    'Squeeze',
    'Stack',
    'StandardLaplace',
    'StandardNormal',
    'StopGradient',
    'StridedSlice',
    'Sub',
    'Svd',
    'Tan',
    'Tanh',
    'TensorAdd',
    'TensorScatterAdd',
    'TensorScatterDiv',
    'TensorScatterElements',
    'TensorScatterMax',
    'TensorScatterMin',
    'TensorScatterMul',
    'TensorScatterSub',
    'TensorScatterUpdate',
    'TensorShape',
    'Tile',
    'TopK',
    'Trace',
    'Transpose',
    'TransposeExtView',
    'TransposeView',
    'TridiagonalMatMul',
    'Tril',
    'TrilIndices',
    'TripletMarginLoss',
    'Triu',
    'TriuIndices',
    'Trunc',
    'TruncateDiv',
    'TruncateMod',
    'TruncatedNormal',
    'TupleToArray',
    'UniformInt',
    'UniformReal',
    'Unique',
    'UniqueConsecutive',
    'UniqueWithPad',
    'Unpack',
    'UnravelIndex',
    'UnsortedSegmentMax',
    'UnsortedSegmentMin',
    'UnsortedSegmentProd',
    'UnsortedSegmentSum',
    'Unstack',
    'UpperBound',
    'UpsampleNearest3D',
    'UpsampleTrilinear3D',
    'WhileLoop',
    'Xdivy',
    'Xlogy',
    'Zeros',
    'ZerosLike',
    'Zeta',
    'abs',
    'absolute',
    'accumulate_n',
    'acos',
    'acosh',
    'adaptive_avg_pool1d',
    'adaptive_avg_pool2d',
    'adaptive_avg_pool2d_ext',
    'adaptive_avg_pool3d',
    'adaptive_max_pool1d',
    'adaptive_max_pool2d',
    'adaptive_max_pool3d',
    'add',
    'add_ext',
    'addbmm',
    'addcdiv',
    'addcmul',
    'addmm',
    'addmv',
    'addn',
    'addr',
    'adjoint',
    'affine_grid',
    'all',
    'allclose',
    'amax',
    'amin',
    'aminmax',
    'angle',
    'any',
    'approximate_equal',
    'arange',
    'arccos',
    'arccosh',
    'arcsin',
    'arcsinh',
    'arctan',
    'arctan2',
    'arctanh',
    'argmax',
    'argmax_with_value',
    'argmin',
    'argmin_with_value',
    'argsort',
    'argwhere',
    'array_to_scalar',
    'asin',
    'asinh',
    'assign',
    'assign_add',
    'assign_sub',
    'atan',
    'atan2',
    'atanh',
    'atleast_1d',
    'atleast_2d',
    'atleast_3d',
    'augassign_add',
    'augassign_div',
    'augassign_floordiv',
    'augassign_mod',
    'augassign_mul',
    'augassign_sub',
    'avg_pool1d',
    'avg_pool2d',
    'avg_pool3d',
    'baddbmm',
    'baddbmm_ext',
    'bartlett_window',
    'batch_dot',
    'batch_norm',
    'batch_to_space_nd',
    'bernoulli',
    'bernoulli_',
    'bessel_i0',
    'bessel_i0e',
    'bessel_i1',
    'bessel_i1e',
    'bessel_j0',
    'bessel_j1',
    'bessel_k0',
    'bessel_k0e',
    'bessel_k1',
    'bessel_k1e',
    'bessel_y0',
    'bessel_y1',
    'bias_add',
    'bidense',
    'binary_cross_entropy',
    'binary_cross_entropy_with_logits',
    'bincount',
    'bitwise_and',
    'bitwise_left_shift',
    'bitwise_not',
    'bitwise_or',
    'bitwise_right_shift',
    'bitwise_xor',
    'blackman_window',
    'block_diag',
    'bmm',
    'bool_and',
    'bool_eq',
    'bool_not',
    'bool_or',
    'bounding_box_decode',
    'bounding_box_encode',
    'broadcast_to',
    'bucketize',
    'cartesian_prod',
    'cast',
    'cat',
    'cbrt',
    'cdist',
    'ceil',
    'celu',
    'channel_shuffle',
    'check_valid',
    'choice_with_mask',
    'cholesky',
    'cholesky_inverse',
    'cholesky_solve',
    'choose',
    'chunk',
    'clamp',
    'clamp_',
    'clip',
    'clip_by_global_norm',
    'clip_by_norm',
    'clip_by_value',
    'clone',
    'col2im',
    'column_stack',
    'combinations',
    'complex',
    'concat',
    'cond',
    'conj',
    'constexpr',
    'conv1d',
    'conv2d',
    'conv3d',
    'conv3d_transpose',
    'conv_transpose1d',
    'conv_transpose2d',
    'copysign',
    'cos',
    'cosh',
    'cosine_embedding_loss',
    'cosine_similarity',
    'count_nonzero',
    'cov',
    'crop_and_resize',
    'cross',
    'cross_entropy',
    'ctc_greedy_decoder',
    'ctc_loss',
    'cummax',
    'cummin',
    'cumprod',
    'cumsum',
    'custom_vjp',
    'deepcopy',
    'deformable_conv2d',
    'deg2rad',
    'dense',
    'depend',
    'derivative',
    'det',
    'diag',
    'diag_embed',
    'diagflat',
    'diagonal',
    'diagonal_scatter',
    'dict_getitem',
    'dict_setitem',
    'diff',
    'diff_ext',
    'digamma',
    'dim',
    'dist',
    'div',
    'divide',
    'dot',
    'dropout',
    'dropout1d',
    'dropout2d',
    'dropout3d',
    'dsplit',
    'dstack',
    'dtype',
    'dyn_shape',
    'eig',
    'eigh',
    'eigvals',
    'eigvalsh',
    'einsum',
    'einsum_ext',
    'elu',
    'embedding',
    'eps',
    'eq',
    'equal',
    'erf',
    'erfc',
    'erfinv',
    'erfinv_',
    'exp',
    'exp2',
    'expand',
    'expand_as',
    'expand_dims',
    'expm',
    'expm1',
    'exponential_',
    'eye',
    'fast_gelu',
    'fft',
    'fft2',
    'fftfreq',
    'fftn',
    'fftshift',
    'fill',
    'fill_diagonal',
    'fills',
    'fix',
    'flatten',
    'flip',
    'fliplr',
    'flipud',
    'float_power',
    'float_power_ext',
    'floor',
    'floor_div',
    'floor_divide',
    'floor_mod',
    'floordiv',
    'floormod',
    'fmax',
    'fmin',
    'fmod',
    'fold',
    'frac',
    'fractional_max_pool2d',
    'fractional_max_pool3d',
    'full',
    'full_like',
    'gamma',
    'gammaln',
    'gather',
    'gather_d',
    'gather_elements',
    'gather_nd',
    'gaussian_nll_loss',
    'gcd',
    'ge',
    'gelu',
    'geqrf',
    'ger',
    'get_grad',
    'glu',
    'grad',
    'greater',
    'greater_equal',
    'grid_sample',
    'group_norm',
    'gt',
    'gumbel_softmax',
    'hamming_window',
    'hann_window',
    'hardshrink',
    'hardsigmoid',
    'hardswish',
    'hardtanh',
    'hastype',
    'heaviside',
    'hfft',
    'hfft2',
    'hfftn',
    'hinge_embedding_loss',
    'histc',
    'hsplit',
    'hstack',
    'huber_loss',
    'hypot',
    'i0',
    'identity',
    'ifft',
    'ifft2',
    'ifftn',
    'ifftshift',
    'igamma',
    'igammac',
    'ihfft',
    'ihfft2',
    'ihfftn',
    'imag',
    'in_dict',
    'index_add',
    'index_fill',
    'index_put',
    'index_select',
    'inner',
    'inplace_add',
    'inplace_index_add',
    'inplace_sigmoid',
    'inplace_sub',
    'inplace_update',
    'instance_norm',
    'interpolate',
    'intopk',
    'inv',
    'inverse',
    'invert',
    'iou',
    'irfft',
    'irfft2',
    'irfftn',
    'is_',
    'is_complex',
    'is_contiguous',
    'is_floating_point',
    'is_nonzero',
    'is_not',
    'is_sequence_shape_unknown',
    'is_sequence_value_unknown',
    'is_signed',
    'is_tensor',
    'isclose',
    'isconstant',
    'isfinite',
    'isinf',
    'isnan',
    'isnan_ext',
    'isneginf',
    'isposinf',
    'isreal',
    'jacfwd',
    'jacrev',
    'jet',
    'jvp',
    'kaiser_window',
    'kl_div',
    'kron',
    'kthvalue',
    'l1_loss',
    'laplace',
    'layer_norm',
    'lcm',
    'ldexp',
    'le',
    'leaky_relu',
    'left_shift',
    'lerp',
    'less',
    'less_equal',
    'lgamma',
    'linearize',
    'linspace',
    'list_equal',
    'list_getitem',
    'list_len',
    'list_setitem',
    'log',
    'log10',
    'log1p',
    'log2',
    'log_matrix_determinant',
    'log_softmax',
    'logaddexp',
    'logaddexp2',
    'logcumsumexp',
    'logdet',
    'logical_and',
    'logical_not',
    'logical_or',
    'logical_xor',
    'logit',
    'logsigmoid',
    'logspace',
    'logsumexp',
    'lp_pool1d',
    'lp_pool2d',
    'lrn',
    'lstsq',
    'lt',
    'lu_solve',
    'lu_unpack',
    'make_dict',
    'make_list',
    'make_range',
    'make_slice',
    'make_tuple',
    'margin_ranking_loss',
    'masked_fill',
    'masked_scatter',
    'masked_select',
    'matmul',
    'matrix_band_part',
    'matrix_determinant',
    'matrix_diag',
    'matrix_diag_part',
    'matrix_exp',
    'matrix_norm',
    'matrix_power',
    'matrix_set_diag',
    'matrix_solve',
    'max',
    'max_pool1d',
    'max_pool2d',
    'max_pool3d',
    'max_unpool1d',
    'max_unpool2d',
    'max_unpool3d',
    'maximum',
    'mean',
    'median',
    'meshgrid',
    'min',
    'minimum',
    'mirror_pad',
    'mish',
    'mixed_precision_cast',
    'mm',
    'mod',
    'moveaxis',
    'movedim',
    'mse_loss',
    'mse_loss_ext',
    'msort',
    'mul',
    'multi_margin_loss',
    'multilabel_margin_loss',
    'multilabel_soft_margin_loss',
    'multinomial',
    'multinomial_with_replacement',
    'multiply',
    'mv',
    'mvlgamma',
    'nan_to_num',
    'nanmean',
    'nanmedian',
    'nansum',
    'narrow',
    'ne',
    'neg',
    'negative',
    'new_full',
    'new_ones',
    'new_zeros',
    'nextafter',
    'nll_loss',
    'nonzero',
    'norm',
    'normal',
    'normal_',
    'not_equal',
    'not_in_dict',
    'numel',
    'one_hot',
    'ones',
    'ones_like',
    'orgqr',
    'ormqr',
    'outer',
    'pad',
    'padding',
    'partial',
    'pdist',
    'permute',
    'pinv',
    'pixel_shuffle',
    'pixel_unshuffle',
    'poisson',
    'poisson_nll_loss',
    'polar',
    'polygamma',
    'population_count',
    'positive',
    'pow',
    'pows',
    'prelu',
    'prim_arg_register',
    'prim_attr_register',
    'print_',
    'prod',
    'ptp',
    'put_',
    'qr',
    'rad2deg',
    'rand',
    'rand_like',
    'randint',
    'randint_like',
    'randn',
    'randn_like',
    'random_',
    'random_categorical',
    'random_gamma',
    'random_poisson',
    'randperm',
    'range',
    'rank',
    'ravel',
    'real',
    'reciprocal',
    'reduce_max',
    'reduce_mean',
    'reduce_min',
    'reduce_prod',
    'reduce_sum',
    'relu',
    'relu6',
    'remainder',
    'renorm',
    'repeat',
    'repeat_elements',
    'repeat_interleave',
    'reshape',
    'reshape_as',
    'resize',
    'reverse',
    'reverse_sequence',
    'rfft',
    'rfft2',
    'rfftfreq',
    'rfftn',
    'right_shift',
    'rms_norm',
    'roll',
    'rot90',
    'rotary_position_embedding',
    'round',
    'row_stack',
    'rrelu',
    'rsqrt',
    'scalar_add',
    'scalar_cast',
    'scalar_div',
    'scalar_eq',
    'scalar_floordiv',
    'scalar_ge',
    'scalar_gt',
    'scalar_le',
    'scalar_log',
    'scalar_lt',
    'scalar_max',
    'scalar_min',
    'scalar_mod',
    'scalar_mul',
    'scalar_ne',
    'scalar_pow',
    'scalar_sub',
    'scalar_to_array',
    'scalar_to_tensor',
    'scalar_uadd',
    'scalar_usub',
    'scatter',
    'scatter_add',
    'scatter_div',
    'scatter_max',
    'scatter_min',
    'scatter_mul',
    'scatter_nd',
    'scatter_nd_add',
    'scatter_nd_div',
    'scatter_nd_max',
    'scatter_nd_min',
    'scatter_nd_mul',
    'scatter_nd_sub',
    'scatter_nd_update',
    'scatter_update',
    'searchsorted',
    'select',
    'select_scatter',
    'selu',
    'sequence_mask',
    'sgn',
    'shape',
    'shape_',
    'shape_mul',
    'shuffle',
    'sigmoid',
    'sign',
    'signbit',
    'silu',
    'sin',
    'sinc',
    'sinh',
    'size',
    'slice',
    'slice_scatter',
    'slogdet',
    'smooth_l1_loss',
    'soft_margin_loss',
    'soft_shrink',
    'softmax',
    'softmin',
    'softplus',
    'softshrink',
    'softsign',
    'solve',
    'sort',
    'space_to_batch_nd',
    'sparse_segment_mean',
    'split',
    'sqrt',
    'square',
    'squeeze',
    'stack',
    'standard_laplace',
    'standard_normal',
    'std',
    'std_mean',
    'stft',
    'stop_gradient',
    'stride',
    'strided_slice',
    'string_concat',
    'string_eq',
    'sub',
    'sub_ext',
    'subtract',
    'sum',
    'sum_to_size',
    'svd',
    'svdvals',
    'swapaxes',
    'swapdims',
    'swiglu',
    't',
    'tail',
    'take',
    'take_along_axis',
    'tan',
    'tanh',
    'tanh_',
    'tanhshrink',
    'tensor_add',
    'tensor_div',
    'tensor_dot',
    'tensor_exp',
    'tensor_expm1',
    'tensor_floordiv',
    'tensor_ge',
    'tensor_gt',
    'tensor_le',
    'tensor_lt',
    'tensor_mod',
    'tensor_mul',
    'tensor_muls',
    'tensor_pow',
    'tensor_range',
    'tensor_scatter_add',
    'tensor_scatter_div',
    'tensor_scatter_elements',
    'tensor_scatter_max',
    'tensor_scatter_min',
    'tensor_scatter_mul',
    'tensor_scatter_sub',
    'tensor_scatter_update',
    'tensor_slice',
    'tensor_split',
    'tensor_sub',
    'tensordot',
    'threshold',
    'tile',
    'top_k',
    'topk',
    'trace',
    'transpose',
    'trapz',
    'triangular_solve',
    'tril',
    'tril_indices',
    'triplet_margin_loss',
    'triu',
    'triu_indices',
    'true_divide',
    'trunc',
    'truncate_div',
    'truncate_mod',
    'tuple_div',
    'tuple_equal',
    'tuple_getitem',
    'tuple_len',
    'tuple_reversed',
    'tuple_setitem',
    'tuple_to_array',
    'type_as',
    'typeof',
    'unbind',
    'unfold',
    'uniform',
    'uniform_',
    'unique',
    'unique_consecutive',
    'unique_with_pad',
    'unsorted_segment_max',
    'unsorted_segment_min',
    'unsorted_segment_prod',
    'unsorted_segment_sum',
    'unsqueeze',
    'unstack',
    'upsample',
    'value_and_grad',
    'vander',
    'var',
    'var_mean',
    'vecdot',
    'vector_norm',
    'view_as',
    'view_as_complex',
    'view_as_real',
    'vjp',
    'vmap',
    'vsplit',
    'vstack',
    'where',
    'xdivy',
    'xlogy',
    'zero_',
    'zeros',
    'zeros_like',
    'zeta',
]

class ACos(Operation):
    """Inverse cosine of every element: nan outside of -1 ... 1, where the derivative is -inf."""
    def __init__(self) -> None: ...
class Abs(Operation):
    """Absolute value of every element; its derivative at 0 is 0."""
    def __init__(self) -> None: ...
class AccumulateNV2(Operation):
    """``AccumulateNV2()(x)``: The sum of several tensors of one shape."""
    def __init__(self) -> None: ...
class Acosh(Operation):
    """Inverse hyperbolic cosine of every element: nan below 1, where the derivative is inf."""
    def __init__(self) -> None: ...
class Adam(Operation):
    """One step of Adam: ``p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + epsilon)``."""
    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None: ...
class AdamWeightDecay(Operation):
    """One step of Adam without bias correction: ``p -= lr * (m / (sqrt(v) + epsilon) + decay * p)``."""
    def __init__(self, use_locking: bool = False) -> None: ...
class AdaptiveAvgPool2D(Operation):
    """``AdaptiveAvgPool2D(output_size)(x)``: Means of `output_size` nearly equal parts of the last 2 dimensions; None keeps a size."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveAvgPool3D(Operation):
    """``AdaptiveAvgPool3D(output_size)(x)``: Means of `output_size` nearly equal parts of the last 3 dimensions; None keeps a size."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool2D(Operation):
    """``AdaptiveMaxPool2D(output_size)(x)``: Greatest elements of nearly equal parts of the last 2 dimensions, with `return_indices` also their positions."""
    def __init__(self, output_size: Any) -> None: ...
class AdaptiveMaxPool3D(Operation):
    """``AdaptiveMaxPool3D()(x, output_size)``: Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""
    def __init__(self) -> None: ...
class Add(Operation):
    """``Add()(input, other)``: the sum of two tensors, which broadcast and are promoted to their common dtype."""
    def __init__(self) -> None: ...
class AddN(Operation):
    """``AddN()(x)``: the sum of several tensors of one shape."""
    def __init__(self) -> None: ...
class Addcdiv(Operation):
    """input + value * tensor1 / tensor2."""
    def __init__(self) -> None: ...
class Addcmul(Operation):
    """input + value * tensor1 * tensor2."""
    def __init__(self) -> None: ...
class AffineGrid(Operation):
    """``AffineGrid(align_corners=False)(theta, size)``: Coordinates for `grid_sample`: a grid of `size` mapped by theta [batch, n, n + 1]."""
    def __init__(self, align_corners: bool = False) -> None: ...
class AllGather(Operation):
    """The tensors of all processes, one behind the other along axis 0."""
    def __init__(self, group: str = 'hccl_world_group') -> None: ...
class AllGatherV(Operation):
    """Vectors of all processes, one behind the other; `output_split_sizes` says how long each is."""
    def __init__(self, group: str = 'hccl_world_group') -> None: ...
class AllReduce(Operation):
    """Elements of all processes, combined by `op`: sum, prod, max, min."""
    def __init__(self, op: str = 'sum', group: str = 'hccl_world_group') -> None: ...
class AlltoAll(Operation):
    """Sends part number r along `split_dim` to process r, and joins what comes along `concat_dim`."""
    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = 'hccl_world_group') -> None: ...
class AlltoAllV(Operation):
    """Sends so many blocks of a vector to each process, and receives so many from each."""
    def __init__(self, group: str = 'hccl_world_group', block_size: int = 1) -> None: ...
class AlltoAllVC(Operation):
    """As `AlltoAllV`, with the numbers of all processes in one matrix: row i says what process i sends."""
    def __init__(self, group: str = 'hccl_world_group', block_size: int = 1, transpose: bool = False) -> None: ...
class Angle(Operation):
    """0 for numbers from 0 on, pi for negative ones; nan stays. Its derivative is 0."""
    def __init__(self) -> None: ...
class ApplyAdaMax(Operation):
    """One step of AdaMax: ``v = max(beta2 * v, |g|)``; ``p -= lr / (1 - beta1**t) * m / (v + epsilon)``."""
    def __init__(self) -> None: ...
class ApplyAdadelta(Operation):
    """One step of Adadelta: ``d = sqrt(u + epsilon) / sqrt(s + epsilon) * g``; ``p -= lr * d``."""
    def __init__(self) -> None: ...
class ApplyAdagrad(Operation):
    """One step of Adagrad: ``s += g**2``; ``p -= lr * g / sqrt(s)``."""
    def __init__(self, update_slots: bool = True) -> None: ...
class ApplyAdagradDA(Operation):
    """One step of Adagrad by dual averaging: ``p = -lr * shrunk / (l2 * step * lr + sqrt(sum of g**2))``."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApplyAdagradV2(Operation):
    """One step of Adagrad: ``s += g**2``; ``p -= lr * g / (sqrt(s) + epsilon)``."""
    def __init__(self, epsilon: float, update_slots: bool = True) -> None: ...
class ApplyAdamWithAmsgrad(Operation):
    """One step of AMSGrad: that of Adam with the greatest v so far, `vhat`, in place of v."""
    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, use_locking: bool = False) -> None: ...
class ApplyAdamWithAmsgradV2(Operation):
    """One step of AMSGrad: that of Adam with the greatest v so far, `vhat`, in place of v."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApplyAddSign(Operation):
    """One step of AddSign: ``p -= lr * (alpha + sign_decay * sign(g) * sign(m)) * g``."""
    def __init__(self) -> None: ...
class ApplyCenteredRMSProp(Operation):
    """One step of centered RMSProp, whose root is that of the variance of g: ``s - a**2 + epsilon``."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApplyFtrl(Operation):
    """One step of FTRL ("follow the regularized leader") with L1 and L2 penalties; see `nn.FTRL`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApplyGradientDescent(Operation):
    """One step of gradient descent: ``p -= alpha * delta``."""
    def __init__(self) -> None: ...
class ApplyKerasMomentum(Operation):
    """One step of Keras' momentum: ``v = momentum * v - lr * g``; ``p += v``."""
    def __init__(self, use_locking: bool = False, use_nesterov: bool = False) -> None: ...
class ApplyMomentum(Operation):
    """One step of gradient descent with momentum: ``v = momentum * v + g``; ``p -= lr * v``."""
    def __init__(self, use_nesterov: bool = False, use_locking: bool = False, gradient_scale: float = 1.0) -> None: ...
class ApplyPowerSign(Operation):
    """One step of PowerSign: ``p -= lr * exp(logbase * sign_decay * sign(g) * sign(m)) * g``."""
    def __init__(self) -> None: ...
class ApplyProximalAdagrad(Operation):
    """One proximal step of Adagrad with L1 and L2 penalties."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApplyProximalGradientDescent(Operation):
    """One proximal step of gradient descent with L1 and L2 penalties."""
    def __init__(self) -> None: ...
class ApplyRMSProp(Operation):
    """One step of RMSProp: ``s = decay * s + (1 - decay) * g**2``; ``m = momentum * m + lr * g / sqrt(s + epsilon)``."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ApproximateEqual(Operation):
    """``ApproximateEqual(tolerance=1e-05)(x, y)``: Whether |x - y| < tolerance."""
    def __init__(self, tolerance: Any = 1e-05) -> None: ...
class ArgMaxWithValue(Operation):
    """``ArgMaxWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the greatest element, and that element."""
    def __init__(self, axis: int = 0, keep_dims: bool = False) -> None: ...
class ArgMinWithValue(Operation):
    """``ArgMinWithValue(axis=0, keep_dims=False)(x)``: the index (int32) of the smallest element, and that element."""
    def __init__(self, axis: int = 0, keep_dims: bool = False) -> None: ...
class Argmax(Operation):
    """``Argmax(axis=-1, output_type=int32)(x)``: the index of the greatest element along an axis."""
    def __init__(self, axis: Any = -1, output_type: Any = ...) -> None: ...
class Argmin(Operation):
    """``Argmin(axis=-1, output_type=int32)(x)``: the index of the smallest element along an axis."""
    def __init__(self, axis: Any = -1, output_type: Any = ...) -> None: ...
class Asin(Operation):
    """Inverse sine of every element: nan outside of -1 ... 1, where the derivative is inf."""
    def __init__(self) -> None: ...
class Asinh(Operation):
    """Inverse hyperbolic sine of every element."""
    def __init__(self) -> None: ...
class Assign(Operation):
    """``Assign()(variable, value)``: Gives a Parameter a new value of its shape; what follows reads and differentiates that value."""
    def __init__(self) -> None: ...
class AssignAdd(Operation):
    """``AssignAdd()(variable, value)``: Adds to a Parameter in place, and returns its new value."""
    def __init__(self) -> None: ...
class AssignSub(Operation):
    """``AssignSub()(variable, value)``: Subtracts from a Parameter in place, and returns its new value."""
    def __init__(self) -> None: ...
class Atan(Operation):
    """Inverse tangent of every element."""
    def __init__(self) -> None: ...
class Atan2(Operation):
    """The angle of the point (y, x), in all four quadrants: the first operand is the ordinate."""
    def __init__(self) -> None: ...
class Atanh(Operation):
    """Inverse hyperbolic tangent of every element: infinite at -1 and 1, nan outside."""
    def __init__(self) -> None: ...
class AvgPool(Operation):
    """``AvgPool(kernel_size=1, strides=1, ...)(x)``: the mean of every window over height and width."""
    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = 'VALID', data_format: str = 'NCHW') -> None: ...
class AvgPool3D(Operation):
    """``AvgPool3D(kernel_size=1, strides=1, ...)(x)``: `AvgPool` over the last 3 dimensions."""
    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = 'valid', pad: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int = 0, data_format: str = 'NCDHW') -> None: ...
class BCEWithLogitsLoss(Operation):
    """``BCEWithLogitsLoss(reduction='mean')(predict, target, weight=None, pos_weight=None)``: Binary cross entropy of sigmoid(input), without overflow; `pos_weight` multiplies the part of the positives."""
    def __init__(self, reduction: str = 'mean') -> None: ...
class Barrier(Operation):
    """Waits for all processes of the group."""
    def __init__(self, group: str = 'hccl_world_group') -> None: ...
class BartlettWindow(Operation):
    """``BartlettWindow(periodic=True, dtype=float32)(n)``: A triangular window, float32 by default; see NumPy's `bartlett`."""
    def __init__(self, periodic: bool = True, dtype: Any = ...) -> None: ...
class BatchMatMul(Operation):
    """``BatchMatMul(transpose_a=False, transpose_b=False)(x, y)``: matrix products of batches, as `MatMul`."""
    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None: ...
class BatchNorm(Operation):
    """``BatchNorm(is_training=False, ...)(x, scale, bias, mean, variance)``: normalization per channel."""
    def __init__(self, is_training: bool = False, epsilon: float = 1e-05, momentum: float = 0.1, data_format: str = 'NCHW') -> None: ...
class BatchToSpace(Operation):
    """``BatchToSpace(block_size, crops)(x)``: The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."""
    def __init__(self, block_size: Any, crops: Any) -> None: ...
class BatchToSpaceND(Operation):
    """``BatchToSpaceND(block_shape, crops)(x)``: The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."""
    def __init__(self, block_shape: Any, crops: Any) -> None: ...
class Bernoulli(Operation):
    """``Bernoulli(seed=-1, offset=0)(x, p)``: 1 with probability p, else 0, in the shape and dtype of x."""
    def __init__(self, seed: int = -1, offset: int = 0) -> None: ...
class BesselI0(Operation):
    """`bessel_i` of order 0."""
    def __init__(self) -> None: ...
class BesselI0e(Operation):
    """`bessel_ie` of order 0."""
    def __init__(self) -> None: ...
class BesselI1(Operation):
    """`bessel_i` of order 1."""
    def __init__(self) -> None: ...
class BesselI1e(Operation):
    """`bessel_ie` of order 1."""
    def __init__(self) -> None: ...
class BesselJ0(Operation):
    """`bessel_j` of order 0."""
    def __init__(self) -> None: ...
class BesselJ1(Operation):
    """`bessel_j` of order 1."""
    def __init__(self) -> None: ...
class BesselK0(Operation):
    """`bessel_k` of order 0."""
    def __init__(self) -> None: ...
class BesselK0e(Operation):
    """`bessel_ke` of order 0."""
    def __init__(self) -> None: ...
class BesselK1(Operation):
    """`bessel_k` of order 1."""
    def __init__(self) -> None: ...
class BesselK1e(Operation):
    """`bessel_ke` of order 1."""
    def __init__(self) -> None: ...
class BesselY0(Operation):
    """`bessel_y` of order 0."""
    def __init__(self) -> None: ...
class BesselY1(Operation):
    """`bessel_y` of order 1."""
    def __init__(self) -> None: ...
class BiasAdd(Operation):
    """``BiasAdd(data_format="NCHW")(x, bias)``: x [batch, channels, ...] plus one number per channel."""
    def __init__(self, data_format: str = 'NCHW') -> None: ...
class BinaryCrossEntropy(Operation):
    """``BinaryCrossEntropy(reduction='mean')(logits, labels, weight=None)``: Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1."""
    def __init__(self, reduction: str = 'mean') -> None: ...
class Bincount(Operation):
    """``Bincount()(array, size, weights)``: the sums of the weights per number 0 ... size - 1."""
    def __init__(self) -> None: ...
class BitwiseAnd(Operation):
    """Bits set in both integers; of bools `logical_and`."""
    def __init__(self) -> None: ...
class BitwiseOr(Operation):
    """Bits set in either integer; of bools `logical_or`."""
    def __init__(self) -> None: ...
class BitwiseXor(Operation):
    """Bits set in exactly one of two integers; of bools `logical_xor`."""
    def __init__(self) -> None: ...
class BlackmanWindow(Operation):
    """``BlackmanWindow(periodic=True, dtype=float32)(n)``: A Blackman window, float32 by default; see NumPy's `blackman`."""
    def __init__(self, periodic: bool = True, dtype: Any = ...) -> None: ...
class BoundingBoxDecode(Operation):
    """``BoundingBoxDecode(max_shape, means=(0.0,) * 4, stds=(1.0,) * 4, wh_ratio_clip=0.016)(anchor, deltas)``: Anchors [boxes, 4] moved by `deltas`, as `bounding_box_encode` makes them, and cut off at an image's borders."""
    def __init__(self, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: Any = 0.016) -> None: ...
class BoundingBoxEncode(Operation):
    """``BoundingBoxEncode(means=(0.0,) * 4, stds=(1.0,) * 4)(anchor, truth)``: How anchors [boxes, 4] must be moved to become other boxes: (dx, dy, dw, dh) minus `means`, divided by `stds`."""
    def __init__(self, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)) -> None: ...
class Broadcast(Operation):
    """The tensors of one process, as a tuple; it takes a tuple of tensors."""
    def __init__(self, root_rank: int, group: str = 'hccl_world_group') -> None: ...
class BroadcastTo(Operation):
    """``BroadcastTo(shape)(x)``: the tensor broadcast to a shape; -1 keeps a size."""
    def __init__(self, shape: Any) -> None: ...
class Bucketize(Operation):
    """``Bucketize(boundaries)(x)``: the bucket (int32) of each element; a boundary is in the bucket after it."""
    def __init__(self, boundaries: Any) -> None: ...
class CTCGreedyDecoder(Operation):
    """``CTCGreedyDecoder(merge_repeated=True)(inputs, sequence_length)``: The likeliest class at every time without the blank, which is the last class; eager code only."""
    def __init__(self, merge_repeated: bool = True) -> None: ...
class CTCLossV2(Operation):
    """``CTCLossV2(blank=0, reduction='none', zero_infinity=False)(log_probs, targets, input_lengths, target_lengths)``: -log of the sum of the probabilities of all alignments, and the logarithms of the sums over their beginnings."""
    def __init__(self, blank: Any = 0, reduction: str = 'none', zero_infinity: bool = False) -> None: ...
class Cast(Operation):
    """``Cast()(x, dtype)``: the same numbers in another dtype."""
    def __init__(self) -> None: ...
class Cauchy(Operation):
    """``Cauchy(size, median=0.0, sigma=1.0)()``: random numbers of the Cauchy distribution."""
    def __init__(self, size: Any, median: Any = 0.0, sigma: Any = 1.0) -> None: ...
class Cdist(Operation):
    """``Cdist(p=2.0)(x, y)``: Distances [..., n, m] of order p between the points x1 [..., n, d] and x2 [..., m, d]; p is from 0 to inf."""
    def __init__(self, p: Any = 2.0) -> None: ...
class CeLU(Operation):
    """``CeLU(alpha=1.0)(x)``: x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    def __init__(self, alpha: Any = 1.0) -> None: ...
class Ceil(Operation):
    """The smallest integer not below each element; its derivative is 0."""
    def __init__(self) -> None: ...
class ChannelShuffle(Operation):
    """``ChannelShuffle(group)(x)``: [..., channels, height, width] with the channels of all groups interleaved."""
    def __init__(self, group: Any) -> None: ...
class CheckValid(Operation):
    """``CheckValid()(bboxes, img_metas)``: Which boxes (x0, y0, x1, y1) lie in an image of the sizes (height, width), each times the third number."""
    def __init__(self) -> None: ...
class Cholesky(Operation):
    """``Cholesky(upper=False)(input_x)``: Lower triangular L with L @ L.T = input_x, or L.T if `upper`; LinAlgError if it is not positive definite."""
    def __init__(self, upper: bool = False) -> None: ...
class CholeskyInverse(Operation):
    """``CholeskyInverse(upper=False)(x)``: The inverse of a, from its Cholesky factor."""
    def __init__(self, upper: bool = False) -> None: ...
class CholeskySolve(Operation):
    """``CholeskySolve(upper=False)(x1, x2)``: x with a @ x = input, from the Cholesky factor `input2` of a."""
    def __init__(self, upper: bool = False) -> None: ...
class Col2Im(Operation):
    """``Col2Im(kernel_size, dilation=1, padding=0, stride=1)(x, output_size)``: Images [N, C, H, W] as the sum of their windows, given as [N, C, kernel places, windows]."""
    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None: ...
class CollectiveGather(Operation):
    """The tensors of all processes along axis 0 in one of them; the others get a vector of one 0."""
    def __init__(self, dest_rank: int, group: str = 'hccl_world_group') -> None: ...
class CollectiveScatter(Operation):
    """The part for this process of the tensor of one, which is divided along axis 0."""
    def __init__(self, src_rank: int = 0, group: str = 'hccl_world_group') -> None: ...
class Concat(Operation):
    """``Concat(axis=0)(tensors)``: tensors joined along an existing dimension."""
    def __init__(self, axis: Any = 0) -> None: ...
class ConfusionMatrix(Operation):
    """``ConfusionMatrix(num_classes, dtype="int32")(labels, predictions, weights=None)``: counts [label, prediction]."""
    def __init__(self, num_classes: Any, dtype: str = 'int32') -> None: ...
class Conj(Operation):
    """The same numbers: they are all real."""
    def __init__(self) -> None: ...
class Conv2D(Operation):
    """``Conv2D(out_channel, kernel_size, ...)(x, weight)``: convolution over height and width."""
    def __init__(self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = 'valid', pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1, data_format: str = 'NCHW') -> None: ...
class Conv2DBackpropInput(Operation):
    """``Conv2DBackpropInput(...)(g, weight, input_size)``: the transpose of `Conv2D` in its input."""
    def __init__(self, out_channel: int, kernel_size: Any, pad_mode: str = 'valid', pad: Any = 0, pad_list: Any = None, mode: int = 1, stride: Any = 1, dilation: Any = 1, group: int = 1, data_format: str = 'NCHW') -> None: ...
class Conv2DTranspose(Operation):
    """``Conv2DTranspose(...)(x, weight, size)``: the transpose of `Conv2D` in its input, of shape `size`."""
    def __init__(self, out_channel: int, kernel_size: Any, pad_mode: str = 'valid', pad: Any = 0, pad_list: Any = None, mode: int = 1, stride: Any = 1, dilation: Any = 1, group: int = 1, data_format: str = 'NCHW') -> None: ...
class Conv3D(Operation):
    """``Conv3D(out_channel, kernel_size, ...)(x, weight)``: convolution over depth, height and width; see `Conv2D`."""
    def __init__(self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = 'valid', pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1, data_format: str = 'NCDHW') -> None: ...
class Conv3DTranspose(Operation):
    """``Conv3DTranspose(...)(x, weight)``: the transpose of `Conv3D` in its input."""
    def __init__(self, in_channel: int, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = 'valid', pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1, output_padding: Any = 0, data_format: str = 'NCDHW') -> None: ...
class Cos(Operation):
    """Cosine of every element, in radians."""
    def __init__(self) -> None: ...
class Cosh(Operation):
    """Hyperbolic cosine of every element."""
    def __init__(self) -> None: ...
class CountNonZero(Operation):
    """``CountNonZero(dims=None)(x)``: how many elements over axes differ from 0 (int64)."""
    def __init__(self, dims: Any = None) -> None: ...
class CropAndResize(Operation):
    """``CropAndResize(method='bilinear', extrapolation_value=0.0)(x, boxes, index, size)``: Parts of images [batch, height, width, channels], each resized to `crop_size`: [boxes, ..., ..., channels]."""
    def __init__(self, method: str = 'bilinear', extrapolation_value: Any = 0.0) -> None: ...
class Cross(Operation):
    """``Cross(dim=-65530)(x1, x2)``: cross products along a dimension of size 3, by default the first one that has it."""
    def __init__(self, dim: Any = -65530) -> None: ...
class CumProd(Operation):
    """``CumProd(exclusive=False, reverse=False)(x, axis)``: the running product along an axis."""
    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None: ...
class CumSum(Operation):
    """``CumSum(exclusive=False, reverse=False)(x, axis)``: the running sum along an axis."""
    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None: ...
class Cummax(Operation):
    """``Cummax(axis)(x)``: The greatest element so far along an axis, and its index (int64): of several the last."""
    def __init__(self, axis: Any) -> None: ...
class Cummin(Operation):
    """``Cummin(axis)(x)``: The smallest element so far along an axis, and its index (int64): of several the last."""
    def __init__(self, axis: Any) -> None: ...
class CumulativeLogsumexp(Operation):
    """``CumulativeLogsumexp(exclusive=False, reverse=False)(x, axis)``: log of the running sum of exp(x)."""
    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None: ...
class DType(Operation):
    """``DType()(x)``: The dtype of a tensor."""
    def __init__(self) -> None: ...
class DataFormatDimMap(Operation):
    """``DataFormatDimMap(src_format="NHWC", dst_format="NCHW")(x)``: dimension numbers of one layout in another."""
    def __init__(self, src_format: str = 'NHWC', dst_format: str = 'NCHW') -> None: ...
class DataFormatVecPermute(Operation):
    """``DataFormatVecPermute(src_format="NHWC", dst_format="NCHW")(x)``: one number per dimension, reordered."""
    def __init__(self, src_format: str = 'NHWC', dst_format: str = 'NCHW') -> None: ...
class Dense(Operation):
    """``Dense()(x, w, b=None)``: x @ w.T + b, along the last dimension."""
    def __init__(self) -> None: ...
class Depend(Operation):
    """``Depend()(value, expr)``: The value. Effects need no such help to keep their order: it is that of the program."""
    def __init__(self) -> None: ...
class DepthToSpace(Operation):
    """``DepthToSpace(block_size)(x)``: channels [N, C, H, W] moved into blocks of the image."""
    def __init__(self, block_size: int) -> None: ...
class DepthwiseConv2dNative(Operation):
    """``DepthwiseConv2dNative(channel_multiplier, kernel_size, ...)(x, weight)``: every channel by filters of its own."""
    def __init__(self, channel_multiplier: int, kernel_size: Any, mode: int = 3, pad_mode: str = 'valid', pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1) -> None: ...
class Diag(Operation):
    """``Diag()(input)``: A tensor of twice the dimensions with `input` where both halves of the index agree, and zeros elsewhere."""
    def __init__(self) -> None: ...
class DiagPart(Operation):
    """``DiagPart()(x)``: the diagonal ``x[i, j, ..., i, j, ...]`` of a tensor of shape [*sizes, *sizes]."""
    def __init__(self) -> None: ...
class Digamma(Operation):
    """Derivative of `lgamma` for every element; it has poles at 0, -1, -2, ..."""
    def __init__(self) -> None: ...
class Div(Operation):
    """True quotient; integers become float32 first."""
    def __init__(self) -> None: ...
class DivNoNan(Operation):
    """``DivNoNan()(x, y)``: x / y, and 0 where y is 0."""
    def __init__(self) -> None: ...
class Dropout(Operation):
    """``Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x)``: x / keep_prob where it is kept, else 0; and that mask."""
    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> None: ...
class Dropout2D(Operation):
    """``Dropout2D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, H, W], and the mask (bools)."""
    def __init__(self, keep_prob: Any = 0.5) -> None: ...
class Dropout3D(Operation):
    """``Dropout3D(keep_prob=0.5)(x)``: dropout of whole channels [N, C, D, H, W], and the mask (bools)."""
    def __init__(self, keep_prob: Any = 0.5) -> None: ...
class DynamicShape(Operation):
    """``DynamicShape(dtype='int64')(x)``: the shape as a tensor."""
    def __init__(self, dtype: str = 'int64') -> None: ...
class Einsum(Operation):
    """``Einsum(equation)(inputs)``: sums of products over named dimensions, as `ops.einsum`."""
    def __init__(self, equation: Any) -> None: ...
class Elu(Operation):
    """``Elu(alpha=1.0)(x)``: x where it is positive, else alpha * (exp(x) - 1)."""
    def __init__(self, alpha: Any = 1.0) -> None: ...
class EmbeddingLookup(Operation):
    """``EmbeddingLookup()(params, indices, offset)``: rows by index - offset; zeros where that is out of range."""
    def __init__(self) -> None: ...
class Eps(Operation):
    """``Eps()(x)``: The distance from 1 to the next float of x's dtype, in x's shape. DTypeError: no floats."""
    def __init__(self) -> None: ...
class Equal(Operation):
    """Whether two elements are equal (nan is not)."""
    def __init__(self) -> None: ...
class EqualCount(Operation):
    """``EqualCount()(x, y)``: how many elements are equal, [1], in the dtype of x."""
    def __init__(self) -> None: ...
class Erf(Operation):
    """Error function of every element."""
    def __init__(self) -> None: ...
class Erfc(Operation):
    """1 - erf(x) for every element, with full relative precision far to the right."""
    def __init__(self) -> None: ...
class Erfinv(Operation):
    """Inverse of `erf` for every element: infinite at -1 and 1, nan outside."""
    def __init__(self) -> None: ...
class EuclideanNorm(Operation):
    """``EuclideanNorm(keep_dims=False)(x, axes)``: the root of the sum of squares over axes."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class Exp(Operation):
    """e to the power of every element."""
    def __init__(self) -> None: ...
class Expand(Operation):
    """``Expand()(x, shape)``: the tensor broadcast to a shape, new dimensions first; -1 keeps a size."""
    def __init__(self) -> None: ...
class ExpandDims(Operation):
    """``ExpandDims()(x, axis)``: a new dimension of size 1 at `axis` of the result."""
    def __init__(self) -> None: ...
class Expm1(Operation):
    """exp(x) - 1 for every element, exact near 0."""
    def __init__(self) -> None: ...
class Eye(Operation):
    """``Eye()(n, m, dtype)``: an n x m matrix with ones on its main diagonal."""
    def __init__(self) -> None: ...
class FastGeLU(Operation):
    """x * sigmoid(1.702 x), a rough gelu."""
    def __init__(self) -> None: ...
class FastGelu(Operation):
    """x * sigmoid(1.702 x), a rough gelu."""
    def __init__(self) -> None: ...
class Fill(Operation):
    """A tensor of a dtype and shape whose elements all are `value`."""
    def __init__(self) -> None: ...
class FillDiagonal(Operation):
    """``FillDiagonal(fill_value, wrap=False)(x)``: x with one number on its diagonal."""
    def __init__(self, fill_value: Any, wrap: bool = False) -> None: ...
class FillV2(Operation):
    """``FillV2()(shape, value)``: a tensor whose elements all are `value`."""
    def __init__(self) -> None: ...
class Fills(Operation):
    """`value` in the shape and dtype of x."""
    def __init__(self) -> None: ...
class Flatten(Operation):
    """``Flatten()(input, order, start_dim, end_dim)``: The dimensions from `start_dim` to `end_dim` made one; a tensor with less than two stays in one dimension."""
    def __init__(self) -> None: ...
class FloatStatus(Operation):
    """``FloatStatus()(x)``: 1 if any element is infinite or nan, else 0: float32 [1]."""
    def __init__(self) -> None: ...
class Floor(Operation):
    """The greatest integer not above each element; its derivative is 0."""
    def __init__(self) -> None: ...
class FloorDiv(Operation):
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    def __init__(self) -> None: ...
class FloorMod(Operation):
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    def __init__(self) -> None: ...
class Fmax(Operation):
    """The greater of two elements, a number if only one of them is one; at a tie the cotangent is halved."""
    def __init__(self) -> None: ...
class Fmin(Operation):
    """The smaller of two elements, a number if only one of them is one; at a tie the cotangent is halved."""
    def __init__(self) -> None: ...
class ForiLoop(Operation):
    """``val = loop_func(i, val)`` from `init_val` on, for i from `lower` to `upper` - 1."""
    def __init__(self) -> None: ...
class GLU(Operation):
    """``GLU(axis=-1)(x)``: the first half of an axis times the sigmoid of the second."""
    def __init__(self, axis: Any = -1) -> None: ...
class Gamma(Operation):
    """``Gamma(seed=0, seed2=0)(shape, alpha, beta)``: random numbers of gamma distributions of shape alpha, rate beta."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class Gather(Operation):
    """``Gather(batch_dims=0)(x, index, axis)``: slices along an axis; the shape of `index` replaces the axis."""
    def __init__(self, batch_dims: Any = 0) -> None: ...
class GatherD(Operation):
    """The older name of `gather_elements`."""
    def __init__(self) -> None: ...
class GatherNd(Operation):
    """The elements (or slices) at the indices in the last dimension of `indices`."""
    def __init__(self) -> None: ...
class GatherV2(Operation):
    """``GatherV2()(x, index, axis)``: slices along an axis; the shape of `index` replaces the axis."""
    def __init__(self) -> None: ...
class Gcd(Operation):
    """Greatest common divisor of two integers, never negative; of zeros it is 0."""
    def __init__(self) -> None: ...
class GeLU(Operation):
    """``GeLU()(x)``: the approximation of gelu by tanh."""
    def __init__(self) -> None: ...
class Gelu(Operation):
    """``Gelu()(x)``: the approximation of gelu by tanh."""
    def __init__(self) -> None: ...
class Geqrf(Operation):
    """``Geqrf()(input)``: Packed QR: r and, below the diagonal, the vectors of the Householder reflections that make q; and their factors."""
    def __init__(self) -> None: ...
class Ger(Operation):
    """Products of every element of `input` and every element of `vec2`: a matrix."""
    def __init__(self) -> None: ...
class Greater(Operation):
    """Whether x > y, element by element."""
    def __init__(self) -> None: ...
class GreaterEqual(Operation):
    """Whether x >= y, element by element."""
    def __init__(self) -> None: ...
class GridSampler2D(Operation):
    """``GridSampler2D(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)(input_x, grid)``: x [N, C, H, W] sampled at coordinates; see `ops.grid_sample`."""
    def __init__(self, interpolation_mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool = False) -> None: ...
class GridSampler3D(Operation):
    """``GridSampler3D(interpolation_mode='bilinear', padding_mode='zeros', align_corners=False)(input_x, grid)``: x [N, C, D, H, W] sampled at coordinates; see `ops.grid_sample`."""
    def __init__(self, interpolation_mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool = False) -> None: ...
class HShrink(Operation):
    """``HShrink(lambd=0.5)(input_x)``: x, but 0 from -lambd to lambd."""
    def __init__(self, lambd: Any = 0.5) -> None: ...
class HSigmoid(Operation):
    """(x + 3) / 6 between 0 and 1; its derivative at -3 and 3 is 0."""
    def __init__(self) -> None: ...
class HSwish(Operation):
    """x * hardsigmoid(x); its derivative at -3 is 0, at 3 it is 1."""
    def __init__(self) -> None: ...
class HammingWindow(Operation):
    """``HammingWindow(periodic=True, alpha=0.54, beta=0.46, dtype=float32)(n)``: alpha - beta cos(2 pi i / n): with these coefficients a Hamming window, float32 by default."""
    def __init__(self, periodic: bool = True, alpha: Any = 0.54, beta: Any = 0.46, dtype: Any = ...) -> None: ...
class Heaviside(Operation):
    """0 for negative elements, 1 for positive ones, `values` for zeros."""
    def __init__(self) -> None: ...
class Histogram(Operation):
    """``Histogram(bins=100, min=0.0, max=0.0)(x)``: how many numbers lie in each bin (int32)."""
    def __init__(self, bins: Any = 100, min: Any = 0.0, max: Any = 0.0) -> None: ...
class Hypot(Operation):
    """sqrt(x*x + y*y), without overflow; at (0, 0), where it has none, all its derivatives count as 0."""
    def __init__(self) -> None: ...
class IOU(Operation):
    """``IOU(mode='iou')(anchor_boxes, gt_boxes)``: Overlaps [gt boxes, anchor boxes] of boxes (x0, y0, x1, y1), whose last elements belong to them."""
    def __init__(self, mode: str = 'iou') -> None: ...
class Identity(Operation):
    """``Identity()(x)``: a new tensor with the elements of x."""
    def __init__(self) -> None: ...
class IdentityN(Operation):
    """``IdentityN()(tensors)``: new tensors with the same elements, as a tuple."""
    def __init__(self) -> None: ...
class Igamma(Operation):
    """Regularised lower incomplete gamma function P(a, x); nan for negative operands."""
    def __init__(self) -> None: ...
class Igammac(Operation):
    """Regularised upper incomplete gamma function 1 - P(a, x), with full relative precision where it is small."""
    def __init__(self) -> None: ...
class Im2Col(Operation):
    """``Im2Col(ksizes, strides=1, dilations=1, pads=0)(x)``: the windows of images as [N, C, elements, windows]."""
    def __init__(self, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0) -> None: ...
class Imag(Operation):
    """Zeros: all numbers are real."""
    def __init__(self) -> None: ...
class InTopK(Operation):
    """``InTopK(k)(x1, x2)``: Whether the class x2 of each row of x1 is among its k greatest: fewer than k are greater."""
    def __init__(self, k: Any) -> None: ...
class IndexAdd(Operation):
    """``IndexAdd(axis, use_lock=True, check_index_bound=True)(x, i, y)``: x with the slices of y added along an axis."""
    def __init__(self, axis: Any, use_lock: bool = True, check_index_bound: bool = True) -> None: ...
class IndexFill(Operation):
    """The tensor with the slices at the positions in `index` along an axis filled with one value."""
    def __init__(self) -> None: ...
class IndexPut(Operation):
    """``IndexPut(accumulate=0)(x1, x2, indices)``: x1 with ``x1[indices]`` replaced by x2, or raised by it."""
    def __init__(self, accumulate: Any = 0) -> None: ...
class InplaceAdd(Operation):
    """``InplaceAdd(indices)(x, v)``: The tensor with `v` added to the rows at the given positions: a new tensor, despite the name."""
    def __init__(self, indices: Any) -> None: ...
class InplaceIndexAdd(Operation):
    """Adds the slices of `updates` to a Parameter at the given positions along an axis."""
    def __init__(self, axis: int) -> None: ...
class InplaceSub(Operation):
    """``InplaceSub(indices)(x, v)``: The tensor with `v` subtracted from the rows at the given positions: a new tensor, despite the name."""
    def __init__(self, indices: Any) -> None: ...
class InplaceUpdate(Operation):
    """``InplaceUpdate(indices)(x, v)``: The tensor with the rows at the given positions replaced by those of `v`: a new tensor, despite the name."""
    def __init__(self, indices: Any) -> None: ...
class InplaceUpdateV2(Operation):
    """``InplaceUpdateV2()(x, indices, v)``: The tensor with the rows at the given positions replaced by those of `v`: a new tensor, despite the name."""
    def __init__(self) -> None: ...
class Inv(Operation):
    """1 / x for every element: inf at 0."""
    def __init__(self) -> None: ...
class Invert(Operation):
    """Every bit of an integer flipped; of bools `logical_not`."""
    def __init__(self) -> None: ...
class InvertPermutation(Operation):
    """``InvertPermutation()(x)``: the inverse of a permutation of 0 ... n - 1."""
    def __init__(self) -> None: ...
class IsClose(Operation):
    """``IsClose(rtol=1e-05, atol=1e-08, equal_nan=False)(x, y)``: whether |x - y| <= atol + rtol * |y|."""
    def __init__(self, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> None: ...
class IsFinite(Operation):
    """Whether each element is finite: neither infinite nor nan."""
    def __init__(self) -> None: ...
class IsInf(Operation):
    """Whether each element is inf or -inf."""
    def __init__(self) -> None: ...
class IsNan(Operation):
    """Whether each element is nan."""
    def __init__(self) -> None: ...
class KLDivLoss(Operation):
    """``KLDivLoss(reduction='mean')(logits, labels)``: labels * (log(labels) - logits); reduction "batchmean" divides the sum by the first dimension."""
    def __init__(self, reduction: str = 'mean') -> None: ...
class L2Loss(Operation):
    """``L2Loss()(input_x)``: half the sum of squares of all elements."""
    def __init__(self) -> None: ...
class L2Normalize(Operation):
    """``L2Normalize(axis=0, epsilon=0.0001)(x)``: x / sqrt(max(sum of squares along axes, epsilon))."""
    def __init__(self, axis: Any = 0, epsilon: Any = 0.0001) -> None: ...
class LRN(Operation):
    """``LRN(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region='ACROSS_CHANNELS')(x)``: Local response normalization over 2 depth_radius + 1 neighbouring channels."""
    def __init__(self, depth_radius: Any = 5, bias: Any = 1.0, alpha: Any = 1.0, beta: Any = 0.5, norm_region: str = 'ACROSS_CHANNELS') -> None: ...
class LayerNorm(Operation):
    """``LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)(x, gamma, beta)``: y, mean, variance."""
    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-07) -> None: ...
class Lcm(Operation):
    """Least common multiple of two integers, never negative; 0 if one of them is 0."""
    def __init__(self) -> None: ...
class LeftShift(Operation):
    """Bits of an integer moved up; 0 once the shift reaches the width."""
    def __init__(self) -> None: ...
class Lerp(Operation):
    """input + weight * (end - input), element by element."""
    def __init__(self) -> None: ...
class LerpScalar(Operation):
    """input + weight * (end - input), element by element."""
    def __init__(self) -> None: ...
class Less(Operation):
    """Whether x < y, element by element."""
    def __init__(self) -> None: ...
class LessEqual(Operation):
    """Whether x <= y, element by element."""
    def __init__(self) -> None: ...
class Lgamma(Operation):
    """Logarithm of the absolute value of the gamma function of every element: inf at 0, -1, -2, ..."""
    def __init__(self) -> None: ...
class LinSpace(Operation):
    """``LinSpace()(start, stop, num)``: `num` numbers from start to stop, both included."""
    def __init__(self) -> None: ...
class Log(Operation):
    """Natural logarithm of every element: -inf at 0, nan below."""
    def __init__(self) -> None: ...
class Log1p(Operation):
    """log(1 + x) for every element, exact near 0: -inf at -1, nan below."""
    def __init__(self) -> None: ...
class LogMatrixDeterminant(Operation):
    """Signs of determinants and logarithms of their absolute values."""
    def __init__(self) -> None: ...
class LogNormalReverse(Operation):
    """``LogNormalReverse(mean=1.0, std=2.0)(x)``: random numbers whose logarithms are normal, in the shape of x."""
    def __init__(self, mean: Any = 1.0, std: Any = 2.0) -> None: ...
class LogSoftmax(Operation):
    """``LogSoftmax(axis=-1)(logits)``: the logarithm of softmax along an axis, without overflow."""
    def __init__(self, axis: Any = -1) -> None: ...
class LogSoftmaxExt(Operation):
    """``LogSoftmaxExt()(x, dim=-1)``: the logarithm of softmax along a dimension."""
    def __init__(self) -> None: ...
class LogSpace(Operation):
    """``LogSpace(steps=10, base=10, dtype=float32)(start, end)``: `base` to the powers of `linspace(start, end, steps)`; float32 by default."""
    def __init__(self, steps: Any = 10, base: Any = 10, dtype: Any = ...) -> None: ...
class LogicalAnd(Operation):
    """Whether both bools hold; numbers hold where they are not zero."""
    def __init__(self) -> None: ...
class LogicalNot(Operation):
    """Whether a bool does not hold; numbers hold where they are not zero."""
    def __init__(self) -> None: ...
class LogicalOr(Operation):
    """Whether either bool holds; numbers hold where they are not zero."""
    def __init__(self) -> None: ...
class LogicalXor(Operation):
    """Whether exactly one of two bools holds; numbers hold where they are not zero."""
    def __init__(self) -> None: ...
class Logit(Operation):
    """``Logit(eps=-1.0)(x)``: log(x / (1 - x)); with eps >= 0 elements are first clamped to eps ... 1 - eps."""
    def __init__(self, eps: Any = -1.0) -> None: ...
class LowerBound(Operation):
    """``LowerBound(out_type='int32')(x, values)``: how many elements of sorted rows are less than each value."""
    def __init__(self, out_type: str = 'int32') -> None: ...
class LpNorm(Operation):
    """``LpNorm(axis, p=2, keep_dims=False, epsilon=1e-12)(x)``: the p-norm of the vectors along axes."""
    def __init__(self, axis: Any, p: Any = 2, keep_dims: bool = False, epsilon: Any = 1e-12) -> None: ...
class Lstsq(Operation):
    """``Lstsq(fast=True, l2_regularizer=0.0)(x, a)``: least squares, see `ops.lstsq`; ValueError for a regularizer."""
    def __init__(self, fast: bool = True, l2_regularizer: Any = 0.0) -> None: ...
class LuSolve(Operation):
    """x with a @ x = b, from a's LU decomposition: both triangles in one matrix, and row exchanges counted from 1."""
    def __init__(self) -> None: ...
class LuUnpack(Operation):
    """``LuUnpack(unpack_data=True, unpack_pivots=True)(data, pivots)``: p, l, u with a = p @ l @ u, from a's LU decomposition and its row exchanges, counted from 1."""
    def __init__(self, unpack_data: bool = True, unpack_pivots: bool = True) -> None: ...
class MaskedFill(Operation):
    """``MaskedFill()(x, mask, value)``: x with `value` where the mask holds."""
    def __init__(self) -> None: ...
class MaskedScatter(Operation):
    """``MaskedScatter()(x, mask, updates)``: x with the elements where the mask holds replaced, one after the other."""
    def __init__(self) -> None: ...
class MaskedSelect(Operation):
    """The elements where the mask holds, in one dimension."""
    def __init__(self) -> None: ...
class MatMul(Operation):
    """``MatMul(transpose_a=False, transpose_b=False)(x, y)``: the matrix product over the last two dimensions."""
    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None: ...
class MatrixBandPart(Operation):
    """Zeros but for so many diagonals below and above the main one; a negative number keeps all on its side."""
    def __init__(self) -> None: ...
class MatrixDeterminant(Operation):
    """Determinants of square matrices; the derivative is defined where they are singular too, its own is not."""
    def __init__(self) -> None: ...
class MatrixDiagPartV3(Operation):
    """``MatrixDiagPartV3(align='RIGHT_LEFT')(x, k, padding_value)``: The diagonals k, or k[0] to k[1], of matrices; several as rows of one length, filled up with `padding_value`."""
    def __init__(self, align: str = 'RIGHT_LEFT') -> None: ...
class MatrixDiagV3(Operation):
    """``MatrixDiagV3(align='RIGHT_LEFT')(x, k, num_rows, num_cols, padding_value)``: Matrices with the given diagonals k, or k[0] to k[1], and `padding_value` elsewhere."""
    def __init__(self, align: str = 'RIGHT_LEFT') -> None: ...
class MatrixExp(Operation):
    """The matrix exponential of square matrices."""
    def __init__(self) -> None: ...
class MatrixInverse(Operation):
    """``MatrixInverse(adjoint=False)(x)``: the inverse of square matrices, or of their transposes."""
    def __init__(self, adjoint: bool = False) -> None: ...
class MatrixPower(Operation):
    """``MatrixPower(n)(x)``: A square matrix times itself, n times; of its inverse for negative n, the identity for 0."""
    def __init__(self, n: Any) -> None: ...
class MatrixSetDiagV3(Operation):
    """``MatrixSetDiagV3(align='RIGHT_LEFT')(x, diagonal, k)``: Matrices with other numbers in the diagonals k, or k[0] to k[1]."""
    def __init__(self, align: str = 'RIGHT_LEFT') -> None: ...
class MatrixSolve(Operation):
    """``MatrixSolve(adjoint=False)(matrix, rhs)``: x with matrix @ x = rhs, or matrix.T @ x = rhs if `adjoint`."""
    def __init__(self, adjoint: bool = False) -> None: ...
class MatrixTriangularSolve(Operation):
    """``MatrixTriangularSolve(lower=True, adjoint=False)(matrix, rhs)``: x with matrix @ x = rhs for one triangle."""
    def __init__(self, lower: bool = True, adjoint: bool = False) -> None: ...
class MaxPool(Operation):
    """``MaxPool(kernel_size=1, strides=1, ...)(x)``: the greatest element of every window over height and width."""
    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = 'valid', data_format: str = 'NCHW') -> None: ...
class MaxPool3D(Operation):
    """``MaxPool3D(kernel_size=1, strides=1, ...)(x)``: `MaxPool` over the last 3 dimensions."""
    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = 'VALID', pad_list: Any = 0, ceil_mode: bool | None = None, data_format: str = 'NCDHW') -> None: ...
class MaxPoolWithArgmaxV2(Operation):
    """``MaxPoolWithArgmaxV2(kernel_size, ...)(x)``: the greatest element of every window, and its position."""
    def __init__(self, kernel_size: Any, strides: Any = None, pads: Any = 0, dilation: Any = (1, 1), ceil_mode: bool = False, argmax_type: Any = ...) -> None: ...
class MaxUnpool2D(Operation):
    """``MaxUnpool2D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them."""
    def __init__(self, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (), data_format: str = 'NCHW') -> None: ...
class MaxUnpool3D(Operation):
    """``MaxUnpool3D(ksize, ...)(x, argmax)``: zeros with the elements of x where a max pooling found them."""
    def __init__(self, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (), data_format: str = 'NCDHW') -> None: ...
class Maximum(Operation):
    """``Maximum()(input, other)``: the greater element of two tensors; nan if either is, at a tie the cotangent is halved."""
    def __init__(self) -> None: ...
class Median(Operation):
    """``Median(global_median=False, axis=0, keep_dims=False, ignore_nan=False)(x)``: the lower median and its index."""
    def __init__(self, global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False) -> None: ...
class Meshgrid(Operation):
    """``Meshgrid(indexing='xy')(inputs)``: The coordinates of a grid over vectors, one tensor for each; "xy" exchanges the first two dimensions of "ij"."""
    def __init__(self, indexing: str = 'xy') -> None: ...
class Minimum(Operation):
    """``Minimum()(input, other)``: the smaller element of two tensors; nan if either is, at a tie the cotangent is halved."""
    def __init__(self) -> None: ...
class MirrorPad(Operation):
    """``MirrorPad(mode='REFLECT')(x, paddings)``: x mirrored by one pair of widths per dimension."""
    def __init__(self, mode: str = 'REFLECT') -> None: ...
class Mish(Operation):
    """x * tanh(softplus(x))."""
    def __init__(self) -> None: ...
class Mod(Operation):
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""
    def __init__(self) -> None: ...
class MoveTo(Operation):
    """``MoveTo()(x, to="CPU", blocking=True)``: x itself, as there is one device; ValueError for another."""
    def __init__(self) -> None: ...
class Mul(Operation):
    """``Mul()(input, other)``: the product of two tensors, element by element; they broadcast."""
    def __init__(self) -> None: ...
class MulNoNan(Operation):
    """``MulNoNan()(x, y)``: x * y, and 0 where y is 0, whatever x is."""
    def __init__(self) -> None: ...
class MultiMarginLoss(Operation):
    """``MultiMarginLoss(p=1, margin=1.0, reduction='mean')(inputs, target, weight=None)``: The mean over the other classes of max(0, margin - input[target] + input[class]) ** p."""
    def __init__(self, p: Any = 1, margin: Any = 1.0, reduction: str = 'mean') -> None: ...
class Multinomial(Operation):
    """``Multinomial(seed=0, seed2=0, dtype=int32)(weights, n)``: positions drawn in proportion to weights."""
    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = ...) -> None: ...
class MultinomialWithReplacement(Operation):
    """``MultinomialWithReplacement(numsamples, replacement=False)(weights, seed, offset)``: positions (int64)."""
    def __init__(self, numsamples: int, replacement: bool = False) -> None: ...
class Mvlgamma(Operation):
    """``Mvlgamma(p)(x)``: Logarithm of the multivariate gamma function of dimension p, for elements above (p - 1) / 2."""
    def __init__(self, p: Any) -> None: ...
class NLLLoss(Operation):
    """``NLLLoss(reduction="mean", ignore_index=-100)(logits, labels, weight)``: the loss, and the sum of the weights."""
    def __init__(self, reduction: str = 'mean', ignore_index: int = -100) -> None: ...
class NanToNum(Operation):
    """``NanToNum(nan=None, posinf=None, neginf=None)(x)``: nan replaced by `nan` (0) and infinities by `posinf` and `neginf` (the greatest and smallest finite number)."""
    def __init__(self, nan: Any = None, posinf: Any = None, neginf: Any = None) -> None: ...
class Neg(Operation):
    """The negative of every element."""
    def __init__(self) -> None: ...
class NeighborExchange(Operation):
    """Sends a tuple of tensors to processes, one each, and receives a tuple of tensors from others."""
    def __init__(self, send_rank_ids: Sequence[int], recv_rank_ids: Sequence[int], recv_shapes: Sequence[Sequence[int]], send_shapes: Sequence[Sequence[int]], recv_type: _DType, group: str = 'hccl_world_group') -> None: ...
class NextAfter(Operation):
    """The float that follows x on the way to y; x itself where they are equal. Derivatives: 1, 0."""
    def __init__(self) -> None: ...
class NonZero(Operation):
    """The indices (int64) of the nonzero elements, as rows or as a vector per dimension."""
    def __init__(self) -> None: ...
class NotEqual(Operation):
    """Whether two elements differ (nan differs from itself)."""
    def __init__(self) -> None: ...
class NthElement(Operation):
    """``NthElement(reverse=False)(x, n)``: the n-th smallest (or greatest) element of the last dimension, from 0."""
    def __init__(self, reverse: bool = False) -> None: ...
class NuclearNorm(Operation):
    """``NuclearNorm(dim=None, keepdim=False)(x)``: the sum of the singular values of matrices."""
    def __init__(self, dim: Any = None, keepdim: bool = False) -> None: ...
class OneHot(Operation):
    """``OneHot(axis=-1)(x, depth, on, off)``: one-hot codes along a new dimension."""
    def __init__(self, axis: Any = -1) -> None: ...
class Ones(Operation):
    """``Ones()(shape, dtype)``: a tensor of ones."""
    def __init__(self) -> None: ...
class OnesLike(Operation):
    """``OnesLike()(x)``: ones of the shape and dtype of x."""
    def __init__(self) -> None: ...
class Orgqr(Operation):
    """The first columns of q, as many as `input` has, from what `geqrf` packed: reflections and their factors."""
    def __init__(self) -> None: ...
class Ormqr(Operation):
    """``Ormqr(left=True, transpose=False)(x, tau, other)``: q @ other (q.T with `transpose`, or other @ q unless `left`), from what `geqrf` packed."""
    def __init__(self, left: bool = True, transpose: bool = False) -> None: ...
class PReLU(Operation):
    """x where it is positive, else weight * x (at 0 too); one weight per channel (axis 1), or one for all."""
    def __init__(self) -> None: ...
class Pack(Operation):
    """``Pack(axis=0)(tensors)``: MindSpore's older name of `Stack`."""
    def __init__(self, axis: Any = 0) -> None: ...
class Pad(Operation):
    """``Pad(paddings)(x)``: zeros around x; one (before, after) pair of widths per dimension."""
    def __init__(self, paddings: Any) -> None: ...
class PadV3(Operation):
    """``PadV3(mode="constant", paddings_contiguous=True)(x, paddings, value=None)``: see `ops.pad`."""
    def __init__(self, mode: str = 'constant', paddings_contiguous: bool = True) -> None: ...
class Padding(Operation):
    """``Padding(pad_dim_size=8)(x)``: The tensor, whose last dimension has the size 1, with zeros behind up to `pad_dim_size`."""
    def __init__(self, pad_dim_size: Any = 8) -> None: ...
class ParallelConcat(Operation):
    """``ParallelConcat()(values)``: tensors joined along the first dimension."""
    def __init__(self) -> None: ...
class Pdist(Operation):
    """``Pdist(p=2.0)(x)``: Distances of order p between the points i < j of [..., n, d], in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    def __init__(self, p: Any = 2.0) -> None: ...
class Poisson(Operation):
    """``Poisson(seed=0, seed2=0)(shape, mean)``: random numbers (int32) of Poisson distributions."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class Polygamma(Operation):
    """``Polygamma()(a, x)``: The n-th derivative of `digamma`, n >= 0."""
    def __init__(self) -> None: ...
class PopulationCount(Operation):
    """How many bits are set in each integer (uint8); a negative one counts as its two's complement."""
    def __init__(self) -> None: ...
class Pow(Operation):
    """`input` to the power of `exponent`, element by element."""
    def __init__(self) -> None: ...
class Print(Operation):
    """``Print()(input_x)``: Prints values, also in compiled code: a line for each, and Tensors with their shape and dtype."""
    def __init__(self) -> None: ...
class Qr(Operation):
    """``Qr(full_matrices=False)(x)``: q, r with input = q @ r: orthonormal columns and an upper triangular r; q is square if `mode` is "complete"."""
    def __init__(self, full_matrices: bool = False) -> None: ...
class RandomCategorical(Operation):
    """``RandomCategorical(dtype=int64)(logits, num_sample, seed=0)``: positions drawn by logarithms of weights."""
    def __init__(self, dtype: Any = ...) -> None: ...
class RandomChoiceWithMask(Operation):
    """``RandomChoiceWithMask(count=256, ...)(mask)``: random indices of true elements, and which of them exist."""
    def __init__(self, count: int = 256, seed: int = 0, seed2: int = 0) -> None: ...
class RandomGamma(Operation):
    """``RandomGamma(seed=0, seed2=0)(shape, alpha)``: random numbers of gamma distributions: [*shape, *alpha.shape]."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class RandomPoisson(Operation):
    """``RandomPoisson(seed=0, seed2=0, dtype=int64)(shape, rate)``: Poisson numbers: [*shape, *rate.shape]."""
    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = ...) -> None: ...
class RandomShuffle(Operation):
    """``RandomShuffle(seed=0, seed2=0)(x)``: the slices along the first dimension in a random order."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class Randperm(Operation):
    """``Randperm(max_length=1, pad=-1, dtype=int32)(n)``: 0 ... n - 1 in a random order, padded to a length."""
    def __init__(self, max_length: Any = 1, pad: Any = -1, dtype: Any = ...) -> None: ...
class RandpermV2(Operation):
    """``RandpermV2(seed=0, offset=0, dtype=int64)(n)``: 0 ... n - 1 in a random order."""
    def __init__(self, seed: Any = 0, offset: Any = 0, dtype: Any = ...) -> None: ...
class Range(Operation):
    """``Range(maxlen=1000000)(start, end, step)``: The numbers from start up to before end; ValueError for more than `maxlen` of them."""
    def __init__(self, maxlen: Any = 1000000) -> None: ...
class Rank(Operation):
    """``Rank()(input_x)``: The number of dimensions."""
    def __init__(self) -> None: ...
class ReLU(Operation):
    """``ReLU()(x)``: max(x, 0) for every element; its derivative at 0 is 0."""
    def __init__(self) -> None: ...
class ReLU6(Operation):
    """x between 0 and 6; its derivative at both is 0."""
    def __init__(self) -> None: ...
class Real(Operation):
    """The same numbers: they are all real."""
    def __init__(self) -> None: ...
class RealDiv(Operation):
    """``RealDiv()(dividend, divisor)``: the true quotient of two tensors, which broadcast; integers become float32 first."""
    def __init__(self) -> None: ...
class Receive(Operation):
    """The tensor that another process sends with the same tag."""
    def __init__(self, sr_tag: int, src_rank: int, shape: Sequence[int], dtype: _DType, group: str = 'hccl_world_group', group_back: str = 'hccl_world_group') -> None: ...
class Reciprocal(Operation):
    """1 / x for every element: inf at 0."""
    def __init__(self) -> None: ...
class Reduce(Operation):
    """Elements of all processes, combined by `op`, in one of them; the others get a vector of one 0."""
    def __init__(self, dest_rank: int, op: str = 'sum', group: str = 'hccl_world_group') -> None: ...
class ReduceAll(Operation):
    """``ReduceAll(keep_dims=False)(x, axis=())``: whether all elements over axes are true."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceAny(Operation):
    """``ReduceAny(keep_dims=False)(x, axis=())``: whether any element over axes is true."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceMax(Operation):
    """``ReduceMax(keep_dims=False)(x, axis=())``: the greatest element over axes; ties share the cotangent evenly."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceMean(Operation):
    """``ReduceMean(keep_dims=False)(x, axis=())``: the mean over axes; that of integers is truncated."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceMin(Operation):
    """``ReduceMin(keep_dims=False)(x, axis=())``: the smallest element over axes; ties share the cotangent evenly."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceProd(Operation):
    """``ReduceProd(keep_dims=False)(x, axis=())``: the product over axes; integers keep their dtype."""
    def __init__(self, keep_dims: bool = False) -> None: ...
class ReduceScatter(Operation):
    """Of the elements of all processes, combined by `op`, the part of axis 0 that belongs to this process."""
    def __init__(self, op: str = 'sum', group: str = 'hccl_world_group') -> None: ...
class ReduceScatterV(Operation):
    """As `ReduceScatter` for a vector in parts of `input_split_sizes` elements."""
    def __init__(self, op: str = 'sum', group: str = 'hccl_world_group') -> None: ...
class ReduceStd(Operation):
    """``ReduceStd(axis=(), unbiased=True, keep_dims=False)(x)``: the standard deviation and the mean over axes."""
    def __init__(self, axis: Any = (), unbiased: bool = True, keep_dims: bool = False) -> None: ...
class ReduceSum(Operation):
    """``ReduceSum(keep_dims=False, skip_mode=False)(x, axis=())``: the sum over axes; integers keep their dtype."""
    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None: ...
class Renorm(Operation):
    """``Renorm(p, dim, maxnorm)(x)``: Slices along an axis whose norm of order p exceeds `maxnorm` scaled down to it."""
    def __init__(self, p: Any, dim: Any, maxnorm: Any) -> None: ...
class Reshape(Operation):
    """``Reshape()(x, shape)``: the same elements in row-major order under another shape; one size may be -1."""
    def __init__(self) -> None: ...
class ResizeBicubic(Operation):
    """``ResizeBicubic(align_corners=False, half_pixel_centers=False)(images, size)``: one of the flags must be set."""
    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False) -> None: ...
class ResizeBilinear(Operation):
    """``ResizeBilinear(size, ...)(x)``: images [batch, channels, height, width] resized by linear interpolation."""
    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> None: ...
class ResizeBilinearV2(Operation):
    """``ResizeBilinearV2(...)(x, size)``: images [batch, channels, height, width] resized by linear interpolation."""
    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False) -> None: ...
class ResizeLinear1D(Operation):
    """``ResizeLinear1D(coordinate_transformation_mode="align_corners")(x, size)``: the last dimension resized."""
    def __init__(self, coordinate_transformation_mode: str = 'align_corners') -> None: ...
class ResizeNearestNeighbor(Operation):
    """``ResizeNearestNeighbor(size, ...)(x)``: images [batch, channels, height, width] resized to nearest elements."""
    def __init__(self, size: Any, align_corners: bool = False, half_pixel_centers: bool = False) -> None: ...
class ResizeNearestNeighborV2(Operation):
    """``ResizeNearestNeighborV2(...)(x, size)``: images [N, C, H, W] resized to nearest elements."""
    def __init__(self, align_corners: bool = False, half_pixel_centers: bool = False) -> None: ...
class ReverseSequence(Operation):
    """``ReverseSequence(seq_dim, batch_dim=0)(x, lengths)``: the first `lengths[b]` elements in reverse order."""
    def __init__(self, seq_dim: Any, batch_dim: Any = 0) -> None: ...
class ReverseV2(Operation):
    """``ReverseV2(axis)(x)``: the elements in reverse order along axes."""
    def __init__(self, axis: Any) -> None: ...
class RightShift(Operation):
    """Bits of an integer moved down, copying the sign."""
    def __init__(self) -> None: ...
class Rint(Operation):
    """``Rint()(input_x)``: the integer nearest to each element, halves to the even one, in the dtype of x."""
    def __init__(self) -> None: ...
class RmsNorm(Operation):
    """``RmsNorm(epsilon=1e-06)(x, gamma)``: Divided by the root of the mean square over the last dimensions, times gamma; and the root's reciprocal."""
    def __init__(self, epsilon: Any = 1e-06) -> None: ...
class Roll(Operation):
    """``Roll(shifts, dims=None)(x)``: the elements shifted cyclically along dimensions."""
    def __init__(self, shifts: Any, dims: Any = None) -> None: ...
class Round(Operation):
    """``Round()(input_x, decimals=0)``: the nearest number with so many decimals, halves to the even one."""
    def __init__(self) -> None: ...
class Rsqrt(Operation):
    """1 / sqrt(x) for every element: inf at 0, nan below."""
    def __init__(self) -> None: ...
class SGD(Operation):
    """One step of stochastic gradient descent: ``v = momentum * v + (1 - dampening) * g``; ``p -= lr * v``."""
    def __init__(self, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False) -> None: ...
class ScalarCast(Operation):
    """``ScalarCast()(input_x, input_y)``: A number as another kind of number: a float, an int or a bool, as the dtype `input_y` is."""
    def __init__(self) -> None: ...
class ScalarToArray(Operation):
    """``ScalarToArray()(input_x)``: A number as a tensor without dimensions: float32, int64 or bool."""
    def __init__(self) -> None: ...
class ScalarToTensor(Operation):
    """``ScalarToTensor()(input_x, dtype)``: A number as a tensor without dimensions."""
    def __init__(self) -> None: ...
class Scan(Operation):
    """``carry, y = loop_func(carry, x)`` for every x of `xs`, from `init` on: the last carry, and a list of the y."""
    def __init__(self) -> None: ...
class ScatterAdd(Operation):
    """``ScatterAdd(use_locking=False)(input_x, indices, updates)``: Adds `updates` to the rows of a Parameter at the given positions, repeatedly if repeated."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterAddWithAxis(Operation):
    """``ScatterAddWithAxis(axis=0)(x, i, u)``: The tensor with elements replaced by `updates`, or with reduction "add" raised by them, along an axis."""
    def __init__(self, axis: Any = 0) -> None: ...
class ScatterDiv(Operation):
    """``ScatterDiv(use_locking=False)(input_x, indices, updates)``: Divides the rows of a Parameter (of floats) at the given positions by `updates`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterMax(Operation):
    """``ScatterMax(use_locking=False)(input_x, indices, updates)``: Raises the rows of a Parameter at the given positions to `updates` at least."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterMin(Operation):
    """``ScatterMin(use_locking=False)(input_x, indices, updates)``: Lowers the rows of a Parameter at the given positions to `updates` at most."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterMul(Operation):
    """``ScatterMul(use_locking=False)(input_x, indices, updates)``: Multiplies the rows of a Parameter at the given positions by `updates`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNd(Operation):
    """Zeros of a shape with `updates` added at the indices in the last dimension of `indices`."""
    def __init__(self) -> None: ...
class ScatterNdAdd(Operation):
    """``ScatterNdAdd(use_locking=False)(input_x, indices, updates, use_locking)``: Adds `updates` to a Parameter at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdDiv(Operation):
    """``ScatterNdDiv(use_locking=False)(input_x, indices, updates, use_locking)``: Divides a Parameter (of floats) by `updates` at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdMax(Operation):
    """``ScatterNdMax(use_locking=False)(input_x, indices, updates, use_locking)``: Raises a Parameter to `updates` at least at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdMin(Operation):
    """``ScatterNdMin(use_locking=False)(input_x, indices, updates, use_locking)``: Lowers a Parameter to `updates` at most at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdMul(Operation):
    """``ScatterNdMul(use_locking=False)(input_x, indices, updates, use_locking)``: Multiplies a Parameter by `updates` at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdSub(Operation):
    """``ScatterNdSub(use_locking=False)(input_x, indices, updates, use_locking)``: Subtracts `updates` from a Parameter at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterNdUpdate(Operation):
    """``ScatterNdUpdate(use_locking=True)(input_x, indices, updates)``: Replaces the elements (or slices) of a Parameter at the indices in the last dimension of `indices`."""
    def __init__(self, use_locking: bool = True) -> None: ...
class ScatterNonAliasingAdd(Operation):
    """``ScatterNonAliasingAdd()(input_x, indices, updates, use_locking)``: Adds `updates` to a Parameter at the indices in the last dimension of `indices`."""
    def __init__(self) -> None: ...
class ScatterSub(Operation):
    """Subtracts `updates` from the rows of a Parameter at the given positions, repeatedly if repeated."""
    def __init__(self, use_locking: bool = False) -> None: ...
class ScatterUpdate(Operation):
    """``ScatterUpdate(use_locking=True)(input_x, indices, updates)``: Replaces the rows of a Parameter at the given positions; of a repeated one the last counts."""
    def __init__(self, use_locking: bool = True) -> None: ...
class SeLU(Operation):
    """elu with the two constants for which activations keep mean 0 and variance 1; at 0 the left derivative."""
    def __init__(self) -> None: ...
class SearchSorted(Operation):
    """``SearchSorted(dtype='int64', right=False)(sequence, values)``: where values belong in ascending sequences."""
    def __init__(self, dtype: str = 'int64', right: bool = False) -> None: ...
class SegmentMax(Operation):
    """``SegmentMax()(x, segment_ids)``: greatest rows by segment; ids never decrease. Eager code only."""
    def __init__(self) -> None: ...
class SegmentMean(Operation):
    """``SegmentMean()(x, segment_ids)``: means of rows by segment; ids never decrease. Eager code only."""
    def __init__(self) -> None: ...
class SegmentMin(Operation):
    """``SegmentMin()(x, segment_ids)``: smallest rows by segment; ids never decrease. Eager code only."""
    def __init__(self) -> None: ...
class SegmentProd(Operation):
    """``SegmentProd()(x, segment_ids)``: products of rows by segment; ids never decrease. Eager code only."""
    def __init__(self) -> None: ...
class SegmentSum(Operation):
    """``SegmentSum()(x, segment_ids)``: sums of rows by segment; ids never decrease. Eager code only."""
    def __init__(self) -> None: ...
class Select(Operation):
    """``Select()(condition, x, y)``: the elements of x where the condition holds, else those of y."""
    def __init__(self) -> None: ...
class Send(Operation):
    """Sends a tensor to another process, which receives it with the same tag; gives the tensor."""
    def __init__(self, sr_tag: int, dest_rank: int, group: str = 'hccl_world_group', group_back: str = 'hccl_world_group') -> None: ...
class Shape(Operation):
    """``Shape()(input_x)``: The sizes of the dimensions."""
    def __init__(self) -> None: ...
class Sigmoid(Operation):
    """1 / (1 + exp(-x)), with full relative precision; results below the smallest normal number may become 0."""
    def __init__(self) -> None: ...
class SigmoidCrossEntropyWithLogits(Operation):
    """``SigmoidCrossEntropyWithLogits()(logits, label)``: binary cross entropy, element by element."""
    def __init__(self) -> None: ...
class Sign(Operation):
    """-1, 0 or 1 for every element; nan stays."""
    def __init__(self) -> None: ...
class Sin(Operation):
    """Sine of every element, in radians."""
    def __init__(self) -> None: ...
class Sinc(Operation):
    """sin(pi x) / (pi x), and 1 at 0."""
    def __init__(self) -> None: ...
class Sinh(Operation):
    """Hyperbolic sine of every element."""
    def __init__(self) -> None: ...
class Size(Operation):
    """How many elements there are."""
    def __init__(self) -> None: ...
class Slice(Operation):
    """`size` elements of every dimension from `begin` on, which may be known only at run time; -1 takes the rest."""
    def __init__(self) -> None: ...
class SmoothL1Loss(Operation):
    """``SmoothL1Loss(beta=1.0, reduction='none')(logits, labels)``: Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."""
    def __init__(self, beta: Any = 1.0, reduction: str = 'none') -> None: ...
class SoftMarginLoss(Operation):
    """``SoftMarginLoss(reduction='mean')(logits, labels)``: log(1 + exp(-target * input)) for targets 1 and -1."""
    def __init__(self, reduction: str = 'mean') -> None: ...
class SoftShrink(Operation):
    """``SoftShrink(lambd=0.5)(input_x)``: x moved by lambd towards 0; 0 from -lambd to lambd."""
    def __init__(self, lambd: Any = 0.5) -> None: ...
class Softmax(Operation):
    """``Softmax(axis=-1)(logits)``: exp(x) divided by its sum along an axis, without overflow."""
    def __init__(self, axis: Any = -1) -> None: ...
class SoftmaxCrossEntropyWithLogits(Operation):
    """``SoftmaxCrossEntropyWithLogits()(logits, labels)``: the loss of each row, and its gradient by the logits."""
    def __init__(self) -> None: ...
class Softplus(Operation):
    """log(1 + exp(beta x)) / beta without overflow; x itself where beta x exceeds the threshold."""
    def __init__(self) -> None: ...
class Softsign(Operation):
    """x / (1 + abs(x))."""
    def __init__(self) -> None: ...
class Sort(Operation):
    """``Sort(axis=-1, descending=False)(x)``: the elements sorted along an axis, and their positions (int32)."""
    def __init__(self, axis: Any = -1, descending: bool = False) -> None: ...
class SpaceToBatch(Operation):
    """``SpaceToBatch(block_size, paddings)(x)``: Blocks of the last dimensions, padded with zeros first, spread over the batch."""
    def __init__(self, block_size: Any, paddings: Any) -> None: ...
class SpaceToBatchND(Operation):
    """``SpaceToBatchND(block_shape, paddings)(x)``: Blocks of the last dimensions, padded with zeros first, spread over the batch."""
    def __init__(self, block_shape: Any, paddings: Any) -> None: ...
class SpaceToDepth(Operation):
    """``SpaceToDepth(block_size)(x)``: blocks of images [N, C, H, W] moved into the channels."""
    def __init__(self, block_size: int) -> None: ...
class SparseApplyAdagradV2(Operation):
    """One step of Adagrad for the rows at `indices`: ``s += g**2``; ``p -= lr * g / (sqrt(s) + epsilon)``."""
    def __init__(self, lr: float, epsilon: float, use_locking: bool = False, update_slots: bool = True) -> None: ...
class SparseApplyFtrl(Operation):
    """One step of FTRL for the rows at `indices`; see `nn.FTRL`."""
    def __init__(self, lr: float, l1: float, l2: float, lr_power: float, use_locking: bool = False) -> None: ...
class SparseSoftmaxCrossEntropyWithLogits(Operation):
    """``SparseSoftmaxCrossEntropyWithLogits(is_grad=False)(logits, labels)``: the mean loss of integer labels."""
    def __init__(self, is_grad: bool = False) -> None: ...
class Split(Operation):
    """``Split(axis=0, output_num=1)(x)``: `output_num` parts along a dimension; ValueError if they are not equal."""
    def __init__(self, axis: Any = 0, output_num: Any = 1) -> None: ...
class SplitV(Operation):
    """``SplitV(size_splits, split_dim, num_split)(x)``: parts of these sizes along a dimension; one may be -1."""
    def __init__(self, size_splits: Any, split_dim: Any, num_split: Any) -> None: ...
class Sqrt(Operation):
    """Square root of every element: nan below 0; its derivative at 0 is inf."""
    def __init__(self) -> None: ...
class Square(Operation):
    """``Square()(x)``: The square of every element."""
    def __init__(self) -> None: ...
class SquareSumAll(Operation):
    """``SquareSumAll()(x, y)``: the sums of squares of two tensors, as a pair."""
    def __init__(self) -> None: ...
class SquaredDifference(Operation):
    """``SquaredDifference()(x, y)``: (x - y) ** 2, element by element."""
    def __init__(self) -> None: ...
class Squeeze(Operation):
    """``Squeeze(axis=())(x)``: dimensions of size 1 removed, all of them by default."""
    def __init__(self, axis: Any = ()) -> None: ...
class Stack(Operation):
    """``Stack(axis=0)(tensors)``: tensors of one shape joined along a new dimension."""
    def __init__(self, axis: Any = 0) -> None: ...
class StandardLaplace(Operation):
    """``StandardLaplace(seed=0, seed2=0)(shape)``: random numbers (float32) of the Laplace distribution."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class StandardNormal(Operation):
    """``StandardNormal(seed=0, seed2=0)(shape)``: random numbers (float32) of the standard normal distribution."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class StopGradient(Operation):
    """``StopGradient()(value)``: The same value; no derivative passes through it, at any order. What is no number has none and stays as it is."""
    def __init__(self) -> None: ...
class StridedSlice(Operation):
    """``StridedSlice(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)(x, begin, end, strides)``: ``x[begin:end:strides]`` for the first dimensions."""
    def __init__(self, begin_mask: Any = 0, end_mask: Any = 0, ellipsis_mask: Any = 0, new_axis_mask: Any = 0, shrink_axis_mask: Any = 0) -> None: ...
class Sub(Operation):
    """``Sub()(input, other)``: the difference of two tensors, which broadcast."""
    def __init__(self) -> None: ...
class Svd(Operation):
    """``Svd(full_matrices=False, compute_uv=True)(x)``: s, u, v with x = u @ diag(s) @ v.T; s alone without `compute_uv`."""
    def __init__(self, full_matrices: bool = False, compute_uv: bool = True) -> None: ...
class Tan(Operation):
    """Tangent of every element, in radians."""
    def __init__(self) -> None: ...
class Tanh(Operation):
    """Hyperbolic tangent of every element."""
    def __init__(self) -> None: ...
class TensorAdd(Operation):
    """Sum of two tensors (of bools: whether either holds)."""
    def __init__(self) -> None: ...
class TensorScatterAdd(Operation):
    """The tensor with `updates` added at the indices in the last dimension of `indices`; repeated positions add up."""
    def __init__(self) -> None: ...
class TensorScatterDiv(Operation):
    """The tensor divided by `updates` at the indices in the last dimension of `indices`; floats only."""
    def __init__(self) -> None: ...
class TensorScatterElements(Operation):
    """``TensorScatterElements(axis=0, reduction='none')(x, i, u)``: The tensor with elements replaced by `updates`, or with reduction "add" raised by them, along an axis."""
    def __init__(self, axis: Any = 0, reduction: str = 'none') -> None: ...
class TensorScatterMax(Operation):
    """The greater of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    def __init__(self) -> None: ...
class TensorScatterMin(Operation):
    """The smaller of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    def __init__(self) -> None: ...
class TensorScatterMul(Operation):
    """The tensor multiplied by `updates` at the indices in the last dimension of `indices`."""
    def __init__(self) -> None: ...
class TensorScatterSub(Operation):
    """The tensor with `updates` subtracted at the indices in the last dimension of `indices`."""
    def __init__(self) -> None: ...
class TensorScatterUpdate(Operation):
    """The tensor with the elements (or slices) at the indices in the last dimension of `indices` replaced."""
    def __init__(self) -> None: ...
class TensorShape(Operation):
    """``TensorShape()(input_x)``: The shape as a tensor (int64)."""
    def __init__(self) -> None: ...
class Tile(Operation):
    """``Tile()(x, multiples)``: the whole tensor repeated along its dimensions."""
    def __init__(self) -> None: ...
class TopK(Operation):
    """``TopK(sorted=True)(x, k)``: the k greatest elements along the last dimension, and their positions (int32)."""
    def __init__(self, sorted: bool = True) -> None: ...
class Trace(Operation):
    """``Trace()(x, offset, axis1, axis2, dtype)``: Sum along a diagonal of two axes; smaller integers and bools are summed as int64, as in `sum`."""
    def __init__(self) -> None: ...
class Transpose(Operation):
    """``Transpose()(x, order)``: the dimensions in another order."""
    def __init__(self) -> None: ...
class TransposeExtView(Operation):
    """``TransposeExtView()(x, dim0, dim1)``: two dimensions exchanged."""
    def __init__(self) -> None: ...
class TransposeView(Operation):
    """``TransposeView()(x, order)``: the dimensions in another order."""
    def __init__(self) -> None: ...
class TridiagonalMatMul(Operation):
    """``TridiagonalMatMul()(superdiag, maindiag, subdiag, rhs)``: tridiagonal matrices times `rhs`."""
    def __init__(self) -> None: ...
class Tril(Operation):
    """``Tril(diagonal=0)(x)``: the elements of matrices on and below a diagonal, zeros above."""
    def __init__(self, diagonal: Any = 0) -> None: ...
class TrilIndices(Operation):
    """``TrilIndices(row, col, offset=0, dtype='int32')()``: The indices [2, n] on and below a diagonal of a matrix, row by row; int64 by default."""
    def __init__(self, row: Any, col: Any, offset: Any = 0, dtype: str = 'int32') -> None: ...
class TripletMarginLoss(Operation):
    """``TripletMarginLoss(p=2, swap=False, eps=1e-06, reduction='mean')(x, positive, negative, margin)``: max(0, margin + distance to the positive - distance to the negative)."""
    def __init__(self, p: Any = 2, swap: bool = False, eps: Any = 1e-06, reduction: str = 'mean') -> None: ...
class Triu(Operation):
    """``Triu(diagonal=0)(x)``: the elements of matrices on and above a diagonal, zeros below."""
    def __init__(self, diagonal: Any = 0) -> None: ...
class TriuIndices(Operation):
    """``TriuIndices(row, col, offset=0, dtype='int32')()``: The indices [2, n] on and above a diagonal of a matrix, row by row; int64 by default."""
    def __init__(self, row: Any, col: Any, offset: Any = 0, dtype: str = 'int32') -> None: ...
class Trunc(Operation):
    """Each element rounded towards 0; its derivative is 0."""
    def __init__(self) -> None: ...
class TruncateDiv(Operation):
    """``TruncateDiv()(x, y)``: Quotient rounded towards 0; integers keep their dtype."""
    def __init__(self) -> None: ...
class TruncateMod(Operation):
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""
    def __init__(self) -> None: ...
class TruncatedNormal(Operation):
    """``TruncatedNormal(dtype=float32, seed=0, seed2=0)(shape)``: standard normal numbers between -2 and 2."""
    def __init__(self, dtype: Any = ..., seed: int = 0, seed2: int = 0) -> None: ...
class TupleToArray(Operation):
    """``TupleToArray()(input_x)``: Numbers as a tensor of one dimension: float32 if one is a float, else int64 or bool."""
    def __init__(self) -> None: ...
class UniformInt(Operation):
    """``UniformInt(seed=0, seed2=0)(shape, minval, maxval)``: random integers (int32) from minval to maxval - 1."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class UniformReal(Operation):
    """``UniformReal(seed=0, seed2=0)(shape)``: random numbers (float32) of [0, 1)."""
    def __init__(self, seed: int = 0, seed2: int = 0) -> None: ...
class Unique(Operation):
    """``Unique()(input)``: The distinct elements as they first appear, and the position of each element among them."""
    def __init__(self) -> None: ...
class UniqueConsecutive(Operation):
    """``UniqueConsecutive(return_inverse=False, return_counts=False, dim=None)(x)``: The elements (or slices along `dim`) without repetitions of the one before."""
    def __init__(self, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> None: ...
class UniqueWithPad(Operation):
    """``UniqueWithPad()(x, pad_num)``: `unique` of a vector, padded with `pad_num` to its size; and the position of each element in it."""
    def __init__(self) -> None: ...
class Unpack(Operation):
    """``Unpack(axis=0)(x)``: the slices along a dimension, MindSpore's older `Unstack`."""
    def __init__(self, axis: Any = 0) -> None: ...
class UnravelIndex(Operation):
    """Flat indices as indices of a tensor of these sizes, one in each row."""
    def __init__(self) -> None: ...
class UnsortedSegmentMax(Operation):
    """Greatest of the rows with one segment id, the dtype's least number where there is none."""
    def __init__(self) -> None: ...
class UnsortedSegmentMin(Operation):
    """Smallest of the rows with one segment id, the dtype's greatest number where there is none."""
    def __init__(self) -> None: ...
class UnsortedSegmentProd(Operation):
    """Products of the rows with one segment id, 1 where there is none; rows with negative ids do not count."""
    def __init__(self) -> None: ...
class UnsortedSegmentSum(Operation):
    """Sums of the rows with one segment id, 0 where there is none; rows with negative ids do not count."""
    def __init__(self) -> None: ...
class Unstack(Operation):
    """``Unstack(axis=0, num=None)(x)``: the slices along a dimension; ValueError if they are not `num`."""
    def __init__(self, axis: Any = 0, num: Any = None) -> None: ...
class UpperBound(Operation):
    """``UpperBound(out_type='int32')(x, values)``: how many elements of sorted rows are at most each value."""
    def __init__(self, out_type: str = 'int32') -> None: ...
class UpsampleNearest3D(Operation):
    """``UpsampleNearest3D()(x, output_size=None, scales=None)``: [batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`."""
    def __init__(self) -> None: ...
class UpsampleTrilinear3D(Operation):
    """``UpsampleTrilinear3D(align_corners=False)(x, output_size=None, scales=None)``: [batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`."""
    def __init__(self, align_corners: bool = False) -> None: ...
class WhileLoop(Operation):
    """``val = loop_func(val)`` from `init_val` on, while ``cond_func(val)`` holds."""
    def __init__(self) -> None: ...
class Xdivy(Operation):
    """x / y, and 0 where x is 0 whatever y (nan aside)."""
    def __init__(self) -> None: ...
class Xlogy(Operation):
    """x * log(y), and 0 where x is 0 whatever y (nan aside)."""
    def __init__(self) -> None: ...
class Zeros(Operation):
    """``Zeros()(shape, dtype)``: a tensor of zeros."""
    def __init__(self) -> None: ...
class ZerosLike(Operation):
    """``ZerosLike()(x)``: zeros of the shape and dtype of x."""
    def __init__(self) -> None: ...
class Zeta(Operation):
    """Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., or its n-th derivative by x."""
    def __init__(self) -> None: ...
def abs(input: Any) -> Tensor:
    """Absolute value of every element; its derivative at 0 is 0."""
    ...
def absolute(input: Any) -> Tensor:
    """Absolute value of every element; its derivative at 0 is 0."""
    ...
def acos(input: Any) -> Tensor:
    """Inverse cosine of every element: nan outside of -1 ... 1, where the derivative is -inf."""
    ...
def acosh(input: Any) -> Tensor:
    """Inverse hyperbolic cosine of every element: nan below 1, where the derivative is inf."""
    ...
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Means of `output_size` nearly equal parts of the last dimension."""
    ...
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Means of `output_size` nearly equal parts of the last 2 dimensions; None keeps a size."""
    ...
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Means of `output_size` nearly equal parts of the last 3 dimensions; None keeps a size."""
    ...
def adaptive_max_pool1d(input: Any, output_size: Any) -> Tensor:
    """Greatest elements of `output_size` nearly equal parts of the last dimension."""
    ...
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Tensor:
    """Greatest elements of nearly equal parts of the last 2 dimensions, with `return_indices` also their positions."""
    ...
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Tensor:
    """Greatest elements of nearly equal parts of the last 3 dimensions, with `return_indices` also their positions."""
    ...
def add(input: Any, other: Any) -> Tensor:
    """Sum of two tensors (of bools: whether either holds)."""
    ...
def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    ...
def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    ...
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    ...
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    ...
def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * x + alpha * outer(vec1, vec2)."""
    ...
def adjoint(x: Any) -> Tensor:
    """Matrices with rows and columns exchanged."""
    ...
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """Coordinates for `grid_sample`: a grid of `size` mapped by theta [batch, n, n + 1]."""
    ...
def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether every element over the axes (all by default) holds; numbers hold where they are not zero."""
    ...
def amax(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Greatest element over axes (all by default) where `where` holds, or `initial` if that is greater."""
    ...
def amin(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Smallest element over axes (all by default) where `where` holds, or `initial` if that is smaller."""
    ...
def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Smallest and greatest element along an axis; ties share the cotangent evenly."""
    ...
def angle(input: Any) -> Tensor:
    """0 for numbers from 0 on, pi for negative ones; nan stays. Its derivative is 0."""
    ...
def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether any element over the axes (all by default) holds; numbers hold where they are not zero."""
    ...
def approximate_equal(x: Any, y: Any, tolerance: Any = 1e-05) -> Tensor:
    """Whether |x - y| < tolerance."""
    ...
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """The numbers from start (0 if only one argument is given) up to before end."""
    ...
def arccos(input: Any) -> Tensor:
    """Inverse cosine of every element: nan outside of -1 ... 1, where the derivative is -inf."""
    ...
def arccosh(input: Any) -> Tensor:
    """Inverse hyperbolic cosine of every element: nan below 1, where the derivative is inf."""
    ...
def arcsin(x: Any) -> Tensor:
    """Inverse sine of every element: nan outside of -1 ... 1, where the derivative is inf."""
    ...
def arcsinh(input: Any) -> Tensor:
    """Inverse hyperbolic sine of every element."""
    ...
def arctan(input: Any) -> Tensor:
    """Inverse tangent of every element."""
    ...
def arctan2(input: Any, other: Any) -> Tensor:
    """The angle of the point (y, x), in all four quadrants: the first operand is the ordinate."""
    ...
def arctanh(input: Any) -> Tensor:
    """Inverse hyperbolic tangent of every element: infinite at -1 and 1, nan outside."""
    ...
def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the greatest element along a dimension, of the flat tensor by default."""
    ...
def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Index (int32) of the smallest element along an axis, of the flat tensor by default."""
    ...
def argsort(input: Any, axis: Any = -1, descending: bool = False) -> Tensor:
    """The positions (int32) that sort the elements along an axis; equal elements keep their order, nan is greatest."""
    ...
def argwhere(input: Any) -> Tensor:
    """The indices (int64) of the nonzero elements, as rows."""
    ...
def asin(input: Any) -> Tensor:
    """Inverse sine of every element: nan outside of -1 ... 1, where the derivative is inf."""
    ...
def asinh(input: Any) -> Tensor:
    """Inverse hyperbolic sine of every element."""
    ...
def atan(input: Any) -> Tensor:
    """Inverse tangent of every element."""
    ...
def atan2(input: Any, other: Any) -> Tensor:
    """The angle of the point (y, x), in all four quadrants: the first operand is the ordinate."""
    ...
def atanh(input: Any) -> Tensor:
    """Inverse hyperbolic tangent of every element: infinite at -1 and 1, nan outside."""
    ...
def avg_pool1d(input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of every window over the last dimension; padding counts as zeros with `count_include_pad`."""
    ...
def avg_pool2d(input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = 0) -> Tensor:
    """The mean of every window over the last 2 dimensions; `divisor_override` replaces the number of elements."""
    ...
def avg_pool3d(input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = 0) -> Tensor:
    """The mean of every window over the last 3 dimensions; `divisor_override` replaces the number of elements."""
    ...
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """A triangular window, float32 by default; see NumPy's `bartlett`."""
    ...
def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Tensor:
    """Sum of products over one axis of each tensor, for every element of the batch: the first dimension of both."""
    ...
def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Tensor:
    """The inverse of `space_to_batch_nd`: the batch gathered to blocks, the borders of the result cropped."""
    ...
def bessel_i0(x: Any) -> Tensor:
    """`bessel_i` of order 0."""
    ...
def bessel_i0e(x: Any) -> Tensor:
    """`bessel_ie` of order 0."""
    ...
def bessel_i1(x: Any) -> Tensor:
    """`bessel_i` of order 1."""
    ...
def bessel_i1e(x: Any) -> Tensor:
    """`bessel_ie` of order 1."""
    ...
def bessel_j0(x: Any) -> Tensor:
    """`bessel_j` of order 0."""
    ...
def bessel_j1(x: Any) -> Tensor:
    """`bessel_j` of order 1."""
    ...
def bessel_k0(x: Any) -> Tensor:
    """`bessel_k` of order 0."""
    ...
def bessel_k0e(x: Any) -> Tensor:
    """`bessel_ke` of order 0."""
    ...
def bessel_k1(x: Any) -> Tensor:
    """`bessel_k` of order 1."""
    ...
def bessel_k1e(x: Any) -> Tensor:
    """`bessel_ke` of order 1."""
    ...
def bessel_y0(x: Any) -> Tensor:
    """`bessel_y` of order 0."""
    ...
def bessel_y1(x: Any) -> Tensor:
    """`bessel_y` of order 1."""
    ...
def bias_add(input_x: Any, bias: Any) -> Tensor:
    """[batch, channels, ...] plus one number per channel."""
    ...
def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """input1 @ weight[i] @ input2 + bias[i] for every i, along the last dimensions."""
    ...
def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = 'mean') -> Tensor:
    """Cross entropy of probabilities against labels from 0 to 1; finite at 0 and 1."""
    ...
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = 'mean') -> Tensor:
    """Binary cross entropy of sigmoid(input), without overflow; `pos_weight` multiplies the part of the positives."""
    ...
def bincount(input: Any, weights: Any = None, minlength: Any = 0) -> Tensor:
    """How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights."""
    ...
def bitwise_and(input: Any, other: Any) -> Tensor:
    """Bits set in both integers; of bools `logical_and`."""
    ...
def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """Bits of an integer moved up; 0 once the shift reaches the width."""
    ...
def bitwise_not(input: Any) -> Tensor:
    """Every bit of an integer flipped; of bools `logical_not`."""
    ...
def bitwise_or(input: Any, other: Any) -> Tensor:
    """Bits set in either integer; of bools `logical_or`."""
    ...
def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """Bits of an integer moved down, copying the sign."""
    ...
def bitwise_xor(input: Any, other: Any) -> Tensor:
    """Bits set in exactly one of two integers; of bools `logical_xor`."""
    ...
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """A Blackman window, float32 by default; see NumPy's `blackman`."""
    ...
def block_diag(*inputs: Any) -> Tensor:
    """Matrices, vectors as rows and numbers, one after the other along the diagonal of a matrix of zeros."""
    ...
def bmm(input_x: Any, mat2: Any) -> Tensor:
    """Products of the matrices of two batches of equal size; ShapeError for others."""
    ...
def bounding_box_decode(anchor_box: Any, deltas: Any, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: Any = 0.016) -> Tensor:
    """Anchors [boxes, 4] moved by `deltas`, as `bounding_box_encode` makes them, and cut off at an image's borders."""
    ...
def bounding_box_encode(anchor_box: Any, groundtruth_box: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)) -> Tensor:
    """How anchors [boxes, 4] must be moved to become other boxes: (dx, dy, dw, dh) minus `means`, divided by `stds`."""
    ...
def broadcast_to(input: Any, shape: Any) -> Tensor:
    """The tensor repeated along new leading dimensions and those of size 1; -1 keeps a size."""
    ...
def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """The bucket (int32) of each element between ascending boundaries; with `right` a boundary is in the next one."""
    ...
def cartesian_prod(*inputs: Any) -> Tensor:
    """All combinations of elements of vectors, one from each, as rows; the last changes fastest."""
    ...
def cast(input: Any, dtype: Any) -> Tensor:
    """The same numbers in another dtype; a cast of a float to an integer or bool ends its derivative."""
    ...
def cat(tensors: Sequence[Any], axis: Any = 0) -> Tensor:
    """Tensors joined along an existing dimension."""
    ...
def cbrt(input: Any) -> Tensor:
    """Cube root of every element, real for negative ones too; its derivative at 0 is inf."""
    ...
def cdist(x1: Any, x2: Any, p: Any = 2.0) -> Tensor:
    """Distances [..., n, m] of order p between the points x1 [..., n, d] and x2 [..., m, d]; p is from 0 to inf."""
    ...
def ceil(input: Any) -> Tensor:
    """The smallest integer not below each element; its derivative is 0."""
    ...
def celu(x: Any, alpha: Any = 1.0) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    ...
def channel_shuffle(x: Any, groups: int) -> Tensor:
    """[..., channels, height, width] with the channels of all groups interleaved."""
    ...
def check_valid(bboxes: Any, img_metas: Any) -> Tensor:
    """Which boxes (x0, y0, x1, y1) lie in an image of the sizes (height, width), each times the third number."""
    ...
def cholesky(input_x: Any, upper: bool = False) -> Tensor:
    """Lower triangular L with L @ L.T = input_x, or L.T if `upper`; LinAlgError if it is not positive definite."""
    ...
def cholesky_inverse(input_x: Any, upper: bool = False) -> Tensor:
    """The inverse of a, from its Cholesky factor."""
    ...
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """x with a @ x = input, from the Cholesky factor `input2` of a."""
    ...
def chunk(input: Any, chunks: int, axis: Any = 0) -> tuple[Tensor, ...]:
    """At most `chunks` neighbouring parts along an axis, all of one size but the last, which may be smaller."""
    ...
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element."""
    ...
def clip(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element."""
    ...
def clip_by_global_norm(x: Any, clip_norm: Any = 1.0, use_norm: Any = None) -> Tensor:
    """Several tensors times clip_norm / the greater of clip_norm and their common norm, or `use_norm` in its place."""
    ...
def clip_by_norm(x: Any, max_norm: float, norm_type: Any = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """A tensor, or several, times max_norm / (their common norm + 1e-6) if that is less than 1."""
    ...
def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Tensor:
    """Elements below the lower bound and above the upper one replaced by it; at a bound the cotangent is halved."""
    ...
def col2im(input_x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any) -> Tensor:
    """Images [N, C, H, W] as the sum of their windows, given as [N, C, kernel places, windows]."""
    ...
def column_stack(tensors: Sequence[Any]) -> Tensor:
    """Vectors as columns, and matrices, side by side."""
    ...
def combinations(input: Any, r: Any = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, in order, as rows."""
    ...
def complex(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def concat(tensors: Sequence[Any], axis: Any = 0) -> Tensor:
    """Tensors joined along an existing dimension."""
    ...
def cond(A: Any, p: Any = None) -> Tensor:
    """Condition numbers of matrices: the norm of order p times that of the inverse, by default the 2-norm."""
    ...
def conj(input: Any) -> Tensor:
    """The same numbers: they are all real."""
    ...
def conv1d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """Convolution over 1 dimensions of [batch, channels, ...] with [filters, channels / groups, ...]."""
    ...
def conv2d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """Convolution over 2 dimensions of [batch, channels, ...] with [filters, channels / groups, ...]."""
    ...
def conv3d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = 'valid', padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """Convolution over 3 dimensions of [batch, channels, ...] with [filters, channels / groups, ...]."""
    ...
def conv3d_transpose(inputs: Any, weight: Any, pad_mode: str = 'valid', padding: Any = 0, stride: Any = 1, dilation: Any = 1, group: Any = 1, output_padding: Any = 0) -> Tensor:
    """Transpose of a convolution over 3 dimensions, with a weight [channels, channels of the result / group, ...]."""
    ...
def conv_transpose1d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: Any = 1, dilation: Any = 1) -> Tensor:
    """Transpose of a convolution over the last dimension; see `conv_transpose2d`."""
    ...
def conv_transpose2d(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: Any = 1, dilation: Any = 1) -> Tensor:
    """Transpose of a convolution over 2 dimensions, with a weight [channels, channels of the result / groups, ...]."""
    ...
def copysign(x: Any, other: Any) -> Tensor:
    """|x| with the sign of `other`, which counts also for zeros."""
    ...
def cos(input: Any) -> Tensor:
    """Cosine of every element, in radians."""
    ...
def cosh(input: Any) -> Tensor:
    """Hyperbolic cosine of every element."""
    ...
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: str = 'mean') -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    ...
def cosine_similarity(x1: Any, x2: Any, dim: Any = 1, eps: Any = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    ...
def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: str = 'int32') -> Tensor:
    """How many elements over axes (all for an empty tuple) differ from 0."""
    ...
def cov(input: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """Covariances of the rows of a matrix, whose columns are observations; of a vector its variance."""
    ...
def crop_and_resize(image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = 'bilinear', extrapolation_value: Any = 0.0) -> Tensor:
    """Parts of images [batch, height, width, channels], each resized to `crop_size`: [boxes, ..., ..., channels]."""
    ...
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Cross product along a dimension of size 3, by default the first one that has it."""
    ...
def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The likeliest class at every time without the blank, which is the last class; eager code only."""
    ...
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> tuple[Tensor, Tensor]:
    """-log of the sum of the probabilities of all alignments, and the logarithms of the sums over their beginnings."""
    ...
def cummax(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """The greatest element so far along an axis, and its index (int64): of several the last."""
    ...
def cummin(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """The smallest element so far along an axis, and its index (int64): of several the last."""
    ...
def cumprod(input: Any, dim: int, dtype: Any = None) -> Tensor:
    """Running product along a dimension; integers keep their dtype."""
    ...
def cumsum(x: Any, axis: int, dtype: Any = None) -> Tensor:
    """Running sum along an axis; integers keep their dtype."""
    ...
def deformable_conv2d(x: Any, weight: Any, offsets: Any, kernel_size: Any, strides: Any, padding: Any, bias: Any = None, dilations: Any = (1, 1, 1, 1), groups: Any = 1, deformable_groups: Any = 1, modulated: bool = True) -> Tensor:
    """Convolution of [batch, channels, height, width] whose taps read at positions moved by `offsets`, times a mask."""
    ...
def deg2rad(x: Any) -> Tensor:
    """Degrees as radians."""
    ...
def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """input @ weight.T + bias, along the last dimension."""
    ...
def det(input: Any) -> Tensor:
    """Determinants of square matrices; the derivative is defined where they are singular too, its own is not."""
    ...
def diag_embed(input: Any, offset: Any = 0, dim1: Any = -2, dim2: Any = -1) -> Tensor:
    """Matrices of zeros, in two new dimensions, with the last dimension of `input` on a diagonal."""
    ...
def diagflat(input: Any, offset: Any = 0) -> Tensor:
    """All elements of `input` on a diagonal of a matrix of zeros."""
    ...
def diagonal(input: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Tensor:
    """A diagonal of two dimensions, as the last dimension of the result."""
    ...
def diagonal_scatter(input: Any, src: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Tensor:
    """The tensor with a diagonal of two dimensions replaced by `src`, which has the shape of that diagonal."""
    ...
def diff(x: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, n times; of bools whether they differ."""
    ...
def digamma(input: Any) -> Tensor:
    """Derivative of `lgamma` for every element; it has poles at 0, -1, -2, ..."""
    ...
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The norm of order p of all differences."""
    ...
def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the third dimension."""
    ...
def dstack(tensors: Sequence[Any]) -> Tensor:
    """Tensors joined along the third dimension."""
    ...
def eig(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def eigh(x: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order and eigenvectors, in columns, of the symmetric part of x."""
    ...
def eigvals(A: Any) -> Tensor:
    """Refused with UnsupportedCallError: eigenvalues of a general matrix are complex; see `eigvalsh`."""
    ...
def eigvalsh(x: Any) -> Tensor:
    """Eigenvalues of the symmetric part of x, in ascending order."""
    ...
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products over named dimensions, as `numpy.einsum`; the order of the products is chosen by cost."""
    ...
def einsum_ext(equation: str, *operands: Any) -> Tensor:
    """Sum of products over named dimensions, as `numpy.einsum`; the order of the products is chosen by cost."""
    ...
def elu(input_x: Any, alpha: Any = 1.0) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1); its derivative at 0 is alpha."""
    ...
def eq(input: Any, other: Any) -> Tensor:
    """Whether two elements are equal (nan is not)."""
    ...
def equal(input: Any, other: Any) -> Tensor:
    """Whether two elements are equal (nan is not)."""
    ...
def erf(input: Any) -> Tensor:
    """Error function of every element."""
    ...
def erfc(input: Any) -> Tensor:
    """1 - erf(x) for every element, with full relative precision far to the right."""
    ...
def erfinv(input: Any) -> Tensor:
    """Inverse of `erf` for every element: infinite at -1 and 1, nan outside."""
    ...
def exp(input: Any) -> Tensor:
    """e to the power of every element."""
    ...
def exp2(input: Any) -> Tensor:
    """2 to the power of every element."""
    ...
def expand(input_x: Any, size: Any) -> Tensor:
    """The tensor broadcast to a shape, new dimensions first; -1 keeps a size."""
    ...
def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """A new dimension of size 1 at `axis` of the result."""
    ...
def expm(input: Any) -> Tensor:
    """The matrix exponential of square matrices."""
    ...
def expm1(input: Any) -> Tensor:
    """exp(x) - 1 for every element, exact near 0."""
    ...
def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """A matrix with ones on its main diagonal, float32 by default."""
    ...
def fast_gelu(x: Any) -> Tensor:
    """x * sigmoid(1.702 x), a rough gelu."""
    ...
def fft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def fft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def fftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """A tensor of a dtype and shape whose elements all are `value`."""
    ...
def fills(x: Any, value: Any) -> Tensor:
    """`value` in the shape and dtype of x."""
    ...
def fix(input: Any) -> Tensor:
    """Each element rounded towards 0; its derivative is 0."""
    ...
def flip(input: Any, dims: Any) -> Tensor:
    """The elements in reverse order along dimensions."""
    ...
def fliplr(input: Any) -> Tensor:
    """The elements in reverse order along the second dimension."""
    ...
def flipud(input: Any) -> Tensor:
    """The elements in reverse order along the first dimension."""
    ...
def float_power(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent` in float64."""
    ...
def float_power_ext(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent` in float64."""
    ...
def floor(input: Any) -> Tensor:
    """The greatest integer not above each element; its derivative is 0."""
    ...
def floor_div(x: Any, y: Any) -> Tensor:
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    ...
def floor_divide(input: Any, other: Any) -> Tensor:
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    ...
def floor_mod(x: Any, y: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def floordiv(input: Any, other: Any) -> Tensor:
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    ...
def floormod(x: Any, y: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def fmax(input: Any, other: Any) -> Tensor:
    """The greater of two elements, a number if only one of them is one; at a tie the cotangent is halved."""
    ...
def fmin(input: Any, other: Any) -> Tensor:
    """The smaller of two elements, a number if only one of them is one; at a tie the cotangent is halved."""
    ...
def fmod(input: Any, other: Any) -> Tensor:
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""
    ...
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Images [N, C, H, W] as the sum of their windows, given as columns [N, C * kernel places, windows]."""
    ...
def frac(x: Any) -> Tensor:
    """Every element minus its whole part, with the sign of the element."""
    ...
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor whose elements all are `fill_value`."""
    ...
def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """`fill_value` in the shape of `input`, and of its dtype by default."""
    ...
def gammaln(input: Any) -> Tensor:
    """Logarithm of the absolute value of the gamma function of every element: inf at 0, -1, -2, ..."""
    ...
def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: Any = 0) -> Tensor:
    """Slices along an axis at the given positions, whose shape takes the axis' place; IndexError outside."""
    ...
def gather_d(x: Any, dim: int, index: Any) -> Tensor:
    """The older name of `gather_elements`."""
    ...
def gather_elements(input: Any, dim: int, index: Any) -> Tensor:
    """Elements of `input` by position along one dimension: for `dim` 0, ``result[i, j] = input[index[i, j], j]``."""
    ...
def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """The elements (or slices) at the indices in the last dimension of `indices`."""
    ...
def gaussian_nll_loss(x: Any, target: Any, var: Any, full: bool = False, eps: Any = 1e-06, reduction: str = 'mean') -> Tensor:
    """Negative log-likelihood of a normal distribution of mean x and variance `var`, which is at least eps."""
    ...
def gcd(input: Any, other: Any) -> Tensor:
    """Greatest common divisor of two integers, never negative; of zeros it is 0."""
    ...
def ge(input: Any, other: Any) -> Tensor:
    """Whether x >= y, element by element."""
    ...
def gelu(input: Any, approximate: str = 'none') -> Tensor:
    """x times the standard normal distribution function at x, or (``approximate="tanh"``) its approximation by tanh."""
    ...
def ger(input: Any, vec2: Any) -> Tensor:
    """Products of every element of `input` and every element of `vec2`: a matrix."""
    ...
def glu(x: Any, axis: Any = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second."""
    ...
def greater(input: Any, other: Any) -> Tensor:
    """Whether x > y, element by element."""
    ...
def greater_equal(input: Any, other: Any) -> Tensor:
    """Whether x >= y, element by element."""
    ...
def grid_sample(input: Any, grid: Any, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """[batch, channels, ...] sampled at the coordinates in `grid` [batch, ..., n], which run from -1 to 1."""
    ...
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Tensor:
    """Standardized over groups of neighbouring channels; times weight plus bias per channel."""
    ...
def gt(input: Any, other: Any) -> Tensor:
    """Whether x > y, element by element."""
    ...
def hamming_window(window_length: int, periodic: bool = True, alpha: Any = 0.54, beta: Any = 0.46, *, dtype: Any = None) -> Tensor:
    """alpha - beta cos(2 pi i / n): with these coefficients a Hamming window, float32 by default."""
    ...
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """A Hann window, float32 by default; see NumPy's `hanning`."""
    ...
def hardshrink(input: Any, lambd: Any = 0.5) -> Tensor:
    """x, but 0 from -lambd to lambd; its derivative at both is 0."""
    ...
def hardsigmoid(input: Any) -> Tensor:
    """(x + 3) / 6 between 0 and 1; its derivative at -3 and 3 is 0."""
    ...
def hardswish(input: Any) -> Tensor:
    """x * hardsigmoid(x); its derivative at -3 is 0, at 3 it is 1."""
    ...
def hardtanh(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Tensor:
    """x between two bounds; at a bound the cotangent is halved, as by maximum and minimum."""
    ...
def heaviside(input: Any, values: Any) -> Tensor:
    """0 for negative elements, 1 for positive ones, `values` for zeros."""
    ...
def hfft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def hfft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def hfftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def hinge_embedding_loss(inputs: Any, targets: Any, margin: Any = 1.0, reduction: str = 'mean') -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    ...
def histc(input: Any, bins: Any = 100, min: Any = 0.0, max: Any = 0.0) -> Tensor:
    """How many numbers lie in each of `bins` equal parts of min ... max; by default from the smallest to the greatest."""
    ...
def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the second dimension, of a vector along its only one."""
    ...
def hstack(tensors: Sequence[Any]) -> Tensor:
    """Tensors joined along the second dimension, vectors along their only one."""
    ...
def huber_loss(input: Any, target: Any, reduction: str = 'mean', delta: Any = 1.0) -> Tensor:
    """Half the squared difference up to delta, beyond it linear with the slope delta."""
    ...
def hypot(input: Any, other: Any) -> Tensor:
    """sqrt(x*x + y*y), without overflow; at (0, 0), where it has none, all its derivatives count as 0."""
    ...
def i0(input: Any) -> Tensor:
    """`bessel_i` of order 0."""
    ...
def ifft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def ifft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def ifftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def igamma(input: Any, other: Any) -> Tensor:
    """Regularised lower incomplete gamma function P(a, x); nan for negative operands."""
    ...
def igammac(input: Any, other: Any) -> Tensor:
    """Regularised upper incomplete gamma function 1 - P(a, x), with full relative precision where it is small."""
    ...
def ihfft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def ihfft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def ihfftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def imag(input: Any) -> Tensor:
    """Zeros: all numbers are real."""
    ...
def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Tensor:
    """The tensor with the slices of `y` added at the positions in `indices` along an axis."""
    ...
def index_fill(x: Any, axis: int, index: Any, value: Any) -> Tensor:
    """The tensor with the slices at the positions in `index` along an axis filled with one value."""
    ...
def index_select(input: Any, axis: int, index: Any) -> Tensor:
    """The slices along an axis at the positions in `index`, of one dimension."""
    ...
def inner(input: Any, other: Any) -> Tensor:
    """Sum of products over the last dimensions of both; a number scales."""
    ...
def inplace_update(x: Any, v: Any, indices: Any) -> Tensor:
    """The tensor with the rows at the given positions replaced by those of `v`: a new tensor, despite the name."""
    ...
def interpolate(input: Any, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> Tensor:
    """[batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`."""
    ...
def inv(x: Any) -> Tensor:
    """1 / x for every element: inf at 0."""
    ...
def inverse(input: Any) -> Tensor:
    """The inverse of square matrices; LinAlgError if one is singular."""
    ...
def invert(x: Any) -> Tensor:
    """Every bit of an integer flipped; of bools `logical_not`."""
    ...
def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = 'iou') -> Tensor:
    """Overlaps [gt boxes, anchor boxes] of boxes (x0, y0, x1, y1), whose last elements belong to them."""
    ...
def irfft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def irfft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def irfftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def isclose(input: Any, other: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|; equal infinities are close, nans only with `equal_nan`."""
    ...
def isfinite(input: Any) -> Tensor:
    """Whether each element is finite: neither infinite nor nan."""
    ...
def isinf(input: Any) -> Tensor:
    """Whether each element is inf or -inf."""
    ...
def isnan(input: Any) -> Tensor:
    """Whether each element is nan."""
    ...
def isnan_ext(tensor: Any) -> Tensor:
    """Which elements are nan."""
    ...
def isneginf(input: Any) -> Tensor:
    """Whether each element is -inf."""
    ...
def isposinf(input: Any) -> Tensor:
    """Whether each element is inf."""
    ...
def isreal(input: Any) -> Tensor:
    """Whether the imaginary part is 0: always."""
    ...
def kaiser_window(window_length: int, periodic: bool = True, beta: Any = 12.0, *, dtype: Any = None) -> Tensor:
    """A Kaiser window, float32 by default; see NumPy's `kaiser`."""
    ...
def kl_div(logits: Any, labels: Any, reduction: str = 'mean') -> Tensor:
    """labels * (log(labels) - logits); reduction "batchmean" divides the sum by the first dimension."""
    ...
def kron(input: Any, other: Any) -> Tensor:
    """Kronecker product: every element of `input` times `other`, as blocks."""
    ...
def l1_loss(input: Any, target: Any, reduction: str = 'mean') -> Tensor:
    """Absolute difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element."""
    ...
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Tensor:
    """Standardized over the last dimensions, which are `normalized_shape`; times weight plus bias of that shape."""
    ...
def lcm(input: Any, other: Any) -> Tensor:
    """Least common multiple of two integers, never negative; 0 if one of them is 0."""
    ...
def ldexp(x: Any, other: Any) -> Tensor:
    """x * 2 ** other."""
    ...
def le(input: Any, other: Any) -> Tensor:
    """Whether x <= y, element by element."""
    ...
def leaky_relu(input: Any, alpha: Any = 0.2) -> Tensor:
    """x where it is positive, else alpha * x; its derivative at 0 is alpha."""
    ...
def left_shift(x: Any, y: Any) -> Any:
    """Bits of an integer moved up; 0 once the shift reaches the width."""
    ...
def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input), element by element."""
    ...
def less(input: Any, other: Any) -> Tensor:
    """Whether x < y, element by element."""
    ...
def less_equal(input: Any, other: Any) -> Tensor:
    """Whether x <= y, element by element."""
    ...
def lgamma(input: Any) -> Tensor:
    """Logarithm of the absolute value of the gamma function of every element: inf at 0, -1, -2, ..."""
    ...
def linspace(start: Any, end: Any, steps: int) -> Tensor:
    """`steps` numbers from start to end, both included, at equal distances; both may be Tensors."""
    ...
def log(input: Any) -> Tensor:
    """Natural logarithm of every element: -inf at 0, nan below."""
    ...
def log10(input: Any) -> Tensor:
    """Logarithm to base 10 of every element: -inf at 0, nan below."""
    ...
def log1p(input: Any) -> Tensor:
    """log(1 + x) for every element, exact near 0: -inf at -1, nan below."""
    ...
def log2(input: Any) -> Tensor:
    """Logarithm to base 2 of every element: -inf at 0, nan below."""
    ...
def log_matrix_determinant(input: Any) -> tuple[Tensor, Tensor]:
    """Signs of determinants and logarithms of their absolute values."""
    ...
def log_softmax(logits: Any, axis: Any = -1) -> Tensor:
    """Logarithm of softmax along an axis, without overflow."""
    ...
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
    ...
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**x + 2**y), without overflow."""
    ...
def logcumsumexp(input: Any, axis: int) -> Tensor:
    """Logarithm of the running sum of exp(input) along an axis, without overflow."""
    ...
def logdet(input: Any) -> Tensor:
    """Logarithms of determinants: nan where one is negative, -inf where it is 0."""
    ...
def logical_and(input: Any, other: Any) -> Tensor:
    """Whether both bools hold; numbers hold where they are not zero."""
    ...
def logical_not(input: Any) -> Tensor:
    """Whether a bool does not hold; numbers hold where they are not zero."""
    ...
def logical_or(input: Any, other: Any) -> Tensor:
    """Whether either bool holds; numbers hold where they are not zero."""
    ...
def logical_xor(input: Any, other: Any) -> Tensor:
    """Whether exactly one of two bools holds; numbers hold where they are not zero."""
    ...
def logit(input: Any, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with `eps` elements are first brought into eps ... 1 - eps."""
    ...
def logsigmoid(x: Any) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    ...
def logspace(start: Any, end: Any, steps: int, base: Any = 10, *, dtype: Any = None) -> Tensor:
    """`base` to the powers of `linspace(start, end, steps)`; float32 by default."""
    ...
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over dimensions (all for an empty tuple), without overflow."""
    ...
def lp_pool1d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of the powers `norm_type` in every window of [batch, channels, length]."""
    ...
def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of the powers `norm_type` in every window of [batch, channels, height, width]."""
    ...
def lstsq(input: Any, A: Any) -> Tensor:
    """The x of least norm among those of least |input @ x - A|, by singular values."""
    ...
def lt(input: Any, other: Any) -> Tensor:
    """Whether x < y, element by element."""
    ...
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """x with a @ x = b, from a's LU decomposition: both triangles in one matrix, and row exchanges counted from 1."""
    ...
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: str = 'mean') -> Tensor:
    """max(0, margin - target * (input1 - input2))."""
    ...
def masked_fill(input_x: Any, mask: Any, value: Any) -> Tensor:
    """`input_x` with `value` where the mask holds."""
    ...
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask holds, in one dimension."""
    ...
def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product over the last two dimensions, in the common dtype; leading dimensions broadcast."""
    ...
def matrix_band_part(x: Any, lower: int, upper: int) -> Tensor:
    """Zeros but for so many diagonals below and above the main one; a negative number keeps all on its side."""
    ...
def matrix_determinant(input: Any) -> Tensor:
    """Determinants of square matrices; the derivative is defined where they are singular too, its own is not."""
    ...
def matrix_diag(x: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = 'RIGHT_LEFT') -> Tensor:
    """Matrices with the given diagonals k, or k[0] to k[1], and `padding_value` elsewhere."""
    ...
def matrix_diag_part(x: Any, k: Any, padding_value: Any, align: str = 'RIGHT_LEFT') -> Tensor:
    """The diagonals k, or k[0] to k[1], of matrices; several as rows of one length, filled up with `padding_value`."""
    ...
def matrix_exp(input: Any) -> Tensor:
    """The matrix exponential of square matrices."""
    ...
def matrix_norm(A: Any, ord: str = 'fro', axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norm of matrices, which lie in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2."""
    ...
def matrix_power(input: Any, n: int) -> Tensor:
    """A square matrix times itself, n times; of its inverse for negative n, the identity for 0."""
    ...
def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = 'RIGHT_LEFT') -> Tensor:
    """Matrices with other numbers in the diagonals k, or k[0] to k[1]."""
    ...
def max_pool1d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> Tensor:
    """The greatest element of every window over the last dimension; see `max_pool2d`."""
    ...
def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False) -> Tensor:
    """The greatest element of every window over the last 2 dimensions, with `return_indices` also its position."""
    ...
def max_pool3d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    """The greatest element of every window over the last 3 dimensions; see `max_pool2d`."""
    ...
def max_unpool1d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Zeros with the elements of x where a max pooling found them; IndexError for a position outside."""
    ...
def max_unpool2d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Zeros with the elements of x where `max_pool2d` found them; `output_size` chooses one of the possible sizes."""
    ...
def max_unpool3d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Zeros with the elements of x where `max_pool3d` found them; `output_size` chooses one of the possible sizes."""
    ...
def maximum(input: Any, other: Any) -> Tensor:
    """The greater of two elements, nan if either is; at a tie the cotangent is halved."""
    ...
def median(input: Any, axis: Any = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The median along an axis and its index (int64); of two middle elements the lower, nan if there is one."""
    ...
def meshgrid(*inputs: Any, indexing: str = 'xy') -> tuple[Tensor, ...]:
    """The coordinates of a grid over vectors, one tensor for each; "xy" exchanges the first two dimensions of "ij"."""
    ...
def minimum(input: Any, other: Any) -> Tensor:
    """The smaller of two elements, nan if either is; at a tie the cotangent is halved."""
    ...
def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Tensor:
    """The tensor mirrored by pairs of widths, one for every dimension from the first on; "REFLECT" or "SYMMETRIC"."""
    ...
def mish(x: Any) -> Tensor:
    """x * tanh(softplus(x))."""
    ...
def mm(input: Any, mat2: Any) -> Tensor:
    """Product of two matrices; ShapeError for any other number of dimensions."""
    ...
def mod(input: Any, other: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other positions; the others stay in order."""
    ...
def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other positions; the others stay in order."""
    ...
def mse_loss(input: Any, target: Any, reduction: str = 'mean') -> Tensor:
    """Squared difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element."""
    ...
def mse_loss_ext(input: Any, target: Any, reduction: str = 'mean') -> Tensor:
    """Squared difference of two tensors: its mean, its sum, or (``reduction="none"``) element by element."""
    ...
def msort(input: Any) -> Tensor:
    """The elements sorted along the first axis."""
    ...
def mul(input: Any, other: Any) -> Tensor:
    """Product of two tensors, element by element (of bools: whether both hold)."""
    ...
def multi_margin_loss(input: Any, target: Any, p: Any = 1, margin: float = 1, weight: Any = None, reduction: str = 'mean') -> Tensor:
    """The mean over the other classes of max(0, margin - input[target] + input[class]) ** p."""
    ...
def multilabel_margin_loss(input: Any, target: Any, reduction: str = 'mean') -> Tensor:
    """The sum of max(0, 1 - input[label] + input[other]) over the labels before the first -1 and all other classes."""
    ...
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = 'mean') -> Tensor:
    """Binary cross entropy with logits, averaged over the classes, for [batch, classes]."""
    ...
def multiply(input: Any, other: Any) -> Tensor:
    """Product of two tensors, element by element (of bools: whether both hold)."""
    ...
def mv(mat: Any, vec: Any) -> Tensor:
    """Product of a matrix and a vector."""
    ...
def mvlgamma(input: Any, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p, for elements above (p - 1) / 2."""
    ...
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """nan replaced by `nan` (0) and infinities by `posinf` and `neginf` (the greatest and smallest finite number)."""
    ...
def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean over axes (all by default) of the elements that are not nan; nan where there is none."""
    ...
def nanmedian(input: Any, axis: Any = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The `median` of the elements that are not nan, and its index."""
    ...
def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes (all by default) of the elements that are not nan."""
    ...
def narrow(input: Any, axis: int, start: Any, length: int) -> Tensor:
    """`length` elements along an axis from `start` on, which may be known only at run time."""
    ...
def ne(input: Any, other: Any) -> Tensor:
    """Whether two elements differ (nan differs from itself)."""
    ...
def neg(input: Any) -> Tensor:
    """The negative of every element."""
    ...
def negative(input: Any) -> Tensor:
    """The negative of every element."""
    ...
def nextafter(input: Any, other: Any) -> Tensor:
    """The float that follows x on the way to y; x itself where they are equal. Derivatives: 1, 0."""
    ...
def nonzero(input: Any, *, as_tuple: bool = False) -> Tensor:
    """The indices (int64) of the nonzero elements, as rows or as a vector per dimension."""
    ...
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Norm of the vectors in one dimension or of the matrices in two; by default the Euclidean norm of all numbers."""
    ...
def not_equal(input: Any, other: Any) -> Tensor:
    """Whether two elements differ (nan differs from itself)."""
    ...
def numel(input: Any) -> int:
    """How many elements there are."""
    ...
def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: Any = -1) -> Tensor:
    """A new dimension of size `depth` at `axis`: `on_value` at the position each index names, elsewhere `off_value`."""
    ...
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 by default."""
    ...
def ones_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Ones of the shape of `input`, and of its dtype by default."""
    ...
def orgqr(input: Any, input2: Any) -> Tensor:
    """The first columns of q, as many as `input` has, from what `geqrf` packed: reflections and their factors."""
    ...
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Tensor:
    """q @ other (q.T with `transpose`, or other @ q unless `left`), from what `geqrf` packed."""
    ...
def outer(input: Any, vec2: Any) -> Tensor:
    """Products of every element of `input` and every element of `vec2`: a matrix."""
    ...
def pad(input_x: Any, padding: Any, mode: str = 'constant', value: Any = None) -> Tensor:
    """The tensor with more elements at the borders of its last dimensions."""
    ...
def partial(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``Partial()(func, *args, **kwargs)``: the function with its first arguments given, as `functools.partial`."""
    ...
def pdist(input: Any, p: Any = 2.0) -> Tensor:
    """Distances of order p between the points i < j of [..., n, d], in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    ...
def permute(input: Any, axis: Any) -> Tensor:
    """The dimensions in the order `axis`."""
    ...
def pinv(x: Any, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as zeros."""
    ...
def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """[..., channels * r * r, height, width] as [..., channels, height * r, width * r]; r is the factor."""
    ...
def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
    ...
def polar(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def polygamma(n: int, input: Any) -> Tensor:
    """The n-th derivative of `digamma`, n >= 0."""
    ...
def population_count(input_x: Any) -> Tensor:
    """How many bits are set in each integer (uint8); a negative one counts as its two's complement."""
    ...
def positive(input: Any) -> Tensor:
    """The same tensor; DTypeError for bools."""
    ...
def pow(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent`, element by element."""
    ...
def pows(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent`, element by element."""
    ...
def prelu(input: Any, weight: Any) -> Tensor:
    """x where it is positive, else weight * x (at 0 too); one weight per channel (axis 1), or one for all."""
    ...
def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """Product over axes (all by default); smaller integers and bools are multiplied as int64."""
    ...
def rad2deg(x: Any) -> Tensor:
    """Radians as degrees."""
    ...
def ravel(input: Any) -> Tensor:
    """All elements in row-major order, in one dimension."""
    ...
def real(input: Any) -> Tensor:
    """The same numbers: they are all real."""
    ...
def reciprocal(input: Any) -> Tensor:
    """1 / x for every element: inf at 0."""
    ...
def reduce_max(x: Any, axis: Any = ()) -> Tensor:
    """Greatest element over axes, all for an empty tuple; ties share the cotangent evenly."""
    ...
def reduce_mean(x: Any, axis: Any = ()) -> Tensor:
    """Mean over axes, all for an empty tuple."""
    ...
def reduce_min(x: Any, axis: Any = ()) -> Tensor:
    """Smallest element over axes, all for an empty tuple; ties share the cotangent evenly."""
    ...
def relu6(x: Any) -> Tensor:
    """x between 0 and 6; its derivative at both is 0."""
    ...
def remainder(input: Any, other: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def renorm(input: Any, p: float, axis: int, maxnorm: float) -> Tensor:
    """Slices along an axis whose norm of order p exceeds `maxnorm` scaled down to it."""
    ...
def repeat_elements(x: Any, rep: int, axis: Any = 0) -> Tensor:
    """Every element along an axis repeated `rep` times."""
    ...
def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Every element along an axis (of the flat tensor by default) repeated: a number of times, or one for each."""
    ...
def reshape(input: Any, shape: Any) -> Tensor:
    """The same elements in row-major order under another shape; one size may be -1."""
    ...
def reverse(x: Any, axis: Any) -> Tensor:
    """The elements in reverse order along axes."""
    ...
def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: Any = 0) -> Tensor:
    """The first `seq_lengths[b]` elements along `seq_dim` in reverse order, for every index b along `batch_dim`."""
    ...
def rfft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def rfft2(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def rfftn(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def right_shift(x: Any, y: Any) -> Any:
    """Bits of an integer moved down, copying the sign."""
    ...
def rms_norm(x: Any, gamma: Any, epsilon: Any = 1e-06) -> tuple[Tensor, Tensor]:
    """Divided by the root of the mean square over the last dimensions, times gamma; and the root's reciprocal."""
    ...
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved along dimensions (of the flat tensor by default); what leaves the end comes back in front."""
    ...
def rot90(input: Any, k: int, dims: Sequence[int]) -> Tensor:
    """The plane of two dimensions rotated k times by 90 degrees, from the first towards the second."""
    ...
def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: Any = 0) -> Tensor:
    """x * cos plus x with its pairs of elements turned by 90 degrees * sin, along the last dimension."""
    ...
def round(input: Any, *, decimals: Any = 0) -> Tensor:
    """The nearest number with so many decimals (before the point, if negative), of two the even one."""
    ...
def row_stack(tensors: Sequence[Any]) -> Tensor:
    """MindSpore's older name of `vstack`."""
    ...
def rsqrt(input: Any) -> Tensor:
    """1 / sqrt(x) for every element: inf at 0, nan below."""
    ...
def scatter(input: Any, axis: int, index: Any, src: Any) -> Tensor:
    """The tensor with elements replaced by those of `src` (or one number) at the positions in `index` along an axis."""
    ...
def scatter_nd(indices: Any, updates: Any, shape: Any) -> Tensor:
    """Zeros of a shape with `updates` added at the indices in the last dimension of `indices`."""
    ...
def select(condition: Any, input: Any, other: Any) -> Tensor:
    """MindSpore's older name of `where`."""
    ...
def select_scatter(input: Any, src: Any, axis: int, index: Any) -> Tensor:
    """The tensor with the slice at one position along an axis replaced by `src`."""
    ...
def selu(input_x: Any) -> Tensor:
    """elu with the two constants for which activations keep mean 0 and variance 1; at 0 the left derivative."""
    ...
def sgn(input: Any) -> Tensor:
    """-1, 0 or 1 for every element; nan stays."""
    ...
def sigmoid(input: Any) -> Tensor:
    """1 / (1 + exp(-x)), with full relative precision; results below the smallest normal number may become 0."""
    ...
def sign(input: Any) -> Tensor:
    """-1, 0 or 1 for every element; nan stays."""
    ...
def signbit(input: Any) -> Tensor:
    """Whether the sign bit of each element is set: negative numbers, -0.0 included."""
    ...
def silu(input: Any) -> Tensor:
    """x * sigmoid(x), also called swish."""
    ...
def sin(input: Any) -> Tensor:
    """Sine of every element, in radians."""
    ...
def sinc(input: Any) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    ...
def sinh(input: Any) -> Tensor:
    """Hyperbolic sine of every element."""
    ...
def size(input_x: Any) -> int:
    """How many elements there are."""
    ...
def slice(input_x: Any, begin: Any, size: Sequence[int]) -> Tensor:
    """`size` elements of every dimension from `begin` on, which may be known only at run time; -1 takes the rest."""
    ...
def slice_scatter(input: Any, src: Any, axis: Any = 0, start: int | None = None, end: int | None = None, step: Any = 1) -> Tensor:
    """The tensor with the slice start:end:step along an axis replaced by `src`."""
    ...
def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """Signs of determinants and logarithms of their absolute values."""
    ...
def smooth_l1_loss(input: Any, target: Any, beta: Any = 1.0, reduction: str = 'none') -> Tensor:
    """Half the squared difference over beta up to beta, beyond it the absolute difference less beta / 2."""
    ...
def soft_margin_loss(input: Any, target: Any, reduction: str = 'mean') -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    ...
def soft_shrink(input: Any, lambd: Any = 0.5) -> Tensor:
    """x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."""
    ...
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta without overflow; x itself where beta x exceeds the threshold."""
    ...
def softshrink(input: Any, lambd: Any = 0.5) -> Tensor:
    """x moved by lambd towards 0; 0 from -lambd to lambd, and so is its derivative."""
    ...
def softsign(x: Any) -> Tensor:
    """x / (1 + abs(x))."""
    ...
def solve(a: Any, b: Any) -> Tensor:
    """x with a @ x = b; a vector b is one right side, batches broadcast. LinAlgError if a is singular."""
    ...
def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Tensor:
    """Blocks of the last dimensions, padded with zeros first, spread over the batch."""
    ...
def split(tensor: Any, split_size_or_sections: Any, axis: Any = 0) -> tuple[Tensor, ...]:
    """Neighbouring parts along an axis: of one size (the last may be smaller), or of the sizes in a list."""
    ...
def sqrt(x: Any) -> Tensor:
    """Square root of every element: nan below 0; its derivative at 0 is inf."""
    ...
def square(input: Any) -> Tensor:
    """The square of every element."""
    ...
def squeeze(input: Any, axis: Any = None) -> Tensor:
    """Dimensions of size 1 removed, all of them by default."""
    ...
def stack(tensors: Sequence[Any], axis: Any = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    ...
def std(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    """Square root of `var`; where all numbers are equal its derivative is 0."""
    ...
def std_mean(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """`std` and `mean` at once."""
    ...
def stft(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def strided_slice(input_x: Any, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], begin_mask: Any = 0, end_mask: Any = 0, ellipsis_mask: Any = 0, new_axis_mask: Any = 0, shrink_axis_mask: Any = 0) -> Tensor:
    """``input_x[begin:end:strides]`` for the first dimensions; bit i of a mask changes the meaning of entry i."""
    ...
def sub(input: Any, other: Any) -> Tensor:
    """Difference of two tensors."""
    ...
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over dimensions (all by default); smaller integers and bools are summed as int64."""
    ...
def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Tensor:
    """s, u, v with input = u @ diag(s) @ v.T, in MindSpore's order; s alone without `compute_uv`."""
    ...
def svdvals(input: Any) -> Tensor:
    """Singular values in descending order."""
    ...
def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged."""
    ...
def swapdims(input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    ...
def swiglu(input: Any, dim: Any = -1) -> Tensor:
    """silu of the first half of a dimension times the second."""
    ...
def t(input: Any) -> Tensor:
    """A matrix transposed; a tensor of less than two dimensions as it is."""
    ...
def take(input: Any, index: Any) -> Tensor:
    """The elements of the flat tensor at the given positions."""
    ...
def take_along_axis(x: Any, index: Any, axis: Any = -1) -> Any:
    """Elements of `x` by position along an axis: for axis -1, ``result[i, j] = x[i, index[i, j]]``."""
    ...
def tan(input: Any) -> Tensor:
    """Tangent of every element, in radians."""
    ...
def tanh(input: Any) -> Tensor:
    """Hyperbolic tangent of every element."""
    ...
def tanhshrink(input: Any) -> Tensor:
    """x - tanh(x), which does not cancel near 0."""
    ...
def tensor_add(input: Any, other: Any) -> Tensor:
    """Sum of two tensors (of bools: whether either holds)."""
    ...
def tensor_div(x: Any, y: Any) -> Tensor:
    """True quotient of two tensors; integers become float32 first, a zero divisor gives inf or nan."""
    ...
def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """MindSpore's name of `tensordot`."""
    ...
def tensor_exp(input: Any) -> Tensor:
    """e to the power of every element."""
    ...
def tensor_expm1(input: Any) -> Tensor:
    """exp(x) - 1 for every element, exact near 0."""
    ...
def tensor_floordiv(input: Any, other: Any) -> Tensor:
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    ...
def tensor_ge(input: Any, other: Any) -> Tensor:
    """Whether x >= y, element by element."""
    ...
def tensor_gt(input: Any, other: Any) -> Tensor:
    """Whether x > y, element by element."""
    ...
def tensor_le(input: Any, other: Any) -> Tensor:
    """Whether x <= y, element by element."""
    ...
def tensor_lt(input: Any, other: Any) -> Tensor:
    """Whether x < y, element by element."""
    ...
def tensor_mod(x: Any, y: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def tensor_mul(input: Any, other: Any) -> Tensor:
    """Product of two tensors, element by element (of bools: whether both hold)."""
    ...
def tensor_muls(input: Any, other: Any) -> Tensor:
    """Product of two tensors, element by element (of bools: whether both hold)."""
    ...
def tensor_pow(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent`, element by element."""
    ...
def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The tensor with `updates` added at the indices in the last dimension of `indices`; repeated positions add up."""
    ...
def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The tensor divided by `updates` at the indices in the last dimension of `indices`; floats only."""
    ...
def tensor_scatter_elements(input_x: Any, indices: Any, updates: Any, axis: Any = 0, reduction: str = 'none') -> Tensor:
    """The tensor with elements replaced by `updates`, or with reduction "add" raised by them, along an axis."""
    ...
def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The greater of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    ...
def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The smaller of the tensor and `updates` at the indices in `indices`; equal ones share the cotangent."""
    ...
def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The tensor multiplied by `updates` at the indices in the last dimension of `indices`."""
    ...
def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The tensor with `updates` subtracted at the indices in the last dimension of `indices`."""
    ...
def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """The tensor with the elements (or slices) at the indices in the last dimension of `indices` replaced."""
    ...
def tensor_split(input: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Tensor, ...]:
    """Neighbouring parts along an axis: a number of them as equal as possible, or cut before the given positions."""
    ...
def tensor_sub(input: Any, other: Any) -> Tensor:
    """Difference of two tensors."""
    ...
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sum of products over pairs of dimensions: a number of them, or two lists that are paired in order."""
    ...
def threshold(input: Any, thr: float, value: float) -> Tensor:
    """x where it is greater than `thr`, else `value`; its derivative at `thr` is 0."""
    ...
def tile(input: Any, dims: Any) -> Tensor:
    """The whole tensor repeated `dims[i]` times along dimension i; missing dimensions come first."""
    ...
def transpose(input: Any, dims: Any) -> Tensor:
    """The dimensions in the order `dims`."""
    ...
def trapz(y: Any, x: Any = None, *, dx: Any = 1.0, dim: Any = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, between points x or, without them, points `dx` apart."""
    ...
def triangular_solve(a: Any, b: Any, lower: bool = False, transpose: bool = False, unit: bool = False) -> Tensor:
    """x with a @ x = b for one triangle of a, the upper by default; with `unit` its diagonal counts as ones."""
    ...
def tril(input: Any, diagonal: Any = 0) -> Tensor:
    """The elements of matrices on and below a diagonal, zeros above."""
    ...
def tril_indices(row: int, col: int, offset: Any = 0, *, dtype: Any = None) -> Tensor:
    """The indices [2, n] on and below a diagonal of a matrix, row by row; int64 by default."""
    ...
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: float = 2, eps: Any = 1e-06, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """max(0, margin + distance to the positive - distance to the negative)."""
    ...
def triu(input: Any, diagonal: Any = 0) -> Tensor:
    """The elements of matrices on and above a diagonal, zeros below."""
    ...
def triu_indices(row: int, col: int, offset: Any = 0, *, dtype: Any = None) -> Tensor:
    """The indices [2, n] on and above a diagonal of a matrix, row by row; int64 by default."""
    ...
def true_divide(dividend: Any, divisor: Any) -> Tensor:
    """True quotient; integers become float32 first."""
    ...
def trunc(input: Any) -> Tensor:
    """Each element rounded towards 0; its derivative is 0."""
    ...
def truncate_mod(x: Any, y: Any) -> Tensor:
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""
    ...
def type_as(input: Any, other: Any) -> Tensor:
    """The same numbers in the dtype of another tensor."""
    ...
def unbind(input: Any, dim: Any = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, which disappears."""
    ...
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images [N, C, H, W] as columns [N, C * kernel places, windows]."""
    ...
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Tensor:
    """The elements (or slices along `dim`) without repetitions of the one before."""
    ...
def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Greatest of the rows with one segment id, the dtype's least number where there is none."""
    ...
def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Smallest of the rows with one segment id, the dtype's greatest number where there is none."""
    ...
def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Products of the rows with one segment id, 1 where there is none; rows with negative ids do not count."""
    ...
def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: int) -> Tensor:
    """Sums of the rows with one segment id, 0 where there is none; rows with negative ids do not count."""
    ...
def unsqueeze(input: Any, dim: Any) -> Tensor:
    """A new dimension of size 1 at `dim` of the result."""
    ...
def unstack(input_x: Any, axis: Any = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which disappears."""
    ...
def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> Tensor:
    """[batch, channels, ...] resized over its spatial dimensions to `size`, or by `scale_factor`."""
    ...
def vander(x: Any, N: int | None = None) -> Tensor:
    """The powers N - 1, ..., 1, 0 of a vector as columns; by default as many as it has elements."""
    ...
def var(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    """Mean squared deviation from the mean over axes (all by default), divided by the count less `ddof`."""
    ...
def var_mean(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """`var` and `mean` at once."""
    ...
def vecdot(x: Any, y: Any, *, axis: Any = -1) -> Tensor:
    """Sum over an axis of the products of two tensors, which broadcast."""
    ...
def vector_norm(x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Norm of the numbers over axes (all by default), of any order."""
    ...
def view_as(input: Any, other: Any) -> Tensor:
    """The same elements under the shape of another tensor."""
    ...
def view_as_complex(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def view_as_real(*args: Any, **kwargs: Any) -> Any:
    """Refused with UnsupportedCallError: complex numbers are not supported."""
    ...
def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """`tensor_split` along the first dimension."""
    ...
def vstack(inputs: Sequence[Any]) -> Tensor:
    """Tensors joined along the first dimension; vectors are rows."""
    ...
def where(condition: Any, input: Any, other: Any) -> Tensor:
    """The elements of `input` where the condition holds, else those of `other`; both sides are computed."""
    ...
def xdivy(x: Any, y: Any) -> Tensor:
    """x / y, and 0 where x is 0 whatever y (nan aside)."""
    ...
def xlogy(input: Any, other: Any) -> Tensor:
    """x * log(y), and 0 where x is 0 whatever y (nan aside)."""
    ...
def zeros(size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros, float32 by default."""
    ...
def zeros_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype by default."""
    ...
def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz zeta function, the sum of (q + k)^-x over k = 0, 1, ..., or its n-th derivative by x."""
    ...
