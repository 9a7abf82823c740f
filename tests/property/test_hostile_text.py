"""Text that is not ours changes nothing but comments, strings and names; IR that was broken is refused with a place."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, TensorSpec, escape, nn, ops, parse_ir
from autodiff_compiler.backends.ascend.listing import listing
from autodiff_compiler.inspection.report import compact, page
from autodiff_compiler.inspection.tabular import text_table
from autodiff_compiler.ir.text import ParseError, parse_function, print_function
from autodiff_compiler.source import Loc
from tests.property.hostile import HARMLESS, PAYLOADS, STRUCTURES, expected, findings, problems
from tests.selection import is_long

BACKENDS = ("numpy", "native")


@pytest.fixture(autouse=True)
def _backend() -> Iterator[None]:
    """What a test chooses ends with it."""
    before = ms.get_context("backend")
    yield
    ms.set_context(backend=before)


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    return expected()


@pytest.mark.some(3)
@pytest.mark.parametrize("text", PAYLOADS, ids=ascii)
def test_a_text_in_every_field_changes_no_structure(text: str, wanted: dict[str, Any]) -> None:
    assert list(problems([text], wanted)) == []


def test_random_texts_change_no_structure_and_broken_ir_is_refused() -> None:
    assert list(findings(range(1000, 1300))) == []


@pytest.mark.parametrize("name", ["line", "ascii_line", "docstring", "dot", "mermaid", "markup", "word"])
def test_the_comparison_sees_an_escape_that_is_missing(
    name: str, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any]
) -> None:
    plain: Callable[..., str] = lambda *texts: "<br>".join(texts)
    quoted: Callable[..., str] = lambda *texts: f'"{plain(*texts)}"'
    monkeypatch.setattr(escape, name, quoted if name in ("dot", "mermaid") else plain)
    assert any(list(problems([text], wanted)) for text in PAYLOADS)


# ---------------------------------------------------------------------------------------------- the reported programs
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "place",
    [
        r'"b\n    import os; os._exit(43)\n#":2:2',
        r'"a\n store volatile i64 1, ptr inttoptr (i64 4096 to ptr)\n;":2:2',
        r'"net.py":2:2 in "b\n import os\n#":3:3',
        r'"net.py":2:2 "tag\n import os\n#"',
        '"a\x7fb":2:2',
        '"a\x9bb":2:2',
        r'"\u2028":1:1',
    ],
)
def test_a_place_with_a_control_character_is_refused(place: str, backend: str) -> None:
    ms.set_context(backend=backend)
    text = f"func @f(%x: f32[2]) -> (f32[2]) {{\n  %y: f32[2] = tanh %x @ {place}\n  return %y\n}}\n"
    with pytest.raises(ParseError, match="2:24: a place must not hold control characters"):
        parse_ir(text)


def test_a_place_that_was_printed_is_read_back() -> None:
    f = parse_function("func @f(%x: f32[2]) -> (f32[2]) { %y: f32[2] = tanh %x ; return %y }")
    f.body.ops[0].loc = Loc("dir/a\nb\x1b.py", 2, 3, tag="t\u2028", caller=Loc("c\0.py", 4, 5))
    text = print_function(f)
    assert text.isprintable() or text.replace("\n", "").isprintable()
    assert r'@ "a\\nb\\x1b.py":2:3 "t\\u2028"' in text
    assert print_function(parse_function(text)) == text


def test_a_raw_control_character_in_quotes_is_refused_and_not_shown_raw() -> None:
    with pytest.raises(ParseError, match="is no string: escapes are those of JSON") as caught:
        parse_ir('func @f() -> () { @ "a\x1b[2Jb":2:2 return }')
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_a_print_goes_is_no_code(backend: str) -> None:
    ms.set_context(backend=backend)
    stream = "stdout if __import__('os')._exit(43) else x"
    with pytest.raises(ParseError, match="print writes to stdout or stderr"):
        parse_ir(f'func @f(%x: f32[2]) -> () {{ print %x {{parts=[0], stream="{stream}"}} return }}')


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ('parts=[["a"],[["b"],0]]', "the parts of a print"),
        ("parts=[1]", "the parts of a print"),
        ('parts=[0], ways=["x"]', "the ways of a print"),
        ('parts=[0], ways=["str","str"]', "the ways of a print"),
    ],
)
def test_what_a_print_shows_is_checked(what: str, problem: str) -> None:
    with pytest.raises(ParseError, match=problem):
        parse_ir(f"func @f(%x: f32[2]) -> () {{ print %x {{{what}}} return }}")


def test_a_number_of_an_op_is_no_text() -> None:
    with pytest.raises(ParseError, match="a number is needed, not '1'"):
        parse_ir('func @f(%x: f32[2]) -> () { %y: f32[3] = pad %x {before=[0],after=[1],value="1"} return }')


# ---------------------------------------------------------------------------------------------- ordinary functions
_SOURCE = """
def f(x, w):
    h = ops.tanh(x) * w  # {comment}
    for i in range(3):
        h = h + x
    if h.sum() > 100.0:
        raise ValueError({text}, 3)
    print({text}, h)
    return (h * h).sum()
