//! The destination of an export: standard output, or a file that appears only when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::stored_error::StoredRunError;

/// The destination of an export.
pub enum Out<'a> {
    /// Standard output.
    Stdout,
    /// A file that has a temporary name until it is complete.
    File {
        /// The final path of the file.
        path: &'a Path,
        /// The temporary path of the file.
        temporary: PathBuf,
        /// Whether the file replaces an existing file.
        replaces: bool,
    },
}

impl<'a> Out<'a> {
    /// The file `path`, or standard output if `path` is None. `is_text` states whether the data is text; binary data is
    /// not written to a terminal.
    ///
    /// # Errors
    /// If binary data would be written to a terminal, or if the path is a folder.
    pub fn new(path: Option<&'a Path>, is_text: bool) -> Result<Self, StoredRunError> {
        let Some(path) = path else {
            return match is_text || !io::stdout().is_terminal() {
                true => Ok(Self::Stdout),
                false => Err(StoredRunError::refused(
                    "--out: give a file, because this format is not text",
                )),
            };
        };
        match path.file_name() {
            Some(name) if !path.is_dir() => {
                // The temporary name contains the process id, so that two processes cannot write to the same temporary
                // file.
                let (name, process) = (name.to_string_lossy(), std::process::id());
                let temporary = path.with_file_name(format!(".{name}.{process}.new"));
                Ok(Self::File { path, temporary, replaces: path.exists() })
            }
            _ => Err(StoredRunError::refused(format!(
                "--out: {}: is a folder; give the name of a file",
                path.display()
            ))),
        }
    }

    /// Opens the destination.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn open(&self) -> Result<BufWriter<Box<dyn Write + Send>>, StoredRunError> {
        let out: Box<dyn Write + Send> = match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::File { path, temporary, .. } => {
                Box::new(File::create(temporary).map_err(|error| {
                    StoredRunError::refused(format!(
                        "--out: {}: cannot be written: {error}",
                        path.display()
                    ))
                })?)
            }
        };
        Ok(BufWriter::with_capacity(1 << 16, out))
    }

    /// Ends the export. `written` is the result of writing. A complete file gets its final name, and `say` receives a
    /// message with the description from `what`. An incomplete file is removed. If the reader has closed the pipe of
    /// standard output, this is not a failure, and the function returns None.
    ///
    /// # Errors
    /// If reading, writing or renaming failed.
    pub fn close<T>(
        self,
        written: Result<T, StoredRunError>,
        say: &dyn Fn(&str),
        what: impl FnOnce(&T) -> String,
    ) -> Result<Option<T>, StoredRunError> {
        match (written, self) {
            (Err(StoredRunError::Export(error)), Self::Stdout) if error.is_closed_pipe() => {
                Ok(None)
            }
            (Err(StoredRunError::Export(error)), Self::Stdout) => {
                Err(StoredRunError::write(format!("standard output {error}")))
            }
            (Err(failed), Self::File { path, temporary, .. }) => {
                // Remove the incomplete file.
                let _ = fs::remove_file(temporary);
                Err(match failed {
                    StoredRunError::Export(error) => {
                        StoredRunError::write(format!("{}: {error}", path.display()))
                    }
                    other => other,
                })
            }
            (Err(error), Self::Stdout) => Err(error),
            (Ok(done), Self::Stdout) => Ok(Some(done)),
            (Ok(done), Self::File { path, temporary, replaces }) => {
                match fs::rename(&temporary, path) {
                    Ok(()) => {
                        let replaced = if replaces { ", replacing the existing file" } else { "" };
                        say(&format!("{}: {}{replaced}", path.display(), what(&done)));
                        Ok(Some(done))
                    }
                    Err(error) => {
                        let _ = fs::remove_file(temporary);
                        let why = format!("{}: cannot be written: {error}", path.display());
                        Err(StoredRunError::write(why))
                    }
                }
            }
        }
    }
}
