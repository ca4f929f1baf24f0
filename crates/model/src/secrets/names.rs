//! The names of headers, settings, arguments and variables that contain secrets.

/// Whether the value of a header field is never a secret.
pub(super) fn is_public(name: &str) -> bool {
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

/// Whether a variable, a flag or a field of this name usually contains a secret.
pub fn names_a_secret(name: &str) -> bool {
    let parts = words(name);
    let ends_with = |words: &[&str]| {
        parts.len() >= words.len() && parts[parts.len() - words.len()..].iter().eq(words)
    };
    let single = ["password", "passwd", "secret", "credentials", "apikey", "apikeys"];
    let pairs = [
        ["api", "key"],
        ["api", "keys"],
        ["master", "key"],
        ["secret", "key"],
        ["access", "key"],
        ["private", "key"],
        ["subscription", "key"],
        ["hf", "token"],
        ["api", "token"],
        ["auth", "token"],
        ["hub", "token"],
        ["access", "token"],
        ["bearer", "token"],
        ["session", "token"],
        ["refresh", "token"],
    ];
    // LiteLLM has a switch with a name that ends with `UNSET_MASTER_KEY`. It contains no secret.
    !ends_with(&["unset", "master", "key"])
        && (single.iter().any(|word| ends_with(&[word]))
            || pairs.iter().any(|pair| ends_with(pair)))
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
    names_a_secret(name) || short.iter().any(|known| name.eq_ignore_ascii_case(known))
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
