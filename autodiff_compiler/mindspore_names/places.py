"""The table from MindSpore's modules to the modules of this package that have their names."""

from __future__ import annotations

__all__ = ["ABSENT", "ALIASES", "PLACES", "VALUES", "VERSION"]

#: The release of MindSpore whose names and arguments this package has; what `mindspore.__version__` says.
VERSION = "2.10.0"

_LAYERS = (
    "activation basic channel_shuffle combined container conv dense embedding image math normalization padding pooling "
    "rnn_cells rnns timedistributed transformer"
)
_OPS_FUNCTIONS = (
    "array_func clip_func debug_func fft_func image_func linalg_func math_func nn_func other_func parameter_func "
    "random_func spectral_func vmap_func"
)
_OPERATOR_CLASSES = (
    "array_ops control_ops custom_ops debug_ops image_ops inner_ops linalg_ops manually_defined math_ops nn_ops "
    "other_ops random_ops spectral_ops _inner_ops _sequence_ops _scalar_ops"
)
_METRICS = (
    "accuracy auc bleu_score confusion_matrix cosine_similarity dice error fbeta hausdorff_distance loss "
    "mean_surface_distance metric occlusion_sensitivity perplexity precision recall roc "
    "root_mean_square_surface_distance topk"
)
_CALLBACKS = (
    "_backup_and_restore _callback _checkpoint _early_stop _flops_collector _history _lambda_callback _loss_monitor "
    "_lr_scheduler_callback _on_request_exit _reduce_lr_on_plateau _summary_collector _time_monitor"
)

#: Modules of MindSpore (without their root) and the modules of this package that have their names, in the order in
#: which these are asked.  The package itself is ".".
PLACES: dict[str, str] = {
    "": ".",
    "amp": "amp",
    "common": "common .",
    "common.api": "common.api .",
    "common.dtype": "common.dtype",
    "common.generator": "common.generator",
    "common.hook_handle": "common.hook_handle",
    "common.initializer": "common.initializer",
    "common.jit_config": "transforms.jit_options",
    "common.lazy_inline": "transforms.jit_options",
    "common.mutable": "runtime.mutable",
    "common.no_inline": "transforms.jit_options",
    "common.parameter": "common.parameter",
    "common.recompute": "transforms.recompute",
    "common.seed": "common.seed common.generator",
    "common.tensor": "common.tensor .",
    "communication": "communication",
    "communication.comm_func": "communication.comm_func",
    "communication.management": "communication.management",
    "context": "context",
    "dataset": "dataset",
    "dataset.config": "dataset.config",
    "dataset.core": "dataset",
    "dataset.core.config": "dataset.config",
    "dataset.engine": "dataset",
    "dataset.engine.datasets": "dataset",
    "dataset.engine.datasets_user_defined": "dataset",
    "dataset.engine.samplers": "dataset.samplers",
    "dataset.samplers": "dataset.samplers",
    "dataset.transforms": "dataset.transforms",
    "dataset.transforms.transforms": "dataset.transforms",
    "dataset.vision": "dataset.vision",
    "dataset.vision.transforms": "dataset.vision",
    "dataset.vision.utils": "dataset.vision",
    "device_manager": "context",
    "experimental": "experimental",
    "graph": "common.api .",
    "graph.api": "common.api .",
    "graph.jit_config": "transforms.jit_options",
    "graph.lazy_inline": "transforms.jit_options",
    "hal": "hal",
    "log": "log",
    "mint": "mint",
    "mint.distributed": "mint.distributed",
    "mint.distributed.distributed": "mint.distributed",
    "mint.linalg": "mint.linalg",
    "mint.nn": "mint.nn",
    "mint.nn.functional": "mint.nn.functional",
    "mint.special": "mint.special",
    "nn": "nn",
    "nn.cell": "nn.cell",
    "nn.dynamic_lr": "nn.dynamic_lr",
    "nn.grad": "nn",
    "nn.grad.cell_grad": "nn",
    "nn.layer": "nn",
    "nn.learning_rate_schedule": "nn.learning_rate_schedule",
    "nn.loss": "nn",
    "nn.loss.loss": "nn",
    "nn.metrics": "nn.metrics train.metrics",
    "nn.optim": "optim",
    "nn.optim.ada_grad": "optim.adagrad",
    "nn.optim.adadelta": "optim.adagrad",
    "nn.optim.adafactor": "optim.adafactor",
    "nn.optim.adam": "optim.adam",
    "nn.optim.adamax": "optim.adam",
    "nn.optim.asgd": "optim",
    "nn.optim.ftrl": "optim",
    "nn.optim.lamb": "optim.layerwise",
    "nn.optim.lars": "optim.layerwise",
    "nn.optim.lazyadam": "optim",
    "nn.optim.momentum": "optim.momentum",
    "nn.optim.optimizer": "optim.optimizer",
    "nn.optim.proximal_ada_grad": "optim",
    "nn.optim.rmsprop": "optim.rmsprop",
    "nn.optim.rprop": "optim",
    "nn.optim.sgd": "optim",
    "nn.utils": "nn",
    "nn.utils.init": "nn",
    "nn.wrap": "nn.wrap",
    "nn.wrap.cell_wrapper": "nn.wrap.cell_wrapper nn",
    "nn.wrap.grad_reducer": "nn.wrap.grad_reducer",
    "nn.wrap.loss_scale": "nn.wrap.loss_scale nn.wrap",
    "numpy": "numpy",
    "numpy.array_creations": "numpy",
    "numpy.array_ops": "numpy",
    "numpy.dtypes": "numpy",
    "numpy.logic_ops": "numpy",
    "numpy.math_ops": "numpy",
    "numpy.fft": "numpy.fft",
    "ops": "ops",
    "ops._primitive_cache": "ops.primitive_cache",
    "ops.auto_generate": "ops ops.operations",
    "ops.communication": "ops.communication",
    "ops.composite": "ops.composite ops",
    "ops.composite.base": "ops.composite ops",
    "ops.composite.math_ops": "ops.composite ops",
    "ops.function": "ops",
    "ops.function.grad": "ops",
    "ops.function.grad.grad_func": "ops",
    "ops.functional": "ops",
    "ops.operations": "ops.operations",
    "ops.primitive": "ops.primitive",
    "runtime": "hal",
    "train": "train",
    "train.amp": "train.amp amp",
    "train.callback": "train.callback train",
    "train.dataset_helper": "train",
    "train.loss_scale_manager": "train.loss_scale_manager",
    "train.metrics": "train nn.metrics",
    "train.model": "train.model train",
    "train.serialization": "train.serialization train",
    "version": "version",
}
PLACES |= dict.fromkeys([f"nn.layer.{name}" for name in _LAYERS.split()], "nn")
PLACES |= dict.fromkeys([f"ops.function.{name}" for name in _OPS_FUNCTIONS.split()], "ops")
PLACES |= dict.fromkeys([f"ops.operations.{name}" for name in _OPERATOR_CLASSES.split()], "ops.operations")
PLACES |= dict.fromkeys([f"train.metrics.{name}" for name in _METRICS.split()], "train nn.metrics")
PLACES |= dict.fromkeys([f"train.callback.{name}" for name in _CALLBACKS.split()], "train.callback train")
PLACES["train.callback._callback"] = "train.callback._callback train.callback train"
PLACES |= {
    f"experimental.optim{name}": f"experimental.optim{name if name == '.lr_scheduler' else ''}"
    for name in (
        *("", ".adadelta", ".adagrad", ".adam", ".adamax", ".adamw", ".asgd", ".lr_scheduler", ".nadam"),
        *(".optimizer", ".radam", ".rmsprop", ".rprop", ".sgd"),
    )
}

