//! Servers that are reached through a proxy, over a Unix socket, or with a client certificate.

use std::process::{Command, Output};

use serde_json::Value;

use crate::proxy::{Proxy, gate};
use crate::support::{Engine, command, folder, measure, small_run, told};
use crate::tls;

/// `user:s3cretword` as the value of a proxy's authorization header.
const BASIC: &str = "Basic dXNlcjpzM2NyZXR3b3Jk";

/// A small measurement with these environment variables. Its folder exists until the returned value is dropped.
fn measure_with(
    url: &str,
    variables: &[(&str, &str)],
    more: &[&str],
) -> (Output, Option<Value>, tempfile::TempDir) {
    let folder = folder();
    let mut run: Command = command(folder.path());
    let output =
        run.args(small_run(url)).args(more).envs(variables.iter().copied()).output().unwrap();
    let summary = serde_json::from_slice(&output.stdout).ok();
    (output, summary, folder)
}

fn finding<'a>(summary: &'a Value, code: &str) -> Option<&'a str> {
    let findings = summary["findings"].as_array().unwrap();
    findings.iter().find(|found| found["code"] == code)?["message"].as_str()
}

/// Whether any file in a folder or its subfolders contains a text.
fn is_kept(folder: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => is_kept(&path, text),
        path => {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}

#[test]
fn a_server_is_measured_through_the_proxy_of_a_variable_and_a_finding_names_the_proxy() {
    let engine = Engine::start(&[]);
    let proxy = Proxy::start(Some(BASIC));
    let named = format!("http://user:s3cretword@{}", proxy.address);
    let (output, summary, folder) = measure_with(&engine.url, &[("HTTP_PROXY", &named)], &[]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    // All requests went through the proxy, with a complete URL.
    let heads = proxy.heads();
    let generations = heads.iter().filter(|head| head.starts_with("POST") && head.contains("/v1/"));
    assert!(generations.count() >= 6, "{heads:?}");
    assert!(heads.iter().all(|head| head.contains(&format!(" {}/", engine.url))), "{heads:?}");
    let shown = format!("http://{}", proxy.address);
    assert_eq!(summary["target"]["facts"]["proxy"], shown.as_str());
    let message = finding(&summary, "through_a_proxy").unwrap();
    assert!(message.contains(&shown) && message.contains("HTTP_PROXY"), "{message}");
    for secret in ["s3cretword", &BASIC[6..]] {
        assert!(!is_kept(folder.path(), secret), "{secret} is in a file");
        assert!(!told(&output).contains(secret) && !summary.to_string().contains(secret));
    }
}

#[test]
fn an_https_server_is_measured_through_a_tunnel_and_the_proxy_sees_no_key() {
    let engine = Engine::start(&[]);
    let url = tls::gate(&engine.url);
    let authority = format!("{}authority.pem", tls::FIXTURES);
    let proxy = Proxy::start(Some(BASIC));
    let named = format!("http://user:s3cretword@{}", proxy.address);
    let flags = ["--ca-cert", &authority, "--header", "x-api-key: of-the-server-only"];
    let (output, summary, _folder) = measure_with(&url, &[("https_proxy", &named)], &flags);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    let heads = proxy.heads();
    let asked = format!("CONNECT {} HTTP/1.1", url.trim_start_matches("https://"));
    assert!(heads.len() > 6 && heads.iter().all(|head| head.starts_with(&asked)), "{heads:?}");
    assert!(!heads.concat().contains("of-the-server-only"));
    assert!(finding(&summary, "through_a_proxy").unwrap().contains("tunnel"));
}

#[test]
fn no_proxy_and_the_proxy_flag_disable_a_proxy_and_the_flag_can_name_another() {
    let engine = Engine::start(&[]);
    let host = engine.url.trim_start_matches("http://");
    // If REQUEST_METHOD is set, this program counts as a CGI program, and ignores HTTP_PROXY.
    for (variables, flags) in [
        (&[("ALL_PROXY", "http://127.0.0.1:9"), ("NO_PROXY", host)][..], &[][..]),
        (&[("HTTP_PROXY", "http://127.0.0.1:9")], &["--proxy", "none"]),
        (&[("HTTP_PROXY", "http://127.0.0.1:9"), ("REQUEST_METHOD", "GET")], &[]),
    ] {
        let (output, summary, _folder) = measure_with(&engine.url, variables, flags);
        let summary = summary.unwrap_or_else(|| panic!("{variables:?}: {}", told(&output)));
        assert_eq!(finding(&summary, "through_a_proxy"), None);
        assert_eq!(summary["target"]["facts"].get("proxy"), None);
    }
    let proxy = Proxy::start(None);
    let flags = ["--proxy", &proxy.address];
    let (output, summary, _folder) = measure_with(&engine.url, &[("NO_PROXY", "*")], &flags);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert!(finding(&summary, "through_a_proxy").unwrap().contains("--proxy"));
    // The embedded engine is reached without a proxy.
    let folder = folder();
    let output = command(folder.path())
        .args(["run", "--input-lengths", "8", "--output-lengths", "4", "--requests", "2"])
        .args(["--passes", "saturated", "--speed", "100"])
        .env("ALL_PROXY", "http://127.0.0.1:9")
        .output();
    assert_eq!(output.unwrap().status.code(), Some(0));
}

#[test]
fn an_unusable_proxy_is_reported_with_the_reason_and_without_its_password() {
    let engine = Engine::start(&[]);
    let proxy = Proxy::start(Some(BASIC));
    let without = format!("http://{}", proxy.address);
    let wrong = format!("http://user:other-s3cret@{}", proxy.address);
    let secure = engine.url.replace("http://", "https://");
    for (url, name, value, flags, code, words) in [
        (
            &engine.url,
            "HTTP_PROXY",
            &*without,
            &[][..],
            1,
            "answered 407; it requires a user name and a password",
        ),
        (
            &engine.url,
            "HTTP_PROXY",
            &wrong,
            &[],
            1,
            "it rejects the user name and password in HTTP_PROXY",
        ),
        (&secure, "HTTPS_PROXY", &without, &[], 1, "answered 407 to CONNECT"),
        (&engine.url, "HTTP_PROXY", "socks5://u:other-s3cret@h:1", &[], 2, "SOCKS"),
        (
            &engine.url,
            "HTTP_PROXY",
            "http://u:other-s3cret@h:x",
            &[],
            2,
            "not the address of a proxy",
        ),
        (&engine.url, "HTTP_PROXY", "http://127.0.0.1:9", &[], 1, "cannot connect to the proxy"),
        (
            &engine.url,
            "X",
            "x",
            &["--proxy", "http://u:other-s3cret@h:1"],
            2,
            "which other users can see",
        ),
        (&engine.url, "X", "x", &["--proxy", "https://h:1"], 2, "or `none`"),
    ] {
        let (output, summary, _folder) = measure_with(url, &[(name, value)], flags);
        let said = told(&output);
        assert_eq!((output.status.code(), summary), (Some(code), None), "{said}");
        assert!(said.contains(words) && !said.contains("other-s3cret"), "{said}");
    }
}

#[test]
fn a_server_on_a_unix_socket_is_measured_with_user_space_timestamps() {
    let engine = Engine::start(&[]);
    let at = folder();
    let path = at.path().join("engine.sock");
    gate(&path, &engine.url);
    for url in [
        format!("unix:{}", path.display()),
        format!("http+unix://{}", path.display().to_string().replace('/', "%2F")),
    ] {
        let (output, summary) = measure(&url, &[]);
        let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
        let pass = &summary["cells"][0]["passes"][0];
        assert_eq!(pass["outcomes"]["complete"], 6);
        assert_eq!(summary["target"]["url"], format!("unix:{}", path.display()).as_str());
        assert_eq!(pass["instrument"]["kernel_stamped_reads"], 0);
        assert_eq!(summary["environment"]["stamps"], "user");
    }
    let absent = format!("unix:{}", at.path().join("absent.sock").display());
    let (output, _) = measure(&absent, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains(&format!("{absent}: cannot connect")), "{}", told(&output));
}

#[test]
fn a_server_that_requires_a_client_certificate_gets_it() {
    let engine = Engine::start(&[]);
    let url = tls::gate_for_known_clients(&engine.url);
    let file = |name: &str| format!("{}{name}", tls::FIXTURES);
    let authority = file("authority.pem");
    let trusts = ["--ca-cert", &authority];
    let both = at_both(&file("client.pem"), &file("client.key"));
    for shown in [
        vec![
            "--client-cert".to_owned(),
            file("client.pem"),
            "--client-key".to_owned(),
            file("client.key"),
        ],
        vec!["--client-cert".to_owned(), both.path().join("both.pem").display().to_string()],
    ] {
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let (output, summary) = measure(&url, &[&trusts[..], &shown].concat());
        let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
        assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 6);
    }
    let (output, _) = measure(&url, &trusts);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains("a client certificate; give a certificate with --client-cert"),
        "{}",
        told(&output)
    );
    // The server rejects a certificate of another authority.
    let other =
        ["--client-cert", &file("self-signed.pem"), "--client-key", &file("self-signed.key")];
    let (output, _) = measure(&url, &[&trusts[..], &other].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("rejects the client certificate"), "{}", told(&output));
}

