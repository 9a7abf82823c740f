// The graph of the optimised stage: by line or by op, opened at the slowest part, with a search.

/** By place: the nodes of the graph that come from it; in their order those that were found; where it is shown. */
const graph = { nodes: new Map(), found: [], at: -1, x: 0, y: 0, k: 1, moved: false };
const MOST_OPS_AT_FIRST = 40;
const [READABLE, SMALLEST] = [0.8, 0.35]; // scales at which nodes, and frames, open

function openGraph() {
  if ($("picture").dataset.by) return;
  const { ops, lines } = data.graph;
  $("by-line").disabled = !ops;
  if (!ops) $("by-line").parentElement.title = `${data.stages.opt.ops.length} ops are too many for a picture`;
  $("by-line").checked = !ops || (ops.match(/class="node op/g) || []).length > MOST_OPS_AT_FIRST;
  $("by-line").addEventListener("change", drawGraph);
  $("node-query").addEventListener("input", searchGraph);
  $("node-query").addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextNode(event.shiftKey ? -1 : 1);
  });
  const box = $("picture");
  for (const [id, act] of [
    ["larger", () => zoom(1.4)], ["smaller", () => zoom(1 / 1.4)], ["whole", wholeGraph], ["hottest", showHottest],
  ]) $(id).addEventListener("click", act);
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = box.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  box.addEventListener("keydown", pressedInGraph);
  box.addEventListener("click", (event) => { if (!graph.moved) clickedGraph(event); });
  dragGraph(box);
  drawGraph();
}

function drawGraph() {
  const box = $("picture"), by = $("by-line").checked ? "lines" : "ops";
  box.dataset.by = by;
  box.innerHTML = data.graph[by]; // made by this package, with all texts escaped
  linkGraph(box);
  searchGraph();
  showHottest();
  markGraph(now());
}

function putGraph() {
  $("picture").querySelector("svg").style.transform = `translate(${graph.x}px, ${graph.y}px) scale(${graph.k})`;
}

function zoom(by, cx = $("picture").clientWidth / 2, cy = $("picture").clientHeight / 2) {
  const k = Math.max(0.05, Math.min(8, graph.k * by));
  [graph.x, graph.y] = [cx - ((cx - graph.x) * k) / graph.k, cy - ((cy - graph.y) * k) / graph.k];
  graph.k = k;
  putGraph();
}

function wholeGraph() {
  const box = $("picture"), { width, height } = box.querySelector("svg").viewBox.baseVal;
  graph.k = Math.min(1, box.clientWidth / (width || 1), box.clientHeight / (height || 1));
  [graph.x, graph.y] = [Math.max(8, (box.clientWidth - width * graph.k) / 2), 8];
  putGraph();
}

/** Shows a node, or a frame, in the middle, large enough to be read if there is room. */
function centre(node) {
  const box = $("picture"), { x, y, width, height } = node.getBBox(), { e, f } = node.parentNode.transform.baseVal[0].matrix;
  const fits = 0.92 * Math.min(box.clientWidth / width, box.clientHeight / height);
  graph.k = Math.max(SMALLEST, Math.min(fits, Math.max(READABLE, Math.min(graph.k, 1.5))));
  graph.x = box.clientWidth / 2 - (x + e + width / 2) * graph.k;
  graph.y = box.clientHeight / 2 - (y + f + height / 2) * graph.k;
  putGraph();
}

/** The slowest line, or as much of the graph as can be read. */
function showHottest() {
  wholeGraph();
  const hot = $("picture").querySelector(".hot");
  if (hot && graph.k < READABLE) centre(hot);
}

function dragGraph(box) {
  let from = null;
  box.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX - graph.x, y: event.clientY - graph.y };
    graph.moved = false;
  });
  box.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!graph.moved && Math.hypot(x - graph.x, y - graph.y) < 4) return; // a click with an unsteady hand
    if (!graph.moved) { box.setPointerCapture(event.pointerId); box.classList.add("moving"); }
    Object.assign(graph, { moved: true, x, y });
    putGraph();
  });
  box.addEventListener("pointerup", () => { from = null; box.classList.remove("moving"); });
}

