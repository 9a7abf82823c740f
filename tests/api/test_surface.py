"""What `ops` has by itself: every primitive and composite that is not internal, under its own name."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.dtypes import float32
from autodiff_compiler.ir.primitive import INTERNAL, REGISTRY, F, Primitive, call
from autodiff_compiler.ir.types import TensorType

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], np.float32)
I = np.array([[1, 7, 3], [0, 2, 5]])
IMAGES = np.arange(12.0, dtype=np.float32).reshape(1, 2, 6) % 5


def test_what_is_not_internal_is_there() -> None:
    ours = [n for n, d in REGISTRY.items() if d.__module__.startswith("autodiff_compiler.")]
    assert {n for n in (*ours, *vars(call)) if n not in INTERNAL} - set(dir(ops)) == set()
    assert {"if", "const", "state_read", "slice_update", "convolution"} <= INTERNAL
    assert not any(hasattr(ops, name) for name in ("const", "tuple_make", "state_read", "convolution", "conv"))


def test_every_function_has_a_sentence_and_its_own_name_in_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ops.md").read_text("utf-8")
    for name in ops.__all__:
        assert inspect.getdoc(getattr(ops, name)), name
        assert f"| `{name}`" in page or f"| `{name}(" in page, name


CASES: list[tuple[Any, np.ndarray]] = [
    (lambda x: ops.new_zeros(x, 2, 1), np.zeros((2, 1))),
    (lambda x: ops.new_ones(x, 2), np.ones(2)),
    (lambda x: ops.new_full(x, (2,), 0.5), np.full(2, 0.5)),
    (lambda x: ops.reshape_as(x, Tensor(X.T)), X.reshape(3, 2)),
    (lambda x: ops.take_along_axis(x, Tensor([[2], [0]]), 1), X[[0, 1], [2, 0]][:, None]),
    (lambda x: ops.index_put(x, (Tensor([0]), Tensor([1])), Tensor([9.0])), np.where(X == -1.5, 9.0, X)),
    (lambda x: ops.masked_scatter(x, x < 0, Tensor([7.0, 8.0])), [[0.5, 7.0, 2.0], [3.0, 0.25, 8.0]]),
    (lambda x: ops.left_shift(Tensor(I), 2), I << 2),
    (lambda x: ops.right_shift(Tensor(I), 1), I >> 1),
    (lambda x: ops.max_pool1d(Tensor(IMAGES), 3), IMAGES.reshape(1, 2, 2, 3).max(-1)),
    (lambda x: x.max(axis=0, return_indices=True)[1], X.argmax(0)),
    (lambda x: x.min(axis=1, keepdims=True, return_indices=True)[0], X.min(1, keepdims=True)),
    (lambda x: x.max(axis=1, initial=1.0), np.maximum(X.max(1), 1)),
    (lambda x: ops.conv_transpose1d(Tensor(IMAGES), Tensor(KERNEL), stride=2), None),
    (lambda x: ops.poisson_nll_loss(x, Tensor(I)), (np.exp(X) - X * I).mean()),
    (lambda x: ops.instance_norm(Tensor(IMAGES)), None),
]
KERNEL = np.array([[[1.0, -2.0]], [[0.5, 3.0]]], np.float32)
# With strides as long as the kernel, every element of the input makes a piece of the result of its own.
CASES[-3] = (CASES[-3][0], np.einsum("bil,iok->bolk", IMAGES, KERNEL).reshape(1, 1, 12))
_CENTRED = IMAGES - IMAGES.mean(-1, keepdims=True)
CASES[-1] = (CASES[-1][0], _CENTRED / np.sqrt((_CENTRED**2).mean(-1, keepdims=True) + 1e-5))


@pytest.mark.parametrize(("function", "expected"), CASES)
def test_against_numpy(function: Any, expected: Any) -> None:
    for run in (function, ms.jit(function)):
        np.testing.assert_allclose(run(Tensor(X)).asnumpy(), expected, rtol=1e-6, atol=1e-6)


def test_a_primitive_made_later_is_there_with_its_name_in_messages() -> None:
    class SurfaceProbe(Primitive):
        """x times a number."""

        def infer(x: TensorType, *, factor: float = 2.0):
            return x

        scalar = lambda k, x, factor: k.multiply(x, factor)
        call = lambda x, factor=2.0: F.surface_probe(x, factor=factor)

    try:
        assert ops.surface_probe(Tensor(X), 3).tolist() == (X * 3).tolist()
        assert ops.surface_probe.__doc__ == "x times a number."
        with pytest.raises(TypeError, match=r"^surface_probe\(\) got an unexpected keyword argument 'factr'"):
            ops.surface_probe(Tensor(X), factr=3)
    finally:
        del REGISTRY["surface_probe"]
        delattr(call, "surface_probe")


@pytest.mark.parametrize("note", [complex, "complex", None])
def test_an_unknown_annotation_of_an_attribute_is_explained(note: Any) -> None:
    def infer(x: Any, *, alpha: Any) -> Any:
        return x

    infer.__annotations__ = {} if note is None else {"alpha": note}
    with pytest.raises(TypeError, match=r"SurfaceWrong.infer: the attribute 'alpha' .* (complex|nothing), not with"):
        type("SurfaceWrong", (Primitive,), {"infer": infer, "__doc__": "x."})
    assert "surface_wrong" not in REGISTRY


# ------------------------------------------------------------------------------------------------ one text
MESSAGES: list[tuple[Any, str]] = [
    (lambda x: len(x.sum()), "a tensor without dimensions has no len()"),
    (lambda x: [e for e in x.sum()], "a tensor without dimensions cannot be iterated over or unpacked"),
    (lambda x: tuple(x.sum()), "a tensor without dimensions cannot be iterated over or unpacked"),
    (lambda x: x + None, "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
    (lambda x: None // x, "unsupported operand type(s) for //: 'NoneType' and 'Tensor'"),
    (lambda x: x @ [1.0], "unsupported operand type(s) for @: 'Tensor' and 'list'"),
    (lambda x: 1 if x else 2, "a tensor of shape [2, 3] has no truth value: only one of exactly one element has"),
    (lambda x: float(x), "only a tensor of one element is a number; this one has the shape [2, 3]"),
    (lambda x: x.item(), "only a tensor of one element is a number; this one has the shape [2, 3]"),
    (lambda x: x.sum(dims=0), "sum() got an unexpected keyword argument 'dims'"),
    (lambda x: x.sum(axis=0, dim=0), "sum() got multiple values for argument 'axis'"),
    (lambda x: x.max(most=1), "max() got an unexpected keyword argument 'most'"),
    (lambda x: x.sum("a"), "`axis` must be an int, not a str"),
    (lambda x: ops.cat([x, [1.0]]), "cannot combine a Tensor with a list"),
    (lambda x: ops.exp(None), "cannot combine a Tensor with None"),
    (lambda x: ops.zeros(2, 3), "zeros() takes the shape as one argument: zeros((2, 3))"),
    (lambda x: ops.pad(x, ((0, 0), (1, 2))), "the last dimension first: write (1, 2, 0, 0), not ((0, 0), (1, 2))"),
    (lambda x: ops.randint(5, 2, (3,)), "`low` must be less than `high`: there is no integer from 5 to less than 2"),
    (lambda x: ops.normal((2,), 0.0, -1.0), "`stddev` must not be negative, but is -1.0"),
    (lambda x: ops.normal((2,), 0.0, [1.0, -2.0]), "`stddev` must not be negative, but is -2.0"),
    (lambda x: ops.quantile(x), "module 'autodiff_compiler.ops' has no attribute 'quantile'"),
    (lambda x: ops.assign(x, 1), "assign() changes a Parameter, not a Tensor"),
]


@pytest.mark.parametrize(("function", "text"), MESSAGES)
def test_both_modes_say_the_same(function: Any, text: str) -> None:
    for run in (function, ms.jit(function)):
        with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
            run(Tensor(X))
        assert text in str(caught.value)
        for inner in ("LocalList", "TensorVar", "Value", "<lambda>()", "_sum", "0-d"):
            assert inner not in str(caught.value).replace("ValueError", "").partition("-->")[0]


def test_advice_names_what_is_near_or_nothing() -> None:
    for name, near in [("sofmax", "softmax"), ("tahn", "tanh"), ("consat", "concat"), ("Relu", "ReLU")]:
        with pytest.raises(ms.CompileError, match=f"use `{near}`"):
            ms.jit(lambda x, name=name: getattr(ops, name)(x))(Tensor(X))
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(lambda x: ops.quantile(x))(Tensor(X))
    assert "instead" not in str(caught.value)


def test_a_format_is_for_one_number() -> None:
    assert f"{Tensor(1.25):.1f}" == "1.2"
    with pytest.raises(TypeError, match=r"the format '.1f' is for one number, not for a tensor of shape \[2, 3\]"):
        f"{Tensor(X):.1f}"


def test_a_window_moves() -> None:
    def window(x: Any, i: Any) -> Any:
        return x[i : i + 2]

    assert ms.jit(window)(Tensor(X[0]), Tensor(1)).tolist() == X[0, 1:3].tolist()
    moved = ms.jit(lambda x, i: ops.narrow(x, 0, i, 2))(Tensor(X[0]), Tensor(1))
    assert moved.tolist() == X[0, 1:3].tolist()


def test_signatures_are_those_of_calls() -> None:
    assert str(inspect.signature(call.check_index)) == "(index, /, *, size, negative=True)"
    assert list(inspect.signature(ops.max_pool1d).parameters)[:3] == ["x", "kernel_size", "stride"]
    assert float32.name == "float32"


ALIKE = """
import pickle, sys, threading
from autodiff_compiler import mint, nn, numpy, ops
from autodiff_compiler.ops import operations

sys.setswitchinterval(1e-6)
names = [(nn, "GLU"), (nn, "Tril"), (ops, "relu6"), (ops, "tanhshrink"), (mint, "cat"), (numpy, "hypot"),
         (operations, "Tan"), (operations, "Cholesky")]
for module, name in names:
    found, start = [], threading.Barrier(4)
    def ask():
        start.wait()
        found.append(getattr(module, name))
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len({*map(id, found)}) == 1, (module, name)
    assert getattr(module, name) is found[0] and pickle.loads(pickle.dumps(found[0])) is found[0], (module, name)
"""


def test_threads_that_ask_for_a_name_first_get_one_object():
    done = subprocess.run([sys.executable, "-c", ALIKE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
