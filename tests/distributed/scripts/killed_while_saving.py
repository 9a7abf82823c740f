"""Trains and saves after every step; process 0 is killed when the second file is written and has not its name yet."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import communication, nn, train, whole_files

communication.init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
ms.set_seed(1)
named = whole_files._take_place


def name_or_die(temporary: str, target: str) -> None:
    if target.endswith("-1_2.ckpt"):
        os.kill(os.getpid(), signal.SIGKILL)
    named(temporary, target)


whole_files._take_place = name_or_die
net = nn.Dense(2, 1)
model = train.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.01))
x = np.ones((4, 2), np.float32) * (1 + communication.get_rank())
saves = train.ModelCheckpoint("net", sys.argv[1], train.CheckpointConfig(1))
model.train(1, [(x, x[:, :1])] * 3, saves)
print("trained on")
