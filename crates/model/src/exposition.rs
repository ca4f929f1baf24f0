//! Prometheus' text form (0.0.4), written: families of samples with their help and type, and
//! histograms between fixed bounds. Never what a name means, and never read here.

use std::fmt::Write;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of TTFT in seconds, as vLLM has them.
pub const FIRST_TOKEN_S: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Upper bounds of the time from one token to the next in seconds, as vLLM has them.
pub const FURTHER_TOKEN_S: [f64; 19] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];
/// Upper bounds of E2E in seconds, as vLLM has them.
pub const REQUEST_S: [f64; 21] = [
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
}

/// Counts of spans between bounds, and their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    bounds_s: &'static [f64],
    /// One for each bound, and one above them all. What stands for a part of a token counts as one.
    counts: Vec<f64>,
    sum_s: f64,
}

impl Buckets {
    /// Nothing counted yet, between upper bounds in seconds, which rise.
    #[must_use]
    pub fn new(bounds_s: &'static [f64]) -> Self {
        Self { bounds_s, counts: vec![0.0; bounds_s.len() + 1], sum_s: 0.0 }
    }

    /// Counts a span in seconds, `times` times.
    pub fn add(&mut self, seconds: f64, times: f64) {
        let place = self.bounds_s.partition_point(|&bound| bound < seconds);
        self.counts[place] += times;
        self.sum_s += seconds * times;
    }

    /// Counts all that another one with the same bounds has counted.
    ///
    /// # Panics
    /// If the bounds are others.
    pub fn add_all(&mut self, other: &Self) {
        assert_eq!(self.bounds_s, other.bounds_s, "counts between other bounds");
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_s += other.sum_s;
    }

    /// How many spans were counted.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.counts.iter().sum()
    }
}

/// A text that is being written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

/// Labels of a sample: names, and values as they are.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// A family with one sample that has no labels.
    pub fn one(&mut self, kind: Kind, name: &str, help: &str, value: f64) {
        self.family(kind, name, help);
        self.sample(name, &[], value);
    }

    /// Begins a family; its samples follow.
    pub fn family(&mut self, kind: Kind, name: &str, help: &str) {
        self.head(name, if kind == Kind::Counter { "counter" } else { "gauge" }, help);
    }

    /// A sample of the family that was begun last.
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

    /// A histogram: a family of its own, whose buckets count what is at or below their bound.
    pub fn histogram(&mut self, name: &str, help: &str, labels: Labels<'_>, of: &Buckets) {
        self.head(name, "histogram", help);
        let (bucket, sum, count) =
            (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
        let mut below = 0.0;
        let bounds = of.bounds_s.iter().map(|bound| format!("{bound:?}"));
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&of.counts) {
            below += count;
            self.sample(&bucket, &[&[("le", bound.as_str())], labels].concat(), below);
        }
        self.sample(&sum, labels, of.sum_s);
        self.sample(&count, labels, below);
    }

    /// The text.
    #[must_use]
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
    fn buckets_count_what_is_at_or_below_their_bound_and_the_last_one_counts_all() {
        let mut buckets = Buckets::new(&[0.001, 0.005]);
        for (seconds, times) in [(0.001, 1.0), (0.005, 1.0), (0.006, 0.5), (3_000.0, 1.0)] {
            buckets.add(seconds, times);
        }
        let mut twice = buckets.clone();
        twice.add_all(&buckets);
        assert_eq!((buckets.count(), twice.count()), (3.5, 7.0));
        let mut out = Exposition::default();
        out.histogram("x_seconds", "Of \\ and\nlines.", &[("model", "a")], &twice);
        let expected = "# HELP x_seconds Of \\\\ and\\nlines.\n# TYPE x_seconds histogram\n\
                        x_seconds_bucket{le=\"0.001\",model=\"a\"} 2\n\
                        x_seconds_bucket{le=\"0.005\",model=\"a\"} 4\n\
                        x_seconds_bucket{le=\"+Inf\",model=\"a\"} 7\n\
                        x_seconds_sum{model=\"a\"} 6000.018\nx_seconds_count{model=\"a\"} 7\n";
        assert_eq!(out.finish(), expected);
    }

    #[test]
    fn values_of_labels_are_escaped_and_numbers_are_those_that_are_read() {
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
