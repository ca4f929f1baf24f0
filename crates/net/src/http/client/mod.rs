//! A blocking client for requests outside of the measurement: to identify a server, to use its tokenizer, to
//! read its metrics. It never sends the requests that are measured.
//!
//! The client is our own, although `ureq` has the necessary timeouts (total, connect, per read). Three
//! features would still need our own code around `ureq`. First, a connection is opened without a request, to
//! see whether the server listens and is trusted ([`Client::reach`]). Second, Mozilla's root certificates are
//! used together with those of `--ca-cert`; `ureq` accepts only one of these sets. Third, the same resolved
//! address is used for the requests of this client and for the measured requests. `ureq` would only replace
//! the loop over reads in this file.

mod error;
mod keep_alive;
mod protocol;
mod stream;

use std::io::{self, Read};
use std::{path::Path, time::Duration};

use inferometer_model::{Secrets, Url, json::parsed_bytes};
use inferometer_wire::error_message;
use inferometer_wire::http::{HttpError, MessageEnd, Piece, ResponseParser, request_head};
use serde_json::Value;

use crate::tls::{Identity, TlsClient, Trust, tls_failure};
use crate::{Address, monotonic_now, time_limit};

pub use error::ClientError;
pub use keep_alive::KeepAliveClient;

use error::no_tls;
use protocol::{HTTP1_IS_NEEDED, Other, other_protocol};
pub(in crate::http) use stream::{Stream, waiting};

use crate::http::proxy::{Proxies, Proxy, advice};

/// The size limit of a response body, in bytes.
const MAX_BODY_BYTES: usize = 64 << 20;
/// The limit on the estimated memory of a response body after parsing as JSON, in bytes.
const MAX_PARSED_BYTES: usize = 256 << 20;
/// The default deadline of a whole request, and of a whole response, as a multiple of the timeout.
const DEADLINE_TIMEOUTS: u32 = 6;

/// How to connect to servers. The default: no proxy, trust in the authorities that Mozilla trusts, no client
/// certificate.
#[derive(Clone, Debug, Default)]
pub struct ServerAccess {
    /// Which certificate authorities are trusted.
    pub trust: Trust,
    /// The client certificate, for servers that request one.
    pub identity: Option<Identity>,
    /// Which proxy is used for which server.
    pub proxies: Proxies,
}

/// A client of one server.
#[derive(Clone)]
pub struct Client {
    /// The server's address, as the user gave it.
    pub url: Url,
    /// The address to which the client connects: the address of the server or of the proxy.
    pub address: Address,
    /// Additional headers, such as the authorization. Never printed.
    pub headers: Vec<(String, String)>,
    /// The time limit for opening the connection, for each write and for each read.
    pub timeout: Duration,
    /// The time limit for a whole request, and for a whole response, also if it arrives in many small parts.
    /// The limit is checked after each write and each read. So a request or a response may
    /// exceed the limit by one `timeout`.
    pub deadline: Duration,
    /// The settings of TLS, if the address of the server begins with `https://`.
    pub tls: Option<TlsClient>,
    /// The proxy in front of the server, if there is one. With TLS, the client uses a tunnel through the
    /// proxy.
    pub proxy: Option<Proxy>,
}

/// A response with its whole body, as the server sent it. Secrets are replaced with `***` only in error
/// messages.
pub struct ClientResponse {
    /// The HTTP status.
    pub status: u16,
    /// The header fields in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ClientResponse {
    /// The value of the first header field with this name. The case of the name does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let field = self.headers.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }
}

/// Whether a connection is used again after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reuse {
    Close,
    Keep,
}

