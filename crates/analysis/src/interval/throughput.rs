//! Computes the confidence interval of a rate over a whole pass, for a load with a constant number of requests in
//! flight.

use inferometer_model::load::KeptConstant;
use inferometer_model::stats::{serial, student_975};

use super::course::Layout;
use super::series::cosines;

/// The 95 % interval of `total / duration_s`. `of` gets the tokens of a completed request, and returns the contribution
/// of this request to the total. `None` in an open loop, where the arrivals determine the rate. In an open loop, the
/// duration varies only because the last answers end earlier or later, and a single pass does not show this variation.
///
/// With c requests in flight, the durations of all requests add up to c times the duration of the pass, except for the
/// idle time at the end. So the error of the total has two parts. One is the error of the sum, over all requests, of
/// `of(tokens) - rate x stay / c`, where `stay` is the duration of the request. The other is the error of the time at
/// which the last requests end.
pub(crate) fn throughput(
    layout: &Layout,
    holds: &KeptConstant,
    duration_s: f64,
    of: impl Fn(u32) -> f64,
) -> Option<[f64; 2]> {
    let KeptConstant::InFlight(in_flight) = *holds else { return None };
    let brought = |tokens: Option<u32>| tokens.map_or(0.0, &of);
    let rate = layout.sent.iter().map(|sent| brought(sent.tokens)).sum::<f64>() / duration_s;
    let share = |sent: &super::course::SentRequest| {
        brought(sent.tokens) - rate * sent.stay_s() / f64::from(in_flight)
    };
    let n = layout.sent.len();
    let middle = &layout.sent[layout.edge..n - layout.edge];
    let series: Vec<f64> = middle.iter().map(share).collect();
    let long = serial::long_run(&series, None, cosines(layout, series.len()), 0.0)?;
    let mut variance = long.variance * n as f64;
    if layout.edge > 1 {
        let ends: Vec<f64> = layout.sent[n - layout.edge..]
            .iter()
            .map(|sent| sent.ended.seconds_after(layout.sent[0].send))
            .collect();
        let mean = ends.iter().sum::<f64>() / ends.len() as f64;
        let squares: f64 = ends.iter().map(|end| (end - mean).powi(2)).sum();
        let k = ends.len() as f64;
        variance += rate * rate * squares / (k - 1.0) / k;
    }
    let half = student_975(long.degrees) * variance.sqrt() / duration_s;
    (half <= rate).then_some([rate - half, rate + half])
}
