"""Execution mode, device and settings of the process; options of `jit` that are MindSpore's."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, context, nn
from autodiff_compiler.config import jit_disabled


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Puts back what a test changes."""
    from autodiff_compiler.config import context as process

    before = {name: process.get(name) for name in ("mode", "device_id", "deterministic", "max_call_depth")}
    yield
    ms.set_context(**before)
    context.reset_auto_parallel_context()


# ------------------------------------------------------------------------------------------------ modes and settings
def test_the_module_is_the_top_levels() -> None:
    assert (context.GRAPH_MODE, context.PYNATIVE_MODE) == (ms.GRAPH_MODE, ms.PYNATIVE_MODE) == (0, 1)
    context.set_context(mode=context.GRAPH_MODE)
    assert ms.get_context("mode") == context.GRAPH_MODE
    assert (context.STRICT, context.COMPATIBLE, context.LAX) == (ms.STRICT, ms.COMPATIBLE, ms.LAX) == (0, 1, 2)
    assert importlib.import_module("autodiff_compiler.context") is ms.context is context


def test_the_mode_decides_whether_a_cell_is_compiled() -> None:
    class Net(nn.Cell):
        def construct(self, x: Any) -> Any:
            return x if x.sum() > 0 else (x, x)  # compiled code has one structure after a branch

    net, x = Net(), Tensor([1.0, -3.0])
    assert net(x) == (x, x)
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ms.JoinError):
        net(x)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert net(-x).tolist() == [-1.0, 3.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pynative_synchronize", True),
        ("device_id", 0),
        ("max_call_depth", 50),
        ("deterministic", "ON"),
        ("jit_syntax_level", 0),
        ("jit_config", {"jit_level": "O0"}),
        ("ascend_config", {"precision_mode": "force_fp16"}),
        ("runtime_num_threads", 4),
    ],
)
def test_settings_without_effect_are_kept(name: str, value: Any) -> None:
    before = ms.get_context(name)
    ms.set_context(**{name: value})
    assert ms.get_context(name) == value
    ms.set_context(**{name: before})


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"mod": 0}, ValueError, "did you mean 'mode'"),
        ({"mode": 2}, ValueError, "GRAPH_MODE"),
        ({"device_target": "TPU"}, ValueError, "TPU"),
        ({"device_target": "GPU"}, RuntimeError, "no GPU device can be used"),
        ({"device_id": "0"}, TypeError, "int"),
        ({"device_id": -1}, ValueError, "negative"),
        ({"device_id": True}, TypeError, "bool"),
        ({"pynative_synchronize": 1}, TypeError, "bool"),
        ({"max_device_memory": "much"}, ValueError, "30GB"),
        ({"max_device_memory": "0GB"}, ValueError, "30GB"),
        ({"deterministic": "yes"}, ValueError, "'ON', 'OFF'"),
        ({"jit_level": "O9"}, ValueError, "'O2'"),
        ({"grad_for_scalar": True}, ValueError, "make it a Tensor"),
        ({"mode": ms.GRAPH_MODE, "max_call_depth": "deep"}, TypeError, "max_call_depth"),
    ],
)
def test_wrong_settings_change_nothing(settings: dict[str, Any], error: type[Exception], text: str) -> None:
    mode = ms.get_context("mode")
    with pytest.raises(error, match=text):
        ms.set_context(**settings)
    assert ms.get_context("mode") == mode


def test_an_unknown_setting_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="no setting 'mood'"):
        ms.get_context("mood")


# ------------------------------------------------------------------------------------------------ devices
def test_the_device_is_the_cpu() -> None:
    ms.set_device("CPU", 0)
    assert ms.get_context("device_target") == "CPU"
    assert ms.get_current_device() == ("CPU", 0)
    assert ms.get_current_device().device_target == "CPU"
    ms.synchronize()
    assert Tensor(1.0, device="CPU").item() == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("GPU",), RuntimeError), (("GPU", 0), RuntimeError), (("Abacus",), ValueError), ((0,), TypeError)],
)
def test_other_devices_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        ms.set_device(*arguments)
    assert ms.get_current_device() == ("CPU", 0)


def test_there_is_one_cpu() -> None:
    with pytest.raises(ValueError, match="one CPU"):
        ms.set_device("CPU", 1)


