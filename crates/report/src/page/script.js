// What a page can do beyond being read: sort and filter tables, zoom plots, choose a theme.
// Everything stands in the page without it. It asks nobody for anything.
(() => {
"use strict";
const doc = document, root = doc.documentElement;
const all = (where, what) => [...where.querySelectorAll(what)];
const make = (tag, attributes = {}, text = "") => {
  const element = doc.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};
const escaped = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const figure = value => {
  if (value === null || !isFinite(value)) return "-";
  const size = Math.abs(value);
  const text = size >= 1e4 ? Math.round(value).toLocaleString("en-US")
    : value.toFixed(Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(size || 1)))));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

// Theme: the reader's system decides until the reader does.
const theme = doc.getElementById("theme");
if (theme) {
  const names = ["auto", "light", "dark"];
  let at = 0;
  const show = () => {
    if (at) root.dataset.theme = names[at]; else delete root.dataset.theme;
    theme.textContent = `Theme: ${names[at]}`;
  };
  try { at = Math.max(0, names.indexOf(localStorage.getItem("inferometer-theme"))); } catch { at = 0; }
  theme.hidden = false;
  theme.onclick = () => {
    at = (at + 1) % 3;
    try { localStorage.setItem("inferometer-theme", names[at]); } catch { /* not kept, then */ }
    show();
  };
  show();
}

// A link into a closed part opens it.
const unfold = () => {
  const target = location.hash && doc.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();

// Tables.
// A cell is a number if it is one as a whole: with a unit, or with others of its kind behind it.
const number = text => {
  const found = /^[~<>≥≤]?\s*([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(?:%|ms|us|s)?(?:\s*(?:\/|to)\s*[-+\d.,]+|\s*\([-+\d.,]+\))*$/i.exec(text);
  return found ? parseFloat(found[1].replace(/,/g, "")) : null;
};
const byText = new Intl.Collator(undefined, { numeric: true });
const sortable = table => {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length > 10) {
    const box = make("label", { class: "filter" }, "Filter ");
    const input = make("input", { type: "search" });
    const said = make("output", { "aria-live": "polite" });
    input.oninput = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    };
    box.append(input, said);
    table.parentElement.before(box);
  }
  if (rows.length < 2) return;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" });
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const now = head.getAttribute("aria-sort");
      const next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const text = row => row.cells[column].textContent.trim();
      const texts = rows.map(text).filter(value => value !== "-");
      const isNumber = texts.every(value => number(value) !== null);
      const key = row => isNumber ? number(text(row)) : text(row) === "-" ? null : text(row);
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        const sign = next === "descending" ? -1 : 1;
        return sign * (isNumber ? x - y : byText.compare(x, y));
      };
      body.append(...(next ? [...rows].sort(order) : rows));
    };
  });
};
all(doc, "table.sort").forEach(sortable);

// Plots. The data are columns; `draw` makes of them what stands in the page, for a part of it.
const LINE = 0, STEP = 1, DOTS = 2, BARS = 3, SPANS = 5, MARKS = 6;
const scale = (log, [from, to]) => log
  ? { to: value => Math.log(value / from) / Math.log(to / from), back: share => from * (to / from) ** share }
  : { to: value => (value - from) / (to - from), back: share => from + share * (to - from) };
const ticks = (log, [from, to], wanted) => {
  const out = [];
  if (log && to / from > 8) {
    const each = to / from > 1e3 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++)
      for (const step of each) out.push(step * 10 ** power);
  } else {
    const raw = (to - from) / wanted, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(of => of * unit).find(of => of >= raw * 0.999);
    for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++) out.push(at * step);
  }
  return out.filter(value => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9) || value === 0 && from <= 0);
};
const nearest = (xs, x, ordered = true) => {
  if (!ordered) return xs.reduce((best, value, i) => Math.abs(value - x) < Math.abs(xs[best] - x) ? i : best, 0);
  let low = 0, high = xs.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (xs[middle] <= x) low = middle; else high = middle; }
  return high > low && Math.abs(xs[high] - x) < Math.abs(xs[low] - x) ? high : Math.max(low, 0);
};

