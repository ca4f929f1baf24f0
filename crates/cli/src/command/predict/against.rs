//! What a prediction is held against: a published table or a stored run. It reads, and judges
//! nothing.

use std::path::Path;

use inferometer_core::plan::CellPlan;
use inferometer_core::prediction::Columns;
use inferometer_core::spec::Spec;
use inferometer_core::table_import::{PublishedRow, PublishedTable, published_tables};
use inferometer_engine::EngineConfig;
use inferometer_store::Store;

use crate::exit::Failure;

/// Measured rows.
pub struct Against {
    /// Where they are from, in words.
    pub origin: String,
    /// The rows.
    pub rows: Vec<PublishedRow>,
}

impl Against {
    /// The figures of a cell.
    pub fn row(&self, cell: CellPlan) -> Option<&Columns> {
        self.rows.iter().find(|row| row.cell == cell).map(|row| &row.measured)
    }

    /// Asks for the lengths of the rows.
    pub fn ask_for_its_grid(&self, spec: &mut Spec) {
        let mut inputs: Vec<u32> = self.rows.iter().map(|row| row.cell.input_length).collect();
        let mut outputs: Vec<u32> = self.rows.iter().map(|row| row.cell.output_length).collect();
        for lengths in [&mut inputs, &mut outputs] {
            lengths.sort_unstable();
            lengths.dedup();
        }
        spec.input_lengths = Some(inputs);
        spec.output_lengths = Some(outputs);
    }
}

/// Reads measured rows; of a file with several tables the one that is named, else the one whose
/// engine is the profile's.
pub fn read(name: &str, store: Option<&str>, config: &EngineConfig) -> Result<Against, Failure> {
    let (path, section) = match name.split_once('#') {
        Some((path, section)) => (path, Some(section)),
        None => (name, None),
    };
    if Path::new(path).is_file() {
        return table(path, section, config);
    }
    if path.ends_with(".md") {
        return Err(Failure::usage(format!("--against: {path}: there is no such file")));
    }
    stored(name, Path::new(store.unwrap_or("inferometer.db")))
}

fn table(path: &str, section: Option<&str>, config: &EngineConfig) -> Result<Against, Failure> {
    let problem = |what: String| Failure::usage(format!("--against: {path}: {what}"));
    let text =
        std::fs::read_to_string(path).map_err(|error| problem(format!("not read: {error}")))?;
    let tables = published_tables(&text).map_err(problem)?;
    let of_engine = |table: &&PublishedTable| table.is_under(&config.profile.engine);
    let fitting: Vec<&PublishedTable> = match (section, tables.as_slice()) {
        (Some(section), tables) => tables.iter().filter(|table| table.is_under(section)).collect(),
        (None, [only]) => vec![only],
        (None, tables) => tables.iter().filter(of_engine).collect(),
    };
    match fitting.as_slice() {
        [table] => Ok(Against {
            origin: format!("{path}, {}", table.headings.join(" / ")),
            rows: table.rows.clone(),
        }),
        found => {
            let sections: Vec<String> =
                tables.iter().map(|table| table.headings.join(" / ")).collect();
            Err(problem(format!(
                "{} of its tables fit {}; name one as {path}#SECTION: {}",
                found.len(),
                section.unwrap_or(&config.profile.engine),
                sections.join("; ")
            )))
        }
    }
}

fn stored(run: &str, store: &Path) -> Result<Against, Failure> {
    let problem = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("--against: {run} is no file, and as a stored run: {error}"))
    };
    let store = Store::open_existing(store).map_err(|error| problem(&error))?;
    let found = store.run(run).map_err(|error| problem(&error))?;
    let summary = found.summary.ok_or_else(|| problem(&"it has no results"))?;
    let rows = summary.cells.iter().map(|cell| PublishedRow {
        cell: CellPlan { input_length: cell.input_length, output_length: cell.output_length },
        measured: Columns::of(cell),
    });
    Ok(Against { origin: format!("run {}", found.row.id), rows: rows.collect() })
}
