//! One question for a server's metrics. Never more than one at a time, never again at once.

use inferometer_core::observed::ServerSample;
use inferometer_drive::control::Server;

use crate::names::{Histograms, Names};

/// Where a server's metrics are, and what they mean.
#[derive(Clone)]
pub struct Scrape {
    server: Server,
    path: String,
    names: Names,
}

impl Scrape {
    /// Metrics at a path of a server.
    #[must_use]
    pub fn new(server: Server, path: impl Into<String>, names: Names) -> Self {
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

    /// Asks once, to know whether there is something.
    ///
    /// # Errors
    /// Why nothing is said that is understood, in words.
    pub fn check(&self) -> Result<(), String> {
        self.sample(Histograms::Read).map(drop)
    }

    /// What the server says.
    ///
    /// # Errors
    /// Why it says nothing that is understood, in words.
    pub(crate) fn sample(&self, histograms: Histograms) -> Result<ServerSample, String> {
        let sample = self.names.read(&self.text()?, histograms);
        if sample.values.is_empty() && sample.histograms.is_empty() {
            return Err(format!("{}: holds no metric that is known", self.address()));
        }
        Ok(sample)
    }
}
