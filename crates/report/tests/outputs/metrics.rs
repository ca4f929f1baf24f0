//! Tests that each metric of the registry arrives in every output without a line for it anywhere else.

use inferometer_analysis::cell::cell;
use inferometer_analysis::compare::{Options, Subject, compare};
use inferometer_analysis::fold::PassFold;
use inferometer_analysis::judge::judge;
use inferometer_analysis::pass::path_of;
use inferometer_analysis::summary::Summary;
use inferometer_model::EventKind;
use inferometer_model::fixture::steady;
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::slo::{JudgedMetric, Statistic, parse};
use inferometer_model::metrics::{Definition, Timeline, Unit, registry, request_objective};
use inferometer_model::record::JobCall;
use inferometer_report::terminal::{Screen, text};
use inferometer_report::{csv, json, table};
use serde_json::Value;

use crate::support::empty;

/// The summary of a pass with four streams in flight at any time, in which every metric has a value.
fn measured() -> Summary {
    with_reasoning(1)
}

/// The summary of a pass with four streams in flight at any time, whose first tokens are reasoning, and whose last one is a
/// tool call.
fn with_reasoning(tokens: usize) -> Summary {
    let mut fold = PassFold::new(&PassPlan::closed(4, Bound::requests(200)))
        .judging(&request_objective::parse("ttft<1s").unwrap());
    for index in 0..200 {
        let mut record = steady(f64::from(index / 4) * 200.0, 40.0, 16.0, 11);
        record.index = index;
        record.usage.prompt = Some(128);
        let recorded_ns = Some((0, 1_000_000_000));
        let job = JobCall { job: index, calls: 1, recorded_ns, ..JobCall::default() };
        record.job = Some(Box::new(job));
        let texts = record.events.iter_mut().filter(|event| event.kind == EventKind::Text);
        texts.take(tokens).for_each(|event| event.kind = EventKind::Reasoning);
        if let Some(last) = record.events.iter_mut().rfind(|event| event.kind.is_token()) {
            last.kind = EventKind::ToolCall;
        }
        fold.add(&Timeline::new(&record));
    }
    let mut summary = empty("model", "card", "engine", "1");
    summary.cells = vec![cell(128, 11, vec![fold.finish()])];
    summary
}

fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.trim_start_matches("$.").split('.').fold(value, |value, key| &value[key])
}

#[test]
fn every_metric_of_a_pass_is_in_results_cells_rows_and_tables() {
    let summary = measured();
    let document: Value = serde_json::from_str(&json::summary(&summary)).unwrap();
    let (cell, rows) = (&document["cells"][0], csv::rows(&summary));
    let text = table::markdown(&[summary]);
    for (key, metric) in registry::of_passes() {
        let value = at(&cell["passes"][0], &path_of(metric));
        assert!(value.is_number(), "{key}: {value}");
        assert_eq!(cell[key].as_f64(), value.as_f64(), "{key}");
        assert!(rows[0].iter().any(|(name, _)| name.starts_with(key)), "{key}");
        let heading = metric.column.map(|heading| format!("| {heading} |"));
        assert!(heading.is_none_or(|heading| text.contains(&heading)), "{key}");
    }
}

#[test]
fn every_metric_of_requests_is_in_results_and_rows() {
    let summary = measured();
    let document: Value = serde_json::from_str(&json::summary(&summary)).unwrap();
    let rows = csv::rows(&summary);
    for (key, metric) in registry::in_results() {
        let values = &document["cells"][0]["passes"][0][key];
        assert!(values["mean"].is_number(), "{key}: {values}");
        let name = format!("{}_p99_{}", metric.name, metric.unit.in_names());
        assert!(rows[0].iter().any(|(known, _)| *known == name), "{name}");
    }
}

#[test]
fn an_objective_on_every_judged_metric_is_decided() {
    let summary = measured();
    for metric in registry::judged() {
        let statistic = match JudgedMetric::of(metric).is_distribution() {
            true => format!("_{}", Statistic::Mean.name()),
            false => String::new(),
        };
        let text = format!("{}{statistic}{}", metric.name, limit(metric));
        let objectives = parse(&text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let [result] = &judge(&objectives, &summary.cells)[..] else { panic!("{text}") };
        assert!(result.met && result.measured.is_some(), "{text}: {result:?}");
    }
}

/// A limit that every request of [`measured`] meets.
fn limit(metric: &Definition) -> &'static str {
    match metric.unit {
        Unit::Percent => "<=0%",
        Unit::RequestsPerSecond | Unit::TokensPerSecond => ">1",
        Unit::Share => ">=1",
        Unit::JobsPerHour => ">1",
        Unit::Ratio => "<1",
        Unit::Tokens => "<=1",
        _ => "<1s",
    }
}

#[test]
fn tables_and_results_have_reasoning_only_if_the_pass_has_some() {
    let last_row = |summary: &Summary| {
        let all = text(std::slice::from_ref(summary), Screen::NONE);
        let table = all.split_once("\nReasoning\n")?.1.split("\n\n").next()?;
        Some(table.lines().last()?.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    // TTFT, TTFR and TTFOT (p50, p99 of each), ICL, speed, tokens, their share, and the source.
    let expected = "40 40 40 40 104 104 16 55 4 36.36 events";
    let found = last_row(&with_reasoning(4)).expect("a table");
    assert!(found.ends_with(expected), "{found}");
    let without = with_reasoning(0);
    assert_eq!(last_row(&without), None);
    let all = json::summary(&without) + &table::markdown(&[without]);
    assert!(!all.to_lowercase().contains("reasoning") && !all.contains("ttfr"), "{all}");
}

#[test]
fn comparisons_have_the_times_and_tokens_of_reasoning_only_if_the_runs_have_some() {
    let [some, none] = [with_reasoning(4), with_reasoning(0)];
    let figures = |summary| {
        let of = |name| Subject::of_run(name, summary);
        let rows = compare(&of("a"), &of("b"), Options::default()).expect("figures").rows;
        rows.into_iter().map(|row| row.figure).collect::<Vec<_>>()
    };
    let new = [
        "ttfr_p50", "ttfr_p99", "ttfot_p50", "ttfot_p99", "per_user_speed_p50",
        "reasoning_tokens_mean",
    ];
    let (with, without) = (figures(&some), figures(&none));
    assert!(with.starts_with(&without), "{with:?}");
    assert_eq!(with[without.len()..], new);
}
