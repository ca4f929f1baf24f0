//! How long a run in progress still takes.

use std::time::Duration;

use super::event::ExpectedPass;

/// With a smaller share of a pass, its whole time is not estimated from it.
const ENOUGH: f64 = 0.02;

/// The time left, from the elapsed time and the share that is done (0 to 1); absent while the share is below 0.02,
/// which is too small for an estimate.
pub fn left(elapsed: Duration, share: f64) -> Option<Duration> {
    (ENOUGH..=1.0).contains(&share).then(|| elapsed.mul_f64((1.0 - share) / share))
}

/// A pass in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub elapsed_s: f64,
    /// The share that is done, from 0 to 1, if it is known.
    pub share: Option<f64>,
}

/// The time left in a run of several passes. What passes of the same load took in comparison to their weights is what
/// the others will take; until the first of them has ended, the comparison is with all passes. Before any has ended,
/// the weights are the seconds that they take, if `are_seconds` is set.
///
/// `took_s` has the seconds of each pass that has ended; `None` for one that was copied from an earlier run, or left out.
/// `between_s` is the time that was spent between passes until now. Absent before anything is known.
pub(super) fn of_run(
    expected: &[ExpectedPass],
    took_s: &[Option<f64>],
    current: Option<Current>,
    between_s: f64,
    are_seconds: bool,
) -> Option<Duration> {
    let mut later = expected.get(took_s.len()..)?;
    let measured =
        expected.iter().zip(took_s).filter_map(|(pass, took_s)| Some((pass, (*took_s)?)));
    let mut known: Vec<(&ExpectedPass, f64)> = measured.collect();
    let time_s = |known: &[(&ExpectedPass, f64)], pass: &ExpectedPass| {
        by_others(known, pass).or(are_seconds.then_some(pass.weight))
    };
    let mut left_s = 0.0;
    if let (Some(Current { elapsed_s, share }), [pass, others @ ..]) = (current, later) {
        later = others;
        let own = share.filter(|share| *share >= ENOUGH).map(|share| (share, elapsed_s / share));
        let whole_s = match (own, time_s(&known, pass)) {
            // The beginning of a pass says little about its end.
            (Some((share, own_s)), Some(by_others)) => {
                by_others + share.powi(2) * (own_s - by_others)
            }
            (own, by_others) => own.map(|(_, whole_s)| whole_s).or(by_others)?,
        };
        left_s = (whole_s - elapsed_s).max(0.0);
        known.push((pass, whole_s.max(elapsed_s)));
    }
    let each_between_s = between_s / known.len().max(1) as f64;
    for pass in later {
        left_s += time_s(&known, pass)? + each_between_s;
    }
    Duration::try_from_secs_f64(left_s).ok()
}

/// How long a pass takes, from those with a known time.
fn by_others(known: &[(&ExpectedPass, f64)], pass: &ExpectedPass) -> Option<f64> {
    let is_alike = known.iter().any(|(other, _)| other.load == pass.load);
    let alike = known.iter().filter(|(other, _)| !is_alike || other.load == pass.load);
    let (took_s, weight) =
        alike.fold((0.0, 0.0), |sum, (other, took_s)| (sum.0 + took_s, sum.1 + other.weight));
    (weight > 0.0).then(|| pass.weight * took_s / weight)
}

#[cfg(test)]
mod tests {
    use inferometer_model::CellPlan;

    use super::*;

    const REST_S: f64 = 5.0;

    /// Six cells with two loads. A pass of the first load takes what is expected; one of the second a third of it, give
    /// or take 10 %.
    fn passes() -> (Vec<ExpectedPass>, Vec<f64>) {
        let expected = |at: u32| ExpectedPass {
            cell: CellPlan { input_length: at / 2, output_length: 8 },
            repeat: 1,
            load: at as usize % 2,
            weight: 10.0 * f64::from(1 + at / 2),
        };
        let expected: Vec<ExpectedPass> = (0..12).map(expected).collect();
        let took = |(at, pass): (usize, &ExpectedPass)| match pass.load {
            0 => pass.weight,
            _ => pass.weight / 3.0 * if at % 4 == 1 { 0.9 } else { 1.1 },
        };
        let took_s = expected.iter().enumerate().map(took).collect();
        (expected, took_s)
    }

    #[test]
    fn from_the_first_third_to_the_last_twentieth_the_time_left_is_known_to_a_factor_of_1_3() {
        let (expected, took_s) = passes();
        let all_s = took_s.iter().sum::<f64>() + 11.0 * REST_S;
        for percent in 34..=95 {
            let mut elapsed_s = all_s * f64::from(percent) / 100.0;
            let true_s = all_s - elapsed_s;
            let mut ended = Vec::new();
            while elapsed_s > took_s[ended.len()] + REST_S {
                elapsed_s -= took_s[ended.len()] + REST_S;
                ended.push(Some(took_s[ended.len()]));
            }
            let now_s = took_s[ended.len()];
            // The first half of a pass is done in 40 % of its time.
            let done = |part: f64| if part < 0.4 { 1.25 * part } else { 0.5 + (part - 0.4) / 1.2 };
            let current = Current { elapsed_s, share: Some(done(elapsed_s / now_s)) };
            let rests_s = REST_S * ended.len() as f64;
            let (current, rests_s) = match elapsed_s < now_s {
                true => (Some(current), rests_s),
                false => {
                    ended.push(Some(now_s));
                    (None, rests_s + elapsed_s - now_s)
                }
            };
            let left_s = of_run(&expected, &ended, current, rests_s, false).unwrap().as_secs_f64();
            assert!(
                (true_s / 1.3..true_s * 1.3).contains(&left_s),
                "{percent} %: {left_s}, {true_s}"
            );
        }
    }

    #[test]
    fn copied_passes_have_no_time_and_an_unknown_share_is_expected() {
        let (expected, _) = passes();
        let at = |elapsed_s, share| Some(Current { elapsed_s, share });
        assert_eq!(of_run(&expected, &[], at(1.0, None), 0.0, false), None);
        assert!(of_run(&expected, &[], at(1.0, None), 0.0, true).is_some());
        let copied = [None, None];
        // The third pass of weight 20 takes 40 s, so the others take twice their weight: 12 have 420, the first two 20.
        let left = of_run(&expected, &copied, at(10.0, Some(0.25)), 0.0, false).unwrap();
        assert_eq!(left.as_secs_f64().round(), 40.0 / 20.0 * 400.0 - 10.0);
        let ended = [&copied[..], &[Some(20.0)]].concat();
        assert_eq!(of_run(&expected, &ended, at(5.0, None), 0.0, true).unwrap().as_secs(), 380 - 5);
    }
}
