"""Written by `python tools/stubs.py` from the package itself; do not edit by hand."""

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.dtypes import DType as _DType
from autodiff_compiler.nn.layer import Layer
from autodiff_compiler.ops.operation import Operation
from autodiff_compiler.runtime.tensor import Tensor

from autodiff_compiler.mint.functions import add as add
from autodiff_compiler.ops.linalg import addbmm as addbmm
from autodiff_compiler.mint.functions import allclose as allclose
from autodiff_compiler.mint.functions import argsort as argsort
from autodiff_compiler.ops.linalg import baddbmm as baddbmm
from autodiff_compiler.mint.functions import cummax as cummax
from autodiff_compiler.mint.functions import cummin as cummin
from autodiff_compiler.mint.functions import cumsum as cumsum
from autodiff_compiler.mint.functions import diag as diag
from . import distributed as distributed
from autodiff_compiler.ops.basic import div as div
from autodiff_compiler.ops.basic import div as divide
from autodiff_compiler.ops.basic import dot as dot
from autodiff_compiler.mint.functions import flatten as flatten
from autodiff_compiler.mint.functions import index_add as index_add
from autodiff_compiler.primitives.summaries import kthvalue as kthvalue
from . import linalg as linalg
from autodiff_compiler.mint.functions import max as max
from autodiff_compiler.mint.functions import mean as mean
from autodiff_compiler.mint.functions import median as median
from autodiff_compiler.mint.functions import meshgrid as meshgrid
from autodiff_compiler.mint.functions import min as min
from . import nn as nn
from autodiff_compiler.mint.functions import norm as norm
from autodiff_compiler.mint.functions import permute as permute
from autodiff_compiler.mint.functions import rand as rand
from autodiff_compiler.mint.functions import rand_like as rand_like
from autodiff_compiler.mint.functions import randint as randint
from autodiff_compiler.mint.functions import randint_like as randint_like
from autodiff_compiler.mint.functions import randn as randn
from autodiff_compiler.mint.functions import randn_like as randn_like
from autodiff_compiler.mint.functions import randperm as randperm
from autodiff_compiler.mint.functions import reshape as reshape
from autodiff_compiler.ops.indexing import searchsorted as searchsorted
from autodiff_compiler.mint.functions import select as select
from autodiff_compiler.mint.functions import softmax as softmax
from autodiff_compiler.mint.functions import sort as sort
from . import special as special
from autodiff_compiler.mint.functions import squeeze as squeeze
from autodiff_compiler.mint.functions import sub as sub
from autodiff_compiler.mint.functions import topk as topk
from autodiff_compiler.ops.linalg import trace as trace
from autodiff_compiler.mint.functions import where as where
from autodiff_compiler.mint.functions import zeros as zeros