/// A folder with a file that contains a certificate and its key.
fn at_both(certificate: &str, key: &str) -> tempfile::TempDir {
    let folder = folder();
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    std::fs::write(folder.path().join("both.pem"), read(certificate) + &read(key)).unwrap();
    folder
}

#[test]
fn errors_about_the_client_certificate_name_the_file_or_flag_and_the_problem() {
    let file = |name: &str| format!("{}{name}", tls::FIXTURES);
    let (pem, key) = (file("client.pem"), file("client.key"));
    let secure = "https://127.0.0.1:9";
    for (target, certificate, its_key, words) in [
        (
            secure,
            Some(&pem),
            Some(file("client-encrypted.key")),
            "client-encrypted.key: contains a key with a passphrase",
        ),
        (secure, Some(&pem), Some(file("server.key")), "the key does not match"),
        (secure, Some(&pem), None, "client.pem: contains no private key"),
        (secure, Some(&key), Some(key.clone()), "client.key: contains no certificate"),
        (secure, Some(&pem), Some(file("absent.key")), "client_key (--client-key): "),
        (secure, None, Some(key.clone()), "needs a certificate"),
        ("http://127.0.0.1:9", Some(&pem), None, "an https:// address"),
    ] {
        let mut flags = Vec::new();
        flags.extend(certificate.map(|path| ["--client-cert", path]).into_iter().flatten());
        flags.extend(its_key.as_ref().map(|path| ["--client-key", path]).into_iter().flatten());
        let (output, _) = measure(target, &flags);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{words}: {}", told(&output));
    }
}
