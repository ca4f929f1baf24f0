//! Resolves the search of a plan from a spec: its limits, and the pass that its trials vary.

use super::arrivals;
use crate::search::{Criterion, Over, SearchPlan, Tier, criteria};
use crate::spec::limits::MAX_IN_FLIGHT;
use crate::spec::{Mistakes, Spec, Value, levels, values};
use inferometer_model::metrics::slo::{self, Objective};
use inferometer_model::{Bound, OpenPlan, PassPlan, metrics::request_objective::RequestObjective};

/// The default share of requests that must meet the objectives on requests.
pub(crate) const ATTAINMENT: f64 = 0.99;
const CONFIDENCE: f64 = 0.95;
const PRECISION: f64 = 0.05;
const STRIDE: f64 = 2.0;
const MAX_REQUESTS: u64 = 20_000;
const MAX_TRIALS: u32 = 40;
/// Without `from`, the lowest rate is this share of the first rate, but at most [`LOWEST_RATE`].
const LOWEST_SHARE: f64 = 1e-3;
const LOWEST_RATE: f64 = 1e-3;
/// The rate of the first trial, in requests/s, if neither `start` nor `from` is given and `to` is not lower.
/// Such a trial takes a few seconds.
const FIRST_RATE: f64 = 16.0;
const FIRST_CONCURRENCY: f64 = 8.0;
/// In jobs/s. A job has many requests.
const FIRST_JOB_RATE: f64 = 0.25;

impl Spec {
    /// The load that the search of a spec varies; `None` without a search. Jobs have no usual rate, so their number at
    /// the same time is varied unless a rate is asked for.
    pub fn searched_over(&self) -> Option<Over> {
        let of_jobs = self.workload.name() == "agents";
        let over = self.search.as_ref()?.over.as_deref();
        let usual = if of_jobs { Over::Concurrency } else { Over::Rate };
        let over = over.map_or(usual, |over| match over == Over::Rate.name() {
            true => Over::Rate,
            false => Over::Concurrency,
        });
        Some(if of_jobs { over.of_jobs() } else { over })
    }
}

/// The search of a spec, if it has one.
pub(crate) fn search(spec: &Spec, mistakes: &mut Mistakes) -> Option<SearchPlan> {
    let asked = spec.search.as_ref()?;
    varied("over", asked.over.as_deref(), [Over::Rate, Over::Concurrency], mistakes);
    let over = spec.searched_over()?;
    let mut load = |key, given: &Option<Value>| {
        mistakes.read(key, given.as_ref(), |value| match over.is_rate() {
            true => levels::constant_rate(value),
            false => match values::count(value)? {
                0 => Err("is not a number in flight; give 1 or more"),
                count if count > MAX_IN_FLIGHT => Err("is too high; the maximum is 65536 in \
                    flight"),
                count => Ok(f64::from(count)),
            },
        })
    };
    let (from, to) = (load("from", &asked.from), load("to", &asked.to));
    let start = load("start", &asked.start);
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        mistakes.add("to", "is not above --from; give a higher load");
    }
    let first = match over {
        Over::Rate => FIRST_RATE,
        Over::JobRate => FIRST_JOB_RATE,
        Over::Concurrency | Over::Jobs => FIRST_CONCURRENCY,
    };
    let highest = to.unwrap_or(f64::INFINITY);
    if start.is_some_and(|start| start < from.unwrap_or(0.0) || start > highest) {
        mistakes.add("start", "is not between --from and --to; give a load in this range");
    }
    let start = start.unwrap_or(from.unwrap_or(first).min(highest));
    let lowest = match over.is_rate() {
        true => from.unwrap_or((start * LOWEST_SHARE).min(LOWEST_RATE)),
        false => from.unwrap_or(1.0),
    };
    let [attainment, confidence, precision] = [
        ("attainment", &asked.attainment, ATTAINMENT),
        ("confidence", &asked.confidence, CONFIDENCE),
        ("precision", &asked.precision, PRECISION),
    ]
    .map(|(key, given, usual)| share(key, given.as_ref(), usual, mistakes));
    let stride =
        mistakes.read("stride", asked.stride.as_ref(), |value| match values::positive(value)? {
            stride if stride > 1.0 => Ok(stride),
            _ => Err("is not a factor above 1"),
        });
    let max_time = mistakes.read("max_time", asked.max_time.as_ref(), values::span);
    let (criteria, tiers) = criteria_of(spec, asked.tier.as_deref(), attainment, mistakes);
    if !over.is_of_jobs()
        && let Some(of_jobs) = criteria.iter().find(|criterion| criterion.is_of_jobs())
    {
        let problem = format!("`{}` is about jobs; give --workload agents", of_jobs.text);
        mistakes.add("slo", problem);
    }
    Some(SearchPlan {
        over,
        criteria,
        tiers,
        confidence,
        precision,
        start,
        stride: stride.unwrap_or(STRIDE),
        lowest,
        highest: to,
        max_requests: at_least_1("max_requests", asked.max_requests, MAX_REQUESTS, mistakes),
        max_trials: at_least_1("max_trials", asked.max_trials, MAX_TRIALS, mistakes),
        max_time,
    })
}

