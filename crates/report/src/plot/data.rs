//! The data of a chart as JSON. The script of a page uses it to zoom and to show values. The JSON contains
//! the positions of panels, the ends of axes, and each series as columns. Values have five significant digits; on
//! a linear axis, positions have no more decimals than a 20,000th of it, and heights than a 5,000th, but three digits.

use inferometer_model::visible;
use serde_json::{Map, Value, json};

use super::{layout::Layout, look::Look, theme::Theme};
use crate::chart::{Arrangement, Axis, Chart, Range, Scale, Series, Shape, Tick};

/// The smallest parts of a linear axis that positions and heights show.
const FINEST: [f64; 2] = [1.0 / 20_000.0, 1.0 / 5_000.0];
const MOST_DECIMALS: usize = 12;
/// The digits that a height has at least: it is read, and not only drawn.
const LEAST_DIGITS: f64 = 3.0;

/// The JSON of a chart, escaped for a script element.
pub(super) fn json(chart: &Chart, layout: &Layout) -> String {
    let panels = chart.panels.iter().zip(&layout.panels).map(|(panel, placed)| {
        let mut out = json!({
            "l": number(placed.left),
            "t": number(placed.top),
            "w": number(placed.width),
            "h": number(placed.height),
            "n": [u8::from(placed.labels_x), u8::from(placed.labels_y)],
            "y": axis(&panel.y, placed.y),
            "u": panel.y.unit,
            "s": panel.series.iter().map(|of| series(of, layout.x, placed.y)).collect::<Vec<_>>(),
        });
        if !panel.y.ticks.is_empty() {
            out["m"] = named(&panel.y.ticks);
        }
        if panel.bands.iter().any(|band| !band.name.is_empty()) {
            let bands = panel.bands.iter();
            out["b"] = bands
                .map(|band| json!([number(band.from), number(band.to), visible::line(&band.name)]))
                .collect();
        }
        out
    });
    let mut x = axis(&chart.x, layout.x);
    x["t"] = json!(chart.x.label());
    if !chart.x.ticks.is_empty() {
        x["n"] = named(&chart.x.ticks);
    }
    let all = json!({
        "w": number(layout.width),
        "g": chart.arrangement == Arrangement::Grid,
        "x": x,
        "gx": layout.has_x_grid,
        "p": panels.collect::<Vec<_>>(),
    });
    // Characters that could end the script element, or begin a comment, are escaped.
    let text = all.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Ticks as pairs of a value and its text.
fn named(ticks: &[Tick]) -> Value {
    ticks.iter().map(|tick| json!([number(tick.at), visible::line(&tick.text)])).collect()
}

/// The scale of an axis (1 for a log scale) and its ends, which are not rounded. `i` is 1 if only whole numbers
/// have ticks.
fn axis(axis: &Axis, range: Range) -> Value {
    let mut out = json!({"k": u8::from(range.scale == Scale::Log), "d": [range.from, range.to]});
    if axis.is_whole() {
        out["i"] = json!(1);
    }
    out
}

fn series(series: &Series, x: Range, y: Range) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("n", json!(visible::line(&series.name)));
    put("c", json!(Theme::Page.css(Look::of(series).paint)));
    put("s", json!(code(series.shape)));
    if series.shape == Shape::Marked {
        // This key tells the script that the positions may not be in ascending order.
        put("o", json!(1));
    }
    if series.hidden {
        put("h", json!(1));
    }
    // Bars, spans and tiles have ends instead of `x`, and marks have no `y`.
    let has_ends = matches!(series.shape, Shape::Bars | Shape::Spans | Shape::Tiles);
    let none = Vec::new();
    let across = (decimals(x, FINEST[0]), 0.0);
    let up = (decimals(y, FINEST[1]), LEAST_DIGITS);
    for (key, values, on) in [
        ("x", if has_ends { &none } else { &series.x }, across),
        ("y", if series.shape == Shape::Marks { &none } else { &series.y }, up),
        ("a", &series.low, up),
        ("b", &series.high, up),
        ("f", &series.left, across),
        ("e", &series.right, across),
    ] {
        if values.iter().any(|value| value.is_finite()) {
            put(key, values.iter().map(|value| rounded(*value, on)).collect());
        }
    }
    if !series.texts.is_empty() {
        put("t", series.texts.iter().map(|text| json!(visible::line(text))).collect());
    }
    Value::Object(out)
}

/// The name of a shape in the data for the script.
fn code(shape: Shape) -> &'static str {
    match shape {
        Shape::Line | Shape::Marked => "line",
        Shape::Step => "step",
        Shape::Dots => "dots",
        Shape::Bars => "bars",
        Shape::Spans => "spans",
        Shape::Marks => "marks",
        Shape::Tiles => "tiles",
    }
}

/// The number of decimals with which an axis shows this part of it.
fn decimals(on: Range, finest: f64) -> usize {
    match on.scale {
        Scale::Log => MOST_DECIMALS,
        Scale::Linear => {
            let finest = (on.to - on.from) * finest;
            (-finest.log10()).ceil().clamp(0.0, MOST_DECIMALS as f64) as usize
        }
    }
}

/// A number with five significant digits.
fn number(value: f64) -> Value {
    rounded(value, (MOST_DECIMALS, 0.0))
}

/// A number with five significant digits, and at most so many decimals, but at least so many significant digits. Digits
/// before the decimal point are always kept. Null if it is not finite.
fn rounded(value: f64, (most, least_digits): (usize, f64)) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let whole = value.round();
    if value == 0.0 || value.abs() >= 1e4 || value == whole {
        return json!(whole as i64);
    }
    let first = value.abs().log10().floor();
    let most = (most as f64).max(least_digits - 1.0 - first).clamp(0.0, MOST_DECIMALS as f64);
    let decimals = (4.0 - first).clamp(0.0, most) as usize;
    let power = 10_f64.powi(decimals as i32);
    let scaled = value * power;
    // Only very near the middle between two numbers, the product may be rounded to the other one.
    if (scaled.abs().fract() - 0.5).abs() > 1e-6 {
        return json!(scaled.round() / power);
    }
    let text = format!("{value:.decimals$}");
    text.parse::<f64>().map_or(Value::Null, |value| json!(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_chart_data_are_rounded_to_five_significant_digits() {
        let texts = [0.0, 1.0, 12.345_678, 0.000_123_456_7, 123_456.78, f64::NAN]
            .map(|value| number(value).to_string());
        assert_eq!(texts, ["0", "1", "12.346", "0.00012346", "123457", "null"]);
    }

    #[test]
    fn values_have_no_more_decimals_than_their_linear_axis_shows() {
        let on = |to, scale, finest| decimals(Range { from: 0.0, to, scale }, finest);
        let x = |to, scale| (on(to, scale, FINEST[0]), 0.0);
        let y = |to| (on(to, Scale::Linear, FINEST[1]), LEAST_DIGITS);
        for (value, on, text) in [
            (0.000_010_8, x(0.92, Scale::Linear), "0.00001"),
            (0.000_010_8, x(0.92, Scale::Log), "0.0000108"),
            (1_343.26, y(4_325.0), "1343.3"),
            (3.274, y(60_000.0), "3.27"),
            (0.0, y(60_000.0), "0"),
        ] {
            assert_eq!(rounded(value, on).to_string(), text);
        }
    }
}
