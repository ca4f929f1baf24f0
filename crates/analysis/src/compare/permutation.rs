//! Which of many differences are more than chance: the labels of the repeats are exchanged in all
//! ways, or in many, and the largest difference of each labelling is what a real one must beat.
//!
//! That is the step-down procedure of Westfall and Young (Resampling-Based Multiple Testing, 1993,
//! algorithm 4.1) with the statistic of Student. It needs no law of the noise; figures that move
//! together cost nothing; and the chance of any false alarm among all rows is what is promised.
//!
//! A row's noise is its own: repeats of a real server scatter ten times as much in one cell as in
//! the next, so a variance that is drawn towards that of other cells hides what quiet ones show.

use rand_chacha::ChaCha8Rng;

use super::{FEWEST_REPEATS, Series, mean};
use inferometer_stats::seed;

/// The most labellings that are tried; where there are fewer, all of them are.
const LABELLINGS: usize = 4_999;

/// The corrected probability of each difference, if nothing differs; none for rows with too few
/// repeats, which take no part.
pub(super) fn corrected(pairs: &[(Series, Series)], seed: u64) -> Vec<Option<f64>> {
    let enough = |series: &Series| series.values.len() >= FEWEST_REPEATS;
    let part: Vec<usize> =
        (0..pairs.len()).filter(|&at| enough(&pairs[at].0) && enough(&pairs[at].1)).collect();
    let family = Family::new(part.iter().map(|&at| &pairs[at]));
    let given: Vec<Vec<usize>> = family.shapes.iter().map(|shape| (0..shape.0).collect()).collect();
    let observed = family.statistics(&given);
    let mut order: Vec<usize> = (0..part.len()).collect();
    order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]));
    let mut beaten = vec![0_u32; part.len()];
    let mut tried = 0_u32;
    family.labellings(seed, |baseline| {
        let drawn = family.statistics(baseline);
        let mut largest = 0.0_f64;
        for rank in (0..order.len()).rev() {
            largest = largest.max(drawn[order[rank]]);
            // Equal but for rounding is equal.
            beaten[rank] += u32::from(largest >= observed[order[rank]] * (1.0 - 1e-9));
        }
        tried += 1;
    });
    let mut result = vec![None; pairs.len()];
    let mut floor = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        floor = floor.max(f64::from(beaten[rank]) / f64::from(tried));
        result[part[at]] = Some(floor);
    }
    result
}

/// All tests that are made at once.
struct Family {
    tests: Vec<Test>,
    /// Repeats of the baseline and of the contender, of each kind of test.
    shapes: Vec<(usize, usize)>,
}

/// The repeats of both runs, as logarithms around their mean.
struct Test {
    shape: usize,
    logs: Vec<f64>,
    squares: f64,
}

impl Family {
    fn new<'a>(pairs: impl Iterator<Item = &'a (Series, Series)>) -> Self {
        let (mut tests, mut shapes) = (Vec::new(), Vec::new());
        for (a, b) in pairs {
            let logs: Vec<f64> = a.values.iter().chain(&b.values).map(|value| value.ln()).collect();
            let middle = mean(&logs);
            let logs: Vec<f64> = logs.into_iter().map(|log| log - middle).collect();
            tests.push(Test {
                shape: place_of(&mut shapes, (a.values.len(), b.values.len())),
                squares: logs.iter().map(|log| log * log).sum(),
                logs,
            });
        }
        Self { tests, shapes }
    }

    /// The statistic of each test when these repeats, for each shape, are called the baseline's.
    fn statistics(&self, baseline: &[Vec<usize>]) -> Vec<f64> {
        let each = self.tests.iter().map(|test| {
            let (n, m) = self.shapes[test.shape];
            let (n, m) = (n as f64, m as f64);
            let sum: f64 = baseline[test.shape].iter().map(|&at| test.logs[at]).sum();
            // The logarithms add up to nothing, so the other sum is the negative of this one.
            let inverse = 1.0 / n + 1.0 / m;
            let difference = sum.abs() * inverse;
            let within = (test.squares - sum * sum * inverse).max(0.0);
            // What cancels to within rounding is nothing.
            if difference < 1e-12 {
                0.0
            } else {
                difference / (within / (n + m - 2.0) * inverse).sqrt().max(1e-12)
            }
        });
        each.collect()
    }

    /// Calls `each` with every labelling, where all tests have the same repeats and there are few,
    /// or with seeded ones, of which the given one is the first.
    fn labellings(&self, seed: u64, mut each: impl FnMut(&[Vec<usize>])) {
        if let [(n, m)] = self.shapes[..]
            && choices(n + m, n) <= LABELLINGS
        {
            for set in 0_u32..1 << (n + m) {
                if set.count_ones() as usize == n {
                    each(&[(0..n + m).filter(|at| set >> at & 1 == 1).collect()]);
                }
            }
            return;
        }
        let most = |of: fn(&(usize, usize)) -> usize| self.shapes.iter().map(of).max().unwrap_or(0);
        let (n, m) = (most(|shape| shape.0), most(|shape| shape.1));
        let mut rng = seed::rng(seed, &["labellings"]);
        for number in 0..LABELLINGS {
            // One order of all repeats, of which each shape takes those that it has.
            let mut repeats: Vec<usize> = (0..n + m).collect();
            if number > 0 {
                shuffle(&mut rng, &mut repeats);
            }
            let baseline = |&(a, b): &(usize, usize)| {
                let own = |&at: &usize| match at {
                    _ if at < a => Some(at),
                    _ if at >= n && at < n + b => Some(a + at - n),
                    _ => None,
                };
                repeats.iter().filter_map(own).take(a).collect()
            };
            each(&self.shapes.iter().map(baseline).collect::<Vec<_>>());
        }
    }
}

/// Where something stands in a list, at whose end it is put if it was not there.
fn place_of<T: PartialEq>(known: &mut Vec<T>, wanted: T) -> usize {
    known.iter().position(|seen| *seen == wanted).unwrap_or_else(|| {
        known.push(wanted);
        known.len() - 1
    })
}

fn shuffle(rng: &mut ChaCha8Rng, items: &mut [usize]) {
    for last in (1..items.len()).rev() {
        items.swap(last, seed::below(rng, last as u64 + 1) as usize);
    }
}

/// Ways to choose `k` of `n`; more than can be tried is as good as infinite.
fn choices(n: usize, k: usize) -> usize {
    if n > 30 {
        return usize::MAX;
    }
    (0..k).fold(1, |ways, at| ways * (n - at) / (at + 1))
}
