"""Writes the checkpoint files of this folder with MindSpore itself.

Run once, with ``mindspore==2.10.0``, ``numpy<2`` and ``safetensors`` installed; the files are kept as data.
What they hold is written down a second time in test_mindspore_files.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.train import serialization

FOLDER = Path(__file__).parent
NAMES = "bool_ uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.bn = nn.BatchNorm1d(2)

    def construct(self, x):
        return self.bn(self.fc(x))


def save(what, name, **options):
    path = str(FOLDER / name)
    ms.save_checkpoint(what, path, **options)
    os.chmod(path, 0o644)


def main() -> None:
    values = np.array([[0, 1, 2], [3, 100, 5]], np.float32)
    every = [Parameter(Tensor(values).astype(getattr(ms, name)), name=name) for name in NAMES]
    every.append(Parameter(Tensor(2.5), name="scalar"))
    extra = {"step": 3, "rate": 0.5, "flag": True, "note": "héllo \U0001f600", "nothing": ""}
    save(every, "dtypes.ckpt", append_dict=extra)
    save(every, "checksum.ckpt", append_dict=extra, crc_check=True)
    save([p for p in every if p.name != "bfloat16"], "dtypes.safetensors", format="safetensors", crc_check=True)
    save(every, "encrypted.ckpt", enc_key=b"0123456789abcdef")

    serialization.SLICE_SIZE = 1  # in kilobytes; 512 MB otherwise
    save([Parameter(Tensor(np.arange(700, dtype=np.float32).reshape(7, 100)), name="long")], "slices.ckpt")

    net = Block()
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.25, momentum=0.5)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    x = Tensor(np.array([[1, 0, 2], [0, 1, 1], [3, 1, 0], [1, 1, 1]], np.float32))
    y = Tensor(np.array([[1, 0], [0, 1], [1, 1], [0, 0]], np.float32))
    for _ in range(3):
        step(x, y)
    save(step, "training.ckpt")
    print({name: p.asnumpy().tolist() for name, p in step.parameters_dict().items()})


if __name__ == "__main__":
    main()
