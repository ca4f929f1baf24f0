//! A server whose answers a test makes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use inferometer_http::client::Client;
use inferometer_net::tls::Trust;
use inferometer_plan::Url;

/// A client of a server that answers as said to a path and a body: `STATUS\r\nfields\r\n\r\nbody`.
pub fn server(say: impl Fn(&str, &str) -> String + Send + 'static) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::plain("127.0.0.1", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that only looks whether somebody listens sends nothing.
            let _ = answer(&mut stream.unwrap(), &say);
        }
    });
    Client::reach(&url, Vec::new(), Duration::from_secs(600), &Trust::Known).unwrap()
}

fn answer(stream: &mut TcpStream, say: &impl Fn(&str, &str) -> String) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let said = say(&path, &String::from_utf8_lossy(&body));
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
    let length = body.len();
    write!(stream, "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}
