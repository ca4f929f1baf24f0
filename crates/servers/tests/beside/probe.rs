//! The identification of servers, over real sockets. The answers are those of real servers, reduced to the
//! parts that are used.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use inferometer_model::url::Url;
use inferometer_net::http::client::{Client, ClientError, ServerAccess};
use inferometer_servers::probe::{ServerInfo, probe, probe_if_ready};

use crate::support::server;

/// Paths with their answers.
type Answers = &'static [(&'static str, &'static str)];

const NOT_FOUND: &str =
    "404 Not Found\r\ncontent-type: application/json\r\n\r\n{\"detail\":\"Not Found\"}";

/// Starts a server with these answers, each `STATUS\r\nfields\r\n\r\nbody`. It answers other paths with
/// `otherwise`.
fn serve(answers: Answers, otherwise: &'static str) -> Client {
    server(move |path, _| {
        let found = answers.iter().find(|(known, _)| *known == path);
        found.map_or(otherwise, |(_, said)| *said).to_owned()
    })
}

fn found(answers: Answers) -> ServerInfo {
    probe(&serve(answers, NOT_FOUND)).unwrap()
}

#[test]
fn each_engine_is_recognised_by_its_responses() {
    let cases: [(Answers, &str, Option<&str>, Option<&str>); 10] = [
        (
            &[(
                "/v1/models",
                "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"tensorrt_llm\"}]}",
            )],
            "tensorrt-llm",
            None,
            Some("openai-completions"),
        ),
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\"}]}"),
                ("/get_model_info", "200 OK\r\n\r\n{\"model_path\":\"m\",\"is_generation\":true}"),
                (
                    "/server_info",
                    "200 OK\r\n\r\n{\"version\":\"0.5.23\",\"max_running_requests\":1}",
                ),
            ],
            "sglang",
            Some("0.5.23"),
            Some("openai-completions"),
        ),
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\"}]}"),
                ("/get_model_info", "200 OK\r\n\r\n{\"model_path\":\"m\"}"),
                ("/get_server_info", "200 OK\r\n\r\n{\"version\":\"0.4.1\"}"),
            ],
            "sglang",
            Some("0.4.1"),
            Some("openai-completions"),
        ),
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"\"}]}"),
                ("/version", "200 OK\r\n\r\n{\"version\":\"26.4\"}"),
                (
                    "/openapi.json",
                    "200 OK\r\n\r\n{\"info\":{\"title\":\"MAX Serve\",\"version\":\"0.1.0\"}}",
                ),
            ],
            "max",
            Some("26.4"),
            Some("openai-completions"),
        ),
        (
            &[
                (
                    "/v1/models",
                    "200 OK\r\nserver: BaseHTTP/0.6 Python/3.12.3\r\n\r\n{\"data\":[{\"id\":\"m\"}]}",
                ),
                (
                    "/version",
                    "404 Not Found\r\nserver: BaseHTTP/0.6 Python/3.12.3\r\ncontent-type: \
                     application/json\r\n\r\nNot Found",
                ),
            ],
            "mlx_lm",
            None,
            Some("openai-completions"),
        ),
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"me\"}]}"),
                (
                    "/openapi.json",
                    "200 OK\r\n\r\n{\"info\":{\"title\":\"🦙 llama.cpp Python API\",\"version\":\"0.3.16\"}}",
                ),
            ],
            "llama-cpp-python",
            Some("0.3.16"),
            Some("openai-completions"),
        ),
        (
            &[(
                "/v1/models",
                "200 OK\r\nx-litellm-version: 1.93.0\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"openai\"}]}",
            )],
            "litellm",
            Some("1.93.0"),
            Some("openai-completions"),
        ),
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"nvidia\"}]}"),
                ("/health", "200 OK\r\n\r\n{\"status\":\"healthy\",\"instances\":[]}"),
            ],
            "dynamo",
            None,
            Some("openai-completions"),
        ),
        (
            &[
                ("/v2", "200 OK\r\n\r\n{\"name\":\"triton\",\"version\":\"2.60.0\"}"),
                (
                    "/v2/repository/index",
                    "200 OK\r\n\r\n[{\"name\":\"m\",\"state\":\"READY\"},{\"name\":\"n\",\"state\":\"UNAVAILABLE\"}]",
                ),
            ],
            "triton",
            Some("2.60.0"),
            Some("triton"),
        ),
        (
            &[("/info", "200 OK\r\n\r\n{\"model_id\":\"m\",\"version\":\"3.3.6\"}")],
            "tgi",
            Some("3.3.6"),
            Some("tgi"),
        ),
    ];
    for (answers, engine, version, dialect) in cases {
        let found = found(answers);
        assert_eq!(found.engine, Some(engine));
        assert_eq!((found.version.as_deref(), found.dialect), (version, dialect), "{engine}");
        assert_eq!((found.models, found.serves_only), (vec!["m".to_owned()], None), "{engine}");
    }
}

