//! The identification of a server before a run. Some servers are not ready yet, reject a field or a model, or have
//! metrics only later.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{Nobody, Running, folder, inferometer, measure, told};
use crate::tiny_server::{serve, whole};

const LISTED: &str = r#"{"object":"list","data":[{"id":"m","object":"model"}]}"#;

/// Starts a server and returns its address. For each request, `say` gets the path and the body, and returns the status
/// and the body of the answer. If `say` returns `None`, the server sends a completion with the requested number of
/// tokens.
fn server(say: impl Fn(&str, &str) -> Option<(u16, String)> + Send + Sync + 'static) -> String {
    serve(move |asked| match say(asked.path(), &asked.body) {
        Some((status, said)) => {
            whole(&format!("{status} Said\r\ncontent-type: application/json"), &said)
        }
        None => whole("200 OK\r\ncontent-type: text/event-stream", &stream_of(&asked.body)),
    })
}

/// The events of a completion.
fn stream_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let asked = body.get("max_tokens").or_else(|| body.get("max_completion_tokens"));
    let asked = asked.and_then(Value::as_u64).unwrap_or(1);
    let choice = |text: &str, why: Value| {
        json!({"choices": [{"index": 0, "text": text, "finish_reason": why}]}).to_string()
    };
    let mut events: Vec<String> = (0..asked).map(|_| choice(" w", Value::Null)).collect();
    events.push(choice("", json!("length")));
    let usage = json!({"prompt_tokens": 10, "completion_tokens": asked});
    events.push(json!({"choices": [], "usage": usage}).to_string());
    events.push("[DONE]".to_owned());
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The answers of a server that has a list of one model, completions, and nothing else.
fn plain(path: &str) -> Option<(u16, String)> {
    match path {
        "/v1/models" => Some((200, LISTED.to_owned())),
        "/v1/completions" => None,
        _ => Some((404, "{}".to_owned())),
    }
}

fn codes(summary: &Value) -> Vec<&str> {
    let findings = summary["findings"].as_array().expect("findings");
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn request_fields_that_the_server_rejects_by_name_are_changed_and_reported() {
    let error =
        |message: &str, param: Value| json!({"error": {"message": message, "param": param}});
    let loc = json!({"loc": ["body", "ignore_eos"], "msg": "Extra inputs are not permitted"});
    let unknown = "Unsupported parameter: FIELD";
    let cases: [(&[&str], u16, Value, &str); 7] = [
        (
            &["ignore_eos"],
            422,
            json!({"detail": "Unexpected fields in the request: {'ignore_eos'}"}),
            "422: Unexpected fields",
        ),
        (&["ignore_eos"], 422, json!({ "detail": [loc] }), "422: ignore_eos: Extra inputs"),
        (&["max_tokens"], 400, error(unknown, Value::Null), "sent with `max_completion_tokens`"),
        (&["stream_options"], 400, error("no", json!("stream_options")), "400: stream_options: no"),
        (&["temperature"], 500, error(unknown, Value::Null), "the server chooses the temperature"),
        (
            &["ignore_eos", "max_tokens", "temperature"],
            400,
            error(unknown, Value::Null),
            "rejects `temperature` (400: Unsupported",
        ),
        // The server quotes the request, and accepts it without one of its fields.
        (&["temperature"], 400, error("no: BODY", Value::Null), "the server chooses the temp"),
    ];
    for (fields, status, answer, told_words) in cases {
        let url = server(move |path, body| match plain(path) {
            None => {
                let is_in = |field: &&&str| body.contains(&format!("\"{field}\":"));
                let answer = |field: &&str| {
                    let quoted = body.replace('"', "'");
                    answer.to_string().replace("FIELD", field).replace("BODY", &quoted)
                };
                fields.iter().find(is_in).map(|field| (status, answer(field)))
            }
            said => said,
        });
        let (output, summary) = measure(&url, &[]);
        let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
        assert_eq!(output.status.code(), Some(0), "{fields:?}: {}", told(&output));
        assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6, "{fields:?}");
        let changed = codes(&summary).into_iter();
        let codes = ["ignore_eos_not_supported", "request_field_rejected"];
        let changed = changed.filter(|code| codes.contains(code)).count();
        assert_eq!(changed, fields.len(), "{fields:?}: {}", summary["findings"]);
        assert!(told(&output).contains(told_words), "{fields:?}: {}", told(&output));
    }
}

#[test]
fn a_redirection_of_requests_is_reported_with_the_address() {
    let url = serve(|asked| match plain(asked.path()) {
        None => whole("308 Permanent Redirect\r\nlocation: https://elsewhere.test/v2?key=1", ""),
        Some((status, said)) => whole(&format!("{status} Said"), &said),
    });
    let (output, summary) = measure(&url, &[]);
    let findings = summary.map(|summary| summary["findings"].to_string()).unwrap_or_default();
    let words = "redirects to https://elsewhere.test/v2;";
    assert!(findings.contains(words), "{findings} {}", told(&output));
}

#[test]
fn an_error_that_quotes_the_request_is_not_read_as_a_rejection_of_a_field() {
    let url = server(|path, body| match plain(path) {
        None => Some((400, json!({ "error": format!("cannot serve {body}") }).to_string())),
        said => said,
    });
    let (output, summary) = measure(&url, &[]);
    let blamed =
        summary.as_ref().is_some_and(|all| codes(all).contains(&"ignore_eos_not_supported"));
    assert!(!blamed, "{}", told(&output));
}

