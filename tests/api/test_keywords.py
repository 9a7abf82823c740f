"""Keywords of PyTorch and JAX in calls of public functions: the TypeError says what to write here, in both modes."""

from __future__ import annotations

import inspect
import re
import types

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mint, nn, ops
from autodiff_compiler import numpy as mnp
from autodiff_compiler.keywords import KEYWORDS

X = Tensor([[1.0, 2.0], [3.0, 4.0]])


def total(x):
    return x.sum()


#: The call with another framework's keyword, what the error says, and the call with the keyword of ours.
CALLS = [
    (lambda x: ops.softmax(x, dim=0), "softmax() got an unexpected keyword argument 'dim': write `axis`"),
    (lambda x: ops.cat([x, x], dim=1), "concat() got an unexpected keyword argument 'dim': write `axis`"),
    (lambda x: ops.sum(x, axis=0), "sum() got an unexpected keyword argument 'axis': write `dim`"),
    (lambda x: x.std(unbiased=False), "std() got an unexpected keyword argument 'unbiased': write `ddof`"),
    (lambda x: ms.grad(total, argnums=0)(x), "grad() got an unexpected keyword argument 'argnums': write `grad_pos"),
    (lambda x: ms.value_and_grad(total, argnums=0)(x), "argument 'argnums': write `grad_position`"),
    (lambda x: ms.jacrev(total, argnums=0)(x), "jacrev() got an unexpected keyword argument 'argnums': write `grad_"),
    (lambda x: ms.jacfwd(total, argnums=0)(x), "jacfwd() got an unexpected keyword argument 'argnums': write `grad_"),
    (lambda x: ms.hessian(total, argnums=0)(x), "hessian() got an unexpected keyword argument 'argnums': write `gra"),
    (lambda x: ms.vmap(total, in_dims=0)(x), "vmap() got an unexpected keyword argument 'in_dims': write `in_axes`"),
    (lambda x: ms.jit(total, static_argnums=1)(x), "argument 'static_argnums': numbers and strings are constants"),
    (lambda x: ms.jit(total, donate_argnums=0)(x), "argument 'donate_argnums': nothing is to be donated"),
    (lambda x: Tensor([1.0], requires_grad=True), "argument 'requires_grad': derivatives are taken by arguments"),
    (lambda x: ms.tensor([1.0], requires_grad=True), "argument 'requires_grad': derivatives are taken by arguments"),
    (lambda x: nn.Dense(2, 2, bias=False)(x), "Dense.__init__() got an unexpected keyword argument 'bias': write"),
    (lambda x: nn.ReLU(inplace=True)(x), "argument 'inplace': Cells return new Tensors"),
]


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said for _, said in CALLS])
def test_the_error_says_what_to_write(call, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        call(X)
    with pytest.raises(TypeError, match=re.escape(said)) as caught:
        ms.jit(call)(X)
    line = call.__code__.co_firstlineno
    assert re.search(rf"test_keywords.py:{line}:\d+", caught.value.__notes__[0])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: nn.Adam(p, lr=0.1), "Adam.__init__() got an unexpected keyword argument 'lr': write `learn"),
        (lambda p: nn.Adam(p, betas=(0.9, 0.99)), "argument 'betas': write `beta1` and `beta2`"),
        (lambda p: nn.SGD(p, lr=0.1), "argument 'lr': write `learning_rate`"),
        (lambda p: nn.Embedding(num_embeddings=3, embedding_dim=2), "argument 'num_embeddings': write `vocab_size`"),
    ],
)
def test_of_what_is_made_outside_of_compiled_code(make, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        make(nn.Dense(2, 2).trainable_params())


def test_keywords_of_ones_own_cells_stay():
    class Net(nn.Cell):
        def __init__(self, *, bias, dim=3):
            super().__init__()
            self.kept = bias, dim

    assert Net(bias=1, dim=2).kept == (1, 2)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'lr'$"):
        Net(bias=1, lr=2)


def test_a_wrong_keyword_that_no_framework_has_is_pythons_error():
    for call in (lambda x: ops.exp(x, nothing=1), lambda x: ms.grad(total, nothing=1)(x)):
        for how in (call, ms.jit(call)):
            with pytest.raises(TypeError, match=r"unexpected keyword argument 'nothing'(\n|$)"):
                how(X)


def test_signatures_show_no_more_parameters():
    for function in (ops.exp, ops.softmax, ms.grad, ms.vmap, ms.hessian, Tensor, ms.tensor):
        assert "unknown" not in inspect.signature(function).parameters


def test_every_name_proposed_is_a_parameter_somewhere():
    public = [getattr(ops, n) for n in ops.__all__] + [getattr(nn, n) for n in nn.__all__]
    public += [getattr(Tensor, n) for n in ("sum", "std", "var")] + [ms.grad, ms.vmap]
    found = {p for f in public if callable(f) for p in _parameters(f)}
    for meant in KEYWORDS.values():
        assert isinstance(meant, str) or set(meant) <= found


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: x.size(0), "`x.shape[0]` is the first"),
        (lambda x: x.size(), "`x.shape` are all sizes"),
        (lambda x: x.shape(), "`x.shape` is a tuple"),
    ],
)
def test_properties_that_compiled_code_calls(call, said):
    with pytest.raises(TypeError, match="object is not callable") as caught:
        ms.jit(call)(X)
    assert said in caught.value.__notes__[0]


class _Frame:
    def to_numpy(self):
        return np.ones(2)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_Frame(), "not from _Frame: give its `.to_numpy()`"),
        (range(3), "not from range: give a list of it"),
        (memoryview(b"12"), "not from memoryview: give a list of it"),
        (None, "a Tensor is made from `input_data`"),
    ],
)
def test_a_tensor_of_what_is_no_data(data, said):
    for how in (Tensor, ms.jit(lambda: Tensor(data))):
        with pytest.raises(TypeError, match=re.escape(said)):
            how(data) if how is Tensor else how()


def test_devices_in_small_letters():
    for how in (lambda x: x.to("cpu"), ms.jit(lambda x: x.to("cpu"))):
        with pytest.raises(ValueError, match="there is no device 'cpu'; write 'CPU'"):
            how(X)


@pytest.mark.parametrize("module", [ops, mint, mint.nn.functional, mnp], ids=["ops", "mint", "functional", "numpy"])
def test_every_function_says_which_parameter_it_has_instead(module):
    """Those written by hand, too."""
    asked = 0
    for name in dir(module):
        function = getattr(module, name)
        if name.startswith("_") or not isinstance(function, types.FunctionType):
            continue
        taken = inspect.signature(function).parameters
        if any(p.kind is p.VAR_KEYWORD for p in taken.values()):  # they are another function's
            continue
        for keyword, meant in KEYWORDS.items():
            if keyword in taken or isinstance(meant, str) or not taken.keys() & set(meant):
                continue
            asked += 1
            needed = {
                n: X
                for n, p in taken.items()
                if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
            }
            first = [X for p in taken.values() if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}': write `"):
                function(*first, **needed, **{keyword: 0})
    assert asked
