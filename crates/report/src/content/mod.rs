//! The content of a report as blocks, in order. `markdown` and `html` convert the blocks to text.

mod links;
mod origin;
mod passes;
mod server;

use links::{link_records, link_rows};

use inferometer_analysis::{Summary, verdict::Validity};
use inferometer_model::{Finding, Severity};

use crate::document::{Block, Span, Text, Tone, code_fact, fact, plain};
use crate::{
    MISSING, Table, Traces, answers, chart::Chart, cost, extra_tables, headline, label, left, mark,
    published, right, startup, table,
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
    for sentence in headline::sentences(summary) {
        out.push(Block::Paragraph(vec![Span::Strong(sentence)]));
    }
    verdict(&mut out, summary);
    // The first chart answers the question of the run.
    out.extend(input.charts.first().map(Block::Chart));
    results(&mut out, input);
    objectives(&mut out, summary);
    findings(&mut out, summary);
    let mut details = Vec::new();
    charts(&mut details, input);
    figures(&mut details, input);
    passes::passes(&mut details, input);
    server::server(&mut details, summary);
    server::hardware(&mut details, summary);
    passes::instrument(&mut details, summary);
    settings(&mut details, summary);
    origin::environment(&mut details, summary);
    origin::definitions(&mut details, summary);
    origin::identity(&mut details, input);
    out.extend(sections(details));
    out
}

/// Makes a section of each heading of level 2 and the blocks below it.
fn sections(blocks: Vec<Block<'_>>) -> Vec<Block<'_>> {
    let mut out: Vec<Block<'_>> = Vec::new();
    for block in blocks {
        match (block, out.last_mut()) {
            (Block::Heading(2, title), _) => out.push(Block::Section(title, Vec::new())),
            (block, Some(Block::Section(_, inner))) => inner.push(block),
            (block, _) => out.push(block),
        }
    }
    out
}

fn verdict(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let verdict = &summary.verdict;
    let mut lines: Vec<Text> = verdict.reasons.iter().map(plain).collect();
    lines.extend(mark::counted(summary).filter(|_| !mark::all_trusted(summary)).map(plain));
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
}

/// The table of the plan's objectives.
fn objectives(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let verdict = &summary.verdict;
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
    items.extend(
        target.startup.iter().map(|start| fact("Start", format!("ready {}", startup(start)))),
    );
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

/// The main tables: the table of each answer of a search or a sweep, or the published table and the main figures of each
/// pass. A single trial is not a result, so trials are among the figures.
fn results(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>) {
    let summary = input.summary;
    let answers = answers::of(summary);
    for answer in &answers {
        out.push(Block::Heading(2, format!("By load, {}", answer.place)));
        out.push(Block::Table(answer.main_table.clone()));
        out.push(Block::Paragraph(plain(&answer.legend)));
    }
    if answers.is_empty() {
        out.push(Block::Heading(2, "Results".to_owned()));
        let mut records = table::records(summary);
        if records.is_empty() {
            out.push(Block::Paragraph(plain("The run has no cells.")));
            return;
        }
        link_records(summary, &mut records);
        out.push(Block::Table(records));
        out.extend(table::which_pass(summary).map(|sentence| Block::Paragraph(plain(sentence))));
    }
    for lines in [table::failures(summary), table::interrupted(summary)] {
        if !lines.is_empty() {
            out.push(Block::List(lines.into_iter().map(plain).collect()));
        }
    }
    let mut passes = table::main_figures(summary);
    if answers.is_empty() && !passes.is_empty() {
        link_rows(summary, &mut passes);
        out.push(Block::Table(passes));
    }
    let extra = extra_tables::tables(summary);
    let marks = table::marks(summary, &table::passes(summary), &extra);
    out.extend(marks.into_iter().map(|sentence| Block::Paragraph(plain(sentence))));
}

/// The section with all figures: the whole table of each answer, the table of passes or trials, and further tables.
fn figures(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>) {
    let summary = input.summary;
    let answers = answers::of(summary);
    let has_answers = !answers.is_empty();
    out.push(Block::Heading(2, "All figures".to_owned()));
    for answer in answers {
        out.push(Block::Heading(3, format!("By load, {}", answer.place)));
        out.push(Block::Table(answer.table));
        out.push(Block::Paragraph(plain(answer.explanation)));
    }
    let mut passes = table::passes(summary);
    if !passes.is_empty() {
        link_rows(summary, &mut passes);
        let heading = if has_answers { "Trials" } else { "By pass" };
        out.push(Block::Heading(3, heading.to_owned()));
        out.push(Block::Table(passes));
    }
    if has_answers {
        out.push(Block::Paragraph(plain(answers::OF_TRIALS)));
    }
    for (heading, table) in extra_tables::tables(summary) {
        out.push(Block::Heading(3, heading.to_owned()));
        out.push(Block::Table(table));
    }
    out.extend(cost::legend(summary).map(|sentence| Block::Paragraph(plain(sentence))));
    if !published::keeping(summary).is_empty() {
        let rules = published::rules().map(|(name, definition)| fact(name, definition));
        out.push(Block::List(rules.collect()));
    }
}

/// All charts except the first one, which the report shows at its top.
fn charts<'a>(out: &mut Vec<Block<'a>>, input: &ReportInput<'a>) {
    if input.charts.len() < 2 {
        return;
    }
    out.push(Block::Heading(2, "More plots".to_owned()));
    out.extend(input.charts[1..].iter().map(Block::Chart));
}

/// One part for each kind of finding, warnings first.
fn findings(out: &mut Vec<Block<'_>>, summary: &Summary) {
    if summary.findings.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Findings".to_owned()));
    // Findings of the same severity stay in the order in which they were found.
    let mut sorted: Vec<&Finding> = summary.findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut kinds: Vec<Vec<&Finding>> = Vec::new();
    for finding in sorted {
        match kinds.iter_mut().find(|kind| kind[0].code == finding.code) {
            Some(kind) => kind.push(finding),
            None => kinds.push(vec![finding]),
        }
    }
    out.extend(kinds.iter().map(|kind| finding(kind)));
}

/// Findings of the same kind as one part.
pub(crate) fn finding<'a>(kind: &[&Finding]) -> Block<'a> {
    let (tone, word) = match kind[0].severity {
        Severity::Note => (Tone::Note, "Note"),
        Severity::Warning => (Tone::Warning, "Warning"),
    };
    let mut places = kind.iter().filter_map(|one| one.place.as_deref());
    let mut title = format!("{word}: {}", kind[0].code);
    title.extend(places.next().map(|place| format!(", {place}")));
    title += &match places.count() {
        0 => String::new(),
        1 => " and 1 other place".to_owned(),
        others => format!(" and {others} other places"),
    };
    let lines = kind.iter().flat_map(|one| {
        let message = match one.place.as_ref().filter(|_| kind.len() > 1) {
            Some(place) => fact(place, &one.message),
            None => plain(&one.message),
        };
        std::iter::once(message).chain(one.advice.as_ref().map(|advice| fact("Advice", advice)))
    });
    Block::Finding(tone, title, lines.collect())
}
