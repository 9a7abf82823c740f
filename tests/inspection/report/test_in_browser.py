"""The HTML report in a browser: what it shows, what it links, keys, and what an answer takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from tests.inspection.report.in_browser import marked, needs_chromium, opened, row
from tests.inspection.report.programs import line_of, long, loss, picked

pytestmark = needs_chromium

#: Counts the elements that are put into a page from now on, in `made`.
COUNT_ELEMENTS = """
() => {
  window.made = 0;
  const count = (node) => 1 + (node.querySelectorAll?.("*").length ?? 0);
  const note = (changes) => {
    for (const change of changes) for (const node of change.addedNodes) window.made += count(node);
  };
  new MutationObserver(note).observe(document, { childList: true, subtree: true });
}
"""


@pytest.fixture(scope="module")
def artifact() -> Any:
    rng = np.random.default_rng(0)
    x, w, v = (Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((8, 16), (16, 32), (32, 4)))
    return ms.value_and_grad(loss, (1, 2)).lower(x, w, v)


@pytest.fixture(scope="module")
def file(artifact: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    artifact.to_html(str(path))
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    yield from opened(browser, file)


def lines_of(artifact: Any, stage: str, place: int, part: str) -> list[int]:
    """The lines of a stage's text that say they come from a line of the programs: read from the text itself."""
    behind = re.compile(rf"@ programs\.py:{place}:\d+{f' {part}' if part else ''}\s*(//.*)?$")
    return [i for i, line in enumerate(artifact.ir(stage).splitlines(), 1) if behind.search(line)]


def test_pointing_at_a_line_shows_its_ops_and_adjoints(page: Any, artifact: Any) -> None:
    place = line_of("out = ops.matmul")
    row(page, "source", place).hover()
    forward, adjoint = (lines_of(artifact, "opt", place, part) for part in ("", "adjoint"))
    assert len(forward) == 1
    assert len(adjoint) >= 2  # two matrix products
    assert marked(page, "ir", "forward") == forward
    assert marked(page, "ir", "adjoint") == adjoint
    assert f"programs.py:{place}" in page.locator("#line").text_content()
    page.mouse.move(1, 1)
    assert marked(page, "ir", "forward") == []


@pytest.mark.long
def test_a_click_keeps_the_line_until_escape(page: Any, artifact: Any) -> None:
    place = line_of("return ops.tanh")
    row(page, "source", place).click()
    page.mouse.move(1, 1)
    assert marked(page, "ir", "forward") == lines_of(artifact, "opt", place, "")
    page.keyboard.press("Escape")
    assert marked(page, "ir", "forward") == []


@pytest.mark.long
def test_a_click_is_not_lost_where_the_page_is_drawn_in_the_middle_of_it(page: Any, artifact: Any) -> None:
    """A browser drops a click whose element was replaced since the button went down."""
    place = line_of("return ops.tanh")
    row(page, "source", place).hover()
    page.mouse.down()
    page.set_viewport_size({"width": 1500, "height": 1200})
    marked(page, "source", "on")  # drawn
    page.mouse.up()
    page.mouse.move(1, 1)
    assert marked(page, "ir", "forward") == lines_of(artifact, "opt", place, "")