#[test]
fn a_server_that_does_not_generate_text_is_reported_with_what_it_serves() {
    let cases: [(Answers, &str, &str); 5] = [
        (
            &[
                ("/v1/models", "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}"),
                ("/v1/embeddings", "405 Method Not Allowed\r\n\r\n{}"),
            ],
            "vllm",
            "embeddings",
        ),
        (
            &[(
                "/info",
                "200 OK\r\n\r\n{\"model_id\":\"m\",\"model_type\":{\"embedding\":{\"pooling\":\"cls\"}}}",
            )],
            "text-embeddings-inference",
            "embeddings",
        ),
        (
            &[("/info", "200 OK\r\n\r\n{\"model_id\":\"m\",\"model_type\":{\"reranker\":{}}}")],
            "text-embeddings-inference",
            "scores of a reranker",
        ),
        (
            &[(
                "/v1/models",
                "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"infinity\"}]}",
            )],
            "infinity",
            "embeddings",
        ),
        (
            &[("/get_model_info", "200 OK\r\n\r\n{\"model_path\":\"m\",\"is_generation\":false}")],
            "sglang",
            "embeddings or scores",
        ),
    ];
    for (answers, engine, serves) in cases {
        let found = found(answers);
        assert_eq!((found.engine, found.serves_only), (Some(engine), Some(serves)));
    }
}

#[test]
fn an_unexpected_response_to_the_model_list_request_is_explained() {
    for (said, words) in [
        (
            "401 Unauthorized\r\n\r\n{\"error\":\"no key\"}",
            "answers 401 at /v1/models (no key): the server needs a valid API key",
        ),
        ("403 Forbidden\r\n\r\n{}", "access is denied"),
        (
            "302 Found\r\nlocation: https://other.lan/llm/v1/models\r\n\r\n",
            "give --target https://other.lan/llm",
        ),
        (
            "308 Permanent Redirect\r\nlocation: https://other.lan/v1/models/?a=<\r\n\r\n",
            "points to https://other.lan/v1/models/: give --target https://other.lan",
        ),
        (
            "302 Found\r\nlocation: /login?token=<abc\r\n\r\n",
            "points to /login: the path does not exist, or it needs an API key",
        ),
        ("404 Not Found\r\n\r\n{}", "any path before /v1"),
        (
            "502 Bad Gateway\r\ncontent-type: text/html\r\n\r\n<html>x",
            "no valid answer from the server",
        ),
        ("200 OK\r\ncontent-type: text/html\r\n\r\n<!DOCTYPE html><p>hello", "with a web page"),
        (
            "503 Service Unavailable\r\n\r\n{\"error\":{\"message\":\"Loading model\"}}",
            "(Loading model): the server",
        ),
        ("500 Oh\r\n\r\n{\"error\":\"broken\"}", "answers 500 at /v1/models (broken)"),
    ] {
        let found = probe(&serve(&[], said)).unwrap();
        let told = found.unexpected.expect("no list came").in_words();
        assert!(told.contains(words), "{told}");
        assert!(!told.contains('<'), "no page is printed: {told}");
        assert_eq!(found.dialect, None);
    }
}

#[test]
fn a_server_that_is_loading_its_model_is_distinguished_from_a_ready_server() {
    const LOADING: &str =
        "503 Service Unavailable\r\n\r\n{\"error\":{\"message\":\"Loading model\"}}";
    const LIST: &str = "200 OK\r\n\r\n{\"data\":[{\"id\":\"m\",\"owned_by\":\"llamacpp\"}]}";
    const WELL: &str = "200 OK\r\n\r\n{}";
    let cases: [(Answers, bool); 4] = [
        (&[("/v1/models", LOADING), ("/health", LOADING)], true),
        // llama.cpp lists its model already while the model is loading.
        (&[("/v1/models", LIST), ("/props", LOADING), ("/health", LOADING)], true),
        (&[("/v1/models", LIST), ("/props", LOADING), ("/health", WELL)], false),
        // A gateway that sends this answer for every unknown path.
        (&[("/v1/models", LIST), ("/props", "503 No\r\n\r\nno backend")], false),
    ];
    for (answers, loads) in cases {
        assert_eq!(found(answers).loading.is_some(), loads, "{answers:?}");
        let waited_for = probe_if_ready(&serve(answers, NOT_FOUND)).unwrap();
        assert_eq!(waited_for.loading.is_some(), loads, "{answers:?}");
    }
}

/// A server that always sends the same bytes.
fn parrot(said: &'static [u8]) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::plain("127.0.0.1", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(said).and_then(|()| stream.read(&mut [0; 4096]));
        }
    });
    url
}

#[test]
fn a_server_with_another_protocol_is_reported_with_advice() {
    let reach = |url: &Url| {
        Client::reach(url, Vec::new(), Duration::from_secs(600), &ServerAccess::default())
    };
    for (said, words) in [
        (&b"\x15\x03\x03\x00\x02\x02\x46"[..], "uses TLS at this address; give https://127.0.0.1:"),
        (b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64", "uses HTTP/2 at this address; only HTTP/1.1"),
    ] {
        let error = probe(&reach(&parrot(said)).unwrap()).unwrap_err();
        assert!(matches!(error, ClientError::OtherProtocol { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // A server without TLS whose address begins with `https://`.
    let plain = parrot(b"HTTP/1.1 400 Bad Request\r\n\r\nInvalid HTTP request received.");
    let told = reach(&Url { secure: true, ..plain.clone() }).err().unwrap().to_string();
    assert!(told.contains(&format!("does not use TLS at this address; give {plain}")), "{told}");
}
