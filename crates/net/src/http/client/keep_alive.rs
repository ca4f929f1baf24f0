//! A client that keeps its connections between requests, for many small requests from several threads.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::{Client, ClientResponse, Reuse, error::ClientError, stream::Stream};

/// A client with a pool of connections, one for each thread that sends at the same time. Secrets are not
/// removed from response bodies, because the bodies are used in computations and not shown. Also, the value
/// of a secret header may be an ordinary word in the text of a tokenizer.
pub struct KeepAliveClient {
    client: Client,
    idle: Mutex<Vec<Stream>>,
}

impl KeepAliveClient {
    /// Creates the pool, without connections.
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), idle: Mutex::default() }
    }

    /// The client without the pool.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Posts JSON to a path. A response with any status is returned. The request must not change anything on
    /// the server: if it fails on a pooled connection, the client sends it again on a new connection.
    ///
    /// # Errors
    /// When no complete response of the server arrives, or when the response is not HTTP or too large.
    pub fn post(&self, path: &str, body: &Value) -> Result<ClientResponse, ClientError> {
        let body = body.to_string();
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let send = |mut stream: Stream| {
            let sent = self.client.send(&mut stream, Reuse::Keep, "POST", path, Some(&body));
            sent.map(|(response, reusable)| {
                if reusable {
                    idle().push(stream);
                }
                response
            })
        };
        let pooled = idle().pop();
        match pooled.map(&send) {
            Some(Ok(response)) => Ok(response),
            None | Some(Err(_)) => send(Stream::connect(&self.client)?),
        }
    }
}
