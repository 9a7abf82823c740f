"""Data pipelines with MindSpore's names: rows of NumPy arrays, computed lazily, one by one.

    data = ds.GeneratorDataset(source, ["image", "label"]).shuffle(1000).batch(32)
    for image, label in data: ...

Everything runs in the thread that iterates: there are no worker processes, threads or queues behind it, and what
arguments such as `num_parallel_workers` ask for is checked and otherwise without effect.

A pipeline without side effects of its own gives the same rows in the same order whenever a seed was set: that of
`ms.set_seed` or `dataset.config.set_seed`.  Each new iterator begins at the seed again; its epochs differ.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import config, samplers, transforms, vision
    from .base import Dataset
    from .batches import BatchDataset, BatchInfo
    from .pipeline import zip
    from .samplers import (
        DistributedSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        Shuffle,
        SubsetRandomSampler,
        SubsetSampler,
        WeightedRandomSampler,
    )
    from .sources import GeneratorDataset, NumpySlicesDataset, PaddedDataset

_MODULES = {
    "config": ("get_seed", "set_seed"),
    "iterators": ("DictIterator", "TupleIterator"),
    "base": (),
    "batches": ("BatchDataset", "BatchInfo", "PaddedBatchDataset"),
    "pipeline": (
        *(
            "ConcatDataset",
            "Dataset",
            "FilterDataset",
            "MapDataset",
            "ProjectDataset",
            "RenameDataset",
            "RepeatDataset",
        ),
        *("ShuffleDataset", "SkipDataset", "TakeDataset", "ZipDataset", "zip"),
    ),
    "samplers": (
        *("DistributedSampler", "RandomSampler", "Sampler", "SequentialSampler", "Shuffle", "SubsetRandomSampler"),
        *("SubsetSampler", "WeightedRandomSampler"),
    ),
    "sources": ("GeneratorDataset", "NumpySlicesDataset", "PaddedDataset"),
    "transforms": (),
    "vision": (),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names} | dict.fromkeys(_MODULES, "")

__all__ = [
    "BatchDataset",
    "BatchInfo",
    "Dataset",
    "DistributedSampler",
    "GeneratorDataset",
    "NumpySlicesDataset",
    "PaddedDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
    "config",
    "samplers",
    "transforms",
    "vision",
    "zip",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        why = __lacking__(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f": {why}" if why else ""), name=name)
    module = importlib.import_module(f".{_WHERE[name] or name}", __name__)
    globals()[name] = value = getattr(module, name) if _WHERE[name] else module
    return value


def __lacking__(name: str) -> str | None:
    """Why there is no such name, if MindSpore has it."""
    from ..mindspore_names.absent import reason  # a long table that only errors need

    return None if name.startswith("_") else reason("dataset", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
