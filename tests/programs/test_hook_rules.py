"""When hooks take effect, hooks under every kind of derivative, and the errors about them."""

from __future__ import annotations

import collections
import copy
import pickle
import threading

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, jit, nn, ops

from .hooked import Tripled, one


# ------------------------------------------------------------------------------------------------ registration
def test_hooks_added_and_removed_between_calls_are_seen_by_the_next_call(mode):
    net = Tripled()
    slope = grad(net)
    assert slope(one(1)).tolist() == [6.0]
    handle = net.inner.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * 10,))
    assert slope(one(1)).tolist() == [60.0]
    other = net.inner.register_forward_hook(lambda cell, inputs, output: output * 2)
    assert slope(one(1)).tolist() == [120.0]
    handle.remove()
    assert slope(one(1)).tolist() == [12.0]
    other.remove()
    other.remove()
    assert slope(one(1)).tolist() == [6.0]
    if mode != "eager":  # the first compiled form is valid again
        assert slope.compiled().cache_info()["compiles"] == 4


def test_a_jitted_construct(mode):
    log = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        @jit
        def construct(self, x):
            return self.relu(x) * 3

    net = Net()
    net.register_forward_hook(lambda cell, inputs, output: output * 2)
    net.relu.register_backward_hook(lambda cell, arrived, leaving: log.append(arrived[0].tolist()))
    assert grad(net)(one(1)).tolist() == [6.0]
    assert log == [[6.0]]


def doubled(cell, inputs, output):
    return output * 2


def test_copies_and_pickles_keep_hooks(mode):
    net = nn.SequentialCell(nn.ReLU(), nn.Flatten())
    handle = net[0].register_forward_hook(doubled)
    x = Tensor([[1.0]])
    others = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    assert [c(x).tolist() for c in (net, *others)] == [[[2.0]]] * 3
    handle.remove()
    assert [c(x).tolist() for c in (net, *others)] == [[[1.0]], [[2.0]], [[2.0]]]


def test_a_variable_that_changes_behind_a_hook_is_refused_in_compiled_code():
    """Python sees its last value in the backward pass."""

    def rebound(x):
        scale = 2.0
        y = ops.InsertGradientOf(lambda g: g * scale)(x)
        scale = 5.0
        return y * scale

    def of_the_loop(x):
        for i in range(3):
            x = x * 2
            x.register_hook(lambda g: g + i)
        return x

    def in_a_list(x):
        scales = [2.0]
        y = ops.InsertGradientOf(lambda g: g * scales[0])(x)
        scales[0] = 5.0
        return y

    def handed_over(x):
        for i in range(3):
            x = x * 2
            x.register_hook(lambda g, i=i: g + i)
        return x

    def used_before(x):
        k = 3.0
        slope = grad(lambda z: ops.InsertGradientOf(lambda g: g * k)(z) * 2)(x)
        k = 100.0
        return slope * k

    assert grad(rebound)(one(1)).tolist() == [25.0]
    assert grad(of_the_loop)(one(1)).tolist() == [36.0]  # ((1 + 2) * 2 + 2) * 2 + 2 = 18, doubled
    assert grad(handed_over)(one(1)).tolist() == [28.0]  # ((1 + 2) * 2 + 1) * 2 + 0 = 14, doubled
    assert used_before(one(1)).tolist() == [600.0]
    ms.set_context(mode=ms.GRAPH_MODE)
    for f in (rebound, of_the_loop, in_a_list):
        with pytest.raises(ms.SideEffectError, match="AC1606"):
            grad(f)(one(1))
    assert grad(handed_over)(one(1)).tolist() == [28.0]
    assert jit(used_before)(one(1)).tolist() == [600.0]


@ms.jit_class
class Scale:
    def __init__(self, by):
        self.by = by


def grown_set(x):
    held = {1.0}
    y = ops.InsertGradientOf(lambda g: g * len(held))(x)
    held.add(2.0)
    return y


def attribute_of_an_object(x):
    held = Scale(1.0)
    y = ops.InsertGradientOf(lambda g: g * held.by)(x)
    held.by = 2.0
    return y


def list_in_a_tuple(x):
    held = ([1.0],)
    y = ops.InsertGradientOf(lambda g: g * held[0][0])(x)
    held[0][0] = 2.0
    return y


def tensor_in_a_list(x):
    held = [x * 1.0]
    y = ops.InsertGradientOf(lambda g: g * held[0])(x)
    held[0][0] = 2.0
    return y


@pytest.mark.parametrize("f", [grown_set, attribute_of_an_object, list_in_a_tuple, tensor_in_a_list])
def test_so_is_one_whose_content_changes(f):
    assert grad(f)(one(1)).tolist() == [2.0]  # Python sees what it holds in the end
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ms.SideEffectError, match="'held' changes after a function that runs in the backward pass"):
        grad(f)(one(1))


