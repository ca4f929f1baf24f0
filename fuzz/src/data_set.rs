//! Reads any bytes as the file of a data set. The first byte selects the kind of the data set. The reader must not
//! panic. Reading the file twice must give the same requests, or an error both times.

use std::io::Write;
use std::sync::Arc;

use inferometer_model::cell::CellPlan;
use inferometer_plan::{RowsFormat, RowsPlan, ServingLimits, TracePlan, TraceWindow, WorkloadPlan};
use inferometer_workload::{OpenWorkload, PromptScope};

use super::words::Words;

pub fn check(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("the file is writable");
    let path = file.path().to_str().expect("the path is UTF-8").to_owned();
    let plan = workload(*kind, path);
    assert_eq!(requests(&plan), requests(&plan));
}

fn workload(kind: u8, dataset: String) -> WorkloadPlan {
    let rows = |format, timed| {
        let (dataset, columns) = (dataset.clone(), Default::default());
        WorkloadPlan::Rows(RowsPlan { dataset, format, columns, output_length: Some(2), timed })
    };
    let timed = kind & 0x80 != 0;
    match kind & 0x7f {
        b'j' => rows(RowsFormat::Jsonl, timed),
        b'c' => rows(RowsFormat::Csv, timed),
        b'p' => rows(RowsFormat::Parquet, timed),
        b's' => WorkloadPlan::Sharegpt { dataset },
        b'w' => WorkloadPlan::ServingRun { dataset, limits: ServingLimits::VLLM },
        b'r' => WorkloadPlan::Replay { dataset },
        _ => WorkloadPlan::Trace(TracePlan {
            dataset,
            format: None,
            window: TraceWindow::default(),
            scale: 1.0,
            max_tokens: Some(100_000),
            block_tokens: None,
        }),
    }
}

/// The first three requests as text; `None` if there is an error.
fn requests(plan: &WorkloadPlan) -> Option<String> {
    let workload = OpenWorkload::open(plan, Arc::new(Words::new()), 1, "salt").ok()?;
    let (own, _) = plan.own_axes();
    let cell = if own { CellPlan::OWN } else { CellPlan { input_length: 8, output_length: 4 } };
    let batch = workload.requests(cell, &PromptScope::new("cell", "pass", 0), 3).ok()?;
    Some(format!("{:?}", batch.requests))
}
