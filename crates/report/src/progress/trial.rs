//! The last trial of a search or a sweep, and what is known after it.

use std::fmt;

use inferometer_analysis::search::{Measure, Overwhelmed, Search, Trial, load_text};
use inferometer_analysis::sweep::{LevelTrial, Sweep};
use inferometer_model::digits::{Decimals, percent, with_unit};
use inferometer_plan::search::{Criterion, Over, SearchPlan};
use serde::Serialize;

use super::span::{about, in_words};

/// The last trial of a search, the estimates so far, and the time or the requests that are left.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchTrial {
    /// The load of the trial.
    pub load: f64,
    /// The kind of the load.
    pub over: Over,
    /// The result of the trial.
    pub result: LastTrial,
    /// The estimate so far, for each tier that has one.
    pub so_far: Vec<EdgeSoFar>,
    /// What is left; absent if this was the last trial.
    pub left: Option<TrialsLeft>,
}

/// The result of a trial of a search. What it calls requests are jobs, if the load is of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LastTrial {
    /// So many requests missed a criterion that no load near this one meets it.
    FarBeyond {
        /// The criterion.
        criterion: String,
        /// The number of requests that missed it.
        missed: u64,
        /// The number of planned requests.
        planned: u64,
        /// The number of requests in flight or not sent when the trial was ended early.
        cut_off: u64,
    },
    /// All requests belong to the start-up or to the drain.
    NothingCounted {
        /// The number of requests.
        requests: u64,
    },
    /// Each criterion has a value.
    Measured {
        /// The criteria.
        criteria: Vec<CriterionSoFar>,
        /// The number of requests that count.
        counted: u64,
        /// Whether the trial was long enough for a steady state.
        is_settled: bool,
    },
}

/// A criterion of a search with its value in one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionSoFar {
    /// The criterion.
    pub text: String,
    /// The share of requests that met it; for a mean, the mean in milliseconds.
    pub value: f64,
    /// The share of requests that must meet it; absent for a mean.
    pub needed: Option<f64>,
    /// Whether the trial missed it.
    pub is_missed: bool,
}

/// The highest load that meets the criteria of a tier, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeSoFar {
    /// The name of the tier; absent if the search has no tiers.
    pub tier: Option<String>,
    /// The estimate.
    pub estimate: f64,
    /// The ends of its interval; absent if one of them is not known.
    pub interval: Option<[f64; 2]>,
}

/// What is left of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialsLeft {
    /// The time until the time limit of the user, in seconds.
    TimeS(f64),
    /// The search has no time limit.
    Requests {
        /// The largest number of requests that are left.
        requests: u64,
        /// The time of the next trial, in seconds, if it is known.
        next_s: Option<f64>,
    },
}

impl SearchTrial {
    /// The last trial; `None` before the first one.
    pub fn last(search: &Search) -> Option<Self> {
        let (plan, (trial, overwhelmed)) = (search.plan(), search.last()?);
        let tiers = plan.tiers().into_iter().enumerate();
        Some(Self {
            load: trial.load,
            over: plan.over,
            result: LastTrial::of(plan, trial, overwhelmed),
            so_far: tiers.filter_map(|(at, (name, _))| EdgeSoFar::of(search, at, name)).collect(),
            left: TrialsLeft::of(search),
        })
    }
}

impl LastTrial {
    /// The result in words. `what` is what the trial counts.
    fn text(&self, what: &str) -> String {
        match self {
            Self::FarBeyond { criterion, missed, planned, cut_off } => {
                let early = match cut_off {
                    0 => String::new(),
                    cut => format!(" (ended early, with {cut} in flight or not sent)"),
                };
                format!(
                    "far too high: {missed} of {planned} {what} certainly missed {criterion}{early}"
                )
            }
            Self::NothingCounted { requests } => {
                format!("none of the {requests} {what} is counted")
            }
            Self::Measured { criteria, counted, is_settled } => {
                let all: Vec<String> = criteria.iter().map(ToString::to_string).collect();
                let verdict = verdict(criteria, *is_settled);
                format!("{} of {counted} counted {what}: {verdict}", all.join(", "))
            }
        }
    }

