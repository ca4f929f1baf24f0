//! Tables of the jobs of passes. No figure is computed here.

use inferometer_analysis::Summary;
use inferometer_analysis::jobs::{JobsSummary, Quantiles};
use inferometer_model::metrics::job_data::ExpectedCache;
use inferometer_model::metrics::jobs::PER_HOUR;

use crate::{MISSING, Table, count, left, number::two_decimals, right, significant};

/// A row per pass with jobs: how many completed, how long they took, and what share of this time had calls in flight.
pub(super) fn jobs(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let jobs = pass.jobs.as_ref()?;
        let [p50, p95] = ends(jobs.duration_s);
        let [slow_p50, slow_p95] = ends(jobs.slowdown);
        let parts = jobs.parts;
        let sum = parts.map(|parts| parts.sum());
        let share = |part: Option<f64>| {
            let share = part.zip(sum).map(|(part, sum)| 100.0 * part / sum);
            share.filter(|share| share.is_finite()).map_or(MISSING.to_owned(), significant)
        };
        Some([
            left("Pass", cell.place(pass)),
            right(
                "Complete / planned",
                format!("{} / {}", count(jobs.counts.complete), count(jobs.counts.planned)),
            ),
            right("Jobs/h", two_decimals(pass.figure(&PER_HOUR))),
            right("Duration p50 (s)", p50),
            right("p95 (s)", p95),
            right("Slowdown p50", slow_p50),
            right("p95", slow_p95),
            right("Model (%)", share(parts.map(|it| it.model_s))),
            right("Tools (%)", share(parts.map(|it| it.tools_s))),
            right("People (%)", share(parts.map(|it| it.people_s))),
            right("Client (%)", share(parts.map(|it| it.client_s))),
            right("Rest (%)", share(parts.map(|it| it.rest_s))),
        ])
    }))
}

/// A row per pass with jobs: the mean critical path, and the duration without the time of tools.
pub(super) fn paths(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let JobsSummary { critical_path, without_tools_s, parallelism, .. } = pass.jobs.as_ref()?;
        let path = critical_path.as_ref()?;
        let number = |heading: &str, value: f64| right(heading, significant(value));
        Some([
            left("Pass", cell.place(pass)),
            number("Calls", path.calls),
            number("First output (s)", path.first_output_s),
            number("Later output (s)", path.later_output_s),
            number("Tools (s)", path.tools_s),
            number("People (s)", path.people_s),
            number("Client (s)", path.client_s),
            number("Rest (s)", path.rest_s),
            right("In flight", parallelism.map_or(MISSING.to_owned(), significant)),
            right("p50 without tools (s)", ends(*without_tools_s)[0].clone()),
        ])
    }))
}

/// A row per pass whose server states cached tokens: how many prompt tokens earlier prompts had, too, how many of them
/// were cached, and where the others went.
pub(super) fn caches(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let cache = pass.jobs.as_ref()?.cache?;
        let share =
            |tokens: u64| significant(100.0 * tokens as f64 / cache.prompt_tokens.max(1) as f64);
        let expected = |of: fn(&ExpectedCache) -> u64| cache.expected.as_ref().map(of);
        let percent = |of| expected(of).map_or(MISSING.to_owned(), share);
        let number = |of| expected(of).map_or(MISSING.to_owned(), count);
        let block = cache.expected.and_then(|expected| expected.block);
        Some([
            left("Pass", cell.place(pass)),
            right("Prompt tokens", count(cache.prompt_tokens)),
            right("Shared (%)", percent(|it| it.shared_tokens)),
            right("Expected (%)", percent(|it| it.tokens)),
            right("Cached (%)", share(cache.cached_tokens)),
            right("Block (tokens)", block.map_or(MISSING.to_owned(), |block| count(block.into()))),
            right("Lost to blocks", number(|it| it.lost_to_blocks)),
            right("Lost to order", number(|it| it.lost_to_order)),
            right("Evicted", number(|it| it.lost_to_eviction)),
            right("Lost otherwise", number(|it| it.lost_otherwise)),
            right("Beyond expected", number(|it| it.more_than_expected)),
            right(
                "Calls as expected",
                format!("{} / {}", number(|it| it.calls_as_expected), count(cache.calls)),
            ),
        ])
    }))
}

/// The median and the 95th percentile.
fn ends(of: Option<Quantiles>) -> [String; 2] {
    let text = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
    [text(of.map(|of| of.p50)), text(of.map(|of| of.p95))]
}
