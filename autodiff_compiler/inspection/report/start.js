// The page begins: what stands in the header, what answers to clicks and keys, and where the panes open.

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
  document.querySelector("nav [role=tablist]").addEventListener("keydown", pressedInTabs);
  document.addEventListener("keydown", pressed);
  addEventListener("resize", () => { if (!$("memory").hidden) drawMemory(); });
  showFile(0);
  showCode();
  showStage("opt");
  openAtSlowest();
  showLine(null);
  fit();
  showLegend();
  showCosts();
  startDecisions();
  openTab("line");
}

/** Every pane opens where the slowest line is, its code at the kernel that takes most of it. */
function openAtSlowest() {
  const place = slowest[0], loops = data.kernels.filter((kernel) => kernel.loop);
  const mine = loops.filter((kernel) => kernel.parts.some(([of]) => of === place));
  const kernel = (mine.length ? mine : loops).reduce((a, b) => (a && a.seconds >= b.seconds ? a : b), null);
  if (kernel) panes.code.opens = (kernel.lines[0] - 1) * ROW;
  if (place === undefined) return;
  const [file, line] = data.places[place], at = line - data.files[file].first;
  showFile(file);
  panes.source.cursor = at;
  panes.source.opens = Math.max(0, (at - 8) * ROW);
  const first = panes.ir.marks.get(place)?.first;
  if (first !== undefined) panes.ir.opens = Math.max(0, (panes.ir.openRow(first) - 10) * ROW);
}

start();
