//! Finding the servers of this machine by their ports.

use std::net::TcpListener;
use std::time::Duration;

use inferometer_servers::probe::{USUAL_PORTS, find_local};

use crate::tiny_server::{serve, whole};

/// Starts a server that lists a model with this owner. Returns its port.
fn listing(owner: &'static str) -> u16 {
    let url = serve(move |asked| match asked.path() {
        "/v1/models" => {
            let list = format!("{{\"data\":[{{\"id\":\"tiny\",\"owned_by\":\"{owner}\"}}]}}");
            whole("200 OK", &list)
        }
        _ => whole("404 Not Found", ""),
    });
    url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap()
}

#[test]
fn local_servers_are_returned_in_the_given_port_order_and_ports_without_http_are_skipped() {
    let (first, second) = (listing("library"), listing("somebody"));
    // One port accepts connections and closes them; on another port, no program listens.
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let closes = closing.local_addr().unwrap().port();
    std::thread::spawn(move || closing.incoming().map_while(Result::ok).for_each(drop));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let found = find_local(&[nobody, second, closes, first], Duration::from_secs(600));
    let ports: Vec<u16> = found.iter().map(|(url, _)| url.port).collect();
    assert_eq!(ports, [second, first]);
    assert!(found.iter().all(|(_, found)| found.models == ["tiny"]));
}

#[test]
fn a_port_that_never_answers_does_not_block_the_search() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    // Without a time limit, the search would not end: the port accepts connections and sends nothing.
    assert!(find_local(&[port; 6], Duration::from_millis(20)).is_empty());
}

#[test]
fn the_usual_ports_include_the_default_ports_of_common_engines() {
    for port in [8000, 8080, 11434, 1234, 30000, 3000] {
        assert!(USUAL_PORTS.contains(&port), "{port}");
    }
}
