//! The secrets of a run, such as API keys, and their removal from texts that are shown or stored.
//!
//! A text from outside is redacted before it is cut, because the beginning of a key is a secret too.

use std::borrow::Cow;
use std::sync::Arc;

/// The text that replaces a secret.
pub const REDACTED: &str = "***";

/// The shortest secret, in characters, that is removed from texts. A shorter secret, such as `EMPTY` or
/// `test`, may also be an ordinary word. If it were replaced everywhere, texts could not be read.
pub const MIN_SECRET_CHARS: usize = 8;

/// The secrets of a run. [`Secrets::redact`] is called where a text enters the program: answers of a server,
/// the log of a server, messages about a plan.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<[Secret]>);

#[derive(Clone, PartialEq, Eq)]
struct Secret {
    text: String,
    /// The number of bytes at the beginning that identify the secret. A text that contains only these
    /// bytes is redacted too.
    min_prefix_bytes: usize,
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
            let parts = if is_key { key_parts(name, value) } else { vec![value.as_str()] };
            for text in parts.into_iter().flat_map(spellings) {
                let last = text.char_indices().nth(MIN_SECRET_CHARS - 1);
                let Some((at, last)) = last else { continue };
                let min_prefix_bytes = if is_key { at + last.len_utf8() } else { text.len() };
                secrets.push(Secret { text, min_prefix_bytes });
            }
        }
        // Of two secrets with equal texts, the one with the shorter identifying beginning remains.
        secrets.sort_by(|a, b| (&a.text, a.min_prefix_bytes).cmp(&(&b.text, b.min_prefix_bytes)));
        secrets.dedup_by(|a, b| a.text == b.text);
        Self(secrets.into())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces each secret in the text by `***`. The text is searched once for each secret.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut next: Vec<Option<usize>> =
            self.0.iter().map(|secret| text.find(secret.start())).collect();
        let (mut out, mut from) = (String::new(), 0);
        while let Some(at) = next.iter().flatten().copied().min() {
            // Several spellings of a secret may begin in the same way, so the longest match is replaced.
            let same = |secret: &Secret| secret.length_at_start_of(&text[at..]);
            let length = self.0.iter().filter_map(same).max();
            let length = length.expect("invariant: a secret begins at this position");
            out += &text[from..at];
            out += REDACTED;
            from = at + length;
            for (secret, next) in self.0.iter().zip(&mut next) {
                if next.is_some_and(|next| next < from) {
                    *next = text[from..].find(secret.start()).map(|at| from + at);
                }
            }
        }
        if from == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[from..]) }
    }

    /// [`Secrets::redact`] for bytes. If they contain a secret, bytes that are not UTF-8 are replaced too.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return bytes;
        }
        let text = String::from_utf8_lossy(&bytes);
        if self.is_in(&text) { self.redact(&text).into_owned().into_bytes() } else { bytes }
    }

    /// [`Secrets::redact`] for names and for this program's own texts. In these texts, an ordinary word
    /// may begin like a key. So the beginning of a key is replaced only if the text ends after it, or
    /// shows that the key was cut.
    pub fn redact_name<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_cut = |secret: &Secret| {
            text.match_indices(secret.start()).any(|(at, _)| {
                let rest = &text[at..];
                let same = secret.length_at_start_of(rest).unwrap_or(0);
                rest[same..].chars().next().is_none_or(|next| "*.…".contains(next))
            })
        };
        if self.is_whole_in(text) || self.0.iter().any(is_cut) {
            self.redact(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Whether a text contains a secret, or a beginning that identifies a secret.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.start()))
    }

    /// Whether a text contains a complete secret.
    pub fn is_whole_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(&secret.text))
    }

    /// The number of bytes at the end of a text that may be the beginning of a secret. The rest of the
    /// secret may follow in the next text.
    pub fn open_end(&self, bytes: &[u8]) -> usize {
        let longest = |secret: &Secret| {
            let most = bytes.len().min(secret.text.len() - 1);
            (1..=most).rev().find(|&n| bytes.ends_with(&secret.text.as_bytes()[..n]))
        };
        self.0.iter().filter_map(longest).max().unwrap_or(0)
    }
}

