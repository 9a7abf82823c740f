"""`gradcheck`: which gradients it finds right and wrong, and what it says of them."""

from __future__ import annotations

import numpy as np
import pytest

WRONG = """
import autodiff_compiler as ms
from autodiff_compiler import nn, ops


class Square(nn.Cell):
    def construct(self, x, y):
        return x * x + y

    def bprop(self, x, y, out, dout):
        return 3 * x * dout, dout  # it is 2 * x


def log(x):
    return ops.log(x)


def twice(x):
    return 2 * x


def of_a_dict(t, n=2):
    return t["a"] * t["a"] * n


def with_sum(x, y):
    return x.sum() + y * y


def stopped(x):
    return ms.ops.stop_gradient(x) * 2


def of_no_gradient(x):
    return x > 0


@ms.constexpr
def other():
    return 1.0 + ms.get_context("mode")


def two_faced(x):
    return x * other()
"""


@pytest.fixture
def wrong(model):
    model.write_text(WRONG)


def test_right_gradients(call, model):
    answer = call("gradcheck", "model.py:loss", "--args", "f64[3,2] f64[4,3]", "--order", "2")
    assert (answer.status, answer.err) == (0, "model.py is imported\n")
    lines = answer.out.splitlines()
    assert lines[0].split() == "order input elements eager graph O0 graph O2 allowed".split()
    assert [line.split()[:3] for line in lines[1:5]] == [
        ["1", "w", "6"],
        ["1", "x", "12"],
        ["2", "w", "6"],
        ["2", "x", "12"],
    ]
    assert lines[-1] == "passed"
    document = call("gradcheck", "model.py:loss", "--args", "f64[3,2] f64[4,3]", "--json").json
    assert (document["passed"], document["modes_differ"]) == (True, None)
    assert [(m["mode"], m["input"]) for m in document["gradients"]] == [
        (mode, name) for mode in ("eager", "graph O0", "graph O2") for name in ("w", "x")
    ]
    assert all(abs(m["difference"]) < 1e-9 < m["allowed"] < 1e-5 for m in document["gradients"])


def test_the_seed_chooses_the_arguments(call, model):
    words = ["gradcheck", "model.py:loss", "--args", "f64[3,2] f64[4,3]", "--json"]
    wanted = [[m["wanted"] for m in call(*words, "--seed", n).json["gradients"]] for n in ("0", "0", "7")]
    assert wanted[0] == wanted[1] != wanted[2]


def test_a_wrong_rule(call, wrong):
    np.save("x.npy", np.array([1.0, -2.0]))
    answer = call("gradcheck", "model.py:Square", "--args", "x.npy f64[2]")
    assert (answer.status, answer.out.splitlines()[-1]) == (1, "failed")
    weight = np.cos(1.0) + 0.25  # of the first output, whose gradient is the worse of the two
    assert f"eager: the gradient of order 1 by x is {3 * weight:.6g} at [0], numerically {2 * weight:.6g}" in answer.out
    assert "2 of 2 elements checked are wrong" in answer.out
    document = call("gradcheck", "model.py:Square", "--args", "x.npy f64[2]", "--json").json
    assert [m["passed"] for m in document["gradients"]] == [False, True] * 3


def test_a_wide_tolerance_lets_it_pass(call, wrong):
    assert call("gradcheck", "model.py:Square", "--args", "f64[2] f64[2]", "--atol", "100").status == 0


def test_where_the_function_is_nan_nothing_can_be_checked(call, wrong):
    with np.errstate(all="ignore"):
        answer = call("gradcheck", "model.py:log", "--args", "f64[3]", "--range", "-2", "-1")
    assert answer.status == 1
    assert "eager: the gradient by x cannot be checked at [0]: numerically it is nan; --range LOW HIGH" in answer.out
    assert call("gradcheck", "model.py:log", "--args", "f64[3]", "--range", "0.5", "2").status == 0


def test_modes_that_differ(call, wrong):
    """What a constexpr computes from may be another thing where it is compiled."""
    answer = call("gradcheck", "model.py:two_faced", "--args", "f64[2]", "--json")
    assert (answer.status, answer.json["passed"]) == (1, False)
    assert "eager gives" in answer.json["modes_differ"]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["model.py:twice", "--args", "i64[2]"], 2, "twice is given no float Tensor: there is no gradient to check"),
        (["model.py:of_no_gradient", "--args", "f64[2]"], 2, "returns no float Tensor"),
        (["model.py:twice", "--args", "f64[2]", "--order", "0"], 2, "--order must be at least 1, not 0"),
        (["model.py:twice", "--args", "f64[0]"], 2, "have no elements: there is nothing to check"),
        (["model.py:twice", "--args", "f16[2]"], 2, "Float16 is too coarse for numerical gradients"),
        (["model.py:twice", "--args", "bf16[2]"], 2, "check twice in float64, or in float32"),
        (["model.py:of_a_dict", "--args", "{'a': f64[2], 'n': 3}"], 2, "the Tensors in argument 0, which holds other"),
        (["model.py:twice"], 2, "twice(x) needs arguments"),
    ],
)
def test_nothing_to_check(words, status, says, call, wrong):
    answer = call("gradcheck", *words)
    assert (answer.status, says in answer.err) == (status, True)


