//! Gamma arrivals: independent gaps. A shape below 1 gives bursts, a larger shape more even arrivals.

use rand_chacha::ChaCha8Rng;

use inferometer_stats::portable;
use inferometer_stats::seed::{normal, rng, unit};

/// Arrivals with gamma-distributed gaps of mean 1.
#[derive(Debug)]
pub struct Gamma {
    shape: f64,
    second: f64,
    rng: ChaCha8Rng,
}

impl Gamma {
    /// Arrivals with gaps of this shape, which is above 0, from a seed.
    pub fn new(shape: f64, seed: u64) -> Self {
        Self { shape, second: 0.0, rng: rng(seed, &["arrival", "gamma"]) }
    }

    /// Draws a gamma variable with this shape and scale 1, by the method of Marsaglia and Tsang, A simple
    /// method for generating gamma variables (ACM TOMS 26, 2000). For a shape below 1, it draws with the
    /// shape plus 1 and multiplies by the factor u^(1/shape) of their section 8.
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
