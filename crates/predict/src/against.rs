//! Reads the measurements that a prediction is compared with: a published table, a log or a stored run. It compares
//! nothing.

mod differences;
pub(crate) mod measured_on;
mod passes;

use std::path::Path;

use inferometer_analysis::imported::Imported;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::prediction::Columns;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::{
    LoggedBlock, PublishedRow, PublishedTable, is_under, logged_blocks, place_of, published_tables,
};
use inferometer_engine::EngineConfig;
use inferometer_engine::confidence::MeasuredOn;
use inferometer_engine::text_blocks::ClosedLoopLoad;
use inferometer_load::PassKind;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Severity, code};
use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_plan::spec::{Spec, Value};
use inferometer_store::Store;

use inferometer_run::PlanError;

use crate::measured_runs::MeasuredPass;
use measured_on::{of_place, of_target};
use passes::{is_of_published_passes, of_passes};

/// If a page contains this text, its tables state prompt lengths in characters, not in tokens.
const LOG_OF_CHARACTERS: &str = "prompt-chars/second";

/// Measured rows that a prediction is compared with.
pub struct MeasuredRows {
    /// The source of the rows, as text for messages.
    pub origin: String,
    /// The rows.
    pub rows: Vec<PublishedRow>,
    /// The load of each row, if the source is a log; otherwise empty.
    pub blocks: Vec<ClosedLoopLoad>,
    /// The passes of a stored run; `rows` then has the cells of the run, without figures. Empty for published tables,
    /// and for runs with the same passes as published tables.
    pub passes: Vec<MeasuredPass>,
    /// The numbers of requests that were measured, if known.
    pub counts: Option<Counts>,
    /// The measured model, if known.
    pub model: Option<String>,
    /// The measured engine and card, as far as known.
    pub measured_on: MeasuredOn,
}

/// The number of requests in the passes of a stored run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The number of requests in the one-by-one pass; `None` if there was no such pass.
    pub one_by_one: Option<u32>,
    /// The number of requests in the saturated pass.
    pub saturated: u32,
    /// Whether the run is itself a prediction, so that nothing was measured.
    pub predicted: bool,
}

impl MeasuredRows {
    /// The measured figures of a cell.
    pub fn row(&self, cell: CellPlan) -> Option<&Columns> {
        self.rows.iter().find(|row| row.cell == cell).map(|row| &row.measured)
    }

    /// The load of a cell, if a log states it.
    pub fn block(&self, cell: CellPlan) -> Option<ClosedLoopLoad> {
        let logged = self.rows.iter().zip(&self.blocks).find(|(row, _)| row.cell == cell);
        logged.map(|(_, block)| *block)
    }

    /// Returns the cells among `cells` that were measured.
    ///
    /// # Errors
    /// If no cell was measured, because then nothing can be compared.
    pub fn common(&self, cells: &[CellPlan]) -> Result<Vec<CellPlan>, PlanError> {
        let common: Vec<CellPlan> =
            cells.iter().copied().filter(|cell| self.row(*cell).is_some()).collect();
        if !common.is_empty() {
            return Ok(common);
        }
        let rows: Vec<CellPlan> = self.rows.iter().map(|row| row.cell).collect();
        Err(PlanError::new(format!(
            "--against: {} has no row in common with the prediction: the measured rows are {}; the \
                predicted rows are {}",
            self.origin,
            some_of(&rows),
            some_of(cells)
        )))
    }

    /// Sets the absent numbers of requests in `spec` to the measured numbers, if these are known and the user gave no
    /// load.
    pub fn set_counts(&self, spec: &mut Spec) {
        let Some(counts) = self.counts else { return };
        if spec.passes.is_none() && spec.concurrency.is_none() && spec.rate.is_none() {
            spec.requests.get_or_insert(counts.saturated);
            if let Some(one_by_one) = counts.one_by_one {
                spec.one_by_one.get_or_insert(one_by_one);
            }
        }
    }

