//! Tests of the published table, its footnotes, the text for a terminal, and the CSV.

use inferometer_analysis::search::SearchAnswer;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::trust::FigureCounts;
use inferometer_analysis::verdict::{SloResult, Validity};
use inferometer_model::finding::{Finding, code};
use inferometer_model::load::PassKind;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_report::plot::Form;
use inferometer_report::terminal::{Colour, Screen};
use inferometer_report::{csv, markdown, table, terminal};

use crate::charts::loads;
use crate::pages::input;
use crate::search_charts::{answer, sweep_answer};
use crate::support::{CHATGLM3, MISTRAL, cell, empty, full, pass, published};

/// The lines of a text, without empty lines at the end.
fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().collect()
}

#[test]
fn the_published_tables_are_reproduced_line_by_line() {
    for text in [CHATGLM3, MISTRAL] {
        assert_eq!(published(text).iter().map(|s| s.cells.len()).sum::<usize>() % 16, 0);
        assert_eq!(lines(&table::markdown(&published_without_v(text))), lines(text));
    }
}

/// The summaries of published tables, with engine versions as a server states them: without the `v` of
/// the published headings.
fn published_without_v(text: &str) -> Vec<Summary> {
    let mut summaries = published(text);
    for summary in &mut summaries {
        let version = summary.target.engine_version.as_mut().unwrap();
        *version = version.trim_start_matches('v').to_owned();
    }
    summaries
}

#[test]
fn only_a_trial_that_was_cut_off_is_marked_in_its_row() {
    let mut cut = pass(PassKind::Open, 100);
    (cut.trial, cut.rate) = (Some(1), Some(50.0));
    cut.outcomes =
        OutcomeCounts { complete: 3, cancelled: 27, skipped: 70, ..OutcomeCounts::default() };
    let mut whole = pass(PassKind::Open, 100);
    (whole.trial, whole.rate) = (Some(2), Some(5.0));
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    summary.cells = vec![cell(128, 32, [None; 4])];
    summary.cells[0].passes = vec![cut, whole];
    let shown = terminal::text(&[summary], Screen::NONE);
    assert!(shown.contains("3 / 100, cut off"), "{shown}");
    assert_eq!(shown.matches("cut off").count(), 1, "{shown}");
}

#[test]
fn a_pass_that_the_user_interrupted_has_no_rate_and_is_shown_as_interrupted() {
    let mut broken_off = pass(PassKind::Closed, 100);
    broken_off.outcomes = OutcomeCounts { cancelled: 8, skipped: 92, ..OutcomeCounts::default() };
    (broken_off.requests_per_s, broken_off.output_tokens_per_s) = (Some(0.0), Some(0.0));
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    summary.cells = vec![cell(128, 32, [None; 4])];
    summary.cells[0].passes = vec![broken_off];
    let shown = terminal::text(&[summary], Screen::NONE);
    assert!(shown.contains("interrupted after 0 of 100 requests had completed"), "{shown}");
    // The table of passes contains the pass, but the figures of the cell exclude it.
    assert!(shown.contains("0 / 100"), "{shown}");
    assert!(shown.contains("the figures of the cell exclude the pass"), "{shown}");
    assert!(!shown.contains(" 0.00") && !shown.contains("requests failed"), "{shown}");
}

/// The verdict of a run with these numbers of figures, in the terminal and in the report.
fn verdicts(bounded: u64, not_vouched_for: u64) -> [String; 2] {
    let mut summary = full();
    (summary.verdict.validity, summary.verdict.reasons) = (Validity::Valid, Vec::new());
    let counts = FigureCounts { trusted: 20, bounded, not_vouched_for, absent: 0 };
    summary.verdict.figures = Some(counts);
    let shown = terminal::text(std::slice::from_ref(&summary), Screen::NONE);
    let report = markdown::report(&input(&summary, &[]), Form::Png);
    let line = |text: &str, word: &str| {
        let found = text.lines().find(|line| line.contains(word)).map(str::to_owned);
        found.unwrap_or_else(|| panic!("{word}: {text}"))
    };
    [line(&shown, "valid"), line(&report, "**Valid")]
}

#[test]
fn a_valid_run_claims_a_bound_for_every_figure_only_if_no_figure_is_unreliable() {
    for line in verdicts(3, 0) {
        assert!(line.contains("every figure of the table"), "{line}");
    }
    for bounded in [0, 3] {
        for line in verdicts(bounded, 1) {
            assert!(!line.contains("every figure"), "{line}");
            assert!(line.contains("other figures are unreliable (?)"), "{line}");
        }
    }
}

