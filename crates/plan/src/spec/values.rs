//! Parses values as users write them: `10s`, `1%`, `inf`, `http://host:8000/v1`.

use std::time::Duration;

use inferometer_model::json::one_of;
use inferometer_model::secrets::names_a_secret_parameter;
use inferometer_model::visible;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::url_error::UrlError;
use crate::parts::{Url, Warmup};

/// A number or a text, as a plan file or a flag may give it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a number or a text", |value| match value {
            Json::Number(number) => number.as_f64().map(Self::Number),
            Json::String(text) => Some(Self::Text(text)),
            _ => None,
        })
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl std::str::FromStr for Value {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::Text(text.to_owned()))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// The number in a value, which may be given as text; `None` if the text is not a number.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
    }
}

/// Parses the finite number of a flag. Infinity and NaN are rejected, because JSON would store them as null.
///
/// # Errors
/// If the text is not a finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a positive span of time: `500ms`, `10s`, `2m`, `6h`; a number without a unit is in seconds.
pub fn span(value: &Value) -> Result<Duration, &'static str> {
    const PROBLEM: &str = "is not a duration; write it as 500ms, 10s, 2m or 6h";
    let (figure, unit_s) = match value {
        Value::Number(number) => (*number, 1.0),
        Value::Text(text) => {
            let text = text.trim();
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let unit_s = match &text[split..] {
                "ms" => 1e-3,
                "" | "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(PROBLEM),
            };
            (text[..split].trim().parse().map_err(|_| PROBLEM)?, unit_s)
        }
    };
    let seconds = figure * unit_s;
    if seconds > 0.0 && seconds <= 1e9 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("is out of range; a duration is above 0 and at most 1000000000 s")
    }
}

/// Parses a share from 0 to 1: `1%` or `0.01`.
pub fn share(value: &Value) -> Result<f64, &'static str> {
    let percent = match value {
        Value::Text(text) => text.trim().strip_suffix('%'),
        Value::Number(_) => None,
    };
    let share = match percent {
        Some(figure) => figure.trim().parse::<f64>().ok().map(|figure| figure / 100.0),
        None => number(value),
    };
    match share {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("is not a share from 0 to 1; write 5 percent as 5% or 0.05"),
    }
}

/// Parses a positive number.
pub fn positive(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("is not a positive number"),
    }
}

/// Parses a whole number from 0 on.
pub fn count(value: &Value) -> Result<u32, &'static str> {
    match number(value) {
        Some(number) if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) => {
            Ok(number as u32)
        }
        _ => Err("is not a whole number of at least 0"),
    }
}

/// Parses a warm-up: a number of requests, or a duration with its unit.
pub fn warmup(value: &Value) -> Result<Warmup, &'static str> {
    if let Ok(count) = count(value) {
        return Ok(Warmup::Requests(count));
    }
    let duration = span(value)
        .map_err(|_| "is not a warm-up; write a number of requests, or a time such as 10s")?;
    Ok(Warmup::Time { duration })
}

/// Parses the burstiness of arrivals: at least 0.01, or `inf` for equal gaps.
pub fn burstiness(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(shape) if shape >= 0.01 => Ok(shape),
        _ => Err("is not a burstiness; write a number of at least 0.01 (1 is Poisson), or `inf` \
                  for equal gaps"),
    }
}

/// Parses a rate of arrivals in requests per second: positive, or `inf` for all requests at the start.
pub fn rate(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(rate) if rate > 0.0 => Ok(rate),
        _ => Err("is not a rate; write requests per second, or `inf` to send all at the start"),
    }
}

/// Parses the address of a server. A `/v1` at its end is removed.
///
/// # Errors
/// If the text is not the address of a server.
pub fn url(text: &str) -> Result<Url, UrlError> {
    if let Some(url) = super::unix::unix(text) {
        return url;
    }
    let secure = text.starts_with("https://");
    let scheme = if secure { "https://" } else { "http://" };
    let Some(rest) = text.strip_prefix(scheme) else {
        let is_host = !text.is_empty() && !text.contains("://") && !text.contains('@');
        let host = if is_host { shown(text) } else { "127.0.0.1:8000".to_owned() };
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

/// Paths of requests, each with the dialect that the message advises. Servers with Ollama's own paths
/// (`/api/...`) also have the paths of `openai-chat`. In a URL, the text before such a path is the address of
/// the server.
const API_CALLS: [(&str, &str); 11] = [
    ("/v1/chat/completions", "openai-chat"),
    ("/v1/completions", "openai-completions"),
    ("/v1/responses", "openai-responses"),
    ("/v1/messages", "anthropic"),
    ("/api/generate", "openai-chat"),
    ("/api/chat", "openai-chat"),
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
pub fn shown(address: &str) -> String {
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    let end = address.find(['?', '#']).unwrap_or(address.len());
    visible::name(&address[..end])
}

/// The name of the first query parameter of a path that has a value and a name that suggests a secret; `None`
/// if there is no such parameter.
pub(crate) fn secret_parameter(path: &str) -> Option<&str> {
    let (_, query) = path.split_once('?')?;
    let mut pairs = query.split(['&', ';', '#']).filter_map(|pair| pair.split_once('='));
    let (name, _) =
        pairs.find(|(name, value)| !value.is_empty() && names_a_secret_parameter(name))?;
    Some(name)
}

/// The message about a parameter or field whose name suggests a secret.
pub(crate) fn secret_told(name: &str) -> String {
    format!(
        "`{name}` looks like a secret, and would be stored in results; send it as a header \
            instead: use the key `header` or `api_key_env`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn durations_are_parsed_with_their_units() {
        for (written, ms) in [("500ms", 500), ("10s", 10_000), ("1.5", 1_500), ("2m", 120_000)] {
            assert_eq!(span(&text(written)), Ok(Duration::from_millis(ms)), "{written}");
        }
        for wrong in ["", "ten", "5 parsecs", "-3s", "0", "NaN", "inf"] {
            assert!(span(&text(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_parsed_as_percentages_or_fractions() {
        assert_eq!(share(&text("1%")), Ok(0.01));
        assert_eq!(share(&Value::Number(0.25)), Ok(0.25));
        assert!(share(&text("101%")).is_err());
        assert!(share(&text("a few")).is_err());
    }

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
            let url = url(written).unwrap();
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
            ("http://a:1/api/generate", "give --target http://a:1 --dialect openai-chat"),
            (
                "https://a/openai/deployments/d/chat/completions?api-version=secret",
                "give --target https://a:443 --dialect openai-chat --model MODEL --endpoint \
                 '/openai/deployments/d/chat/completions?...'",
            ),
            ("http://a/v1?key=secret", "has a query"),
        ] {
            let problem = url(wrong).unwrap_err().to_string();
            assert!(problem.contains(advice), "{wrong}: {problem}");
            assert!(!problem.contains("secret") && !shown(wrong).contains("secret"), "{problem}");
        }
        assert_eq!(secret_parameter("/v1/x?api-version=2024&key=secret"), Some("key"));
        assert_eq!(secret_parameter("/v1/x?api-version=2024&key="), None);
    }
}
