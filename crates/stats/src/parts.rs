//! Sums over independent parts (requests, or single values), from which a mean and its interval
//! follow. Never more than a few thousand parts kept.

use super::interval::{self, LARGEST_BOOTSTRAP, mean_interval};

/// Parts as `(sum of values, sum of weights)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// The parts themselves, as long as they are few enough to be resampled.
    few: Vec<(f64, f64)>,
    sums: Sums,
}

/// Sums of t, w, t^2, t w and w^2 over parts (t, w), in whole units of 2^-32: exact, so that the
/// order of parts changes nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    n: u64,
    t: i128,
    w: i128,
    tt: i128,
    tw: i128,
    ww: i128,
}

const UNIT: f64 = 4_294_967_296.0;

impl Parts {
    pub fn add(&mut self, total: f64, weight: f64) {
        if self.few.len() as u64 == self.sums.n && self.few.len() < LARGEST_BOOTSTRAP {
            self.few.push((total, weight));
        } else {
            self.few = Vec::new();
        }
        self.sums.add(total, weight);
    }

    /// Mean per weight.
    pub fn mean(&self) -> f64 {
        self.sums.t as f64 / self.sums.w as f64
    }

    /// Sum of weights.
    pub fn weight(&self) -> f64 {
        self.sums.w as f64 / UNIT
    }

    /// The 95 % interval of the mean, as [`mean_interval`] makes it of all parts.
    pub fn interval(&self, seed: u64) -> Option<[f64; 2]> {
        if self.few.len() as u64 == self.sums.n {
            let mut parts = self.few.clone();
            parts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            return mean_interval(&parts, seed);
        }
        let Sums { n, t, w, tt, tw, ww } = self.sums;
        let [t, w, tt, tw, ww] = [t, w, tt, tw, ww].map(|sum| sum as f64 / UNIT);
        let (n, mean) = (n as f64, t / w);
        // The sum of (t - mean w)^2, multiplied out.
        let squares = (tt - 2.0 * mean * tw + mean * mean * ww).max(0.0);
        Some(interval::normal(mean, w / n, squares, n))
    }
}

impl Sums {
    fn add(&mut self, t: f64, w: f64) {
        let units = |value: f64| (value * UNIT).round() as i128;
        self.n += 1;
        self.t += units(t);
        self.w += units(w);
        self.tt += units(t * t);
        self.tw += units(t * w);
        self.ww += units(w * w);
    }
}
