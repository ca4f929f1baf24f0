//! Figures by class of request. A class is a kind of request within a workload, such as `turn 2` or `cold`. Its figures
//! are reported in addition to the figures of the whole pass.

use inferometer_model::finish_reason::{FILTERED_CLASS, FinishReason};
use inferometer_model::metrics::request_objective::RequestObjective;
use inferometer_model::{Outcome, Timeline};
use serde::{Deserialize, Serialize};

use crate::goodput::Goodput;
use crate::interval::{Layout, attainment};
use crate::part::{PartFigures, PartFold};

/// The figures of the requests of one class within a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// The name of the class: [`inferometer_model::request::Request::class`].
    pub class: String,
    /// The figures of its requests.
    #[serde(flatten)]
    pub figures: PartFigures,
    /// How many of its requests met their objectives; absent unless it is a class of traffic with objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
}

/// The classes of requests of jobs by the share of the prompt, in percent, that the server took from its cache: the
/// lowest share, and the name.
const CACHED: [(u64, &str); 4] = [
    (0, "cached 0 %"),
    (1, "cached 1 to 49 %"),
    (50, "cached 50 to 89 %"),
    (90, "cached 90 to 100 %"),
];

/// Collects the records of a pass by class.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassFold {
    parts: Vec<(Box<str>, PartFold)>,
    judged: Vec<JudgedClass>,
}

/// A class of traffic whose requests are judged.
#[derive(Clone, Debug)]
struct JudgedClass {
    name: String,
    objectives: Vec<RequestObjective>,
    planned: u64,
    met: u64,
    /// The numbers of its requests, as many as an interval needs.
    sent: Vec<u32>,
}

impl JudgedClass {
    /// The objectives as they were written. Without any, a complete request counts.
    fn text(&self) -> String {
        match self.objectives.is_empty() {
            true => "complete".to_owned(),
            false => in_words(&self.objectives),
        }
    }

    fn finish(&self, layout: Option<&Layout>) -> Goodput {
        let mut sent = self.sent.clone();
        sent.sort_unstable();
        let is_whole = sent.len() as u64 == self.planned;
        let layout = layout.filter(|_| is_whole);
        Goodput {
            objectives: self.text(),
            met: self.met,
            requests_per_s: None,
            requests_per_s_ci: None,
            tokens: None,
            tokens_per_s_ci: None,
            attainment: (self.planned > 0).then(|| self.met as f64 / self.planned as f64),
            attainment_ci: layout
                .and_then(|layout| attainment(layout, |of| sent.binary_search(&of.index).is_ok())),
        }
    }
}

fn is_on_gaps(objective: &RequestObjective) -> bool {
    objective.metric.definition().of_gaps
}

fn in_words(objectives: &[RequestObjective]) -> String {
    let texts: Vec<&str> = objectives.iter().map(|it| it.text.as_str()).collect();
    texts.join(",")
}

impl ClassFold {
    /// Also judges the requests of these classes by objectives of their own, or else by those of the plan. Returns whether
    /// there are any.
    pub(crate) fn judge(
        &mut self,
        classes: &[(&str, &[RequestObjective])],
        of_plan: &[RequestObjective],
    ) -> bool {
        let has_own = classes.iter().any(|(_, own)| !own.is_empty());
        if !has_own && of_plan.is_empty() {
            return false;
        }
        let judged = classes.iter().map(|(name, own)| JudgedClass {
            name: (*name).to_owned(),
            objectives: if own.is_empty() { of_plan } else { own }.to_vec(),
            planned: 0,
            met: 0,
            sent: Vec::new(),
        });
        self.judged = judged.collect();
        !self.judged.is_empty()
    }

    /// Whether an objective of the plan or of a judged class is on times between tokens.
    pub(crate) fn judges_gaps(&self, of_plan: &[RequestObjective]) -> bool {
        let of_classes = self.judged.iter().flat_map(|class| &class.objectives);
        of_plan.iter().chain(of_classes).any(is_on_gaps)
    }

