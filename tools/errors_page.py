"""Writes docs/errors.md: every code of an error or warning, what it means and what to do.

python tools/errors_page.py            writes the page
python tools/errors_page.py --check    fails if the page is not what the package says
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autodiff_compiler import errors  # noqa: E402
from autodiff_compiler.catalogue import CATALOGUE  # noqa: E402
from generated_pages import write_or_check  # noqa: E402

HEAD = """# Errors and warnings

Written by `python tools/errors_page.py` from the catalogue; do not edit by hand.

Every refusal carries a code and names the place in your file, the reason and a way out. Each class also inherits the
builtin exception that Python raises for the same mistake, so `except TypeError` keeps working in compiled code. All are
attributes of the package (`except ms.ShapeError`); `ms.CompileError` is the base of the errors, `ms.AutodiffWarning` of
the warnings. What Python itself raises while a function is compiled (an IndexError of a list, say) stays what it is,
with a note that shows the place.

`python -m autodiff_compiler explain AC1402` prints an entry of this page, `python -m autodiff_compiler check model.py`
lists what of a file cannot be compiled. Tracebacks show your own frames; the environment variable
`AC_FULL_TRACEBACK=1` shows all of them.
"""

GROUPS = {
    "10": "Source",
    "11": "Syntax",
    "12": "Names and calls",
    "13": "Values that must be known while compiling",
    "14": "Paths that meet, and types of operands",
    "15": "Loops and recursion",
    "16": "Effects",
    "17": "Derivatives",
    "18": "Calls that compiled code cannot make",
    "19": "Mistakes of the compiler",
    "20": "Warnings",
    "30": "Many processes",
}


def page() -> str:
    """The text of docs/errors.md."""
    parts = [HEAD]
    for prefix, title in GROUPS.items():
        rows = [_row(code) for code in CATALOGUE if code[2:4] == prefix]
        head = [f"## {title}\n", "| code | class | meaning | what to do |", "|---|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _row(code: str) -> str:
    entry = CATALOGUE[code]
    cells = [code, ", ".join(map(_class, entry.classes)), entry.situation, entry.advice]
    return f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |"


def _class(name: str) -> str:
    """A class with the builtin exceptions it also is."""
    cls = getattr(errors, name)
    bases = [b.__name__ for b in cls.__bases__ if b.__module__ == "builtins" and inspect.isclass(b)]
    return f"`{name}`" + (f" ({', '.join(bases)})" if bases else "")


def main() -> int:
    path = ROOT / "docs" / "errors.md"
    missing = [code for code in CATALOGUE if code[2:4] not in GROUPS]
    if missing:
        print(f"no group for {', '.join(missing)}", file=sys.stderr)
        return 1
    return write_or_check(path, page())


if __name__ == "__main__":
    sys.exit(main())
