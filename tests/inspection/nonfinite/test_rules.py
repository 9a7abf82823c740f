"""What counts, what the message says, and how far the setting reaches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import NonFiniteError, Parameter, Tensor, nn, ops
from tests import forked

EAGER: Callable[[Any], Any] = lambda fn: fn


@pytest.fixture(params=["eager", "numpy", "native"])
def way(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """How a function is called: as it is, or compiled for a backend."""
    before = ms.get_context("backend")
    if request.param == "eager":
        yield EAGER
    else:
        ms.set_context(backend=request.param)
        yield ms.jit
    ms.set_context(backend=before)


def f32(*values: Any) -> Tensor:
    return Tensor(np.array(values, np.float32))


NAN, INF = float("nan"), float("inf")


def message(call: Callable[..., Any], *args: Any) -> str:
    with ms.check_nonfinite(), pytest.raises(NonFiniteError) as caught:
        call(*args)
    return str(caught.value)


@pytest.mark.parametrize("decorated", [False, True])
def test_the_traceback_shows_the_users_lines_only(way: Any, decorated: bool) -> None:
    def inner(x: Any) -> Any:
        return ops.log(x) / x.sum()

    def outer(x: Any) -> Any:
        return inner(x - 1)

    def within(x: Any) -> Any:
        with ms.check_nonfinite():
            return way(outer)(x)

    checked = ms.check_nonfinite()(way(outer)) if decorated else within
    with pytest.raises(NonFiniteError) as caught:
        checked(f32(1, 2))
    assert {Path(str(entry.path)) for entry in caught.traceback} == {Path(__file__)}
    assert "test_rules.py" in str(caught.value)


# ------------------------------------------------------------------------------------------------ what counts
def test_a_mask_of_infinities_is_no_mistake(way: Any) -> None:
    def attention(scores: Any, mask: Any) -> Any:
        return ops.softmax(ops.where(mask, scores, -INF) + 1.0, -1)

    mask = Tensor(np.array([[True, False], [True, True]]))
    scores = f32([1, 2], [3, 4])
    expected = np.array([[1, 0], [1 / (1 + np.e), np.e / (1 + np.e)]], np.float32)
    with ms.check_nonfinite():
        np.testing.assert_allclose(way(attention)(scores, mask).asnumpy(), expected, rtol=1e-6)
        grads = way(ms.grad(lambda s: (attention(s, mask) ** 2).sum()))(scores)
    assert np.isfinite(grads.asnumpy()).all()


def test_additive_masks_that_are_arguments_neither(way: Any) -> None:
    with ms.check_nonfinite():
        found = way(lambda x, m: ops.softmax(x + m, -1))(f32(1, 2, 3), f32(0, -INF, 0))
    np.testing.assert_allclose(found.asnumpy()[1], 0)


def test_a_row_that_is_masked_as_a_whole_is_a_mistake(way: Any) -> None:
    def f(x: Any) -> Any:
        m = x.max()
        return x - m

    assert "`sub` gives NaN" in message(way(f), f32(-INF, -INF))


def test_a_fresh_infinity_beside_a_masked_element_is_found(way: Any) -> None:
    assert "[2]" in message(way(lambda x: x * 1e30), f32(1, -INF, 1e20))


def test_missing_numbers_may_be_moved_chosen_and_tested(way: Any) -> None:
    def f(x: Any) -> Any:
        column = ops.concat([x[:, 1], x[:, 0]])
        return ops.where(ops.isnan(column), 0.0, column).sum()

    x = f32([1, NAN], [2, 3])
    with ms.check_nonfinite():
        assert way(f)(x).item() == 6
        np.testing.assert_array_equal(way(ms.grad(f))(x).asnumpy(), [[1, 0], [1, 1]])


def test_computing_with_a_missing_number_is_reported_with_its_name(way: Any) -> None:
    def f(data: Any) -> Any:
        return data * 2

    text = message(way(f), f32(1, NAN))
    assert "input `data` is NaN already, and `mul` computes with it" in text
    assert "1 .. 1, 1 NaN" in text


def test_only_nan_counts_if_infinities_are_meant(way: Any) -> None:
    with ms.check_nonfinite(inf=False):
        assert way(lambda x: ops.log(x))(f32(0)).item() == -INF
        with pytest.raises(NonFiniteError, match="NaN"):
            way(lambda x: ops.log(x) * x)(f32(0))


def test_constants_of_the_user_are_meant(way: Any) -> None:
    with ms.check_nonfinite():
        assert way(lambda x: ops.minimum(x, INF))(f32(1)).item() == 1
        assert way(lambda x: ops.full((2,), -INF) + x)(f32(1, 1)).tolist() == [-INF, -INF]


def test_an_op_on_constants_is_not_folded_away(way: Any) -> None:
    def f(x: Any) -> Any:
        return x + ops.log(ops.zeros((), ms.float32))

    assert "`log` makes -inf" in message(way(f), f32(1))


def test_what_never_runs_is_no_mistake(way: Any) -> None:
    def f(x: Any, d: Any, n: Any) -> Any:
        y = x
        while y.sum() < n.sum():
            y = y + x / d + ops.log(d)
        if n.sum() > 100:
            y = y / d
        return y

    with ms.check_nonfinite():
        assert way(f)(f32(1, 2), f32(0, 0), f32(1)).tolist() == [1, 2]
        grads = way(ms.grad(lambda x, d, n: f(x, d, n).sum(), (0, 1)))(f32(1, 2), f32(0, 0), f32(1))
    assert [g.tolist() for g in grads] == [[1, 1], [0, 0]]


def test_integers_and_bools_are_left_alone(way: Any) -> None:
    with ms.check_nonfinite():
        assert way(lambda x: (x // 2, x > 1))(Tensor([4, 5]))[0].tolist() == [2, 2]


def test_what_plain_python_returns_is_looked_at() -> None:
    def host(x: Any) -> Any:
        return x * NAN

    def f(x: Any) -> Any:
        return ms.py_call(host, x, out=ms.TensorSpec((2,), ms.float32)) + 1

    assert "plain Python" in message(ms.jit(f), f32(1, 2))


# ------------------------------------------------------------------------------------------------ the message
def test_it_says_the_trip_of_a_loop() -> None:
    def f(x: Any) -> Any:
        for _ in range(20):
            x = x * x
        return x

    for backend in ("numpy", "native"):
        text = message(ms.jit(f, backend=backend), f32(10))  # 10 ** (2 ** 6) is more than float32 has
        assert "in trip 5 (the first is 0)" in text


def test_it_says_the_trip_of_a_while_loop_and_of_the_loop_around() -> None:
    def f(x: Any) -> Any:
        for _ in range(10):
            y, z = x, x
            while y.sum() < 1e3:
                y = y * 4
                z = 1 / (y - 64.0)
            x = x - 1 + 0 * z
        return x

    for backend in ("numpy", "native"):
        text = message(ms.jit(f, backend=backend), f32(3))  # 3, 2, 1: the third trip; then 4, 16, 64: the third one
        assert text.count("in trip 2 (the first is 0)") == 2


def test_it_says_the_calls_that_led_there() -> None:
    def inner(z: Any) -> Any:
        return ops.log(z)

    def outer(z: Any) -> Any:
        return inner(z - 1)

    def f(x: Any) -> Any:
        return outer(x)

    text = message(ms.jit(f), f32(1, 2))
    assert text.index("return ops.log(z)") < text.index("return inner(z - 1)") < text.index("return outer(x)")


def test_it_says_how_the_operand_came_about(way: Any) -> None:
    def f(x: Any) -> Any:
        a = ops.relu(x)
        b = a * 2
        return ops.log(b)

    text = message(way(f), f32(-1, 2))
    assert text.index("b = a * 2") < text.index("a = ops.relu(x)")


def test_of_a_layer_of_the_package_the_users_line_is_shown(way: Any) -> None:
    norm = nn.LayerNorm((2,), epsilon=0.0)

    def f(x: Any) -> Any:
        y = x * 2
        return norm(y).sum()  # here

    with ms.check_nonfinite(), pytest.raises(NonFiniteError) as caught:
        way(f)(f32([1, 1], [1, 2]))
    assert caught.value.loc.file == __file__
    assert "return norm(y).sum()  # here" in str(caught.value)
    assert "in LayerNorm.construct (normalization.py:" in str(caught.value)


def test_it_is_a_floating_point_error_with_a_code_in_the_catalogue() -> None:
    with ms.check_nonfinite(), pytest.raises(FloatingPointError) as caught:
        ops.log(f32(0))
    assert caught.value.code == "AC1903"
    assert caught.value.to_dict()["spans"][0]["line"] == caught.value.loc.line


@pytest.mark.parametrize(
    ("fn", "x", "advice"),
    [
        (lambda x: ops.exp(x), 100.0, "log_softmax"),
        (lambda x: 1 / x, 0.0, "eps"),
        (lambda x: ops.sqrt(x), -1.0, "maximum"),
        (lambda x: x.astype(ms.float16), 1e6, "65504"),
        (ms.grad(lambda x: ops.sqrt(x).sum()), 0.0, "derivative of sqrt"),
    ],
)
def test_advice(fn: Any, x: float, advice: str) -> None:
    assert advice in message(fn, f32(x))
    assert advice in message(ms.jit(fn), f32(x))


# ------------------------------------------------------------------------------------------------ what stays written
def test_states_attributes_and_arguments_written_before_stay_written(way: Any) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.steps = Parameter(np.zeros((), np.float32), name="steps")
            self.last = f32(0)

        def construct(self, x: Any) -> Any:
            self.steps += 1
            self.last = x * 2
            x[0] = 7.0
            y = ops.log(x - 7)
            self.steps += 1
            return y

    net, x = Net(), f32(1, 2)
    with ms.check_nonfinite(), pytest.raises(NonFiniteError):
        way(net)(x)
    assert net.steps.item() == 1
    assert net.last.tolist() == [2, 4]
    assert x.tolist() == [7, 2]


def test_an_optimizer_that_fails_halfway_leaves_what_it_wrote(way: Any) -> None:
    a, b = Parameter(f32(1), name="a"), Parameter(f32(1), name="b")

    def step(x: Any) -> Any:
        ops.assign(a, a - x)
        ops.assign(b, b / (a - a))
        return x

    with ms.check_nonfinite(), pytest.raises(NonFiniteError):
        way(step)(f32(0.5))
    assert a.tolist() == [0.5]
    assert b.tolist() == [1]


# ------------------------------------------------------------------------------------------------ how far it reaches
def test_one_function_alone() -> None:
    @ms.jit(check_nonfinite=True)
    def f(x: Any) -> Any:
        return ops.log(x)

    @ms.jit(check_nonfinite=False)
    def g(x: Any) -> Any:
        return ops.log(x)

    with pytest.raises(NonFiniteError):
        f(f32(0))
    assert ms.jit(lambda x: ops.log(x))(f32(0)).item() == -INF
    with ms.check_nonfinite():
        assert g(f32(0)).item() == -INF
    with pytest.raises(NonFiniteError):
        ms.jit(lambda x: ops.log(x) * x, check_nonfinite="nan")(f32(0))
    with pytest.raises(ValueError, match="check_nonfinite is True, False or 'nan'"):
        ms.jit(lambda x: x, check_nonfinite="inf")


def test_calls_by_turns_find_their_programs() -> None:
    f = ms.jit(lambda x: ops.log(x))
    for _ in range(12):  # enough for the short way
        assert f(f32(0)).item() == -INF
    for _ in range(3):
        with ms.check_nonfinite():
            for _ in range(12):
                assert f(f32(1)).item() == 0
            with pytest.raises(NonFiniteError):
                f(f32(0))
        for _ in range(12):
            assert f(f32(0)).item() == -INF
    assert f.cache_info()["compiles"] == 2
    (change,) = f.explain_recompiles()[1].changes
    assert (change.before, change.after) == ("nothing", "check_nonfinite=True")


def test_graph_mode_cells_and_derivatives_by_turns() -> None:
    class Net(nn.Cell):
        def construct(self, x: Any) -> Any:
            return ops.sqrt(x)

    net = Net()
    slope = ms.grad(lambda x: net(x).sum())
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for _ in range(2):
            for _ in range(12):
                assert net(f32(-1)).isnan().item()
                assert slope(f32(0)).item() == INF
            with ms.check_nonfinite():
                with pytest.raises(NonFiniteError):
                    net(f32(-1))
                with pytest.raises(NonFiniteError, match="derivative"):
                    slope(f32(0))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_it_nests_and_ends_with_an_exception() -> None:
    with ms.check_nonfinite():
        with ms.check_nonfinite(inf=False):
            assert ops.log(f32(0)).item() == -INF
            assert ms.get_context("check_nonfinite") == "nan"
        with pytest.raises(NonFiniteError):
            ops.log(f32(0))
        with pytest.raises(KeyError), ms.check_nonfinite(inf=False):
            raise KeyError
        assert ms.get_context("check_nonfinite") is True
    assert ms.get_context("check_nonfinite") is False
    assert ops.log(f32(0)).item() == -INF


def test_as_a_decorator_and_entered_again() -> None:
    @ms.check_nonfinite()
    def f(x: Any, depth: int) -> Any:
        return f(x, depth - 1) if depth else ops.log(x)

    for _ in range(2):
        with pytest.raises(NonFiniteError):
            f(f32(0), 3)
        assert ms.get_context("check_nonfinite") is False


def test_in_compiled_code_it_says_where_it_belongs() -> None:
    @ms.check_nonfinite()
    def decorated(x: Any) -> Any:
        return ops.log(x)

    def entered(x: Any) -> Any:
        with ms.check_nonfinite():
            return ops.log(x)

    for fn in (decorated, entered, lambda x: decorated(x)):
        with pytest.raises(ms.UnsupportedSyntaxError, match="around the call of the compiled function"):
            ms.jit(fn)(f32(1))


def test_for_good_and_for_all_threads() -> None:
    found: list[Any] = []
    started = threading.Barrier(2, timeout=60)

    def work() -> None:
        ops.log(f32(1))  # the thread is there before the setting
        started.wait()
        started.wait()
        try:
            ops.log(f32(0))
        except NonFiniteError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    ms.set_context(check_nonfinite=True)
    try:
        started.wait()
        thread.join()
    finally:
        ms.set_context(check_nonfinite=False)
    assert len(found) == 1


def test_threads_that_overlap_do_not_end_it_for_each_other() -> None:
    inside, ended = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)

    def first() -> None:
        with ms.check_nonfinite():
            inside.wait()
        ended.wait()

    thread = threading.Thread(target=first)
    thread.start()
    with ms.check_nonfinite():
        inside.wait()
        ended.wait()
        with pytest.raises(NonFiniteError):
            ops.log(f32(0))
    thread.join()
    assert ms.get_context("check_nonfinite") is False


def test_a_tape_recorded_with_checks_is_checked_backward_later() -> None:
    part = ms.jit(lambda x: ops.sqrt(x))
    with ms.check_nonfinite():
        _, pull = ms.vjp(lambda x: part(x).sum(), f32(0, 1))
        with pytest.raises(NonFiniteError, match="derivative"):
            pull(Tensor(1.0))


def test_a_program_with_checks_can_be_saved_and_runs_without(tmp_path: Any) -> None:
    def f(x: Any) -> Any:
        return ops.log(x)

    ms.jit(f, check_nonfinite=True, backend="numpy").lower(f32(0)).save(str(tmp_path / "saved.py"))
    call = "import numpy as np, saved; print(saved.f(np.zeros(1, np.float32))[0].tolist())"
    done = subprocess.run([sys.executable, "-c", call], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[-inf]\n", done.stderr


def test_programs_kept_on_disk_are_those_without_checks(tmp_path: Any) -> None:
    (tmp_path / "program.py").write_text(
        "import sys\nimport autodiff_compiler as ms\nfrom autodiff_compiler import ops\n"
        "def f(x):\n    return ops.log(x)\n"
        "if sys.argv[1:]:\n    ms.set_context(check_nonfinite=True)\n"
        "try:\n    print(ms.jit(f)(ms.Tensor([0.0])).tolist())\n"
        "except ms.NonFiniteError as error:\n    print(error.message)\n"
    )
    folder = str(Path(ms.__file__).parents[1])
    variables = {**os.environ, "AC_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": folder}
    said = []
    for arguments in ([], ["check"], [], ["check"]):
        done = forked.run("program.py", *arguments, cwd=tmp_path, env=variables)
        said.append(done.stdout or done.stderr)
    assert said == ["[-inf]\n", "`log` makes -inf of finite numbers\n"] * 2


@pytest.mark.some(3)
@pytest.mark.parametrize(("value", "said"), [("1", "-inf"), ("nan", "NaN"), ("0", "nan")])
def test_for_a_whole_run_by_the_environment(tmp_path: Any, value: str, said: str) -> None:
    text = (
        "import autodiff_compiler as ms\nfrom autodiff_compiler import ops\n"
        "try:\n    print((ops.log(ms.Tensor([0.0])) * 0).tolist())\n"
        "except ms.NonFiniteError as error:\n    print(error.message)\n"
    )
    variables = {**os.environ, "AC_CHECK_NONFINITE": value, "PYTHONPATH": str(Path(ms.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", text], env=variables, capture_output=True, text=True, timeout=60)
    assert said in done.stdout, done.stderr


def test_results_on_a_device_cannot_be_looked_at() -> None:
    ms.jit(lambda x: x)(f32(1))  # devices are known from now on
    with ms.check_nonfinite(), pytest.raises(RuntimeError, match="looks at what the CPU computes"):
        ms.set_context(device_target="Ascend")
    assert ms.get_context("device_target") == "CPU"


def test_wrong_values() -> None:
    with pytest.raises(ValueError, match="check_nonfinite is True, False or 'nan'"):
        ms.set_context(check_nonfinite=3)
