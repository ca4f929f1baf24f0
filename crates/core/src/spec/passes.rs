//! The passes of each cell, from what was asked for.

use std::time::Duration;

use super::{Mistakes, Spec, values};
use crate::plan::{Bound, PassPlan};
use crate::suggest::did_you_mean;

/// Requests of the published tables: one by one, and saturated.
const TABLE_ONE_BY_ONE: u32 = 10;
const TABLE_REQUESTS: u32 = 399;
/// The same for a run that was asked for nothing: under a minute.
const DEMONSTRATION_ONE_BY_ONE: u32 = 2;
const DEMONSTRATION_REQUESTS: u32 = 32;

/// The passes, in order: the named ones, then closed loops, then open ones.
pub(super) fn passes(spec: &Spec, mistakes: &mut Mistakes) -> Vec<PassPlan> {
    let (one_by_one, requests) = if is_demonstration(spec) {
        (DEMONSTRATION_ONE_BY_ONE, DEMONSTRATION_REQUESTS)
    } else {
        (TABLE_ONE_BY_ONE, TABLE_REQUESTS)
    };
    let one_by_one = mistakes.count("one_by_one", spec.one_by_one, one_by_one);
    let requests = mistakes.count("requests", spec.requests, requests);
    let duration = mistakes.read("duration", spec.duration.as_ref(), values::span);
    let bound = loop_bound(spec, requests, duration);

    let mut passes = Vec::new();
    for name in named(spec) {
        match name.replace('-', "_").as_str() {
            "table" => passes.extend([
                PassPlan::OneByOne { bound: Bound::requests(one_by_one) },
                PassPlan::Saturated { requests },
            ]),
            "one_by_one" => {
                passes.push(PassPlan::OneByOne { bound: Bound::requests(one_by_one) });
            }
            "saturated" => passes.push(PassPlan::Saturated { requests }),
            other => mistakes.add("passes", unknown_pass(other)),
        }
    }
    for &concurrency in spec.concurrency.iter().flatten() {
        if concurrency == 0 {
            mistakes.add("concurrency", "0 in flight measures nothing; give at least 1");
        }
        passes.push(PassPlan::Closed { concurrency, bound });
    }
    if spec.max_in_flight == Some(0) {
        mistakes.add("max_in_flight", "is 0; give at least 1");
    }
    for rate in spec.rate.iter().flatten() {
        if let Some(rate) = mistakes.read("rate", Some(rate), values::rate) {
            if rate.is_infinite() && bound.requests.is_none() {
                mistakes.add("rate", "`inf` never ends by --duration alone; give --requests too");
            }
            passes.push(PassPlan::Open { rate, bound, max_in_flight: spec.max_in_flight });
        }
    }
    unused_options(spec, &passes, mistakes);
    passes
}

/// A run without target, lengths, counts or loads: somebody tries the tool.
fn is_demonstration(spec: &Spec) -> bool {
    spec.target.is_none()
        && spec.input_lengths.is_none()
        && spec.output_lengths.is_none()
        && spec.passes.is_none()
        && spec.concurrency.is_none()
        && spec.rate.is_none()
}

fn named(spec: &Spec) -> Vec<String> {
    match &spec.passes {
        Some(names) => names.clone(),
        None if spec.concurrency.is_some() || spec.rate.is_some() => Vec::new(),
        None => vec!["table".to_owned()],
    }
}

fn unknown_pass(name: &str) -> String {
    let known = ["table", "one_by_one", "saturated"];
    format!(
        "`{name}` is not a pass{}; there are {}; loads of your own are --concurrency and --rate",
        did_you_mean(name, known),
        known.join(", ")
    )
}

/// A time alone bounds by time; otherwise the count does, and the time too if it is given.
fn loop_bound(spec: &Spec, requests: u32, duration: Option<Duration>) -> Bound {
    let by_time_alone = duration.is_some() && spec.requests.is_none();
    Bound { requests: (!by_time_alone).then_some(requests), duration }
}

/// An option that no pass listens to is a mistake, not a wish that is ignored.
fn unused_options(spec: &Spec, passes: &[PassPlan], mistakes: &mut Mistakes) {
    let any = |wanted: fn(&PassPlan) -> bool| passes.iter().any(wanted);
    let open = any(|pass| matches!(pass, PassPlan::Open { .. }));
    let closed = any(|pass| matches!(pass, PassPlan::Closed { .. }));
    let one_by_one = any(|pass| matches!(pass, PassPlan::OneByOne { .. }));
    let no_pass = "has no pass to act on; ";
    if spec.duration.is_some() && !open && !closed {
        mistakes.add("duration", format!("{no_pass}it bounds --concurrency and --rate"));
    }
    if spec.max_in_flight.is_some() && !open {
        mistakes.add("max_in_flight", format!("{no_pass}it limits --rate"));
    }
    if spec.one_by_one.is_some() && !one_by_one {
        mistakes.add("one_by_one", format!("{no_pass}add --passes table"));
    }
    if passes.is_empty() && mistakes.0.is_empty() {
        mistakes.add("passes", "is empty; there is nothing to measure");
    }
}
