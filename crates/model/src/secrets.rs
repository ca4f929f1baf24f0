//! The secrets of a run, such as API keys, and their removal from texts that are shown or stored.
//!
//! A text from outside is redacted before it is cut, because the beginning of a key is a secret too.

mod names;
mod spelling;
mod words;

use std::{borrow::Cow, ffi::OsString, ops::Range, sync::Arc};

use memchr::memmem;
use serde_json::Value;

use names::is_public;
pub use names::{is_key_header, names_a_secret, names_a_secret_argument, names_a_secret_parameter};
use spelling::Decoded;
pub use words::secrets_in_words;

/// The text that replaces a secret.
pub const REDACTED: &str = "***";

/// The shortest secret, in characters, that is removed from texts. A shorter secret, such as `EMPTY` or
/// `test`, may also be an ordinary word. If it were replaced everywhere, texts could not be read.
pub const MIN_SECRET_CHARS: usize = 8;

/// The header name under which [`Secrets::of_headers`] receives the values of environment variables. Because this is
/// not the name of a header with a key, only complete values are redacted.
const WHOLE: &str = "environment";

/// The secrets of a run. [`Secrets::redact`] is called where a text enters the program: answers of a server,
/// the log of a server, messages about a plan. A secret is found in all spellings that web pages, URLs, JSON and
/// base64 may give it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[Secret]>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Secret {
    /// As it is in a text as it stands.
    text: Needle,
    /// As it is in a text without escapes.
    decoded: Needle,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Needle {
    bytes: Vec<u8>,
    /// The number of bytes at the beginning that identify the secret. A text that contains only these
    /// bytes is redacted too.
    min_prefix_bytes: usize,
}

/// A secret in a text.
struct Found {
    place: Range<usize>,
    is_whole: bool,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// The secrets in the header fields of requests. The beginning of a key is replaced too, because
    /// servers quote keys as `sk-abcde...`. Other values are only replaced if they are complete, because
    /// they may begin with ordinary words.
    pub fn of_headers(headers: &[(String, String)]) -> Self {
        let mut secrets = Vec::new();
        for (name, value) in headers.iter().filter(|(name, _)| !is_public(name)) {
            let is_key = is_key_header(name);
            let parts = if is_key { key_parts(name, value) } else { vec![value.clone()] };
            for secret in parts {
                let last = secret.char_indices().nth(MIN_SECRET_CHARS - 1);
                let Some((at, last)) = last else { continue };
                let least = if is_key { at + last.len_utf8() } else { secret.len() };
                let start = &secret.as_bytes()[..least];
                let in_base64 = spelling::base64_forms(secret.as_bytes()).into_iter();
                let starts = spelling::base64_forms(start);
                secrets.extend(in_base64.map(|form| {
                    let of_form = |start: &&String| form.starts_with(start.as_str());
                    let least = starts.iter().find(of_form).map_or(form.len(), String::len);
                    Secret::new(&form, least)
                }));
                secrets.push(Secret::new(&secret, least));
            }
        }
        // Of two secrets with equal texts, the one with the shorter identifying beginning remains.
        secrets.sort();
        secrets.dedup_by(|a, b| a.text.bytes == b.text.bytes);
        Self(secrets.into())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces each secret in the text by `***`. The text is searched once for each secret.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replaced(text, &self.found(text))
    }

