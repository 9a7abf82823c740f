"""Arguments that compiled code must know, given as values that only run time does: accepted or refused, never wrong.

The calls are found by trying: the first combination of the candidates that a function accepts.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DynamicShapeError, StaticValueError
from autodiff_compiler.ops import python_values

MATRIX = Tensor(np.array([[2.0, 0.5, 0.25], [0.5, 3.0, 0.75], [0.25, 0.75, 4.0]]))
VECTOR, PLACES = Tensor([0.5, 0.25, 0.75]), Tensor([0, 1, 2])
IMAGES = [Tensor(np.linspace(0.1, 0.9, int(np.prod(s))).reshape(s)) for s in ((1, 2, 8), (2, 2, 4, 4), (1, 2, 4, 4, 2))]
NUMBERS = [1, 2, PLACES, (2, 3), 0.5, Tensor([True, False]), Tensor([[4, 6], [3, 5]])]
CANDIDATES = [MATRIX, VECTOR, *NUMBERS, *IMAGES, "mean"]
#: Calls that trying does not find, and what keywords without a number as default get.
CALLS = {"interpolate": ((IMAGES[0],), {"size": 4}), "clamp": ((MATRIX,), {"min": 1}), "clip": ((MATRIX,), {"max": 1})}
GIVEN = {"axis": 0, "dim": 0, "ord": 3, "p": 3, "keepdims": True, "scale_factor": 0.5, "min": 1, "max": 2}
PLAIN = (bool, int, float)
_NO_FUNCTIONS_OF_TENSORS = {
    "constexpr", "derivative", "grad", "jacfwd", "jacrev", "jet", "jvp", "linearize", "value_and_grad", "vjp",
    "vmap", "partial", "prim_arg_register", "prim_attr_register", "get_grad",
} | {*python_values.__all__}  # fmt: skip


def _functions() -> list[str]:
    return [
        name
        for name in sorted(ops.__all__)
        if not inspect.isclass(getattr(ops, name)) and name not in _NO_FUNCTIONS_OF_TENSORS
    ]


def _accepted(fn: Any, required: int) -> tuple[Any, ...] | None:
    for args in itertools.islice(itertools.product(CANDIDATES, repeat=required), 500):
        try:
            fn(*args)
        except Exception:
            continue
        return args
    return None


def _program(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any], slot: int | str, kind: str) -> Any:
    """``lambda t: fn(...)`` with `t`, or a Python number made of it at run time, in one place."""
    names: dict[str, Any] = {f"a{i}": x for i, x in enumerate(args)} | {f"k_{k}": v for k, v in keywords.items()}
    value = "t" if kind == "Tensor" else f"{kind}(t)"
    texts = [value if slot == i else f"a{i}" for i in range(len(args))]
    texts += [f"{k}=k_{k}" for k in keywords if k != slot] + ([f"{slot}={value}"] if isinstance(slot, str) else [])
    source = f"def f(t):\n    return fn({', '.join(texts)})\n"
    file = f"<{fn.__name__} {slot} {kind}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), names | {"fn": fn}, space := {"fn": fn, **names})
    return type(space["f"])(space["f"].__code__, space)


def _leaves(x: Any) -> list[Any]:
    return [y for part in x for y in _leaves(part)] if isinstance(x, tuple | list) else [np.asarray(x)]


def _check(name: str) -> bool:
    """Tries every such argument of a function; False where no call of it was found."""
    fn = getattr(ops, name)
    parameters = list(inspect.signature(fn).parameters.values())
    args, keywords = CALLS.get(name, (None, {}))
    if args is None:
        args = _accepted(fn, sum(p.default is p.empty and p.kind < p.VAR_POSITIONAL for p in parameters))
    if args is None:
        return False
    slots: list[tuple[int | str, Any]] = [(i, x) for i, x in enumerate(args) if isinstance(x, PLAIN)]
    for p in parameters[len(args) :]:
        value = keywords.get(p.name, GIVEN.get(p.name, p.default))
        if isinstance(value, PLAIN) and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            slots.append((p.name, value))
    for slot, value in slots:
        now, more = list(args), dict(keywords)
        (now if isinstance(slot, int) else more)[slot] = value  # type: ignore[index]
        ms.set_seed(1)
        try:
            expected = _leaves(fn(*now, **more))
        except Exception:
            continue  # this keyword needs others
        for kind in ("Tensor", type(value).__name__):
            _compare(_program(fn, args, keywords, slot, kind), value, expected)
    return True


def _compare(program: Any, value: Any, expected: list[Any]) -> None:
    where, refused = program.__code__.co_filename, None
    ms.set_seed(1)
    try:
        got = _leaves(ms.jit(program)(Tensor(value)))
    except Exception as error:
        refused = error
    if isinstance(refused, DynamicShapeError):
        return  # whatever its arguments are
    if isinstance(refused, StaticValueError):
        assert refused.loc is not None, (where, str(refused))
        assert refused.loc.line == 2, (where, str(refused))
        return
    if refused is not None:
        with pytest.raises(type(refused)):  # what it says of a Tensor in this place in eager mode, too
            program(Tensor(value))
        return
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape, where
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-5, err_msg=where)


@pytest.mark.some(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_a_run_time_value_for_a_constant_is_accepted_or_refused_at_the_users_line(part):
    names = _functions()[part::4]
    assert sum(map(_check, names)) > len(names) * 0.7  # most functions take one of the candidates


def test_a_truth_value_is_refused_and_the_parameter_named():
    x = Tensor(np.arange(6.0).reshape(2, 3))
    with pytest.raises(StaticValueError, match="`descending` must be a constant"):
        ms.jit(lambda a: ops.sort(a, -1, a.sum() < 0)[0])(x)
    with pytest.raises(StaticValueError, match="`ddof` must be a constant"):
        ms.jit(lambda a, d: ops.var(a, 0, d))(x, Tensor(1))


@pytest.mark.parametrize("use", [bool, len, iter, int, float, round, abs, lambda v: 1 in v, lambda v: v < 1])
@pytest.mark.parametrize("weak", [False, True], ids=["Value", "SymScalar"])
def test_python_gets_no_answer_about_what_only_run_time_knows(use, weak):
    from autodiff_compiler.ir.core import Block
    from autodiff_compiler.ir.types import tensor
    from autodiff_compiler.primitives.family import SymScalar

    value: Any = Block([tensor(ms.float32, ())]).args[0]
    value = SymScalar(value, float) if weak else value
    with pytest.raises(StaticValueError, match="known only at run time"):
        use(value)
    with pytest.raises(StaticValueError):
        _ = value == 1
    with pytest.raises(StaticValueError):
        _ = value in ("mean", "sum")
    assert value == value
    assert value not in (None, object())


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ops.mirror_pad(x, Tensor([[1, 1], [2, 1]]), "REFLECT"),
        lambda x: ops.polygamma(Tensor(2), x + 1),
        lambda x: ops.repeat_interleave(x, Tensor([1, 0, 2]), 0),
        lambda x: ms.numpy.pad(x, Tensor(1)),
    ],
)
def test_a_tensor_of_constants_is_a_constant(f):
    x = Tensor(np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(ms.jit(f)(x).asnumpy(), f(x).asnumpy())
    with pytest.raises(StaticValueError, match="must be a constant"):
        ms.jit(lambda x, n: ms.numpy.pad(x, n))(x, Tensor(1))
