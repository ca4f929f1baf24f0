//! A chart's data for the script, as compact JSON: a column for each thing that a point has.
//! Figures have five significant digits, which is more than a screen shows.

use serde_json::{Map, Value, json};

use super::draw::Layout;
use super::{Chart, Series, Shape, Spacing};
use crate::plot::Theme;

/// The JSON, fit to stand in a script element.
pub(super) fn json(chart: &Chart, layout: &Layout) -> String {
    let panels: Vec<Value> = chart
        .panels
        .iter()
        .zip(&layout.panels)
        .map(|(panel, placed)| {
            json!({
                "t": number(placed.top),
                "h": number(panel.height),
                "y": {"t": panel.axis.label(), "u": panel.axis.unit, "k": log(panel.spacing), "d": ends(placed.y.from, placed.y.to)},
                "s": panel.series.iter().map(series).collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut across = json!({
        "t": chart.x.axis.label(),
        "k": log(chart.x.spacing),
        "d": ends(layout.x.from, layout.x.to),
    });
    if !chart.x.named.is_empty() {
        across["n"] = column(&chart.x.named);
    }
    let mut all = json!({
        "w": number(layout.width),
        "l": number(layout.left),
        "r": number(layout.right),
        "x": across,
        "p": panels,
    });
    if !chart.bands.is_empty() {
        let bands = chart.bands.iter();
        all["b"] =
            bands.map(|(from, to, name)| json!([number(*from), number(*to), name])).collect();
    }
    // What could end the element, or be taken for the beginning of a comment.
    let text = all.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn series(series: &Series) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("n", json!(series.name));
    put("c", json!(Theme::Page.css(super::draw::paint(series))));
    put("s", json!(code(series.shape)));
    put("x", column(&series.x));
    put("y", column(&series.y));
    if series.shape == Shape::Marked {
        put("o", json!(1));
        put("e", json!(1));
    }
    if let Some(dash) = super::draw::dash(series.look) {
        put("d", json!(dash));
    }
    for (key, values) in [("a", &series.low), ("b", &series.high), ("m", &series.middle)] {
        if !values.is_empty() {
            put(key, column(values));
        }
    }
    if !series.left.is_empty() {
        put("h", json!([column(&series.left), column(&series.right)]));
    }
    if !series.texts.is_empty() {
        put("t", json!(series.texts));
    }
    if series.failed.contains(&true) {
        put("f", series.failed.iter().map(|failed| json!(u8::from(*failed))).collect());
    }
    Value::Object(out)
}

/// The numbers by which the script knows shapes.
fn code(shape: Shape) -> u8 {
    match shape {
        Shape::Line | Shape::Marked => 0,
        Shape::Step => 1,
        Shape::Dots => 2,
        Shape::Bars => 3,
        Shape::Spans => 5,
        Shape::Marks => 6,
    }
}

fn log(spacing: Spacing) -> u8 {
    u8::from(spacing == Spacing::Log)
}

/// The ends of an axis, which must hold what is rounded too.
fn ends(from: f64, to: f64) -> Value {
    json!([from, to])
}

fn column(values: &[f64]) -> Value {
    values.iter().map(|value| number(*value)).collect()
}

/// Five significant digits, whole numbers whole; null for what is not finite.
fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let whole = value.round();
    if value == 0.0 || value.abs() >= 1e4 || value == whole {
        return json!(whole as i64);
    }
    let decimals = (4.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    text.parse::<f64>().map_or(Value::Null, |value| json!(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_five_digits() {
        let texts = [0.0, 1.0, 12.345_678, 0.000_123_456_7, 123_456.78, f64::NAN]
            .map(|value| number(value).to_string());
        assert_eq!(texts, ["0", "1", "12.346", "0.00012346", "123457", "null"]);
    }
}
