//! Recorded arrivals: their offsets from the first arrival, and the hash of these offsets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Nanos, sha256::sha256_hex};

/// Recorded arrivals. A plan stores the file, the hash and the number of arrivals. The arrivals are read again for
/// each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The path of the file with the arrival times, or the name of a fetched data set with them.
    pub file: String,
    /// SHA-256 over the offsets, in hexadecimal; empty until the file has been read.
    pub sha256: String,
    /// The number of arrivals; 0 until the file has been read.
    pub requests: u32,
    /// Offsets from the first arrival, in order.
    #[serde(skip)]
    pub(crate) offsets: Arc<[Nanos]>,
}

/// Why a text is not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// A line is not a finite number of at least 0.
    #[error(
        "line {line}: `{text}` is not a time; each line must have the arrival time of one request: \
            a number of at least 0, in seconds from any origin"
    )]
    NotAnInstant {
        /// The number of the line, from 1.
        line: usize,
        /// The first 40 characters of the line.
        text: String,
    },
    /// No line contains an instant.
    #[error("contains no time; each line must have the arrival time of one request, in seconds")]
    Empty,
}

impl Recording {
    /// A recording whose file has not been read.
    pub fn of_file(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Parses the file's text: one instant per line, in seconds from any origin, in any order. Empty lines
    /// and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// If a line is not an instant (the error states the first such line), or if there is no instant.
    pub fn read(&mut self, text: &str) -> Result<(), RecordingError> {
        let mut seconds = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.parse::<f64>() {
                Ok(second) if second.is_finite() && second >= 0.0 => seconds.push(second),
                _ => {
                    let text = line.chars().take(40).collect();
                    return Err(RecordingError::NotAnInstant { line: number + 1, text });
                }
            }
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let first = *seconds.first().ok_or(RecordingError::Empty)?;
        let offset = |second: &f64| Nanos(((second - first) * 1e9).round() as u64);
        self.write(seconds.iter().map(offset));
        Ok(())
    }

    /// Sets the offsets from the first arrival, which must be in order of time.
    pub fn write(&mut self, offsets: impl IntoIterator<Item = Nanos>) {
        self.offsets = offsets.into_iter().collect();
        self.requests = self.offsets.len() as u32;
        let bytes: Vec<u8> =
            self.offsets.iter().flat_map(|offset| offset.0.to_le_bytes()).collect();
        self.sha256 = sha256_hex(&bytes);
    }

    /// Whether the number of arrivals is known: the file has been read, now or before the plan was stored.
    pub fn is_read(&self) -> bool {
        self.requests > 0
    }

    /// The number of arrivals that are due before the offset `end`, at `speed` times the recorded speed.
    pub fn due_before(&self, end: Nanos, speed: f64) -> u32 {
        self.offsets.partition_point(|offset| at_speed(*offset, speed) < end) as u32
    }
}

/// The due time of an arrival with the recorded offset `offset`, at `speed` times the recorded speed.
pub(crate) fn at_speed(offset: Nanos, speed: f64) -> Nanos {
    Nanos((offset.0 as f64 / speed) as u64)
}
