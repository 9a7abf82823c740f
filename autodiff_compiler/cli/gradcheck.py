"""`gradcheck`: gradients against numerical ones, and eager against compiled mode."""

from __future__ import annotations

from argparse import Namespace

from .command import Argument, Command, Result
from .targets import BACKEND, LOADED, MAKE, TARGET
from .values import ARGS, RANDOM, positive, tolerance


def _checked(options: Namespace) -> Result:
    from .gradients import check_gradients  # not for --help: it loads the compiler

    return check_gradients(options)


COMMAND = Command(
    "gradcheck",
    "check the gradients of a function against numerical ones, in eager and in compiled mode",
    _checked,
    [
        TARGET,
        ARGS,
        MAKE,
        *RANDOM,
        Argument("--weights", action="store_true", help="those by the Parameters of a Cell that require one, too"),
        Argument("--order", type=int, default=1, metavar="N", help="2: the gradient of the gradient, too"),
        Argument("--rtol", type=tolerance, metavar="X", help="relative tolerance (it follows the dtype)"),
        Argument("--atol", type=tolerance, metavar="X", help="absolute tolerance (it follows the dtype)"),
        Argument("--eps", type=positive, metavar="X", help="the step of the numerical gradient (it follows the dtype)"),
        BACKEND,
    ],
    "Checked are the gradients by every float Tensor among the arguments, also in tuples, lists and dicts of Tensors, "
    "at up to 64 elements of each, with --weights those by the Parameters of a Cell, too; and that results and "
    "gradients are the same in all modes. float64 makes a sharp check, float32 a rough one; float16 and bfloat16 are "
    f"too coarse for any. Exit status: 0 all are right, 1 some are not. {LOADED}",
    [
        'gradcheck model.py:loss --args "f64[4,3] f64[3]" --order 2',
        'gradcheck model.py:Net --make "Net(3, 1)" --args "f32[4,3]" --weights',
        'gradcheck f.py:g --args "f64[8]" --range 0.5 2',
    ],
)
