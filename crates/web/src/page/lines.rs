//! The rows of lists of runs, and the filter for them. Other modules make the tables.

use inferometer_model::calendar::beginning;
use inferometer_store::{RunFilter, RunKind, RunRow, RunState, Store, StoreError};

use crate::{Html, PageError};
use inferometer_net::http::pages::RequestTarget;

/// A run in a list, with the texts that are shown.
#[derive(Clone, Debug, PartialEq)]
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
    pub(crate) tags: Vec<String>,
    pub(crate) has_results: bool,
}

impl RunLine {
    pub(crate) fn of(row: RunRow) -> Self {
        let version = row.engine_version.as_deref().unwrap_or_default();
        let engine = format!("{} {version}", row.engine_name()).trim_end().to_owned();
        let failures = row.failures();
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
            output_tokens_per_s: row.grid.and_then(|grid| grid.output_tokens_per_s),
            tags: row.tags,
        }
    }

    /// The output tokens per second of the fastest cell as text; empty if they are unknown.
    pub(crate) fn speed(&self) -> String {
        self.output_tokens_per_s.map(|most| format!("{most:.2}")).unwrap_or_default()
    }

    /// Whether the run was imported.
    pub(crate) fn is_imported(&self) -> bool {
        self.kind == RunKind::Imported.name()
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

    /// The form with the current values of this filter. Text fields suggest the values that occur in
    /// `all`.
    pub(crate) fn form(&self, all: &[RunLine]) -> Html {
        let filter = &self.of_store;
        let mut out = Html::new();
        out.raw("<form class=\"filters\" method=\"get\" role=\"search\" aria-label=\"Runs\">\n");
        input(&mut out, "q", "Search", "search", &filter.words.join(" "));
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
            // The filter may have several tags. Each of them gets its own field.
            for value in &chosen {
                offered(&mut out, name, label, value, &values);
            }
            if chosen.is_empty() && values.len() > 1 {
                offered(&mut out, name, label, "", &values);
            }
        }
        let kind = filter.kind.map(RunKind::name).map(|kind| match self.simulated {
            true => SIMULATED,
            false => kind,
        });
        let kinds = [&RunKind::ALL.map(RunKind::name)[..], &[SIMULATED]].concat();
        select(&mut out, "kind", "Kind", &kinds, kind);
        let state = filter.state.map(RunState::name);
        select(&mut out, "state", "State", &RunState::ALL.map(RunState::name), state);
        input(&mut out, "from", "From day", "date", filter.since.as_deref().unwrap_or_default());
        input(&mut out, "to", "To day", "date", filter.until.as_deref().unwrap_or_default());
        out.raw("<span><button>Filter</button> <a href=\"?\">Clear</a></span>\n</form>\n");
        out
    }
}

/// Appends a text field that suggests values. A user may also enter a part of a value.
fn offered(out: &mut Html, name: &'static str, label: &str, value: &str, values: &[&str]) {
    let list = format!("{name}-values");
    out.raw("<label>").text(label).raw(" <input type=\"search\"").attribute("name", name);
    out.attribute("value", value).attribute("list", &list).raw("></label>\n<datalist");
    out.attribute("id", &list).raw(">");
    for value in values {
        out.raw("<option").attribute("value", value).raw("></option>");
    }
    out.raw("</datalist>\n");
}

fn input(out: &mut Html, name: &'static str, label: &str, kind: &str, value: &str) {
    out.raw("<label>").text(label).raw(" <input").attribute("type", kind);
    out.attribute("name", name).attribute("value", value).raw("></label>\n");
}

fn select(out: &mut Html, name: &str, label: &str, values: &[&str], chosen: Option<&str>) {
    out.raw("<label>").text(label).raw(" <select").attribute("name", name);
    out.raw("><option value=\"\">any</option>");
    for value in values {
        out.raw("<option").attribute("value", value);
        if chosen == Some(value) {
            out.raw(" selected");
        }
        out.raw(">").text(value).raw("</option>");
    }
    out.raw("</select></label>\n");
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