def test_tensors_in_containers(call, wrong):
    answer = call("gradcheck", "model.py:of_a_dict", "--args", "{'a': f64[2]} 3", "--json")
    assert (answer.status, answer.json["notes"]) == (0, [])
    assert [(m["input"], m["checked"]) for m in answer.json["gradients"]] == [("t", 2)] * 3


def test_what_is_not_checked_is_named(call, wrong):
    answer = call("gradcheck", "model.py:with_sum", "--args", "f64[0] f64[1]")
    assert answer.out.splitlines()[-2:] == ["not checked: what has no elements in argument 0", "passed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seed", "-1"], "argument --seed: '-1' is no whole number of at least 0"),
        (["--eps", "0"], "argument --eps: '0' is not a positive number"),
        (["--eps", "-1"], "argument --eps: '-1' is not a positive number"),
        (["--rtol", "nan"], "argument --rtol: 'nan' is not a number of at least 0"),
        (["--atol", "-1"], "argument --atol: '-1' is not a number of at least 0"),
        (["--range", "1", "nan"], "argument --range: 'nan' is not a finite number"),
        (["--range", "2", "1"], "argument --range: LOW comes first: 2 is above 1"),
        (["--range", "-1" + 308 * "0", "1e308"], "argument --range: -1e+308 and 1e+308 are too far apart"),
    ],
)
def test_numbers_that_mean_nothing(words, says, call, wrong):
    answer = call("gradcheck", "model.py:twice", "--args", "f64[2]", *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"autodiff_compiler: {says}; ")


def test_a_warning_names_the_function(start, wrong):
    process = start("gradcheck", "model.py:stopped", "--args", "f64[2]")
    errors = process.communicate(timeout=60)[1]
    line = WRONG[: WRONG.index("def stopped")].count("\n") + 1
    assert f"model.py:{line}: GradientWarning: [AC2003]" in errors
    assert "errors.py" not in errors


# ------------------------------------------------------------------------------------------------ random numbers
RANDOM = """
import numpy as np
from autodiff_compiler import nn, ops


def drop(x):
    return ops.dropout(x, p=0.5) * x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(p=0.3)
        self.set_train()

    def construct(self, x):
        return (self.dropout(x) * x).sum()


def noisy(x):
    return x * np.random.rand()


calls = []


def counting(x):
    calls.append(1)
    return x * len(calls)
"""


@pytest.mark.parametrize("name", ["drop", "Net"])
def test_all_calls_draw_the_same_random_numbers(name, call, model):
    model.write_text(RANDOM)
    answer = call("gradcheck", f"model.py:{name}", "--args", "f64[6]", "--order", "2")
    assert (answer.status, answer.err, answer.out.splitlines()[-1]) == (0, "", "passed")


STATES = """
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn


@ms.constexpr
def step():
    return 1.0 + ms.get_context("mode")


class Growing(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0, 4.0], ms.float64), name="w")

    def construct(self, x):
        self.w = self.w * 1.1
        return (x * x * self.w * self.w).sum()


class TwoFaced(Growing):
    def construct(self, x):
        self.w = self.w + step()
        return x.sum()
"""


def test_parameters_begin_with_the_same_in_each_call(call, model):
    """The gradient is that of the first update: the square of 1.1 times the values at the start."""
    model.write_text(STATES)
    answer = call("gradcheck", "model.py:Growing", "--args", "f64[3]", "--range", "1", "1", "--order", "2", "--json")
    assert (answer.status, answer.json["passed"], answer.json["modes_differ"]) == (0, True, None)
    of_x = (np.cos(1.0) + 0.25) * 2 * 1.1**2 * np.array([4.0, 9.0, 16.0])  # by the weight of the first output
    first = [m for m in answer.json["gradients"] if m["order"] == 1]
    assert len(first) == 3
    for m in first:
        assert m["found"] == pytest.approx(of_x[m["index"][0]])


def test_modes_that_leave_different_parameters(call, model):
    model.write_text(STATES)
    answer = call("gradcheck", "model.py:TwoFaced", "--args", "f64[3]", "--json")
    assert (answer.status, answer.json["passed"]) == (1, False)
    told = "the Parameter w after the call in graph O0, element [0]: 3.0, eager gives 4.0"
    assert told in answer.json["modes_differ"]


