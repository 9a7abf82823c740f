"""What each code of an error or warning means and what to do about it, for `explain ACnnnn`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CATALOGUE", "Entry", "explain"]


class Entry(NamedTuple):
    """One code: the names of the classes that carry it, the situation, and the way out."""

    classes: tuple[str, ...]
    situation: str
    advice: str


_SOURCE = ("SourceUnavailableError",)
_SYNTAX = ("UnsupportedSyntaxError",)
_STATIC = ("StaticValueError",)
_JOIN = ("JoinError",)
_LOOP = ("LoopError",)
_SIDE = ("SideEffectError",)
_BPROP = ("BpropError",)
_HOOK = ("HookError",)
_CALL = ("UnsupportedCallError",)
_COLLECTIVE = ("CollectiveError",)

CATALOGUE: dict[str, Entry] = {
    "AC1001": Entry(
        _SOURCE,
        "the function has no Python source to compile: it is written in C, made by `exec`, or typed at a prompt",
        "put the function in a file; a notebook cell will do",
    ),
    "AC1002": Entry(
        _SOURCE,
        "the file of the function changed after it was imported, so its text is not what runs",
        "reload the module or restart Python",
    ),
    "AC1101": Entry(
        _SYNTAX,
        "`try` is used: a graph cannot catch exceptions",
        "test the condition before, or move the call out of the compiled function",
    ),
    "AC1103": Entry(
        _SYNTAX, "the construct is not supported, or not yet", "write it another way, e.g. `iter(f, end)` as `while`"
    ),
    "AC1104": Entry(_SYNTAX, "`raise` without an exception is used", "give the exception: `raise ValueError(...)`"),
    "AC1105": Entry(
        _SYNTAX, "a set is looped over, whose order is not determined", "loop over `sorted(s)` or over a tuple"
    ),
    "AC1106": Entry(_SYNTAX, "a generator or another iterator leaves compiled code", "return a list of its elements"),
    "AC1107": Entry(
        _SYNTAX, "the function would pause: `yield`, `await` or `async` is used", "return a list, or `ops.stack` of it"
    ),
    "AC1108": Entry(
        _SYNTAX,
        "`with` is used with a context manager that cannot be compiled",
        "use a supported one, or put the `with` around the call of the compiled function",
    ),
    "AC1109": Entry(
        _SYNTAX,
        "a class, an `async def` or a decorated function is defined inside compiled code",
        "move the definition to module level",
    ),
    "AC1201": Entry(("UnknownNameError",), "the name is defined nowhere", "correct, define or import it"),
    "AC1202": Entry(
        ("UnboundVariableError",),
        "the variable has no value on some path that leads here: a branch without it, or a loop of no trips",
        "give the variable a value before the branch or the loop",
    ),
    "AC1203": Entry(
        ("MissingAttributeError",),
        "the object has no attribute of this name",
        "correct the name; attributes of a Cell are made in `__init__`",
    ),
    "AC1204": Entry(
        ("ArgumentError",), "the arguments of the call do not fit the signature", "pass what the signature asks for"
    ),
    "AC1301": Entry(
        ("AmbiguousTruthError",),
        "a Tensor of several elements is used as a condition",
        "say what is meant with `.any()` or `.all()`, or choose by element with `ops.where`",
    ),
    "AC1302": Entry(
        _STATIC,
        "a value known only at run time stands where a constant is needed: an axis, shape, dtype, key or string",
        "pass it as a Python number, or take it from `x.shape`",
    ),
    "AC1303": Entry(_STATIC, "the length of a comprehension depends on data", "mask with `ops.where` instead"),
    "AC1304": Entry(
        _STATIC, "`is` is asked between Tensors, whose identity a graph does not have", "use `(a == b).all()`"
    ),
    "AC1305": Entry(
        _STATIC,
        "a Python container is indexed by a value known only at run time",
        "make one Tensor with `ops.stack` and index that",
    ),
    "AC1306": Entry(
        _STATIC,
        "the bounds of a slice of a list, or the step of one of a Tensor, are known only at run time",
        "slice a Tensor (`ops.stack` makes one of a list), forwards",
    ),
    "AC1307": Entry(
        ("DynamicShapeError",),
        "a size depends on data, but has to be known while compiling: for a `vmap`, a Jacobian, the gradient of a hook",
        "keep the shape (`ops.where`, `masked_fill`), or make of the result what has a known size",
    ),
    "AC1401": Entry(_JOIN, "a variable has different dtypes on two paths that meet", "cast one of them"),
    "AC1402": Entry(
        _JOIN,
        "a Tensor has different numbers of dimensions on two paths that meet, and its rank must be known",
        "reshape one of them, or use it in a way that gives both paths one shape, such as a sum",
    ),
    "AC1403": Entry(
        _JOIN,
        "a container differs in length, keys or class on two paths that meet",
        "build the same structure on both paths",
    ),
    "AC1404": Entry(
        _JOIN,
        "a variable or result is None on one path and has a value on the other",
        "give it a value there; a missing `return` or `else` is a common cause",
    ),
    "AC1405": Entry(
        _JOIN,
        "a condition known only at run time chooses between objects that are no data: strings, functions, Cells",
        "call both and select between the results with `ops.where`, or decide by what is known while compiling",
    ),
    "AC1406": Entry(
        _JOIN,
        "a variable carried through a loop changes its type in the body",
        "start with the type it ends with, using `zeros_like` or `astype`",
    ),
    "AC1410": Entry(
        ("ShapeError", "DTypeError"),
        "an operation does not accept operands of these shapes or dtypes; notes say where sizes come from",
        "reshape or cast an operand as the rule in the message says",
    ),
    "AC1501": Entry(
        _LOOP,
        "the loop has too many trips to be unrolled and cannot be kept as a loop",
        "remove the use named in the message, or shorten the loop",
    ),
    "AC1502": Entry(
        _LOOP, "`keep` asks for a loop that must be unrolled", "remove the use named in the message, or drop `keep`"
    ),
    "AC1503": Entry(
        _LOOP,
        "a `while` never ends: nothing its condition reads is known only at run time, and the body does not change it",
        "change in the body what the condition reads, let it depend on a Tensor or a `mutable` number, or `break`",
    ),
    "AC1504": Entry(
        _LOOP,
        "a container grows or shrinks in a loop whose number of trips is known only at run time",
        "make the Tensor before and write `t[i] = v`, or use a bound known before",
    ),
    "AC1505": Entry(
        ("RecursionDepthError",),
        "functions call each other, or statements or containers nest, too deeply to be compiled; a list or dict holds "
        "itself",
        "write the recursion as a loop, split the function, or keep a way back in an attribute of an object",
    ),
    "AC1506": Entry(("RecursionDepthError",), "a Tensor decides when a recursion ends", "write it as a `while` loop"),
    "AC1601": Entry(
        _SIDE,
        "a name or object outside is changed where that cannot be: a global name that holds a Parameter, or what a "
        "vectorised function or the backward pass assigns",
        "return the new value, assign a Parameter by `ops.assign`, or keep the value in an attribute of an object",
    ),
    "AC1602": Entry(
        _SIDE,
        "what belongs to the outside is changed where nobody can follow: an array, a container of a class of its own, "
        "or one that is an argument; one that the backward pass changes or reads, too; a Tensor that others may see "
        "unnoticed",
        "change a copy under a name of its own (`new = x.copy()`) and return it; plain lists, dicts and sets in "
        "globals, attributes or other containers can be changed; record gradients with a hook",
    ),
    "AC1603": Entry(
        _SIDE,
        "a variable of an enclosing function is assigned through `nonlocal` by code of the backward pass",
        "keep the value in an attribute of an object, or in a list from outside",
    ),
    "AC1604": Entry(
        _SIDE,
        "the call does something or gives another answer each time, or changes a setting, but would be made once, and "
        "frozen into the graph",
        "make the call outside and pass the answer as an argument; use random numbers from `ops`",
    ),
    "AC1605": Entry(_SIDE, "`set_data` or `init_data` is called in compiled code", "use `ops.assign`"),
    "AC1606": Entry(
        _SIDE,
        "state is written that cannot be followed: an attribute that cannot be state, a Parameter that a name chosen "
        "at run time may stand for, or anything outside of a rule by that rule (`bprop`)",
        "attributes of Cells and of objects of your own classes can be written, and elements of lists and dicts: "
        "Tensors, numbers, strings, None and containers of them, on every path if the attribute is new; assign a "
        "Parameter by its own name, after the last use of a name that may stand for it; record gradients with a hook",
    ),
    "AC1701": Entry(
        ("GradientError",), "a gradient is asked with respect to something that is no Tensor", "make it a Tensor"
    ),
    "AC1702": Entry(
        _BPROP,
        "`bprop` does not take the parameters of `construct` followed by `out` and `dout`",
        "write its signature as the message shows",
    ),
    "AC1703": Entry(
        _BPROP, "`bprop` does not give the gradient that was asked", "return a tuple with one entry for each parameter"
    ),
    "AC1704": Entry(
        _BPROP, "an entry of the result of `bprop` has another shape or type than its input", "return the input's shape"
    ),
    "AC1705": Entry(
        _BPROP,
        "forward mode needs a `bprop` that is linear in `dout` and has no effects that come later; this one is not so",
        "use `dout` linearly, or ask in reverse mode",
    ),
    "AC1706": Entry(_BPROP, "a gradient edit changes the shape of the gradient", "return the shape that came in"),
    "AC1707": Entry(
        _HOOK, "a hook returns another structure than it was given", "return what the message expects, or None"
    ),
    "AC1708": Entry(
        _HOOK,
        "compiled code changes hooks that outlive the call, or in a way only a run can tell",
        "do it before the call",
    ),
    "AC1709": Entry(
        ("NotDifferentiableError",),
        "an operation on the way has no derivative of this order or mode",
        "give the Cell a `bprop`, or cut the path with `stop_gradient`",
    ),
    "AC1710": Entry(
        ("GradientError",),
        "a pullback or linear map is called where the run that it belongs to is out of reach",
        "call it where it was made: compiled code or not, the same branch, loop or differentiated function",
    ),
    "AC1711": Entry(
        ("GradientError",),
        "the function of an equation (`implicit`, `ode`) captures what its derivative cannot follow: what has "
        "changed before the derivative is taken, what is found nowhere, or random numbers",
        "give it as an argument, or let the function capture a variable that stays as it is",
    ),
    "AC1801": Entry(
        _CALL, "a Tensor leaves the graph, which would also cut the gradient", "use an op, or `ms.py_call`"
    ),
    "AC1802": Entry(_CALL, "a Cell overrides `__call__`", "override `construct`"),
    "AC1803": Entry(_CALL, "a Parameter, or a Cell that has some, is created at each call", "create it in `__init__`"),
    "AC1804": Entry(
        _CALL, "an instance of a plain class is created", "mark it `jit_class`, or use a NamedTuple or a dataclass"
    ),
    "AC1805": Entry(
        _CALL, "a NumPy function without a counterpart gets a Tensor", "use a function of `ops`, or `ms.py_call`"
    ),
    "AC1806": Entry(_CALL, "a builtin is called that has no meaning in a graph", "compute the value outside"),
    "AC1807": Entry(
        _CALL,
        "a function is called whose inside cannot be seen",
        "call it outside, by `ms.py_call` at run time, or mark it `constexpr` to call it while compiling",
    ),
    "AC1808": Entry(("ParameterError",), "two Parameters have the same name", "rename one of them"),
    "AC1901": Entry(
        ("InternalCompilerError",), "the compiler made a mistake", "report it with the file named in the message"
    ),
    "AC1902": Entry(
        ("UnsupportedCallError",),
        "an Ascend device has no operator for something in the program",
        'use float32; or let the host do it with `set_context(ascend_fallback="host")`, which copies both ways',
    ),
    "AC1903": Entry(
        ("NonFiniteError",),
        "under `check_nonfinite` an op made NaN or an infinity, or computed with a NaN that it was given",
        "look at the operands' ranges in the message; where infinities are meant, `check_nonfinite(inf=False)`",
    ),
    "AC1904": Entry(
        ("TooLittleMemoryError",),
        "there is no memory for an array, or for what a program computes on the way",
        "compute in parts or in a smaller dtype, `recompute` what derivatives keep, or free what is held",
    ),
    "AC2001": Entry(
        ("RecompileWarning",),
        "it is compiled again and again: for each value of a number or dimension, or whenever what it reads changes",
        "pass the number as `mutable(n)` or as a Tensor; pad or batch to one shape; leave alone what it reads",
    ),
    "AC2002": Entry(
        ("UnrollWarning",), "a long loop is unrolled", "remove the use named in the message so that it can be kept"
    ),
    "AC2003": Entry(
        ("GradientWarning",),
        "the gradient is zero: the result does not depend on what it is taken by, or only through bools, "
        "indices, casts of floats to integers, NumPy arrays or what is stopped",
        "use the net's own weights, or look for a cast, a comparison, `asnumpy` or `stop_gradient` on the way",
    ),
    "AC2004": Entry(
        ("BranchRaisesWarning",),
        "a branch raises an exception whenever it is taken",
        "look whether the branch is meant to fail",
    ),
    "AC2005": Entry(
        ("BypassWarning",),
        "a hook or gradient edit has no effect because a `bprop` goes around it",
        "place it on the Cell itself, or do its work in the `bprop`",
    ),
    "AC2006": Entry(
        ("RecompileWarning",),
        "the function has been compiled for more than half as many signatures as are kept",
        "look which argument changes at each call",
    ),
    "AC3001": Entry(
        ("CollectiveTimeoutError",),
        "a process has waited for others longer than AC_TIMEOUT allows; the message says where each of them is",
        "look at the line of the process that has not come; if it may take that long, set AC_TIMEOUT to more seconds",
    ),
    "AC3002": Entry(
        _COLLECTIVE,
        "the processes of a group do not make the same call: another operation, shape, dtype, root or group",
        "let all of them make the same calls in one order; take care where a branch asks for the rank",
    ),
    "AC3003": Entry(
        _COLLECTIVE,
        "a process waits for one that has ended: out of data, by `sys.exit`, or killed",
        "give all processes the same number of steps; for one that was killed, look at its own messages and the memory",
    ),
    "AC3004": Entry(
        _COLLECTIVE,
        "processes that must have the same have not: versions, compiled programs, shapes",
        "start all of them with the same environment, program and arguments; do not let programs depend on the rank",
    ),
    "AC3005": Entry(
        _COLLECTIVE,
        "a process calls a collective that it has no part in: it is not in the group, is a child by fork, has not "
        "called `init`, or something has gone wrong in the group before",
        "call `communication.init()` first, and collectives only where the process is in the group",
    ),
    "AC3006": Entry(
        _COLLECTIVE,
        "many processes were started, but mpi4py is missing, finds no MPI, or uses another MPI than the launcher",
        'pip install "autodiff-compiler[mpi]"; `python -m autodiff_compiler launch` takes the mpiexec that fits',
    ),
}


def explain(code: str) -> str:
    """The situation and the advice of one code, written ``AC1101`` or ``1101``.

    Raises `KeyError` for a code that does not exist.

    >>> print(explain("1802"))
    AC1802 (UnsupportedCallError): a Cell overrides `__call__`.
    What to do: override `construct`.
    """
    code = code.upper()
    code = code if code.startswith("AC") else "AC" + code
    entry = CATALOGUE[code]
    return f"{code} ({', '.join(entry.classes)}): {entry.situation}.\nWhat to do: {entry.advice}."
