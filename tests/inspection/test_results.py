"""What a dump says of results that are not just what the function returns."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, parse_ir
from autodiff_compiler.inspection.results import purposes_in

SMALL, LARGE = np.array([0.1, 0.2], np.float32), np.array([3.0, 5.0], np.float32)


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


def one_of(x, y):
    if x.sum() > 1:
        z = x
    elif y.sum() > 1:
        z = y
    else:
        z = x + y
    return {"z": z, "rest": [x, x * 2, 7]}


def write(x, y):
    x[0] = y.sum()
    return x * 2


class Count(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n = Tensor(0.0)
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x):
        self.n = self.n + x.sum()
        self.w += x
        return self.n, self.w


@pytest.mark.parametrize("stage", ["front", "adjoint", "opt", "plan"])
def test_a_result_that_says_whether_an_argument_is_returned(stage):
    text = ms.jit(halved).lower(Tensor(LARGE)).ir(stage)
    assert purposes_in(text) == {0: "whether what is returned is the argument %x itself (else result 1)"}
    for array in (SMALL, LARGE):
        x = Tensor(array)
        is_argument, other = text.run(array)
        found = ms.jit(halved)(x)
        assert (found is x) == bool(is_argument)
        assert is_argument or np.array_equal(found.asnumpy(), other)


def test_several_ways_parts_and_constants():
    text = ms.jit(one_of).lower(Tensor(SMALL), Tensor(SMALL)).ir("opt")
    assert purposes_in(text) == {
        0: "whether ['z'] of what is returned is the argument %x itself (else result 2)",
        1: "where result 0 is false: whether ['z'] of what is returned is the argument %y itself (else result 2)",
    }
    assert "// returned: {'z': result 2, 'rest': [the argument %x itself, result 3, 7]}\n" in text
    for a, b in ((LARGE, LARGE), (LARGE, SMALL), (SMALL, LARGE), (SMALL, SMALL)):
        x, y = Tensor(a), Tensor(b)
        first, second, new, twice = text.run(a, b)
        found = ms.jit(one_of)(x, y)
        assert found["z"] is (x if first else y if second else found["z"])
        assert bool(first) == (found["z"] is x)
        assert np.array_equal(found["z"].asnumpy(), a if first else b if second else new)
        assert np.array_equal(found["rest"][1].asnumpy(), twice)


def test_elements_of_arguments():
    text = ms.jit(write).lower(Tensor(SMALL), Tensor(LARGE)).ir("opt")
    assert purposes_in(text) == {1: "what the elements of the argument %x become"}
    x = Tensor(SMALL.copy())
    ms.jit(write)(x, Tensor(LARGE))
    assert np.array_equal(x.asnumpy(), text.run(SMALL, LARGE)[1])


def test_attributes_and_parameters():
    net = Count()
    text = net.lower(Tensor(LARGE)).ir("opt")
    assert purposes_in(text) == {0: "returned and becomes the attribute n of Count"}
    assert "// returned: (result 0, the state @w itself)\n" in text
    before = text.run(LARGE)[0]  # it fetches what the attribute holds
    assert net(Tensor(LARGE))[1] is net.w
    assert net.n.asnumpy() == before == 8


def test_nothing_is_said_where_the_results_are_what_is_returned():
    text = ms.jit(lambda x: (x * 2, [x + 1])).lower(Tensor(SMALL)).ir("opt")
    assert purposes_in(text) == {}
    assert "// returned" not in text
    assert "// returned: the argument %x itself\n" in ms.jit(lambda x: x).lower(Tensor(SMALL)).ir("opt")


def test_an_origin_and_a_text_that_is_read_know_it():
    artifact = ms.jit(halved).lower(Tensor(LARGE))
    said = "whether what is returned is the argument %x itself (else result 1)"
    assert artifact.origin("%2").purpose == f"result 0: {said}"
    assert f"\n\nresult 0: {said}\n\n" in str(artifact.origin("%2"))
    assert artifact.origin("%x_1").purpose == artifact.origin("%x").purpose == ""
    assert parse_ir(str(artifact.ir("opt"))).purposes == {0: said}
