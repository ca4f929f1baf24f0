//! Imports result files of other tools, and our own `summary.json`, as runs, with one module for each tool.
//! Figures with the same definition as ours are stored as ours; all figures, except those in lists, are also
//! stored under the tool's own names. To add a tool, add a module and an entry in [`FORMATS`].

mod aiperf;
mod document;
mod evalscope;
mod guidellm;
mod inference_perf;
mod llama_bench;
mod ours;
mod pass;
mod request;
mod sglang;
mod vllm;

use serde_json::Value;

use self::document::Document;
use crate::import::error::ImportError;
use crate::import::source::{Import, Source};

pub(crate) use aiperf::FORMAT as AIPERF;
pub(crate) use guidellm::FORMAT as GUIDELLM;
pub(crate) use inference_perf::FORMAT as INFERENCE_PERF;
pub(crate) use llama_bench::is_table as is_llama_bench_table;
pub(crate) use sglang::FORMAT as SGLANG;
pub(crate) use vllm::FORMAT as VLLM;

/// The format of a tool's result file.
struct Format {
    name: &'static str,
    /// Recognises the format by one JSON document: the whole file, or one of its lines.
    is: fn(&Value) -> bool,
    reader: Reader,
}

/// How the documents of a file become runs.
enum Reader {
    /// Each document is a run, and states itself which.
    Each(fn(&Document<'_>) -> Result<Import, ImportError>),
    /// Each document is a run, told apart by its number in the file, from 1, if there are several.
    Numbered(fn(&Document<'_>) -> Result<Import, ImportError>),
    /// All documents together are one run or more.
    All(fn(&Source, &[Value]) -> Result<Vec<Import>, ImportError>),
}

/// All formats, the most specific first.
static FORMATS: [Format; 9] = inferometer_model::table! { Format { name, is, reader }
    (ours::FORMAT, ours::is, Reader::Each(ours::run))
    // `--append-result` writes a line for each run.
    (vllm::FORMAT, vllm::is, Reader::Numbered(vllm::run))
    (sglang::FORMAT, sglang::is, Reader::Numbered(sglang::run))
    (guidellm::FORMAT, guidellm::is, Reader::Each(guidellm::run))
    (aiperf::FORMAT, aiperf::is, Reader::Each(aiperf::run))
    (aiperf::RECORDS, aiperf::is_record, Reader::All(aiperf::records))
    (inference_perf::FORMAT, inference_perf::is, Reader::Numbered(inference_perf::run))
    (evalscope::FORMAT, evalscope::is, Reader::Numbered(evalscope::run))
    (llama_bench::FORMAT, llama_bench::is, Reader::All(llama_bench::runs))
};

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// Returns the runs of a file of JSON or of JSON lines; `None` if the format is not recognised.
pub(crate) fn runs(
    source: &Source,
    documents: &[Value],
) -> Option<Result<Vec<Import>, ImportError>> {
    let first = documents.first()?;
    let format = FORMATS.iter().find(|format| (format.is)(first))?;
    if let Some(at) = documents.iter().position(|document| !(format.is)(document)) {
        return Some(Err(ImportError::Malformed {
            file: source.file.clone(),
            format: format.name,
            what: format!("result {} does not have the format of the first result", at + 1),
        }));
    }
    let found = format.read(source, documents).and_then(|imports| {
        let is_empty = imports.iter().any(|import| import.summary.cells.is_empty());
        let what = || "it contains no results".to_owned();
        if is_empty { Err(source.malformed(format.name, what())) } else { Ok(imports) }
    });
    Some(found)
}

impl Format {
    fn read(&self, source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
        let (run, numbered) = match self.reader {
            Reader::Each(run) => (run, false),
            Reader::Numbered(run) => (run, documents.len() > 1),
            Reader::All(runs) => return runs(source, documents),
        };
        let import = |(number, value): (usize, &Value)| {
            let mut import = run(&Document { source, format: self.name, value })?;
            if let Some(imported) = import.summary.imported.as_mut().filter(|_| numbered) {
                imported.section = vec![format!("result {number}")];
            }
            Ok(import)
        };
        (1..).zip(documents).map(import).collect()
    }
}

/// Returns the run of a Markdown table of llama-bench.
pub(crate) fn llama_bench_table(source: &Source, text: &str) -> Result<Vec<Import>, ImportError> {
    llama_bench::of_markdown(source, text)
}
