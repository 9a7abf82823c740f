"""Mutated IR on the native backend: ``python -m tests.property.mutations --inputs 100000``.

Texts of programs (the samples of all primitives and their derivatives, loops, sequences, branches, indexing) are
changed at random in attributes, operands, sizes, dtypes and whole lines.  What `parse_ir` accepts runs twice on hostile
arguments, in a process of its own: with guards and NaN in all memory (AC_POISON=1), and between forbidden pages
(`tests.guarded`).  A third of the inputs passes by its look at positions, so that the kernels meet wrong ones.  A
finding is a process that dies, a guard that is written over, an argument that is written to, an internal error, or a
nan that the NumPy backend does not have.  Exit code 1 if there are any; the inputs are printed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from autodiff_compiler import parse_ir
from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.native.codegen.lanes import NotNativeError
from autodiff_compiler.backends.numpy import NumpyBackend
from autodiff_compiler.compiler.pipeline import optimise
from autodiff_compiler.dtypes import float32
from autodiff_compiler.errors import InternalCompilerError
from autodiff_compiler.inspection import irtext
from autodiff_compiler.inspection.samples import forward, samples_of
from autodiff_compiler.ir.core import Module
from autodiff_compiler.ir.parser import ParseError
from autodiff_compiler.ir.printer import Unbound
from autodiff_compiler.ir.text import print_module
from autodiff_compiler.ir.types import Seq, TensorType, TupleType
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.primitives import REGISTRY
from tests.backends.sampled_modules import adjoint
from tests.guarded import guard_pages, guarded

SECONDS = 10
#: Bytes of the largest value that is run: what is mutated to be large shall only be refused quickly.
_LARGE = 1 << 22
_MEMORY = 2 << 30
_NUMBERS = (
    "0", "1", "2", "3", "5", "7", "64", "-1", "-2", "-3", "-7", "127", "256", "65537", "1000000000", "2147483648",
    "-2147483649", "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "99999999999999999999", "True", "False", "none", "1.5", "nan", '"x"', "[]", "[0]", "[1, 0]",
    "f32", "i8",
)  # fmt: skip
_DTYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16", "f16", "f32", "f64")
_POSITIONS = (0, 1, 2, -1, -2, -5, 127, 255, 10**9, -(10**9), 2**31, 2**62, 2**63 - 1, -(2**63), 2**64 - 1)
_INT = re.compile(r"(?<![\w.%@])-?\d+(?![\w.])")
_VALUE = re.compile(r"%\w+")
_DTYPE = re.compile(r"\b(?:bool|bf16|[uif]\d+)(?=\[)")

_WRITTEN = """
func @f(%x: f32[5,3], %i: i64[4]) -> (f32[4,3]) {
  %c: i64[4] = check_index %i {size=5, negative=True}
  %y: f32[4,3] = gather %x, %c {axis=-2}
  return %y
}
----
func @f(%x: f32[5,3], %i: i32[4], %u: f32[4,3]) -> (f32[5,3]) {
  %c: i64[4] = check_index %i {size=5, negative=True}
  %y: f32[5,3] = scatter_NAME %x, %c, %u {axis=-2}
  return %y
}
----
func @f(%x: f32[5,3], %i: u64[2,3], %u: f32[2,3]) -> (f32[5,3], f32[2,3]) {
  %c: i64[2,3] = check_index %i {size=5, negative=True}
  %y: f32[5,3] = add_along_axis %x, %c, %u {axis=-2, distinct=False}
  %z: f32[2,3] = take_along_axis %x, %c {axis=-2, distinct=False}
  return %y, %z
}
----
func @f(%x: f32[4,3], %n: i64[]) -> (f32[3], f32[4,3]) {
  %s: seq<f32[3]> = to_seq %x
  %z: f32[3] = const {value=0.0}
  %k: i64[] = const {value=4}
  %r: f32[3], %o: seq<f32[3]> = scan %k (%c = %z ; %e = %s) {reverse=False} body (%i) {
    %d: f32[3] = add %c, %e
    yield %d ; %d
  }
  %q: f32[3] = scan %n (%a = %r ; %b = %o) {reverse=True} body (%j) {
    %m: f32[3] = mul %a, %b
    yield %m
  }
  %t: f32[4,3] = from_seq %o {length=4}
  return %q, %t
}
----
func @f(%x: f32[6], %n: i64[]) -> (f32[6], i64[]) {
  %zero: i64[] = const {value=0}
  %one: i64[] = const {value=1}
  %t: i64[], %i: i64[], %y: f32[6], %saved: seq<f32[6]> = while (%k = %zero, %c = %x) cond {
    %p: bool[] = less %k, %n
    yield %p
  } body {
    %more: i64[] = add %k, %one
    %at: i64[] = check_index %k {size=6, negative=False}
    %v: f32[] = gather %c, %at {axis=-1}
    %w: f32[6] = scatter_add %c, %at, %v {axis=-1}
    yield %more, %w ; %c
  }
  %z: f32[6] = scan %t (%d = %y ; %e = %saved) {reverse=True} body (%j) {
    %h: f32[6] = add %d, %e
    yield %h
  }
  return %z, %i
}
----
func @f(%x: f32[5], %p: bool[], %i: i8[3]) -> (f32[3]) {
  %c: i64[3] = check_index %i {size=5, negative=True}
  %r: f32[3] = if %p then {
    %a: f32[3] = gather %x, %c {axis=-1}
    yield %a
  } else {
    %b: f32[3] = slice %x {axes=[-1], starts=[1], stops=[4], steps=[1]}
    yield %b
  }
  %y: f32[3] = call @g %r, %c {states=[]}
  return %y
}
func @g(%x: f32[3], %i: i64[3]) -> (f32[3]) {
  %m: i64[3] = iota {start=0, step=1, size=3, dtype=i64}
  %y: f32[3] = gather %x, %m {axis=-1}
  return %y
}
"""


# ------------------------------------------------------------------------------------------------ texts
@cache
def texts() -> tuple[str, ...]:
    """Programs to change: half of them are about places in memory."""
    found = []
    for text in _WRITTEN.split("----\n"):
        names = ("add", "update", "max", "min", "mul") if "NAME" in text else ("",)
        found += [text.replace("NAME", name) for name in names]
    sampled = []
    for name, defn in sorted(REGISTRY.items()):
        if not defn.samples or not (defn.numpy or defn.scalar):
            continue
        with np.errstate(all="ignore"):
            for xs, attrs in samples_of(defn, float32):
                made = [m for m in (forward(defn, xs, attrs), adjoint(defn, xs, attrs)) if m is not None]
                sampled += [print_module(module) for module, _ in made]
        assert defn.name == name
    return (*found * max(1, len(sampled) // len(found)), *sampled)


def mutated(seed: int) -> str:
    """One of the texts with one to three changes."""
    draw = random.Random(seed)
    text = draw.choice(texts())
    for _ in range(draw.choice((1, 1, 2, 3))):
        change = draw.choice((_number, _number, _size, _operand, _dtype, _line, _op))
        text = change(draw, text)
    return text


def _one(draw: random.Random, pattern: re.Pattern[str], text: str, new: Any) -> str:
    """The text with one match replaced."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = draw.choice(found)
    return text[: match.start()] + new(match.group()) + text[match.end() :]


