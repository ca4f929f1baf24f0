//! Where an export goes: a file that is whole or not there, or standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use inferometer_formats::export::ExportError;

use super::error::ExportRunError;

/// Where an export goes.
pub enum Out<'a> {
    /// Standard output.
    Stdout,
    /// A file, which bears another name until it is whole.
    File {
        /// Its name.
        path: &'a Path,
        /// The name until it is whole.
        fresh: PathBuf,
        /// Whether another takes its place.
        replaces: bool,
    },
}

impl<'a> Out<'a> {
    /// The file that was named, or standard output. Bytes that are no text are not written to a
    /// terminal.
    ///
    /// # Errors
    /// When there is no file to write to, or it is a folder.
    pub fn new(path: Option<&'a Path>, is_text: bool) -> Result<Self, ExportRunError> {
        let Some(path) = path else {
            return match is_text || !io::stdout().is_terminal() {
                true => Ok(Self::Stdout),
                false => Err(ExportRunError::request(
                    "--out: give a file, because this format is \
                    not text",
                )),
            };
        };
        match path.file_name() {
            Some(name) if !path.is_dir() => {
                // Two processes that write the same file at once do not write into each other's.
                let (name, process) = (name.to_string_lossy(), std::process::id());
                let fresh = path.with_file_name(format!(".{name}.{process}.new"));
                Ok(Self::File { path, fresh, replaces: path.exists() })
            }
            _ => Err(ExportRunError::request(format!("--out: {}: is a folder", path.display()))),
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open(&self) -> Result<BufWriter<Box<dyn Write + Send>>, ExportRunError> {
        let out: Box<dyn Write + Send> = match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::File { path, fresh, .. } => Box::new(File::create(fresh).map_err(|error| {
                ExportRunError::request(format!(
                    "--out: {}: cannot be written: {error}",
                    path.display()
                ))
            })?),
        };
        Ok(BufWriter::with_capacity(1 << 16, out))
    }

    /// What became of the writing: a whole file gets its name, and `say` receives `what` is in it;
    /// an incomplete file is removed. A closed standard output is not a failure.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn close<T>(
        self,
        written: Result<T, Failed>,
        say: &dyn Fn(&str),
        what: impl FnOnce(&T) -> String,
    ) -> Result<Option<T>, ExportRunError> {
        match (written, self) {
            (Err(Failed::Export(error)), Self::Stdout) if error.is_closed_pipe() => Ok(None),
            (Err(Failed::Export(error)), Self::Stdout) => {
                Err(ExportRunError::write(format!("standard output {error}")))
            }
            (Err(failed), Self::File { path, fresh, .. }) => {
                // What half of it there is, is of no use to anybody.
                let _ = fs::remove_file(fresh);
                Err(match failed {
                    Failed::Export(error) => {
                        ExportRunError::write(format!("{}: {error}", path.display()))
                    }
                    Failed::Source(error) => error,
                })
            }
            (Err(Failed::Source(error)), Self::Stdout) => Err(error),
            (Ok(done), Self::Stdout) => Ok(Some(done)),
            (Ok(done), Self::File { path, fresh, replaces }) => match fs::rename(&fresh, path) {
                Ok(()) => {
                    let replaced = if replaces { ", replacing the existing file" } else { "" };
                    say(&format!("{}: {}{replaced}", path.display(), what(&done)));
                    Ok(Some(done))
                }
                Err(error) => Err(ExportRunError::write(format!(
                    "{}: cannot be written: {error}",
                    path.display()
                ))),
            },
        }
    }
}

/// Why an export ended early.
pub enum Failed {
    /// It could not be written.
    Export(ExportError),
    /// What is exported could not be read.
    Source(ExportRunError),
}

impl From<ExportError> for Failed {
    fn from(error: ExportError) -> Self {
        Self::Export(error)
    }
}

impl From<ExportRunError> for Failed {
    fn from(error: ExportRunError) -> Self {
        Self::Source(error)
    }
}
