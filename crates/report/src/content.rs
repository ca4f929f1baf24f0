//! What a report says, in which order. Never how it is written: that is `markdown` and `html`.

mod passes;
mod places;
mod server;

use places::Places;

use inferometer_analysis::imported::Imported;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::verdict::Validity;
use inferometer_metrics as metric;
use inferometer_metrics::{Origin, Over};
use inferometer_model::finding::{Finding, Severity};

use crate::beside;
use crate::document::{Block, Span, Text, Tone, code_fact, fact, plain};
use crate::label;
use crate::layout::{Align, Table};
use crate::number::{MISSING, bytes, count, significant};
use crate::plot::Named;
use crate::published;
use crate::search;
use crate::table;
use crate::trace::Traces;
use crate::view;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// The results.
    pub summary: &'a Summary,
    /// Its plots, from [`crate::plot::figures`]. Markdown refers to each as `./NAME.png`; HTML
    /// contains them.
    pub plots: &'a [Named],
    /// What its passes looked like, from their records; empty where there are none.
    pub traces: &'a Traces,
    /// The resolved plan, as TOML.
    pub plan_toml: &'a str,
    /// The files that stand beside the report: the same results for other programs.
    pub files: &'a [&'a str],
    /// The command that makes this report again from the stored records.
    pub report_command: &'a str,
    /// The command that measures the same plan again.
    pub run_command: &'a str,
}

/// What a report is headed by: `chatglm3-6b on A100 40G, vllm v0.2.7`.
#[must_use]
pub fn title(summary: &Summary) -> String {
    let target = &summary.target;
    let text = format!("{} on {}, {}", target.model, label::card(target), label::engine(target));
    label::with_reality(&text, summary)
}

/// The page.
pub(crate) fn blocks(input: &ReportInput<'_>) -> Vec<Block> {
    let summary = input.summary;
    let mut out = vec![Block::Heading(1, title(summary))];
    verdict(&mut out, summary);
    answers(&mut out, input);
    what(&mut out, summary);
    results(&mut out, input);
    plots(&mut out, input);
    passes::passes(&mut out, input);
    server::server(&mut out, summary);
    server::hardware(&mut out, summary);
    passes::instrument(&mut out, summary);
    findings(&mut out, summary);
    environment(&mut out, summary);
    definitions(&mut out);
    identity(&mut out, input);
    out
}

