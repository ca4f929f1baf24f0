//! Computes the summary of one pass from its records, and from samples of the metrics of the server and the cards.
//!
//! This module contains no formula (see [`inferometer_model::metrics`]), no verdict and no default.

use crate::abandoned::{AbandonedFold, OfPass};
use crate::instrument::{Instrument, InstrumentFold};
use crate::interval::{Course, Intervals, RateIntervals};
use crate::observed::SourceMetrics;
use crate::pass::{Goodput, is_field};
use crate::{
    Figures, PassSummary, blocks::BlockFold, class::ClassFold, drawn::Drawn,
    failures_as_inf::FailuresAsInfFold, jobs::JobsSummary, media::MediaFold, parts::PartsFold,
    per_request::PerRequest, pooled::PooledFold, recovery::RecoveryFold,
    serving_run::ServingRunFold, structured::StructuredSummary, ttft_parts::TtftFold,
};
use inferometer_model::metrics::{
    EVENTS_KEPT, PassData, Plateau, Span, TokenCurve, concurrency, duration, goodput, steady_state,
    throughput,
};
use inferometer_model::{
    Definition, Detail, Nanos, Observed, Outcome, OutcomeCounts, PassKind, PassPlan, Record,
    StopReason, Timeline, TokensFrom, load::KeptConstant, load::Stages,
    metrics::request_objective::RequestObjective,
};
use inferometer_plan::template::BlockPass;

mod observed;

use observed::{observed, weakness};

/// Computes the summary of one pass from its records, which may be added in any order.
///
/// Memory is limited. Up to [`inferometer_model::stats::SAMPLES_KEPT`] gaps between tokens and
/// [`inferometer_model::stats::VALUES_KEPT`] values of requests are stored; beyond that, a sketch replaces them. Up to
/// [`inferometer_model::metrics::SPANS_KEPT`] requests in flight are stored; beyond that, a grid of time intervals counts
/// them.
#[derive(Clone, Debug)]
pub struct PassFold {
    kind: PassKind,
    load: String,
    repeat: u32,
    trial: Option<u32>,
    concurrency: Option<u32>,
    rate: Option<f64>,
    job_load: Option<f64>,
    objectives: Vec<RequestObjective>,
    holds: KeptConstant,
    course: Course,
    outcomes: OutcomeCounts,
    stopped: Option<StopReason>,
    is_interrupted: bool,
    tokens_from: Option<TokensFrom>,
    reasoning_from: Option<TokensFrom>,
    longer_than_asked: u64,
    data: PassData,
    latencies: PerRequest,
    failures_as_inf: Option<Box<FailuresAsInfFold>>,
    abandoned: Option<AbandonedFold>,
    /// Absent if the load has no stages: a class of the workload may have the same name.
    recovery: Option<RecoveryFold>,
    structured: StructuredSummary,
    ttft: TtftFold,
    classes: ClassFold,
    parts: PartsFold,
    servers: Vec<String>,
    /// Additional figures, in the definitions of a published record, for the workload of that record.
    blocks: Option<Box<BlockFold>>,
    serving_run: Option<Box<ServingRunFold>>,
    /// What the plan asks for as media, and their figures.
    media: (String, MediaFold),
    pooled: PooledFold,
    observed: Observed,
    instrument: InstrumentFold,
}

impl PassFold {
    /// A fold without records.
    pub fn new(pass: &PassPlan) -> Self {
        let plateau = match (pass.kind(), pass.concurrency(), pass.rate()) {
            (PassKind::Closed, Some(concurrency), _) => Plateau::Of(concurrency),
            (PassKind::Open, _, Some(rate)) if rate.is_finite() => Plateau::Around,
            _ => Plateau::None,
        };
        Self {
            kind: pass.kind(),
            load: pass.to_string(),
            repeat: 1,
            trial: None,
            concurrency: pass.concurrency(),
            rate: pass.rate(),
            job_load: pass.constant_load(),
            objectives: Vec::new(),
            holds: pass.keeps_constant(),
            course: Course::default(),
            outcomes: OutcomeCounts::default(),
            stopped: None,
            is_interrupted: false,
            tokens_from: None,
            reasoning_from: None,
            longer_than_asked: 0,
            data: PassData {
                plateau,
                tokens: TokenCurve::keeping(EVENTS_KEPT),
                ..PassData::default()
            },
            latencies: PerRequest::new(|_| true),
            failures_as_inf: None,
            abandoned: None,
            recovery: (pass.stages() != Stages::default()).then(RecoveryFold::default),
            structured: StructuredSummary::default(),
            ttft: TtftFold::default(),
            classes: ClassFold::default(),
            parts: PartsFold::default(),
            servers: Vec::new(),
            blocks: None,
            serving_run: None,
            media: (String::new(), MediaFold::default()),
            pooled: PooledFold::default(),
            observed: Observed::default(),
            instrument: InstrumentFold::default(),
        }
    }

