"""What a report of a network opens with, its graph and its decisions; with keys, and for screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn
from tests.inspection.report.in_browser import marked, needs_chromium, opened, row

pytestmark = needs_chromium

WIDTHS = ((1280, "light"), (1600, "dark"), (390, "light"))
TABS = ("line", "costs", "memory", "graph", "decisions")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.small = nn.Dense(6, 5)
        self.large = nn.Dense(512, 512)
        self.last = nn.Dense(512, 3)

    def construct(self, x, y):
        h = self.small(x).sum() * y
        h = self.large(h).tanh()
        return self.last(h).sum()


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if text in line)


SLOWEST = line_of("self.large(h)")  # half a million multiplications beside some thousands


@pytest.fixture(scope="module")
def artifact() -> Any:
    net = Net()
    net.update_parameters_name("net.")
    args = [Tensor(np.ones(shape, np.float32)) for shape in ((4, 6), (32, 512))]
    return ms.value_and_grad(net, None, net.trainable_params()).lower(*args)


@pytest.fixture(scope="module")
def file(artifact: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "net.html"
    artifact.to_html(str(path))
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    yield from opened(browser, file, viewport={"width": 1280, "height": 800})


def states(artifact: Any) -> list[int]:
    """The lines of the text that declare states."""
    return [i for i, line in enumerate(artifact.ir("opt").splitlines(), 1) if line.startswith("state @")]


def test_states_are_folded_until_they_are_asked_for(page: Any, artifact: Any) -> None:
    first, *others = states(artifact)
    assert len(others) == 5
    folded = row(page, "ir", first)
    assert folded.locator(".txt").text_content() == "6 states, @net.small.weight to @net.last.bias"
    assert row(page, "ir", others[0]).count() == 0
    folded.click()
    assert row(page, "ir", others[-1]).locator(".txt").text_content().startswith("state @net.last.bias: f32[3]")
    row(page, "ir", first).locator(".no").click()
    assert row(page, "ir", others[0]).count() == 0
    page.keyboard.press("/")
    page.keyboard.type("@net.large" + ".bias: f32")  # which does not stand here
    page.keyboard.press("Enter")  # a search opens them
    (at,) = marked(page, "ir", "cursor")
    assert artifact.ir("opt").splitlines()[at - 1].startswith("state @net.large.bias")


def test_keys_skip_and_open_what_is_folded(page: Any, artifact: Any) -> None:
    first, *others = states(artifact)
    page.locator("#ir .text").focus()
    for _ in range(first):
        page.keyboard.press("ArrowDown")
    assert marked(page, "ir", "cursor") == [first]
    assert page.locator("#ir .says").text_content() == f"{first}: 6 states, @net.small.weight to @net.last.bias, folded"
    page.keyboard.press("ArrowDown")
    assert marked(page, "ir", "cursor") == [others[-1] + 1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert marked(page, "ir", "cursor") == [others[0]]


def test_it_opens_at_the_slowest_line(page: Any, artifact: Any) -> None:
    assert max(artifact.cost().lines, key=lambda x: x.seconds or 0).line == SLOWEST
    assert page.locator("#file option:checked").text_content() == "test_first_screen.py"
    assert marked(page, "source", "cursor") == [SLOWEST]
    assert marked(page, "ir", "forward") == [], "nothing is kept yet"
    link = page.locator("#line a").first
    assert link.text_content().startswith(f"test_first_screen.py:{SLOWEST} (")
    link.focus()
    page.keyboard.press("Enter")
    expected = [op.line for op in artifact.where(SLOWEST).ops["opt"] if op.part == ""]
    assert [line for line in marked(page, "ir", "forward") if line in expected] == expected


def test_the_title_is_whole_and_places_are_in_sight(page: Any, artifact: Any) -> None:
    title = page.locator("h1")
    assert title.text_content() == artifact.of
    assert title.evaluate("x => x.scrollWidth <= x.clientWidth")
    box = page.locator("#ir .text").bounding_box()
    shown = page.locator("#ir .row .place").first.bounding_box()
    assert box["x"] < shown["x"]
    assert shown["x"] + shown["width"] <= box["x"] + box["width"] + 1


def test_the_graph_opens_at_the_slowest_part(page: Any) -> None:
    page.locator("#tab-graph").click()
    hot = page.locator("#picture .hot")
    assert hot.get_attribute("data-line") == f"test_first_screen.py:{SLOWEST}"
    box, node = page.locator("#picture").bounding_box(), hot.bounding_box()
    assert box["y"] <= node["y"]
    assert node["y"] + node["height"] <= box["y"] + box["height"]
    assert page.locator("#picture .node.state[id]").all_text_contents()[0].endswith("6 states")
    assert re.fullmatch(r"\d+ %, [\d.]+ [mun]s", page.locator("#picture .share").first.text_content())
    ops = page.locator("#picture .node.op").count()
    page.locator("#by-line").click()
    assert page.locator("#picture .node.op").count() != ops


def test_nodes_are_found_and_kept_by_keys(page: Any, artifact: Any) -> None:
    page.locator("#tab-graph").click()
    page.locator("#by-line").set_checked(False)
    page.locator("#node-query").fill("tanh")
    count = len(re.findall(r"(?m)= tanh ", artifact.ir("opt")))
    assert page.locator("#picture .node.found[data-op=tanh]").count() == count == 1
    page.keyboard.press("Enter")
    found = page.locator("#nodes-found").text_content()
    assert re.fullmatch(r"1 of \d+", found)
    page.locator("#picture").focus()
    before = page.locator("#picture svg").get_attribute("style")
    page.keyboard.press("ArrowRight")
    assert page.locator("#picture svg").get_attribute("style") != before
    page.keyboard.press("Enter")
    page.mouse.move(1, 1)
    assert SLOWEST in marked(page, "source", "on")


def test_decisions_are_filtered_by_words_and_by_the_kept_line(page: Any, artifact: Any) -> None:
    lines = [line for section in artifact.explain().sections for line in section.lines]
    page.locator("#tab-decisions").click()
    items = page.locator("#decision-list li")
    assert items.all_text_contents() == lines
    page.locator("#filter").fill("TANH")
    wanted = [line for title, of in artifact.explain().sections for line in of if "tanh" in f"{title} {line}".lower()]
    assert items.all_text_contents() == wanted
    assert page.locator("#decided").text_content() == f"{len(wanted)} of {len(lines)}"
    page.locator("#filter").fill("")
    assert page.locator("#kept").is_disabled()
    items.locator("a", has_text=f"test_first_screen.py:{SLOWEST}").first.click()
    page.locator("#kept").check()
    place = re.compile(rf"test_first_screen\.py:{SLOWEST}\b")
    assert items.all_text_contents() == [line for line in lines if place.search(line)]


def test_what_is_said_in_one_sentence_stands_among_the_decisions(browser: Any, tmp_path: Path) -> None:
    artifact = ms.jit(lambda x: x.tanh().sum()).lower(ms.TensorSpec("f32[n]"))
    artifact.to_html(str(tmp_path / "sizes.html"))
    for page in opened(browser, tmp_path / "sizes.html"):
        page.locator("#tab-decisions").click()
        told = page.locator("#decision-list > p.hint").all_text_contents()
        assert told[1:] == [title for title, lines in artifact.explain().sections if not lines]
        assert told[1].startswith("Symbolic sizes: n;")


def test_arrow_keys_lead_from_tab_to_tab(page: Any) -> None:
    page.locator("#tab-line").focus()
    for name in (*TABS[1:], TABS[0]):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert page.locator(f"#{name}").is_visible()


@pytest.mark.some(1)
@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_keys_and_screen_readers_can_use_all_of_it(browser: Any, file: Path, width: int, scheme: str) -> None:
    """By the rules of axe-core, which looks at roles, names, order and contrasts of what is in sight."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for page in opened(browser, file, viewport={"width": width, "height": 900}, color_scheme=scheme):
        page.locator("#ir .row.linked").first.click()
        wrong = {}
        for tab in TABS:
            page.locator(f"#tab-{tab}").click()
            found = axe.Axe().run(page).response
            assert found["passes"]
            wrong |= {(tab, x["id"]): [node["html"] for node in x["nodes"][:3]] for x in found["violations"]}
        assert wrong == {}
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# ------------------------------------------------------------------------------------------------- two calls
def shorter(x):
    return x.tanh().sum()


