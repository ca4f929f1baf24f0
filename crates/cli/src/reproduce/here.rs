//! How a run of a bundle is measured here.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// How a run is measured here.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// How the server is reached, by keys of a plan: `target`, `dialect`, `model`, `header`, ...
    pub keys: Map<String, Value>,
    /// The command that starts the server; a line for the shell.
    pub server_command: Option<String>,
    /// Start the server by the command that the bundle has.
    pub start_server: bool,
    /// How often each cell is measured; absent: as the bundle's plan says.
    pub repeat: Option<u32>,
    /// Other prompts of the same kind: for a server that has seen those of the bundle.
    pub new_salt: bool,
    /// Files that the bundle names and does not hold.
    pub data: Vec<PathBuf>,
    /// The database.
    pub store: PathBuf,
    /// The folder for reports.
    pub out: Option<PathBuf>,
}
