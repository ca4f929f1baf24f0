//! Chooses places for the labels of a panel: if possible inside the panel, and where no line, marker or other label is.
//! All positions are in pixels. This module does not draw.

use super::{font::VALUE, svg::Anchor};

/// The space beside a label, and above and below it.
const PADDING: (f64, f64) = (2.0, 3.0);
/// How far a label may reach beyond the left and the right side of its panel. On the left are the ticks of the axis.
const BESIDE: (f64, f64) = (10.0, 14.0);
/// The distance between a point, or the end of its whisker, and its label.
pub(super) const GAP: f64 = 9.0;
/// The vertical distance between the places that are tried along a vertical line.
const STEP: f64 = 17.0;

/// A place for a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    /// The point to which the label belongs. When a reader zooms, the label moves with this point.
    pub of: (f64, f64),
    /// The distance of the baseline of the text from this point.
    pub offset: (f64, f64),
    /// Which point of the text (its start, middle or end) is at this distance.
    pub anchor: Anchor,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// What a label must not cover, in one panel.
#[derive(Debug)]
pub(super) struct Taken {
    panel: Area,
    lines: Vec<[(f64, f64); 2]>,
    areas: Vec<Area>,
}

impl Taken {
    /// A panel in which nothing is drawn yet.
    pub fn nothing(panel: Area) -> Self {
        Self { panel, lines: Vec::new(), areas: Vec::new() }
    }

    /// Adds a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        if [from.0, from.1, to.0, to.1].iter().all(|at| at.is_finite()) {
            self.lines.push([from, to]);
        }
    }

    /// Adds a rectangle.
    pub fn area(&mut self, area: Area) {
        self.areas.push(area);
    }

    /// The first of these places at which the text covers nothing; absent if there is none. Marks the place as taken.
    pub fn free(&mut self, text: &str, spots: &[Spot]) -> Option<Spot> {
        let found = spots.iter().find(|spot| self.covered(spot.area(text)) == 0)?;
        self.areas.push(found.area(text));
        Some(*found)
    }

    /// The place at which the text covers least; of equal places, the first one. Marks the place as taken.
    pub fn best(&mut self, text: &str, spots: &[Spot]) -> Option<Spot> {
        let found = spots.iter().min_by_key(|spot| self.covered(spot.area(text)))?;
        self.areas.push(found.area(text));
        Some(*found)
    }

    /// The number of lines and areas that a label in this area would cover. Outside the panel, the number is larger
    /// than for any place inside.
    fn covered(&self, label: Area) -> usize {
        let Area { left, top, right, bottom } = self.panel;
        let is_inside = label.left >= left - BESIDE.0
            && label.right <= right + BESIDE.1
            && label.top >= top
            && label.bottom <= bottom;
        // Outside the panel, a label would cover the ticks or the titles.
        let outside = if is_inside { 0 } else { 1 + self.lines.len() + self.areas.len() };
        let lines = self.lines.iter().filter(|line| label.is_crossed(**line)).count();
        let areas = self.areas.iter().filter(|area| label.overlaps(area)).count();
        outside + lines + areas
    }
}

impl Spot {
    /// The places for the label of a point, from the best to the worst. `high` and `low` are the heights of the ends of
    /// its whisker, or of the point itself.
    pub fn around(of: (f64, f64), high: f64, low: f64) -> [Self; 8] {
        let (above, below) = ((of.0, high), (of.0, low));
        let (middle, down) = (0.35 * VALUE.size, VALUE.size - 2.0);
        let spot = |of, offset, anchor| Self { of, offset, anchor };
        [
            spot(above, (0.0, -GAP), Anchor::Middle),
            spot(below, (0.0, GAP + down), Anchor::Middle),
            spot(of, (-GAP, middle), Anchor::End),
            spot(of, (GAP, middle), Anchor::Start),
            spot(above, (-GAP, 0.0), Anchor::End),
            spot(below, (GAP, down), Anchor::Start),
            spot(above, (GAP, 0.0), Anchor::Start),
            spot(below, (-GAP, down), Anchor::End),
        ]
    }

    /// The places for the label of a horizontal line between two points: above and below its right end, its left end,
    /// and its middle. The label does not reach beyond the ends of the line.
    pub fn along_level(from: (f64, f64), to: (f64, f64)) -> [Self; 6] {
        let (above, below) = (-GAP, GAP + VALUE.size - 2.0);
        let middle = ((from.0 + to.0) / 2.0, to.1);
        let spot = |of, height, anchor| Self { of, offset: (0.0, height), anchor };
        [
            spot(to, above, Anchor::End),
            spot(to, below, Anchor::End),
            spot(from, above, Anchor::Start),
            spot(from, below, Anchor::Start),
            spot(middle, above, Anchor::Middle),
            spot(middle, below, Anchor::Middle),
        ]
    }

