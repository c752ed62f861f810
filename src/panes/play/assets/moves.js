// Where a row goes: all that changes the order of rows, without a page.

/** How many micro-batches a document has. */
export const batchCount = (document) =>
  Math.max(0, ...document.streams.flatMap((stream) => stream.rows.map((row) => row.batch + 1)));

/** Rows in the order of their micro-batches; within one they keep theirs. */
export const ordered = (rows) => [...rows].sort((one, other) => one.batch - other.batch);

/** Put a row into a micro-batch, before another row or at its end. */
export function placed(rows, key, batch, before = null) {
  const row = rows.find((one) => one.key === key);
  const rest = rows.filter((one) => one.key !== key);
  const last = rest.findLastIndex((one) => one.batch <= batch);
  const at = before === null ? last + 1 : rest.findIndex((one) => one.key === before);
  return ordered([...rest.slice(0, at), { ...row, batch }, ...rest.slice(at)]);
}

/** Move a row up (-1) or down (1): past its neighbour, or into the micro-batch beside it. */
export function nudged(rows, key, by) {
  const at = rows.findIndex((one) => one.key === key);
  const row = rows[at];
  const beside = rows[at + by];
  if (beside && beside.batch === row.batch) {
    const moved = [...rows];
    [moved[at], moved[at + by]] = [moved[at + by], moved[at]];
    return moved;
  }
  const batch = Math.max(0, row.batch + by);
  return rows.map((one) => (one.key === key ? { ...one, batch } : one));
}
