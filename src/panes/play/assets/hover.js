// What belongs together: the rows that made a result, and the results that a row went into.
import { lightPicture } from "./picture.js";
import { lightResults } from "./results.js";
import { lightRows } from "./rows.js";
import { store } from "./store.js";

/** The rows and results that belong to { rows }, { results } or { window } of a trace, by their ids. */
export function belonging(trace, at) {
  if (!at) return { rows: new Set(), results: new Set() };
  if (at.results) {
    const made = trace.results.filter((one) => at.results.includes(one.id));
    return { rows: new Set(made.flatMap((one) => one.rows ?? [])), results: new Set(at.results) };
  }
  const rows = at.rows ?? at.window.rows;
  const into = trace.results.filter((one) => (at.rows ? rows.some((row) => one.rows?.includes(row)) : one.of === at.window.id));
  return { rows: new Set(rows), results: new Set(into.map((one) => one.id)) };
}

/** Light up all that belongs to what the pointer is on: { rows }, { results }, { window }, or null. */
export function light(at) {
  if (!store.result) return;
  const { rows, results } = belonging(store.result.trace, at);
  lightPicture(rows, results);
  lightResults(results);
  lightRows(new Set([...rows].map((id) => store.result.keys.get(id))));
}

/** The same for a row of a table, known by its key. */
export function lightKey(key) {
  const id = key === null ? undefined : [...(store.result?.keys ?? [])].find(([, one]) => one === key)?.[0];
  light(id === undefined ? null : { rows: [id] });
}