/// Returns all criteria, and the tiers. Criteria that are given outside of tiers belong to every tier.
fn criteria_of(
    spec: &Spec,
    named: Option<&[String]>,
    attainment: f64,
    mistakes: &mut Mistakes,
) -> (Vec<Criterion>, Vec<Tier>) {
    let is_without_goodput = spec.goodput.is_none();
    if is_without_goodput && spec.search.as_ref().is_some_and(|it| it.attainment.is_some()) {
        mistakes.add(
            "attainment",
            "is the share of requests that must meet --goodput; give --goodput too",
        );
    }
    if is_without_goodput && spec.slo.is_none() && named.is_none() {
        let problem = "is missing: a search needs objectives, such as --slo \
            'ttft_p99<500ms,tpot_p99<50ms' or --goodput 'ttft<500ms'";
        mistakes.add("slo", problem);
    }
    // These mistakes are ignored here, because `Spec::resolve` reports them.
    let mut ignored = Mistakes::default();
    let on_run = spec.objectives(&mut ignored);
    let goodput = spec.request_objectives(&mut ignored);
    let max_failures = spec.max_failures.as_ref().and_then(|share| values::share(share).ok());
    let mut read = |key, slo: &[Objective], goodput: &[RequestObjective], failures| {
        criteria(slo, goodput, attainment, failures).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add(key, error.to_string()));
            Vec::new()
        })
    };
    let mut judged = match (on_run.is_empty(), goodput.is_empty(), max_failures) {
        (true, true, None) => Vec::new(),
        _ => read("slo", &on_run, &goodput, max_failures),
    };
    let common: Vec<usize> = (0..judged.len()).collect();
    let mut tiers: Vec<Tier> = Vec::new();
    let mut problems = Vec::new();
    for text in named.unwrap_or_default() {
        let named = text.split_once('=').map(|(name, objectives)| (name.trim(), objectives));
        let Some((name, objectives)) = named.filter(|(name, _)| is_name(name)) else {
            problems.push(format!(
                "`{text}` is not NAME=OBJECTIVES; write it like gold='ttft_p95<300ms'"
            ));
            continue;
        };
        if tiers.iter().any(|tier| tier.name == name) {
            problems.push(format!("`{name}` is given twice"));
        }
        match slo::parse(objectives) {
            Ok(objectives) => {
                let unjudged = objectives.iter().filter(|it| spec.lacks_stream(it.metric));
                problems.extend(
                    unjudged.map(|it| format!("`{name}`: {}", super::without_stream(&it.text))),
                );
                let own = read("tier", &objectives, &[], None);
                let places = judged.len()..judged.len() + own.len();
                let criteria = common.iter().copied().chain(places).collect();
                tiers.push(Tier { name: name.to_owned(), criteria });
                judged.extend(own);
            }
            Err(errors) => {
                problems.extend(errors.iter().map(|error| format!("`{name}`: {error}")));
            }
        }
    }
    problems.into_iter().for_each(|problem| mistakes.add("tier", problem));
    (judged, tiers)
}