    fn of(plan: &SearchPlan, trial: &Trial, overwhelmed: Option<Overwhelmed>) -> Self {
        if let Some(Overwhelmed { criterion, missed, planned, cut_off }) = overwhelmed {
            let criterion = plan.criteria.get(criterion).map(|it| it.text.clone());
            return Self::FarBeyond {
                criterion: criterion.unwrap_or_default(),
                missed,
                planned,
                cut_off,
            };
        }
        if trial.counted == 0 {
            return Self::NothingCounted { requests: trial.requests };
        }
        let of = |(at, (criterion, measure)): (usize, (&Criterion, &Measure))| CriterionSoFar {
            text: criterion.text.clone(),
            value: measure.value,
            needed: criterion.needed(),
            is_missed: trial.is_met(at, criterion) == Some(false),
        };
        Self::Measured {
            criteria: plan.criteria.iter().zip(&trial.measured).enumerate().map(of).collect(),
            counted: trial.counted,
            is_settled: trial.is_settled,
        }
    }
}

impl EdgeSoFar {
    fn of(search: &Search, tier: usize, name: Option<String>) -> Option<Self> {
        let (low, high) = search.interval(tier);
        let interval = low.zip(high).map(|(low, high)| [low, high]);
        Some(Self { tier: name, estimate: search.estimate(tier)?, interval })
    }
}

impl TrialsLeft {
    /// The time of all trials is not known, because the next loads depend on the results.
    fn of(search: &Search) -> Option<Self> {
        let asked = search.next()?;
        let left_s = search.time_left_s();
        if left_s.is_finite() && left_s >= 0.0 {
            return Some(Self::TimeS(left_s));
        }
        let next_s = Some(search.seconds(asked));
        Some(Self::Requests {
            requests: search.plan().max_requests.saturating_sub(search.requests()),
            next_s: next_s.filter(|seconds| seconds.is_finite() && *seconds > 0.0),
        })
    }
}

fn verdict(criteria: &[CriterionSoFar], is_settled: bool) -> &'static str {
    match (criteria.iter().filter(|it| it.is_missed).count(), is_settled) {
        (0, true) => "met in this trial",
        (0, false) => "too short for a verdict on this load",
        (misses, _) if misses == criteria.len() => "not met in this trial",
        _ => "not all met in this trial",
    }
}

impl fmt::Display for SearchTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result.text(self.over.counted());
        write!(f, "{}: {result}", with_unit(&load_text(self.load), self.over.unit()))?;
        for (at, edge) in self.so_far.iter().enumerate() {
            write!(f, "{}{edge}", if at == 0 { "; " } else { ", " })?;
        }
        let left = self.left.as_ref().map(|left| left.text(self.over.counted()));
        f.write_str(&left.unwrap_or_default())
    }
}

impl fmt::Display for CriterionSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, value, needed, .. } = self;
        match needed {
            Some(needed) => {
                write!(f, "{:.2}% meet {text} ({}% needed)", 100.0 * value, percent(*needed))
            }
            None => write!(f, "a mean of {value:.1} ms for {text}"),
        }
    }
}

impl fmt::Display for EdgeSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.tier.as_ref().map_or_else(String::new, |name| format!("{name} "));
        match self.interval {
            Some(ends) => {
                let digits = Decimals::of(&[self.estimate, ends[0], ends[1]]);
                let (estimate, ends) = (digits.text(self.estimate), digits.interval(ends));
                write!(f, "so far {name}{estimate} ({ends})")
            }
            None => write!(f, "so far {name}about {}", load_text(self.estimate)),
        }
    }
}

impl TrialsLeft {
    /// What is left, in words. `what` is what the trials count.
    fn text(&self, what: &str) -> String {
        match self {
            Self::TimeS(most_s) => format!("; at most {} left", in_words(*most_s)),
            Self::Requests { requests, next_s } => {
                let next = next_s.map(|next_s| format!("; the next trial takes {}", about(next_s)));
                format!("{}; at most {requests} {what} left", next.unwrap_or_default())
            }
        }
    }
}