def _number(draw: random.Random, text: str) -> str:
    return _one(draw, _INT, text, lambda old: draw.choice((str(int(old) + 1), str(int(old) - 1), *_NUMBERS)))


def _size(draw: random.Random, text: str) -> str:
    """A number in all its places: of such texts many are accepted."""
    found = _INT.findall(text)
    if not found:
        return text
    old, new = draw.choice(found), draw.choice(("0", "1", "2", "3", "4", "5", "9", "17", "33"))
    return _INT.sub(lambda m: new if m.group() == old else m.group(), text)


def _operand(draw: random.Random, text: str) -> str:
    return _one(draw, _VALUE, text, lambda old: draw.choice(_VALUE.findall(text)))


def _dtype(draw: random.Random, text: str) -> str:
    new = draw.choice(_DTYPES)
    if draw.random() < 0.5:
        return _one(draw, _DTYPE, text, lambda old: new)
    old = draw.choice(_DTYPE.findall(text) or [""])
    return _DTYPE.sub(lambda m: new if m.group() == old else m.group(), text)


def _line(draw: random.Random, text: str) -> str:
    """A line less, or two that change places; a check that is left out hands on what it was to check."""
    lines = text.splitlines()
    k = draw.randrange(len(lines))
    check = re.match(r"\s*(%\w+): \S+ = check_index (%\w+)", lines[k])
    if check:
        return "\n".join(re.sub(re.escape(check[1]) + r"\b", check[2], x) for i, x in enumerate(lines) if i != k)
    if draw.random() < 0.5:
        del lines[k]
    else:
        j = draw.randrange(len(lines))
        lines[j], lines[k] = lines[k], lines[j]
    return "\n".join(lines)


