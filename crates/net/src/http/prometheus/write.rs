//! Writes the text of `/metrics`: families of samples with their help and type, and histograms. This module
//! does not depend on particular metrics.

use std::fmt::Write;

use inferometer_model::stats::buckets::Buckets;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that only grows.
    Counter,
    /// A value that may rise and fall.
    Gauge,
}

/// The text of `/metrics` while it is written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

/// Labels of a sample: names and unescaped values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// Writes a family with one sample that has no labels.
    pub fn one(&mut self, kind: Kind, name: &str, help: &str, value: f64) {
        self.family(kind, name, help);
        self.sample(name, &[], value);
    }

    /// Begins a family; its samples follow.
    pub fn family(&mut self, kind: Kind, name: &str, help: &str) {
        self.head(name, if kind == Kind::Counter { "counter" } else { "gauge" }, help);
    }

    /// Writes a sample of the latest family.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let pairs: Vec<String> = labels.iter().map(pair).collect();
            let _ = write!(self.text, "{{{}}}", pairs.join(","));
        }
        let _ = match value {
            f64::INFINITY => writeln!(self.text, " +Inf"),
            f64::NEG_INFINITY => writeln!(self.text, " -Inf"),
            value => writeln!(self.text, " {value}"),
        };
    }

    /// Writes a histogram as a family. A bucket counts values at or below its bound.
    pub fn histogram(&mut self, name: &str, help: &str, labels: Labels<'_>, of: &Buckets) {
        self.head(name, "histogram", help);
        let (bucket, sum, count) =
            (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
        let mut all = 0.0;
        for (bound, below) in of.cumulative() {
            let bound = if bound.is_finite() { format!("{bound:?}") } else { "+Inf".to_owned() };
            self.sample(&bucket, &[&[("le", bound.as_str())], labels].concat(), below);
            all = below;
        }
        self.sample(&sum, labels, of.sum_s());
        self.sample(&count, labels, all);
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
}

/// A label with its value escaped.
fn pair((name, value): &(&str, &str)) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_written_with_its_buckets_sum_and_count() {
        let mut buckets = Buckets::new(&[0.001, 0.005]);
        for (seconds, times) in [(0.001, 2.0), (0.005, 2.0), (0.006, 1.0), (3_000.0, 2.0)] {
            buckets.add(seconds, times);
        }
        let mut out = Exposition::default();
        out.histogram("x_seconds", "Of \\ and\nlines.", &[("model", "a")], &buckets);
        let expected = "# HELP x_seconds Of \\\\ and\\nlines.\n# TYPE x_seconds histogram\n\
                        x_seconds_bucket{le=\"0.001\",model=\"a\"} 2\n\
                        x_seconds_bucket{le=\"0.005\",model=\"a\"} 4\n\
                        x_seconds_bucket{le=\"+Inf\",model=\"a\"} 7\n\
                        x_seconds_sum{model=\"a\"} 6000.018\nx_seconds_count{model=\"a\"} 7\n";
        assert_eq!(out.finish(), expected);
    }

    #[test]
    fn label_values_are_escaped_and_infinity_is_written_as_inf() {
        let mut out = Exposition::default();
        out.family(Kind::Gauge, "a_info", "Facts.");
        out.sample("a_info", &[("model", "书 \"7B\"\\\n"), ("b", "")], 1.0);
        out.one(Kind::Counter, "b_total", "Things.", f64::INFINITY);
        let expected = "# HELP a_info Facts.\n# TYPE a_info gauge\n\
                        a_info{model=\"书 \\\"7B\\\"\\\\\\n\",b=\"\"} 1\n\
                        # HELP b_total Things.\n# TYPE b_total counter\nb_total +Inf\n";
        assert_eq!(out.finish(), expected);
    }
}
