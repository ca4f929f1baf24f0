//! Reads any bytes as a run log, up to the first error. The reader must not panic. The fuzzer's own memory limit shows
//! whether the reader takes too much memory.

use std::io::Write;

use inferometer_store::log::LogReader;

pub fn check(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("the file is writable");
    let Ok(entries) = LogReader::open(file.path()) else { return };
    for entry in entries {
        if entry.is_err() {
            break;
        }
    }
}