fn verdict(out: &mut Vec<Block>, summary: &Summary) {
    let verdict = &summary.verdict;
    let mut lines: Vec<Text> = verdict.reasons.iter().map(plain).collect();
    let warnings =
        summary.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    if warnings > 0 {
        let verb = if warnings == 1 { "1 finding warns" } else { "Findings warn" };
        let number = if warnings == 1 { String::new() } else { format!(" ({warnings})") };
        lines.push(plain(format!(
            "{verb} that figures may not mean what they seem to mean{number}: see Findings."
        )));
    }
    let (tone, title) = match verdict.validity {
        // No client took part, so there is nothing of it to vouch for.
        _ if summary.predicted => (Tone::Warning, "Predicted: no server and no client took part."),
        Validity::Valid => {
            (Tone::Good, "Valid: the client's own error is small beside every figure.")
        }
        Validity::Suspect => {
            (Tone::Warning, "Suspect: the instrument does not vouch for these figures.")
        }
    };
    out.push(Block::Callout(tone, title.to_owned(), lines));
    if let Some(word) = label::unreal(summary) {
        let of_source = "Figures are those of the source, as it states them; there is no record \
                         behind them but what the source has.";
        let of_model = if summary.predicted {
            "No request was sent: every figure is computed by the embedded engine's cost model in \
             virtual time."
        } else {
            "The server was the embedded engine, which plays a cost model. The requests and their \
             timing are real; the speed of the hardware is a model's."
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
    let mut slo = Table::new([
        ("Objective", Align::Left),
        ("Where", Align::Left),
        ("Measured", Align::Right),
        ("Verdict", Align::Left),
    ]);
    for result in &verdict.slo {
        slo.push(vec![
            result.objective.clone(),
            result.place.clone(),
            result.measured.map_or(MISSING.to_owned(), |value| {
                significant(value) + label::unit(&result.objective)
            }),
            if result.met { "met" } else { "not met" }.to_owned(),
        ]);
    }
    out.push(Block::Heading(2, "Objectives".to_owned()));
    out.push(Block::Table(slo));
}

/// What a search found out, and its curve.
fn answers(out: &mut Vec<Block>, input: &ReportInput<'_>) {
    let searches = &input.summary.searches;
    for answer in searches {
        out.push(Block::Heading(2, format!("Search, {}", answer.cell())));
        let strong = Span::Strong(search::sentence(answer));
        out.push(Block::Paragraph(vec![strong]));
    }
    out.extend(
        (0..input.plots.len()).filter(|&at| is_of_search(&input.plots[at])).map(Block::Plot),
    );
    for answer in searches {
        out.push(Block::Heading(3, format!("By load, {}", answer.cell())));
        out.push(Block::Table(search::table(answer)));
        out.push(Block::Paragraph(plain(search::explanation(answer))));
    }
}

/// Whether it is the curve of a search, which stands beside its answer.
fn is_of_search(plot: &Named) -> bool {
    plot.name == crate::plot::SEARCH
}

fn what(out: &mut Vec<Block>, summary: &Summary) {
    let target = &summary.target;
    out.push(Block::Heading(2, "What was measured".to_owned()));
    let mut items = vec![
        fact("Model", &target.model),
        fact("Engine", label::with_reality(&label::engine(target), summary)),
        code_fact("Address", &target.url),
        fact("Dialect", &target.dialect),
    ];
    if let Some(profile) = &target.profile {
        items.push(fact("Profile of the embedded engine", profile));
    }
    items.extend(target.facts.iter().map(|(name, value)| fact(name, value)));
    // Of imported results both are those of the import: when they were measured, and by what, only
    // their source can say.
    let (when, with) = match (summary.imported.is_some(), summary.predicted) {
        (true, _) => ("Imported", "Imported with"),
        (false, true) => ("Predicted", "Predicted with"),
        (false, false) => ("Started", "Measured with"),
    };
    items.push(fact(when, &summary.started_at));
    items.push(fact(with, format!("{} {}", summary.tool.name, summary.tool.version)));
    out.push(Block::List(items));
}

fn results(out: &mut Vec<Block>, input: &ReportInput<'_>) {
    let summary = input.summary;
    let places = Places { summary, traces: input.traces };
    if !summary.searches.is_empty() {
        // Its answer stands above: no trial of it is a result of its own.
        return trials(out, summary, &places);
    }
    out.push(Block::Heading(2, "Results".to_owned()));
    let mut records = table::records(summary);
    if records.is_empty() {
        out.push(Block::Paragraph(plain("The run has no cells.")));
        return;
    }
    places.link_records(&mut records);
    out.push(Block::Table(records));
    if let Some(sentence) = table::which_pass(summary) {
        out.push(Block::Paragraph(plain(sentence)));
    }
    let failures = table::failures(summary);
    if !failures.is_empty() {
        out.push(Block::List(failures.into_iter().map(plain).collect()));
    }
    let mut loads = table::loads(summary);
    if !loads.is_empty() {
        places.link_loads(&mut loads);
        out.push(Block::Heading(3, "By load".to_owned()));
        out.push(Block::Table(loads));
    }
    for (heading, table) in beside::tables(summary) {
        out.push(Block::Heading(3, heading.to_owned()));
        out.push(Block::Table(table));
    }
    if !published::keeping(summary).is_empty() {
        let rules = published::rules().map(|(name, definition)| fact(name, definition));
        out.push(Block::List(rules.collect()));
    }
}

/// Every trial of a search.
fn trials(out: &mut Vec<Block>, summary: &Summary, places: &Places<'_>) {
    out.push(Block::Heading(2, "Trials".to_owned()));
    let mut trials = table::loads(summary);
    places.link_loads(&mut trials);
    out.push(Block::Table(trials));
    let failures = table::failures(summary);
    if !failures.is_empty() {
        out.push(Block::List(failures.into_iter().map(plain).collect()));
    }
}

fn plots(out: &mut Vec<Block>, input: &ReportInput<'_>) {
    let charts = view::of_run(input.summary, input.traces);
    if input.plots.is_empty() && charts.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Plots".to_owned()));
    let others = (0..input.plots.len()).filter(|&at| !is_of_search(&input.plots[at]));
    out.extend(others.map(Block::Plot));
    out.extend(charts.into_iter().map(|chart| Block::Chart(Box::new(chart))));
}

fn findings(out: &mut Vec<Block>, summary: &Summary) {
    out.push(Block::Heading(2, "Findings".to_owned()));
    if summary.findings.is_empty() {
        out.push(Block::Paragraph(plain("None.")));
        return;
    }
    // Warnings first; within a severity in the order in which they were found.
    let mut sorted: Vec<&Finding> = summary.findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in sorted {
        let (tone, word) = match finding.severity {
            Severity::Note => (Tone::Note, "Note"),
            Severity::Warning => (Tone::Warning, "Warning"),
        };
        let place = finding.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
        let mut lines = vec![plain(&finding.message)];
        lines.extend(finding.advice.as_ref().map(|advice| fact("Advice", advice)));
        out.push(Block::Callout(tone, format!("{word}: {}{place}", finding.code), lines));
    }
}

fn environment(out: &mut Vec<Block>, summary: &Summary) {
    let env = &summary.environment;
    if summary.imported.is_some() {
        return;
    }
    out.push(Block::Heading(2, "Environment of the client".to_owned()));
    let facts = [
        ("Host", env.host.clone()),
        ("Processor", env.cpu.clone()),
        ("Logical processors", env.cpus.map(|cpus| count(u64::from(cpus)))),
        ("Memory", env.memory_bytes.map(bytes)),
        ("System", env.kernel.clone()),
        ("Governor of the clock", env.governor.clone()),
        ("Arrival stamps", env.stamps.clone()),
        ("Tokenizer that shaped the prompts", env.tokenizer.clone()),
    ];
    let known = facts
        .into_iter()
        .map(|(name, value)| fact(name, value.unwrap_or_else(|| "unknown".to_owned())));
    let cards = env.cards.iter().map(|card| {
        let said = [
            card.name.clone(),
            card.memory_bytes.map(bytes),
            card.driver.as_ref().map(|driver| format!("driver {driver}")),
            Some(format!("by {}", card.source)),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        fact(&format!("Card {} of the server's machine", card.index), said.join(", "))
    });
    out.push(Block::List(known.chain(cards).collect()));
}

/// The columns of the published table, then every metric as the code that computes it defines it.
fn definitions(out: &mut Vec<Block>) {
    let mut table = Table::new([
        ("Metric", Align::Left),
        ("Unit", Align::Left),
        ("Formula", Align::Left),
        ("Counted from", Align::Left),
        ("Over", Align::Left),
        ("Notes", Align::Left),
    ]);
    for definition in metric::definitions() {
        table.push(vec![
            definition.name.to_owned(),
            definition.unit.to_string(),
            definition.formula.to_owned(),
            match definition.origin {
                Some(Origin::Sent) => "the send",
                Some(Origin::Due) => "the due time",
                None => MISSING,
            }
            .to_owned(),
            match definition.over {
                Over::Completed => "completed requests",
                Over::Sent => "requests that were sent",
            }
            .to_owned(),
            definition.notes.to_owned(),
        ]);
    }
    out.push(Block::Heading(2, "Definitions".to_owned()));
    out.push(Block::List(vec![
        fact("Input Length, Output Length", "tokens asked for; counts of tokens are never these"),
        fact(
            "Throughput (requests/s), (output token/s)",
            "completed requests, and their output tokens, over the time from the first send to \
             the last end of the pass that loads the server",
        ),
        fact(
            "Average latency per token (ms)",
            "mean over requests of latency / (input + output tokens), one request at a time where \
             such a pass was carried out",
        ),
        fact(
            "Average latency per output token (ms)",
            "mean over requests of latency / output tokens, of the same pass",
        ),
        fact(
            "Intervals",
            "95 %: bootstrap for means, order statistics for percentiles, Student's t over repeats",
        ),
    ]));
    out.push(Block::Details(String::new(), "Every metric".to_owned(), vec![Block::Table(table)]));
}

fn identity(out: &mut Vec<Block>, input: &ReportInput<'_>) {
    let summary = input.summary;
    if let Some(imported) = &summary.imported {
        return origin(out, input, imported);
    }
    out.push(Block::Heading(2, "Identity, and how to do it again".to_owned()));
    // A prediction of lengths alone has no requests.
    let hashes = [
        ("Run", &summary.run_id),
        ("Plan (SHA-256)", &summary.plan_hash),
        ("Workload (SHA-256)", &summary.workload_hash),
        ("Bodies (SHA-256)", &summary.body_hash),
    ];
    let known = hashes.into_iter().filter(|(_, hash)| !hash.is_empty());
    out.push(Block::List(known.map(|(name, hash)| code_fact(name, hash)).collect()));
    if !input.files.is_empty() {
        out.push(Block::Paragraph(plain("The same results for other programs, beside this file:")));
        let files = input.files.iter().map(|name| vec![Span::File((*name).to_owned())]);
        out.push(Block::List(files.collect()));
    }
    out.push(Block::Paragraph(plain("This report again, from the stored records:")));
    out.push(Block::Code("sh", input.report_command.to_owned()));
    out.push(Block::Paragraph(plain("The measurement again, from the plan below:")));
    out.push(Block::Code("sh", input.run_command.to_owned()));
    out.push(Block::Code("toml", input.plan_toml.to_owned()));
}

/// Where imported results come from, and what their source says under its own names.
fn origin(out: &mut Vec<Block>, input: &ReportInput<'_>, imported: &Imported) {
    out.push(Block::Heading(2, "Where it comes from".to_owned()));
    let mut items = vec![
        fact("File", &imported.file),
        code_fact("SHA-256", &imported.sha256),
        fact("Form", &imported.format),
        fact("Section", imported.section.join(" / ")),
    ];
    items.extend(imported.measured_at.as_ref().map(|when| fact("Measured", when)));
    items.push(code_fact("Run", &input.summary.run_id));
    out.push(Block::List(items));
    let passes = input
        .summary
        .cells
        .iter()
        .flat_map(|cell| cell.passes.iter().map(|pass| cell.place(pass)).collect::<Vec<_>>());
    for (place, stated) in passes.zip(&imported.passes) {
        let mut table = Table::new([("Name", Align::Left), ("Value", Align::Right)]);
        for (name, value) in &stated.numbers {
            table.push(vec![name.clone(), format!("{value}")]);
        }
        for (name, words) in &stated.words {
            table.push(vec![name.clone(), words.clone()]);
        }
        let heading = format!("What the source states: {place}");
        out.push(Block::Details(String::new(), heading, vec![Block::Table(table)]));
    }
    out.push(Block::Paragraph(plain("This report again:")));
    out.push(Block::Code("sh", input.report_command.to_owned()));
}
