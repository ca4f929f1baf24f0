//! The results as text for a terminal: tables, failures, findings, verdict. The caller states whether the
//! output is a terminal.

use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _};

use inferometer_analysis::Summary;
use inferometer_analysis::verdict::{Met, Validity};
use inferometer_model::{Finding, Severity, visible};

use unicode_width::UnicodeWidthStr;

use crate::{Table, answers, cost, extra_tables, headline, label, mark, table, text_table};

/// Whether the text has ANSI colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text, for files and pipes.
    Never,
    /// Colours, for a terminal whose user has not disabled them.
    Always,
}

/// The properties of the terminal or file to which the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether the text has colours.
    pub colour: Colour,
    /// The number of characters of a line; absent for files and pipes. A wider table is printed in several
    /// parts.
    pub columns: Option<usize>,
}

impl Screen {
    /// Plain text with lines of any length.
    pub const NONE: Self = Self { colour: Colour::Never, columns: None };
}

const ESCAPE: char = '\u{1b}';

/// Colours and styles of text; the values are parameters of the ANSI sequence SGR.
#[derive(Clone, Copy)]
enum Paint {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// The widths, in characters, at which headings of columns are wrapped, so that tables fit on most
/// terminals. The constants are for the published table, for the table of passes and the additional tables
/// below it, and for tables of searches and sweeps.
const RECORD_HEADING: usize = 16;
const LOAD_HEADING: usize = 9;

/// The results of each target: its name, the tables that most readers need, findings, failures, verdict, objectives and
/// answers. The answers are last, because readers of a terminal look at the end first. The report has all tables.
pub fn text(summaries: &[Summary], screen: Screen) -> String {
    summaries.iter().map(|summary| of_run(summary, screen, "")).collect::<Vec<_>>().join("\n")
}

/// Like [`text`], for one run. `places` is the text on its files; it comes before the answers.
pub fn of_run(summary: &Summary, screen: Screen, places: &str) -> String {
    let mut out = String::new();
    write_summary(&mut out, summary, screen);
    out += places;
    let answers = headline::sentences(summary);
    if !answers.is_empty() {
        out.push('\n');
    }
    for answer in answers {
        let line = format!("answer: {answer}");
        let _ = writeln!(out, "{}", wrapped(&line, screen, 2, Paint::Green));
    }
    out
}

fn write_summary(out: &mut String, summary: &Summary, screen: Screen) {
    let colour = screen.colour;
    let paint = |paint, text: &str| painted(colour, paint, text);
    let target = &summary.target;
    let title = [target.model.clone(), label::card(target), label::engine(target)].join(" · ");
    let _ = writeln!(out, "{}", paint(Paint::Bold, &title));
    if let Some(notice) = label::notice(summary) {
        let _ = writeln!(out, "{}", paint(Paint::Yellow, &notice));
    }
    out.push('\n');
    let answers = answers::of(summary);
    for answer in &answers {
        let _ = writeln!(out, "{}", paint(Paint::Bold, &answer.heading));
        write_table(out, &answer.main_table, LOAD_HEADING, 1, screen);
        let _ = writeln!(out, "{}", wrapped(&answer.legend, screen, 0, Paint::Dim));
    }
    let passes =
        if answers.is_empty() { table::main_figures(summary) } else { Table::new::<&str>([]) };
    if !passes.is_empty() {
        write_table(out, &passes, LOAD_HEADING, table::MAIN_KEYS, screen);
    }
    if answers.is_empty() && (passes.is_empty() || table::is_published_form(summary)) {
        if !passes.is_empty() {
            let heading = "Summary: one row for each pair of lengths";
            let _ = writeln!(out, "\n{}", paint(Paint::Bold, heading));
        }
        write_table(out, &table::records(summary), RECORD_HEADING, 2, screen);
        if let Some(sentence) = table::which_pass(summary) {
            let _ = writeln!(out, "{}", wrapped(&sentence, screen, 0, Paint::Dim));
        }
    }
    let extra = extra_tables::main_tables(summary);
    for sentence in table::marks(summary, &passes, &extra) {
        let _ = writeln!(out, "{}", wrapped(&sentence, screen, 0, Paint::Dim));
    }
    for (heading, table) in extra {
        let _ = writeln!(out, "\n{}", paint(Paint::Bold, heading));
        write_table(out, &table, LOAD_HEADING, 1, screen);
    }
    if let Some(sentence) = cost::legend(summary) {
        let _ = writeln!(out, "{}", wrapped(&sentence, screen, 0, Paint::Dim));
    }
    let findings = listed("Findings", &summary.findings, screen);
    if !findings.is_empty() {
        let _ = write!(out, "\n{findings}");
    }
    out.push_str(&below_tables(summary, colour));
}

/// A text for people, in lines that fit on the screen. Lines after the first one are indented.
fn wrapped(text: &str, screen: Screen, indent: usize, paint: Paint) -> String {
    let text = clean(text);
    let Some(columns) = screen.columns else { return painted(screen.colour, paint, &text) };
    let words = text.trim_start();
    let first = &text[..text.len() - words.len()];
    let room = columns.saturating_sub(indent.max(first.len()));
    let fits = |line: &str, word: &str| line.width() + 1 + word.width() <= room;
    let rest = " ".repeat(indent);
    let begins = std::iter::once(first).chain(std::iter::repeat(rest.as_str()));
    let lines = begins.zip(text_table::wrapped(words, fits));
    let lines = lines.map(|(begin, line)| painted(screen.colour, paint, &format!("{begin}{line}")));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text below the tables of a run: failed requests, interrupted passes, the verdict, and the
/// objectives.
pub fn below_tables(summary: &Summary, colour: Colour) -> String {
    let mut out = String::new();
    let failures = table::failures(summary);
    if !failures.is_empty() {
        let _ = writeln!(out, "\n{}", painted(colour, Paint::Red, "Failed requests"));
        out.extend(failures.into_iter().map(|line| format!("  {}\n", clean(&line))));
    }
    let interrupted = table::interrupted(summary);
    if !interrupted.is_empty() {
        let _ = writeln!(out, "\n{}", painted(colour, Paint::Yellow, "Interrupted"));
        out.extend(interrupted.into_iter().map(|line| format!("  {}\n", clean(&line))));
    }
    write_verdict(&mut out, summary, colour);
    out
}

/// Writes a table, in several parts if it is wider than the screen. Each part begins with the first
/// `keys` columns.
fn write_table(out: &mut String, table: &Table, heading_width: usize, keys: usize, screen: Screen) {
    for (number, lines) in table.fitted(heading_width, screen.columns, keys).iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for line in &lines.heading {
            let _ = writeln!(out, "{}", painted(screen.colour, Paint::Bold, line));
        }
        let _ = writeln!(out, "{}", painted(screen.colour, Paint::Dim, &lines.rule));
        for line in &lines.rows {
            let _ = writeln!(out, "{}", clean(line));
        }
    }
}

/// A heading, and one paragraph for each kind of finding; empty without findings.
pub fn findings(summary: &Summary, colour: Colour) -> String {
    listed("Findings", &summary.findings, Screen { colour, columns: None })
}

/// Like [`findings`], but only the warnings, under a heading with the name of the run.
pub fn warnings(summary: &Summary, colour: Colour) -> String {
    let is_warning = |finding: &&Finding| finding.severity == Severity::Warning;
    let warnings: Vec<Finding> = summary.findings.iter().filter(is_warning).cloned().collect();
    let heading = format!("Warnings of run {}", summary.run_id);
    listed(&heading, &warnings, Screen { colour, columns: None })
}

/// Warnings come before notes. The advice of a note is in the report.
fn listed(heading: &str, findings: &[Finding], screen: Screen) -> String {
    let mut out = String::new();
    if findings.is_empty() {
        return out;
    }
    let heading = painted(screen.colour, Paint::Bold, heading);
    let _ = writeln!(out, "{heading} (`inferometer list findings NAME` explains one)");
    let (warnings, notes): (Vec<_>, Vec<_>) = by_code(findings)
        .into_iter()
        .partition(|(finding, _)| finding.severity == Severity::Warning);
    for (finding, others) in warnings.into_iter().chain(notes) {
        let (word, paint) = match finding.severity {
            Severity::Note => ("note", Paint::Dim),
            Severity::Warning => ("warning", Paint::Yellow),
        };
        let place = finding.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        let more = match others.len() {
            0 => String::new(),
            1 => " Also in 1 other place.".to_owned(),
            others => format!(" Also in {others} other places."),
        };
        let message = &finding.message;
        let stop = if more.is_empty() || message.ends_with('.') { "" } else { "." };
        let text = format!("  {word} {}{place}: {message}{stop}{more}", finding.code);
        let _ = writeln!(out, "{}", wrapped(&text, screen, 4, paint));
        if let Some(advice) = finding.advice.as_ref().filter(|_| word == "warning") {
            let _ = writeln!(out, "{}", wrapped(&format!("    {advice}"), screen, 4, Paint::Dim));
        }
    }
    out
}

/// The first finding with each code, and the other places of later findings with the same code, each place once.
/// The report lists all findings. Two findings with the same code and the same place state different facts, so both
/// are returned.
fn by_code(findings: &[Finding]) -> Vec<(&Finding, BTreeSet<&str>)> {
    let mut kinds: Vec<(&Finding, BTreeSet<&str>)> = Vec::new();
    for finding in findings {
        let same = |(first, _): &&mut (&Finding, BTreeSet<&str>)| {
            first.code == finding.code && first.place != finding.place
        };
        match (kinds.iter_mut().find(same), &finding.place) {
            (Some((_, others)), Some(place)) => {
                others.insert(place);
            }
            _ => kinds.push((finding, BTreeSet::new())),
        }
    }
    kinds
}

fn write_verdict(out: &mut String, summary: &Summary, colour: Colour) {
    out.push('\n');
    let verdict = &summary.verdict;
    let failed = table::failed_of_all(summary);
    match verdict.validity {
        // No client took part in a prediction, so there is no client error.
        _ if summary.predicted => {}
        Validity::Valid => {
            let paint = if failed.is_empty() { Paint::Green } else { Paint::Yellow };
            let word = painted(colour, paint, &format!("valid{failed}"));
            let _ = writeln!(out, "{word}: {}", mark::of_valid_run(summary));
        }
        Validity::Suspect => {
            let word = painted(colour, Paint::Red, &format!("suspect{failed}"));
            let _ = writeln!(out, "{word}: read these reasons before you use the figures");
            out.extend(verdict.reasons.iter().map(|reason| format!("  {}\n", clean(reason))));
        }
    }
    if !mark::all_trusted(summary) {
        // Advice is only needed if the verdict is "suspect".
        let advice = verdict.advice.iter().filter(|_| verdict.validity == Validity::Suspect);
        for line in mark::counted(summary).iter().chain(advice) {
            let _ = writeln!(out, "  {}", clean(line));
        }
    }
    for slo in &verdict.slo {
        let paint = match slo.outcome() {
            Met::Yes => Paint::Green,
            Met::No => Paint::Red,
            Met::Undecided => Paint::Yellow,
        };
        let word = painted(colour, paint, label::outcome(slo));
        let how = if summary.predicted { "predicted" } else { "measured" };
        let measured = label::measured(slo).map(|figure| format!("{how} {figure}"));
        let measured = measured.unwrap_or_else(|| "nothing to measure".to_owned());
        let (objective, place) = (clean(&slo.objective), clean(&slo.place));
        let _ = writeln!(out, "{word}: {objective} in {place}, {measured}");
        for note in slo.notes() {
            let _ = writeln!(out, "  because {}", clean(note));
        }
    }
}

/// The text in this colour or style, or plain if colours are disabled.
fn painted(colour: Colour, paint: Paint, text: &str) -> String {
    let text = clean(text);
    match colour {
        Colour::Never => text.into_owned(),
        Colour::Always => format!("{ESCAPE}[{}m{text}{ESCAPE}[0m", paint as u8),
    }
}

/// The text as one line, in which control characters are shown as escapes.
fn clean(text: &str) -> Cow<'_, str> {
    visible::line(text)
}

