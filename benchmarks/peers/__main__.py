"""The command line of `benchmarks.peers`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="NAME", help="cases whose name, or that of their group, has this text"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there, too")
    parser.add_argument("--threads", type=int, action="append", metavar="N", help="instead of 1 and 2; may be repeated")
    parser.add_argument(
        "--here", metavar="GROUP", help=argparse.SUPPRESS
    )  # what the processes of groups are called with
    options = parser.parse_args(arguments)
    if options.here:
        from .run import bind, rows_of

        (threads,) = options.threads
        bind(threads)
        found = []
        for row in rows_of(options.here, options.only, options.rounds, threads):
            found.append(dataclasses.asdict(row))
            options.json.write_text(json.dumps({"rows": found}), "utf-8")  # as it stands, should the rest fail
        return 0
    from . import as_json, run_groups, show
    from .run import THREADS

    rows = []
    for row in run_groups(only=options.only, rounds=options.rounds, threads=options.threads or THREADS):
        rows.append(row)
        if options.json:  # as it stands, should the rest be interrupted
            options.json.write_text(as_json(rows), "utf-8")
    if not rows:
        print(f"error: no case has {options.only!r} in its name", file=sys.stderr)
        return 2
    show(rows)
    return 1 if any(column in ("native", "numpy", "eager") for row in rows for column in row.failed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
