//! A spec: the values that a user gives in a plan file or by flags; most values may be absent. Resolving
//! a spec returns a [`crate::Plan`], in which all values are set. If the spec has mistakes, resolving it
//! returns all mistakes together.

mod ab;
mod abandon;
mod adapters;
mod addresses;
mod agents;
mod blocks;
mod class_spec;
mod classes;
mod conversation;
mod drawn;
mod keys;
mod left_out;
pub(crate) mod levels;
pub mod limits;
mod media;
mod mistakes;
mod observe;
mod pairs;
mod pooling;
mod price;
mod rows;
mod search;
mod server;
mod serving;
mod sweep;
mod trace;
pub(crate) mod values;
mod variants;
pub(crate) mod warmup;
mod workload;
mod workload_plan;

use clap::{Args, Command};
use serde_json::{Map, Value as Json};

pub use ab::AbSpec;
pub use addresses::Addresses;
pub use agents::AgentKeys;
pub use blocks::{BlockKeys, InFlight};
pub use class_spec::ClassSpec;
pub use conversation::ConversationKeys;
pub use drawn::DrawnKeys;
pub use keys::Spec;
pub use left_out::{PlanCommand, keys_left_out, takes_workload};
pub use levels::{StageTable, Stages};
pub use limits::MAX_LENGTH;
pub use media::MediaKeys;
pub use observe::ObserveKeys;
pub use pooling::PoolingKeys;
pub use price::{CardPrice, Price, PriceKeys};
pub use rows::RowsKeys;
pub use search::SearchSpec;
pub use server::{CommandLine, ServerSpec};
pub use serving::{ServingKeys, ServingLimits};
pub use sweep::SweepSpec;
pub use trace::TraceKeys;
pub use values::{Value, finite, span, tokens};
pub use variants::{TargetSpec, Variant, variants};
pub use workload::{WorkloadKeys, workload_names};
pub use workload_plan::{Grid, WorkloadPlan};

pub(crate) use left_out::refuse;
pub(crate) use mistakes::Mistakes;
pub use mistakes::{SpecError, toml_mistake, without_texts};
pub(crate) use price::MAX_GPUS;
pub(crate) use workload::Asked;

impl Spec {
    /// Removes the server, and the keys for the connection to the server. Keeps the other keys about the server, such
    /// as `dialect`, `model` and `server_card`.
    #[must_use]
    pub fn without_server(self) -> Self {
        Self {
            target: None,
            server: None,
            header: None,
            api_key_env: None,
            ca_cert: None,
            insecure: None,
            client_cert: None,
            client_key: None,
            proxy: None,
            wait: None,
            ..self
        }
    }

    /// The keys of the spec and their values. A key without a value is null, or missing if it is one of the newer
    /// fields (see [`Spec`]).
    ///
    /// # Panics
    /// Never: every value of a spec can be written as JSON.
    pub fn keys(&self) -> Map<String, Json> {
        match serde_json::to_value(self) {
            Ok(Json::Object(keys)) => keys,
            other => unreachable!("invariant: a spec is an object: {other:?}"),
        }
    }

    /// Those of `keys` that are given. The value `false` counts as not given.
    pub fn given<'a>(&self, keys: &[&'a str]) -> Vec<&'a str> {
        let all = self.keys();
        let is_given =
            |key: &&&str| !matches!(all.get(**key), None | Some(Json::Null | Json::Bool(false)));
        keys.iter().filter(is_given).copied().collect()
    }

    /// A spec from its keys.
    ///
    /// # Errors
    /// If a value is of the wrong kind, or if a table such as `[search]` has an unknown key.
    pub fn from_keys(keys: Map<String, Json>) -> Result<Self, serde_json::Error> {
        serde_json::from_value(Json::Object(keys))
    }
}

/// The keys of the embedded engine, which no other server has.
pub const OF_EMBEDDED: [&str; 3] = ["profile", "speed", "noise"];
/// The keys of a connection to a server behind TLS.
pub const OF_TLS: [&str; 4] = ["ca_cert", "insecure", "client_cert", "client_key"];

/// The keys that are no flags of [`Spec`]: tables, and flags with several values that the command line reads itself.
const WITHOUT_FLAG: [&str; 7] =
    ["target", "server", "search", "sweep", "ab", "metrics_url", "metrics_names"];

/// All keys of a plan file.
pub fn known_keys() -> Vec<String> {
    let command = Spec::augment_args(Command::new("plan"));
    let flags = command.get_arguments().map(|flag| flag.get_id().as_str());
    flags.chain(WITHOUT_FLAG).map(str::to_owned).collect()
}

/// The names that a spec may use and that other crates define.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The names of the dialects.
    pub dialects: &'a [&'a str],
    /// The models of the embedded engine.
    pub models: &'a [&'a str],
    /// The model of the embedded engine with this hub id; `None` if there is none.
    pub model_of_hub_id: fn(&str) -> Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_keys_are_exactly_those_that_a_spec_reads() {
        let known = known_keys();
        for key in Spec::default().keys().keys() {
            assert!(known.contains(key), "{key}");
        }
        for key in known {
            // No key is both a list of null and a switch. A key that is not read has no wrong value.
            let wrong = [Json::Array(vec![Json::Null]), Json::Bool(true)];
            let read = wrong.map(|value| Spec::from_keys(Map::from_iter([(key.clone(), value)])));
            assert!(read.iter().any(Result::is_err), "{key}");
        }
    }
}
