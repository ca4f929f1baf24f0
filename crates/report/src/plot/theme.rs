//! The colours of charts and pages, light and dark. The colours of series have a contrast of at least 3
//! to 1 to their background (WCAG 2.2, 1.4.11). Colour-blind readers can distinguish the colours of series
//! without an order. Tests check both.

use std::fmt::Write as _;

/// The set of colours in which a plot is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a white background.
    #[default]
    Light,
    /// Light text on a dark background.
    Dark,
    /// The colours of the page that contains the plot, as variables of its style sheet, so that a reader
    /// can switch the theme. Only for plots within a page of [`crate::page`].
    Page,
}

/// The purpose of a colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Paint {
    /// The background.
    Paper,
    /// Important texts, such as titles.
    Ink,
    /// Less important texts, such as ticks and notes.
    Soft,
    /// Lines of the grid.
    Grid,
    /// Axes.
    Axis,
    /// Warnings, limits and failed requests.
    Alert,
    /// A series without an order; the number selects the colour.
    Named(usize),
    /// A series with an order, from 0 to 1. Larger values have more contrast to the background.
    Ramp(f64),
}

/// The colours of one theme.
struct Colours {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    grid: &'static str,
    axis: &'static str,
    alert: &'static str,
    named: [&'static str; NAMED],
    ramp: [[f64; 3]; 5],
}

/// The number of colours for series without an order. Further series repeat the colours with other dashes.
pub(crate) const NAMED: usize = 7;
/// The number of steps of the colour ramp in the style sheet of a page. Each step is a variable.
const STEPS: usize = 8;

/// The light theme. The colours of series are blue, vermilion, green, mauve, brown, violet, and the
/// colour of text.
const LIGHT: Colours = Colours {
    paper: "#ffffff",
    ink: "#1f2328",
    soft: "#59636e",
    grid: "#e4e7eb",
    axis: "#8c959f",
    alert: "#b43a00",
    named: ["#0072b2", "#e0480a", "#0aa568", "#a87d9a", "#6b2710", "#5840f5", "#1f2328"],
    // Viridis without its light end (S. van der Walt and N. Smith, 2015).
    ramp: [
        [33.0, 160.0, 130.0],
        [33.0, 145.0, 140.0],
        [49.0, 104.0, 142.0],
        [68.0, 57.0, 131.0],
        [68.0, 1.0, 84.0],
    ],
};

const DARK: Colours = Colours {
    paper: "#0d1117",
    ink: "#e6edf3",
    soft: "#9da7b1",
    grid: "#262d36",
    axis: "#6e7883",
    alert: "#f0883e",
    named: ["#56b4e9", "#ff5347", "#25ee9a", "#a9868b", "#ffd83d", "#6a66ff", "#e6edf3"],
    // Viridis without its dark end.
    ramp: [
        [73.0, 114.0, 152.0],
        [41.0, 145.0, 140.0],
        [53.0, 183.0, 121.0],
        [142.0, 214.0, 69.0],
        [253.0, 231.0, 37.0],
    ],
};

impl Theme {
    /// The colour as CSS.
    pub(crate) fn css(self, paint: Paint) -> String {
        let colours = match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
            Self::Page => return variable(paint),
        };
        match paint {
            Paint::Paper => colours.paper.to_owned(),
            Paint::Ink => colours.ink.to_owned(),
            Paint::Soft => colours.soft.to_owned(),
            Paint::Grid => colours.grid.to_owned(),
            Paint::Axis => colours.axis.to_owned(),
            Paint::Alert => colours.alert.to_owned(),
            Paint::Named(index) => colours.named[index % NAMED].to_owned(),
            Paint::Ramp(share) => ramp(&colours.ramp, share),
        }
    }

    /// Red, green and blue of the background; black for a page, which states its colours as variables.
    pub(super) fn paper(self) -> [u8; 3] {
        channels(&self.css(Paint::Paper)).unwrap_or_default()
    }

    /// A colour with this opacity, between 0 and 1, on the background. `None` for a page, which states its colours as
    /// variables.
    pub(crate) fn mixed(self, paint: Paint, opacity: f64) -> Option<String> {
        let channels = |paint| Some(channels(&self.css(paint))?.map(f64::from));
        let (over, under) = (channels(paint)?, channels(Paint::Paper)?);
        let mix = |at: usize| (under[at] + (over[at] - under[at]) * opacity).round() as u8;
        Some(format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2)))
    }

    /// The colours as custom properties (variables) of a style sheet: `--paper:#ffffff;...`.
    pub(crate) fn properties(self) -> String {
        let fixed = [Paint::Paper, Paint::Ink, Paint::Soft, Paint::Grid, Paint::Axis, Paint::Alert];
        let named = (0..NAMED).map(Paint::Named);
        let ramp = (0..STEPS).map(|step| Paint::Ramp(step as f64 / (STEPS - 1) as f64));
        fixed.into_iter().chain(named).chain(ramp).fold(String::new(), |mut out, paint| {
            let name = variable(paint);
            let name = name.trim_start_matches("var(").trim_end_matches(')');
            let _ = write!(out, "{name}:{};", self.css(paint));
            out
        })
    }
}