function pressedInGraph(event) {
  const step = 60, keys = {
    ArrowLeft: () => { graph.x += step; }, ArrowRight: () => { graph.x -= step; },
    ArrowUp: () => { graph.y += step; }, ArrowDown: () => { graph.y -= step; },
    "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: wholeGraph,
    n: () => nextNode(1), N: () => nextNode(-1), Escape: () => { hover(null); pin(null); },
    Enter: () => { if (graph.found[graph.at]) keepNode(graph.found[graph.at]); },
  };
  if (event.target !== event.currentTarget || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
  putGraph();
}

// ------------------------------------------------------------------------------------------------- nodes
function linkGraph(box) {
  graph.nodes.clear();
  const ops = new Map(data.stages.opt.ops.map((op) => [op[0], op]));
  for (const node of box.querySelectorAll(".node[id]")) {
    const op = ops.get(Number(node.dataset.irLine));
    const places = op && op[3] !== undefined ? [op[3]] : placesNamed(node.dataset.line);
    if (!places.length) continue;
    for (const place of places) graph.nodes.set(place, [...(graph.nodes.get(place) || []), node]);
    node.target = { pane: { id: "graph" }, at: node.dataset.irLine || node.dataset.line, places, columns: op && op[2] };
    node.addEventListener("pointerenter", () => hover(node.target));
    node.addEventListener("pointerleave", () => hover(null));
  }
  showShares(box);
}

/** The time of each line and part, once: at the loop that it runs, or the frame of its ops, or the largest node. */
function showShares(box) {
  let [hot, most] = [null, 0];
  for (const [place, parts] of times) {
    for (const [part, seconds] of parts) {
      const mine = [...box.querySelectorAll(`[data-line="${nameOf(place).replace(/["\\]/g, "\\$&")}"]`)].filter((x) => partOf(x) === part);
      const size = (x) => (x.dataset.values || "").split(" ").length;
      const frame = mine.find((x) => x.matches(".block")) || mine.find((x) => x.matches(".group"));
      const node = frame || mine.sort((a, b) => size(b) - size(a))[0];
      if (!node) continue;
      if (seconds > most) [hot, most] = [node, seconds];
      showShare(node, seconds);
    }
  }
  hot?.classList.add("hot");
}

const partOf = (node) => node.dataset.part ?? (node.classList.contains("backward") ? "adjoint" : "");

/** How much of the time it is, above a node. */
function showShare(node, seconds) {
  const share = (100 * seconds) / Math.max(data.seconds[timed] || 0, allTimes), rect = node.querySelector("rect");
  if (share < 1) return;
  const [x, y] = [Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")), Number(rect.getAttribute("y")) - 3];
  node.append(shape("text", { class: "detail share", x, y, "text-anchor": "end" }, `${share.toFixed(0)} %, ${duration(seconds)}`));
}

const placesNamed = (name) => data.places.map((_, place) => place).filter((place) => nameOf(place) === name);

function clickedGraph(event) {
  const node = event.target.closest(".node");
  if (node?.target) keepNode(node);
}

function keepNode(node) {
  if (!node.target) return;
  if (node.dataset.irLine) showStage("opt"); // the picture is of this stage
  pin(node.target);
}

function markGraph(target) {
  for (const node of document.querySelectorAll("#graph .node.selected")) node.classList.remove("selected");
  for (const place of target ? target.places : []) {
    for (const node of graph.nodes.get(place) || []) node.classList.add("selected");
  }
}

// ------------------------------------------------------------------------------------------------- search
function searchGraph() {
  const word = $("node-query").value.trim().toLowerCase(), box = $("picture");
  graph.found = word ? [...box.querySelectorAll(".node[id]")].filter((x) => x.textContent.toLowerCase().includes(word)) : [];
  graph.at = -1;
  for (const node of box.querySelectorAll(".node")) {
    node.classList.toggle("found", graph.found.includes(node));
    node.classList.remove("at");
  }
  $("nodes-found").textContent = word ? `${graph.found.length} found` : "";
}

function nextNode(step) {
  if (!graph.found.length) return;
  graph.found[graph.at]?.classList.remove("at");
  graph.at = (graph.at + step + graph.found.length) % graph.found.length;
  const node = graph.found[graph.at];
  node.classList.add("at");
  centre(node);
  $("nodes-found").textContent = `${graph.at + 1} of ${graph.found.length}`;
}
