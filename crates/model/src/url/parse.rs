//! Parses addresses as users write them: `http://host:8000/v1`, `unix:/path/to.sock`.

use crate::pooled::{EMBEDDINGS, RERANK};
use crate::request::OLLAMA;
use crate::{Url, url::UrlError, visible};

/// Parses the address of a server. A `/v1` at its end is removed.
///
/// # Errors
/// If the text is not the address of a server.
pub fn parse_url(text: &str) -> Result<Url, UrlError> {
    if let Some(url) = super::unix::unix(text) {
        return url;
    }
    let secure = text.starts_with("https://");
    let scheme = if secure { "https://" } else { "http://" };
    let Some(rest) = text.strip_prefix(scheme) else {
        let is_host = !text.is_empty() && !text.contains("://") && !text.contains('@');
        let host = if is_host { shown_address(text) } else { "127.0.0.1:8000".to_owned() };
        return Err(UrlError::NoScheme(host));
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err(UrlError::Password);
    }
    if path.contains(|c: char| c.is_control() || c == ' ') {
        return Err(UrlError::Path);
    }
    let (host, port) = split_port(authority, if secure { 443 } else { 80 })?;
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let path = path.trim_end_matches('/');
    // A gateway may need the query in each request. The query may contain a secret, so messages do not
    // contain it.
    let is_query = query.starts_with('?');
    let call = api_call(path, is_query);
    let before = call.as_ref().map_or(path, |(before, _)| *before);
    let url = Url { secure, prefix: before.to_owned(), ..Url::plain(host, port) };
    match call {
        None if query.is_empty() => {
            let prefix = path.strip_suffix("/v1").unwrap_or(path).to_owned();
            Ok(Url { prefix, ..url })
        }
        None => Err(UrlError::Query),
        Some((_, dialect)) if is_query => {
            let (url, path) = (Url { prefix: String::new(), ..url }.into(), path.to_owned());
            Err(UrlError::CallWithQuery { url, dialect, path })
        }
        Some((_, dialect)) => Err(UrlError::Call { url: url.into(), dialect }),
    }
}

/// Splits the path of a request: returns the part before the path of a dialect, and the options that select
/// this dialect. A path such as `/generate` may also be a part of a gateway's prefix. Such a path counts as
/// the path of a dialect only if nothing comes before it, or if the address has a query. Paths that begin
/// with `/v1` or `/v2/models` always count.
fn api_call(path: &str, is_query: bool) -> Option<(&str, String)> {
    if let Some((before, rest)) = path.split_once("/v2/models/")
        && let Some((model, "generate" | "generate_stream")) = rest.rsplit_once('/')
    {
        let model = model.split('/').next().unwrap_or(model);
        return Some((before, format!("triton --model {model}")));
    }
    API_CALLS.iter().find_map(|(end, dialect)| {
        let before = path.strip_suffix(end)?;
        let is_call = before.is_empty() || end.starts_with("/v1/") || is_query;
        is_call.then(|| (before, (*dialect).to_owned()))
    })
}

/// Paths of requests, each with the dialect that the message advises. In a URL, the text before such a path is the
/// address of the server.
const API_CALLS: [(&str, &str); 13] = [
    ("/v1/chat/completions", "openai-chat"),
    ("/v1/completions", "openai-completions"),
    ("/v1/responses", "openai-responses"),
    ("/v1/messages", "anthropic"),
    ("/v1/embeddings", EMBEDDINGS),
    ("/v1/rerank", RERANK),
    ("/api/generate", OLLAMA),
    ("/api/chat", OLLAMA),
    ("/chat/completions", "openai-chat"),
    ("/completions", "openai-completions"),
    ("/generate_stream", "tgi"),
    ("/generate", "auto"),
    ("/completion", "llama-cpp"),
];

fn split_port(authority: &str, usual: u16) -> Result<(String, u16), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(UrlError::Bracket)?;
            (host, rest.strip_prefix(':'))
        }
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(UrlError::Host);
    }
    let port = match port {
        None => usual,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(UrlError::Port),
        },
    };
    Ok((host.to_owned(), port))
}

/// Returns an address in a form that can be shown. The text before an `@` may be a password, and a query
/// may contain a key, so both are left out.
pub fn shown_address(address: &str) -> String {
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    let end = address.find(['?', '#']).unwrap_or(address.len());
    visible::name(&address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_a_trailing_v1_and_keep_the_path_before_it() {
        for (written, shown, host) in [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "127.0.0.1:8000"),
            ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000", "127.0.0.1:8000"),
            ("http://gpu.lan", "http://gpu.lan:80", "gpu.lan"),
            ("http://gpu.lan:443", "http://gpu.lan:443", "gpu.lan:443"),
            ("https://gpu.lan", "https://gpu.lan:443", "gpu.lan"),
            ("https://gpu.lan:80/v1", "https://gpu.lan:80", "gpu.lan:80"),
            ("https://gw/llm/generate", "https://gw:443/llm/generate", "gw"),
            ("http://[::1]:30000/llm/v1", "http://[::1]:30000/llm", "[::1]:30000"),
        ] {
            let url = parse_url(written).unwrap();
            assert_eq!((url.to_string().as_str(), url.host_field().as_str()), (shown, host));
        }
    }

    #[test]
    fn invalid_addresses_are_refused_with_advice_and_without_secrets() {
        for (wrong, advice) in [
            ("localhost:8000", "http://localhost:8000"),
            ("", "http://127.0.0.1:8000"),
            ("ftp://x", "http://127.0.0.1:8000"),
            ("http://", "has no host"),
            ("http://a:99999", "65535"),
            ("http://user:secret@a", "--api-key-env"),
            ("https://", "has no host"),
            ("http://a\0b", "has no host"),
            ("a:80/v1?api_key=secret", "http://a:80/v1"),
            ("http://a/v1?api_key=secret", "has a query"),
            ("http://user:secret/x@a", "65535"),
            ("http://a:1/v1/completions", "give --target http://a:1 --dialect openai-completions"),
            (
                "http://a:1/x/v1/chat/completions/",
                "give --target http://a:1/x --dialect openai-chat",
            ),
            ("http://a:1/generate_stream", "give --target http://a:1 --dialect tgi"),
            (
                "http://a:1/v2/models/ensemble/generate_stream",
                "give --target http://a:1 --dialect triton --model ensemble",
            ),
            ("http://a:1/api/generate", "give --target http://a:1 --dialect ollama"),
            (
                "https://a/openai/deployments/d/chat/completions?api-version=secret",
                "give --target https://a:443 --dialect openai-chat --model MODEL --endpoint \
                 '/openai/deployments/d/chat/completions?...'",
            ),
            ("http://a/v1?key=secret", "has a query"),
        ] {
            let problem = parse_url(wrong).unwrap_err().to_string();
            assert!(problem.contains(advice), "{wrong}: {problem}");
            assert!(
                !problem.contains("secret") && !shown_address(wrong).contains("secret"),
                "{problem}"
            );
        }
    }
}