    /// [`Secrets::redact`] for bytes. If they contain a secret, bytes that are not UTF-8 are replaced too.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let redacted = match self.redact(&String::from_utf8_lossy(&bytes)) {
            Cow::Owned(redacted) => Some(redacted.into_bytes()),
            Cow::Borrowed(_) => None,
        };
        redacted.unwrap_or(bytes)
    }

    /// [`Secrets::redact`] for names and for this program's own texts. In these texts, an ordinary word
    /// may begin like a key. So the beginning of a key is replaced only if the text ends after it, or
    /// shows that the key was cut.
    pub fn redact_name<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.found(text);
        let is_cut = |found: &Found| {
            text[found.place.end..].chars().next().is_none_or(|next| "*.…".contains(next))
        };
        let is_any = found.iter().any(|found| found.is_whole || is_cut(found));
        if is_any { replaced(text, &found) } else { Cow::Borrowed(text) }
    }

    /// [`Secrets::redact_name`] for all texts of a document.
    pub fn redact_json(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.redact_name(text).into_owned(),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact_json(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.redact_json(value)),
            _ => {}
        }
    }

    /// Whether a text contains a secret, or a beginning that identifies a secret.
    pub fn is_in(&self, text: &str) -> bool {
        !self.found(text).is_empty()
    }

    /// Whether a text contains a complete secret.
    pub fn is_whole_in(&self, text: &str) -> bool {
        self.found(text).iter().any(|found| found.is_whole)
    }

    /// The place at which a text may be divided: `end`, or the beginning of the secret around it.
    pub fn cut_before(&self, text: &[u8], end: usize) -> usize {
        // Bytes that are not UTF-8 change no place.
        let readable: String = text.utf8_chunks().fold(String::new(), |all, chunk| {
            all + chunk.valid() + &"?".repeat(chunk.invalid().len())
        });
        let around = |found: &Found| found.place.start < end && end < found.place.end;
        self.found(&readable).into_iter().find(around).map_or(end, |found| found.place.start)
    }

    /// The places of all secrets, in their order. They do not overlap.
    fn found(&self, text: &str) -> Vec<Found> {
        let mut all = Vec::new();
        for secret in self.0.iter() {
            all.extend(secret.text.find_in(text.as_bytes()));
            // A secret with escapes may be in a text that has none.
            let plain = &secret.decoded.bytes;
            if *plain != secret.text.bytes && plain.len() >= MIN_SECRET_CHARS {
                all.extend(secret.decoded.find_in(text.as_bytes()));
            }
        }
        if let Some(decoded) = (!self.is_empty()).then(|| Decoded::of(text)).flatten() {
            for secret in self.0.iter() {
                let found = secret.decoded.find_in(&decoded.bytes);
                all.extend(found.map(|found| Found { place: decoded.place(found.place), ..found }));
            }
        }
        all.sort_by_key(|found| (found.place.start, std::cmp::Reverse(found.place.end)));
        all.dedup_by(|next, before| {
            let overlaps = next.place.start < before.place.end;
            if overlaps {
                before.place.end = before.place.end.max(next.place.end);
                before.is_whole |= next.is_whole;
            }
            overlaps
        });
        // The beginning of a secret may end inside a character of another text.
        for found in &mut all {
            found.place = text.floor_char_boundary(found.place.start)
                ..text.floor_char_boundary(found.place.end);
        }
        all
    }
}

impl Secret {
    /// `least`: the number of bytes that identify the secret.
    fn new(secret: &str, least: usize) -> Self {
        let decoded = |text: &str| {
            Decoded::of(text).map_or_else(|| text.as_bytes().to_vec(), |decoded| decoded.bytes)
        };
        let needle = |bytes, min_prefix_bytes| Needle { bytes, min_prefix_bytes };
        let (whole, start) = (decoded(secret), decoded(&secret[..least]));
        // An escape in the secret itself may end after its identifying beginning.
        let start = if whole.starts_with(&start) { start.len() } else { whole.len() };
        Self { text: needle(secret.as_bytes().to_vec(), least), decoded: needle(whole, start) }
    }
}

impl Needle {
    /// All places at which the identifying beginning occurs, up to the last byte that is equal.
    fn find_in<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Found> + 'a {
        memmem::find_iter(text, &self.bytes[..self.min_prefix_bytes]).map(move |at| {
            let same = text[at..].iter().zip(&self.bytes).take_while(|(a, b)| a == b).count();
            Found { place: at..at + same, is_whole: same == self.bytes.len() }
        })
    }
}

/// The text with `***` for all that was found.
fn replaced<'a>(text: &'a str, found: &[Found]) -> Cow<'a, str> {
    let (mut out, mut from) = (String::new(), 0);
    for Found { place, .. } in found {
        out += &text[from..place.start];
        out += REDACTED;
        from = place.end;
    }
    if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out + &text[from..]) }
}

/// The names of header fields with a key that is too short to be removed from texts.
pub fn short_keys(headers: &[(String, String)]) -> Vec<&str> {
    let is_short = |value: &str| value.chars().count() < MIN_SECRET_CHARS;
    let is_short_key = |(name, value): &&(String, String)| {
        let parts = key_parts(name, value);
        is_key_header(name) && !parts.is_empty() && parts.iter().all(|part| is_short(part))
    };
    headers.iter().filter(is_short_key).map(|(name, _)| name.as_str()).collect()
}

/// The values of the environment variables whose name is that of a secret, for [`Secrets::of_headers`].
pub fn of_environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(String, String)> {
    let secrets = variables.filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let is_secret = names_a_secret(&name) || is_key_header(&name.replace('_', "-"));
        // The path of a file with a secret is not a secret itself. Only complete values are redacted, because a
        // password may begin with an ordinary word.
        (is_secret && !value.starts_with('/')).then(|| (WHOLE.to_owned(), value))
    });
    secrets.collect()
}