impl Secret {
    /// The beginning that identifies the secret.
    fn start(&self) -> &str {
        &self.text[..self.min_prefix_bytes]
    }

    /// The length of the common beginning of a text and the secret, in bytes; `None` if it does not identify
    /// the secret.
    fn length_at_start_of(&self, text: &str) -> Option<usize> {
        let same = text.chars().zip(self.text.chars()).take_while(|(a, b)| a == b);
        text.starts_with(self.start()).then(|| same.map(|(c, _)| c.len_utf8()).sum())
    }
}

/// The names of header fields with a key that is too short to be removed from texts.
pub fn short_keys(headers: &[(String, String)]) -> Vec<&str> {
    let is_short = |value: &str| value.chars().count() < MIN_SECRET_CHARS;
    let is_short_key = |(name, value): &&(String, String)| {
        let parts = key_parts(name, value);
        is_key_header(name) && !parts.is_empty() && parts.into_iter().all(is_short)
    };
    headers.iter().filter(is_short_key).map(|(name, _)| name.as_str()).collect()
}

/// Whether the value of a header field is never a secret.
fn is_public(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["content-type", "content-length", "connection", "user-agent"].contains(&name.as_str())
        || name.starts_with("accept")
        || name.ends_with("-version")
}

/// Whether a header field of this name contains a key.
pub fn is_key_header(name: &str) -> bool {
    let known = ["authorization", "proxy-authorization", "cookie"];
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
        || names_a_secret(name)
        || last_word(name).is_some_and(|word| ["key", "token", "auth"].contains(&&*word))
}

/// The parts of a header field's value that are secrets. In a cookie and a digest, the values of the fields
/// are secrets. In other values, the text after an authorization scheme and each word of this text are secrets.
fn key_parts<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    let schemes = ["bearer", "basic", "digest", "token", "negotiate", "apikey"];
    let is_scheme = |word: &str| schemes.iter().any(|known| word.eq_ignore_ascii_case(known));
    let (scheme, rest) = match value.trim().split_once(char::is_whitespace) {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest.trim()),
        _ => ("", value.trim()),
    };
    if name.eq_ignore_ascii_case("cookie") || scheme.eq_ignore_ascii_case("digest") {
        let split = |c: char| c.is_whitespace() || c == ';' || c == ',';
        let values = rest.split(split).filter_map(|field| field.split_once('='));
        return values.map(|(_, value)| value.trim_matches('"')).collect();
    }
    std::iter::once(rest).chain(rest.split_whitespace()).filter(|part| !part.is_empty()).collect()
}

/// The secret itself, and its escaped forms in JSON and in URLs, without duplicates.
fn spellings(secret: &str) -> Vec<String> {
    let with = |escaped: &dyn Fn(char) -> Option<String>| -> String {
        secret.chars().map(|c| escaped(c).unwrap_or_else(|| c.to_string())).collect()
    };
    let unicode = |upper: bool| {
        with(&|c| {
            let code = c as u32;
            "+/<>&'\"=`\\".contains(c).then(|| match upper {
                true => format!("\\u{code:04X}"),
                false => format!("\\u{code:04x}"),
            })
        })
    };
    let mut all = vec![
        secret.to_owned(),
        with(&|c| "\"\\".contains(c).then(|| format!("\\{c}"))),
        with(&|c| "\"\\/".contains(c).then(|| format!("\\{c}"))),
        unicode(true),
        unicode(false),
        percent(secret),
    ];
    all.sort();
    all.dedup();
    all
}

