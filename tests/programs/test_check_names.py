"""`check`: names by which `jit`, Cells and constants are reached: imported as another, bound to another, of a class."""

from __future__ import annotations

import textwrap

import pytest

import autodiff_compiler as ms
from autodiff_compiler.cli import main
from autodiff_compiler.inspection.check import check_file
from tests.programs.compare import define


@pytest.fixture
def listed(tmp_path):
    """The code (or class) and the marked text of all that is listed for a program."""

    def check(text):
        path = tmp_path / "model.py"
        path.write_text(textwrap.dedent(text), "utf-8")
        lines = path.read_text("utf-8").splitlines()
        errors = check_file(str(path)).errors
        return [(e.code or type(e).__name__, lines[e.loc.line - 1][e.loc.col : e.loc.end_col]) for e in errors]

    return check


FUNCTION = "\ndef f(x):\n    return nothing\n"
CONSTRUCT = "    def construct(self, x):\n        return nothing\n"
COMPILED = {
    "imported as": "from autodiff_compiler import jit as J\n@J" + FUNCTION,
    "imported as, called": "from autodiff_compiler import jit as J\n@J()" + FUNCTION,
    "MindSpore's": "from mindspore import jit as mj\n@mj" + FUNCTION,
    "MindSpore's inner one": "from mindspore.common.api import jit as mj\n@mj(jit_level='O1')" + FUNCTION,
    "older name": "from autodiff_compiler import ms_function\n@ms_function" + FUNCTION,
    "older name of a module": "import mindspore as M\n@M.ms_function" + FUNCTION,
    "bound to a name": "import autodiff_compiler as ms\nfast = ms.jit\n@fast" + FUNCTION,
    "with options": "import autodiff_compiler as ms\nfast = ms.jit(unroll_limit=2)\n@fast" + FUNCTION,
    "partial": "import functools as F, autodiff_compiler as ms\n@F.partial(ms.jit, unroll_limit=2)" + FUNCTION,
    "partial bound": "from functools import partial as P\nfrom autodiff_compiler import jit\n"
    "fast = P(jit, unroll_limit=2)\n@fast" + FUNCTION,
    "in a function": "def main():\n    from autodiff_compiler import jit as J\n"
    "    @J\n    def f(x):\n        return nothing",
    "given": "from autodiff_compiler import jit as J" + FUNCTION + "k = J(f)",
    "given with options": "from autodiff_compiler import jit" + FUNCTION + "k = jit(unroll_limit=2)(f)",
    "of a relative import": "from .compat import jit as J\n@J" + FUNCTION,
    "of two meanings": "try:\n    from mindspore import jit\nexcept ImportError:\n"
    "    from autodiff_compiler import jit\n@jit" + FUNCTION,
    "layer of an alias": "from mindspore import nn as N\nclass T(N.Dense):\n" + CONSTRUCT,
    "module with an alias": "import autodiff_compiler.nn as N\nclass T(N.Dense):\n" + CONSTRUCT,
    "Cell with an alias": "from autodiff_compiler.nn import Cell as C\nclass T(C):\n" + CONSTRUCT,
    "Cell bound to a name": "from autodiff_compiler import nn\nBase = nn.Cell\nclass T(Base):\n" + CONSTRUCT,
    "Cell imported in a function": "def main():\n    from autodiff_compiler.nn import Dense as D\n"
    "    class T(D):\n" + textwrap.indent(CONSTRUCT, "    "),
}


@pytest.mark.parametrize("program", COMPILED.values(), ids=COMPILED.keys())
def test_compiled_by_another_name(listed, program):
    assert listed(program) == [("AC1201", "nothing")]


