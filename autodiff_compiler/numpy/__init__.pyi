"""Written by `python tools/stubs.py` from the package itself; do not edit by hand."""

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.dtypes import DType as _DType
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.ops.operation import Operation
from autodiff_compiler.runtime.tensor import Tensor

from autodiff_compiler.numpy.math import absolute as abs
from autodiff_compiler.numpy.math import absolute as absolute
from autodiff_compiler.numpy.reductions import amax as amax
from autodiff_compiler.numpy.reductions import amin as amin
from autodiff_compiler.numpy.shapes import append as append
from autodiff_compiler.numpy.indexing import apply_along_axis as apply_along_axis
from autodiff_compiler.numpy.indexing import apply_over_axes as apply_over_axes
from autodiff_compiler.numpy.creation import arange as arange
from autodiff_compiler.numpy.reductions import argmax as argmax
from autodiff_compiler.numpy.reductions import argmin as argmin
from autodiff_compiler.numpy.math import around as around
from autodiff_compiler.numpy.creation import array as array
from autodiff_compiler.numpy.logic import array_equal as array_equal
from autodiff_compiler.numpy.logic import array_equiv as array_equiv
from autodiff_compiler.numpy.shapes import array_split as array_split
from autodiff_compiler.numpy.indexing import array_str as array_str
from autodiff_compiler.numpy.creation import asarray as asarray
from autodiff_compiler.numpy.creation import asfarray as asfarray
from autodiff_compiler.numpy.shapes import atleast_1d as atleast_1d
from autodiff_compiler.numpy.shapes import atleast_2d as atleast_2d
from autodiff_compiler.numpy.shapes import atleast_3d as atleast_3d
from autodiff_compiler.numpy.reductions import average as average
from autodiff_compiler.numpy.creation import bartlett as bartlett
from autodiff_compiler.numpy.search import bincount as bincount
from autodiff_compiler.numpy.creation import blackman as blackman
from autodiff_compiler.numpy.shapes import broadcast_arrays as broadcast_arrays
from autodiff_compiler.numpy.shapes import broadcast_to as broadcast_to
from autodiff_compiler.numpy.math import cbrt as cbrt
from autodiff_compiler.numpy.math import ceil as ceil
from autodiff_compiler.numpy.indexing import choose as choose
from autodiff_compiler.numpy.math import clip as clip
from autodiff_compiler.numpy.shapes import column_stack as column_stack
from autodiff_compiler.numpy.shapes import concatenate as concatenate
from autodiff_compiler.numpy.products import convolve as convolve
from autodiff_compiler.numpy.math import copysign as copysign
from autodiff_compiler.numpy.products import corrcoef as corrcoef
from autodiff_compiler.numpy.products import correlate as correlate
from autodiff_compiler.numpy.products import cov as cov
from autodiff_compiler.numpy.products import cross as cross
from autodiff_compiler.numpy.reductions import cumprod as cumprod
from autodiff_compiler.numpy.reductions import cumsum as cumsum
from autodiff_compiler.numpy.shapes import diag as diag
from autodiff_compiler.numpy.grids import diag_indices as diag_indices
from autodiff_compiler.numpy.reductions import diff as diff
from autodiff_compiler.numpy.search import digitize as digitize
from autodiff_compiler.numpy.math import divmod as divmod
from autodiff_compiler.numpy.shapes import dsplit as dsplit
from autodiff_compiler.numpy.shapes import dstack as dstack
from autodiff_compiler.numpy.reductions import ediff1d as ediff1d
from autodiff_compiler.numpy.creation import empty as empty
from autodiff_compiler.numpy.creation import empty_like as empty_like
from autodiff_compiler.numpy.math import exp2 as exp2
from autodiff_compiler.numpy.shapes import expand_dims as expand_dims
from autodiff_compiler.numpy.creation import eye as eye
from autodiff_compiler.numpy.math import absolute as fabs
from autodiff_compiler.numpy.math import fix as fix
from autodiff_compiler.numpy.shapes import flip as flip
from autodiff_compiler.numpy.shapes import fliplr as fliplr
from autodiff_compiler.numpy.shapes import flipud as flipud
from autodiff_compiler.numpy.math import float_power as float_power
from autodiff_compiler.numpy.creation import full as full
from autodiff_compiler.numpy.creation import full_like as full_like
from autodiff_compiler.numpy.creation import geomspace as geomspace
from autodiff_compiler.numpy.reductions import gradient as gradient
from autodiff_compiler.numpy.creation import hamming as hamming
from autodiff_compiler.numpy.creation import hanning as hanning
from autodiff_compiler.numpy.math import heaviside as heaviside
from autodiff_compiler.numpy.search import histogram as histogram
from autodiff_compiler.numpy.search import histogram2d as histogram2d
from autodiff_compiler.numpy.search import histogram_bin_edges as histogram_bin_edges
from autodiff_compiler.numpy.search import histogramdd as histogramdd
from autodiff_compiler.numpy.shapes import hsplit as hsplit
from autodiff_compiler.numpy.shapes import hstack as hstack
from autodiff_compiler.numpy.creation import identity as identity
from autodiff_compiler.numpy.logic import in1d as in1d
from autodiff_compiler.numpy.grids import indices as indices
from autodiff_compiler.numpy.search import interp as interp
from autodiff_compiler.numpy.search import intersect1d as intersect1d
from autodiff_compiler.numpy.logic import isclose as isclose
from autodiff_compiler.numpy.logic import isin as isin
from autodiff_compiler.numpy.logic import isneginf as isneginf
from autodiff_compiler.numpy.logic import isposinf as isposinf
from autodiff_compiler.numpy.logic import isscalar as isscalar
from autodiff_compiler.numpy.grids import ix_ as ix_
from autodiff_compiler.numpy.creation import linspace as linspace
from autodiff_compiler.numpy.creation import logspace as logspace
from autodiff_compiler.numpy.products import matrix_power as matrix_power
from autodiff_compiler.numpy.reductions import amax as max
from autodiff_compiler.numpy.math import maximum as maximum
from autodiff_compiler.numpy.reductions import mean as mean
from autodiff_compiler.numpy.grids import meshgrid as meshgrid
from autodiff_compiler.numpy.reductions import amin as min
from autodiff_compiler.numpy.math import minimum as minimum
from autodiff_compiler.numpy.products import multi_dot as multi_dot
from autodiff_compiler.numpy.reductions import nancumsum as nancumsum
from autodiff_compiler.numpy.reductions import nanmax as nanmax
from autodiff_compiler.numpy.reductions import nanmean as nanmean
from autodiff_compiler.numpy.reductions import nanmin as nanmin
from autodiff_compiler.numpy.reductions import nanstd as nanstd
from autodiff_compiler.numpy.reductions import nansum as nansum
from autodiff_compiler.numpy.reductions import nanvar as nanvar
from autodiff_compiler.numpy.reductions import norm as norm
from autodiff_compiler.numpy.creation import ones as ones
from autodiff_compiler.numpy.creation import ones_like as ones_like
from autodiff_compiler.numpy.products import outer as outer
from autodiff_compiler.numpy.padding import pad as pad
from autodiff_compiler.numpy.indexing import piecewise as piecewise
from autodiff_compiler.numpy.polynomials import polyadd as polyadd
from autodiff_compiler.numpy.polynomials import polyder as polyder
from autodiff_compiler.numpy.polynomials import polyint as polyint
from autodiff_compiler.numpy.polynomials import polymul as polymul
from autodiff_compiler.numpy.polynomials import polysub as polysub
from autodiff_compiler.numpy.polynomials import polyval as polyval
from autodiff_compiler.numpy.math import positive as positive
from autodiff_compiler.numpy.types import promote_types as promote_types
from autodiff_compiler.numpy.random import rand as rand
from autodiff_compiler.numpy.random import randint as randint
from autodiff_compiler.numpy.random import randn as randn
from autodiff_compiler.numpy.grids import ravel_multi_index as ravel_multi_index
from autodiff_compiler.numpy.math import reciprocal as reciprocal
from autodiff_compiler.numpy.types import result_type as result_type
from autodiff_compiler.numpy.shapes import roll as roll
from autodiff_compiler.numpy.shapes import rollaxis as rollaxis
from autodiff_compiler.numpy.shapes import rot90 as rot90
from autodiff_compiler.numpy.math import around as round
from autodiff_compiler.numpy.search import searchsorted as searchsorted
from autodiff_compiler.numpy.indexing import select as select
from autodiff_compiler.numpy.search import setdiff1d as setdiff1d
from autodiff_compiler.numpy.math import sign as sign
from autodiff_compiler.numpy.logic import signbit as signbit
from autodiff_compiler.numpy.reductions import size as size
from autodiff_compiler.numpy.logic import sometrue as sometrue
from autodiff_compiler.numpy.shapes import split as split
from autodiff_compiler.numpy.shapes import stack as stack
from autodiff_compiler.numpy.reductions import sum as sum
from autodiff_compiler.numpy.indexing import take as take
from autodiff_compiler.numpy.indexing import take_along_axis as take_along_axis
from autodiff_compiler.numpy.shapes import tile as tile
from autodiff_compiler.numpy.reductions import trapz as trapz
from autodiff_compiler.numpy.creation import tri as tri
from autodiff_compiler.numpy.shapes import tril as tril
from autodiff_compiler.numpy.grids import tril_indices as tril_indices
from autodiff_compiler.numpy.grids import tril_indices_from as tril_indices_from
from autodiff_compiler.numpy.shapes import triu as triu
from autodiff_compiler.numpy.grids import triu_indices as triu_indices
from autodiff_compiler.numpy.grids import triu_indices_from as triu_indices_from
from autodiff_compiler.numpy.math import trunc as trunc
from autodiff_compiler.numpy.search import unique as unique
from autodiff_compiler.numpy.grids import unravel_index as unravel_index
from autodiff_compiler.numpy.reductions import unwrap as unwrap
from autodiff_compiler.numpy.polynomials import vander as vander
from autodiff_compiler.numpy.shapes import vsplit as vsplit
from autodiff_compiler.numpy.shapes import vstack as vstack
from autodiff_compiler.numpy.indexing import where as where
from autodiff_compiler.numpy.creation import zeros as zeros
from autodiff_compiler.numpy.creation import zeros_like as zeros_like