/// Whether a word is the authorization scheme in front of a key.
fn is_scheme(word: &str) -> bool {
    let schemes = ["bearer", "basic", "digest", "token", "negotiate", "apikey"];
    schemes.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The parts of a header field's value that are secrets. In a cookie and a digest, the values of the fields
/// are secrets. In other values, the text after an authorization scheme and each word of this text are secrets, and the
/// password in a `Basic` header.
fn key_parts(name: &str, value: &str) -> Vec<String> {
    let (scheme, rest) = match value.trim().split_once(char::is_whitespace) {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest.trim()),
        _ => ("", value.trim()),
    };
    if name.eq_ignore_ascii_case("cookie") || scheme.eq_ignore_ascii_case("digest") {
        let split = |c: char| c.is_whitespace() || c == ';' || c == ',';
        let values = rest.split(split).filter_map(|field| field.split_once('='));
        return values.map(|(_, value)| value.trim_matches('"').to_owned()).collect();
    }
    let basic = scheme.eq_ignore_ascii_case("basic").then(|| spelling::basic_credentials(rest));
    let basic = basic.flatten();
    let password = basic.as_deref().and_then(|basic| basic.split_once(':')).map(|both| both.1);
    let parts = std::iter::once(rest).chain(rest.split_whitespace()).chain(password);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_name_that_begins_like_a_key_is_not_redacted() {
        let secrets = Secrets::of_headers(&headers(&[("x-api-key", "chatglm3-local-key")]));
        for (name, expected) in [
            ("chatglm3-6b", "chatglm3-6b"),
            ("a/chatglm3-local-key", "a/***"),
            ("chatglm3-lo...", "***..."),
            ("chatglm3-l****", "*******"),
            ("of chatglm3-loc", "of ***"),
        ] {
            assert_eq!(secrets.redact_name(name), expected, "{name}");
        }
    }

    #[test]
    fn complete_truncated_and_escaped_secrets_are_redacted() {
        let secrets = Secrets::of_headers(&headers(&[
            ("authorization", "Bearer sk-ab/cd+ef123"),
            ("x-tenant", "internal-7731"),
            ("cookie", "session=0123456789abc; theme=dark"),
            ("x-api-key", "a,b=c d;efgh"),
            ("x-auth-token", "0123456789ab/cd"),
            ("x-other-token", "rk-ab%2Fcdefgh1"),
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("x-n", "1"),
        ]));
        for (text, expected) in [
            ("no model 1 for sk-ab/cd+ef123", "no model 1 for ***"),
            ("Bearer sk-ab/cd+ef123, internal-7731", "Bearer ***, ***"),
            ("Incorrect key: sk-ab/cd****f123", "Incorrect key: *******f123"),
            ("cut: sk-ab/cd+", "cut: ***"),
            ("an internal error", "an internal error"),
            (r"sk-ab\/cd+ef123", "***"),
            (r"0123456789ab\/cd 0123456789ab/cd 0123456789ab%2Fcd", "*** *** ***"),
            (r"sk-ab\u002fcd\u002bef123 sk-ab\u002Fcd\u002Bef123", "*** ***"),
            ("/x?key=sk-ab%2Fcd%2Bef123", "/x?key=***"),
            ("session=0123456789abc", "session=***"),
            ("key rk-ab/cdefgh1", "key ***"),
            ("a,b=c d;efgh, a,b=c d;e and a,b=c", "***, *** and a,b=c"),
            ("application/json 2023-06-01", "application/json 2023-06-01"),
        ] {
            assert_eq!(secrets.redact(text), expected, "{text}");
        }
    }

    #[test]
    fn a_secret_of_fewer_than_eight_characters_is_not_redacted() {
        for (key, gone) in
            [("EMPTY", false), ("test", false), ("1234567", false), ("12345678", true)]
        {
            let secrets = Secrets::of_headers(&headers(&[("authorization", key)]));
            assert_eq!(secrets.redact(key) != key, gone, "{key}");
        }
    }

    #[test]
    fn a_text_is_not_cut_inside_a_secret() {
        let secrets = Secrets::of_headers(&headers(&[("x-api-key", "abcdefgh12")]));
        for (text, end, cut) in [("xyz", 2, 2), ("x abcdefgh12 y", 5, 2), ("x abcdefgh12", 12, 12)]
        {
            assert_eq!(secrets.cut_before(text.as_bytes(), end), cut, "{text}");
        }
        assert_eq!(secrets.redact_bytes(b"\xff abcdefgh12".to_vec()), "\u{fffd} ***".as_bytes());
        assert_eq!(secrets.redact_bytes(b"\xff abc".to_vec()), b"\xff abc");
    }
}
