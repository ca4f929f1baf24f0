//! The chart of the whole run over time: requests in flight, tokens, the metrics of the server and its
//! cards, and a sample of single requests.

use inferometer_analysis::summary::Summary;

use super::course::{cut_off_note, failures, level, rows_panel, series, spans};
use crate::chart::{Band, Chart, Extent, Panel, Series, Shape};
use crate::number::{count, significant};
use crate::trace::{Line, PassTrace, ServerCourse, Traces, parts_within, thinned_to};

/// The maximum number of points of a line over all passes together. The limit for a single pass is at least
/// [`FEWEST`].
const MOST: usize = 1_600;
const FEWEST: usize = 12;
/// The maximum number of single requests that are drawn. Each pass has at least one, even if these are more.
const ROWS: usize = 100;

/// A pass: its name, when it begins on the time axis of the run in seconds, and its trace.
type Placed<'a> = (String, f64, &'a PassTrace);

/// The note if the passes have no common clock.
const LAID: &str = "The passes have no common clock, as in a prediction or an import: they are \
    drawn one after another, in the order of their cells, without pauses.";

/// The timeline of a run; empty if the run sent no request.
pub(super) fn charts(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    let (all, laid) = placed(summary, traces);
    if all.is_empty() {
        return Vec::new();
    }
    let most = (MOST / all.len()).max(FEWEST);
    let mut panels = panels(&all, most);
    let rows = rows(&all);
    let shown = rows.x.len();
    if shown > 0 {
        panels.push(rows_panel(vec![rows], (shown as f64 * 3.0).clamp(50.0, 240.0)));
    }
    let mut notes = notes(&all, most, shown);
    notes.extend(laid.then(|| LAID.to_owned()));
    for (index, panel) in panels.iter_mut().enumerate() {
        let band = |(place, from, trace): &Placed<'_>| Band {
            from: *from,
            to: from + trace.seconds(),
            name: if index == 0 { place.clone() } else { String::new() },
            is_result: false,
        };
        panel.bands = all.iter().map(band).collect();
    }
    let x = super::seconds(match laid {
        true => "Time, passes one after another",
        false => "Time since the first send of the run",
    });
    let mut chart = Chart::new("timeline", "Timeline of the run", x);
    (chart.notes, chart.panels) = (notes, panels);
    vec![chart]
}

/// The passes on the time axis of the run, in time order. The second value is true if the passes have no
/// common clock and were therefore placed one after another. The passes of a prediction have no common clock.
/// The same is assumed if the times of two passes overlap, because no run carries out two passes at the same
/// time.
fn placed<'a>(summary: &'a Summary, traces: &'a Traces) -> (Vec<Placed<'a>>, bool) {
    let beside = traces.beside(summary);
    let mut all: Vec<Placed<'a>> = beside
        .filter_map(|(cell, pass, trace)| {
            Some((cell.place(pass), super::begin_s(traces, trace)?, trace))
        })
        .collect();
    let mut in_time = all.clone();
    in_time.sort_by(|a, b| a.1.total_cmp(&b.1));
    let overlap = in_time.windows(2).any(|pair| pair[1].1 < pair[0].1 + pair[0].2.seconds());
    if in_time.len() < 2 || !(overlap || summary.predicted) {
        return (in_time, false);
    }
    let mut from = 0.0;
    for (_, begin, trace) in &mut all {
        *begin = from;
        from += trace.seconds();
    }
    (all, true)
}

