//! Figures that only one side of a comparison has, grouped so that a reader sees in one line what is
//! missing where. Never a verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Series, Subject};
use inferometer_model::cell::CellPlan;

/// The most cells that are named one by one; more are only counted.
const NAMED: usize = 4;

/// Figures of one load that only one of the two has, in the same cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The figures.
    pub figures: Vec<String>,
    /// The load of the pass, as text.
    pub load: String,
    /// The cells.
    pub cells: Vec<CellPlan>,
    /// The side that has them.
    pub only_in: String,
    /// The other side, if it has no such load in these cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_such_load_in: Option<String>,
}

/// The figures that only one side has, the baseline's first.
pub(super) fn unmatched(baseline: &Subject, contender: &Subject) -> Vec<Unmatched> {
    [alone(baseline, contender), alone(contender, baseline)].concat()
}

fn alone(subject: &Subject, other: &Subject) -> Vec<Unmatched> {
    let has = |one: &Series| other.series.iter().any(|series| series.is_same_figure(one));
    let has_load = |one: &Series| other.series.iter().any(|series| series.is_same_place(one));
    // Grouped by place first, since places that lack the same figures become one line.
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
