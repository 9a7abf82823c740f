// A field on the page of operations that shows the rows with all words typed, and hides subjects without any.
document$.subscribe(() => {
  const heading = document.getElementById("functions");
  if (!heading) return;
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Find a function: mean, sort, float ...";
  field.setAttribute("aria-label", "Find a function");
  field.className = "ops-search";
  heading.after(field);
  const tables = [...document.querySelectorAll("article table")];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const table of tables) {
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        shown += !row.hidden;
      }
      const block = table.closest(".md-typeset__scrollwrap") || table;
      block.hidden = shown === 0;
      const title = block.previousElementSibling;
      if (title && title.tagName === "H3") title.hidden = shown === 0;
    }
  });
});