__all__ = [
    'abs',
    'absolute',
    'acos',
    'acosh',
    'add',
    'addbmm',
    'addcdiv',
    'addmm',
    'addmv',
    'all',
    'allclose',
    'amax',
    'amin',
    'any',
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
    'argsort',
    'asin',
    'asinh',
    'atan',
    'atan2',
    'atanh',
    'baddbmm',
    'bincount',
    'bitwise_and',
    'bitwise_not',
    'bitwise_or',
    'bitwise_xor',
    'bmm',
    'broadcast_to',
    'cat',
    'ceil',
    'chunk',
    'clamp',
    'clip',
    'clone',
    'concat',
    'cos',
    'cosh',
    'count_nonzero',
    'cross',
    'cummax',
    'cummin',
    'cumprod',
    'cumsum',
    'diag',
    'diff',
    'distributed',
    'div',
    'divide',
    'dot',
    'dstack',
    'einsum',
    'eq',
    'equal',
    'erf',
    'erfc',
    'erfinv',
    'exp',
    'exp2',
    'expm1',
    'eye',
    'fix',
    'flatten',
    'flip',
    'float_power',
    'floor',
    'floor_divide',
    'fmod',
    'frac',
    'full',
    'full_like',
    'gather',
    'gcd',
    'ge',
    'greater',
    'greater_equal',
    'gt',
    'histc',
    'hstack',
    'index_add',
    'index_select',
    'inverse',
    'isclose',
    'isfinite',
    'isinf',
    'isnan',
    'isneginf',
    'kthvalue',
    'le',
    'lerp',
    'less',
    'less_equal',
    'linalg',
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
    'logsumexp',
    'lt',
    'masked_select',
    'matmul',
    'max',
    'maximum',
    'mean',
    'median',
    'meshgrid',
    'min',
    'minimum',
    'mm',
    'mul',
    'mv',
    'nan_to_num',
    'nansum',
    'narrow',
    'ne',
    'neg',
    'negative',
    'nn',
    'nonzero',
    'norm',
    'not_equal',
    'ones',
    'ones_like',
    'outer',
    'permute',
    'pow',
    'prod',
    'rand',
    'rand_like',
    'randint',
    'randint_like',
    'randn',
    'randn_like',
    'randperm',
    'ravel',
    'reciprocal',
    'remainder',
    'repeat_interleave',
    'reshape',
    'roll',
    'round',
    'rsqrt',
    'scatter',
    'scatter_add',
    'searchsorted',
    'select',
    'sigmoid',
    'sign',
    'sin',
    'sinc',
    'sinh',
    'softmax',
    'sort',
    'special',
    'split',
    'sqrt',
    'square',
    'squeeze',
    'stack',
    'std',
    'std_mean',
    'sub',
    'sum',
    'swapaxes',
    't',
    'take',
    'tan',
    'tanh',
    'tile',
    'topk',
    'trace',
    'transpose',
    'tril',
    'triu',
    'trunc',
    'unbind',
    'unique_consecutive',
    'unsqueeze',
    'var',
    'var_mean',
    'where',
    'xlogy',
    'zeros',
    'zeros_like',
]

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
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    ...
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    ...
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    ...
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether every element over the axes (all by default) holds; numbers hold where they are not zero."""
    ...
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest element along dimensions; of all elements for ()."""
    ...
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest element along dimensions; of all elements for ()."""
    ...
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element over the axes (all by default) holds; numbers hold where they are not zero."""
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
def argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the smallest element along a dimension; without one, in the flat tensor."""
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
def bincount(input: Any, weights: Any = None, minlength: Any = 0) -> Tensor:
    """How often (float32) each of the numbers 0, 1, ... occurs, or the sum of its weights."""
    ...
def bitwise_and(input: Any, other: Any) -> Tensor:
    """Bits set in both integers; of bools `logical_and`."""
    ...
def bitwise_not(input: Any) -> Tensor:
    """Every bit of an integer flipped; of bools `logical_not`."""
    ...
def bitwise_or(input: Any, other: Any) -> Tensor:
    """Bits set in either integer; of bools `logical_or`."""
    ...
def bitwise_xor(input: Any, other: Any) -> Tensor:
    """Bits set in exactly one of two integers; of bools `logical_xor`."""
    ...
def bmm(input: Any, mat2: Any) -> Tensor:
    """Products of the matrices of two batches of equal size; ShapeError for others."""
    ...
def broadcast_to(input: Any, shape: Any) -> Tensor:
    """The tensor repeated along new leading dimensions and those of size 1; -1 keeps a size."""
    ...
def cat(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors concatenated along a dimension."""
    ...
def ceil(input: Any) -> Tensor:
    """The smallest integer not below each element; its derivative is 0."""
    ...
def chunk(input: Any, chunks: int, dim: Any = 0) -> tuple[Tensor, ...]:
    """At most `chunks` neighbouring parts along an axis, all of one size but the last, which may be smaller."""
    ...
