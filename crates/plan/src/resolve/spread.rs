//! Resolves the options for several equal servers that share one load.

use crate::spec::{Mistakes, Spec};
use crate::{Balance, SpreadPlan, WorkloadPlan, spec::limits::MAX_SERVERS};
use inferometer_model::url::{parse_url, shown_address};
use inferometer_model::{Url, trace_context::TRACEPARENT};

impl Spec {
    /// The number of servers that the spec names in `target`.
    pub(super) fn servers(&self) -> u32 {
        self.target.as_ref().map_or(0, |target| target.all().len() as u32)
    }

    /// The addresses of the servers that are measured together.
    pub(super) fn urls(&self, mistakes: &mut Mistakes) -> Vec<Url> {
        let given = self.target.iter().flat_map(|target| target.all());
        let mut urls: Vec<Url> = Vec::new();
        for address in given {
            match parse_url(address) {
                Err(problem) => {
                    mistakes.add("target", format!("`{}` {problem}", shown_address(address)));
                }
                Ok(url) if urls.contains(&url) => mistakes.add(
                    "target",
                    format!("{url} is given twice; each server needs a different address"),
                ),
                Ok(url) => urls.push(url),
            }
        }
        if self.target.as_ref().is_some_and(|target| target.all().is_empty()) {
            mistakes.add("target", "names no server; leave it out, or give an address");
        }
        if urls.len() > MAX_SERVERS {
            mistakes.add("target", format!("names more than {MAX_SERVERS} servers, the maximum"));
        }
        if urls.iter().any(|url| url.secure != urls[0].secure) {
            mistakes.add(
                "target",
                "some addresses begin with http:// and some with https://; servers that share one load \
                 must use the same protocol",
            );
        }
        urls
    }

    /// How requests are spread over `first` and the other servers.
    pub(super) fn spread(
        &self,
        first: &Url,
        others: Vec<Url>,
        workload: &WorkloadPlan,
        mistakes: &mut Mistakes,
    ) -> SpreadPlan {
        let known = Balance::ALL.map(Balance::name);
        let balance = self.balance.as_deref().map(|name| {
            Balance::named(name).unwrap_or_else(|| {
                let all = known.join(", ");
                mistakes.add(
                    "balance",
                    format!("`{name}` is not a balancing method; use one of {all}"),
                );
                Balance::default()
            })
        });
        // A host name may have several IP addresses. It may then refer to several servers.
        let is_one = others.is_empty() && (first.unix.is_some() || is_address(&first.host));
        if balance.is_some() && is_one {
            mistakes.add(
                "balance",
                "spreads requests over several servers, but only one is given; give another --target",
            );
        }
        let has_sessions = has_sessions(workload);
        let mut without = |key: &'static str, given: bool| {
            if given && !has_sessions {
                let name = workload.name();
                mistakes.add(
                    key,
                    format!(
                        "the workload {name} has no sessions; the workloads conversation, prefix and \
                         trace have sessions"
                    ),
                );
            }
        };
        without("balance", balance == Some(Balance::Session));
        without("session_header", self.session_header.is_some());
        without("session_cookie", self.session_cookie.is_some());
        let is_name = |name: &str| !name.is_empty() && name.chars().all(is_token);
        if self.session_cookie.as_deref().is_some_and(|name| !is_name(name)) {
            mistakes.add("session_cookie", "is not the name of a cookie");
        }
        let given = self.headers().unwrap_or_default();
        let has_own = given.iter().any(|(name, _)| name.eq_ignore_ascii_case(TRACEPARENT));
        if self.traceparent == Some(true) && has_own {
            mistakes.add("traceparent", "is also given as a header; leave out one of them");
        }
        if let Some(name) = self.session_header.as_deref() {
            let framing = ["content-length", "transfer-encoding", "connection", "host", "cookie"];
            let is_taken = |other: &str| other.eq_ignore_ascii_case(name);
            let taken = framing.into_iter().chain(["content-type", "authorization"]);
            if !is_name(name) {
                mistakes.add("session_header", "is not the name of a header, such as X-Session-Id");
            } else if taken.chain(given.iter().map(|(name, _)| name.as_str())).any(is_taken) {
                mistakes.add(
                    "session_header",
                    format!(
                        "{name} already has another meaning; give a header for sessions only, such \
                         as X-Session-Id"
                    ),
                );
            }
        }
        SpreadPlan {
            others,
            balance: balance.unwrap_or_default(),
            session_header: self.session_header.clone(),
            session_cookie: self.session_cookie.clone(),
            traceparent: self.traceparent.unwrap_or(false),
        }
    }
}

