//! The rows of lists of runs, and the filter for them. Other modules make the tables.

use inferometer_model::calendar::beginning;
use inferometer_store::{RunFilter, RunKind, RunRow, RunState, Store, StoreError};

use minijinja::{Value, context};
use serde::Serialize;

use crate::PageError;
use inferometer_net::http::pages::RequestTarget;

/// A run in a list, with the texts that are shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunLine {
    pub(crate) id: String,
    pub(crate) started: String,
    pub(crate) model: String,
    pub(crate) engine: String,
    pub(crate) card: String,
    pub(crate) kind: &'static str,
    /// Whether this is a measured run of the embedded engine.
    pub(crate) simulated: bool,
    pub(crate) state: &'static str,
    /// How many cells were not measured, as text; absent if all cells were measured.
    pub(crate) missing: Option<String>,
    /// How many requests failed, as text; absent if none did.
    pub(crate) failures: Option<String>,
    /// The verdict of the run (`valid`, `suspect`); absent without results, and for predictions.
    pub(crate) validity: Option<String>,
    pub(crate) cells: u32,
    /// The ranges of input and output lengths; empty if the run has no cells.
    pub(crate) lengths: String,
    /// The output tokens per second of the fastest cell; absent if they are unknown.
    pub(crate) output_tokens_per_s: Option<f64>,
    /// The same as text; empty if they are unknown.
    pub(crate) speed: String,
    pub(crate) tags: Vec<String>,
    pub(crate) has_results: bool,
}

impl RunLine {
    pub(crate) fn of(row: RunRow) -> Self {
        let version = row.engine_version.as_deref().unwrap_or_default();
        let engine = format!("{} {version}", row.engine_name()).trim_end().to_owned();
        let failures = row.failures();
        let speed = row.grid.and_then(|grid| grid.output_tokens_per_s);
        Self {
            id: row.id.to_string(),
            started: row.started_at.get(..19).unwrap_or(&row.started_at).replace('T', " "),
            model: row.model,
            engine,
            card: row.card.unwrap_or_default(),
            kind: row.kind.name(),
            simulated: row.simulated && row.kind == RunKind::Measured,
            state: row.state.name(),
            has_results: row.validity.is_some(),
            failures,
            missing: row.missing,
            // A prediction involves no client, so it has no verdict.
            validity: row.validity.filter(|_| row.kind != RunKind::Predicted),
            cells: row.cells,
            lengths: row.grid.map(|grid| grid.to_string()).unwrap_or_default(),
            output_tokens_per_s: speed,
            speed: speed.map(|most| format!("{most:.2}")).unwrap_or_default(),
            tags: row.tags,
        }
    }

    /// Whether the run may still be in progress.
    pub(crate) fn is_running(&self) -> bool {
        self.state == RunState::Running.name()
    }
}

/// All runs of the store, the oldest first.
pub(crate) fn lines(store: &Store) -> Result<Vec<RunLine>, StoreError> {
    Ok(store.runs()?.into_iter().map(RunLine::of).collect())
}

/// The filter of a list of runs. It converts the query of a request to a filter of the store, and this filter
/// to a form.
pub(crate) struct Filter {
    of_store: RunFilter,
    /// Whether only measured runs of the embedded engine are shown.
    simulated: bool,
}

/// The kind `simulated` of the form: measured runs of the embedded engine. The store does not have this
/// kind.
const SIMULATED: &str = "simulated";

/// A text field of the form: its name, its label, and the values of a run that the field suggests.
type Field = (&'static str, &'static str, fn(&RunLine) -> Vec<&str>);

const FIELDS: [Field; 4] = [
    ("model", "Model", |line| vec![&line.model]),
    ("engine", "Engine", |line| vec![&line.engine]),
    ("card", "Card", |line| vec![&line.card]),
    ("tag", "Tag", |line| line.tags.iter().map(String::as_str).collect()),
];

