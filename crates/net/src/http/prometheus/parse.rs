//! Parses the text of `/metrics` (Prometheus 0.0.4, OpenMetrics) into samples. This module does not depend on
//! particular metrics.

/// One sample, which is one line of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric<'a> {
    /// The name, including a suffix such as `_total`, `_bucket`, `_sum` or `_count`.
    pub name: &'a str,
    /// The text between the braces, with escapes; empty if there are no braces.
    labels: &'a str,
    /// The value.
    pub value: f64,
}

impl<'a> Metric<'a> {
    /// The value of a label, with its escapes; `None` if there is no such label.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((key, after)) = rest.split_once('=') {
            let after = after.trim_start().strip_prefix('"')?;
            let end = end_of_quoted(after)?;
            if key.trim_matches([',', ' ']) == name {
                return Some(&after[..end]);
            }
            rest = &after[end + 1..];
        }
        None
    }
}

/// The samples of a text. Comments and lines that are not samples are skipped, because servers mix formats.
pub fn metrics(text: &str) -> impl Iterator<Item = Metric<'_>> {
    text.lines().filter_map(metric)
}

fn metric(line: &str) -> Option<Metric<'_>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        None => ("", rest),
        Some(inner) => {
            let end = end_of_labels(inner)?;
            (&inner[..end], &inner[end + 1..])
        }
    };
    // A timestamp or an exemplar may follow the value.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Metric { name, labels, value })
}

/// The offset of the closing brace. A brace inside quotes is text.
fn end_of_labels(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let next = at + text[at..].find(['"', '}'])?;
        if text.as_bytes()[next] == b'}' {
            return Some(next);
        }
        at = next + 1 + end_of_quoted(&text[next + 1..])? + 1;
    }
}

/// The offset of the closing quote. A quote after a backslash is text.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_lines_are_parsed_into_name_labels_and_value_and_invalid_lines_are_skipped() {
        let text = "# HELP a b\n# TYPE a gauge\na 1\n\nb{x=\"1\",model=\"书 \\\"}{\"} 2.5e3 17\n\
                    c{} NaN\nd{le=\"+Inf\"} +Inf # {t=\"1\"} 3\nno value\nbroken{x=\"1 4\n";
        let found: Vec<Metric<'_>> = metrics(text).collect();
        let names: Vec<&str> = found.iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!((found[0].value, found[1].value), (1.0, 2_500.0));
        assert_eq!(found[1].label("model"), Some("书 \\\"}{"));
        assert_eq!((found[1].label("x"), found[1].label("y")), (Some("1"), None));
        assert!(found[2].value.is_nan() && found[3].value.is_infinite());
    }
}
