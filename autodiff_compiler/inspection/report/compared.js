// Two compiled calls: tables of figures and times, decisions, and a stage of both, line beside line.

const [BEFORE, AFTER] = data.names;
const CONTEXT = 3; // equal lines around changes

function table(box, head, rows) {
  const made = element("table"), first = element("tr");
  for (const [text, className] of head) first.append(element(text ? "th" : "td", className || "", text));
  made.append(first, ...rows);
  box.replaceChildren(made);
}

function row(...cells) {
  const made = element("tr");
  for (const [text, className] of cells) made.append(element("td", className || "", text));
  return made;
}

const NAMES = [[BEFORE, "before amount"], [AFTER, "after amount"]];

function showFigures() {
  const rows = data.figures.map(([what, before, after, change]) => row([what], [before, "amount"], [after, "amount"],
    [change, `amount ${change ? (parseFloat(change.replace(/,/g, "")) < 1 ? "less" : "more") : ""}`]));
  table(document.querySelector("#figures .scroll"), [[""], ...NAMES, ["change", "amount"]], rows);
}

function showLines() {
  const box = document.querySelector("#lines .scroll"), most = Math.max(0, ...data.lines.flatMap((x) => x.slice(2)));
  if (!most) { box.replaceChildren(element("p", "hint", "There are no times for these backends.")); return; }
  const rows = data.lines.map(([place, text, before, after]) => {
    const change = after - before, kind = change < 0 ? "less" : "more";
    const made = row([place, "mono"], [text.slice(0, 80), "mono"], [before ? duration(before) : "", "amount"],
      [after ? duration(after) : "", "amount"], [change ? `${change < 0 ? "\u2212" : "+"}${duration(Math.abs(change))}` : "", `amount ${kind}`], ["", "bars"]);
    for (const [seconds, name] of [[before, "before"], [after, "after"]]) {
      const bar = element("i", name);
      bar.style.width = `${(180 * seconds) / most}px`;
      if (seconds) made.lastChild.append(bar);
    }
    return made;
  });
  table(box, [["line"], ["source"], ...NAMES, ["change", "amount"], [""]], rows);
  $("lines-head").textContent = `Time by line, ${data.measured ? "measured" : "estimated"}; what changed most comes first`;
}

function showDecisions() {
  const box = document.querySelector("#decisions .list");
  if (!data.decisions.length) { box.append(element("p", "hint", "All decisions are the same.")); return; }
  for (const [title, before, after] of data.decisions) {
    const items = element("ul", "mono");
    for (const [lines, sign, className] of [[before, "\u2212", "gone"], [after, "+", "come"]]) {
      for (const line of lines) items.append(element("li", className, `${sign} ${line}`));
    }
    box.append(element("h3", "", title), items);
  }
}

// ------------------------------------------------------------------------------------------------- stages
/** Lines side by side: what is gone stands beside what came in its place. */
function rowsOf(pairs) {
  const rows = [];
  let gone = [], come = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i += 1) rows.push({ same: false, sides: [gone[i], come[i]] });
    [gone, come] = [[], []];
  };
  for (const [kind, before, after] of pairs) {
    if (kind === "-") gone.push(before);
    else if (kind === "+") come.push(after);
    else { flush(); rows.push({ same: true, sides: [before, after] }); }
  }
  flush();
  return rows;
}

let changes = [], at = -1;

function showStage() {
  const rows = rowsOf(data.stages[$("stage").value]), made = document.createDocumentFragment(), all = $("all").checked;
  const near = new Set();
  rows.forEach((x, i) => { if (!x.same) for (let k = i - CONTEXT; k <= i + CONTEXT; k += 1) near.add(k); });
  [changes, at] = [[], -1];
  for (let i = 0; i < rows.length; i += 1) {
    if (!all && !near.has(i)) {
      const from = i;
      while (i + 1 < rows.length && !near.has(i + 1)) i += 1;
      made.append(gap(rows.slice(from, i + 1)));
      continue;
    }
    made.append(pair(rows[i]));
    if (!rows[i].same && (i === 0 || rows[i - 1].same)) changes.push(made.lastChild);
  }
  $("pairs").replaceChildren(made);
  const count = rows.filter((x) => !x.same).length;
  $("changes").textContent = count ? `${count} of ${rows.length} lines differ` : `all ${rows.length} lines are equal, but for the numbers of values`;
  for (const id of ["next", "previous"]) $(id).disabled = !changes.length;
}

function pair({ same, sides }) {
  const made = element("div", same ? "pair same mono" : "pair mono");
  sides.forEach((line, side) => {
    const box = element("div", same || line === undefined ? "" : ["gone", "come"][side]);
    if (line !== undefined) { box.title = line; write(box, shortened(line), "ir"); }
    made.append(box);
  });
  return made;
}

/** Equal lines that are left out until they are asked for. */
function gap(rows) {
  const made = element("button", "gap", `\u25b8 ${rows.length} equal line${rows.length > 1 ? "s" : ""}`);
  made.type = "button";
  made.addEventListener("click", () => made.replaceWith(...rows.map(pair)));
  return made;
}

function go(step) {
  if (!changes.length) return;
  changes[at]?.classList.remove("at");
  at = (at + step + changes.length) % changes.length;
  changes[at].classList.add("at");
  changes[at].scrollIntoView({ block: "center" });
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  [$("name-before").textContent, $("name-after").textContent] = data.names;
  for (const stage of Object.keys(data.stages)) $("stage").append(element("option", "", stage));
  $("stage").value = "opt";
  $("stage").addEventListener("change", showStage);
  $("all").addEventListener("change", showStage);
  $("next").addEventListener("click", () => go(1));
  $("previous").addEventListener("click", () => go(-1));
  $("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const act = { n: () => go(1), p: () => go(-1), t: () => $("theme").click() }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  showFigures();
  showLines();
  showDecisions();
  showStage();
}

start();
