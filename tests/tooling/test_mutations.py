"""tools/mutations.py chooses the same mutations in the same code, and puts one into a process."""

from __future__ import annotations

import ast
import builtins
import sys
from pathlib import Path

import pytest

TOOLS = str(Path(__file__).resolve().parents[2] / "tools")
sys.path.insert(0, TOOLS)
try:
    import mutants
finally:
    sys.path.remove(TOOLS)

FILE = "autodiff_compiler/autodiff/a.py"
TEXT = '''\
def f(x: int = 1) -> int:
    """Adds 1."""
    return x + x


class A:
    rule = lambda c, g: -g

    def check(self, x):
        if x < 0:
            raise ValueError(f"not {x - 1}")

    def __repr__(self):
        return "A" + 1
'''


def chosen(root: Path, text: str) -> dict[str, mutants.Mutation]:
    (root / FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / FILE).write_text(text, "utf-8")
    return {m.function: m for m in mutants.mutations(root, 100, 0)}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x - y", {"x + y"}),
        ("x < y", {"x <= y"}),
        ("x and not y", {"x or not y", "y"}),
        ("f(x, y)", {"f(y, x)"}),
        ("f(*x, y)", set()),
        ("max(x, y)", set()),
        ("a if x else b", {"not x"}),
        ("True", {"False"}),
        ("2", {"3"}),
        ("'text'", set()),
        ("f'{1}'", set()),
    ],
)
def test_what_an_expression_is_changed_to(code: str, expected: set[str]) -> None:
    body = ast.parse(f"lambda: {code}", mode="eval").body
    assert isinstance(body, ast.Lambda)
    assert {ast.unparse(new) for node in mutants.nodes_of(body) for _, new in mutants.changes(node)} == expected


def test_one_change_in_each_function_and_none_in_words_for_people(tmp_path: Path) -> None:
    found = chosen(tmp_path, TEXT)
    assert set(found) == {f"{FILE}.f", f"{FILE}.A.rule", f"{FILE}.A.check"}
    assert found[f"{FILE}.A.rule"].applied(TEXT) == TEXT.replace("-g", "(g)")
    for mutation in found.values():
        after = mutation.applied(TEXT)
        assert after != TEXT
        assert after.count("\n") == TEXT.count("\n")
        compile(after, FILE, "exec")


def test_mutations_stay_when_other_functions_come(tmp_path: Path) -> None:
    before = chosen(tmp_path, TEXT)
    after = chosen(tmp_path, "def g(x):\n    return x * 2\n\n\n" + TEXT)
    assert {name: (m.before, m.after) for name, m in before.items()}.items() <= {
        name: (m.before, m.after) for name, m in after.items()
    }.items()
    assert {m.line - before[name].line for name, m in after.items() if name in before} == {4}


def test_functions_that_exist_get_the_mutated_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    entered: set[str] = set()
    monkeypatch.setattr(builtins, "_entered_", entered, raising=False)
    mutation = chosen(tmp_path, TEXT)[f"{FILE}.A.rule"]
    names: dict[str, type] = {}
    exec(mutants.noted(TEXT, str(tmp_path / FILE)), names)
    assert (names["A"].rule(None, 2), entered) == (-2, {f"{FILE}.A.rule"})
    assert mutants.put_in(mutation)
    assert names["A"].rule(None, 2) == 2