/// Whether the requests of a workload form sessions.
fn has_sessions(workload: &WorkloadPlan) -> bool {
    matches!(workload, WorkloadPlan::Prefix(_) | WorkloadPlan::Trace(_)) || workload.has_jobs()
}

fn is_address(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok()
}

/// The characters that are valid in names of headers and cookies.
pub(super) fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::Plan;
    use crate::parts::{Balance, SpreadPlan, TargetPlan, Warmup};
    use crate::spec::{Known, Spec};

    fn resolved(keys: Value) -> Result<Plan, String> {
        let mut all = json!({ "concurrency": [2], "model": "m" });
        all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        let spec: Spec = serde_json::from_value(all).unwrap();
        spec.resolve(&Known { dialects: &[], models: &[], model_of_hub_id: |_| None }).map_err(
            |mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        )
    }

    fn spread(plan: &Plan) -> &SpreadPlan {
        let TargetPlan::Server { spread, .. } = &plan.target else { panic!("a server") };
        spread
    }

    #[test]
    fn several_addresses_are_one_target_and_a_list_of_one_address_hashes_like_the_address() {
        let plan = resolved(json!({ "target": ["http://a:1", "http://b:1/v1"] })).unwrap();
        let urls: Vec<String> = plan.target.urls().map(ToString::to_string).collect();
        assert_eq!(urls, ["http://a:1", "http://b:1"]);
        assert_eq!(
            (spread(&plan).balance, plan.warmup),
            (Balance::RoundRobin, Warmup::Requests(2))
        );
        let one = resolved(json!({ "target": "http://a:1" })).unwrap();
        let listed = resolved(json!({ "target": ["http://a:1"] })).unwrap();
        assert_eq!(one.hash(), listed.hash());
        assert!(!serde_json::to_string(&one).unwrap().contains("spread"));
    }

    #[test]
    fn settings_that_do_not_fit_several_servers_are_refused_with_their_key() {
        let two = json!(["http://a:1", "http://b:1"]);
        for (keys, expected) in [
            (json!({ "target": ["http://a:1", "http://a:1/v1"] }), "http://a:1 is given twice"),
            (
                json!({ "target": ["http://a:1", "nowhere"] }),
                "`nowhere` is not the address of a server",
            ),
            (
                json!({ "target": ["http://a:1", "https://b:1"] }),
                "some addresses begin with http:// and some with https://",
            ),
            (json!({ "target": [] }), "names no server"),
            (
                json!({ "target": two, "balance": "fair" }),
                "use one of round-robin, least-in-flight, session",
            ),
            (
                json!({ "target": "http://127.0.0.1:1", "balance": "round-robin" }),
                "only one is given",
            ),
            (json!({ "target": two, "balance": "session" }), "the workload random has no sessions"),
            (
                json!({ "target": two, "session_cookie": "sid" }),
                "session_cookie (--session-cookie): the workload random",
            ),
            (
                json!({ "target": two, "workload": "prefix", "session_header": "a b" }),
                "is not the name of a header",
            ),
            (
                json!({ "target": two, "workload": "prefix", "session_header": "Authorization" }),
                "another meaning",
            ),
            (
                json!({ "target": two, "workload": "prefix", "session_cookie": "a;b" }),
                "is not the name of a cookie",
            ),
            (json!({ "balance": "round-robin" }), "balance (--balance): needs a target"),
            (json!({ "traceparent": true }), "traceparent (--traceparent): needs a target"),
            (
                json!({ "target": two, "traceparent": true, "header": ["Traceparent: 00-1"] }),
                "traceparent (--traceparent): is also given as a header",
            ),
        ] {
            let told = resolved(keys.clone()).unwrap_err();
            assert!(told.contains(expected), "{keys}: {told}");
        }
    }

    #[test]
    fn one_address_may_use_session_balance_if_the_workload_has_sessions() {
        let keys = json!({
            "target": "http://pool:1", "workload": "prefix", "prefix_length": 4, "balance": "session", "session_header": "X-Session-Id",
        });
        let plan = resolved(keys).unwrap();
        assert_eq!(spread(&plan).balance, Balance::Session);
        assert_eq!(spread(&plan).session_header.as_deref(), Some("X-Session-Id"));
    }
}
