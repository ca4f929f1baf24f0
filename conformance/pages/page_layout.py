#!/usr/bin/env python3
"""Checks in Debian's chromium that nothing on a report page is cut off or overlaps.

    conformance/pages/page_layout.py REPORT.html ... [--widths 1280,400]

Each page is checked at each width (in pixels), first as it is opened, and then with all closed parts open. The script
prints
- elements that extend beyond the left or the right side of the page, except elements inside a part that scrolls;
- texts that are cut off by their own box;
- texts of charts that extend beyond their chart, or overlap each other;
- parts of the page that overlap.

The exit code is 1 if there is any of these problems.
"""
import argparse
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = r"""
const found = [];
const name = element => (element.textContent || element.id || element.tagName).trim().replace(/\s+/g, " ").slice(0, 60);
const told = (what, ...elements) => found.push(what + ": " + elements.map(e => `${e.tagName.toLowerCase()} "${name(e)}"`).join(" and "));
const visible = e => { const r = e.getBoundingClientRect(); return r.width > 1 && r.height > 1 && e.checkVisibility({ visibilityProperty: true }) && !e.closest(".unseen"); };
const scrolls = e => { for (let p = e; p && p !== document.body; p = p.parentElement) { const o = getComputedStyle(p); if (/(auto|scroll)/.test(o.overflowX + o.overflowY)) return true; } return false; };
const overlap = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
const look = state => {
  const wide = innerWidth;
  if (document.documentElement.scrollWidth > wide + 1) found.push(`${state}: the page is ${document.documentElement.scrollWidth} px wide`);
  const leaves = [...document.body.querySelectorAll("h1,h2,h3,p,li,figcaption,summary,pre,nav a,button,label,.table,figure")].filter(visible);
  for (const e of leaves) {
    const r = e.getBoundingClientRect();
    if (!scrolls(e.parentElement) && (r.left < -1 || r.right > wide + 1)) told(`${state}: beyond the side`, e);
    const cut = getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1;
    if (cut) told(`${state}: cut off`, e);
  }
  const boxes = leaves.map(e => [e, e.getBoundingClientRect()]).sort((a, b) => a[1].top - b[1].top);
  boxes.forEach(([e, r], i) => {
    for (let j = i + 1; j < boxes.length && boxes[j][1].top < r.bottom - 2; j++) {
      const [other, s] = boxes[j];
      if (!e.contains(other) && !other.contains(e) && overlap(r, s, 2) && !e.closest("nav") !== !!other.closest("nav")) told(`${state}: overlap`, e, other);
    }
  });
  for (const svg of document.querySelectorAll("figure .plot > svg, figure > svg")) {
    if (!visible(svg)) continue;
    const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")].filter(visible).map(e => [e, e.getBoundingClientRect()]);
    for (const [e, r] of texts) if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) told(`${state}: out of its chart`, e);
    texts.forEach(([e, r], i) => texts.slice(i + 1).forEach(([other, s]) => { if (overlap(r, s, 2)) told(`${state}: overlap in a chart`, e, other); }));
  }
};
look("as opened");
for (const part of document.querySelectorAll("details")) part.open = true;
look("all open");
parent.postMessage(JSON.stringify([...new Set(found)]), "*");
"""

FRAME = """<!DOCTYPE html><body style="margin:0"><iframe src="page.html" style="border:0;width:{width}px;height:900px"></iframe>
<pre id="found">nothing came</pre>
<script>onmessage = event => document.getElementById("found").textContent = event.data;</script></body>"""


def problems(page, width, folder):
    # Remove the security policy of the page, because the policy forbids the added script.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    text = text.replace("</body>", f"<script>addEventListener('load', () => {{{SCRIPT}}});</script></body>")
    (folder / "page.html").write_text(text)
    (folder / "frame.html").write_text(FRAME.format(width=width))
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    command += ["--window-size=1400,1000", "--virtual-time-budget=20000", "--dump-dom", f"file://{folder}/frame.html"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=180)
    told = re.search(r'<pre id="found">(.*?)</pre>', shown.stdout, re.S)
    if not told or told[1] == "nothing came":
        sys.exit(f"{page}: chromium returned no result: {shown.stderr[-2000:]}")
    return json.loads(html.unescape(told[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--widths", default="1280,400")
    options = parser.parse_args()
    count = 0
    for page in options.pages:
        for width in map(int, options.widths.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                found = problems(page, width, pathlib.Path(folder))
            count += len(found)
            print(f"{page}, {width} px: {len(found) or 'no'} problems")
            for problem in found[:20]:
                print(f"  {problem}")
    sys.exit(1 if count else 0)


main()
