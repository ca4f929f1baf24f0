//! The content of a report as blocks, in order. `markdown` and `html` convert the blocks to text.

mod links;
mod origin;
mod passes;
mod server;

use links::PageLinks;

use inferometer_analysis::Summary;
use inferometer_analysis::verdict::Validity;
use inferometer_model::{Finding, Severity};

use crate::chart::Chart;
use crate::charts::is_of_answer;
use crate::document::{Block, Span, Text, Tone, code_fact, fact, plain};
use crate::{
    MISSING, Table, Traces, answers, extra_tables, label, left, mark, published, right, table,
};

/// The inputs of a report.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// The results.
    pub summary: &'a Summary,
    /// The charts of the run, from [`crate::charts::of_run`]. Markdown refers to the file
    /// of each chart; HTML contains the charts.
    pub charts: &'a [Chart],
    /// The distributions of each pass, and its values over time; empty if the run has no records.
    pub traces: &'a Traces,
    /// The user's plan with the seed and the salt, as TOML.
    pub plan_toml: &'a str,
    /// The names of other files in the same folder, which contain the same results for programs.
    pub files: &'a [&'a str],
    /// The command that makes this report again from the stored records.
    pub report_command: &'a str,
    /// The command that measures the same plan again.
    pub run_command: &'a str,
}

/// All blocks of the report, in order.
pub(crate) fn blocks<'a>(input: &ReportInput<'a>) -> Vec<Block<'a>> {
    let summary = input.summary;
    let mut out = vec![Block::Heading(1, label::title(summary))];
    verdict(&mut out, summary);
    answers(&mut out, input);
    findings(&mut out, summary);
    results(&mut out, input);
    charts(&mut out, input);
    passes::passes(&mut out, input);
    server::server(&mut out, summary);
    server::hardware(&mut out, summary);
    passes::instrument(&mut out, summary);
    settings(&mut out, summary);
    origin::environment(&mut out, summary);
    origin::definitions(&mut out, summary);
    origin::identity(&mut out, input);
    out
}

fn verdict(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let verdict = &summary.verdict;
    let mut lines: Vec<Text> = verdict.reasons.iter().map(plain).collect();
    let warnings =
        summary.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    if warnings > 0 {
        let verb = if warnings == 1 { "1 finding warns" } else { "Findings warn" };
        let number = if warnings == 1 { String::new() } else { format!(" ({warnings})") };
        lines.push(plain(format!("{verb} that some figures need care{number}: see Findings.")));
    }
    lines.extend(mark::counted(summary).map(plain));
    lines.extend(verdict.advice.as_ref().map(plain));
    let failed = table::failed_of_all(summary);
    let (tone, title) = match verdict.validity {
        // No client took part in a prediction, so there is no client error.
        _ if summary.predicted => {
            (Tone::Warning, "Predicted: no server and no client took part.".to_owned())
        }
        Validity::Valid => {
            let tone = if failed.is_empty() { Tone::Good } else { Tone::Warning };
            (tone, format!("Valid{failed}: {}.", mark::of_valid_run(summary)))
        }
        Validity::Suspect => (
            Tone::Warning,
            format!("Suspect{failed}: read these reasons before you use the figures."),
        ),
    };
    out.push(Block::Callout(tone, title, lines));
    if let Some(word) = label::origin_word(summary) {
        let of_source = "Figures are those of the source, as it states them; Inferometer has no \
            request records for them.";
        let of_model = if summary.predicted {
            "No request was sent: every figure is computed by the embedded engine's cost model in \
             virtual time."
        } else {
            "The server was the embedded engine, which simulates a cost model. The requests and \
                their timing are real; the speed of the hardware is simulated."
        };
        let sentences = [
            summary.imported.as_ref().map(|_| plain(of_source)),
            (summary.predicted || summary.target.simulated).then(|| plain(of_model)),
        ];
        let title = label::notice(summary)
            .unwrap_or_else(|| format!("{}: not a measurement.", word.to_uppercase()));
        let sentences = sentences.into_iter().flatten().collect();
        out.push(Block::Callout(Tone::Warning, title, sentences));
    }
    if verdict.slo.is_empty() {
        return;
    }
    let slo = verdict.slo.iter().map(|result| {
        let outcome = std::iter::once(label::outcome(result)).chain(result.notes());
        [
            left("Objective", &result.objective),
            left("Where", &result.place),
            right("Measured", label::measured(result).unwrap_or_else(|| MISSING.to_owned())),
            left("Verdict", outcome.collect::<Vec<_>>().join(": ")),
        ]
    });
    out.push(Block::Heading(2, "Objectives".to_owned()));
    out.push(Block::Table(Table::of(slo)));
}

/// The answers of a search or a sweep, with their charts and tables.
fn answers<'a>(out: &mut Vec<Block<'a>>, input: &ReportInput<'a>) {
    let answers = answers::of(input.summary);
    for answer in &answers {
        out.push(Block::Heading(2, answer.heading.clone()));
        let strong = Span::Strong(answer.sentence.clone());
        out.push(Block::Paragraph(vec![strong]));
    }
    out.extend(input.charts.iter().filter(|chart| is_of_answer(chart)).map(Block::Chart));
    for answer in answers {
        out.push(Block::Heading(3, format!("By load, {}", answer.place)));
        out.push(Block::Table(answer.table));
        out.push(Block::Paragraph(plain(answer.explanation)));
    }
}

