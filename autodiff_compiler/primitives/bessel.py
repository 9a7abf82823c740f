"""Bessel functions of integer order.

The derivative of each is a sum of its neighbours in order (NIST Digital Library of Mathematical Functions 10.6.1 and
10.29.1; 10.51.2 for the spherical ones): nothing is divided by x, so that derivatives of every order hold at 0 too.
"""

from __future__ import annotations

import math

from ..ir.primitive import F, Primitive, composite
from ..ir.types import TensorType
from .family import float_unary, promoted
from .requirements import require
from .samples import F2, I2


def _order(x: TensorType, *, n: int):
    require(n >= 0, f"a Bessel function of order {n}: the order starts at 0")
    return float_unary(x)


def _samples(low, high):
    def samples(rng):
        yield rng(2, 3, low=low, high=high), {"n": 0}
        yield rng(2, low=low, high=high), {"n": 1}
        yield rng(low=low, high=high), {"n": 2}

    return samples


def _scipy_bessel(x, n, zero, one, any_order):
    """SciPy's function of these names for order 0, for order 1, and for every order."""
    from scipy import special

    if n > 1:
        return getattr(special, any_order)(n, x)
    return getattr(special, one if n == 1 else zero)(x)


def _half_of_neighbours(function, x, n, sign):
    """Half of f(n - 1) + sign * f(n + 1), where f(-1) = sign * f(1)."""
    above = function(x, n=n + 1)
    if n == 0:
        return above if sign > 0 else -above
    below = function(x, n=n - 1)
    return (below + above if sign > 0 else below - above) * 0.5


class _Bessel(Primitive, abstract=True):
    """A Bessel function of integer order n, which SciPy computes."""

    internal = True
    infer = _order
    flops = 100
    widen = True
    errors = [((I2,), {"n": 0}, "not defined for int32"), ((F2,), {"n": -1}, "starts at 0")]


class BesselJ(_Bessel):
    """Bessel function of the first kind, of order n."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "j0", "j1", "jv")

    def vjp(c, g, x):
        return g * _half_of_neighbours(F.bessel_j, x, c.n, -1)

    samples = _samples(-3, 3)
    ties = [(([0.0],), {"n": 0}, ([0.0],)), (([0.0],), {"n": 1}, ([0.5],))]


class BesselY(_Bessel):
    """Bessel function of the second kind, of order n: minus infinity at 0, nan below."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "y0", "y1", "yv")

    def vjp(c, g, x):
        return g * _half_of_neighbours(F.bessel_y, x, c.n, -1)

    samples = _samples(1, 4)


class BesselI(_Bessel):
    """Modified Bessel function of the first kind, of order n."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "i0", "i1", "iv")

    def vjp(c, g, x):
        return g * _half_of_neighbours(F.bessel_i, x, c.n, 1)

    samples = _samples(-3, 3)
    ties = [(([0.0],), {"n": 0}, ([0.0],)), (([0.0],), {"n": 1}, ([0.5],))]


class BesselIe(_Bessel):
    """exp(-|x|) times the modified Bessel function of the first kind, of order n; at 0 |x|' counts as 0."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "i0e", "i1e", "ive")

    def vjp(c, g, x):
        return g * (_half_of_neighbours(F.bessel_ie, x, c.n, 1) - F.sign(x) * c.out)

    def samples(rng):
        yield rng(2, 3, low=0.2, high=3), {"n": 0}
        yield rng(2, low=-3, high=-0.2), {"n": 1}
        yield rng(low=0.2, high=3), {"n": 2}

    ties = [(([0.0],), {"n": 0}, ([0.0],)), (([0.0],), {"n": 1}, ([0.5],))]


class BesselK(_Bessel):
    """Modified Bessel function of the second kind, of order n: infinite at 0, nan below."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "k0", "k1", "kv")

    def vjp(c, g, x):
        return -(g * _half_of_neighbours(F.bessel_k, x, c.n, 1))

    samples = _samples(1, 4)


class BesselKe(_Bessel):
    """exp(x) times the modified Bessel function of the second kind, of order n: infinite at 0, nan below."""

    def numpy(x, *, n):
        return _scipy_bessel(x, n, "k0e", "k1e", "kve")

    def vjp(c, g, x):
        return g * (c.out - _half_of_neighbours(F.bessel_ke, x, c.n, 1))

    samples = _samples(1, 4)


class SphericalBesselJ(_Bessel):
    """Spherical Bessel function of the first kind, of order n; of order 0 it is sin(x) / x, and 1 at 0."""

    def numpy(x, *, n):
        from scipy import special

        return special.spherical_jn(n, x).astype(x.dtype)

    def vjp(c, g, x):
        if c.n == 0:
            return -(g * F.spherical_bessel_j(x, n=1))
        below, above = F.spherical_bessel_j(x, n=c.n - 1), F.spherical_bessel_j(x, n=c.n + 1)
        return g * (below * (c.n / (2 * c.n + 1)) - above * ((c.n + 1) / (2 * c.n + 1)))

    samples = _samples(-3, 3)
    ties = [(([0.0],), {"n": 0}, ([0.0],)), (([0.0],), {"n": 1}, ([1 / 3],))]


# ------------------------------------------------------------------------------------------------ for users
def _of_order(primitive, n, method=()):
    """Publishes a function of a fixed order as `call.<primitive><n>`, with the scaling suffix last."""
    kind, scaled = primitive.removesuffix("e"), "e" if primitive.endswith("e") else ""

    def public(x):
        (x,) = promoted(x, floating=True)
        return getattr(F, primitive)(x, n=n)

    public.__name__ = public.__qualname__ = f"{kind}{n}{scaled}"
    public.__doc__ = f"`{primitive}` of order {n}."
    composite(*method)(public)


for _primitive in ("bessel_j", "bessel_y", "bessel_i", "bessel_ie", "bessel_k", "bessel_ke"):
    for _n in (0, 1):
        _of_order(_primitive, _n, ("i0",) if (_primitive, _n) == ("bessel_i", 0) else ())


@composite("sinc")
def sinc(x):
    """sin(pi x) / (pi x), and 1 at 0."""
    (x,) = promoted(x, floating=True)
    return F.spherical_bessel_j(x * math.pi, n=0)