    /// The objectives of the plan as they were written; if classes are judged, those of each class.
    pub(crate) fn objectives_in_words(&self, of_plan: &[RequestObjective]) -> String {
        let each = self.judged.iter().map(|class| format!("{}: {}", class.name, class.text()));
        match self.judged.is_empty() {
            true => in_words(of_plan),
            false => each.collect::<Vec<_>>().join("; "),
        }
    }

    /// The objectives of the class of a request; `None` if the class is not judged.
    pub(crate) fn objectives_of(&self, timeline: &Timeline<'_>) -> Option<&[RequestObjective]> {
        let class = timeline.record.class.as_deref()?;
        let judged = self.judged.iter().find(|judged| judged.name == class)?;
        Some(&judged.objectives)
    }

    /// Counts a planned request of a judged class, whose client stayed.
    fn add_judged(&mut self, timeline: &Timeline<'_>, met: bool, at: Option<u32>) {
        let record = timeline.record;
        let is_of = |judged: &&mut JudgedClass| Some(&*judged.name) == record.class.as_deref();
        if matches!(record.outcome, Outcome::Abandoned { .. }) {
            return;
        }
        if let Some(judged) = self.judged.iter_mut().find(is_of) {
            judged.planned += 1;
            judged.met += u64::from(met);
            judged.sent.extend(at.map(|_| record.index));
        }
    }

    /// Adds a record to its class, if the record has a class. If a content filter ended the answer, the record is also
    /// added to the class of filtered answers. A request of a job whose cached tokens the server states is also added to
    /// the classes of its cached share and of its fresh tokens. `at` is the index that `Course::add` returned for the request;
    /// `met` states whether it met the objectives of its class.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, at: Option<u32>, met: bool) {
        let record = timeline.record;
        self.add_judged(timeline, met, at);
        if let Some(class) = &record.class {
            self.add_to(class, timeline, at);
        }
        let counts = record.usage.cached.zip(record.usage.prompt);
        if let (Some(_), Some((cached, prompt @ 1..))) = (&record.job, counts) {
            let share = u64::from(cached) * 100 / u64::from(prompt);
            let fresh = prompt.saturating_sub(cached).max(256).next_power_of_two();
            self.add_to(
                CACHED[CACHED.partition_point(|(from, _)| *from <= share) - 1].1,
                timeline,
                at,
            );
            self.add_to(&format!("fresh tokens up to {fresh}"), timeline, at);
        }
        let reason = record.finish_reason.as_deref().map(FinishReason::of);
        if reason == Some(FinishReason::Filtered) {
            self.add_to(FILTERED_CLASS, timeline, at);
        }
    }

    fn add_to(&mut self, name: &str, timeline: &Timeline<'_>, place: Option<u32>) {
        let known = self.parts.iter().position(|(known, _)| &**known == name);
        let at = known.unwrap_or_else(|| {
            self.parts.push((name.into(), PartFold::default()));
            self.parts.len() - 1
        });
        self.parts[at].1.add(timeline, place);
    }

    /// The figures of all classes. Numbers at the end of names are sorted as numbers: `turn 2` before `turn 10`.
    /// Without `has_gaps`, it is not known which requests met an objective on times between tokens.
    pub(crate) fn finish(mut self, layout: Option<&Layout>, has_gaps: bool) -> Vec<ClassSummary> {
        self.parts.sort_by(|(a, _), (b, _)| in_order(a).cmp(&in_order(b)));
        let judged = |class: &str| self.judged.iter().find(|judged| judged.name == class);
        let summary = |(class, fold): (Box<str>, PartFold)| ClassSummary {
            goodput: judged(&class)
                .filter(|judged| has_gaps || !judged.objectives.iter().any(is_on_gaps))
                .map(|judged| judged.finish(layout)),
            class: class.into(),
            figures: fold.finish(layout),
        };
        self.parts.into_iter().map(summary).collect()
    }
}

