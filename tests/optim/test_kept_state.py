"""What optimizers keep, against MindSpore: checkpoints of a training go both ways.

`data/recorded_state.json` has what MindSpore 2.10 keeps (names, dtypes, shapes, values) after 3 and after 5 steps of
the optimizers of state_cases.py; `data/record_state.py` has recorded it.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn
from autodiff_compiler.experimental import optim

from .state_cases import CASES, gradients, start

RECORDED = json.loads((Path(__file__).parent / "data" / "recorded_state.json").read_text())

#: MindSpore's Lamb and LARS do not run on the CPU, and its kernel there heeds no `update_slots`.
RUNS = [name for name in CASES if not isinstance(RECORDED[name], str) and name != "Adagrad without slots"]

#: What is kept here only: state that MindSpore loses in a checkpoint.
MORE = {"experimental NAdam": ["mu_product"], "experimental ASGD": ["mu", "eta"]}
#: A Parameter that MindSpore has no name for, in the place of moments that are not used.
UNNAMED = "Parameter$1"
#: MindSpore's kernel leaves this at 0.
UNWRITTEN = {"experimental Adam with amsgrad": "max_exp_avg_sq"}


def made(name: str) -> Any:
    return CASES[name](nn, optim, [Parameter(value, name=key) for key, value in start().items()])


def kept(name: str, steps: int) -> dict[str, tuple[str, tuple[int, ...], np.ndarray]]:
    return {
        key: (dtype, tuple(shape), np.array(values, np.float64).reshape(shape))
        for key, dtype, shape, values in RECORDED[name][str(steps)]
        if key != UNNAMED
    }


def step(optimizer: Any, steps: Any) -> None:
    for i in steps:
        optimizer(tuple(Tensor(g) for g in gradients(i)))


def compare(name: str, optimizer: Any, steps: int) -> None:
    found = {p.name: p.asnumpy() for p in optimizer.get_parameters()}
    for key, (_, _, values) in kept(name, steps).items():
        if key.startswith(UNWRITTEN.get(name, " ")):
            continue
        loose = found[key].dtype == np.float16
        np.testing.assert_allclose(found[key], values, rtol=2e-3 if loose else 2e-5, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", RUNS)
def test_names_dtypes_and_shapes_are_mindspores(name: str) -> None:
    wanted = {key: (dtype, shape) for key, (dtype, shape, _) in kept(name, 3).items()}
    found = {p.name: (str(p.dtype).lower(), p.shape) for p in made(name).get_parameters()}
    for more in MORE.get(name, ()):
        found = {key: value for key, value in found.items() if not key.startswith(more + ".")}
    assert found == wanted


@pytest.mark.parametrize("name", RUNS)
def test_values_are_mindspores(name: str, mode: str) -> None:
    optimizer = made(name)
    step(optimizer, range(3))
    compare(name, optimizer, 3)
    step(optimizer, range(3, 5))
    compare(name, optimizer, 5)


@pytest.mark.parametrize("name", [name for name in RUNS if name not in MORE and name not in UNWRITTEN])
def test_a_training_goes_on_from_mindspores_state(name: str, mode: str) -> None:
    """MindSpore's state after 3 steps, and 2 steps more here, are its state after 5."""
    state = {
        key: Parameter(values.astype(dtype), name=key, requires_grad=False)
        for key, (dtype, _, values) in kept(name, 3).items()
    }
    optimizer = made(name)
    assert ms.load_param_into_net(optimizer, state, strict_load=True) == ([], [])
    step(optimizer, range(3, 5))
    compare(name, optimizer, 5)


def test_lamb_keeps_no_powers() -> None:
    """MindSpore makes Lamb on the CPU, where it does not run: these are the names that it has then."""
    names = [p.name for p in nn.Lamb([Parameter([1.0], name="a")], 0.1).get_parameters()]
    assert sorted(names) == ["a", "global_step", "lamb_m.a", "lamb_v.a", "learning_rate"]


def test_a_long_training_keeps_the_digits_of_the_correction() -> None:
    """With beta2 near 1 ``1 - beta2**t`` is small: a power multiplied up in float32 would lose a tenth of it."""
    beta2, p = 1.0 - 1e-7, Parameter(np.zeros(1, np.float32), name="p")
    optimizer = nn.Adam([p], 1.0, beta2=beta2)
    optimizer((Tensor([2.0]),))
    first = (2.0 * 0.1) / (1 - 0.9) / np.sqrt(4.0 * (1 - beta2) / (1 - beta2))
    np.testing.assert_allclose(p.asnumpy(), [-first], rtol=2e-4)  # eps is 1e-8, and v 4e-7