#[test]
fn a_suspect_run_names_only_the_reasons_that_it_has() {
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    summary.verdict.validity = Validity::Suspect;
    summary.verdict.reasons =
        vec!["the run was interrupted: 0 of 2 passes are complete.".to_owned()];
    let texts = [
        terminal::text(std::slice::from_ref(&summary), Screen::NONE),
        markdown::report(&input(&summary, &[]), Form::Png),
    ];
    for text in texts {
        let verdict = text.lines().find(|line| line.to_lowercase().contains("suspect"));
        assert!(verdict.is_some_and(|line| !line.contains("error")), "{text}");
        assert!(text.contains("the run was interrupted: 0 of 2"), "{text}");
    }
}

#[test]
fn a_missing_or_undefined_figure_is_a_centred_dash() {
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    summary.cells = vec![cell(128, 128, [Some(1.0), None, Some(f64::NAN), Some(0.004)])];
    let text = table::markdown(&[summary]);
    assert_eq!(
        text.lines().last().unwrap(),
        "|     128      |      128      |          1.00           |              -              \
         |               -                |                 0.00                  |"
    );
}

#[test]
fn prompt_lengths_of_the_data_show_their_mean_and_saturated_latencies_are_labelled() {
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    let mut measured = cell(0, 32, [Some(1.0); 4]);
    measured.passes = vec![pass(PassKind::Saturated, 399)];
    summary.cells = vec![measured];
    let text = table::markdown(std::slice::from_ref(&summary));
    assert!(text.contains("| own (mean 128) |      32       |"), "{text}");
    assert!(text.contains("sent all at once"), "{text}");
    summary.cells[0].passes.push(pass(PassKind::OneByOne, 10));
    let text = table::markdown(&[summary]);
    assert!(!text.contains("sent all at once"), "{text}");
}

#[test]
fn failed_requests_are_listed_below_the_table_with_their_reasons() {
    let mut summary = empty("m", "c", "vllm", "0.2.7");
    let mut failing = pass(PassKind::Saturated, 399);
    failing.outcomes =
        OutcomeCounts { complete: 396, timed_out: 2, rejected: 1, ..OutcomeCounts::default() };
    let mut measured = cell(128, 32, [Some(1.0); 4]);
    measured.passes = vec![pass(PassKind::OneByOne, 10), failing];
    summary.cells = vec![measured];
    let text = table::markdown(&[summary]);
    let last = lines(&text).last().copied().unwrap_or_default();
    let failed = "- 128 x 32, saturated: 3 of 399 requests failed (1 rejected, 2 timed out); ";
    assert!(last.starts_with(failed) && last.contains(" 396 "), "{last}");
}

#[test]
fn the_table_file_has_the_tables_and_failures_of_the_report_below_its_own_headings() {
    let report = markdown::report(&input(&full(), &[]), Form::Png);
    let (mut of_report, mut headings, mut rows) = (report.lines(), Vec::new(), 0);
    for line in table::markdown(&[full()]).lines().filter(|line| !line.is_empty()) {
        match line.starts_with(['|', '-']) {
            true => {
                rows += 1;
                assert!(of_report.any(|other| other == line), "{line}");
            }
            false => headings.push(line.to_owned()),
        }
    }
    let subject = ["# 书生·浦语-7B \\<b\\>|\\*x\\*", "## A100 40G (simulated)", "## vllm v0.2.7"];
    assert_eq!(headings, [&subject[..], &["Over repeats:", "Goodput:", "Steady state:"]].concat());
    assert_eq!(rows, 21, "no table and no row is missing");
}

#[test]
fn the_heading_of_a_simulated_or_predicted_target_says_so() {
    let mut summary = empty("m", "A100 40G", "vllm", "0.2.7");
    summary.target.simulated = true;
    assert!(table::markdown(&[summary.clone()]).contains("## A100 40G (simulated)\n"));
    summary.predicted = true;
    assert!(table::markdown(&[summary]).contains("## A100 40G (predicted)\n"));
}

#[test]
fn a_table_wider_than_the_terminal_is_split_into_parts_without_losing_a_figure() {
    let whole = terminal::text(&[full()], Screen::NONE);
    let screen = Screen { colour: Colour::Never, columns: Some(80) };
    let parts = terminal::text(&[full()], screen);
    let tables = |text: &str| text.lines().filter(|line| line.starts_with('─')).count();
    assert!(tables(&parts) > tables(&whole));
    for rule in parts.lines().filter(|line| line.starts_with('─')) {
        assert!(rule.chars().count() <= 80, "{rule}");
    }
    // Each figure of the whole table is in one of the parts.
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        text.split_whitespace().filter(|word| !word.starts_with('─')).map(str::to_owned).collect()
    };
    assert_eq!(words(&whole), words(&parts));
}