__all__ = [
    'NINF',
    'PINF',
    'abs',
    'absolute',
    'add',
    'amax',
    'amin',
    'append',
    'apply_along_axis',
    'apply_over_axes',
    'arange',
    'arccos',
    'arccosh',
    'arcsin',
    'arcsinh',
    'arctan',
    'arctan2',
    'arctanh',
    'argmax',
    'argmin',
    'argwhere',
    'around',
    'array',
    'array_equal',
    'array_equiv',
    'array_split',
    'array_str',
    'asarray',
    'asfarray',
    'atleast_1d',
    'atleast_2d',
    'atleast_3d',
    'average',
    'bartlett',
    'bincount',
    'bitwise_and',
    'bitwise_not',
    'bitwise_or',
    'bitwise_xor',
    'blackman',
    'bool_',
    'broadcast_arrays',
    'broadcast_to',
    'cbrt',
    'ceil',
    'choose',
    'clip',
    'column_stack',
    'concatenate',
    'convolve',
    'copy',
    'copysign',
    'corrcoef',
    'correlate',
    'cos',
    'cosh',
    'count_nonzero',
    'cov',
    'cross',
    'cumprod',
    'cumsum',
    'deg2rad',
    'diag',
    'diag_indices',
    'diagflat',
    'diagonal',
    'diff',
    'digitize',
    'divide',
    'divmod',
    'dot',
    'dsplit',
    'dstack',
    'ediff1d',
    'empty',
    'empty_like',
    'equal',
    'exp',
    'exp2',
    'expand_dims',
    'expm1',
    'eye',
    'fabs',
    'fix',
    'flip',
    'fliplr',
    'flipud',
    'float16',
    'float32',
    'float64',
    'float_',
    'float_power',
    'floor',
    'floor_divide',
    'fmod',
    'full',
    'full_like',
    'gcd',
    'geomspace',
    'gradient',
    'greater',
    'greater_equal',
    'hamming',
    'hanning',
    'heaviside',
    'histogram',
    'histogram2d',
    'histogram_bin_edges',
    'histogramdd',
    'hsplit',
    'hstack',
    'hypot',
    'identity',
    'in1d',
    'indices',
    'inf',
    'inner',
    'int16',
    'int32',
    'int64',
    'int8',
    'int_',
    'interp',
    'intersect1d',
    'invert',
    'isclose',
    'isfinite',
    'isin',
    'isinf',
    'isnan',
    'isneginf',
    'isposinf',
    'isscalar',
    'ix_',
    'kron',
    'lcm',
    'less',
    'less_equal',
    'linspace',
    'log',
    'log10',
    'log1p',
    'log2',
    'logaddexp',
    'logaddexp2',
    'logical_and',
    'logical_not',
    'logical_or',
    'logical_xor',
    'logspace',
    'matmul',
    'matrix_power',
    'max',
    'maximum',
    'mean',
    'meshgrid',
    'mgrid',
    'min',
    'minimum',
    'mod',
    'moveaxis',
    'multi_dot',
    'multiply',
    'nan',
    'nancumsum',
    'nanmax',
    'nanmean',
    'nanmin',
    'nanstd',
    'nansum',
    'nanvar',
    'negative',
    'norm',
    'not_equal',
    'numeric_types',
    'ogrid',
    'ones',
    'ones_like',
    'outer',
    'pad',
    'pi',
    'piecewise',
    'polyadd',
    'polyder',
    'polyint',
    'polymul',
    'polysub',
    'polyval',
    'positive',
    'power',
    'promote_types',
    'ptp',
    'rad2deg',
    'radians',
    'rand',
    'randint',
    'randn',
    'ravel',
    'ravel_multi_index',
    'reciprocal',
    'remainder',
    'repeat',
    'reshape',
    'result_type',
    'rint',
    'roll',
    'rollaxis',
    'rot90',
    'round',
    'searchsorted',
    'select',
    'setdiff1d',
    'sign',
    'signbit',
    'sin',
    'sinh',
    'size',
    'sometrue',
    'split',
    'sqrt',
    'square',
    'squeeze',
    'stack',
    'std',
    'subtract',
    'sum',
    'swapaxes',
    'take',
    'take_along_axis',
    'tan',
    'tanh',
    'tensordot',
    'tile',
    'trace',
    'transpose',
    'trapz',
    'tri',
    'tril',
    'tril_indices',
    'tril_indices_from',
    'triu',
    'triu_indices',
    'triu_indices_from',
    'true_divide',
    'trunc',
    'uint',
    'uint16',
    'uint32',
    'uint64',
    'uint8',
    'unique',
    'unravel_index',
    'unwrap',
    'vander',
    'var',
    'vsplit',
    'vstack',
    'where',
    'zeros',
    'zeros_like',
]

