//! The end of a closed loop, while the last answers run and nothing follows them.
//!
//! If the lengths of answers vary much, the duration of a pass depends on when the longest of the last answers ends. One
//! pass shows this time once. So it is simulated: each place in flight takes the stay of a random request of the pass
//! whenever it is free (a bootstrap of list scheduling).

use std::{cmp::Reverse, collections::BinaryHeap};

use inferometer_model::stats::seed;

use super::{
    contribution::{VARIED, variance},
    course::Layout,
    sent::SentRequest,
};

/// Each simulation has this many requests per place in flight. By then, the start is forgotten.
const STAYS: usize = 4;
/// The number of simulations, and the largest number of simulated requests (but at least a fifth of the simulations).
const SIMULATIONS: usize = 100;
const MOST_REQUESTS: usize = 1 << 20;

/// The additional variance of a sum over all requests, in a pass whose duration includes the drain: the variance of
/// `sum of share(request) - rate x idle time`, minus that of the sum alone. `rate` is per second of a place, and the
/// idle time is that of all places while the last answers end. The second number is the part of it that sums above the
/// mean have, from 0 to 1: very long drains are more frequent than very short ones. `None` if the stays vary too little.
pub(super) fn variance_of_drain(
    layout: &Layout,
    duration_s: f64,
    rate: f64,
    share: impl Fn(usize) -> f64,
) -> Option<(f64, f64)> {
    let (sent, places) = (&layout.sent, layout.in_flight);
    let stays: Vec<f64> = sent.iter().map(SentRequest::stay_s).collect();
    let sum: f64 = stays.iter().sum();
    let mean = sum / sent.len() as f64;
    let middle = &stays[layout.edge..stays.len() - layout.edge];
    if places < 2 || variance(middle).sqrt() < VARIED * mean {
        return None;
    }
    let draws = sent.len().min(STAYS * places);
    let simulations = (MOST_REQUESTS / draws).clamp(SIMULATIONS / 5, SIMULATIONS);
    let mut rng = seed::rng(0, &["drain"]);
    let (mut shares, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..simulations {
        let mut free: BinaryHeap<Reverse<u64>> = (0..places).map(|_| Reverse(0)).collect();
        let mut of_all = 0.0;
        for _ in 0..draws {
            let rank = seed::below(&mut rng, sent.len() as u64) as usize;
            let request = &sent[rank];
            of_all += share(rank);
            if let Some(mut next) = free.peek_mut() {
                next.0 += match &layout.work {
                    Some(work) => (1e9 * work.drawn_s(rank, &mut rng)) as u64,
                    None => request.ended.since(request.send).as_nanos() as u64,
                };
            }
        }
        let last = free.iter().map(|at| at.0).max().unwrap_or(0);
        idle.push(free.iter().map(|at| (last - at.0) as f64 / 1e9).sum::<f64>());
        shares.push(of_all);
    }
    // Fewer requests in flight are answered faster, which the simulation does not know. If the pace of tokens does not show
    // by how much, the drain of this pass does, but only once; so only the cube root of the ratio is taken from it.
    let simulated_s = idle.iter().sum::<f64>() / simulations as f64;
    let measured_s = (places as f64 * duration_s - sum).max(0.0);
    let faster = match &layout.work {
        Some(work) => work.pace_of_drain,
        None => (measured_s / simulated_s).cbrt(),
    };
    let of_both: Vec<f64> =
        shares.iter().zip(&idle).map(|(share, idle)| share - rate * faster * idle).collect();
    let mean = of_both.iter().sum::<f64>() / simulations as f64;
    let squares: Vec<f64> = of_both.iter().map(|of| (of - mean).powi(2)).collect();
    let above: f64 =
        of_both.iter().zip(&squares).filter(|(of, _)| **of > mean).map(|(_, it)| it).sum();
    let all: f64 = squares.iter().sum();
    let above = if all > 0.0 { above / all } else { 0.5 };
    Some(((variance(&of_both) - variance(&shares)).max(0.0), above))
}
