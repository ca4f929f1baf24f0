//! The chart of the whole run over time: requests in flight, tokens, the metrics of the server and its
//! cards, and a sample of single requests.

use inferometer_analysis::Summary;

use super::choice;
use super::course::{cut_off_note, failures, level, rows_panel, series, spans};
use crate::chart::{Band, Chart, Extent, Panel, Series, Shape};
use crate::trace::{
    CardCourse, Line, MOST_POINTS, PassTrace, ServerCourse, parts_within, thinned_to,
};
use crate::{Traces, count, number::two_significant};

/// The maximum number of points of a line over all passes together. The limit for a single pass is at least
/// [`FEWEST`].
const MOST: usize = 1_600;
const FEWEST: usize = 12;
/// The maximum number of parts over all passes together in which tokens are counted. With more parts, the line would
/// be a dense zigzag.
const PARTS: usize = 240;
/// The maximum number of single requests that are drawn. Each pass has at least one, even if the sum is then larger.
const ROWS: usize = 100;
/// The maximum number of passes that are drawn. More passes would be too narrow for their numbers.
const MOST_PASSES: usize = 8;
/// If there are more than [`MOST_PASSES`] passes, only passes of at least this share of the duration of the eighth
/// longest pass are drawn. Shorter passes would be too narrow to be seen.
const LEAST_SHARE: f64 = 0.25;
/// The gap between two passes that are drawn one after another, as a share of the time of all drawn passes.
const GAP_SHARE: f64 = 0.015;

/// A pass: its name, when it begins on the time axis of the run in seconds, and its trace.
type Placed<'a> = (String, f64, &'a PassTrace);

/// The note if the passes have no common clock.
const LAID: &str = "The passes have no common clock, as in a prediction or an import: they are \
    drawn one after another, in the order of their cells. The gaps between them have no meaning.";

/// The timeline of a run; empty if the run sent no request.
pub(super) fn charts(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    let sent = sent(summary, traces);
    let (all, left_out) = chosen(&sent);
    let (all, is_laid) = placed(all, summary.predicted || !left_out.is_empty());
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
    match choice::named(&left_out) {
        Some(named) => notes.insert(1, left_out_note(all.len(), sent.len(), &named)),
        None => notes.extend(is_laid.then(|| LAID.to_owned())),
    }
    for (index, panel) in panels.iter_mut().enumerate() {
        let band = |(name, (_, from, trace)): (String, &Placed<'_>)| Band {
            from: *from,
            to: from + trace.seconds(),
            name: if index == 0 { name } else { String::new() },
            is_result: false,
        };
        panel.bands = numbered(&all).into_iter().zip(&all).map(band).collect();
    }
    let x = super::seconds(match is_laid {
        true => "Time, passes one after another",
        false => "Time since the first send of the run",
    });
    let mut chart = Chart::new("timeline", "Timeline of the run", x);
    (chart.notes, chart.panels) = (notes, panels);
    vec![chart]
}

/// The passes that sent requests, in the order of their cells.
fn sent<'a>(summary: &'a Summary, traces: &'a Traces) -> Vec<Placed<'a>> {
    let beside = traces.beside(summary);
    let placed = beside.filter_map(|(cell, pass, trace)| {
        Some((cell.place(pass), super::begin_s(traces, trace)?, trace))
    });
    placed.collect()
}

/// The passes to draw, and the names of the others. If there are too many passes, those to draw are evenly spaced over
/// the passes that are long enough to be seen.
fn chosen<'a, 'b>(sent: &'b [Placed<'a>]) -> (Vec<Placed<'a>>, Vec<&'b str>) {
    let mut seconds: Vec<f64> = sent.iter().map(|(.., trace)| trace.seconds()).collect();
    seconds.sort_by(|a, b| b.total_cmp(a));
    let least = match seconds.get(MOST_PASSES) {
        Some(_) => seconds[MOST_PASSES - 1] * LEAST_SHARE,
        None => 0.0,
    };
    let long: Vec<usize> = (0..sent.len()).filter(|at| sent[*at].2.seconds() >= least).collect();
    let drawn: Vec<usize> =
        choice::evenly(long.len(), MOST_PASSES).into_iter().map(|at| long[at]).collect();
    let others = (0..sent.len()).filter(|at| !drawn.contains(at)).map(|at| sent[at].0.as_str());
    (drawn.iter().map(|at| sent[*at].clone()).collect(), others.collect())
}

/// The note on the passes that are not drawn.
fn left_out_note(drawn: usize, all: usize, named: &str) -> String {
    format!(
        "Drawn: {} of {} passes, evenly spaced over those that are long enough to be seen, one after another; the \
            gaps between them have no meaning. Left out here (the report has charts of every pass): {named}.",
        count(drawn as u64),
        count(all as u64)
    )
}

