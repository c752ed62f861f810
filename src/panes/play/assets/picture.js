// The picture in a shadow of its own: the server draws it once for all steps, and the page shows and hides its parts.
import { byId, el } from "./dom.js";

const shadow = byId("drawing").attachShadow({ mode: "open" });
const sheet = el("link", { rel: "stylesheet", href: "/assets/drawing.css" });
const nonce = document.querySelector('meta[name="csp-nonce"]').content;
const STYLE = /^([\s\S]*?)<style>([\s\S]*?)<\/style>([\s\S]*)$/;
let drawn = null;
let hover = () => {};

const numbers = (text) => (text ?? "").split(" ").filter(Boolean).map(Number);

/** `onHover({ rows }, { results }, { window } or null)` is called when the pointer is on what stands for them. */
export function pictureIn(onHover) {
  hover = onHover;
  shadow.replaceChildren(sheet, el("p", {}, "The picture comes as soon as the query has run."));
  shadow.addEventListener("pointerover", (event) => tell(event.target.closest?.("[data-row], [data-result], [data-rows]")));
  byId("drawing").addEventListener("pointerleave", () => hover(null));
}

function tell(mark) {
  if (!mark) hover(null);
  else if (mark.dataset.result !== undefined) hover({ results: numbers(mark.dataset.result) });
  else if (mark.dataset.row !== undefined) hover({ rows: numbers(mark.dataset.row) });
  else hover({ window: { id: Number(mark.dataset.window), rows: numbers(mark.dataset.rows) } });
}

/** Show a picture, given as text. Its style gets the nonce before it is looked at. */
export function drawPicture(text) {
  const [, before, css, after] = text.match(STYLE);
  const parsed = new DOMParser().parseFromString(before + after, "image/svg+xml");
  if (parsed.querySelector("parsererror")) throw new Error("the picture is no SVG");
  drawn = document.importNode(parsed.documentElement, true);
  const style = document.createElementNS(drawn.namespaceURI, "style");
  style.setAttribute("nonce", nonce);
  style.textContent = css;
  drawn.prepend(style);
  shadow.replaceChildren(sheet, drawn);
}

/** Show what is there after a step; `data-from` and `data-to` are the first and the last step of a part. */
export function showStep(step) {
  for (const part of drawn?.querySelectorAll("[data-from], [data-to]") ?? []) {
    const from = Number(part.dataset.from ?? -Infinity);
    const to = Number(part.dataset.to ?? Infinity);
    part.classList.toggle("away", step < from || step > to);
  }
}

/** Light up rows and results, by their ids; of nothing, all are shown as they are. */
export function lightPicture(rows, results) {
  if (!drawn) return;
  drawn.classList.toggle("hovering", rows.size + results.size > 0);
  for (const mark of drawn.querySelectorAll("[data-row], [data-result]")) {
    const { row, result } = mark.dataset;
    mark.classList.toggle("lit", rows.has(Number(row)) || numbers(result).some((one) => results.has(one)));
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
