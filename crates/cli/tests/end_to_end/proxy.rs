//! A forward proxy for tests, and a gate that connects a Unix socket to a server. No test depends on their speed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// A proxy. It forwards requests with a complete URL, one on each connection; `CONNECT` opens a tunnel.
pub struct Proxy {
    /// `127.0.0.1:PORT`
    pub address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy. If `authorization` is given, the proxy requires this value of the header `proxy-authorization`.
    pub fn start(authorization: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&seen);
                // A connection without a request is not an error.
                thread::spawn(move || lead(client, authorization, &seen));
            }
        });
        Self { address, heads }
    }

    /// The heads of all requests that the proxy has received.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn lead(client: TcpStream, wanted: Option<&str>, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    seen.lock().unwrap().push(head.clone());
    let mut client = client;
    let field = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(field, value)| field.eq_ignore_ascii_case(name).then(|| value.to_owned()))
    };
    if wanted.is_some() && field("proxy-authorization").as_deref() != wanted {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        return client.write_all(refusal.as_bytes());
    }
    let words: Vec<&str> = head.lines().next().unwrap_or_default().split(' ').collect();
    let [method, target, _] = words[..] else { return Ok(()) };
    if method == "CONNECT" {
        let server = TcpStream::connect(target)?;
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return carry(client, server);
    }
    let rest = target.strip_prefix("http://").expect("a whole URL");
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut server = TcpStream::connect(authority)?;
    let fields = head.split_once("\r\n").unwrap().1;
    let kept: Vec<&str> = fields
        .lines()
        .filter(|line| !line.to_lowercase().starts_with("proxy-auth"))
        .filter(|line| !line.to_lowercase().starts_with("connection:") && !line.is_empty())
        .collect();
    let head =
        format!("{method} {path} HTTP/1.1\r\n{}\r\nconnection: close\r\n\r\n", kept.join("\r\n"));
    server.write_all(head.as_bytes())?;
    let length = field("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    server.write_all(&body)?;
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}

/// Copies data in both directions, until both sides have ended.
fn carry(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || {
        let copied = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        copied
    });
    let (mut from, mut to) = (server, client);
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Both)?;
    up.join().unwrap().map(drop)
}

/// Listens on a Unix socket and connects each client to a server, `http://HOST:PORT`.
pub fn gate(path: &Path, to: &str) {
    let listener = UnixListener::bind(path).unwrap();
    let to = to.trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let to = to.clone();
            thread::spawn(move || carry_unix(client, &to));
        }
    });
}

fn carry_unix(client: UnixStream, to: &str) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (mut from, mut up) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let copied = io::copy(&mut from, &mut up);
        let _ = up.shutdown(Shutdown::Write);
        copied
    });
    let (mut from, mut to) = (server, client);
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Both)
}
