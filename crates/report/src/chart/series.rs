//! What a chart draws in one colour: points as columns of values. Nothing here is drawn.

/// Points that belong together. Each column has one value per point, or is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend; a reader switches series of the same name on and off together.
    pub name: String,
    /// Its number: series of different numbers differ in colour, marker and dashes.
    pub look: usize,
    /// Its kind of colour.
    pub tint: Tint,
    /// How it is drawn.
    pub shape: Shape,
    /// Positions, ascending; for [`Shape::Marked`], in the order in which they are joined.
    pub x: Vec<f64>,
    /// Values; a value that is not finite is a gap.
    pub y: Vec<f64>,
    /// The lower ends of the intervals of the values; not finite if there is no interval.
    pub low: Vec<f64>,
    /// The upper ends.
    pub high: Vec<f64>,
    /// Ends along the horizontal axis: those of [`Shape::Bars`] and [`Shape::Spans`]; for other shapes
    /// those of an interval. Not finite if there is none.
    pub left: Vec<f64>,
    /// The other ends.
    pub right: Vec<f64>,
    /// For [`Shape::Spans`]: where the second part begins.
    pub middle: Vec<f64>,
    /// What a page adds to each point when it shows its value.
    pub texts: Vec<String>,
    /// Which points stand for requests that did not all complete. They have hollow markers and bars, or
    /// spans in another colour.
    pub failed: Vec<bool>,
    /// Whether each point is labelled with its value, or with its own text if it has one. For
    /// [`Shape::Marks`] and [`Shape::Tiles`], only its own text.
    pub labelled: bool,
    /// Whether it is only shown when a reader of a page chooses it. A file does not have it.
    pub hidden: bool,
}

/// The kind of colour of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tint {
    /// The colour of its number, for series without an order.
    #[default]
    Named,
    /// A colour on a ramp from 0 to 1, for series with an order, such as input lengths.
    Ramp(f64),
    /// The colour of something that a reader must not miss, such as a limit.
    Alert,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Straight lines between the points.
    #[default]
    Line,
    /// As [`Shape::Line`], with a marker on each point and intervals as whiskers.
    Marked,
    /// Each value holds until the next.
    Step,
    /// Points only.
    Dots,
    /// A bar from `left` to `right`, as high as `y`, with its interval as a whisker.
    Bars,
    /// A line from `left` through `middle` to `right` at the height `y`, pale until `middle`.
    Spans,
    /// A vertical line through the whole panel at each `x`.
    Marks,
    /// A rectangle from `left` to `right` and from `low` to `high`, with `x` and `y` at its centre.
    Tiles,
}

impl Series {
    /// Adds a point with its value and, if there is one, its interval.
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

    /// Whether the requests behind a point did not all complete.
    pub(crate) fn is_failed(&self, point: usize) -> bool {
        self.failed.get(point).copied().unwrap_or_default()
    }

    /// Whether its points have a width of their own on the horizontal axis.
    pub(crate) fn has_width(&self) -> bool {
        matches!(self.shape, Shape::Bars | Shape::Tiles)
    }

    /// Keeps the points whose position is wanted.
    pub(crate) fn retain(&mut self, wanted: impl Fn(f64) -> bool) {
        let kept: Vec<bool> = self.x.iter().map(|x| wanted(*x)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        for column in [
            &mut self.x,
            &mut self.y,
            &mut self.low,
            &mut self.high,
            &mut self.left,
            &mut self.right,
            &mut self.middle,
        ] {
            retain(column, &kept);
        }
        retain(&mut self.texts, &kept);
        retain(&mut self.failed, &kept);
    }

    /// Removes what a horizontal log axis cannot show.
    pub(super) fn drop_x_below_zero(&mut self) {
        self.retain(|x| x > 0.0);
        drop_pairs_below_zero(&mut self.left, &mut self.right);
    }

    /// Removes what a vertical log axis cannot show.
    pub(super) fn drop_y_below_zero(&mut self) {
        self.y.iter_mut().filter(|y| **y <= 0.0).for_each(|y| *y = f64::NAN);
        drop_pairs_below_zero(&mut self.low, &mut self.high);
    }
}

/// A column may be empty if the series does not use it.
fn retain<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut at = kept.iter();
    column.retain(|_| at.next() == Some(&true));
}

/// An interval with an end that its axis cannot show is removed.
fn drop_pairs_below_zero(lower: &mut [f64], upper: &mut [f64]) {
    for (lower, upper) in lower.iter_mut().zip(upper) {
        if *lower <= 0.0 || *upper <= 0.0 {
            (*lower, *upper) = (f64::NAN, f64::NAN);
        }
    }
}
