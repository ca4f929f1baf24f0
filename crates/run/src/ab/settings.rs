//! Finds a setting that differs between the two sides of a comparison but has no effect at the measured load.

use inferometer_analysis::Summary;
use inferometer_model::{Finding, PassKind, code};

/// A finding if the servers state different limits on the requests that they run at the same time, and no pass had more
/// requests in flight than the lower limit. `None` if the number of requests in flight of a pass is unknown.
pub(crate) fn limits_not_reached(runs: &[Summary]) -> Option<Finding> {
    let [a, b] = runs else { return None };
    let limit = |run: &Summary| run.target.facts.max_num_seqs();
    let (a_limit, b_limit) = (limit(a)?, limit(b)?);
    let passes = || runs.iter().flat_map(|run| &run.cells).flat_map(|cell| &cell.passes);
    let in_flight: Option<Vec<u64>> = passes().map(|pass| pass.peak_concurrency).collect();
    let in_flight = in_flight?.into_iter().max()?;
    let (lower, higher) = (a_limit.min(b_limit), a_limit.max(b_limit));
    if lower == higher || in_flight > lower {
        return None;
    }
    let message = format!(
        "max_num_seqs differs ({a_limit} for A, {b_limit} for B), but at most {in_flight} requests were in flight, so \
         no request waited because of these limits."
    );
    let mut advice = format!(
        "to see the effect of the limits, measure with more than {lower} requests in flight"
    );
    // If the load is a request rate, the user does not choose the number of requests in flight.
    if passes().all(|pass| pass.kind != PassKind::Open) {
        advice += &format!(", such as --concurrency {higher}");
    }
    Some(Finding::of(code::AB_LIMITS_NOT_REACHED, message).advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run whose server states this limit, with passes that had these requests in flight.
    fn run(fact: &str, limit: &str, in_flight: &[Option<u64>]) -> Summary {
        let mut summary: Summary = serde_json::from_value(json!({
            "schema": "", "tool": {"name": "inferometer", "version": "1"}, "started_at": "",
            "run_id": "", "plan_hash": "", "predicted": true, "findings": [], "cells": [],
            "target": inferometer_model::target::Target::default(), "workload_hash": "",
            "environment": inferometer_model::target::Environment::default(),
            "verdict": inferometer_analysis::verdict::Verdict::default(), "body_hash": "",
        }))
        .expect("a summary");
        summary.target.facts.others.insert(fact.to_owned(), limit.to_owned());
        let plan = inferometer_model::load::PassPlan::saturated(1);
        let pass = inferometer_analysis::fold::PassFold::new(&plan).finish();
        let passes = in_flight.iter().map(|&peak_concurrency| {
            inferometer_analysis::pass::PassSummary { peak_concurrency, ..pass.clone() }
        });
        summary.cells = vec![inferometer_analysis::cell::cell(128, 32, passes.collect())];
        summary
    }

    #[test]
    fn limits_that_the_load_does_not_reach_are_reported_with_a_load_that_reaches_them() {
        const FACT: &str = "max_num_seqs";
        let eight = [Some(8), Some(8)];
        for (a, b, is_found) in [
            (run(FACT, "64", &eight), run(FACT, "8", &eight), true),
            (run("--max-num-seqs", "64", &eight), run(FACT, "8", &eight), true),
            // A ninth request waits on side B.
            (run(FACT, "64", &[Some(9)]), run(FACT, "8", &[Some(9)]), false),
            (run(FACT, "64", &[Some(9)]), run(FACT, "8", &[Some(8)]), false),
            (run(FACT, "64", &eight), run(FACT, "64", &eight), false),
            (run(FACT, "many", &eight), run(FACT, "8", &eight), false),
            (run("other", "64", &eight), run(FACT, "8", &eight), false),
            (run(FACT, "64", &[None]), run(FACT, "8", &[None]), false),
            // A pass with an unknown number of requests in flight may have reached the limit.
            (run(FACT, "64", &[Some(4), None]), run(FACT, "8", &eight), false),
        ] {
            let found = limits_not_reached(&[a, b]);
            assert_eq!(found.is_some(), is_found, "{found:?}");
            if let Some(found) = found {
                assert!(found.message.contains("(64 for A, 8 for B), but at most 8 requests"));
                let advice = found.advice.expect("advice");
                assert!(advice.contains("more than 8") && advice.ends_with("--concurrency 64"));
            }
        }
    }

    #[test]
    fn at_a_rate_the_advice_names_no_concurrency() {
        let [a, b] = ["64", "8"].map(|limit| {
            let mut side = run("max_num_seqs", limit, &[Some(8)]);
            side.cells[0].passes[0].kind = PassKind::Open;
            side
        });
        let advice = limits_not_reached(&[a, b]).and_then(|found| found.advice).expect("advice");
        assert!(advice.ends_with("more than 8 requests in flight"), "{advice}");
    }
}
