//! Places labels beside the ends of their lines. Never lets two labels overlap, never changes
//! their order.

/// Heights for labels that would like to stand at `wanted` (ascending), at least `gap` apart and
/// within `lo..=hi` as far as they fit.
///
/// Labels that collide form a block, which stands where it is nearest to what its members want;
/// blocks merge until none overlap (pool adjacent violators).
pub(super) fn spread(wanted: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (index, &want) in wanted.iter().enumerate() {
        // In coordinates less the gaps above it, a block is a single height: its members' mean.
        let mut block = (want - index as f64 * gap, 1);
        while let Some(&(above, members)) = blocks.last() {
            if above <= block.0 {
                break;
            }
            blocks.pop();
            let total = members + block.1;
            block.0 = (above * members as f64 + block.0 * block.1 as f64) / total as f64;
            block.1 = total;
        }
        blocks.push(block);
    }
    let room = (hi - lo - (wanted.len() as f64 - 1.0) * gap).max(0.0);
    let heights = blocks.into_iter().flat_map(|(height, members)| vec![height; members]);
    heights
        .enumerate()
        .map(|(index, height)| height.clamp(lo, lo + room) + index as f64 * gap)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_do_not_collide_stay_where_they_are() {
        assert_eq!(spread(&[10.0, 50.0, 90.0], 16.0, 0.0, 100.0), [10.0, 50.0, 90.0]);
    }

    #[test]
    fn labels_that_collide_stand_a_gap_apart_around_their_middle() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 16.0, 0.0, 100.0), [34.0, 50.0, 66.0]);
        assert_eq!(spread(&[98.0, 99.0], 16.0, 0.0, 100.0), [84.0, 100.0]);
        assert_eq!(spread(&[], 16.0, 0.0, 100.0), [0.0; 0]);
    }
}
