//! Tests of the comparison of answers.

use serde_json::json;

use super::*;

fn search(
    estimate: impl Into<Option<f64>>,
    ends: [Option<f64>; 2],
    outcome: &str,
    slo: &str,
) -> Answer {
    let estimate: Option<f64> = estimate.into();
    let answer: SearchAnswer = serde_json::from_value(json!({
        "input_length": 512, "output_length": 128, "over": "rate", "confidence": 0.95,
        "objectives": [{ "text": slo, "share": 0.99, "mean_limit_ms": null }],
        "precision": 0.05, "outcome": outcome, "estimate": estimate, "low": ends[0],
        "high": ends[1], "guess": estimate, "limited_by": [], "saturated": false,
        "contradicts": false, "requests": 1, "trials": 1, "loads": [],
    }))
    .expect("an answer");
    of_search(&answer)
}

#[test]
fn the_highest_loads_are_compared_by_the_intervals_of_both_answers() {
    let slo = "ttft_p99<500ms";
    let fixed = search(10.0, [Some(9.0), Some(11.0)], "found", slo);
    for (estimate, ends, outcome, verdict) in [
        (20.0, [Some(18.0), Some(22.0)], "found", AnswerVerdict::Higher),
        (5.0, [Some(4.5), Some(5.5)], "found", AnswerVerdict::Lower),
        (10.5, [Some(9.5), Some(11.5)], "requests_spent", AnswerVerdict::Unknown),
        // An open end does not hide a difference on the other side.
        (20.0, [Some(18.0), None], "met_at_highest", AnswerVerdict::Higher),
        (5.0, [Some(4.5), None], "met_at_highest", AnswerVerdict::Unknown),
    ] {
        let other = search(estimate, ends, outcome, slo);
        let [row] = rows(std::slice::from_ref(&fixed), &[other], 0.05).try_into().expect("one row");
        assert_eq!(row.verdict, verdict, "{row:?}");
        assert_eq!(row.contender.is_undecided, outcome == "requests_spent");
        let ratio = row.ratio.expect("both are known");
        assert!((ratio.value - estimate / 10.0).abs() < 1e-9, "{ratio:?}");
        assert_eq!(ratio.high.is_some(), ends[1].is_some(), "{ratio:?}");
    }
}

#[test]
fn answers_within_the_margin_show_no_difference_and_other_objectives_have_no_row() {
    let of = |slo: &str| search(10.0, [Some(9.9), Some(10.1)], "found", slo);
    let (one, other) = (of("ttft_p99<500ms"), of("ttft_p99<1s"));
    let [row] = rows(std::slice::from_ref(&one), std::slice::from_ref(&one), 0.05)
        .try_into()
        .expect("one row");
    assert_eq!(row.verdict, AnswerVerdict::NoDifference);
    assert!(rows(&[one], &[other], 0.05).is_empty());
}

#[test]
fn answers_with_the_same_limit_in_another_unit_are_compared() {
    let of = |slo: &str| search(10.0, [Some(9.9), Some(10.1)], "found", slo);
    let found = rows(&[of("ttft_p95<120ms")], &[of("ttft_p95<0.12s")], 0.05);
    let [row] = found.try_into().expect("one row");
    assert_eq!(row.objectives.as_deref(), Some("ttft_p95<120ms"));
    assert!(row.baseline.known.is_some() && row.contender.known.is_some(), "{row:?}");
}

const SLO: &str = "ttft_p99<500ms";

/// An answer whose interval reaches 2 % to each side.
pub(in crate::compare) fn answered(estimate: f64) -> Answer {
    search(estimate, [Some(0.98 * estimate), Some(1.02 * estimate)], "found", SLO)
}

/// The answer of a search that no load satisfies.
pub(in crate::compare) fn missed() -> Answer {
    search(None, [None, Some(1.0)], "not_met_at_lowest", SLO)
}

/// A search that ended before it had an answer.
pub(in crate::compare) fn unknown() -> Answer {
    search(None, [None; 2], "requests_spent", SLO)
}

/// An answer that is bounded by the highest allowed load.
fn bounded(highest: f64) -> Answer {
    search(highest, [Some(0.98 * highest), None], "met_at_highest", SLO)
}

pub(in crate::compare) fn compared(baseline: &[Answer], contender: &[Answer]) -> Vec<AnswerRow> {
    rows(baseline, contender, 0.05)
}

#[test]
fn a_side_that_serves_no_load_is_lower_and_a_side_with_missing_answers_is_unknown() {
    let known = || answered(10.0);
    for (baseline, contender, verdict, missing) in [
        (vec![known()], vec![missed()], AnswerVerdict::Lower, Some(NoAnswer::NoLoadMeets)),
        (vec![missed()], vec![known()], AnswerVerdict::Higher, None),
        (vec![known()], vec![unknown()], AnswerVerdict::Unknown, Some(NoAnswer::Unknown)),
        (vec![known()], vec![missed(), unknown()], AnswerVerdict::Unknown, Some(NoAnswer::Unknown)),
        (vec![missed()], vec![missed()], AnswerVerdict::Unknown, Some(NoAnswer::NoLoadMeets)),
        // The runs with an answer would show a difference if the others were left out.
        (vec![known()], vec![answered(20.0), missed()], AnswerVerdict::Unknown, None),
        (vec![known(), unknown()], vec![answered(20.0)], AnswerVerdict::Unknown, None),
    ] {
        let [row] = compared(&baseline, &contender).try_into().expect("one row");
        assert_eq!((row.verdict, row.contender.missing), (verdict, missing), "{row:?}");
    }
}

#[test]
fn a_lower_bound_leaves_one_end_of_the_ratio_open_and_two_bounds_have_no_ratio() {
    for (baseline, contender, verdict, ends) in [
        (answered(10.0), bounded(20.0), AnswerVerdict::Higher, Some([true, false])),
        (answered(10.0), bounded(5.0), AnswerVerdict::Unknown, Some([true, false])),
        (bounded(10.0), answered(5.0), AnswerVerdict::Lower, Some([false, true])),
        (bounded(10.0), answered(20.0), AnswerVerdict::Unknown, Some([false, true])),
        (bounded(10.0), bounded(20.0), AnswerVerdict::Unknown, None),
    ] {
        let [row] = compared(&[baseline], &[contender]).try_into().expect("one row");
        let found = row.ratio.map(|ratio| [ratio.low.is_some(), ratio.high.is_some()]);
        assert_eq!((row.verdict, found), (verdict, ends), "{row:?}");
        assert_eq!(row.why_incomplete().is_some(), ends.is_none(), "{row:?}");
    }
}

#[test]
fn a_search_and_a_sweep_are_not_called_searches_with_other_objectives() {
    let sweep = Answer {
        figure: AnswerFigure::Knee,
        answered: Answered { objectives: None, by_value: None, ..answered(10.0).answered },
        ..answered(10.0)
    };
    for (other, words) in [(sweep, "one run is a search"), (answered(1.0), "no lengths and")] {
        let told = why_nothing(&[answered(10.0)], &[other]);
        assert!(told.contains(words), "{told}");
    }
}
