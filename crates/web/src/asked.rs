//! What a reader asks for: the path and the query of a request, taken apart. Never a file's path:
//! segments are names that pages look up, and no page opens what it was sent.

use std::fmt::Write as _;

/// A request, as pages see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    segments: Vec<String>,
    query: Vec<(String, String)>,
}

impl Asked {
    /// Takes a request's target apart. Segments and values are percent-decoded, `+` is a space in
    /// a query, empty segments are left out; bytes that are no UTF-8 become U+FFFD.
    #[must_use]
    pub fn of(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| decoded(&text.replace('+', " "));
            (plain(name), plain(value))
        });
        Self { segments: segments.map(decoded).collect(), query: pairs.collect() }
    }

    /// The segments of the path.
    #[must_use]
    pub fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// One segment of the path; empty beyond its end.
    #[must_use]
    pub fn segment(&self, at: usize) -> &str {
        self.segments.get(at).map_or("", String::as_str)
    }

    /// The last value of a name, without spaces around it; none where it is empty.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(&[name]).pop()
    }

    /// Every value of these names, in the order in which they stand; empty ones are left out.
    #[must_use]
    pub fn values(&self, names: &[&str]) -> Vec<&str> {
        let named = self.query.iter().filter(|(name, _)| names.contains(&name.as_str()));
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty()).collect()
    }

    /// The path with other values of some names: `None` takes a name out.
    #[must_use]
    pub fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let kept = self.query.iter().filter(|(name, value)| {
            !value.is_empty() && !changes.iter().any(|(changed, _)| changed == name)
        });
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let segments: Vec<&str> = self.segments();
        link(&segments, &kept.chain(new).collect::<Vec<_>>())
    }
}

/// A link within the dashboard.
#[must_use]
pub fn link(segments: &[&str], query: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for segment in segments {
        out.push('/');
        encode(&mut out, segment);
    }
    if segments.is_empty() {
        out.push('/');
    }
    for (index, (name, value)) in query.iter().enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        encode(&mut out, name);
        out.push('=');
        encode(&mut out, value);
    }
    out
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.get(..2)).flatten();
        let hex = escaped.and_then(|hex| std::str::from_utf8(hex).ok());
        let valid = hex.filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match valid.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                out.push(value);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_taken_apart_and_put_together_again() {
        for (target, segments, query) in [
            ("/", vec![], vec![]),
            ("/runs/2026-ab?x=1&y=a+b&x=2", vec!["runs", "2026-ab"], vec!["1", "2"]),
            ("//runs//%2e%2e/%2Fetc", vec!["runs", "..", "/etc"], vec![]),
            ("/a%zz%4?x=%E4%B9%A6&x=%", vec!["a%zz%4"], vec!["书", "%"]),
            ("/?x=&x= ", vec![], vec![]),
        ] {
            let asked = Asked::of(target);
            assert_eq!(asked.segments(), segments, "{target}");
            assert_eq!(asked.values(&["x"]), query, "{target}");
            assert_eq!(Asked::of(&asked.with(&[])).segments(), segments, "{target}");
        }
        let asked = Asked::of("/runs?model=书生&page=3&sort=model");
        assert_eq!(
            asked.with(&[("page", None), ("sort", Some("a b"))]),
            "/runs?model=%E4%B9%A6%E7%94%9F&sort=a%20b"
        );
    }
}