@pytest.mark.long
def test_text_can_be_selected(page: Any, artifact: Any) -> None:
    """By dragging over it or by a double click; it stays selected while other lines are pointed at and kept."""
    place = line_of("return ops.tanh")
    line, other = (row(page, "source", x).locator(".txt") for x in (place, line_of("out = ops.matmul")))
    box, elsewhere = line.bounding_box(), other.bounding_box()
    across = box["width"] / len(line.text_content())

    def selected() -> str:
        return str(page.evaluate("String(getSelection())"))

    def point(column: float) -> None:
        page.mouse.move(box["x"] + column * across, box["y"] + box["height"] / 2)

    point(len("    ") + 0.1)
    page.mouse.down()
    point(len("    return ops") - 0.1)
    page.mouse.up()
    assert (selected(), marked(page, "ir", "forward")) == ("return ops", lines_of(artifact, "opt", place, ""))
    page.mouse.move(elsewhere["x"] + 9, elsewhere["y"] + 9)
    assert marked(page, "ir", "forward") == lines_of(artifact, "opt", line_of("out = ops.matmul"), "")
    assert selected() == "return ops"
    page.mouse.move(1, 1)
    assert (selected(), marked(page, "ir", "forward")) == ("return ops", [])  # selecting is no click
    row(page, "source", place).locator(".no").click()  # a click that selects nothing
    page.mouse.move(1, 1)
    assert marked(page, "ir", "forward") == lines_of(artifact, "opt", place, "")
    page.keyboard.press("Escape")
    line.dblclick(position={"x": across * len("    ret"), "y": 9})
    page.mouse.move(1, 1)
    assert (selected(), marked(page, "ir", "forward")) == ("return", lines_of(artifact, "opt", place, ""))


def test_a_line_that_calls_shows_what_it_calls(page: Any, artifact: Any) -> None:
    row(page, "source", line_of("hidden = activation")).click()
    called = line_of("return ops.tanh")
    both = sorted(lines_of(artifact, "opt", called, "") + lines_of(artifact, "opt", called, "adjoint"))
    assert marked(page, "ir", "caller") == both
    page.locator("#line a", has_text=f"programs.py:{called}").click()
    assert marked(page, "source", "on") == [called]


def test_pointing_at_an_op_or_at_code_shows_the_source(page: Any, artifact: Any) -> None:
    place = line_of("(out * out).sum()")
    row(page, "ir", lines_of(artifact, "opt", place, "")[0]).hover()
    assert marked(page, "source", "on") == [place]
    text, line = (page.locator(f"#source .row.on {part}").bounding_box() for part in (".txt", ".exact"))
    column = (line["x"] - text["x"]) / (text["width"] / len("    return (out * out).sum()"))
    assert round(column) == len("    return (")  # the expression behind the first op is marked
    tanh = line_of("return ops.tanh")
    row(page, "ir", lines_of(artifact, "opt", tanh, "")[0]).click()  # the code follows
    assert tanh in marked(page, "source", "on")
    page.locator("#code .row.forward", has_text=f"programs.py:{tanh}").first.click()
    assert tanh in marked(page, "source", "on")


@pytest.mark.some(4)
@pytest.mark.parametrize("stage", ["front", "adjoint", "opt", "plan"])
def test_the_slider_shows_the_text_of_each_stage(page: Any, artifact: Any, stage: str) -> None:
    slider = page.locator("#stage")
    slider.focus()
    slider.press("Home")
    for _ in range(("source", "front", "adjoint", "opt", "plan").index(stage)):
        slider.press("ArrowRight")
    page.locator("#ir .of", has_text=f"stage {stage}").wait_for()
    marked(page, "ir", "forward")  # drawn
    assert page.locator("#ir .txt").all_text_contents() == artifact.ir(stage).splitlines()
    row(page, "source", line_of("out = ops.matmul")).click()
    assert marked(page, "ir", "forward") == lines_of(artifact, stage, line_of("out = ops.matmul"), "")


@pytest.mark.long
def test_the_ends_of_the_slider_widen_source_and_code(page: Any) -> None:
    def width(pane: str) -> float:
        return float(page.locator(f"#{pane}").bounding_box()["width"])

    page.locator("#stage-names button", has_text="source").click()
    assert width("source") > width("code")
    page.locator("#stage-names button", has_text="code").click()
    assert width("source") < width("code")


def test_search_finds_in_all_panes(page: Any, artifact: Any) -> None:
    texts = [Path(loss.__code__.co_filename).read_text(), artifact.ir("opt"), artifact.code()]
    expected = sum(line.lower().count("tanh") > 0 for text in texts for line in text.splitlines())
    page.keyboard.press("/")
    page.keyboard.type("tanh")
    page.locator("#found", has_text=f"{expected} found").wait_for()
    page.keyboard.press("Enter")
    page.locator("#found", has_text=f"1 of {expected}").wait_for()
    assert marked(page, "source", "cursor") == [line_of("ops.tanh")]
    page.keyboard.press("Escape")
    assert [marked(page, pane, "match") for pane in ("source", "ir", "code")] == [[], [], []]


