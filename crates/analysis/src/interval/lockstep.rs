//! Recognises requests in lockstep: arrivals above the capacity with a limit of requests in flight, and equally long
//! answers.
//!
//! A request is sent when another one ends. If all answers take equally long, each wave (as many requests as are in
//! flight) is sent at the times of the wave before, shifted by one stay. So the pass repeats one random pattern, which
//! follows from the first arrivals. A longer pass shows no other pattern. What other patterns would give is estimated
//! from the differences between the places of one wave: the phases are the sample, not the requests.

use inferometer_model::Nanos;

use super::sent::SentRequest;

/// If the gaps between the sends of two successive waves are correlated at least this much, they are the same gaps.
pub(super) const ALIKE: f64 = 0.8;
/// With fewer phases, they do not show how much patterns differ. Also needed: half as many as requests in flight.
const FEWEST_PHASES: usize = 8;

/// How the requests of a pass run in lockstep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lockstep {
    /// The number of different send times in a wave.
    pub phases: usize,
    /// The mean time of a token, as a share of the mean stay of a request.
    pub token: f64,
}

impl Lockstep {
    /// `None` if the gaps between sends do not repeat from wave to wave.
    pub(super) fn of(sent: &[SentRequest], in_flight: usize) -> Option<Self> {
        let gap = |pair: &[SentRequest]| pair[1].send.seconds_after(pair[0].send);
        let gaps: Vec<f64> = sent.windows(2).map(gap).collect();
        let later = gaps.get(2 * in_flight..).filter(|later| later.len() >= in_flight)?;
        let earlier = &gaps[in_flight..gaps.len() - in_flight];
        if correlation(earlier, later) < ALIKE {
            return None;
        }
        let (token, token_s) = token(sent);
        // Requests of one phase are sent in the same step of the server, which takes about as long as a token.
        let wave = &later[later.len() - in_flight..];
        let phases = wave.iter().filter(|&&gap| gap > token_s / 2.0).count();
        Some(Self { phases, token })
    }

    pub(super) fn has_enough(&self, in_flight: usize) -> bool {
        self.phases >= FEWEST_PHASES.max(in_flight / 2)
    }
}

/// The mean time of a token, as a share of the mean stay of a request, and in seconds.
fn token(sent: &[SentRequest]) -> (f64, f64) {
    let tokens: f64 = sent.iter().filter_map(|sent| sent.tokens).map(f64::from).sum();
    let token = sent.len() as f64 / tokens.max(1.0);
    (token, token * stay_s(sent))
}

fn stay_s(sent: &[SentRequest]) -> f64 {
    sent.iter().map(SentRequest::stay_s).sum::<f64>() / sent.len() as f64
}

/// Whether the requests of a closed loop run in few groups: they begin together and end together. All requests of a group
/// share what makes it fast or slow, so a wave shows little more than one of its requests does. `steady` are the requests
/// of the steady state, in the order of sending.
pub(super) fn are_in_groups(steady: &[SentRequest], in_flight: usize) -> bool {
    if steady.is_empty() {
        return false;
    }
    // A step of the server takes about as long as a token. Requests that follow each other evenly are no groups.
    let step_s = token(steady).1.min(stay_s(steady) / in_flight as f64);
    let are_near = |a: Nanos, b: Nanos| b.seconds_after(a).abs() <= step_s / 2.0;
    let pairs = steady.windows(2);
    let (mut begin_together, mut end_together) = (0, 0);
    for pair in pairs.filter(|pair| are_near(pair[0].send, pair[1].send)) {
        begin_together += 1;
        end_together += usize::from(are_near(pair[0].ended, pair[1].ended));
    }
    let groups = steady.len() - begin_together;
    let are_few = in_flight * groups < FEWEST_PHASES.min(in_flight / 2) * steady.len();
    are_few && end_together as f64 >= ALIKE * begin_together as f64
}

/// The correlation of two series of equal length; 0 if one of them is constant.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a, b) = (centred(a), centred(b));
    let scale = (dot(&a, &a) * dot(&b, &b)).sqrt();
    if scale > 0.0 { dot(&a, &b) / scale } else { 0.0 }
}
