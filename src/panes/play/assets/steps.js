// The slider through micro-batches, and the counters of the step it stands at.
import { byId, el } from "./dom.js";
import { store } from "./store.js";

let stepped = () => {};

export function stepsIn(onStep) {
  stepped = onStep;
  byId("slider").addEventListener("input", (event) => goTo(event.target.valueAsNumber));
  byId("back").addEventListener("click", () => goTo(store.step - 1));
  byId("forward").addEventListener("click", () => goTo(store.step + 1));
  document.addEventListener("keydown", (event) => {
    const typing = event.composedPath()[0].closest?.("input, select, textarea, [contenteditable]");
    if (typing || event.altKey || event.ctrlKey || event.metaKey || !store.result) return;
    if (event.key === "ArrowLeft") goTo(store.step - 1);
    else if (event.key === "ArrowRight") goTo(store.step + 1);
    else return;
    event.preventDefault();
  });
}

/** Go to a step of the last run, from 0. */
export function goTo(step) {
  const { steps } = store.result.trace;
  store.step = Math.min(steps - 1, Math.max(0, step));
  const slider = byId("slider");
  slider.min = 0;
  slider.max = steps - 1;
  slider.value = store.step;
  slider.setAttribute("aria-valuetext", nameOf(store.step));
  byId("step-name").textContent = nameOf(store.step);
  byId("back").disabled = store.step === 0;
  byId("forward").disabled = store.step === steps - 1;
  byId("steps").hidden = false;
  drawCounters();
  stepped(store.step);
}

function nameOf(step) {
  const { steps, flushed } = store.result.trace;
  const count = flushed ? steps - 1 : steps;
  return step < count ? `Micro-batch ${step + 1} of ${count}` : "End of the input";
}

function drawCounters() {
  const figures = countersAt(store.result.trace, store.step);
  const parts = figures.map(([name, value]) => el("div", { data: { name } }, el("dt", {}, name), el("dd", {}, String(value))));
  byId("counters").replaceChildren(...parts);
}

/** What a running query would count up to a step: pairs of a name and a figure. */
export function countersAt(trace, step) {
  const rows = trace.streams.flatMap((stream) => stream.rows).filter((row) => row.step <= step);
  const fates = (fate) => rows.filter((row) => row.fate === fate).length;
  const windows = trace.levels.flatMap((level) => level.windows ?? []);
  const open = windows.filter((one) => one.growths[0].step <= step && !(one.closed <= step) && !(one.merged <= step));
  const clocks = trace.streams.map((stream) => stream.watermarks?.[step]).filter((one) => one !== null && one !== undefined);
  const found = [
    ["rows", rows.length],
    ["late", fates("late")],
    ["filtered", fates("filtered")],
    ["no time", fates("null-time")],
    ["open windows", open.length],
    ["results", trace.results.filter((one) => one.step <= step).length],
  ];
  const optional = new Set(["late", "filtered", "no time", ...(windows.length ? [] : ["open windows"])]);
  const kept = found.filter(([name, value]) => value > 0 || !optional.has(name));
  return clocks.length ? [["watermark", clock(Math.min(...clocks))], ...kept] : kept;
}

function clock(micros) {
  return new Date(micros / 1000).toISOString().slice(11, 23).replace(/\.?0+$/, "");
}
