//! The finding that requests waited for the writer of records. Records show such a wait only as send_delay, which is
//! not judged in closed loops.

use std::time::Duration;

use inferometer_model::{Finding, Process, code};

/// The finding that requests had to wait because records were not yet written; `None` if none had to wait.
pub fn writer_finding(process: &Process) -> Option<Finding> {
    let Process { waits_for_writer: count, waited_for_writer_us, wall_us, .. } = *process;
    let waited = Duration::from_micros(waited_for_writer_us);
    let share = 100.0 * waited_for_writer_us as f64 / wall_us.max(1) as f64;
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let message = format!(
        "Requests that were due waited {times} for records to be written, {:.3} s in total, \
            {share:.1} % of the pass. In this time fewer requests were in flight than planned, and \
            the waiting ones were sent late (send_delay).",
        waited.as_secs_f64()
    );
    (count > 0).then(|| Finding::of(code::WAITED_FOR_WRITER, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_duration_of_waits_for_the_writer_are_reported() {
        let process = Process { wall_us: 10_000_000, ..Process::default() };
        assert_eq!(writer_finding(&process), None);
        let waited = Process { waits_for_writer: 3, waited_for_writer_us: 250_000, ..process };
        let told = writer_finding(&waited).unwrap();
        assert_eq!(told.code, "waited_for_writer");
        assert!(told.message.contains("3 times") && told.message.contains("0.250 s in total"));
        assert!(told.message.contains("2.5 % of the pass"), "{}", told.message);
    }
}
