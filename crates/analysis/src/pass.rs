//! The figures of one pass, as stored in results. [`crate::fold`] computes them.

pub use crate::goodput::Goodput;
use inferometer_model::cell::trial_or_repeat_suffix;
use inferometer_model::metrics::{
    SteadyState, concurrency, duration, failures, goodput, registry, steady_state, throughput,
};
use inferometer_model::stats::Distribution;
use inferometer_model::{Definition, OutcomeCounts, PassKind, StopReason, TokensFrom, digits};
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use crate::observed::{HardwareUse, ServerMetrics, SourceMetrics};
use crate::parts::{RankFigures, ServerFigures};
use crate::{
    Distributions, Figures, abandoned::AbandonedSummary, blocks::BlockFigures, class::ClassSummary,
    cost::PassCost, failures_as_inf::FailuresAsInf, instrument::Instrument, interval::Intervals,
    jobs::JobsSummary, media::MediaSummary, pooled::PooledSummary, recovery::Recovery,
    serving_run::ServingRun, structured::StructuredSummary, ttft_parts::TtftParts,
};

/// The figures of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassSummary {
    /// The kind of load of the pass.
    pub kind: PassKind,
    /// The load as text; empty in results of versions without this field.
    #[serde(default)]
    pub load: String,
    /// The number of the repeat to which the pass belongs, from 1. For a trial, it is the number of the trial.
    #[serde(default = "first")]
    pub repeat: u32,
    /// The number of the trial of a search or a sweep to which the pass belongs, from 1; absent for other
    /// passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// The planned number in flight; only for a closed loop with a constant number.
    pub concurrency: Option<u32>,
    /// The planned rate in requests per second; only for an open loop with a constant rate.
    pub rate: Option<f64>,
    /// The number of planned requests.
    pub planned: u64,
    /// The outcomes of the planned requests.
    pub outcomes: OutcomeCounts,
    /// When the first request of the pass was sent, in seconds. In the results of a run, this time counts from the
    /// first request of the first pass. In a comparison in blocks, it counts from the start of the run. Absent if
    /// unknown, as in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_s: Option<f64>,
    /// The condition of the plan that ended the pass early; absent if no condition ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// Whether requests were not sent because the user interrupted the run. Not written if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The time from the first send to the last end, in seconds.
    pub duration_s: Option<f64>,
    /// Completed requests per second over `duration_s`.
    pub requests_per_s: Option<f64>,
    /// 95 % interval of `requests_per_s`; see `intervals`.
    pub requests_per_s_ci: Option<[f64; 2]>,
    /// Prompt tokens of the completed requests; absent if the prompt of one of them was not counted.
    pub input_tokens: Option<u64>,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// Completed requests with more output tokens than requested. Not written if there are none.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub longer_than_asked: u64,
    /// `output_tokens` per second over `duration_s`.
    pub output_tokens_per_s: Option<f64>,
    /// 95 % interval of `output_tokens_per_s`; see `intervals`.
    pub output_tokens_per_s_ci: Option<[f64; 2]>,
    /// 95 % interval of the prompt and output tokens per second; see `intervals`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens_per_s_ci: Option<[f64; 2]>,
    /// The least reliable source of output token counts among the completed requests.
    pub tokens_from: Option<TokensFrom>,
    /// The least reliable source of reasoning token counts among the completed requests; absent if none of them has
    /// reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_from: Option<TokensFrom>,
    /// The largest number of requests in flight at any instant, from send to end. Absent if single requests are
    /// unknown, as in most imported passes.
    pub peak_concurrency: Option<u64>,
    /// The mean number of requests in flight over `duration_s`.
    pub mean_concurrency: Option<f64>,
    /// Figures of the steady state: the time in which the number of requests in flight stays at the value of the load
    /// (the plateau). Absent if the pass did not reach its plateau, and for kinds of load that have none.
    pub steady_state: Option<SteadyState>,
    /// The requests that met every objective on requests. Absent if the plan has none, or if one of them is on times
    /// between tokens and these times are unknown.
    pub goodput: Option<Goodput>,
    /// Latencies in which failed requests count as infinite; absent unless the plan requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_as_inf: Option<FailuresAsInf>,
    /// Whether the plan limits the requests without a token, so that a send delay may be intended in any load. Not written
    /// if it does not.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub limits_prefill: bool,
    /// The requests whose clients left; absent if no client left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<AbandonedSummary>,
    /// How the objectives on requests hold again after each change of the load; empty without stages, without objectives,
    /// and if no request missed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<Recovery>,
    /// The distribution of each metric of requests or of tokens.
    #[serde(flatten)]
    pub latencies: Distributions,
    /// The value of each metric of whole passes that is not one of the fields above: see [`PassSummary::figure`].
    #[serde(flatten)]
    pub figures: Figures,
    /// The meaning of the confidence intervals, or the reason why the pass has none.
    #[serde(default)]
    pub intervals: Intervals,
    /// What the pass costs; absent without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<PassCost>,
    /// Figures of the jobs, or of the conversations; absent if requests belong to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsSummary>,
    /// The forms of the answers; absent if no request asks for a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<StructuredSummary>,
    /// Where the time to the first token goes; absent if the server does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_parts: Option<TtftParts>,
    /// Figures of the pictures and sounds; absent if no completed request has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Box<MediaSummary>>,
    /// Figures of the inputs of embeddings or rankings; absent if requests generate text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<PooledSummary>,
    /// Figures of each class of requests; empty if no request has a class. Answers that a content filter ended also
    /// form a class.
    #[serde(default)]
    pub classes: Vec<ClassSummary>,
    /// Figures by server, if the load goes to several servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerFigures>,
    /// The figures of each rank whose mean TTFT, TPOT or E2E differs from that of the whole pass by more than chance.
    /// At most 16 ranks are listed. Empty if one process measured the pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFigures>,
    /// The figures of a workload of text blocks, as in published logs; absent for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockFigures>,
    /// The six figures of vLLM 0.2's `benchmark_serving.py`; absent for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving_run: Option<ServingRun>,
    /// The server's own metrics; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerMetrics>,
    /// The metrics of each server, if they were read from several servers.
    #[serde(default, rename = "server_metrics", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceMetrics>,
    /// The use of the cards of the server's machine; absent if no card was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareUse>,
    /// The client's own error in this pass.
    pub instrument: Instrument,
}

