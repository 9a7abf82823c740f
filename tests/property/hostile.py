"""Hostile text in every field of the IR, and what emitters make of it.

Text that is not ours may change what stands in comments, strings and names, and nothing else: the structure of what an
emitter writes (`STRUCTURES`) must be that for a harmless text.  Mutations of a text of IR must be refused with a place
or be programs whose text can be read back.
"""

from __future__ import annotations

import argparse
import ast
import collections
import html.parser
import itertools
import json
import linecache
import random
import re
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import CompileError, parse_ir
from autodiff_compiler.backends.native.backend import NativeBackend
from autodiff_compiler.backends.numpy.backend import NumpyBackend
from autodiff_compiler.compiler.pipeline import optimise, planned
from autodiff_compiler.inspection.annotated import with_assembly_comments, with_lines
from autodiff_compiler.inspection.derivative_source.program import python_of_module
from autodiff_compiler.inspection.irtext import IRText
from autodiff_compiler.inspection.pictures.graph import by_line, graph_of
from autodiff_compiler.inspection.pictures.picture import FORMATS
from autodiff_compiler.ir.core import Block, Module
from autodiff_compiler.ir.parser import ParseError, parse_module
from autodiff_compiler.ir.printer import print_module
from autodiff_compiler.ir.verify import verify
from autodiff_compiler.ir.walk import ops_of
from autodiff_compiler.passes.manager import dump
from autodiff_compiler.source import Loc, in_library

#: Texts that end what they stand in, in each of the languages, and begin something else.
PAYLOADS = (
    "0x1",
    "b\n    import os; os._exit(43)\n#",
    "b\r    import os; os._exit(43)\r#",
    "a\n store volatile i64 1, ptr inttoptr (i64 4096 to ptr)\n;",
    'a\n call void asm sideeffect "ud2", ""()\n;',
    '""" + __import__("os")._exit(43) + """',
    "''' + __import__('os')._exit(43) + '''",
    '"',
    '\\"',
    "\\",
    "a\\",
    "a\\\n",
    "') or __import__('os')._exit(43) or ('",
    '"]; evil [label="x',
    '" URL="javascript:alert(1)',
    "\\N\\G\\l",
    "</text><script>alert(1)</script><text>",
    "</script><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    "' onload='alert(1)",
    '" onload="alert(1)',
    "&lt;script&gt;",
    "--- title: x\n---\nflowchart LR\n  evil --> n0",
    'x"]\n  click n0 href "javascript:alert(1)"\n  n0["',
    "{{script}}",
    "%evil = add i64 1, 1",
    "${x} {0} {} %s %(x)s",
    "x\x00y",
    "x\x1b[2J\x1b]0;title\x07y",
    "x\x0by\x0cz\x1c\x1d\x1e\x85\u2028\u2029w",
    "x\u202egnp.exe",
    "x\udc80y",
    "x\ufffe\uffffy",
    "\U0001f600é\u0301",
    "../../etc/passwd",
    "..",
    "/",
    "a/",
    " ",
    "x @ f.py:1:1",
    "# type: ignore\n",
    "func @f() -> () { return }",
    "}\nfunc @g() -> () {\n  return\n}\nfunc @h() -> () {",
    "// stage code of f",
    "*/ int x; /*",
    "lambda",
    "None",
    "0",
    "é",
)
_CHARACTERS = "\n\r\t\0\\\"'`;#%@{}[]()<>&/=:,. \x85\u2028\ud800é"
_PIECES = (*_CHARACTERS, '"""', "'''", "\x1b[", "import os", "*/", "//")
HARMLESS = "harmless"
#: So many texts are in the fields of one module.
_AT_ONCE = 20

