//! Questions to a server that answers slowly. Nothing here waits for a clock.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use inferometer_drive::control::Server;
use inferometer_plan::Url;

/// What becomes of an answer that comes in these parts, each after the one before was read.
fn answered(parts: &[&'static str], deadline: Option<Duration>) -> Result<usize, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server {
        url: Url::plain("127.0.0.1", address.port()),
        address,
        headers: Vec::new(),
        timeout: Duration::from_secs(60),
        deadline,
        tls: None,
    };
    let parts = parts.to_vec();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        for part in parts {
            stream.write_all(part.as_bytes()).unwrap();
        }
        // Held open until the client has gone.
        let _ = stream.read(&mut [0; 1]);
    });
    let answer = server.get("/metrics");
    serving.join().unwrap();
    answer.map(|answer| answer.body.len()).map_err(|error| error.to_string())
}

#[test]
fn an_answer_that_trickles_on_is_given_up_at_its_deadline() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab";
    let told = answered(&[begun], Some(Duration::ZERO)).unwrap_err();
    assert!(told.contains("trickles"), "{told}");
    assert_eq!(answered(&[begun, "cde"], Some(Duration::from_secs(60))), Ok(5));
    assert_eq!(answered(&[begun, "cde"], None), Ok(5));
}
