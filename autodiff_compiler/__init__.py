"""Graph-mode automatic differentiation for Python, with MindSpore's names.

    import autodiff_compiler as ms

Decorate a function with `ms.jit`, or switch with ``ms.set_context(mode=ms.GRAPH_MODE)``: Python control flow on Tensors
becomes one typed program, derivatives of any order included.
"""

from __future__ import annotations

from .command_line import end_quietly as _end_quietly

_end_quietly()  # before the rest is imported, which takes a while

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Never

from .environment import check_at_import as _check_at_import

_check_at_import()  # here, so that the traceback of a mistake is short

from . import eager as _eager  # attaches the operators of Tensor
from .config import GRAPH_MODE, PYNATIVE_MODE, check_nonfinite, disable_jit, get_context, set_context
from .config import backends as _backends
from .config import devices as _devices
from .dtypes import (
    NO_COMPLEX,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .errors import (
    AmbiguousTruthError,
    ArgumentError,
    AscendError,
    AscendMemoryError,
    AutodiffWarning,
    BpropError,
    BranchRaisesWarning,
    BypassWarning,
    CollectiveError,
    CollectiveTimeoutError,
    CompileError,
    DTypeError,
    DynamicShapeError,
    GradientError,
    GradientWarning,
    GuardError,
    HookError,
    InternalCompilerError,
    JoinError,
    LoopError,
    MissingAttributeError,
    NonFiniteError,
    NotDifferentiableError,
    ParameterError,
    RecompileWarning,
    RecursionDepthError,
    ShapeError,
    SideEffectError,
    SourceUnavailableError,
    StaticValueError,
    TooLittleMemoryError,
    UnboundVariableError,
    UnknownNameError,
    UnrollWarning,
    UnsupportedCallError,
    UnsupportedSyntaxError,
    did_you_mean,
)
from .keywords import answering as _answering
from .locks import importing as _importing
from .peer_names import PACKAGE as _PEERS
from .peer_names import of_ops as _of_ops
from .runtime.parameter import Parameter, ParameterTuple
from .runtime.tensor import Tensor
from .version import __version__

if TYPE_CHECKING:
    from . import amp, common, context, implicit, nn, ode, ops, train, tree
    from .amp import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
    from .common import dtype
    from .context import ParallelMode, get_current_device, run_check, set_auto_parallel_context, set_device
    from .inspection.irtext import parse_ir
    from .mindspore_names import as_mindspore
    from .nn.functional_call import functional_call
    from .profiling.benchmark import benchmark
    from .profiling.profile import profile
    from .runtime.mutable import mutable
    from .train.serialization import load_checkpoint, load_param_into_net, save_checkpoint
    from .transforms.classes import jit_class
    from .transforms.grad import GradOperation, get_grad, grad, value_and_grad
    from .transforms.host import TensorSpec, constexpr, py_call
    from .transforms.jacobian import hessian, hvp, jacfwd, jacrev, linearize
    from .transforms.jit import jit, ms_function
    from .transforms.jit_options import JitConfig
    from .transforms.jvp import jvp
    from .transforms.loops import keep, unroll
    from .transforms.recompute import recompute
    from .transforms.vjp import vjp
    from .transforms.vmap import vmap

#: Loaded when first asked for: the compiler costs nothing where only Tensors are used.
_LAZY = {
    "jit": "transforms.jit",
    "grad": "transforms.grad",
    "value_and_grad": "transforms.grad",
    "get_grad": "transforms.grad",
    "GradOperation": "transforms.grad",
    "TensorSpec": "runtime.host",
    "parse_ir": "inspection.irtext",
    "profile": "profiling.profile",
    "benchmark": "profiling.benchmark",
    "constexpr": "transforms.host",
    "jit_class": "transforms.classes",
    "py_call": "transforms.host",
    "jvp": "transforms.jvp",
    "vjp": "transforms.vjp",
    "jacrev": "transforms.jacobian",
    "jacfwd": "transforms.jacobian",
    "hessian": "transforms.jacobian",
    "hvp": "transforms.jacobian",
    "linearize": "transforms.jacobian",
    "vmap": "transforms.vmap",
    "keep": "transforms.loops",
    "unroll": "transforms.loops",
    "mutable": "runtime.mutable",
    "recompute": "transforms.recompute",
    "stop_gradient": "ops",
    "set_seed": "runtime.random",
    "get_seed": "runtime.random",
    "communication": "",
    "dataset": "",
    "frombuffer": "common.tensor",
    "get_level": "log",
    "get_log_config": "log",
    "empty_cache": "hal",
    "hal": "",
    "implicit": "",
    "ode": "",
    "tree": "",
    "functional_call": "nn.functional_call",
    "log": "",
    "mint": "",
    "ms_memory_recycle": "common.api",
    "numpy": "",
    "get_rng_state": "runtime.random",
    "set_rng_state": "runtime.random",
    "amp": "",
    "_Function": "transforms.function",
    "_no_grad": "eager.no_gradient",
    "as_mindspore": "mindspore_names",
    "common": "",
    "context": "",
    "experimental": "",
    "dtype": "common",
    "ms_function": "transforms.jit",
    "JitConfig": "transforms.jit_options",
    "enable_dynamic": "transforms.jit_options",
    "Symbol": "runtime.open_sizes",
    "lazy_inline": "transforms.jit_options",
    "no_inline": "transforms.jit_options",
    "is_tensor": "ops",
    "nn": "",
    "ops": "",
    "optim": "",
    "testing": "",
    "train": "",
    "DynamicLossScaleManager": "amp.loss_scale_manager",
    "FixedLossScaleManager": "amp.loss_scale_manager",
    "LossScaleManager": "amp.loss_scale_manager",
    "load_checkpoint": "train.serialization",
    "load_param_into_net": "train.serialization",
    "save_checkpoint": "train.serialization",
}
_LAZY |= dict.fromkeys(
    (
        *("Accuracy", "BackupAndRestore", "Callback", "CheckpointConfig", "ConfusionMatrix", "DatasetHelper", "Dice"),
        *("EarlyStopping", "F1", "Fbeta", "History", "LambdaCallback", "LearningRateScheduler", "Loss", "LossMonitor"),
        *("MAE", "MSE", "Metric", "Model", "ModelCheckpoint", "OnRequestExit", "Perplexity", "Precision", "Recall"),
        *("ReduceLROnPlateau", "RunContext", "TimeMonitor", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy"),
        *("TopKCategoricalAccuracy", "build_train_network", "get_metric_fn", "names", "rearrange_inputs"),
        *("async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint_async", "safetensors_to_ckpt"),
        *("ROC", "BleuScore", "ConfusionMatrixMetric", "CosineSimilarity", "HausdorffDistance", "MeanSurfaceDistance"),
        *("OcclusionSensitivity", "RootMeanSquareDistance", "auc"),
    ),
    "train",
)
_LAZY |= dict.fromkeys(
    (
        *("COMPATIBLE", "LAX", "STRICT", "ParallelMode", "get_auto_parallel_context", "get_current_device"),
        *("launch_blocking", "reset_auto_parallel_context", "run_check", "set_auto_parallel_context"),
        *("set_deterministic", "set_device", "set_recursion_limit", "synchronize"),
    ),
    "context",
)
_LAZY |= dict.fromkeys(("Generator", "default_generator", "initial_seed", "manual_seed", "seed"), "runtime.generators")
_LAZY |= dict.fromkeys(
    (
        *("TensorType", "Type", "bool", "byte", "double", "dtype_to_nptype", "dtype_to_pytype", "float", "float_"),
        *("get_py_obj_dtype", "half", "int", "int_", "intc", "intp", "issubclass_", "list_", "long", "number"),
        *("pytype_to_dtype", "short", "single", "string", "tensor_type", "tuple_", "type_none", "ubyte", "uint"),
        *("uintc", "uintp", "ulong", "ushort"),
    ),
    "common.dtype",
)

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "AmbiguousTruthError",
    "ArgumentError",
    "AscendError",
    "AscendMemoryError",
    "AutodiffWarning",
    "BpropError",
    "BranchRaisesWarning",
    "BypassWarning",
    "CollectiveError",
    "CollectiveTimeoutError",
    "CompileError",
    "DTypeError",
    "DynamicLossScaleManager",
    "DynamicShapeError",
    "FixedLossScaleManager",
    "GradOperation",
    "GradientError",
    "GradientWarning",
    "GuardError",
    "HookError",
    "InternalCompilerError",
    "JitConfig",
    "JoinError",
    "LoopError",
    "LossScaleManager",
    "MissingAttributeError",
    "NonFiniteError",
    "NotDifferentiableError",
    "ParallelMode",
    "Parameter",
    "ParameterError",
    "ParameterTuple",
    "RecompileWarning",
    "RecursionDepthError",
    "ShapeError",
    "SideEffectError",
    "SourceUnavailableError",
    "StaticValueError",
    "Tensor",
    "TensorSpec",
    "TooLittleMemoryError",
    "UnboundVariableError",
    "UnknownNameError",
    "UnrollWarning",
    "UnsupportedCallError",
    "UnsupportedSyntaxError",
    "__version__",
    "amp",
    "as_mindspore",
    "benchmark",
    "bfloat16",
    "bool_",
    "check_nonfinite",
    "common",
    "constexpr",
    "context",
    "disable_jit",
    "dtype",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "functional_call",
    "get_context",
    "get_current_device",
    "get_grad",
    "get_rng_state",
    "get_seed",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "int8",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacrev",
    "jit",
    "jit_class",
    "jvp",
    "keep",
    "linearize",
    "load_checkpoint",
    "load_param_into_net",
    "ms_function",
    "mutable",
    "nn",
    "ode",
    "ops",
    "parse_ir",
    "profile",
    "py_call",
    "recompute",
    "run_check",
    "save_checkpoint",
    "set_auto_parallel_context",
    "set_context",
    "set_device",
    "set_rng_state",
    "set_seed",
    "stop_gradient",
    "tensor",
    "train",
    "tree",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unroll",
    "value_and_grad",
    "vjp",
    "vmap",
]


@_answering
def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Any = None,
    init: Any = None,
    const_arg: bool = False,
    device: str | None = None,
    **unknown: Never,
) -> Tensor:
    """A new Tensor: MindSpore's function of that name, with the arguments and errors of the class `Tensor`.

    >>> tensor([1, 2], dtype=float32).tolist()
    [1.0, 2.0]
    """
    return Tensor(input_data, dtype, shape, init, const_arg, device, **unknown)


