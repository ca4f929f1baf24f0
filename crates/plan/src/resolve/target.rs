//! Resolves the server under test from a spec.

use std::{collections::BTreeMap, time::Duration};

use inferometer_model::{Url, did_you_mean, visible::is_escaped};

use crate::spec::{Known, Mistakes, OF_EMBEDDED, OF_TLS, Spec, SpecError, values};
use crate::{LaunchPlan, SpreadPlan, TargetPlan, WorkloadPlan, spec::limits::MAX_NAME};

use super::spread::is_token;

impl Spec {
    /// Returns the additional headers as pairs of name and value.
    ///
    /// # Errors
    /// One error for each invalid header. The messages do not contain values, because a value may be a secret.
    pub fn headers(&self) -> Result<Vec<(String, String)>, Vec<SpecError>> {
        let mut mistakes = Mistakes::default();
        let mut headers = Vec::new();
        for (position, header) in self.header.iter().flatten().enumerate() {
            match header.split_once(':') {
                Some((name, value)) if is_header(name.trim(), value.trim()) => {
                    headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => mistakes.add(
                    "header",
                    format!(
                        "header {} cannot be added; write it as 'Name: \
                        value'. This program sets the headers that frame a request (Host, \
                        Content-Length, ...)",
                        position + 1
                    ),
                ),
            }
        }
        if mistakes.0.is_empty() { Ok(headers) } else { Err(mistakes.0) }
    }

    /// The longest time to wait until a running server is ready; `None`: no wait.
    ///
    /// # Errors
    /// If the value is not a duration, or if the plan starts the server, or if the target is the embedded engine.
    pub fn wait(&self) -> Result<Option<Duration>, SpecError> {
        let mistake = |problem: String| SpecError { key: "wait", problem };
        let Some(value) = &self.wait else { return Ok(None) };
        let span =
            values::span(value).map_err(|problem| mistake(format!("`{value}` {problem}")))?;
        match (&self.target, &self.server) {
            (_, Some(_)) => Err(mistake(
                "is for a running server; for a server that the plan starts, use ready_timeout in \
                    [server]"
                    .to_owned(),
            )),
            (None, None) => {
                Err(mistake("needs a target; the embedded engine is always ready".to_owned()))
            }
            (Some(_), None) => Ok(Some(span)),
        }
    }

    pub(super) fn target(
        &self,
        known: &Known<'_>,
        workload: &WorkloadPlan,
        mistakes: &mut Mistakes,
    ) -> TargetPlan {
        for name in self.extra_body.iter().flat_map(values::secret_fields) {
            mistakes.add("extra_body", values::secret_told(&name));
        }
        mistakes.0.extend(self.wait().err());
        let dialect = self.dialect.as_deref().filter(|&name| name != "auto");
        if let Some(name) = dialect.filter(|name| !known.dialects.contains(name)) {
            mistakes.add(
                "dialect",
                format!(
                    "`{name}` is not a dialect{}; there are auto, {}",
                    did_you_mean(name, known.dialects.iter().copied()),
                    known.dialects.join(", ")
                ),
            );
        }
        let url = match (&self.target, &self.server) {
            (None, None) => return self.embedded(known, mistakes),
            (Some(_), Some(_)) => {
                mistakes.add("server", "starts the target; leave out `server` or `target`");
                Url::plain("", 0)
            }
            (Some(_), None) => {
                let mut urls = self.urls(mistakes).into_iter();
                let first = urls.next().unwrap_or_else(|| Url::plain("", 0));
                let spread = self.spread(&first, urls.collect(), workload, mistakes);
                return self.served(first, spread, dialect, mistakes);
            }
            // `launch` reports the mistakes in `server`.
            (None, Some(server)) => server.resolve().map_or_else(
                |_| Url::plain("", 0),
                |launch| Url::plain(launch.reached_at(), launch.port.unwrap_or(0)),
            ),
        };
        let spread = self.spread(&url, Vec::new(), workload, mistakes);
        self.served(url, spread, dialect, mistakes)
    }

    pub(super) fn launch(&self, mistakes: &mut Mistakes) -> Option<LaunchPlan> {
        match self.server.as_ref()?.resolve() {
            Ok(launch) => Some(launch),
            Err(problems) => {
                problems.into_iter().for_each(|problem| mistakes.add("server", problem));
                None
            }
        }
    }

    /// The target if it is a server other than the embedded engine.
    fn served(
        &self,
        url: Url,
        spread: SpreadPlan,
        dialect: Option<&str>,
        mistakes: &mut Mistakes,
    ) -> TargetPlan {
        for key in self.given(&OF_EMBEDDED) {
            mistakes.add(key, self.no_key_of_the_embedded_engine(key));
        }
        let is_path = |path: &String| {
            path.starts_with('/') && !path.contains(|c: char| c.is_control() || c == ' ')
        };
        if self.endpoint.as_ref().is_some_and(|path| !is_path(path)) {
            mistakes.add(
                "endpoint",
                "must be a path on the server: begin with / and contain no spaces",
            );
        }
        if let Some(name) = self.endpoint.as_deref().and_then(values::secret_parameter) {
            mistakes.add("endpoint", values::secret_told(name));
        }
        let is_name = |name: &String| {
            !name.trim().is_empty()
                && name.chars().count() <= MAX_NAME
                && !name.chars().any(is_escaped)
        };
        if self.server_card.as_ref().is_some_and(|name| !is_name(name)) {
            mistakes.add(
                "server_card",
                format!(
                    "must be the name of a card, such as h100-sxm, in at most {MAX_NAME} characters"
                ),
            );
        }
        let header_names = self.headers().map_or_else(
            |errors| {
                mistakes.0.extend(errors);
                Vec::new()
            },
            |headers| headers.into_iter().map(|(name, _)| name).collect(),
        );
        let insecure = self.insecure.unwrap_or(false);
        for key in self.given(&OF_TLS).into_iter().filter(|_| !url.secure) {
            mistakes.add(key, "needs a target with an https:// address");
        }
        if insecure && self.ca_cert.is_some() {
            mistakes.add("insecure", "contradicts ca_cert; give only one of the two");
        }
        if self.client_key.is_some() && self.client_cert.is_none() {
            mistakes.add("client_key", "needs a certificate; give client_cert too");
        }
        if self.proxy.is_some() && self.server.is_some() {
            mistakes.add(
                "proxy",
                "is for a running server; a server that the plan starts needs no proxy",
            );
        }
        TargetPlan::Server {
            url,
            insecure,
            dialect: dialect.map(str::to_owned),
            endpoint: self.endpoint.clone(),
            model: self.model.clone().filter(|name| name != "auto"),
            header_names,
            card: self.server_card.clone(),
            spread,
        }
    }

    /// Why a key of the embedded engine does not apply to a running server, or to a server that the plan starts.
    fn no_key_of_the_embedded_engine(&self, key: &str) -> String {
        let preset = self.server.as_ref().and_then(|server| server.preset.as_deref());
        match preset {
            // The preset of the embedded engine has the keys as arguments.
            Some("inferometer") => format!(
                "is not used for a server that the plan starts; write it among the arguments: \
                    `arguments = {{ {key} = ... }}` in the server"
            ),
            _ => "applies only to the embedded engine; leave it out".to_owned(),
        }
    }

    fn embedded(&self, known: &Known<'_>, mistakes: &mut Mistakes) -> TargetPlan {
        let [before, after] = [
            &["server_card", "endpoint", "header", "api_key_env"][..],
            &["proxy", "balance", "session_header", "session_cookie", "traceparent"],
        ];
        for key in self.given(&[before, &OF_TLS, after].concat()) {
            mistakes.add(key, "needs a target; the embedded engine does not use it");
        }
        let model = self.model.clone().unwrap_or_else(|| "chatglm3-6b".to_owned());
        let model = (known.model_of_hub_id)(&model).map_or(model, str::to_owned);
        let is_known = known.models.iter().any(|known| known.eq_ignore_ascii_case(&model));
        if !is_known && !model.ends_with(".json") {
            let mut models = known.models.to_vec();
            models.sort_unstable();
            mistakes.add(
                "model",
                format!(
                    "`{model}` is not a model of the embedded engine{}; there are {}, or give the \
                     path of a config.json",
                    did_you_mean(&model, known.models.iter().copied()),
                    models.join(", ")
                ),
            );
        }
        let speed = mistakes.read("speed", self.speed.as_ref(), values::positive).unwrap_or(1.0);
        let dialect = self.dialect.clone().filter(|name| name != "auto");
        let profile = self.profile.clone();
        let noise = self.noise.iter().map(|noise| ("noise".to_owned(), noise.clone()));
        let engine_flags: BTreeMap<_, _> = noise.collect();
        TargetPlan::Embedded {
            model,
            profile,
            dialect,
            speed,
            engine_flags,
            card_hash: None,
            file_hashes: BTreeMap::new(),
        }
    }
}

fn is_header(name: &str, value: &str) -> bool {
    let framing = ["content-length", "transfer-encoding", "connection", "host"];
    let closes = name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close");
    !name.is_empty()
        && (closes || !framing.iter().any(|known| name.eq_ignore_ascii_case(known)))
        && name.chars().all(is_token)
        && !value.chars().any(|c| c.is_control())
}