/// Red, green and blue of the CSS colour `#rrggbb`; `None` for any other text.
pub(super) fn channels(css: &str) -> Option<[u8; 3]> {
    let [_, red, green, blue] = u32::from_str_radix(css.strip_prefix('#')?, 16).ok()?.to_be_bytes();
    Some([red, green, blue])
}

/// The CSS expression for the custom property of a colour: `var(--ink)`.
fn variable(paint: Paint) -> String {
    match paint {
        Paint::Paper => "var(--paper)".to_owned(),
        Paint::Ink => "var(--ink)".to_owned(),
        Paint::Soft => "var(--soft)".to_owned(),
        Paint::Grid => "var(--grid)".to_owned(),
        Paint::Axis => "var(--axis)".to_owned(),
        Paint::Alert => "var(--alert)".to_owned(),
        Paint::Named(index) => format!("var(--s{})", index % NAMED),
        Paint::Ramp(share) => {
            let step = (share.clamp(0.0, 1.0) * (STEPS - 1) as f64).round();
            format!("var(--r{step})")
        }
    }
}

/// The colour at the position `share` of a ramp, from 0 to 1, as `#rrggbb`.
fn ramp(colours: &[[f64; 3]; 5], share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (colours.len() - 1) as f64;
    let from = (at.floor() as usize).min(colours.len() - 2);
    let rest = at - from as f64;
    let [r, g, b] = [0, 1, 2].map(|channel| {
        let value = colours[from][channel] * (1.0 - rest) + colours[from + 1][channel] * rest;
        value.round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The linear RGB values of a colour `#rrggbb`, from 0 to 1.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let [a, b] = [a, b].map(|colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        });
        a.max(b) / a.min(b)
    }

    /// Matrices that simulate kinds of colour vision: normal, protanopia, deuteranopia and tritanopia (G.
    /// Machado, M. Oliveira and L. Fernandes, 2009, at severity 1).
    const SIGHT: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    /// The CIE L*a*b* values of a colour, as a person with this colour vision sees it.
    fn lab(colour: &str, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = linear(colour);
        let [r, g, b] =
            sight.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0));
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn texts_and_series_have_enough_contrast_to_the_background() {
        for theme in [Theme::Light, Theme::Dark] {
            let against = |paint: Paint| contrast(&theme.css(paint), &theme.css(Paint::Paper));
            for (paint, least) in
                [(Paint::Ink, 7.0), (Paint::Soft, 4.5), (Paint::Alert, 4.5), (Paint::Axis, 2.9)]
            {
                assert!(against(paint) >= least, "{theme:?} {paint:?}: {}", against(paint));
            }
            let ramp = (0..STEPS).map(|step| Paint::Ramp(step as f64 / (STEPS - 1) as f64));
            for paint in (0..NAMED).map(Paint::Named).chain(ramp) {
                assert!(against(paint) >= 3.0, "{theme:?} {paint:?}: {}", against(paint));
            }
        }
    }

    #[test]
    fn colour_blind_readers_can_distinguish_series_without_an_order() {
        for theme in [Theme::Light, Theme::Dark] {
            for sight in &SIGHT {
                for (a, b) in (0..NAMED).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    let [x, y] = [a, b].map(|index| lab(&theme.css(Paint::Named(index)), sight));
                    let squares = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b));
                    let distance = squares.sum::<f64>().sqrt();
                    assert!(distance >= 18.0, "{theme:?} {a} {b}: {distance}");
                }
            }
        }
    }

    #[test]
    fn a_page_defines_every_colour_that_its_plots_use() {
        let properties = Theme::Dark.properties();
        for paint in [Paint::Paper, Paint::Soft, Paint::Named(6), Paint::Named(7), Paint::Ramp(1.0)]
        {
            let name = Theme::Page.css(paint);
            let name = name.trim_start_matches("var(").trim_end_matches(')');
            assert!(properties.contains(&format!("{name}:#")), "{name}: {properties}");
        }
    }
}
