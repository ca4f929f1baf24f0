//! Removes secrets from texts that a server may have quoted.

/// Replaces the values of headers that may be secret, and the token of an authorization, by `***`.
pub fn redact(headers: &[(String, String)], text: &str) -> String {
    /// Shortest value in bytes: `1` is no secret, and replacing it would mangle every text.
    const MIN_SECRET_BYTES: usize = 6;
    let mut text = text.to_owned();
    for (_, value) in headers.iter().filter(|(name, _)| !is_public(name)) {
        for secret in std::iter::once(value.as_str()).chain(value.split_whitespace()) {
            if secret.len() >= MIN_SECRET_BYTES && !secret.eq_ignore_ascii_case("bearer") {
                text = text.replace(secret, "***");
            }
        }
    }
    text
}

fn is_public(name: &str) -> bool {
    ["content-type", "accept", "user-agent"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_a_server_quotes_are_replaced() {
        let headers = [
            ("authorization".to_owned(), "Bearer sk-abcdef123".to_owned()),
            ("x-tenant".to_owned(), "tenant-42".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
            ("x-n".to_owned(), "1".to_owned()),
        ];
        let quoted =
            "no model 1 for sk-abcdef123 (Bearer sk-abcdef123, tenant-42, application/json)";
        assert_eq!(redact(&headers, quoted), "no model 1 for *** (***, ***, application/json)");
    }
}
