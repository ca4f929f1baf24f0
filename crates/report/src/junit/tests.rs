//! Tests of the JUnit documents: an XML parser reads them, and the rules of the schema are checked.

use super::*;
use inferometer_analysis::compare::{Design, Options};
use inferometer_analysis::verdict::SloResult;
use resvg::usvg::roxmltree::{Document, Node};

use crate::judgement::{Verdict, run_with_objectives};

fn row(figure: &str, difference_pct: f64, verdict: RowVerdict) -> Row {
    Row {
        cell: None,
        load: "saturated & <more>".to_owned(),
        figure: figure.to_owned(),
        higher_is_better: figure == "requests_per_s",
        baseline: 1.0,
        contender: 1.0 + difference_pct / 100.0,
        repeats: [6, 6],
        difference_pct,
        interval_pct: Some([difference_pct - 1.0, difference_pct + 1.0]),
        p: Some(0.5),
        design: Design::Alternated { rounds: 6 },
        over_time: [None; 2],
        verdict,
    }
}

fn comparison(rows: Vec<Row>) -> Comparison {
    Comparison {
        baseline: "group-1/old".to_owned(),
        contender: "group-1/\"new\"\u{1}".to_owned(),
        options: Options { margin: 0.05, seed: 0 },
        design: Design::Alternated { rounds: 6 },
        warnings: vec!["one & the other".to_owned()],
        differing: vec![["engine".to_owned(), "x".to_owned(), "<y>".to_owned()]],
        rows,
        ..Comparison::default()
    }
}

fn gate(figure: &str, met: Met, measured_in_turn: bool) -> GateResult {
    GateResult {
        condition: format!("{figure}<+5%"),
        figure: figure.to_owned(),
        place: "all cells, saturated & <more>".to_owned(),
        difference_pct: Some(9.0),
        interval_pct: Some([Some(8.0), Some(10.0)]),
        why: None,
        measured_in_turn,
        met,
    }
}

/// The rules of `junit-10.xsd`: for each element its attributes, and its children in the required order.
/// Attributes with `!` are required; children with `*` may occur several times.
const RULES: [(&str, &[&str], &[&str]); 9] = [
    ("testsuites", &["name", "time", "tests", "failures", "errors", "disabled"], &["testsuite*"]),
    (
        "testsuite",
        &[
            "name!", "tests!", "failures", "errors", "skipped", "time", "timestamp", "hostname",
            "id",
        ],
        &["properties", "testcase*", "system-out", "system-err"],
    ),
    ("properties", &[], &["property*"]),
    ("property", &["name!", "value!"], &[]),
    (
        "testcase",
        &["name!", "classname!", "assertions", "time", "status"],
        &["skipped", "error*", "failure*", "system-out*", "system-err*"],
    ),
    ("failure", &["type", "message"], &[]),
    ("error", &["type", "message"], &[]),
    ("skipped", &["type", "message"], &[]),
    ("system-out", &[], &[]),
];

fn follows_the_rules(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, attributes, children) =
        RULES.iter().find(|rule| rule.0 == name).unwrap_or_else(|| panic!("<{name}>"));
    for attribute in node.attributes() {
        let is_it = |known: &&str| known.trim_end_matches('!') == attribute.name();
        assert!(attributes.iter().any(is_it), "{name} {}", attribute.name());
    }
    for must in attributes.iter().filter_map(|known| known.strip_suffix('!')) {
        assert!(node.attribute(must).is_some(), "{name} has no {must}");
    }
    let mut place = 0;
    for child in node.children().filter(Node::is_element) {
        let found = children[place..]
            .iter()
            .position(|known| known.trim_end_matches('*') == child.tag_name().name());
        place += found.unwrap_or_else(|| panic!("<{}> in <{name}>", child.tag_name().name()));
        if !children[place].ends_with('*') {
            place += 1;
        }
        follows_the_rules(child);
    }
}

/// Checks the rules of the schema, and compares the counts in the attributes with the numbers of elements.
/// Returns the name and the outcome of each test case.
fn read(text: &str) -> Vec<(String, &'static str)> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    follows_the_rules(root);
    let has = |node: &Node<'_, '_>, name: &str| node.children().any(|it| it.has_tag_name(name));
    let mut cases = Vec::new();
    for suite in root.children().filter(Node::is_element) {
        let own: Vec<_> = suite.children().filter(|it| it.has_tag_name("testcase")).collect();
        let count = |name: &str| own.iter().filter(|case| has(case, name)).count().to_string();
        assert_eq!(suite.attribute("tests"), Some(own.len().to_string().as_str()));
        assert_eq!(suite.attribute("failures"), Some(count("failure").as_str()));
        assert_eq!(suite.attribute("errors"), Some(count("error").as_str()));
        assert_eq!(suite.attribute("skipped"), Some(count("skipped").as_str()));
        cases.extend(own.iter().map(|case| {
            let ways = [("error", "error"), ("failure", "failed"), ("skipped", "skipped")];
            let way = ways.iter().find(|(element, _)| has(case, element));
            let became = way.map_or("passed", |(_, became)| became);
            (case.attribute("name").expect("a name").to_owned(), became)
        }));
    }
    assert_eq!(root.attribute("tests"), Some(cases.len().to_string().as_str()));
    cases
}

