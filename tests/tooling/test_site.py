"""The pages of the documentation's site that tools make, and the links between its pages."""

from __future__ import annotations

import ast
import html
import inspect
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import autodiff_compiler as ms
from tests import forked

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import api_pages  # noqa: E402
import benchmarks_page  # noqa: E402

LINK = re.compile(r"\]\((?!\w+:|#)(?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2`*$", re.MULTILINE | re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", path.read_text("utf-8")))
    missing = [link["path"] for link in LINK.finditer(text) if not (path.parent / link["path"]).exists()]
    assert missing == []


@pytest.mark.parametrize(
    "tool",
    [
        "benchmarks_page.py",
        "dump_picture.py",
        "quirks_page.py",
        "stubs.py",
        # `make check` looks at these, too
        pytest.param("rooms_picture.py", marks=pytest.mark.long),
        pytest.param("checks_page.py", marks=pytest.mark.long),
    ],
)
def test_generated_files_are_current(tool: str) -> None:
    done = forked.run(ROOT / "tools" / tool, "--check")
    assert done.returncode == 0, done.stderr


def test_the_picture_of_a_dump_is_what_its_command_prints(tmp_path: Path) -> None:
    """Line by line, with places of README's own file."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (tmp_path / "settle.py").write_text(re.search(r'```python title="settle.py"\n(.*?)```', readme, re.DOTALL)[1])
    (command,) = re.findall(r"^python (-m autodiff_compiler dump settle.*)$", readme, re.MULTILINE)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = forked.run(*shlex.split(command), check=True, cwd=tmp_path, env=environ)
    wanted = re.search(r"^func.*?^}", done.stdout, re.MULTILINE | re.DOTALL)[0].splitlines()
    picture = (ROOT / "docs" / "pictures" / "dump.svg").read_text("utf-8")
    rows = re.findall(r"(?:^|/>)<text [^>]*>([^<]*)</text>(?:<text [^>]*>([^<]*)</text>)?", picture, re.MULTILINE)
    drawn = [" ".join([html.unescape(code), note]).rstrip() for code, note in rows]
    first = drawn.index(wanted[0])
    assert drawn[first:] == [re.sub(r" +@", " @", line) for line in wanted]


def test_dumps_among_commands_are_not_coloured_as_commands() -> None:
    """To shells "%" is a prompt, to IR the beginning of a name."""
    pytest.importorskip("pygments", reason="the site is made with it")
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Generic

    import console_lexer  # noqa: F401

    dump = re.search(r"^func @.*?^}\n", (ROOT / "docs/tutorials/read_a_dump.md").read_text("utf-8"), re.M | re.S)[0]
    command = 'python -m autodiff_compiler dump settle.py:settle \\\n    --args "f32[2] f32[2]"\n'
    tokens = list(get_lexer_by_name("console").get_tokens(f"$ {command}{dump}"))
    printed = "".join(text for kind, text in tokens if kind is Generic.Output)
    assert printed == dump
    assert [text for kind, text in tokens if kind is Generic.Prompt] == ["$ "]
    assert any(text == '"f32[2] f32[2]"' and kind is not Generic.Output for kind, text in tokens)


def test_the_navigation_names_every_page() -> None:
    named = re.findall(r": (\S+\.md|\S+/)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    folders = tuple(name for name in named if name.endswith("/"))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in DOCUMENTS[1:]}
    assert {p for p in pages if not p.startswith(folders)} == {n for n in named if n.endswith(".md")} - {"index.md"}


def test_the_reference_shows_every_public_name() -> None:
    pages = {title: text for _, title, text in api_pages.pages()}
    for name in ms.__all__:
        assert f"`{name}`" in pages["autodiff_compiler"] or inspect.ismodule(getattr(ms, name)), name
    for name in ("Dense", "Conv2d", "LSTM", "CrossEntropyLoss"):
        assert f"## `{name}`" in pages["nn"]
    for name in ("matmul", "softmax", "custom_vjp", "relu"):
        assert f"## `{name}`" in pages["ops"]


def test_signatures_in_the_reference_are_python() -> None:
    for path, _, text in api_pages.pages():
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if not block.startswith("import"):
                call = block.strip()
                ast.parse(f"def {call if '(' in call else call + '()'}: pass", path)
        assert text.count("\n```") % 2 == 0, path


def test_examples_of_docstrings_become_blocks() -> None:
    doc = "What it is.\n\n    >>> 1 + 1\n    2\n\n    More.\n    >>> 3\n    3"
    expected = "What it is.\n\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```pycon\n>>> 3\n3\n```"
    assert api_pages.markdown(doc) == expected


def test_a_missed_target_is_bold_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "group": "mlp", "name": "step", "threads": 1, "unit": "us", "base": "native", "at_most": 1.0,
        "figures": {"native": [2000.0, 4000.0, 3000.0], "jax": [3000.0] * 3, "torch": [9000.0] * 3},
        "ratios": {"jax": [1.0, 1.0, 1.5], "torch": [3.0, 3.0, 4.5]},
        "targets": {"jax": 2.0, "torch": 2.0}, "reached": {"jax": False, "torch": True, "at most": False},
        "failed": {}, "absent": {},
    }  # fmt: skip
    (tmp_path / "peers_1.json").write_text(json.dumps({"environment": "a machine", "rows": [row]}))
    monkeypatch.setattr(benchmarks_page, "RESULTS", tmp_path)
    page = benchmarks_page.page(benchmarks_page.load())
    assert "| step | **3.00 ms [2.50-3.50]** (at most 1) | **1.00** | 3.00 |" in page
    assert "1 of 3 targets were reached" in page
    assert "| step | 1 | JAX | 1.00 | 2 |" in page
