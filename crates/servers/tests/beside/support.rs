//! A client of a server whose answers a test provides.

use std::time::Duration;

use inferometer_model::url::Url;
use inferometer_net::http::client::{Client, ServerAccess};

use crate::tiny_server::{serve, whole};

/// A client of a server. `say` returns the answer to a path and a body: `STATUS\r\nfields\r\n\r\nbody`.
pub fn server(say: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Client {
    let url = serve(move |asked| {
        let said = say(asked.path(), &asked.body);
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        whole(head, body)
    });
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap();
    let url = Url::plain("127.0.0.1", port);
    Client::reach(&url, Vec::new(), Duration::from_secs(600), &ServerAccess::default()).unwrap()
}
