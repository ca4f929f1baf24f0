//! The answers to the requests of a probe: JSON, or a description of an unexpected answer.

use inferometer_model::{Secrets, url::shown_address};
use inferometer_net::http::client::{Client, ClientError, ClientResponse};
use inferometer_wire::error_message;
use serde_json::Value;

/// An unexpected answer at a path where known servers send JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedAnswer {
    /// The path.
    pub path: String,
    /// The HTTP status; `None` if the answer was not HTTP.
    pub status: Option<u16>,
    /// The target of a redirection.
    pub location: Option<String>,
    /// Whether the answer was a web page.
    pub is_page: bool,
    /// The server's message, or what is wrong with its answer.
    pub message: String,
}

impl UnexpectedAnswer {
    fn of(client: &Client, path: &str, response: &ClientResponse) -> Self {
        let secrets = Secrets::of_headers(&client.headers);
        let content_type = response.header("content-type").unwrap_or_default();
        let begins = String::from_utf8_lossy(&response.body[..response.body.len().min(64)]);
        let begins = begins.trim_start().to_ascii_lowercase();
        let is_page = content_type.starts_with("text/html")
            || begins.starts_with("<!doctype html")
            || begins.starts_with("<html");
        let message = if response.status == 200 {
            "content that is not JSON".to_owned()
        } else {
            error_message(response.status, &response.body, &secrets)
        };
        let location = response.header("location").map(|to| secrets.redact(to).into_owned());
        let status = Some(response.status);
        Self { path: path.to_owned(), status, location, is_page, message }
    }

    /// Whether the status is 502, 503 or 504: the server may not be ready yet, or a gateway got no valid answer from
    /// its server.
    pub fn may_pass(&self) -> bool {
        matches!(self.status, Some(502..=504))
    }

    /// Describes the answer for the user, with advice.
    pub fn in_words(&self) -> String {
        let Self { path, status, location, is_page, message } = self;
        let Some(status) = status else { return format!("{path}: {message}") };
        let came = format!("answers {status} at {path}");
        // The content of a web page is not shown in a terminal.
        let said = if *is_page { " with a web page".to_owned() } else { format!(" ({message})") };
        match (status, location) {
            (401, _) => format!(
                "{came}{said}: the server needs a valid API key; put the key into the environment \
                    variable OPENAI_API_KEY, or into the variable that --api-key-env names"
            ),
            (403, _) => format!(
                "{came}{said}: access is denied with this API key (or without a key); see \
                    --api-key-env and --header"
            ),
            (300..=399, Some(to)) => {
                let to = shown_address(to);
                let server = to.trim_end_matches('/').strip_suffix(path.as_str());
                let is_address =
                    |to: &&str| to.starts_with("http://") || to.starts_with("https://");
                let advice = server.filter(is_address).map_or_else(
                    || {
                        "the path does not exist, or it needs an API key (--api-key-env, \
                        --header)"
                            .to_owned()
                    },
                    |server| format!("give --target {}", server.trim_end_matches('/')),
                );
                format!("{came} and points to {to}: {advice}")
            }
            (404, _) => {
                format!("{came}: check the address of the server, including any path before /v1")
            }
            (502 | 504, _) => format!(
                "{came}{said}: a gateway answered, but it got no valid answer from the server \
                    behind it"
            ),
            (503, _) => format!("{came}{said}: the server is not ready"),
            (_, _) if *is_page => {
                format!("{came}{said}: this is not the address of the server's API")
            }
            (200, _) => format!("{came} with {message}: check the address of the server"),
            (_, _) => format!("{came}{said}"),
        }
    }
}

/// Sends requests to a server, one after the other, and stores unexpected answers.
pub(super) struct ProbeClient<'a> {
    client: &'a Client,
    /// `None` before the first request. Afterwards, `Some(None)` if the first answer was JSON with status 200,
    /// otherwise `Some` with this answer.
    first: Option<Option<UnexpectedAnswer>>,
    /// The first answer with status 502, 503 or 504 that may come from a server that is loading its model.
    loading: Option<UnexpectedAnswer>,
    last: Option<ClientResponse>,
    /// The header fields of all answers so far.
    headers: Vec<(String, String)>,
}

impl<'a> ProbeClient<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self { client, first: None, loading: None, last: None, headers: Vec::new() }
    }

    /// The JSON at a path; `None` if the status is not 200 or the response is not JSON.
    pub(super) fn json(&mut self, path: &str) -> Result<Option<Value>, ClientError> {
        let response = self.client.get(path);
        self.take(path, response)
    }

    /// Like [`Self::json`], for a POST request with a body.
    pub(super) fn post(&mut self, path: &str, body: &Value) -> Result<Option<Value>, ClientError> {
        let response = self.client.post(path, body);
        self.take(path, response)
    }

    fn take(
        &mut self,
        path: &str,
        response: Result<ClientResponse, ClientError>,
    ) -> Result<Option<Value>, ClientError> {
        self.last = None;
        let (value, unexpected) = match response {
            Ok(response) => {
                let value = serde_json::from_slice(&response.body).ok();
                let value = value.filter(|_| response.status == 200);
                let unexpected = UnexpectedAnswer::of(self.client, path, &response);
                self.headers.extend(response.headers.iter().cloned());
                self.last = Some(response);
                (value, unexpected)
            }
            Err(error) => {
                let error = self.other_protocol(error);
                let ClientError::Garbled { what, .. } = error else { return Err(error) };
                let (path, status, location) = (path.to_owned(), None, None);
                (None, UnexpectedAnswer { path, status, location, is_page: false, message: what })
            }
        };
        if value.is_none() && unexpected.may_pass() {
            let says_so = unexpected.message.to_ascii_lowercase().contains("loading");
            if self.first.is_none() || says_so {
                self.loading.get_or_insert(unexpected.clone());
            }
        }
        self.first.get_or_insert(value.is_none().then_some(unexpected));
        Ok(value)
    }

    /// Checks for TLS after a broken first answer: a TLS server closes a connection that does not begin with
    /// TLS, usually without a message.
    fn other_protocol(&self, error: ClientError) -> ClientError {
        let is_odd = matches!(error, ClientError::Garbled { .. } | ClientError::Broken { .. });
        let is_first = self.first.is_none() && !self.client.url.secure;
        if is_odd && is_first && self.client.takes_tls() {
            self.client.tls_not_named()
        } else {
            error
        }
    }

    /// A header field of the last answer; `None` if there is no such field or no answer.
    pub(super) fn last_header(&self, name: &str) -> Option<&str> {
        self.last.as_ref()?.header(name)
    }

    /// The last answer.
    pub(super) fn last(&self) -> Option<&ClientResponse> {
        self.last.as_ref()
    }

    /// The value of a header field in the first answer that has it.
    pub(super) fn header_seen(&self, name: &str) -> Option<String> {
        let field = self.headers.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.clone())
    }

    /// The answer to the first request, unless it was JSON with status 200.
    pub(super) fn unexpected(&self) -> Option<&UnexpectedAnswer> {
        self.first.as_ref()?.as_ref()
    }

    /// The server's answer while it is loading, unless its `/health` says that it is ready.
    pub(super) fn loading(&mut self) -> Option<UnexpectedAnswer> {
        let loading = self.loading.take()?;
        let health = self.client.get("/health");
        let is_well = health.is_ok_and(|health| (200..300).contains(&health.status));
        (!is_well).then_some(loading)
    }
}
