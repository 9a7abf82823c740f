// Below the panes: time by line and bytes over time; and the legend of the times.

const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// ------------------------------------------------------------------------------------------------- time by line
/** What the bars beside the source mean. */
function showLegend() {
  const parts = new Set([...times.values()].flatMap((of) => [...of.keys()])), box = panes.source.about;
  if (!parts.size) return;
  box.append("time: ");
  for (const part of parts) {
    const item = element("span");
    item.append(element("i", `key ${kindOf(part)}`), part || "forward");
    box.append(item);
  }
  box.title = `the ${data.measured.length ? "measured" : "estimated"} time of each line: ${[...parts].map((part) => part || "forward").join(", ")}`;
}

function showCosts() {
  const table = element("table"), head = element("tr");
  for (const [text, name] of [["line"], ["source"], ["part"], [timed, "amount"], ["share", "amount"]]) {
    head.append(element("th", name, text));
  }
  head.append(element("td"));
  table.append(head);
  const all = [...times].flatMap(([place, parts]) => [...parts].map(([part, seconds]) => ({ place, part, seconds })));
  const inside = all.reduce((n, x) => n + x.seconds, 0), sum = Math.max(inside, data.seconds[timed] || 0);
  for (const { place, part, seconds } of all.sort((a, b) => b.seconds - a.seconds).slice(0, 200)) {
    const row = element("tr", "go"), bar = element("span", `bar ${kindOf(part)}`);
    cells(row, ["", "mono"], [textOf(place).slice(0, 70), "mono"], [part || "forward"]);
    row.firstChild.append(anchor(nameOf(place), () => pinPlace(place)));
    cells(row, [duration(seconds), "amount"], [`${((100 * seconds) / sum).toFixed(0)} %`, "amount"], [""]);
    bar.style.width = `${(160 * seconds) / all[0].seconds}px`;
    row.lastChild.append(bar);
    row.addEventListener("click", () => pinPlace(place));
    table.append(row);
  }
  const rest = sum - inside;
  if (all.length && rest > 0.001 * sum) {
    const row = element("tr", "rest");
    cells(row, [""], ["outside of these lines, and the call itself"], [""]);
    cells(row, [duration(rest), "amount"], [`${((100 * rest) / sum).toFixed(0)} %`, "amount"], [""]);
    table.append(row);
  }
  $("costs").replaceChildren(all.length ? table : element("p", "hint", "There is no estimate for this backend."));
}

// ------------------------------------------------------------------------------------------------- memory
/** The bytes of each kind at each op. */
function aliveBytes() {
  const { kinds, lives } = data.memory, ops = data.stages.plan.ops;
  const steps = Math.max(1, ops.length), sums = kinds.map(() => new Float64Array(steps + 1));
  for (const [, kind, bytes, first, last] of lives) {
    sums[kind][Math.min(first, steps)] += bytes;
    sums[kind][Math.min(last + 1, steps)] -= bytes;
  }
  for (const sum of sums) for (let i = 1; i <= steps; i += 1) sum[i] += sum[i - 1];
  return { steps, sums };
}

/** Lines of the grid: about four round amounts. */
function roundAmounts(peak) {
  let unit = 1;
  while (peak / unit > 5) unit *= 2;
  return Array.from({ length: Math.floor(peak / unit) + 1 }, (_, i) => i * unit);
}

