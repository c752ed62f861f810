// When the query runs: a while after the last change, at once when asked, and never with an error in it.
import { ask, follow } from "./api.js";
import { keysOf, plain, store } from "./store.js";

const CHECK_AFTER = 150;
const RUN_AFTER = 500;
const WORDS = {
  starting: "Spark is starting: a few seconds, once",
  running: "Running",
  batch: "Running it as a batch",
  plain: "Comparing",
  kill: "Running it with kills",
  shards: "Running it with seven shards",
};

let timer = 0;
let latest = 0;
let hooks = {};

/** Hooks: checked(), ran(comparison), failed(error), status(text, busy). */
export function runsIn(given) {
  hooks = given;
}

/** Something was edited: check it soon, and run it if nothing is wrong. */
export function edited() {
  clearTimeout(timer);
  timer = setTimeout(checkThenRun, CHECK_AFTER);
}

async function checkThenRun() {
  if (!(await check())) return;
  clearTimeout(timer);
  timer = setTimeout(run, RUN_AFTER - CHECK_AFTER);
}

/** Whether what stands there can be run. */
export async function check() {
  const asked = (latest += 1);
  const found = await caught(() => ask("/api/check", { document: plain(store.document) }));
  if (!found || asked !== latest) return false;
  store.check = found;
  hooks.checked();
  const given = store.document.streams.some((stream) => stream.rows.length);
  return given && !found.error && !found.cells.length && found.queries.length > 0;
}

/** Run what stands there now; `more` says how, and whether it is compared. */
export async function run(more = {}) {
  clearTimeout(timer);
  const asked = (latest += 1);
  const document = structuredClone(store.document);
  const began = performance.now();
  const tell = (word) => asked === latest && hooks.status(`${WORDS[word] ?? word} …`, true);
  tell("running");
  const last = await caught(() => follow("/api/run", { document: plain(document), ...more }, tell));
  if (asked !== latest || !last || last.replaced) return;
  if (last.error) {
    hooks.failed(last.error, last.cells ?? []);
    return;
  }
  take(last.answer, document);
  hooks.ran(last.answer.comparison);
  hooks.status(`Ran in ${((performance.now() - began) / 1000).toFixed(1)} s`, false);
}

/** Show what came of a run of a document. */
export function take({ trace, file, pictures }, document) {
  store.result = { trace, file, pictures, keys: keysOf(trace, document) };
}

async function caught(work) {
  try {
    return await work();
  } catch (error) {
    hooks.failed({ message: error instanceof TypeError ? "panes play has ended: start it again" : error.message }, []);
    return null;
  }
}

/** A seed for a new arrangement. */
export const chance = () => Math.floor(Math.random() * 2 ** 31);