NOT_COMPILED = {
    "jit of another library": "from numba import jit\n@jit" + FUNCTION,
    "jit of another library with options": "import numba\n@numba.jit(nopython=True)" + FUNCTION,
    "jit of another library by another name": "from jax import jit as J\n@J" + FUNCTION + "J(f)",
    "Cell of another library": "from keras.layers import LSTMCell\nclass T(LSTMCell):\n" + CONSTRUCT,
    "given to a compiled function": "from autodiff_compiler import jit" + FUNCTION + "jit(len)(f)",
    "given to a compiled function by its name": "from autodiff_compiler import jit" + FUNCTION + "k = jit(len)\nk(f)",
    "constexpr by another name": "from autodiff_compiler import constexpr as C, jit\n"
    "@C" + FUNCTION + "@jit\ndef g(x):\n    return x * f(3)",
    "py_call by another name": "from autodiff_compiler import jit, py_call as P\n"
    "@jit\ndef g(x):\n    return P(lambda x: nothing, x, out=x)",
}


@pytest.mark.parametrize("program", NOT_COMPILED.values(), ids=NOT_COMPILED.keys())
def test_not_compiled_though_it_looks_like_that(listed, program):
    assert listed(program) == []


@pytest.mark.parametrize("place", ["helpers.py", "helpers/__init__.py", "src/helpers/__init__.py"])
def test_jit_that_a_module_of_the_users_own_hands_on(listed, tmp_path, place):
    program = "from helpers import jit\n@jit" + FUNCTION
    assert listed(program) == []
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("from autodiff_compiler import jit\n")
    assert listed(program) == [("AC1201", "nothing")]


NOT_PYTHON = ["return 3", "break", "def f():\n    continue", "def f(x):\n    global x", "def f(a, a):\n    pass"]


@pytest.mark.parametrize("text", NOT_PYTHON)
def test_what_only_the_compiler_of_python_refuses(tmp_path, capsys, text):
    path = tmp_path / "model.py"
    path.write_text(text)
    assert main(["check", str(path)]) == 2
    assert f"{path} is not Python: " in capsys.readouterr().err


def test_a_warning_of_python_is_not_shown(tmp_path, recwarn):
    path = tmp_path / "model.py"
    path.write_text("x = 1 is 2\n")
    assert check_file(str(path)).errors == []
    assert not recwarn.list


def test_super_outside_of_a_class(listed):
    program = "def f(x):\n    return super().construct(x)\n"
    assert listed("import autodiff_compiler as ms\n@ms.jit\n" + program) == [("AC1103", "super()")]
    with pytest.raises(ms.CompileError) as caught:
        ms.jit(define(program))(ms.Tensor([1.0]))
    assert caught.value.code == "AC1103"
    assert caught.value.hint


def test_super_in_a_method(listed):
    program = """
        from autodiff_compiler import nn
        class Net(nn.Dense):
            def construct(self, x):
                def twice():
                    return super().construct(x) * 2
                return super().construct(x) + twice()
    """
    assert listed(program) == []


# ---------------------------------------------------------------------------------------------------- constants
CLASSES = """
import autodiff_compiler as ms
from autodiff_compiler import jit, nn
QUIET = True

class Config:
    verbose = False
    level: int = 0
    loud = not QUIET

class Nested(Config):
    pass

config, nested = Config(), Nested()
"""
OTHERS = """
import dataclasses
import enum

class Kind(enum.Enum):
    NONE = 0

@dataclasses.dataclass
class Given:
    on: bool = False

given = Given(on=True)

class Changed:
    on = False
    off = False

changed = Changed()
changed.on = True

def change():
    setattr(changed, "off", True)
"""
NEVER = {
    "of self": "class Net(nn.Cell):\n    debug = False\n    def construct(self, x):\n        if self.debug:\n"
    "            open('log.txt')\n        return x",
    "of self, in a base": "class Base(nn.Cell):\n    debug: bool = False\nclass Net(Base):\n"
    "    def construct(self, x):\n        return nothing if self.debug else x",
    "of the object of self": "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
    "        self.config = Config()\n    def construct(self, x):\n        return nothing if self.config.verbose else x",
    "of self, with a local of the name of what it was made from": "class Net(nn.Cell):\n"
    "    def __init__(self):\n        super().__init__()\n        self.debug = not QUIET\n"
    "    def construct(self, x):\n        QUIET = False\n        return nothing if self.debug else x",
    "of a class": "@jit\ndef f(x):\n    if Config.verbose:\n        open('log.txt')\n    return x",
    "of an object": "@jit\ndef f(x):\n    return nothing if config.verbose or config.level > 1 else x",
    "of an object of a subclass": "@jit\ndef f(x):\n    return nothing if nested.verbose else x",
    "of a name": "@jit\ndef f(x):\n    return nothing if config.loud else x",
    "range": "@jit\ndef f(x):\n    for i in range(0):\n        x = nothing(x)\n    return x",
    "range of a comprehension": "@jit\ndef f(x):\n    return x, [nothing for i in range(0)]",
    "length": "@jit\ndef f(x):\n    return nothing if len('abc') == 2 or len([]) else x",
    "class of a number": "@jit\ndef f(x):\n    return nothing if isinstance(3, str) else x",
    "none of several classes": "@jit\ndef f(x):\n    return nothing if isinstance(3, (str, list)) else x",
    "element": "@jit\ndef f(x):\n    return nothing if 'a' in ['b'] or 1 not in {1, 2} else x",
}  # fmt: skip


