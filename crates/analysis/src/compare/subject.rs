//! What is compared: figures over repeats, and the facts beside them. From the results of a run.

use std::collections::BTreeMap;

use crate::cell::Cell;
use crate::imported::Imported;
use crate::pass::PassSummary;
use crate::prediction::Columns;
use crate::summary::Summary;
use crate::verdict::Validity;
use inferometer_load::PassKind;
use inferometer_metrics::{Definition, Statistic, registry};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Code, Severity, code};
use inferometer_plan::Plan;

/// The load of the four columns of the published table, which come from two passes.
pub const TABLE_LOAD: &str = "table";

/// Names of facts that explain one another.
const WORKLOAD: &str = "workload";
const PLAN: &str = "plan";
const SALT: &str = "salt";
/// As many digits of a hash tell two apart for a reader.
const SHORT_HASH: usize = 12;
/// Findings that say that figures do not mean what they seem to, beside whatever they are held.
const OF_LENGTHS: [Code; 6] = [
    code::IMPORTED_OUTPUTS_SHORTER,
    code::IMPORTED_COLUMNS_INCONSISTENT,
    code::IMPORTED_LATENCIES_INCONSISTENT,
    code::IMPORTED_PHANTOM_TOKENS,
    code::OUTPUT_SHORTER_THAN_ASKED,
    code::OUTPUT_CAPPED,
];

/// The figures of each pass that are compared, with their names: of metrics with one value per request.
/// Throughput is that of the table's columns.
fn of_passes() -> impl Iterator<Item = (String, &'static Definition, Statistic)> {
    let compared = registry::in_tables().filter(|(metric, _)| metric.of_classes);
    compared.map(|(metric, of)| (format!("{}_{}", metric.name, of.name()), metric, of))
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// How people call it.
    pub name: String,
    /// Its figures.
    pub series: Vec<Series>,
    /// Facts that must be the same for the figures to mean the same.
    pub(super) conditions: BTreeMap<&'static str, String>,
    /// Facts that may be what is compared.
    pub(super) facts: BTreeMap<String, String>,
    /// Which run it is, where that is known: a run held against itself differs in nothing.
    pub(super) identity: Option<String>,
    /// What a reader must know before its figures are believed, whatever they are held against.
    pub(super) reservations: Vec<String>,
    /// What of its plan says which prompts are asked for, but for the salt and the seed; absent
    /// where the plan is not known.
    pub(super) kind_of_prompts: Option<String>,
}

/// One figure, one value for each repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The cell; absent for the geometric mean over all cells.
    pub cell: Option<CellPlan>,
    /// The load of the pass, in words.
    pub load: String,
    /// The figure.
    pub figure: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// The values, all above zero.
    pub values: Vec<f64>,
}

impl Series {
    /// Whether it is the same figure of the same cell under the same load.
    pub fn is_same_figure(&self, other: &Self) -> bool {
        (self.cell, &self.load, &self.figure) == (other.cell, &other.load, &other.figure)
    }

    /// A figure of nothing cannot be held against another: the ratio is no number.
    fn has_values(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| *value > 0.0)
    }
}

impl Subject {
    /// The results of a run.
    pub fn of_run(name: impl Into<String>, summary: &Summary) -> Self {
        let conditions = [
            // Where only lengths were made, as in a prediction, there is none.
            (WORKLOAD, summary.workload_hash.clone()),
            ("tokenizer", summary.environment.tokenizer.clone()),
            ("predicted", Some(summary.predicted.to_string())),
            ("metric definitions", Some(summary.schema.clone())),
            ("speed", summary.target.facts.get("speed").cloned()),
        ];
        let target = &summary.target;
        let mut facts: BTreeMap<String, String> = target.facts.clone();
        let others = [
            (PLAN, Some(summary.plan_hash.clone())),
            (SALT, summary.environment.salt.clone()),
            ("engine", target.engine.clone()),
            ("engine version", target.engine_version.clone()),
            ("model", Some(target.model.clone())),
            ("dialect", Some(target.dialect.clone())),
            ("profile", target.profile.clone()),
            ("host", summary.environment.host.clone()),
            ("kernel", summary.environment.kernel.clone()),
            ("program", Some(summary.tool.version.clone())),
        ];
        facts.extend(others.into_iter().filter_map(|(key, fact)| Some((key.to_owned(), fact?))));
        let mut subject = Self {
            name: name.into(),
            series: summary.cells.iter().flat_map(of_cell).collect(),
            conditions: conditions
                .into_iter()
                .filter_map(|(key, fact)| Some((key, fact?)))
                .collect(),
            facts,
            identity: identity(summary),
            reservations: reservations(summary),
            kind_of_prompts: None,
        };
        if let Some(imported) = &summary.imported {
            // What others sent, and how, is not known; of what this program made elsewhere it is.
            if !imported.is_ours() {
                subject.conditions.clear();
            }
            subject.facts.retain(|_, fact| !fact.is_empty() && fact != "unknown");
            subject.series.extend(of_stated(summary, imported));
        }
        subject
    }

