// The picture in a shadow of its own: the server draws it once for all steps, and the page shows and hides its parts.
import { byId, el } from "./dom.js";

const shadow = byId("drawing").attachShadow({ mode: "open" });
const sheet = el("link", { rel: "stylesheet", href: "/assets/drawing.css" });
const nonce = document.querySelector('meta[name="csp-nonce"]').content;
let drawn = null;
let hover = () => {};

/** `onHover({ row }, { result } or null)` is called when the pointer is on what stands for a row or a result. */
export function pictureIn(onHover) {
  hover = onHover;
  shadow.addEventListener("pointerover", (event) => tell(event.target.closest?.("[data-row], [data-result]")));
  byId("drawing").addEventListener("pointerleave", () => hover(null));
}

function tell(mark) {
  if (!mark) hover(null);
  else if (mark.dataset.result !== undefined) hover({ result: Number(mark.dataset.result) });
  else hover({ row: Number(mark.dataset.row) });
}

/** Show a picture, given as text. */
export function drawPicture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  if (parsed.querySelector("parsererror")) throw new Error("the picture is no SVG");
  for (const style of parsed.querySelectorAll("style")) style.setAttribute("nonce", nonce);
  drawn = document.importNode(parsed.documentElement, true);
  shadow.replaceChildren(sheet, drawn);
}

/** Show what is there after a step. */
export function showStep(step) {
  for (const part of drawn?.querySelectorAll("[data-from], [data-to]") ?? []) {
    const from = Number(part.dataset.from ?? -Infinity);
    const to = Number(part.dataset.to ?? Infinity);
    part.classList.toggle("away", step < from || step >= to);
  }
}

/** Light up rows and results, by their ids; of nothing, all are shown as they are. */
export function lightPicture(rows, results) {
  if (!drawn) return;
  drawn.classList.toggle("hovering", rows.size + results.size > 0);
  for (const mark of drawn.querySelectorAll("[data-row], [data-result]")) {
    const { row, result } = mark.dataset;
    mark.classList.toggle("lit", rows.has(Number(row)) || (result !== undefined && results.has(Number(result))));
  }
}

/** The picture as it stands, as text. */
export function pictureText() {
  const copy = drawn.cloneNode(true);
  copy.classList.remove("hovering");
  for (const one of copy.querySelectorAll(".lit")) one.classList.remove("lit");
  for (const one of copy.querySelectorAll("style")) one.removeAttribute("nonce");
  return new XMLSerializer().serializeToString(copy);
}
