"""Einsum of any pattern against NumPy: values, derivatives, the order of contraction, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor, eager, ops
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.primitives.einsum import _plan

RNG = np.random.default_rng(8)


def draw(*shape):
    return RNG.normal(size=shape)


A, B, C, V, W = draw(3, 4), draw(4, 5), draw(5, 2), draw(4), draw(3)
BATCH, SQUARE = draw(2, 3, 4), draw(2, 3, 3)

EQUATIONS = [
    ("ij,jk->ik", (A, B)),
    ("ij,jk", (A, B)),
    ("ij,jk->ki", (A, B)),
    ("ij,jk,kl->il", (A, B, C)),
    (" ij , jk -> ", (A, B)),
    ("ba", (A,)),
    ("ij->", (A,)),
    ("ij->j", (A,)),
    ("ii", (SQUARE[0],)),
    ("ii->i", (SQUARE[0],)),
    ("iii->i", (draw(3, 3, 3),)),
    ("iiij->ij", (draw(3, 3, 3, 2),)),
    ("iij,ij->j", (draw(3, 3, 4), A)),
    ("bii,b->i", (SQUARE, draw(2))),
    ("i,j->ij", (W, V)),
    ("i,i", (V, V)),
    ("ij,kj->", (A, draw(2, 4))),
    ("ij,ij->ij", (A, A)),
    ("ij,i->ij", (A, W)),
    ("bij,bkj->bik", (BATCH, draw(2, 5, 4))),
    ("bqhd,bkhd->bhqk", (draw(2, 3, 2, 4), draw(2, 5, 2, 4))),
    ("...ij,...jk->...ik", (draw(2, 1, 3, 4), draw(5, 4, 2))),
    ("i...->...", (BATCH,)),
    ("...i,...i", (BATCH, A)),
    ("...,...->...", (BATCH, np.array(2.0))),
    ("a...b,b...c->...ac", (draw(2, 3, 4), draw(4, 3, 5))),
    ("nchw,c->nhw", (draw(2, 3, 2, 4), W)),
    ("nchw,dc->ndhw", (draw(2, 3, 2, 4), draw(5, 3))),
    ("dc,nchw->hndw", (draw(5, 3), draw(2, 3, 2, 4))),
    ("mnijw,mji->nw", (draw(3, 2, 2, 4, 5), draw(3, 4, 2))),
    ("mnijw,mjid->ndmw", (draw(3, 2, 2, 4, 5), draw(3, 4, 2, 2))),
    ("nchw,nchw->c", (draw(2, 3, 2, 4), draw(2, 3, 2, 4))),
    ("nchw,nchw->nh", (draw(2, 3, 2, 4), draw(2, 3, 2, 4))),
    ("ij,ij->j", (A, A)),
    ("ij,j->i", (A, draw(1))),  # a size of 1 stretches
    ("ijk,ilm,njm,nlk,abc->", (draw(2, 3, 4), draw(2, 5, 6), draw(7, 3, 6), draw(7, 5, 4), draw(2, 2, 2))),
    ("ab,bc,cd,de,ef,fg,gh,hi->ai", tuple(draw(2, 2) for _ in range(8))),
    ("ij,jk->ik", (draw(2, 0), draw(0, 3))),
]


@pytest.mark.parametrize(("equation", "arrays"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum_is_numpys(both, equation, arrays):
    (got,) = both(lambda *xs: ops.einsum(equation, *xs), *arrays)
    expected = np.einsum(equation, *arrays)
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "iij,ij->j", "...i,...i", "i,i,ij->"])
def test_einsum_is_differentiated_as_the_loop_over_its_definition(equation):
    arrays = {
        "ij,jk,kl->il": (A, B, C), "iij,ij->j": (draw(3, 3, 4), A), "...i,...i": (BATCH, V), "i,i,ij->": (W, W, A),
    }[equation]  # fmt: skip
    out, pullback = eager.vjp(lambda *xs: ops.einsum(equation, *xs), list(map(Tensor, arrays)))
    g = draw(*out.shape)
    for i, got in enumerate(pullback([Tensor(g)])):
        for at in list(np.ndindex(arrays[i].shape))[::5]:  # einsum is linear in each operand
            unit = np.zeros(arrays[i].shape)
            unit[at] = 1
            expected = np.sum(g * np.einsum(equation, *arrays[:i], unit, *arrays[i + 1 :]))
            assert got.asnumpy()[at] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_cheapest_order_is_taken():
    # A chain of 2 x 1000, 1000 x 2, 2 x 1000: the middle product costs 1000 times less on the left.
    assert _plan("ij,jk,kl->il", ((2, 1000), (1000, 2), (2, 1000))).steps[0] == (0, 1)
    assert _plan("ij,jk,kl->il", ((1000, 2), (2, 1000), (1000, 2))).steps[0] == (1, 2)
    # Eight matrices (more than are tried in every order) and a vector: from the vector on, never two matrices.
    shapes = (*((50, 50),) * 8, (50,))
    assert _plan("ab,bc,cd,de,ef,fg,gh,hi,i->a", shapes).steps[0] == (7, 8)


@pytest.mark.parametrize(
    ("equation", "arrays", "error", "text"),
    [
        ("ij,jk->ik", (A,), ValueError, "names 2 operands, but there are 1"),
        ("ij->ijk", (A,), ValueError, "names 'k', which no operand has"),
        ("ij->ii", (A,), ValueError, "one dimension twice"),
        ("i1", (A,), ValueError, "must consist of letters"),
        ("......", (A,), ValueError, "at most one '...'"),
        ("...i->i", (A,), ValueError, "must have the '...'"),
        ("ijk", (A,), ShapeError, "'ijk' does not name the dimensions of shape [3, 4]"),
        ("ij,ij", (A, B), ShapeError, "'i' has the sizes 3 and 4"),
        ("ij", (A > 0,), DTypeError, "not defined for bools"),
        (1, (A,), TypeError, "must be a str, not int"),
    ],
)
def test_equations_that_do_not_fit_are_refused(equation, arrays, error, text):
    with pytest.raises(error) as caught:
        ops.einsum(equation, *map(Tensor, arrays))
    assert text in str(caught.value)


def test_einsum_of_narrow_floats_rounds_once():
    x = np.full((1, 3000), 1 / 3, np.float16)
    got = ops.einsum("ij,kj,j->ik", Tensor(x), Tensor(x), Tensor(x[0])).asnumpy()
    assert got.dtype == np.float16
    assert got.item() == np.float16((x.astype(np.float64) ** 3).sum())
