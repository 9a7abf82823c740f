"""The HTML report: source, IR and generated code side by side, linked by line, in one file that needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ... import escape
from ...ir.sizes import evaluate
from ...ir.text import FunctionPrinter
from ...source import cell_of, line_of, shown_file
from ..compiled_call import CompiledCall
from ..cost import Cost
from ..decisions import Explanation, explained
from ..highlight import PLACE
from ..links import STAGES_OF_OPS, CodeLine, Kernel, Links, OpLine, Part, Place, links_of
from ..pictures import folded_pictures
from ..timing import Timing
from .files import as_data, file_text, filled
from .memory import KINDS, lives_of

__all__ = ["compact", "page", "report_data"]

#: Of a longer file, only so many lines around those that ops come from are shown.
_MOST_LINES, _AROUND = 4000, 40
#: A stage of fewer lines is open in a notebook.
_SHORT = 60
#: In the order in which they are run: the last one starts the page.
_SCRIPTS = ("texts.js", "panes.js", "report.js", "charts.js", "graph.js", "decisions.js", "start.js")


def page(call: CompiledCall, timing: Timing | None = None) -> str:
    """The report as text; `timing` is what `Artifact.timing` measured, shown beside the estimates."""
    data = report_data(call, timing)
    parts = {
        "title": escape.markup(call.of),
        "style": file_text("colours.css") + file_text("report.css"),
        "script": "".join(map(file_text, _SCRIPTS)),
        "data": as_data(data),
    }
    return filled("report.html", parts)


def compact(call: CompiledCall) -> str:
    """A few lines of HTML for a notebook: the stages, to be opened one by one, and what each line costs."""
    stages = ("source", *STAGES_OF_OPS, "code")
    pages = {stage: call.ir(stage)._repr_html_() for stage in stages}
    heads = dict.fromkeys(stages, "<details>")
    if call.ir("opt").count("\n") < _SHORT:
        heads["opt"] = "<details open>"
    texts = [f"{heads[stage]}<summary>{escape.markup(stage)}</summary>{pages[stage]}</details>" for stage in stages]
    return f"<p><b>{escape.markup(call.of)}</b></p>{''.join(texts)}{call.cost()._repr_html_()}"


def report_data(call: CompiledCall, timing: Timing | None = None) -> dict[str, Any]:
    """All that the page shows, as JSON has it: lines count from 1, places are given by their number in `places`."""
    links = links_of(call)
    places = sorted(links.places)
    number = {place: i for i, place in enumerate(places)}
    cost = call.cost_here()
    return {
        "backend": cost.backend,
        "sizes": call.said_sizes,  # for which times and live ranges are
        "files": [_source(links, file) for file in links.files],
        "places": [[links.files.index(place.file), place.line] for place in places],
        "stages": {stage: _stage(links, stage, number) for stage in STAGES_OF_OPS},
        "code": {"lines": links.lines["code"], "spans": list(_spans(links.code, number))},
        "kernels": [_kernel(kernel, number, timing) for kernel in links.kernels],
        "estimated": list(_estimates(cost, number)),
        "measured": list(_measured(timing, number)),
        # in all: with the call itself, which belongs to no line
        "seconds": {"estimated": cost.seconds, "measured": None if timing is None else timing.median},
        "memory": _memory(call, links),
        "graph": folded_pictures(call),
        "decisions": _decisions(explained(call), number),
    }


def _source(links: Links, file: str) -> dict[str, Any]:
    """The lines of a file that are shown, from `first` on."""
    used = [place.line for place in links.places if place.file == file]
    first, last = 1, max(used)
    if last > _MOST_LINES:
        first = max(1, min(used) - _AROUND)
    lines = [line_of(file, n) for n in range(first, min(last + _AROUND, first + _MOST_LINES) + 1)]
    while len(lines) > last - first + 1 and not lines[-1]:
        lines.pop()
    return {"path": file, "name": shown_file(file), "cell": bool(cell_of(file)), "first": first, "lines": lines}


def _decisions(told: Explanation, number: dict[Place, int]) -> dict[str, Any]:
    """The head and the sections of an explanation; of each line its texts, and where it names a place, its number."""
    known = {str(place): i for place, i in number.items()}
    unusual = sorted((rf"{re.escape(name)}\b" for name in known if not PLACE.fullmatch(name)), key=len, reverse=True)
    places = re.compile("|".join([*unusual, PLACE.pattern]))
    sections = [[title, [list(_pieces(line, places, known)) for line in lines]] for title, lines in told.sections]
    return {"head": told.head, "sections": sections}


def _pieces(line: str, places: re.Pattern[str], known: dict[str, int]) -> Iterator[str | int]:
    end = 0
    for found in places.finditer(line):
        place = known.get(found[0])
        if place is not None:
            yield from (line[end : found.start()], place)
            end = found.end()
    yield line[end:]


def _stage(links: Links, stage: str, number: dict[Place, int]) -> dict[str, Any]:
    return {"lines": links.lines[stage], **_ops(links.ops[stage], number)}


def _ops(ops: Iterable[OpLine], number: dict[Place, int]) -> dict[str, Any]:
    """The ops, and again those that other lines have, too."""
    also = [_op(at, number) for op in ops for at in op.also]
    return {"ops": [_op(op, number) for op in ops], "also": also}


def _op(op: OpLine, number: dict[Place, int]) -> list[Any]:
    """Line, part, columns, and the places: the op's own and those of callers."""
    return [op.line, op.part, op.columns, *[number[place] for place in op.places]]


