//! Tests which proxy is used for a server, and that no text contains the password of the proxy.

use inferometer_model::url::parse_url;

use super::*;

/// The proxy for a server, from variables written as `NAME=VALUE`, or the error message.
fn proxy_to(url: &str, variables: &[&str]) -> String {
    let value = |name: &str| {
        let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
    };
    let proxies = Proxies::of_variables(&value);
    match proxies.for_url(&parse_url(url).unwrap()) {
        Ok(Some(proxy)) => format!("{proxy} by {}", proxy.named_by),
        Ok(None) => "none".to_owned(),
        Err(why) => why.to_string(),
    }
}

#[test]
fn the_usual_environment_variables_select_the_proxy_for_http_and_https_servers() {
    let (plain, secure) = ("http://h:8000", "https://h");
    for (url, variables, expected) in [
        (plain, &["http_proxy=http://p:1"][..], "http://p:1 by http_proxy"),
        (plain, &["HTTP_PROXY=http://p:1"], "http://p:1 by HTTP_PROXY"),
        (plain, &["HTTP_PROXY=http://P:1", "http_proxy=http://p:2"], "http://p:2 by http_proxy"),
        (plain, &["HTTP_PROXY=http://p:1", "REQUEST_METHOD=GET"], "none"),
        (plain, &["http_proxy=http://p:1", "REQUEST_METHOD=GET"], "http://p:1 by http_proxy"),
        (plain, &["HTTPS_PROXY=http://p:1"], "none"),
        (secure, &["HTTP_PROXY=http://p:1"], "none"),
        (secure, &["HTTPS_PROXY=http://p:1", "ALL_PROXY=http://a:2"], "http://p:1 by HTTPS_PROXY"),
        (secure, &["ALL_PROXY=http://a:2"], "http://a:2 by ALL_PROXY"),
        (plain, &["all_proxy=a:2", "HTTP_PROXY="], "http://a:2 by all_proxy"),
        (plain, &["http_proxy=p"], "http://p:80 by http_proxy"),
        (plain, &["http_proxy=http://[::1]:3128/"], "http://[::1]:3128 by http_proxy"),
        (plain, &["HTTP_PROXY=http://u:s3cret@p:1"], "http://p:1 by HTTP_PROXY"),
        ("unix:/tmp/s", &["ALL_PROXY=http://p:1"], "none"),
        (plain, &["http_proxy=http://p:1", "NO_PROXY=h"], "none"),
        (plain, &["http_proxy=http://p:1", "NO_PROXY=h", "no_proxy=x"], "http://p:1 by http_proxy"),
        // An error in a proxy that is not used does not matter.
        (plain, &["HTTPS_PROXY=socks5://p:1"], "none"),
        (plain, &["http_proxy=socks5://p:1", "no_proxy=h"], "none"),
    ] {
        assert_eq!(proxy_to(url, variables), expected, "{url} {variables:?}");
    }
    for value in [
        "socks5://u:s3cret@p:1", "https://u:s3cret@p:1", "http://u:s3cret@p:x", "u:s3%zz@p",
        "http://user:12/s3cret@p", "http://s3cret?x@p",
    ] {
        let told = proxy_to(plain, &[&format!("HTTP_PROXY={value}")]);
        assert!(told.starts_with("HTTP_PROXY ") && told.contains("--proxy none"), "{told}");
        assert!(!told.contains("s3"), "the password is not repeated: {told}");
    }
}

#[test]
fn no_proxy_matches_hosts_suffixes_ports_and_networks() {
    for (list, host, port, is_named) in [
        ("*", "anything", 80, true),
        ("example.com", "example.com", 80, true),
        ("example.com", "a.Example.COM.", 80, true),
        ("example.com", "notexample.com", 80, false),
        (".example.com", "a.example.com", 80, true),
        (".example.com", "example.com", 80, true),
        ("*.example.com", "a.example.com", 80, true),
        ("other, example.com", "example.com", 80, true),
        ("other example.com", "example.com", 80, true),
        ("example.com:8000", "example.com", 8000, true),
        ("example.com:8000", "example.com", 80, false),
        ("example.com:x", "example.com", 80, false),
        ("127.0.0.1", "127.0.0.1", 80, true),
        ("127.0.0.1", "127.0.0.2", 80, false),
        ("127.0.0.1:1", "127.0.0.1", 2, false),
        ("10.0.0.0/8", "10.200.3.4", 80, true),
        ("10.0.0.0/8", "11.0.0.1", 80, false),
        ("10.0.0.0/33", "10.0.0.1", 80, false),
        ("0.0.0.0/0", "1.2.3.4", 80, true),
        ("0.0.0.0/0", "a.b", 80, false),
        ("::1", "::1", 80, true),
        ("[::1]:8000", "::1", 8000, true),
        ("[::1]:8000", "::1", 80, false),
        ("fe80::/10", "fe80::1", 80, true),
        ("::/0", "1.2.3.4", 80, false),
        ("", "h", 80, false),
        (",", "h", 80, false),
    ] {
        assert_eq!(Exceptions::parse(list).names(host, port), is_named, "{list} {host}:{port}");
    }
}

#[test]
fn proxy_credentials_are_sent_to_the_proxy_and_never_displayed() {
    let proxy = Proxy::parse("http://us%40er:p%C3%A4ss@p:1", "HTTP_PROXY").unwrap();
    let (name, value) = proxy.header().unwrap();
    assert_eq!((name.as_str(), value.as_str()), ("proxy-authorization", "Basic dXNAZXI6cMOkc3M="));
    assert_eq!(format!("{proxy} {proxy:?}"), "http://p:1 Proxy(http://p:1, HTTP_PROXY)");
    let secrets = Proxies::only(proxy).secret_headers();
    assert_eq!((secrets[0].1.as_str(), secrets[1].1.as_str()), (value.as_str(), "päss"));

    // If there is only a user name, it is sent with an empty password. This user name may be a token, so it is secret.
    let proxy = Proxy::parse("http://t0ken@p:1", "HTTP_PROXY").unwrap();
    assert_eq!(proxy.header().unwrap().1, "Basic dDBrZW46");
    assert_eq!(Proxies::only(proxy).secret_headers()[1].1, "t0ken");
}

#[test]
fn an_invalid_no_proxy_entry_is_an_error_only_if_a_proxy_would_be_used() {
    let list = |no_proxy: &str| proxy_to("http://h:8000", &["http_proxy=http://p:1", no_proxy]);
    for entry in ["10.0.0.0/33", "10.0.0/8", "h:x", "."] {
        let told = list(&format!("no_proxy=a,{entry}"));
        assert!(told.contains(&format!("`{entry}`")) && told.contains("no_proxy"), "{told}");
    }
    assert_eq!(list("no_proxy=10.0.0.0/33,h"), "none", "the list also names the server");
    assert_eq!(proxy_to("http://h:8000", &["no_proxy=10.0.0.0/33"]), "none", "there is no proxy");
}
