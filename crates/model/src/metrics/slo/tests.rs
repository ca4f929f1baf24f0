//! Tests of objectives as users write them, valid and invalid.

use super::*;

#[test]
fn objectives_are_parsed_with_statistic_comparison_limit_and_unit() {
    use Comparison::{Above, AtLeast, AtMost, Below};
    for (text, metric, statistic, comparison, limit) in [
        ("ttft_p99<500ms", "ttft", Some(Statistic::P99), Below, 500.0),
        ("tpot_mean <= 0.05 s", "tpot", Some(Statistic::Mean), AtMost, 50.0),
        ("itl_max<2500us", "itl", Some(Statistic::Max), Below, 2.5),
        ("e2e_p50>1s", "e2e", Some(Statistic::P50), Above, 1000.0),
        ("ttft_from_due_p90<1s", "ttft_from_due", Some(Statistic::P90), Below, 1000.0),
        ("e2e_from_due_p90<1s", "e2e_from_due", Some(Statistic::P90), Below, 1000.0),
        ("send_delay_p99<1ms", "send_delay", Some(Statistic::P99), Below, 1.0),
        ("requests_per_s>4.5", "requests_per_s", None, Above, 4.5),
        ("output_tokens_per_s>=2000/s", "output_tokens_per_s", None, AtLeast, 2000.0),
        ("failures<1%", "failures", None, Below, 1.0),
    ] {
        let [got] = &parse(text).expect(text)[..] else { panic!("{text}: not one objective") };
        assert_eq!((got.metric.name(), got.statistic), (metric, statistic), "{text}");
        assert_eq!((got.comparison, got.text.as_str()), (comparison, text));
        assert!((got.limit - limit).abs() < 1e-9, "{text}: {}", got.limit);
    }
}

#[test]
fn objectives_with_the_same_limit_in_other_units_are_the_same_by_value() {
    for (one, other, is_same) in [
        ("ttft_p95<120ms", "ttft_p95<0.12s", true),
        ("ttft_p95<120ms", "ttft_p95 < 120000 us", true),
        (
            "95% of requests at ttft<500ms,tpot<50ms",
            "95% of requests at ttft<0.5s,tpot<0.05s",
            true,
        ),
        ("failures<=1% (--max-failures)", "failures<=1.0% (--max-failures)", true),
        ("95% of requests at ttft<2s,tpot<50ms", "95% of requests at tpot<0.05s,ttft<2000ms", true),
        ("ttft_p99<2s,tpot_p99<50ms", "tpot_p99<0.05s, ttft_p99<2000ms", true),
        ("requests_per_s>4/s", "requests_per_s>4", true),
        ("requests_per_s > 4 /s", "requests_per_s>4.0", true),
        ("95% of requests at ttft<2s,tpot<50ms", "90% of requests at ttft<2s,tpot<50ms", false),
        ("ttft_p95<120ms", "ttft_p95<=120ms", false),
        ("ttft_p95<120ms", "ttft_p95<121ms", false),
        ("ttft_p95<120ms", "ttft_p99<120ms", false),
        ("requests_per_s>4", "requests_per_s>4.5", false),
    ] {
        assert_eq!(by_value(one) == by_value(other), is_same, "{one}, {other}");
    }
}

#[test]
fn objectives_are_separated_by_commas() {
    let texts: Vec<String> = parse(" ttft_p99<500ms, tpot_p99<50ms ")
        .expect("valid")
        .into_iter()
        .map(|objective| objective.text)
        .collect();
    assert_eq!(texts, ["ttft_p99<500ms", "tpot_p99<50ms"]);
}

#[test]
fn an_invalid_objective_is_an_error_with_the_reason_and_the_expected_form() {
    for (text, message) in [
        ("", "an objective is empty"),
        ("ttft_p99<1s,", "an objective is empty"),
        ("ttft_p99=500ms", "`ttft_p99=500ms` has no comparison"),
        (
            "tttft_p99<500ms",
            "unknown metric `tttft_p99` (did you mean `ttft_p99`?); objectives can ",
        ),
        ("request_per_s>4", "(did you mean `requests_per_s`?)"),
        ("colour<1ms", "unknown metric `colour`; objectives can "),
        ("colour<1ms", " use ttft, tpot,"),
        ("<1ms", "unknown metric ``"),
        ("ttft<500ms", "has no known statistic of ttft; write it like `ttft_p99<500ms`"),
        ("ttft_p97<500ms", "with one of mean, p50, p90, p95, p99, p999, max"),
        ("failures_p99<1%", "; write failures without a statistic"),
        ("ttft_p99<500", "a time above 0"),
        ("ttft_p99<fast", "a time above 0"),
        ("ttft_p99<1.2.3ms", "a time above 0"),
        ("ttft_p99<-5ms", "a time above 0"),
        ("ttft_p99<0ms", "a time above 0"),
        ("ttft_p99<5%", "a time above 0"),
        ("failures<3", "a percentage, as in `failures<1%`"),
        ("requests_per_s>4ms", "a number per second"),
    ] {
        let errors = parse(text).expect_err(text);
        let got = errors[0].to_string();
        assert!(got.contains(message), "{text}: {got}");
    }
}

#[test]
fn every_invalid_objective_is_reported() {
    assert_eq!(parse("ttft<1s,tpot_p99<50ms,x<1").expect_err("two are wrong").len(), 2);
}
