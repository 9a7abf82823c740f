"""Element types and the types of other values, under MindSpore's names; what asks for them, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.common import api
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.dtypes import ALL

Run = Callable[[Callable[..., Any]], Callable[..., Any]]
both = pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])


@pytest.mark.parametrize("dtype", [d for d in ALL if d is not ms.bfloat16], ids=str)
def test_types_of_numpy_and_back(dtype: Any) -> None:
    kind = mstype.dtype_to_nptype(dtype)
    assert np.dtype(kind).name == dtype.name
    assert mstype.pytype_to_dtype(kind) is dtype
    assert mstype.dtype_to_pytype(dtype) is type(np.zeros((), kind).item())


def test_other_names_of_element_types() -> None:
    pairs = {
        *(("half", "float16"), ("single", "float32"), ("double", "float64"), ("byte", "int8"), ("short", "int16")),
        *(("intc", "int32"), ("intp", "int64"), ("long", "int64"), ("ubyte", "uint8"), ("ushort", "uint16")),
        *(("uintc", "uint32"), ("uintp", "uint64"), ("ulong", "uint64")),
    }
    for other, name in pairs:
        assert getattr(ms, other) is getattr(mstype, other) is getattr(ms, name), other
    assert ms.dtype is mstype is ms.common.dtype
    assert isinstance(ms.float32, ms.Type)


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (mstype.int_, "int8 int16 int32 int64"),
        (mstype.uint, "uint8 uint16 uint32 uint64"),
        (mstype.float_, "float16 bfloat16 float32 float64"),
        (mstype.number, "bool " + " ".join(d.name for d in ALL if d is not ms.bool_)),
    ],
)
def test_numbers_of_any_width(kind: Any, members: str) -> None:
    assert {d.name for d in ALL if mstype.issubclass_(d, kind)} == set(members.split())
    assert mstype.issubclass_(kind, kind)
    assert not mstype.issubclass_(mstype.tensor, kind)


def test_number_types_are_those_of_arithmetic() -> None:
    assert set(mstype.number_type) == set(ALL) - {ms.bool_}
    assert set(mstype.int_type) | set(mstype.uint_type) | set(mstype.float_type) == set(mstype.number_type)


def test_the_texts_of_types() -> None:
    types = (mstype.tensor, mstype.TensorType(ms.int8), mstype.tuple_, mstype.list_, mstype.string, mstype.number)
    assert [str(t) for t in types] == ["Tensor", "Tensor[Int8]", "Tuple", "List", "String", "Number"]
    assert mstype.tensor_type is mstype.TensorType
    assert mstype.TensorType(ms.int8).element_type() is ms.int8


VALUES: list[tuple[Any, Any]] = [
    (Tensor([1, 2]), mstype.TensorType(ms.int64)),
    (Parameter([1.0]), mstype.TensorType(ms.float32)),
    (True, ms.bool_),
    (3, ms.int64),
    (2.5, ms.float64),
    ("text", mstype.string),
    ((1, Tensor(2.0)), mstype.tuple_),
    ([1, 2], mstype.list_),
    ({"a": 1}, mstype.dictionary),
    (None, mstype.type_none),
    (slice(1, 2), mstype.slice_),
    (ms.float32, mstype.type_type),
    (max, mstype.function),
]


@both
@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda v: type(v).__name__)
def test_the_type_of_a_value(run: Run, value: Any, expected: Any) -> None:
    def asked(v: Any, x: Any) -> Any:
        return x + 1 if ops.typeof(v) == expected else x

    def has(v: Any, x: Any) -> Any:
        return x + 1 if ops.hastype(v, expected) and not ops.hastype(v, mstype.TensorType(ms.int8)) else x

    assert run(asked)(value, Tensor(1.0)).item() == 2
    assert run(has)(value, Tensor(1.0)).item() == 2


@both
def test_every_tensor_is_a_tensor(run: Run) -> None:
    def count(x: Any, n: int, pair: Any) -> Any:
        found = 0
        for value in (x, n, pair, pair[0]):
            if ops.hastype(value, mstype.tensor):
                found += 1
        return x * found

    assert run(count)(Tensor([1.0]), 2, (Tensor(3), 4)).tolist() == [2.0]


def test_what_has_no_type() -> None:
    with pytest.raises(TypeError, match="MindSpore"):
        ms.get_py_obj_dtype(object())


def test_a_kind_is_no_element_type() -> None:
    with pytest.raises(TypeError, match="not a dtype"):
        Tensor([1.0], ms.float_)


# ------------------------------------------------------------------------------------------------ making Tensors
def test_from_numpy_shares_memory() -> None:
    array = np.zeros(2, np.int16)
    x = ms.from_numpy(array)
    array[1] = 7
    assert (x.dtype, x.tolist()) == (ms.int16, [0, 7])
    assert ms.is_tensor(x)
    assert not ms.is_tensor(array)


@both
def test_tensor_takes_what_the_class_takes(run: Run) -> None:
    def made(x: Any) -> Any:
        return ms.tensor(x, ms.float16, const_arg=True), ms.Tensor(x, dtype=ms.int32, device="CPU")

    half, whole = run(made)(Tensor([1.5, 2.0]))
    assert (half.dtype, half.tolist()) == (ms.float16, [1.5, 2.0])
    assert (whole.dtype, whole.tolist()) == (ms.int32, [1, 2])
    with pytest.raises(TypeError, match="sort"):
        run(lambda x: ms.Tensor(x, sort=True))(Tensor(1.0))


@both
@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: ms.Tensor(x, shape=(3,)), ValueError, r"`shape` is \(3,\), but the data has shape \(2,\)"),
        (lambda x: ms.Tensor(x, device="GPU"), RuntimeError, "no GPU device can be used"),
        (lambda x: ms.Tensor(x, ms.float32, init=1), ValueError, "not both"),
    ],
)
def test_what_a_tensor_cannot_be_made_from(run: Run, make: Any, error: Any, text: str) -> None:
    x = Tensor([1.0, 2.0])
    assert run(lambda x: ms.Tensor(x, shape=2))(x).tolist() == [1.0, 2.0]
    with pytest.raises(error, match=text):
        run(make)(x)


def test_a_number_known_at_run_time_fills_no_constant() -> None:
    with pytest.raises(ms.StaticValueError, match="`init`"):
        ms.jit(lambda x: ms.Tensor(shape=2, dtype=ms.float32, init=float(x[0])))(Tensor([1.0, 2.0]))


# ------------------------------------------------------------------------------------------------ compiling ahead
class Net(nn.Cell):
    """Twice a positive sum's Tensor, another one as it is."""

    def construct(self, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x


def test_a_cell_is_compiled_ahead_of_its_first_call() -> None:
    for compile_it in (lambda net, x: net.compile(x), api._cell_graph_executor.compile):
        net, x = Net(), Tensor([1.0, 2.0])
        compile_it(net, x)
        assert net._compiled.cache_info()["compiles"] == 1
        assert net.compile_and_run(x).tolist() == [2.0, 4.0]
        assert net._compiled.cache_info()["compiles"] == 1
        assert net.compile_and_run(Tensor([-1.0])).tolist() == [-1.0]
        assert net._compiled.cache_info()["compiles"] == 2


def test_a_function_that_cannot_be_compiled_is_refused_ahead() -> None:
    def late(x: Any) -> Any:
        return x if x > 0 else (x, x)

    with pytest.raises(ms.CompileError):
        api._cell_graph_executor.compile(late, Tensor(1.0))
    assert api._cell_graph_executor.compile(Net(), Tensor(1.0), phase="train") == ("train", True)


def test_a_cell_is_not_compiled_inside_of_compiled_code() -> None:
    net = Net()
    with pytest.raises(ms.UnsupportedCallError, match="call the Cell itself"):
        ms.jit(lambda x: net.compile_and_run(x))(Tensor(1.0))


def test_what_mindspore_wants_to_know_beforehand_changes_nothing() -> None:
    net = Net()
    net.set_inputs(Tensor([1.0]))
    net.set_jit_config(ms.JitConfig(jit_level="O0"))
    api._pynative_executor.sync()
    assert net(Tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="JitConfig"):
        net.set_jit_config("O0")
