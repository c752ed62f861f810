// The page: what is edited, what runs, and what is shown of it.
import { ask, begin } from "./api.js";
import { byId, el } from "./dom.js";
import { editorIn } from "./editor.min.js";
import { light, lightKey } from "./hover.js";
import { drawPicture, pictureIn, pictureText, showStep } from "./picture.js";
import { drawResults, drawVerdict, resultsIn } from "./results.js";
import { drawRows, markCells, markFates, rowsIn } from "./rows.js";
import { chance, check, edited, run, runsIn, take } from "./runs.js";
import { download, opensFiles } from "./share.js";
import { goTo, stepsIn } from "./steps.js";
import { plain, store, withKeys } from "./store.js";
import { theme, themeIn } from "./theme.js";

const KEYWORDS =
  "and as asc between by case changes create cross cube current day days delete desc describe distinct drop else emit end except exists explain filter following for from full group having hour hours if immediately in inner insert intersect interval into is join key last late lateral left like limit minute minutes not nulls offset on or order outer over partition preceding primary qualify range replace right rollup row rows second seconds select show sink sinks stream streams then unbounded union using values view views watermark when where window with within";
const TYPES =
  "array bigint binary boolean date decimal double float int integer long map smallint string struct timestamp timestamp_ntz tinyint";

let editor;
let calls = [];
let columns = "";

async function open() {
  const start = await begin();
  calls = start.calls;
  store.document = withKeys(start.document);
  editor = editorIn(byId("editor"), {
    text: store.document.sql,
    label: "SQL",
    nonce: document.querySelector('meta[name="csp-nonce"]').content,
    dialect: { keywords: `${KEYWORDS} true false null`, types: TYPES, builtin: calls.join(" ") },
    words: () => [...store.check.words, ...calls, ...KEYWORDS.toUpperCase().split(" ")],
    changed: (text) => {
      store.document.sql = text;
      store.document.query = null;
      edited();
    },
    run: () => runNow(),
  });
  document.title = start.name ? `${start.name} · panes play` : "panes play";
  examplesIn(start.examples);
  const fine = await check();
  if (start.opened) showOpened(start.opened);
  else if (fine) await run();
}

// What the hooks of the modules do.

rowsIn(edited, lightKey);
pictureIn(light);
resultsIn(light);
stepsIn((step) => {
  showStep(step);
  drawResults();
  markFates();
});
themeIn(() => store.result && showPicture());
runsIn({
  checked() {
    showProblem(store.check.error);
    const drawn = JSON.stringify(store.check.streams);
    if (drawn === columns) markCells();
    else drawRows();
    columns = drawn;
    queriesIn(store.check.queries);
    if (store.check.error || store.check.cells.length) status("");
  },
  ran(comparison) {
    showProblem(null);
    showResult();
    drawVerdict(comparison, comparison && undone);
  },
  failed(error, cells) {
    showProblem(error);
    store.check.cells = cells;
    markCells();
    status("");
  },
  status,
});

function status(text, busy = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("busy", busy);
  byId("picture-pane").classList.toggle("stale", busy);
}

function showProblem(error) {
  const place = byId("problem");
  place.hidden = !error;
  editor.underline(error?.start === undefined ? [] : [{ from: error.start, to: error.end, message: withHint(error) }]);
  if (!error) return;
  const code = error.code ? [el("strong", {}, error.code), ` ${error.message}`] : [el("strong", {}, error.message)];
  place.replaceChildren(...code, error.hint ? el("span", { class: "way-out" }, error.hint) : "");
}

const withHint = ({ message, hint }) => (hint ? `${message}\n${hint}` : message);

function showPicture() {
  const { pictures } = store.result;
  drawPicture(pictures[theme()]);
  showStep(store.step);
}

function showResult() {
  const wasLast = !byId("slider").max || store.step >= Number(byId("slider").max);
  drawPicture(store.result.pictures[theme()]);
  goTo(wasLast ? store.result.trace.steps - 1 : store.step);
  byId("save").disabled = byId("svg").disabled = false;
}

function showOpened(opened) {
  take(opened, store.document);
  store.step = opened.trace.steps;
  showResult();
  drawVerdict(null);
}

// Buttons.

let undone = null;
const ways = [...document.querySelectorAll("[data-way]")];

async function runNow() {
  if (await check()) await run();
}

async function compareBy(way) {
  if (!(await check())) return;
  undone = null;
  drawVerdict(null);
  const seed = chance();
  if (way === "kill" || way === "shards") {
    await run({ way, seed, compare: true });
    return;
  }
  const before = store.document;
  const { document } = await ask("/api/arrange", { document: plain(before), arrangement: way, seed });
  store.document = withKeys(document);
  undone = () => replaceDocument(before).then(() => run());
  drawRows();
  await run({ compare: true });
}

for (const button of ways) {
  button.addEventListener("click", async () => {
    for (const one of ways) one.disabled = true;
    try {
      await compareBy(button.dataset.way);
    } catch (error) {
      showProblem({ message: error.message });
    } finally {
      for (const one of ways) one.disabled = false;
    }
  });
}

byId("run").addEventListener("click", runNow);
byId("save").addEventListener("click", () => download("play.panes.json", "application/json", store.result.file));
byId("svg").addEventListener("click", () => download("play.svg", "image/svg+xml", pictureText()));

opensFiles(async (text, name) => {
  try {
    const { document: given, opened } = await ask("/api/open", { text });
    await replaceDocument(withKeys(given));
    showOpened(opened);
    document.title = `${name} · panes play`;
  } catch (error) {
    showProblem({ message: error.message });
  }
});

/** Show another document; whether it can be run. */
async function replaceDocument(next) {
  store.document = { ...next };
  editor.replace(next.sql);
  columns = "";
  drawVerdict(null);
  return check();
}

function examplesIn(examples) {
  const select = byId("examples");
  select.replaceChildren(el("option", { value: "" }, "Examples …"), ...examples.map(({ name, about }, number) => el("option", { value: number, title: about }, name)));
  select.addEventListener("change", async () => {
    const example = examples[Number(select.value)];
    if (select.value === "" || !example) return;
    store.step = Infinity;
    if (await replaceDocument(withKeys(example.document))) await run();
  });
}

function queriesIn(queries) {
  const select = byId("query");
  byId("query-pick").hidden = queries.length < 2;
  const number = store.document.query ?? queries.length - 1;
  select.replaceChildren(...queries.map(({ line }, at) => el("option", { value: at, selected: at === number }, `in line ${line}`)));
}

byId("query").addEventListener("change", (event) => {
  store.document.query = Number(event.target.value);
  edited();
});

open().catch((error) => {
  byId("problem").hidden = false;
  byId("problem").replaceChildren(el("strong", {}, error.message));
});