    /// Sets the lengths in `spec` to those of the rows, and the requests in flight to those of a log.
    pub fn set_grid(&self, spec: &mut Spec) {
        let mut inputs: Vec<u32> = self.rows.iter().map(|row| row.cell.input_length).collect();
        let mut outputs: Vec<u32> = self.rows.iter().map(|row| row.cell.output_length).collect();
        for lengths in [&mut inputs, &mut outputs] {
            lengths.sort_unstable();
            lengths.dedup();
        }
        spec.input_lengths = Some(inputs);
        spec.output_lengths = Some(outputs);
        if !self.blocks.is_empty() {
            let mut in_flight: Vec<u32> = self.blocks.iter().map(|block| block.in_flight).collect();
            in_flight.sort_unstable();
            in_flight.dedup();
            let levels = in_flight.into_iter().map(|count| Value::Number(f64::from(count)));
            spec.concurrency = Some(levels.collect());
        }
    }
}

/// Lists the first 8 cells as text, and the number of further cells.
fn some_of(cells: &[CellPlan]) -> String {
    const SHOWN: usize = 8;
    let mut words: Vec<String> = cells.iter().take(SHOWN).map(CellPlan::to_string).collect();
    if cells.len() > SHOWN {
        words.push(format!("{} more", cells.len() - SHOWN));
    }
    words.join(", ")
}

/// Reads measured rows from a file or a stored run with this name. In a file with several tables, `#SECTION` selects a
/// table; by default, it is the table of the profile's engine.
///
/// # Errors
/// If the file or the run cannot be read, if not exactly one table matches, or if a prediction cannot be compared with
/// the figures.
pub fn read(
    name: &str,
    store: Option<&str>,
    config: &EngineConfig,
) -> Result<MeasuredRows, PlanError> {
    let (path, section) = match name.split_once('#') {
        Some((path, section)) => (path, Some(section)),
        None => (name, None),
    };
    if Path::new(path).is_file() {
        return table(path, section, config);
    }
    if path.ends_with(".md") {
        return Err(PlanError::new(format!("{path}: there is no such file")));
    }
    stored(name, Path::new(store.unwrap_or("inferometer.db")), config)
}

fn table(
    path: &str,
    section: Option<&str>,
    config: &EngineConfig,
) -> Result<MeasuredRows, PlanError> {
    let problem = |what: String| PlanError::new(format!("{path}: {what}"));
    let text = file::read_text(Path::new(path), MAX_SETTINGS_BYTES)
        .map_err(|error| problem(format!("cannot be read: {error}")))?;
    of_text(path, &text, section, &config.profile.engine).map_err(problem)
}

fn of_text(
    path: &str,
    text: &str,
    section: Option<&str>,
    engine: &str,
) -> Result<MeasuredRows, String> {
    let mut logged = logged_blocks(text);
    if let Some(section) = section {
        logged.retain(|block| is_under(&block.headings, section));
    }
    if !logged.is_empty() {
        return of_log(path, text, &logged);
    }
    // If a page's logs count characters, the lengths in its tables are also in characters.
    if text.contains(LOG_OF_CHARACTERS) {
        return Err(format!(
            "the input lengths are in characters, because the logs of this page state \
                {LOG_OF_CHARACTERS}; no log of this section states tokens; name a section with \
                a log as {path}#SECTION"
        ));
    }
    let tables = published_tables(text)?;
    let of_engine = |table: &&PublishedTable| table.is_under(engine);
    let fitting: Vec<&PublishedTable> = match (section, tables.as_slice()) {
        (Some(section), tables) => tables.iter().filter(|table| table.is_under(section)).collect(),
        (None, [only]) => vec![only],
        (None, tables) => tables.iter().filter(of_engine).collect(),
    };
    match fitting.as_slice() {
        [table] => Ok(MeasuredRows {
            origin: format!("{path}, {}", table.headings.join(" / ")),
            rows: table.rows.clone(),
            blocks: Vec::new(),
            passes: Vec::new(),
            counts: None,
            model: table.place.model.clone(),
            measured_on: of_place(&table.place),
        }),
        found => {
            let sections: Vec<String> =
                tables.iter().map(|table| table.headings.join(" / ")).collect();
            Err(format!(
                "{} tables match {}; name exactly one as {path}#SECTION: {}",
                found.len(),
                section.unwrap_or(engine),
                sections.join("; ")
            ))
        }
    }
}

