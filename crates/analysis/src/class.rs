//! The classes of a pass: requests of several kinds in one workload (`turn 2`, `cold`), each with
//! figures of its own beside those of the whole pass.

use inferometer_metrics::Timeline;
use inferometer_model::finish_reason::{FILTERED_CLASS, FinishReason};
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::time::Nanos;
use serde::{Deserialize, Serialize};

use crate::distributions::Distributions;
use crate::interval::Layout;
use crate::per_request::PerRequest;
use crate::range::Ranges;

/// The figures of the requests of one class within a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// [`inferometer_model::request::Request::class`]
    pub class: String,
    /// Requests planned.
    pub planned: u64,
    /// What became of them.
    pub outcomes: OutcomeCounts,
    /// Completed requests per second, from the class's first send to its last end.
    #[serde(default)]
    pub requests_per_s: Option<f64>,
    /// Prompt tokens of the completed requests; absent where nobody counted one of them.
    pub input_tokens: Option<u64>,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// The distribution of each metric that classes have.
    #[serde(flatten)]
    pub latencies: Distributions,
    /// Between which ends they lie for the client's own error; nothing where every arrival was exact.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub ranges: Ranges,
}

/// Folds the records of a pass by class.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassFold(Vec<Class>);

#[derive(Clone, Debug)]
struct Class {
    name: Box<str>,
    outcomes: OutcomeCounts,
    /// The first send and the last end.
    window: Option<(Nanos, Nanos)>,
    /// Unknown from the first request on whose prompt nobody counted.
    input_tokens: Option<u64>,
    output_tokens: u64,
    latencies: PerRequest,
}

impl ClassFold {
    /// Takes in a record; one of no class is in the figures of the whole pass only. An answer that a
    /// filter ended is in the class of these, and in its own.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, at: Option<u32>) {
        let record = timeline.record;
        if let Some(class) = &record.class {
            self.add_to(class, timeline, at);
        }
        let reason = record.finish_reason.as_deref().map(FinishReason::of);
        if reason == Some(FinishReason::Filtered) {
            self.add_to(FILTERED_CLASS, timeline, at);
        }
    }

    fn add_to(&mut self, name: &str, timeline: &Timeline<'_>, place: Option<u32>) {
        let record = timeline.record;
        let known = self.0.iter().position(|class| &*class.name == name);
        let at = known.unwrap_or_else(|| {
            self.0.push(Class::new(name.into()));
            self.0.len() - 1
        });
        let class = &mut self.0[at];
        class.outcomes.add(record.outcome);
        if let (Some(sent), Some(ended)) = (record.send_start, record.ended) {
            let (first, last) = class.window.unwrap_or((sent, ended));
            class.window = Some((first.min(sent), last.max(ended)));
        }
        if record.outcome.is_complete() {
            let counted = record.input_tokens().map(u64::from);
            class.input_tokens = class.input_tokens.zip(counted).map(|(sum, one)| sum + one);
            class.output_tokens += u64::from(timeline.output_tokens);
            class.latencies.add(timeline, place);
        }
    }

    /// The classes in the order in which people count: `turn 2` before `turn 10`.
    pub(crate) fn finish(mut self, layout: Option<&Layout>) -> Vec<ClassSummary> {
        self.0.sort_by(|a, b| in_order(&a.name).cmp(&in_order(&b.name)));
        let summary = |mut class: Class| {
            let requests_per_s = class.requests_per_s();
            let ranges = class.latencies.take_ranges();
            let latencies = class.latencies.finish(layout);
            ClassSummary {
                requests_per_s,
                class: class.name.into(),
                planned: class.outcomes.total(),
                outcomes: class.outcomes,
                input_tokens: class.input_tokens,
                output_tokens: class.output_tokens,
                ranges: ranges.finish(&latencies),
                latencies,
            }
        };
        self.0.into_iter().map(summary).collect()
    }
}

