//! Tests of the reports in Markdown and HTML.

use std::sync::LazyLock;

use inferometer_analysis::imported::Imported;
use inferometer_analysis::summary::Summary;
use inferometer_model::load::PassKind;
use inferometer_model::metrics::ttft;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_report::chart::Chart;
use inferometer_report::plot::Form;
use inferometer_report::terminal::Screen;
use inferometer_report::trace::Traces;
use inferometer_report::{ReportInput, charts, fragment, html, markdown, table, terminal};
use serde_json::json;

use crate::page_text::page_text;
use crate::support::{CHATGLM3, cell, distribution, empty, full, pass, published};

/// The beginning of the simulation notice.
const SIMULATED: &str = "SIMULATED: the server was the embedded engine";

static NO_TRACES: LazyLock<Traces> = LazyLock::new(Traces::default);

pub fn input<'a>(summary: &'a Summary, charts: &'a [Chart]) -> ReportInput<'a> {
    ReportInput {
        summary,
        charts,
        traces: &NO_TRACES,
        plan_toml: "input_lengths = [128]\nnote = \"</pre> ``` <i>\"\n",
        files: &["summary.json"],
        report_command: "inferometer report RUN",
        run_command: "inferometer run plan.toml",
    }
}

/// The report without the table of definitions of metrics, which other tests check.
fn without_definitions(report: &str) -> String {
    let (before, rest) = report.split_once("### Metrics of these results\n").unwrap();
    let (_, after) = rest.split_once("\n## ").unwrap();
    format!("{before}## {after}")
}

#[test]
fn a_report_defines_only_metrics_that_its_results_have() {
    let mut summary = full();
    let defined = |summary: &Summary, name: &str| {
        let report = markdown::report(&input(summary, &[]), Form::Png);
        report.lines().any(|line| line.starts_with(&format!("| {name} ")))
    };
    assert!(defined(&summary, "ttft") && defined(&summary, "requests_per_s"));
    for pass in summary.cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        *pass.latencies.entry(&ttft::FROM_SENT) = None;
        pass.requests_per_s = None;
    }
    assert!(!defined(&summary, "ttft") && !defined(&summary, "requests_per_s"));
}

#[test]
fn a_fragment_explains_only_the_marks_of_tables_that_it_shows() {
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    let mut measured = pass(PassKind::Saturated, 399);
    let mut of_class = json!({
        "class": "cold", "planned": 9, "outcomes": OutcomeCounts::default(), "input_tokens": null, "output_tokens": 9,
        "ranges": { "ttft_ms": { "p50": { "low": 1.0, "high": 9.0, "trust": "not_vouched_for" } } },
    });
    of_class["ttft_ms"] = serde_json::to_value(distribution(5.0)).unwrap();
    measured.classes = vec![serde_json::from_value(of_class).unwrap()];
    summary.cells = vec![cell(128, 32, [Some(1.0); 4])];
    summary.cells[0].passes = vec![measured];
    let explained = "?: unreliable";
    let shown = terminal::text(std::slice::from_ref(&summary), Screen::NONE);
    assert!(shown.contains(explained), "{shown}");
    let fragment = fragment::of_run(&summary);
    assert!(!fragment.contains(explained), "{fragment}");
}

#[test]
fn the_markdown_report_matches_its_snapshot() {
    let summary = full();
    let charts = charts::of_run(&summary, &NO_TRACES);
    insta::assert_snapshot!(without_definitions(&markdown::report(
        &input(&summary, &charts),
        Form::Png
    )));
}

/// The cells and lines of a Markdown report without their marks.
fn pieces_of_markdown(report: &str) -> Vec<String> {
    const MARKS: [&str; 6] = ["**", "⚠️ ", "ℹ️ ", "\\", "`", "!["];
    let without_marks = |piece: &str| {
        let piece = piece.trim_start_matches(['#', '>', ' ']).trim_end();
        let piece = piece.strip_prefix("- ").unwrap_or(piece);
        // A link or an image: its text.
        let piece = piece.split_once("](").map_or(piece, |(text, _)| text.trim_start_matches('['));
        let piece = MARKS.iter().fold(piece.to_owned(), |it, mark| it.replace(mark, ""));
        piece.replace('\u{1}', "|")
    };
    let lines = report.lines().filter(|line| !line.starts_with("```"));
    let pieces = lines.flat_map(|line| {
        let line = line.replace("\\|", "\u{1}");
        let cells = if line.starts_with('|') { line.split('|').collect() } else { vec![&line[..]] };
        cells.into_iter().map(without_marks).collect::<Vec<_>>()
    });
    let is_rule = |piece: &str| piece != "-" && piece.chars().all(|sign| ":-".contains(sign));
    pieces.filter(|piece| !is_rule(piece)).collect()
}

