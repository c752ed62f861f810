// Elements from plain data. Text is always text: nothing here or elsewhere reads HTML from a value.

/** el("td", { class: "null", on: { click } }, "text", otherElement) */
export function el(tag, { on = {}, data = {}, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(data)) made.dataset[name] = value;
  for (const [event, handler] of Object.entries(on)) made.addEventListener(event, handler);
  made.append(...children.filter((one) => one !== null && one !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** A value of a trace as text, and null as such. */
export function shown(value) {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A table cell with a value. */
export function cell(value) {
  const text = shown(value);
  if (text === null) return el("td", { class: "null" }, "NULL");
  return el("td", { class: typeof value === "number" ? "number" : null }, text);
}
