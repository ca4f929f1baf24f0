//! Questions to a server beside the measurement: one blocking request each, never while a pass
//! runs.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use inferometer_net::monotonic_now;
use inferometer_net::tls::{Distrust, TlsClient, TlsStream, Trust, distrust};
use inferometer_plan::Url;
use inferometer_wire::error_message;
use inferometer_wire::http::{Ended, Piece, ResponseParser, request_head};

use crate::encode::redact;

/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A server that can be asked.
#[derive(Clone)]
pub struct Server {
    /// Its address, as the user gave it.
    pub url: Url,
    /// Where its name leads.
    pub address: SocketAddr,
    /// Further headers, such as the authorization. Never shown.
    pub headers: Vec<(String, String)>,
    /// How long to wait for the connection and for each part of an answer.
    pub timeout: Duration,
    /// How long an answer may take as a whole, however steadily its parts come; it may end as much
    /// later as one of them takes.
    pub deadline: Option<Duration>,
    /// How TLS is spoken to it, if it is.
    pub tls: Option<TlsClient>,
}

/// An open connection.
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A server that is asked many questions, over connections that are kept between them. As many are
/// open as there are threads that ask at once.
pub struct KeptServer {
    server: Server,
    idle: Mutex<Vec<Stream>>,
}

impl KeptServer {
    /// Nothing is opened yet.
    #[must_use]
    pub fn of(server: &Server) -> Self {
        Self { server: server.clone(), idle: Mutex::default() }
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Sends JSON to a path, and takes any status for an answer. What is asked must change nothing:
    /// where a kept connection turns out to be closed, it is asked again on a new one.
    ///
    /// # Errors
    /// When no answer comes or what comes is not HTTP.
    pub fn post(&self, path: &str, body: &serde_json::Value) -> Result<Answer, ControlError> {
        let body = body.to_string();
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = |mut stream: Stream| {
            let asked =
                self.server.ask_on(&mut stream, "keep-alive", "POST", path, Some(body.clone()));
            asked.map(|(answer, is_kept)| {
                if is_kept {
                    idle().push(stream);
                }
                answer
            })
        };
        let kept = idle().pop();
        match kept.map(&ask) {
            Some(Ok(answer)) => Ok(answer),
            None | Some(Err(_)) => ask(self.server.connect()?),
        }
    }
}

/// Why a question got no useful answer.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The name of the server leads nowhere.
    #[error("{url}: the name cannot be resolved: {source}")]
    Resolve {
        /// The address as given.
        url: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody listens there, or the network is in the way.
    #[error("{url}: cannot connect: {source}")]
    Unreachable {
        /// The address as given.
        url: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server cannot be trusted, or does not speak TLS.
    #[error("{url}: no TLS connection: {source}{advice}")]
    NoTls {
        /// The address as given.
        url: String,
        /// What is wrong with it.
        source: io::Error,
        /// What helps, if that is known.
        advice: &'static str,
    },
    /// The connection broke or fell silent.
    #[error("{url}{path}: no answer: {}", told(source))]
    Broken {
        /// The address as given.
        url: String,
        /// What was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// What came is not HTTP, or not the JSON that was expected.
    #[error("{url}{path}: not an answer of a known server: {what}")]
    Garbled {
        /// The address as given.
        url: String,
        /// What was asked for.
        path: String,
        /// What came instead.
        what: String,
    },
    /// The server refused.
    #[error("{url}{path}: the server answered {status}: {message}")]
    Refused {
        /// The address as given.
        url: String,
        /// What was asked for.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The server's own words.
        message: String,
    },
}

/// What the system said. It has one word for a wait that is over and for a socket that has nothing.
fn told(source: &io::Error) -> String {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::WouldBlock, Some(_)) => "it took too long".to_owned(),
        _ => source.to_string(),
    }
}

/// An answer: the status, and the whole body.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `server` header.
    pub server: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Server {
    /// Resolves a server's name and connects once, so that it is known to listen.
    ///
    /// # Errors
    /// When the name leads nowhere or none of its addresses takes a connection.
    pub fn reach(
        url: &Url,
        headers: Vec<(String, String)>,
        timeout: Duration,
        trust: &Trust,
    ) -> Result<Self, ControlError> {
        let tls = url.secure.then(|| TlsClient::new(&url.host, trust)).transpose();
        let tls = tls.map_err(|error| no_tls(url, io::Error::other(error)))?;
        let resolve = |source| ControlError::Resolve { url: url.to_string(), source };
        let addresses: Vec<SocketAddr> =
            (url.host.as_str(), url.port).to_socket_addrs().map_err(resolve)?.collect();
        let nowhere = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let mut last = ControlError::Unreachable { url: url.to_string(), source: nowhere };
        for address in addresses {
            let (headers, tls) = (headers.clone(), tls.clone());
            let (url, deadline) = (url.clone(), None);
            let server = Self { url, address, headers, timeout, deadline, tls };
            match server.connect() {
                Ok(_) => return Ok(server),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Asks for a path, and takes any status for an answer.
    ///
    /// # Errors
    /// When no answer comes or what comes is not HTTP.
    pub fn get(&self, path: &str) -> Result<Answer, ControlError> {
        self.ask("GET", path, None)
    }

    /// Sends JSON to a path, and takes any status for an answer.
    ///
    /// # Errors
    /// When no answer comes or what comes is not HTTP.
    pub fn post(&self, path: &str, body: &serde_json::Value) -> Result<Answer, ControlError> {
        self.ask("POST", path, Some(body.to_string()))
    }

    /// The JSON of a successful answer.
    ///
    /// # Errors
    /// When the status is not 200 or the body is not JSON.
    pub fn json(&self, path: &str, answer: &Answer) -> Result<serde_json::Value, ControlError> {
        if answer.status != 200 {
            return Err(ControlError::Refused {
                url: self.url.to_string(),
                path: path.to_owned(),
                status: answer.status,
                message: redact(&self.headers, &error_message(answer.status, &answer.body)),
            });
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.garbled(path, error))
    }

    fn ask(&self, method: &str, path: &str, body: Option<String>) -> Result<Answer, ControlError> {
        let mut stream = self.connect()?;
        self.ask_on(&mut stream, "close", method, path, body).map(|(answer, _)| answer)
    }

    fn connect(&self) -> Result<Stream, ControlError> {
        let unreachable = |source| ControlError::Unreachable { url: self.url.to_string(), source };
        let stream =
            TcpStream::connect_timeout(&self.address, self.timeout).map_err(unreachable)?;
        stream.set_read_timeout(Some(self.timeout)).map_err(unreachable)?;
        stream.set_write_timeout(Some(self.timeout)).map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let Some(tls) = &self.tls else { return Ok(Stream::Plain(stream)) };
        let stream = tls.over(stream).map_err(|source| no_tls(&self.url, source))?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Asks on an open connection; says also whether it can carry another question.
    fn ask_on(
        &self,
        stream: &mut Stream,
        connection: &str,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> Result<(Answer, bool), ControlError> {
        let mut headers = self.headers.clone();
        headers.push(("connection".to_owned(), connection.to_owned()));
        let full_path = format!("{}{path}", self.url.prefix);
        let length = body.as_ref().map(String::len);
        let mut bytes = request_head(method, &full_path, &self.url.host_field(), &headers, length);
        bytes.extend_from_slice(body.unwrap_or_default().as_bytes());
        stream.write_all(&bytes).map_err(|source| ControlError::Broken {
            url: self.url.to_string(),
            path: path.to_owned(),
            source,
        })?;
        self.read_answer(path, stream)
    }

    fn read_answer(&self, path: &str, stream: &mut Stream) -> Result<(Answer, bool), ControlError> {
        let mut parser = ResponseParser::new();
        let mut answer = Answer { status: 0, server: None, body: Vec::new() };
        let mut buffer = [0; 16 << 10];
        let began = monotonic_now();
        let broken = |source| ControlError::Broken {
            url: self.url.to_string(),
            path: path.to_owned(),
            source,
        };
        while !parser.is_done() {
            let count = stream.read(&mut buffer).map_err(broken)?;
            if count == 0 {
                if parser.finish() == Ended::Truncated {
                    return Err(self.garbled(path, "the answer was cut short"));
                }
                break;
            }
            let sink = &mut |piece: Piece<'_>| match piece {
                Piece::Head(head) => {
                    answer.status = head.status;
                    answer.server = head.header("server").map(str::to_owned);
                }
                Piece::Body(bytes) => answer.body.extend_from_slice(bytes),
                Piece::End => {}
            };
            parser.push(&buffer[..count], sink).map_err(|error| self.garbled(path, error))?;
            let is_over =
                self.deadline.is_some_and(|deadline| monotonic_now().since(began) > deadline);
            if is_over && !parser.is_done() {
                let trickles = "it trickles, and is not whole in the time that it has";
                return Err(broken(io::Error::new(io::ErrorKind::TimedOut, trickles)));
            }
            if answer.body.len() > MAX_ANSWER_BYTES {
                return Err(self.garbled(path, "the answer is longer than 64 MiB"));
            }
        }
        Ok((answer, parser.keep_alive()))
    }

    fn garbled(&self, path: &str, what: impl ToString) -> ControlError {
        ControlError::Garbled {
            url: self.url.to_string(),
            path: path.to_owned(),
            what: redact(&self.headers, &what.to_string()),
        }
    }
}

fn no_tls(url: &Url, source: io::Error) -> ControlError {
    let advice = match distrust(&source) {
        Some(Distrust::UnknownAuthority) => {
            "; give the authority that vouches for it with --ca-cert"
        }
        Some(Distrust::OtherName) => "; use a name that its certificate is for",
        Some(Distrust::Other) | None => "",
    };
    ControlError::NoTls { url: url.to_string(), source, advice }
}
