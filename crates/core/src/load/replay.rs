//! Replay: requests are due at recorded instants, faster or slower by a factor. Open loop: the
//! server's pace changes nothing. Reading the recording's file is never done here.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{LoadModel, LoadPlan, Open};
use crate::plan::Bound;
use crate::request::sha256_hex;
use crate::summary::PassKind;
use crate::time::Nanos;

/// Recorded arrivals. A plan stores what identifies them; who plays it reads the file again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The file.
    pub file: String,
    /// SHA-256 over its offsets; empty until it has been read.
    pub sha256: String,
    /// How many arrivals it has.
    pub requests: u32,
    /// Offsets from the first arrival, in order.
    #[serde(skip)]
    offsets: Arc<[Nanos]>,
}

/// A line of a recording that is not an instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// Not a number, or below 0.
    #[error(
        "line {line}: `{text}` is not an instant; each line holds the seconds at which one \
         request arrived, from any origin"
    )]
    NotAnInstant {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// No line with an instant.
    #[error("holds no instant; each line holds the seconds at which one request arrived")]
    Empty,
}

impl Recording {
    /// A recording whose file has not been read.
    #[must_use]
    pub fn of_file(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Takes in the file's text: one instant in seconds per line, from any origin, in any order.
    /// Empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The first line that is not an instant.
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

    /// Takes in offsets from the first arrival, which must not go back in time.
    pub fn write(&mut self, offsets: impl IntoIterator<Item = Nanos>) {
        self.offsets = offsets.into_iter().collect();
        self.requests = self.offsets.len() as u32;
        let bytes: Vec<u8> =
            self.offsets.iter().flat_map(|offset| offset.0.to_le_bytes()).collect();
        self.sha256 = sha256_hex(&bytes);
    }

    /// Whether its instants are known.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.requests > 0
    }

    /// How many arrivals are due before this offset, at so many times the recorded speed.
    #[must_use]
    pub fn due_before(&self, end: Nanos, speed: f64) -> u32 {
        self.offsets.partition_point(|offset| at_speed(*offset, speed) < end) as u32
    }

    /// The last offset in seconds.
    fn span_s(&self) -> f64 {
        self.offsets.last().map_or(0.0, |last| last.seconds_after(Nanos::ZERO))
    }
}

/// When an arrival is due that was recorded at this offset.
fn at_speed(offset: Nanos, speed: f64) -> Nanos {
    Nanos((offset.0 as f64 / speed) as u64)
}

/// The plan of a replay.
pub(super) struct ReplayPlan<'a> {
    pub recording: &'a Recording,
    pub speed: f64,
    pub bound: Bound,
}

impl LoadPlan for ReplayPlan<'_> {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn requests(&self) -> Option<u32> {
        let all = self.recording.requests;
        Some(self.bound.requests.map_or(all, |limit| limit.min(all)))
    }

    fn peak_rate(&self) -> f64 {
        // The busiest of equal tenths: one burst does not open connections for all of the time.
        let offsets = &self.recording.offsets;
        let tenth_s = (self.recording.span_s() / 10.0).max(1e-3);
        let mut counts = [0u32; 11];
        for offset in offsets.iter() {
            counts[(offset.seconds_after(Nanos::ZERO) / tenth_s).min(10.0) as usize] += 1;
        }
        f64::from(counts.into_iter().max().unwrap_or(0)) / tenth_s * self.speed
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn at_start(&self) -> Option<u32> {
        Some(0)
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        let limit = self.bound.duration.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        (self.recording.span_s() / self.speed).min(limit)
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        assert_eq!(
            self.recording.offsets.len(),
            self.recording.requests as usize,
            "invariant: a recording is read before it is played"
        );
        let speed = self.speed;
        let offsets = Arc::clone(&self.recording.offsets);
        let due = (0..offsets.len()).map(move |at| at_speed(offsets[at], speed));
        Box::new(Open::new(due, self.bound))
    }
}

impl fmt::Display for ReplayPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name tells people enough, and a folder may be long.
        let file = Path::new(&self.recording.file);
        let name = file.file_name().unwrap_or(file.as_os_str());
        write!(f, "replay of {}", name.display())?;
        if self.speed == 1.0 { Ok(()) } else { write!(f, " at {} times its speed", self.speed) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::Due;

    fn read(text: &str) -> Result<Recording, RecordingError> {
        let mut recording = Recording::of_file("trace.txt");
        recording.read(text).map(|()| recording)
    }

    #[test]
    fn instants_are_offsets_from_the_first_whatever_their_order_and_origin() {
        let recording = read("# seconds\n1700000010.5\n\n1700000010.25\n1700000012.25\n").unwrap();
        assert_eq!(recording.requests, 3);
        let plan = ReplayPlan { recording: &recording, speed: 2.0, bound: Bound::none() };
        let mut load = plan.start(1);
        for expected_ms in [0, 125, 1_000] {
            assert_eq!(load.next_due(), Due::At(Nanos(expected_ms * 1_000_000)));
            load.take();
        }
        assert!(load.next_due() == Due::Never);
        assert_eq!((plan.last_due_s(9.0), plan.requests()), (1.0, Some(3)));
        assert_eq!(plan.to_string(), "replay of trace.txt at 2 times its speed");
    }

    #[test]
    fn as_many_are_due_before_an_offset_as_the_load_has_there() {
        let recording = read("0\n1\n2\n2\n3\n").unwrap();
        for (limit_s, speed) in [(1.0, 1.0), (1.5, 1.0), (1.0, 2.0), (9.0, 1.0)] {
            let duration = Duration::from_secs_f64(limit_s);
            let bound = Bound { requests: None, duration: Some(duration) };
            let mut load = ReplayPlan { recording: &recording, speed, bound }.start(1);
            let mut due = 0;
            while matches!(load.next_due(), Due::At(_)) {
                load.take();
                due += 1;
            }
            assert_eq!(recording.due_before(Nanos::ZERO + duration, speed), due, "{limit_s}");
        }
    }

    #[test]
    fn what_is_no_instant_is_told_with_its_line() {
        assert!(read("0\n1\nsoon\n").unwrap_err().to_string().contains("line 3: `soon`"));
        assert!(read("-1").unwrap_err().to_string().contains("line 1"));
        assert_eq!(read("# nothing\n"), Err(RecordingError::Empty));
    }

    #[test]
    fn a_stored_recording_is_identified_by_its_offsets() {
        let (first, same, other) =
            (read("0\n1\n").unwrap(), read("5\n6\n").unwrap(), read("0\n2\n").unwrap());
        assert_eq!(first.sha256, same.sha256);
        assert_ne!(first.sha256, other.sha256);
        let stored = serde_json::to_string(&first).unwrap();
        assert!(stored.contains(&first.sha256) && !stored.contains("offsets"), "{stored}");
    }
}
