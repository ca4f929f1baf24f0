//! Settings of the connection to the server under test: the trusted certificate authorities, the certificate of the
//! client, and the proxy. This module sends nothing.

use std::path::Path;

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_net::http::client::ServerAccess;
use inferometer_net::http::proxy::{Proxies, Proxy};
use inferometer_net::tls::{Identity, TlsClient, TlsError, Trust};
use inferometer_plan::{Plan, spec::Spec};

use super::credentials::Variables;
use crate::PlanError;

/// The value of `--proxy` for a connection without any proxy.
const NO_PROXY: &str = "none";

/// Determines how to connect to the server of a plan. The embedded engine, and a server that the plan starts, are
/// reached directly, without this result.
///
/// # Errors
/// When a file cannot be read or has the wrong content, or when the proxy is not valid or cannot reach the server.
pub(crate) fn access(
    spec: &Spec,
    plan: &Plan,
    variables: Variables<'_>,
) -> Result<ServerAccess, PlanError> {
    let access = server_access(spec, variables)?;
    let proxies = &access.proxies;
    for url in plan.target.urls().filter(|_| plan.launch.is_none()) {
        proxies.for_url(url).map_err(|why| PlanError::new(format!("target (--target): {why}")))?;
        if spec.proxy.as_deref().is_some_and(|proxy| proxy != NO_PROXY) && url.unix.is_some() {
            return Err(PlanError::new(
                "proxy (--proxy): a proxy cannot reach a Unix socket; leave out --proxy",
            ));
        }
    }
    Ok(access)
}

/// How to connect to a server, by the keys of a plan that say it: certificates and proxy.
///
/// # Errors
/// When a file cannot be read or has the wrong content, or when the proxy is not valid.
pub fn server_access(spec: &Spec, variables: Variables<'_>) -> Result<ServerAccess, PlanError> {
    let trust = trust(spec)?;
    let identity = identity(spec)?;
    let proxies = match spec.proxy.as_deref() {
        None => Proxies::of_variables(variables),
        Some(NO_PROXY) => Proxies::default(),
        Some(text) => Proxies::only(named(text)?),
    };
    Ok(ServerAccess { trust, identity, proxies })
}

/// Parses the address of a proxy from a flag or a plan. A user name or a password is refused: other users can see flags
/// in the list of processes, and plans are stored.
fn named(text: &str) -> Result<Proxy, PlanError> {
    let wrong = |why: &str| PlanError::new(format!("proxy (--proxy): {why}"));
    if text.contains('@') {
        return Err(wrong(
            "contains a user name or a password, which other users can see in the list of processes \
                and in plans; set HTTP_PROXY or HTTPS_PROXY instead",
        ));
    }
    Proxy::parse(text, "--proxy").map_err(|why| wrong(&format!("{why}, or `none`")))
}

/// Which certificate authorities are trusted.
fn trust(spec: &Spec) -> Result<Trust, PlanError> {
    let Some(path) = &spec.ca_cert else {
        return Ok(if spec.insecure == Some(true) { Trust::AnyCertificate } else { Trust::Known });
    };
    let wrong = |why: String| PlanError::new(format!("ca_cert (--ca-cert): {path}: {why}"));
    let trust = Trust::Also(
        file::read(Path::new(path), MAX_SETTINGS_BYTES)
            .map_err(|error| wrong(error.to_string()))?,
    );
    // A file without a certificate is refused before anything is sent.
    TlsClient::new("localhost", &trust, None).map_err(|error| wrong(error.to_string()))?;
    Ok(trust)
}

/// The certificate that the client presents to the server, and its key, from one file or from two.
fn identity(spec: &Spec) -> Result<Option<Identity>, PlanError> {
    let Some(certificate) = &spec.client_cert else { return Ok(None) };
    let flag = |is_key| match is_key {
        true => "client_key (--client-key)",
        false => "client_cert (--client-cert)",
    };
    let read = |path: &String, is_key| {
        file::read(Path::new(path), MAX_SETTINGS_BYTES)
            .map_err(|error| PlanError::new(format!("{}: {path}: {error}", flag(is_key))))
    };
    let key = spec.client_key.as_ref().unwrap_or(certificate);
    let texts = (read(certificate, false)?, read(key, true)?);
    let identity = Identity::of(&texts.0, &texts.1).map_err(|error| {
        let why = error.to_string();
        let is_key = matches!(error, TlsError::Key { .. });
        let path = if is_key { key } else { certificate };
        let advice = if is_key && spec.client_key.is_none() {
            "; give the key file with --client-key"
        } else {
            ""
        };
        PlanError::new(format!("{}: {path}: {why}{advice}", flag(is_key)))
    })?;
    TlsClient::new("localhost", &Trust::Known, Some(&identity)).map_err(|error| {
        PlanError::new(format!("{}: {certificate}, {key}: {error}", flag(false)))
    })?;
    Ok(Some(identity))
}
