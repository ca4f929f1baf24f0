//! A server whose answers a test defines, byte for byte. It answers one request per connection and then closes the
//! connection. No test depends on its speed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A request that the server received.
pub struct Request {
    /// The request line and the header fields.
    pub head: String,
    /// The body as text.
    pub body: String,
}

impl Request {
    /// The path with the query.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// A complete HTTP response with a body. `status_and_fields` is the status with its reason. Further header lines may
/// follow, separated by CRLF: `200 OK\r\ncontent-type: text/plain`.
pub fn whole(status_and_fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status_and_fields}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A part of an answer.
pub enum Part {
    Text(String),
    Pause(Duration),
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Duration> for Part {
    fn from(pause: Duration) -> Self {
        Self::Pause(pause)
    }
}

/// Starts a server that answers each request with the result of `answer`, until the process of the test ends. Returns
/// the URL.
pub fn serve(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> String {
    serve_in_parts(move |request| vec![answer(request).into()])
}

/// Like [`serve`], with pauses between parts of an answer.
pub fn serve_in_parts(answer: impl Fn(&Request) -> Vec<Part> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            // A connection without a request is not an error: a client may only test whether the server listens.
            std::thread::spawn(move || respond(stream, &*answer));
        }
    });
    url
}

fn respond(mut stream: TcpStream, answer: &impl Fn(&Request) -> Vec<Part>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let before = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
        if let Some((name, value)) = head[before..].split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    // Read the body too: if a connection is closed while it has unread data, the system resets the connection.
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    for part in answer(&Request { head, body }) {
        match part {
            Part::Text(text) => stream.write_all(text.as_bytes())?,
            Part::Pause(pause) => std::thread::sleep(pause),
        }
    }
    Ok(())
}