#[test]
fn the_terminal_shows_table_failures_findings_and_verdict() {
    // The snapshot of the report has the rest of these lines.
    let filters = [
        (r"(SIMULATED: the) .*", "$1 ..."),
        (r"(; figures) .*? (\d+) that completed", "$1 ... $2"),
    ];
    insta::with_settings!({ filters => filters }, {
        insta::assert_snapshot!(terminal::text(&[full()], Screen::NONE));
    });
}

#[test]
fn colours_only_add_escape_sequences_and_those_of_a_server_are_escaped() {
    let mut summary = full();
    summary.target.model = "evil\u{1b}[2J".to_owned();
    let bare = terminal::text(&[summary.clone()], Screen::NONE);
    assert!(!bare.contains('\u{1b}') && bare.contains("evil\\u001b[2J"));
    let coloured = terminal::text(&[summary], Screen { colour: Colour::Always, columns: None });
    let mut stripped = String::new();
    for (index, part) in coloured.split('\u{1b}').enumerate() {
        stripped += if index == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(stripped, bare);
}

#[test]
fn a_finding_that_is_repeated_names_its_first_place_and_counts_each_other_place_once() {
    let at = |place: &str| Finding::of(code::REQUESTS_FAILED, "x").at(place);
    for (places, told) in [
        (&["a"][..], ""),
        (&["a", "b", "b", "b"], " Also in 1 other place."),
        (&["a", "b", "c", "b"], " Also in 2 other places."),
    ] {
        let mut summary = full();
        summary.findings = places.iter().map(|place| at(place)).collect();
        let shown = terminal::findings(&summary, Colour::Never);
        let line = shown.lines().find(|line| line.contains(" (a): x")).unwrap();
        assert!(line.ends_with(&format!(": x{}{told}", if told.is_empty() { "" } else { "." })));
        assert_eq!(shown.matches(": x").count(), 1, "{shown}");
    }
}

#[test]
fn the_csv_has_a_row_per_pass_and_every_figure() {
    let text = csv::cells(&full());
    insta::assert_snapshot!(text.replace("\r\n", "\n"));
    let rows: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 5);
    // A comma between quotes does not separate fields.
    let columns = |row: &str| {
        let outside = row.split('"').step_by(2);
        outside.map(|text| text.matches(',').count()).sum::<usize>()
    };
    assert!(rows[1..].iter().all(|row| columns(row) == columns(rows[0])));
    assert!(!text.contains("NaN"));
}

#[test]
fn a_field_with_a_comma_a_quote_or_a_line_end_is_quoted() {
    let mut summary = full();
    summary.target.model = "a,b \"x\"\nc".to_owned();
    let text = csv::cells(&summary);
    let (_, row) = text.split_once("\r\n").unwrap();
    assert!(row.contains(",\"a,b \"\"x\"\"\nc\","), "{row}");
}

#[test]
fn the_objectives_of_a_prediction_are_shown_with_a_predicted_figure() {
    for (predicted, word) in [(true, "predicted"), (false, "measured")] {
        let mut summary = empty("m", "c", "vllm", "0.2.7");
        summary.predicted = predicted;
        let objective = "ttft_p99<500ms".to_owned();
        let figure = SloResult { objective, measured: Some(206.86), ..SloResult::default() };
        summary.verdict.slo = vec![figure];
        let shown = terminal::text(&[summary], Screen::NONE);
        assert!(shown.contains(&format!(", {word} 206.86")), "{shown}");
    }
}

#[test]
fn the_figures_by_load_and_by_trial_are_defined_beside_them_in_every_output() {
    let summary = Summary { sweeps: vec![sweep_answer()], ..loads() };
    // The terminal has neither the table of trials nor room for definitions.
    let texts = [
        table::markdown(std::slice::from_ref(&summary)),
        markdown::report(&input(&summary, &[]), Form::Png),
    ];
    for text in texts {
        assert!(text.contains("without start-up and drain"), "{text}");
        assert!(text.contains("with start-up and drain"), "{text}");
    }
}

#[test]
fn a_load_whose_own_verdict_does_not_bound_the_answer_is_marked() {
    for (high, words, others) in [
        (Some(106.0), "not met by this load alone", "| not met |"),
        (Some(8.0), "| not met |", "not met by this load alone"),
    ] {
        let answer = SearchAnswer { high, ..answer(32) };
        let summary = Summary { searches: vec![answer], ..loads() };
        let text: String =
            table::markdown(&[summary]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words) && !text.contains(others), "{text}");
    }
}