@pytest.mark.long
def test_keys_walk_through_a_pane(page: Any, artifact: Any) -> None:
    page.locator("#ir .text").focus()
    first = lines_of(artifact, "opt", line_of("hidden = activation"), "")[0]
    for _ in range(first):
        page.keyboard.press("ArrowDown")
    assert marked(page, "ir", "cursor") == [first]
    assert marked(page, "source", "on") == [line_of("hidden = activation")]
    page.keyboard.press("Enter")
    page.keyboard.press("3")  # the third stage: the cursor goes where the same value is
    page.locator("#ir .of", has_text="stage adjoint").wait_for()
    (now,) = marked(page, "ir", "cursor")
    assert lines_of(artifact, "adjoint", line_of("hidden = activation"), "") == [now]


def test_what_looks_like_html_is_text(page: Any, artifact: Any) -> None:
    assert page.title() == f"{artifact.of}"
    assert "</script><script>" in row(page, "source", line_of("A text such as")).text_content()
    assert '<!-- nor is <b>this</b> & that: "§" -->' in page.locator("#source").text_content()
    assert page.locator("b").count() == 0


def test_time_by_line_and_measured_times(browser: Any, artifact: Any, tmp_path: Path) -> None:
    timing = artifact.timing(3)
    artifact.to_html(str(tmp_path / "timed.html"), timing)
    for page in opened(browser, tmp_path / "timed.html"):
        page.locator("#tab-costs").click()
        assert "measured" in page.locator("#costs th").all_text_contents()
        slowest = max((x for x in timing.lines if x.file), key=lambda x: x.seconds)
        shown = page.locator("#costs tr.go").first
        assert f"programs.py:{slowest.line}" in shown.text_content()
        shown.click()
        page.locator("#tab-line").click()
        assert "measured" in page.locator("#line").text_content()


def seconds_in(text: str) -> float:
    """A time as the page writes it."""
    number, unit = re.search(r"([\d.]+) (ns|us|ms|s)\b", text).groups()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


@pytest.mark.some(2)
@pytest.mark.parametrize("measured", [False, True])
def test_the_page_says_the_same_times_as_cost_and_timing(
    browser: Any, artifact: Any, tmp_path: Path, measured: bool
) -> None:
    """With the call itself, which belongs to no line: its row makes the shares sum to the whole."""
    timing = artifact.timing(3) if measured else None
    artifact.to_html(str(tmp_path / "times.html"), timing)
    for page in opened(browser, tmp_path / "times.html"):
        said = page.locator("#summary").text_content().split(", ")[2:]
        assert seconds_in(said[-1]) == pytest.approx(artifact.cost().seconds, rel=0.01)
        assert seconds_in(said[0]) == pytest.approx(timing.median if timing else artifact.cost().seconds, rel=0.01)
        page.locator("#tab-costs").click()
        cells = [row.split("\n") for row in page.locator("#costs tr:not(:first-child)").all_inner_texts()]
        shares = [int(re.search(r"(\d+) %", " ".join(row))[1]) for row in cells]
        assert sum(shares) == pytest.approx(100, abs=0.5 * len(shares))
        if timing is None:
            assert "the call itself" in page.locator("#costs tr.rest").text_content()


def test_the_memory_chart_says_what_is_alive(page: Any, artifact: Any) -> None:
    page.locator("#tab-memory").click()
    arguments = 4 * (8 * 16 + 16 * 32 + 32 * 4)
    assert f"arguments, at most {arguments / 1024:.2f} KiB" in page.locator("#memory .legend").text_content()
    box = page.locator("#memory svg").bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    tip = page.locator("#tip")
    tip.wait_for()
    assert "%w  2.00 KiB" in tip.text_content()
    page.mouse.down()
    page.mouse.up()
    assert len(marked(page, "ir", "cursor")) == 1


