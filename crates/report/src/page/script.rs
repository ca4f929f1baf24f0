//! The script of a page. Tests compare its ticks and the texts of its numbers with the functions of this
//! crate.

use std::sync::OnceLock;

/// The script, without lines of comments, without empty lines, and without indentation.
pub fn script() -> &'static str {
    static SCRIPT: OnceLock<String> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let source = [include_str!("axis.js"), include_str!("script.js")].concat();
        let lines = source.lines().map(str::trim);
        let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        let code: Vec<&str> = code.collect();
        format!("\n(() => {{\n\"use strict\";\n{}\n}})();\n", code.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Range, Scale, Tick};
    use crate::number::significant;
    use rquickjs::{Context, Runtime};

    /// The result of an expression that may use the functions of `axis.js`.
    fn evaluated(expression: &str) -> String {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        let source = format!("{}\n{expression}", include_str!("axis.js"));
        context.with(|context| context.eval(source)).unwrap()
    }

    #[test]
    fn the_script_is_small_and_contains_no_closing_tag() {
        assert!(script().len() < 20 * 1024, "{}", script().len());
        assert!(!script().contains("</script") && !script().contains("<!--"));
        assert!(!super::super::style().contains("</"));
    }

    #[test]
    fn the_script_computes_the_same_axis_ticks_as_the_charts() {
        let mut ranges = Vec::new();
        for scale in [Scale::Linear, Scale::Log] {
            for power in -6..8 {
                for (from, factor) in [(1.0, 1.001), (1.7, 1.3), (3.3, 7.9), (1.0, 8.1), (2.0, 4e4)]
                {
                    let from = from * 10f64.powi(power);
                    ranges.push(Range { scale, from, to: from * factor });
                }
            }
        }
        let linear = [(0.0, 100.0), (-10.0, 35.0), (-1.0, 100.0), (12_345.0, 12_345.6)];
        ranges.extend(linear.map(|(from, to)| Range { scale: Scale::Linear, from, to }));
        for wanted in [1.0, 2.25, 7.9] {
            let asked: Vec<String> = ranges
                .iter()
                .map(|range| {
                    let Range { scale, from, to } = range;
                    format!("ticks({}, [{from:e}, {to:e}], {wanted})", *scale == Scale::Log)
                })
                .collect();
            let all = evaluated(&format!("JSON.stringify([{}])", asked.join(",")));
            let all: Vec<Vec<(f64, String)>> = serde_json::from_str(&all).unwrap();
            for ((range, theirs), asked) in ranges.iter().zip(all).zip(asked) {
                let ours = range.ticks(wanted);
                let texts: Vec<&str> = ours.iter().map(|tick| tick.text.as_str()).collect();
                let same: Vec<&str> = theirs.iter().map(|(_, text)| text.as_str()).collect();
                assert_eq!(texts, same, "{asked}");
                for (Tick { at, .. }, (other, _)) in ours.iter().zip(&theirs) {
                    assert!((at - other).abs() <= 1e-9 * at.abs(), "{asked}: {at} {other}");
                }
            }
        }
    }

    #[test]
    fn the_script_formats_numbers_like_the_tables() {
        let values = [0.0, 0.001_234_56, 13.48, 13.5, 999.96, 2733.53, -12_345.6, 1e-12, 9_999.6];
        let asked: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
        let theirs = evaluated(&format!("[{}].map(significant).join(' ')", asked.join(",")));
        assert_eq!(theirs, values.map(significant).join(" "));
    }
}
