"""MindSpore's `Primitive`: the class of all operators as objects, and the base of those that users define."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import check_device
from ..dtypes import dtype_of
from ..eager.custom import constant_of, custom
from ..errors import NotDifferentiableError, UnsupportedCallError, users_frames
from ..runtime import epoch
from ..runtime.host import TensorSpec, checked, filled, spec_leaves
from ..runtime.mutable import NUMBER_DTYPE
from ..runtime.rules import bound
from ..runtime.tensor import Tensor, wrap
from ..runtime.trees import replaced
from ..transforms.host import constexpr, py_call

__all__ = [
    "OPERATORS",
    "Primitive",
    "PrimitiveWithCheck",
    "PrimitiveWithInfer",
    "constexpr",
    "prim_arg_register",
    "prim_attr_register",
]

#: What gives the class of one of the package's own operators, by name.
OPERATORS: dict[str, Callable[[], Any]] = {}


class Primitive:
    """An operator as an object: what is constant is given when it is made, Tensors when it is called.

    A subclass of the user's computes in ``vm_impl(self, *inputs)``, which gets Tensors and returns Tensors or ndarrays;
    it runs as plain Python, also in compiled code.  There `infer_shape` and `infer_dtype` (or `__infer__`) say what it
    will return; it is held to that in both modes.  ``get_bprop(self)`` returns its derivative, ``bprop(*inputs, out,
    dout)``, which is compiled and differentiated like other code.  Without a `vm_impl` the operator of the same name
    runs, ``Primitive("Add")``.

    UnsupportedCallError: there is nothing to compute it with, or, in compiled code, nothing that says what it returns.
    TypeError: a subclass has a derivative that nothing would call: a `bprop` that no `get_bprop` returns, or a
    `get_bprop` beside a `__call__` of its own without a `vm_impl`.

    >>> class Double(PrimitiveWithInfer):
    ...     def __init__(self):
    ...         super().__init__("Double")
    ...
    ...     def infer_shape(self, x):
    ...         return x
    ...
    ...     def infer_dtype(self, x):
    ...         return x
    ...
    ...     def vm_impl(self, x):
    ...         return x.asnumpy() * 2
    ...
    ...     def get_bprop(self):
    ...         return lambda x, out, dout: (dout * 2,)
    >>> Double()(Tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.instance_name = ""
        self.attrs: dict[str, Any] = {}
        self.init_attrs: dict[str, Any] = {"name": name}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        derived = getattr(cls, "get_bprop", None) is not None
        if derived and "__call__" in cls.__dict__ and getattr(cls, "vm_impl", None) is None:
            raise TypeError(
                f"{cls.__name__} overrides __call__, so its get_bprop would have no effect; compute in `vm_impl`"
            )
        if not derived and isinstance(cls.__dict__.get("bprop"), types.FunctionType):
            raise TypeError(
                f"the bprop of {cls.__name__} would have no effect: define `get_bprop(self)`, which returns it"
            )

    # ------------------------------------------------------------------------------------------------ attributes
    def __setattr__(self, name: str, value: Any) -> None:
        space = self.__dict__
        space[name] = value
        if "_changes" in space:  # compiled code depends on it
            space["_changes"] += 1
            epoch.bump()

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Sets an attribute, which the `repr` shows; returns the primitive."""
        self.attrs[name] = value
        setattr(self, name, value)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Removes an attribute that `add_prim_attr` set; returns the primitive."""
        if name in self.attrs:
            del self.attrs[name]
            self.__dict__.pop(name, None)
            self.instance_name = self.instance_name  # noticed as a change
        return self

    def init_prim_io_names(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Names the inputs and outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Sets `instance_name`; returns the primitive."""
        self.instance_name = name
        return self

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Notes attributes without effect, as there is one device; returns the primitive."""
        return self.add_prim_attr("in_strategy", in_strategy).add_prim_attr("out_strategy", out_strategy)

    def set_stage(self, stage: int) -> Primitive:
        """Notes an attribute without effect, as there is one device; returns the primitive."""
        return self.add_prim_attr("stage", stage)

    def place(self, role: str, rank_id: int) -> None:
        """Accepted and without effect, as there is one process."""

    def set_device(self, device_target: str) -> Primitive:
        """Accepts the "CPU", where everything runs; returns the primitive.  RuntimeError for another device."""
        check_device(device_target)
        return self

    def recompute(self, mode: bool = True) -> Primitive:
        """Accepted and without effect on values: rematerialisation is decided by the compiler; returns itself."""
        return self

    def __repr__(self) -> str:
        shown = [f"{k}={v}" for k, v in self.attrs.items() if k not in ("input_names", "output_names")]
        return f"Prim[{self.name}]" + (f"<{', '.join(shown)}>" if shown else "")

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_changes"}

    # ------------------------------------------------------------------------------------------------ calls
    @users_frames
    def __call__(self, *args: Any) -> Any:
        body = getattr(self, "vm_impl", None)
        if body is None:
            return _of_same_name(self)(*args)
        promise = self._promise(args, _inference_argument)
        what, rule = _derivative(self)
        values, names, refusal = bound(body, rule, what, args, {}) if rule else (list(args), [], _none(self))
        given = replaced(args, constant_of)  # the body may write into what it is given: it has values of its own
        return custom(lambda: _checked_results(self, body(*given), promise), values, names, rule, what, refusal)  # type: ignore[arg-type]

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if ctx.outside.class_attribute(type(self), "__call__") is not Primitive.__call__:
            return self._own_call(ctx, args, kwargs)
        self._watch(ctx)
        body = getattr(self, "vm_impl", None)
        if body is None:
            return ctx.call(_of_same_name(self), args, kwargs)
        run = _Hosted(self, body)
        what, rule = _derivative(self)
        values, names, refusal = bound(body, rule, what, args, kwargs) if rule else (args, [], _none(self))
        return ctx.call_with_rule(run, values, names, rule, what, refusal)

    def _own_call(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The `__call__` that a user's subclass defines."""
        defining = next(c for c in type(self).__mro__ if "__call__" in c.__dict__)
        return ctx.call_python(defining.__dict__["__call__"], [self, *args], kwargs, (defining, self))

    def _watch(self, ctx: Any) -> None:
        """Guards the attributes of this object: compiled code depends on them."""
        space = self.__dict__
        space.setdefault("_changes", 0)
        what = f"the number of changes to the attributes of {self!r}"
        ctx.outside.guard(("primitive", id(self)), what, lambda: space["_changes"], space["_changes"], watched=True)

    def _promise(self, args: Sequence[Any], described: Callable[[Any], dict[str, Any]]) -> Any:
        """The inferred shape and dtype of a call's result; NOTHING_SAID without an inference."""
        if type(self).__infer__ is Primitive.__infer__:
            return NOTHING_SAID
        found = self.__infer__(*[described(a) for a in args])
        return NOTHING_SAID if found is None else _as_specs(found["shape"], found["dtype"])

    def __infer__(self, *inputs: dict[str, Any]) -> dict[str, Any] | None:
        """The "shape" and "dtype" of the result, given those and the "value" of each input."""
        return None


class PrimitiveWithInfer(Primitive):
    """A `Primitive` whose `infer_shape` and `infer_dtype` give those of the result from those of the inputs."""

    def infer_shape(self, *shapes: Any) -> Any:
        """The shape of the result; a tuple of shapes for a tuple of results."""
        return None

    def infer_dtype(self, *dtypes: Any) -> Any:
        """The dtype of the result; a tuple of dtypes for a tuple of results."""
        return None

    def __infer__(self, *inputs: dict[str, Any]) -> dict[str, Any] | None:
        dtype = self.infer_dtype(*[x["dtype"] for x in inputs])
        shape = self.infer_shape(*[x["shape"] for x in inputs])
        return None if dtype is None or shape is None else {"shape": shape, "dtype": dtype, "value": None}


class PrimitiveWithCheck(PrimitiveWithInfer):
    """A `Primitive` that refuses inputs in `check_shape` and `check_dtype`, or in `__check__`."""

    def check_shape(self, *shapes: Any) -> None:
        """Raises if the shapes of the inputs do not fit."""

    def check_dtype(self, *dtypes: Any) -> None:
        """Raises if the dtypes of the inputs do not fit."""

    def __check__(self, *inputs: dict[str, Any]) -> None:
        """Raises if the inputs do not fit."""
        self.check_dtype(*[x["dtype"] for x in inputs])
        self.check_shape(*[x["shape"] for x in inputs])

    def __infer__(self, *inputs: dict[str, Any]) -> dict[str, Any] | None:
        self.__check__(*inputs)
        return super().__infer__(*inputs)


def prim_attr_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorates the `__init__` of a primitive: its arguments become attributes; the class' name is the primitive's.

    >>> class Scale(PrimitiveWithInfer):
    ...     @prim_attr_register
    ...     def __init__(self, factor=2.0):
    ...         pass
    >>> Scale(3.0), Scale().factor
    (Prim[Scale]<factor=3.0>, 2.0)
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self, getattr(type(self), "substitute_name", type(self).__name__))
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            self.add_prim_attr(name, value)
            self.init_attrs[name] = value
        fn(self, *args, **kwargs)

    init.decorated_func = fn  # type: ignore[attr-defined]
    return init


prim_arg_register = prim_attr_register


# ------------------------------------------------------------------------------------------------ what users define
class _NothingSaid:
    def __repr__(self) -> str:
        return "nothing said"


#: The promise of a primitive without inference functions.
NOTHING_SAID = _NothingSaid()


def _of_same_name(primitive: Primitive) -> Any:
    """The package's operator of that name with the primitive's attributes for its constants."""
    known = OPERATORS.get(primitive.name)
    cls = known() if known else None
    if cls is None or isinstance(primitive, cls):
        raise UnsupportedCallError(
            f"there is nothing to compute {primitive!r} with",
            hint=f"define `vm_impl(self, ...)` in {type(primitive).__name__}",
        )
    return cls(**{k: primitive.attrs[k] for k in cls._constants().parameters if k in primitive.attrs})


def _derivative(primitive: Primitive) -> tuple[str, Callable[..., Any] | None]:
    """The name of the derivative in messages, and the function that `get_bprop` gives."""
    get = getattr(primitive, "get_bprop", None)
    return f"the bprop of {primitive.name}", None if get is None else get()


def _none(primitive: Primitive) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{primitive.name} has no derivative, and a gradient arrives at its result",
        hint=f"define `get_bprop(self)` in {type(primitive).__name__}, or put stop_gradient around the result",
    )


def _inference_argument(x: Any) -> dict[str, Any]:
    """An argument as inference functions get it."""
    if isinstance(x, Tensor):
        return {"shape": list(x.shape), "dtype": x.dtype, "value": None}
    return _of_parts(x, _inference_argument)


def _of_parts(x: Any, described: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """A static argument, or a tuple or list."""
    if isinstance(x, tuple | list):
        inner = [described(part) for part in x]
        return {key: tuple([d[key] for d in inner]) for key in ("shape", "dtype", "value")}
    return {"shape": [], "dtype": NUMBER_DTYPE.get(type(x), type(x)), "value": x}


def _as_specs(shape: Any, dtype: Any) -> Any:
    if isinstance(dtype, tuple | list):
        return tuple(map(_as_specs, shape, dtype))
    return TensorSpec(shape, dtype_of(dtype))


def _checked_results(primitive: Primitive, found: Any, promise: Any) -> Any:
    """The results of a `vm_impl` as Tensors; TypeError or ValueError if they break the inference's promise."""
    if promise is NOTHING_SAID:
        return _as_tensors(found)
    arrays = iter(checked(_named(primitive.name), _as_tensors(found), promise))
    return filled(promise, iter([wrap(a) for a, _ in zip(arrays, spec_leaves(promise), strict=True)]))


def _as_tensors(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return tuple(map(_as_tensors, x))
    return wrap(np.array(x)) if isinstance(x, np.ndarray | np.generic) else x


def _named(name: str) -> Callable[..., Any]:
    """A function that messages call by this name."""

    def function() -> None: ...

    return _promising(function, name)


def _promising(function: Callable[..., Any], name: str) -> Any:
    """The function under the name of a primitive, whose inference says what it returns."""
    function.__qualname__ = name
    function.promised_by = "its inference"  # type: ignore[attr-defined]
    return function


class _Hosted:
    """The body of a primitive in compiled code: run as plain Python."""

    def __init__(self, primitive: Primitive, body: Callable[..., Any]) -> None:
        self._primitive, self._body = primitive, body

    def __graph_call__(self, ctx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        primitive, body = self._primitive, self._body

        def described(x: Any) -> dict[str, Any]:
            if ctx.is_tensor(x):
                return {"shape": list(x.type.shape), "dtype": x.type.dtype, "value": None}
            number = NUMBER_DTYPE.get(getattr(x, "kind", None))  # type: ignore[arg-type]  # a number known at run time
            return _of_parts(x, described) if number is None else {"shape": [], "dtype": number, "value": None}

        promise = primitive._promise(args, described)
        if promise is NOTHING_SAID:
            raise UnsupportedCallError(
                f"nothing says what {primitive.name} returns, which compiled code must know",
                hint=f"define `infer_shape` and `infer_dtype` in {type(primitive).__name__}",
            )

        def run(*given: Any) -> Any:
            return _as_tensors(body(*map(_with_tensors, given)))

        return ctx.call(py_call, [_promising(run, primitive.name), *args], {**kwargs, "out": promise})


def _with_tensors(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(map(_with_tensors, x))
    return wrap(x) if isinstance(x, np.ndarray) else x
