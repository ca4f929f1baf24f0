//! Bundles: files that contain stored runs with their plans, results and records. A bundle is checked completely when
//! it is opened. Its runs can be restored into another store, where they keep their run ids.

mod files;
mod make;
mod open;
mod readme;
mod restore;

use std::path::Path;

pub use files::{CARD, FileOfPlan, files_of_plan, set_file};
pub use inferometer_formats::bundle::{BundleError, DataFile, Manifest};
pub(crate) use make::sum_of;
pub use make::{WithData, WrittenBundle, bundle, default_name};
pub use open::{Bundle, Bundled, is_bundle};
pub use restore::{Restored, restore};

use crate::stored_error::StoredRunError;

/// The error of a file that is not a valid bundle, or of a bundle that cannot be written.
fn wrong(path: &Path) -> impl Fn(BundleError) -> StoredRunError + use<> {
    let path = path.to_owned();
    move |error| {
        let why = format!("{}: {error}", path.display());
        match error {
            BundleError::Unwritable(_) => StoredRunError::Write(why),
            _ => StoredRunError::Refused(why),
        }
    }
}
