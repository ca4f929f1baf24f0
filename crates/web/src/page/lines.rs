//! The lines of lists of runs, and which of them a reader asked for. It draws no table.

use inferometer_store::{RunRow, RunState, Store, StoreError};

use crate::answer::Trouble;
use crate::asked::Asked;
use crate::markup::Html;

/// A run in a list, in the words that are shown and filtered by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) started: String,
    pub(crate) model: String,
    pub(crate) engine: String,
    pub(crate) card: String,
    pub(crate) kind: &'static str,
    pub(crate) state: &'static str,
    pub(crate) validity: Option<String>,
    pub(crate) cells: u32,
    /// Shortest to longest input x output.
    pub(crate) lengths: String,
    /// Of the cell with the most.
    pub(crate) output_tokens_per_s: Option<f64>,
    pub(crate) tags: Vec<String>,
    pub(crate) has_results: bool,
}

impl Line {
    pub(crate) fn of(row: RunRow) -> Self {
        let engine = row.engine.as_deref().unwrap_or("unknown engine");
        let version = row.engine_version.as_deref().unwrap_or_default();
        Self {
            id: row.id.to_string(),
            started: row.started_at.get(..19).unwrap_or(&row.started_at).replace('T', " "),
            model: row.model,
            engine: format!("{engine} {version}").trim_end().to_owned(),
            card: row.card.unwrap_or_default(),
            kind: match (row.imported_from.is_some(), row.predicted, row.simulated) {
                (true, ..) => "imported",
                (false, true, _) => "predicted",
                (false, false, true) => "simulated",
                (false, false, false) => "measured",
            },
            state: row.state.name(),
            has_results: row.validity.is_some(),
            validity: row.validity,
            cells: row.cells,
            lengths: row.grid.map(|grid| grid.to_string()).unwrap_or_default(),
            output_tokens_per_s: row.grid.and_then(|grid| grid.output_tokens_per_s),
            tags: row.tags,
        }
    }

    /// The most output tokens per second of its cells, as people read it.
    pub(crate) fn speed(&self) -> String {
        self.output_tokens_per_s.map(|most| format!("{most:.2}")).unwrap_or_default()
    }

    /// Whether it may still go on.
    pub(crate) fn is_running(&self) -> bool {
        self.state == RunState::Running.name()
    }
}

/// All runs of the store, the oldest first.
pub(crate) fn lines(store: &Store) -> Result<Vec<Line>, StoreError> {
    Ok(store.runs()?.into_iter().map(Line::of).collect())
}

/// What a reader wants to see.
pub(crate) struct Filter {
    words: Vec<String>,
    exact: Vec<(Field, String)>,
    from: Option<String>,
    to: Option<String>,
}

/// A field with a list of values to choose from.
type Field = (&'static str, &'static str, fn(&Line) -> Vec<&str>);

const FIELDS: [Field; 6] = [
    ("model", "Model", |line| vec![&line.model]),
    ("engine", "Engine", |line| vec![&line.engine]),
    ("card", "Card", |line| vec![&line.card]),
    ("kind", "Kind", |line| vec![line.kind]),
    ("state", "State", |line| vec![line.state]),
    ("tag", "Tag", |line| line.tags.iter().map(String::as_str).collect()),
];

impl Filter {
    /// What the query says.
    ///
    /// # Errors
    /// When a day is none.
    pub(crate) fn of(asked: &Asked) -> Result<Self, Trouble> {
        let exact = FIELDS.into_iter();
        let exact = exact.filter_map(|field| Some((field, asked.value(field.0)?.to_owned())));
        let words = asked.value("q").unwrap_or_default().split_whitespace();
        Ok(Self {
            exact: exact.collect(),
            words: words.map(str::to_lowercase).collect(),
            from: day(asked, "from")?,
            to: day(asked, "to")?,
        })
    }

    /// Whether a run is one of them. Days are those of UTC, both ends belong to them.
    pub(crate) fn fits(&self, line: &Line) -> bool {
        let is = |(field, value): &(Field, String)| (field.2)(line).contains(&value.as_str());
        let day = line.started.get(..10).unwrap_or_default();
        let text = || {
            let shown = [&line.id, &line.model, &line.engine, &line.card];
            let tags = line.tags.join(" ");
            shown.map(String::as_str).join(" ").to_lowercase() + " " + &tags.to_lowercase()
        };
        self.exact.iter().all(is)
            && self.from.as_deref().is_none_or(|from| day >= from)
            && self.to.as_deref().is_none_or(|to| day <= to)
            && (self.words.is_empty() || {
                let text = text();
                self.words.iter().all(|word| text.contains(word))
            })
    }

    /// The form that asks for it, with the values that occur.
    pub(crate) fn form(&self, all: &[Line]) -> Html {
        let mut out = Html::new();
        out.raw("<form class=\"filters\" method=\"get\" role=\"search\" aria-label=\"Runs\">\n");
        input(&mut out, "q", "Search", "search", &self.words.join(" "));
        for field in FIELDS {
            let (name, label, of) = field;
            let mut values: Vec<&str> = all.iter().flat_map(of).collect();
            values.retain(|value| !value.is_empty());
            values.sort_unstable();
            values.dedup();
            let chosen = self.exact.iter().find(|(other, _)| other.0 == name);
            let chosen = chosen.map(|(_, value)| value.as_str());
            // A value that no run has any more can still be seen and taken away.
            values.extend(chosen.filter(|chosen| !values.contains(chosen)));
            if values.len() > 1 || chosen.is_some() {
                select(&mut out, name, label, &values, chosen);
            }
        }
        input(&mut out, "from", "From day", "date", self.from.as_deref().unwrap_or_default());
        input(&mut out, "to", "To day", "date", self.to.as_deref().unwrap_or_default());
        out.raw("<span><button>Filter</button> <a href=\"?\">Clear</a></span>\n</form>\n");
        out
    }
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

/// A day of the calendar as a text that compares as days do.
fn day(asked: &Asked, name: &str) -> Result<Option<String>, Trouble> {
    let Some(text) = asked.value(name) else { return Ok(None) };
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    match shape == "0000-00-00" {
        true => Ok(Some(text.to_owned())),
        false => Err(Trouble::Asked(format!("{name}={text}: is no day such as 2026-11-20"))),
    }
}