/// The names of the passes, with their numbers in this chart if there are several: `2: 128 x 32, saturated`.
fn numbered(all: &[Placed<'_>]) -> Vec<String> {
    let name = |(number, (place, ..)): (u32, &Placed<'_>)| match all.len() {
        1 => place.clone(),
        _ => format!("{number}: {place}"),
    };
    (1..).zip(all).map(name).collect()
}

/// The names of the passes with their numbers, as one text. Parts that all names have at their beginnings, such as the
/// lengths, are stated once: `of 128 x 32, open loop: 1: 2 requests/s; 2: 4 requests/s`.
fn listed(all: &[Placed<'_>]) -> String {
    let parts: Vec<Vec<&str>> = all.iter().map(|(place, ..)| place.split(", ").collect()).collect();
    let is_common =
        |at: usize| parts.iter().all(|own| at + 1 < own.len() && own[at] == parts[0][at]);
    let common = (0..).take_while(|at| is_common(*at)).count();
    if all.len() == 1 || common == 0 {
        return numbered(all).join("; ");
    }
    let own = (1..)
        .zip(&parts)
        .map(|(number, own): (u32, _)| format!("{number}: {}", own[common..].join(", ")));
    format!("of {}: {}", parts[0][..common].join(", "), own.collect::<Vec<_>>().join("; "))
}

/// Places the passes on the time axis of the run. The second value is false if they are at their real times, in time
/// order, and true if they are placed one after another, in the order of their cells. The second case occurs if
/// `one_by_one` is true: some passes are left out, or the passes are those of a prediction, which have no common clock.
/// It also occurs if the times of two passes overlap. No run carries out two passes at the same time, so such passes
/// have no common clock. A single pass is always at its real time.
fn placed(mut all: Vec<Placed<'_>>, one_by_one: bool) -> (Vec<Placed<'_>>, bool) {
    let mut in_time = all.clone();
    in_time.sort_by(|a, b| a.1.total_cmp(&b.1));
    let overlap = in_time.windows(2).any(|pair| pair[1].1 < pair[0].1 + pair[0].2.seconds());
    if in_time.len() < 2 || !(overlap || one_by_one) {
        return (in_time, false);
    }
    let gap = GAP_SHARE * all.iter().map(|(.., trace)| trace.seconds()).sum::<f64>();
    let mut from = 0.0;
    for (_, begin, trace) in &mut all {
        *begin = from;
        from += trace.seconds() + gap;
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
    let tokens = joined(all, usize::MAX, &|trace| in_parts(trace, all.len()).0);
    let tokens = tokens.map(|line| series("output tokens/s", 5, Shape::Step, &line));
    let memory = of_server("KV memory in use", 4, |server| &server.kv_percent)
        .into_iter()
        .chain(of_server("prefix cache hits", 2, |server| &server.hits_percent));
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
    let parts = all.iter().map(|(.., trace)| in_parts(trace, all.len()).1);
    let (low, high) =
        parts.fold((f64::INFINITY, 0.0_f64), |(low, high), part| (low.min(part), high.max(part)));
    let parts = [low, high].map(two_significant);
    let parts = if parts[0] == parts[1] { parts[0].clone() } else { parts.join(" to ") };
    let bands = if all.len() == 1 { "Grey band: the pass" } else { "Grey bands: the passes" };
    let mut text = format!("Tokens/s are of completed requests, over parts of {parts} s.");
    let changes: usize = all.iter().map(|(.., trace)| trace.course.changes).sum();
    // A trace is reduced to `MOST_POINTS` before it is drawn.
    let most = most.min(MOST_POINTS);
    if all.iter().any(|(.., trace)| trace.course.changes > most) {
        text += &format!(
            " In flight: {} changes; in a pass with more than {most} the line is the mean over \
                time, and the pale band goes from minimum to maximum.",
            count(changes as u64)
        );
    }
    if all.iter().flat_map(|(.., trace)| observed(trace)).any(|line| line.len() >= most) {
        text += &format!(
            " Lines of the server and of its cards have at most {most} points in a pass, selected \
                by largest triangles (LTTB)."
        );
    }
    let of: u64 = all.iter().map(|(.., t)| t.requests.len() as u64 * u64::from(t.step)).sum();
    text += &format!(
        " {} of about {} single requests, evenly spaced by index, pale until their first output.",
        count(shown as u64),
        count(of)
    );
    if all.iter().any(|(.., trace)| trace.course.server.samples > 1) {
        text +=
            " Server values are the server's own metrics, at the times at which they were read.";
    }
    let mut notes = vec![format!("{bands} {}.", listed(all)), text];
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

/// The lines of the metrics of the server and of its cards.
fn observed(trace: &PassTrace) -> impl Iterator<Item = &Line> {
    let server = &trace.course.server;
    let of_server = [&server.running, &server.waiting, &server.kv_percent, &server.hits_percent];
    let cards = trace.course.cards.iter();
    of_server.into_iter().chain(cards.flat_map(|card| [&card.work_percent, &card.power_w]))
}

/// Output tokens/s over parts of a pass, and the length of a part. `passes` is the number of drawn passes.
fn in_parts(trace: &PassTrace, passes: usize) -> (Line, f64) {
    let most = (PARTS / passes).max(FEWEST);
    parts_within(&trace.course.tokens_per_s, trace.course.part_s, most)
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

/// One line over all passes, with gaps between the passes; absent if no pass has two values, because a line through a
/// single point is invisible.
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
    let is_drawn = |pair: &[(f64, f64)]| pair.iter().all(|(_, value)| value.is_finite());
    out.windows(2).any(is_drawn).then_some(out)
}

fn cards(all: &[Placed<'_>], most: usize, of: fn(&CardCourse) -> Line) -> Vec<Series> {
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
