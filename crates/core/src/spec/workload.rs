//! The workload and its options, from what was asked for. A further workload is a name, its keys,
//! and an arm here.

use serde::{Deserialize, Serialize};

use super::Mistakes;
use crate::plan::WorkloadPlan;
use crate::suggest::did_you_mean;

/// The keys of a plan that say where prompts come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadKeys {
    /// Where prompts come from: one of [`WORKLOADS`].
    pub workload: Option<String>,
    /// The data set's file.
    pub dataset: Option<String>,
}

/// Every workload by name.
pub const WORKLOADS: [&str; 2] = ["random", "sharegpt"];

impl WorkloadKeys {
    /// The workload; where it is not one, the mistakes are noted and a stand-in is returned.
    pub(super) fn resolve(&self, mistakes: &mut Mistakes) -> WorkloadPlan {
        match self.workload.as_deref().unwrap_or("random") {
            "random" => {
                self.no_dataset("random", mistakes);
                WorkloadPlan::Random
            }
            "sharegpt" => {
                WorkloadPlan::Sharegpt { dataset: self.dataset("a ShareGPT JSON file", mistakes) }
            }
            other => {
                mistakes.add(
                    "workload",
                    format!(
                        "`{other}` is not a workload{}; there are {}",
                        did_you_mean(other, WORKLOADS),
                        WORKLOADS.join(", ")
                    ),
                );
                WorkloadPlan::Random
            }
        }
    }

    /// The data set, which this workload must have.
    fn dataset(&self, what: &str, mistakes: &mut Mistakes) -> String {
        self.dataset.clone().unwrap_or_else(|| {
            let name = self.workload.as_deref().unwrap_or("random");
            mistakes.add("dataset", format!("is missing: {name} reads {what}"));
            String::new()
        })
    }

    fn no_dataset(&self, name: &str, mistakes: &mut Mistakes) {
        if self.dataset.is_some() {
            let problem = format!("is not used by {name}; choose a --workload that reads one");
            mistakes.add("dataset", problem);
        }
    }
}
