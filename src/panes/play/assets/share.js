// Files that leave the page by the user's hand, and come back the same way.
import { byId, el } from "./dom.js";

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** `opened(text, name)` is called with each file that the user opens. */
export function opensFiles(opened) {
  const input = byId("file");
  byId("open").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (file) opened(await file.text(), file.name);
    input.value = "";
  });
}
