"""Functions that the tests of the report compile."""

from __future__ import annotations

from autodiff_compiler import ops, unroll


def activation(z):
    return ops.tanh(z)


def loss(x, w, v):
    """A text such as </script><script>document.title = "broken"</script> is no part of the page."""
    hidden = activation(ops.matmul(x, w))  # <!-- nor is <b>this</b> & that: "§" -->
    out = ops.matmul(hidden, v)
    return (out * out).sum()


def long(x):
    for _ in unroll(range(700)):
        x = ops.sin(x) * 0.5 + x
    return x.sum()


def picked(x, i):
    return ops.exp(x[i]).sum()


def line_of(text: str) -> int:
    """The number of the first line of this file with this text."""
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if text in line)
