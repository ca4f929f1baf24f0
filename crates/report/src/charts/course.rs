//! The chart of one pass over time: requests in flight, requests at the server, failed requests, tokens,
//! latencies by send time, and single requests.

use inferometer_model::OutcomeKind;

use crate::chart::{Chart, Extent, Panel, Series, Shape};
use crate::trace::{Level, PassTrace, RequestSpan, parts_within, thinned_to};
use crate::{chart::thin::bands, count, significant};

/// The chart of a pass over time; only a page has it. Absent if the pass sent no request. `id` is the result of
/// [`super::pass_id`]. `points` is the maximum number of points of a line.
pub(crate) fn course(id: &str, trace: &PassTrace, points: usize) -> Option<Chart> {
    trace.window?;
    let mut notes = Vec::new();
    let mut panels = vec![requests(trace, points, &mut notes)];
    if trace.course.tokens_per_s.iter().any(|(_, rate)| *rate > 0.0) {
        let course = &trace.course;
        let (line, part_s) = parts_within(&course.tokens_per_s, course.part_s, points);
        notes.push(format!(
            "Output tokens/s of completed requests, over parts of {} s.",
            significant(part_s)
        ));
        let series = series("output tokens/s", 5, Shape::Step, &line);
        panels.push(super::panel("Throughput", "output tokens/s", 90.0, vec![series]));
    }
    panels.extend(latencies(trace, points, &mut notes));
    let rows = spans(trace, 0.0, 0.0, (points / 8).clamp(8, 60), "");
    if !rows.x.is_empty() {
        notes.push(spans_note(rows.x.len(), trace));
        let height = (rows.x.len() as f64 * 5.0).clamp(40.0, 220.0);
        panels.push(rows_panel(vec![rows], height));
    }
    let x = super::seconds("Time since the first send");
    let mut chart = Chart::new(format!("{id}-course"), "Course of the pass", x);
    (chart.notes, chart.panels) = (vec![notes.join(" ")], panels);
    Some(chart)
}

/// A series from the points of a line.
pub(super) fn series(name: &str, style_index: usize, shape: Shape, line: &[(f64, f64)]) -> Series {
    let (x, y) = line.iter().copied().unzip();
    Series { x, y, ..Series::new(name, style_index, shape) }
}

fn requests(trace: &PassTrace, points: usize, notes: &mut Vec<String>) -> Panel {
    let course = &trace.course;
    let in_flight = course.in_flight.within(points, trace.seconds());
    notes.extend(level_note(&in_flight, course.changes));
    let mut all = vec![level(&in_flight, 0.0)];
    let server = [
        (1, "running (server)", &course.server.running),
        (3, "waiting (server)", &course.server.waiting),
    ];
    for (style_index, name, line) in server {
        if !line.is_empty() {
            all.push(series(name, style_index, Shape::Line, &thinned_to(line.clone(), points)));
        }
    }
    let failed = failures(trace, 0.0, "");
    notes.extend(failed.as_ref().map(|marks| {
        format!("Dashed lines mark {} of {} failed requests.", marks.x.len(), count(trace.failed))
    }));
    all.extend(failed);
    notes.extend(cut_off_note(trace.cut_off));
    super::panel("Requests", "count", 120.0, all)
}

/// The series of requests in flight. `from_s` is the beginning of the pass on the axis, in seconds.
pub(super) fn level(level: &Level, from_s: f64) -> Series {
    let mut out = Series { name: "in flight (client)".to_owned(), ..Series::default() };
    match level {
        Level::Changes(line) => {
            out.shape = Shape::Step;
            (out.x, out.y) = line.iter().map(|(at, value)| (from_s + at, *value)).unzip();
        }
        Level::Parts { part_s, values } => {
            for (part, [mean, low, high]) in values.iter().enumerate() {
                out.x.push(from_s + (part as f64 + 0.5) * part_s);
                out.y.push(*mean);
                out.low.push(*low);
                out.high.push(*high);
            }
        }
    }
    out
}

/// The note if the line shows means over parts of the pass instead of every change; otherwise `None`.
fn level_note(level: &Level, changes: usize) -> Option<String> {
    let Level::Parts { part_s, .. } = level else { return None };
    Some(format!(
        "In flight: {} changes; the line is the mean over parts of {} s, the pale band goes from \
            minimum to maximum.",
        count(changes as u64),
        significant(*part_s)
    ))
}

/// The note on requests that were cancelled or not sent because the pass was ended early; absent if there are none.
pub(super) fn cut_off_note(cut_off: u64) -> Option<String> {
    (cut_off > 0).then(|| {
        let which = if cut_off == 1 { "request was" } else { "requests were" };
        format!(
            "{} {which} cancelled or not sent, because the pass was ended early; this is \
                not a failure of the server.",
            count(cut_off)
        )
    })
}