/// The rows of a log. The lengths are the means that the log states, in tokens.
///
/// # Errors
/// If the blocks are under several headings, because it is then unclear which log is meant.
fn of_log(path: &str, text: &str, logged: &[LoggedBlock]) -> Result<MeasuredRows, String> {
    let mut places: Vec<&[String]> = logged.iter().map(|block| &block.headings[..]).collect();
    places.dedup();
    if places.len() > 1 {
        let places: Vec<String> = places.iter().map(|headings| headings.join(" / ")).collect();
        return Err(format!(
            "{} logs match; name exactly one as {path}#SECTION: {}",
            places.len(),
            places.join("; ")
        ));
    }
    let tokens = |mean: f64| mean.round() as u32;
    let rows = logged.iter().map(|block| PublishedRow {
        cell: CellPlan {
            input_length: tokens(block.prompt_tokens),
            output_length: tokens(block.output_tokens),
        },
        measured: Columns {
            requests_per_s: Some(block.requests_per_s),
            output_tokens_per_s: Some(block.output_tokens_per_s),
            ..Columns::default()
        },
    });
    let blocks = logged.iter().map(|block| ClosedLoopLoad {
        prompt: tokens(block.prompt_tokens),
        mean_output: block.output_tokens,
        in_flight: block.in_flight,
        completed: block.completed,
    });
    let headings = logged.first().map(|block| block.headings.join(" / ")).unwrap_or_default();
    let begun = logged.first().map(|block| format!("[{}]", block.times[0])).unwrap_or_default();
    let place = place_of(text, |line| line.starts_with(&begun)).unwrap_or_default();
    Ok(MeasuredRows {
        origin: format!("{path}, the log under {headings}"),
        rows: rows.collect(),
        blocks: blocks.collect(),
        passes: Vec::new(),
        counts: None,
        measured_on: of_place(&place),
        model: place.model,
    })
}

fn stored(run: &str, store: &Path, config: &EngineConfig) -> Result<MeasuredRows, PlanError> {
    let problem = |error: &dyn std::fmt::Display| {
        PlanError::new(format!(
            "there is no file {run}, and the stored run {run} cannot be used: {error}"
        ))
    };
    let store = Store::open_existing(store).map_err(|error| problem(&error))?;
    let found = store.run(run).map_err(|error| problem(&error))?;
    let summary = found.summary.clone().ok_or_else(|| problem(&"it has no results"))?;
    if !is_of_published_passes(&summary) {
        return of_passes(&found, &summary, config).map_err(|why| problem(&why));
    }
    if let Some(imported) = &summary.imported {
        return of_import(&found.row.id.to_string(), &summary, imported)
            .map_err(|why| problem(&why));
    }
    let counts = counts(&summary).map_err(|why| problem(&why))?;
    let rows = summary.cells.iter().map(|cell| PublishedRow {
        cell: CellPlan { input_length: cell.input_length, output_length: cell.output_length },
        measured: cell.columns(),
    });
    let what = if summary.predicted { " (a prediction: nothing was measured)" } else { "" };
    let origin = format!("run {}{what}", found.row.id);
    let model = Some(summary.target.model.clone());
    Ok(MeasuredRows {
        origin,
        rows: rows.collect(),
        blocks: Vec::new(),
        passes: Vec::new(),
        counts: Some(counts),
        model,
        measured_on: of_target(&summary.target),
    })
}