/// A text of several lines for a terminal or a pipe. All control sequences except the colours of this
/// module are escaped. With [`Colour::Never`], these colours are escaped too.
pub fn shown(text: &str, colour: Colour) -> Cow<'_, str> {
    if colour == Colour::Never || !text.contains(ESCAPE) {
        return visible::lines(text);
    }
    let ours = [0, 1, 2, 31, 32, 33].map(|parameter| format!("{ESCAPE}[{parameter}m"));
    let mut parts = text.split(ESCAPE);
    let mut out = visible::lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let part = format!("{ESCAPE}{part}");
        let colour = ours.iter().find(|colour| part.starts_with(colour.as_str()));
        let colour = colour.map_or("", |colour| colour.as_str());
        out += colour;
        out += &visible::lines(&part[colour.len()..]);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_colour_codes_reach_the_terminal_unescaped() {
        let text = "\u{1b}[31mred\u{1b}[0m \u{1b}[2J\u{202e}x\n\u{1b}]0;title\u{7}";
        let plain = "\\u001b[31mred\\u001b[0m \\u001b[2J\\u202ex\n\\u001b]0;title\\u0007";
        assert_eq!(shown(text, Colour::Never), plain);
        let coloured =
            plain.replace("\\u001b[31m", "\u{1b}[31m").replace("\\u001b[0m", "\u{1b}[0m");
        assert_eq!(shown(text, Colour::Always), coloured);
    }
}