from_numpy = Tensor.from_numpy

tensor.__graph_call__ = lambda ctx, args, kwargs: ctx.call(Tensor, args, kwargs)  # type: ignore[attr-defined]


def _random_method(module: str, table: str, name: str) -> Any:
    """A Tensor's method that draws random numbers: its function is loaded at the first draw."""

    def function() -> Any:
        return getattr(importlib.import_module(f".ops.{module}", __name__), table)[name]

    def draw(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function()(x, *args, **kwargs)

    draw.__name__, draw.__qualname__ = name, f"Tensor.{name}"
    draw.__graph_call__ = lambda ctx, args, kwargs: ctx.call(function(), args, kwargs)  # type: ignore[attr-defined]
    return draw


for _name in ("bernoulli_", "exponential_", "normal_", "random_", "uniform_"):
    _eager.add_in_place(_name, _random_method("random_in_place", "RANDOM_IN_PLACE", _name))
for _name in ("bernoulli", "cauchy", "log_normal", "multinomial", "random_categorical", "uniform"):
    _eager.add_method(_name, _random_method("random_methods", "RANDOM_METHODS", _name))


def _use_ascend(number: int) -> None:
    from .compiler.devices import use_ascend

    use_ascend(number)


def _no_native() -> str | None:
    with _importing:
        from .backends.native.jit.machine import why_not

        reason = why_not()
        if reason is None:
            # all that is imported while programs are made, and ways into them
            from .backends.native import backend  # noqa: F401
            from .backends.native.callpath import choose  # noqa: F401
    return reason


_devices["Ascend"] = _use_ascend
_backends["native"] = _no_native


def __lacking__(name: str) -> str | None:
    """Advice on a name that is not here: why, or what comes near; compiled code asks for it too."""
    if name in ("complex64", "complex128"):
        return NO_COMPLEX
    return _PEERS.get(name) or _of_ops(name, __name__) or did_you_mean(name, __dir__())


def __getattr__(name: str) -> Any:
    where = _LAZY.get(name)
    if where is None:
        # `from . import name` asks here for modules that are not imported yet
        of_python = name.startswith("__") or importlib.util.find_spec(f"{__name__}.{name}") is not None
        advice = None if of_python else __lacking__(name)
        text = f"module {__name__!r} has no attribute {name!r}" + (f": {advice}" if advice else "")
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    found = importlib.import_module(f".{where or name}", __name__)
    value = getattr(found, name) if where else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__, *(name for name in _LAZY if not name.startswith("_"))})
