//! The flags that say where prompts come from, by the keys of a plan.

use clap::Args;
use serde::Serialize;

/// Each is the key of the same name.
#[derive(Args, Serialize)]
pub struct WorkloadFlags {
    /// Where prompts come from: random, sharegpt
    #[arg(long, value_name = "NAME", help_heading = "Workload")]
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<String>,
    /// The data set's file
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<String>,
}
