//! Gamma arrivals: the gaps are independent and gamma-distributed. A shape below 1 gives bursts. A shape
//! above 1 gives more even gaps than Poisson arrivals have.

use rand_chacha::ChaCha8Rng;

use crate::stats::portable;
use crate::stats::seed::{normal, rng, unit};

/// Arrivals with gamma-distributed gaps of mean 1.
#[derive(Debug)]
pub struct Gamma {
    shape: f64,
    second: f64,
    rng: ChaCha8Rng,
}

impl Gamma {
    /// Creates arrivals from a seed. `shape` is the shape of the distribution of the gaps, above 0.
    pub fn new(shape: f64, seed: u64) -> Self {
        Self { shape, second: 0.0, rng: rng(seed, &["arrival", "gamma"]) }
    }

    /// Draws a gamma variable with the shape `self.shape` and the scale 1. The method is from Marsaglia
    /// and Tsang, "A simple method for generating gamma variables" (ACM TOMS 26, 2000). A shape below 1
    /// is handled as in section 8 of that paper: the variable is drawn with the shape plus 1, and
    /// multiplied by u^(1/shape). Here u is uniform.
    fn draw(&mut self) -> f64 {
        let (shape, factor) = if self.shape < 1.0 {
            let u = 1.0 - unit(&mut self.rng);
            (self.shape + 1.0, portable::pow(u, 1.0 / self.shape))
        } else {
            (self.shape, 1.0)
        };
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = normal(&mut self.rng);
            let root = 1.0 + c * x;
            let v = root * root * root;
            let u = 1.0 - unit(&mut self.rng);
            if v > 0.0 && portable::ln(u) < 0.5 * x * x + d - d * v + d * portable::ln(v) {
                return d * v * factor;
            }
        }
    }
}

impl Iterator for Gamma {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.second += self.draw() / self.shape;
        Some(self.second)
    }
}