def test_settings_with_a_function_of_their_own() -> None:
    ms.set_deterministic(True)
    ms.set_recursion_limit(70)
    assert (ms.get_context("deterministic"), ms.get_context("max_call_depth")) == ("ON", 70)


# ------------------------------------------------------------------------------------------------ parallel training
def test_one_process_trains_in_data_parallel_mode_as_it_does_alone() -> None:
    weights = []
    for mode in (ms.ParallelMode.STAND_ALONE, ms.ParallelMode.DATA_PARALLEL):
        ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True, enable_parallel_optimizer=True)
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        optimizer = nn.Adam(net.trainable_params(), 0.1)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        assert step.reducer_flag is (mode == "data_parallel")
        assert optimizer.sharding is None
        step(Tensor([[1.0, 2.0]]), Tensor([[1.0]]))
        weights.append(net.weight.tolist())
    assert weights[0] == weights[1]
    assert (ms.get_auto_parallel_context("device_num"), ms.get_auto_parallel_context("global_rank")) == (1, 0)


def test_settings_of_one_device_are_kept() -> None:
    modes = ms.ParallelMode
    ms.set_auto_parallel_context(parallel_mode=modes.STAND_ALONE, gradients_mean=True, device_num=1)
    assert ms.get_auto_parallel_context("parallel_mode") not in (modes.DATA_PARALLEL, modes.HYBRID_PARALLEL)
    assert ms.get_auto_parallel_context("gradients_mean") is True
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("gradients_mean") is False


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"parallel_mode": "semi_auto_parallel"}, NotImplementedError),
        ({"parallel_mode": "auto_parallel"}, NotImplementedError),
        ({"pipeline_stages": 2}, NotImplementedError),
        ({"device_num": 8}, ValueError),
        ({"device_num": 0}, ValueError),
        ({"device_num": True}, TypeError),
        ({"global_rank": 1}, ValueError),
        ({"parameter_broadcast": 1}, TypeError),
        ({"all_reduce_fusion_config": 2}, TypeError),
        ({"all_reduce_fusion_config": [5, 5]}, ValueError),
        ({"parallel_mode": "alone"}, ValueError),
        ({"parallel_modes": "stand_alone"}, ValueError),
    ],
)
def test_what_is_not_there_is_refused(settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ms.set_auto_parallel_context(gradients_mean=True, **settings)
    assert ms.get_auto_parallel_context("gradients_mean") is False


# ------------------------------------------------------------------------------------------------ jit's arguments
def _double(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


@pytest.mark.parametrize(
    "options",
    [
        {"capture_mode": "bytecode"},
        {"jit_level": "O0", "backend": "ms_backend"},
        {"backend": "GE", "fullgraph": True, "dynamic": 1},
        {"jit_config": ms.JitConfig(jit_level="O1", jit_syntax_level="STRICT")},
        {"mode": "PSJit", "hash_args": (1,), "compile_once": False},
    ],
)
def test_mindspores_arguments_change_nothing(options: dict[str, Any]) -> None:
    for compiled in (ms.jit(_double, **options), ms.jit(**options)(_double)):
        assert compiled(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert compiled.cache_info()["compiles"] == 1


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"optimise": 0}, TypeError, "did you mean 'optimize'"),
        ({"jit_level": "O5"}, ValueError, "jit_level"),
        ({"capture_mode": "guess"}, ValueError, "capture_mode"),
        ({"dynamic": 3}, ValueError, "dynamic"),
        ({"backend": "cuda"}, ValueError, "cuda"),
        ({"jit_config": {"jit_level": "O0"}}, TypeError, "JitConfig"),
        ({"input_signature": ("x",)}, TypeError, "TensorSpec"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ms.jit(_double, **options)


def test_jit_config_keeps_its_options() -> None:
    config = ms.JitConfig("O1", debug_level="DEBUG", loop_limit=3)
    assert config.jit_config_dict["jit_level"] == "O1"
    assert config.jit_config_dict["loop_limit"] == 3
    with pytest.raises(ValueError, match="exc_mode"):
        ms.JitConfig(exc_mode="sometimes")


@pytest.mark.parametrize("spec", [Tensor(np.zeros(2, np.float32)), TensorSpec((2,), "float32")])
def test_an_input_signature_is_kept_to(spec: Any) -> None:
    compiled = ms.jit(_double, input_signature=spec)
    assert compiled(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match=r"float32\[2\] in the input_signature, and float32\[3\] in the call"):
        compiled(Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match=r"int64\[2\]"):
        compiled(Tensor([1, 2]))
    with pytest.raises(TypeError, match="2"):
        compiled(Tensor([1.0, 2.0]), Tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="not of type list"):
        compiled([1.0, 2.0])


def test_an_input_signature_of_a_method_leaves_out_its_object() -> None:
    class Scale:
        factor = 3

        @ms.jit(input_signature=(Tensor([0.0]), (Tensor(0), Tensor(0))))
        def apply(self, x: Any, parts: Any) -> Any:
            return x * self.factor + parts[0] - parts[1]

        def plain(self, x: Any) -> Any:
            return x * self.factor

    assert Scale().apply(Tensor([2.0]), (Tensor(5), Tensor(1))).tolist() == [10.0]
    with pytest.raises(TypeError, match="tuple of 2"):
        Scale().apply(Tensor([2.0]), (Tensor(5),))
    bound = ms.jit(Scale().plain, input_signature=Tensor([0.0]))
    assert bound(Tensor([2.0])).tolist() == [6.0]
    with pytest.raises(TypeError, match="argument 0"):
        bound(Tensor([2.0, 1.0]))


def test_the_name_that_jit_had_warns() -> None:
    with pytest.warns(DeprecationWarning, match="jit"):
        compiled = ms.ms_function(_double)
    assert compiled(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.warns(DeprecationWarning, match="jit"):
        made = ms.ms_function(input_signature=Tensor([0.0]))
    with pytest.raises(TypeError, match="input_signature"):
        made(_double)(Tensor([1.0, 2.0]))


def test_decorators_without_effect() -> None:
    assert ms.lazy_inline(_double) is ms.lazy_inline(policy="front")(_double) is ms.no_inline(_double) is _double


# ------------------------------------------------------------------------------------------------ the first try
def test_run_check_says_that_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    ms.run_check()
    assert "autodiff_compiler works on CPU" in capsys.readouterr().out


def test_the_version_has_one_place() -> None:
    from pathlib import Path

    from autodiff_compiler import version

    assert ms.__version__ == version.__version__
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f'version = "{version.__version__}"' in project.read_text("utf-8")


# ------------------------------------------------------------------------------------------------ in compiled code
@pytest.mark.parametrize(
    ("asked", "change", "back"),
    [
        (lambda: ms.get_context("mode"), lambda: ms.set_context(mode=0), lambda: ms.set_context(mode=1)),
        (lambda: ms.get_context(attr_key="max_call_depth"), lambda: ms.set_recursion_limit(7), None),
        (lambda: ms.get_seed() or 0, lambda: ms.set_seed(11), lambda: ms.set_seed(12)),
        (
            lambda: int(ms.get_auto_parallel_context("gradients_mean")),
            lambda: ms.set_auto_parallel_context(gradients_mean=True),
            ms.reset_auto_parallel_context,
        ),
        (lambda: ms.get_current_device().device_id, lambda: ms.set_device("CPU"), None),
    ],
)
def test_compiled_code_sees_another_setting(asked: Any, change: Any, back: Any) -> None:
    compiled = ms.jit(lambda x: x + asked())
    for step in (lambda: None, change, back or change):
        step()
        assert compiled(Tensor(1)).item() == 1 + asked()
        before = compiled.cache_info()["compiles"]
        assert compiled(Tensor(1)).item() == 1 + asked()
        assert compiled.cache_info()["compiles"] == before


@pytest.mark.parametrize(
    "call",
    [
        lambda: ms.set_context(mode=0),
        lambda: ms.set_seed(1),
        ms.get_rng_state,
        lambda: ms.set_device("CPU"),
        lambda: ms.set_auto_parallel_context(gradients_mean=True),
        ms.run_check,
    ],
)
def test_settings_are_not_changed_by_compiled_code(call: Any) -> None:
    def changing(x: Any) -> Any:
        call()
        return x

    with pytest.raises(ms.SideEffectError, match=r"\[AC1604\].* would be called once"):
        ms.jit(changing)(Tensor(1.0))


def test_threads_that_disable_jit_leave_it_as_it_was() -> None:
    def use() -> None:
        for _ in range(300):
            with ms.disable_jit():
                pass

    before, interval = jit_disabled(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert jit_disabled() == before
