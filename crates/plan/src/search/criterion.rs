//! An objective as a statement about all requests that a server could ever get at a load. The statement
//! is about a share of these requests, or about their mean. For example, `ttft_p99<1s` means that at
//! least 99 % of these requests have a TTFT below 1 s. The percentile of the measured sample is not judged,
//! because in every sample, the same share of requests lies below the percentile of this sample.

use serde::{Deserialize, Serialize};

use inferometer_model::digits::percent;
use inferometer_model::metrics::job_data::JobTimes;
use inferometer_model::metrics::request_objective::RequestObjective;
use inferometer_model::metrics::slo::{Comparison, JudgedMetric, Objective};
use inferometer_model::metrics::{Unit, failures};
use inferometer_model::{RequestFigures, Statistic};

/// A condition on all requests to a server at a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The text as it was written.
    pub text: String,
    /// Whether the criterion is about a share of requests or a mean.
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of")]
enum Kind {
    /// At least the share `needed`, from 0 to 1, of the requests meets all limits.
    Share { needed: f64, limits: Vec<Limit> },
    /// At least the share `needed`, from 0 to 1, of the requests completes.
    Completed { needed: f64 },
    /// The mean over completed requests is within the limit.
    Mean { limit: Limit },
    /// At least the share `needed`, from 0 to 1, of the jobs meets the limit.
    OfJobs { needed: f64, limit: Limit },
}

/// A metric of one request or job, and its upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Limit {
    metric: JudgedMetric,
    comparison: Comparison,
    /// In milliseconds; without a unit for a slowdown.
    limit_ms: f64,
}

impl Criterion {
    /// The criterion with each limit of a metric multiplied by the factor that `of` returns for this metric.
    pub fn with_limits(&self, of: impl Fn(JudgedMetric) -> f64) -> Self {
        let mut changed = self.clone();
        let limits = match &mut changed.kind {
            Kind::Share { limits, .. } => &mut limits[..],
            Kind::Mean { limit } | Kind::OfJobs { limit, .. } => std::slice::from_mut(limit),
            Kind::Completed { .. } => &mut [],
        };
        for limit in limits {
            limit.limit_ms *= of(limit.metric);
        }
        changed
    }
}

/// Why a search cannot find a highest load for an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriterionError {
    /// The objective is a lower limit, or its metric has no value per request.
    #[error(
        "`{0}` cannot be searched for: a search needs upper limits on latencies or failures; use \
            `inferometer run` for this objective"
    )]
    NotALimit(String),
    /// The objective limits a maximum, which grows with the number of requests.
    #[error(
        "`{0}`: the maximum grows with the number of requests, so it is not a property of a load; \
            give a percentile, such as p999"
    )]
    Maximum(String),
    /// The metric has one value per token, not per request.
    #[error(
        "`{0}` is a statistic over tokens of all requests; give tpot, which has one value per \
        request"
    )]
    OverTokens(String),
    /// Every request would have to meet the objective.
    #[error(
        "`{0}` must hold for every request, which no number of requests can prove; give a share, \
            such as failures<0.1%, --max-failures 0.1% or --attainment 99.9%"
    )]
    Everything(String),
}

/// The result of a request under one criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriterionResult {
    /// For a mean: the value of the metric, in milliseconds. For a share: the value divided by its
    /// limit; with several limits, the largest of these quotients. For completion: 0. Infinite if the
    /// request failed, or has no value of a metric.
    pub value: f64,
    /// Whether the request meets the criterion. For a mean, true for each completed request.
    pub met: bool,
}

/// The default share of failures that may occur if only means are judged.
const MAX_FAILURES: f64 = 0.01;

