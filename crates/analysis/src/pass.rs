//! The figures of one pass, as results contain them. [`crate::fold`] computes them.

use inferometer_load::PassKind;
use inferometer_metrics::{Definition, SteadyState, failures, throughput};
use inferometer_model::cell::which;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::record::TokensFrom;
use inferometer_stats::Distribution;
use serde::{Deserialize, Serialize};

use crate::blocks::BlockFigures;
use crate::class::ClassSummary;
use crate::distributions::Distributions;
use crate::failures_as_inf::FailuresAsInf;
use crate::instrument::Instrument;
use crate::interval::Intervals;
use crate::observed::{HardwareUse, ServerSays, SourceSays};
use crate::parts::{RankFigures, ServerFigures};
use crate::serving_run::ServingRun;

/// The figures of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassSummary {
    /// The kind of its load.
    pub kind: PassKind,
    /// The same in the words of its load model; empty in results of versions without it.
    #[serde(default)]
    pub load: String,
    /// Which repeat of the cell's passes it is, from 1.
    #[serde(default = "first")]
    pub repeat: u32,
    /// Which trial of a search it is, from 1; absent if it is not a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// The requested number in flight; only for closed passes with one level.
    pub concurrency: Option<u32>,
    /// The requested rate, in requests per second; only for open passes with one level.
    pub rate: Option<f64>,
    /// Requests planned.
    pub planned: u64,
    /// Their outcomes.
    pub outcomes: OutcomeCounts,
    /// When its first request was sent, in seconds. In the results of a run, the time counts from the
    /// first request of the run. Absent if unknown, as in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_s: Option<f64>,
    /// Why the plan ended it early; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// From the first send to the last end.
    pub duration_s: Option<f64>,
    /// Completed requests per second over `duration_s`.
    pub requests_per_s: Option<f64>,
    /// 95 % interval of `requests_per_s`; see `intervals`.
    #[serde(default)]
    pub requests_per_s_ci: Option<[f64; 2]>,
    /// Prompt tokens of the completed requests.
    pub input_tokens: u64,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// Completed requests with more output tokens than were asked for; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longer_than_asked: u64,
    /// `output_tokens` per second over `duration_s`.
    pub output_tokens_per_s: Option<f64>,
    /// 95 % interval of `output_tokens_per_s`; see `intervals`.
    #[serde(default)]
    pub output_tokens_per_s_ci: Option<[f64; 2]>,
    /// The source of the output token counts; the least reliable source of any request.
    pub tokens_from: Option<TokensFrom>,
    /// The most requests in flight at any instant, from send to end; absent if no single request is
    /// known, as in most imported passes.
    pub peak_concurrency: Option<u64>,
    /// Requests in flight, averaged over `duration_s`.
    pub mean_concurrency: Option<f64>,
    /// The part of the pass at its plateau; absent if there was none, and for loads without a plateau.
    #[serde(default)]
    pub steady_state: Option<SteadyState>,
    /// Requests that met every objective on requests; absent if the plan has none.
    #[serde(default)]
    pub goodput: Option<Goodput>,
    /// Latencies with failed requests as infinite; absent unless the plan asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_as_inf: Option<FailuresAsInf>,
    /// The distribution of each metric that has one value per request or token.
    #[serde(flatten)]
    pub latencies: Distributions,
    /// What the intervals of the pass describe, or why it has none.
    #[serde(default)]
    pub intervals: Intervals,
    /// Figures of each class of requests, if the workload has several.
    #[serde(default)]
    pub classes: Vec<ClassSummary>,
    /// Figures by server, if several are behind one load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerFigures>,
    /// Figures of the ranks that differ from the whole by more than chance; only with several processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFigures>,
    /// The figures of the published text-block log; absent for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockFigures>,
    /// The six figures of the published serving script; absent for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving_run: Option<ServingRun>,
    /// What the server reported about itself; absent if it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSays>,
    /// What each of several servers reported about itself.
    #[serde(default, rename = "server_metrics", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceSays>,
    /// What the cards of the server's machine did; absent if none was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareUse>,
    /// The client's own error in this pass.
    pub instrument: Instrument,
}

impl PassSummary {
    /// The distribution of a metric, if it was measured.
    pub fn latency(&self, metric: &Definition) -> Option<&Distribution> {
        self.latencies.get(metric)
    }

    /// A figure of the pass as a whole that objectives may name, in the metric's unit.
    pub fn figure(&self, metric: &Definition) -> Option<f64> {
        let failed_pct = || {
            let failed = self.outcomes.failed() as f64;
            (self.planned > 0).then(|| 100.0 * failed / self.planned as f64)
        };
        match metric.name {
            name if name == throughput::REQUESTS.name => self.requests_per_s,
            name if name == throughput::OUTPUT_TOKENS.name => self.output_tokens_per_s,
            name if name == failures::DEFINITION.name => failed_pct(),
            _ => None,
        }
    }

    /// Whether it is a trial of a search that was cut off, or that the user interrupted.
    pub fn is_cut_off(&self) -> bool {
        self.trial.is_some() && self.outcomes.cancelled + self.outcomes.skipped > 0
    }

    /// Whether the user interrupted it, so that its figures are those of a part of the pass. A trial of a
    /// search counts as cut off instead.
    pub fn is_interrupted(&self) -> bool {
        self.trial.is_none() && self.stopped.is_none() && self.outcomes.cancelled > 0
    }

    /// Whether neither the user nor the plan ended it early.
    pub fn is_whole(&self) -> bool {
        self.stopped.is_none() && !self.is_interrupted()
    }

    /// Whether its requests were sent at once and are too few to show what a saturated server can do:
    /// start-up and drain are a large part of such a pass. From 200 requests on, published tables hardly
    /// differ.
    pub fn is_few_at_once(&self) -> bool {
        self.kind == PassKind::Saturated && self.planned < 200
    }

    /// Its name for people: its load, and its trial number in a search, or its repeat from the second on.
    pub fn label(&self) -> String {
        format!("{}{}", self.load, which(self.trial.is_some(), self.trial.unwrap_or(self.repeat)))
    }
}

/// How many requests met the plan's objectives on requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// The objectives as they were written.
    pub objectives: String,
    /// Requests that completed and met all of them.
    pub met: u64,
    /// `met` per second over the duration of the pass.
    pub requests_per_s: Option<f64>,
    /// `met` / planned: failed and dropped requests count as not met.
    pub attainment: Option<f64>,
}

/// Results of versions without repeats are those of the first repeat.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn first() -> u32 {
    1
}
