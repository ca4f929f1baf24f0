//! Who may read a site. If the server listens on a loopback address, these are by default all clients that
//! name a loopback address in the `Host` field; otherwise clients with a token. This module only decides; it
//! reads no socket.

use std::net::{IpAddr, SocketAddr};
use std::{fs::File, io::Read as _};

use inferometer_wire::http::Request;

use super::{error::ServeError, target::RequestTarget};

/// The shortest token that a user may choose, in characters. For comparison: 128 random bits in base64 have
/// 22 characters.
const MIN_TOKEN_CHARS: usize = 16;
/// The number of random bytes in a generated token, which is written in hexadecimal digits.
const TOKEN_BYTES: usize = 16;
/// The query parameter with the token.
const TOKEN: &str = "token";
/// The name of the cookie that contains the token after the first request.
const COOKIE: &str = "inferometer-token";

/// Who may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReaderAccess {
    /// Every client that names a loopback address or `localhost` in the `Host` field. Another name can mean a
    /// DNS rebinding attack: the page of another site sends the request, and the name of that site resolves
    /// to this machine.
    Loopback,
    /// Every client.
    Everybody,
    /// Every client that sends this token.
    Token(String),
}

/// What to do with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Respond to the request.
    Allowed,
    /// The token was in the query. Store it in a cookie, and redirect the client to the same target without
    /// the token.
    SetCookie {
        /// The target without the token.
        link: String,
        /// The value of the `Set-Cookie` field.
        cookie: String,
    },
    /// The `Host` field of the request does not name a loopback address.
    WrongHost,
    /// The token of the request is missing or wrong.
    NoToken,
}

impl ReaderAccess {
    /// The access rule for a server that listens on `at`. Without `given`, a loopback address needs no token,
    /// and another address gets a random token. `given` is a token that the user chose, with the name of the
    /// environment variable that contains it.
    ///
    /// # Errors
    /// [`ServeError::WeakToken`] if the chosen token is too short or has a character that is not allowed;
    /// [`ServeError::Random`] if no random bytes can be read.
    pub fn for_address(at: SocketAddr, given: Option<(&str, String)>) -> Result<Self, ServeError> {
        match given {
            Some((variable, token)) => {
                let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
                if token.len() < MIN_TOKEN_CHARS || !token.chars().all(fits) {
                    let found = token.chars().count();
                    let variable = variable.to_owned();
                    return Err(ServeError::WeakToken { variable, found, least: MIN_TOKEN_CHARS });
                }
                Ok(Self::Token(token))
            }
            None if at.ip().is_loopback() => Ok(Self::Loopback),
            None => random_token().map(Self::Token).map_err(ServeError::Random),
        }
    }

    /// Decides on a request. `target` is the parsed target of this request.
    pub(crate) fn decide(&self, request: &Request, target: &RequestTarget) -> Decision {
        match self {
            Self::Everybody => Decision::Allowed,
            Self::Loopback => match request.header("host").is_some_and(is_loopback) {
                true => Decision::Allowed,
                false => Decision::WrongHost,
            },
            Self::Token(token) => {
                let cookie = cookie(request).is_some_and(|given| is_same(given, token));
                let bearer = bearer(request).is_some_and(|given| is_same(given, token));
                let query = target.value(TOKEN).is_some_and(|given| is_same(given, token));
                match (query, cookie || bearer) {
                    (true, _) => Decision::SetCookie {
                        link: target.with(&[(TOKEN, None)]),
                        cookie: format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"),
                    },
                    (false, true) => Decision::Allowed,
                    (false, false) => Decision::NoToken,
                }
            }
        }
    }
}

/// Whether a `Host` field names a loopback address or `localhost`.
fn is_loopback(host: &str) -> bool {
    let ends_in_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if ends_in_port(port) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn cookie(request: &Request) -> Option<&str> {
    let mut pairs = request.header("cookie")?.split(';');
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn bearer(request: &Request) -> Option<&str> {
    request.header("authorization")?.strip_prefix("Bearer ").map(str::trim)
}

/// Compares two tokens. The time depends only on their lengths, so it reveals no characters of the token.
fn is_same(given: &str, token: &str) -> bool {
    let differing = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differing) == 0 && given.len() == token.len()
}

fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, headers: &[(&str, &str)]) -> Request {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Request {
            method: "GET".to_owned(),
            target: target.to_owned(),
            headers: headers.iter().map(own).collect(),
            body: Vec::new(),
            keep_alive: true,
        }
    }

    fn decide(access: &ReaderAccess, target: &str, headers: &[(&str, &str)]) -> Decision {
        access.decide(&request(target, headers), &RequestTarget::parse(target))
    }

    #[test]
    fn on_a_loopback_address_only_loopback_host_headers_are_accepted() {
        for (host, allowed) in [
            ("127.0.0.1:7878", true),
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("[::1]:7878", true),
            ("127.9.9.9", true),
            ("evil.example:7878", false),
            ("localhost.evil.example", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            let decision = decide(&ReaderAccess::Loopback, "/", &[("Host", host)]);
            assert_eq!(decision == Decision::Allowed, allowed, "{host}");
        }
        assert_eq!(decide(&ReaderAccess::Loopback, "/", &[]), Decision::WrongHost);
    }

    #[test]
    fn on_other_addresses_access_requires_the_token() {
        let access = ReaderAccess::Token("0123456789abcdef".to_owned());
        let cookie = "a=b; inferometer-token=0123456789abcdef";
        for (target, header, allowed) in [
            ("/", ("host", "127.0.0.1"), false),
            ("/?token=", ("host", "127.0.0.1"), false),
            ("/?token=0123456789abcde", ("x", ""), false),
            ("/?token=0123456789abcdef0", ("x", ""), false),
            ("/", ("cookie", cookie), true),
            ("/", ("cookie", "inferometer-token=no; x=0123456789abcdef"), false),
            ("/", ("authorization", "Bearer 0123456789abcdef"), true),
            ("/", ("authorization", "Basic 0123456789abcdef"), false),
        ] {
            let decision = decide(&access, target, &[header]);
            let expected = if allowed { Decision::Allowed } else { Decision::NoToken };
            assert_eq!(decision, expected, "{target} {header:?}");
        }
        let Decision::SetCookie { link, cookie } =
            decide(&access, "/runs/a?token=0123456789abcdef&x=1", &[])
        else {
            panic!("the token in a query is remembered")
        };
        assert_eq!(link, "/runs/a?x=1");
        assert_eq!(cookie, "inferometer-token=0123456789abcdef; Path=/; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn a_missing_token_is_generated_randomly_and_short_or_malformed_tokens_are_refused() {
        let anywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
        let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert_eq!(ReaderAccess::for_address(here, None).unwrap(), ReaderAccess::Loopback);
        let [one, other] = [(), ()].map(|()| ReaderAccess::for_address(anywhere, None).unwrap());
        assert!(one != other && matches!(&one, ReaderAccess::Token(token) if token.len() == 32));
        for (token, is_fine) in
            [("0123456789abcdef", true), ("0123456789abcde", false), ("0123456789 abcdef", false)]
        {
            let access = ReaderAccess::for_address(here, Some(("X", token.to_owned())));
            assert_eq!(access.is_ok(), is_fine, "{token}");
        }
    }
}
