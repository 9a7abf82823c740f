"""What is left of a row behind its last whole vector: exactly these elements are written, in every dtype."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.backends.native.jit.machine import machine, why_not
from autodiff_compiler.ir.text import parse_module
from tests.backends.native.sampled import bare, vectors_of
from tests.guarded import guard_pages, guarded

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no machine code here: {why_not()}")

#: One element behind whole vectors of 2, 4, ..., 64 elements, and some others.
SIZES = (1, 2, 3, 5, 9, 15, 17, 25, 33, 65)
DTYPES = {
    "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32,
    "u16": np.uint16, "u8": np.uint8, "f64": np.float64, "f32": np.float32, "f16": np.float16, "bool": np.bool_,
}  # fmt: skip


@pytest.fixture(params=sorted({32, machine().vector_bytes} if why_not() is None else {32}))
def _vectors(request):
    with vectors_of(request.param):
        yield


@pytest.mark.some(10)
@pytest.mark.usefixtures("_vectors")
@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_write_as_many_bytes_as_there_are(source, target, monkeypatch):
    """With marks behind each buffer: wider elements of the last one must not be stored whole."""
    monkeypatch.setenv("AC_POISON", "1")
    sizes = "\n".join(f"%y{n}: {target}[{n}] = cast %x{n} {{dtype={target}}}" for n in SIZES)
    arguments = ", ".join(f"%x{n}: {source}[{n}]" for n in SIZES)
    results, names = ", ".join(f"{target}[{n}]" for n in SIZES), ", ".join(f"%y{n}" for n in SIZES)
    program = bare(parse_module(f"func @f({arguments}) -> ({results}) {{\n{sizes}\nreturn {names}\n}}"))
    arrays = [(np.arange(n) % 3).astype(DTYPES[source]) for n in SIZES]
    if source != target:
        for got, x in zip(program(*arrays), arrays, strict=True):
            assert got.tolist() == x.astype(DTYPES[target]).tolist()


@pytest.mark.usefixtures("_vectors")
@pytest.mark.parametrize("size", SIZES)
def test_a_narrowing_cast_writes_nothing_behind_its_result(size, monkeypatch):
    """Between forbidden pages: the process would end."""
    monkeypatch.setenv("AC_POISON", "0")
    text = f"func @f(%x: i64[{size}]) -> (i32[{size}]) {{ %y: i32[{size}] = cast %x {{dtype=i32}} return %y }}"
    with guard_pages():
        (got,) = bare(parse_module(text))(guarded(np.arange(size)))
    assert got.tolist() == list(range(size))


@pytest.mark.usefixtures("_vectors")
@pytest.mark.parametrize("rows", [9, 17, 65])
def test_one_hot_of_wide_indices(rows, monkeypatch):
    monkeypatch.setenv("AC_POISON", "1")
    text = (
        f"func @f(%x: i64[{rows}]) -> (f32[{rows},3]) "
        f"{{ %y: f32[{rows},3] = one_hot %x {{depth=3, axis=-1, dtype=f32}} return %y }}"
    )
    x = np.arange(rows) % 4
    (got,) = bare(parse_module(text))(x)
    assert got.tolist() == (x[:, None] == np.arange(3)).tolist()
