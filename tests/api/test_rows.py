"""The rows of the public surface: what is made of them, and their examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, mint, ops
from autodiff_compiler import numpy as mnp
from autodiff_compiler.ir.primitive import call
from autodiff_compiler.surface.mint import ROWS as MINT_ROWS
from autodiff_compiler.surface.numpy import ROWS as NUMPY
from autodiff_compiler.surface.row import Operator, Row, function, renamed
from autodiff_compiler.surface.table import MINT, OPERATORS, ROWS
from tests.api import test_operator_classes, test_primitive_classes, test_primitive_objects, test_special_classes

EXAMPLES = sorted(
    {(place, row.name) for place, rows in ((ops, ROWS), (mnp, NUMPY)) for row in rows.values() if ">>>" in row.doc},
    key=str,
)


@pytest.mark.parametrize(
    "name", sorted(name for name, row in OPERATORS.items() if isinstance(row, Operator) and ">>>" in row.doc)
)
def test_examples_of_operator_classes_run(name: str) -> None:
    test_examples_of_rows_run(ops, name)


@pytest.mark.parametrize(("place", "name"), EXAMPLES, ids=lambda x: getattr(x, "__name__", x))
def test_examples_of_rows_run(place: Any, name: str) -> None:
    parsed = doctest.DocTestParser().get_doctest(getattr(place, name).__doc__, {}, name, None, None)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(parsed, out=told.append)
    assert parsed.examples
    assert not runner.failures, "".join(told)


def test_a_row_makes_a_function_as_if_it_were_written() -> None:
    row = Row(
        "total(input, dim=None, keepdim=False, *, dtype=None)",
        "The sum.",
        "call.sum(input, all_if_none(dim), dtype, keepdim)",
    )
    total = function(row, "some.module")
    assert str(inspect.signature(total)) == "(input, dim=None, keepdim=False, *, dtype=None)"
    assert (total.__name__, total.__qualname__, total.__module__, total.__doc__) == (
        "total",
        "total",
        "some.module",
        "The sum.",
    )
    assert total(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0, True).tolist() == [[4.0, 6.0]]
    with pytest.raises(TypeError, match=r"^total\(\) got an unexpected keyword argument 'axis': write `dim`$"):
        total(Tensor([1.0]), axis=0)


def test_by_default_a_row_calls_its_own_name_with_its_own_parameters() -> None:
    assert Row("f(a, *b, c=1, d: int)").expression == "call.f(a, *b, c=c, d=d)"
    assert function(Row("tanh(x)"), "m").__doc__ == call.tanh.__doc__


def test_renamed_parameters_are_renamed_in_what_is_called() -> None:
    row = Row("all(input, axis=None, keep_dims=False)", calls="call.all(input, all_if_none(axis), keep_dims)")
    assert renamed(row, "all(input, dim=None, keepdim=False)").calls == "call.all(input, all_if_none(dim), keepdim)"


@pytest.mark.parametrize("name", sorted(ROWS))
def test_each_name_is_one_function_that_pickle_finds(name: str) -> None:
    made = getattr(ops, name)
    assert made is getattr(ops, ROWS[name].name)
    assert made is getattr(ops.functional, name)
    assert pickle.loads(pickle.dumps(made)) is made


def plain(signature: str) -> list[str]:
    space: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef {signature}: pass", space)
    return [str(p) for p in inspect.signature(space[signature.partition("(")[0]]).parameters.values()]


@pytest.mark.parametrize("name", sorted(MINT))
def test_a_function_of_mint_is_that_of_ops_or_has_its_own_signature(name: str) -> None:
    row, made = MINT[name], getattr(mint, name)
    if row in MINT_ROWS:
        assert [str(p) for p in inspect.signature(made).parameters.values()] == plain(row.signature)
        assert made.__module__ == "autodiff_compiler.mint"
    elif "(" in row.mint:
        assert [str(p) for p in inspect.signature(made).parameters.values()] == plain(row.mint)
        assert made.__module__ == "autodiff_compiler.mint"
    else:
        assert made is getattr(ops, name)


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_a_function_of_numpy_converts_its_operands(name: str) -> None:
    row, made = NUMPY[name], getattr(mnp, name)
    assert [str(p) for p in inspect.signature(made).parameters.values()] == plain(row.signature)
    assert made.__module__ == "autodiff_compiler.numpy"
    assert made is getattr(mnp, row.name)
    assert pickle.loads(pickle.dumps(made)) is made


@pytest.mark.parametrize("module", mnp._MODULES)
def test_each_module_of_numpy_defines_the_names_that_it_is_loaded_for(module: str) -> None:
    space = vars(importlib.import_module(f"autodiff_compiler.numpy.{module}"))
    public = {name for name in space if not name.startswith("_") and _defined_in(space, name)}
    assert public <= set(mnp._MODULES[module].split()) <= space.keys()
    assert not NUMPY.keys() & public


def _defined_in(space: dict[str, Any], name: str) -> bool:
    return getattr(space[name], "__module__", None) == space["__name__"]


def test_a_name_of_numpy_loads_its_module_alone() -> None:
    text = "import sys; from autodiff_compiler import numpy; numpy.sin, numpy.cov; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert "autodiff_compiler.numpy.products" in loaded
    assert not {f"autodiff_compiler.numpy.{name}" for name in ("math", "search", "reductions")} & {*loaded}


def test_two_tensors_go_to_the_operator() -> None:
    """Which has a fast path; the result is the same."""
    x, y = Tensor(np.array([7, -7])), Tensor(np.array([2, 2]))
    assert "operator_floordiv" in ops.floor_divide.__code__.co_names
    assert ops.floor_divide(x, y).tolist() == [3, -4]
    assert ops.floor_divide(x, 2).tolist() == [3, -4]


def test_a_name_that_is_nowhere_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sinn'"):
        ops.sinn


def test_every_operator_class_of_a_row_has_a_case() -> None:
    tested = {
        case[0] for m in (test_operator_classes, test_primitive_classes, test_special_classes) for case in m.CASES
    }
    tested |= {case[0] for case in (*test_primitive_classes.DELEGATED, *test_operator_classes.DATA_SIZED)}
    tested |= {case[0] for case in test_primitive_objects.WRITING}
    by_name = {"Geqrf", "Orgqr", "Ormqr", "Qr"}  # in tests of their own
    assert OPERATORS.keys() - tested == by_name | test_special_classes.OTHERS