impl Client {
    /// Resolves a server's name and connects to its addresses, one after the other, until one connection is
    /// open (with a proxy: to the addresses of the proxy). Sends no request.
    ///
    /// # Errors
    /// When the name cannot be resolved, no connection can be opened, or the TLS settings or the proxy cannot
    /// be used.
    pub fn reach(
        url: &Url,
        headers: Vec<(String, String)>,
        timeout: Duration,
        access: &ServerAccess,
    ) -> Result<Self, ClientError> {
        let identity = access.identity.as_ref();
        let tls =
            url.secure.then(|| TlsClient::new(&url.host, &access.trust, identity)).transpose();
        let tls = tls.map_err(|error| no_tls(url, io::Error::other(error)))?;
        let proxy = access
            .proxies
            .for_url(url)
            .map_err(|what| ClientError::Proxy { url: url.to_string(), what: what.to_string() })?;
        let nowhere = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let mut last = ClientError::Unreachable { url: url.to_string(), source: nowhere };
        for address in addresses(url, proxy)? {
            let (headers, tls, proxy) = (headers.clone(), tls.clone(), proxy.cloned());
            let (url, deadline) = (url.clone(), timeout * DEADLINE_TIMEOUTS);
            let client = Self { url, address, headers, timeout, deadline, tls, proxy };
            match Stream::connect(&client) {
                Ok(_) => return Ok(client),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Resolves the server's name and connects to each other address of the same IP version as this client's
    /// address. Returns this client and a client for each of these addresses that accepts a connection, and
    /// the remaining addresses with their errors. Returns only this client behind a proxy, for a Unix socket,
    /// or if the name cannot be resolved.
    pub fn at_each_address(&self) -> (Vec<Self>, Vec<(Address, ClientError)>) {
        let Address::Internet(own) = &self.address else { return (vec![self.clone()], Vec::new()) };
        let found = match &self.proxy {
            None => addresses(&self.url, None).unwrap_or_default(),
            Some(_) => Vec::new(),
        };
        let is_alike = |address: &Address| matches!(address, Address::Internet(it) if it.is_ipv4() == own.is_ipv4() && it != own);
        let (mut reached, mut others) = (vec![self.clone()], Vec::new());
        for address in found.into_iter().filter(is_alike) {
            let client = Self { address, ..self.clone() };
            match Stream::connect(&client) {
                _ if reached.iter().any(|known| known.address == client.address) => {}
                Ok(_) => reached.push(client),
                Err(error) => others.push((client.address, error)),
            }
        }
        (reached, others)
    }

    /// The text before the path in a request, and an additional header. For a proxy without a tunnel, these
    /// are the server's address and the proxy's credentials; otherwise an empty text and `None`.
    pub fn forwarding(&self) -> (String, Option<(String, String)>) {
        match &self.proxy {
            Some(proxy) if self.tls.is_none() => {
                (format!("http://{}", self.url.host_field()), proxy.header())
            }
            _ => (String::new(), None),
        }
    }

    /// The proxy, and the server's authority (host and port), if a tunnel is used.
    pub fn tunnel(&self) -> Option<(&Proxy, String)> {
        let proxy = self.proxy.as_ref().filter(|_| self.tls.is_some())?;
        Some((proxy, self.url.authority()))
    }

    /// Sends a GET request for a path. Returns the response, whatever its status is.
    ///
    /// # Errors
    /// When no complete response of the server arrives, or when the response is not HTTP or too large.
    pub fn get(&self, path: &str) -> Result<ClientResponse, ClientError> {
        self.request("GET", path, None)
    }

    /// Posts JSON to a path. Returns the response, whatever its status is.
    ///
    /// # Errors
    /// When no complete response of the server arrives, or when the response is not HTTP or too large.
    pub fn post(&self, path: &str, body: &Value) -> Result<ClientResponse, ClientError> {
        self.request("POST", path, Some(&body.to_string()))
    }

    /// Parses the JSON body of a successful response.
    ///
    /// # Errors
    /// When the status is not 200 or the body is not JSON.
    pub fn json(&self, path: &str, response: &ClientResponse) -> Result<Value, ClientError> {
        if response.status != 200 {
            return Err(ClientError::Refused {
                url: self.url.to_string(),
                path: path.to_owned(),
                status: response.status,
                message: error_message(response.status, &response.body, &self.secrets()),
            });
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| self.garbled(path, self.secrets().redact(&error.to_string())))
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<ClientResponse, ClientError> {
        let mut stream = Stream::connect(self)?;
        let (response, _) = self.send(&mut stream, Reuse::Close, method, path, body)?;
        Ok(response)
    }

    /// The secret values in the headers of a request.
    fn secrets(&self) -> Secrets {
        let (_, proxy) = self.forwarding();
        Secrets::of_headers(&self.headers.iter().cloned().chain(proxy).collect::<Vec<_>>())
    }

    /// Sends a request on an open connection. Returns the response, and whether the connection can be used
    /// for another request.
    fn send(
        &self,
        stream: &mut Stream,
        reuse: Reuse,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<(ClientResponse, bool), ClientError> {
        let connection = if reuse == Reuse::Keep { "keep-alive" } else { "close" };
        let mut headers = self.headers.clone();
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("connection"));
        headers.push(("connection".to_owned(), connection.to_owned()));
        let (before, authorization) = self.forwarding();
        headers.extend(authorization);
        let full_path = format!("{before}{}{path}", self.url.prefix);
        let authority = self.url.host_field();
        let mut bytes = request_head(method, &full_path, &authority, &headers, body.map(str::len));
        bytes.extend_from_slice(body.unwrap_or_default().as_bytes());
        time_limit::write_all(stream, &bytes, self.deadline)
            .map_err(|source| self.broken(path, source))?;
        let (response, reusable) = self.read_response(path, stream)?;
        // Without a tunnel, status 407 comes from the proxy itself. Inside a tunnel, it comes from the
        // server.
        let forwards = response.status == 407 && self.tls.is_none();
        if let Some(proxy) = self.proxy.as_ref().filter(|_| forwards) {
            let what = format!("the proxy {proxy} answered 407{}", advice(407, proxy));
            return Err(ClientError::Proxy { url: self.url.to_string(), what });
        }
        Ok((response, reusable))
    }

    fn read_response(
        &self,
        path: &str,
        stream: &mut Stream,
    ) -> Result<(ClientResponse, bool), ClientError> {
        let mut parser = ResponseParser::new();
        let mut response = ClientResponse { status: 0, headers: Vec::new(), body: Vec::new() };
        let mut buffer = [0; 16 << 10];
        let start = monotonic_now();
        while !parser.is_done() {
            let count = match stream.read(&mut buffer) {
                Ok(count) => Some(count),
                // A signal interrupted the read, so the loop reads again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
                Err(error) => return Err(self.broken(path, error)),
            };
            if count == Some(0) {
                if parser.finish() == MessageEnd::Truncated {
                    return Err(self.garbled(path, "the answer ended early"));
                }
                break;
            }
            let sink = &mut |piece: Piece<'_>| match piece {
                Piece::Head(head) => {
                    response.status = head.status;
                    response.headers = head.headers.clone();
                }
                Piece::Body(bytes) => response.body.extend_from_slice(bytes),
                Piece::End => {}
            };
            parser
                .push(&buffer[..count.unwrap_or(0)], sink)
                .map_err(|error| self.not_http(path, &error.redacted(&self.secrets())))?;
            let is_late = monotonic_now().since(start) > self.deadline;
            if is_late && !parser.is_done() {
                let trickles = "it was not complete within the time limit";
                return Err(self.broken(path, io::Error::new(io::ErrorKind::TimedOut, trickles)));
            }
            if response.body.len() > MAX_BODY_BYTES {
                return Err(self.garbled(path, "the answer is longer than 64 MiB"));
            }
        }
        if parsed_bytes(&response.body) > MAX_PARSED_BYTES {
            return Err(self.garbled(path, "the parsed answer may need over 256 MiB of memory"));
        }
        Ok((response, parser.keep_alive()))
    }

    /// Whether the server accepts a TLS connection. No request is sent to the server.
    pub fn takes_tls(&self) -> bool {
        let Ok(tls) = TlsClient::new(&self.url.host, &Trust::AnyCertificate, None) else {
            return false;
        };
        Stream::connect(&Self { tls: Some(tls), ..self.clone() }).is_ok()
    }

    /// The error for a server that uses TLS although its address begins with `http://`.
    pub fn tls_not_named(&self) -> ClientError {
        let secure = Url { secure: true, ..self.url.clone() };
        ClientError::OtherProtocol {
            url: self.url.to_string(),
            speaks: "uses TLS",
            advice: format!("give {secure} as the target"),
        }
    }

    /// The error for an answer that is not HTTP/1.1.
    fn not_http(&self, path: &str, error: &HttpError) -> ClientError {
        let HttpError::Head { begins, .. } = error else { return self.garbled(path, error) };
        match other_protocol(begins.as_bytes()) {
            Some(Other::Tls) if !self.url.secure => self.tls_not_named(),
            Some(Other::Http2) => ClientError::OtherProtocol {
                url: self.url.to_string(),
                speaks: "uses HTTP/2",
                advice: HTTP1_IS_NEEDED.to_owned(),
            },
            _ => self.garbled(path, error),
        }
    }

    fn broken(&self, path: &str, source: io::Error) -> ClientError {
        // With TLS 1.3, a client learns only after the handshake that its certificate is refused.
        if tls_failure(&source).is_some() {
            return no_tls(&self.url, source);
        }
        ClientError::Broken { url: self.url.to_string(), path: path.to_owned(), source }
    }

    fn garbled(&self, path: &str, what: impl ToString) -> ClientError {
        ClientError::Garbled {
            url: self.url.to_string(),
            path: path.to_owned(),
            what: what.to_string(),
        }
    }
}

/// Whether two addresses lead to the same server: the same socket file, or names and ports that resolve to
/// the same address. Equal names are the same server, also if the name cannot be resolved.
pub fn lead_to_same_server(a: &Url, b: &Url) -> bool {
    let [a_leads, b_leads] = [a, b].map(|url| addresses(url, None).unwrap_or_default());
    a.is_same_server(b) || a_leads.iter().any(|address| b_leads.contains(address))
}

/// The addresses to connect to in order to reach a server.
fn addresses(url: &Url, proxy: Option<&Proxy>) -> Result<Vec<Address>, ClientError> {
    if let Some(path) = &url.unix {
        return Ok(vec![Address::Unix(Path::new(path).into())]);
    }
    let (host, port) = match proxy {
        Some(proxy) => (proxy.host.as_str(), proxy.port),
        None => (url.host.as_str(), url.port),
    };
    let found = time_limit::resolve(host, port).map_err(|source| match proxy {
        Some(proxy) => ClientError::Proxy {
            url: url.to_string(),
            what: format!(
                "the name of the proxy {proxy} ({}) cannot be resolved: {source}",
                proxy.named_by
            ),
        },
        None => ClientError::Resolve { url: url.to_string(), source },
    })?;
    Ok(found.into_iter().map(Address::from).collect())
}
