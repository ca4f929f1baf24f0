//! Bundles: files that contain stored runs with their plans, results and records. A bundle is checked completely when
//! it is opened. Its runs can be restored into another store, where they keep their run ids.

mod files;
mod make;
mod open;
mod readme;
mod restore;

use std::path::PathBuf;

pub use files::{CARD, FileOfPlan, files_of_plan, set_file};
pub use inferometer_formats::bundle::{BundleError, DataFile, Manifest};
pub use make::{WithData, WrittenBundle, bundle, default_name};
pub use open::{Bundle, Bundled, is_bundle};
pub use restore::{Restored, restore};

use inferometer_store::StoreError;

/// Why a bundle cannot be written or used.
#[derive(Debug, thiserror::Error)]
pub enum BundleRunError {
    /// The runs cannot be bundled, or the bundle cannot be used.
    #[error("{0}")]
    Refused(String),
    /// The file is not a valid bundle, or the bundle cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        source: BundleError,
    },
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}
