//! A series of a chart: points with the same colour and shape, as columns of values. This module does not draw.

/// Points that are drawn with the same colour and shape. Each column has one value per point, or is
/// empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name in the legend. A reader of a page shows or hides all series of the same name together.
    pub name: String,
    /// A number that selects the colour, the marker and the dashes.
    pub style_index: usize,
    /// The source of the colour: `style_index`, a position in an order, or the colour of warnings.
    pub tint: Tint,
    /// The shape in which the series is drawn.
    pub shape: Shape,
    /// Values on the horizontal axis, in ascending order. There are two exceptions: [`Shape::Marked`] has the
    /// order in which the line joins the points, and [`Shape::Spans`] has the order of the rows.
    pub x: Vec<f64>,
    /// Values on the vertical axis. A value that is not finite is a gap.
    pub y: Vec<f64>,
    /// The lower ends of the intervals of `y`; not finite if there is no interval. For [`Shape::Tiles`], the
    /// lower sides.
    pub low: Vec<f64>,
    /// The upper ends of the intervals of `y`; not finite if there is no interval. For [`Shape::Tiles`], the
    /// upper sides.
    pub high: Vec<f64>,
    /// The left ends of [`Shape::Bars`], [`Shape::Spans`] and [`Shape::Tiles`]. For other shapes, the
    /// lower ends of the intervals of `x`; not finite if there is no interval.
    pub left: Vec<f64>,
    /// The right ends of bars, spans and tiles. For other shapes, the upper ends of the intervals of `x`; not
    /// finite if there is no interval.
    pub right: Vec<f64>,
    /// For [`Shape::Spans`]: where the second part begins.
    pub middle: Vec<f64>,
    /// A text for each point, which a page shows together with the value of the point.
    pub texts: Vec<String>,
    /// For each point, whether some of its requests failed. Such points have hollow markers or bars, or
    /// spans in another colour.
    pub failed: Vec<bool>,
    /// Whether each point is labelled with its text from `texts`, or with its value if it has no text.
    /// [`Shape::Line`], [`Shape::Step`], [`Shape::Marks`] and [`Shape::Tiles`] are never labelled with values;
    /// [`Shape::Dots`] and [`Shape::Spans`] have no labels. A label at a point of a line is left out if there is
    /// no space for it.
    pub labelled: bool,
    /// Whether a page shows the series only after a reader selects it in the legend. Files leave it out.
    pub hidden: bool,
}

/// The kind of colour of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tint {
    /// The colour that `style_index` selects, for series without an order.
    #[default]
    Named,
    /// The colour at this position of a colour ramp, from 0 to 1, for series with an order, such as input
    /// lengths.
    Ramp(f64),
    /// The colour of something that a reader must not miss, such as a limit.
    Alert,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Straight lines between the points. Intervals are pale bands.
    #[default]
    Line,
    /// Straight lines between the points, with a marker on each point and the intervals of `y` as whiskers.
    Marked,
    /// Horizontal and vertical lines: each value is valid until the next point. Intervals are pale bands.
    Step,
    /// Points only.
    Dots,
    /// A bar from `left` to `right`, as high as `y`, with its interval as a whisker.
    Bars,
    /// A horizontal line from `left` to `right` at the height `y`, pale until `middle`.
    Spans,
    /// A vertical line through the whole panel at each `x`.
    Marks,
    /// A rectangle from `left` to `right` and from `low` to `high`, with `x` and `y` at its centre.
    Tiles,
}

impl Series {
    /// A series without points.
    pub fn new(name: impl Into<String>, style_index: usize, shape: Shape) -> Self {
        Self { name: name.into(), style_index, shape, ..Self::default() }
    }

    /// Adds a point with its value and its interval. Without a value, the point is a gap.
    pub(crate) fn push(&mut self, x: f64, y: Option<f64>, interval: Option<[f64; 2]>) {
        let finite = |ends: &[f64; 2]| ends.iter().all(|end| end.is_finite());
        let [low, high] = interval.filter(finite).unwrap_or([f64::NAN; 2]);
        self.x.push(x);
        self.y.push(y.unwrap_or(f64::NAN));
        self.low.push(low);
        self.high.push(high);
    }

    /// Whether the value of any point has an interval.
    pub(crate) fn has_intervals(&self) -> bool {
        let drawn = self.y.iter().zip(&self.low).zip(&self.high);
        drawn.into_iter().any(|((y, low), high)| (y + low + high).is_finite())
    }

    /// Whether some requests of a point failed.
    pub(crate) fn is_failed(&self, point: usize) -> bool {
        self.failed.get(point).copied().unwrap_or_default()
    }

    /// Whether the points have a width on the horizontal axis: those of bars and tiles have one.
    pub(crate) fn has_width(&self) -> bool {
        matches!(self.shape, Shape::Bars | Shape::Tiles)
    }

    /// Keeps only the points with an `x` for which `wanted` returns true.
    pub(crate) fn retain(&mut self, wanted: impl Fn(f64) -> bool) {
        let kept: Vec<bool> = self.x.iter().map(|x| wanted(*x)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        for column in [
            &mut self.x, &mut self.y, &mut self.low, &mut self.high, &mut self.left,
            &mut self.right, &mut self.middle,
        ] {
            retain(column, &kept);
        }
        retain(&mut self.texts, &kept);
        retain(&mut self.failed, &kept);
    }

    /// Moves lower ends of intervals that are below zero to zero, because rates, times, shares and ratios cannot be
    /// negative. A series with a negative value shows differences, so its intervals are not changed.
    pub(super) fn begin_intervals_at_zero(&mut self) {
        let from_zero = |values: &[f64], ends: &mut [f64]| {
            if !values.iter().any(|value| *value < 0.0) {
                // A comparison is false for an end that is not a number, so such an end is kept.
                ends.iter_mut().filter(|end| **end < 0.0).for_each(|end| *end = 0.0);
            }
        };
        // The ends of a tile are the sides of a rectangle.
        if self.shape != Shape::Tiles {
            from_zero(&self.y, &mut self.low);
        }
        // For bars, tiles and spans, these are the sides of rectangles or the ends of lines.
        if matches!(self.shape, Shape::Line | Shape::Marked | Shape::Step) {
            from_zero(&self.x, &mut self.left);
        }
    }

    /// Removes the points and the intervals of `x` that a horizontal log axis cannot show.
    pub(super) fn drop_x_below_zero(&mut self) {
        self.retain(|x| x > 0.0);
        drop_pairs_below_zero(&mut self.left, &mut self.right);
    }

    /// Removes the values and the intervals of `y` that a vertical log axis cannot show.
    pub(super) fn drop_y_below_zero(&mut self) {
        self.y.iter_mut().filter(|y| **y <= 0.0).for_each(|y| *y = f64::NAN);
        drop_pairs_below_zero(&mut self.low, &mut self.high);
    }
}

/// Removes the values for which `kept` is false. A column that the series does not use is empty and stays
/// empty.
fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut at = kept.iter();
    column.retain(|_| at.next() == Some(&true));
}

/// Removes each interval with an end at or below zero.
fn drop_pairs_below_zero(lower: &mut [f64], upper: &mut [f64]) {
    for (lower, upper) in lower.iter_mut().zip(upper) {
        if *lower <= 0.0 || *upper <= 0.0 {
            (*lower, *upper) = (f64::NAN, f64::NAN);
        }
    }
}
