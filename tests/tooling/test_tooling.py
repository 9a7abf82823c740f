"""The project's own tools do what they promise, and the package keeps the layers that pyproject.toml draws."""

from __future__ import annotations

import ast
import functools
import graphlib
import os
import random
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def run_tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.run(TOOLS / name, *arguments)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


# --- size_report ------------------------------------------------------------------------------------------------------

LIMITS = '[tool.size_report]\nfile = 10\nfunction = 3\nfolders = ["pkg"]\n'


def test_a_project_within_its_limits_passes_and_is_listed(tmp_path: Path) -> None:
    # Three lines of code; the docstring is free.
    code = 'def f():\n    """One.\n\n    Two.\n    """\n    x = 1\n    return x\n'
    write(tmp_path, {"pyproject.toml": LIMITS, "pkg/a.py": code, "pkg/sub/b.py": "x = 1\n"})
    done = run_tool("size_report.py", "--root", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert rows == [
        ["8", "pkg/"],
        ["7", "pkg/a.py"],
        ["1", "pkg/sub/"],
        ["1", "pkg/sub/b.py"],
        ["8", "lines in 2 files"],
    ]


def test_a_too_long_method_and_a_too_long_file_are_reported(tmp_path: Path) -> None:
    method = "class A:\n    def long(self):\n        x = 1\n        y = 2\n        return x + y\n"
    write(tmp_path, {"pyproject.toml": LIMITS, "pkg/a.py": method, "pkg/b.py": "x = 1\n" * 11})
    done = run_tool("size_report.py", "--root", tmp_path, "--quiet")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "pkg/a.py:2: A.long has 4 lines, the limit is 3",
        "pkg/b.py: 11 lines, the limit is 10: split it by meaning",
    ]


def test_the_allow_list_excuses_what_it_names_and_nothing_that_has_become_short(tmp_path: Path) -> None:
    allow = '[tool.size_report.allow]\n"pkg/b.py" = "a table"\n"pkg/c.py:f" = "was long once"\n'
    write(tmp_path, {"pyproject.toml": LIMITS + allow, "pkg/b.py": "x = 1\n" * 11, "pkg/c.py": "def f(): pass\n"})
    done = run_tool("size_report.py", "--root", tmp_path, "--quiet")
    assert done.stderr == "pkg/c.py:f: allowed to be longer, but it is not\n"
    assert done.returncode == 1


FIGURES = """\
package = "pkg"

[tool.size_report.figures]
files_in_knots = {knots}
type_tests_in_frontend = 1
files_naming_an_op = 1.0
"imports_in_functions:a" = 1
"""
#: Three files in two knots of which one is hidden twice over, two imports inside functions, two type tests, one of
#: them for a value (and one that is none), and an op that two files name besides its own.
STRUCTURE = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def f():\n    from . import b\n",
    "pkg/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import g\n",
    "pkg/c.py": "def g():\n    import pkg.a\n    import os\n",
    "pkg/d.py": "from .c import g\nTABLE = ['tanh']\n",
    "pkg/frontend/e.py": "from ..d import g\nx.tanh()\nisinstance(x, int | Leaf)\ntype(x) is int\nx is type\n",
    "pkg/h.py": "class Inner(Variable): pass\nclass Leaf(base.Inner): pass\n",
    "pkg/primitives/f.py": "class Tanh:\n    scalar = k.tanh\nclass Abs:\n    scalar = k.abs\nclass Sum:\n    y = 1\n",
    "pkg/primitives/g.py": "from .. import f\n",
}


def structure(root: Path, knots: int = 3) -> list[str]:
    write(root, {"pyproject.toml": LIMITS + FIGURES.format(knots=knots), **STRUCTURE})
    done = run_tool("size_report.py", "--root", root, "--quiet")
    assert (done.returncode, done.stdout) == (bool(done.stderr), "")
    return done.stderr.splitlines()