function drawMemory() {
  const box = $("memory"), { kinds, needs } = data.memory, { steps, sums } = aliveBytes();
  const peak = Math.max(1, ...Array.from({ length: steps }, (_, i) => sums.reduce((n, sum) => n + sum[i], 0)));
  const chart = element("div", "chart"), legend = element("div", "legend");
  kinds.forEach((kind, k) => {
    const item = element("span"), key = element("i", "key");
    key.style.background = `var(--${kind})`;
    item.append(key, `${kind}, at most ${size(Math.max(...sums[k]))}`);
    legend.append(item);
  });
  legend.append(element("span", "hint", `all together at most ${size(peak)}, over ${steps} ops of the plan`));
  const picture = shape("svg", { role: "img", "aria-label": `bytes alive at each op of the plan, at most ${size(peak)}` });
  chart.append(legend, picture);
  box.replaceChildren(chart, element("pre", "", needs));
  const [wide, high, left, bottom] = [picture.clientWidth || 600, picture.clientHeight || 120, 74, 4];
  const x = (i) => left + ((wide - left) * i) / steps, y = (bytes) => high - bottom - ((high - bottom - 8) * bytes) / peak;
  for (const amount of roundAmounts(peak)) {
    picture.append(shape("line", { class: "grid", x1: left, x2: wide, y1: y(amount), y2: y(amount) }));
    picture.append(shape("text", { class: "axis", x: left - 8, y: y(amount) + 4, "text-anchor": "end" }, size(amount)));
  }
  const below = new Float64Array(steps);
  kinds.forEach((kind, k) => {
    const up = [], down = [];
    for (let i = 0; i < steps; i += 1) {
      const low = y(below[i]), top = y((below[i] += sums[k][i]));
      up.push(`${x(i)},${top} ${x(i + 1)},${top}`);
      down.push(`${x(i + 1)},${low} ${x(i)},${low}`);
    }
    picture.append(shape("polygon", { points: [...up, ...down.reverse()].join(" "), fill: `var(--${kind})` }));
  });
  const at = shape("line", { class: "at", y1: 0, y2: high - bottom, visibility: "hidden" });
  picture.append(at);
  const leave = () => { at.setAttribute("visibility", "hidden"); $("tip").hidden = true; };
  const opAt = (event) => {
    const i = Math.floor(((event.clientX - picture.getBoundingClientRect().left - left) / (wide - left)) * steps);
    return i >= 0 && i < steps ? i : -1;
  };
  picture.addEventListener("pointermove", (event) => {
    const i = opAt(event);
    if (i < 0) { leave(); return; }
    at.setAttribute("x1", x(i + 0.5));
    at.setAttribute("x2", x(i + 0.5));
    at.setAttribute("visibility", "visible");
    memoryTip(i, sums, event);
  });
  picture.addEventListener("click", (event) => { if (opAt(event) >= 0) pinOp(opAt(event)); });
  picture.addEventListener("pointerleave", leave);
}

/** Which values are alive at an op, the largest first. */
function memoryTip(i, sums, event) {
  const { kinds, lives } = data.memory, tip = $("tip");
  const op = data.stages.plan.ops[i], alive = lives.filter((x) => x[3] <= i && i <= x[4]).sort((a, b) => b[2] - a[2]);
  const head = op ? data.stages.plan.lines[op[0] - 1].trim().split(/\s+(?:@|\/\/) /)[0] : "";
  tip.replaceChildren(element("div", "mono", head.slice(0, 90)));
  tip.append(element("div", "hint", kinds.map((kind, k) => `${kind} ${size(sums[k][i])}`).join(", ")));
  for (const [name, kind, bytes] of alive.slice(0, 8)) {
    const row = element("div"), key = element("i", "key");
    key.style.background = `var(--${kinds[kind]})`;
    row.append(key, `${name}  ${size(bytes)}`);
    tip.append(row);
  }
  if (alive.length > 8) tip.append(element("div", "hint", `and ${alive.length - 8} more`));
  placeTip(event);
}

function placeTip(event) {
  const tip = $("tip");
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  tip.style.top = `${Math.max(4, event.clientY - height - 12)}px`;
}

/** Keeps an op of the plan. */
function pinOp(i) {
  showStage("plan");
  const at = data.stages.plan.ops[i][0] - 1;
  panes.ir.cursor = at;
  panes.ir.reveal(at);
  pin(panes.ir.target(at));
}
