//! A run log of any bytes: its records, or an error that says where it is damaged; it never panics, and takes no
//! memory that the file does not account for.

use std::io::Write;

use inferometer_store::log::LogReader;

pub fn check(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("it takes them");
    let Ok(entries) = LogReader::open(file.path()) else { return };
    for entry in entries {
        if entry.is_err() {
            break;
        }
    }
}
