//! Access to the JSON of another tool by field name. Errors name the field.

use inferometer_analysis::ImportedPass;
use inferometer_model::{Statistic, Target, stats::Distribution};
use serde_json::Value;

use crate::{import::error::ImportError, import::source::Source};

/// A JSON document of a file, or a part of it.
pub(crate) struct Document<'a> {
    pub source: &'a Source,
    pub format: &'static str,
    pub value: &'a Value,
}

impl<'a> Document<'a> {
    /// Returns a field by its dotted path, at any depth: `input_config.tokenizer.name`. Keys may have dots, too:
    /// `p99.9`.
    pub fn get(&self, path: &str) -> Option<&'a Value> {
        at(self.value, path)
    }

    pub fn number(&self, path: &str) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    pub fn count(&self, path: &str) -> Option<u64> {
        self.get(path)?.as_u64().or_else(|| {
            let value = self.number(path)?;
            (value >= 0.0 && value.fract() == 0.0).then_some(value as u64)
        })
    }

    pub fn words(&self, path: &str) -> Option<&'a str> {
        self.get(path)?.as_str()
    }

    pub fn list(&self, path: &str) -> Option<&'a [Value]> {
        self.get(path)?.as_array().map(Vec::as_slice)
    }

    /// Returns a number, or an error if the field is missing or not a number.
    pub fn need(&self, path: &str) -> Result<f64, ImportError> {
        self.number(path)
            .ok_or_else(|| self.malformed(format!("`{path}` is missing or not a number")))
    }

    pub fn need_count(&self, path: &str) -> Result<u64, ImportError> {
        self.count(path)
            .ok_or_else(|| self.malformed(format!("`{path}` is missing or not a count")))
    }

    pub fn malformed(&self, what: String) -> ImportError {
        self.source.malformed(self.format, what)
    }

    /// Returns a part of the document as a document with the same source.
    pub fn part(&self, value: &'a Value) -> Document<'a> {
        Document { source: self.source, format: self.format, value }
    }

    /// Returns every number, text and flag outside arrays, with dotted names. Fields with a key in `without` are
    /// left out, at any depth.
    pub fn stated(&self, without: &[&str]) -> ImportedPass {
        let mut stated = ImportedPass::default();
        flatten(&mut stated, "", self.value, without);
        stated
    }
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let below = |(dot, _)| at(value.get(&path[..dot])?, &path[dot + 1..]);
    value.get(path).or_else(|| path.match_indices('.').find_map(below))
}

fn flatten(stated: &mut ImportedPass, name: &str, value: &Value, without: &[&str]) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !without.contains(&key.as_str())) {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(stated, &name, value, without);
            }
        }
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                stated.numbers.insert(name.to_owned(), number);
            }
        }
        Value::String(words) => {
            stated.texts.insert(name.to_owned(), without_folders(words));
        }
        Value::Bool(is) => {
            stated.texts.insert(name.to_owned(), is.to_string());
        }
        Value::Null | Value::Array(_) => {}
    }
}

/// Returns the last part of an absolute path, because folders have no meaning on another machine. Any other
/// text, and a text with spaces, is returned unchanged.
pub(super) fn without_folders(words: &str) -> String {
    if words.starts_with('/') && !words.contains(' ') {
        return words.trim_end_matches('/').rsplit('/').next().unwrap_or(words).to_owned();
    }
    words.to_owned()
}

/// Returns the target with the facts that a tool states.
pub(super) fn target(model: &str, url: Option<&str>, dialect: &str) -> Target {
    Target {
        url: url.unwrap_or("unknown").to_owned(),
        dialect: dialect.to_owned(),
        model: without_folders(model),
        ..Target::default()
    }
}

/// Returns a distribution of `n` values from the statistics that the file states: `of` returns the statistic of this
/// name (`mean`, `p50`, ...). `None` if neither the mean nor the median is stated, or if there are no values.
pub(super) fn distribution(n: u64, of: impl Fn(Statistic) -> Option<f64>) -> Option<Distribution> {
    let [mean, p50, p90, p99, max] =
        [Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P99, Statistic::Max]
            .map(|statistic| of(statistic).unwrap_or(f64::NAN));
    (n > 0 && !(mean.is_nan() && p50.is_nan())).then(|| Distribution {
        mean,
        p50,
        p90,
        p95: of(Statistic::P95),
        p99,
        p999: of(Statistic::P999),
        max,
        n,
        exact: true,
        ..Distribution::default()
    })
}
