//! Access to the server: the API key, as a header. Secrets are never stored.

use inferometer_model::{Secrets, secrets::names_a_secret, visible};
use inferometer_net::http::proxy::Proxies;
use inferometer_plan::spec::Spec;
use inferometer_wire::dialect::dialect;
use serde_json::Value;

use crate::PlanError;

/// A function of the calling program that returns the values of environment variables.
pub use inferometer_net::http::proxy::Variables;

/// The environment variable that contains the API key, unless the user names another variable.
const USUAL_VARIABLE: &str = "OPENAI_API_KEY";

/// The header with the API key, from the environment variable that contains the key. `None` if the plan has no server,
/// if the user gave an authorization header, or if the user named no variable and the usual variable has no key.
///
/// # Errors
/// When the variable that the user named is not set or is empty, or when the key contains control characters.
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
    let name = spec.api_key_env.as_deref().unwrap_or(USUAL_VARIABLE);
    match variables(name) {
        Some(key) if key.is_empty() && spec.api_key_env.is_none() => Ok(None),
        Some(key) if key.is_empty() || key.chars().any(char::is_control) => {
            Err(PlanError::new(format!(
                "api_key_env (--api-key-env): the variable {name} is empty or contains control \
                    characters; set it to the API key"
            )))
        }
        Some(key) => {
            // The API determines the header for the key; most APIs use the same header.
            let dialect = spec.dialect.as_deref().and_then(dialect);
            let (name, value) = dialect.map_or_else(
                || ("authorization", format!("Bearer {key}")),
                |dialect| dialect.key_header(&key),
            );
            Ok(Some((name.to_owned(), value)))
        }
        None if spec.api_key_env.is_none() => Ok(None),
        None => Err(PlanError::new(format!(
            "api_key_env (--api-key-env): {} is not set; give the name of the variable that \
                contains the API key",
            // If the user gave the key itself instead of a name, the message does not repeat it.
            if is_usual_name(name) {
                format!("the variable {name}")
            } else {
                "the variable".to_owned()
            }
        ))),
    }
}

/// All secrets: in the headers of a spec, in the variable that contains the key, and in the variables of
/// proxies.
pub fn secrets(spec: &Spec, variables: Variables<'_>) -> Secrets {
    let proxies = Proxies::of_variables(variables).secret_headers();
    Secrets::of_headers(&[sent(spec, variables), proxies].concat())
}

fn sent(spec: &Spec, variables: Variables<'_>) -> Vec<(String, String)> {
    let header = |text: &String| {
        // A header without a colon may consist only of the key.
        let (name, value) = text.split_once(':').unwrap_or(("authorization", text));
        (name.trim().to_owned(), value.trim().to_owned())
    };
    let key = variables(spec.api_key_env.as_deref().unwrap_or(USUAL_VARIABLE));
    let key = key.map(|key| ("authorization".to_owned(), key));
    spec.header.iter().flatten().map(header).chain(key).collect()
}

/// Refuses a plan that contains an API key outside of its headers. A plan is stored and shown, and other
/// users can see the command of a server in the list of processes.
///
/// # Errors
/// Names all settings of the plan whose value contains the API key.
pub fn check_places(spec: &Spec, variables: Variables<'_>) -> Result<(), PlanError> {
    let keys = keys(spec, variables);
    let mistakes: Vec<String> = spec
        .keys()
        .iter()
        .filter(|(name, _)| *name != "header")
        .filter_map(|(name, value)| Some((name, keys.iter().find(|key| holds(value, &key.1))?)))
        .map(|(name, (from, _))| {
            format!(
                "{name}: contains the server's API key ({from}), which would then be stored in \
                    results; give a key in the variable that --api-key-env names, or in --header"
            )
        })
        .collect();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.into()) }
}

/// Refuses the name of a server if it contains the API key.
///
/// # Errors
/// When the name contains the API key.
pub fn check_name(name: &str, spec: &Spec, variables: Variables<'_>) -> Result<(), PlanError> {
    match keys(spec, variables).iter().any(|(_, key)| key.is_whole_in(name)) {
        true => Err(PlanError::new(
            "target: its `name` contains the API key, which would then be \
                stored in results; give another name",
        )),
        false => Ok(()),
    }
}

/// The API keys, each with its source. The values of other headers (the name of a tenant, a routing key, a cookie) are
/// not included, because they may legitimately occur elsewhere in a plan.
fn keys(spec: &Spec, variables: Variables<'_>) -> Vec<(String, Secrets)> {
    let is_key = |name: &str| {
        let known = ["authorization", "proxy-authorization"];
        known.iter().any(|known| name.eq_ignore_ascii_case(known)) || names_a_secret(name)
    };
    let headers = sent(spec, variables).into_iter().filter(|(name, _)| is_key(name));
    headers
        .map(|header| {
            (format!("header {}", visible::name(&header.0)), Secrets::of_headers(&[header]))
        })
        .collect()
}

fn holds(value: &Value, keys: &Secrets) -> bool {
    match value {
        Value::String(text) => keys.is_whole_in(text),
        Value::Array(values) => values.iter().any(|value| holds(value, keys)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| keys.is_whole_in(name) || holds(value, keys))
        }
        _ => false,
    }
}

/// Whether a variable has a name of the usual form, such as `OPENAI_API_KEY`.
fn is_usual_name(name: &str) -> bool {
    let is_upper = |c: char| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit();
    name.chars().all(is_upper)
        && (name.contains('_') || !name.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_may_equal_a_header_value_only_if_the_header_holds_no_key() {
        for (header, is_refused) in [
            ("X-Routing-Key: chatglm3-6b", false),
            ("Cookie: model=chatglm3-6b", false),
            ("X-Tenant: chatglm3-6b", false),
            ("X-Api-Key: chatglm3-6b", true),
            ("Authorization: Bearer chatglm3-6b", true),
        ] {
            let spec = Spec {
                target: Some("http://h:1".into()),
                model: Some("chatglm3-6b".to_owned()),
                header: Some(vec![header.to_owned()]),
                ..Spec::default()
            };
            let told = check_places(&spec, &|_| None).err().map(|error| error.mistakes.concat());
            assert_eq!(told.is_some(), is_refused, "{header}");
            let name = header.split(':').next().unwrap_or_default();
            assert!(told.is_none_or(|told| told.contains(&format!("(header {name})"))), "{header}");
        }
    }
}
