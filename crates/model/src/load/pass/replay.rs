//! Replay: requests are due at recorded instants, faster or slower by a factor. A replay is an open loop:
//! its due times do not depend on the server. This module does not read the file of the recording.

use std::{fmt, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Open;
use crate::load::model::{Due, KeptConstant, LoadModel, LoadPlan};
use crate::load::recording::{Recording, at_speed};
use crate::{Bound, Nanos, OverLimit, PassKind};

/// The description of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayPlan {
    /// The recorded times.
    pub recording: Recording,
    /// The speed relative to the recording: 2 halves all gaps.
    pub speed: f64,
    /// When the pass stops starting requests, if this is before the end of the recording.
    pub bound: Bound,
    /// The maximum number of requests in flight; `None`: no limit.
    pub max_in_flight: Option<u32>,
    /// What happens to requests that are due while this limit is reached.
    pub over_limit: OverLimit,
}

impl ReplayPlan {
    /// The offsets of the arrivals that are sent.
    fn sent(&self) -> &[Nanos] {
        let offsets = &self.recording.offsets;
        &offsets[..offsets.len().min(self.requests().map_or(0, |count| count as usize))]
    }
}

impl LoadPlan for ReplayPlan {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn requests(&self) -> Option<u32> {
        let all = self.recording.requests;
        Some(self.bound.requests.map_or(all, |limit| limit.min(all)))
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn limit(&self) -> (Option<u32>, OverLimit) {
        (self.max_in_flight, self.over_limit)
    }

    fn peak_rate(&self) -> f64 {
        // The rate in the tenth of the recording with the most arrivals. If the peak of a short burst
        // were used, too many connections would be opened for the rest of the pass.
        let offsets = self.sent();
        let tenth_s = (span_s(offsets) / 10.0).max(1e-3);
        let mut counts = [0u32; 11];
        for offset in offsets {
            counts[(offset.seconds_after(Nanos::ZERO) / tenth_s).min(10.0) as usize] += 1;
        }
        f64::from(counts.into_iter().max().unwrap_or(0)) / tenth_s * self.speed
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn keeps_constant(&self) -> KeptConstant {
        KeptConstant::Nothing("recorded arrivals do not have a constant rate: use --repeat")
    }

    fn at_start(&self) -> Option<u32> {
        Some(0)
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        let limit = self.bound.duration.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        (span_s(self.sent()) / self.speed).min(limit)
    }

    fn first_due(&self, _seed: u64) -> Due {
        // Offsets count from the first arrival.
        Due::At(Nanos::ZERO)
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        assert_eq!(
            self.recording.offsets.len(),
            self.recording.requests as usize,
            "invariant: a recording is read before the pass"
        );
        let speed = self.speed;
        let offsets = Arc::clone(&self.recording.offsets);
        let due = (0..offsets.len()).map(move |at| at_speed(offsets[at], speed));
        Box::new(Open::new(due, self.bound))
    }
}

/// The time from the first to the last arrival, in seconds, at the recorded speed.
fn span_s(offsets: &[Nanos]) -> f64 {
    offsets.last().map_or(0.0, |last| last.seconds_after(Nanos::ZERO))
}

impl fmt::Display for ReplayPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the name of the file is shown, because its path may be long.
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
    use crate::load::recording::RecordingError;

    fn read(text: &str) -> Result<Recording, RecordingError> {
        let mut recording = Recording::of_file("trace.txt");
        recording.read(text).map(|()| recording)
    }

    fn plan(recording: &Recording, speed: f64, bound: Bound) -> ReplayPlan {
        let recording = recording.clone();
        ReplayPlan { recording, speed, bound, max_in_flight: None, over_limit: OverLimit::Queue }
    }

    #[test]
    fn recorded_timestamps_become_sorted_offsets_from_the_earliest_one() {
        let recording = read("# seconds\n1700000010.5\n\n1700000010.25\n1700000012.25\n").unwrap();
        assert_eq!(recording.requests, 3);
        let plan = plan(&recording, 2.0, Bound::none());
        let mut load = plan.start(1);
        for expected_ms in [0, 125, 1_000] {
            assert_eq!(load.next_due(), Due::At(Nanos(expected_ms * 1_000_000)));
            load.take();
        }
        assert!(load.next_due() == Due::Never);
        assert_eq!((plan.last_due_s(9.0), plan.requests()), (1.0, Some(3)));
        let plan = ReplayPlan { bound: Bound::requests(2), ..plan };
        assert_eq!((plan.last_due_s(9.0), plan.requests()), (0.125, Some(2)));
        let plan = ReplayPlan { bound: Bound::none(), ..plan };
        assert_eq!(plan.to_string(), "replay of trace.txt at 2 times its speed");
    }

    #[test]
    fn the_first_due_time_of_a_stored_replay_is_that_of_the_replay_itself() {
        let recording = read("5\n7\n").unwrap();
        let own = plan(&recording, 2.0, Bound::none());
        let text = serde_json::to_string(&own).unwrap();
        let stored: ReplayPlan = serde_json::from_str(&text).unwrap();
        assert_eq!(own.first_due(1), own.start(1).next_due());
        assert_eq!(stored.first_due(1), own.first_due(1));
    }

    #[test]
    fn due_before_returns_the_number_of_requests_that_are_due_before_a_time() {
        let recording = read("0\n1\n2\n2\n3\n").unwrap();
        for (limit_s, speed) in [(1.0, 1.0), (1.5, 1.0), (1.0, 2.0), (9.0, 1.0)] {
            let duration = Duration::from_secs_f64(limit_s);
            let bound = Bound { requests: None, duration: Some(duration) };
            let mut load = plan(&recording, speed, bound).start(1);
            let mut due = 0;
            while matches!(load.next_due(), Due::At(_)) {
                load.take();
                due += 1;
            }
            assert_eq!(recording.due_before(Nanos::ZERO + duration, speed), due, "{limit_s}");
        }
    }

    #[test]
    fn an_invalid_timestamp_is_an_error_with_its_line_number() {
        assert!(read("0\n1\nsoon\n").unwrap_err().to_string().contains("line 3: `soon`"));
        assert!(read("-1").unwrap_err().to_string().contains("line 1"));
        assert_eq!(read("# nothing\n"), Err(RecordingError::Empty));
    }

    #[test]
    fn a_stored_recording_has_a_hash_of_its_offsets_but_not_the_offsets() {
        let (first, same, other) =
            (read("0\n1\n").unwrap(), read("5\n6\n").unwrap(), read("0\n2\n").unwrap());
        assert_eq!(first.sha256, same.sha256);
        assert_ne!(first.sha256, other.sha256);
        let stored = serde_json::to_string(&first).unwrap();
        assert!(stored.contains(&first.sha256) && !stored.contains("offsets"), "{stored}");
    }
}
