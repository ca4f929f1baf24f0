//! Reads whole files up to a size limit, because a device or a pipe may have no end. Files that are read
//! several times are opened with [`open`], which accepts only regular files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The size limit of a settings file (a plan, a profile, a template, certificates), in bytes: 16 MiB.
pub const MAX_SETTINGS_BYTES: usize = 16 << 20;
/// The size limit of a file of results or of arrivals, in bytes (256 MiB).
pub const MAX_RESULTS_BYTES: usize = 256 << 20;

/// The character with which some programs begin a text. It is no part of the text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// Opens a regular file.
///
/// # Errors
/// When the path is not a regular file, or cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        let what = "it is a pipe or a device, not a regular file; write its content to a file \
            first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    File::open(path)
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// When the file is larger, or cannot be read.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        let what = format!("it is larger than the limit of {} MiB", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Reads a text file of at most `limit` bytes, without a byte order mark.
///
/// # Errors
/// The errors of [`read`], and an error when the content is not UTF-8.
pub fn read_text(path: &Path, limit: usize) -> io::Result<String> {
    // The same message as that of `std::fs::read_to_string`.
    let no_text =
        |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    let mut text = String::from_utf8(read(path, limit)?).map_err(no_text)?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_folders_and_files_above_the_size_limit_are_not_read() {
        let told = open(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(told.contains("not a regular file"), "{told}");
        let told = read(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
        assert!(told.contains("the limit of 1 MiB"), "{told}");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path(), 1).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        let file = folder.path().join("long");
        fs::write(&file, vec![b'x'; (1 << 20) + 1]).unwrap();
        let told = read(&file, 1 << 20).unwrap_err().to_string();
        assert!(told.contains("the limit of 1 MiB"), "{told}");
        assert_eq!(read(&file, (1 << 20) + 1).unwrap().len(), (1 << 20) + 1);
        fs::write(&file, "\u{feff}a\u{feff}").unwrap();
        assert_eq!(read_text(&file, 9).unwrap(), "a\u{feff}");
        fs::write(&file, [0xff]).unwrap();
        assert!(read_text(&file, 9).unwrap_err().to_string().contains("UTF-8"));
    }
}