#: One op of each sort that holds text, or writes more than a line; TEXT is what is replaced.
TEMPLATE = """
state @STATE: f32[3] {kind=TEXT}
constant @SMALL: f32[3] = [1.0,2.0,3.0]
constant @BIG: f32[40,3]
callable @RAISE
callable @HOST

func @MAIN(%x: f32[3], %n: i64[], %p: bool[]) -> (f32[3], f32[3], f32[3], f32[], f32[3]) {
  %w: f32[3] = state_read {state=STATE}
  %c: f32[3] = const {value=AT_SMALL}
  %b: f32[40,3] = const {value=AT_BIG}
  %s: f32[3] = sum %b {axes=[-2]}
  print %x, %w {parts=[TEXT,0,[FORM,1]], sep=OTHER, end=OTHER}
  assert %p {exception=RAISE}
  %h: f32[3] = host_call %x {fn=HOST, types=[f32[3]]}
  %xc: f32[3] = mul %x, %c
  %xs: f32[3] = add %xc, %s
  %r: f32[3] = if %p then {
    %t: f32[3] = tanh %xs
    yield %t
  } else {
    raise %x {exception=RAISE}
    yield %xs
  }
  %y: f32[3] = scan %n (%a = %r) body (%i) {
    %e: f32[3] = exp %a
    print %e {parts=[TEXT,0]}
    yield %e
  }
  %m: i64[], %z: f32[3] = while (%q = %y) cond {
    %u: f32[] = sum %q {axes=[-1]}
    %k: f32[] = const {value=9.0}
    %l: bool[] = less %u, %k
    yield %l
  } body {
    %v: f32[3] = add %q, %q
    yield %v
  }
  %o: f32[3] = call @CALLEE %z {states=[STATE]}
  state_write %o {state=STATE}
  %g: f32[], %d: f32[3] = grad %h {wrt=[0]} body (%ga: f32[3]) {
    %gt: f32[3] = tanh %ga
    %gs: f32[] = sum %gt {axes=[-1]}
    yield %gs
  }
  return %o, %w, %y, %g, %d
}

func @CALLEE(%x: f32[3]) -> (f32[3]) {
  %w: f32[3] = state_read {state=STATE}
  %y: f32[3] = add %x, %w
  return %y
}
"""
_NAMES = ("STATE", "SMALL", "BIG", "RAISE", "HOST", "MAIN", "CALLEE")
_PURE = """
constant @SMALL: f32[3] = [1.0,2.0,3.0]

func @MAIN(%x: f32[3], %n: i64[]) -> (f32[3]) {
  %c: f32[3] = const {value=AT_SMALL}
  %a: f32[3] = mul %x, %c
  print %a {parts=["a\\\\", TEXT, 0, "b"], sep=OTHER}
  %y: f32[3] = scan %n (%q = %a) body (%i) {
    %e: f32[3] = exp %q
    yield %e
  }
  return %y
}
"""
_BIG = np.linspace(0, 1, 120, dtype=np.float32).reshape(40, 3)


