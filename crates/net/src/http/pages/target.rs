//! The target of a request: path and query, decoded. Pages look up the segments as names, and never use them
//! as the path of a file.

use std::fmt::Write as _;

/// The path and the query of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTarget {
    segments: Vec<String>,
    query: Vec<(String, String)>,
}

impl RequestTarget {
    /// Parses a request target. Segments, names and values are percent-decoded, `+` is a space in a query,
    /// and empty segments are left out. An invalid percent sign stays as it is. Bytes that are not UTF-8
    /// become U+FFFD.
    pub fn parse(target: &str) -> Self {
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
    pub fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// The segment at an index; empty if the path is shorter.
    pub fn segment(&self, at: usize) -> &str {
        self.segments.get(at).map_or("", String::as_str)
    }

    /// The last non-empty value of this name in the query, trimmed; `None` if there is none.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(&[name]).pop()
    }

    /// Every non-empty value of these names, trimmed, in the order of the query.
    pub fn values(&self, names: &[&str]) -> Vec<&str> {
        let named = self.query.iter().filter(|(name, _)| names.contains(&name.as_str()));
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty()).collect()
    }

    /// A link to the same path with some query values changed; `None` removes a name. Names with an empty
    /// value are left out.
    pub fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let unchanged = self.query.iter().filter(|(name, value)| {
            !value.is_empty() && !changes.iter().any(|(changed, _)| changed == name)
        });
        let unchanged = unchanged.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let segments: Vec<&str> = self.segments();
        link(&segments, &unchanged.chain(new).collect::<Vec<_>>())
    }
}

/// A link within a site, from path segments and query pairs. Both are percent-encoded.
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

/// Percent-encodes all characters except the unreserved ones of RFC 3986.
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
    fn a_request_target_is_parsed_and_can_be_written_as_a_link() {
        for (text, segments, query) in [
            ("/", vec![], vec![]),
            ("/runs/2026-ab?x=1&y=a+b&x=2", vec!["runs", "2026-ab"], vec!["1", "2"]),
            ("//runs//%2e%2e/%2Fetc", vec!["runs", "..", "/etc"], vec![]),
            ("/a%zz%4?x=%E4%B9%A6&x=%", vec!["a%zz%4"], vec!["书", "%"]),
            ("/?x=&x= ", vec![], vec![]),
        ] {
            let target = RequestTarget::parse(text);
            assert_eq!(target.segments(), segments, "{text}");
            assert_eq!(target.values(&["x"]), query, "{text}");
            assert_eq!(RequestTarget::parse(&target.with(&[])).segments(), segments, "{text}");
        }
        let target = RequestTarget::parse("/runs?model=书生&page=3&sort=model");
        assert_eq!(
            target.with(&[("page", None), ("sort", Some("a b"))]),
            "/runs?model=%E4%B9%A6%E7%94%9F&sort=a%20b"
        );
    }
}