    /// Sets the number of the repeat to which the pass belongs, from 1.
    #[must_use]
    pub fn of_repeat(mut self, repeat: u32) -> Self {
        self.repeat = repeat;
        self
    }

    /// Sets the number of the trial of a search or a sweep to which the pass belongs, from 1. The repeat gets the same
    /// number.
    #[must_use]
    pub fn of_trial(mut self, trial: u32) -> Self {
        (self.repeat, self.trial) = (trial, Some(trial));
        self
    }

    /// Sets the names of the servers behind the load, if there are several.
    #[must_use]
    pub fn of_servers(mut self, names: &[String]) -> Self {
        self.servers = names.to_vec();
        self
    }

    /// Also counts the requests that meet all of these objectives: the objectives of
    /// [`inferometer_plan::Plan::goodput`].
    #[must_use]
    pub fn judging(mut self, objectives: &[RequestObjective]) -> Self {
        self.objectives = objectives.to_vec();
        self.data.met = (!objectives.is_empty()).then_some(0);
        self
    }

    /// Judges the requests of these classes by objectives of their own, or by those of [`Self::judging`].
    #[must_use]
    pub fn judging_classes(mut self, classes: &[(&str, &[RequestObjective])]) -> Self {
        let is_judged = self.classes.judge(classes, &self.objectives);
        self.data.met = self.data.met.or(is_judged.then_some(0));
        self
    }

    /// If `is_wanted`, also computes the latencies in which failed requests count as infinite.
    #[must_use]
    pub fn with_failures_as_inf(mut self, is_wanted: bool) -> Self {
        self.failures_as_inf = is_wanted.then(Box::default);
        self
    }

    /// If `is_wanted`, also computes the figures of clients that left.
    #[must_use]
    pub fn with_abandoned(mut self, is_wanted: bool) -> Self {
        self.abandoned = is_wanted.then(AbandonedFold::default);
        self
    }

    /// Also computes the figures of the published text-block log, for a pass over text blocks.
    #[must_use]
    pub fn over_blocks(mut self, pass: BlockPass) -> Self {
        self.blocks = Some(Box::new(BlockFold::new(pass)));
        self
    }

    /// Also computes the six figures of the published serving script.
    #[must_use]
    pub fn as_serving_run(mut self) -> Self {
        self.serving_run = Some(Box::default());
        self
    }

    /// Sets what the plan asks for as media, in words.
    #[must_use]
    pub fn of_media(mut self, plan: String) -> Self {
        self.media.0 = plan;
        self
    }

    /// Adds samples of the metrics of the server and of the cards.
    pub fn observe(&mut self, observed: Observed) {
        self.observed.extend(observed);
    }