#[test]
fn the_html_report_has_the_texts_of_the_markdown_report_and_its_others_match_their_snapshot() {
    let summary = full();
    let charts = charts::of_run(&summary, &NO_TRACES);
    let report = markdown::report(&input(&summary, &charts), Form::Png);
    let page = page_text(&html::report(&input(&summary, &charts)));
    let of_markdown = pieces_of_markdown(&report);
    let of_page = page.lines().flat_map(|line| line.split('¦')).map(str::trim);
    let of_page: Vec<&str> = of_page.filter(|piece| !piece.is_empty()).collect();
    let mut told = String::new();
    let mut shared = 0;
    for piece in &of_page {
        match of_markdown.iter().any(|other| other == piece) {
            true => shared += 1,
            false => {
                told += &format!("[{shared} pieces that the Markdown report has]\n{piece}\n");
                shared = 0;
            }
        }
    }
    told += &format!(
        "[{shared} pieces that the Markdown report has]\n\nOnly in the Markdown report:\n"
    );
    let only = of_markdown.iter().filter(|piece| !of_page.contains(&piece.as_str()));
    only.for_each(|piece| told += &format!("{piece}\n"));
    insta::assert_snapshot!(told.replace("[0 pieces that the Markdown report has]\n", ""));
    // Both have their common texts in the same order.
    let mut rest = of_page.iter();
    for piece in of_markdown.iter().filter(|piece| of_page.contains(&piece.as_str())) {
        assert!(rest.any(|other| other == piece), "{piece} has another place in the page");
    }
}

#[test]
fn the_verdict_and_the_simulation_notice_come_before_any_figure() {
    let summary = full();
    for report in
        [markdown::report(&input(&summary, &[]), Form::Png), html::report(&input(&summary, &[]))]
    {
        let at = |text: &str| report.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        assert!(at("Suspect, 3 of ") < at("exceeds 10 ms"));
        assert!(at("exceeds 10 ms") < at(SIMULATED));
        assert!(at(SIMULATED) < at("31.68"));
    }
}

#[test]
fn the_report_of_a_valid_measurement_has_no_simulation_notice() {
    let summary = published(CHATGLM3).remove(0);
    for report in
        [markdown::report(&input(&summary, &[]), Form::Png), html::report(&input(&summary, &[]))]
    {
        assert!(report.contains("Valid: "));
        assert!(!report.contains(SIMULATED));
    }
}

#[test]
fn the_markdown_report_contains_the_same_table_as_the_table_file() {
    let summary = published(CHATGLM3).remove(0);
    let report = markdown::report(&input(&summary, &[]), Form::Png);
    let rows = table::markdown(std::slice::from_ref(&summary));
    let rows: Vec<&str> = rows.lines().filter(|line| line.starts_with('|')).collect();
    assert!(report.contains(&rows.join("\n")));
}

#[test]
fn the_html_report_loads_nothing_from_the_network_and_escapes_foreign_markup() {
    let summary = full();
    let charts = charts::of_run(&summary, &NO_TRACES);
    let report = html::report(&input(&summary, &charts));
    assert_eq!(report.matches("class=\"chart\"").count(), 4);
    for outside in [" src=", "href=\"http", "@import", "<link", "<iframe"] {
        assert!(!report.contains(outside), "{outside}");
    }
    assert!(report.contains("书生·浦语-7B &lt;b&gt;|*x*"));
    assert!(!report.contains("7B <b>") && !report.contains("</pre> ```"));
    assert!(
        report.contains("prefers-color-scheme: dark") && report.matches("<script>").count() == 1
    );
    for element in ["div", "p", "table", "details", "ul", "li", "figure", "svg", "main", "pre"] {
        let open = report.matches(&format!("<{element}>")).count()
            + report.matches(&format!("<{element} ")).count();
        let closed = report.matches(&format!("</{element}>")).count();
        assert_eq!(open, closed, "{element}");
    }
}

#[test]
fn backticks_in_the_plan_do_not_close_its_code_fence() {
    let summary = full();
    let report = markdown::report(&input(&summary, &[]), Form::Png);
    assert!(report.ends_with("````toml\ninput_lengths = [128]\nnote = \"</pre> ``` <i>\"\n````\n"));
}

#[test]
fn only_a_run_measured_by_this_program_has_the_line_measured_with() {
    let mut summary = full();
    let said = |summary: &Summary| {
        let text = markdown::report(&input(summary, &[]), Form::Png);
        let words = ["Started", "Measured with", "Predicted with", "Imported", "Imported with"];
        words.map(|word| text.contains(&format!("- **{word}**: ")))
    };
    (summary.imported, summary.predicted) = (None, false);
    assert_eq!(said(&summary), [true, true, false, false, false]);
    summary.predicted = true;
    assert_eq!(said(&summary), [false, false, true, false, false]);
    summary.imported = Some(Imported::default());
    for predicted in [true, false] {
        summary.predicted = predicted;
        assert_eq!(said(&summary), [false, false, false, true, true]);
    }
}