/// The section on the target, its settings, and the time of the measurement.
fn settings(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let target = &summary.target;
    out.push(Block::Heading(2, "Settings".to_owned()));
    let mut items = vec![
        fact("Model", &target.model),
        fact("Engine", label::with_reality(&label::engine(target), summary)),
        code_fact("Address", &target.url),
        fact("Dialect", &target.dialect),
    ];
    if let Some(profile) = &target.profile {
        items.push(fact("Profile of the embedded engine", profile));
    }
    items.extend(target.facts.texts().iter().map(|(name, value)| fact(name, value)));
    // For imported results, the time and the program are those of the import. Only the source knows the time
    // and the program of the measurement.
    let (when, with) = match (summary.imported.is_some(), summary.predicted) {
        (true, _) => ("Imported", "Imported with"),
        (false, true) => ("Predicted", "Predicted with"),
        (false, false) => ("Started", "Measured with"),
    };
    items.push(fact(when, &summary.started_at));
    items.push(fact(with, format!("{} {}", summary.tool.name, summary.tool.version)));
    out.push(Block::List(items));
}

fn results(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>) {
    let summary = input.summary;
    let links = PageLinks { summary, traces: input.traces };
    if answers::has_answers(summary) {
        // The report shows the answer further up. A single trial is not a result.
        return trials(out, summary, &links);
    }
    out.push(Block::Heading(2, "Results".to_owned()));
    let mut records = table::records(summary);
    if records.is_empty() {
        out.push(Block::Paragraph(plain("The run has no cells.")));
        return;
    }
    links.link_records(&mut records);
    out.push(Block::Table(records));
    if let Some(sentence) = table::which_pass(summary) {
        out.push(Block::Paragraph(plain(sentence)));
    }
    let failures = table::failures(summary);
    if !failures.is_empty() {
        out.push(Block::List(failures.into_iter().map(plain).collect()));
    }
    let interrupted = table::interrupted(summary);
    if !interrupted.is_empty() {
        out.push(Block::List(interrupted.into_iter().map(plain).collect()));
    }
    let mut passes = table::passes(summary);
    if !passes.is_empty() {
        links.link_passes(&mut passes);
        out.push(Block::Heading(3, "By pass".to_owned()));
        out.push(Block::Table(passes));
    }
    let extra = extra_tables::tables(summary);
    let marks = table::marks(summary, &table::passes(summary), &extra);
    out.extend(marks.into_iter().map(|sentence| Block::Paragraph(plain(sentence))));
    for (heading, table) in extra {
        out.push(Block::Heading(3, heading.to_owned()));
        out.push(Block::Table(table));
    }
    if !published::keeping(summary).is_empty() {
        let rules = published::rules().map(|(name, definition)| fact(name, definition));
        out.push(Block::List(rules.collect()));
    }
}

/// The section with a table of all trials of a search or a sweep.
fn trials(out: &mut Vec<Block<'_>>, summary: &Summary, links: &PageLinks<'_>) {
    out.push(Block::Heading(2, "Trials".to_owned()));
    let mut trials = table::passes(summary);
    links.link_passes(&mut trials);
    out.push(Block::Table(trials));
    out.push(Block::Paragraph(plain(answers::OF_TRIALS)));
    let failures = table::failures(summary);
    if !failures.is_empty() {
        out.push(Block::List(failures.into_iter().map(plain).collect()));
    }
}

/// All charts except those of a search or a sweep, which the report shows with the answer.
fn charts<'a>(out: &mut Vec<Block<'a>>, input: &ReportInput<'a>) {
    if input.charts.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Plots".to_owned()));
    out.extend(input.charts.iter().filter(|chart| !is_of_answer(chart)).map(Block::Chart));
}

fn findings(out: &mut Vec<Block<'_>>, summary: &Summary) {
    out.push(Block::Heading(2, "Findings".to_owned()));
    if summary.findings.is_empty() {
        out.push(Block::Paragraph(plain("None.")));
        return;
    }
    // Warnings come first; findings of the same severity stay in the order in which they were found.
    let mut sorted: Vec<&Finding> = summary.findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    out.extend(sorted.into_iter().map(finding));
}

/// A finding as a highlighted box.
pub(crate) fn finding<'a>(finding: &Finding) -> Block<'a> {
    let (tone, word) = match finding.severity {
        Severity::Note => (Tone::Note, "Note"),
        Severity::Warning => (Tone::Warning, "Warning"),
    };
    let place = finding.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
    let mut lines = vec![plain(&finding.message)];
    lines.extend(finding.advice.as_ref().map(|advice| fact("Advice", advice)));
    Block::Callout(tone, format!("{word}: {}{place}", finding.code), lines)
}