    /// The same with the plan that it was measured by: prompts that differ by their salt alone are
    /// then told from another workload.
    #[must_use]
    pub fn planned_by(mut self, plan: &Plan) -> Self {
        let Plan {
            workload, cells, passes, sampling, tokenizer, token_ids, count_template, ..
        } = plan;
        let kind = (workload, cells, passes, sampling, tokenizer, token_ids, count_template);
        self.kind_of_prompts = serde_json::to_string(&kind).ok();
        self
    }

    /// Whether the prompts are others of the same kind: one plan with two salts asks for no prompt
    /// twice, and neither do two plans that differ elsewhere.
    fn has_the_same_kind_of_prompts(&self, other: &Self) -> bool {
        let differs = |key: &str| self.facts.get(key) != other.facts.get(key);
        let same_kind =
            self.kind_of_prompts.is_some() && self.kind_of_prompts == other.kind_of_prompts;
        differs(SALT) && (same_kind || !differs(PLAN))
    }

    /// What must be told of the differences to another, and the facts that differ.
    pub(super) fn differences(&self, other: &Self) -> (Vec<String>, Vec<[String; 3]>) {
        let told = |subject: &Self| -> Vec<String> {
            let reserved = subject.reservations.iter();
            reserved.map(|what| format!("{} {what}", subject.name)).collect()
        };
        if self.identity.is_some()
            && (&self.identity, &self.series) == (&other.identity, &other.series)
        {
            let same = "this is one run held against itself: whatever it says of differences, there \
                        are none";
            return ([vec![same.to_owned()], told(self)].concat(), Vec::new());
        }
        let mut warnings = [told(self), told(other)].concat();
        let by_salt = self.has_the_same_kind_of_prompts(other);
        for (key, ours) in self.conditions.iter().filter(|(key, _)| !(by_salt && **key == WORKLOAD))
        {
            if let Some(theirs) = other.conditions.get(key).filter(|theirs| *theirs != ours) {
                warnings.push(format!(
                    "{key} differs ({ours} against {theirs}): the two did not do the same work, or \
                     their figures do not mean the same"
                ));
            }
        }
        if self.conditions.is_empty() != other.conditions.is_empty() {
            warnings.push(
                "one of the two was published or measured by another program: what it did cannot \
                 be checked"
                    .to_owned(),
            );
        }
        let mut prompts = Vec::new();
        if let [Some(ours), Some(theirs)] = [self, other].map(|it| it.conditions.get(WORKLOAD))
            && by_salt
            && ours != theirs
        {
            let short = |hash: &str| hash.chars().take(SHORT_HASH).collect::<String>();
            let theirs = format!("{}: other prompts of the same kind (salt)", short(theirs));
            prompts.push([WORKLOAD.to_owned(), short(ours), theirs]);
        }
        let absent = "-".to_owned();
        let both = self
            .facts
            .keys()
            .chain(other.facts.keys().filter(|key| !self.facts.contains_key(*key)));
        let differing = both.filter_map(|key| {
            let (ours, theirs) = (self.facts.get(key), other.facts.get(key));
            let text = |fact: Option<&String>| fact.unwrap_or(&absent).clone();
            (ours != theirs && !self.facts.is_empty() && !other.facts.is_empty())
                .then(|| [key.clone(), text(ours), text(theirs)])
        });
        (warnings, prompts.into_iter().chain(differing).collect())
    }
}

/// Which run it is: its name, wherever it was imported; of others' results the part of the file.
fn identity(summary: &Summary) -> Option<String> {
    let part = |imported: &Imported| match imported.is_ours() {
        true => {
            imported.section.first().and_then(|run| run.strip_prefix("run ").map(str::to_owned))
        }
        false => Some(format!("{} {:?}", imported.sha256, imported.section)),
    };
    let run = || Some(summary.run_id.clone()).filter(|run| !run.is_empty());
    summary.imported.as_ref().map_or_else(run, part)
}

/// Whether a figure is one that a comparison can have.
pub(super) fn is_compared(figure: &str) -> bool {
    Columns::NAMES.contains(&figure) || of_passes().any(|(known, _, _)| known == figure)
}

/// Why the figures of a run are to be taken with care.
fn reservations(summary: &Summary) -> Vec<String> {
    let mut told = Vec::new();
    if summary.verdict.validity == Validity::Suspect {
        let first = summary.verdict.reasons.first().map_or("", String::as_str);
        told.push(format!("is suspect, the instrument does not vouch for its figures: {first}"));
    }
    if summary.predicted {
        told.push("is a prediction: nothing was measured".to_owned());
    } else if summary.target.simulated {
        told.push("was measured on a simulated engine: it says nothing of a real card".to_owned());
    }
    for code in OF_LENGTHS {
        let mut found = summary
            .findings
            .iter()
            .filter(|finding| finding.is(code) && finding.severity == Severity::Warning);
        let Some(first) = found.next() else { continue };
        let place = first.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
        let more = match found.count() {
            0 => String::new(),
            more => format!(" (the same is said of {more} more of its cells and passes)"),
        };
        told.push(format!("has a warning: {place}{}{more}", first.message));
    }
    told
}

