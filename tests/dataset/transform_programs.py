"""What transforms of arrays and images do."""

from __future__ import annotations

from typing import Any

import numpy as np

from .programs import cell, numbers, outcome, program, rows


@program
def transforms(ms: Any, ds: Any) -> Any:
    T = ds.transforms

    def of(transform: Any, *inputs: Any) -> Any:
        return outcome(lambda: cell((transform() if type(transform).__name__ == "function" else transform)(*inputs)))

    images = np.arange(6, dtype=np.uint8)
    return [
        of(T.TypeCast(ms.float32), np.arange(3)),
        of(T.TypeCast(np.int8), np.array([1.7, -1.7])),
        of(T.TypeCast(ms.bool_), np.array([0, 2])),
        of(lambda: T.TypeCast("float32"), images),
        of(T.OneHot(4), np.array(2)),
        of(T.OneHot(4), np.array([2, 0])),
        of(T.OneHot(4, 0.2), np.array(2)),
        of(T.OneHot(4), np.array([[2]])),
        of(T.OneHot(4), np.array(4)),
        of(T.OneHot(4), np.array(1.5)),
        of(lambda: T.OneHot(0), np.array(0)),
        of(T.OneHot(3), np.array(1, np.int32)),
        of(T.OneHot(3), np.array(1, np.uint8)),
        of(lambda: T.Fill(3), np.arange(2.0)),
        of(lambda: T.Fill(3.7), np.arange(2)),
        of(lambda: T.Fill("a"), np.arange(2)),
        of(lambda: T.PadEnd([4], 9), np.arange(2)),
        of(lambda: T.PadEnd([4]), np.arange(2.0)),
        of(lambda: T.PadEnd([1]), np.arange(2)),
        of(lambda: T.PadEnd([2, 3], 1), np.ones(2)),
        of(lambda: T.Slice(slice(1, 3)), np.arange(5)),
        of(lambda: T.Slice(1), np.arange(5)),
        of(lambda: T.Slice([0, 2]), np.arange(5)),
        of(lambda: T.Slice(None, 1), np.arange(6).reshape(2, 3)),
        of(lambda: T.Slice(..., slice(0, 2)), np.arange(6).reshape(2, 3)),
        of(lambda: T.Slice(-1), np.arange(5)),
        of(lambda: T.Slice(slice(None, None, -1)), np.arange(5)),
        of(lambda: T.Slice(9), np.arange(5)),
        of(lambda: T.Mask(T.Relational.GT, 2), np.arange(5)),
        of(lambda: T.Mask(T.Relational.EQ, 2, ms.int32), np.arange(5.0)),
        of(lambda: T.Mask(T.Relational.LE, 2, ms.float32), np.arange(5)),
        of(lambda: T.Concatenate(0, np.array([9.0]), np.array([8.0])), np.arange(2.0)),
        of(lambda: T.Concatenate(), np.arange(2), np.arange(3)),
        of(lambda: T.Concatenate(-1, append=np.array([8])), np.arange(2)),
        of(lambda: T.Concatenate(0, np.array([9])), np.arange(2.0)),
        outcome(lambda: [cell(x) for x in T.Duplicate()(np.arange(2))]),
        of(T.Compose([T.TypeCast(ms.float32), lambda x: x + 1]), np.arange(2)),
        outcome(lambda: [cell(x) for x in T.Compose([lambda x: (x, x), lambda x, y: (x + 1, y)])(np.arange(2))]),
        of(lambda: T.Compose([]), images),
        of(lambda: T.Compose([3]), images),
        of(T.RandomApply([lambda x: x + 1, lambda x: x * 2], 1.0), np.arange(2)),
        of(T.RandomApply([lambda x: x + 1], 0.0), np.arange(2)),
        of(lambda: T.RandomApply([lambda x: x], 1.5), images),
        of(T.RandomChoice([lambda x: x + 1]), np.arange(2)),
        of(T.RandomOrder([lambda x: x + 1, lambda x: x + 2]), np.arange(2)),
        rows(numbers(ds, 2).map([T.TypeCast(ms.float32), T.Duplicate()], ["x"], ["x", "y"])),
        rows(numbers(ds, 2).map(T.Compose([T.TypeCast(ms.float32), lambda x: -x]), ["x"])),
    ]


