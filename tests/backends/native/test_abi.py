"""Where CPython and NumPy keep what compiled code reads."""

from __future__ import annotations

import ctypes
import dataclasses

import numpy as np
import pytest

from autodiff_compiler.backends.native.callpath import abi
from autodiff_compiler.runtime.parameter import Parameter
from autodiff_compiler.runtime.storage import holders
from autodiff_compiler.runtime.tensor import Tensor


def test_this_process_is_laid_out_as_the_headers_say():
    assert abi.why_not() is None


def test_the_size_of_the_head_is_where_an_array_begins_its_own_part():
    class Head(ctypes.Structure):
        _fields_ = [("refcount", ctypes.c_ssize_t), ("type", ctypes.py_object)]

    array = np.zeros(3)
    assert Head.from_address(id(array)).type is np.ndarray
    assert (abi.layout().type, abi.layout().data) == (Head.type.offset, ctypes.sizeof(Head))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(abi.Layout)])
@pytest.mark.parametrize("shift", [-8, 8])
def test_a_wrong_place_is_noticed(monkeypatch, field, shift):
    real = abi.layout()
    wrong = dataclasses.replace(real, **{field: getattr(real, field) + shift})
    monkeypatch.setattr(abi, "layout", lambda: wrong)
    assert abi.why_not.__wrapped__() is not None


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (("platform.python_implementation", lambda: "PyPy"), "this is PyPy"),
        (("sysconfig.get_config_var", lambda name: 1), "free-threaded"),
    ],
)
def test_other_interpreters_are_not_read(monkeypatch, patch, text):
    monkeypatch.setattr(*patch)
    assert text in abi.why_not.__wrapped__()


@pytest.mark.parametrize(
    ("cls", "name"),
    [(Tensor, name) for name in ("_data", "_node", "_held", "_hooks")]
    + [(Parameter, "_name"), (Parameter, "_requires_grad"), (type(holders), "live")],
)
def test_the_offset_of_a_slot_is_where_its_object_lies(cls, name):
    at = abi.slot_offset(cls, name)
    holder, content = object.__new__(cls), object()
    vars(cls)[name].__set__(holder, content)
    assert ctypes.c_void_p.from_address(id(holder) + at).value == id(content)


def test_slots_of_a_base_class_are_the_same_in_a_derived_one():
    parameter = Parameter([1.0])
    at = abi.slot_offset(Tensor, "_data")
    assert ctypes.c_void_p.from_address(id(parameter) + at).value == id(parameter._data)


@pytest.mark.parametrize("name", ["asnumpy", "_node", "nothing"])
def test_what_is_no_slot_of_the_class_has_no_offset(name):
    with pytest.raises(ValueError, match=f"Parameter has no slot {name}"):
        abi.slot_offset(Parameter, name)