def clamp(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element."""
    ...
def clip(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """Elements below `min` and above `max` replaced by these; at a bound the whole cotangent goes to the element."""
    ...
def clone(input: Any) -> Tensor:
    """The same elements in a Tensor of its own; gradients pass."""
    ...
def concat(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors concatenated along a dimension."""
    ...
def cos(input: Any) -> Tensor:
    """Cosine of every element, in radians."""
    ...
def cosh(input: Any) -> Tensor:
    """Hyperbolic cosine of every element."""
    ...
def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """The number of nonzero elements (int64) over dimensions, or over all."""
    ...
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Cross product along a dimension of size 3, by default the first one that has it."""
    ...
def cumprod(input: Any, dim: int, dtype: Any = None) -> Tensor:
    """Running product along a dimension; integers keep their dtype."""
    ...
def diff(input: Any, n: Any = 1, dim: Any = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, n times; of bools whether they differ."""
    ...
def dstack(tensors: Sequence[Any]) -> Tensor:
    """Tensors joined along the third dimension."""
    ...
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products over named dimensions, as `numpy.einsum`; the order of the products is chosen by cost."""
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
def expm1(input: Any) -> Tensor:
    """exp(x) - 1 for every element, exact near 0."""
    ...
def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """A matrix with ones on its main diagonal, float32 by default."""
    ...
def fix(input: Any) -> Tensor:
    """Each element rounded towards 0; its derivative is 0."""
    ...
def flip(input: Any, dims: Any) -> Tensor:
    """The elements in reverse order along dimensions."""
    ...
def float_power(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent` in float64."""
    ...
def floor(input: Any) -> Tensor:
    """The greatest integer not above each element; its derivative is 0."""
    ...
def floor_divide(input: Any, other: Any) -> Tensor:
    """Quotient rounded towards minus infinity; an integer divided by zero gives 0, as in NumPy."""
    ...
def fmod(input: Any, other: Any) -> Tensor:
    """Remainder of the quotient rounded towards 0, with the sign of the dividend; an integer modulo zero gives 0."""
    ...
def frac(input: Any) -> Tensor:
    """Every element minus its whole part, with the sign of the element."""
    ...
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor whose elements all are `fill_value`."""
    ...
def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """`fill_value` in the shape of `input`, and of its dtype by default."""
    ...
def gather(input: Any, dim: int, index: Any) -> Tensor:
    """Elements by position along one dimension: for `dim` 0, ``result[i, j] = input[index[i, j], j]``."""
    ...
def gcd(input: Any, other: Any) -> Tensor:
    """Greatest common divisor of two integers, never negative; of zeros it is 0."""
    ...
def ge(input: Any, other: Any) -> Tensor:
    """Whether x >= y, element by element."""
    ...
def greater(input: Any, other: Any) -> Tensor:
    """Whether x > y, element by element."""
    ...
def greater_equal(input: Any, other: Any) -> Tensor:
    """Whether x >= y, element by element."""
    ...
def gt(input: Any, other: Any) -> Tensor:
    """Whether x > y, element by element."""
    ...
def histc(input: Any, bins: Any = 100, min: Any = 0.0, max: Any = 0.0) -> Tensor:
    """How many numbers lie in each of `bins` equal parts of min ... max; by default from the smallest to the greatest."""
    ...
def hstack(tensors: Sequence[Any]) -> Tensor:
    """Tensors joined along the second dimension, vectors along their only one."""
    ...
def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """The slices along an axis at the positions in `index`, of one dimension."""
    ...
def inverse(input: Any) -> Tensor:
    """The inverse of square matrices; LinAlgError if one is singular."""
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
def isnan(tensor: Any) -> Tensor:
    """Whether each element is nan."""
    ...
def isneginf(input: Any) -> Tensor:
    """Whether each element is -inf."""
    ...
def le(input: Any, other: Any) -> Tensor:
    """Whether x <= y, element by element."""
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
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""
    ...
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**x + 2**y), without overflow."""
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
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over dimensions (all for an empty tuple), without overflow."""
    ...
def lt(input: Any, other: Any) -> Tensor:
    """Whether x < y, element by element."""
    ...
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask holds, in one dimension."""
    ...
def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product over the last two dimensions, in the common dtype; leading dimensions broadcast."""
    ...
def maximum(input: Any, other: Any) -> Tensor:
    """The greater of two elements, nan if either is; at a tie the cotangent is halved."""
    ...
def minimum(input: Any, other: Any) -> Tensor:
    """The smaller of two elements, nan if either is; at a tie the cotangent is halved."""
    ...
def mm(input: Any, mat2: Any) -> Tensor:
    """Product of two matrices; ShapeError for any other number of dimensions."""
    ...
def mul(input: Any, other: Any) -> Tensor:
    """Product of two tensors, element by element (of bools: whether both hold)."""
    ...
def mv(input: Any, vec: Any) -> Tensor:
    """Product of a matrix and a vector."""
    ...
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """nan replaced by `nan` (0) and infinities by `posinf` and `neginf` (the greatest and smallest finite number)."""
    ...
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axes (all by default) of the elements that are not nan."""
    ...
def narrow(input: Any, dim: int, start: int, length: int) -> Tensor:
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
def nonzero(input: Any, *, as_tuple: bool = False) -> Tensor:
    """The indices (int64) of the nonzero elements, as rows or as a vector per dimension."""
    ...
def not_equal(input: Any, other: Any) -> Tensor:
    """Whether two elements differ (nan differs from itself)."""
    ...
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 by default."""
    ...
def ones_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Ones of the shape of `input`, and of its dtype by default."""
    ...
def outer(input: Any, vec2: Any) -> Tensor:
    """Products of every element of `input` and every element of `vec2`: a matrix."""
    ...
def pow(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent`, element by element."""
    ...
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product over axes (all by default); smaller integers and bools are multiplied as int64."""
    ...
def ravel(input: Any) -> Tensor:
    """All elements in row-major order, in one dimension."""
    ...
def reciprocal(input: Any) -> Tensor:
    """1 / x for every element: inf at 0."""
    ...
def remainder(input: Any, other: Any) -> Tensor:
    """Remainder of `floordiv`, with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""
    ...
def repeat_interleave(input: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Tensor:
    """Each element of the flat tensor, or each slice along a dimension, repeated."""
    ...
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved along dimensions (of the flat tensor by default); what leaves the end comes back in front."""
    ...
def round(input: Any, *, decimals: Any = 0) -> Tensor:
    """The nearest number with so many decimals (before the point, if negative), of two the even one."""
    ...
def rsqrt(input: Any) -> Tensor:
    """1 / sqrt(x) for every element: inf at 0, nan below."""
    ...
def scatter(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """The tensor with elements replaced by those of `src` (or one number) at the positions in `index` along an axis."""
    ...
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """`input` with the elements of `src` added at the positions in `index` along a dimension."""
    ...
def sigmoid(input: Any) -> Tensor:
    """1 / (1 + exp(-x)), with full relative precision; results below the smallest normal number may become 0."""
    ...
def sign(input: Any) -> Tensor:
    """-1, 0 or 1 for every element; nan stays."""
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
def split(tensor: Any, split_size_or_sections: Any, dim: Any = 0) -> tuple[Tensor, ...]:
    """Neighbouring parts along an axis: of one size (the last may be smaller), or of the sizes in a list."""
    ...
def sqrt(input: Any) -> Tensor:
    """Square root of every element: nan below 0; its derivative at 0 is inf."""
    ...
def square(input: Any) -> Tensor:
    """The square of every element."""
    ...
def stack(tensors: Any, dim: Any = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    ...
def std(input: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Tensor:
    """Square root of `var`; where all numbers are equal its derivative is 0."""
    ...
def std_mean(input: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """`std` and `mean` at once."""
    ...
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over dimensions (all by default); smaller integers and bools are summed as int64."""
    ...
def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged."""
    ...
def t(input: Any) -> Tensor:
    """A matrix transposed; a tensor of less than two dimensions as it is."""
    ...
def take(input: Any, index: Any) -> Tensor:
    """The elements of the flat tensor at the given positions."""
    ...
def tan(input: Any) -> Tensor:
    """Tangent of every element, in radians."""
    ...
def tanh(input: Any) -> Tensor:
    """Hyperbolic tangent of every element."""
    ...
def tile(input: Any, dims: Any) -> Tensor:
    """The whole tensor repeated `dims[i]` times along dimension i; missing dimensions come first."""
    ...
def transpose(input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    ...
def tril(input: Any, diagonal: Any = 0) -> Tensor:
    """The elements of matrices on and below a diagonal, zeros above."""
    ...
def triu(input: Any, diagonal: Any = 0) -> Tensor:
    """The elements of matrices on and above a diagonal, zeros below."""
    ...
def trunc(input: Any) -> Tensor:
    """Each element rounded towards 0; its derivative is 0."""
    ...
def unbind(input: Any, dim: Any = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, which disappears."""
    ...
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Tensor:
    """The elements (or slices along `dim`) without repetitions of the one before."""
    ...
def unsqueeze(input: Any, dim: Any) -> Tensor:
    """A new dimension of size 1 at `dim` of the result."""
    ...
def var(input: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Tensor:
    """Mean squared deviation from the mean over axes (all by default), divided by the count less `correction`."""
    ...
def var_mean(input: Any, dim: Any = None, *, correction: Any = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """`var` and `mean` at once."""
    ...
def xlogy(input: Any, other: Any) -> Tensor:
    """x * log(y), and 0 where x is 0 whatever y (nan aside)."""
    ...
def zeros_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype by default."""
    ...
