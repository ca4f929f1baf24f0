//! The secrets in the words of a command, such as `--header "Authorization: Bearer KEY"` and
//! `--overrides '{"token": "KEY"}'`.

use super::names::{is_key_header, names_a_secret, names_a_secret_argument};
use super::spelling::Decoded;

/// The secrets in the words of a command and in values of settings, each with the name under which it was found. A
/// value that a shell replaces (`$KEY`) is none.
pub fn secrets_in_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    let (mut found, mut flag) = (Vec::new(), "");
    for word in words {
        if names_a_secret_argument(flag) && !word.starts_with('-') {
            found.push(("authorization".to_owned(), word.to_owned()));
        }
        flag = word.strip_prefix("--").unwrap_or_default();
        let decoded = Decoded::of(word).and_then(|it| String::from_utf8(it.bytes).ok());
        in_text(decoded.as_deref().unwrap_or(word), &mut found);
    }
    let is_variable = |value: &str| value.split_whitespace().any(|word| word.starts_with('$'));
    found.retain(|(_, value)| !value.is_empty() && !is_variable(value));
    found
}

/// Adds the secrets in a text: values behind a name of a secret and `:` or `=`, and passwords in addresses.
fn in_text(text: &str, found: &mut Vec<(String, String)>) {
    for (at, sign) in text.match_indices([':', '=']) {
        let (before, behind) = (&text[..at], text[at + 1..].trim_start());
        if let Some(address) = behind.strip_prefix("//").filter(|_| sign == ":") {
            let place = address.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
            let user = place.rsplit_once('@').map(|(user, _)| user);
            let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
            found
                .extend(password.map(|password| ("authorization".to_owned(), password.to_owned())));
        }
        let before = before.trim_end_matches(['"', '\'', ' ', '\\']);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        let is_header = sign == ":" && name.contains('-') && is_key_header(name);
        if is_header || contains_a_secret(name) {
            found.push((header_of(name), value_of(name, behind).to_owned()));
        }
    }
}

/// Whether a header, a field or a setting of this name contains a secret. Fields such as `eos_token` do not.
fn contains_a_secret(name: &str) -> bool {
    let known = ["authorization", "proxy-authorization", "cookie", "token", "auth"];
    names_a_secret(name) || known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The header in which the value would be a key.
fn header_of(name: &str) -> String {
    if name.eq_ignore_ascii_case("cookie") { "cookie" } else { "authorization" }.to_owned()
}

/// The value with which a text begins: a quoted text; all of a cookie; otherwise a word, or two if the first one is an
/// authorization scheme.
fn value_of<'a>(name: &str, text: &'a str) -> &'a str {
    let quote = text.chars().next().filter(|c| "\"'".contains(*c));
    if let Some(quote) = quote {
        return text[1..].split(quote).next().unwrap_or_default();
    }
    let text = text.split(['"', '\'', '\n']).next().unwrap_or_default();
    if name.eq_ignore_ascii_case("cookie") {
        return text;
    }
    let end_of_word = |from: usize| {
        text[from..].find([' ', '\t', ',', ';', '&', '}', ')']).map_or(text.len(), |at| from + at)
    };
    let first = end_of_word(0);
    let rest = text[first..].trim_start();
    if super::is_scheme(&text[..first]) {
        return &text[..end_of_word(text.len() - rest.len())];
    }
    &text[..first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_in_headers_json_settings_and_addresses() {
        let cases: [(&[&str], &[&str]); 14] = [
            (&["--header", "Authorization: Bearer sk-1"], &["Bearer sk-1"]),
            (&["--header=X-Api-Key: sk-1"], &["sk-1"]),
            (&["--header", "X-Token: sk-1", "-H", "X-Auth: sk-2"], &["sk-1", "sk-2"]),
            (&["--header=Ocp-Apim-Subscription-Key: sk-1"], &["sk-1"]),
            (&[r#"{"bearer_token": "sk-1", "session_token": "sk-2"}"#], &["sk-1", "sk-2"]),
            (&["--api-key", "sk-1", "--port", "1"], &["sk-1"]),
            (&["--x", r#"{"a": {"token": "sk-1"}, "eos_token": "</s>"}"#], &["sk-1"]),
            (&[r#"exec serve --x "{\"hf_token\": \"sk-1\"}" --model m"#], &["sk-1"]),
            (&["exec serve -H 'Authorization: Bearer sk-1' --model m"], &["Bearer sk-1"]),
            (&["authorization=Bearer%20sk-1,b=2"], &["Bearer sk-1"]),
            (&["http://u:sk-1@h/x?access_token=sk-2&b=3"], &["sk-1", "sk-2"]),
            (&["sh", "-c", "serve --header \"Authorization: Bearer $KEY\""], &[]),
            (&["--api-key", "$KEY"], &[]),
            (&["--max-tokens", "5", "--served-model-name=token-model", "a:b=c"], &[]),
        ];
        for (words, expected) in cases {
            let found = secrets_in_words(words.iter().copied());
            let mut values: Vec<&str> = found.iter().map(|(_, value)| value.as_str()).collect();
            values.dedup();
            assert_eq!(values, expected, "{words:?}");
        }
    }
}
