//! Small pictures of a live view: a quantity over time, and a distribution. Never a figure of a
//! report: those are drawn in its room.

use std::time::Duration;

use inferometer_core::histogram::Histogram;

use crate::markup::Html;

/// Size of a picture in its own units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 112.0;
/// Room for the axis below the bars.
const FOOT: f64 = 16.0;
/// Room for the highest value above them.
const HEAD: f64 = 16.0;

/// What a picture shows.
pub(crate) struct Bars<'a> {
    /// What it is of, with its unit.
    pub(crate) title: &'a str,
    /// The heights.
    pub(crate) values: Vec<f64>,
    /// What stands at the left and the right end of the axis.
    pub(crate) ends: [String; 2],
    /// How the highest value reads.
    pub(crate) most: String,
}

impl Bars<'_> {
    /// The picture, with its title above it; nothing where no bar has a height.
    pub(crate) fn draw(&self) -> Html {
        let mut out = Html::new();
        let most = self.values.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return out;
        }
        let label = format!(
            "{}, from {} to {}: at most {}",
            self.title, self.ends[0], self.ends[1], self.most
        );
        out.raw("<h3>").text(self.title).raw("</h3>\n<svg class=\"bars\" role=\"img\"");
        out.attribute("viewBox", &format!("0 0 {WIDTH} {HEIGHT}"));
        out.raw(" preserveAspectRatio=\"none\"").attribute("aria-label", &label).raw(">\n");
        let step = WIDTH / self.values.len() as f64;
        for (at, value) in self.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let height = (HEIGHT - FOOT - HEAD) * value / most;
            let corner = [at as f64 * step, HEIGHT - FOOT - height, (step - 1.0).max(0.5), height];
            out.raw("<rect");
            for (name, value) in ["x", "y", "width", "height"].into_iter().zip(corner) {
                out.attribute(name, &format!("{value:.2}"));
            }
            out.raw("/>");
        }
        out.raw("\n</svg>\n<p class=\"ends\"><span>").text(&self.ends[0]).raw("</span><span>");
        out.text(&format!("at most {}", self.most)).raw("</span><span>");
        out.text(&self.ends[1]).raw("</span></p>\n");
        out
    }
}

/// How many bars a distribution has.
const BUCKETS: usize = 40;

/// A distribution of latencies, on a logarithmic axis from its first percentile to its longest.
pub(crate) fn distribution(title: &str, spans: &Histogram) -> Html {
    let (low, high) = (spans.quantile(0.01), spans.max());
    if spans.count() == 0 || low.is_zero() {
        return Html::new();
    }
    let (from, to) = (low.as_secs_f64() * 0.97, high.as_secs_f64() * 1.04);
    let edge = |at: usize| {
        let share = at as f64 / BUCKETS as f64;
        Duration::from_secs_f64(from * (to / from).powf(share))
    };
    let up_to: Vec<u64> = (0..=BUCKETS).map(|at| spans.count_up_to(edge(at))).collect();
    let values: Vec<f64> = up_to.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let share = 100.0 * most / spans.count() as f64;
    let ends = [from, to].map(|seconds| ms(Duration::from_secs_f64(seconds)));
    Bars { title, values, ends, most: format!("{share:.0} % in a bar") }.draw()
}

/// A latency for people.
pub(crate) fn ms(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1e3;
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}
