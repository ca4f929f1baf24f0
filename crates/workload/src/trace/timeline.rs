//! Determines which rows of a trace are sent, and when. Rows are sorted by time, limited to a window, and
//! scaled in rate. The result depends only on the rows, the window and the scale.
//!
//! **Scale and speed.** `--replay-speed 2` halves the time between requests: a burst of ten minutes
//! becomes a burst of five minutes, and the trace takes half the time. `--trace-scale F` does not change
//! the duration: every interval has F times as many requests as in the recorded trace. So each interval
//! has the same share of all requests as before. Bursts have the same length, and the same height
//! relative to the mean rate.
//!
//! Request j of the scaled trace corresponds to the position j / F in the recorded trace. It has the
//! lengths of the row at this position, and is due between the times of this row and of the next row.
//! Other methods are less exact: for F below 1, a random selection of rows adds noise; for F above 1,
//! shifted copies of the trace make bursts flatter.

use std::time::Duration;

use inferometer_model::Nanos;
use inferometer_plan::TraceWindow;

use super::row::{Row, Rows};

/// One request that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the request is due, as an offset from the first selected row.
    pub due: Nanos,
    /// The row with its lengths and hashes.
    pub row: Row,
    /// The number of earlier requests that were made from the same row. Requests of different copies
    /// share no prefix, as if they came from different services.
    pub copy: u32,
}

/// The requests of a trace that are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The requests, in the order in which they are due.
    pub arrivals: Vec<Arrival>,
    /// The number of rows with an arrival time before that of an earlier row of the file.
    pub out_of_order: u64,
    /// The number of rows before the window.
    pub before: u64,
    /// The number of rows at or after the end of the window.
    pub behind: u64,
    /// The number of requests that are due at the same time as the previous request.
    pub simultaneous: u64,
}

impl Timeline {
    /// Selects the requests that are sent. The window is relative to the time of the earliest row. If it
    /// contains no row, there are no requests.
    pub fn of(rows: &Rows, window: TraceWindow, scale: f64) -> Self {
        let mut order: Vec<Row> = rows.rows.clone();
        let mut latest = i64::MIN;
        let mut out_of_order = 0;
        for row in &order {
            out_of_order += u64::from(row.at_ns < latest);
            latest = latest.max(row.at_ns);
        }
        order.sort_by_key(|row| row.at_ns);
        let origin = order.first().map_or(0, |row| row.at_ns);
        let since = |row: &Row| Duration::from_nanos(row.at_ns.abs_diff(origin));
        let before = order.partition_point(|row| since(row) < window.from);
        let all = order.len();
        order.retain(|row| window.holds(since(row)));
        let arrivals = scaled(&order, scale);
        let simultaneous = arrivals.windows(2).filter(|pair| pair[0].due == pair[1].due).count();
        Self {
            out_of_order,
            before: before as u64,
            behind: (all - order.len() - before) as u64,
            simultaneous: simultaneous as u64,
            arrivals,
        }
    }
}

/// Makes the requests for these rows, at `scale` times the rate of the rows. `rows` must be sorted by
/// time.
fn scaled(rows: &[Row], scale: f64) -> Vec<Arrival> {
    let Some((first, last)) = rows.first().zip(rows.last()) else { return Vec::new() };
    let offset = |row: &Row| row.at_ns.abs_diff(first.at_ns);
    // The end of the trace is one mean interval (between two rows) after the last row. So copies of the
    // last row are spread over time, as copies of other rows are.
    let end = offset(last).saturating_add(offset(last) / (rows.len() as u64 - 1).max(1));
    let count = (rows.len() as f64 * scale).round().max(1.0) as usize;
    let mut arrivals: Vec<Arrival> = Vec::with_capacity(count);
    let mut copies = (usize::MAX, 0);
    for number in 0..count {
        let position = number as f64 / scale;
        let at = (position as usize).min(rows.len() - 1);
        copies = if copies.0 == at { (at, copies.1 + 1) } else { (at, 0) };
        let (row, here) = (rows[at], offset(&rows[at]));
        let next = rows.get(at + 1).map_or(end, offset);
        let part = (position - at as f64).clamp(0.0, 1.0);
        let due = Nanos(here + ((next - here) as f64 * part) as u64);
        arrivals.push(Arrival { due, row, copy: copies.1 });
    }
    arrivals
}
