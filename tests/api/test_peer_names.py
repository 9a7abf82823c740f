"""What is said to people who ask for PyTorch's and JAX's names: in eager and compiled code, and what is said exists."""

from __future__ import annotations

import re

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.inspection.check import check_file
from autodiff_compiler.peer_names import CELL, NN, OPTIMIZER, PACKAGE, TENSOR

NET = nn.Dense(2, 2)
ASKED = {
    "Tensor": (TENSOR, Tensor([1.0])),
    "Cell": (CELL, NET),
    "optimizer": (OPTIMIZER, nn.SGD(NET.trainable_params(), 0.1)),
    "package": (PACKAGE, ms),
    "nn": (NN, nn),
}
CASES = [(where, name) for where, (table, _) in ASKED.items() for name in table]


@pytest.mark.parametrize(("where", "name"), CASES)
def test_who_asks_for_the_name_hears_what_to_write(where, name):
    table, owner = ASKED[where]
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=f"no attribute {name!r}: {re.escape(table[name])}") as caught:
        getattr(owner, name)
    assert caught.value.name == name


@pytest.mark.parametrize(("where", "name"), CASES)
def test_what_is_proposed_exists(where, name):
    known = {"ms": ms, "nn": nn, "ops": ops, "net": NET, "x": Tensor([1.0]), "y": Tensor([1.0])}
    advice = ASKED[where][0][name]
    named = re.findall(r"\b(ms|nn|ops|net|x|y)\.(\w+)((?:\.\w+)*)", advice)
    for owner, attribute, more in named:
        found = getattr(known[owner], attribute)
        for part in more.split(".")[1:]:
            found = getattr(found, part)
    assert named or "`" in advice or "there is" in advice or "when its result" in advice


def test_compiled_code_says_the_same():
    for name in ("backward", "detach", "at"):
        with pytest.raises(ms.MissingAttributeError, match=re.escape(f"instead: {TENSOR[name]}")):
            ms.jit(lambda x, name=name: getattr(x, name))(Tensor([1.0]))
    with pytest.raises(ms.MissingAttributeError, match=re.escape(f"instead: {NN['Module']}")):
        ms.jit(lambda x: nn.Module)(Tensor([1.0]))


@pytest.mark.parametrize("owner", [ms, nn], ids=["package", "nn"])
def test_functions_of_ops_are_found_there(owner):
    for call in (lambda x: owner.matmul(x, x), ms.jit(lambda x: owner.matmul(x, x))):
        with pytest.raises(AttributeError, match=r"`ops\.matmul`"):
            call(Tensor([1.0]))


def test_compiled_code_says_it_of_cells_and_check_of_modules(tmp_path):
    with pytest.raises(ms.MissingAttributeError, match=re.escape(f"instead: {CELL['parameters']}")):
        ms.jit(lambda x: NET.parameters())(Tensor([1.0]))
    program = tmp_path / "user.py"
    program.write_text("import autodiff_compiler as ms\n\n\n@ms.jit\ndef f(x):\n    return ms.no_grad\n")
    (error,) = check_file(str(program)).errors
    assert error.hint == PACKAGE["no_grad"]


def test_a_cell_whose_method_has_pytorchs_name():
    class Net(nn.Cell):
        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match="has no method 'construct': rename `forward` to `construct`"):
        Net()(Tensor([1.0]))


def test_names_of_ones_own_are_no_others():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.modules = [1, 2]
            self.step = Tensor(3.0)

        def eval(self):
            return "mine"

        def construct(self, x):
            return x * self.step + len(self.modules)

    net = Net()
    assert (net.eval(), net.modules) == ("mine", [1, 2])
    assert net(Tensor(2.0)).item() == ms.jit(net)(Tensor(2.0)).item() == 8.0


def test_the_derivative_by_a_python_number_says_what_to_pass():
    for derivative in (ms.grad(lambda x: x * x), ms.jit(ms.grad(lambda x: x * x))):
        with pytest.raises(ms.GradientError, match=r"instead: make it a Tensor, as `Tensor\(3.0\)`"):
            derivative(3.0)


def test_dir_shows_public_names():
    shown = dir(ms)
    assert not [name for name in shown if name.startswith("_") and name != "__version__"]
    assert set(ms.__all__) <= set(shown)
