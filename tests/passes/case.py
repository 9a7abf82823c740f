"""Text-in/text-out cases of passes: `cases/*.ir`, run by `test_cases.py`::

// pass: simplify                       one name, or several divided by commas
// name: multiplying by one disappears  the fact that the case shows
// stage: PURE                          optional: what the result must fulfil besides being well formed
func @f(%x: f32[4]) -> (f32[4]) { ... }
// ---
func @f(%x: f32[4]) -> (f32[4]) {       the exact print of the result
  return %x
}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import autodiff_compiler.compiler.pipeline  # declares the pass expand_grad
import autodiff_compiler.passes
import autodiff_compiler.primitives  # noqa: F401  # registers the ops, as the line before does the passes
from autodiff_compiler.ir.text import parse_module, print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.passes.manager import PASSES

DIVIDER = "// ---\n"
CASES = Path(__file__).parent / "cases"


@dataclass
class Case:
    path: Path
    passes: list[str]
    name: str
    stage: str | None
    before: str  # the header too
    expected: str | None

    @classmethod
    def read(cls, path: Path) -> Case:
        before, divider, expected = path.read_text("ascii").partition(DIVIDER)
        header = {}
        for line in before.splitlines():
            if not line.startswith("// "):
                break
            key, colon, value = line.removeprefix("// ").partition(": ")
            if not colon or key not in ("pass", "name", "stage") or key in header:
                raise ValueError(f"{path.name}: this header line is not understood: {line}")
            header[key] = value.strip()
        if "pass" not in header or "name" not in header:
            raise ValueError(f"{path.name} must start with `// pass: ...` and `// name: ...`")
        passes = [name.strip() for name in header["pass"].split(",")]
        return cls(path, passes, header["name"], header.get("stage"), before, expected if divider else None)

    def result(self) -> str:
        """The printed result of the passes, verified after each of them and read back."""
        module = parse_module(self.before)
        verify(module)
        for name in self.passes:
            if name not in PASSES:
                raise LookupError(f"there is no pass {name!r}; there are {', '.join(sorted(PASSES))}")
            module = PASSES[name](module)
            verify(module)
        verify(module, self.stage)
        text = print_module(module)
        assert print_module(parse_module(text)) == text, "the print of the result does not survive parsing"
        return text

    def check(self, update: bool) -> None:
        """Compares the result with the expected part, or writes that."""
        text = self.result()
        if update:
            self.path.write_text(self.before + DIVIDER + text, "ascii")
            return
        command = f"pytest tests/passes/test_cases.py -k {self.path.stem} --update-golden"
        assert self.expected is not None, f"{self.path.name} has no expected part; `{command}` writes it: read it then"
        assert text == self.expected, f"{self.path.name}: {self.name} (if the new text is right: `{command}`)"
