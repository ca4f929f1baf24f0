//! Result files of other tools as runs, a file each. What agrees with our definitions goes where
//! our figures stand; everything is kept under the tool's own names too.

mod aiperf;
mod document;
mod guidellm;
mod llama_bench;
mod ours;
mod pass;
mod request;
mod sglang;
mod vllm;

use serde_json::Value;

use crate::error::ExchangeError;
use crate::source::{Import, Source};

pub(crate) use llama_bench::is_table as is_llama_bench_table;
pub(crate) use request::failure_in_words;

/// A form: what it is called, how it is known, and its runs.
struct Form {
    name: &'static str,
    /// By one document of the file: the whole of it, or one of its lines.
    is: fn(&Value) -> bool,
    runs: fn(&Source, &[Value]) -> Result<Vec<Import>, ExchangeError>,
}

/// The forms, the most particular first.
static FORMS: [Form; 7] = [
    Form { name: ours::FORMAT, is: ours::is, runs: ours::runs },
    Form { name: vllm::FORMAT, is: vllm::is, runs: vllm::runs },
    Form { name: sglang::FORMAT, is: sglang::is, runs: sglang::runs },
    Form { name: guidellm::FORMAT, is: guidellm::is, runs: guidellm::runs },
    Form { name: aiperf::FORMAT, is: aiperf::is, runs: aiperf::runs },
    Form { name: aiperf::RECORDS, is: aiperf::is_record, runs: aiperf::records },
    Form { name: llama_bench::FORMAT, is: llama_bench::is, runs: llama_bench::runs },
];

/// What the forms are called, for people.
pub(crate) fn names() -> String {
    FORMS.iter().map(|form| form.name).collect::<Vec<_>>().join(", ")
}

/// The runs of a file of JSON, or of JSON lines; nothing where it is in no known form.
pub(crate) fn runs(
    source: &Source,
    documents: &[Value],
) -> Option<Result<Vec<Import>, ExchangeError>> {
    let first = documents.first()?;
    let form = FORMS.iter().find(|form| (form.is)(first))?;
    if let Some(at) = documents.iter().position(|document| !(form.is)(document)) {
        return Some(Err(ExchangeError::Malformed {
            file: source.file.clone(),
            format: form.name,
            what: format!("its result {} is in another form than the first", at + 1),
        }));
    }
    Some((form.runs)(source, documents))
}

/// A run for each document of a file; of several each bears its number.
fn each(
    documents: &[Value],
    run: impl Fn(&Value) -> Result<Import, ExchangeError>,
) -> Result<Vec<Import>, ExchangeError> {
    let numbered = |(number, document): (usize, &Value)| {
        let mut import = run(document)?;
        if let Some(imported) = import.summary.imported.as_mut().filter(|_| documents.len() > 1) {
            imported.section = vec![format!("result {number}")];
        }
        Ok(import)
    };
    (1..).zip(documents).map(numbered).collect()
}

/// The rows of llama-bench's Markdown.
pub(crate) fn llama_bench_table(source: &Source, text: &str) -> Result<Vec<Import>, ExchangeError> {
    llama_bench::of_markdown(source, text)
}