impl Class {
    fn new(name: Box<str>) -> Self {
        Self {
            name,
            outcomes: OutcomeCounts::default(),
            window: None,
            input_tokens: Some(0),
            output_tokens: 0,
            latencies: PerRequest::new(|metric| metric.of_classes),
        }
    }

    /// Completed requests over the time from the first send to the last end.
    fn requests_per_s(&self) -> Option<f64> {
        let (first, last) = self.window?;
        let seconds = last.since(first).as_secs_f64();
        (seconds > 0.0).then(|| self.outcomes.complete as f64 / seconds)
    }
}

/// A name without the number that it ends with, and the number.
fn in_order(name: &str) -> (&str, u64) {
    let words = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (words, name[words.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_metrics::{e2e, tpot, ttft};
    use inferometer_model::fixture::steady;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::Record;

    #[test]
    fn answers_that_a_filter_ended_are_in_a_class_of_their_own_too() {
        let mut filtered = steady(0.0, 40.0, 10.0, 3);
        filtered.finish_reason = Some("content_filter".to_owned());
        let turn = Record { class: Some("turn 2".into()), ..filtered.clone() };
        let mut fold = ClassFold::default();
        [&filtered, &turn].into_iter().for_each(|record| fold.add(&Timeline::new(record), None));
        let classes = fold.finish(None);
        let planned: Vec<_> =
            classes.iter().map(|class| (class.class.as_str(), class.planned)).collect();
        assert_eq!(planned, [("content_filter", 2), ("turn 2", 1)]);
    }

    #[test]
    fn each_class_has_the_figures_of_its_own_requests() {
        let record = |class: Option<&str>, ttft_ms, tokens| {
            let mut record = steady(0.0, ttft_ms, 10.0, tokens);
            record.class = class.map(Into::into);
            record
        };
        let mut failed = record(Some("turn 2"), 5.0, 3);
        failed.outcome = Outcome::Truncated;
        let records = [
            record(Some("turn 10"), 100.0, 2),
            record(Some("turn 2"), 40.0, 3),
            record(None, 7.0, 1),
            record(Some("turn 2"), 60.0, 5),
            failed,
        ];
        let mut fold = ClassFold::default();
        records.iter().for_each(|record| fold.add(&Timeline::new(record), None));
        let classes = fold.finish(None);
        let names: Vec<_> = classes.iter().map(|class| class.class.as_str()).collect();
        assert_eq!(names, ["turn 2", "turn 10"]);
        let second = &classes[0];
        assert_eq!((second.planned, second.outcomes.complete), (3, 2));
        assert_eq!((second.input_tokens, second.output_tokens), (Some(16), 8));
        // Three at the same time, the longest for 100 ms, of which two count.
        assert_eq!(second.requests_per_s.map(f64::round), Some(20.0));
        let mean = |of: Option<inferometer_stats::Distribution>| of.map(|of| (of.mean, of.n));
        assert_eq!(mean(second.latencies.get(&ttft::FROM_SENT).copied()), Some((50.0, 2)));
        assert_eq!(mean(second.latencies.get(&tpot::DEFINITION).copied()), Some((10.0, 2)));
        assert_eq!(mean(second.latencies.get(&e2e::FROM_SENT).copied()), Some((80.0, 2)));
        assert_eq!(mean(classes[1].latencies.get(&ttft::FROM_SENT).copied()), Some((100.0, 1)));
    }

    #[test]
    fn a_class_with_a_prompt_that_nobody_counted_has_no_sum_of_prompt_tokens() {
        let mut fold = ClassFold::default();
        for counted in [Some(8), None, Some(8)] {
            let mut record = steady(0.0, 40.0, 10.0, 3);
            record.class = Some("cold".into());
            record.usage.prompt = counted;
            record.prompt_tokens_tokenizer = None;
            fold.add(&Timeline::new(&record), None);
        }
        let classes = fold.finish(None);
        assert_eq!((classes[0].input_tokens, classes[0].output_tokens), (None, 9));
    }
}
