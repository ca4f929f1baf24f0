//! What the database says of a run. Values only.

use std::path::PathBuf;

use inferometer_analysis::summary::Summary;
use inferometer_model::target::{Environment, Target};
use inferometer_plan::Plan;

use super::run_id::RunId;

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeader {
    /// The wall time at which it began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// Random: keeps runs of one second apart.
    pub suffix: u16,
    /// The wall time at the origin of its axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// What it measures. A plan holds no key and no header value.
    pub plan: Plan,
    /// SHA-256 over the canonical requests, where it is known before the run.
    pub workload_hash: Option<String>,
    /// SHA-256 over their bytes, where it is known before the run.
    pub body_hash: Option<String>,
    /// What is measured, as far as it is known.
    pub target: Target,
    /// Where.
    pub environment: Environment,
    /// True when no server is measured.
    pub predicted: bool,
    /// Version of the program.
    pub tool_version: String,
}

/// What is known of an import when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportHeader {
    /// The wall time at which it is imported, in nanoseconds since the Unix epoch; also the origin
    /// of its axis.
    pub imported_unix_ns: i64,
    /// Random: keeps imports of one second apart.
    pub suffix: u16,
    /// What was measured, as far as the source says so.
    pub target: Target,
    /// Version of the program that imports.
    pub tool_version: String,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It goes on.
    Running,
    /// The process that carried it out is gone, and did not say how it ended; what was recorded is
    /// kept. Seen by the lock on the log, never stored: the database has such a run as running.
    Killed,
    /// The plan was carried out.
    Complete,
    /// It was stopped; what was recorded is kept.
    Interrupted,
    /// It could not be carried out; what was recorded is kept.
    Failed,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Killed, Self::Complete, Self::Interrupted, Self::Failed];

    /// The name in the database and in lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Where the figures of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// A server was measured by this program; it may have been the embedded engine.
    Measured,
    /// No server was measured: a model says so.
    Predicted,
    /// Another program measured it, or a published table says so.
    Imported,
}

impl RunKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Measured, Self::Predicted, Self::Imported];

    /// The name in the database and in lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Predicted => "predicted",
            Self::Imported => "imported",
        }
    }
}

/// Which runs are listed: those that fit all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The model's name contains this, in whatever case.
    pub model: Option<String>,
    /// Engine and version, such as `vllm 0.2.7`, contain this, in whatever case.
    pub engine: Option<String>,
    /// The card's name contains this, in whatever case.
    pub card: Option<String>,
    /// It has all of these.
    pub tags: Vec<String>,
    /// It began then or later: RFC 3339 in UTC, or the beginning of it, such as a date.
    pub since: Option<String>,
    /// It began then or earlier; with a date, on that day or earlier.
    pub until: Option<String>,
    /// How far it is.
    pub state: Option<RunState>,
    /// Where its figures come from.
    pub kind: Option<RunKind>,
    /// Each of these stands in its name, model, engine, card or tags, in whatever case.
    pub words: Vec<String>,
    /// Not more than this, the last ones.
    pub limit: Option<usize>,
}

impl RunFilter {
    /// Its two ends, where no instant lies between them: `since` is after `until`.
    #[must_use]
    pub fn never(&self) -> Option<(&str, &str)> {
        let (since, until) = (self.since.as_deref()?, self.until.as_deref()?);
        // What is not said of an end is open.
        let said = since.len().min(until.len());
        (since.get(..said) > until.get(..said)).then_some((since, until))
    }

    /// Whether a run fits all that is given. A limit is not of one run.
    #[must_use]
    pub fn fits(&self, run: &RunRow) -> bool {
        let lower = |text: &str| text.to_lowercase();
        let holds = |wanted: &Option<String>, text: Option<&str>| {
            let wanted = wanted.as_deref().map(lower);
            wanted.is_none_or(|wanted| text.is_some_and(|text| lower(text).contains(&wanted)))
        };
        let version = run.engine_version.as_deref().unwrap_or_default();
        let engine = run.engine.as_ref().map(|engine| format!("{engine} {version}"));
        let began = run.started_at.as_str();
        holds(&self.model, Some(&run.model))
            && holds(&self.engine, engine.as_deref())
            && holds(&self.card, run.card.as_deref())
            && self.kind.is_none_or(|kind| kind == run.kind)
            && self.state.is_none_or(|state| state == run.state)
            && self.since.as_deref().is_none_or(|since| began >= since)
            && self
                .until
                .as_deref()
                .is_none_or(|until| began.get(..until.len()).unwrap_or(began) <= until)
            && self.tags.iter().all(|tag| run.tags.contains(tag))
            && self.has_words(run)
    }

    /// Whether all words stand in what is listed of a run.
    fn has_words(&self, run: &RunRow) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let known = [&run.engine, &run.engine_version, &run.card].into_iter().flatten().cloned();
        let own = [run.id.to_string(), run.model.clone()].into_iter();
        let text: Vec<String> = own.chain(known).chain(run.tags.iter().cloned()).collect();
        let text = text.join(" ").to_lowercase();
        self.words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its identity.
    pub id: RunId,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How far it is.
    pub state: RunState,
    /// Where its figures come from.
    pub kind: RunKind,
    /// Engine, such as `vllm`.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// The model.
    pub model: String,
    /// The card, where the server or the user named it.
    pub card: Option<String>,
    /// True for the embedded engine.
    pub simulated: bool,
    /// True when no server was measured.
    pub predicted: bool,
    /// The file that it was imported from; absent for what this program did.
    pub imported_from: Option<String>,
    /// The part of that file: the headings above it, or its name there.
    pub imported_section: Vec<String>,
    /// `valid` or `suspect`; absent until the run has ended.
    pub validity: Option<String>,
    /// Cells of the grid with results.
    pub cells: u32,
    /// What the cells are of, and the best of them; absent without cells.
    pub grid: Option<GridRow>,
    /// What of the plan was not measured, in words; absent where all was.
    pub missing: Option<String>,
    /// What people call it, sorted.
    pub tags: Vec<String>,
}

/// The cells of a run on one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridRow {
    /// The shortest and the longest input, in tokens.
    pub input_lengths: [u32; 2],
    /// The shortest and the longest output, in tokens.
    pub output_lengths: [u32; 2],
    /// The most requests per second of a cell.
    pub requests_per_s: Option<f64>,
    /// The most output tokens per second of a cell, which need not be the same one.
    pub output_tokens_per_s: Option<f64>,
}

/// The lengths, such as `128..512 x 32`; cells of requests that each have their own have length 0.
impl std::fmt::Display for GridRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = |[from, to]: [u32; 2]| match (from, to) {
            (0, 0) => "varied".to_owned(),
            _ if from == to => from.to_string(),
            _ => format!("{from}..{to}"),
        };
        write!(f, "{} x {}", span(self.input_lengths), span(self.output_lengths))
    }
}

/// A run with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// The line of the list.
    pub row: RunRow,
    /// The wall time at which it began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The wall time at which it ended; absent for one that did not say so.
    pub finished_unix_ns: Option<i64>,
    /// The wall time at the origin of its axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// Version of the program that made it.
    pub tool_version: String,
    /// The plan's identity.
    pub plan_hash: String,
    /// The resolved plan as JSON, as it was stored. A program of another version may not know
    /// all of it.
    pub plan_json: String,
    /// The server under test as it was known at the last write.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
    /// The results; absent until the run has ended.
    pub summary: Option<Summary>,
    /// The run's log.
    pub log: PathBuf,
}
