//! The parts of a report with details of every pass: its figures, its charts, and the client's own error.
//! No figure combines several passes.

use inferometer_analysis::{Cell, PassSummary, Summary, trust};
use inferometer_model::metrics::{registry, send_delay};
use inferometer_model::{Statistic, digits::Decimals, stats::Distribution};

use super::ReportInput;
use crate::document::{Block, plain};
use crate::mark::marked;
use crate::measures::{Measure, instrument_measures, measures};
use crate::number::with_unit;
use crate::trace::PassTrace;
use crate::{Align, MISSING, Table, charts, count, left, right, significant};

/// The section with a part for every pass of every cell.
pub(super) fn passes(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>) {
    out.push(Block::Heading(2, "Every pass".to_owned()));
    if has_effective(input.summary) {
        out.push(Block::Paragraph(plain(
            "Consecutive requests are similar. \"Effective n\" is the number of independent \
                requests that would give the mean equally well.",
        )));
    }
    let points = charts::points_of_a_pass(input.traces);
    for (at, cell) in input.summary.cells.iter().enumerate() {
        for (index, pass) in cell.passes.iter().enumerate() {
            let id = charts::pass_id(at, index);
            let trace = input.traces.of(cell.plan(), index);
            let mut blocks = vec![Block::Paragraph(plain(facts(pass)))];
            let figures = figures(pass);
            if figures.is_empty() {
                blocks.push(Block::Paragraph(plain("No request has a value.")));
            } else {
                blocks.push(Block::Table(figures));
            }
            if let Some(trace) = trace {
                drawn(&mut blocks, &id, trace, points);
            }
            out.push(Block::Details(id, cell.place(pass), blocks));
        }
    }
}

fn has_effective(summary: &Summary) -> bool {
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let measures = passes.flat_map(measures);
    measures.filter_map(|measure| measure.values).any(|values| values.effective_n.is_some())
}

/// The table of the slowest requests of a pass, and its chart.
fn drawn(out: &mut Vec<Block<'_>>, id: &str, trace: &PassTrace, points: usize) {
    let tails = charts::tail_table(trace);
    if !tails.is_empty() {
        out.push(Block::Table(tails));
    }
    let chart = charts::course(id, trace, points);
    out.extend(chart.map(|chart| {
        let heading = "Course of the pass".to_owned();
        Block::PageChart(format!("{id}-drawn"), heading, Box::new(chart))
    }));
}

/// The outcomes, tokens, duration, rates and concurrency of a pass, in one line. A sentence on the meaning of the
/// intervals follows.
fn facts(pass: &PassSummary) -> String {
    let mut facts = vec![
        format!("{} planned: {}", count(pass.planned), pass.outcomes),
        format!(
            "{} input and {} output tokens{}",
            pass.input_tokens.map_or("an unknown number of".to_owned(), count),
            count(pass.output_tokens),
            pass.tokens_from
                .map_or(String::new(), |source| format!(" (counted by {})", source.name()))
        ),
    ];
    facts.extend(pass.duration_s.map(|seconds| format!("{} s", significant(seconds))));
    let rate = |rate: Option<f64>, ends: Option<[f64; 2]>, unit: &str| {
        let rate = rate?;
        let Some([low, high]) = ends else { return Some(with_unit(&significant(rate), unit)) };
        let digits = Decimals::of(&[rate, low, high]);
        let rate = with_unit(&digits.text(rate), unit);
        Some(format!("{rate} (95 % interval {})", digits.interval([low, high])))
    };
    facts.extend(rate(pass.requests_per_s, pass.requests_per_s_ci, "requests/s"));
    facts.extend(rate(pass.output_tokens_per_s, pass.output_tokens_per_s_ci, "output tokens/s"));
    let in_flight = [
        pass.mean_concurrency.map(|mean| format!("{} on average", significant(mean))),
        pass.peak_concurrency.map(|peak| format!("{} at most", count(peak))),
    ];
    let in_flight: Vec<String> = in_flight.into_iter().flatten().collect();
    if !in_flight.is_empty() {
        facts.push(format!("in flight {}", in_flight.join(", ")));
    }
    let of = match (&pass.intervals.of, &pass.intervals.none_because) {
        (Some(of), _) => {
            format!(" 95 % intervals are for {of}; results of another day differ by more.")
        }
        (None, Some(why)) => format!(" No intervals: {why}."),
        (None, None) => String::new(),
    };
    format!("{}.{of}", facts.join("; "))
}

