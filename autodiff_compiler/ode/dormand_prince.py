"""The pair of Dormand and Prince, of orders 5 and 4, with Shampine's polynomial between the ends of a step.

Coefficients: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, tables II.5.2 and II.6.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..implicit.modes import from_source

#: Where in the step each stage is, and what it adds of the stages before it.
_STAGES = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1.0, (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)
#: What the stages add to the difference of both results.
_ERROR = (-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40)
#: Of each stage the coefficients of theta, theta^2, theta^3 and theta^4.
_BETWEEN = (
    (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
    (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
    (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
    (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
    (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
)


@from_source
def step(f: Any, t: Any, y: Any, slope: Any, h: Any) -> Any:
    """The end of a step, the slope there, the coefficients between (one row a power of theta), and the error."""
    stages = [slope]
    place = y
    for at, row in _STAGES:
        place = y + h * weighted(row, stages)
        stages.append(f(place, t + at * h))
    between = ops.stack([weighted([stage[p] for stage in _BETWEEN], stages) for p in range(4)])
    return place, stages[6], between, h * weighted(_ERROR, stages)


@from_source
def weighted(weights: Any, stages: Any) -> Any:
    total = stages[0] * weights[0]
    for w, k in zip(weights[1:], stages[1:]):  # noqa: B905  # there may be fewer weights
        if w != 0:
            total = total + w * k
    return total


@from_source
def between(y: Any, h: Any, coefficients: Any, theta: Any) -> Any:
    """The value inside of a step from y, at the part theta of its length h."""
    c = coefficients
    return y + h * theta * (c[0] + theta * (c[1] + theta * (c[2] + theta * c[3])))
