//! A bundle: one or more runs in one tar archive, compressed with gzip. Standard tools can open a bundle. Its
//! first file lists the checksums of all other files: JSON documents, plan files, run logs, a README, data files.
//!
//! Equal parts give a bundle with equal bytes. A bundle may come from an untrusted source. The reader
//! therefore allows only plain names and limited sizes, and never uses a name as a path. No code here opens a
//! file.

mod error;
mod manifest;
mod name;
mod read;
mod write;

pub use error::BundleError;
pub use manifest::{BundledRun, DataFile, MANIFEST, Manifest, SCHEMA};
pub use name::data_name;
pub use read::{GZIP, Limits, Opened, copy, is_zipped_json, open};
pub use write::{Checksum, Part, write};

/// The folder in the archive that contains all files.
pub const FOLDER: &str = "inferometer-bundle";
/// The name of the file with the checksums of all other files, in the format of `sha256sum -c`.
pub const SUMS: &str = "SHA256SUMS";
/// The name of the file that explains the bundle to a person.
pub const README: &str = "README.md";

/// The name of the run log of a run.
pub const RECORDS: &str = "records.log";
/// The name of the results of a run.
pub const SUMMARY: &str = "summary.json";
/// The name of the resolved plan of a run.
pub const PLAN: &str = "plan.json";
/// The name of the plan as a file that `inferometer run` accepts to repeat the measurement.
pub const PLAN_FILE: &str = "plan.toml";

/// Returns the name in a bundle of the file `file` of the run `run`: `runs/RUN/FILE`.
pub fn of_run(run: &str, file: &str) -> String {
    format!("runs/{run}/{file}")
}
