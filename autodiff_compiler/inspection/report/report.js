// What is shown: the kept line and what belongs to it in every pane, stages, search, and keys.

// ------------------------------------------------------------------------------------------------- what is shown
const state = { stage: "opt", irStage: "opt", file: 0, pinned: null, hovered: null };
const now = () => state.hovered || state.pinned;
const search = {
  word: "", found: [], keys: new Set(), at: -1,
  has(pane, at) { return this.keys.has(`${pane}:${at}`); },
};
let active = null, lighted = null;
const panes = { source: new Pane("source", "python"), ir: new Pane("ir", "ir"), code: new Pane("code", codeLanguage) };
const everyPane = Object.values(panes);

function light() {
  const target = now();
  if (target === lighted) return;
  lighted = target;
  for (const pane of everyPane) pane.light(target);
  markGraph(target);
  showLine(target);
}

function hover(target, event) {
  const same = target && state.hovered && target.pane === state.hovered.pane && target.at === state.hovered.at;
  if (!same) { state.hovered = target; light(); }
  if (!event || !target) $("tip").hidden = true;
}

function pin(target) {
  state.pinned = target;
  state.hovered = null;
  if (target && target.pane.id !== "source") showFile(data.places[target.places[0]][0]);
  light();
  fit();
  showDecisions();
  for (const pane of everyPane) if (target) pane === target.pane ? pane.reveal(target.at) : pane.follow(target);
}

/** The details of a line take little room until one is kept. */
function fit() {
  const low = !state.pinned && !$("line").hidden, { classList } = document.querySelector("footer");
  if (classList.contains("low") === low) return;
  classList.toggle("low", low);
  for (const pane of everyPane) pane.measure();
}

/** Keeps a line of the source, wherever it is named. */
function pinPlace(place) {
  const [file, line] = data.places[place];
  showFile(file);
  const at = line - data.files[file].first;
  panes.source.cursor = at;
  panes.source.reveal(at);
  pin(panes.source.target(at) || { pane: panes.source, at, places: [place] });
}

function showFile(number) {
  if (number === state.shownFile) return;
  state.shownFile = number;
  $("file").value = number;
  const file = data.files[number], links = new Map();
  data.places.forEach(([of, line], place) => {
    if (of === number) links.set(line - file.first, { places: [place], parts: [[place, ""]], callers: [] });
  });
  panes.source.show(file.lines, links, file.first);
  $("file").title = file.path;
}

function showStage(stage) {
  state.stage = stage;
  const at = STAGES.indexOf(stage);
  $("stage").value = at;
  $("stage").setAttribute("aria-valuetext", stage);
  for (const button of $("stage-names").children) {
    button.setAttribute("aria-current", button.textContent === stage ? "true" : "false");
  }
  document.querySelector("main").dataset.wide = stage === "source" || stage === "code" ? stage : "ir";
  const ir = stage === "source" ? "front" : stage === "code" ? "plan" : stage;
  if (stage === ir) state.irStage = ir;
  if (state.shownStage !== ir) {
    state.shownStage = ir;
    const value = (panes.ir.lines[panes.ir.cursor] || "").match(/^ *(%\w+):/);
    const links = new Map();
    for (const [line, part, columns, place, ...callers] of data.stages[ir].ops) {
      if (place !== undefined) links.set(line - 1, { places: [place], parts: [[place, part]], callers, columns });
    }
    for (const [line, part, , place, ...callers] of data.stages[ir].also) {
      const known = links.get(line - 1);
      known.places.push(place);
      known.parts.push([place, part]);
      known.callers.push(...callers);
    }
    panes.ir.show(data.stages[ir].lines, links);
    if (value) { // names are the same at all stages
      panes.ir.cursor = panes.ir.lines.findIndex((line) => line.trimStart().startsWith(`${value[1]}:`));
      if (panes.ir.cursor >= 0) panes.ir.reveal(panes.ir.cursor);
    }
    panes.ir.about.textContent = `stage ${ir}, ${data.stages[ir].ops.length} ops`;
    runSearch(false);
  }
  if (state.pinned) for (const pane of everyPane) if (pane !== state.pinned.pane) pane.follow(state.pinned);
}