impl Filter {
    /// The filter that the query of a request describes.
    ///
    /// # Errors
    /// If a day is not in the calendar, a kind or a state is unknown, or the first day is after the last.
    pub(crate) fn of(target: &RequestTarget) -> Result<Self, PageError> {
        let text = |name: &str| target.value(name).map(str::to_owned);
        let simulated = target.value("kind") == Some(SIMULATED);
        let kind = match simulated {
            true => Some(RunKind::Measured),
            false => one_of(target, "kind", &RunKind::ALL, RunKind::name, &[SIMULATED])?,
        };
        let words = target.value("q").unwrap_or_default().split_whitespace();
        let filter = RunFilter {
            model: text("model"),
            engine: text("engine"),
            card: text("card"),
            tags: target.values(&["tag"]).into_iter().map(str::to_owned).collect(),
            since: day(target, "from")?,
            until: day(target, "to")?,
            state: one_of(target, "state", &RunState::ALL, RunState::name, &[])?,
            kind,
            words: words.map(str::to_owned).collect(),
            limit: None,
        };
        match filter.contradiction() {
            Some((from, to)) => {
                Err(PageError::BadQuery(format!("from={from} is after to={to}: no run can match")))
            }
            None => Ok(Self { of_store: filter, simulated }),
        }
    }

    /// Whether a run matches the filter. Days are in UTC, and the first and the last day are included.
    pub(crate) fn fits(&self, row: &RunRow) -> bool {
        self.of_store.fits(row) && (!self.simulated || row.simulated)
    }

    /// The form of the filter, for a template. A text field suggests values; a user may also enter a part of one.
    pub(crate) fn form(&self, all: &[RunLine]) -> Value {
        let filter = &self.of_store;
        let mut fields = Vec::new();
        for (name, label, of) in FIELDS {
            let chosen: Vec<&str> = match name {
                "model" => filter.model.as_deref().into_iter().collect(),
                "engine" => filter.engine.as_deref().into_iter().collect(),
                "card" => filter.card.as_deref().into_iter().collect(),
                _ => filter.tags.iter().map(String::as_str).collect(),
            };
            let mut values: Vec<&str> = all.iter().flat_map(of).collect();
            values.retain(|value| !value.is_empty());
            values.sort_unstable();
            values.dedup();
            let any = (chosen.is_empty() && values.len() > 1).then_some("");
            let shown = chosen.into_iter().chain(any);
            fields.extend(shown.map(|value| (name, label, value, values.clone())));
        }
        let kind = filter.kind.map(|kind| if self.simulated { SIMULATED } else { kind.name() });
        let kinds = [&RunKind::ALL.map(RunKind::name)[..], &[SIMULATED]].concat();
        let states = RunState::ALL.map(RunState::name).to_vec();
        let choices = [
            ("kind", "Kind", kinds, kind),
            ("state", "State", states, filter.state.map(RunState::name)),
        ];
        let days = [("from", "From day", &filter.since), ("to", "To day", &filter.until)];
        context! { words => filter.words.join(" "), fields, choices, days }
    }
}

/// Parses the day (and possibly the time) of a query parameter; `None` if the parameter is absent. The
/// alphabetical order of the returned texts is their order in time.
fn day(target: &RequestTarget, name: &str) -> Result<Option<String>, PageError> {
    let Some(text) = target.value(name) else { return Ok(None) };
    match beginning(text) {
        Some(day) => Ok(Some(day)),
        None => {
            Err(PageError::BadQuery(format!("{name}={text}: is not a date such as 2026-11-20")))
        }
    }
}

/// Returns the value of `all` that the query parameter `name` names; `None` if the parameter is absent. For
/// an unknown name, the error lists all valid names. The list includes the names in `beside`, which the
/// caller handles itself.
fn one_of<T: Copy>(
    target: &RequestTarget,
    name: &str,
    all: &[T],
    of: fn(T) -> &'static str,
    beside: &[&'static str],
) -> Result<Option<T>, PageError> {
    let Some(text) = target.value(name) else { return Ok(None) };
    let found = all.iter().copied().find(|one| of(*one) == text);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> =
            all.iter().map(|one| of(*one)).chain(beside.iter().copied()).collect();
        PageError::BadQuery(format!("{name}={text}: is not one of {}", names.join(", ")))
    })
}