NINF: float
PINF: float
def add(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Sums, element by element."""
    ...
def arccos(input: Any, dtype: Any = None) -> Tensor:
    """Angles of given cosines, nan beyond -1 ... 1."""
    ...
def arccosh(x: Any, dtype: Any = None) -> Tensor:
    """Inverse hyperbolic cosines, nan below 1."""
    ...
def arcsin(x: Any, dtype: Any = None) -> Tensor:
    """Angles of given sines, nan beyond -1 ... 1."""
    ...
def arcsinh(x: Any, dtype: Any = None) -> Tensor:
    """Inverse hyperbolic sines."""
    ...
def arctan(x: Any, dtype: Any = None) -> Tensor:
    """Angles of given tangents."""
    ...
def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Angles of the points (x2, x1), from -pi to pi."""
    ...
def arctanh(x: Any, dtype: Any = None) -> Tensor:
    """Inverse hyperbolic tangents, nan beyond -1 ... 1."""
    ...
def argwhere(a: Any) -> Tensor:
    """The indices (int64) of the nonzero elements, one in each row."""
    ...
def bitwise_and(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The bits that both have; of whole numbers and bools."""
    ...
def bitwise_not(x: Any, dtype: Any = None) -> Tensor:
    """The bits that are not set; of integers and bools."""
    ...
def bitwise_or(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The bits that one of both has; of whole numbers and bools."""
    ...
def bitwise_xor(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The bits that exactly one of both has; of whole numbers and bools."""
    ...
bool_: _DType
def copy(a: Any) -> Tensor:
    """A new Tensor with the same elements."""
    ...
def cos(x: Any, dtype: Any = None) -> Tensor:
    """Cosines of angles in radians."""
    ...
def cosh(x: Any, dtype: Any = None) -> Tensor:
    """Hyperbolic cosines."""
    ...
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements (int32) over axes differ from 0."""
    ...
def deg2rad(x: Any, dtype: Any = None) -> Tensor:
    """Degrees as radians."""
    ...
def diagflat(v: Any, k: Any = 0) -> Tensor:
    """The matrix with all elements of an array on its k-th diagonal."""
    ...
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Tensor:
    """A diagonal of two axes, in a new last one."""
    ...
def divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Quotients, element by element; integers become float32 first."""
    ...
def dot(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axis of `a` and the last but one of `b` (of a vector its only one)."""
    ...
def equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether the elements are equal."""
    ...
def exp(x: Any, dtype: Any = None) -> Tensor:
    """e to the power of the elements."""
    ...
def expm1(x: Any, dtype: Any = None) -> Tensor:
    """``exp(x) - 1``, accurate near 0."""
    ...
float16: _DType
float32: _DType
float64: _DType
float_: _DType
def floor(x: Any, dtype: Any = None) -> Tensor:
    """The greatest whole numbers not above the elements."""
    ...
def floor_divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The greatest whole number not above the quotient."""
    ...
def fmod(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """What a division cut off towards 0 leaves; it has the sign of the dividend."""
    ...
def gcd(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Greatest common divisors of whole numbers."""
    ...
def greater(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether those of `x1` are greater."""
    ...
def greater_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether those of `x1` are not less."""
    ...
def hypot(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Lengths of the hypotenuses over two legs."""
    ...
inf: float
def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axes; of single numbers products."""
    ...
int16: _DType
int32: _DType
int64: _DType
int8: _DType
int_: _DType
def invert(x: Any, dtype: Any = None) -> Tensor:
    """The bits that are not set; of integers and bools."""
    ...
def isfinite(x: Any, dtype: Any = None) -> Tensor:
    """Which elements are neither infinite nor nan."""
    ...
def isinf(x: Any, dtype: Any = None) -> Tensor:
    """Which elements are infinite."""
    ...
def isnan(x: Any, dtype: Any = None) -> Tensor:
    """Which elements are nan."""
    ...
def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product: every element of `a` times all of `b`."""
    ...
def lcm(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Least common multiples of whole numbers."""
    ...
def less(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether those of `x1` are less."""
    ...
def less_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether those of `x1` are not greater."""
    ...
def log(x: Any, dtype: Any = None) -> Tensor:
    """Natural logarithms."""
    ...
def log10(x: Any, dtype: Any = None) -> Tensor:
    """Logarithms to the base 10."""
    ...
def log1p(x: Any, dtype: Any = None) -> Tensor:
    """``log(1 + x)``, accurate near 0."""
    ...
def log2(x: Any, dtype: Any = None) -> Tensor:
    """Logarithms to the base 2."""
    ...
def logaddexp(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """``log(exp(x1) + exp(x2))`` without overflow."""
    ...
def logaddexp2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """``log2(2**x1 + 2**x2)`` without overflow."""
    ...
def logical_and(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether both differ from 0."""
    ...
def logical_not(a: Any, dtype: Any = None) -> Tensor:
    """Whether the elements are 0."""
    ...
def logical_or(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether one of both differs from 0."""
    ...
def logical_xor(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether exactly one of both differs from 0."""
    ...
def matmul(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Matrix products; axes before the last two are broadcast."""
    ...
mgrid: Any
def mod(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """What a floor division leaves; it has the sign of the divisor."""
    ...
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Axes moved to other positions; the others stay in order."""
    ...
def multiply(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Products, element by element; of bools whether both hold."""
    ...
nan: float
def negative(a: Any, dtype: Any = None) -> Tensor:
    """The elements with the other sign."""
    ...
def not_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Whether the elements differ."""
    ...
numeric_types: list[str]
ogrid: Any
pi: float
def power(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The first operand to the power of the second; integers keep their dtype."""
    ...
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The greatest less the least element over axes."""
    ...
def rad2deg(x: Any, dtype: Any = None) -> Tensor:
    """Radians as degrees."""
    ...
def radians(x: Any, dtype: Any = None) -> Tensor:
    """Degrees as radians."""
    ...
def ravel(x: Any) -> Tensor:
    """The elements in row-major order, in one dimension."""
    ...
def remainder(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """What a floor division leaves; it has the sign of the divisor."""
    ...
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Every element along an axis (of the flat array by default) repeated: a number of times, or one for each."""
    ...
def reshape(x: Any, new_shape: Any) -> Tensor:
    """The elements in row-major order under another shape, of which one size may be -1."""
    ...
def rint(x: Any, dtype: Any = None) -> Tensor:
    """The nearest whole numbers; halves go to the even one."""
    ...
def sin(x: Any, dtype: Any = None) -> Tensor:
    """Sines of angles in radians."""
    ...
def sinh(x: Any, dtype: Any = None) -> Tensor:
    """Hyperbolic sines."""
    ...
def sqrt(x: Any, dtype: Any = None) -> Tensor:
    """Square roots, nan for negative elements."""
    ...
def square(x: Any, dtype: Any = None) -> Tensor:
    """The elements times themselves."""
    ...
def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Without axes of size 1: all of them, or those given."""
    ...
def std(x: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    """The square root of `var`."""
    ...
def subtract(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Differences, element by element."""
    ...
def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    ...
def tan(x: Any, dtype: Any = None) -> Tensor:
    """Tangents of angles in radians."""
    ...
def tanh(x: Any, dtype: Any = None) -> Tensor:
    """Hyperbolic tangents."""
    ...
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over axes: the last ones of `a` and first ones of `b`, or two sequences of them."""
    ...
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None) -> Tensor:
    """The sum along a diagonal of two axes; integers are summed as int64."""
    ...
def transpose(a: Any, axes: Any = None) -> Tensor:
    """The axes in another order, by default reversed."""
    ...
def true_divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Quotients, element by element; integers become float32 first."""
    ...
uint: _DType
uint16: _DType
uint32: _DType
uint64: _DType
uint8: _DType
def var(x: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    """Mean squared deviations from the mean over axes, divided by the count less `ddof`."""
    ...