#: Modules that are attributes under another name than their own.
ALIASES = {"dtype": "common.dtype"}

#: Modules that hide behind a function or class of the same name in the module above: ``ops.function.grad`` is the
#: function, and ``from mindspore.ops.function.grad import grad`` finds the module.
VALUES = {
    "common.lazy_inline",
    "common.mutable",
    "common.no_inline",
    "common.recompute",
    "common.seed",
    "ops.function.grad",
}

#: Why modules of MindSpore's are not here, by the beginning of their names.
ABSENT = {
    **dict.fromkeys(("COOTensor", "CSRTensor", "RowTensor", "SparseTensor"), "sparse Tensors are not supported"),
    **dict.fromkeys(("Profiler", "profiler"), "profiles come from Python's profilers"),
    **dict.fromkeys(("SummaryCollector", "SummaryRecord"), "no event files are written: callbacks print values"),
    "_c_expression": "it is MindSpore's own machinery",
    "_extends": "it is MindSpore's own machinery",
    "boost": "there is one process and one device",
    "dataset.audio": "data comes from Python's iterables and NumPy's arrays",
    "dataset.text": "data comes from Python's iterables and NumPy's arrays",
    "mindrecord": "files of that format are not read; `dataset` takes Python's iterables and NumPy's arrays",
    "mint.optim": "`experimental.optim` and `nn` have optimizers",
    "nn.probability": "distributions are written with `ops`, or taken from SciPy",
    "ops._grad_experimental": "a derivative of one's own is a `bprop`, `ops.custom_vjp`, or a Primitive's `get_bprop`",
    "parallel": "there is one process and one device",
    "rewrite": "a network is changed by its attributes",
    "scipy": "SciPy's functions take NumPy's arrays; `ops` and `numpy` have the differentiable ones",
}