/// The rows of imported results. For an imported log, also the loads that the log states.
fn of_import(id: &str, summary: &Summary, imported: &Imported) -> Result<MeasuredRows, String> {
    let origin = format!("run {id}, imported from {}", imported.place());
    if summary.findings.iter().any(|finding| {
        finding.is(code::IMPORTED_CHARACTERS_NOT_TOKENS) && finding.severity == Severity::Warning
    }) {
        return Err(
            "its input lengths are in characters, and their tokens are not known; import the \
                log, and name the run of the log"
                .to_owned(),
        );
    }
    let rows = summary
        .cells
        .iter()
        .map(|cell| PublishedRow { cell: cell.plan(), measured: cell.columns() });
    let of_blocks = |pass: &PassSummary| {
        let figures = pass.blocks.as_ref()?;
        let completed = u32::try_from(figures.completed).ok()?;
        Some(ClosedLoopLoad {
            prompt: (figures.prompt_tokens? as f64 / f64::from(completed)).round() as u32,
            mean_output: figures.completion_tokens_per_request()?,
            in_flight: figures.concurrency?,
            completed,
        })
    };
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let blocks: Vec<ClosedLoopLoad> = passes.filter_map(of_blocks).collect();
    if !blocks.is_empty() && blocks.len() != summary.cells.len() {
        return Err("some of its rows have no load".to_owned());
    }
    let model = Some(summary.target.model.clone()).filter(|model| model != "unknown");
    let measured_on = of_target(&summary.target);
    let passes = Vec::new();
    Ok(MeasuredRows {
        origin,
        rows: rows.collect(),
        blocks,
        passes,
        counts: None,
        model,
        measured_on,
    })
}

/// Returns the number of requests that were measured in a run.
///
/// # Errors
/// If a prediction cannot be compared with the run's figures. The error states the reason.
fn counts(summary: &Summary) -> Result<Counts, String> {
    let speed = summary.target.facts.get("speed").and_then(|speed| speed.parse::<f64>().ok());
    if let Some(speed) = speed.filter(|speed| *speed != 1.0) {
        return Err(format!(
            "the embedded engine ran {speed} times as fast as the simulated hardware; measure it \
                at --speed 1"
        ));
    }
    let of_kind = |kind: PassKind| {
        let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
        let mut planned: Vec<u64> =
            passes.filter(|pass| pass.kind == kind).map(|pass| pass.planned).collect();
        planned.dedup();
        planned
    };
    let all = summary.cells.iter().flat_map(|cell| &cell.passes);
    let others = all.filter(|pass| !matches!(pass.kind, PassKind::OneByOne | PassKind::Saturated));
    match (others.count(), of_kind(PassKind::Saturated).as_slice()) {
        (0, [saturated]) => Ok(Counts {
            one_by_one: of_kind(PassKind::OneByOne).first().map(|count| *count as u32),
            saturated: *saturated as u32,
            predicted: summary.predicted,
        }),
        _ => Err("all cells must have saturated passes with one number of requests".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# vLLM\n\n## A100\n\n**input 100**\n\n\
                         输出长度 | completion-tokens/s\n---|---\n166 | 522.0\n169 | 382.0\n";

    #[test]
    fn lengths_counted_in_characters_are_not_read_as_tokens() {
        let page = format!("{TABLE}\n## V100\n\n[INFO] prompt-chars/second: 304.9\n");
        let message = of_text("page.md", &page, Some("A100"), "vllm").err().unwrap();
        assert!(message.contains("characters") && message.contains("page.md#"), "{message}");
        let tokens = of_text("page.md", TABLE, Some("A100"), "vllm");
        let tokens = tokens.unwrap_or_else(|message| panic!("{message}"));
        assert_eq!(tokens.rows[0].cell, CellPlan { input_length: 100, output_length: 166 });
    }
}
