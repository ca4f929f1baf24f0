//! The parts of a report on the origin of its figures: environment, definitions, identity. They contain no
//! measured figures, with one exception: the figures that the source of imported results states.

use inferometer_analysis::{Imported, Summary};
use inferometer_model::metrics as metric;
use inferometer_model::metrics::{CoveredRequests, Origin};

use super::ReportInput;
use crate::document::{Block, Span, code_fact, fact, plain};
use crate::{Align, MISSING, Table, count, number::bytes};

/// The machine of the client, and the cards of the server's machine. Adds nothing for imported results.
pub(super) fn environment(out: &mut Vec<Block<'_>>, summary: &Summary) {
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
        ("CPU frequency governor", env.governor.clone()),
        ("Arrival stamps", env.stamps.clone()),
        ("Tokenizer that made the prompts", env.tokenizer.clone()),
    ];
    let known = facts
        .into_iter()
        .map(|(name, value)| fact(name, value.unwrap_or_else(|| "unknown".to_owned())));
    let loops = env
        .event_loops
        .iter()
        .map(|loops| fact("Event loops of the client", format!("{} ({})", loops.count, loops.why)));
    let cards = env.cards.iter().map(|card| {
        let known = [
            card.name.clone(),
            card.memory_bytes.map(bytes),
            card.driver.as_ref().map(|driver| format!("driver {driver}")),
            Some(format!("by {}", card.source)),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        fact(&format!("Card {} of the server's machine", card.index), known.join(", "))
    });
    out.push(Block::List(known.chain(loops).chain(cards).collect()));
}

/// The definitions of the columns of the published table, and of the metrics that the results have.
pub(super) fn definitions(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let is_stated = |metric: &&&metric::Definition| {
        passes().any(|pass| pass.latency(metric).is_some() || pass.figure(metric).is_some())
    };
    let mut table = Table::new([
        ("Metric", Align::Left),
        ("Unit", Align::Left),
        ("Formula", Align::Left),
        ("Counted from", Align::Left),
        ("Over", Align::Left),
        ("Notes", Align::Left),
    ]);
    for definition in metric::definitions().iter().filter(is_stated) {
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
                CoveredRequests::Completed => "completed requests",
                CoveredRequests::Sent => "requests that were sent",
                CoveredRequests::Planned => "planned requests",
            }
            .to_owned(),
            definition.notes.to_owned(),
        ]);
    }
    out.push(Block::Heading(2, "Definitions".to_owned()));
    out.push(Block::List(vec![
        fact(
            "Input Length, Output Length",
            "requested tokens; the token counts of results never come from these numbers",
        ),
        fact(
            "Throughput (requests/s), (output token/s)",
            "completed requests, or their output tokens, divided by the time from the first send \
                to the last end of the pass that loads the server",
        ),
        fact(
            "Average latency per token (ms)",
            "mean over requests of latency / (input + output tokens), from the pass with one \
                request at a time if there is one",
        ),
        fact(
            "Average latency per output token (ms)",
            "mean over requests of latency / output tokens, from the same pass",
        ),
        fact(
            "Intervals",
            "95 % confidence intervals. From one pass: valid for passes like it, estimated from the \
                correlation between its requests in send order (spectral density at frequency \
                zero, Student's t). From repeats: Student's t over the repeats.",
        ),
    ]));
    out.push(Block::Details(
        String::new(),
        "Metrics of these results".to_owned(),
        vec![Block::Table(table)],
    ));
}

/// The hashes that identify a run, the names of its files, and the commands that repeat it.
pub(super) fn identity(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>) {
    let summary = input.summary;
    if let Some(imported) = &summary.imported {
        return imported_origin(out, input, imported);
    }
    out.push(Block::Heading(2, "Identity, and how to repeat the run".to_owned()));
    // A prediction that uses only lengths has no requests, so it has no hashes of them.
    let hashes = [
        ("Run", Some(&summary.run_id)),
        ("Plan (SHA-256)", Some(&summary.plan_hash)),
        ("Workload (SHA-256)", summary.workload_hash.as_ref()),
        ("Bodies (SHA-256)", summary.body_hash.as_ref()),
    ];
    let known = hashes.into_iter().filter_map(|(name, hash)| Some(code_fact(name, hash?)));
    out.push(Block::List(known.collect()));
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

/// The source of imported results, and the figures that the source states, under the names of the source.
fn imported_origin(out: &mut Vec<Block<'_>>, input: &ReportInput<'_>, imported: &Imported) {
    out.push(Block::Heading(2, "Origin".to_owned()));
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
        for (name, words) in &stated.texts {
            table.push(vec![name.clone(), words.clone()]);
        }
        let heading = format!("Statements of the source: {place}");
        out.push(Block::Details(String::new(), heading, vec![Block::Table(table)]));
    }
    out.push(Block::Paragraph(plain("This report again:")));
    out.push(Block::Code("sh", input.report_command.to_owned()));
}
