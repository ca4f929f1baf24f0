//! One scrape of a server's metrics, without retries.

use inferometer_model::sample::ServerSample;
use inferometer_net::http::client::Client;

use crate::observe::error::ObserveError;
use crate::observe::names::{Histograms, MetricNames};

/// The address of a server's metrics, and the names of metrics to look for.
#[derive(Clone)]
pub struct Scrape {
    server: Client,
    path: String,
    names: MetricNames,
}

impl Scrape {
    /// The metrics at a path of a server.
    pub fn new(server: Client, path: impl Into<String>, names: MetricNames) -> Self {
        // The deadline of the whole request equals the timeout of one step, because a slow server must not delay a
        // pass.
        let server = Client { deadline: server.timeout, ..server };
        Self { server, path: path.into(), names }
    }

    /// The address of the metrics, such as `http://127.0.0.1:8000/metrics`.
    pub fn address(&self) -> String {
        format!("{}{}", self.server.url, self.path)
    }

    /// Requests the metrics and returns the whole text.
    ///
    /// # Errors
    /// When there is no text; the error states the reason.
    pub(crate) fn text(&self) -> Result<String, ObserveError> {
        let answer = self.server.get(&self.path)?;
        if answer.status != 200 {
            let (address, status) = (self.address(), answer.status);
            return Err(ObserveError::Status { address, status });
        }
        String::from_utf8(answer.body).map_err(|_| ObserveError::NoText(self.address()))
    }

    /// Scrapes once, to check that there are known metrics, and that all metrics of the user exist.
    ///
    /// # Errors
    /// If there is no text, or if the text contains no known metric, or lacks metrics of the user.
    pub fn check(&self) -> Result<(), ObserveError> {
        let text = self.text()?;
        match self.names.unknown_to(&text).as_slice() {
            [] => self.parse(&text, Histograms::Read).map(drop),
            missing => Err(ObserveError::UnknownNames {
                address: self.address(),
                names: missing.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// Scrapes the server once.
    ///
    /// # Errors
    /// When there is no text, or the text contains no known metric; the error states the reason.
    pub(crate) fn sample(&self, histograms: Histograms) -> Result<ServerSample, ObserveError> {
        self.parse(&self.text()?, histograms)
    }

    fn parse(&self, text: &str, histograms: Histograms) -> Result<ServerSample, ObserveError> {
        let sample = self.names.read(text, histograms);
        if sample.values.is_empty() && sample.histograms.is_empty() {
            return Err(ObserveError::NoKnownMetric(self.address()));
        }
        Ok(sample)
    }
}
