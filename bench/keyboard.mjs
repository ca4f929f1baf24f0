// Checks that the dashboard can be used with the keyboard. The script moves through the list of runs
// with Tab, and presses Enter, Space and an arrow key. It contacts only the dashboard.
//
//     inferometer web --listen 127.0.0.1:7878 &
//     node bench/keyboard.mjs http://127.0.0.1:7878/      (Node 22; 20 with --experimental-websocket)
//
// The dashboard needs at least two runs. The variable CHROMIUM names a browser other than `chromium`.
// The output has the number of elements of each kind, and a list of problems. The exit code is 1 if Tab
// reaches no element of a kind, if the focus on an element is not visible, or if a key has no effect.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MOST_TABS = 400;
const url = process.argv[2] ?? "http://127.0.0.1:7878/";
const profile = mkdtempSync(join(tmpdir(), "keyboard-"));
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
const waiting = new Map();
let last = 0, loaded = () => {};
socket.onmessage = ({ data }) => {
  const { id, result, method } = JSON.parse(data);
  if (id) waiting.get(id)(result);
  else if (method === "Page.loadEventFired") loaded();
};
const ask = (method, params = {}) => new Promise(answer => {
  waiting.set(++last, answer);
  socket.send(JSON.stringify({ id: last, method, params }));
});
await ask("Page.enable");
const page = async expression =>
  (await ask("Runtime.evaluate", { expression, returnByValue: true })).result.value;
const loading = async begin => {
  const done = new Promise(resolve => loaded = resolve);
  await begin();
  await done;
};
const open = to => loading(() => ask("Page.navigate", { url: to }));
const press = async (key, code, text) => {
  const what = { key, code: key, windowsVirtualKeyCode: code, ...(text ? { text } : {}) };
  await ask("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...what });
  await ask("Input.dispatchKeyEvent", { type: "keyUp", ...what });
};
const focus = () => page(`(() => {
  const it = document.activeElement, style = getComputedStyle(it);
  if (it === document.body) return null;
  const kind = it.matches("th a") && it.closest("thead") ? "order"
    : it.matches("th a") ? "run"
    : it.matches("input[type=checkbox]") ? "box"
    : it.matches("form.filters *") ? "filter"
    : it.matches("button") ? "button" : it.matches(".skip") ? "skip" : "other";
  const box = it.getBoundingClientRect();
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
    && box.width > 0 && box.right > 0 && box.bottom > 0 && box.top < innerHeight;
  return { kind, seen, name: it.getAttribute("aria-label") ?? it.name ?? it.textContent.trim() };
})()`);

/// Presses Tab until an element of this kind has the focus; null if none has after MOST_TABS times.
const tabTo = async wanted => {
  for (let tab = 0; tab < MOST_TABS; tab++) {
    await press("Tab", 9);
    const it = await focus();
    if (it?.kind === wanted) return it;
  }
  return null;
};
const wrong = [];
const expect = (is, what) => { if (!is) wrong.push(what); };

await open(url);
const met = {};
for (let tab = 0; tab < MOST_TABS; tab++) {
  await press("Tab", 9);
  const it = await focus();
  if (!it) break;
  met[it.kind] = (met[it.kind] ?? 0) + 1;
  expect(it.seen, `the focus is not visible: ${it.kind} ${it.name}`);
}
for (const kind of ["skip", "filter", "order", "box", "run", "button"]) {
  expect(met[kind], `cannot be reached with Tab: ${kind}`);
}
await open(url);
await tabTo("order");
await loading(() => press("Enter", 13, "\r"));
expect((await page("location.search")).includes("sort="), "Enter does not sort the runs");
await open(url);
await tabTo("box");
await press(" ", 32, " ");
await tabTo("box");
await press(" ", 32, " ");
expect(await page("document.querySelectorAll('input[name=run]:checked').length") === 2, "Space does not select runs");
await loading(() => press("Enter", 13, "\r"));
expect(await page("location.pathname") === "/compare", "Enter does not compare the selected runs");
expect(await page("document.querySelector('h1').textContent") === "Comparison", "the page has no comparison");
await open(url);
await tabTo("run");
await loading(() => press("Enter", 13, "\r"));
expect((await page("location.pathname")).startsWith("/runs/"), "Enter does not open a run");
await open(new URL("/compare", url).href);
expect(await tabTo("filter"), "the choice of runs to compare cannot be reached with Tab");
expect((await focus())?.seen, "the focus on the choice of runs is not visible");
await press("ArrowDown", 40);
const chosen = await page("document.querySelector('select[name=a]').selectedIndex");
expect(chosen === 1, "the arrow key does not select another run");
for (const _ of ["the other run", "the button"]) await press("Tab", 9);
await loading(() => press("Enter", 13, "\r"));
expect((await page("location.search")).includes("a="), "Enter on the button does not compare the runs");
console.log(JSON.stringify({ met, wrong }));
socket.close();
const gone = new Promise(end => browser.on("exit", end));
browser.kill();
await gone;
rmSync(profile, { recursive: true, force: true });
process.exit(wrong.length ? 1 : 0);
