//! The settings for measuring a run from a bundle again on this machine. A bundle is a file with stored runs.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// The settings for measuring a bundle's run on this machine.
#[derive(Clone, Debug, Default)]
pub struct LocalSetup {
    /// The connection to the server, as keys of a plan: `target`, `dialect`, `model`, `header`, ...
    pub keys: Map<String, Value>,
    /// The command that starts the server, as a line for the shell.
    pub server_command: Option<String>,
    /// Whether to start the server with the command in the bundle.
    pub start_server: bool,
    /// The number of repeats of each cell; None: as in the bundle's plan.
    pub repeat: Option<u32>,
    /// Whether to use other prompts of the same kind, for a server that may have cached the bundle's prompts.
    pub new_salt: bool,
    /// Files that the bundle names but does not contain.
    pub data: Vec<PathBuf>,
    /// The database.
    pub store: PathBuf,
    /// The folder for reports; None for the default folder.
    pub out: Option<PathBuf>,
}
