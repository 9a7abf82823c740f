"""Sums over processes in buckets: begun when their tensors are there, waited for before the first sum is read.

`passes.buckets` makes them of `all_reduce` ops, when all derivatives have been taken.
"""

from __future__ import annotations

from ..collectives import under_way
from ..dtypes import DType
from ..ir.primitive import Ints
from ..ir.types import Shape, TensorType, tensor
from .collective import Collective, in_group, shapes_of
from .requirements import require_dtype


class BeginAllReduce(Collective):
    """Starts to add up tensors over the processes, as the bucket of that number."""

    def infer(*operands: TensorType, number: int, group: str, size: int):
        dtypes = {x.dtype.name for x in operands}
        require_dtype(len(dtypes) == 1, f"a bucket has one dtype, not {' and '.join(sorted(dtypes))}")
        return ()

    def numpy(*operands, number, group, size, at=""):
        under_way.begin(operands, number, in_group(group, size), at=at)
        return ()


class EndAllReduce(Collective):
    """The sums of the bucket of that number, of shapes that are written one behind the other."""

    multiple = True

    def infer(*, number: int, dtype: DType, ranks: Ints, sizes: Shape):
        return tuple([tensor(dtype, shape) for shape in shapes_of(ranks, sizes)])

    def numpy(*, number, dtype, ranks, sizes, at=""):
        bucket, found, start = under_way.end(number), [], 0
        for shape in shapes_of(ranks, sizes):
            count = 1
            for d in shape:
                count *= d
            stop = start + count
            found.append(bucket[start:stop].reshape(shape))
            start = stop
        return tuple(found)
