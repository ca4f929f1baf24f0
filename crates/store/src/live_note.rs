//! The live note: the progress of the current pass of a run, for other processes. The log does not contain
//! this progress yet. The note is a small file next to the log. During a pass, it is rewritten about once per
//! second. It is removed when the results of the run are stored; a run that is killed leaves it behind. No
//! figure is computed from the note, and a run also works without the note.

use std::{fs, path::Path};

use inferometer_model::sample::Sample;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The progress of the current pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveNote {
    /// When the note was written, in nanoseconds since the Unix epoch.
    pub at_unix_ns: u64,
    /// The index of the current pass in the run, from 0.
    pub pass: u32,
    /// Requests of the pass that have started.
    pub begun: u64,
    /// Requests of the pass that have ended.
    pub ended: u64,
    /// The number of chunks with output that arrived. The number of tokens in a chunk is known only after the
    /// end of its request.
    pub chunks: u64,
    /// Chunks per second since the previous note; absent in the first note of a pass.
    pub chunks_per_s: Option<f64>,
    /// The last sample of the server and of the cards; absent if there is no sample yet.
    #[serde(rename = "said")]
    pub last_sample: Option<Sample>,
}

impl LiveNote {
    /// Writes the note atomically, so that a reader never finds a partial note.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let fresh = path.with_extension("live.new");
        let text =
            serde_json::to_vec(self).expect("invariant: a note can always be written as JSON");
        fs::write(&fresh, text).map_err(StoreError::io("write", &fresh))?;
        fs::rename(&fresh, path).map_err(StoreError::io("write", path))
    }

    /// Reads the note; `None` if there is no note, or if it cannot be parsed.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Removes the note, if there is one.
    pub fn remove(path: &Path) {
        // A note that cannot be removed does no harm.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_note_is_read_back_as_written_and_is_absent_after_removal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("20261120-051233-ab12.live");
        assert_eq!(LiveNote::read(&path), None);
        let last_sample = Some(Sample::default());
        let chunks_per_s = Some(0.1);
        let note = LiveNote {
            pass: 3,
            begun: 9,
            ended: 4,
            chunks_per_s,
            last_sample,
            ..LiveNote::default()
        };
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
