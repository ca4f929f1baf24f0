//! HTTP proxies: which proxy is used for a server, according to the usual environment variables, and how a
//! tunnel is requested. This module does not read the environment; the caller does.

mod exceptions;
mod tunnel;

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use derive_more::Display;
use inferometer_model::{Url, url::percent_decoded};

use exceptions::Exceptions;
pub use tunnel::Tunnelled;
pub(crate) use tunnel::{advice, tunnel_through};

/// A function of the caller that returns the value of an environment variable.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An HTTP proxy. `Display` and `Debug` show neither the user nor the password.
#[derive(Clone, PartialEq, Eq, Display)]
#[display("http://{}", Url::plain(&*self.host, self.port).authority())]
pub struct Proxy {
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The value of `Proxy-Authorization`, which identifies the client to the proxy.
    authorization: Option<String>,
    /// The text that must be removed from all messages of the program: the password, or the user if there is
    /// no password.
    secret: Option<String>,
    /// The flag or the variable that names the proxy.
    pub named_by: &'static str,
}

/// Why a text is not the address of an HTTP proxy, as the rest of a sentence that begins with the name of the text.
/// It does not contain the text, which may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// The proxy speaks SOCKS.
    #[error("names a SOCKS proxy; only http:// proxies are supported")]
    Socks,
    /// The scheme is not `http`.
    #[error(
        "names a proxy of another kind; only http:// proxies are supported: write it as http://HOST:PORT"
    )]
    OtherKind,
    /// A character of the user or the password must be escaped.
    #[error(
        "has a user name or a password with /, ? or #; write these characters as %2F, %3F and %23"
    )]
    Unescaped,
    /// The host or the port is wrong.
    #[error("is not the address of a proxy; write it as http://HOST:PORT")]
    NoPlace,
    /// An escape of the user or the password is wrong.
    #[error(
        "has a user name or a password with a % that is not followed by two hexadecimal digits; write this % as %25"
    )]
    Percent,
}

/// Why no proxy can be chosen for a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum UnusableProxy {
    /// An entry of `no_proxy` is wrong. It may be a mistyped name of the server.
    #[error("no_proxy: `{0}` is not a host, address or network; correct it, or give --proxy none")]
    Exception(String),
    /// The address of the proxy is wrong.
    #[error("{name} {why}; to use no proxy, add {host} to NO_PROXY or give --proxy none")]
    Proxy { name: &'static str, why: ProxyError, host: String },
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self}, {})", self.named_by)
    }
}

impl Proxy {
    /// Parses `http://user:password@host:port`. The scheme, the user and the port (default 80) may be
    /// missing. Error messages do not contain the value, which may contain a password.
    ///
    /// # Errors
    /// When the text is not the address of an HTTP proxy.
    pub fn parse(text: &str, named_by: &'static str) -> Result<Self, ProxyError> {
        let text = text.trim();
        let rest = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.to_ascii_lowercase().starts_with("socks") => {
                return Err(ProxyError::Socks);
            }
            Some(_) => return Err(ProxyError::OtherKind),
        };
        // The user and the password are checked first: a `/`, `?` or `#` in them that is not escaped would
        // change the host.
        let (user, place) =
            rest.rsplit_once('@').map_or((None, rest), |(user, at)| (Some(user), at));
        if user.is_some_and(|user| user.contains(['/', '?', '#'])) {
            return Err(ProxyError::Unescaped);
        }
        let place = place.split(['/', '?', '#']).next().unwrap_or_default();
        // The rules for addresses of servers apply to the host and the port.
        let url = inferometer_model::url::parse_url(&format!("http://{place}"))
            .map_err(|_| ProxyError::NoPlace)?;
        let user = user.map(|user| percent_decoded(user).ok_or(ProxyError::Percent));
        let user = user.transpose()?;
        // A user without a password gets an empty password (RFC 7617). Such a user may be a token.
        let user = user.map(|mut user| {
            if !user.contains(&b':') {
                user.push(b':');
            }
            user
        });
        let authorization = user.as_ref().map(|user| format!("Basic {}", STANDARD.encode(user)));
        let secret = user.and_then(|user| {
            let text = String::from_utf8_lossy(&user).into_owned();
            let (name, password) = text.split_once(':')?;
            Some(if password.is_empty() { name } else { password }.to_owned())
        });
        Ok(Self { host: url.host, port: url.port, authorization, secret, named_by })
    }

    /// The header with the user and the password, if there is a user.
    pub fn header(&self) -> Option<(String, String)> {
        let value = self.authorization.clone()?;
        Some(("proxy-authorization".to_owned(), value))
    }
}

