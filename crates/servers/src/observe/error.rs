//! The errors of this crate.

use std::{io, path::PathBuf, process::ExitStatus};

use inferometer_net::http::client::ClientError;
use nvml_wrapper::error::NvmlError;

/// Why there is no sample, or no source of samples.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum ObserveError {
    /// A server does not answer.
    #[error(transparent)]
    NoAnswer(#[from] ClientError),
    /// A server answers with an error.
    #[error("{address} answered {status}")]
    Status { address: String, status: u16 },
    /// The answer is not UTF-8 text.
    #[error("{0}: the answer is not UTF-8 text")]
    NoText(String),
    /// The text has no metric that this crate knows. A server may add them with its first request.
    #[error("{0}: contains no known metric")]
    NoKnownMetric(String),
    /// The text lacks metrics that the user names. A server may add them with its first request.
    #[error("{address}: metrics_names: there is no metric `{}`", names.join("`, `"))]
    UnknownNames { address: String, names: Vec<String> },
    /// The user names a metric for a quantity that does not exist.
    #[error(
        "`{0}` is not a known server metric; the known ones are running, waiting, kv_use, preemptions, \
            prefix_queries, prefix_hits, drafted, accepted, generation_tokens, ttft, itl, queue, prefill"
    )]
    UnknownQuantity(String),
    /// The user names a card that does not exist.
    #[error("card {number} was not found; found: {}", listed(found))]
    NoSuchCard { number: u32, found: Vec<u32> },
    /// The DCGM exporter at an address has no card.
    #[error("{0}: the DCGM exporter reports no card")]
    NoCards(String),
    /// The DCGM exporter no longer has a card.
    #[error("{address}: the DCGM exporter does not report card {number}")]
    NotReported { address: String, number: u32 },
    /// NVIDIA's library does not give the state of a card.
    #[error("NVML: card {number}: {source}")]
    Nvml { number: u32, source: NvmlError },
    /// `nvidia-smi` does not give the state of the cards.
    #[error("nvidia-smi: {0}")]
    Smi(#[from] SmiError),
    /// The folder of an AMD card no longer exists.
    #[error("{}: the card is gone: its folder no longer exists", .0.display())]
    Gone(PathBuf),
}

impl ObserveError {
    /// Whether the metrics may exist after the first request to the server.
    pub fn may_come_later(&self) -> bool {
        matches!(self, Self::NoKnownMetric(_) | Self::UnknownNames { .. })
    }
}

fn listed(numbers: &[u32]) -> String {
    match numbers {
        [] => "none".to_owned(),
        all => all.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Why `nvidia-smi` does not give the state of the cards.
#[derive(Debug, thiserror::Error)]
pub enum SmiError {
    /// The program or its thread cannot be started.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The program failed.
    #[error("{0}")]
    Failed(ExitStatus),
    /// The output is not UTF-8 text.
    #[error(transparent)]
    NoText(#[from] std::string::FromUtf8Error),
    /// The program still runs since an earlier call.
    #[error("the previous call has not ended")]
    StillRuns,
    /// The program hangs.
    #[error("no answer within {0} s")]
    Hangs(f64),
    /// A line has other columns.
    #[error("`{0}` does not have the requested columns")]
    Columns(String),
    /// The number of a card is not a number.
    #[error("`{0}` is not a number")]
    NoNumber(String),
}