def _spans(code: Iterable[CodeLine], number: dict[Place, int]) -> Iterator[list[Any]]:
    """Lines that follow each other and belong to the same: first, last, and the parts."""
    for _, group in groupby(enumerate(code), lambda pair: (pair[1].line - pair[0], pair[1].parts)):
        lines = [x for _, x in group]
        yield [lines[0].line, lines[-1].line, _parts(lines[0].parts, number)]


def _parts(parts: Iterable[Part], number: dict[Place, int]) -> list[list[Any]]:
    return [[number[part.place], part.name] for part in parts if part.place in number]


def _kernel(kernel: Kernel, number: dict[Place, int], timing: Timing | None) -> dict[str, Any]:
    rows = timing.kernels if timing is not None else ()
    return {
        "name": kernel.name,
        "lines": list(kernel.span),
        "parts": _parts(kernel.parts, number),
        "loop": kernel.is_loop,
        "seconds": sum(row.seconds for row in rows if row.name.partition(":")[0] == kernel.name),
    }


def _estimates(cost: Cost, number: dict[Place, int]) -> Iterator[list[Any]]:
    """Place, part and seconds by estimate."""
    for x in cost.lines:
        place = Place(x.file, x.line)
        if x.seconds and place in number:
            yield [number[place], x.part, x.seconds]


def _measured(timing: Timing | None, number: dict[Place, int]) -> Iterator[list[Any]]:
    """Place, part and seconds as they were measured."""
    for x in timing.lines if timing is not None else ():
        place = Place(x.file, x.line)
        if x.seconds and place in number:
            yield [number[place], x.part, x.seconds]


def _memory(call: CompiledCall, links: Links) -> dict[str, Any]:
    """The values of the entry that have bytes, each with the ops between which it needs them."""
    module = call.module("plan")
    printer = FunctionPrinter(places=False)
    printer.function(module.entry)
    here = {s.name: value for s, value in call.sizes.items()}
    lives = [
        [printer.names[x.value], KINDS.index(x.kind), nbytes, x.first, x.last]
        for x in lives_of(module)
        if (nbytes := evaluate(x.nbytes, here))
    ]
    return {"kinds": KINDS, "lives": lives, "needs": str(call.memory())}
