//! JSON of another tool: fields by name, with errors that say which. It maps nothing.

use std::collections::BTreeMap;

use inferometer_analysis::imported::Stated;
use inferometer_model::target::Target;
use inferometer_stats::Distribution;
use serde_json::Value;

use crate::error::ExchangeError;
use crate::source::Source;

/// A document of a file.
pub(crate) struct Document<'a> {
    pub source: &'a Source,
    pub format: &'static str,
    pub value: &'a Value,
}

impl<'a> Document<'a> {
    /// A field, however deep: `input_config.tokenizer.name`.
    pub fn get(&self, path: &str) -> Option<&'a Value> {
        path.split('.').try_fold(self.value, |value, key| value.get(key))
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

    /// A number that must be there.
    pub fn need(&self, path: &str) -> Result<f64, ExchangeError> {
        self.number(path).ok_or_else(|| self.malformed(format!("`{path}` is no number")))
    }

    pub fn need_count(&self, path: &str) -> Result<u64, ExchangeError> {
        self.count(path).ok_or_else(|| self.malformed(format!("`{path}` is no count")))
    }

    pub fn malformed(&self, what: String) -> ExchangeError {
        ExchangeError::Malformed { file: self.source.file.clone(), format: self.format, what }
    }

    /// The same of a part.
    pub fn part(&self, value: &'a Value) -> Document<'a> {
        Document { source: self.source, format: self.format, value }
    }

    /// Every number and word outside of lists, under dotted names. `without` are names whose
    /// contents are kept otherwise.
    pub fn stated(&self, without: &[&str]) -> Stated {
        let mut stated = Stated::default();
        flatten(&mut stated, "", self.value, without);
        stated
    }
}

fn flatten(stated: &mut Stated, name: &str, value: &Value, without: &[&str]) {
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
            stated.words.insert(name.to_owned(), without_folders(words));
        }
        Value::Bool(is) => {
            stated.words.insert(name.to_owned(), is.to_string());
        }
        Value::Null | Value::Array(_) => {}
    }
}

/// A path says which machine it is of, and no more than its last part is of use elsewhere.
pub(super) fn without_folders(words: &str) -> String {
    if words.starts_with('/') && !words.contains(' ') {
        return words.trim_end_matches('/').rsplit('/').next().unwrap_or(words).to_owned();
    }
    words.to_owned()
}

/// What was measured, as far as a tool says so.
pub(super) fn target(model: &str, url: Option<&str>, dialect: &str) -> Target {
    Target {
        url: url.unwrap_or("unknown").to_owned(),
        dialect: dialect.to_owned(),
        engine: None,
        engine_version: None,
        model: without_folders(model),
        simulated: false,
        profile: None,
        facts: BTreeMap::new(),
    }
}

/// A distribution whose statistics are all stated, in another unit.
pub(super) fn distribution(
    document: &Document<'_>,
    path: &str,
    mean: &str,
    scale: f64,
) -> Option<Distribution> {
    let of = |name: &str| Some(document.number(&format!("{path}.{name}"))? * scale);
    Some(Distribution {
        mean: of(mean)?,
        mean_ci: None,
        p50: of("p50")?,
        p50_ci: None,
        p90: of("p90")?,
        p95: of("p95"),
        p99: of("p99")?,
        p99_ci: None,
        p999: None,
        max: of("max")?,
        n: document.count(&format!("{path}.count"))?,
        exact: true,
    })
}