@pytest.mark.long
def test_the_graph_zooms_moves_and_is_linked(page: Any, artifact: Any) -> None:
    page.locator("#tab-graph").click()
    page.locator("#enlarge").click()
    place = line_of("out = ops.matmul")
    node = page.locator(f"#graph .node[data-op=matmul][data-line='programs.py:{place}']").first
    node.hover()
    assert marked(page, "source", "on") == [place]
    node.click()
    selected = page.locator("#graph .node.selected").evaluate_all("all => all.map((x) => x.dataset.line)")
    assert set(selected) == {f"programs.py:{place}"}
    assert len(selected) >= 3  # the product, and the two of its adjoint

    def transform() -> str:
        return str(page.locator("#picture svg").get_attribute("style"))

    before = transform()
    page.mouse.wheel(0, -200)
    marked(page, "ir", "on")  # drawn
    zoomed = transform()
    assert zoomed != before
    box = page.locator("#picture").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 240)
    page.mouse.up()
    x, y, k = (float(x) for x in re.findall(r"-?[\d.]+", zoomed))
    assert [float(n) for n in re.findall(r"-?[\d.]+", transform())] == pytest.approx([x + 100, y + 40, k], abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, file: Path, scheme: str) -> None:
    for page in opened(browser, file, color_scheme=scheme):

        def darkness() -> bool:
            return page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"

        assert darkness() == (scheme == "dark")
        page.locator("#theme").click()
        assert darkness() == (scheme == "light")


@pytest.mark.long
def test_a_narrow_window_shows_one_pane(browser: Any, file: Path) -> None:
    for page in opened(browser, file, viewport={"width": 390, "height": 800}):
        assert not page.locator("#source").is_visible()
        page.locator("#stage-names button", has_text="source").click()
        assert page.locator("#source").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_where_one_pane_is_shown_it_has_ways_to_the_others(browser: Any, file: Path) -> None:
    def shown(page: Any) -> list[str]:
        return [name for name in ("source", "ir", "code") if page.locator(f"#{name}").is_visible()]

    for page in opened(browser, file, viewport={"width": 800, "height": 900}):
        page.locator("#stage-names button", has_text="adjoint").click()
        for here, there in (("ir", "source"), ("source", "code"), ("code", "ir"), ("ir", "code"), ("code", "source")):
            assert shown(page) == [here]
            page.locator(f"#{here} .others button[data-pane='{there}']").click()
            assert shown(page) == [there]
            assert page.evaluate("document.activeElement.parentElement.id") == there, "keys go to what is in sight"
            page.locator(f"#{there} .row").first.wait_for()
            if there == "ir":
                assert page.locator("#ir .of").text_content().startswith("stage adjoint,"), "as it was left"
    for page in opened(browser, file):
        assert shown(page) == ["source", "ir", "code"]
        assert not page.locator(".others").first.is_visible()


@pytest.mark.long
@pytest.mark.parametrize("width", [900, 1600])
def test_the_places_of_ops_are_in_sight(browser: Any, file: Path, artifact: Any, width: int) -> None:
    """In windows that show less of a line than the text of the op, too, with nothing over them."""
    said = re.findall(r"@ (programs\.py:\d+:\d+)", artifact.ir("opt"))
    for page in opened(browser, file, viewport={"width": width, "height": 1000}):
        in_sight = """
        all => all.filter((x) => {
          const { left, right, top } = x.getBoundingClientRect();
          return [left + 10, right - 14].every((at) => x.contains(document.elementFromPoint(at, top + 9)));
        }).map((x) => x.textContent.slice(2))
        """
        assert page.locator("#ir .row .place").evaluate_all(in_sight) == said


