"""`ascend-selftest`: whether an Ascend device does all that it should."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from .command import Argument, Command, Result
from .report import lines
from .saved import write_text, writing


def _begins(stage: str) -> None:
    print(f"{stage} ...", file=sys.stderr, flush=True)


def _self_tested(options: Namespace) -> Result:
    from ..testing.ascend import collectives_test, environment, self_test  # not for --help: it loads the compiler

    if options.out:
        with writing(options, options.out):
            open(options.out, "a", encoding="utf-8").close()  # not after minutes of testing
    if options.collectives:
        found, passed = collectives_test(_begins)
        found = {"environment": environment(start=False), **found}
    else:
        found, passed = self_test(options.device, _begins)
    if options.out:
        write_text(options, options.out, json.dumps(found, indent=2))
    text = lines(found["environment"])
    for stage in found["stages"]:
        text.append(f"\n[{stage['status']}] {stage['stage']} ({stage['seconds']} s)")
        text += [f"  {line}" for part in stage["text"] for line in part.split("\n")]
    return Result("\n".join(text), found, int(not passed))


COMMAND = Command(
    "ascend-selftest",
    "test an Ascend device in stages and print one report",
    _self_tested,
    [
        Argument("--device", type=int, default=0, metavar="N", help="the device's number (0)"),
        Argument(
            "--collectives", action="store_true", help="test HCCL between the devices of several processes instead"
        ),
        Argument("--out", metavar="FILE", help="write the report as JSON to a file too"),
    ],
    "Tests an Ascend device from its libraries to training, in stages that go on where they can when one fails. The "
    "report is for sharing: it names the environment, what is missing, and each operator's error; with --json of "
    "every dtype.",
    ["ascend-selftest --out report.json", "ascend-selftest --collectives"],
)