impl PassSummary {
    /// Planned requests, without those whose clients left: the denominator of failures and of the attainment.
    pub fn judged(&self) -> u64 {
        self.planned.saturating_sub(self.outcomes.abandoned)
    }

    /// Whether the client's token count came with the answers. A count of events, or of another tokenizer, cannot be
    /// compared with the server's count.
    pub(crate) fn is_counted_by_usage(&self) -> bool {
        self.tokens_from == Some(TokensFrom::Usage)
    }

    /// The output tokens of the pass, as the server counted all of its work and as this client received them; `None` if
    /// they cannot be compared.
    pub(crate) fn counts_of_output(&self) -> Option<(f64, f64)> {
        let failed = self.outcomes.failed() + self.outcomes.abandoned;
        let comparable = failed == 0 && self.is_counted_by_usage();
        let counted = self.server.as_ref()?.generation_tokens;
        let counted = counted.filter(|_| comparable && self.output_tokens > 0)?;
        Some((counted, self.output_tokens as f64))
    }

    /// Whether the pass has this load: requests in flight, or requests per second.
    pub fn is_at(&self, over: Over, load: f64) -> bool {
        self.load_over(over) == Some(load)
    }

    /// The load of the pass, in the unit of [`Over::unit`]; `None` if its load is of another kind.
    pub fn load_over(&self, over: Over) -> Option<f64> {
        match over {
            Over::Rate => self.rate,
            Over::Concurrency => self.concurrency.map(f64::from),
            Over::JobRate | Over::Jobs => self.jobs.as_ref()?.load,
        }
    }

    /// The distribution of a metric, if it was measured.
    pub fn latency(&self, metric: &Definition) -> Option<&Distribution> {
        self.latencies.get(metric)
    }

    /// Whether tables and comparisons show the metric for this pass: some only if the pass has reasoning.
    pub fn shows(&self, metric: &Definition) -> bool {
        metric.when_reasoning.is_empty() || self.reasoning_from.is_some()
    }

    /// The value of a metric of whole passes, in the unit of the metric; `None` if the pass has none, and for metrics
    /// of requests.
    pub fn figure(&self, metric: &Definition) -> Option<f64> {
        let own = FIELDS.iter().chain(&EARLIER).find(|(known, ..)| *known == metric);
        self.figures.get(metric).or_else(|| own.and_then(|(.., of)| of(self)))
    }

    /// Fills [`PassSummary::figures`] from the fields, for a pass whose figures are not computed from records.
    #[must_use]
    pub fn with_stated_figures(mut self) -> Self {
        self.figures = Figures::default();
        let of = |metric: &Definition| (!is_field(metric)).then(|| self.figure(metric)).flatten();
        self.figures = Figures::each(of);
        self
    }

    /// The same results with this value of a metric of whole passes that is not a field.
    #[must_use]
    pub fn with_figure(mut self, metric: &'static Definition, value: f64) -> Self {
        let figures = std::mem::take(&mut self.figures);
        let of = |known| if known == metric { Some(value) } else { figures.get(known) };
        self.figures = Figures::each(of);
        self
    }