/// Vertical marks at the ends of failed requests, at most 200; absent if no request failed. A request that was
/// not sent has its mark at its due time. `from_s` is the beginning of the pass on the axis, in seconds. `of` is
/// a prefix of the texts.
pub(super) fn failures(trace: &PassTrace, from_s: f64, of: &str) -> Option<Series> {
    if trace.failures.is_empty() {
        return None;
    }
    let every = trace.failures.len().div_ceil(200).max(1);
    let mut series = Series::new("failed", 6, Shape::Marks);
    for (at_s, kind, index) in trace.failures.iter().step_by(every) {
        series.x.push(from_s + at_s);
        series.y.push(0.0);
        series.texts.push(format!("{of}request {index}: {}", kind.name()));
    }
    Some(series)
}

fn latencies(trace: &PassTrace, most: usize, notes: &mut Vec<String>) -> Option<Panel> {
    let complete: Vec<&RequestSpan> =
        trace.requests.iter().filter(|span| span.outcome == OutcomeKind::Complete).collect();
    // If there are too many requests to draw each of them, the chart shows quantiles in this number of parts
    // of the pass.
    let parts = (most / 5).clamp(12, 60);
    let mut all = Vec::new();
    let mut many = None;
    for (style_index, name, of) in [
        (
            0,
            "TTFT",
            (|span| Some((span.first_s? - span.sent_s) * 1e3)) as fn(&RequestSpan) -> Option<f64>,
        ),
        (1, "sent to ended", |span| Some((span.ended_s - span.sent_s) * 1e3)),
    ] {
        let mut points: Vec<(f64, f64, u32)> =
            complete.iter().filter_map(|span| Some((span.sent_s, of(span)?, span.index))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.is_empty() {
            continue;
        }
        if points.len() <= most {
            let line: Vec<(f64, f64)> = points.iter().map(|(x, y, _)| (*x, *y)).collect();
            let mut dots = series(name, style_index, Shape::Dots, &line);
            // Both latencies of a request are read together.
            if all.last().is_none_or(|before: &Series| before.x != dots.x) {
                dots.texts = points.iter().map(|(.., index)| format!("request {index}")).collect();
            }
            all.push(dots);
            continue;
        }
        let pairs: Vec<(f64, f64)> = points.iter().map(|(x, y, _)| (*x, *y)).collect();
        let bands = bands(&pairs, parts);
        many = Some(pairs.len());
        all.push(Series {
            texts: bands.n.iter().map(|n| format!("of {} requests", count(*n))).collect(),
            x: bands.x,
            y: bands.p50,
            low: bands.p5,
            high: bands.p95,
            ..Series::new(format!("{name}, median and p5 to p95"), style_index, Shape::Line)
        });
    }
    if all.is_empty() {
        return None;
    }
    if let Some(n) = many {
        let sampled = match trace.step {
            1 => String::new(),
            every => format!(
                "; the sample has one of every {} requests, evenly spaced by index",
                count(u64::from(every))
            ),
        };
        notes.push(format!(
            "Latencies by send time: median and 5th to 95th percentile of {} requests in {parts} \
                parts of the pass{sampled}.",
            count(n as u64)
        ));
    }
    Some(super::panel("Latency by time of send", "ms", 120.0, all))
}

/// A sample of at most `most` single requests, evenly spaced by index. `row` is the number of the first
/// row. `from_s` is the beginning of the pass on the axis, in seconds. `of` is a prefix of the texts.
pub(super) fn spans(trace: &PassTrace, row: f64, from_s: f64, most: usize, of: &str) -> Series {
    let every = trace.requests.len().div_ceil(most.max(1)).max(1);
    let mut series = Series::new("requests: before, then after the first output", 0, Shape::Spans);
    for span in trace.requests.iter().step_by(every) {
        series.y.push(row + series.y.len() as f64);
        series.x.push(from_s + span.sent_s);
        series.left.push(from_s + span.sent_s);
        series.middle.push(from_s + span.first_s.unwrap_or(span.ended_s));
        series.right.push(from_s + span.ended_s);
        series.failed.push(span.outcome.is_failed() && !span.cut_off);
        let first = span.first_s.map_or("no output".to_owned(), |first| {
            format!("first output after {} ms", significant((first - span.sent_s) * 1e3))
        });
        let outcome = match span.outcome {
            OutcomeKind::Complete => String::new(),
            outcome => format!(", {}", outcome.name()),
        };
        series.texts.push(format!(
            "{of}request {}: {first}, end after {} ms{outcome}",
            span.index,
            significant((span.ended_s - span.sent_s) * 1e3),
        ));
    }
    series
}

/// The note that states how many of the requests are shown.
fn spans_note(shown: usize, trace: &PassTrace) -> String {
    let of = trace.requests.len() * trace.step as usize;
    if shown == trace.requests.len() && trace.step == 1 {
        return "Every request: pale until its first output.".to_owned();
    }
    format!(
        "Single requests: {} of about {}, evenly spaced by index; pale until the first output.",
        count(shown as u64),
        count(of as u64)
    )
}

/// The panel of single requests.
pub(super) fn rows_panel(series: Vec<Series>, height: f64) -> Panel {
    let rows: usize = series.iter().map(|series| series.y.len()).sum();
    let mut panel = super::panel("Single requests", "row", height, series);
    panel.y.extent = Extent::Fixed(-1.0, rows.max(1) as f64);
    panel
}
