//! Opens the files of data sets, which must be regular files of at most [`MAX_FILE_BYTES`]. If a file is read
//! row by row ([`open`]), a row that is too long or would take too much memory after parsing is an error.
//! Rows are not parsed here.

use std::io::{self, BufRead, BufReader, Read};
use std::{cell::Cell, fs::File, path::Path, rc::Rc};

use inferometer_model::json::ParsedSize;
use inferometer_net::file::{self, BYTE_ORDER_MARK};

use crate::WorkloadError;

/// The largest size of a file of a data set, in bytes (1 GiB). The ShareGPT file has 673 MB.
pub const MAX_FILE_BYTES: u64 = 1 << 30;
/// The largest size of a row of a file, in bytes (8 MiB). Counting the tokens of a row takes about forty
/// times this size in memory.
pub const MAX_ROW_BYTES: usize = 8 << 20;
/// The maximum memory that one row may take after parsing, in bytes (256 MiB).
const MAX_PARSED_BYTES: usize = 256 << 20;

/// The number of bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// How the end of a row is recognised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowEnd {
    /// A row ends at the end of its line.
    Line,
    /// A row ends when the caller calls [`RowMeter::next_row`].
    Explicit,
}

/// Opens a file to read its rows one after the other. Reading a row above the limits returns an error.
///
/// # Errors
/// If the path is not a regular file, or the file is too large or cannot be opened.
pub(crate) fn open(path: &Path, row_end: RowEnd) -> Result<DataSetReader, WorkloadError> {
    let file = open_file(path)?;
    let meter = RowMeter::default();
    let limited = RowLimit { inner: file, row_end, meter: meter.clone() };
    let mut reader = BufReader::with_capacity(CHUNK, limited);
    let start = reader.fill_buf().map_err(|error| WorkloadError::unreadable(path, error))?;
    let mark = BYTE_ORDER_MARK.to_string();
    if start.starts_with(mark.as_bytes()) {
        reader.consume(mark.len());
    }
    Ok(DataSetReader { reader, meter })
}

/// Checks that a data set can be read from a path. A folder is accepted; its files are checked when they
/// are read.
///
/// # Errors
/// If the path is a pipe or a device, or the file is too large or cannot be opened.
pub fn check(path: &Path) -> Result<(), WorkloadError> {
    if path.is_dir() { Ok(()) } else { open_file(path).map(drop) }
}

/// Opens a regular file of at most [`MAX_FILE_BYTES`]. Its rows are not limited.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_file(path: &Path) -> Result<File, WorkloadError> {
    let unreadable = |error: io::Error| WorkloadError::unreadable(path, error);
    let file = file::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        let reason = format!(
            "has {} MiB, but the limit for data sets is {} MiB: use a part of it",
            size >> 20,
            MAX_FILE_BYTES >> 20
        );
        return Err(WorkloadError::unreadable(path, reason));
    }
    Ok(file)
}

/// Reads the whole text of a file.
///
/// # Errors
/// As [`open`]; also if the text is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, WorkloadError> {
    open_file(path)?;
    file::read_text(path, MAX_FILE_BYTES as usize)
        .map_err(|error| WorkloadError::unreadable(path, error))
}

/// An open file, and the meter of its rows.
pub(crate) struct DataSetReader {
    pub reader: BufReader<RowLimit>,
    pub meter: RowMeter,
}

/// Measures the current row: the number of bytes read so far, and an estimate of the memory that they take
/// after parsing. Clones share these numbers.
#[derive(Clone, Default)]
pub(crate) struct RowMeter(Rc<Cell<(usize, ParsedSize)>>);

impl RowMeter {
    /// Ends the current row, and starts to measure the next one. More bytes than this row may have been read. So if
    /// the last read ended inside a string, the next one still begins inside it.
    pub fn next_row(&self) {
        let (_, mut parsed) = self.0.get();
        parsed.clear();
        self.0.set((0, parsed));
    }

    /// Starts to measure a row that begins with the next byte that is added.
    fn begin_row(&self) {
        self.0.set(Default::default());
    }

