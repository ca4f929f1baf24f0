//! Arrivals at the times at which `vllm bench serve` sends requests with the same seed. The gaps are
//! `numpy.random.gamma(shape=burstiness, scale=1 / (rate * burstiness))` after `numpy.random.seed(seed)`.
//! These functions use NumPy's legacy generator, whose random numbers do not change between versions of NumPy. Current
//! versions of vLLM scale the gaps so that the mean rate is exact. Versions of vLLM before the middle of 2025 do not
//! scale the gaps, and send the first request at the start.
//!
//! Sources: `vllm/benchmarks/serve.py` (`get_request`), and NumPy's `mt19937.c` and `legacy-distributions.c`.

use crate::stats::portable;

/// The arrivals of `vllm bench serve`, one per second on average.
#[derive(Debug)]
pub struct Vllm {
    shape: f64,
    second: f64,
    random: Legacy,
}

impl Vllm {
    /// Creates arrivals from a seed of vLLM, from 0 to 2^32 - 1. Only the lower 32 bits of a larger seed are
    /// used. `shape` is vLLM's burstiness, above 0.
    pub fn new(shape: f64, seed: u64) -> Self {
        Self { shape, second: 0.0, random: Legacy::new(seed as u32) }
    }
}

impl Iterator for Vllm {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.second += self.random.gamma(self.shape) / self.shape;
        Some(self.second)
    }
}

/// The number of words of the state of MT19937, and the distance between the words that are combined.
const WORDS: usize = 624;
const DISTANCE: usize = 397;

/// NumPy's legacy random generator: the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) with
/// NumPy's own distributions.
#[derive(Debug)]
struct Legacy {
    words: Vec<u32>,
    next: usize,
    /// The second of two normal variables that are drawn together.
    normal: Option<f64>,
}

impl Legacy {
    fn new(seed: u32) -> Self {
        let mut words = vec![seed; WORDS];
        for at in 1..WORDS {
            let before = words[at - 1];
            words[at] =
                (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        Self { words, next: WORDS, normal: None }
    }

    /// Replaces all words of the state.
    fn renew(&mut self) {
        for at in 0..WORDS {
            let (own, after) = (self.words[at], self.words[(at + 1) % WORDS]);
            let joined = (own & 0x8000_0000) | (after & 0x7fff_ffff);
            let twisted = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
            self.words[at] = self.words[(at + DISTANCE) % WORDS] ^ (joined >> 1) ^ twisted;
        }
        self.next = 0;
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.renew();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A uniform number in [0, 1), from 53 bits.
    fn unit(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    fn exponential(&mut self) -> f64 {
        -portable::ln(1.0 - self.unit())
    }

    /// A standard normal variable, by the polar method of Marsaglia.
    fn normal(&mut self) -> f64 {
        if let Some(kept) = self.normal.take() {
            return kept;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * portable::ln(square) / square).sqrt();
                self.normal = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// A gamma variable with the scale 1. NumPy uses an exponential variable for the shape 1, the method of
    /// Ahrens and Dieter (1974) below 1, and the method of Marsaglia and Tsang (2000) above 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape == 1.0 {
            return self.exponential();
        }
        if shape < 1.0 {
            return self.small_gamma(shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = self.unit();
            let square = x * x;
            if u < 1.0 - 0.0331 * square * square
                || portable::ln(u) < 0.5 * square + d * (1.0 - v + portable::ln(v))
            {
                return d * v;
            }
        }
    }

    fn small_gamma(&mut self, shape: f64) -> f64 {
        loop {
            let u = self.unit();
            let v = self.exponential();
            if u <= 1.0 - shape {
                let x = portable::pow(u, 1.0 / shape);
                if x <= v {
                    return x;
                }
            } else {
                let y = -portable::ln((1.0 - u) / shape);
                let x = portable::pow(1.0 - shape + shape * y, 1.0 / shape);
                if x <= v + y {
                    return x;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps as NumPy 2 gives them: `numpy.random.seed(seed)`, then `numpy.random.gamma(shape, 1 / shape)`. For each
    /// seed and shape: the first four gaps, and the sum of 2,000 gaps.
    const NUMPY: [(u64, f64, [f64; 4], f64); 5] = [
        (
            0,
            1.0,
            [0.79587450816311, 1.2559307629658378, 0.9232231458040688, 0.7872011523172707],
            2069.591236683733,
        ),
        (
            0,
            0.5,
            [0.6080037795214088, 0.7565434401356311, 0.3589667780057752, 0.38296513492132056],
            1971.0247262688274,
        ),
        (
            7,
            3.0,
            [0.6586219291418438, 0.5248968633291075, 0.8900137184981398, 1.5658692598004538],
            1976.394408104993,
        ),
        (
            4_294_967_295,
            1.0,
            [0.10273289199103737, 2.4347784703332125, 1.556064466857251, 1.514144087824738],
            2032.3777969235794,
        ),
        (
            12_345,
            0.05,
            [4.646250935028916, 3.922410478460448e-14, 0.00024198632284478413, 10.253249942298181],
            1760.663679655573,
        ),
    ];

    #[test]
    fn gaps_are_those_of_numpy_with_the_same_seed() {
        for (seed, shape, first, sum) in NUMPY {
            let mut random = Legacy::new(seed as u32);
            for expected in first {
                let gap = random.gamma(shape) / shape;
                assert!((gap - expected).abs() <= 1e-12 * expected, "{seed} {shape}: {gap}");
            }
            let last = Vllm::new(shape, seed).nth(1_999).expect("an arrival");
            assert!((last - sum).abs() <= 1e-9 * sum, "{seed} {shape}: {last}");
        }
    }
}