/// The criteria of a search: one for each objective on the run, and one for all objectives on requests
/// together. `attainment` is the share of requests that must meet all objectives on requests. There is a
/// separate criterion on failures if `max_failures` is given, or if all other criteria are means.
///
/// # Errors
/// One error for each objective, and for each criterion, for which a search cannot find a highest load.
pub fn criteria(
    slo: &[Objective],
    goodput: &[RequestObjective],
    attainment: f64,
    max_failures: Option<f64>,
) -> Result<Vec<Criterion>, Vec<CriterionError>> {
    let (mut criteria, mut errors) = (Vec::new(), Vec::new());
    for objective in slo {
        match of_objective(objective) {
            Ok(criterion) => criteria.push(criterion),
            Err(error) => errors.push(error),
        }
    }
    let texts: Vec<&str> = goodput.iter().map(|objective| objective.text.as_str()).collect();
    let mut limits = Vec::new();
    for objective in goodput {
        match limit(objective.metric, objective.comparison, objective.limit, &objective.text) {
            Ok(limit) => limits.push(limit),
            Err(error) => errors.push(error),
        }
    }
    if !limits.is_empty() {
        let text = format!("{}% of requests at {}", percent(attainment), texts.join(","));
        criteria.push(Criterion { text, kind: Kind::Share { needed: attainment, limits } });
    }
    // A mean covers completed requests only, so a server that refuses nearly all requests could meet it.
    let counts_failures = |criterion: &Criterion| !matches!(criterion.kind, Kind::Mean { .. });
    let are_means = !criteria.is_empty() && !criteria.iter().any(counts_failures);
    if let Some(max_failures) = max_failures.or(are_means.then_some(MAX_FAILURES)) {
        let text = format!("failures<={}% (--max-failures)", percent(max_failures));
        criteria.push(Criterion { text, kind: Kind::Completed { needed: 1.0 - max_failures } });
    }
    let everything = |criterion: &Criterion| {
        let is_all = criterion.needed().is_some_and(|needed| needed >= 1.0);
        is_all.then(|| CriterionError::Everything(criterion.text.clone()))
    };
    errors.extend(criteria.iter().filter_map(everything));
    if errors.is_empty() { Ok(criteria) } else { Err(errors) }
}

fn of_objective(objective: &Objective) -> Result<Criterion, CriterionError> {
    let Objective { text, metric, statistic, comparison, limit: value, .. } = objective;
    let kind = if metric.definition().name == failures::DEFINITION.name {
        is_upper(*comparison, text)?;
        Kind::Completed { needed: 1.0 - value / 100.0 }
    } else if let Some(how) = metric.on_jobs() {
        is_upper(*comparison, text)?;
        let limit = Limit { metric: *metric, comparison: *comparison, limit_ms: *value };
        Kind::OfJobs { needed: how.share, limit }
    } else {
        let limit = limit(*metric, *comparison, *value, text)?;
        match share_of(statistic.unwrap_or(Statistic::Mean)) {
            Share::Of(needed) => Kind::Share { needed, limits: vec![limit] },
            Share::Mean => Kind::Mean { limit },
            Share::All => return Err(CriterionError::Maximum(text.clone())),
        }
    };
    Ok(Criterion { text: text.clone(), kind })
}

enum Share {
    Of(f64),
    Mean,
    All,
}

/// The share of requests that lies below a limit if this statistic lies below it.
fn share_of(statistic: Statistic) -> Share {
    match statistic {
        Statistic::Mean => Share::Mean,
        Statistic::P50 => Share::Of(0.5),
        Statistic::P90 => Share::Of(0.9),
        Statistic::P95 => Share::Of(0.95),
        Statistic::P99 => Share::Of(0.99),
        Statistic::P999 => Share::Of(0.999),
        Statistic::Max => Share::All,
    }
}

fn limit(
    metric: JudgedMetric,
    comparison: Comparison,
    limit_ms: f64,
    text: &str,
) -> Result<Limit, CriterionError> {
    is_upper(comparison, text)?;
    if !metric.is_distribution() {
        return Err(CriterionError::NotALimit(text.to_owned()));
    }
    if metric.on_requests().is_none() {
        return Err(CriterionError::OverTokens(text.to_owned()));
    }
    Ok(Limit { metric, comparison, limit_ms })
}

fn is_upper(comparison: Comparison, text: &str) -> Result<(), CriterionError> {
    match comparison {
        Comparison::Below | Comparison::AtMost => Ok(()),
        Comparison::Above | Comparison::AtLeast => Err(CriterionError::NotALimit(text.to_owned())),
    }
}

impl CriterionResult {
    const MET: Self = Self { value: 0.0, met: true };
    const MISSED: Self = Self { value: f64::INFINITY, met: false };
}

impl Limit {
    /// Whether each value within this limit is within `other`, too.
    fn implies(&self, other: &Self) -> bool {
        self.metric == other.metric
            && (self.limit_ms < other.limit_ms
                || self.limit_ms == other.limit_ms
                    && (self.comparison == other.comparison
                        || other.comparison == Comparison::AtMost))
    }