def test_what_a_hook_reads_may_hold_things_that_stay(mode):
    def f(x):
        held = ([], {1.0}, {"by": 3.0}, Scale(2.0), [x * 1.0])
        y = ops.InsertGradientOf(lambda g: g * held[2]["by"] * held[3].by * held[4][0])(x)
        return y * len(held)

    assert grad(f)(one(1)).tolist() == [30.0]


def test_registration_inside_compiled_code_is_refused():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()
            self.handle = self.relu.register_forward_hook(doubled)

        def construct(self, x, what: str):
            if what == "remove":
                self.handle.remove()
            else:
                getattr(self.relu, what)(doubled)
            return self.relu(x)

    net = Net()
    ms.set_context(mode=ms.GRAPH_MODE)
    for kind in ("forward_pre", "forward", "backward_pre", "backward"):
        with pytest.raises(ms.HookError, match=r"AC1708.*of a Cell cannot be registered"):
            net(one(1), f"register_{kind}_hook")
    with pytest.raises(ms.HookError, match=r"AC1708.*cannot be removed"):
        net(one(1), "remove")


# ------------------------------------------------------------------------------------------------ other derivatives
@pytest.mark.filterwarnings("ignore::autodiff_compiler.errors.BypassWarning")
def test_bprop_and_hooks_of_one_cell(mode):
    """Hooks of the Cell itself are called, those inside are not; edits outside see what the hooks leave."""
    log = []

    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()
            self.inner.register_backward_hook(lambda cell, arrived, leaving: log.append("inside"))
            self.edit = ops.InsertGradientOf(lambda g: g * 1000)

        def construct(self, x):
            return self.edit(self.inner(x)) * 2

        def bprop(self, x, out, dout):
            return (dout * 10,)

    own = Own()
    own.register_backward_hook(lambda cell, arrived, leaving: log.append((arrived[0].tolist(), leaving[0].tolist())))
    own.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] + 4,))
    plus = ops.InsertGradientOf(lambda g: g + 1)
    look = ops.HookBackward(lambda g: log.append(g[0].tolist()))
    # 1, looked at; 1 + 1 = 2 arrives; bprop 20, hook 24; 24 + 1 = 25, looked at
    assert grad(lambda x: look(plus(own(plus(look(x))))))(one(1)).tolist() == [25.0]
    assert log == [[1.0], ([2.0], [20.0]), [25.0]]


def test_second_derivatives_go_through_hooks(mode):
    """The gradient of ``relu(x * x) * x`` is ``c * 2 x + x * x``, where c is what the hook makes of x: its square."""
    relu = nn.ReLU()
    relu.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * leaving[0],))
    slope = grad(lambda x: relu(x * x) * x)
    assert slope(Tensor([3.0], ms.float64)).tolist() == [9.0 * 6 + 9.0]
    # d(2 x c)/dx = 2 c + 2 x * 2 x; d(relu(x * x))/dx = 2 x * h(1),
    # whose cotangent 1 passes the ReLU and its hook.
    assert grad(slope)(Tensor([3.0], ms.float64)).tolist() == [2 * 9.0 + 4 * 9.0 + 2 * 3.0]


def test_second_derivative_of_a_linear_hook(mode):
    look = ops.HookBackward(lambda g: g[0] * 3)
    assert grad(lambda x: (look(x) * 2).sum())(one(5)).tolist() == [6.0]
    cube = grad(lambda x: x * x * x)
    assert grad(lambda x: cube(look(x)))(one(2)).tolist() == [3 * 6 * 2.0]


def test_a_jitted_function_calls_hooks_in_both_passes_of_a_second_derivative():
    """With ``h(x) ** 3``, the inner backward pass calls the hook once, the outer one once more: on 6 x."""
    found = []
    for form in (lambda f: f, jit):
        log = []
        look = ops.HookBackward(lambda g: log.append(g[0].tolist()))

        def cube(x):
            y = look(x)
            return y * y * y

        assert grad(grad(form(cube)))(one(2)).tolist() == [12.0]
        found.append(log)
    assert found == [[[12.0], [12.0]]] * 2


def test_forward_mode_through_branches(mode):
    edit = ops.InsertGradientOf(lambda g: g * 2)

    def f(x, c):
        y = edit(x)
        return y * 3 if c.sum() > 0 else x * 5

    tangents = [ms.jvp(f, (one(1), one(c)), (one(1), one(0)))[1].tolist() for c in (1, -1)]
    assert tangents == [[6.0], [5.0]]


def test_forward_mode_transposes_linear_hooks(mode):
    relu = nn.ReLU()
    relu.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * 3,))
    out, tangent = ms.jvp(lambda x: relu(x) * 2, one(1), one(1))
    assert out.tolist() == [2.0]
    assert tangent.tolist() == [6.0]


def test_forward_mode_refuses_hooks_that_are_not_linear():
    relu = nn.ReLU()
    relu.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * leaving[0],))
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ms.BpropError, match="AC1705"):
        ms.jvp(lambda x: relu(x) * 2, one(1), one(1))


