//! The blocking client against servers that respond slowly, with an error, or not at all.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use inferometer_model::url::Url;
use inferometer_net::http::client::{Client, KeepAliveClient, ServerAccess};
use inferometer_net::http::proxy::Proxies;

/// Requests a response that the server sends in these parts. Returns the length of the received body, or the
/// error message.
fn received(parts: &[&'static str], deadline: Duration) -> Result<usize, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = Client {
        url: Url::plain("127.0.0.1", address.port()),
        address: address.into(),
        headers: Vec::new(),
        timeout: Duration::from_secs(60),
        deadline,
        tls: None,
        proxy: None,
    };
    let parts = parts.to_vec();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        for part in parts {
            stream.write_all(part.as_bytes()).unwrap();
        }
        // The connection stays open until the client closes it.
        let _ = stream.read(&mut [0; 1]);
    });
    let response = client.get("/metrics");
    serving.join().unwrap();
    response.map(|response| response.body.len()).map_err(|error| error.to_string())
}

#[test]
fn a_response_that_arrives_too_slowly_is_aborted_at_its_deadline() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab";
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    for parts in [[begun], [interim]] {
        let error = received(&parts, Duration::ZERO).unwrap_err();
        assert!(error.contains("was not complete within the time limit"), "{error}");
    }
    assert_eq!(received(&[interim, begun, "cde"], Duration::from_secs(60)), Ok(5));
}

#[test]
fn a_client_with_a_timeout_of_10_s_has_a_deadline_of_at_most_60_s() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::plain("127.0.0.1", listener.local_addr().unwrap().port());
    let client =
        Client::reach(&url, Vec::new(), Duration::from_secs(10), &ServerAccess::default()).unwrap();
    assert!(client.deadline <= Duration::from_secs(60), "{:?}", client.deadline);
}

#[test]
fn a_secret_header_value_is_masked_in_error_messages_but_not_in_response_bodies() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        for status in ["200 OK", "200 OK", "500 Internal Server Error"] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 16\r\nconnection: close\r\n\r\n");
            stream.write_all(format!("{answer}\"about research\"").as_bytes()).unwrap();
        }
    });
    let client = Client {
        url: Url::plain("127.0.0.1", address.port()),
        address: address.into(),
        headers: vec![("x-team".to_owned(), "research".to_owned())],
        timeout: Duration::from_secs(60),
        deadline: Duration::from_secs(60),
        tls: None,
        proxy: None,
    };
    assert_eq!(client.get("/version").unwrap().body, b"\"about research\"");
    let words = KeepAliveClient::new(&client).post("/detokenize", &serde_json::json!({})).unwrap();
    assert_eq!(words.body, b"\"about research\"");
    let refused = client.get("/version").unwrap();
    let error = client.json("/version", &refused).unwrap_err().to_string();
    assert!(error.contains("about ***") && !error.contains("research"), "{error}");
    serving.join().unwrap();
}

#[test]
fn the_error_names_a_proxy_that_is_silent_or_resets_the_connection() {
    for (is_silent, timeout, why) in [
        (true, Duration::from_millis(20), "it took too long"),
        (false, Duration::from_secs(60), "reset by peer"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let proxies = Proxies::of_variables(&|name| (name == "https_proxy").then(|| proxy.clone()));
        let access = ServerAccess { proxies, ..ServerAccess::default() };
        let url = Url { secure: true, ..Url::plain("server.test", 443) };
        let asking = std::thread::spawn(move || {
            Client::reach(&url, Vec::new(), timeout, &access).map(drop).unwrap_err()
        });
        let (stream, _) = listener.accept().unwrap();
        // If the stream is closed with an unread request, the kernel resets the connection.
        stream.peek(&mut [0; 1]).unwrap();
        let kept = is_silent.then_some(stream);
        let error = asking.join().unwrap().to_string();
        drop(kept);
        assert!(error.contains(&format!("the proxy {proxy}: ")) && error.contains(why), "{error}");
    }
}
