"""Records on disk that have another form than they are written in: as if they were not there."""

from __future__ import annotations

import json

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.backends.native.jit import cache, machine
from tests.compiler.test_disk_cache import PLAIN, X, numbers

pytestmark = pytest.mark.skipif(machine.why_not() is not None, reason=f"no native code here: {machine.why_not()}")

WRONG = (None, True, -1, 0, 3, 2**70, 1.5, "x", "0" * 64, [], {}, [[]], [0], {"code": {}})


def mutations(data, at=()):
    """Places in a record, and what stands there instead; without the last value, that is taken away."""
    if at:
        yield from ((at, (wrong,)) for wrong in WRONG if wrong != data or type(wrong) is not type(data))
        yield at, ()
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from mutations(data[key], (*at, key))
    if isinstance(data, list) and data:
        yield (*at, slice(len(data), None)), (data[:1],)  # one more


def changed(data, at, put):
    data = json.loads(json.dumps(data))
    if not at:
        return data
    inside = data
    for key in at[:-1]:
        inside = inside[key]
    if put:
        inside[at[-1]] = put[0]
    else:
        del inside[at[-1]]
    return data


def content_of(file):
    return json.loads(file.read_bytes()[cache._HEADER.size :])


RECORDS = {
    "one result": (PLAIN, {}),
    "a tuple, a number and constants": (
        ""
        "def f(x, k):\n    t = ms.Tensor([3.0, 4.0], ms.float64)\n"
        "    for i in range(3):\n        x = ops.matmul(ops.outer(x, t), ops.tanh(x))\n"
        "    return x * k, (x.sum(), None)\n",
        {"k": 2.0},
    ),
}


def flat(found):
    parts = found if isinstance(found, tuple) else (found,)
    return [numbers(y) for x in parts for y in (x if isinstance(x, tuple) else (x,)) if y is not None]


@pytest.mark.some(8)
@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("part", range(4))
def test_records_of_another_form_are_as_if_they_were_not_there(world, name, part):
    """Whatever a record says under a right digest, calls give what they should, and the next one finds it right."""
    text, more = RECORDS[name]
    f = world.module(text).f
    expected = flat(f(Tensor(X), *more.values()))
    ms.jit(f)(Tensor(X), *more.values())
    records = {file: content_of(file) for file in world.files("r")}
    assert records
    whole = [((), wrong) for wrong in WRONG]
    tried = 0
    for file, data in records.items():
        for number, (at, put) in enumerate([*whole, *mutations(data)]):
            if number % 4 != part or (at and "read" in at and number % 12 != part):
                continue
            if at and "result" in at and (not put or type(at[-1]) is slice):
                continue  # a tuple of another length is a result as well
            wrong = changed(data, at, put) if at else put
            cache.keep_record(file.name[:64], wrong)
            found = flat(ms.jit(f)(Tensor(X), *more.values()))
            assert len(found) == len(expected), (at, put)
            assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(found, expected, strict=True)), (at, put)
            tried += 1
            cache.keep_record(file.name[:64], data)
    assert tried > 20


def test_a_record_of_another_form_is_replaced(world):
    f = world.module(PLAIN).f
    ms.jit(f)(Tensor(X))
    records = {file: content_of(file) for file in world.files("r")}
    for file in records:
        cache.keep_record(file.name[:64], {})
    ms.jit(f)(Tensor(X))
    assert {file: content_of(file) for file in world.files("r")} == records