@program
def images(ms: Any, ds: Any) -> Any:
    V = ds.vision
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    grey = np.arange(6, dtype=np.float32).reshape(2, 3)

    def of(transform: Any, given: Any = image) -> Any:
        return outcome(lambda: cell((transform() if type(transform).__name__ == "function" else transform)(given)))

    return [
        of(V.Rescale(1 / 255, 0.0)),
        of(V.Rescale(2, -1), np.arange(3.0)),
        of(V.Rescale(2, -1), grey),
        of(V.Normalize([1, 2, 3], [2.0, 4.0, 8.0])),
        of(V.Normalize([1.0, 2.0, 3.0], [2.0, 4.0, 8.0])),
        of(V.Normalize([1.0], [2.0]), grey),
        of(V.Normalize([1.0, 2.0], [2.0, 4.0])),
        of(V.Normalize([1.0, 2.0, 3.0], [2.0, 4.0, 8.0], is_hwc=False), image.transpose(2, 0, 1)),
        of(lambda: V.Normalize([1.0], [0.0])),
        of(lambda: V.Normalize([300.0], [1.0])),
        of(V.Normalize([1.0], [2.0]), image[..., :1]),
        of(V.HWC2CHW()),
        of(V.HWC2CHW(), grey),
        of(V.HWC2CHW(), np.arange(3)),
        of(V.HWC2CHW(), np.zeros((1, 2, 3, 4))),
        of(V.HorizontalFlip()),
        of(V.VerticalFlip()),
        of(V.HorizontalFlip(), grey),
        of(V.RandomHorizontalFlip(1.0)),
        of(V.RandomVerticalFlip(1.0)),
        of(V.RandomHorizontalFlip(0.0)),
        of(lambda: V.RandomHorizontalFlip(2.0)),
        of(V.CenterCrop(2)),
        of(V.CenterCrop((2, 3))),
        of(V.CenterCrop((4, 2))),
        of(V.Crop((0, 1), 2)),
        of(V.Crop((1, 1), (1, 2))),
        of(V.Crop((1, 3), (2, 2))),
        of(V.Pad(1)),
        of(V.Pad((1, 0), 7)),
        of(V.Pad((1, 0, 0, 2), 7), grey),
        of(V.Pad([1, 1], padding_mode=V.Border.EDGE), grey),
        of(V.Pad([1, 1], padding_mode=V.Border.REFLECT), grey),
        of(V.Pad([1, 1], padding_mode=V.Border.SYMMETRIC), grey),
        of(V.RandomCrop((2, 4))),
        outcome(lambda: cell(V.RandomCrop(2)(image))[:2]),
        outcome(lambda: cell(V.RandomCrop(4, padding=1)(image))[:2]),
        of(V.RandomCrop(5)),
        outcome(lambda: cell(V.RandomCrop(5, pad_if_needed=True)(image))[:2]),
        of(V.ToTensor()),
        of(V.ToTensor(), grey),
        of(V.ToTensor(), np.arange(6, dtype=np.uint8).reshape(2, 3)),
        of(V.ToTensor(np.float64)),
        of(V.ToType(np.float32)),
        of(V.Invert()),
        rows(ds.NumpySlicesDataset([image], ["i"]).map([V.Rescale(1 / 255, 0), V.HWC2CHW()], "i")),
    ]


@program
def resized(ms: Any, ds: Any) -> Any:
    V = ds.vision
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    grey = np.arange(6, dtype=np.float32).reshape(2, 3)

    def of(transform: Any, given: Any = image) -> Any:
        return cell(transform(given))

    return [
        of(V.Resize((4, 4)), grey),
        of(V.Resize((1, 2)), grey),
        of(V.Resize(4), grey),
        of(V.Resize((4, 8), V.Inter.NEAREST), grey),
        of(V.Resize((1, 2), V.Inter.NEAREST), grey),
        of(V.Resize((3, 5))),
    ]
