//! Imports published pages. Their tables, text-block logs and outputs of vLLM 0.2's `benchmark_serving.py`
//! become runs.

mod log;
mod script;
mod tables;

use inferometer_analysis::table_import::{
    HeadingFacts, NoNumber, engine_in_prose, logged_blocks, published_tables,
};
use inferometer_model::{Target, target::Facts};

use crate::import::error::ImportError;
use crate::import::source::{Import, Source};

/// Returns the runs of a page: first its tables, then the outputs of the script, then its logs.
pub(crate) fn runs(source: &Source, text: &str) -> Result<Vec<Import>, ImportError> {
    let malformed = |what: NoNumber| ImportError::Malformed {
        file: source.file.clone(),
        format: "published tables",
        what: what.to_string(),
    };
    let tables = published_tables(text).map_err(malformed)?;
    let page = Page { source, text, logged: logged_blocks(text) };
    let mut runs: Vec<Import> = tables.iter().map(|table| tables::run(&page, table)).collect();
    runs.extend(script::runs(&page)?);
    runs.extend(log::runs(&page));
    Ok(runs)
}

/// A page, with the parsed blocks of its logs.
pub(crate) struct Page<'a> {
    pub source: &'a Source,
    pub text: &'a str,
    pub logged: Vec<inferometer_analysis::table_import::LoggedBlock>,
}

/// Returns the target. Its parts that neither a heading nor the text names are `unknown` or absent. If only the
/// text names the engine, also returns the number of the line that names the engine.
fn target(page: &Page<'_>, place: &HeadingFacts) -> (Target, Option<usize>) {
    let prose = engine_in_prose(page.text).filter(|_| place.engine.is_none());
    let engine = place.engine.clone().or(prose.map(|(name, _)| name.to_owned()));
    let target = Target {
        url: "unknown".to_owned(),
        dialect: "unknown".to_owned(),
        engine,
        engine_version: place.engine_version.clone(),
        model: place.model.clone().unwrap_or_else(|| "unknown".to_owned()),
        facts: Facts { card: place.card.clone(), ..Facts::default() },
        ..Target::default()
    };
    (target, prose.map(|(_, line)| line))
}
