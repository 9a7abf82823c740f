"""Draws docs/pictures/dump.svg: README's function, and the dump of its derivative in the colours of its lines.

python tools/dump_picture.py            writes the picture
python tools/dump_picture.py --check    fails if the dump has changed since
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tempfile
from html import escape
from pathlib import Path

from generated_pages import write_or_check
from python_files import ROOT

sys.path.insert(0, str(ROOT))

import autodiff_compiler as ms

PICTURE = ROOT / "docs" / "pictures" / "dump.svg"
#: The file of README that the picture is about.
FILE = re.compile(r'^```python title="settle\.py"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COLOURS = ["#fff1c9", "#cfe8ff", "#e3d7f7"]
CHARACTER, LINE, TOP, LEFT = 7.22, 19, 34, 14
PLACE = re.compile(r"\s+@ settle\.py:(\d+):\d+")


def function(source: str) -> dict[int, str]:
    """The lines of the function, without comments, with their numbers in the file."""
    node = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    first = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
    lines = source.splitlines()[: node.end_lineno]
    return {i: line.partition("  # ")[0] for i, line in enumerate(lines, 1) if i >= first}


def dumped(source: str) -> list[str]:
    """The lines of the function in the dump of its derivative."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "settle.py")
        path.write_text(source, "utf-8")
        spec = importlib.util.spec_from_file_location("settle", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        text = str(ms.grad(module.settle).lower(ms.TensorSpec("f32[2]")).ir("opt"))
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("func"))
    return lines[first : lines.index("}", first) + 1]


def row(x: float, y: float, width: float, text: str, colour: str, note: str = "") -> str:
    """A line of code on its colour, with a note at the right."""
    shape = f'<rect x="{x}" y="{y - 14}" width="{width}" height="{LINE}" fill="{colour}"/>' if colour else ""
    code = f'<text x="{x + 6}" y="{y}">{escape(text)}</text>'
    end = f'<text x="{x + width - 6}" y="{y}" text-anchor="end" fill="#777">{escape(note)}</text>' if note else ""
    return shape + code + end


def picture() -> str:
    """The picture as SVG."""
    found = FILE.search((ROOT / "README.md").read_text("utf-8"))
    assert found is not None, 'README.md has a block `title="settle.py"`'
    source, lines = function(found[1]), dumped(found[1])
    shown = [(PLACE.split(line)[0], PLACE.search(line), line) for line in lines]
    used = sorted({int(place[1]) for _, place, _ in shown if place})
    colours = dict(zip(used, COLOURS, strict=True))
    notes = [line[place.start() :].strip() if place else "" for _, place, line in shown]
    left = CHARACTER * (max(map(len, source.values())) + 6)
    right = CHARACTER * (max(len(code) + len(note) for (code, _, _), note in zip(shown, notes, strict=True)) + 4)
    start = LEFT + left + 26
    height = TOP + LINE * (len(lines) + 1)
    rows = [f'<text x="{LEFT}" y="18" class="title">settle.py</text>']
    rows.append(f'<text x="{start}" y="18" class="title">its derivative, as the compiler shows it</text>')
    for i, (number, text) in enumerate(source.items(), 1):
        rows.append(row(LEFT, TOP + LINE * i, left, f"{number} {text}", colours.get(number, "")))
    for i, ((code, place, _), note) in enumerate(zip(shown, notes, strict=True), 1):
        rows.append(row(start, TOP + LINE * i, right, code, colours[int(place[1])] if place else "", note))
    width = start + right + LEFT
    style = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}"><!-- written by tools/dump_picture.py --><style>{style}'
        ".title{font:bold 13px sans-serif}</style>"
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, picture()))