/// The figures of a cell: the table's columns, and those of each pass.
fn of_cell(cell: &Cell) -> Vec<Series> {
    let place = CellPlan { input_length: cell.input_length, output_length: cell.output_length };
    let repeats = cell.passes.iter().map(|pass| pass.repeat).max().unwrap_or(1);
    let rows: Vec<Columns> = (1..=repeats)
        .map(|repeat| {
            let passes = cell.passes.iter().filter(|pass| pass.repeat == repeat).cloned();
            let alone = crate::cell::cell(cell.input_length, cell.output_length, passes.collect());
            alone.columns()
        })
        .collect();
    let table = if cell.passes.is_empty() { vec![cell.columns()] } else { rows };
    let mut series: Vec<Series> = columns(&table);
    let mut loads: Vec<(&str, PassKind)> = Vec::new();
    for pass in &cell.passes {
        if !loads.contains(&(pass.load.as_str(), pass.kind)) {
            loads.push((pass.load.as_str(), pass.kind));
        }
    }
    let several = loads.iter().filter(|(_, kind)| *kind != PassKind::OneByOne).count() > 1;
    for (load, kind) in loads {
        let passes = || cell.passes.iter().filter(|pass| pass.load == load);
        for (figure, metric, statistic) in of_passes() {
            let values = passes().filter_map(|pass| statistic.of(pass.latency(metric)?));
            series.push(of_pass(load, figure, false, values.collect()));
        }
        if several && kind != PassKind::OneByOne {
            let of: [fn(&PassSummary) -> Option<f64>; 2] =
                [|pass| pass.requests_per_s, |pass| pass.output_tokens_per_s];
            for (figure, of) in Columns::NAMES.iter().zip(of) {
                let values = passes().filter_map(of).collect();
                series.push(of_pass(load, (*figure).to_owned(), true, values));
            }
        }
    }
    series.retain(Series::has_values);
    series.iter_mut().for_each(|series| series.cell = Some(place));
    series
}

/// The figures of passes that a source states without the distributions behind them.
fn of_stated(summary: &Summary, imported: &Imported) -> Vec<Series> {
    let passes =
        summary.cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)));
    let mut series = Vec::new();
    for ((cell, pass), stated) in passes.zip(&imported.passes) {
        for (figure, metric, statistic) in of_passes() {
            let missing = pass.latency(metric).and_then(|of| statistic.of(of)).is_none();
            if let Some(value) = stated.agreeing.get(&figure).filter(|_| missing) {
                let of_pass = of_pass(&pass.load, figure, false, vec![*value]);
                series.push(Series { cell: Some(cell.plan()), ..of_pass });
            }
        }
    }
    series.retain(Series::has_values);
    series
}

fn of_pass(load: &str, figure: String, higher_is_better: bool, values: Vec<f64>) -> Series {
    Series { cell: None, load: load.to_owned(), figure, higher_is_better, values }
}

/// The columns of the table over repeats, of no cell yet.
fn columns(rows: &[Columns]) -> Vec<Series> {
    let series = Columns::NAMES.into_iter().enumerate().map(|(at, figure)| {
        let values = rows.iter().filter_map(|row| row.values()[at]).collect();
        of_pass(TABLE_LOAD, figure.to_owned(), at < 2, values)
    });
    series.filter(Series::has_values).collect()
}

/// The geometric means over all cells, repeat by repeat, of the figures that several cells have
/// with the same number of repeats.
pub(super) fn overall(pairs: &[(Series, Series)]) -> Vec<(Series, Series)> {
    let mut groups: Vec<Vec<&(Series, Series)>> = Vec::new();
    for pair in pairs {
        let key = |(a, b): &(Series, Series)| {
            (a.load.clone(), a.figure.clone(), a.values.len(), b.values.len())
        };
        match groups.iter_mut().find(|group| key(group[0]) == key(pair)) {
            Some(group) => group.push(pair),
            None => groups.push(vec![pair]),
        }
    }
    let groups = groups.into_iter().filter(|group| group.len() > 1);
    groups
        .map(|group| {
            let over = |side: fn(&(Series, Series)) -> &Series| {
                let first = side(group[0]);
                let at = |repeat: usize| {
                    let logs = group.iter().map(|pair| side(pair).values[repeat].ln());
                    (logs.sum::<f64>() / group.len() as f64).exp()
                };
                let values = (0..first.values.len()).map(at).collect();
                Series { cell: None, values, ..first.clone() }
            };
            (over(|pair| &pair.0), over(|pair| &pair.1))
        })
        .collect()
}
