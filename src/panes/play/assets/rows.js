// The rows of each stream as a table: one body for each micro-batch, cells that are edited in place.
import { byId, el } from "./dom.js";
import { dragStarts, dropsOn } from "./drag.js";
import { batchCount, nudged, ordered, placed } from "./moves.js";
import { newRow, rowsOf, store } from "./store.js";

const FATES = {
  late: "late",
  filtered: "filtered",
  "null-time": "no time",
  "no-window": "in no window",
  waiting: "waiting",
};
let changed = () => {};
let hover = () => {};

/** `onChange` is called after each edit, `onHover(key or null)` when the pointer is on a row. */
export function rowsIn(onChange, onHover) {
  changed = onChange;
  hover = onHover;
}

/** Draw all tables anew; the focus stays on its cell. */
export function drawRows() {
  const focus = document.activeElement?.dataset?.cell;
  const place = byId("rows");
  const top = place.scrollTop;
  const declared = store.check.streams;
  place.replaceChildren(...declared.map(streamTable));
  if (!declared.length) place.append(el("p", { class: "empty" }, "Streams that the SQL declares have their rows here."));
  if (focus) [...place.querySelectorAll("[data-cell]")].find((one) => one.dataset.cell === focus)?.focus();
  place.scrollTop = top;
  markCells();
  markFates();
}

function streamTable(stream) {
  const own = rowsOf(stream.name);
  own.rows = ordered(own.rows);
  const count = Math.max(1, batchCount(store.document));
  const bodies = Array.from({ length: count + 1 }, (_, batch) => batchBody(stream, own, batch, batch === count));
  const heads = stream.columns.map(({ name, type }) => el("th", { scope: "col" }, name, el("small", {}, type)));
  const head = el("tr", {}, el("th", {}, el("span", { class: "unseen" }, "Move")), el("th", { scope: "col" }, "batch"), ...heads, el("th"), el("th"));
  const delay = stream.delay === null ? "" : ` late by at most ${stream.delay / 1e6} s`;
  return el(
    "section",
    {},
    el("h3", {}, stream.name, el("small", {}, delay)),
    el("table", { class: "rows", "aria-label": `Rows of ${stream.name}` }, el("thead", {}, head), ...bodies),
    el("div", { class: "adders" }, el("button", { on: { click: () => addRow(stream, own, Math.max(0, batchCount(store.document) - 1)) } }, "+ Row"),
      el("button", { on: { click: () => addRow(stream, own, batchCount(store.document)) } }, "+ Micro-batch")),
  );
}

function batchBody(stream, own, batch, isNext) {
  const rows = own.rows.filter((row) => row.batch === batch);
  const title = isNext ? "drop here for another micro-batch" : `Micro-batch ${batch + 1}`;
  const span = stream.columns.length + 4;
  const body = el("tbody", { data: { batch } , class: isNext ? "next" : null },
    el("tr", { class: "batch" }, el("td", { colspan: span }, isNext ? el("span", { class: "hint" }, title) : title)),
    ...rows.map((row) => rowLine(stream, own, row)));
  dropsOn(body, stream.name, (key, before) => move(own, placed(own.rows, key, batch, before)));
  return body;
}

function rowLine(stream, own, row) {
  const line = el("tr", { class: "row", data: { key: row.key, stream: stream.name } });
  const number = own.rows.indexOf(row) + 1;
  const grip = el("button", { class: "grip", draggable: "true", "aria-label": `Move row ${number}`, title: "Drag, or Alt-↑ ↓", data: { cell: `${row.key}/grip` } }, "⋮⋮");
  dragStarts(grip, line, stream.name, row.key);
  const batch = el("input", {
    class: "in-batch number", type: "number", min: 1, max: 200, value: row.batch + 1,
    "aria-label": `Micro-batch of row ${number}`, data: { cell: `${row.key}/batch` },
    on: { change: (event) => move(own, placed(own.rows, row.key, Math.min(199, Math.max(0, Math.trunc(event.target.valueAsNumber || 1) - 1)))) },
  });
  const remove = el("button", { class: "remove", "aria-label": `Delete row ${number}`, title: "Delete (Ctrl-Backspace)", on: { click: () => removeRow(own, row.key) } }, "×");
  line.append(el("td", {}, grip), el("td", {}, batch), ...stream.columns.map((column) => el("td", {}, input(stream, row, column, number))),
    el("td", {}, el("span", { class: "fate" })), el("td", {}, remove));
  line.addEventListener("keydown", (event) => keyed(event, stream, own, row));
  line.addEventListener("pointerenter", () => hover(row.key));
  line.addEventListener("pointerleave", () => hover(null));
  return line;
}

