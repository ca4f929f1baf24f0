//! Random streams: one for each purpose, all from the plan's seed, and the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use crate::{sha256::Sha256, stats::portable};

/// The random stream for a purpose, which the labels name. Different labels give independent streams.
pub fn rng(seed: u64, labels: &[&str]) -> ChaCha8Rng {
    let mut hasher = Sha256::default();
    hasher.update(&seed.to_le_bytes());
    for label in labels {
        hasher.update(&(label.len() as u64).to_le_bytes());
        hasher.update(label.as_bytes());
    }
    ChaCha8Rng::from_seed(hasher.finish())
}

/// A uniform number in [0, 1), with 53 random bits.
pub fn unit(rng: &mut impl RngCore) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A standard normal number, by the method of Box and Muller.
pub fn normal(rng: &mut impl RngCore) -> f64 {
    let radius = (-2.0 * portable::ln(1.0 - unit(rng))).sqrt();
    radius * portable::cos(std::f64::consts::TAU * unit(rng))
}

/// A uniform whole number below `limit`, without modulo bias. `limit` must not be 0.
pub fn below(rng: &mut impl RngCore, limit: u64) -> u64 {
    // Lemire's multiplication method. It rejects the few random numbers that would make small results more likely.
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(limit);
        if product as u64 >= limit.wrapping_neg() % limit {
            return (product >> 64) as u64;
        }
    }
}