/// All panels except the panel of single requests.
fn panels(all: &[Placed<'_>], most: usize) -> Vec<Panel> {
    let whole = |name: &str, style_index, shape, of: &dyn Fn(&PassTrace) -> Line| {
        joined(all, most, of).map(|line| series(name, style_index, shape, &line))
    };
    let of_server = |name: &str, style_index, of: fn(&ServerCourse) -> &Line| {
        whole(name, style_index, Shape::Line, &|trace| of(&trace.course.server).clone())
    };
    let mut requests = in_flight(all, most);
    requests.extend(of_server("running (server)", 1, |server| &server.running));
    requests.extend(of_server("waiting (server)", 3, |server| &server.waiting));
    requests.extend(
        all.iter().filter_map(|(place, from, trace)| failures(trace, *from, &format!("{place}, "))),
    );
    let tokens = joined(all, usize::MAX, &|trace| {
        parts_within(&trace.course.tokens_per_s, trace.course.part_s, most).0
    });
    let tokens = tokens.map(|line| series("output tokens/s", 2, Shape::Step, &line));
    let memory = of_server("KV memory in use", 4, |server| &server.kv_percent)
        .into_iter()
        .chain(of_server("prefix cache hits", 5, |server| &server.hits_percent));
    let below = [
        ("Throughput", "output tokens/s", tokens.into_iter().collect()),
        ("Server's memory", "%", memory.collect()),
        ("Cards at work", "%", cards(all, most, |card| card.work_percent.clone())),
        ("Power of the cards", "W", cards(all, most, |card| card.power_w.clone())),
    ];
    let mut panels = vec![super::panel("Requests", "count", 150.0, requests)];
    for (title, unit, series) in below.into_iter().filter(|(.., series)| !series.is_empty()) {
        let mut panel = super::panel(title, unit, 80.0, series);
        if unit == "%" {
            panel.y.extent = Extent::Fixed(0.0, 100.0);
        }
        panels.push(panel);
    }
    panels
}

/// The notes of the chart: the meaning of its parts, and how much data was reduced.
fn notes(all: &[Placed<'_>], most: usize, shown: usize) -> Vec<String> {
    let parts = all
        .iter()
        .map(|(.., trace)| parts_within(&trace.course.tokens_per_s, trace.course.part_s, most).1);
    let (low, high) =
        parts.fold((f64::INFINITY, 0.0_f64), |(low, high), part| (low.min(part), high.max(part)));
    let parts = [low, high].map(significant);
    let parts = if parts[0] == parts[1] { parts[0].clone() } else { parts.join(" to ") };
    let mut text = format!(
        "Grey bands: the passes, {}. Tokens/s are of completed requests, over parts of {parts} s.",
        count(all.len() as u64)
    );
    let changes: usize = all.iter().map(|(.., trace)| trace.course.changes).sum();
    if all.iter().any(|(.., trace)| trace.course.changes > most) {
        text += &format!(
            " In flight: {} changes; in a pass with more than {most} the line is the mean over \
                time, and the pale band goes from minimum to maximum. Other lines have at most \
                {most} points in a pass, selected by largest triangles (LTTB).",
            count(changes as u64)
        );
    }
    let of: u64 = all.iter().map(|(.., t)| t.requests.len() as u64 * u64::from(t.step)).sum();
    text += &format!(
        " {} of about {} single requests, evenly spaced by index, pale until their first output.",
        count(shown as u64),
        count(of)
    );
    if all.iter().any(|(.., trace)| trace.course.server.samples > 0) {
        text +=
            " Server values are the server's own metrics, at the times at which they were read.";
    }
    let mut notes = vec![text];
    let failed: u64 = all.iter().map(|(.., trace)| trace.failed).sum();
    if failed > 0 {
        let marks = all.iter().filter_map(|(_, from, trace)| failures(trace, *from, ""));
        let marks: usize = marks.map(|marks| marks.x.len()).sum();
        notes.push(format!(
            "{} requests failed; dashed lines mark {} of them.",
            count(failed),
            count(marks as u64)
        ));
    }
    notes.extend(cut_off_note(all.iter().map(|(.., trace)| trace.cut_off).sum()));
    notes
}

/// A series of requests in flight for each pass: every change if there are few, otherwise means over
/// parts of the pass.
fn in_flight(all: &[Placed<'_>], most: usize) -> Vec<Series> {
    all.iter()
        .map(|(_, from, trace)| {
            let within = trace.course.in_flight.within(most, trace.seconds());
            level(&within, *from)
        })
        .filter(|series| !series.x.is_empty())
        .collect()
}

/// One line over all passes, with gaps between the passes; absent if no pass has values.
fn joined(all: &[Placed<'_>], most: usize, of: &dyn Fn(&PassTrace) -> Line) -> Option<Line> {
    let mut out = Line::new();
    for (_, from, trace) in all {
        let line = thinned_to(of(trace), most);
        if line.is_empty() {
            continue;
        }
        out.extend(line.into_iter().map(|(at, value)| (from + at, value)));
        let end = out[out.len() - 1].0;
        out.push((end, f64::NAN));
    }
    out.pop();
    (!out.is_empty()).then_some(out)
}

fn cards(
    all: &[Placed<'_>],
    most: usize,
    of: fn(&crate::trace::CardCourse) -> Line,
) -> Vec<Series> {
    let indices = all.iter().flat_map(|(.., t)| &t.course.cards).map(|card| card.index);
    let indices: std::collections::BTreeSet<u32> = indices.collect();
    let line = |index: u32| {
        let of_card = |trace: &PassTrace| {
            let card = trace.course.cards.iter().find(|card| card.index == index);
            card.map_or(Line::new(), of)
        };
        let line = joined(all, most, &of_card)?;
        Some(series(&format!("card {index}"), index as usize, Shape::Line, &line))
    };
    indices.into_iter().filter_map(line).collect()
}

/// A sample of the requests of each pass, one row per request.
fn rows(all: &[Placed<'_>]) -> Series {
    let each = (ROWS / all.len()).max(1);
    let mut rows = Series::default();
    for (place, from, trace) in all {
        let own = spans(trace, rows.y.len() as f64, *from, each, &format!("{place}, "));
        rows = Series {
            x: [rows.x, own.x].concat(),
            y: [rows.y, own.y].concat(),
            left: [rows.left, own.left].concat(),
            middle: [rows.middle, own.middle].concat(),
            right: [rows.right, own.right].concat(),
            texts: [rows.texts, own.texts].concat(),
            failed: [rows.failed, own.failed].concat(),
            ..own
        };
    }
    rows
}
