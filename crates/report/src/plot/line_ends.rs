//! Draws the names of series at the right ends of their lines. Two names never overlap, and from top to
//! bottom they have the same order as the ends of the lines.

use super::font::{LEGEND, NOTE};
use super::layout::{Layout, PanelLayout};
use super::svg::{Anchor, Svg};
use super::{ink::Pen, look::Look, theme::Paint};
use crate::chart::Panel;

/// The smallest vertical distance between names, in pixels.
const GAP: f64 = 18.0;
/// The largest width of a name, in pixels.
const ROOM: f64 = 300.0;

/// Draws the name of each line to the right of its last point, and a heading above the names.
pub(super) fn draw(
    svg: &mut Svg,
    layout: &Layout,
    placed: &PanelLayout,
    panel: &Panel,
    heading: &str,
) {
    let mut names: Vec<(Look, (f64, f64), String)> = Vec::new();
    for series in &panel.series {
        let look = Look::of(series);
        let pen = Pen { layout, placed, series, look, offset_x: 0.0 };
        names.push(match pen.places().into_iter().rev().flatten().next() {
            Some(end) => (look, end, series.name.clone()),
            None => {
                let nowhere = (placed.right(), placed.bottom());
                (look, nowhere, format!("{} (no figures)", series.name))
            }
        });
    }
    names.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let wanted: Vec<f64> = names.iter().map(|name| name.1.1).collect();
    let heights = spread(&wanted, GAP, placed.top + GAP, placed.bottom() - 6.0);
    let x = placed.right() + 14.0;
    for ((look, end, name), &y) in names.iter().zip(&heights) {
        svg.line((end.0 + 7.0, end.1), (x - 7.0, y), Paint::Axis, r#" stroke-width="0.75""#);
        svg.anchored((x, y), |svg| look.marker(svg, false));
        svg.text((x + 11.0, y + 4.5), Anchor::Start, LEGEND, &LEGEND.fitted(name, ROOM));
    }
    if let Some(&first) = heights.first() {
        svg.text((x - 5.0, first - GAP), Anchor::Start, NOTE, heading);
    }
}

/// The vertical positions of labels whose preferred positions are `wanted` (ascending). The results are
/// at least `gap` apart, and within `lo..=hi` if there is enough room.
///
/// Overlapping labels form a block at the mean of their preferred positions. Blocks are joined until no
/// two blocks overlap (pool adjacent violators).
fn spread(wanted: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (index, &want) in wanted.iter().enumerate() {
        // After subtraction of the gaps above each label, all labels of a block have the same position:
        // the mean of its members.
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
    fn colliding_labels_are_moved_a_gap_apart_around_their_centre() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], 16.0, 0.0, 100.0), [34.0, 50.0, 66.0]);
        assert_eq!(spread(&[98.0, 99.0], 16.0, 0.0, 100.0), [84.0, 100.0]);
        assert_eq!(spread(&[], 16.0, 0.0, 100.0), [0.0; 0]);
    }
}
