"""`dump`: the stages of a compiled function, and the links between them."""

from __future__ import annotations

import dataclasses
import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

from . import colour
from .command import Argument, Command, Result, Usage
from .saved import write_report, write_text, write_with_arrays
from .targets import BACKEND, GRAD, LOADED, MAKE, TARGET, artifact_of, asked_backend, function_of, name_in
from .values import ARGS, read_values


def _dump(options: Namespace) -> Result:
    stages = asked_stages(options.stage or "opt")
    _refuse_what_means_nothing(options, stages)
    with asked_backend(options):
        if options.source:
            return _source(options)
        artifact = artifact_of(options)
        if options.where or options.origin:
            result = _linked(options, artifact, stages)
        elif options.graph:
            result = _picture(options, artifact, stages)
        elif options.html:
            write_report(options, options.html, artifact)
            result = Result(options.html, {"file": options.html})
        else:
            return _stages(options, artifact, stages)
    if options.output:
        write_text(options, options.output, result.text)
        return _written([options.output])
    return result


def _refuse_what_means_nothing(options: Namespace, stages: list[str]) -> None:
    """Options that would have no effect beside others are mistakes."""
    asked = [f"--{name}" for name in ("where", "origin", "graph", "html", "source") if getattr(options, name)]
    if len(asked) > 1:
        raise Usage(f"ask for one of {' and '.join(asked)}")
    if options.stage and asked and asked[0] in ("--where", "--html", "--source"):
        raise Usage(f"{asked[0]} is about all stages: leave out --stage")
    if options.assembly and (asked or "code" not in stages):
        raise Usage("--assembly is a form of the stage code: write --stage code")
    if options.output and options.html:
        raise Usage("--html names its file itself: leave out --output")


def asked_stages(text: str) -> list[str]:
    """The stages that ``--stage`` names."""
    from ..inspection.compiled_call import STAGES  # not for --help: it loads the compiler

    known = (*STAGES, "explain")
    stages = list(known) if text == "all" else text.split(",")
    for stage in stages:
        if stage not in known:
            raise Usage(f"there is no stage {stage!r}; stages are {', '.join(STAGES)}, explain and all")
    return stages


def _stages(options: Namespace, artifact: Any, stages: list[str]) -> Result:
    texts = {stage: _text(artifact, stage, options.assembly) for stage in stages}
    if options.output:
        return _written(_saved(options, artifact, texts))
    parts = [f"// ---- {stage} ----\n{text}" if len(stages) > 1 else text for stage, text in texts.items()]
    data = {"target": options.target, "backend": artifact.memory().backend, "stages": texts}
    return Result("\n".join(parts).rstrip("\n"), data, paint=colour.dump)


def _text(artifact: Any, stage: str, assembly: bool) -> Any:
    if stage == "code" and assembly:
        try:
            return artifact.code("assembly")
        except ValueError:  # there is no such form of it
            backend = artifact.memory().backend
            raise Usage(f"--assembly is of machine code, which the backend {backend} does not make") from None
    return str(artifact.explain()) if stage == "explain" else artifact.ir(stage)


def _saved(options: Namespace, artifact: Any, texts: dict[str, Any]) -> Iterator[str]:
    """Writes the texts, and beside IR its constants and states."""
    for stage, path, text in _files(options, artifact, texts):
        plain = stage == "explain" or (stage == "code" and options.assembly)
        if path.endswith(".ir") and not plain:
            yield from write_with_arrays(options, path, text)
        else:
            write_text(options, path, text)
            yield path


def _written(paths: Iterable[str]) -> Result:
    files = list(paths)
    return Result("\n".join(files), {"files": files})


def _files(options: Namespace, artifact: Any, texts: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each stage with its path: the one asked for, or one per stage in the folder asked for."""
    path = options.output
    if len(texts) == 1 and not path.endswith(os.sep) and not os.path.isdir(path):
        [(stage, text)] = texts.items()
        yield stage, path, text
        return
    if os.path.isfile(path):
        raise Usage(f"{path} is a file; several stages need a folder")
    code = "s" if options.assembly else {"native": "ll", "numpy": "py"}.get(artifact.memory().backend, "txt")
    endings = {"source": "py", "code": code, "explain": "txt"}
    name = name_in(options.target)
    for stage, text in texts.items():
        yield stage, os.path.join(path, f"{name}.{stage}.{endings.get(stage, 'ir')}"), text


def _source(options: Namespace) -> Result:
    arguments = read_values(options.args or "")
    fn = function_of(options, arguments)
    if not hasattr(fn, "source"):
        raise Usage("--source is about a derivative: say by which argument, e.g. --grad 0")
    source = fn.source(*arguments)
    if options.output:
        return _written(write_with_arrays(options, options.output, source))
    text = str(source)
    return Result(text.rstrip("\n"), {"target": options.target, "source": text})


def _linked(options: Namespace, artifact: Any, stages: list[str]) -> Result:
    stage = _only(stages, "--origin") if options.stage else None
    try:
        found = artifact.where(options.where) if options.where else artifact.origin(options.origin, stage)
    except (ValueError, LookupError) as error:  # there is no such line or value
        raise Usage(str(error.args[0])) from None
    data = dataclasses.asdict(found)
    asked = {"where": options.where} if options.where else {"origin": options.origin}
    return Result(str(found).rstrip("\n"), {"target": options.target, **asked, "found": data}, paint=colour.dump)


def _picture(options: Namespace, artifact: Any, stages: list[str]) -> Result:
    stage = _only(stages, "--graph")
    try:
        text = str(artifact.graph(stage, options.graph)).rstrip("\n")
    except ValueError as error:  # a stage without ops
        raise Usage(str(error)) from None
    return Result(text, {"target": options.target, "stage": stage, "format": options.graph, "text": text})


def _only(stages: list[str], option: str) -> str:
    if len(stages) > 1:
        raise Usage(f"{option} takes one stage")
    return stages[0]


COMMAND = Command(
    "dump",
    "print the IR and the generated code of a function",
    _dump,
    [
        TARGET,
        ARGS,
        MAKE,
        GRAD,
        Argument("--stage", help="source, front, adjoint, opt (if nothing is said), plan, code, explain, or all; a,b"),
        BACKEND,
        Argument("--assembly", action="store_true", help="of the stage `code`: the processor's instructions"),
        Argument("--output", "-o", metavar="PATH", help="write to this file, or one file per stage to this folder"),
        Argument("--where", metavar="[FILE:]LINE", help="what a line of the source became, at every stage"),
        Argument("--origin", metavar="%NAME", help="which line of the source a value of the IR comes from"),
        Argument("--graph", choices=("svg", "dot", "mermaid"), help="the stage as a picture"),
        Argument("--html", metavar="FILE", help="write the report that `view` shows"),
        Argument("--source", action="store_true", help="the derivative as Python over NumPy, which runs by itself"),
    ],
    LOADED,
    [
        'dump model.py:loss --args "f32[32,784] i64[32]" --grad 0 --stage front,opt',
        'dump model.py:Net --make "Net(3, 1)" --args "f32[8,3]" --where model.py:14',
    ],
)