@pytest.mark.parametrize("program", NEVER.values(), ids=NEVER.keys())
def test_what_constants_of_classes_and_calls_rule_out(listed, program):
    assert listed(CLASSES + program) == []
    if "class Net" not in program:
        define(CLASSES + program)(ms.Tensor([1.0, 2.0]))


PERHAPS = {
    "member of an enum": "Kind.NONE",
    "field of a dataclass": "given.on",
    "set on an object": "changed.on",
    "set by setattr": "changed.off",
    "set on a class whose attribute is read": "Changed.on",
    "within a range": "2 in range(3)",
    "class of a number": "isinstance(3, int)",
    "range of one": "range(1)",
}


@pytest.mark.parametrize("condition", PERHAPS.values(), ids=PERHAPS.keys())
def test_what_they_do_not_rule_out(listed, condition):
    program = f"@jit\ndef f(x):\n    return nothing if {condition} else x\n"
    assert listed(CLASSES + OTHERS + program) == [("AC1201", "nothing")]


ELSEWHERE = {
    "in a method": "    def loud(self):\n        self.debug = True\n",
    "in a subclass": "class Sub(Net):\n    debug = True\n",
    "outside": "Net.debug = True\n",
    "as a flag": "Net().add_flags(debug=True)\n",
    "by a computed name": "def change(net, name):\n    setattr(net, name, True)\n",
    "by a property": "    @property\n    def debug(self):\n        return True\n",
    "in another class of this name": "def other():\n    class Net(nn.Cell):\n        debug = True\n"
    "        def construct(self, x):\n            return x\n",
}


@pytest.mark.parametrize("more", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_an_attribute_of_a_class_that_is_bound_again_is_not_known(listed, more):
    net = "import autodiff_compiler as ms\nfrom autodiff_compiler import nn\nclass Net(nn.Cell):\n    debug = False\n"
    construct = "    def construct(self, x):\n        return nothing if self.debug else x\n"
    assert listed(net + construct) == []
    assert listed(net + construct + more) == [("AC1201", "nothing")]


@pytest.mark.parametrize("name", ["has_bias", "training", "requires_grad"])
def test_an_attribute_that_a_layer_binds_as_well_is_not_known(listed, name):
    program = f"from autodiff_compiler import nn\nclass Net(nn.Dense):\n    {name} = False\n"
    construct = f"    def construct(self, x):\n        return nothing if self.{name} else x\n"
    assert listed(program + construct) == [("AC1201", "nothing")]


def test_classes_that_derive_from_each_other(listed):
    program = "from autodiff_compiler import nn\nclass A(B, nn.Cell):\n    g = 1\nclass B(A):\n    debug = False\n"
    construct = "    def construct(self, x):\n        return nothing if self.debug else self.h\n"
    assert listed(program + construct) == []
