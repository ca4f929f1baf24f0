//! Addresses of servers on Unix sockets: `unix:/path/to.sock`, and `http+unix://%2Fpath%2Fto.sock/prefix`.

use super::{UrlError, error::MAX_PATH};
use crate::{Url, url::percent_decoded};

/// Parses the address of a server on a Unix socket; `None` if the text is another kind of address.
pub(super) fn unix(text: &str) -> Option<Result<Url, UrlError>> {
    if let Some(path) = text.strip_prefix("unix:") {
        // `unix:///path` is the same address as `unix:/path`, written as a URL with an empty host.
        let path = path.strip_prefix("//").unwrap_or(path);
        return Some(server(path, ""));
    }
    let rest = text.strip_prefix("http+unix://")?;
    if rest.starts_with('/') {
        return Some(server(rest, ""));
    }
    let (path, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let decoded = percent_decoded(path).and_then(|path| String::from_utf8(path).ok());
    let Some(decoded) = decoded else {
        return Some(Err(UrlError::Percent));
    };
    let prefix = prefix.trim_end_matches('/');
    Some(server(&decoded, prefix.strip_suffix("/v1").unwrap_or(prefix)))
}

fn server(path: &str, prefix: &str) -> Result<Url, UrlError> {
    if path.is_empty() || path.ends_with('/') {
        return Err(UrlError::NoSocket);
    }
    if path.len() > MAX_PATH {
        return Err(UrlError::LongSocket);
    }
    if format!("{path}{prefix}").chars().any(char::is_control) || prefix.contains(['?', '#', ' ']) {
        return Err(UrlError::Socket);
    }
    Ok(Url::unix(path, prefix))
}

#[cfg(test)]
mod tests {
    use crate::url::parse_url;

    #[test]
    fn three_notations_of_a_unix_socket_are_parsed_and_the_displayed_form_parses_again() {
        for (text, shown) in [
            ("unix:/run/vllm.sock", "unix:/run/vllm.sock"),
            ("unix:///run/vllm.sock", "unix:/run/vllm.sock"),
            ("unix:vllm.sock", "unix:vllm.sock"),
            ("http+unix://%2Frun%2Fvllm.sock", "unix:/run/vllm.sock"),
            ("http+unix:///run/vllm.sock", "unix:/run/vllm.sock"),
            ("http+unix://%2Frun%2fvllm.sock/v1", "unix:/run/vllm.sock"),
            ("http+unix://%2Frun%2Fa%25b/api/v1/", "http+unix://%2Frun%2Fa%25b/api"),
            ("http+unix://%2Frun%2Fa%20b.sock", "unix:/run/a b.sock"),
        ] {
            let url = parse_url(text).unwrap();
            assert_eq!(url.to_string(), shown, "{text}");
            assert_eq!(parse_url(shown).unwrap(), url, "{text}");
            assert_eq!(url.host_field(), "localhost");
        }
        let long = format!("unix:/{}", "x".repeat(107));
        for (text, why) in [
            ("unix:", "has no path; write it as unix"),
            ("unix:/run/", "has no path; write it as unix"),
            ("http+unix://", "has no path; write it as unix"),
            ("http+unix://%2Frun%2", "two hexadecimal digits"),
            (&long, "107 bytes"),
            ("unix:/a\nb", "is not the address"),
        ] {
            let told = parse_url(text).unwrap_err().to_string();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
