//! How the passes of a plan are chosen and repeated.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ab::AbPlan, search::SearchPlan, sweep::SweepPlan};

/// How the passes of a plan are chosen and repeated. In the JSON of a plan, the options of a procedure stand under its
/// name (`search`, `sweep`, `ab`); without any of these keys, the passes of the plan are measured as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Options", into = "Options")]
pub enum Procedure {
    /// The passes of each cell, each as often as [`crate::Repeat`] states.
    #[default]
    Passes,
    /// The search for the highest load that meets the objectives. The plan has one pass, and each trial runs this pass
    /// with its own load and number of requests.
    Search(SearchPlan),
    /// The sweep of the load up to saturation. Like a search, a sweep has one pass.
    Sweep(SweepPlan),
    /// The comparison with another server in alternating blocks. Each block runs the only pass of the plan, and counts
    /// as one of its repeats.
    Ab(AbPlan),
}

impl Procedure {
    /// The options of the search, if this is one.
    pub fn search(&self) -> Option<&SearchPlan> {
        if let Self::Search(search) = self { Some(search) } else { None }
    }

    /// The options of the sweep, if this is one.
    pub fn sweep(&self) -> Option<&SweepPlan> {
        if let Self::Sweep(sweep) = self { Some(sweep) } else { None }
    }

    /// The options of the comparison, if this is one.
    pub fn ab(&self) -> Option<&AbPlan> {
        if let Self::Ab(ab) = self { Some(ab) } else { None }
    }

    /// Whether the passes are trials of a search or a sweep. The load of each trial depends on earlier trials.
    pub fn chooses_loads(&self) -> bool {
        match self {
            Self::Search(_) | Self::Sweep(_) => true,
            Self::Passes | Self::Ab(_) => false,
        }
    }

    /// The maximum time of a search or a sweep in each cell; `None` if there is no such limit.
    pub fn max_time(&self) -> Option<Duration> {
        match self {
            Self::Search(search) => search.max_time,
            Self::Sweep(sweep) => sweep.max_time,
            Self::Passes | Self::Ab(_) => None,
        }
    }

    /// The maximum number of trials of a cell in a search or a sweep.
    pub fn most_trials(&self) -> Option<u32> {
        match self {
            Self::Search(search) => Some(search.max_trials),
            Self::Sweep(sweep) => Some(sweep.max_trials),
            Self::Passes | Self::Ab(_) => None,
        }
    }
}

/// The keys of a procedure in the JSON of a plan; at most one is present.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<SearchPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<SweepPlan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ab: Option<AbPlan>,
}

impl From<Procedure> for Options {
    fn from(procedure: Procedure) -> Self {
        match procedure {
            Procedure::Passes => Self::default(),
            Procedure::Search(search) => Self { search: Some(search), ..Self::default() },
            Procedure::Sweep(sweep) => Self { sweep: Some(sweep), ..Self::default() },
            Procedure::Ab(ab) => Self { ab: Some(ab), ..Self::default() },
        }
    }
}

impl TryFrom<Options> for Procedure {
    type Error = &'static str;

    fn try_from(options: Options) -> Result<Self, Self::Error> {
        match options {
            Options { search: None, sweep: None, ab: None } => Ok(Self::Passes),
            Options { search: Some(search), sweep: None, ab: None } => Ok(Self::Search(search)),
            Options { search: None, sweep: Some(sweep), ab: None } => Ok(Self::Sweep(sweep)),
            Options { search: None, sweep: None, ab: Some(ab) } => Ok(Self::Ab(ab)),
            _ => Err("a plan has at most one of `search`, `sweep` and `ab`"),
        }
    }
}
