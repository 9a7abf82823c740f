"""Runs the scenarios of ../scenarios.py with MindSpore itself and writes model.json, what they did.

Run once, with ``mindspore==2.10.0``, ``numpy<2`` and ``safetensors`` installed: ``python record_model.py``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from scenarios import SCENARIOS, plain  # noqa: E402


class Batches:
    def __init__(self, data):
        self.data = data

    def __getitem__(self, index):
        return self.data[index]

    def __len__(self):
        return len(self.data)


def dataset(data):
    return ds.GeneratorDataset(Batches(data), ["data", "label", "more"][: len(data[0])], shuffle=False)


def main() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found = {}
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[scenario.__name__] = plain(scenario(ms, dataset, folder))
            except Exception:
                print(scenario.__name__)
                traceback.print_exc()
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    (FOLDER / "model.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
