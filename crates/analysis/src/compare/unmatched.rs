//! Lists figures that only one side of a comparison has. One line states the missing figures of a load, and the cells
//! in which they are missing. The list gives no verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Series, Subject};
use inferometer_model::CellPlan;

/// With more cells than this, a text states only their number.
const NAMED: usize = 4;

/// Figures of one load that only one of the two runs has, in the same cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The names of the figures.
    pub figures: Vec<String>,
    /// The load of the pass, as text.
    pub load: String,
    /// The cells in which the figures are missing.
    pub cells: Vec<CellPlan>,
    /// The name of the run that has the figures.
    pub only_in: String,
    /// The name of the other run, if it lacks the whole load in these cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_such_load_in: Option<String>,
}

/// The figures that only one run has, those of the baseline first.
pub(super) fn unmatched(baseline: &Subject, contender: &Subject) -> Vec<Unmatched> {
    [alone(baseline, contender), alone(contender, baseline)].concat()
}

/// The answers that only one run has, those of the baseline first.
pub(super) fn answers(baseline: &Subject, contender: &Subject) -> Vec<Unmatched> {
    let only = |subject: &Subject, other: &Subject| -> Vec<Unmatched> {
        let missing = subject.answers.iter().filter(|answer| !answer.is_among(&other.answers));
        let named = missing.map(|answer| Unmatched {
            figures: vec![answer.figure.name().to_owned()],
            load: match &answer.answered.objectives {
                Some(objectives) => format!("with {objectives}, over {}", answer.answered.over),
                None => format!("by {}", answer.answered.over),
            },
            cells: vec![answer.answered.cell],
            only_in: subject.name.clone(),
            no_such_load_in: None,
        });
        named.collect()
    };
    [only(baseline, contender), only(contender, baseline)].concat()
}

fn alone(subject: &Subject, other: &Subject) -> Vec<Unmatched> {
    let has = |one: &Series| other.series.iter().any(|series| series.is_same_figure(one));
    let has_load = |one: &Series| other.series.iter().any(|series| series.is_same_place(one));
    // The figures are first grouped by cell and load. Then cells that lack the same figures are joined.
    let mut places: Vec<(&Series, Vec<String>)> = Vec::new();
    for series in subject.series.iter().filter(|series| !has(series)) {
        let is_here = |(known, _): &&mut (&Series, Vec<String>)| {
            (known.cell, &known.load) == (series.cell, &series.load)
        };
        match places.iter_mut().find(is_here) {
            Some((_, figures)) => figures.push(series.figure.clone()),
            None => places.push((series, vec![series.figure.clone()])),
        }
    }
    let mut groups: Vec<Unmatched> = Vec::new();
    for (place, figures) in places {
        let no_such_load_in = (!has_load(place)).then(|| other.name.clone());
        let like = |group: &&mut Unmatched| {
            (&group.load, &group.figures, &group.no_such_load_in)
                == (&place.load, &figures, &no_such_load_in)
        };
        match groups.iter_mut().find(like) {
            Some(group) => group.cells.extend(place.cell),
            None => groups.push(Unmatched {
                figures,
                load: place.load.clone(),
                cells: place.cell.into_iter().collect(),
                only_in: subject.name.clone(),
                no_such_load_in,
            }),
        }
    }
    groups
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figures, load, cells, only_in, no_such_load_in } = self;
        let cells = match cells.len() {
            0 => "all cells".to_owned(),
            1..=NAMED => cells.iter().map(CellPlan::to_string).collect::<Vec<_>>().join(", "),
            many => format!("{many} cells"),
        };
        write!(f, "{cells}, {load}: only {only_in} has {}", figures.join(", "))?;
        no_such_load_in.iter().try_for_each(|other| write!(f, " (no such load in {other})"))
    }
}
