// What was decided and why, as a list: by words, and of the kept line only.

const filter = { word: "", kept: false };

function startDecisions() {
  $("filter").addEventListener("input", () => { filter.word = $("filter").value.trim().toLowerCase(); showDecisions(); });
  $("kept").addEventListener("change", () => { filter.kept = $("kept").checked; showDecisions(); });
}

/** Draws the list anew, if it is in sight. */
function showDecisions() {
  const target = state.pinned, places = target ? target.places : [];
  $("kept").disabled = !target;
  $("kept-of").textContent = target ? `only of ${places.slice(0, 3).map(nameOf).join(", ")}` : "only of the kept line";
  if ($("decisions").hidden) return;
  const wanted = filter.kept && target ? new Set(places) : null, made = document.createDocumentFragment();
  let [all, count] = [0, 0];
  for (const [title, lines] of data.decisions.sections) {
    const found = lines.filter((line) => isWanted(title, line, wanted));
    [all, count] = [all + lines.length, count + found.length];
    if (!lines.length && !wanted && isWanted(title, [], null)) made.append(element("p", "hint", title)); // says it itself
    if (!found.length) continue;
    const section = element("section"), items = element("ul");
    section.append(element("h2", "", title), items);
    for (const line of found) items.append(decision(line));
    made.append(section);
  }
  $("decided").textContent = count < all ? `${count} of ${all}` : `${all} lines`;
  if (count === all) made.prepend(element("p", "hint", data.decisions.head.slice(1).join("; ")));
  $("decision-list").replaceChildren(made);
}

function isWanted(title, line, wanted) {
  const text = line.map((piece) => (typeof piece === "number" ? nameOf(piece) : piece)).join("");
  if (filter.word && !`${title} ${text}`.toLowerCase().includes(filter.word)) return false;
  return !wanted || line.some((piece) => wanted.has(piece));
}

/** One line; a place in it leads there. */
function decision(line) {
  const made = element("li", "mono");
  for (const piece of line) {
    made.append(typeof piece === "number" ? anchor(nameOf(piece), () => pinPlace(piece)) : piece);
  }
  return made;
}