"""


def written_function(text: str) -> Any:
    """A function whose file, name and source hold a text."""
    comment = "".join(c for c in text if c not in "\n\r\0" and not "\ud800" <= c <= "\udfff")
    source, file = _SOURCE.format(comment=comment, text=ascii(text)), f"/dir/{text}/{text}.py".replace("\0", "")
    space: dict[str, Any] = {"ops": ops}
    exec(compile(source, file, "exec"), space)
    linecache.cache[file] = (len(source), None, [f"{line}\n" for line in source.split("\n")], file)
    space["f"].__name__ = space["f"].__qualname__ = text
    return space["f"]


def looked_at(text: str, backend: str) -> tuple[np.ndarray, dict[str, Any]]:
    """The derivative of the function of a text, and the structures of all that can be asked of it."""
    fn = written_function(text)
    compiled = ms.jit(ms.grad(fn), backend=backend)
    x, w = Tensor([0.5, 1.0, 2.0]), Tensor([1.0, 2.0, 3.0])
    with contextlib.redirect_stdout(io.StringIO()):
        found = compiled(x, w).asnumpy()
        source = ms.grad(fn).source(x, w)
        assert np.allclose(source.function(x.asnumpy(), w.asnumpy()), found)
    artifact = compiled.lower(TensorSpec("f32[3]"), TensorSpec("f32[3]"))
    code = "python" if backend == "numpy" else "llvm"
    shapes = {stage: STRUCTURES["ir"](str(artifact.ir(stage))) for stage in ("front", "adjoint", "opt", "plan")}
    shapes |= {"code": STRUCTURES[code](str(artifact.ir("code"))), "source": STRUCTURES["calls"](source)[1:]}
    shapes |= {fmt: STRUCTURES[fmt](artifact.graph("opt", fmt)) for fmt in ("svg", "dot", "mermaid")}
    shapes |= {"page": STRUCTURES["html"](page(artifact._call)), "compact": STRUCTURES["html"](compact(artifact._call))}
    return found, shapes


def by_hand(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    h = np.tanh(x) * w + 3 * x
    return 2 * h * ((1 - np.tanh(x) ** 2) * w + 3)


@pytest.mark.some(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_function_runs_whatever_its_file_and_name_are(backend: str) -> None:
    right = by_hand(np.float64([0.5, 1, 2]), np.float64([1, 2, 3]))
    _, shapes = looked_at(HARMLESS, backend)
    for text in PAYLOADS if is_long() else PAYLOADS[::3]:
        found, other = looked_at(text, backend)
        assert np.allclose(found, right, rtol=1e-5), text
        assert [name for name in shapes if shapes[name] != other[name]] == [], text


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_of_classes_and_parameters_stay_inside_of_the_folder_of_graphs(backend: str, tmp_path: Path) -> None:
    for number, text in zip(itertools.count(), PAYLOADS):

        class Net(nn.Cell):
            def __init__(self, name: str) -> None:
                super().__init__()
                self.w = Parameter(Tensor(np.float32([1, 2, 3])), name=name)

            def construct(self, x: Any) -> Any:
                return (x * self.w).sum()

        with contextlib.suppress(ValueError):  # Python has no such names for classes
            Net.__name__ = text
        Net.construct.__name__ = text
        net, folder = Net(text), tmp_path / str(number)
        ms.set_context(save_graphs=3, save_graphs_path=str(folder / "graphs"))
        run = ms.jit(ms.value_and_grad(net, None, net.trainable_params()), backend=backend)
        value, (by_w,) = run(Tensor([1.0, 2.0, 3.0]))
        ms.set_context(save_graphs=False)
        assert (value.item(), by_w.asnumpy().tolist()) == (14.0, [1.0, 2.0, 3.0]), text
        assert os.listdir(folder) == ["graphs"], text
        assert all(path.is_dir() for path in (folder / "graphs").iterdir()), text


def test_a_class_of_exceptions_with_a_name_of_pythons_is_called_back() -> None:
    class Mine(Exception):
        spelling = "__import__('os')._exit(43)"

    Mine.__module__, Mine.__name__ = "builtins", "print() or ValueError"

    def f(x: Any) -> Any:
        if x.sum() > 0:
            raise Mine("text")
        return x

    for backend in BACKENDS:
        compiled = ms.jit(f, backend=backend)
        code = compiled.lower(TensorSpec("f32[2]")).ir("code")
        assert "_exit" not in code
        assert "print()" not in "".join(line for line in code.split("\n") if not line.lstrip().startswith((";", "exc")))
        with pytest.raises(Mine, match="text"):
            compiled(Tensor([1.0, 2.0]))


def test_texts_of_a_program_are_quoted_one_by_one() -> None:
    def f(x: Any) -> Any:
        print("\\", "a", x, "b")
        return x * 2

    source = ms.jit(f).source(Tensor([1.0]))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        source.function(np.float32([1]))
    assert printed.getvalue() == "\\ a [1.] b\n"


def test_a_listing_of_device_code_has_its_own_lines_only() -> None:
    harmless = listing("f", [], [], [], [])
    assert listing("f\nhost evil -> ()\n", [], [], [], []).count("\n") == harmless.count("\n")


# ---------------------------------------------------------------------------------------------- what a terminal shows
CONTROLS = "a\x1b[2J\x07\u202eb\u2028c\x85d\r\nfake"


def test_what_is_said_of_a_function_holds_no_controls() -> None:
    def f(x: Any, n: int) -> Any:
        return (x * n).sum()

    f.__name__ = f.__qualname__ = CONTROLS
    compiled = ms.jit(f)
    for n in (1, 2):
        assert compiled(Tensor([1.0, 2.0]), n).item() == 3.0 * n
    artifact = compiled.lower(TensorSpec("f32[2]"), 1)
    said = [compiled, compiled.guards(), compiled.explain_recompiles(), artifact.cost(), artifact.memory(), artifact.of]
    for text in [*map(repr, said), *map(str, said), artifact.explain()]:
        assert not escape.has_controls(text.replace("\n", "")), text
        assert not any(line.startswith("fake") for line in text.split("\n")), text


def test_tables_have_a_line_for_each_row() -> None:
    table = text_table(["a", CONTROLS], [[CONTROLS, "1"], ["b", "22"]], {CONTROLS})
    assert table.count("\n") == 2
    assert not escape.has_controls(table.replace("\n", ""))


def test_names_of_parameters_and_parts_are_shown_without_controls() -> None:
    class Net(nn.Cell):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.w = Parameter(Tensor(np.ones(size, np.float32)), name=CONTROLS)
            setattr(self, f"part{CONTROLS}", nn.ReLU())

    net = Net(2)
    said = [repr(net.w), repr(net)]
    with pytest.raises(RuntimeError, match="nothing was loaded") as raised:
        ms.load_param_into_net(net, {CONTROLS: Net(3).w})
    said.append(str(raised.value))
    with pytest.warns(UserWarning, match="left as they were") as warned:
        ms.load_param_into_net(net, {})
    said.append(str(warned[0].message))
    for text in said:
        assert not escape.has_controls(text.replace("\n", "")), text
        assert not any(line.startswith("fake") for line in text.split("\n")), text
