// Requests to the server of this page. The cookie that proves whose page it is goes with them by itself.

async function send(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status === 403) throw new Error("this page has expired: open the address that panes play printed");
  return response;
}

/** What the page begins with. */
export async function begin() {
  const response = await fetch("/api/begin");
  if (!response.ok) throw new Error("open the address that panes play printed");
  return response.json();
}

/** An answer that comes at once; what went wrong is thrown as an Error. */
export async function ask(path, body) {
  const response = await send(path, body);
  const answer = await response.json();
  if (answer.error && response.status >= 400) throw new Error(answer.error.message);
  return answer;
}

/** An answer that takes its time: `progress(word)` is called on the way; gives the last line. */
export async function follow(path, body, progress) {
  const response = await send(path, body);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let last = null;
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines.filter(Boolean)) {
      last = JSON.parse(line);
      if (last.progress) progress(last.progress);
    }
    if (done) return last;
  }
}
