//! The document `manifest.json`, which lists the content of a bundle.

use std::collections::BTreeMap;

use inferometer_model::{Environment, Target, target::Tool};
use serde::{Deserialize, Serialize};

/// The name and version of the manifest's format, which is also the bundle's format.
pub const SCHEMA: &str = "inferometer.bundle/1";
/// The name of the manifest in a bundle.
pub const MANIFEST: &str = "manifest.json";

/// The content of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The runs, in the order of their start. Several runs are repeats of one measurement.
    pub runs: Vec<BundledRun>,
    /// The files that the plans of the runs name, such as the dataset.
    pub data: Vec<DataFile>,
}

/// A run in a bundle. Its documents and its log are separate files in the bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundledRun {
    /// The run's identifier, which is the same in every store.
    pub run_id: String,
    /// `measured`, `predicted` or `imported`.
    pub kind: String,
    /// `complete`, `interrupted` or `failed`.
    pub state: String,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// When the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// When the run ended, in nanoseconds since the Unix epoch; absent if it is not known.
    pub finished_unix_ns: Option<i64>,
    /// The wall time at the origin of the run's time axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// The program that made the run.
    pub tool: Tool,
    /// SHA-256 over the resolved plan; empty for imported results.
    pub plan_hash: String,
    /// SHA-256 over the canonical requests; absent if they are not known.
    pub workload_hash: Option<String>,
    /// SHA-256 over the request bodies; absent if they are not known.
    pub body_hash: Option<String>,
    /// The command line of the server that the run started; empty if the run started no server.
    pub server_command: Vec<String>,
    /// The arguments of the server by name, as far as they are known.
    pub server_arguments: BTreeMap<String, String>,
    /// The server, as it described itself.
    pub target: Target,
    /// The machine and the tools of the measurement.
    pub environment: Environment,
}

/// A file that a plan names, such as the dataset or the tokenizer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The key of the plan whose value names the file: `dataset`, `tokenizer`, ...
    pub key: String,
    /// The value of this key in the plan.
    pub named: String,
    /// The size in bytes; absent if the path was not a regular file when the bundle was made.
    pub bytes: Option<u64>,
    /// The SHA-256 in hexadecimal digits; absent if the size is absent.
    pub sha256: Option<String>,
    /// The name of the file in the bundle; absent if the bundle does not contain the file.
    pub file: Option<String>,
}