def test_a_planted_knot_and_a_planted_import_in_a_function_are_reported(tmp_path: Path) -> None:
    shown = "(python tools/import_graph.py shows them)"
    assert structure(tmp_path, knots=2) == [
        f"3 files that import one another in a circle {shown}, the limit is 2",
        "2.0 files that name an elementwise op outside its class, on average, the limit is 1.0",
        f"1 imports inside functions in c {shown}, the limit is 0",
        "2 tests of any object's class in frontend/ (isinstance, issubclass, match, type(x) is), the limit is 1",
        "1 tests in frontend/ for a class of values of compiled code, the limit is 0",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_knots_are_the_nodes_that_reach_each_other(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(TOOLS)
    from import_graph import knots_of

    draw = random.Random(seed)
    edges = [(draw.choice("abcdefghij"), draw.choice("abcdefghij")) for _ in range(draw.randrange(4, 24))]
    reached = set(edges)
    for middle in "abcdefghij":  # Warshall
        reached |= {(a, d) for a, b in reached for c, d in reached if b == c == middle}
    both = {frozenset(b for b in "abcdefghij" if {(a, b), (b, a)} <= reached) for a in "abcdefghij"}
    assert {frozenset(knot) for knot in knots_of(edges)} == {knot for knot in both if len(knot) > 1}


def test_a_figure_that_has_become_better_asks_for_a_lower_limit_which_a_command_writes(tmp_path: Path) -> None:
    better = "3 files that import one another in a circle (python tools/import_graph.py shows them): "
    assert better + "lower the limit of 9 (python tools/size_report.py --lower)" in structure(tmp_path, knots=9)
    run_tool("size_report.py", "--root", tmp_path, "--quiet", "--lower")
    limits = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["tool"]["size_report"]["figures"]
    allowed = {"files_in_knots": 3, "type_tests_in_frontend": 1, "files_naming_an_op": 1.0}
    assert limits == {**allowed, "imports_in_functions:a": 1}
    assert len(structure(tmp_path, knots=3)) == 4


def test_a_figure_that_is_gone_needs_no_limit(tmp_path: Path) -> None:
    files = {**STRUCTURE, "pkg/a.py": "from . import b\n", "pkg/d.py": "", "pkg/frontend/e.py": "isinstance(x, int)\n"}
    write(tmp_path, {"pyproject.toml": LIMITS + FIGURES.format(knots=3), **files, "pkg/c.py": "import pkg.a\n"})
    run_tool("size_report.py", "--root", tmp_path, "--quiet", "--lower")
    assert run_tool("size_report.py", "--root", tmp_path, "--quiet").stderr == ""
    assert ":a" not in (tmp_path / "pyproject.toml").read_text("utf-8")


# --- foreign_text -----------------------------------------------------------------------------------------------------

FOREIGN = '[tool.foreign_text]\nfolders = ["pkg"]\n'


def foreign_text(root: Path, body: str, allow: str = "") -> list[str]:
    code = f"def write(loc, text, html, lines):\n{body}"
    write(root, {"pyproject.toml": FOREIGN + allow, "pkg/a.py": code})
    done = run_tool("foreign_text.py", "--root", root)
    assert done.returncode == bool(done.stderr)
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    "body",
    [
        'return f"x = 1{loc.file}"',
        "return 'x = 1  ' + loc.tag",
        "place = loc.file\n    return f'at {place}'",
        "line, n = line_of(loc.place, 1).strip(), 2\n    return f'{n} {line}'",
        "return f'{\"in \" + loc.tag}'",
        "return f'x = 1  # {text}'",
        "return f'  # {text}'",
        "return f'  ; {text}'",
        "return f'{lines}  // {text}'",
        "return f'<td>{text}</td>'",
        "return f'<p>{text.upper()}</p>'",
    ],
)
def test_foreign_text_in_generated_text_is_found(tmp_path: Path, body: str) -> None:
    found = foreign_text(tmp_path, f"    {body}\n")
    assert found
    assert all(
        line.startswith("pkg/a.py:") and line.endswith("put it through a function of `escape`") for line in found
    )


@pytest.mark.parametrize(
    "body",
    [
        "return f'x = 1  # {escape.line(loc.file)}'",
        "return f'x = {loc.file!r}'",
        "return f'x = {json.dumps(loc.tag)}'",
        "place = escape.line(loc.file)\n    return f'at {place}'",
        "return f'<td>{escape.markup(text)}</td>'",
        "cell = f'<b>{escape.markup(text)}</b>'\n    return f'<td>{cell}</td>'",
        "return f'{loc.line:d}' if loc.tag == 'adjoint' else ''",
    ],
)
def test_text_that_was_escaped_is_fine(tmp_path: Path, body: str) -> None:
    assert foreign_text(tmp_path, f"    {body}\n") == []


def test_a_place_is_allowed_by_name_as_long_as_it_needs_that(tmp_path: Path) -> None:
    allow = '[tool.foreign_text.allow]\n"pkg/a.py:write" = "markup"\n'
    assert foreign_text(tmp_path, "    return f'<p>{html}</p>'\n", allow) == []
    excused = ["pkg/a.py:write: allowed to write foreign text, but it does not"]
    assert foreign_text(tmp_path, "    return ''\n", allow) == excused


@pytest.mark.long
def test_generated_text_holds_foreign_text_by_the_escapes_only() -> None:
    """`make check` looks at it, too."""
    assert run_tool("foreign_text.py").stderr == ""


# --- duplicates -------------------------------------------------------------------------------------------------------

BODY = """\
    total = 0
    for x in xs:
        if x > 0:
            total += x * x - 1
    return max(total, len(xs), 3)
"""


def test_equal_bodies_are_found_across_files_whatever_the_name_and_docstring(tmp_path: Path) -> None:
    files = {"autodiff_compiler/a.py": f"def f(xs):\n{BODY}", "tools/b.py": f'def g(xs):\n    """Other."""\n{BODY}'}
    done = run_tool("duplicates.py", "--root", write(tmp_path, files))
    assert done.returncode == 1
    assert done.stderr == "the same body:\n  autodiff_compiler/a.py:1: f\n  tools/b.py:1: g\n"


def test_different_and_tiny_bodies_are_no_duplicates(tmp_path: Path) -> None:
    files = {
        "tools/a.py": f"def f(xs):\n{BODY}def p(): return 1\n",
        "tools/b.py": f"def f(xs):\n{BODY.replace('3', '4')}def p(): return 1\n",
    }
    done = run_tool("duplicates.py", "--root", write(tmp_path, files))
    assert (done.returncode, done.stderr) == (0, "")


# --- check_docs -------------------------------------------------------------------------------------------------------


def document(tmp_path: Path, text: str) -> Path:
    return write(tmp_path, {"page.md": text}) / "page.md"


def test_blocks_share_a_namespace_in_order(tmp_path: Path) -> None:
    text = (
        "```python\nx = 2\n```\n```python\n>>> x + 1\n3\n>>> y = 5\n```\n- item\n  ```python\n  assert y == 5\n  ```\n"
    )
    done = run_tool("check_docs.py", document(tmp_path, text))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "page.md: 3 blocks, 0 failed\n"


def test_functions_of_both_kinds_of_blocks_have_source_in_later_blocks(tmp_path: Path) -> None:
    text = (
        "```python\ndef f(a):\n    return a\n```\n```python\n>>> def g(b):\n...     return b\n```\n"
        "```python\nimport inspect\nassert inspect.getsource(f) == 'def f(a):\\n    return a\\n'\n"
        "assert inspect.getsource(g) == 'def g(b):\\n    return b\\n'\n```\n"
    )
    done = run_tool("check_docs.py", document(tmp_path, text))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_output_is_reported_at_its_line(tmp_path: Path) -> None:
    done = run_tool("check_docs.py", document(tmp_path, "# Title\n\n```python\n>>> 1 + 1\n3\n```\n"))
    assert done.returncode == 1
    assert 'page.md", line 4' in done.stderr
    assert "Expected:\n    3\nGot:\n    2" in done.stderr


def test_an_exception_is_reported_at_its_line_and_the_other_files_still_run(tmp_path: Path) -> None:
    bad = document(tmp_path, "text\n```python\nx = 1\nx / 0\n```\n")
    good = write(tmp_path, {"good.md": "```python\nx = 1\n```\n"}) / "good.md"
    done = run_tool("check_docs.py", bad, good)
    assert done.returncode == 1
    assert 'File "<page.md:3>", line 4' in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "good.md: 1 blocks, 0 failed" in done.stdout


def test_other_languages_are_not_run(tmp_path: Path) -> None:
    text = "```sh\nmake demo\n```\n```\nraise\n```\n````text\n```python\n1/0\n```\n````\n"
    assert run_tool("check_docs.py", document(tmp_path, text)).stdout == "page.md: 0 blocks, 0 failed\n"


def test_a_block_that_is_never_closed_fails(tmp_path: Path) -> None:
    done = run_tool("check_docs.py", document(tmp_path, "text\n```python\nx = 1\n"))
    assert done.returncode == 1
    assert "line 2: the block is never closed" in done.stderr


FILE_AND_COMMANDS = """\
1. A file:
   ```python title="a/b.py"
   import sys

   print("one", *sys.argv[1:])
   ```
   ```console
   $ cd a && python b.py 2
   one 2
   $ python a/b.py \\
       3; echo lost >&2
   one ...

   ```
"""


def test_a_titled_block_is_a_file_and_commands_run_beside_it(tmp_path: Path) -> None:
    done = run_tool("check_docs.py", document(tmp_path, FILE_AND_COMMANDS))
    assert done.returncode == 1
    assert done.stdout == "page.md: 2 blocks, 1 failed\n"
    assert "page.md:12: $ python a/b.py" in done.stderr
    assert "Got:\n    one 3\n    lost\n" in done.stderr


def test_commands_of_a_titled_block_must_succeed_and_may_print_anything(tmp_path: Path) -> None:
    page = document(tmp_path, '```console title="Times"\n$ echo 3 us\n5 us\n$ echo 4; false\n4\n```\n')
    done = run_tool("check_docs.py", page)
    assert (done.returncode, done.stdout) == (1, "page.md: 1 blocks, 1 failed\n")
    assert "$ echo 4; false" in done.stderr
    assert "echo 3" not in done.stderr


def test_what_is_printed_can_be_written_into_the_document(tmp_path: Path) -> None:
    page = document(tmp_path, FILE_AND_COMMANDS + "```python\n>>> print('a\\n')\n>>> 1\n1\n```\n")
    done = run_tool("check_docs.py", "--write", page)
    assert (done.returncode, done.stdout) == (0, "page.md: 2 outputs written\npage.md: 3 blocks, 2 failed\n")
    expected = FILE_AND_COMMANDS.replace("   one ...\n\n", "   one 3\n   lost\n")
    assert page.read_text() == expected + "```python\n>>> print('a\\n')\na\n<BLANKLINE>\n>>> 1\n1\n```\n"
    assert run_tool("check_docs.py", page).returncode == 0


DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if path.exists()]