/// A row per distribution that has values.
fn figures(pass: &PassSummary) -> Table {
    let with_values =
        || measures(pass).into_iter().filter_map(|measure| Some((measure.values?, measure)));
    let rows = with_values().map(|(values, measure)| {
        let unit = measure.unit.replace("_per_", "/");
        let figure = |statistic: Statistic| {
            let figure = statistic.of(values);
            let text = figure.map_or(MISSING.to_owned(), significant);
            let range = measure.metric.and_then(|metric| trust::latency(pass, metric, statistic));
            marked(text, figure, range)
        };
        let name = match values.exact {
            true => format!("{} ({unit})", measure.title),
            false => format!("{} ({unit}, percentiles within 0.1 %)", measure.title),
        };
        let effective = values.effective_n.map(|n| count(n.round() as u64));
        [
            left("Figure", name),
            right("Mean", figure(Statistic::Mean)),
            right("95 % interval", interval(values.mean_ci)),
            right("p50", figure(Statistic::P50)),
            right("95 % interval", interval(values.p50_ci)),
            right("p90", figure(Statistic::P90)),
            right("95 % interval", interval(values.p90_ci)),
            right("p99", figure(Statistic::P99)),
            right("95 % interval", p99_interval(values)),
            right("Max", figure(Statistic::Max)),
            right("n", count(values.n)),
            right("Effective n", effective.unwrap_or_else(|| MISSING.to_owned())),
        ]
    });
    Table::of(rows)
}

/// The interval of the 99th percentile. If the interval is unknown: the approximate number of requests that
/// it needs, if this number is known.
fn p99_interval(values: &Distribution) -> String {
    match (values.p99_ci, values.p99_needs) {
        (None, Some(needs)) => format!("needs {} requests", count(needs)),
        (found, _) => interval(found),
    }
}

/// The section on the error that the client adds to the figures of each pass.
pub(super) fn instrument(out: &mut Vec<Block<'_>>, summary: &Summary) {
    out.push(Block::Heading(2, "The client's own error".to_owned()));
    out.push(Block::Paragraph(plain(
        "Send delay: how late the client sent requests. Receive lateness: time from the kernel's \
            time stamp to the program's. Arrival width: time between the earliest and the latest \
            possible arrival of an event. Error bound: largest possible error of a request's TTFT, \
            TPOT or E2E, or of a token's ITL. Columns show p50 / p99 / max over single requests, \
            reads or tokens. The mark after a figure states the error of that figure of the whole \
            pass.",
    )));
    let bounds = registry::bounded().enumerate().map(|(at, (metric, _))| match at {
        0 => format!("{} error bound (us)", metric.title),
        _ => metric.title.to_owned(),
    });
    let before = ["Send delay (ms)", "Receive lateness (us)", "Arrival width (us)"];
    let after = ["Reads", "Kernel-stamped", "Coalesced events"];
    let names = before.map(str::to_owned).into_iter().chain(bounds).chain(after.map(str::to_owned));
    let numbers = names.map(|name| (name, Align::Right));
    let mut table = Table::new([("Pass".to_owned(), Align::Left)].into_iter().chain(numbers));
    for (cell, pass) in summary.passes() {
        table.push(instrument_row(cell, pass));
    }
    out.push(Block::Table(table));
}

fn instrument_row(cell: &Cell, pass: &PassSummary) -> Vec<String> {
    let instrument = &pass.instrument;
    let stamped = if instrument.reads == 0 {
        MISSING.to_owned()
    } else {
        let share = instrument.kernel_stamped_reads as f64 / instrument.reads as f64;
        format!("{} %", significant(share * 100.0))
    };
    let mut row = vec![cell.place(pass), three(pass.latencies.get(&send_delay::DEFINITION))];
    row.extend(instrument_measures(pass).iter().map(|measure: &Measure<'_>| three(measure.values)));
    row.extend([count(instrument.reads), stamped, count(instrument.coalesced_events)]);
    row
}

/// Three statistics of a distribution: `p50 / p99 / max`.
fn three(values: Option<&Distribution>) -> String {
    values.map_or(MISSING.to_owned(), |values| {
        [values.p50, values.p99, values.max].map(significant).join(" / ")
    })
}

fn interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or(MISSING.to_owned(), |ends| ends.map(significant).join(" to "))
}