# ------------------------------------------------------------------------------------------------ Parameters
WEIGHTS = """
import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn


class Times(nn.Cell):
    def construct(self, x, w):
        return x * w

    def bprop(self, x, w, out, dout):
        return dout * w, dout * 100.0


class RightTimes(Times):
    def bprop(self, x, w, out, dout):
        return dout * w, dout * x


class Net(nn.Cell):
    def __init__(self, times=Times, dtype=ms.float64):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0], dtype), name="w")
        self.step = Parameter(Tensor(0), name="step")
        self.cut = Parameter(Tensor([5.0], dtype), name="cut", requires_grad=False)
        self.times = times()

    def construct(self, x):
        return self.times(x, self.w) + self.cut

    def other(self, x):
        return x * x * self.w


class Shared(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = RightNet(), RightNet()
        self.b.w = self.a.w

    def construct(self, x):
        return self.a(x) * self.b(x)


class Growing(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0], ms.float64), name="w")

    def construct(self, x):
        self.w = self.w * self.w
        return (x * self.w).sum()


class Bare(nn.Cell):
    def construct(self, x):
        return x * 2


class Deep(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cells = nn.CellList([nn.Dense(2, 2) for _ in range(3)])

    def construct(self, x):
        for cell in self.cells:
            x = cell(x)
        return x


def RightNet(dtype=ms.float64):
    return Net(RightTimes, dtype)


net = RightNet()


def outside(x):
    return net(x)
"""


@pytest.fixture
def weighted(model):
    model.write_text(WEIGHTS)


def test_a_wrong_gradient_by_a_parameter(call, weighted):
    """The gradient that the rule gives is 100 times the weight of the output; the right one is x times that."""
    np.save("x.npy", np.array([0.5, -2.0]))
    answer = call("gradcheck", "model.py:Net", "--args", "x.npy", "--weights", "--json")
    assert (answer.status, answer.json["passed"], answer.json["notes"]) == (1, False, [])
    of_outputs, x = np.cos([1.0, 2.0]) + 0.25, [0.5, -2.0]
    by_w = [m for m in answer.json["gradients"] if m["input"] == "w"]
    assert [(m["mode"], m["wrong"], m["passed"]) for m in by_w] == [
        (mode, 2, False) for mode in ("eager", "graph O0", "graph O2")
    ]
    for m in by_w:
        (i,) = m["index"]
        assert (m["found"], m["wanted"]) == pytest.approx((100 * of_outputs[i], x[i] * of_outputs[i]))
    assert all(m["passed"] for m in answer.json["gradients"] if m["input"] == "x")


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("target", "name"), [("net", "w"), ("net.construct", "w"), ("Net.other", "w"), ("Shared", "a.w"), ("Growing", "w")]
)
def test_right_gradients_by_parameters(target, name, order, call, weighted):
    answer = call("gradcheck", f"model.py:{target}", "--args", "f64[2]", "--order", str(order), "--weights")
    assert (answer.status, answer.err, answer.out.splitlines()[-1]) == (0, "", "passed")
    rows = [line.split()[:3] for line in answer.out.splitlines()[1 : 1 + 2 * order]]
    assert rows == [[str(n), by, "2"] for n in range(1, order + 1) for by in ("x", name)]


def test_parameters_alone(call, weighted):
    answer = call("gradcheck", "model.py:net", "--args", "i64[2]", "--weights", "--json")
    assert (answer.status, answer.json["passed"]) == (0, True)
    assert [m["input"] for m in answer.json["gradients"]] == ["w"] * 3


def test_parameters_that_are_not_checked_are_named(call, weighted):
    answer = call("gradcheck", "model.py:net", "--args", "f64[2]")
    note = "not checked: the gradients by 1 Parameter (w); --weights checks them, too"
    assert answer.out.splitlines()[-2:] == [note, "passed"]
    (note,) = call("gradcheck", "model.py:outside", "--args", "f64[2]", "--json").json["notes"]
    assert note == "not checked: the gradients by 1 Parameter (w); testing.gradcheck checks those of its `weights`, too"
    (note,) = call("gradcheck", "model.py:Deep", "--args", "f64[1,2]", "--json").json["notes"]
    first = ", ".join(f"cells.{i}.{name}" for i in (0, 1) for name in ("weight", "bias"))
    assert note == f"not checked: the gradients by 6 Parameters ({first}, ...); --weights checks them, too"
    assert call("gradcheck", "model.py:Bare", "--args", "f64[2]", "--json").json["notes"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["model.py:outside"], "--weights needs a Cell, which model.py:outside is not"),
        (["model.py:Bare"], "--weights: Bare has no float Parameter that requires a gradient"),
        (
            ["model.py:Net", "--make", "RightNet(ms.float16)"],
            "Float16 is too coarse for numerical gradients: check Net",
        ),
        (["model.py:Net", "--make", "RightNet(ms.bfloat16)"], "BFloat16 is too coarse for numerical gradients: check"),
    ],
)
def test_weights_that_cannot_be_checked(words, says, call, weighted):
    answer = call("gradcheck", *words, "--args", "f64[2]", "--weights")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"autodiff_compiler: {says}")


@pytest.mark.parametrize("name", ["noisy", "counting"])
def test_what_is_no_function_of_its_arguments_has_no_gradient(name, call, model):
    model.write_text(RANDOM)
    answer = call("gradcheck", f"model.py:{name}", "--args", "f64[6]")
    assert (answer.status, answer.out) == (2, "")
    assert f"{name} gives other results when it is called again with the same arguments" in answer.err
