"""`lower` takes types in place of Tensors, and looking changes nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, TensorSpec, nn, ops
from autodiff_compiler.ir.sizes import symbol
from tests.inspection.lowered_programs import PROGRAMS


def specs(tree):
    """The same arguments with types in the place of Tensors."""
    if isinstance(tree, Tensor):
        return TensorSpec(tree.shape, tree.dtype)
    return type(tree)(map(specs, tree)) if isinstance(tree, tuple | list) else tree


@pytest.mark.parametrize("name", PROGRAMS)
def test_types_stand_for_tensors(name):
    program = PROGRAMS[name]()
    of_tensors, of_types = [program.fn.lower(*args) for args in (program.args, specs(program.args))]
    for stage in ("front", "adjoint", "opt", "plan"):
        assert of_types.ir(stage) == of_tensors.ir(stage)
    assert repr(of_types) == repr(of_tensors)


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


def test_types_may_stand_in_containers_and_named_arguments():
    f = ms.jit(lambda x, *, more: x * more["w"][0] + more["p"].a - more["p"].b * more["n"])
    spec = TensorSpec("f32[3]")
    artifact = f.lower(spec, more={"w": [spec, 2.0], "p": Pair(spec, spec), "n": 3})
    assert len(artifact.ir("front").run(*[np.ones(3, np.float32)] * 4)) == 1
    x = Tensor(np.ones(3, np.float32))
    assert artifact.ir("opt") == f.lower(x, more={"w": [x, 2.0], "p": Pair(x, x), "n": 3}).ir("opt")


def test_a_large_type_takes_no_memory():
    artifact = ms.jit(lambda x: x.sum()).lower(TensorSpec("f32[100000,100000]"))  # 40 GB
    assert artifact.memory().arguments == 40_000_000_000


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("f32[32,784]", (32, 784), ms.float32),
        ("f32[]", (), ms.float32),
        (" bf16 [ 2 , 3 ] ", (2, 3), ms.bfloat16),
        ("bool[4]", (4,), ms.bool_),
        ("int64[0]", (0,), ms.int64),
        ("f32[n, 2*n+m]", (symbol("n"), 2 * symbol("n") + symbol("m")), ms.float32),
    ],
)
def test_the_text_of_a_type(text, shape, dtype):
    assert TensorSpec(text) == TensorSpec(shape, dtype)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("f32",), ValueError), (("f32[2",), ValueError), (("f32[-1]",), ValueError), (("f32[2,]",), ValueError),
        (("f32[a b]",), ValueError), (("f32[n/2]",), ValueError),
        (("f33[2]",), TypeError), (("f32[2]", "float32"), TypeError), (((2, 3),), TypeError),
    ],
)  # fmt: skip
def test_other_texts_are_refused(arguments, error):
    with pytest.raises(error):
        TensorSpec(*arguments)


# ------------------------------------------------------------------------------------------------ no side effects
class Noisy(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = ms.Parameter(Tensor(0.0), name="count")
        self.dropout = nn.Dropout(p=0.5)
        self.seen = 0

    def construct(self, x):
        self.count += 1.0
        self.seen = self.seen + 1
        return self.dropout(x) * ops.standard_normal((3,))


def test_looking_changes_no_state_attribute_or_random_number():
    net = Noisy()
    net.set_train()
    state = ms.get_rng_state()
    fn = ms.jit(net)
    for argument in (Tensor(np.ones(3, np.float32)), TensorSpec("f32[3]"), TensorSpec("f32[3]")):
        artifact = fn.lower(argument)
        for stage in ("front", "adjoint", "opt", "plan", "code"):
            artifact.ir(stage)
        artifact.explain()
        artifact.ir("opt").run(np.ones(3, np.float32))
    assert (net.count.item(), net.seen) == (0.0, 0)
    assert repr(ms.get_rng_state()) == repr(state)
    assert fn.cache_info() == {"entries": 0, "compiles": 0, "hits": 0, "misses": 0, "keys": []}
    assert (list(fn.explain_recompiles()), fn.guards()) == ([], [])


def test_a_text_of_a_random_program_draws_what_the_function_draws():
    net = Noisy()
    net.set_train()
    x = np.ones(3, np.float32)
    artifact = ms.jit(net).lower(Tensor(x))
    programs = [ms.parse_ir(artifact.ir(stage)) for stage in ("front", "adjoint", "opt", "plan")]
    found = [p.run(x)[0] for p in programs]
    wanted = ms.jit(net)(Tensor(x)).asnumpy()
    for f in found:
        np.testing.assert_array_equal(f, wanted)


def test_looking_at_what_was_compiled_for_a_call_compiles_nothing():
    f, x = ms.jit(lambda x: x * 2), Tensor([1.0])
    f(x)
    assert f.lower(x)._call.compiled is f.lower(TensorSpec("f32[1]"))._call.compiled
    assert f.cache_info()["compiles"] == 1
