//! Tables of parts of a pass: one part per class of requests, per server, or per rank. No figure is
//! computed here.

use inferometer_analysis::observed::{Level, SourceMetrics};
use inferometer_analysis::part::PartFigures;
use inferometer_analysis::{PassSummary, Summary, trust};
use inferometer_model::metrics::registry;

use crate::mark::marked;
use crate::number::two_decimals;
use crate::{Align, MISSING, Table, count, label, significant};

/// A row per pass and class of requests.
pub(super) fn classes(summary: &Summary) -> Table {
    let of = |pass: &PassSummary| {
        pass.classes.iter().map(|one| (one.class.clone(), one.figures.clone())).collect()
    };
    table("Class", summary, of)
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

fn table(
    part: &str,
    summary: &Summary,
    of: impl Fn(&PassSummary) -> Vec<(String, PartFigures)>,
) -> Table {
    let latencies = || registry::in_tables().filter(|(metric, _)| metric.of_classes);
    let before = [
        ("Pass", Align::Left),
        (part, Align::Left),
        ("Completed / planned", Align::Right),
        ("Requests/s", Align::Right),
        ("Input tokens, sum", Align::Right),
        ("Output tokens, sum", Align::Right),
    ];
    let before = before.map(|(name, align)| (name.to_owned(), align));
    let right = latencies().map(label::latency).map(|name| (name, Align::Right));
    let mut table = Table::new(before.into_iter().chain(right));
    for cell in &summary.cells {
        let parts =
            cell.passes.iter().flat_map(|pass| of(pass).into_iter().map(move |it| (pass, it)));
        for (pass, (name, figures)) in parts {
            let mut row = vec![
                cell.place(pass),
                name,
                format!("{} / {}", count(figures.outcomes.complete), count(figures.planned)),
                two_decimals(figures.requests_per_s),
                figures.input_tokens.map_or(MISSING.to_owned(), count),
                count(figures.output_tokens),
            ];
            for (metric, of) in latencies() {
                let value = figures.latencies.get(metric).and_then(|it| of.of(it));
                let text = value.map_or(MISSING.to_owned(), significant);
                row.push(marked(text, value, trust::of_part(&figures, metric, of)));
            }
            table.push(row);
        }
    }
    table
}

/// A row per pass and server, for runs in which the metrics of each server were read separately.
pub(super) fn metrics(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("Server", Align::Left),
        ("Successful / all reads", Align::Right),
        ("Running, mean", Align::Right),
        ("Running, max", Align::Right),
        ("Waiting, mean", Align::Right),
        ("KV use, max (%)", Align::Right),
        ("Preemptions", Align::Right),
        ("Prefix hits (%)", Align::Right),
        ("Output tokens", Align::Right),
        ("TTFT, mean (ms)", Align::Right),
        ("ITL, mean (ms)", Align::Right),
        ("Queue, mean (ms)", Align::Right),
    ]);
    for cell in &summary.cells {
        for pass in &cell.passes {
            for source in &pass.sources {
                table.push(source_row(cell.place(pass), source));
            }
        }
    }
    table
}

fn source_row(place: String, SourceMetrics { name, metrics }: &SourceMetrics) -> Vec<String> {
    let of = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
    let mean = |level: &Option<Level>| of(level.as_ref().map(|level| level.mean));
    let max = |level: &Option<Level>| level.as_ref().map(|level| level.max);
    let hits = metrics.prefix_hits.zip(metrics.prefix_queries).filter(|(_, asked)| *asked > 0.0);
    vec![
        place,
        name.clone(),
        format!("{} / {}", count(metrics.scrapes - metrics.failed), count(metrics.scrapes)),
        mean(&metrics.running),
        of(max(&metrics.running)),
        mean(&metrics.waiting),
        of(max(&metrics.kv_use).map(|share| share * 100.0)),
        of(metrics.preemptions),
        of(hits.map(|(hits, asked)| 100.0 * hits / asked)),
        of(metrics.generation_tokens),
        of(metrics.ttft_ms.map(|it| it.mean)),
        of(metrics.itl_ms.map(|it| it.mean)),
        of(metrics.queue_ms.map(|it| it.mean)),
    ]
}
