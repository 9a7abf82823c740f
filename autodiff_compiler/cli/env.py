"""`env`: versions, and what there is of processors and devices."""

from __future__ import annotations

from argparse import Namespace

from .command import Argument, Command, Result
from .report import lines


def _environment(options: Namespace) -> Result:
    # Not for --help: they load the compiler.
    from ..inspection.machine_report import limits, native, settings
    from ..testing import ascend

    found = ascend.environment()
    cann = found.pop("cann")
    found = {**found, **settings(), "native": native()}
    found = {**found, "limits": limits(measure=options.measure), "cann": cann}
    return Result("\n".join(lines(found)), found)


COMMAND = Command(
    "env",
    "versions, and what is found of this processor and of an Ascend device or why neither can be used",
    _environment,
    [Argument("--measure", action="store_true", help="measure how fast this machine is, for estimates of cost")],
    examples=["env", "env --measure --json"],
)
