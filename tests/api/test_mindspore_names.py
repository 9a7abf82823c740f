"""``import mindspore`` within `as_mindspore`: the same objects under their names, and clear errors for the rest."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import autodiff_compiler as ac
from autodiff_compiler.communication import comm_func
from autodiff_compiler.mindspore_names import absent, as_mindspore
from autodiff_compiler.mindspore_names.importer import sources
from autodiff_compiler.mindspore_names.places import ALIASES, PLACES, VALUES
from autodiff_compiler.mint import distributed
from autodiff_compiler.ops import communication as ops_communication


@pytest.fixture
def mindspore() -> Iterator[Any]:
    """The module, for one test."""
    with as_mindspore() as module:
        yield module


SAME = [
    ("import mindspore as m", "m.Tensor", ac.Tensor),
    ("import mindspore.nn as m", "m.Dense", ac.nn.Dense),
    ("import mindspore.ops.operations as m", "m.Add", ac.ops.Add),
    ("from mindspore.ops import functional as m", "m.grad", ac.grad),
    ("from mindspore.ops import composite as m", "m.GradOperation", ac.GradOperation),
    ("from mindspore.ops.function.grad.grad_func import vjp as m", "m", ac.vjp),
    ("from mindspore.ops.function.grad import grad as m", "m", ac.grad),
    ("from mindspore.ops.function import grad as m", "m", ac.grad),
    ("from mindspore.common.mutable import mutable as m", "m", ac.mutable),
    ("from mindspore.common.initializer import Normal as m", "m", ac.common.initializer.Normal),
    ("from mindspore.common.api import jit as m", "m", ac.jit),
    ("from mindspore.common import dtype as m", "m.float32", ac.float32),
    ("from mindspore import dtype as m", "m.float32", ac.float32),
    ("from mindspore.common.generator import Generator as m", "m", ac.Generator),
    ("from mindspore.nn.layer.activation import get_activation as m", "m", ac.nn.get_activation),
    ("from mindspore.nn.layer.basic import Dense as m", "m", ac.nn.Dense),
    ("from mindspore.nn.loss.loss import LossBase as m", "m", ac.nn.LossBase),
    ("from mindspore.nn.wrap.cell_wrapper import WithLossCell as m", "m", ac.nn.WithLossCell),
    ("from mindspore.nn.optim.momentum import Momentum as m", "m", ac.nn.Momentum),
    ("from mindspore.nn.learning_rate_schedule import CosineDecayLR as m", "m", ac.nn.CosineDecayLR),
    ("from mindspore.train.serialization import save_checkpoint as m", "m", ac.save_checkpoint),
    ("from mindspore.train.loss_scale_manager import FixedLossScaleManager as m", "m", ac.FixedLossScaleManager),
    ("from mindspore.communication.management import get_group_size as m", "m()", 1),
    ("from mindspore.communication.comm_func import all_reduce as m", "m", comm_func.all_reduce),
    ("from mindspore.mint.distributed import all_gather as m", "m", distributed.all_gather),
    ("from mindspore.ops.communication import all_reduce as m", "m", ops_communication.all_reduce),
    ("from mindspore.nn.wrap.grad_reducer import DistributedGradReducer as m", "m", ac.nn.DistributedGradReducer),
    ("import mindspore", "mindspore.nn.layer.activation.ReLU", ac.nn.ReLU),
    ("import mindspore", "mindspore.common.mutable", ac.mutable),
    ("import mindspore.common.mutable", "mindspore.common.mutable", ac.mutable),
    ("import mindspore.ops.function.grad.grad_func", "mindspore.ops.function.grad", ac.grad),
    ("import mindspore", "mindspore.context.GRAPH_MODE", ac.GRAPH_MODE),
    ("import mindspore", "mindspore.bool", ac.bool_),
]


@pytest.mark.parametrize(("statement", "expression", "expected"), SAME)
def test_a_name_is_the_same_object(mindspore: Any, statement: str, expression: str, expected: Any) -> None:
    space: dict[str, Any] = {}
    exec(statement, space)
    assert eval(expression, space) == expected


def test_every_module_has_every_public_name_of_its_sources(mindspore: Any) -> None:
    found = 0
    for place in PLACES:
        if not sources(place):
            continue
        space: dict[str, Any] = {}
        exec(f"from {'.'.join(filter(None, ('mindspore', place)))} import *", space)
        public = {n for source in sources(place) for n in getattr(source, "__all__", ()) if not n.startswith("__")}
        values = {n for n in public if not isinstance(_first(place, n), types.ModuleType)}
        assert not values - space.keys(), place
        for name in values:
            assert space[name] is _first(place, name) or isinstance(space[name], types.ModuleType), (place, name)
        found += len(values)
    assert found > 5000
    assert {*ALIASES.values(), *VALUES} <= PLACES.keys()


def test_all_names_at_once_hide_none_of_pythons_but_those_that_mindspore_hides(mindspore: Any) -> None:
    space: dict[str, Any] = {}
    exec("from mindspore import *", space)
    assert {"Tensor", "vmap", "manual_seed", "load_checkpoint", "float32"} <= space.keys()
    assert not {"bool", "int", "float", "nn", "ops"} & space.keys()


def _first(place: str, name: str) -> Any:
    return next(getattr(s, name) for s in sources(place) if hasattr(s, name))


MISSING = [
    ("from mindspore.nn import Dens", ImportError, "cannot import name 'Dens' from 'mindspore.nn': use `Dense`"),
    ("import mindspore.nnn", ModuleNotFoundError, "No module named 'mindspore.nnn': use `nn`"),
    ("import mindspore.nn.probability", ModuleNotFoundError, "No module named 'mindspore.nn.probability'"),
    ("from mindspore.ops import GradOperatio", ImportError, "use `GradOperation`"),
    ("from mindspore.common.dtype import float3", ImportError, "`float32`"),
    ("from mindspore.ops.operations import Reshard", ImportError, "each process has one device"),
    ("from mindspore.nn import GradOperation", ImportError, "it is `mindspore.GradOperation`"),
    ("from mindspore.nn import Conv2D", ImportError, "use `Conv2d`, or `mindspore.ops.Conv2D`"),
    ("from mindspore.nn import DENSE", ImportError, "use `Dense`;"),
    ("from mindspore import complex64", ImportError, "complex"),
    ("import mindspore; mindspore.nn.Dens", AttributeError, "'mindspore.nn' has no attribute 'Dens': use `Dense`"),
    ("from mindspore.dataset import MnistDataset", ImportError, "arrays to `GeneratorDataset` or `NumpySlicesDataset`"),
    ("import mindspore.dataset as ds; ds.VOCDataset", AttributeError, "read the files yourself (NumPy, PIL"),
    ("from mindspore.dataset.vision import Decode", ImportError, "neither decoded nor encoded: PIL"),
    ("from mindspore.train.serialization import export", ImportError, "MindIR, and files for other programs"),
    ("from mindspore.train.callback import SummaryCollector", ImportError, "no event files are written"),
    ("from mindspore.nn.optim.thor import thor", ModuleNotFoundError, "No module named"),
    ("import mindspore; mindspore.Tensr", AttributeError, "use `Tensor`"),
    ("import mindspore; mindspore.optim", AttributeError, "module 'mindspore' has no attribute 'optim'"),
]


@pytest.mark.parametrize(("statement", "kind", "says"), MISSING)
def test_a_missing_name_says_which_what_comes_near_and_where_the_list_is(
    mindspore: Any, statement: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind) as caught:
        exec(statement, {})
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert "docs/migration.md" in str(caught.value)


def test_reasons_are_given_for_names_that_are_not_here_and_for_no_others() -> None:
    modules = {"mindspore": ac} | {
        f"mindspore.{place}": importlib.import_module(f"autodiff_compiler.{place}")
        for place in ("nn", "train", "dataset", "dataset.transforms", "dataset.vision", "mint")
    }
    for entry in absent.entries():
        for section, names in entry["names"].items():
            for name in names.split() if section in modules else ():
                assert not hasattr(modules[section], name), f"{section}.{name} is there: take it out of absent.toml"


def test_programs_that_try_a_name_first_go_on(mindspore: Any) -> None:
    space: dict[str, Any] = {}
    exec(
        "try:\n    from mindspore.nn import SomethingNew as f\n"
        "except ImportError:\n    from mindspore.nn import ReLU as f\n"
        "try:\n    import mindspore.lite\nexcept ModuleNotFoundError as e:\n    name = e.name",
        space,
    )
    assert space["f"] is ac.nn.ReLU
    assert space["name"] == "mindspore.lite"
    assert getattr(mindspore, "nothing_of_this_name", 3) == 3
    assert not hasattr(mindspore.nn, "__wrapped__")


def test_tools_that_look_at_modules_find_what_they_expect(mindspore: Any) -> None:
    assert importlib.util.find_spec("mindspore.lite") is None
    spec = importlib.util.find_spec("mindspore.nn")
    assert spec is not None
    assert spec.name == "mindspore.nn"
    nn = mindspore.nn
    assert nn.Dense is ac.nn.Dense
    assert importlib.reload(nn) is nn
    assert importlib.reload(mindspore).nn.Dense is ac.nn.Dense
    assert (mindspore.__name__, mindspore.__file__) == ("mindspore", ac.__file__)
    assert {"Dense", "layer", "loss"} <= {*dir(nn)}
    assert "Dense" in nn.__all__
    assert pickle.loads(b"cmindspore.common.tensor\nTensor\n.") is ac.Tensor
    assert pickle.loads(pickle.dumps(mindspore.nn.ReLU)) is ac.nn.ReLU


def test_the_version_is_that_of_the_names(mindspore: Any) -> None:
    from mindspore.version import __version__  # type: ignore[import-not-found]

    assert mindspore.__version__ == __version__ == "2.10.0"
    assert ac.__version__ != __version__


def test_compiled_code_uses_the_names(mindspore: Any) -> None:
    ops = importlib.import_module("mindspore.ops")

    @mindspore.jit
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return mindspore.ops.relu(x) * ops.ones((2,), mindspore.float32)
        return mindspore.numpy.negative(x)

    assert f(mindspore.Tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert f(mindspore.Tensor([-1.0, 0.5])).tolist() == [1.0, -0.5]
    with pytest.raises(AttributeError, match=r"use `abs`; docs/migration\.md"):
        mindspore.jit(lambda x: ops.abss(x))(mindspore.Tensor(1.0))


def test_a_name_replaced_by_the_user_is_seen_by_compiled_code(mindspore: Any) -> None:
    ops = importlib.import_module("mindspore.ops")
    f = mindspore.jit(lambda x: ops.abs(x))
    assert f(mindspore.Tensor(-2.0)).item() == 2.0
    ops.abs = lambda x: x * 10
    assert f(mindspore.Tensor(-2.0)).item() == -20.0
    assert ac.ops.abs(ac.Tensor(-2.0)).item() == 2.0


def test_the_mapping_ends_with_its_block() -> None:
    assert "mindspore" not in sys.modules
    with as_mindspore() as outer:
        with as_mindspore() as inner:
            assert inner is outer
        import mindspore.nn as nn  # type: ignore[import-not-found]

        assert sys.modules["mindspore.nn"] is nn
    assert not [name for name in sys.modules if name.partition(".")[0] == "mindspore"]
    assert nn.Dense is ac.nn.Dense
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("mindspore")
    assert "docs/migration.md" not in str(caught.value)


def test_mindspore_itself_is_not_replaced_once_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = types.ModuleType("mindspore")
    real.__file__ = "/somewhere/mindspore/__init__.py"
    monkeypatch.setitem(sys.modules, "mindspore", real)
    with pytest.raises(ImportError, match=r"already imported, from /somewhere/.*before the first `import mindspore`"):
        as_mindspore()
    assert sys.modules["mindspore"] is real


def test_mindspore_is_not_looked_at_if_it_is_installed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("raise SystemExit('the real one')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with as_mindspore() as mindspore:
        assert mindspore.Tensor is ac.Tensor


def test_the_names_cost_nothing_until_they_are_used() -> None:
    program = """
import sys
import autodiff_compiler
autodiff_compiler.as_mindspore()
import mindspore
from mindspore import Tensor, context
print(*[m for m in ("nn", "ops", "frontend", "train", "numpy", "dataset") if f"autodiff_compiler.{m}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
