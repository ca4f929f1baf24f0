// The script of a page: it sorts and filters tables, zooms into charts, shows their values, and switches the
// theme. It sends no request. Without the script, the page has all its content, except lines that a chart hides
// at first. When a reader zooms, the script draws the grid and the ticks of a chart again, and moves and
// stretches the existing drawing of the series.
const doc = document, root = doc.documentElement;
const all = (where, what) => [...where.querySelectorAll(what)];
const make = (tag, attributes = {}, text = "") => {
  const element = doc.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};
const escaped = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

// The theme is that of the reader's system until the reader selects one.
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
    try { localStorage.setItem("inferometer-theme", names[at]); } catch { /* The choice is not stored. */ }
    show();
  };
  show();
}

// A link to an element inside of closed parts opens these parts.
const unfold = () => {
  const target = location.hash && doc.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();

// Tables.
// A cell counts as a number if its text begins with a number and contains nothing else except a unit, and
// further numbers such as an interval.
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
    const output = make("output", { "aria-live": "polite" });
    input.oninput = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      output.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    };
    box.append(input, output);
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

// Charts. To show a part of an axis, the drawing of the whole axis is moved and stretched. This method also
// works on a log axis, because its positions are linear in the logarithm.
const position = (log, [from, to]) => log
  ? { to: value => Math.log(value / from) / Math.log(to / from), back: share => from * (to / from) ** share }
  : { to: value => (value - from) / (to - from), back: share => from + share * (to - from) };
