//! The resolution of the log: instants in whole ticks, and widths of arrival intervals in steps.
//!
//! Every figure has the resolution of the log. Even during a run, figures are computed from the records as
//! the log stores them. So a report that is made again later has the same figures.

use inferometer_model::{Nanos, Record, record::Read};

/// The resolution of a stored instant: 100 ns. Time stamps of the kernel, and the time from the kernel to
/// the program, vary by microseconds, so this resolution loses no information. Two bytes cover a range of
/// 6.5 ms.
pub const TICK_NS: u64 = 100;

/// Widths below this number of ticks are stored exactly. All other widths are rounded up to the next step.
/// The number of steps per octave is half of this number.
const EXACT_WIDTHS: u64 = 64;
const STEPS: u64 = EXACT_WIDTHS / 2;
/// The number of the last octave that an instant can reach.
const LAST_SHIFT: u64 = ((u64::MAX / TICK_NS).ilog2() - STEPS.ilog2()) as u64;

/// The number of whole ticks in an instant.
pub(super) fn ticks(at: Nanos) -> u64 {
    at.0 / TICK_NS
}

/// The code of a width in ticks: exact below 6.4 us; from 6.4 us on, rounded up to the next of 32 steps per
/// octave. So a stored width is never smaller than the width, and at most 1/32 larger.
pub(super) fn width_code(width: u64) -> u64 {
    if width < EXACT_WIDTHS {
        return width;
    }
    let shift = u64::from(width.ilog2() - STEPS.ilog2());
    let above = width.div_ceil(1 << shift) - STEPS;
    // A width that is rounded up to the next octave has `above == STEPS`, which is the first code of that
    // octave.
    EXACT_WIDTHS + (shift - 1) * STEPS + above
}

/// The width in ticks of a code; `None` for an invalid code.
pub(super) fn width_of(code: u64) -> Option<u64> {
    if code < EXACT_WIDTHS {
        return Some(code);
    }
    let (shift, above) = ((code - EXACT_WIDTHS) / STEPS + 1, (code - EXACT_WIDTHS) % STEPS);
    (shift <= LAST_SHIFT).then(|| (STEPS + above) << shift)
}

/// The start of an arrival interval in ticks, given its end and the code of its width; `None` for an invalid
/// code.
pub(super) fn empty_before(arrival: u64, code: u64) -> Option<u64> {
    width_of(code).map(|width| arrival.saturating_sub(width))
}

/// The code of the width of a read's arrival interval. An interval that ends before it begins (if two
/// clocks disagree) has width zero.
pub(super) fn read_width_code(read: &Read) -> u64 {
    width_code(ticks(read.arrival()).saturating_sub(ticks(read.empty_before)))
}

/// Returns the record as the log stores it. Instants are rounded down to whole ticks of [`TICK_NS`]. Then
/// [`Read::empty_before`] is moved back, never forward, until the log can store the width of the interval: by
/// at most 1/32 of the width. An interval that would end before it begins gets width zero. Everything else is
/// unchanged.
///
/// Storing is idempotent: `as_stored(as_stored(r)) == as_stored(r)`.
pub fn as_stored(record: &Record) -> Record {
    into_stored(record.clone())
}

/// As [`as_stored`], without a copy.
pub fn into_stored(mut record: Record) -> Record {
    let cut = |at: Nanos| Nanos(ticks(at) * TICK_NS);
    for read in &mut record.reads {
        let start = empty_before(ticks(read.arrival()), read_width_code(read))
            .expect("invariant: the code of a width can be decoded");
        *read = Read {
            kernel: read.kernel.map(cut),
            user: cut(read.user),
            empty_before: Nanos(start * TICK_NS),
            bytes: read.bytes,
        };
    }
    Record {
        due: cut(record.due),
        picked: record.picked.map(cut),
        connected: record.connected.map(cut),
        send_start: record.send_start.map(cut),
        sent: record.sent.map(cut),
        headers: record.headers.map(cut),
        ended: record.ended.map(cut),
        ..record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encoding_never_shrinks_a_width_and_enlarges_it_by_at_most_one_part_in_32() {
        let edges = (0..58)
            .flat_map(|bit| [-1_i64, 0, 1, 2].map(|by| (1_u64 << bit).saturating_add_signed(by)));
        for width in (0..10_000).chain(edges) {
            let stored = width_of(width_code(width)).expect("a code of a width");
            assert!(stored >= width, "{width} became {stored}");
            assert!(stored - width <= width / 32, "{width} became {stored}");
        }
    }

    #[test]
    fn width_codes_out_of_range_are_refused() {
        let widest = width_code(u64::MAX / TICK_NS);
        assert!(width_of(widest).is_some());
        assert_eq!(width_of(widest + 32), None);
        assert_eq!(width_of(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn encoding_the_width_of_a_code_gives_the_same_code(code in 0_u64..1728) {
            let width = width_of(code).expect("a code in range");
            prop_assert_eq!(width_code(width), code);
        }

        #[test]
        fn a_wider_interval_never_has_a_smaller_code(a in 0..u64::MAX / 100, b in 0..u64::MAX / 100) {
            let (small, large) = (a.min(b), a.max(b));
            prop_assert!(width_code(small) <= width_code(large));
        }
    }
}
