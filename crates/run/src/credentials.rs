//! Who may speak to the server and whom to believe that it is the server: the key, as a header, and
//! the certificate authorities. Secrets are never stored.

use inferometer_net::file::{self, MAX_SETTINGS_BYTES};
use inferometer_net::tls::{TlsClient, Trust};
use inferometer_plan::spec::Spec;
use inferometer_wire::dialect::dialect;
use std::path::Path;

use crate::error::PlanError;

/// The values of environment variables, as the calling program hands them over.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The authorization header, from the variable that holds the key.
///
/// # Errors
/// When a variable was named that is not set, or whose value cannot be sent.
pub fn authorization(
    spec: &Spec,
    variables: Variables<'_>,
) -> Result<Option<(String, String)>, PlanError> {
    let given = |header: &String| {
        header
            .split(':')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("authorization"))
    };
    if spec.target.is_none() && spec.server.is_none() || spec.header.iter().flatten().any(given) {
        return Ok(None);
    }
    let name = spec.api_key_env.as_deref().unwrap_or("OPENAI_API_KEY");
    match variables(name) {
        Some(key) if key.is_empty() && spec.api_key_env.is_none() => Ok(None),
        Some(key) if key.is_empty() || key.chars().any(char::is_control) => Err(PlanError::new(
            format!("api_key_env (--api-key-env): the variable {name} does not hold a key"),
        )),
        Some(key) => {
            // Each API has its own field for it; most have the same.
            let dialect = spec.dialect.as_deref().and_then(dialect);
            let (name, value) = dialect.map_or_else(
                || ("authorization", format!("Bearer {key}")),
                |dialect| dialect.key_header(&key),
            );
            Ok(Some((name.to_owned(), value)))
        }
        None if spec.api_key_env.is_none() => Ok(None),
        None => Err(PlanError::new(format!(
            "api_key_env (--api-key-env): the variable {name} is not set"
        ))),
    }
}

/// Which certificate authorities are trusted.
///
/// # Errors
/// When the file of authorities cannot be read.
pub fn trust(spec: &Spec) -> Result<Trust, PlanError> {
    let Some(path) = &spec.ca_cert else {
        return Ok(if spec.insecure == Some(true) { Trust::Anybody } else { Trust::Known });
    };
    let wrong = |why: String| PlanError::new(format!("ca_cert (--ca-cert): {path}: {why}"));
    let trust = Trust::Also(
        file::read(Path::new(path), MAX_SETTINGS_BYTES)
            .map_err(|error| wrong(error.to_string()))?,
    );
    // A file without a certificate is refused before anything is sent.
    TlsClient::new("localhost", &trust).map_err(|error| wrong(error.to_string()))?;
    Ok(trust)
}