/// The proxy that a flag or a variable names, or the variable and the error of parsing it. The error is reported only
/// if the proxy would be used.
type Named = Option<Result<Proxy, (&'static str, ProxyError)>>;

/// Which proxy is used for which server. By default, no proxy is used.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Named,
    https: Named,
    except: Exceptions,
}

impl Proxies {
    /// The proxies of the usual variables: `http_proxy`, `https_proxy`, and `all_proxy` if one of them is
    /// absent. The servers of `no_proxy` are reached without a proxy. If a variable is given in lower case
    /// and in upper case, the one in lower case is used. An empty variable counts as absent. `HTTP_PROXY` is
    /// ignored if `REQUEST_METHOD` is set, because this program is then a CGI program. There, `HTTP_PROXY`
    /// contains the header `Proxy` of a client's request.
    pub fn of_variables(variables: Variables<'_>) -> Self {
        let value = |name| variables(name).filter(|value| !value.trim().is_empty());
        let is_cgi = variables("REQUEST_METHOD").is_some();
        let first = |names: [&'static str; 4]| {
            names.into_iter().filter(|&name| !(is_cgi && name == "HTTP_PROXY")).find_map(|name| {
                let named = |why| (name, why);
                value(name).map(|value| Proxy::parse(&value, name).map_err(named))
            })
        };
        Self {
            http: first(["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            except: Exceptions::parse(
                &value("no_proxy").or_else(|| value("NO_PROXY")).unwrap_or_default(),
            ),
        }
    }

    /// One proxy for all servers.
    pub fn only(proxy: Proxy) -> Self {
        Self {
            http: Some(Ok(proxy.clone())),
            https: Some(Ok(proxy)),
            except: Exceptions::default(),
        }
    }

    /// The proxy for a server; `None` if the server is reached without a proxy. A Unix socket is always
    /// reached without a proxy.
    ///
    /// # Errors
    /// When the flag or variable of the proxy, or an entry of `no_proxy`, cannot be used.
    pub fn for_url(&self, url: &Url) -> Result<Option<&Proxy>, UnusableProxy> {
        let named = if url.secure { &self.https } else { &self.http };
        match (named, &self.except.unreadable) {
            (Some(named), unreadable)
                if url.unix.is_none() && !self.except.names(&url.host, url.port) =>
            {
                // Perhaps the invalid entry is a mistyped name of this server.
                if let Some(entry) = unreadable {
                    return Err(UnusableProxy::Exception(entry.clone()));
                }
                named.as_ref().map(Some).map_err(|(name, why)| UnusableProxy::Proxy {
                    name,
                    why: why.clone(),
                    host: url.host.clone(),
                })
            }
            _ => Ok(None),
        }
    }

    /// The secrets of the proxies, as pairs of a header name and a value. The caller removes these values
    /// from messages. For each proxy, these are the value of `Proxy-Authorization` and the password, or the
    /// user if there is no password.
    pub fn secret_headers(&self) -> Vec<(String, String)> {
        let named = [&self.http, &self.https];
        let secrets = |proxy: &Proxy| {
            let name = "proxy-authorization".to_owned();
            let password = proxy.secret.clone().map(|password| (name, password));
            proxy.header().into_iter().chain(password).collect::<Vec<_>>()
        };
        named.into_iter().flatten().flatten().flat_map(secrets).collect()
    }
}

#[cfg(test)]
mod tests;
