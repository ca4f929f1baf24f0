//! Why measurements cannot be predicted, or compared with a prediction.

use inferometer_analysis::table_import::NoNumber;
use inferometer_engine::EngineError;
use inferometer_formats::import::ImportError;
use inferometer_model::visible;
use inferometer_store::StoreError;

/// Runs with more requests than this are not predicted.
pub(crate) const MOST_REQUESTS: u64 = 100_000;

/// Why measurements cannot be predicted, or compared with a prediction. The text says it of a run or of a file, whose
/// name the caller adds.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Unpredictable {
    /// The run has no results yet.
    #[error("it has no results")]
    NoResults,
    /// The records of the run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine cannot be simulated.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The results of another tool cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file cannot be read.
    #[error("cannot be read: {0}")]
    File(#[from] std::io::Error),
    /// A cell of a table is not a number.
    #[error(transparent)]
    Table(#[from] NoNumber),
    /// The run measured the embedded engine with its time scaled.
    #[error(
        "the embedded engine ran {0} times as fast as the simulated hardware; measure it at --speed 1"
    )]
    OtherSpeed(f64),
    /// The run measured the embedded engine.
    #[error("it was measured on the embedded engine, which also makes the predictions")]
    OnEmbedded,
    /// The run has too many requests.
    #[error("it has more than {MOST_REQUESTS} requests, the maximum")]
    TooManyRequests,
    /// The run has only failed requests.
    #[error("no request of it completed")]
    NothingCompleted,
    /// No figure of the run is predicted.
    #[error("none of its passes has a metric that is predicted")]
    NoMetric,
    /// The lengths of the requests are unknown.
    #[error("the number of tokens of its requests is unknown")]
    TokensUnknown,
    /// The load of a pass is unknown.
    #[error(
        "its pass ({load}) has no records of requests, and its results do not state the whole load; {advice}"
    )]
    LoadUnknown { load: String, advice: String },
    /// A pass has jobs or conversations.
    #[error(
        "its requests wait for each other: conversations cannot be predicted, and jobs only from their trace \
            (`inferometer predict --workload agents`)"
    )]
    Conversations,
    /// A pass has a load that cannot be simulated.
    #[error("{0} cannot be predicted")]
    Load(String),
    /// The engine is unknown.
    #[error("its engine or the version of its engine is not known")]
    EngineUnknown,
    /// The card is none that this program knows.
    #[error(
        "this program does not know its card, {}; `inferometer list cards` lists the cards that it knows",
        visible::name(.0)
    )]
    OtherCard(String),
    /// The card is unknown.
    #[error("its card is not known")]
    CardUnknown,
    /// The number of cards is unknown.
    #[error("it is not known how many of the {0} cards the server uses")]
    CardsUnknown(usize),
    /// The model is unknown.
    #[error("its model is not known")]
    ModelUnknown,
    /// The weights cannot be simulated.
    #[error("its kind of weights, `{0}`, cannot be simulated")]
    Weights(String),
    /// The KV cache cannot be simulated.
    #[error("its type of KV cache, `{0}`, cannot be simulated")]
    KvCache(String),
    /// A setting of the engine cannot be simulated.
    #[error("its {flag}, `{text}`, cannot be simulated")]
    Setting { flag: String, text: String },
    /// No profile fits the engine and the card.
    #[error("there is no profile of {engine} on {card}")]
    NoProfile { engine: String, card: String },
    /// The lengths are numbers of characters.
    #[error(
        "its input lengths are in characters, and the numbers of tokens are unknown; import the log of these results, \
            and name the run of the log"
    )]
    Characters,
    /// Some rows have no load.
    #[error("some of its rows have no load")]
    RowsWithoutLoad,
    /// The passes are not those of published tables.
    #[error(
        "all cells must have saturated passes with the same number of requests, and no other pass except one by one"
    )]
    OtherPasses,
    /// The logs of a page count characters.
    #[error(
        "the input lengths are in characters, because the logs of this page state {log}; no log of this section states \
            tokens; name a section with a log as {path}#SECTION"
    )]
    PageOfCharacters { log: &'static str, path: String },
    /// No result of a file matches the section.
    #[error("no result matches #{section}; the results are: {}", known.join("; "))]
    NoResult { section: String, known: Vec<String> },
    /// The results of a file are of several models.
    #[error(
        "its results are of several models ({}); name the results of one model as {path}#SECTION: {}",
        models.join(", "),
        known.join("; ")
    )]
    SeveralModels { models: Vec<String>, path: String, known: Vec<String> },
    /// Not exactly one table of a page matches.
    #[error("{found} tables match {wanted}; name exactly one as {path}#SECTION: {}", sections.join("; "))]
    Tables { found: usize, wanted: String, path: String, sections: Vec<String> },
    /// Several logs of a page match.
    #[error("{} logs match; name exactly one as {path}#SECTION: {}", sections.len(), sections.join("; "))]
    Logs { path: String, sections: Vec<String> },
}