function showCode() {
  const links = new Map();
  for (const [first, last, parts] of data.code.spans) {
    const places = [...new Set(parts.map(([place]) => place))];
    for (let line = first; line <= last; line += 1) links.set(line - 1, { places, parts, callers: [] });
  }
  for (const kernel of data.kernels) { // comments in front, and the last line
    const places = [...new Set(kernel.parts.map(([place]) => place))];
    for (let line = kernel.lines[0]; line <= kernel.lines[1]; line += 1) {
      if (kernel.loop && !links.has(line - 1)) links.set(line - 1, { places, parts: kernel.parts, callers: [] });
    }
  }
  panes.code.show(data.code.lines, links);
  panes.code.about.textContent = `${LANGUAGES[data.backend] || "Code"} of the ${data.backend} backend`;
}

// ------------------------------------------------------------------------------------------------- details of a line
function cells(row, ...texts) {
  for (const [text, className] of texts) row.append(element("td", className || "", text));
  return row;
}

/** A word to click, which keys reach, too. */
function anchor(text, act, className = "mono") {
  const made = element("a", className, text);
  made.href = "#";
  made.addEventListener("click", (event) => { event.preventDefault(); event.stopPropagation(); act(); });
  return made;
}

const link = (place) => anchor(`${nameOf(place)}  ${textOf(place)}`, () => pinPlace(place));

function showLine(target) {
  const box = $("line"), made = document.createDocumentFragment();
  if (!target) {
    made.append(element("p", "hint", "Point at a line of source, IR or code to see what belongs to it; click to keep it."));
    const shares = slowest.slice(0, 3).map((place) => {
      const share = (100 * total(times.get(place))) / Math.max(data.seconds[timed] || 0, allTimes);
      return anchor(`${nameOf(place)} (${share.toFixed(0)} %)`, () => pinPlace(place));
    });
    if (shares.length) made.append(list(`slowest by ${timed} time: `, shares));
    box.replaceChildren(made);
    return;
  }
  const columns = element("div", "columns");
  for (const place of target.places.slice(0, 6)) columns.append(aboutPlace(place));
  if (target.places.length > 6) columns.append(element("p", "hint", `and ${target.places.length - 6} more lines`));
  made.append(columns);
  box.replaceChildren(made);
}

function aboutPlace(place) {
  const made = element("div"), head = element("h2");
  head.append(link(place));
  made.append(head);
  const parts = new Map(), callers = new Set(), called = new Set();
  for (const [, part, , own, ...others] of opsOf(state.shownStage)) {
    if (own === place) { parts.set(part, (parts.get(part) || 0) + 1); others.slice(0, 1).forEach((x) => callers.add(x)); }
    else if (others.includes(place)) called.add(own);
  }
  const table = element("table");
  for (const [part, count] of parts) {
    const row = element("tr"), bar = element("span", `bar ${kindOf(part)}`);
    const guess = (estimated.get(place) || new Map()).get(part), real = (measured.get(place) || new Map()).get(part);
    const seconds = data.measured.length ? real : guess;
    cells(row, [part || "forward"], [`${count} op${count > 1 ? "s" : ""}`]);
    cells(row, [guess === undefined ? "" : `about ${duration(guess)}`, "amount"]);
    if (data.measured.length) cells(row, [real === undefined ? "" : `${duration(real)} measured`, "amount"]);
    bar.style.width = `${most && seconds ? (120 * seconds) / most : 0}px`;
    row.append(element("td"));
    if (seconds) row.lastChild.append(bar);
    table.append(row);
  }
  made.append(table);
  const mine = new Set([place, ...(callees.get(place) || [])]);
  const loops = data.kernels.filter((kernel) => kernel.loop && kernel.parts.some(([of]) => mine.has(of)));
  const names = loops.slice(0, 24).map((kernel) => {
    const text = kernel.seconds ? `${kernel.name} (${duration(kernel.seconds)})` : kernel.name;
    return anchor(text, () => panes.code.reveal(kernel.lines[0] - 1));
  });
  if (loops.length > 24) names.push(`and ${loops.length - 24} more`);
  if (loops.length) made.append(list("kernels: ", names));
  if (callers.size) made.append(list("called at: ", [...callers].map(link)));
  if (called.size) made.append(list("calls: ", [...called].slice(0, 4).map(link)));
  return made;
}