fn percent(text: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Whether a variable, a flag or a field of this name usually contains a secret.
pub fn names_a_secret(name: &str) -> bool {
    let parts = words(name);
    let ends_with = |words: &[&str]| {
        parts.len() >= words.len() && parts[parts.len() - words.len()..].iter().eq(words)
    };
    ["password", "passwd", "secret", "credentials", "apikey", "apikeys"]
        .iter()
        .any(|word| ends_with(&[word]))
        || ends_with(&["api", "key"])
        || ends_with(&["api", "keys"])
        // LiteLLM has a switch with a name that ends with `UNSET_MASTER_KEY`. It contains no secret.
        || (ends_with(&["master", "key"]) && !ends_with(&["unset", "master", "key"]))
        || ends_with(&["secret", "key"])
        || ends_with(&["access", "key"])
        || ends_with(&["hf", "token"])
        || ends_with(&["api", "token"])
        || ends_with(&["auth", "token"])
        || ends_with(&["hub", "token"])
        || ends_with(&["access", "token"])
}

/// Whether an argument or an environment variable of this name usually contains a secret. The argument or
/// variable is given to a server that this program starts.
pub fn names_a_secret_argument(name: &str) -> bool {
    names_a_secret(name) || name.trim_start_matches('-').eq_ignore_ascii_case("token")
}

/// Whether a parameter of this name in the query of a URL, or a field of this name in a body, usually
/// contains a secret. Names there are often short.
pub fn names_a_secret_parameter(name: &str) -> bool {
    let short = ["key", "token", "auth", "authorization", "sig", "signature", "code"];
    names_a_secret(name)
        || short.iter().any(|known| name.eq_ignore_ascii_case(known))
        || words(name).ends_with(&["subscription".to_owned(), "key".to_owned()])
}

/// The words of a name, in lower case. A word begins after `-` and `_`, and with a capital letter that follows a
/// small letter or a digit: `clientSecret` has two words.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut before) = (vec![String::new()], ' ');
    for character in name.chars() {
        let separates = matches!(character, '-' | '_');
        let is_inside = before.is_lowercase() || before.is_ascii_digit();
        if separates || (character.is_uppercase() && is_inside) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !separates) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words
}

fn last_word(name: &str) -> Option<String> {
    words(name).pop()
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
    fn bytes_at_the_end_of_a_text_that_may_begin_a_secret_are_counted() {
        let secrets = Secrets::of_headers(&headers(&[("x-api-key", "abcdefgh12")]));
        for (text, open) in [("", 0), ("xyz", 0), ("xa", 1), ("abcdefgh1", 9), ("abcdefgh12", 0)] {
            assert_eq!(secrets.open_end(text.as_bytes()), open, "{text}");
        }
        assert_eq!(secrets.redact_bytes(b"\xff abcdefgh12".to_vec()), "\u{fffd} ***".as_bytes());
        assert_eq!(secrets.redact_bytes(b"\xff abc".to_vec()), b"\xff abc");
    }

    #[test]
    fn settings_arguments_and_headers_with_secrets_are_detected_by_name() {
        for name in ["api_key", "api-key", "OPENAI_API_KEY", "HF_TOKEN", "db_password", "apikey"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["LITELLM_MASTER_KEY", "secret-key", "api-keys", "apikeys"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["token", "--token", "api-key"] {
            assert!(names_a_secret_argument(name), "{name}");
        }
        let switch = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY";
        for name in ["tokens", "max-tokens", "key", "keys", "routing-key", "token-ids", switch] {
            assert!(!names_a_secret_argument(name), "{name}");
        }
        for name in ["max_tokens", "key", "skip_special_tokens", "max-num-batched-tokens"] {
            assert!(!names_a_secret(name), "{name}");
        }
        for name in ["key", "token", "sig", "subscription-key"] {
            assert!(names_a_secret_parameter(name), "{name}");
        }
        for name in
            ["clientSecret", "accessToken", "hfToken", "X-AccessToken", "dbPassword", "apiKey"]
        {
            assert!(names_a_secret(name), "{name}");
        }
        assert!(!names_a_secret("maxTokens") && !names_a_secret("tokenCount"));
        assert!(is_key_header("X-Goog-Api-Key") && is_key_header("X-Auth-Token"));
        assert!(!is_key_header("X-Tenant") && !names_a_secret_parameter("api-version"));
    }
}
