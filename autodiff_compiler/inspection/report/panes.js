// Three panes of text whose lines are linked by the places in the user's source that they come from.

const STAGES = ["source", "front", "adjoint", "opt", "plan", "code"];
const ROW = 18; // pixels, as in the style sheet
const TICKS = 200; // marks beside a text, at most
const LANGUAGES = { native: "LLVM", numpy: "Python", ascend: "Operators" };
const codeLanguage = data.code.lines.some((line) => line.startsWith("define ")) ? "llvm" : "python";
const kindOf = (part) => (part === "" ? "forward" : part === "adjoint" || part === "recomputed" ? part : "other");

// ------------------------------------------------------------------------------------------------- places
const placeOf = new Map(data.places.map(([file, line], i) => [`${file}:${line}`, i]));
function nameOf(place) {
  const [number, line] = data.places[place], { name, cell } = data.files[number];
  return `${name}${cell ? ", line " : ":"}${line}`;
}
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
const timed = data.measured.length ? "measured" : "estimated";
const allTimes = [...times.values()].reduce((n, parts) => n + total(parts), 0);
const most = Math.max(0, ...[...times.values()].map(total));
/** Places, the slowest first. */
const slowest = [...times].sort((a, b) => total(b[1]) - total(a[1])).map(([place]) => place);

// ------------------------------------------------------------------------------------------------- panes
const FEWEST_FOLDED = 4;

/** Runs of lines that declare states, constants or functions, each of them closed: `{from, to, says, closed}`. */
function foldsOf(lines) {
  const found = [], kindOf = (line) => line?.match(/^(state|constant|callable) @/)?.[1];
  for (let from = 0; from < lines.length; from += 1) {
    const kind = kindOf(lines[from]);
    let to = from;
    while (kind && kindOf(lines[to]) === kind) to += 1;
    if (to - from >= FEWEST_FOLDED) {
      const names = [from, to - 1].map((at) => lines[at].match(/@("[^"]*"|[\w.<>-]+)/)[0]);
      found.push({ from, to, says: `${to - from} ${kind}s, ${names[0]} to ${names[1]}`, closed: true });
    }
    from = Math.max(from, to - 1);
  }
  return found;
}

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
    this.says = this.root.querySelector(".says");
    this.cursor = -1;
    [this.same, this.selected] = ["", ""];
    [this.lines, this.shown, this.folds] = [[], [], []];
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
    this.folds = foldsOf(lines);
    this.cursor = -1;
    this.marks = new Map(); // by place: the first line, and in which parts of the text there are lines, of which kind
    for (const [at, link] of links) {
      for (const place of link.callers) this.enter(place, at, "caller");
      for (const place of link.places) this.enter(place, at, this.kind(link, place));
    }
    const longest = lines.reduce((n, line) => Math.max(n, shortened(line).length), 0);
    this.all.style.width = `calc(${longest}ch + 130px)`;
    this.arrange();
  }

  /** Which lines have a row: of a closed fold, the first one. */
  arrange() {
    this.shown = [];
    for (let at = 0; at < this.lines.length; at += 1) {
      this.shown.push(at);
      const fold = this.folds.find((x) => x.closed && x.from === at);
      if (fold) at = fold.to - 1;
    }
    this.rowOf = new Map(this.shown.map((at, row) => [at, row]));
    this.rows.replaceChildren();
    this.all.style.height = `${this.shown.length * ROW}px`;
    this.light(now());
  }

  toggle(fold) {
    fold.closed = !fold.closed;
    this.arrange();
  }

  /** The row of a line, which is opened if it lies in a closed fold. */
  openRow(at) {
    const fold = this.folds.find((x) => x.closed && x.from < at && at < x.to);
    if (fold) this.toggle(fold);
    return this.rowOf.get(at) ?? 0;
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
    const last = Math.min(this.shown.length, first + Math.ceil(this.height / ROW) + 16);
    for (const row of [...this.rows.children]) if (row.dataset.row < first || row.dataset.row >= last) row.remove();
    const before = Number(this.rows.firstChild?.dataset.row ?? last), behind = before + this.rows.children.length;
    const rows = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => this.row(from + i));
    this.rows.prepend(...rows(first, before));
    this.rows.append(...rows(behind, last));
    this.rows.style.top = `${first * ROW}px`;
    for (const row of this.rows.children) this.mark(row, Number(row.dataset.at));
  }

  row(number) {
    const at = this.shown[number], row = element("div"), link = this.links.get(at);
    const fold = this.folds.find((x) => x.from === at);
    Object.assign(row.dataset, { at, row: number });
    row.append(element("span", "no", at + this.first));
    if (this.id === "source") row.append(this.heat(link));
    if (fold) row.firstChild.classList.add(fold.closed ? "closed" : "open");
    const text = element("span", fold?.closed ? "txt folded" : "txt");
    if (fold?.closed) text.append(fold.says);
    else write(text, shortened(this.lines[at]), this.language);
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
    for (const place of this.shown.length * ROW > height ? [...this.called, ...this.wanted] : []) {
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
    const row = Math.floor((event.clientY - this.box.getBoundingClientRect().top + this.box.scrollTop) / ROW);
    return this.shown[row] ?? -1;
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
    this.keep(at, event.target.closest(".no"));
  }

  /** Keeps what a line belongs to; of a fold, opens or closes it. */
  keep(at, inMargin = true) {
    const fold = this.folds.find((x) => x.from === at);
    if (fold && (fold.closed || inMargin)) this.toggle(fold);
    else pin(this.target(at));
  }

  target(at) {
    const link = this.links.get(at);
    return link && link.places.length ? { pane: this, at, places: link.places, columns: link.columns } : null;
  }

  /** Moves the cursor by some rows. */
  move(by) {
    const row = this.rowOf.get(this.cursor) ?? -1;
    this.cursor = this.shown[Math.max(0, Math.min(this.shown.length - 1, row + by))];
    this.reveal(this.cursor);
    hover(this.target(this.cursor));
    this.says.textContent = this.rowText(this.cursor);
  }

  /** What a screen reader says of a line. */
  rowText(at) {
    const fold = this.folds.find((x) => x.closed && x.from === at);
    return `${at + this.first}: ${fold ? `${fold.says}, folded` : shortened(this.lines[at])}`;
  }

  /** Scrolls to a line if it is not in sight. */
  reveal(at) {
    const top = this.openRow(at) * ROW;
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
