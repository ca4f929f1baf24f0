//! One scrape of a server's metrics, without retries.

use inferometer_http::client::Client;
use inferometer_model::sample::ServerSample;

use crate::names::{Histograms, MetricNames};

/// Why there are no usable metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingMetrics {
    /// The server did not answer with status 200 and a UTF-8 text.
    NoAnswer(String),
    /// The text does not contain the expected metrics. A server may add them with its first request.
    NotYet(String),
}

impl MissingMetrics {
    /// The reason, as text.
    pub fn why(self) -> String {
        match self {
            Self::NoAnswer(why) | Self::NotYet(why) => why,
        }
    }
}

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
    pub(crate) fn text(&self) -> Result<String, String> {
        let answer = self.server.get(&self.path).map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{} answered {}", self.address(), answer.status));
        }
        String::from_utf8(answer.body)
            .map_err(|_| format!("{}: the answer is not UTF-8 text", self.address()))
    }

    /// Scrapes once, to check that there are known metrics, and that all metrics of the user exist.
    ///
    /// # Errors
    /// [`MissingMetrics::NoAnswer`] if there is no text; [`MissingMetrics::NotYet`] if the text contains no
    /// known metric, or lacks metrics of the user.
    pub fn check(&self) -> Result<(), MissingMetrics> {
        let text = self.text().map_err(MissingMetrics::NoAnswer)?;
        let read = match self.names.unknown_to(&text).as_slice() {
            [] => self.parse(&text, Histograms::Read).map(drop),
            missing => Err(format!(
                "{}: metrics_names: there is no metric `{}`",
                self.address(),
                missing.join("`, `")
            )),
        };
        read.map_err(MissingMetrics::NotYet)
    }

    /// Scrapes the server once.
    ///
    /// # Errors
    /// When there is no text, or the text contains no known metric; the error states the reason.
    pub(crate) fn sample(&self, histograms: Histograms) -> Result<ServerSample, String> {
        self.parse(&self.text()?, histograms)
    }

    fn parse(&self, text: &str, histograms: Histograms) -> Result<ServerSample, String> {
        let sample = self.names.read(text, histograms);
        if sample.values.is_empty() && sample.histograms.is_empty() {
            return Err(format!("{}: contains no known metric", self.address()));
        }
        Ok(sample)
    }
}