def test_vmap_calls_hooks_for_every_element(mode):
    log = []
    relu = nn.ReLU()
    relu.register_forward_hook(lambda cell, inputs, output: log.append(("made", output.tolist())))
    relu.register_backward_hook(lambda cell, arrived, leaving: log.append(("back", leaving[0].tolist())))
    relu.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * 3,))
    slopes = ms.vmap(grad(lambda x: (relu(x) * x).sum()))(Tensor([[1.0], [2.0]]))
    assert slopes.tolist() == [[1.0 + 3], [2.0 + 6]]
    assert sorted(log) == [("back", [1.0]), ("back", [2.0]), ("made", [1.0]), ("made", [2.0])]


def test_threads_have_gradients_of_their_own(mode):
    net = Tripled()
    seen, lock = [], threading.Lock()

    def note(cell, arrived, leaving):
        seen.append(leaving[0].tolist())

    net.inner.register_backward_hook(note)
    net.inner.register_backward_hook(lambda cell, arrived, leaving: (leaving[0] * 2,))
    slope, found = grad(net), []

    def work(k):
        g = slope(one(k)).tolist()
        with lock:
            found.append(g)

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[12.0]] * 8
    assert seen == [[3.0]] * 8


# ------------------------------------------------------------------------------------------------ mistakes
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda g: (g, g), "a tuple of 2, where 1 gradient is needed"),
        (lambda g: [g], "a list of 1"),
        (lambda g: "text", "a str"),
        (lambda g: (g.reshape((1, 1)),), r"shape \[1, 1\], where the shape \[1\] is needed"),
    ],
)
def test_what_a_backward_hook_returns_must_fit(mode, returned, message):
    net = Tripled()
    net.inner.register_backward_hook(lambda cell, arrived, leaving: returned(leaving[0]))
    with pytest.raises(ms.HookError, match=message) as caught:
        grad(net)(one(1))
    assert caught.value.code == "AC1707"
    assert "test_hook_rules.py:" in caught.value.message  # where the hook is defined
    if mode != "eager":
        assert caught.value.loc.file.endswith("hooked.py")


def test_a_backward_hook_that_returns_what_arrived_is_told_which_gradient_is_which(mode):
    net = Tripled(nn.Dense(1, 4))
    net.inner.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 2,))
    with pytest.raises(ms.HookError, match=r"shape \[2, 4\], where the shape \[2, 1\] is needed") as caught:
        grad(net)(Tensor([[1.0], [2.0]]))
    assert caught.value.code == "AC1707"
    assert "grad_output" in caught.value.hint
    assert "2.10 gives them the other way round" in caught.value.hint


def test_what_hook_backward_returns_must_fit(mode):
    with pytest.raises(ms.HookError, match="a tuple of 2, where one gradient is needed") as caught:
        grad(lambda x: ops.HookBackward(lambda g: (g[0], g[0]))(x) * 2)(one(1))
    assert caught.value.code == "AC1707"
    assert mode == "eager" or caught.value.loc is not None


def test_a_pre_hook_with_keywords_returns_both(mode):
    net = Tripled()
    net.inner.register_forward_pre_hook(lambda cell, inputs, kwargs: inputs, with_kwargs=True)
    with pytest.raises(ms.HookError, match="no pair of inputs and keywords"):
        net(one(1))


def test_a_hook_that_only_python_can_run_may_look_but_not_return_in_compiled_code():
    seen = []

    def look(cell, arrived, leaving):
        try:
            seen.append(leaving[0].tolist())
        except ValueError:
            raise

    def change(cell, arrived, leaving):
        try:
            return (leaving[0] * 2,)
        except ValueError:
            raise

    ms.set_context(mode=ms.GRAPH_MODE)
    net = Tripled()
    net.inner.register_backward_hook(look)
    assert grad(net)(one(1)).tolist() == [6.0]
    assert seen == [[3.0]]
    net.inner.register_backward_hook(change)
    with pytest.raises(ms.HookError, match="runs as plain Python in compiled code"):
        grad(net)(one(1))


@pytest.mark.parametrize("optimize", [0, 2])
def test_a_hook_that_is_not_compiled_leaves_nothing_behind(optimize):
    """What was compiled of it in vain is not used again: here the sum of the result."""
    found = collections.defaultdict(list)
    relu = nn.ReLU()
    relu.register_forward_hook(lambda cell, inputs, output: found["sums"].append(output.sum().item()))
    slope = ms.jit(ms.grad(lambda x: relu(x).sum() * 2), optimize=optimize)
    assert slope(Tensor([1.0, 2.0])).tolist() == [2.0, 2.0]
    assert found == {"sums": [3.0]}


def test_a_hook_that_counts_in_an_attribute_is_compiled_once():
    """It runs as plain Python as a whole; what was read of it in vain is not watched."""

    class Count:
        calls = 0

    def counting(cell, inputs, output):
        count.calls = count.calls + 1

    count, relu = Count(), nn.ReLU()
    count.calls = 5
    relu.register_forward_hook(counting)
    run = ms.jit(lambda x: relu(x))
    for _ in range(4):
        run(Tensor([1.0]))
    assert count.calls == 9
    assert run.cache_info()["compiles"] == 1
