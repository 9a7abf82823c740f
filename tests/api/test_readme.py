"""The dump that the README explains is what the command prints."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from autodiff_compiler.cli import main

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def test_the_dump_in_the_readme_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tour = re.search(r"^>>> @ms\.jit.*\n((?:\.\.\. .*\n)+)", README, re.M)
    shown = re.search(r"^\$ python -m autodiff_compiler (dump .*)\n([^`]*)```", README, re.M)
    assert tour
    assert shown
    source = re.sub(r"^\.\.\. ", "", tour[1], flags=re.M)
    (tmp_path / "settle.py").write_text(re.sub(r" +#.*", "", source), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(shown[1].replace('"', "").split()) == 0
    assert capsys.readouterr().out.rstrip() == textwrap.dedent(shown[2]).rstrip()
