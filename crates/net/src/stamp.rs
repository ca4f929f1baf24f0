//! Receive timestamps of the kernel ("stamps"), converted from the wall clock to the monotonic axis.

use std::{net::UdpSocket, time::Duration};

use inferometer_model::Nanos;

use crate::sys;

/// The offset between the clocks is measured again when the last measurement is older than this, in ns. A
/// wall clock that is slewed moves by at most 500 ppm: 50 us in this time.
const OFFSET_LIFETIME_NS: u64 = 100_000_000;

/// If the offset changes by more than this, in ns, slewing cannot explain the change: the wall clock was set.
const STEP_NS: i64 = 500_000;

/// Counts of clock steps and of rejected stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampStats {
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Stamps that were rejected because they were outside the interval in which the data can have arrived.
    pub implausible: u64,
}

/// Keeps the kernel's receive time stamps switched on.
///
/// The kernel switches stamps on when a first socket requests them, and off when the last such socket closes.
/// A work queue of the kernel does this, with a delay. Data that arrives during the delay has no stamp. So
/// one socket requests stamps during the whole life of this value. At the beginning, this socket sends
/// datagrams to itself until one of them has a stamp.
pub struct StampKeeper {
    _socket: UdpSocket,
}

/// The maximum number of datagrams that [`StampKeeper::new`] sends, with a pause after each. If none of them
/// has a stamp, reads may have no kernel stamps.
const FIRST_STAMP_TRIES: u32 = 50;
const FIRST_STAMP_PAUSE: Duration = Duration::from_millis(1);

impl StampKeeper {
    /// Switches stamping on; `None` if that is not possible.
    pub fn new() -> Option<Self> {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).ok()?;
        socket.connect(socket.local_addr().ok()?).ok()?;
        sys::enable_receive_stamps(&socket).ok()?;
        for _ in 0..FIRST_STAMP_TRIES {
            socket.send(&[0]).ok()?;
            let received = sys::receive(&socket, &mut [0]);
            if received.is_ok_and(|received| received.wall_stamp.is_some()) {
                break;
            }
            std::thread::sleep(FIRST_STAMP_PAUSE);
        }
        Some(Self { _socket: socket })
    }
}

/// The present time of the monotonic clock, for code without a [`crate::Net`].
pub fn monotonic_now() -> Nanos {
    Nanos(sys::monotonic_ns())
}

/// The present time of the wall clock: nanoseconds since 1970, UTC.
pub fn wall_clock_ns() -> u64 {
    sys::realtime_ns()
}

/// Converts wall-clock stamps to the monotonic axis.
#[derive(Debug)]
pub struct Converter {
    /// Wall clock minus monotonic clock.
    offset_ns: i64,
    measured_at: u64,
    pub(crate) stats: StampStats,
}

impl Converter {
    /// Measures the offset for the first time.
    pub fn new() -> Self {
        let (offset_ns, measured_at) = measure_offset();
        Self { offset_ns, measured_at, stats: StampStats::default() }
    }

    /// Measures the offset again if the last measurement is old.
    pub fn refresh(&mut self, now: Nanos) {
        if now.0.saturating_sub(self.measured_at) > OFFSET_LIFETIME_NS {
            let (offset_ns, measured_at) = measure_offset();
            if (offset_ns - self.offset_ns).abs() > STEP_NS {
                self.stats.clock_steps += 1;
            }
            (self.offset_ns, self.measured_at) = (offset_ns, measured_at);
        }
    }

    /// Returns the stamp on the monotonic axis. It must be between `empty_before`, when the socket is known
    /// to have been empty, and `user`, the time of the read. Otherwise, for example after a step of the
    /// clock, the stamp is counted as implausible and the result is `None`.
    pub fn convert(&mut self, wall_ns: u64, empty_before: Nanos, user: Nanos) -> Option<Nanos> {
        let stamp = Nanos(wall_ns.wrapping_sub_signed(self.offset_ns));
        // The two clocks are read one after the other, so almost equal instants may appear in the wrong
        // order.
        const TOLERANCE_NS: u64 = 2_000;
        let plausible =
            stamp.0 + TOLERANCE_NS >= empty_before.0 && stamp.0 <= user.0 + TOLERANCE_NS;
        if !plausible {
            self.stats.implausible += 1;
            return None;
        }
        Some(stamp.clamp(empty_before.min(user), user))
    }
}

/// Returns wall clock minus monotonic clock, and the monotonic time of the measurement. Measures five times,
/// and uses the measurement with the least time between its two readings of the monotonic clock.
fn measure_offset() -> (i64, u64) {
    (0..5)
        .map(|_| {
            let before = sys::monotonic_ns();
            let wall = sys::realtime_ns();
            let after = sys::monotonic_ns();
            let middle = before + (after - before) / 2;
            (after - before, wall as i64 - middle as i64, after)
        })
        .min()
        .map(|(_, offset, at)| (offset, at))
        .expect("invariant: the clocks were read at least once")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converter(offset_ns: i64) -> Converter {
        Converter { offset_ns, measured_at: 0, stats: StampStats::default() }
    }

    #[test]
    fn a_kernel_timestamp_is_shifted_by_the_clock_offset() {
        let mut stamps = converter(1_000_000_000_000);
        let stamp = stamps.convert(1_000_000_050_000, Nanos(10_000), Nanos(90_000));
        assert_eq!(stamp, Some(Nanos(50_000)));
    }

    #[test]
    fn a_kernel_timestamp_outside_its_interval_is_counted_and_not_used() {
        let mut stamps = converter(0);
        assert_eq!(stamps.convert(5_000, Nanos(10_000), Nanos(90_000)), None);
        assert_eq!(stamps.convert(95_000, Nanos(10_000), Nanos(90_000)), None);
        assert_eq!(stamps.stats.implausible, 2);
    }

    #[test]
    fn a_kernel_timestamp_shortly_after_its_read_is_set_to_the_read_time() {
        let mut stamps = converter(0);
        assert_eq!(stamps.convert(90_500, Nanos(10_000), Nanos(90_000)), Some(Nanos(90_000)));
    }
}
