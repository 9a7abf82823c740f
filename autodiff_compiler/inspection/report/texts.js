"use strict";
// Elements of a page, amounts, and texts in colours.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

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

// ------------------------------------------------------------------------------------------------- tokens
const TOKENS = {
  ir: /(?<comment>\/\/.*$|@ (?:"[^"]*")?[^%"]*?(?= *(?:\/\/|$)))|(?<name>%\w+)|(?<string>"(?:[^"\\]|\\.)*")|(?<word>\b(?:func|return|yield|state|constant|callable|if|then|else|while|cond|body|scan|call)\b)|(?<number>(?<![\w%.])-?\d[\w.+-]*)/g,
  python: /(?<comment>#.*$)|(?<string>"""|'''|[rbf]{0,2}"(?:[^"\\]|\\.)*"|[rbf]{0,2}'(?:[^'\\]|\\.)*')|(?<word>\b(?:def|class|return|if|elif|else|for|while|in|not|and|or|is|with|as|import|from|del|lambda|try|except|finally|raise|pass|break|continue|yield|global|nonlocal|assert|None|True|False)\b)|(?<number>(?<![\w.])\d[\w.]*)/g,
  llvm: /(?<comment>;.*$)|(?<name>[%@][\w.]+)|(?<string>"(?:[^"\\]|\\.)*")|(?<word>\b(?:define|declare|internal|call|ret|br|phi|load|store|getelementptr|select|icmp|fcmp|fadd|fsub|fmul|fdiv|add|sub|mul|label|to|align|entry)\b)|(?<number>(?<![\w%.])-?\d[\w.+-]*)/g,
};
/** What is shown of a line: one may hold the elements of an array. */
const shortened = (line) => (line.length > 2000 ? `${line.slice(0, 2000)}\u2026` : line);

/** A place stays in sight at the right; of the adjoint in its colour, as the word behind it may be out of sight. */
function placeOfOp(place, ofAdjoint) {
  const made = element("span", ofAdjoint ? "place of-adjoint" : "place"), [, name, column] = place.match(/^@ (.*)(:\d+)$/);
  made.append(element("span", "sign", "@ "), name, element("span", "column", column)); // where there is room
  return made;
}

function write(row, text, language) {
  let end = 0;
  for (const match of text.matchAll(TOKENS[language])) {
    if (match.index > end) row.append(text.slice(end, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    const made = element("span", kind), place = kind === "comment" && match[0].match(/^@ .*?:\d+:\d+/)?.[0];
    if (place) made.append(placeOfOp(place, /\badjoint\b/.test(match[0])));
    made.append(match[0].slice(place ? place.length : 0));
    row.append(made);
    end = match.index + match[0].length;
  }
  if (end < text.length) row.append(text.slice(end));
}