#[test]
fn without_a_gate_figures_worse_than_the_margin_fail_and_undecided_ones_are_skipped() {
    let rows = [
        ("requests_per_s", -20.0, RowVerdict::Worse, "failed"),
        ("requests_per_s", -2.0, RowVerdict::Worse, "passed"),
        ("requests_per_s", 20.0, RowVerdict::Better, "passed"),
        ("ttft_p99", 20.0, RowVerdict::Worse, "failed"),
        ("ttft_p99", 0.1, RowVerdict::NoDifference, "passed"),
        ("ttft_p99", 20.0, RowVerdict::Differs, "skipped"),
        ("ttft_p99", 20.0, RowVerdict::NotEnoughData { needed: 9 }, "skipped"),
        ("ttft_p99", 1.0, RowVerdict::NoInterval, "skipped"),
    ];
    let made = rows.iter().map(|(figure, pct, verdict, _)| row(figure, *pct, *verdict)).collect();
    let suite = of_comparison(&comparison(made), &[], &[Some("a b".to_owned()), None], false);
    let text = junit(&[suite], None);
    let became: Vec<&str> = read(&text).iter().map(|case| case.1).collect();
    assert_eq!(became, rows.map(|row| row.3), "{text}");
    assert!(text.contains("<property name=\"baseline runs\" value=\"a b\"/>"), "{text}");
    assert!(text.contains("-20.00 % (1 request/s to 0.8 requests/s, 95 %"), "{text}");
    assert!(
        text.contains("+20.00 % (1 ms to 1.2 ms, 95 %") && text.contains("&lt;y&gt;"),
        "{text}"
    );
}

#[test]
fn a_figure_judged_at_two_loads_has_one_test_case_per_load() {
    let at = |load: &str| Row { load: load.to_owned(), ..row("ttft_p50", 9.0, RowVerdict::Worse) };
    let rows = vec![at("closed loop, 1 in flight"), at("closed loop, 8 in flight")];
    let gates: Vec<GateResult> = rows
        .iter()
        .zip([Met::Yes, Met::No])
        .map(|(row, met)| GateResult { place: row.place(), ..gate("ttft_p50", met, true) })
        .collect();
    let suite = of_comparison(&comparison(rows), &gates, &[None, None], false);
    let text = junit(&[suite], None);
    let became: Vec<&str> = read(&text).iter().map(|case| case.1).collect();
    assert_eq!(became, ["passed", "failed"], "{text}");
}

#[test]
fn the_margin_is_stated_without_rounding_errors() {
    let options = Options { margin: 0.07, seed: 0 };
    let compared = Comparison { options, ..comparison(Vec::new()) };
    let text = junit(&[of_comparison(&compared, &[], &[None, None], false)], None);
    assert!(text.contains(r#"<property name="margin" value="7 %"/>"#), "{text}");
}

#[test]
fn a_gate_decides_its_figures_and_undecided_figures_fail_only_if_strict() {
    let names = ["ttft_p50", "ttft_p99", "tpot_p50", "e2e_p50"];
    let rows = names.map(|name| row(name, 9.0, RowVerdict::Worse)).to_vec();
    let gates = [
        gate("ttft_p50", Met::No, false),
        gate("ttft_p99", Met::Undecided, true),
        gate("tpot_p50", Met::Yes, true),
    ];
    for (is_strict, open) in [(false, "skipped"), (true, "failed")] {
        let suite = of_comparison(&comparison(rows.clone()), &gates, &[None, None], is_strict);
        let judged = Judgement::new(Verdict::Fail, "not met: x");
        let text = junit(&[suite], Some(&judged));
        let became: Vec<&str> = read(&text).iter().map(|case| case.1).collect();
        assert_eq!(became, ["failed", open, "passed", "skipped"], "{text}");
        assert!(text.contains("value=\"FAIL: not met: x\""), "{text}");
        assert!(
            text.contains("not measured in turn: the server changed, or the machine drifted"),
            "{text}"
        );
        assert!(text.contains("<skipped message=\"the gate has no "), "{text}");
    }
}

#[test]
fn each_objective_of_a_run_is_a_test_case() {
    let result = |met: bool, undecided: Option<&str>| SloResult {
        objective: "ttft_p99<1ms".to_owned(),
        place: "16 x 4, saturated".to_owned(),
        measured: met.then_some(0.5),
        met,
        undecided: undecided.map(str::to_owned),
        ..SloResult::default()
    };
    let beyond = SloResult { measured: Some(2.0), ..result(false, Some("open")) };
    let results = vec![result(true, None), result(false, None), result(true, Some("open")), beyond];
    let run = run_with_objectives(results);
    let text =
        junit(&[of_run(&run)], Judgement::of_objectives(std::slice::from_ref(&run)).as_ref());
    let became: Vec<&str> = read(&text).iter().map(|case| case.1).collect();
    assert_eq!(became, ["passed", "failed", "skipped", "skipped"], "{text}");
    assert!(text.contains(&run.run_id), "{text}");
    assert!(text.contains("measured: 0.5 ms") && text.contains("measured: 2.00 ms"), "{text}");
}

#[test]
fn other_failures_are_errors_even_if_all_objectives_are_met() {
    let met = SloResult { met: true, measured: Some(0.5), ..SloResult::default() };
    let run = run_with_objectives(vec![met]);
    let failures = [("", "a <b"), ("server 2, round 1", "cannot connect")];
    let failures = failures.map(|(name, why)| (name.to_owned(), why.to_owned()));
    let judged = Judgement::new(Verdict::Fail, "a <b");
    let text = junit(&[of_run(&run), of_failures(&failures)], Some(&judged));
    let cases = read(&text);
    let became: Vec<&str> = cases.iter().map(|case| case.1).collect();
    assert_eq!(became, ["passed", "error", "error"], "{text}");
    assert_eq!([&*cases[1].0, &*cases[2].0], ["the run", "server 2, round 1"]);
    assert!(text.contains("failures=\"0\" errors=\"2\""), "{text}");
    assert_eq!(text.matches("FAIL: a &lt;b").count(), 2, "{text}");
}
