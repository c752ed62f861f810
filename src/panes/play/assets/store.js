// What the page holds: the document that is edited, what is understood of it, and what came of the last run.

let nextKey = 1;

export const store = {
  document: { sql: "", streams: [], query: null },
  check: { streams: [], queries: [], words: [], error: null, cells: [] },
  result: null, // { trace, file, pictures, keys }: keys has the key of each row of the trace, by its id
  step: 0,
};

/** A document as the server sends it; each row gets a key by which the page knows it. */
export function withKeys(document) {
  const streams = document.streams.map(({ name, rows }) => ({ name, rows: rows.map((row) => ({ ...row, key: nextKey++ })) }));
  return { ...document, streams };
}

export const newRow = (batch, values) => ({ batch, values, key: nextKey++ });

/** A document as the server reads it. */
export function plain(document) {
  const streams = document.streams.map(({ name, rows }) => ({ name, rows: rows.map(({ batch, values }) => ({ batch, values })) }));
  return { sql: document.sql, streams, query: document.query };
}

/** The rows of a stream; a stream that has none yet gets a place for them. */
export function rowsOf(name) {
  const found = store.document.streams.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (found) return found;
  const made = { name, rows: [] };
  store.document.streams.push(made);
  return made;
}

/** The key of each row of a trace by its id, from the document that was run. */
export function keysOf(trace, document) {
  const keys = new Map();
  for (const stream of trace.streams) {
    const rows = document.streams.find((one) => one.name.toLowerCase() === stream.name.toLowerCase())?.rows ?? [];
    for (const row of stream.rows) {
      const batch = rows.filter((one) => one.batch === row.step);
      if (batch[row.position]) keys.set(row.id, batch[row.position].key);
    }
  }
  return keys;
}