    /// Adds bytes to the current row.
    fn add(&self, bytes: &[u8]) {
        let (read, mut parsed) = self.0.get();
        parsed.add(bytes);
        self.0.set((read + bytes.len(), parsed));
    }

    /// An error message if the current row is too large; otherwise `None`.
    fn too_large(&self) -> Option<String> {
        let (read, parsed) = self.0.get();
        let (most_read, most_parsed) = (MAX_ROW_BYTES >> 20, MAX_PARSED_BYTES >> 20);
        if read > MAX_ROW_BYTES {
            Some(format!("a row of more than {most_read} MiB, which is the limit"))
        } else if parsed.bytes() > MAX_PARSED_BYTES {
            Some(format!("a row that needs more than {most_parsed} MiB of memory after parsing"))
        } else {
            None
        }
    }
}

/// A reader of a file. It returns an error if the current row is too large. A row that begins and ends
/// within one read of [`CHUNK`] bytes is not measured. With [`RowEnd::Explicit`], the bytes of a row that
/// were read together with the end of the previous row are not counted.
pub(crate) struct RowLimit {
    inner: File,
    row_end: RowEnd,
    meter: RowMeter,
}

impl Read for RowLimit {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let bytes = &buffer[..count];
        let is_end = |byte: &u8| self.row_end == RowEnd::Line && *byte == b'\n';
        let first = bytes.iter().position(is_end).unwrap_or(count);
        self.meter.add(&bytes[..first]);
        if let Some(why) = self.meter.too_large() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        if let Some(last) = bytes.iter().rposition(is_end) {
            self.meter.begin_row();
            self.meter.add(&bytes[last..]);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_row_that_takes_too_much_memory_is_an_error_but_many_small_rows_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        let mut file = File::create(&path).unwrap();
        // As a single row, the whole text would take too much memory. But each of its many rows is small
        // enough.
        for _ in 0..16 {
            file.write_all(&[b"{\"a\":[1,2]}\n".repeat(4_096), vec![b' '; 1 << 20]].concat())
                .unwrap();
            file.write_all(b"\n").unwrap();
        }
        let mut lines = open(&path, RowEnd::Line).unwrap().reader.lines();
        assert!(lines.all(|line| line.is_ok()));
        file.write_all(&b"{".repeat(1 << 20)).unwrap();
        let mut lines = open(&path, RowEnd::Line).unwrap().reader.lines();
        let told = lines.find_map(Result::err).unwrap().to_string();
        assert!(told.contains("256 MiB of memory"), "{told}");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[b'w'; MAX_ROW_BYTES + 1]).unwrap();
        let mut lines = open(&path, RowEnd::Line).unwrap().reader.lines();
        let told = lines.find_map(Result::err).unwrap().to_string();
        assert!(told.contains("a row of more than 8 MiB"), "{told}");
    }

    #[test]
    fn a_read_that_begins_inside_a_string_is_measured_as_the_rest_of_this_string() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.json");
        let row = |string: u8, others: u8| {
            let string = vec![string; CHUNK + CHUNK / 2];
            [b"{\"a\":\"".as_slice(), &string, b"\",\"b\":", &vec![others; CHUNK]].concat()
        };
        for (row, is_too_large) in [(row(b'w', b'{'), true), (row(b'{', b'1'), false)] {
            std::fs::write(&path, row).unwrap();
            for row_end in [RowEnd::Line, RowEnd::Explicit] {
                let DataSetReader { mut reader, meter } = open(&path, row_end).unwrap();
                let mut first = vec![0; CHUNK];
                reader.read_exact(&mut first).unwrap();
                if row_end == RowEnd::Explicit {
                    // A row may end before the end of a read.
                    meter.next_row();
                }
                let told = io::copy(&mut reader, &mut io::sink()).err();
                assert_eq!(told.is_some(), is_too_large, "{told:?}");
            }
        }
    }

    #[test]
    fn devices_and_files_above_the_size_limit_are_refused_as_data_sets() {
        let told = open_file(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(told.contains("not a regular file"), "{told}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let told = open_file(&path).unwrap_err().to_string();
        assert!(told.contains("the limit for data sets is 1024 MiB"), "{told}");
    }
}
