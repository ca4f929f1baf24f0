//! Resolves the comparison of a plan from a spec: its metrics and limits, and the pass of each block.

use inferometer_model::load::{OneByOnePlan, SaturatedPlan};
use inferometer_model::{ClosedPlan, OpenPlan, PassPlan, metrics::slo::quantity};

use super::Plan;
use crate::ab::{AbFigure, AbPlan, FEWEST_PAIRS};
use crate::spec::{AbSpec, Mistakes, Spec, values};
use crate::{Procedure, Repeat, spec::limits::MAX_PASSES};

const MINIMAL_EFFECT: f64 = 0.05;
/// The default limit on requests of both servers together. If [`USUAL_PAIRS`] pairs of blocks have more
/// requests than this, the default is the number of requests of these pairs.
const MAX_REQUESTS: u64 = 10_000;
/// The number of pairs of blocks that is enough for most comparisons.
const USUAL_PAIRS: u64 = 40;
/// The default number of requests in a block of a closed loop with several requests in flight, as a multiple
/// of the requests in flight. The first requests of a block only fill the server, so a block needs more
/// requests than are in flight.
const IN_FLIGHT_TIMES: u32 = 4;
/// The default number of requests in a block of an open loop or a saturated pass. In an open loop, the
/// first quarter is not counted by default, because the number of requests in flight still increases.
const OTHERS: u32 = 64;
/// The maximum number of requests of a block. The times of all these requests are stored in memory.
const MOST_OF_A_BLOCK: u32 = 100_000;
/// The default number of requests in flight.
const IN_FLIGHT: u32 = 8;
const INPUT_LENGTH: u32 = 256;
const OUTPUT_LENGTH: u32 = 64;

impl Spec {
    /// Fills in the defaults of a comparison. The default load is a closed loop with 8 requests in flight.
    /// For random prompts without any key about lengths, the defaults are 256 input tokens and 64 output
    /// tokens.
    #[must_use]
    pub fn with_defaults_of_ab(mut self) -> Self {
        let is_plain = self.workload.workload.as_deref().is_none_or(|name| name == "random");
        if is_plain && self.workload.drawn == Default::default() {
            self.input_lengths.get_or_insert_with(|| vec![INPUT_LENGTH]);
            self.output_lengths.get_or_insert_with(|| vec![OUTPUT_LENGTH]);
        }
        if self.passes.is_none() && !super::passes::has_own_load(&self) {
            self.concurrency = Some(vec![f64::from(IN_FLIGHT).into()]);
        }
        self
    }
}

/// Adds the options of the comparison to the plan, if the spec has a comparison.
pub(super) fn add(spec: &Spec, plan: &mut Plan, mistakes: &mut Mistakes) {
    let Some(asked) = &spec.ab else { return };
    if spec.servers() > 1 {
        mistakes.add("target", "a comparison in blocks has one address on each side; give one");
    }
    if plan.cells.len() > 1 {
        let problem = "a comparison in blocks has one pair of lengths; give one input length and one \
                       output length";
        mistakes.add("input_lengths", problem);
    }
    if plan.passes.len() > 1 {
        let loads: Vec<String> = plan.passes.iter().map(ToString::to_string).collect();
        let problem = format!(
            "a comparison in blocks has one load, but {} were given ({}); give one",
            loads.len(),
            loads.join("; ")
        );
        let key = match spec {
            _ if spec.passes.is_some() => "passes",
            Spec { rate: Some(_), .. } => "rate",
            Spec { concurrency: Some(_), .. } => "concurrency",
            _ => "passes",
        };
        mistakes.add(key, problem);
    }
    let [pass] = plan.passes.as_mut_slice() else { return };
    if matches!(pass, PassPlan::Conversations(_)) {
        // `left_out::refuse` reports this mistake.
        return;
    }
    let default = size_of_block(spec, pass);
    let Some(requests) = pass.requests() else {
        mistakes.add("requests", "is missing: a block needs a number of requests");
        return;
    };
    if requests == 0 {
        // The code that resolves the load reports this mistake.
        return;
    }
    if requests > MOST_OF_A_BLOCK {
        let problem = format!("is {requests}; a block can have at most {MOST_OF_A_BLOCK} requests");
        mistakes.add("requests", problem);
    }
    let uncounted = asked.uncounted.unwrap_or(default);
    if uncounted >= requests {
        let problem = format!(
            "the first {uncounted} requests of a block are not counted, but a block has only \
                {requests} requests; give a smaller number, or more --requests"
        );
        mistakes.add("uncounted", problem);
    }
    if uncounted > 0 && matches!(pass, PassPlan::Saturated(_)) {
        mistakes.add(
            "uncounted",
            "must be 0: this load sends all requests at once, so all of them are counted",
        );
    }
    if uncounted < requests {
        check_in_flight(pass, (requests, uncounted), mistakes);
    }
    let of_pair = 2 * u64::from(requests);
    let max_requests =
        asked.max_requests.unwrap_or_else(|| MAX_REQUESTS.max(USUAL_PAIRS * of_pair));
    let pairs = max_requests / of_pair;
    if pairs < u64::from(FEWEST_PAIRS) {
        let problem = format!(
            "{max_requests} is less than {FEWEST_PAIRS} pairs of blocks of {requests} requests, \
                the minimum for a decision; give at least {}",
            u64::from(FEWEST_PAIRS) * of_pair
        );
        mistakes.add("max_requests", problem);
    }
    let most_requests = (MAX_PASSES as u64).saturating_mul(of_pair);
    if max_requests > most_requests {
        let problem = format!(
            "{max_requests} is more than {MAX_PASSES} pairs of blocks of {requests} requests, the \
                maximum; give at most {most_requests}"
        );
        mistakes.add("max_requests", problem);
    }
    let figures = figures(asked, pass, mistakes);
    plan.repeat = Repeat {
        at_least: 1,
        at_most: pairs.clamp(1, MAX_PASSES as u64) as u32,
        until: Vec::new(),
    };
    plan.procedure = Procedure::Ab(AbPlan {
        figures,
        minimal_effect: minimal_effect(asked, mistakes),
        uncounted,
        max_requests,
        max_time: mistakes.read("max_time", asked.max_time.as_ref(), values::span),
    });
}

