"use strict";
// Three panes of text whose lines are linked by the places in the user's source that they come from.

const data = JSON.parse(document.getElementById("data").textContent);
const STAGES = ["source", "front", "adjoint", "opt", "plan", "code"];
const ROW = 18; // pixels, as in the style sheet
const TICKS = 200; // marks beside a text, at most
const $ = (id) => document.getElementById(id);
const kindOf = (part) => (part === "" ? "forward" : part === "adjoint" || part === "recomputed" ? part : "other");

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// ------------------------------------------------------------------------------------------------- amounts
const digits = (x) => (x < 10 ? x.toFixed(2) : x < 100 ? x.toFixed(1) : x.toFixed(0));
function duration(seconds) {
  for (const [factor, unit] of [[1, "s"], [1e3, "ms"], [1e6, "us"]]) {
    if (seconds * factor >= 1) return `${digits(seconds * factor)} ${unit}`;
  }
  return `${digits(seconds * 1e9)} ns`;
}
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (bytes >= 1024 && i < 4) { bytes /= 1024; i += 1; }
  return i ? `${digits(bytes)} ${units[i]}` : `${bytes} B`;
}

// ------------------------------------------------------------------------------------------------- places
const placeOf = new Map(data.places.map(([file, line], i) => [`${file}:${line}`, i]));
const nameOf = (place) => `${data.files[data.places[place][0]].name}:${data.places[place][1]}`;
function textOf(place) {
  const [number, line] = data.places[place], file = data.files[number];
  return (file.lines[line - file.first] || "").trim();
}
/** The ops of a stage, again for every other line that has them, too. */
function opsOf(stage) {
  return [...data.stages[stage].ops, ...data.stages[stage].also];
}
/** By place: those of the functions that it calls. */
const callees = new Map();
for (const [, , , own, ...callers] of ["front", "opt"].flatMap(opsOf)) {
  for (const place of callers) callees.set(place, (callees.get(place) || new Set()).add(own));
}
/** Seconds by place, then by part. */
function timesOf(list) {
  const found = new Map();
  for (const [place, part, seconds] of list) {
    if (!found.has(place)) found.set(place, new Map());
    const parts = found.get(place);
    parts.set(part, (parts.get(part) || 0) + seconds);
  }
  return found;
}
const estimated = timesOf(data.estimated), measured = timesOf(data.measured);
const times = data.measured.length ? measured : estimated;
const total = (parts) => [...parts.values()].reduce((a, b) => a + b, 0);
const most = Math.max(0, ...[...times.values()].map(total));