    /// The places for the label of a vertical line, in the order in which they are tried: at the lower end of the line,
    /// at its upper end, and in between. `left_first` decides the side of the line that is tried first.
    pub fn along(x: f64, panel: Area, left_first: bool) -> Vec<Self> {
        let (lowest, highest) = (panel.bottom - 6.0, panel.top + VALUE.size + 2.0);
        let between = (1..).map(|step| lowest - f64::from(step) * STEP);
        let heights =
            [lowest, highest].into_iter().chain(between.take_while(|height| *height > highest));
        let mut sides = [(4.0, Anchor::Start), (-4.0, Anchor::End)];
        if left_first {
            sides.reverse();
        }
        let at = |height: f64| {
            sides.map(|(by, anchor)| Self {
                of: (x, panel.bottom),
                offset: (by, height - panel.bottom),
                anchor,
            })
        };
        heights.flat_map(at).collect()
    }

    /// The area of a text at this place.
    fn area(&self, text: &str) -> Area {
        let (x, baseline) = (self.of.0 + self.offset.0, self.of.1 + self.offset.1);
        let width = VALUE.width(text);
        let left = match self.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        Area {
            left: left - PADDING.0,
            top: baseline - 0.72 * VALUE.size - PADDING.1,
            right: left + width + PADDING.0,
            bottom: baseline + PADDING.1,
        }
    }
}

impl Area {
    /// A square around a point.
    pub fn around((x, y): (f64, f64), half: f64) -> Self {
        Self { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether a straight line crosses the rectangle (Liang and Barsky).
    fn is_crossed(&self, [from, to]: [(f64, f64); 2]) -> bool {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for (change, room) in [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ] {
            if change == 0.0 {
                if room <= 0.0 {
                    return false;
                }
            } else if change < 0.0 {
                enters = enters.max(room / change);
            } else {
                leaves = leaves.min(room / change);
            }
        }
        enters < leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANEL: Area = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };

    #[test]
    fn a_line_crosses_an_area_only_if_a_part_of_the_line_is_inside() {
        let area = Area { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 };
        for (line, crosses) in [
            ([(0.0, 15.0), (30.0, 15.0)], true),
            ([(0.0, 0.0), (30.0, 30.0)], true),
            ([(15.0, 12.0), (16.0, 13.0)], true),
            ([(0.0, 5.0), (30.0, 5.0)], false),
            ([(0.0, 15.0), (9.0, 15.0)], false),
            ([(0.0, 25.0), (25.0, 50.0)], false),
            ([(12.0, 0.0), (12.0, 9.0)], false),
        ] {
            assert_eq!(area.is_crossed(line), crosses, "{line:?}");
        }
    }

    #[test]
    fn a_label_is_placed_where_no_line_and_no_other_label_is() {
        let mut taken = Taken::nothing(PANEL);
        let spots = Spot::around((100.0, 50.0), 50.0, 50.0);
        assert_eq!(taken.free("12", &spots), Some(spots[0]), "above the point");
        // The label above is taken, and a steep line goes down from the point.
        taken.line((100.0, 50.0), (101.0, 100.0));
        assert_eq!(taken.free("12", &spots), Some(spots[5]), "below, to the right");
        for height in 0..10 {
            let height = 10.0 * f64::from(height);
            taken.line((0.0, height), (200.0, height));
        }
        assert_eq!(taken.free("12", &spots), None);
        assert!(taken.best("12", &spots).is_some());
    }

    #[test]
    fn the_label_of_a_level_moves_to_its_left_end_if_a_curve_is_at_its_right_end() {
        let mut taken = Taken::nothing(PANEL);
        let spots = Spot::along_level((0.0, 50.0), (200.0, 50.0));
        taken.line((150.0, 0.0), (150.0, 100.0));
        let found = taken.best("limit", &spots[..]).expect("there are places");
        assert_eq!(found, spots[0], "the label ends to the right of the curve");
        taken.line((190.0, 0.0), (190.0, 100.0));
        let found = taken.best("limit", &spots[..]).expect("there are places");
        assert_eq!(found, spots[2], "above the left end");
    }

    #[test]
    fn a_label_stays_inside_its_panel() {
        let mut taken = Taken::nothing(PANEL);
        // Above the point, the label would cover the title; below its whisker, the ticks of the axis.
        let spots = Spot::around((100.0, 15.0), 15.0, 98.0);
        let found = taken.free("12", &spots).expect("a place beside the point");
        assert!(found.offset.0 != 0.0 && found.offset.1.abs() < 20.0, "{found:?}");
    }

    #[test]
    fn the_label_of_a_vertical_line_moves_up_if_a_curve_is_at_its_lower_end() {
        let mut taken = Taken::nothing(PANEL);
        let spots = Spot::along(100.0, PANEL, false);
        assert_eq!(taken.best("7.67", &spots).map(|spot| spot.offset), Some((4.0, -6.0)));
        let mut taken = Taken::nothing(PANEL);
        taken.line((0.0, 95.0), (200.0, 90.0));
        let found = taken.best("7.67", &spots).expect("there are places");
        assert!(found.offset.1 < -20.0, "{found:?}");
    }
}
