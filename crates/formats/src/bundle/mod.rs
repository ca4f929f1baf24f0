//! A bundle: runs as one file, a tar archive compressed with gzip, which every machine opens without
//! this program. It holds JSON, run logs, a README, and the checksum of each of its files, first of all.
//!
//! The same runs make the same bytes. What is read may come from a stranger: names are plain, sizes are
//! bounded, nothing is unpacked by name. Nothing here opens a file.

mod error;
mod manifest;
mod name;
mod read;
mod write;

pub use error::BundleError;
pub use manifest::{BundledRun, DataFile, MANIFEST, Manifest, SCHEMA};
pub use name::data_name;
pub use read::{GZIP, Limits, Opened, copy, open};
pub use write::{Part, Sum, write};

/// The folder that everything lies in, once the archive is unpacked.
pub const FOLDER: &str = "inferometer-bundle";
/// The checksums of all other files, as `sha256sum -c` reads them.
pub const SUMS: &str = "SHA256SUMS";
/// What a person reads first.
pub const README: &str = "README.md";

/// The run log of a run.
pub const RECORDS: &str = "records.log";
/// The results of a run.
pub const SUMMARY: &str = "summary.json";
/// The resolved plan of a run.
pub const PLAN: &str = "plan.json";
/// The plan as a file that measures the same again.
pub const PLAN_FILE: &str = "plan.toml";

/// The name of a file of a run in a bundle.
pub fn of_run(run: &str, file: &str) -> String {
    format!("runs/{run}/{file}")
}