/// Whether a text is a valid name of a tier: a word of letters, digits, `-` and `_`. These names are
/// used in findings and files.
fn is_name(name: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_of_word)
}

/// Returns the given number, or the default. Adds a mistake if it is 0.
pub(super) fn at_least_1<N: Default + PartialEq>(
    key: &'static str,
    given: Option<N>,
    usual: N,
    mistakes: &mut Mistakes,
) -> N {
    let value = given.unwrap_or(usual);
    if value == N::default() {
        mistakes.add(key, "is 0; give at least 1");
    }
    value
}

/// The load that is varied; without a given one, the first of `all`.
pub(super) fn varied(
    key: &'static str,
    given: Option<&str>,
    all: [Over; 2],
    mistakes: &mut Mistakes,
) -> Over {
    let Some(given) = given else { return all[0] };
    all.into_iter().find(|over| over.name() == given).unwrap_or_else(|| {
        mistakes.add(key, format!("`{given}` is not one of {}, {}", all[0], all[1]));
        all[0]
    })
}

/// The given share, or the default. A probability is at least 50 %.
pub(super) fn share(
    key: &'static str,
    given: Option<&Value>,
    usual: f64,
    mistakes: &mut Mistakes,
) -> f64 {
    let share = mistakes.read(key, given, |value| match values::share(value)? {
        // A share of 100 % of requests is accepted here. `criteria` refuses it, and its message suggests a valid share.
        share if share > 0.0 && (share < 1.0 || key == "attainment") => Ok(share),
        _ => Err("must be above 0% and below 100%"),
    });
    if ["confidence", "knee"].contains(&key) && share.is_some_and(|share| share < 0.5) {
        mistakes.add(key, "is below 50%, the minimum; give a higher value, such as 95%");
    }
    share.unwrap_or(usual)
}

/// The only pass of a plan with a search or a sweep, at the load of the first trial. The trials differ only in the load
/// and in the number of requests. In a sweep of rates, a trial with a number of requests in flight has a closed loop
/// instead of this pass. `by_rate` is the flag for rates.
pub(crate) fn passes(
    spec: &Spec,
    (over, load, by_rate): (Over, f64, &str),
    limit: (Option<u32>, inferometer_model::load::OverLimit),
    mistakes: &mut Mistakes,
) -> Vec<PassPlan> {
    let bound = Bound::requests(100);
    if over.is_rate() {
        return vec![open_pass(spec, load, bound, limit, mistakes)];
    }
    refuse_arrivals(spec, by_rate, mistakes);
    vec![PassPlan::closed(load as u32, bound)]
}

/// Adds a mistake for each given option about arrivals, because the loads are closed loops. `instead` is
/// the flag for rates.
fn refuse_arrivals(spec: &Spec, instead: &str, mistakes: &mut Mistakes) {
    for (key, given) in [
        ("burstiness", spec.burstiness.is_some()),
        ("arrivals", spec.arrivals.is_some()),
        ("scale", spec.scale.is_some()),
        ("max_in_flight", spec.max_in_flight.is_some()),
        ("over_limit", spec.over_limit.is_some()),
    ] {
        if given {
            let problem = format!("applies to arrival rates; leave it out, or give {instead}");
            mistakes.add(key, problem);
        }
    }
}

/// An open pass. Its arrivals are not scaled to the exact rate, because the result must hold for
/// arrivals that vary randomly, as those of users do.
fn open_pass(
    spec: &Spec,
    rate_per_s: f64,
    bound: Bound,
    (max_in_flight, over_limit): (Option<u32>, inferometer_model::load::OverLimit),
    mistakes: &mut Mistakes,
) -> PassPlan {
    PassPlan::Open(OpenPlan {
        rate: rate_per_s.into(),
        arrivals: arrivals::arrivals(spec, mistakes),
        scaled: false,
        bound,
        max_in_flight,
        over_limit,
    })
}

#[cfg(test)]
mod tests;