/// Splits a name into its text and the number at its end; 0 without such a number.
fn in_order(name: &str) -> (&str, u64) {
    let words = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (words, name[words.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::metrics::{e2e, tpot, ttft};
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::Record;

    #[test]
    fn answers_stopped_by_a_content_filter_also_count_in_a_separate_class() {
        let mut filtered = steady(0.0, 40.0, 10.0, 3);
        filtered.finish_reason = Some("content_filter".to_owned());
        let turn = Record { class: Some("turn 2".into()), ..filtered.clone() };
        let mut fold = ClassFold::default();
        [&filtered, &turn]
            .into_iter()
            .for_each(|record| fold.add(&Timeline::new(record), None, false));
        let classes = fold.finish(None, true);
        let planned: Vec<_> =
            classes.iter().map(|class| (class.class.as_str(), class.figures.planned)).collect();
        assert_eq!(planned, [("content_filter", 2), ("turn 2", 1)]);
    }

    #[test]
    fn the_figures_of_a_class_are_computed_from_its_requests_only() {
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
        records.iter().for_each(|record| fold.add(&Timeline::new(record), None, false));
        let classes = fold.finish(None, true);
        let names: Vec<_> = classes.iter().map(|class| class.class.as_str()).collect();
        assert_eq!(names, ["turn 2", "turn 10"]);
        let second = &classes[0].figures;
        assert_eq!((second.planned, second.outcomes.complete), (3, 2));
        assert_eq!((second.input_tokens, second.output_tokens), (Some(16), 8));
        // The class has three requests, sent at the same time. The longest takes 100 ms, and two completed.
        assert_eq!(second.requests_per_s.map(f64::round), Some(20.0));
        let mean =
            |of: Option<inferometer_model::stats::Distribution>| of.map(|of| (of.mean, of.n));
        assert_eq!(mean(second.latencies.get(&ttft::FROM_SENT).copied()), Some((50.0, 2)));
        assert_eq!(mean(second.latencies.get(&tpot::DEFINITION).copied()), Some((10.0, 2)));
        assert_eq!(mean(second.latencies.get(&e2e::FROM_SENT).copied()), Some((80.0, 2)));
        assert_eq!(
            mean(classes[1].figures.latencies.get(&ttft::FROM_SENT).copied()),
            Some((100.0, 1))
        );
    }

    #[test]
    fn requests_of_jobs_have_classes_by_their_cached_share_and_their_fresh_tokens() {
        let mut fold = ClassFold::default();
        for (is_of_job, cached, prompt) in [
            (true, Some(0), 1_000),
            (true, Some(490), 1_000),
            (true, Some(500), 1_000),
            (true, Some(999), 1_000),
            (true, None, 1_000),
            (false, Some(999), 1_000),
        ] {
            let mut record = steady(0.0, 40.0, 10.0, 3);
            record.job = is_of_job.then(Box::default);
            (record.usage.cached, record.usage.prompt) = (cached, Some(prompt));
            fold.add(&Timeline::new(&record), None, false);
        }
        let classes = fold.finish(None, true);
        let found: Vec<(&str, u64)> =
            classes.iter().map(|class| (&*class.class, class.figures.planned)).collect();
        let expected = [
            ("cached 0 %", 1),
            ("cached 1 to 49 %", 1),
            ("cached 50 to 89 %", 1),
            ("cached 90 to 100 %", 1),
            ("fresh tokens up to 256", 1),
            ("fresh tokens up to 512", 2),
            ("fresh tokens up to 1024", 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_class_with_an_uncounted_prompt_has_no_total_of_input_tokens() {
        let mut fold = ClassFold::default();
        for counted in [Some(8), None, Some(8)] {
            let mut record = steady(0.0, 40.0, 10.0, 3);
            record.class = Some("cold".into());
            record.usage.prompt = counted;
            record.prompt_tokens_tokenizer = None;
            fold.add(&Timeline::new(&record), None, false);
        }
        let classes = fold.finish(None, true);
        assert_eq!((classes[0].figures.input_tokens, classes[0].figures.output_tokens), (None, 9));
    }
}
