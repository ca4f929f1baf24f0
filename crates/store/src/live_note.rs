//! What a run says of itself while it goes on, beside its log: what is under way and not recorded
//! yet. A small file that is written anew every second, and gone when the run is over. No figure
//! comes from it, and a run without it is whole.

use std::fs;
use std::path::Path;

use inferometer_model::sample::Sample;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// The note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveNote {
    /// When it was written, in nanoseconds since the Unix epoch.
    pub at_unix_ns: u64,
    /// The pass that goes on.
    pub pass: u32,
    /// Requests begun.
    pub begun: u64,
    /// Requests that are over.
    pub ended: u64,
    /// Chunks with output that came: of how many tokens is known when a request is over.
    pub chunks: u64,
    /// The same per second since the note before; absent in the first.
    pub chunks_per_s: Option<f64>,
    /// What the server and the cards said last.
    pub said: Option<Sample>,
}

impl LiveNote {
    /// Writes it whole or not at all, so that a reader never meets half of one.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let fresh = path.with_extension("live.new");
        let text = serde_json::to_vec(self).expect("invariant: a note is plain data");
        fs::write(&fresh, text).map_err(StoreError::io("write", &fresh))?;
        fs::rename(&fresh, path).map_err(StoreError::io("write", path))
    }

    /// Reads it; nothing where there is none, or one of another version of this program.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Takes it away, if there is one.
    pub fn remove(path: &Path) {
        // It is of no use any more, and does no harm where it stays.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_gone_when_it_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("20261120-051233-ab12.live");
        assert_eq!(LiveNote::read(&path), None);
        let said = Some(Sample::default());
        let chunks_per_s = Some(0.1);
        let note =
            LiveNote { pass: 3, begun: 9, ended: 4, chunks_per_s, said, ..LiveNote::default() };
        note.write(&path).unwrap();
        note.write(&path).unwrap();
        assert_eq!(LiveNote::read(&path), Some(note));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(&path, "{").unwrap();
        assert_eq!(LiveNote::read(&path), None);
        LiveNote::remove(&path);
        assert!(!path.exists());
    }
}