def longer(x):
    y = x.tanh()
    return (y * y).sum()


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    x = Tensor(np.ones((8, 8), np.float32))
    before, after = (ms.grad(fn).lower(x) for fn in (shorter, longer))
    path = tmp_path_factory.mktemp("report") / "compared.html"
    before.compare(after, ("shorter", "longer")).to_html(path)
    return path


def test_two_calls_line_beside_line(browser: Any, compared: Path) -> None:
    for page in opened(browser, compared, viewport={"width": 1280, "height": 800}, wait="#pairs .pair"):
        assert page.locator("h1").inner_text() == "shorter against longer"
        assert page.locator("#pairs .come", has_text="= mul ").count() >= 1
        gaps, equal = page.locator("#pairs .gap"), page.locator("#pairs .pair.same").count()
        hidden = sum(int(re.search(r"\d+", text)[0]) for text in gaps.all_text_contents())
        page.locator("#all").check()
        assert gaps.count() == 0
        assert page.locator("#pairs .pair.same").count() == equal + hidden
        page.keyboard.press("Tab")
        page.keyboard.press("n")
        assert page.locator("#pairs .pair.at").count() == 1
        page.locator("#stage").select_option("front")
        assert re.fullmatch(r"\d+ of \d+ lines differ", page.locator("#changes").inner_text())
        assert page.locator("#lines td", has_text="return (y * y).sum()").count() == 1


@pytest.mark.some(1)
@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_keys_and_screen_readers_can_use_the_comparison(browser: Any, compared: Path, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    size = {"width": width, "height": 900}
    for page in opened(browser, compared, viewport=size, color_scheme=scheme, wait="#pairs .pair"):
        found = axe.Axe().run(page).response
        assert found["passes"]
        assert {x["id"]: [node["html"] for node in x["nodes"][:3]] for x in found["violations"]} == {}
        assert page.evaluate("document.documentElement.scrollWidth") <= width