@pytest.mark.long
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_code_in_the_documents_runs(path: Path) -> None:
    """`make check` runs all of it, too."""
    done = run_tool("check_docs.py", path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_code_of_the_first_page_runs() -> None:
    done = run_tool("check_docs.py", ROOT / "README.md")
    assert done.returncode == 0, done.stdout + done.stderr


# --- environment ------------------------------------------------------------------------------------------------------

SHELL = shutil.which("sh")
needs_shell = pytest.mark.skipif(SHELL is None, reason="needs a POSIX shell")


def make_venv(folder: Path, path: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    """Runs make_venv.sh with a search path of stub interpreters in front of the system's commands."""
    assert SHELL is not None
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    command = [SHELL, str(TOOLS / "make_venv.sh"), str(folder), python]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def stub(folder: Path, name: str, script: str) -> None:
    write(folder, {name: f"#!/bin/sh\n{script}\n"})
    (folder / name).chmod(0o755)


OLD = 'case "$1" in --version) echo Python 3.9.2;; *) exit 1;; esac'


@needs_shell
def test_without_a_recent_python_the_error_says_what_to_do(tmp_path: Path) -> None:
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python"):
        stub(tmp_path / "bin", name, OLD)
    done = make_venv(tmp_path / "env", tmp_path / "bin")
    assert done.returncode == 1
    assert "no Python 3.11 or newer: python3 is Python 3.9.2" in done.stderr
    assert "make PYTHON=" in done.stderr
    assert not (tmp_path / "env").exists()


@needs_shell
@pytest.mark.long
def test_a_newer_python_is_found_behind_an_old_python3(tmp_path: Path) -> None:
    stub(tmp_path / "bin", "python3", OLD)
    stub(tmp_path / "bin", "python3.13", f'exec "{sys.executable}" "$@"')
    done = make_venv(tmp_path / "env", tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    version = subprocess.run(
        [tmp_path / "env/bin/python", "-c", "import sys, pip; print(sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout.strip() == str(sys.version_info[:2])


@needs_shell
def test_a_named_python_that_is_too_old_is_not_replaced_by_another(tmp_path: Path) -> None:
    stub(tmp_path / "bin", "mine", OLD)
    stub(tmp_path / "bin", "python3", f'exec "{sys.executable}" "$@"')
    done = make_venv(tmp_path / "env", tmp_path / "bin", "mine")
    assert done.returncode == 1
    assert "mine is Python 3.9.2" in done.stderr


# --- layers -----------------------------------------------------------------------------------------------------------


def imports_of(path: Path, package: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Dotted names a file imports, absolute, wherever in the file; `package` is the file's own package."""
    found: set[tuple[str, ...]] = set()
    for node in _imports_in(path, path.stat().st_mtime_ns):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *(node.module.split(".") if node.module else ()))
            # `from . import core` names a module, `from .core import Op` one thing in it: the longer name covers both.
            found |= {(*base, alias.name) for alias in node.names}
    return found


@functools.cache
def _imports_in(path: Path, changed: int) -> list[ast.Import | ast.ImportFrom]:
    """The statements of a file as it was at a time, which several contracts look at."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8"), str(path)))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def layer_violations(root: Path, container: str, layers: list[str]) -> list[str]:
    """What breaks a contract of import-linter's type "layers" (highest first), and cycles within a layer."""
    rank: dict[str, int] = {}
    closed: dict[str, bool] = {}  # whether its siblings are out of bounds
    for number, layer in enumerate(layers):
        for part in layer.replace("|", ":").split(":"):
            name = part.strip().strip("()")
            rank[name], closed[name] = number, "|" in layer
    base = tuple(container.split("."))
    inside = root.joinpath(*base)
    problems: list[str] = []
    siblings: dict[str, set[str]] = {}
    for path in sorted(inside.rglob("*.py")):
        module = path.relative_to(inside).with_suffix("").parts
        if module == ("__init__",):
            continue
        where = path.relative_to(root).as_posix()
        if module[0] not in rank:
            problems.append(f"{where}: {module[0]} has no place in the layers")
            continue
        for target in sorted(imports_of(path, (*base, *module[:-1]))):
            if target[: len(base)] != base or target[len(base) :][:1] == (module[0],):
                continue
            name = target[len(base)] if len(target) > len(base) else ""
            if name not in rank:
                if rank[module[0]] > 1:  # the public API may name the package itself
                    problems.append(f"{where}: imports {'.'.join(target)}, which is above it")
            elif rank[name] < rank[module[0]]:
                problems.append(f"{where}: imports {name}, which is above it")
            elif rank[name] == rank[module[0]]:
                siblings.setdefault(module[0], set()).add(name)
                if closed[name]:
                    problems.append(f"{where}: imports {name}, which stands beside it")
    try:
        graphlib.TopologicalSorter(siblings).prepare()
    except graphlib.CycleError as error:
        problems.append(f"cycle: {' <- '.join(error.args[1])}")
    return problems


CONTRACTS = [c for c in PYPROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]


@pytest.mark.long  # `make check` does it, too
def test_the_package_keeps_its_layers() -> None:
    boxes = [(box, contract["layers"]) for contract in CONTRACTS for box in contract["containers"]]
    assert boxes
    assert [problem for box, layers in boxes for problem in layer_violations(ROOT, box, layers)] == []
    package = ROOT / "autodiff_compiler"
    importers = [p.relative_to(package) for p in package.rglob("*.py") if _imports(p, "llvmlite")]
    assert [p for p in importers if p.parts[:2] != ("backends", "native")] == []


def _imports(path: Path, package: str) -> bool:
    return any(name[:1] == (package,) for name in imports_of(path, ()))


LAYERS = ["(cli) : shell", "nn : ops", "left | right", "core"]


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("core/a.py", "from p.left import x", "imports left, which is above it"),
        ("core/a.py", "def f():\n    from ..nn.dense import Dense", "imports nn, which is above it"),
        ("core/a.py", "from .. import ops", "imports ops, which is above it"),
        ("core/a.py", "import p.right.deep as r", "imports right, which is above it"),
        ("core/a.py", "from p import grad", "imports p.grad, which is above it"),
        ("left/a.py", "from ..right import x", "imports right, which stands beside it"),
        ("stray.py", "", "stray has no place in the layers"),
    ],
)
def test_an_import_against_the_layers_is_found(tmp_path: Path, file: str, text: str, problem: str) -> None:
    assert layer_violations(write(tmp_path, {f"p/{file}": text}), "p", LAYERS) == [f"p/{file}: {problem}"]


def test_imports_that_keep_the_layers_pass(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "from .nn import Cell\n",
        "p/core/__init__.py": "from .b import x\nimport numpy\n",
        "p/core/b.py": "from . import c\nfrom .c import d\n",
        "p/left/a.py": "from ..core import x\nfrom p.core.b import y\n",
        "p/nn/a.py": "from ..ops import relu\nimport p.left\n",
        "p/cli.py": "from . import nn\n",
    }
    assert layer_violations(write(tmp_path, files), "p", LAYERS) == []


def test_a_cycle_of_siblings_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"p/nn/a.py": "from ..ops import x", "p/ops/b.py": "from ..nn import y"})
    (problem,) = layer_violations(tmp_path, "p", LAYERS)
    assert problem.startswith("cycle: ")


def test_the_page_of_errors_is_current() -> None:
    done = run_tool("errors_page.py", "--check")
    assert done.returncode == 0, done.stderr


def test_the_page_of_names_is_current_and_gives_a_reason_for_each_that_is_absent() -> None:
    done = run_tool("migration_page.py", "--check")
    assert done.returncode == 0, done.stderr
    assert "|  |" not in (ROOT / "docs" / "migration.md").read_text("utf-8")


@pytest.mark.long
def test_the_page_of_operations_is_current() -> None:
    """`make check` looks at it, too."""
    done = run_tool("ops_table.py", "--check")
    assert done.returncode == 0, done.stderr
