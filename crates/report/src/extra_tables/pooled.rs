//! The table of requests without output tokens. No figure is computed here.

use inferometer_analysis::Summary;
use inferometer_model::metrics::{e2e, throughput};

use crate::number::{bytes, two_decimals};
use crate::{MISSING, Table, count, left, right, significant};

/// A row per pass of embeddings or rankings. Such a pass has no TTFT and no TPOT.
pub(super) fn pooled(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let pooled = pass.pooled.as_ref()?;
        let e2e = pass.latency(&e2e::FROM_SENT);
        let number = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
        let size = pooled.answer_bytes.map_or(MISSING.to_owned(), |it| bytes(it.mean as u64));
        Some([
            left("Pass", cell.place(pass)),
            right("Inputs", count(pooled.inputs)),
            right("Of a request", significant(pooled.inputs as f64 / pooled.requests as f64)),
            right("Requests/s", two_decimals(pass.requests_per_s)),
            right("Inputs/s", two_decimals(pooled.inputs_per_s)),
            right("Input tokens/s", number(pass.figure(&throughput::INPUT_TOKENS))),
            right("E2E p50 (ms)", number(e2e.map(|it| it.p50))),
            right("E2E p90 (ms)", number(e2e.map(|it| it.p90))),
            right("E2E p95 (ms)", number(e2e.and_then(|it| it.p95))),
            right("E2E p99 (ms)", number(e2e.map(|it| it.p99))),
            right("Per input, p50 (ms)", number(pooled.ms_per_input.map(|it| it.p50))),
            right("Dimensions", pooled.dimension.map_or(MISSING.to_owned(), |it| count(it.into()))),
            right("Answer, mean", size),
        ])
    }))
}