    /// The metric of a completed request, in milliseconds; infinite if the request has no value.
    fn value(&self, figures: &RequestFigures) -> f64 {
        figures.value(self.metric).unwrap_or(f64::INFINITY)
    }
}

impl Criterion {
    /// Judges one request. A request that did not complete does not meet the criterion. Each request meets a criterion
    /// on jobs.
    pub fn judge(&self, figures: &RequestFigures) -> CriterionResult {
        if !figures.complete && !self.is_of_jobs() {
            return CriterionResult::MISSED;
        }
        match &self.kind {
            Kind::Completed { .. } | Kind::OfJobs { .. } => CriterionResult::MET,
            Kind::Mean { limit } => CriterionResult { value: limit.value(figures), met: true },
            Kind::Share { limits, .. } => {
                limits.iter().fold(CriterionResult { value: 0.0, met: true }, |so_far, limit| {
                    let value = limit.value(figures);
                    CriterionResult {
                        value: so_far.value.max(value / limit.limit_ms),
                        met: so_far.met && limit.comparison.holds(value, limit.limit_ms),
                    }
                })
            }
        }
    }

    /// Whether the criterion is about jobs, and not about requests.
    pub fn is_of_jobs(&self) -> bool {
        matches!(self.kind, Kind::OfJobs { .. })
    }

    /// Whether the criterion is about the slowdown of jobs, which only traces with recorded times have.
    pub fn needs_recorded_times(&self) -> bool {
        let of_slowdown = |limit: &Limit| limit.metric.definition().unit == Unit::Ratio;
        matches!(&self.kind, Kind::OfJobs { limit, .. } if of_slowdown(limit))
    }

    /// Judges one job by a criterion on jobs. `times` is `None` if the job did not complete: it then misses the
    /// criterion.
    pub fn judge_job(&self, times: Option<&JobTimes>) -> CriterionResult {
        let Kind::OfJobs { limit, .. } = &self.kind else { return CriterionResult::MET };
        let value = times.and_then(|times| (limit.metric.on_jobs()?.value)(times));
        value.map_or(CriterionResult::MISSED, |value| CriterionResult {
            value: value / limit.limit_ms,
            met: limit.comparison.holds(value, limit.limit_ms),
        })
    }

    /// The share of requests, or of jobs, that must meet the criterion, from 0 to 1; `None` for a mean.
    pub fn needed(&self) -> Option<f64> {
        match self.kind {
            Kind::Share { needed, .. }
            | Kind::Completed { needed }
            | Kind::OfJobs { needed, .. } => Some(needed),
            Kind::Mean { .. } => None,
        }
    }

    /// The limit of a mean, in milliseconds; `None` for a share.
    pub fn mean_limit_ms(&self) -> Option<f64> {
        match &self.kind {
            Kind::Mean { limit } => Some(limit.limit_ms),
            Kind::Share { .. } | Kind::Completed { .. } | Kind::OfJobs { .. } => None,
        }
    }

    /// Whether each load that meets this criterion meets `other`, too, because its limits are at most as large and its
    /// share is at least as large. Requests that meet a limit have completed, so a share within limits implies at most
    /// this share of completed requests.
    pub fn implies(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Completed { needed }, Kind::Completed { needed: least })
            | (Kind::Share { needed, .. }, Kind::Completed { needed: least }) => needed >= least,
            (Kind::Mean { limit }, Kind::Mean { limit: wide }) => limit.implies(wide),
            (Kind::OfJobs { needed, limit }, Kind::OfJobs { needed: least, limit: wide }) => {
                needed >= least && limit.implies(wide)
            }
            (Kind::Share { needed, limits }, Kind::Share { needed: least, limits: wide }) => {
                let is_implied = |wide: &Limit| limits.iter().any(|limit| limit.implies(wide));
                needed >= least && wide.iter().all(is_implied)
            }
            _ => false,
        }
    }

    /// Whether the criterion can only be judged if the times between tokens are known.
    pub fn needs_gaps(&self) -> bool {
        let of_gaps = |limit: &Limit| limit.metric.definition().of_gaps;
        match &self.kind {
            Kind::Completed { .. } | Kind::OfJobs { .. } => false,
            Kind::Mean { limit } => of_gaps(limit),
            Kind::Share { limits, .. } => limits.iter().any(of_gaps),
        }
    }
}
