//! Tests of the outputs for a plan with several servers.

use std::collections::BTreeMap;

use inferometer_analysis::cell::Cell;
use inferometer_analysis::compare::{self, Design, Row, RowVerdict};
use inferometer_analysis::effect::{SweptRun, effects};
use inferometer_analysis::summary::Summary;
use inferometer_report::comparison::{self, COMPARISON_SCHEMA, Comparison};
use inferometer_report::plot::{self, Theme};
use inferometer_report::{charts, difference};

use crate::support::{cell, empty};

/// A comparison of two servers that differ in one argument, with two rounds each, and a third server that
/// did not start.
pub(crate) fn compared() -> Comparison {
    let figures = [("8", 1, 10.0), ("64", 1, 21.0), ("64", 2, 19.0), ("8", 2, 10.5)];
    let mut runs: Vec<(BTreeMap<String, String>, u32, Summary)> = Vec::new();
    for (value, round, rate) in figures {
        let mut run = empty("书生·浦语-7B", "A100 40G", "vllm", "0.32.0");
        run.target.facts.origin.variant = Some(format!("max-num-seqs={value}"));
        run.cells = vec![cell(128, 32, [Some(rate), Some(32.0 * rate), Some(0.5), Some(2.5)])];
        runs.push((BTreeMap::from([("max-num-seqs".to_owned(), value.to_owned())]), round, run));
    }
    let tried: Vec<SweptRun<'_>> = runs
        .iter()
        .map(|(settings, round, run)| SweptRun { settings, round: *round, cells: &run.cells })
        .collect();
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        group: "group-0a1b2c3d".to_owned(),
        effects: effects(&tried),
        failed: vec!["max-num-seqs=0: server: ended\nbefore it was ready | *x*".to_owned()],
        remarks: vec!["they did not get the same requests".to_owned()],
        ranking: Vec::new(),
        answers: Vec::new(),
        tune: None,
        runs: runs.into_iter().map(|(.., run)| run).collect(),
    }
}

#[test]
fn a_comparison_as_markdown_csv_and_text_matches_its_snapshot() {
    let compared = compared();
    let all =
        [comparison::markdown(&compared), comparison::csv(&compared), comparison::text(&compared)];
    // The snapshot of a report has these names of columns.
    let filters = [(r"[Ll]atency per (output )?token \(ms\)", "latency per ${1}...")];
    insta::with_settings!({ filters => filters }, {
        insta::assert_snapshot!(all.join("\n----\n"));
    });
}

#[test]
fn the_advice_names_the_fewest_rounds_that_decide_a_row_and_no_drift_after_alternation() {
    let row = |needed| Row {
        cell: None,
        load: "saturated".to_owned(),
        figure: "requests_per_s".to_owned(),
        higher_is_better: true,
        baseline: 1.0,
        contender: 1.1,
        repeats: [5, 5],
        difference_pct: 10.0,
        interval_pct: None,
        p: None,
        design: Design::Unknown,
        over_time: [None; 2],
        verdict: RowVerdict::NotEnoughData { needed },
    };
    for (design, words) in [
        (Design::Alternated { rounds: 5 }, "To decide more figures"),
        (Design::Unknown, "To separate a change"),
    ] {
        let rows = vec![row(9), row(24), row(12)];
        let compared = compare::Comparison { design, rows, ..compare::Comparison::default() };
        let text = difference::text(&compared, &[]);
        let line = text.lines().find(|line| line.contains("`rounds = ")).expect("advice");
        assert!(line.starts_with(words) && line.contains("`rounds = 9` (enough for"), "{line}");
        assert_eq!(line.contains("drift"), !design.is_alternated(), "{line}");
    }
}

#[test]
fn the_table_of_an_effect_shows_the_repeats_of_a_run_beside_the_pairs() {
    let mut compared = compared();
    assert!(!comparison::text(&compared).contains("Repeats in a run"));
    assert!(!comparison::text(&compared).contains("One pair"));
    for effect in &mut compared.effects {
        (effect.pairs, effect.repeats) = (1, 3);
    }
    let text = comparison::text(&compared);
    assert!(
        text.contains("repeats are not pairs. One pair has no interval: set `rounds`"),
        "{text}"
    );
    let ends: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.trim_start().starts_with("128 "))
        .map(|line| line.split_whitespace().rev().take(2).collect())
        .collect();
    assert_eq!(ends, [["3", "1"], ["3", "1"]], "{text}");
    // A document of an earlier version does not state the repeats.
    let mut document = serde_json::to_value(&compared).unwrap();
    document["effects"][0].as_object_mut().unwrap().remove("repeats");
    let read: Comparison = serde_json::from_value(document).unwrap();
    assert_eq!((read.effects[0].repeats, read.effects[1].repeats), (1, 3));
}

#[test]
fn a_comparison_is_restored_from_its_json_document() {
    let compared = compared();
    let read: Comparison = serde_json::from_str(&comparison::json(&compared)).unwrap();
    assert_eq!(read, compared);
}

#[test]
fn the_rounds_of_one_server_are_merged_into_one_row_with_an_interval() {
    let merged = comparison::over_rounds(&compared().runs);
    let rates: Vec<Option<f64>> =
        merged.iter().flat_map(|run| &run.cells).map(|cell: &Cell| cell.requests_per_s).collect();
    assert_eq!(rates, [Some(10.25), Some(20.0)]);
    let spread = merged[1].cells[0].over_repeats.unwrap().requests_per_s.unwrap();
    assert_eq!((spread.n, spread.ci.is_some()), (2, true));
}

#[test]
fn each_swept_argument_has_a_throughput_plot_and_a_latency_plot() {
    let charts = charts::of_comparison(&compared());
    let names: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(names, ["effect-max-num-seqs-requests", "effect-max-num-seqs-latency"]);
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    let of = "Effect of max-num-seqs on";
    assert_eq!(titles, [format!("{of} throughput"), format!("{of} latency per output token")]);
    // The unit of an argument is unknown, so the axis has only its name.
    assert_eq!(charts[0].x.label(), "max-num-seqs");
    let svg = plot::file(&charts[0], Theme::Light);
    assert!(svg.contains("Whiskers"), "with the interval over rounds");
}
