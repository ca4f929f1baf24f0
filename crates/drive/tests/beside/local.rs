//! Finding the servers of this machine by their ports.

use std::net::TcpListener;
use std::time::Duration;

use inferometer_drive::probe::{USUAL_PORTS, find_local};

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
fn servers_are_found_in_the_order_of_the_ports_and_who_speaks_no_http_is_none() {
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
fn a_port_that_is_silent_holds_nobody_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    // Without a time limit this would not end: the port accepts connections and sends nothing.
    assert!(find_local(&[port; 6], Duration::from_millis(20)).is_empty());
}

#[test]
fn the_usual_ports_are_those_of_the_engines_that_people_run_at_home() {
    for port in [8000, 8080, 11434, 1234, 30000, 3000] {
        assert!(USUAL_PORTS.contains(&port), "{port}");
    }
}