function list(head, items) {
  const made = element("p", "hint", head);
  items.forEach((item, i) => made.append(i ? ", " : "", item));
  return made;
}

// ------------------------------------------------------------------------------------------------- search
function runSearch(go) {
  search.word = $("query").value.trim().toLowerCase();
  search.found = [];
  for (const pane of search.word ? everyPane : []) {
    pane.lines.forEach((line, at) => { if (line.toLowerCase().includes(search.word)) search.found.push([pane, at]); });
  }
  search.keys = new Set(search.found.map(([pane, at]) => `${pane.id}:${at}`));
  search.at = -1;
  $("found").textContent = search.word ? `${search.found.length} found` : "";
  for (const pane of everyPane) pane.later();
  if (go) nextFound(1);
}

function nextFound(step) {
  if (!search.found.length) return;
  search.at = (search.at + step + search.found.length) % search.found.length;
  const [pane, at] = search.found[search.at];
  pane.cursor = at;
  pane.reveal(at);
  $("found").textContent = `${search.at + 1} of ${search.found.length}`;
  hover(pane.target(at));
}

// ------------------------------------------------------------------------------------------------- keys and start
function step(by) {
  showStage(STAGES[Math.max(0, Math.min(5, STAGES.indexOf(state.stage) + by))]);
}

const KEYS = {
  ArrowDown: (pane) => pane.move(1), ArrowUp: (pane) => pane.move(-1),
  PageDown: (pane) => pane.move(20), PageUp: (pane) => pane.move(-20),
  Home: (pane) => pane.move(-Infinity), End: (pane) => pane.move(Infinity),
  Enter: (pane) => { if (pane.cursor >= 0) pane.keep(pane.cursor); },
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  Escape: () => { hover(null); pin(null); },
  "/": () => $("query").focus(), n: () => nextFound(1), N: () => nextFound(-1),
  d: () => fold(), b: () => enlarge(), t: () => setTheme(), "?": () => $("help").showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const inField = event.target.matches("input, select"), own = event.target.closest("#graph");
  if (own && !/^[/dbt?]$/.test(event.key)) return; // arrows move the graph
  if (inField) {
    if (event.target.id === "query" && event.key === "Escape") { event.target.value = ""; runSearch(false); event.target.blur(); }
    return;
  }
  if (event.target.matches("button, a") && (event.key === "Enter" || event.key === " ")) return;
  const act = /^[1-6]$/.test(event.key) ? () => showStage(STAGES[Number(event.key) - 1]) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(active || panes.ir);
}

function fold() {
  const folded = document.querySelector("footer").classList.toggle("folded");
  $("fold").setAttribute("aria-expanded", String(!folded));
  $("fold").textContent = folded ? "\u25b4" : "\u25be";
}

/** The details in most of the window, or as they were. */
function enlarge() {
  const footer = document.querySelector("footer");
  footer.classList.remove("folded");
  $("enlarge").setAttribute("aria-pressed", String(footer.classList.toggle("tall")));
  if (!$("memory").hidden) drawMemory();
  if (!$("graph").hidden) showHottest();
}

function setTheme(name) {
  const dark = document.documentElement.dataset.theme === "dark";
  document.documentElement.dataset.theme = name || (dark ? "light" : "dark");
}

function openTab(name) {
  for (const tab of document.querySelectorAll("nav [role=tab]")) {
    const mine = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1; // arrow keys lead to the others
    $(tab.getAttribute("aria-controls")).hidden = !mine;
  }
  fit();
  if (document.querySelector("footer").classList.contains("folded")) fold();
  if (name === "memory") drawMemory();
  if (name === "graph") openGraph();
  if (name === "decisions") showDecisions();
}

/** Arrow keys in the row of tabs. */
function pressedInTabs(event) {
  const tabs = [...event.currentTarget.querySelectorAll("[role=tab]")], at = tabs.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const tab = tabs[(to + tabs.length) % tabs.length];
  openTab(tab.getAttribute("aria-controls"));
  tab.focus();
}
