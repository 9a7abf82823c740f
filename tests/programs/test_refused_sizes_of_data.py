"""What sizes of data refuse, while compiling and when the program runs, and their text form."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops
from autodiff_compiler.errors import DynamicShapeError, InternalCompilerError, JoinError, StaticValueError
from autodiff_compiler.ir.text import parse_module
from autodiff_compiler.ir.verify import verify
from tests.programs.test_sizes_of_data import count_of, same


# ------------------------------------------------------------------------------------------------ what does not fit
def _multiplied(x, w):
    return x[x > 0] * w


def _both(x, w):
    return x[x > 0] * w[w > 0.5]


def _matrices(x, w):
    return w.reshape(1, -1) @ x[x > 0].reshape(-1, 1)


def _stacked(x, w):
    return ops.stack([x[x > 0], w])


def _reshaped(x, w):
    return x[x > 0].reshape(2, 2)


def _stored(x, w):
    y = x * 1
    y[x > 0] = w
    return y


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (_multiplied, r"`x\[x > 0\]` \(test_refused_sizes_of_data.py:\d+\) gives 3, but `w` has 4"),
        (_both, r"`x\[x > 0\]` .* gives 3, but `w\[w > 0.5\]` .* gives 4"),
        (_matrices, r"`w.reshape\(1, -1\)` .* has 4, but `x\[x > 0\]` .* gives 3"),
        (_stacked, r"`w` has 4, but .* gives 3"),
        (_reshaped, r"`x\[x > 0\]` .* gives 3, but another is 4"),
        (_stored, r"`w` has 4, but `x > 0` .* gives 3"),
    ],
)
def test_sizes_that_do_not_fit_are_told_when_the_program_runs(fn, told):
    x, w = Tensor([1.0, -1.0, 2.0, 3.0]), Tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=told):
        jit(fn)(x, w)
    with pytest.raises(ValueError, match="3"):
        fn(x, w)
    fits = Tensor([1.0, -1.0, 2.0, 3.0, 4.0])
    same(jit(fn)(fits, w), fn(fits, w))


def test_a_parameter_takes_what_fits():
    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor([1.0, 2.0]), name="w")

        def construct(self, x):
            self.w = x[x > 0]
            return ops.squeeze(x[x > 2], 0)

    net = Net()
    assert jit(net)(Tensor([3.0, -1.0, 2.0])).item() == 3.0
    assert net.w.asnumpy().tolist() == [3.0, 2.0]
    with pytest.raises(ValueError, match="gives 3, but another is 2"):
        jit(net)(Tensor([3.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="gives 2, but another is 1"):
        jit(net)(Tensor([3.0, -1.0, 4.0]))


def test_negative_sizes_are_told_when_the_program_runs():
    f = jit(lambda x: ops.zeros(count_of(x) - 2))
    assert f(Tensor([1.0, 2.0, 3.0])).shape == (1,)
    with pytest.raises(ValueError, match="must not be negative: -1"):
        f(Tensor([1.0, -2.0, -3.0]))


def test_elements_that_do_not_exist_are_told_when_the_program_runs():
    f = jit(lambda x: x[x > 0][1])
    assert f(Tensor([1.0, 2.0])).item() == 2.0
    with pytest.raises(IndexError, match="out of bounds for size 1"):
        f(Tensor([1.0, -2.0]))


@pytest.mark.parametrize(
    ("fn", "kind"),
    [
        (lambda x: ms.vmap(lambda v: x[x > v])(x), DynamicShapeError),
        (lambda x: ms.jacrev(lambda x: x[x > 0])(x), DynamicShapeError),
        (lambda x: [(x, x * i) for i in range(len(x[x > 0]))], JoinError),
        (lambda x: x[x > 0].squeeze(), DynamicShapeError),
        (lambda x: x[count_of(x) :: -1], StaticValueError),
        (lambda x: x[:: count_of(x)], StaticValueError),
    ],
)
def test_what_is_refused_names_the_line(fn, kind):
    with pytest.raises(kind) as caught:
        jit(fn)(Tensor([1.0, 2.0]))
    assert caught.value.spans[0][0].file.endswith("test_refused_sizes_of_data.py")


def _written_in_the_loop(x):
    out, h = [x], x * 1
    while h.sum() < 5:
        h[0] = h[0] + 1
        out.append(h)
    return ops.stack(out)


def _written_after_the_loop(x):
    out, h = [x], x * 1
    while len(out) < 3 + x.sum():
        out.append(h)
    h[0] = 7.0
    return ops.stack(out)


def _element_written(x):
    out = [x]
    while out[-1].sum() < 5:
        out.append(out[-1] + 1)
    out[-1][0] = 7.0
    return ops.stack(out)


def _sorted(x):
    out = [x]
    while out[-1].sum() < 5:
        out.append(out[-1] + 1)
    out.sort()
    return out


def _of_tuples(x):
    out = [(x, x)]
    while len(out) < 3 + x.sum():
        out.append((x, x))
    return out[0][0]


def _of_two_types(x):
    out = [x]
    while len(out) < 3 + x.sum():
        out.append(x.sum())
    return len(out) * x


@pytest.mark.parametrize(
    ("fn", "code"),
    [
        (_written_in_the_loop, "AC1602"), (_written_after_the_loop, "AC1602"), (_element_written, "AC1602"),
        (_sorted, "AC1801"), (_of_tuples, "AC1504"), (_of_two_types, "AC1504"),
    ],
)  # fmt: skip
def test_lists_of_unknown_length_refuse_what_would_differ(fn, code):
    with pytest.raises(ms.CompileError) as caught:
        jit(fn)(Tensor([1.0, 0.5]))
    assert caught.value.code == code


# ------------------------------------------------------------------------------------------------ text
def test_the_text_form_reads_back():
    def f(x):
        y = x
        if x.sum() > 0:
            y = x[x > 0]
        return y * len(y)

    for stage in ("front", "opt"):
        again = ms.parse_ir(str(jit(f).lower(Tensor([1.0, 2.0, 3.0])).ir(stage)))
        for x in ([1.0, -0.5, 2.0], [-1.0, -2.0, -3.0]):
            np.testing.assert_array_equal(again.run(np.array(x, np.float32))[0], f(Tensor(x)).asnumpy())


def test_a_size_must_be_bound_before_it_is_used():
    text = """
    size @d {low=0, data=True}
    func @f(%x: f64[3]) -> (f64[d]) {
      %n: i64[] = const {value=2}
      %y: f64[d] = const {value=0.0}
      %b: i64[] = bind_size %n {size=d, text=""}
      return %y
    }
    """
    with pytest.raises(InternalCompilerError, match="the size d is bound nowhere before it"):
        verify(parse_module(text))


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (
            lambda x: ops.unique(x)[0].squeeze(),
            r"whether the size of `ops.unique\(x\)` .* is equal to 1 depends on data",
        ),
        (
            lambda x: ms.jacrev(lambda z: z * z)(x[x > 2]),
            r"whether the size of `x\[x > 2\]` .* is at most 0 depends on",
        ),
    ],
)
def test_what_has_to_be_known_is_named_by_the_text_that_it_is_from(fn, told):
    with pytest.raises(ms.CompileError, match=told) as caught:
        jit(fn)(Tensor([1.0, 3.0]))
    assert caught.value.code == "AC1307"
