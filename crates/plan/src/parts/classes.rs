//! Classes of traffic, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use inferometer_model::load::{ClassArrivals, LoadPlan, MixedPlan};
use inferometer_model::metrics::request_objective::RequestObjective;
use inferometer_model::{Bound, OverLimit};

use crate::Lengths;

/// A class of traffic: requests with arrivals, lengths, additional fields and objectives of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassPlan {
    /// When its requests are due.
    pub arrivals: ClassArrivals,
    /// Prompt tokens.
    pub input: Lengths,
    /// Output tokens.
    pub output: Lengths,
    /// Fields of its requests, such as a priority; sent as they stand.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Json>,
    /// Objectives on its requests, instead of those of the plan; empty if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goodput: Vec<RequestObjective>,
    /// Whether a pass measures the class alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// All classes of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassesPlan(pub Vec<ClassPlan>);

impl ClassesPlan {
    /// The loads: all classes together, then each that is also measured alone. A class alone has its share of the number
    /// of requests, so that its pass takes as long.
    pub fn loads(&self, bound: Bound, limit: (Option<u32>, OverLimit)) -> Vec<MixedPlan> {
        let Self(classes) = self;
        let (max_in_flight, over_limit) = limit;
        let mixed = |classes: Vec<ClassArrivals>, bound| MixedPlan {
            classes,
            bound,
            max_in_flight,
            over_limit,
        };
        let all = mixed(classes.iter().map(|class| class.arrivals.clone()).collect(), bound);
        let end_s = all.last_due_s(0.0);
        let alone = classes.iter().filter(|class| class.alone && classes.len() > 1).map(|class| {
            let arrivals = class.arrivals.clone();
            let count = |_| arrivals.rate.area_s(end_s).ceil().max(1.0) as u32;
            let bound = Bound { requests: bound.requests.map(count), ..bound };
            mixed(vec![arrivals], bound)
        });
        let alone: Vec<MixedPlan> = alone.collect();
        std::iter::once(all).chain(alone).collect()
    }

    /// How many classes end by themselves: those in windows.
    pub(crate) fn windows(&self) -> usize {
        let ends = |class: &&ClassPlan| class.arrivals.rate.duration().is_some();
        self.0.iter().filter(ends).count()
    }

    /// The load of this label, as [`inferometer_model::PassPlan::prompt_label`] writes it, and the indexes of its
    /// classes; all classes for the label of a warm-up.
    pub fn of_label(&self, label: &str) -> (MixedPlan, Vec<usize>) {
        let Self(classes) = self;
        let mut loads = self.loads(Bound::none(), (None, OverLimit::Queue));
        let at = loads.iter().position(|load| load.to_string() == label).unwrap_or(0);
        let load = loads.swap_remove(at);
        let place =
            |one: &ClassArrivals| classes.iter().position(|of| of.arrivals.name == one.name);
        let places = load.classes.iter().filter_map(place).collect();
        (load, places)
    }
}
