//! What the charts of single requests are drawn from: the records in the log of a run, and nothing
//! else, so that a report that is made again shows the same.

use std::path::Path;

use inferometer_plan::Plan;
use inferometer_report::trace::{PassTrace, PassTracer, Traces};
use inferometer_store::{Entry, LogReader, StoreError};

/// Collects timelines from the entries of a log, in order.
pub struct Tracer {
    streamed: bool,
    current: Option<PassTracer>,
    traces: Vec<PassTrace>,
}

impl Tracer {
    /// Nothing read yet.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { streamed: plan.sampling.stream, current: None, traces: Vec::new() }
    }

    /// Adds the next entry.
    pub fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::PassBegin(begin) => {
                self.close();
                self.current = Some(PassTracer::new(begin.cell, self.streamed));
            }
            Entry::Record(record) => {
                if let Some(tracer) = &mut self.current {
                    tracer.add(record);
                }
            }
            Entry::Observed(observed) => {
                if let Some(tracer) = &mut self.current {
                    tracer.observe(observed);
                }
            }
            Entry::PassEnd(_) | Entry::RunEnd(_) => self.close(),
        }
    }

    fn close(&mut self) {
        if let Some(tracer) = self.current.take() {
            self.traces.push(tracer.finish());
        }
    }

    /// The timelines.
    #[must_use]
    pub fn finish(mut self) -> Traces {
        self.close();
        self.traces.into_iter().collect()
    }
}

/// The timelines of a run whose log is at `path`. A log that ends inside an entry is read up to
/// there.
///
/// # Errors
/// When it cannot be read.
pub fn of_log(path: &Path, plan: &Plan) -> Result<Traces, StoreError> {
    let mut tracer = Tracer::new(plan);
    for entry in LogReader::open(path)? {
        match entry {
            Ok(entry) => tracer.take(&entry),
            // The run is in progress, or was killed.
            Err(error) if error.is_cut() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(tracer.finish())
}
