// The results that have come out up to the step, and the difference to the batch.
import { byId, cell, el } from "./dom.js";
import { store } from "./store.js";

let hover = () => {};

export function resultsIn(onHover) {
  hover = onHover;
}

/** The results of all steps up to this one, the newest above. */
export function drawResults() {
  const { trace } = store.result;
  const shown = trace.results.filter((one) => one.step <= store.step).reverse();
  const numeric = (at) => trace.results.some((one) => typeof one.values[at] === "number");
  const heads = trace.columns.map((name, at) => el("th", { scope: "col", class: numeric(at) ? "number" : null }, name));
  const head = el("tr", {}, el("th", { scope: "col" }, "step"), trace.results.some((one) => one.change) ? el("th", { scope: "col" }, "change") : null, ...heads);
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...shown.map((one) => resultLine(one, trace))));
  const none = el("p", { class: "empty" }, trace.results.length ? "Nothing has come out yet: step on." : "Nothing came out.");
  byId("results").replaceChildren(...(shown.length ? [table] : [none]), ...(trace.unknown ?? []).map((text) => el("p", { class: "empty" }, text)));
}

function resultLine(result, trace) {
  const step = trace.flushed && result.step === trace.steps - 1 ? "end" : String(result.step + 1);
  const change = result.change ? el("td", {}, el("span", { class: `change ${result.change}` }, result.change)) : null;
  const line = el("tr", { tabindex: "0", data: { result: result.id } }, el("td", { class: "step" }, step), change, ...result.values.map(cell));
  for (const event of ["pointerenter", "focus"]) line.addEventListener(event, () => hover({ results: [result.id] }));
  for (const event of ["pointerleave", "blur"]) line.addEventListener(event, () => hover(null));
  return line;
}

/** Light up these results, by their ids. */
export function lightResults(ids) {
  for (const line of byId("results").querySelectorAll("tr[data-result]")) line.classList.toggle("lit", ids.has(Number(line.dataset.result)));
}

/** Say how a run compares with the batch; `undo` brings back the rows as they were before. */
export function drawVerdict(comparison, undo) {
  const place = byId("verdict");
  place.hidden = !comparison;
  if (!comparison) return;
  place.className = comparison.same ? "same" : "other";
  const rows = `${comparison.rows} row${comparison.rows === 1 ? "" : "s"}`;
  const late = comparison.leftOut ? ` Late rows are left out of the batch: ${comparison.leftOut}.` : "";
  const said = comparison.same
    ? [el("strong", {}, "The same as the batch"), `: ${rows}, with ${comparison.what}.${late}`]
    : [el("strong", {}, "Not the same as the batch"), `, with ${comparison.what}.${late}`];
  const close = el("button", { class: "close", "aria-label": "Close", on: { click: () => drawVerdict(null) } }, "×");
  const back = undo ? el("button", { on: { click: undo } }, "Undo") : null;
  place.replaceChildren(close, ...said, " ", ...(back ? [back] : []), ...(comparison.same ? [] : [difference(comparison)]));
}

function difference({ onlyBatch, onlyStream }) {
  const columns = [...new Set([...onlyBatch, ...onlyStream].flatMap((row) => Object.keys(row)))];
  const line = (sign, where) => (row) =>
    el("tr", {}, el("td", { class: "sign" }, sign), el("td", {}, where), ...columns.map((name) => cell(row[name])));
  const head = el("tr", {}, el("th"), el("th", { scope: "col" }, "only in"), ...columns.map((name) => el("th", { scope: "col" }, name)));
  return el("table", { "aria-label": "Difference" }, el("thead", {}, head),
    el("tbody", {}, ...onlyBatch.map(line("−", "batch")), ...onlyStream.map(line("+", "stream"))));
}