const nearest = (xs, x, ordered = true) => {
  if (!ordered) return xs.reduce((best, value, i) => Math.abs(value - x) < Math.abs(xs[best] - x) ? i : best, 0);
  let low = 0, high = xs.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (xs[middle] <= x) low = middle; else high = middle; }
  return high > low && Math.abs(xs[high] - x) < Math.abs(xs[low] - x) ? high : Math.max(low, 0);
};
const two = value => Math.round(value * 100) / 100;
const element = (name, attributes = {}) => {
  const made = doc.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
// The smallest part of an axis that can be shown, as a share of the whole axis.
const DEEPEST = 2e-2;

const live = frame => {
  const svg = frame.querySelector(".plot > svg"), axes = svg.querySelector(".axes");
  const data = JSON.parse(frame.querySelector("script").textContent);
  const { w: width, x: across, p: panels } = data, whole = [0, 1];
  // The shown part of each axis: its two ends, as shares of the whole axis.
  const view = { x: [...whole], y: panels.map(() => [...whole]) };
  const part = (axis, shown) => { const s = position(axis.k, axis.d); return shown.map(s.back); };
  const inks = [...svg.querySelectorAll(".ink")];
  const marks = inks.map(ink => all(ink, ".at").map(mark => [mark, /\(([^)]*)\)/.exec(mark.getAttribute("transform"))[1]]));
  const defs = element("defs");
  inks.forEach((ink, i) => {
    const { l, t, w, h } = panels[i], id = `${frame.id}-c${i}`, clip = element("clipPath", { id });
    clip.append(element("rect", { x: l, y: t - 6, width: w, height: h + 12 }));
    defs.append(clip);
    ink.dataset.clip = `url(#${id})`;
  });
  svg.prepend(defs);

  const text = (x, y, anchor, what, more = "") =>
    `<text x="${two(x)}" y="${two(y)}" text-anchor="${anchor}"${more}>${escaped(what)}</text>`;
  // The ticks of the shown part of an axis. An axis that counts something has them only at whole numbers.
  const own = (axis, shown, wanted) =>
    ticks(axis.k, part(axis, shown), wanted).filter(([value]) => !axis.i || Number.isInteger(value));
  const grid = (panel, index) => {
    const { l, t, w, h } = panel, right = l + w, bottom = t + h;
    const x = position(across.k, part(across, view.x)), y = position(panel.y.k, part(panel.y, view.y[index]));
    const at = value => l + x.to(value) * w, taken = [];
    const named = (across.n || own(across, view.x, w / 100)).filter(([value]) => { const px = at(value); return px >= l - 1 && px <= right + 1; });
    let lines = "", out = "";
    for (const [value, name] of panel.m || own(panel.y, view.y[index], h / 40)) {
      const py = t + (1 - y.to(value)) * h;
      if (py < t - 1 || py > bottom + 1) continue;
      lines += `M${l},${two(py)}h${w}`;
      if (panel.n[1]) out += text(l - 8, py + 4, "end", name);
    }
    for (const [value] of data.gx ? named : []) lines += `M${two(at(value))},${t}v${h}`;
    // The ticks at the ends get their labels first. A tick whose label would touch another label gets no
    // label.
    const order = [...named.slice(0, 1), ...named.slice(1).slice(-1), ...named.slice(1, -1)];
    for (const [value, name] of panel.n[0] ? order : []) {
      const px = at(value), half = name.length * 3.5 + 4;
      if (taken.some(other => Math.abs(px - other[0]) < half + other[1])) continue;
      taken.push([px, half]);
      out += text(px, bottom + 19, "middle", name);
    }
    for (const [from, to, name] of panel.b || []) {
      const [one, other] = [Math.max(l, at(from)), Math.min(right, at(to))], room = Math.floor((other - one) / 6);
      // The label is the whole name, or its part before the first colon, or nothing if both are too long.
      // A shorter part of the name would have no meaning.
      const fitting = [name, name.split(":")[0]].find(it => it.length <= room);
      if (fitting) out += text(one + 2, t - 28, "start", fitting, ' font-size="11"');
    }
    return `<path d="${lines}" stroke="var(--grid)"/>${out}`;
  };
  const draw = () => {
    axes.innerHTML = panels.map(grid).join("");
    inks.forEach((ink, i) => {
      const { l, t, w, h } = panels[i], [left, right] = view.x, [low, high] = view.y[i];
      const sx = 1 / (right - left), sy = 1 / (high - low), isWhole = sx === 1 && sy === 1;
      // A point at the share s of the axis was drawn at l + s w, and now belongs at l + (s - left) sx w.
      // Vertical shares count from the bottom.
      const dx = l - sx * (l + left * w), dy = t - sy * (t + (1 - high) * h);
      ink.setAttribute("transform", isWhole ? "" : `matrix(${sx} 0 0 ${sy} ${dx} ${dy})`);
      ink.parentElement.setAttribute("clip-path", isWhole ? "none" : ink.dataset.clip);
      for (const [mark, place] of marks[i]) mark.setAttribute("transform", `translate(${place}) scale(${1 / sx} ${1 / sy})`);
    });
  };

  // The vertical line at the pointer, the frame of a selection, and the box with the values.
  const over = element("g");
  svg.append(over);
  const box = make("div", { class: "read", hidden: "" });
  frame.querySelector(".plot").append(box);
  const output = make("output", { class: "unseen", "aria-live": "polite" });
  frame.append(output);
  const place = event => {
    const of = svg.getBoundingClientRect(), by = width / of.width;
    return [(event.clientX - of.left) * by, (event.clientY - of.top) * by];
  };
  const inside = (panel, px, py) => px >= panel.l && px <= panel.l + panel.w && (py === undefined || py >= panel.t && py <= panel.t + panel.h);
  // The index of the panel under the pointer, or -1. For stacked panels, the index is 0, because they have
  // the same horizontal axis.
  const under = (px, py) => data.g ? panels.findIndex(panel => inside(panel, px, py)) : inside(panels[0], px) ? 0 : -1;
  const read = (at, px, py) => {
    const { l, w } = panels[at], x = position(across.k, part(across, view.x));
    const value = x.back((px - l) / w), rows = [];
    panels.forEach((panel, index) => {
      if (data.g && index !== at) return;
      const y = position(panel.y.k, part(panel.y, view.y[index]));
      panel.s.forEach(of => {
        const xs = of.x || of.f || [];
        if (off.has(of.n) || !xs.length) return;
        let i = nearest(xs, value, !of.o);
        if (of.s === "tiles") {
          const row = y.back(1 - (py - panel.t) / panel.h);
          if (of.f[0] <= value && value < of.e[0] && of.a[0] <= row && row < of.b[0]) rows.push([of, of.t[0]]);
          return;
        }
        if (of.s === "spans") {
          if (py === undefined || py < panel.t || py > panel.t + panel.h) return;
          const row = y.back(1 - (py - panel.t) / panel.h);
          i = nearest(of.y, row);
          rows.push([of, of.t[i]]);
          return;
        }
        if (of.s === "step" && xs[i] > value && i > 0) i--;
        if (of.s === "bars") i = of.f.findIndex((from, i) => from <= value && value <= of.e[i]);
        const reach = { step: Infinity, bars: Infinity, marks: 6 }[of.s] || 40;
        if (i < 0 || Math.abs(x.to(xs[i]) * w + l - px) > reach || of.y && of.y[i] === null) return;
        const ends = (name, low, high) => low && low[i] !== null ? ` (${name}${significant(low[i])} to ${significant(high[i])})` : "";
        const interval = ends("", of.a, of.b) || (of.s === "bars" ? "" : ends(`${across.t}: `, of.f, of.e));
        const note = of.t && of.t[i] ? ` · ${of.t[i]}` : "";
        const along = of.s === "bars" && !across.n ? `${significant(of.f[i])} to ${significant(of.e[i])}: ` : "";
        const unit = panel.u === "count" ? "" : ` ${panel.u}`;
        rows.push([of, of.s === "marks" ? of.t[i] : `${along}${significant(of.y[i])}${unit}${interval}${note}`]);
      });
    });
    return { value, rows };
  };
  const hover = (at, px, py) => {
    const { value, rows } = read(at, px, py), first = panels[at], last = data.g ? first : panels[panels.length - 1];
    over.innerHTML = `<path d="M${two(px)},${first.t}V${last.t + last.h}" stroke="var(--axis)" pointer-events="none"/>`;
    const heading = panels[at].s.some(of => of.s === "bars" || of.s === "tiles") && across.n ? "" : `<b>${escaped(across.t)}: ${significant(value)}</b>`;
    box.innerHTML = heading + rows.slice(0, 14).map(([of, what]) =>
      `<span><svg width="14" height="10" aria-hidden="true"><path d="M0,5h14" stroke="${of.c}" stroke-width="3"/></svg>${escaped(of.n)}: ${escaped(what)}</span>`).join("")
      + (rows.length > 14 ? `<span>and ${rows.length - 14} more</span>` : "");
    box.hidden = !box.innerHTML;
    const of = svg.getBoundingClientRect(), by = of.width / width, left = px * by;
    box.style.left = `${left > of.width / 2 ? Math.max(0, left - box.offsetWidth - 12) : left + 12}px`;
    box.style.top = `${Math.max(0, Math.min((py ?? first.t) * by, of.height - box.offsetHeight))}px`;
    return rows;
  };
  const away = () => { over.innerHTML = ""; box.hidden = true; };
  // The part from `one` to `other` (shares of the shown part), moved so that it stays within the whole
  // axis.
  const within = ([from, to], one, other) => {
    const span = to - from;
    [one, other] = [from + one * span, from + other * span];
    if (other - one >= 1) return [...whole];
    if (other - one < DEEPEST) return [from, to];
    const moved = Math.max(0, -one) - Math.max(0, other - 1);
    return [one + moved, other + moved];
  };
  const zoom = (from, to) => { view.x = within(view.x, from, to); away(); draw(); };
  const reset = () => { view.x = [...whole]; view.y = panels.map(() => [...whole]); away(); draw(); };
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
  const share = (at, px) => Math.min(1, Math.max(0, (px - panels[at].l) / panels[at].w));
  svg.onpointerdown = event => {
    const [px, py] = place(event), at = under(px, py);
    if (event.button || at < 0) return;
    start = { at, px, py, shift: event.shiftKey, x: [...view.x] };
    svg.setPointerCapture(event.pointerId);
  };
  svg.onpointermove = event => {
    const [px, py] = place(event);
    if (!start) { const at = under(px, py); if (at < 0) away(); else hover(at, px, py); return; }
    if (start.shift) {
      const moved = (start.px - px) / panels[start.at].w;
      view.x = within(start.x, moved, 1 + moved);
      draw();
      return;
    }
    const tall = Math.abs(py - start.py) > 30, first = panels[start.at], last = data.g ? first : panels[panels.length - 1];
    const [one, other] = [Math.min(px, start.px), Math.max(px, start.px)];
    const [top, end] = tall ? [Math.min(py, start.py), Math.max(py, start.py)] : [first.t, last.t + last.h];
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
      const base = data.g ? panels[from.at] : panel;
      if (inside(base, from.px, from.py))
        view.y[index] = within(view.y[index], Math.max(0, 1 - (end - base.t) / base.h), Math.min(1, 1 - (top - base.t) / base.h));
    });
    zoom(share(from.at, Math.min(px, from.px)), share(from.at, Math.max(px, from.px)));
  };
  svg.onpointercancel = () => { start = null; away(); };
  svg.onpointerleave = () => { if (!start) away(); };
  svg.ondblclick = reset;
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const [px, py] = place(event), at = share(Math.max(0, under(px, py)), px), by = event.deltaY < 0 ? 0.8 : 1.25;
    zoom(at - at * by, at + (1 - at) * by);
  }, { passive: false });
  let cursor = 0.5;
  svg.onkeydown = event => {
    const arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (arrow && event.shiftKey) act[arrow < 0 ? "◀" : "▶"]();
    else if (arrow) {
      cursor = Math.min(1, Math.max(0, cursor + arrow / 50));
      const rows = hover(0, panels[0].l + cursor * panels[0].w);
      output.textContent = rows.map(([of, what]) => `${of.n}: ${what}`).join("; ");
    } else if (event.key === "+" || event.key === "=") act["+"]();
    else if (event.key === "-") act["-"]();
    else if (event.key === "0" || event.key === "Escape") reset();
    else return;
    event.preventDefault();
  };
  svg.onblur = away;
  const off = new Set(panels.flatMap(panel => panel.s.filter(of => of.h).map(of => of.n)));
  const toggle = name => {
    if (!off.delete(name)) off.add(name);
    panels.forEach((panel, i) => panel.s.forEach((of, number) => { if (of.n === name) all(inks[i], ":scope > .s")[number].style.display = off.has(name) ? "none" : "inline"; }));
    return !off.has(name);
  };
  return { toggle };
};
all(doc, ".chart").forEach(frame => {
  let made = null;
  const wake = () => made ??= live(frame);
  const svg = frame.querySelector(".plot > svg");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-description", "Arrow keys read values, with Shift they pan; plus and minus zoom; 0 shows all.");
  for (const event of ["pointerenter", "focusin", "touchstart"]) frame.addEventListener(event, wake, { once: true, passive: true });
  all(frame, ".key li").forEach(item => {
    const button = make("button", { type: "button", "aria-pressed": !("off" in item.dataset) });
    button.append(...item.childNodes);
    item.append(button);
    button.onclick = () => button.setAttribute("aria-pressed", wake().toggle(item.textContent));
  });
});
