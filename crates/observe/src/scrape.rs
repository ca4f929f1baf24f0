//! One question for a server's metrics. Never more than one at a time, never again at once.

use inferometer_http::client::Client;
use inferometer_model::sample::ServerSample;

use crate::names::{Histograms, Names};

/// Where a server's metrics are, and what they mean.
#[derive(Clone)]
pub struct Scrape {
    server: Client,
    path: String,
    names: Names,
}

impl Scrape {
    /// Metrics at a path of a server.
    #[must_use]
    pub fn new(server: Client, path: impl Into<String>, names: Names) -> Self {
        // A server that trickles its answer must not hold up a pass.
        let server = Client { deadline: Some(server.timeout), ..server };
        Self { server, path: path.into(), names }
    }

    /// `http://127.0.0.1:8000/metrics`
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}{}", self.server.url, self.path)
    }

    /// The whole text.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(crate) fn text(&self) -> Result<String, String> {
        let answer = self.server.get(&self.path).map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{} answered {}", self.address(), answer.status));
        }
        String::from_utf8(answer.body).map_err(|_| format!("{}: no text came", self.address()))
    }

    /// Asks once, to know whether there is something, and all that the user has a name for.
    ///
    /// # Errors
    /// Why nothing is said that is understood, or what is missing, in words.
    pub fn check(&self) -> Result<(), String> {
        let text = self.text()?;
        match self.names.unknown_to(&text).as_slice() {
            [] => self.understood(&text, Histograms::Read).map(drop),
            missing => Err(format!(
                "{}: metrics_names: there is no metric `{}`",
                self.address(),
                missing.join("`, `")
            )),
        }
    }

    /// What the server says.
    ///
    /// # Errors
    /// Why it says nothing that is understood, in words.
    pub(crate) fn sample(&self, histograms: Histograms) -> Result<ServerSample, String> {
        self.understood(&self.text()?, histograms)
    }

    fn understood(&self, text: &str, histograms: Histograms) -> Result<ServerSample, String> {
        let sample = self.names.read(text, histograms);
        if sample.values.is_empty() && sample.histograms.is_empty() {
            return Err(format!("{}: holds no metric that is known", self.address()));
        }
        Ok(sample)
    }
}
