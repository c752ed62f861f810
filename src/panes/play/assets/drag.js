// Dragging a row into a micro-batch, or before another row of the same stream.

let dragged = null; // { stream, key, line }

export function dragStarts(grip, line, stream, key) {
  grip.addEventListener("dragstart", (event) => {
    dragged = { stream, key, line };
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", String(key));
    event.dataTransfer.setDragImage(line, 12, 12);
    line.classList.add("dragged");
  });
  grip.addEventListener("dragend", () => {
    line.classList.remove("dragged");
    dragged = null;
  });
}

/** `dropped(key, key of the row before which it fell, or null)` */
export function dropsOn(body, stream, dropped) {
  const row = (event) => event.target.closest("tr.row");
  const clear = () => {
    body.classList.remove("over");
    for (const line of body.querySelectorAll(".before")) line.classList.remove("before");
  };
  body.addEventListener("dragover", (event) => {
    if (dragged?.stream !== stream) return;
    event.preventDefault();
    clear();
    body.classList.add("over");
    row(event)?.classList.add("before");
  });
  body.addEventListener("dragleave", (event) => body.contains(event.relatedTarget) || clear());
  body.addEventListener("drop", (event) => {
    if (dragged?.stream !== stream) return;
    event.preventDefault();
    clear();
    const before = row(event);
    const key = before && Number(before.dataset.key);
    if (key !== dragged.key) dropped(dragged.key, key);
  });
}
