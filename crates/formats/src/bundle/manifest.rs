//! What a bundle holds, as the document `manifest.json`.

use std::collections::BTreeMap;

use inferometer_model::target::{Environment, Target, Tool};
use serde::{Deserialize, Serialize};

/// The name and version of the document, and so of the bundle.
pub const SCHEMA: &str = "inferometer.bundle/1";
/// Its name in a bundle.
pub const MANIFEST: &str = "manifest.json";

/// What a bundle holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its runs, in the order of time. Several are the repeats of one measurement.
    pub runs: Vec<BundledRun>,
    /// The files that the runs' requests were made from.
    pub data: Vec<DataFile>,
}

/// A run in a bundle. Its documents and its log are files of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BundledRun {
    /// Its identity in every store.
    pub run_id: String,
    /// `measured`, `predicted` or `imported`.
    pub kind: String,
    /// `complete`, `interrupted` or `failed`.
    pub state: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The same in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// When it ended.
    pub finished_unix_ns: Option<i64>,
    /// The wall time at the origin of its axis.
    pub origin_unix_ns: i64,
    /// The program that made it.
    pub tool: Tool,
    /// SHA-256 over the resolved plan; empty for imported results.
    pub plan_hash: String,
    /// SHA-256 over the canonical requests; absent where they are not known.
    pub workload_hash: Option<String>,
    /// SHA-256 over the bodies; absent where they are not known.
    pub body_hash: Option<String>,
    /// The program and the arguments that the run started its server with; empty where it did not.
    pub server_command: Vec<String>,
    /// The arguments of the server by name, as far as they are known.
    pub server_arguments: BTreeMap<String, String>,
    /// The server as it stated itself.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
}

/// A file that requests are made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The key of the plan that names it: `dataset`, `tokenizer`, ...
    pub key: String,
    /// What the plan says there.
    pub named: String,
    /// Its size; absent where the file was not there any more, or is a folder.
    pub bytes: Option<u64>,
    /// Its SHA-256; absent as its size is.
    pub sha256: Option<String>,
    /// The file in the bundle; absent where the bundle does not hold it.
    pub file: Option<String>,
}