@pytest.mark.long
def test_the_details_of_a_line_are_low_until_one_is_kept(browser: Any, file: Path) -> None:
    for page in opened(browser, file, viewport={"width": 1600, "height": 1000}):

        def height() -> float:
            return float(page.locator("#line").bounding_box()["height"])

        text = page.locator("#source .text").bounding_box()
        lowest = page.locator("#code .row.linked").evaluate_all(
            f"all => all.map((x) => x.getBoundingClientRect().bottom).filter((y) => y < {text['y'] + text['height']})"
        )
        assert (low := height()) < 80
        row(page, "source", line_of("out = ops.matmul")).hover()
        assert height() == low, "what is below the pointer stays where it is"
        page.mouse.click(1400, max(lowest) - 9)  # near the bottom
        assert height() > 2 * low
        (kept,) = marked(page, "code", "cursor")
        line, pane = row(page, "code", kept).bounding_box(), page.locator("#code .text").bounding_box()
        assert line["y"] + line["height"] <= pane["y"] + pane["height"], "the kept line is still in sight"
        page.keyboard.press("Escape")
        assert height() == low
        page.locator("#tab-costs").click()
        assert page.locator("#costs").bounding_box()["height"] > 2 * low


@pytest.mark.long
def test_the_bars_beside_the_source_have_a_legend(page: Any) -> None:
    colour = "x => getComputedStyle(x).backgroundColor"
    legend = page.locator("#source .head .of")
    assert legend.text_content() == "time: forwardadjoint"
    for part in ("forward", "adjoint"):
        key, bar = (page.locator(f"#source {of} i.{part}").first for of in (".head", ".heat"))
        assert key.evaluate(colour) == bar.evaluate(colour)


@pytest.mark.long
def test_the_code_is_opened_where_the_first_kernel_begins(browser: Any, tmp_path: Path) -> None:
    made = ms.jit(picked).lower(Tensor(np.ones((4, 3), np.float32)), Tensor(np.array([2, 0], np.int32)))
    made.to_html(str(tmp_path / "picked.html"))
    lines = made.code().splitlines()
    kernel, call = (next(i for i, x in enumerate(lines, 1) if re.match(f"define .*@{n}", x)) for n in ("k", "call_"))
    assert call < kernel
    for page in opened(browser, tmp_path / "picked.html", viewport={"width": 1500, "height": 700}):
        row(page, "code", kernel).wait_for()
        top, height = page.locator("#code .text").evaluate("x => [x.scrollTop, x.clientHeight]")
        assert top < 18 * kernel < top + height
        assert 18 * call <= top, "what calls Python is above"


@pytest.mark.long
def test_two_thousand_ops_answer_at_once(browser: Any, tmp_path: Path) -> None:
    """What takes a browser long is counted, as times are those of the machine: elements made, and layouts."""
    made = ms.jit(long, backend="numpy").lower(Tensor(np.ones(4, np.float32)))
    assert len(re.findall(r"^  %", made.ir("opt"), re.MULTILINE)) > 2000
    made.to_html(str(tmp_path / "long.html"))
    acts = (
        lambda page: row(page, "source", line_of("x = ops.sin")).click(),
        lambda page: page.mouse.move(700, 400),
        lambda page: page.keyboard.press("2"),
        lambda page: page.keyboard.press("5"),
        lambda page: page.mouse.wheel(0, 9000),
        lambda page: page.locator("#query").fill("sin"),
        lambda page: page.locator("#tab-memory").click(),
    )
    for page in opened(browser, tmp_path / "long.html", viewport={"width": 1300, "height": 800}):
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def layouts(session: Any = session) -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(x["value"] for x in metrics if x["name"] == "LayoutCount")

        page.evaluate(COUNT_ELEMENTS)
        for act in acts:
            page.evaluate("made = 0")
            before = layouts()
            act(page)
            marked(page, "ir", "forward")  # drawn
            assert page.evaluate("made") < 2000  # for three panes of at most 45 lines
            assert layouts() - before < 50
        assert page.evaluate("document.querySelectorAll('*').length") < 4000
