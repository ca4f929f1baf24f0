//! Tables of parts of a pass: one part per class of requests, per server, or per rank. No figure is
//! computed here.

use inferometer_analysis::isolation::isolations;
use inferometer_analysis::observed::{Level, SourceMetrics};
use inferometer_analysis::{PassSummary, Summary, part::PartFigures, trust};
use inferometer_model::{metrics::registry, record::Verdict};

use crate::mark::marked;
use crate::number::two_decimals;
use crate::{Entry, MISSING, Table, count, label, left, right, significant};

/// A row per pass and class of requests.
pub(super) fn classes(summary: &Summary) -> Table {
    let of = |pass: &PassSummary| {
        pass.classes.iter().map(|one| (one.class.clone(), one.figures.clone())).collect()
    };
    table("Class", summary, of)
}

/// A row per latency of a class that was also measured alone.
pub(super) fn isolation(summary: &Summary) -> Table {
    let all = summary
        .cells
        .iter()
        .flat_map(|cell| isolations(cell).into_iter().map(move |isolation| (cell, isolation)));
    Table::of(all.map(|(cell, it)| {
        let bounds = it.times.map(|ends| ends.map(significant).join(" to "));
        [
            left("Pass", cell.place(it.pass)),
            left("Class", it.class),
            left("Figure", label::latency(it.figure)),
            right("Beside others", significant(it.beside)),
            right("Alone", significant(it.alone)),
            right("Times", significant(it.beside / it.alone)),
            right("95 % intervals allow", bounds.unwrap_or(MISSING.to_owned())),
        ]
    }))
}

/// A row per pass and server.
pub(super) fn servers(summary: &Summary) -> Table {
    let of = |pass: &PassSummary| {
        pass.servers.iter().map(|one| (one.server.clone(), one.figures.clone())).collect()
    };
    table("Server", summary, of)
}

/// A row per pass and rank. A rank has a row only if its figures differ significantly from those of the whole
/// pass.
pub(super) fn ranks(summary: &Summary) -> Table {
    let of = |pass: &PassSummary| {
        pass.ranks.iter().map(|one| (format!("rank {}", one.rank), one.figures.clone())).collect()
    };
    table("Rank", summary, of)
}

/// A row per pass with tool calls, or with answers of a given form.
pub(super) fn forms(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let forms = pass.structured.as_ref()?;
        let share = |share: f64| significant(100.0 * share);
        let [low, high] = forms.valid_ci.map(share);
        let valid = share(forms.valid as f64 / forms.requests as f64);
        let mut row = vec![
            left("Pass", cell.place(pass)),
            right("Valid / answers", format!("{} / {}", count(forms.valid), count(forms.requests))),
            right("Valid (%)", format!("{valid} ({low} to {high})")),
            right(
                "Calls / offers",
                format!("{} / {}", count(forms.with_calls), count(forms.with_tools)),
            ),
        ];
        for (heading, counts) in [("Calls", &forms.calls), ("Texts", &forms.texts)] {
            let words =
                counts.iter().map(|(verdict, n)| format!("{} {}", count(*n), said(*verdict)));
            let words: Vec<String> = words.collect();
            row.push(left(
                heading,
                if words.is_empty() { MISSING.to_owned() } else { words.join(", ") },
            ));
        }
        Some(row)
    }))
}

/// A row per pass whose server states its queue or its prefill: parts that add up to the mean TTFT.
pub(super) fn first_token(summary: &Summary) -> Table {
    let all = || summary.passes().filter_map(|(cell, pass)| Some((cell, pass, pass.ttft_parts?)));
    let loads = all().any(|(.., parts)| parts.load_ms.is_some());
    Table::of(all().map(|(cell, pass, parts)| {
        let of = |ms: Option<f64>| ms.map_or(MISSING.to_owned(), significant);
        let load = loads.then(|| right("Load", of(parts.load_ms)));
        let before = [
            left("Pass", cell.place(pass)),
            right("TTFT from due (ms)", significant(parts.ttft_ms)),
            right("Client", significant(parts.client_ms)),
            right("Sending", significant(parts.sending_ms)),
        ];
        let after = [
            right("Server's queue", of(parts.queue_ms)),
            right("Prefill", of(parts.prefill_ms)),
            right("Front end", of(parts.front_end_ms)),
            right("Rest", significant(parts.rest_ms)),
        ];
        before.into_iter().chain(load).chain(after).collect::<Vec<_>>()
    }))
}

/// A verdict in words.
fn said(verdict: Verdict) -> String {
    verdict.name().replace('_', " ")
}

fn table(
    part: &str,
    summary: &Summary,
    of: impl Fn(&PassSummary) -> Vec<(String, PartFigures)>,
) -> Table {
    let latencies = || registry::in_tables().filter(|(metric, _)| metric.of_classes);
    let mut rows = Vec::new();
    for (cell, pass) in summary.passes() {
        for (name, figures) in of(pass) {
            let completed =
                format!("{} / {}", count(figures.outcomes.complete), count(figures.planned));
            let mut row = vec![
                left("Pass", cell.place(pass)),
                left(part, name),
                right("Completed / planned", completed),
                right("Requests/s", two_decimals(figures.requests_per_s)),
                right("Input tokens, sum", figures.input_tokens.map_or(MISSING.to_owned(), count)),
                right("Output tokens, sum", count(figures.output_tokens)),
            ];
            for (metric, of) in latencies() {
                let value = figures.latencies.get(metric).and_then(|it| of.of(it));
                let text = value.map_or(MISSING.to_owned(), significant);
                let text = marked(text, value, trust::of_part(&figures, metric, of));
                row.push(right(label::latency((metric, of)), text));
            }
            rows.push(row);
        }
    }
    Table::of(rows)
}

/// A row per pass and server, for runs in which the metrics of each server were read separately.
pub(super) fn metrics(summary: &Summary) -> Table {
    Table::of(summary.passes().flat_map(|(cell, pass)| {
        pass.sources.iter().map(|source| source_row(cell.place(pass), source))
    }))
}

fn source_row(place: String, SourceMetrics { name, metrics }: &SourceMetrics) -> [Entry; 13] {
    let of = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
    let mean = |level: &Option<Level>| of(level.as_ref().map(|level| level.mean));
    let max = |level: &Option<Level>| level.as_ref().map(|level| level.max);
    let hits = metrics.prefix_hits.zip(metrics.prefix_queries).filter(|(_, asked)| *asked > 0.0);
    let reads = format!("{} / {}", count(metrics.scrapes - metrics.failed), count(metrics.scrapes));
    [
        left("Pass", place),
        left("Server", name),
        right("Successful / all reads", reads),
        right("Running, mean", mean(&metrics.running)),
        right("Running, max", of(max(&metrics.running))),
        right("Waiting, mean", mean(&metrics.waiting)),
        right("KV use, max (%)", of(max(&metrics.kv_use).map(|share| share * 100.0))),
        right("Preemptions", of(metrics.preemptions)),
        right("Prefix hits (%)", of(hits.map(|(hits, asked)| 100.0 * hits / asked))),
        right("Output tokens", of(metrics.generation_tokens)),
        right("TTFT, mean (ms)", of(metrics.ttft_ms.map(|it| it.mean))),
        right("ITL, mean (ms)", of(metrics.itl_ms.map(|it| it.mean))),
        right("Queue, mean (ms)", of(metrics.queue_ms.map(|it| it.mean))),
    ]
}
