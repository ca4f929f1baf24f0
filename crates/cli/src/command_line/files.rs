//! Writes result files for other programs, such as CI systems.

use std::fs::{File, OpenOptions};
use std::{io::Write, path::Path};

use crate::command_line::{Failure, variable};

/// Writes a file, and replaces an existing file. `flag` is the flag that names the file, for the error message.
///
/// # Errors
/// If the file cannot be written.
pub fn write(flag: &str, file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| refused(flag, file, &error))
}

/// Like [`write`], for a text that is written before the results are known. Does nothing if the file is a pipe or a
/// device, because its reader would get this text and also the results.
///
/// # Errors
/// If the file cannot be written.
pub fn write_before(flag: &str, file: &Path, text: &str) -> Result<(), Failure> {
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        Ok(_) | Err(_) => write(flag, file, text),
    }
}

/// Checks, before the work begins, that a new file can be created. Creates the file and removes it again.
///
/// # Errors
/// If the file cannot be created, or already exists.
pub fn check_new(flag: &str, file: &Path) -> Result<(), Failure> {
    let made = File::create_new(file).and_then(|_| std::fs::remove_file(file));
    made.map_err(|error| {
        Failure::usage(format!("{flag}: {} cannot be written: {error}", file.display()))
    })
}

/// Rejects the file name `-`, which means standard output in other programs. Standard output already contains the
/// results.
///
/// # Errors
/// If the file is `-`.
pub fn is_no_stdout(flag: &str, file: &Path) -> Result<(), Failure> {
    match file == Path::new("-") {
        true => Err(Failure::usage(format!(
            "{flag}: cannot be `-`, because standard output has the results; give the name of a \
                file"
        ))),
        false => Ok(()),
    }
}

/// Whether two paths refer to the same file. If a file does not exist yet, its absolute path is compared.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |file: &Path| file.canonicalize().or_else(|_| std::path::absolute(file)).ok();
    whole(one).is_some_and(|one| Some(one) == whole(other))
}

/// Writes a Markdown file, and replaces an existing file. If the file is the summary file of a GitHub job, appends to
/// it instead, because every step of the job adds to this file.
///
/// # Errors
/// If the file cannot be written.
pub fn write_summary(flag: &str, file: &Path, text: &str) -> Result<(), Failure> {
    let of_job = variable("GITHUB_STEP_SUMMARY").filter(|name| !name.is_empty());
    if of_job.is_none_or(|name| Path::new(&name) != file) {
        return write(flag, file, text);
    }
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| refused(flag, file, &error))
}

fn refused(flag: &str, file: &Path, error: &std::io::Error) -> Failure {
    Failure::run_failed(format!("{flag}: {} cannot be written: {error}", file.display()))
}