def _op(draw: random.Random, text: str) -> str:
    names = sorted(REGISTRY)
    return _one(draw, re.compile(r"(?<== )[a-z]\w+"), text, lambda old: draw.choice(names))


# ------------------------------------------------------------------------------------------------ running
def arguments(module: Module, seed: int) -> list[Any]:
    """Arrays for a program; integers are small, or whatever is no position."""
    draw = np.random.default_rng(seed)
    made = []
    for x in module.entry.args:
        shape, dtype = x.type.shape, x.type.dtype
        if dtype.is_bool:
            made.append(draw.integers(0, 2, shape).astype(bool))
        elif dtype.is_int:
            hostile = shape and draw.random() < 0.3
            numbers = np.array(_POSITIONS if hostile else (0, 1, 2, 3), object)
            bits = (1 << dtype.bits) - 1
            chosen = [int(n) & bits for n in draw.choice(numbers, int(np.prod(shape)))]
            made.append(np.array(chosen, f"u{dtype.itemsize}").view(dtype.numpy).reshape(shape))
        else:
            made.append(draw.uniform(0.5, 2.0, shape).astype(dtype.numpy))
    return made


def examined(seed: int) -> str:
    """What becomes of an input: "refused", "too large", "raised ...", "ran"; AssertionError for a finding."""
    text = mutated(seed)
    checked = contextlib.nullcontext() if seed % 3 else mock.patch.object(irtext, "verify_positions")
    try:
        with checked:
            parsed = parse_ir(text)
    except ParseError:
        return "refused"
    module = optimise(parsed._module).opt if seed % 2 else parsed._module
    types = [x.type for f in module.functions.values() for op in ops_of(f.body) for x in (*op.operands, *op.results)]
    types += [x.type for x in module.entry.args]
    if module.states or module.callables or any(isinstance(x, Unbound) for x in module.constants.values()):
        return "unbound"
    if not all(isinstance(x.type, TensorType) for x in (*module.entry.args, *module.entry.outs)):
        return "no tensors"
    if any(not isinstance(size, int) for x in module.entry.args for size in x.type.shape):
        return "symbolic"
    if any(nbytes_of(t) > _LARGE for t in types):
        return "too large"
    return ran(module, arguments(module, seed), front=bool(seed & 2))


def nbytes_of(type: Any) -> int:
    """The bytes of a tensor, or of one element of a sequence."""
    if isinstance(type, TupleType):
        return sum(map(nbytes_of, type.elems))
    if isinstance(type, Seq):
        return nbytes_of(type.elem)
    return int(np.prod([int(d) for d in type.shape], dtype=object)) * type.dtype.itemsize if type.shape else 8


def ran(module: Module, arrays: list[Any], *, front: bool) -> str:
    """Runs a module on the native backend as the docstring of this file says."""
    with mock.patch.dict("os.environ", AC_CALLPATH="plain", AC_POISON="0"), guard_pages(front=front):
        try:
            outcome, _ = outcome_of(
                NativeBackend(NumpyBackend).native(module), [guarded(x, front=front) for x in arrays]
            )
        except NotNativeError:
            return "not native"
    with mock.patch.dict("os.environ", AC_CALLPATH="plain", AC_POISON="1"):
        poisoned, found = outcome_of(NativeBackend(NumpyBackend).native(module), arrays)
    assert outcome == poisoned, f"{outcome} between forbidden pages, {poisoned} with guards"
    if outcome == "ran":
        wanted_outcome, wanted = outcome_of(NumpyBackend().compile(module), arrays)
        for x, y in zip(found, wanted, strict=True) if wanted_outcome == "ran" else ():
            if x.shape == y.shape and x.dtype == y.dtype and x.dtype.kind not in "biu":
                assert not (np.isnan(x.astype(float)) & np.isfinite(y.astype(float))).any(), "nan where there is none"
    return outcome