/// Refuses blocks of a closed loop that have too few requests. In such blocks, the number of requests in
/// flight always increases or decreases, so their rates have no meaning.
fn check_in_flight(pass: &PassPlan, (requests, uncounted): (u32, u32), mistakes: &mut Mistakes) {
    let PassPlan::Closed(ClosedPlan { concurrency, .. }) = pass else { return };
    let in_flight = concurrency.constant().map_or(1, |level| level as u32);
    let fewest = in_flight.saturating_mul(2).saturating_add(uncounted.max(in_flight));
    if in_flight > 1 && requests < fewest {
        let problem = format!(
            "{requests} requests of a block are too few for {in_flight} requests in flight and \
                {uncounted} uncounted requests: the number in flight would never be constant; \
                give at least {fewest}"
        );
        mistakes.add("requests", problem);
    }
}

/// Sets the number of requests in a block, if none is given. Returns the default number of requests at
/// the start of a block that are not counted.
fn size_of_block(spec: &Spec, pass: &mut PassPlan) -> u32 {
    match pass {
        PassPlan::OneByOne(OneByOnePlan { bound }) => {
            if spec.one_by_one.is_none() {
                bound.requests = Some(1);
            }
            0
        }
        PassPlan::Closed(ClosedPlan { concurrency, bound }) => {
            let in_flight = concurrency.constant().map_or(IN_FLIGHT, |level| level as u32);
            if spec.requests.is_none() {
                // With one request in flight, requests do not affect each other, so one request is enough
                // for a block.
                let times = if in_flight == 1 { 1 } else { IN_FLIGHT_TIMES };
                bound.requests = Some(in_flight.saturating_mul(times));
            }
            if in_flight == 1 {
                0
            } else {
                in_flight.min(bound.requests.unwrap_or(1).saturating_sub(1))
            }
        }
        PassPlan::Open(OpenPlan { bound, .. }) => {
            if spec.requests.is_none() {
                bound.requests = Some(OTHERS);
            }
            bound.requests.unwrap_or(0) / 4
        }
        PassPlan::Saturated(SaturatedPlan { requests }) => {
            if spec.requests.is_none() {
                *requests = OTHERS;
            }
            0
        }
        _ => 0,
    }
}

fn minimal_effect(asked: &AbSpec, mistakes: &mut Mistakes) -> f64 {
    let share =
        mistakes.read(
            "minimal_effect",
            asked.minimal_effect.as_ref(),
            |value| match values::share(value)? {
                share if share > 0.0 && share < 1.0 => Ok(share),
                _ => Err("must be above 0% and below 100%"),
            },
        );
    share.unwrap_or(MINIMAL_EFFECT)
}

/// The figures that are compared: those that the user gave, otherwise defaults for this kind of load.
fn figures(asked: &AbSpec, pass: &PassPlan, mistakes: &mut Mistakes) -> Vec<AbFigure> {
    let usual: &[&str] = match pass {
        PassPlan::Closed(ClosedPlan { concurrency, .. }) if concurrency.constant() == Some(1.0) => {
            &["e2e_p50", "ttft_p50", "tpot_p50"]
        }
        PassPlan::OneByOne(_) => &["e2e_p50", "ttft_p50", "tpot_p50"],
        PassPlan::Closed(_) | PassPlan::Saturated(_) => {
            &["output_tokens_per_s", "ttft_p50", "tpot_p50", "e2e_p50"]
        }
        _ => &["ttft_p50", "tpot_p50", "e2e_p50"],
    };
    let usual: Vec<String> = usual.iter().map(|name| (*name).to_owned()).collect();
    let names = asked.metric.as_ref().unwrap_or(&usual);
    let mut found: Vec<AbFigure> = Vec::new();
    for name in names {
        let figure = quantity(name, name.trim())
            .map(|(metric, statistic)| AbFigure { metric, statistic })
            .map_err(|error| error.to_string());
        match figure {
            Ok(figure) if !figure.is_of_blocks() => {
                let problem = format!(
                    "`{name}` cannot be compared in blocks; use requests_per_s, \
                        output_tokens_per_s, or statistics of latencies such as ttft_p50"
                );
                mistakes.add("metric", problem);
            }
            Ok(figure) if found.contains(&figure) => {
                mistakes.add("metric", format!("`{name}` is given twice"));
            }
            Ok(figure) => found.push(figure),
            Err(problem) => mistakes.add("metric", problem),
        }
    }
    if names.is_empty() {
        mistakes.add("metric", "is empty; name at least one metric");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Known;

    #[test]
    fn a_comparison_in_blocks_refuses_conversations_with_one_mistake() {
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        for keys in [
            r#"{"workload": "conversation", "ab": {}}"#,
            r#"{"workload": "conversation", "concurrency": [4], "ab": {}}"#,
        ] {
            let spec: Spec = serde_json::from_str(keys).unwrap();
            let told = spec.with_defaults_of_ab().resolve(&known).unwrap_err();
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains("workload (--workload)"), "{told:?}");
            assert!(told[0].contains("give another --workload"), "{told:?}");
        }
    }
}
