//! Reads files: each row goes to the reader of its format. Rows that cannot be used are counted.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::error::{Fault, JobsError};
use super::format::{self, Format, Rows};
use super::{builder::Builder, call::Trace, source, synthetic};

/// Reads files of one format as one trace, or makes the one trace whose name begins with [`synthetic::PREFIX`]. The first row of a file determines its format, unless `format` names it.
///
/// # Errors
/// If a file cannot be read, its format is unknown, or its rows contradict each other.
pub fn read(files: &[PathBuf], format: Option<&str>) -> Result<Trace, JobsError> {
    if let [name] = files
        && let Some(name) = name.to_str().filter(|name| name.starts_with(synthetic::PREFIX))
    {
        return synthetic::trace(name);
    }
    let files = files.iter().map(|file| Ok((source::open(file)?, file.as_path())));
    read_all(files, format)
}

/// Reads the contents of one file. `path` is only used in errors.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: &[u8], path: &Path, format: Option<&str>) -> Result<Trace, JobsError> {
    let reader: Box<dyn BufRead + '_> = Box::new(bytes);
    read_all(std::iter::once(Ok((reader, path))), format)
}

fn read_all<'a>(
    files: impl Iterator<Item = Result<(Box<dyn BufRead + 'a>, &'a Path), JobsError>>,
    format: Option<&str>,
) -> Result<Trace, JobsError> {
    let given = format.map(format::named).transpose()?;
    let mut builder = Builder::default();
    let mut current: Option<(&Format, Rows)> = None;
    for file in files {
        let (reader, path) = file?;
        builder.trace.files.push(path.to_owned());
        let (mut number, mut is_first) = (0, true);
        source::rows(reader, path, &mut |row, line| {
            number += 1;
            if let (true, Ok(row)) = (is_first, &row) {
                is_first = false;
                let name = path.display().to_string();
                let found = given.map_or_else(|| format::of(row, &name), Ok)?;
                match &current {
                    Some((known, _)) if known.0 != found.0 => {
                        return Err(JobsError::TwoFormats(name, found.0, known.0));
                    }
                    Some(_) => {}
                    None => current = Some((found, found.2(&mut builder))),
                }
            }
            builder.place = (builder.trace.files.len() as u32 - 1, line);
            let kept = builder.trace.calls.len();
            let read = match (row, &mut current) {
                (Ok(row), Some((_, rows))) => rows(Some(row), line, &mut builder),
                (Err(reason), _) => Err(Fault::Row(reason)),
                _ => Ok(()),
            };
            let fault = |fault| match builder.left_out(number, fault) {
                Err(Fault::Trace(problem)) => Err(builder.trace.refused(builder.place, problem)),
                _ => {
                    builder.forget(kept);
                    Ok(())
                }
            };
            read.or_else(fault)
        })?;
    }
    if let Some((format, mut rows)) = current {
        builder.trace.format = format.0;
        if let Err(Fault::Trace(problem)) = rows(None, 0, &mut builder) {
            return Err(builder.trace.refused(builder.place, problem));
        }
    }
    builder.finish()
}
