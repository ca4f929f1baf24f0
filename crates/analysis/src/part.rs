//! The figures of a part of the requests of a pass: of one class, one of several servers, or one rank. The figures
//! depend only on the records of this part.

use inferometer_model::{Nanos, OutcomeCounts, Timeline};
use serde::{Deserialize, Serialize};

use crate::interval::{Layout, SentRequest, throughput};
use crate::{Distributions, per_request::PerRequest, range::Ranges};

/// The rate of a part has an interval if the part was sent during at least this share of the pass.
const LEAST_WINDOW: f64 = 0.9;

/// The figures of a part of the requests of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartFigures {
    /// The number of planned requests.
    pub planned: u64,
    /// The outcomes of the planned requests.
    pub outcomes: OutcomeCounts,
    /// Completed requests per second, from the part's first send to its last end.
    pub requests_per_s: Option<f64>,
    /// 95 % interval of `requests_per_s` in a closed loop; absent if the part was sent in less than nine tenths of the
    /// pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_s_ci: Option<[f64; 2]>,
    /// Prompt tokens of the completed requests; absent if the prompt of one of them was not counted.
    pub input_tokens: Option<u64>,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// The distribution of each metric that is computed for parts.
    #[serde(flatten)]
    pub latencies: Distributions,
    /// The ranges of the true figures, given the client's own error; empty if every arrival time is exact.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub ranges: Ranges,
}

/// Collects the records of a part.
#[derive(Clone, Debug)]
pub(crate) struct PartFold {
    outcomes: OutcomeCounts,
    /// The numbers of the completed requests, as many as an interval needs.
    completed: Vec<u32>,
    /// The first send and the last end.
    window: Option<(Nanos, Nanos)>,
    /// The prompt tokens so far; `None` if the prompt of a completed request was not counted.
    input_tokens: Option<u64>,
    output_tokens: u64,
    latencies: PerRequest,
}

impl Default for PartFold {
    fn default() -> Self {
        Self {
            outcomes: OutcomeCounts::default(),
            completed: Vec::new(),
            window: None,
            input_tokens: Some(0),
            output_tokens: 0,
            latencies: PerRequest::new(|metric| metric.of_classes),
        }
    }
}

impl PartFold {
    /// Adds a record. `place` is the index of the request in the course of its pass; `None` if the course did not store
    /// it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, place: Option<u32>) {
        let record = timeline.record;
        self.outcomes.add(record.outcome);
        if let (Some(sent), Some(ended)) = (record.send_start, record.ended) {
            let (first, last) = self.window.unwrap_or((sent, ended));
            self.window = Some((first.min(sent), last.max(ended)));
        }
        if record.outcome.is_complete() {
            self.completed.extend(place.map(|_| record.index));
            let counted = record.input_tokens().map(u64::from);
            self.input_tokens = self.input_tokens.zip(counted).map(|(sum, one)| sum + one);
            self.output_tokens += u64::from(timeline.output_tokens);
            self.latencies.add(timeline, place);
        }
    }

    /// Computes the figures, with confidence intervals if the pass has a layout that allows them.
    pub(crate) fn finish(mut self, layout: Option<&Layout>) -> PartFigures {
        let requests_per_s = self.requests_per_s();
        self.completed.sort_unstable();
        let requests_per_s_ci = layout.and_then(|layout| self.requests_per_s_ci(layout));
        let ranges = self.latencies.take_ranges();
        let (latencies, _) = self.latencies.finish(layout, false);
        PartFigures {
            planned: self.outcomes.total(),
            outcomes: self.outcomes,
            requests_per_s,
            requests_per_s_ci,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            ranges: ranges.finish(&latencies),
            latencies,
        }
    }

    /// The interval of the rate over the whole pass, relative to the part's own window.
    fn requests_per_s_ci(&self, layout: &Layout) -> Option<[f64; 2]> {
        let (first, last) = self.window?;
        let window_s = last.seconds_after(first);
        let duration_s = layout.duration_s();
        let is_counted = |sent: &SentRequest| self.completed.binary_search(&sent.index).is_ok();
        let [low, high] = (window_s >= LEAST_WINDOW * duration_s)
            .then(|| throughput(layout, duration_s, |sent| f64::from(u8::from(is_counted(sent)))))
            .flatten()?;
        Some([low, high].map(|end| end * duration_s / window_s))
    }

    /// Completed requests per second of the time from the first send to the last end.
    fn requests_per_s(&self) -> Option<f64> {
        let (first, last) = self.window?;
        let seconds = last.since(first).as_secs_f64();
        (seconds > 0.0).then(|| self.outcomes.complete as f64 / seconds)
    }
}
