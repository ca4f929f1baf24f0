//! Finds how many tokens a hash of a trace stands for, from the lengths of prompts and their numbers of hashes.

/// Whether a row has one hash for each block of this size. If the last block has fewer tokens than the others,
/// some traces have no hash for it.
pub(crate) fn fits(tokens: u32, (input, hashes): (u32, u32)) -> bool {
    hashes == input / tokens || hashes == input.div_ceil(tokens)
}

/// The size of a block that fits the most rows. If several sizes do: `usual`, else a size that is common, else the
/// smallest one. Sizes for which each last block has a hash are tried first.
pub(crate) fn best(rows: &[(u32, u32)], usual: u32) -> u32 {
    let [whole, any] = [u32::div_ceil, |input, hashes| input / (hashes + 1) + 1]
        .map(|least: fn(u32, u32) -> u32| most_rows(rows, least));
    let (most, smallest) = if whole.0 >= any.0 { whole } else { any };
    let fits_most = |size: &u32| rows.iter().filter(|row| fits(*size, **row)).count() >= most;
    let common = [usual, 512, 16].into_iter().chain((0..16).map(|power| 1 << power));
    common.into_iter().find(fits_most).unwrap_or(smallest)
}

/// How many rows fit the same size, and the smallest such size. `least` returns the smallest size for an input length
/// and a number of hashes.
fn most_rows(rows: &[(u32, u32)], least: fn(u32, u32) -> u32) -> (usize, u32) {
    // The sizes that fit a row are a range. At each end of a range, the number of rows that fit changes.
    let mut ends: Vec<(u32, i64)> = Vec::with_capacity(rows.len() * 2);
    for &(input, hashes) in rows {
        let behind = if hashes == 1 { u32::MAX } else { input.div_ceil(hashes - 1) };
        ends.extend([(least(input, hashes), 1), (behind, -1)]);
    }
    ends.sort_unstable();
    let (mut count, mut most) = (0, (0, 1));
    for (size, change) in ends {
        count += change;
        if count > most.0 {
            most = (count, size);
        }
    }
    (most.0 as usize, most.1)
}