/** The name that a row has for a column: names are equal in any case. */
const nameIn = (values, name) => Object.keys(values).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;

function input(stream, row, column, number) {
  const name = nameIn(row.values, column.name);
  const value = row.values[name];
  const isTime = column.type.startsWith("timestamp");
  return el("input", {
    value: value ?? "", placeholder: value === "" ? "empty" : "NULL", spellcheck: "false", autocomplete: "off",
    class: isTime ? "time" : null, "aria-label": `${column.name} of row ${number}`,
    data: { cell: `${row.key}/${column.name}`, column: column.name },
    on: { input: (event) => { row.values[name] = event.target.value === "" ? null : event.target.value; changed(); } },
  });
}

function keyed(event, stream, own, row) {
  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    move(own, nudged(own.rows, row.key, event.key === "ArrowUp" ? -1 : 1));
  } else if (event.key === "Enter" && event.target.tagName === "INPUT") {
    event.preventDefault();
    addRow(stream, own, row.batch, row);
  } else if (event.key === "Backspace" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    removeRow(own, row.key);
  }
}

function move(own, rows) {
  own.rows = rows;
  drawRows();
  changed();
}

/** A row below another one, or at the end of a micro-batch; it takes over the time of the row above. */
function addRow(stream, own, batch, after = null) {
  const above = after ?? own.rows.findLast((row) => row.batch <= batch);
  const time = stream.time && above ? above.values[nameIn(above.values, stream.time)] : null;
  const made = newRow(batch, stream.time ? { [stream.time]: time ?? null } : {});
  const at = after ? own.rows.indexOf(after) + 1 : own.rows.length;
  own.rows = ordered([...own.rows.slice(0, at), made, ...own.rows.slice(at)]);
  move(own, own.rows);
  byId("rows").querySelector(`tr[data-key="${made.key}"] td:nth-child(3) input`)?.focus();
}

function removeRow(own, key) {
  move(own, own.rows.filter((row) => row.key !== key));
}

/** Underline the cells that are no values of their columns. */
export function markCells() {
  const wrong = new Map(store.check.cells.map((one) => [`${one.stream.toLowerCase()}/${one.row}/${one.column}`, one.message]));
  for (const stream of store.check.streams) {
    rowsOf(stream.name).rows.forEach((row, number) => {
      for (const cell of byId("rows").querySelectorAll(`tr[data-key="${row.key}"] input[data-column]`)) {
        const message = wrong.get(`${stream.name.toLowerCase()}/${number}/${cell.dataset.column}`);
        cell.classList.toggle("wrong", Boolean(message));
        cell.title = message ?? "";
        cell.setAttribute("aria-invalid", String(Boolean(message)));
      }
    });
  }
}

/** What became of each row in the last run, and which micro-batch the picture shows. */
export function markFates() {
  const { result, step } = store;
  const fates = new Map();
  for (const row of result?.trace.streams.flatMap((stream) => stream.rows) ?? []) fates.set(result.keys.get(row.id), row.fate ?? "counted");
  for (const line of byId("rows").querySelectorAll("tr.row")) {
    const label = line.querySelector(".fate");
    const fate = fates.get(Number(line.dataset.key));
    label.className = `fate ${fate ?? ""}`;
    label.textContent = FATES[fate] ?? "";
    line.classList.toggle("future", Boolean(result) && Number(line.closest("tbody").dataset.batch) > step);
  }
  for (const body of byId("rows").querySelectorAll("tbody")) body.classList.toggle("now", Boolean(result) && Number(body.dataset.batch) === step);
}

/** Light up these rows, by their keys. */
export function lightRows(keys) {
  for (const line of byId("rows").querySelectorAll("tr.row")) line.classList.toggle("lit", keys.has(Number(line.dataset.key)));
}
