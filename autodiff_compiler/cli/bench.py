"""`bench`: a function in eager and in compiled mode, side by side."""

from __future__ import annotations

import importlib.util
from argparse import Namespace

from .command import Argument, Command, Result, Usage
from .saved import writing
from .targets import LOADED, MAKE, TARGET, function_of
from .values import ARGS, RANDOM, positive, random_values


def _measured(options: Namespace) -> Result:
    path = options.plot
    if path is not None and not path.endswith((".png", ".svg")):
        raise Usage(f"a plot is a .png or an .svg, which {path} is not")
    if path is not None and path.endswith(".png") and importlib.util.find_spec("matplotlib") is None:
        raise Usage("a .png needs matplotlib (pip install 'autodiff-compiler[plot]'); an .svg needs nothing")
    if len(set(options.modes)) < len(options.modes):
        raise Usage("--modes names a mode twice")
    from ..profiling.benchmark import NoGradient, benchmark  # not for --help: it loads the compiler

    arguments = random_values(options.args or "", options.seed, options.range)
    fn = function_of(options, arguments)
    try:
        found = benchmark(fn, arguments, options.modes, grad=options.gradient, seconds=options.seconds)
    except NoGradient as error:
        raise Usage(f"--grad: {error}") from None
    if path is not None:
        with writing(options, path):
            found.plot(path)
    text = str(found).rstrip("\n") + (f"\n\n{path}" if path else "")
    return Result(text, {"target": options.target, "rows": found.data(), "plot": path})


COMMAND = Command(
    "bench",
    "measure a function in eager and in compiled mode, side by side",
    _measured,
    [
        TARGET,
        ARGS,
        MAKE,
        *RANDOM,
        Argument(
            "--grad",
            action="store_true",
            dest="gradient",
            help="measure the value with its gradients, too: by the Parameters of a Cell, else by all floats",
        ),
        Argument(
            "--modes",
            nargs="+",
            metavar="MODE",
            choices=("eager", "graph", "native", "numpy"),
            default=["eager", "graph"],
            help="which are compared: eager, graph (compiled), native and numpy (compiled for these backends)",
        ),
        Argument(
            "--seconds", type=positive, default=1.0, metavar="S", help="how long each mode is measured, about (1)"
        ),
        Argument("--plot", metavar="FILE", help="draw it: a .png (with matplotlib) or an .svg"),
    ],
    "The modes take turns, and their results are compared before. Shown are medians of the time of a call, the "
    "range of the middle half of the rounds, how many times as fast a mode is as the first one, and what compiling "
    f"takes. Exit status: 1 if the results do not agree. {LOADED}",
    [
        'bench model.py:loss --args "f32[32,784] i64[32]" --grad --plot loss.svg',
        'bench model.py:Net --make "Net(3, 1)" --args "f32[8,3]" --modes eager native numpy',
    ],
)