class Texts:
    """Gives out texts in turn, again and again; none begins with the sign that names of the IR begin with."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = itertools.cycle([f"x{text}" if text.startswith("@") else text for text in texts])

    def next(self) -> str:
        return next(self._texts)


def written(form: str, texts: Texts) -> tuple[str, dict[str, str]]:
    """IR with texts as the names of things and in each attribute that is text; and the names."""
    names = {name: f"{texts.next()}{mark}" for mark, name in enumerate(_NAMES)}

    def said(found: re.Match[str]) -> str:
        word = found[0]
        if word in names:
            return json.dumps(names[word])
        if word.startswith("AT_"):
            return json.dumps("@" + names[word[3:]])
        text = texts.next()
        if word == "FORM":
            return json.dumps(text.replace("{", "{{").replace("}", "}}") + "{}")
        return json.dumps(f"{text}|" if word == "OTHER" else text)

    return re.sub(rf"\b(?:(?:AT_)?(?:{'|'.join(_NAMES)})|FORM|OTHER|TEXT)\b", said, form), names


def hostile_module(texts: Texts) -> Module:
    """The template with texts in all fields: those that text of IR has, and those that only Python objects have."""

    def raised(*_: Any) -> Exception:
        return ValueError()

    def host(x: Any) -> Any:
        return x

    for called in (raised, host):
        called.__name__, called.__qualname__ = texts.next(), texts.next()
        called.tells = texts.next()  # type: ignore[attr-defined]
    form, names = written(TEMPLATE, texts)
    program = parse_ir(
        form,
        constants={names["BIG"]: _BIG},
        states={names["STATE"]: np.ones(3, np.float32)},
        callables={names["RAISE"]: raised, names["HOST"]: host},
    )
    return _infected(program._module, texts)


def _place(texts: Texts, line: int, **more: Any) -> Loc:
    file, source = texts.next(), texts.next()
    linecache.cache[file] = (1, None, [f"{source}\n"] * 99, file)
    return Loc(file, line, 2, line, 9, texts.next(), tag=texts.next(), **more)


def _infected(module: Module, texts: Texts) -> Module:
    """The module with texts in all places, and as the names of all values."""
    line = 1
    for function in module:
        function.loc = _place(texts, line)
        _infect(function.body, texts)
        for op in ops_of(function.body):
            line += 1
            here = _place(texts, line, caller=_place(texts, 3))
            inner = _place(texts, 5, caller=here)
            inner = inner._replace(file=in_library(inner.file))
            op.loc = inner._replace(also=(here, _place(texts, line)), uses=(here, inner), turn=(here, 1))
            for block in op.blocks:
                _infect(block, texts)
    return module


def _infect(block: Block, texts: Texts) -> None:
    for x in (*block.args, *(x for op in block.ops for x in op.results)):
        x.name = texts.next()


# ------------------------------------------------------------------------------------------------ emitters
def emitted(given: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """What every emitter writes of the template with these texts: its name, its language, what it wrote."""
    texts = Texts(given)
    module = hostile_module(texts)
    yield "print", "ir", print_module(module)
    stages = optimise(module)
    opt = stages.opt
    yield "dump", "ir", dump(opt, "fuse")
    yield "plan", "ir", dump(planned(opt), "plan_memory")
    yield "page", "html", IRText(dump(opt), "opt", texts.next())._repr_html_()
    yield "numpy", "python", NumpyBackend().compile(opt).source
    native = NativeBackend(NumpyBackend).text(opt)
    yield "native", "llvm", native
    yield "native with lines", "llvm", with_lines(native, opt)
    yield "assembly", "assembly", with_assembly_comments("main:\n ret\nk0:\n ret\n", native)
    yield "derivative", "calls", python_of_module(_pure(texts))
    graph = graph_of(opt, dump(opt), f"of {texts.next()}")
    for fmt, write in FORMATS.items():
        yield fmt, fmt, write(graph)
        yield f"{fmt} by line", fmt, write(by_line(graph))


def _pure(texts: Texts) -> Module:
    """A module of which everything can be written as Python over NumPy alone."""
    return optimise(_infected(parse_ir(written(_PURE, texts)[0])._module, texts)).opt


# ------------------------------------------------------------------------------------------------ structures
def _python(text: str) -> Any:
    text.encode()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = "name"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
        elif isinstance(node, ast.arg):
            node.arg = "name"
        elif isinstance(node, ast.FunctionDef):
            node.name = "name"
        elif isinstance(node, ast.Nonlocal):
            node.names = []
    return ast.dump(tree)


def _calls(text: str) -> Any:
    """Which functions Python text calls, and what it imports."""
    text.encode()
    tree = ast.parse(text)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}
    return sorted(called | imported)


def _llvm(text: str) -> Any:
    text.encode()
    return [code for line in text.split("\n") if (code := re.sub(r'^((?:[^";]|"[^"]*")*);.*', r"\1", line).rstrip())]


def _assembly(text: str) -> Any:
    return [line for line in text.split("\n") if not line.startswith("#")]


def _without_strings(text: str) -> Any:
    text.encode()
    return re.sub(r'"(?:[^"\\\n]|\\[^\n])*"', '""', text)


def _mermaid(text: str) -> Any:
    text.encode()
    return re.sub(r'"[^"\n]*"', '""', text)


def _svg(text: str) -> Any:
    """How many elements there are of each kind: where they lie follows from how long the texts are."""
    nodes = [node for node in ElementTree.fromstring(text).iter() if node.get("class") != "detail"]  # short texts only
    return collections.Counter([(node.tag, *sorted(set(node.attrib) - {"data-values"})) for node in nodes])


class _Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: collections.Counter[Any] = collections.Counter()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found[(tag, tuple(name for name, _ in attrs))] += 1

    handle_startendtag = handle_starttag


def _html(text: str) -> Any:
    text.encode()
    tags = _Tags()
    tags.feed(text)
    tags.close()
    return {tag for tag, n in tags.found.items()}


def _ir(text: str) -> Any:
    """The ops in their order, with types; what was printed must be printed again."""
    text.encode()
    module = parse_module(text)
    again = print_module(module)
    assert print_module(parse_module(again)) == again
    return [[(op.defn.name, [x.type for x in op.results]) for op in ops_of(f.body)] for f in module]


STRUCTURES: dict[str, Callable[[str], Any]] = {
    "ir": _ir,
    "python": _python,
    "calls": _calls,
    "llvm": _llvm,
    "assembly": _assembly,
    "dot": _without_strings,
    "mermaid": _mermaid,
    "svg": _svg,
    "html": _html,
}


def expected() -> dict[str, Any]:
    """The structures of what is written of a harmless text."""
    return {name: STRUCTURES[language](code) for name, language, code in emitted([HARMLESS])}


def problems(texts: Sequence[str], wanted: dict[str, Any]) -> Iterator[str]:
    """What these texts change that they must not."""
    try:
        for name, language, code in emitted(texts):
            if STRUCTURES[language](code) != wanted[name]:
                yield f"{name}: another structure"
    except Exception as error:
        yield f"{type(error).__name__}: {error}"


# ------------------------------------------------------------------------------------------------ inputs
def hostile_text(seed: int) -> str:
    """A payload, a piece of one between others, or random pieces."""
    choose = random.Random(seed)
    if seed < len(PAYLOADS):
        return PAYLOADS[seed]
    parts = [choose.choice(PAYLOADS if choose.random() < 0.3 else _PIECES) for _ in range(choose.randint(1, 6))]
    return "x" * choose.randint(0, 1) + "".join(parts)


def mutated(seed: int) -> str:
    """A text of IR in which some tokens are left out, repeated, exchanged, or replaced by what ends them early."""
    choose = random.Random(seed)
    texts = Texts([HARMLESS] if seed % 2 else [hostile_text(seed)])
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[%@]?\w+|\s+|.', written(TEMPLATE, texts)[0])
    for _ in range(choose.randint(1, 4)):
        at, other = choose.randrange(len(tokens)), choose.randrange(len(tokens))
        kind = choose.randrange(5)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[other])
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = json.dumps(hostile_text(choose.randrange(10**6)))
        else:
            tokens.insert(at, choose.choice(_PIECES) * choose.choice((1, 1, 1, 300)))
    return "".join(tokens)


def judged(text: str) -> str | None:
    """What is wrong with how a mutated text is read; None if it is refused with a place, or a program."""
    try:
        module = parse_module(text)
    except ParseError as error:
        shown = str(error)
        return None if shown.isprintable() or has_no_controls(shown) else f"the error holds controls: {shown!r}"
    except Exception as error:
        return f"reading it: {type(error).__name__}: {error}"
    try:
        verify(module)
    except CompileError:
        return None
    except Exception as error:
        return f"verifying it: {type(error).__name__}: {error}"
    again = print_module(module)
    if print_module(parse_module(again)) != again:
        return "what is printed is not what is read"
    return None


def has_no_controls(text: str) -> bool:
    return not any((c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" for c in text)


def findings(seeds: range) -> Iterator[str]:
    """What is wrong with the inputs of these seeds: texts, many at once through all emitters, and mutated IR."""
    wanted = expected()
    for first in range(seeds.start, seeds.stop, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, seeds.stop))
        if not any(problems([*map(hostile_text, some)], wanted)):
            continue
        for seed in some:  # which of them it is, if one alone does it
            yield from (f"{seed}: {hostile_text(seed)!r}: {x}" for x in problems([hostile_text(seed)], wanted))
        yield from (f"{some}: {problem}" for problem in problems([*map(hostile_text, some)], wanted))
    for seed in seeds:
        problem = judged(mutated(seed))
        if problem is not None:
            yield f"{seed}: mutated: {problem}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="how many texts, and as many mutations")
    parser.add_argument("--start", type=int, default=int(time.time()), help="the first seed")
    options = parser.parse_args()
    found = 0
    start = time.monotonic()
    for problem in findings(range(options.start, options.start + options.inputs)):
        found += 1
        if found <= 20:
            print(problem, flush=True)
    seconds = time.monotonic() - start
    print(f"{options.inputs} texts and {options.inputs} mutations from {options.start}: {found} found, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