#[test]
fn a_server_without_a_model_list_is_measured_if_the_plan_names_model_and_dialect() {
    let url = server(|path, _| match path {
        "/v1/completions" => None,
        _ => Some((502, "{}".to_owned())),
    });
    let (output, summary) = measure(&url, &["--dialect", "openai-completions", "--model", "m"]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
}

#[test]
fn a_model_that_is_not_served_is_reported_with_the_served_models_before_measuring() {
    let refuses = |path: &str, body: &str| match plain(path) {
        None if !body.contains(r#""model":"m""#) => {
            Some((404, json!({"error": {"message": "The model does not exist."}}).to_string()))
        }
        said => said,
    };
    let (output, summary) = measure(&server(refuses), &["--model", "other"]);
    assert!(summary.is_none());
    assert_eq!(output.status.code(), Some(2));
    let said = told(&output);
    assert!(
        said.contains("the server lists m, not other, and rejects it: 404: The model"),
        "{said}"
    );
    assert!(!said.contains("measuring"), "a refused measurement is announced: {said}");
    // A busy server rejects requests for another reason, so the message does not name the model as the cause.
    let busy = |path: &str, _: &str| match plain(path) {
        None => Some((429, json!({"error": {"message": "Too many requests"}}).to_string())),
        said => said,
    };
    let (output, _) = measure(&server(busy), &["--model", "other"]);
    assert!(!told(&output).contains("and rejects it"), "{}", told(&output));
    // Some servers accept any model name.
    let (output, summary) = measure(&server(|path, _| plain(path)), &["--model", "other"]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert!(codes(&summary).contains(&"model_not_listed"));
}

#[test]
fn the_run_waits_for_a_loading_server_only_if_wait_is_given() {
    let loading = || Some((503, json!({"error": {"message": "Loading model"}}).to_string()));
    let never = server(move |_, _| loading());
    let (output, _) = measure(&never, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = told(&output);
    assert!(
        said.contains("503 at /v1/models (Loading model)") && said.contains("--wait"),
        "{said}"
    );
    let (output, _) = measure(&never, &["--wait", "50ms"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("(--wait): "), "{}", told(&output));
    assert!(told(&output).contains("Loading model"), "no last answer: {}", told(&output));

    let questions = AtomicU32::new(0);
    let later = server(move |path, _| {
        // The server is loading until the third request of the model list.
        let lists = path == "/v1/models";
        let asked = questions.fetch_add(u32::from(lists), Ordering::Relaxed) + u32::from(lists);
        if asked <= 2 { loading() } else { plain(path) }
    });
    let (output, summary) = measure(&later, &["--wait", "10m"]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    assert!(told(&output).contains("waiting for the server"), "{}", told(&output));
}

#[test]
fn an_interruption_ends_the_wait_for_the_server() {
    let (folder, nobody) = (folder(), Nobody::new());
    let mut run = Running::start(folder.path(), &["run", "--target", &nobody.url, "--wait", "10m"]);
    let mut errors = run.errors().map_while(Result::ok);
    let waits = errors.find(|line| line.contains("waiting for the server"));
    assert!(waits.is_some_and(|line| line.contains("Connection refused")));
    run.signal("-INT");
    // Read the remaining output, so that the process does not block on it.
    let _ = errors.count();
    assert_eq!(run.finish().status.code(), Some(130));
}

#[test]
fn wait_is_refused_without_a_target_and_with_a_launched_server() {
    let folder = folder();
    let plan = "[server]\ncommand = 'true'\n";
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    for (arguments, words) in [
        (&["run", "--wait", "1s"][..], "wait (--wait): needs a target"),
        (
            &["run", "--target", "http://a:1", "--wait", "soon"],
            "wait (--wait): `soon` is not a duration",
        ),
        (&["run", "plan.toml", "--wait", "1s"], "ready_timeout in [server]"),
    ] {
        let output = inferometer(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

#[test]
fn server_metrics_that_appear_only_after_the_first_request_are_read() {
    for flags in [&[][..], &["--metrics-url", "/metrics"]] {
        let answered = AtomicU32::new(0);
        let url = server(move |path, _| match path {
            "/metrics" if answered.load(Ordering::Relaxed) == 0 => Some((200, String::new())),
            "/metrics" => Some((200, "tgi_queue_size 0\ntgi_batch_current_size 1\n".to_owned())),
            _ => {
                let said = plain(path);
                answered.fetch_add(u32::from(said.is_none()), Ordering::Relaxed);
                said
            }
        });
        let (output, summary) = measure(&url, flags);
        let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
        let says = &summary["cells"][0]["passes"][0]["server"];
        assert_eq!(says["failed"], 0, "{flags:?}: {says}");
        assert_eq!(summary["target"]["facts"]["server_metrics"], format!("{url}/metrics"));
    }
}

#[test]
fn the_error_for_an_unusable_server_explains_the_answer_of_this_server() {
    for (status, body, words) in [
        (401, r#"{"error":"no key"}"#, "needs a valid API key"),
        (404, "{}", "check the address of the server"),
        (502, "<html>bad gateway</html>", "no valid answer from the server"),
        (200, "<html>hello</html>", "with a web page"),
    ] {
        let (output, summary) = measure(&server(move |_, _| Some((status, body.to_owned()))), &[]);
        assert!(summary.is_none());
        assert_eq!(output.status.code(), Some(1), "{status}");
        assert!(told(&output).contains(words), "{status}: {}", told(&output));
    }
}
