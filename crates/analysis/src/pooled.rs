//! Requests without output tokens of a pass: embeddings, or documents ranked for a query.

use inferometer_model::Timeline;
use inferometer_model::metrics::e2e;
use serde::{Deserialize, Serialize};

use crate::jobs::{Quantiles, quantiles};

/// The inputs of the completed requests of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PooledSummary {
    /// The number of completed requests.
    pub requests: u64,
    /// Their inputs: texts, or pairs of a query and a document.
    pub inputs: u64,
    /// Inputs per second over the duration of the pass.
    pub inputs_per_s: Option<f64>,
    /// The numbers of each vector; absent for rankings, and if answers differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<u32>,
    /// The time from the send to the end of the answer divided by the inputs of the request, in milliseconds.
    pub ms_per_input: Option<Quantiles>,
    /// The bytes of an answer, with its head.
    pub answer_bytes: Option<Quantiles>,
}

/// Collects requests without output tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct PooledFold {
    requests: u64,
    inputs: u64,
    /// The dimensions of the first answer, and whether others differ.
    dimension: Option<u32>,
    differs: bool,
    ms_per_input: Vec<f64>,
    answer_bytes: Vec<f64>,
}

impl PooledFold {
    /// Adds a completed request, if its answer is not generated text.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let pooled = record.pooled;
        if pooled.inputs == 0 {
            return;
        }
        self.requests += 1;
        self.inputs += u64::from(pooled.inputs);
        self.differs |= *self.dimension.get_or_insert(pooled.dimension) != pooled.dimension;
        let of_sent = e2e::FROM_SENT.value.of_request(timeline);
        self.ms_per_input.extend(of_sent.map(|ms| ms / f64::from(pooled.inputs)));
        let bytes: u64 = record.reads.iter().map(|read| u64::from(read.bytes)).sum();
        self.answer_bytes.push(bytes as f64);
    }

    /// The figures of a pass of this duration; `None` if all requests generate text.
    pub(crate) fn finish(self, duration_s: Option<f64>) -> Option<PooledSummary> {
        let spread = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            quantiles(&values)
        };
        let duration_s = duration_s.filter(|seconds| *seconds > 0.0);
        (self.requests > 0).then(|| PooledSummary {
            requests: self.requests,
            inputs: self.inputs,
            inputs_per_s: duration_s.map(|seconds| self.inputs as f64 / seconds),
            dimension: self.dimension.filter(|dimension| !self.differs && *dimension > 0),
            ms_per_input: spread(self.ms_per_input),
            answer_bytes: spread(self.answer_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::{Pooled, Record};

    use super::*;

    #[test]
    fn inputs_are_counted_over_the_duration_and_the_time_of_a_request_is_shared_by_its_inputs() {
        let record = |inputs, dimension| {
            // The request takes 60 ms.
            let mut record = steady(0.0, 40.0, 10.0, 3);
            record.streamed = false;
            record.pooled = Pooled { inputs, dimension };
            record
        };
        let finished = |records: &[Record]| {
            let mut fold = PooledFold::default();
            records.iter().for_each(|record| fold.add(&Timeline::new(record)));
            fold.finish(Some(0.5))
        };
        let summary = finished(&[record(4, 64), record(6, 64)]).unwrap();
        assert_eq!((summary.requests, summary.inputs), (2, 10));
        assert_eq!((summary.inputs_per_s, summary.dimension), (Some(20.0), Some(64)));
        assert_eq!(summary.ms_per_input.map(|it| it.max), Some(15.0));
        assert!(summary.answer_bytes.is_some_and(|it| it.mean > 0.0));
        let summary = finished(&[record(1, 64), record(1, 32)]).unwrap();
        assert_eq!(summary.dimension, None);
        assert_eq!(finished(&[record(0, 0)]), None);
    }
}
