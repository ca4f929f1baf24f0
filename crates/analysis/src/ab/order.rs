//! Which server comes first in each pair of blocks.

use inferometer_model::stats::seed;

pub use inferometer_model::target::Side;

/// Which server comes first and which second in a pair; pairs are numbered from 1. Of the pairs 1 and 2, one begins
/// with A and the other with B; this also applies to 3 and 4, 5 and 6, and so on. A random draw decides which of the
/// two begins with A. So a linear change over time cancels, and chance decides which side any other change affects.
pub fn order(seed: u64, salt: &str, pair: u32) -> [Side; 2] {
    let twice = (pair.saturating_sub(1) / 2).to_string();
    let drawn = seed::below(&mut seed::rng(seed, &["ab order", salt, &twice]), 2) == 1;
    match drawn ^ pair.is_multiple_of(2) {
        false => [Side::A, Side::B],
        true => [Side::B, Side::A],
    }
}