    /// Whether the pass is a trial with cancelled or skipped requests. For example, it was cut off, or the user
    /// interrupted it.
    pub fn is_cut_off(&self) -> bool {
        self.trial.is_some() && self.outcomes.cancelled + self.outcomes.skipped > 0
    }

    /// Whether the user interrupted the pass. Its figures then cover only a part of it. False if a condition of the
    /// plan ended the pass. Always false for a trial of a search or a sweep; use [`PassSummary::is_cut_off`] for a
    /// trial.
    pub fn is_interrupted(&self) -> bool {
        self.trial.is_none()
            && self.stopped.is_none()
            && (self.interrupted || self.outcomes.cancelled > 0)
    }

    /// Whether `stopped` is absent and [`PassSummary::is_interrupted`] is false. A trial that was cut off also counts
    /// as whole.
    pub fn is_whole(&self) -> bool {
        self.stopped.is_none() && !self.is_interrupted()
    }

    /// Whether the requests were sent at the same time and are too few to show the limit of the server. Start-up and
    /// drain are then a large part of the pass. In published tables, throughput hardly changes from 200 requests on.
    pub fn is_few_at_once(&self) -> bool {
        self.kind == PassKind::Saturated && self.planned < 200
    }

    /// The name of the pass in reports: its load, then the number of its trial or repeat. The first repeat has no
    /// number.
    pub fn label(&self) -> String {
        format!(
            "{}{}",
            digits::of_load(&self.load),
            trial_or_repeat_suffix(self.trial.is_some(), self.trial.unwrap_or(self.repeat))
        )
    }
}

/// A metric, the place of its value in the results of a pass, and its value.
type Figure = (&'static Definition, &'static str, fn(&PassSummary) -> Option<f64>);

/// The metrics that were fields of a pass before passes had [`PassSummary::figures`]. They keep their places.
static FIELDS: [Figure; 9] = [
    (&throughput::REQUESTS, "requests_per_s", |pass| pass.requests_per_s),
    (&throughput::OUTPUT_TOKENS, "output_tokens_per_s", |pass| pass.output_tokens_per_s),
    (&steady_state::REQUESTS, "steady_state.requests_per_s", |pass| {
        Some(pass.steady_state?.requests_per_s)
    }),
    (&steady_state::OUTPUT_TOKENS, "steady_state.output_tokens_per_s", |pass| {
        Some(pass.steady_state?.output_tokens_per_s)
    }),
    (&goodput::DEFINITION, "goodput.requests_per_s", |pass| pass.goodput.as_ref()?.requests_per_s),
    (&goodput::ATTAINMENT, "goodput.attainment", |pass| pass.goodput.as_ref()?.attainment),
    (&concurrency::PEAK, "peak_concurrency", |pass| pass.peak_concurrency.map(|peak| peak as f64)),
    (&concurrency::MEAN, "mean_concurrency", |pass| pass.mean_concurrency),
    (&duration::DEFINITION, "duration_s", |pass| pass.duration_s),
];

/// How other metrics are computed in results of versions that did not store them.
static EARLIER: [Figure; 3] = [
    (&throughput::INPUT_TOKENS, "input_tokens_per_s", stated_input_tokens_per_s),
    (&throughput::TOTAL_TOKENS, "total_tokens_per_s", |pass| {
        Some(stated_input_tokens_per_s(pass)? + pass.output_tokens_per_s?)
    }),
    (&failures::DEFINITION, "failures_pct", |pass| {
        let failed = pass.outcomes.failed() as f64;
        (pass.planned > 0).then(|| 100.0 * failed / pass.planned as f64)
    }),
];

fn stated_input_tokens_per_s(pass: &PassSummary) -> Option<f64> {
    // In summaries of earlier versions, 0 stands for an unknown number of input tokens.
    let input_tokens = pass.input_tokens.filter(|tokens| *tokens > 0)?;
    pass.duration_s.filter(|seconds| *seconds > 0.0).map(|seconds| input_tokens as f64 / seconds)
}

/// Whether the value of a metric of whole passes is a field of [`PassSummary`].
pub(crate) fn is_field(metric: &Definition) -> bool {
    FIELDS.iter().any(|(known, ..)| *known == metric)
}

/// The place of a metric of whole passes in the results of a pass, as a path of SQLite: `$.goodput.attainment`.
pub fn path_of(metric: &Definition) -> String {
    let own = FIELDS.iter().find(|(known, ..)| *known == metric);
    format!("$.{}", own.map_or(metric.result_key, |(_, path, _)| path))
}

/// The metrics of whole passes that are not fields of [`PassSummary`], each with its key.
pub fn further() -> impl Iterator<Item = (&'static str, &'static Definition)> {
    registry::of_passes().filter(|(_, metric)| !is_field(metric))
}

/// Results of versions without repeats are those of the first repeat.
fn first() -> u32 {
    1
}
