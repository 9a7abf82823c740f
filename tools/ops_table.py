"""Writes docs/ops.md: every primitive and every public composite, from the classes alone.

python tools/ops_table.py            writes the page
python tools/ops_table.py --check    fails if the page is not what the classes say
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

HEAD = """# Operations

Written by `python tools/ops_table.py` from the classes in `autodiff_compiler/primitives`; do not edit by hand.

A *primitive* is one class: type rule, kernel, derivative. Its attributes (behind `*`) are compile-time constants. A
*composite* is written over primitives and needs no derivative of its own. *Derivative* says whether the primitive has a
rule; where it says `control`, reverse and forward mode treat the op themselves. Every rule is differentiable again, so
one rule serves all orders and, transposed, forward mode.
"""

STRUCTURED = {"if", "while", "scan", "call", "grad", "custom_vjp", "grad_map"}


def first_sentence(doc: str | None) -> str:
    """The first sentence of a docstring on one line, safe in a table."""
    text = " ".join((doc or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def derivative(defn: object) -> str:
    name = defn.name  # type: ignore[attr-defined]
    if name in STRUCTURED:
        return "control"
    return "yes" if defn.vjp is not None else "-"  # type: ignore[attr-defined]


def page() -> str:
    """The text of docs/ops.md."""
    import autodiff_compiler  # noqa: F401
    from autodiff_compiler.ir.primitive import REGISTRY, call

    families: dict[str, list[str]] = {}
    for name, defn in sorted(REGISTRY.items()):
        if not defn.__module__.startswith("autodiff_compiler.primitives"):
            continue  # one that a document or a test declared
        operands = ", ".join(
            ("*" if defn.variadic and i == len(defn.operand_names) else "") + n
            for i, n in enumerate(defn.operand_names)
        ) or ("*operands" if defn.variadic else "")
        attrs = ", ".join(defn.schema)
        signature = f"{operands}{', ' if operands and attrs else ''}{'*, ' + attrs if attrs else ''}"
        row = f"| `{name}({signature})` | {first_sentence(defn.__doc__)} | {derivative(defn)} |"
        families.setdefault(defn.__module__.rpartition(".")[2], []).append(row)
    parts = [HEAD, "## Primitives\n"]
    for family, rows in sorted(families.items()):
        parts.append(f"### {family}\n\n| op | what | derivative |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    rows = []
    for name, function in sorted(vars(call).items()):
        if name not in REGISTRY and callable(function):
            rows.append(
                f"| `{name}{inspect.signature(function)}`".replace(" -> 'Any'", "")
                + f" | {first_sentence(function.__doc__)} |"
            )
    parts.append("## Composites\n\n| function | what |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def main() -> int:
    target = ROOT / "docs" / "ops.md"
    text = page()
    if "--check" in sys.argv:
        if not target.exists() or target.read_text("utf-8") != text:
            print("docs/ops.md is not current: run python tools/ops_table.py", file=sys.stderr)
            return 1
        return 0
    target.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