const live = frame => {
  const svg = frame.querySelector(".plot > svg"), ink = svg.querySelector(".ink");
  const data = JSON.parse(frame.querySelector("script").textContent);
  const { w: width, l: left, r: right, x: across, p: panels } = data;
  const span = width - left - right, last = panels[panels.length - 1], bottom = last.t + last.h;
  const whole = { x: across.d, y: panels.map(panel => panel.y.d) };
  const view = { x: [...whole.x], y: whole.y.map(ends => [...ends]) };
  const off = new Set();
  const toX = () => { const s = scale(across.k, view.x); return value => left + s.to(value) * span; };
  const toY = index => {
    const panel = panels[index], s = scale(panel.y.k, view.y[index]);
    return value => panel.t + (1 - s.to(value)) * panel.h;
  };
  const two = value => Math.round(value * 100) / 100;
  const text = (x, y, anchor, what, more = "") =>
    `<text x="${two(x)}" y="${two(y)}" text-anchor="${anchor}"${more}>${escaped(what)}</text>`;

  const series = (of, x, y, panel) => {
    const colour = of.c, from = of.o ? 0 : Math.max(0, nearest(of.x, view.x[0]) - 1), to = of.o ? undefined : nearest(of.x, view.x[1]) + 2;
    const indices = of.x.map((_, i) => i).slice(from, of.s === SPANS ? undefined : to)
      .filter(i => of.s === SPANS ? of.b[i] >= view.x[0] && of.a[i] <= view.x[1] : true);
    const stroke = `fill="none" stroke="${colour}" stroke-width="${of.w || 2}" stroke-linejoin="round"${of.d ? ` stroke-dasharray="${of.d}"` : ""}`;
    const path = (points, how) => {
      let out = "", pen = "M";
      for (const i of points) {
        const value = how[i];
        if (value === null) { pen = "M"; continue; }
        const at = two(y(value));
        out += of.s === STEP && pen === "L" ? `H${two(x(of.x[i]))}V${at}` : `${pen}${two(x(of.x[i]))},${at}`;
        pen = "L";
      }
      return out;
    };
    if (of.s === MARKS) return indices.map(i =>
      `<path d="M${two(x(of.x[i]))},${panel.t}v${panel.h}" stroke="${colour}" stroke-width="1.5" stroke-dasharray="3 3"/>`).join("");
    if (of.s === BARS) return indices.map(i => {
      const [one, other, top] = [x(of.a[i]), x(of.b[i]), y(of.y[i])];
      return `<rect x="${two(one)}" y="${two(top)}" width="${two(Math.max(other - one - 1, 0.5))}" height="${two(Math.max(panel.t + panel.h - top, 0))}" fill="${colour}" fill-opacity="0.75"/>`;
    }).join("");
    if (of.s === SPANS) return indices.map(i => {
      const at = two(y(of.y[i])), failed = of.f && of.f[i];
      const line = (one, other, more) => `<path d="M${two(one)},${at}H${two(Math.max(other, one + 1))}" stroke="${failed ? "var(--alert)" : colour}" stroke-width="${Math.min(3, Math.max(1, panel.h / of.y.length * 0.7))}"${more}/>`;
      return line(x(of.a[i]), x(of.m[i]), ' stroke-opacity="0.4"') + (of.m[i] < of.b[i] ? line(x(of.m[i]), x(of.b[i]), "") : "");
    }).join("");
    const dot = i => of.y[i] === null ? "" : `<circle cx="${two(x(of.x[i]))}" cy="${two(y(of.y[i]))}" r="${of.s === DOTS ? 2.5 : 4}" fill="${of.f && of.f[i] ? "var(--paper)" : colour}" stroke="${colour}"/>`;
    if (of.s === DOTS) return indices.map(dot).join("");
    let out = "";
    if (of.a) {
      const whole = indices.filter(i => of.a[i] !== null && of.b[i] !== null);
      if (of.e) out += whole.map(i => `<path d="M${two(x(of.x[i]))},${two(y(of.a[i]))}V${two(y(of.b[i]))}m-4,0h8M${two(x(of.x[i]) - 4)},${two(y(of.a[i]))}h8" ${stroke}/>`).join("");
      else if (whole.length) {
        const forth = path(whole, of.a), back = path([...whole].reverse(), of.b).replace(/^M/, "L");
        out += `<path d="${forth}${back}Z" fill="${colour}" fill-opacity="0.18"/>`;
      }
    }
    if (of.h) {
      // An interval along the horizontal axis: of a share, the values that it may have.
      const ends = indices.filter(i => of.h[0][i] !== null);
      if (ends.length) {
        const at = (i, side) => `${two(x(of.h[side][i]))},${two(y(of.y[i]))}`;
        out += `<path d="M${ends.map(i => at(i, 0)).join("L")}L${ends.reverse().map(i => at(i, 1)).join("L")}Z" fill="${colour}" fill-opacity="0.18"/>`;
      }
    }
    return out + `<path d="${path(indices, of.y)}" ${stroke}/>` + (of.o ? indices.map(dot).join("") : "");
  };

  const draw = () => {
    const x = toX();
    let out = "<defs>" + panels.map((panel, i) =>
      `<clipPath id="${frame.id}-c${i}"><rect x="${left}" y="${panel.t - 4}" width="${span}" height="${panel.h + 8}"/></clipPath>`).join("") + "</defs>";
    const named = across.n ? across.n.filter(v => v >= view.x[0] && v <= view.x[1]) : ticks(across.k, view.x, 8);
    panels.forEach((panel, index) => {
      const y = toY(index);
      for (const tick of ticks(panel.y.k, view.y[index], panel.h / 40))
        out += `<path d="M${left},${two(y(tick))}h${span}" stroke="var(--grid)"/>` + text(left - 8, y(tick) + 4, "end", figure(tick));
      for (const tick of named) out += `<path d="M${two(x(tick))},${panel.t}v${panel.h}" stroke="var(--grid)"/>`;
      out += `<g clip-path="url(#${frame.id}-c${index})">`;
      for (const [from, to] of data.b || []) out += `<rect x="${two(x(from))}" y="${panel.t}" width="${two(Math.max(0, x(to) - x(from)))}" height="${panel.h}" fill="var(--grid)" fill-opacity="0.45"/>`;
      for (const of of panel.s) if (!off.has(of.n)) out += series(of, x, y, panel);
      out += `</g><path d="M${left},${panel.t + panel.h}h${span}" stroke="var(--axis)"/>` + text(left, panel.t - 8, "start", panel.y.t, ' fill="var(--ink)" font-size="13"');
    });
    for (const [from, to, name] of data.b || []) {
      const [one, other] = [Math.max(left, x(from)), Math.min(width - right, x(to))], room = Math.floor((other - one) / 6);
      if (room > 3) out += text(one + 2, panels[0].t - 24, "start", name.length > room ? name.slice(0, room - 1) + "…" : name);
    }
    for (const tick of named) out += text(x(tick), bottom + 18, "middle", figure(tick));
    ink.innerHTML = out;
  };

  // The cross hair, the frame of a selection and the read-out.
  const over = doc.createElementNS("http://www.w3.org/2000/svg", "g");
  svg.append(over);
  const box = make("div", { class: "read", hidden: "" });
  frame.querySelector(".plot").append(box);
  const said = make("output", { class: "unseen", "aria-live": "polite" });
  frame.append(said);
  const place = event => {
    const of = svg.getBoundingClientRect(), by = width / of.width;
    return [(event.clientX - of.left) * by, (event.clientY - of.top) * by];
  };
  const back = px => scale(across.k, view.x).back(Math.min(1, Math.max(0, (px - left) / span)));
  const read = (px, py) => {
    const value = back(px), x = toX();
    const rows = [];
    panels.forEach((panel, index) => {
      for (const of of panel.s) {
        if (off.has(of.n) || !of.x.length) continue;
        let at = nearest(of.x, value, !of.o);
        if (of.s === SPANS) {
          if (py === undefined || py < panel.t || py > panel.t + panel.h) continue;
          const y = toY(index);
          at = of.y.reduce((best, v, i) => Math.abs(y(v) - py) < Math.abs(y(of.y[best]) - py) ? i : best, 0);
          rows.push([of, of.t[at]]);
          continue;
        }
        if (of.s === STEP && of.x[at] > value && at > 0) at--;
        if (of.s === BARS) at = of.a.findIndex((from, i) => from <= value && value <= of.b[i]);
        const far = at < 0 || (of.s === STEP ? false : Math.abs(x(of.x[at]) - px) > (of.s === BARS ? 1e9 : of.s === MARKS ? 6 : 40));
        if (far || of.y && of.y[at] === null) continue;
        const ends = of.a && of.s !== BARS && of.a[at] !== null ? ` (${figure(of.a[at])} to ${figure(of.b[at])})`
          : of.h && of.h[0][at] !== null ? ` (${across.t}: ${figure(of.h[0][at])} to ${figure(of.h[1][at])})` : "";
        const note = of.t && of.t[at] ? ` · ${of.t[at]}` : "";
        const along = of.s === BARS ? `${figure(of.a[at])} to ${figure(of.b[at])}: ` : "";
        rows.push([of, of.s === MARKS ? of.t[at] : `${along}${figure(of.y[at])}${panel.y.u === "count" ? "" : " " + panel.y.u}${ends}${note}`]);
      }
    });
    return { value, rows };
  };
  const hover = (px, py) => {
    const { value, rows } = read(px, py);
    over.innerHTML = `<path d="M${two(px)},${panels[0].t}V${bottom}" stroke="var(--axis)" pointer-events="none"/>`;
    box.innerHTML = `<b>${escaped(across.t)}: ${figure(value)}</b>` + rows.slice(0, 14).map(([of, what]) =>
      `<span><svg width="14" height="10" aria-hidden="true"><path d="M0,5h14" stroke="${of.c}" stroke-width="3"/></svg>${escaped(of.n)}: ${escaped(what)}</span>`).join("")
      + (rows.length > 14 ? `<span>and ${rows.length - 14} more</span>` : "");
    box.hidden = false;
    const of = svg.getBoundingClientRect(), by = of.width / width, at = px * by;
    box.style.left = `${at > of.width / 2 ? Math.max(0, at - box.offsetWidth - 12) : at + 12}px`;
    box.style.top = `${Math.max(0, Math.min((py ?? panels[0].t) * by, of.height - box.offsetHeight))}px`;
    return rows;
  };
  const away = () => { over.innerHTML = ""; box.hidden = true; };
  const part = (log, whole, ends, from, to) => {
    const s = scale(log, ends), full = scale(log, whole);
    let [one, other] = [s.back(from), s.back(to)].map(value => full.to(value));
    if (other - one >= 1) [one, other] = [0, 1];
    if (one < 0) [one, other] = [0, other - one];
    if (other > 1) [one, other] = [one - (other - 1), 1];
    return other - one < 1e-6 ? ends : [full.back(one), full.back(other)];
  };
  const zoom = (from, to) => { view.x = part(across.k, whole.x, view.x, from, to); away(); draw(); };
  const zoomY = (index, from, to) => { view.y[index] = part(panels[index].y.k, whole.y[index], view.y[index], from, to); };
  const reset = () => { view.x = [...whole.x]; view.y = whole.y.map(ends => [...ends]); away(); draw(); };
  const act = {
    "+": () => zoom(0.2, 0.8), "-": () => zoom(-0.333, 1.333),
    "◀": () => zoom(-0.25, 0.75), "▶": () => zoom(0.25, 1.25), "reset": reset,
  };
  const bar = make("div", { class: "bar", role: "group", "aria-label": "Zoom and pan" });
  const words = { "+": "Zoom in", "-": "Zoom out", "◀": "To the left", "▶": "To the right", "reset": "Show all" };
  for (const name of Object.keys(act)) {
    const button = make("button", { type: "button", "aria-label": words[name], title: words[name] }, name === "-" ? "−" : name);
    button.onclick = act[name];
    bar.append(button);
  }
  frame.querySelector(".head").append(bar);
  let start = null;
  svg.onpointerdown = event => {
    if (event.button) return;
    const [px, py] = place(event);
    start = { px, py, shift: event.shiftKey, x: [...view.x] };
    svg.setPointerCapture(event.pointerId);
  };
  svg.onpointermove = event => {
    const [px, py] = place(event);
    if (!start) { if (px >= left && px <= width - right) hover(px, py); else away(); return; }
    if (start.shift) {
      const moved = (start.px - px) / span;
      view.x = part(across.k, whole.x, start.x, moved, 1 + moved);
      draw();
      return;
    }
    const tall = Math.abs(py - start.py) > 30;
    const [one, other] = [Math.min(px, start.px), Math.max(px, start.px)];
    const [top, end] = tall ? [Math.min(py, start.py), Math.max(py, start.py)] : [panels[0].t, bottom];
    over.innerHTML = `<rect x="${one}" y="${top}" width="${other - one}" height="${end - top}" fill="var(--s0)" fill-opacity="0.15" stroke="var(--s0)"/>`;
  };
  svg.onpointerup = event => {
    if (!start) return;
    const [px, py] = place(event), from = start;
    start = null;
    over.innerHTML = "";
    if (from.shift || Math.abs(px - from.px) < 6) return;
    if (Math.abs(py - from.py) > 30) panels.forEach((panel, index) => {
      const [top, end] = [Math.min(py, from.py), Math.max(py, from.py)];
      if (from.py >= panel.t && from.py <= panel.t + panel.h)
        zoomY(index, Math.max(0, 1 - (end - panel.t) / panel.h), Math.min(1, 1 - (top - panel.t) / panel.h));
    });
    const [one, other] = [Math.min(px, from.px), Math.max(px, from.px)];
    zoom(Math.max(0, (one - left) / span), Math.min(1, (other - left) / span));
  };
  svg.onpointercancel = () => { start = null; away(); };
  svg.onpointerleave = () => { if (!start) away(); };
  svg.ondblclick = reset;
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = (place(event)[0] - left) / span, by = event.deltaY < 0 ? 0.8 : 1.25;
    zoom(at - at * by, at + (1 - at) * by);
  }, { passive: false });
  let cursor = 0.5;
  svg.onkeydown = event => {
    const arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (arrow && event.shiftKey) act[arrow < 0 ? "◀" : "▶"]();
    else if (arrow) {
      cursor = Math.min(1, Math.max(0, cursor + arrow / 50));
      const rows = hover(left + cursor * span);
      said.textContent = rows.map(([of, what]) => `${of.n}: ${what}`).join("; ");
    } else if (event.key === "+" || event.key === "=") act["+"]();
    else if (event.key === "-") act["-"]();
    else if (event.key === "0" || event.key === "Escape") reset();
    else return;
    event.preventDefault();
  };
  svg.onblur = away;
  return { toggle: name => { if (!off.delete(name)) off.add(name); draw(); return !off.has(name); } };
};
all(doc, ".chart").forEach(frame => {
  let made = null;
  const wake = () => made ??= live(frame);
  const svg = frame.querySelector(".plot > svg");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-description", "Arrow keys read values, with Shift they pan; plus and minus zoom; 0 shows all.");
  for (const event of ["pointerenter", "focusin", "touchstart"]) frame.addEventListener(event, wake, { once: true, passive: true });
  all(frame, ".key li").forEach(item => {
    const button = make("button", { type: "button", "aria-pressed": "true" });
    button.append(...item.childNodes);
    item.append(button);
    button.onclick = () => button.setAttribute("aria-pressed", wake().toggle(item.dataset.name));
  });
});
})();