    /// Adds the record of one planned request, whatever its outcome.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.add_outcome(record, 1);
        self.abandoned.iter_mut().for_each(|fold| fold.add(timeline));
        self.data.streamed |= record.streamed;
        self.instrument.add(timeline);
        let complete = record.outcome.is_complete();
        let asked = self.classes.objectives_of(timeline).unwrap_or(&self.objectives);
        let met = complete && self.data.met.is_some() && asked.iter().all(|it| it.is_met(timeline));
        let is_judged = self.data.met.map(|_| met);
        self.recovery.iter_mut().for_each(|fold| fold.add(record, is_judged));
        let at = self.course.add(timeline, met);
        self.classes.add(timeline, at, met);
        self.parts.add(timeline, at);
        self.blocks.iter_mut().for_each(|fold| fold.add(timeline));
        self.serving_run.iter_mut().for_each(|fold| fold.add(timeline));
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            self.data.in_flight.add(Span { send_start, ended });
        }
        self.latencies.add(timeline, at);
        self.data.jobs.add(timeline);
        if let Some(fold) = &mut self.failures_as_inf {
            fold.add(timeline);
        }
        self.data.met = self.data.met.map(|count| count + u64::from(met));
        if met {
            let input_tokens = record.input_tokens().map_or(0, u64::from);
            self.data.met_tokens += input_tokens + u64::from(timeline.output_tokens);
        }
        if complete {
            self.add_complete(timeline);
        }
    }

    /// Adds `count` requests that never began. Their records are equal to that of `timeline` except for the index.
    pub fn add_never_begun(&mut self, timeline: &Timeline<'_>, count: u32) {
        let record = timeline.record;
        self.add_outcome(record, u64::from(count));
        self.data.streamed |= record.streamed;
        for _ in 0..count {
            self.classes.add(timeline, None, false);
            self.data.jobs.add(timeline);
            self.parts.add(timeline, None);
            if let Some(fold) = &mut self.failures_as_inf {
                fold.add(timeline);
            }
            self.blocks.iter_mut().for_each(|fold| fold.add(timeline));
            self.serving_run.iter_mut().for_each(|fold| fold.add(timeline));
        }
    }

    fn add_outcome(&mut self, record: &Record, count: u64) {
        let detail = record.detail.as_ref();
        self.outcomes.add_times(record.outcome, count);
        // Whether a request whose client left would have failed, or met the objectives, is unknown.
        let is_left = matches!(record.outcome, Outcome::Abandoned { .. });
        self.data.planned += if is_left { 0 } else { count };
        self.stopped = self.stopped.or_else(|| detail?.stop_reason());
        self.is_interrupted |= detail == Some(&Detail::Interrupted);
    }

    fn add_complete(&mut self, timeline: &Timeline<'_>) {
        let input_tokens = timeline.record.input_tokens();
        self.structured.add(timeline);
        self.ttft.add(timeline);
        self.media.1.add(timeline);
        self.pooled.add(timeline);
        self.data.completed += 1;
        self.data.tokens.add(&timeline.events);
        // An answer without any event: its tokens are known to have come by its finish reason.
        if let (true, Some((end, _))) = (timeline.events.is_empty(), timeline.hidden.end) {
            self.data.tokens.add_at(end, f64::from(timeline.output_tokens));
        }
        // If the tokens of a prompt or of an output were not counted, a finding says so: see `crate::inspect`.
        self.data.output_tokens += u64::from(timeline.output_tokens);
        self.longer_than_asked +=
            u64::from(timeline.record.is_longer_than_asked(timeline.counted.0));
        self.data.uncounted += u64::from(timeline.tokens_from.is_none());
        self.data.input_tokens += input_tokens.map_or(0, u64::from);
        self.data.uncounted_prompts += u64::from(input_tokens.is_none());
        self.data.reasoning_tokens += timeline.reasoning.map_or(0, |(tokens, _)| tokens.into());
        let reasoning_from = timeline.reasoning.map(|(_, from)| from);
        for (weakest, from) in [
            (&mut self.tokens_from, timeline.tokens_from),
            (&mut self.reasoning_from, reasoning_from),
        ] {
            *weakest = weakest.iter().copied().chain(from).max_by_key(weakness);
        }
    }

    /// Computes the summary of the records so far.
    pub fn finish(self) -> PassSummary {
        self.finish_with(false).0
    }

    /// Computes the summary of the records so far, and what charts show beside it.
    pub fn finish_drawn(self) -> (PassSummary, Drawn) {
        self.finish_with(true)
    }

    fn finish_with(mut self, is_drawn: bool) -> (PassSummary, Drawn) {
        let ranges = self.latencies.take_ranges();
        let layout = self.course.layout(&self.holds, &self.data.tokens);
        let intervals = Intervals::of_layout(&layout);
        let layout = layout.as_ref().ok();
        let figures = Figures::of(&self.data);
        let figure = |metric: &Definition| figures.get(metric);
        let duration_s = figure(&duration::DEFINITION);
        let planned = self.outcomes.total();
        let are_counted = self.data.uncounted_prompts + self.data.uncounted == 0;
        let rates = layout.zip(duration_s).map(|(all, s)| RateIntervals::of(all, planned, s));
        let rates = rates.unwrap_or_default();
        let objectives = self.classes.objectives_in_words(&self.objectives);
        let blocks = self.blocks.map(|fold| fold.finish(self.concurrency));
        // If times between tokens are unknown, it is also unknown which requests met an objective on these times.
        let lacks_gaps = !self.latencies.has_gaps();
        let is_judged = !lacks_gaps || !self.classes.judges_gaps(&self.objectives);
        let met = self.data.met.filter(|_| is_judged);
        let (server, hardware) = observed(&self.data, &self.observed);
        let is_counted = self.outcomes.failed() == 0 && self.tokens_from == Some(TokensFrom::Usage);
        let of_pass =
            OfPass::new(&self.data, &self.observed, server.as_ref().filter(|_| is_counted));
        let abandoned = self.abandoned.and_then(|fold| fold.finish(&of_pass));
        let first_send = self.data.in_flight.first_send();
        let (latencies, drawn) = self.latencies.finish(layout, is_drawn);
        let (servers, ranks) = self.parts.finish(&self.servers, &latencies, layout);
        let in_flight = &self.data.in_flight;
        let span = in_flight.first_send().zip(in_flight.last_end());
        let sources = span.map_or_else(Vec::new, |span| SourceMetrics::each(&self.observed, span));
        let instrument =
            Instrument { ranges: ranges.finish(&latencies), ..self.instrument.finish() };
        let summary = PassSummary {
            kind: self.kind,
            load: self.load,
            repeat: self.repeat,
            trial: self.trial,
            concurrency: self.concurrency,
            rate: self.rate,
            planned,
            outcomes: self.outcomes,
            stopped: self.stopped,
            interrupted: self.is_interrupted,
            started_s: first_send.map(|at| at.seconds_after(Nanos::ZERO)),
            duration_s,
            requests_per_s: figure(&throughput::REQUESTS),
            requests_per_s_ci: rates.requests_per_s,
            input_tokens: (self.data.uncounted_prompts == 0).then_some(self.data.input_tokens),
            output_tokens: self.data.output_tokens,
            longer_than_asked: self.longer_than_asked,
            output_tokens_per_s: figure(&throughput::OUTPUT_TOKENS),
            output_tokens_per_s_ci: rates.output_tokens_per_s,
            total_tokens_per_s_ci: rates.total_tokens_per_s.filter(|_| are_counted),
            tokens_from: self.tokens_from,
            reasoning_from: self.reasoning_from,
            peak_concurrency: figure(&concurrency::PEAK).map(|peak| peak as u64),
            mean_concurrency: figure(&concurrency::MEAN),
            steady_state: steady_state::steady_state(&self.data),
            goodput: met.map(|met| Goodput {
                objectives,
                met,
                requests_per_s: figure(&goodput::DEFINITION),
                requests_per_s_ci: rates.goodput_per_s,
                tokens: are_counted.then_some(self.data.met_tokens),
                tokens_per_s_ci: rates.tokens_within_per_s.filter(|_| are_counted),
                attainment: figure(&goodput::ATTAINMENT),
                attainment_ci: rates.attainment,
            }),
            failures_as_inf: self.failures_as_inf.map(|fold| fold.finish()),
            limits_prefill: false,
            abandoned,
            recovery: self.recovery.map(RecoveryFold::finish).unwrap_or_default(),
            latencies,
            figures: Figures::each(|metric| figure(metric).filter(|_| !is_field(metric))),
            intervals,
            cost: None,
            jobs: self.data.jobs.totals().map(|totals| JobsSummary::of(totals, self.job_load)),
            structured: self.structured.finish(),
            ttft_parts: self.ttft.finish(server.as_ref()),
            media: self.media.1.finish(self.media.0, duration_s).map(Box::new),
            pooled: self.pooled.finish(duration_s),
            classes: self.classes.finish(layout, !lacks_gaps),
            servers,
            ranks,
            sources,
            blocks,
            serving_run: self.serving_run.map(|fold| fold.finish()),
            server,
            hardware,
            instrument,
        };
        let PassData { in_flight, tokens, .. } = self.data;
        (summary, Drawn { in_flight, tokens, lacks_gaps, latencies: drawn })
    }
}

#[cfg(test)]
mod tests;
