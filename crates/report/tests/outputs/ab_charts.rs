//! Tests of the charts of a comparison of two servers in alternating blocks.

use inferometer_analysis::ab::{
    AbAnswer, AbBlock, AbDecision, AbEnding, AbFigureAnswer, AbSide, AbStep, Side,
};
use inferometer_analysis::summary::Summary;
use inferometer_report::ab::{AB_SCHEMA, AbDocument};
use inferometer_report::chart::{Chart, Extent, Scale, Series};
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};

use crate::support::empty;

/// A comparison of eight pairs, with the answer that B has 0.8 times the throughput of A. The interval after the third
/// pair is very wide. The blocks of both sides have the same values.
pub(crate) fn compared() -> AbDocument {
    let side = |name: &str| AbSide { name: name.to_owned(), run_id: format!("run-{name}") };
    let figure = AbFigureAnswer {
        figure: "output_tokens_per_s".to_owned(),
        higher_is_better: true,
        decides: true,
        a: Some(400.0),
        b: Some(320.0),
        ratio: Some(0.8),
        ratio_ci: Some([0.76, 0.84]),
        level: 0.95,
        pairs: 8,
        autocorrelation: 0.0,
    };
    let block = |pair: u32, side: Side, tokens_per_s: f64| AbBlock {
        pair,
        side,
        started_s: f64::from(2 * pair) - if side == Side::ALL[0] { 2.0 } else { 1.0 },
        duration_s: 1.0,
        requests: 16,
        complete: 16,
        values: vec![Some(tokens_per_s)],
    };
    let step = |pair: u32| AbStep {
        pair,
        of_pair: if pair.is_multiple_of(2) { 0.82 } else { 0.78 },
        ratio: 0.8,
        ratio_ci: match pair {
            0..=2 => None,
            3 => Some([0.4, 1.6]),
            _ => Some([0.8 - 0.3 / f64::from(pair), 0.8 + 0.3 / f64::from(pair)]),
        },
    };
    let ab = AbAnswer {
        sentence: "A is faster than B: for B, output_tokens_per_s is 20 % lower.".to_owned(),
        decision: AbDecision::AFaster,
        ended_by: AbEnding::Known,
        sides: [side("A"), side("B (speed=0.8)")],
        one_server: false,
        without_noise: false,
        place: "64 x 8, closed loop, 4 in flight".to_owned(),
        minimal_effect: 0.05,
        figures: vec![figure],
        pairs: 8,
        block_requests: 16,
        block_uncounted: 4,
        requests: 256,
        seconds: 16.0,
        needs_pairs: None,
        blocks: (1..=8)
            .flat_map(|pair| Side::ALL.map(|side| block(pair, side, 400.0 + f64::from(pair))))
            .collect(),
        course: (1..=8).map(step).collect(),
        findings: Vec::new(),
    };
    let run = |speed: f64| -> Summary {
        let mut run = empty("m", "c", "e", "1");
        run.target.simulated = true;
        run.target.facts.speed = Some(speed);
        run
    };
    let (schema, group) = (AB_SCHEMA.to_owned(), "ab-0a1b2c3d".to_owned());
    AbDocument { schema, group, ab, gate: Vec::new(), runs: vec![run(1.0), run(0.8)] }
}

fn chart(id: &str) -> Chart {
    let all = charts::of_ab(&compared());
    all.into_iter().find(|chart| chart.id == id).expect("a comparison has a chart with this id")
}

fn texts(series: &Series) -> Vec<&str> {
    series.texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect()
}

#[test]
fn the_chart_of_the_ratio_names_the_line_at_1_and_counts_whole_pairs() {
    let ratio = chart("ab-ratio");
    let panel = &ratio.panels[0];
    // Twice as fast and half as fast have the same distance from 1.
    assert_eq!(panel.y.scale, Scale::Log);
    assert_eq!(ratio.x.extent, Extent::Fixed(0.5, 8.5), "no marker lies on a side of the panel");
    let labels: Vec<&str> =
        panel.series.iter().filter(|series| series.labelled).flat_map(texts).collect();
    assert_eq!(
        labels,
        [
            "1: no difference",
            "1.05: smallest relevant difference",
            "0.9524: smallest relevant difference"
        ]
    );
    let svg = plot::file(&ratio, Theme::Light);
    for shown in [">1: no difference<", ">1<", ">8<"] {
        assert!(svg.contains(shown), "{shown}: {svg}");
    }
    assert!(!svg.contains(">1.5<"), "there is no half pair: {svg}");
}

#[test]
fn an_interval_that_is_too_wide_to_be_drawn_is_counted_in_a_note() {
    let ratio = chart("ab-ratio");
    let known = ratio.series().find(|series| series.name.starts_with("ratio so far, with"));
    let drawn = known.expect("intervals are drawn").low.iter().filter(|low| low.is_finite());
    assert_eq!(drawn.count(), 5);
    let note = "Not drawn: intervals after 1 of 8 pairs";
    assert!(ratio.notes.iter().any(|own| own.starts_with(note)), "{:?}", ratio.notes);
}

#[test]
fn the_legend_does_not_mention_an_interval_if_no_interval_is_drawn() {
    let mut compared = compared();
    compared.ab.course.iter_mut().for_each(|step| step.ratio_ci = None);
    let ratio = charts::of_ab(&compared).remove(1);
    let names: Vec<&str> = ratio.series().map(|series| series.name.as_str()).collect();
    assert!(names.contains(&"ratio so far"), "{names:?}");
}

#[test]
fn the_chart_of_blocks_has_a_unit_and_states_that_both_sides_are_simulated() {
    let blocks = chart("ab-blocks");
    assert_eq!(blocks.panels[0].y.unit, "output tokens/s");
    // The two sides differ only in the speed of the embedded engine.
    assert!(
        blocks.notice.as_ref().is_some_and(|it| it.starts_with("SIMULATED: ")),
        "{:?}",
        blocks.notice
    );
}
