"""The pages for people who come from PyTorch and JAX: both columns of their tables give the same, their code learns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, tree
from autodiff_compiler import numpy as ms_numpy

DOCS = Path(__file__).resolve().parents[2] / "docs"
_own = np.random.default_rng(0)
DATA = {
    "x": _own.normal(size=(2, 3)).astype(np.float32),
    "y": _own.normal(size=(2, 3)).astype(np.float32),
    "w": _own.normal(size=(4, 3)).astype(np.float32),
    "b": _own.normal(size=4).astype(np.float32),
    "c": np.array([0, 2]),
    "i": np.array([[0, 2], [1, 1]]),
}


def rows(page: str, section: str, columns: int = 2) -> list[list[str]]:
    """The code of the rows of the first table in a section."""
    text = (DOCS / f"coming_from_{page}.md").read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None
    found = [[cell.strip(" `") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[1].splitlines()]
    assert all(len(row) == columns for row in found)
    return found


def block(page: str, language: str) -> str:
    """The first code of a language on a page."""
    found = re.search(rf"```{language}\n(.*?)```", (DOCS / f"coming_from_{page}.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def ours(**more: Any) -> dict[str, Any]:
    names = {"ms": ms, "ops": ops, "nn": nn, "tree": tree, "np": ms_numpy, "Tensor": Tensor, **_functions()}
    return names | {name: Tensor(value) for name, value in DATA.items()} | more


def _functions() -> dict[str, Any]:
    return {"f": lambda x: (x * x * x).sum(), "g": lambda x, y: (x * y).sum()}


def numbers(x: Any) -> list[np.ndarray]:
    """The arrays of a result, whatever framework and container they are in."""
    if isinstance(x, dict):
        return [a for k in sorted(x) for a in numbers(x[k])]
    if isinstance(x, tuple | list):
        return [a for part in x for a in numbers(part)]
    return [np.asarray(x.detach() if hasattr(x, "detach") and not isinstance(x, Tensor) else x)]


def both_columns(page: str, sections: tuple[str, ...], theirs: dict[str, Any], more: dict[str, Any]) -> None:
    for section in sections:
        for left, right in rows(page, section):
            expected, found = numbers(eval(left, dict(theirs))), numbers(eval(right, ours(**more)))
            assert len(expected) == len(found), (left, right)
            for e, f in zip(expected, found, strict=True):
                assert e.shape == f.shape, (left, right)
                np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-6, err_msg=f"{left} and {right}")


@pytest.mark.parametrize(
    ("page", "sections"), [("pytorch", ("Tensors", "Derivatives")), ("jax", ("Arrays", "Transformations"))]
)
def test_our_column_runs_and_is_finite(page: str, sections: tuple[str, ...]) -> None:
    for _, right in [row for section in sections for row in rows(page, section)]:
        assert all(np.isfinite(a).all() for a in numbers(eval(right, ours(a=np.arange(3.0))))), right


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # what a peer deprecates in itself
def test_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    array = np.arange(3.0)
    theirs = {"torch": torch, "F": torch.nn.functional, "a": array, **_functions()}
    theirs |= {name: torch.from_numpy(value.copy()) for name, value in DATA.items()}
    both_columns("pytorch", ("Tensors", "Derivatives"), theirs, {"a": array})
    for left, right, shape in rows("pytorch", "Layers and optimizers", 3):
        sizes = tuple(map(int, shape.split(",")))
        expected = eval(left, {"nn": torch.nn})(torch.ones(sizes)).shape
        assert tuple(expected) == eval(right, ours())(ops.ones(sizes)).shape, (left, right)
    space: dict[str, Any] = {}
    exec(block("pytorch", "py"), space)
    assert space["error"] < 0.01


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    theirs = {"jax": jax, "jnp": jax.numpy, **_functions()}
    theirs |= {name: jax.numpy.asarray(value) for name, value in DATA.items()}
    both_columns("jax", ("Arrays", "Transformations"), theirs, {})
    space: dict[str, Any] = {}
    exec(block("jax", "py"), space)
    assert space["error"] < 0.05
