// What belongs together: the rows that made a result, and the results that a row went into.
import { lightPicture } from "./picture.js";
import { lightResults } from "./results.js";
import { lightRows } from "./rows.js";
import { store } from "./store.js";

/** The rows and results that belong to a row or a result of a trace, by their ids. */
export function belonging(trace, at) {
  if (!at) return { rows: new Set(), results: new Set() };
  if (at.result !== undefined) {
    const result = trace.results.find((one) => one.id === at.result);
    return { rows: new Set(result?.rows ?? []), results: new Set([at.result]) };
  }
  const results = trace.results.filter((one) => (one.rows ?? []).includes(at.row));
  return { rows: new Set([at.row]), results: new Set(results.map((one) => one.id)) };
}

/** Light up all that belongs to what the pointer is on: { row }, { result }, or null. */
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
  light(id === undefined ? null : { row: id });
}
