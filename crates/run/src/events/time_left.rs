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

/// The time left in a run of several passes. What passes of the same load took in comparison to their expected times is
/// what the others will take; until the first of them has ended, the comparison is with all passes.
///
/// `ended` has the seconds of each pass that has ended; `None` for one that was copied from an earlier run. `current_s` is
/// the time since the last of them ended, and `share` the share of the pass in progress that is done. Absent before
/// anything is known.
pub(super) fn of_run(
    expected: &[ExpectedPass],
    ended: &[Option<f64>],
    current_s: f64,
    share: Option<f64>,
) -> Option<Duration> {
    let (current, later) = expected.get(ended.len()..)?.split_first()?;
    let measured = expected.iter().zip(ended).filter_map(|(pass, took_s)| Some((pass, (*took_s)?)));
    let mut known: Vec<(&ExpectedPass, f64)> = measured.collect();
    let whole_s = share.filter(|share| *share >= ENOUGH).map(|share| current_s / share);
    if !known.iter().any(|(pass, _)| pass.load == current.load) {
        known.extend(whole_s.map(|whole_s| (current, whole_s)));
    }
    let ratio = |of: &dyn Fn(&ExpectedPass) -> bool| {
        let alike = known.iter().filter(|(pass, _)| of(pass));
        let sum = |sum: (f64, f64), (pass, took_s): &(&ExpectedPass, f64)| {
            (sum.0 + took_s, sum.1 + pass.seconds)
        };
        let (took_s, expected_s) = alike.fold((0.0, 0.0), sum);
        (expected_s > 0.0).then(|| took_s / expected_s)
    };
    let of_all = ratio(&|_| true)?;
    let time_s = |pass: &ExpectedPass| {
        pass.seconds * ratio(&|other| other.load == pass.load).unwrap_or(of_all)
    };
    let rest_s = whole_s.unwrap_or_else(|| time_s(current)) - current_s;
    let left_s = rest_s.max(0.0) + later.iter().map(time_s).sum::<f64>();
    Duration::try_from_secs_f64(left_s).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six cells with two loads. A pass of the first load takes what is expected; one of the second a third of it, give
    /// or take 15 %.
    fn passes() -> (Vec<ExpectedPass>, Vec<f64>) {
        let expected: Vec<ExpectedPass> = (0..12)
            .map(|at| ExpectedPass { load: at % 2, seconds: 10.0 * (1.0 + (at / 2) as f64) })
            .collect();
        let took = |(at, pass): (usize, &ExpectedPass)| match pass.load {
            0 => pass.seconds,
            _ => pass.seconds / 3.0 * if at % 4 == 1 { 0.85 } else { 1.15 },
        };
        let took_s = expected.iter().enumerate().map(took).collect();
        (expected, took_s)
    }

    #[test]
    fn from_the_first_third_on_the_time_left_is_known_to_a_factor_of_1_3() {
        let (expected, took_s) = passes();
        let all_s: f64 = took_s.iter().sum();
        for percent in 34..98 {
            let mut elapsed_s = all_s * f64::from(percent) / 100.0;
            let true_s = all_s - elapsed_s;
            let mut ended = Vec::new();
            while elapsed_s > took_s[ended.len()] {
                elapsed_s -= took_s[ended.len()];
                ended.push(Some(took_s[ended.len()]));
            }
            let share = elapsed_s / took_s[ended.len()];
            let left_s = of_run(&expected, &ended, elapsed_s, Some(share)).unwrap().as_secs_f64();
            assert!(
                (true_s / 1.3..true_s * 1.3).contains(&left_s),
                "{percent} %: {left_s}, {true_s}"
            );
        }
    }

    #[test]
    fn copied_passes_have_no_time_and_an_unknown_share_is_expected() {
        let (expected, _) = passes();
        assert_eq!(of_run(&expected, &[], 1.0, None), None);
        let copied = [None, None];
        // The third pass of 20 s takes 40 s, so the others take twice their time: 12 passes have 420 s, two have 20.
        let left = of_run(&expected, &copied, 10.0, Some(0.25)).unwrap();
        assert_eq!(left.as_secs_f64().round(), 2.0 * 400.0 - 10.0);
        let ended = [&copied[..], &[Some(20.0)]].concat();
        assert_eq!(of_run(&expected, &ended, 5.0, None).unwrap().as_secs(), 380 - 5);
    }
}