// ------------------------------------------------------------------------------------------------- tokens
const TOKENS = {
  ir: /(?<comment>\/\/.*$|@ [^%"]*?(?= *(?:\/\/|$)))|(?<name>%\w+)|(?<string>"(?:[^"\\]|\\.)*")|(?<word>\b(?:func|return|yield|state|constant|callable|if|then|else|while|cond|body|scan|call)\b)|(?<number>(?<![\w%.])-?\d[\w.+-]*)/g,
  python: /(?<comment>#.*$)|(?<string>"""|'''|[rbf]{0,2}"(?:[^"\\]|\\.)*"|[rbf]{0,2}'(?:[^'\\]|\\.)*')|(?<word>\b(?:def|class|return|if|elif|else|for|while|in|not|and|or|is|with|as|import|from|del|lambda|try|except|finally|raise|pass|break|continue|yield|global|nonlocal|assert|None|True|False)\b)|(?<number>(?<![\w.])\d[\w.]*)/g,
  llvm: /(?<comment>;.*$)|(?<name>[%@][\w.]+)|(?<string>"(?:[^"\\]|\\.)*")|(?<word>\b(?:define|declare|internal|call|ret|br|phi|load|store|getelementptr|select|icmp|fcmp|fadd|fsub|fmul|fdiv|add|sub|mul|label|to|align|entry)\b)|(?<number>(?<![\w%.])-?\d[\w.+-]*)/g,
};
const LANGUAGES = { native: "LLVM", numpy: "Python", ascend: "Operators" };
const codeLanguage = data.code.lines.some((line) => line.startsWith("define ")) ? "llvm" : "python";

/** What is shown of a line: one may hold the elements of an array. */
const shortened = (line) => (line.length > 2000 ? `${line.slice(0, 2000)}\u2026` : line);

function write(row, text, language) {
  let end = 0;
  for (const match of text.matchAll(TOKENS[language])) {
    if (match.index > end) row.append(text.slice(end, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    const made = element("span", kind), place = kind === "comment" && match[0].match(/^@ .*?:\d+:\d+/)?.[0];
    if (place) made.append(element("span", "place", place)); // stays in sight at the right
    made.append(match[0].slice(place ? place.length : 0));
    row.append(made);
    end = match.index + match[0].length;
  }
  if (end < text.length) row.append(text.slice(end));
}

// ------------------------------------------------------------------------------------------------- panes
/** Text of which only the lines in sight are in the document; `links` says by line what belongs to it. */
class Pane {
  constructor(id, language) {
    this.id = id;
    this.language = language;
    this.root = $(id);
    this.box = this.root.querySelector(".text");
    this.all = element("div", "all");
    this.rows = element("div", "rows");
    this.all.append(this.rows);
    this.box.append(this.all);
    this.ticks = this.root.querySelector(".ticks");
    this.about = this.root.querySelector(".of");
    this.cursor = -1;
    [this.same, this.selected] = ["", ""];
    this.lines = [];
    [this.top, this.height, this.opens] = [0, 0, 0]; // kept here: to ask for them makes the browser lay out the page
    this.box.addEventListener("scroll", () => { this.top = this.box.scrollTop; this.later(); });
    this.box.addEventListener("pointermove", (event) => this.hovered(event));
    this.box.addEventListener("pointerleave", () => hover(null));
    this.box.addEventListener("pointerdown", () => { this.selected = String(getSelection()); });
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("focus", () => { active = this; });
    new ResizeObserver(() => this.measure()).observe(this.box);
  }

  /** Takes note of how much of the text is in sight. */
  measure() {
    this.height = this.box.clientHeight;
    if (this.height && this.opens) [this.box.scrollTop, this.opens] = [this.opens, 0];
    this.light(now());
  }

  /** `links`: by index of a line `{places, parts, callers}`; `first`: the number of the first line. */
  show(lines, links, first = 1) {
    [this.lines, this.links, this.first] = [lines, links, first];
    this.cursor = -1;
    this.marks = new Map(); // by place: the first line, and in which parts of the text there are lines, of which kind
    for (const [at, link] of links) {
      for (const place of link.callers) this.enter(place, at, "caller");
      for (const place of link.places) this.enter(place, at, this.kind(link, place));
    }
    const longest = lines.reduce((n, line) => Math.max(n, shortened(line).length), 0);
    this.rows.replaceChildren();
    this.all.style.height = `${lines.length * ROW}px`;
    this.all.style.width = `calc(${longest}ch + 130px)`;
    this.light(now());
  }

  enter(place, at, kind) {
    const bucket = Math.floor((at * TICKS) / this.lines.length), found = this.marks.get(place);
    if (!found) this.marks.set(place, { first: at, buckets: new Map([[bucket, kind]]) });
    else {
      if (kind !== "caller" || !found.buckets.has(bucket)) found.buckets.set(bucket, kind);
      found.first = Math.min(found.first, at);
    }
  }

  /** How a line is marked that computes something of a place. */
  kind(link, place) {
    if (this.id === "source") return "on";
    const part = link.parts.find(([of]) => of === place);
    return kindOf(part ? part[1] : "");
  }

  /** How a line is marked now. */
  lit(link) {
    const found = link.places.find((place) => this.wanted.has(place));
    if (found !== undefined) return this.kind(link, found);
    return link.callers.some((place) => this.wanted.has(place)) || link.places.some((x) => this.called.has(x)) ? "caller" : "";
  }

  later() {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.draw());
  }

  /** A row stays the same element while it is in sight: one that is replaced takes a click or a selection with it. */
  draw() {
    this.asked = 0;
    const first = Math.max(0, Math.floor(this.top / ROW) - 8);
    const last = Math.min(this.lines.length, first + Math.ceil(this.height / ROW) + 16);
    for (const row of [...this.rows.children]) if (row.dataset.at < first || row.dataset.at >= last) row.remove();
    const before = Number(this.rows.firstChild?.dataset.at ?? last), behind = before + this.rows.children.length;
    const rows = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => this.row(from + i));
    this.rows.prepend(...rows(first, before));
    this.rows.append(...rows(behind, last));
    this.rows.style.top = `${first * ROW}px`;
    for (const row of this.rows.children) this.mark(row, Number(row.dataset.at));
  }

  row(at) {
    const row = element("div"), link = this.links.get(at);
    row.dataset.at = at;
    row.append(element("span", "no", at + this.first));
    if (this.id === "source") row.append(this.heat(link));
    const text = element("span", "txt");
    write(text, shortened(this.lines[at]), this.language);
    row.append(text);
    return row;
  }

  mark(row, at) {
    const link = this.links.get(at), kinds = ["row"];
    if (link) kinds.push("linked", this.lit(link));
    if (at === this.cursor) kinds.push("cursor");
    if (search.has(this.id, at)) kinds.push("match");
    row.className = kinds.join(" ");
    for (const name of row.querySelectorAll(".name")) name.classList.toggle("same", name.textContent === this.same);
    row.querySelector(".exact")?.remove();
    const columns = this.id === "source" && now()?.columns;
    if (columns && columns[1] && link?.places[0] === now().places[0] && /^[ -~]*$/.test(this.lines[at])) {
      const line = element("i", "exact");
      line.style.left = `${columns[0]}ch`;
      line.style.width = `${columns[1] - columns[0]}ch`;
      row.querySelector(".txt").append(line);
    }
  }

  heat(link) {
    const heat = element("span", "heat"), parts = link && times.get(link.places[0]);
    for (const [part, seconds] of parts || []) {
      const bar = element("i", kindOf(part));
      bar.style.width = `${(40 * seconds) / most}px`;
      heat.append(bar);
    }
    if (parts) heat.title = `${[...parts].map(([part, s]) => `${part || "forward"} ${duration(s)}`).join(", ")}`;
    return heat;
  }

  /** Marks the lines that belong to a target. */
  light(target) {
    this.wanted = new Set(target ? target.places : []);
    this.called = new Set(this.id === "code" && target ? target.places.flatMap((x) => [...(callees.get(x) || [])]) : []);
    const made = document.createDocumentFragment(), { height } = this;
    for (const place of this.lines.length * ROW > height ? [...this.called, ...this.wanted] : []) {
      for (const [bucket, kind] of this.marks.get(place)?.buckets || []) {
        const tick = element("i", this.called.has(place) ? "caller" : kind);
        tick.style.top = `${(bucket * height) / TICKS}px`;
        made.append(tick);
      }
    }
    this.ticks.replaceChildren(made);
    this.later();
  }

  /** The line under the pointer. */
  at(event) {
    const at = Math.floor((event.clientY - this.box.getBoundingClientRect().top + this.box.scrollTop) / ROW);
    return at < this.lines.length ? at : -1;
  }

  hovered(event) {
    const token = event.target.classList.contains("name") ? event.target.textContent : "";
    if (token !== this.same && this.id !== "source") { this.same = token; this.later(); }
    const at = this.at(event);
    hover(at < 0 ? null : this.target(at), event);
  }

  clicked(event) {
    const selected = String(getSelection()), at = this.at(event);
    if (at < 0 || (selected && selected !== this.selected)) return; // the mouse selected text
    this.cursor = at;
    pin(this.target(at));
  }

  target(at) {
    const link = this.links.get(at);
    return link && link.places.length ? { pane: this, at, places: link.places, columns: link.columns } : null;
  }

  move(to) {
    this.cursor = Math.max(0, Math.min(this.lines.length - 1, to));
    this.reveal(this.cursor);
    hover(this.target(this.cursor));
  }

  /** Scrolls to a line if it is not in sight. */
  reveal(at) {
    const top = at * ROW;
    if (!this.height) this.opens = top; // once the pane is shown
    else if (top < this.top + ROW || top > this.top + this.height - 2 * ROW) this.box.scrollTop = top - this.height / 3;
    this.later();
  }

  follow(target) {
    const all = [...this.wanted, ...this.called].map((place) => this.marks.get(place)?.first ?? Infinity);
    const first = Math.min(...(all.slice(0, this.wanted.size).some(Number.isFinite) ? all.slice(0, this.wanted.size) : all));
    if (Number.isFinite(first)) this.reveal(first);
  }
}

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
  for (const button of $("stage-names").children) button.setAttribute("aria-current", button.textContent === stage);
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
  const first = data.kernels.find((kernel) => kernel.loop);
  if (first) panes.code.opens = (first.lines[0] - 1) * ROW;
  panes.code.about.textContent = `${LANGUAGES[data.backend] || "Code"} of the ${data.backend} backend`;
}

// ------------------------------------------------------------------------------------------------- details of a line
function cells(row, ...texts) {
  for (const [text, className] of texts) row.append(element("td", className || "", text));
  return row;
}

function link(place) {
  const made = element("a", "mono", `${nameOf(place)}  ${textOf(place)}`);
  made.addEventListener("click", () => pinPlace(place));
  return made;
}

function showLine(target) {
  const box = $("line"), made = document.createDocumentFragment();
  if (!target) {
    made.append(element("p", "hint", "Point at a line of source, IR or code to see what belongs to it; click to keep it."));
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
  const made = element("div"), head = element("h3");
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
    const name = element("a", "mono", kernel.seconds ? `${kernel.name} (${duration(kernel.seconds)})` : kernel.name);
    name.addEventListener("click", () => panes.code.reveal(kernel.lines[0] - 1));
    return name;
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
  ArrowDown: (pane) => pane.move(pane.cursor + 1), ArrowUp: (pane) => pane.move(pane.cursor - 1),
  PageDown: (pane) => pane.move(pane.cursor + 20), PageUp: (pane) => pane.move(pane.cursor - 20),
  Home: (pane) => pane.move(0), End: (pane) => pane.move(pane.lines.length - 1),
  Enter: (pane) => { if (pane.cursor >= 0) pin(pane.target(pane.cursor)); },
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  Escape: () => { hover(null); pin(null); },
  "/": () => $("query").focus(), n: () => nextFound(1), N: () => nextFound(-1),
  d: () => fold(), b: () => enlarge(), t: () => setTheme(), "?": () => $("help").showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const inField = event.target.matches("input, select");
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
}

function setTheme(name) {
  const dark = document.documentElement.dataset.theme === "dark";
  document.documentElement.dataset.theme = name || (dark ? "light" : "dark");
}

function openTab(name) {
  for (const tab of document.querySelectorAll("nav [role=tab]")) {
    const mine = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(mine));
    $(tab.getAttribute("aria-controls")).hidden = !mine;
  }
  fit();
  if (document.querySelector("footer").classList.contains("folded")) fold();
  if (name === "memory") drawMemory();
  if (name === "graph") openGraph();
}

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const { measured: real, estimated: guess } = data.seconds;
  const took = [real ? `, ${duration(real)} measured` : "", guess ? `, about ${duration(guess)}${real ? " estimated" : ""}` : ""];
  const sizes = data.sizes ? `, for ${data.sizes}` : "";
  $("summary").textContent = `${data.backend}, ${data.stages.opt.ops.length} ops${took.join("")}${sizes}`;
  data.files.forEach((file, i) => $("file").append(Object.assign(element("option", "", file.name), { value: i })));
  for (const stage of STAGES) {
    const button = element("button", "", stage);
    button.type = "button";
    button.addEventListener("click", () => showStage(stage));
    $("stage-names").append(button);
  }
  $("stage").addEventListener("input", (event) => showStage(STAGES[event.target.value]));
  for (const button of document.querySelectorAll(".others button")) { // where there is room for one pane only
    const { pane } = button.dataset;
    button.addEventListener("click", () => { showStage(pane === "ir" ? state.irStage : pane); panes[pane].box.focus(); });
  }
  for (const id of ["stages", "search"]) $(id).addEventListener("submit", (event) => event.preventDefault());
  $("file").addEventListener("change", (event) => showFile(Number(event.target.value)));
  $("query").addEventListener("input", () => runSearch(false));
  $("query").addEventListener("keydown", (event) => { if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1); });
  $("theme").addEventListener("click", () => setTheme());
  $("keys").addEventListener("click", () => $("help").showModal());
  $("fold").addEventListener("click", fold);
  $("enlarge").addEventListener("click", enlarge);
  for (const tab of document.querySelectorAll("nav [role=tab]")) {
    tab.addEventListener("click", () => openTab(tab.getAttribute("aria-controls")));
  }
  document.addEventListener("keydown", pressed);
  addEventListener("resize", () => { if (!$("memory").hidden) drawMemory(); });
  showFile(0);
  showCode();
  showStage("opt");
  showLine(null);
  fit();
  showLegend();
  showCosts();
  $("notes").append(element("pre", "", data.notes));
  $("tab-graph").hidden = !data.graph;
}