def outcome_of(program: Any, arrays: list[Any]) -> tuple[str, list[Any]]:
    kept = [x.tobytes() for x in arrays]
    try:
        with np.errstate(all="ignore"):
            found = [np.asarray(x) for x in program(*arrays)]
    except (InternalCompilerError, SystemError, AssertionError, MemoryError, TimeoutError):
        raise
    except Exception as error:
        return f"raised {type(error).__name__}", []
    assert [x.tobytes() for x in arrays] == kept, "an argument was written to"
    return "ran", found


# ------------------------------------------------------------------------------------------------ processes
@dataclass
class Finding:
    """An input that shows something."""

    seed: int
    what: str

    def __str__(self) -> str:
        return f"== seed {self.seed}: {self.what}\n{mutated(self.seed)}"


def work(start: int, count: int, log: Path) -> None:
    """Examines inputs one after the other; each line of `log` is a seed before it runs or what became of it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def late(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    with log.open("a", buffering=1) as out:
        for seed in range(start, start + count):
            print(json.dumps([seed, None]), file=out)
            signal.alarm(SECONDS)
            try:
                outcome = examined(seed)
            except TimeoutError:
                outcome = "too slow"
            except (MemoryError, RecursionError) as error:
                outcome = f"raised {type(error).__name__}"
            except BaseException as error:
                outcome = f"FOUND {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            signal.alarm(0)
            print(json.dumps([seed, outcome]), file=out)


def results(start: int, count: int) -> Iterator[tuple[int, str]]:
    """What became of each input; a process that dies is one of them, and another one goes on behind it."""
    with tempfile.TemporaryDirectory() as folder:
        end = start + count
        while start < end:
            log = Path(folder) / str(start)
            command = [
                sys.executable,
                "-m",
                "tests.property.mutations",
                "--work",
                str(start),
                str(end - start),
                str(log),
            ]
            env = {**os.environ, "AC_CACHE": "0", "OPENBLAS_NUM_THREADS": "1"}
            told = log.with_suffix(".told")
            with told.open("w") as errors, subprocess.Popen(command, env=env, stderr=errors) as worker:
                code = _status(worker, log)
            lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
            yield from ((seed, outcome) for seed, outcome in lines if outcome is not None)
            if code == 0:
                return
            if not lines:
                raise RuntimeError(f"no input was examined: {told.read_text()[-2000:]}")
            seed, outcome = lines[-1]
            if outcome is None:
                yield seed, "too slow" if code == -signal.SIGKILL else f"FOUND the process died: status {code}"
            start = seed + 1


def _status(worker: subprocess.Popen[bytes], log: Path) -> int:
    """How a process ended; one that examines the same input for long is killed."""
    seen = -1
    while True:
        try:
            return worker.wait(4 * SECONDS)
        except subprocess.TimeoutExpired:
            now = log.stat().st_size if log.exists() else 0
            if now == seen:
                worker.kill()
            seen = now


def found_in(
    start: int, count: int, tell: Callable[[Finding], None] = lambda finding: None
) -> tuple[collections.Counter[str], list[Finding]]:
    """What became of inputs, counted, and the findings."""
    tally: collections.Counter[str] = collections.Counter()
    findings = []
    for seed, outcome in results(start, count):
        tally[outcome.split(":")[0]] += 1
        if outcome.startswith("FOUND"):
            findings.append(Finding(seed, outcome))
            tell(findings[-1])
    return tally, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--work", nargs=3, metavar=("START", "COUNT", "LOG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(int(options.work[0]), int(options.work[1]), Path(options.work[2]))
        return 0
    tally, findings = found_in(options.start, options.inputs, lambda finding: print(finding, flush=True))
    for outcome, count in tally.most_common():
        print(f"  {count:7d} {outcome}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