/// The last trial of a sweep, the saturation so far, and the next trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepTrial {
    /// The load of the trial.
    pub load: f64,
    /// The kind of the load.
    pub by: Over,
    /// The number of requests.
    pub requests: u64,
    /// The number of requests that completed.
    pub completed: u64,
    /// Completed requests per second; absent if too few requests completed.
    pub requests_per_s: Option<f64>,
    /// The mean latency of a request, in milliseconds, if it is known.
    pub latency_ms: Option<f64>,
    /// Whether requests arrived faster than the server completed them.
    pub is_overloaded: bool,
    /// Whether the trial was long enough for a steady state.
    pub is_settled: bool,
    /// The highest throughput so far, in requests per second; absent if the server is not saturated yet.
    pub saturated_at: Option<f64>,
    /// The knee so far.
    pub knee: Option<KneeSoFar>,
    /// The load and the time of the next trial, if there is one and its time is known.
    pub next: Option<NextTrialOfSweep>,
}

/// The load from which on more load hardly raises the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KneeSoFar {
    /// The load.
    pub load: f64,
    /// The ends of its interval.
    pub interval: [f64; 2],
}

/// The next trial of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextTrialOfSweep {
    /// The load.
    pub load: f64,
    /// The kind of the load.
    pub by: Over,
    /// The time of the trial, in seconds.
    pub time_s: f64,
}

impl SweepTrial {
    /// The last trial; `None` before the first one.
    pub fn last(sweep: &Sweep) -> Option<Self> {
        let trial: &LevelTrial = sweep.last()?;
        let saturated_at = sweep.saturation().and_then(|level| level.requests_per_s);
        let knee = sweep.knee().map(|knee| KneeSoFar {
            load: knee.load,
            interval: [knee.low.unwrap_or(1.0), knee.high],
        });
        let next = sweep.next().map(|asked| NextTrialOfSweep {
            load: asked.load,
            by: asked.by,
            time_s: sweep.seconds(asked),
        });
        Some(Self {
            load: trial.load,
            by: trial.by,
            requests: trial.requests,
            completed: trial.completed,
            requests_per_s: trial.requests_per_s.map(|found| found.value),
            latency_ms: trial.latency_ms.map(|found| found.value),
            is_overloaded: trial.is_overloaded(),
            is_settled: trial.is_settled,
            saturated_at: saturated_at.map(|found| found.value),
            knee: knee.filter(|_| saturated_at.is_some()),
            next: next.filter(|next| next.time_s.is_finite()),
        })
    }

    fn shown(&self) -> String {
        let Some(found) = self.requests_per_s else {
            return format!("{} of {} requests completed", self.completed, self.requests);
        };
        let throughput = requests_per_s(found);
        match (self.latency_ms, self.is_overloaded, self.is_settled) {
            (_, true, _) => {
                format!("{throughput}, and requests arrive faster than the server completes them")
            }
            (_, _, false) => format!("{throughput}; too short for a verdict on this load"),
            (Some(latency), ..) => format!("{throughput}, {} ms per request", load_text(latency)),
            (None, ..) => throughput,
        }
    }
}

impl fmt::Display for SweepTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", with_unit(&load_text(self.load), self.by.unit()), self.shown())?;
        if let Some(most) = self.saturated_at {
            write!(f, "; saturated at {}", requests_per_s(most))?;
        }
        if let Some(KneeSoFar { load, interval }) = self.knee {
            let digits = Decimals::of(&[load, interval[0], interval[1]]);
            write!(f, ", the knee at {} ({})", digits.text(load), digits.interval(interval))?;
        }
        if let Some(NextTrialOfSweep { load, by, time_s }) = self.next {
            let load = with_unit(&load_text(load), by.unit());
            write!(f, "; next {load}, {}", about(time_s))?;
        }
        Ok(())
    }
}

fn requests_per_s(rate: f64) -> String {
    with_unit(&load_text(rate), Over::Rate.unit())
}

/// What is used of a trial that the time limit has ended.
pub(super) fn used(completed: Option<u64>, over: Option<Over>) -> String {
    let Some(completed) = completed else { return "this trial is discarded".to_owned() };
    let estimated = match over {
        Some(Over::Concurrency) => ", and those in flight with estimated times",
        _ => "",
    };
    format!("its {completed} completed requests are used{estimated}")
}
