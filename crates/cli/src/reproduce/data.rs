//! The input files that a plan in a bundle names: extracted from the bundle, given by the user, or found on this
//! machine by their checksums or names.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inferometer_formats::bundle::Checksum;
use inferometer_plan::Plan;
use inferometer_workload::fetch::{DATA_SETS, FetchConfig};

use super::here::LocalSetup;
use crate::bundle::{Bundle, DataFile, FileOfPlan, files_of_plan, sum_of};
use crate::stored_error::StoredRunError;

/// The folder for extracted data files of bundles, next to the database.
const FOLDER: &str = "inferometer.data";
/// The number of hexadecimal digits of the checksum in the name of an extracted file.
const SHORT: usize = 16;

/// The path of each file of the bundle for this plan, with its key: a file that the plan names, or a file under a key
/// for which the plan names none.
///
/// # Errors
/// If a file is neither in the bundle nor on this machine, or if `here` contains a file that the bundle does not name.
/// The message states how to get a missing file.
pub fn locate_files(
    bundle: &Bundle,
    there: &Plan,
    here: &LocalSetup,
) -> Result<Vec<(String, PathBuf)>, StoredRunError> {
    let given = here.data.iter().map(|path| Ok((path.clone(), sum_of(path)?)));
    let given = given.collect::<Result<Vec<_>, StoredRunError>>()?;
    let data = &bundle.manifest().data;
    let is_named =
        |sum: &Checksum| data.iter().any(|file| file.sha256.as_ref() == Some(&sum.sha256));
    if let Some((path, _)) = given.iter().find(|(_, sum)| !is_named(sum)) {
        return Err(StoredRunError::refused(format!(
            "--data: {}: the bundle names no file with this SHA-256",
            path.display()
        )));
    }
    let of_plan = files_of_plan(there);
    // Several runs may name different files under the same key.
    let is_its = |file: &&DataFile| {
        let named =
            of_plan.iter().any(|of| (of.key, &of.named) == (file.key.as_str(), &file.named));
        named || !of_plan.iter().any(|of| of.key == file.key)
    };
    data.iter()
        .filter(is_its)
        .map(|file| Ok((file.key.clone(), place(bundle, file, &of_plan, &given, here)?)))
        .collect()
}

fn place(
    bundle: &Bundle,
    data: &DataFile,
    of_plan: &[FileOfPlan],
    given: &[(PathBuf, Checksum)],
    here: &LocalSetup,
) -> Result<PathBuf, StoredRunError> {
    if data.file.is_some() {
        return extract(bundle, data, here);
    }
    let is_it = |sum: &Checksum| Some(&sum.sha256) == data.sha256.as_ref();
    if let Some((path, _)) = given.iter().find(|(_, sum)| is_it(sum)) {
        return Ok(path.clone());
    }
    let there =
        of_plan.iter().find(|file| (file.key, &file.named) == (data.key.as_str(), &data.named));
    let known = DATA_SETS
        .iter()
        .find(|known| known.sha256 == data.sha256.as_deref() && known.sha256.is_some());
    let cached = known.map(|known| FetchConfig::from_env().path(known));
    let candidates = there.map(|file| file.path.clone()).into_iter().chain(cached);
    for path in candidates.filter(|path| path.is_file()) {
        // A file that was missing when the bundle was written has no checksum. The hash of the requests shows later
        // whether the file found here is the right one.
        if data.sha256.is_none() || is_it(&sum_of(&path)?) {
            return Ok(path);
        }
    }
    let fetch = known.map_or_else(String::new, |known| {
        format!("; `inferometer fetch {}` downloads it", known.name)
    });
    Err(StoredRunError::refused(match &data.sha256 {
        Some(sha256) => format!(
            "{}: `{}` is neither in the bundle nor on this machine ({} bytes, SHA-256 {sha256}); \
                give it with --data FILE{fetch}",
            data.key,
            data.named,
            data.bytes.unwrap_or(0)
        ),
        None => format!(
            "{}: `{}` is not in the bundle, because it was missing when the bundle was made; it \
                must exist here under that name",
            data.key, data.named
        ),
    }))
}

/// Extracts a file of the bundle to a folder next to the store, where it remains available for the new run's plan.
fn extract(bundle: &Bundle, data: &DataFile, here: &LocalSetup) -> Result<PathBuf, StoredRunError> {
    let folder = here.store.parent().unwrap_or(Path::new("")).join(FOLDER);
    fs::create_dir_all(&folder).map_err(StoredRunError::of_file(&folder))?;
    let sha256 = data.sha256.as_deref().unwrap_or_default();
    let short: String = sha256.chars().filter(char::is_ascii_hexdigit).take(SHORT).collect();
    // The reader of the bundle rejects names that point outside of the bundle.
    let name = data.file.as_deref().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
    let path = folder.join(format!("{short}-{name}"));
    if path.is_file() && Some(&sum_of(&path)?.sha256) == data.sha256.as_ref() {
        return Ok(path);
    }
    let new = folder.join(format!("{short}-{}.new", std::process::id()));
    let written = || {
        let mut file = BufWriter::new(File::create(&new).map_err(StoredRunError::of_file(&new))?);
        bundle.copy_data(data, &mut file)?;
        file.flush().map_err(StoredRunError::of_file(&new))?;
        fs::rename(&new, &path).map_err(StoredRunError::of_file(&path))
    };
    let written = written();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map(|()| path)
}
