// Opens a report in a browser. The output has the size of the report, the times until the browser has
// painted it (in ms, five times), the messages on the console, and the number of requests. The page is
// opened as a file, so no network is needed.
//
//     node bench/page.mjs inferometer-out/RUN/report.html     (Node 22; 20 with --experimental-websocket)
//
// The variable CHROMIUM names a browser other than `chromium`. The exit code is 1 if the report has more
// than 5 MB, if one time is above two seconds, if there is a message on the console, or if the browser
// requests anything else than the page itself.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const MOST_BYTES = 5e6, MOST_MS = 2000, TIMES = 5;
const file = resolve(process.argv[2] ?? "report.html");
const profile = mkdtempSync(join(tmpdir(), "page-"));
const browser = spawn(process.env.CHROMIUM ?? "chromium", [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
  `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "pipe"] });
const port = await new Promise(found => {
  let said = "";
  browser.stderr.on("data", part => {
    said += part;
    const at = /ws:\/\/[^:]+:(\d+)/.exec(said);
    if (at) found(at[1]);
  });
});
const tabs = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
const socket = new WebSocket(tabs.find(tab => tab.type === "page").webSocketDebuggerUrl);
await new Promise(open => socket.onopen = open);
const waiting = new Map(), complaints = [], requests = new Set();
let last = 0, loaded = () => {};
socket.onmessage = ({ data }) => {
  const { id, result, method, params } = JSON.parse(data);
  if (id) waiting.get(id)(result);
  else if (method === "Page.loadEventFired") loaded();
  else if (method === "Network.requestWillBeSent") requests.add(params.request.url);
  else if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.text);
  else if (method === "Log.entryAdded") complaints.push(params.entry.text);
};
const ask = (method, params = {}) => new Promise(answer => {
  waiting.set(++last, answer);
  socket.send(JSON.stringify({ id: last, method, params }));
});
for (const part of ["Page", "Runtime", "Log", "Network"]) await ask(`${part}.enable`);
const times = [];
for (let time = 0; time < TIMES; time++) {
  await ask("Page.navigate", { url: "about:blank" });
  const done = new Promise(resolve => loaded = resolve), began = performance.now();
  await ask("Page.navigate", { url: pathToFileURL(file).href });
  await done;
  const frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
  await ask("Runtime.evaluate", { expression: frames, awaitPromise: true });
  times.push(Math.round(performance.now() - began));
}
const of = [...requests].filter(url => url.startsWith("file:") || url.startsWith("http"));
const bytes = statSync(file).size;
console.log(JSON.stringify({ bytes, opened_ms: times, console: complaints, requests: of.length }));
socket.close();
const gone = new Promise(end => browser.on("exit", end));
browser.kill();
await gone;
rmSync(profile, { recursive: true, force: true });
process.exit(bytes > MOST_BYTES || Math.max(...times) > MOST_MS || complaints.length || of.length > 1 ? 1 : 0);
