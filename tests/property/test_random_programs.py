"""Random programs: eager mode, compiled code, NumPy and finite differences agree; see `grammar`.

A longer run with fresh seeds: ``make fuzz MINUTES=30`` (sets FUZZ=1).
"""

from __future__ import annotations

import os
import re
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autodiff_compiler as ms
from autodiff_compiler.errors import UnrollWarning
from tests.programs.compare import (
    assert_close,
    assert_same,
    define,
    differences,
    directional,
    roundtrip,
    run_oracle,
    structure,
    tensors,
    wrt_of,
)  # fmt: skip
from tests.property.grammar import programs

FUZZ = bool(os.environ.get("FUZZ"))
OPS = ("tanh", "sin", "sigmoid", "abs")
ORACLE = {"tanh": np.tanh, "sin": np.sin, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "abs": np.abs}

#: `v += w` gives `v` a new Tensor, but writes into an array: NumPy runs ``v = v + (w)``.
REBINDING = re.compile(r"^( *)(\w+) ([-+*])= (.*)$", re.MULTILINE)
POINTS = [
    (np.array([0.31, -0.74]), np.array([1.13, 0.42]), np.array(2)),
    (np.array([-0.83, 0.52]), np.array([0.27, -1.21]), np.array(0)),
    (np.array([1.37, 0.91]), np.array([-0.58, 0.36]), np.array(3)),
]


@pytest.fixture(autouse=True)
def verified():
    before = ms.get_context("verify")
    ms.set_context(verify=True)
    yield
    ms.set_context(verify=before)


def check_values(f, oracle):
    graph = ms.jit(f)
    for args in POINTS:
        expected = f(*tensors(args))
        assert_close(expected, run_oracle(oracle, args), "eager and NumPy", 1e-9)
        assert_same(graph(*tensors(args)), expected, "compiled and eager")
    roundtrip(graph.lower(*tensors(POINTS[0])))
    return graph


def check_gradients(f, compiled):
    wrt = wrt_of(POINTS[0])
    eager, graph, through = ms.grad(f, wrt), ms.jit(ms.grad(f, wrt)), ms.grad(compiled, wrt)
    for args in POINTS:
        expected = eager(*tensors(args))
        found = graph(*tensors(args))
        assert structure(found) == structure(expected)
        assert_close(found, expected, "compiled and eager gradient", 1e-9)
        assert_close(through(*tensors(args)), expected, "gradient through a compiled call", 1e-9)
    roundtrip(graph.lower(*tensors(POINTS[0])))


def check_differences(f, oracle, orders):
    derivative = f
    for order in range(1, orders + 1):
        derivative = directional(derivative, POINTS[0])
        graph = ms.jit(derivative)
        for args in POINTS:
            eager, found = derivative(*tensors(args)).item(), graph(*tensors(args)).item()
            scale = max(1.0, abs(eager))
            assert abs(found - eager) < 1e-8 * scale, f"order {order}: compiled {found}, eager {eager}"
            try:
                expected = differences(oracle, args, order)
            except AssertionError:
                continue  # a condition changes within the step: the two step sizes disagree
            assert abs(found - expected) < 1e-4 * scale, f"order {order}: {found}, differences {expected}"


@settings(
    max_examples=250 if FUZZ else 60,
    deadline=None,
    derandomize=not FUZZ,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@given(programs(20 if FUZZ else 12), st.integers(0, 3))
def test_random_programs(source, second):
    problem = problem_of(source, 2 if FUZZ or second == 3 else 1)
    assert problem is None, f"{source}\n{problem}"


def problem_of(source, orders):
    """The traceback of what is wrong with a program.

    As text: hypothesis tells failures apart by file and line, and generated files have new names each time.
    """
    try:
        f = define(source, **{name: getattr(ms.ops, name) for name in OPS})
        oracle = define(REBINDING.sub(r"\1\2 = \2 \3 (\4)", source), **ORACLE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnrollWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            compiled = check_values(f, oracle)
            check_gradients(f, compiled)
            check_differences(f, oracle, orders)
    except Exception:
        return traceback.format_exc()
    return None
