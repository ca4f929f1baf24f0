//! Identifies a server: engine, version, models, and the dialect (API) to use. A value that the server does
//! not state stays unknown. The server generates no text.

mod answer;
mod engines;
mod found;
mod local;

use inferometer_model::Secrets;
use inferometer_net::http::client::{Client, ClientError};
use serde_json::Value;

pub use answer::UnexpectedAnswer;
pub use found::ServerInfo;
pub use local::{USUAL_PORTS, find_local};

use answer::ProbeClient;

/// The path of a server's list of models.
const MODELS: &str = "/v1/models";

/// Requests the paths that identify engines.
///
/// # Errors
/// When the server stops responding, or uses another protocol. A response without information is not an error.
pub fn probe(client: &Client) -> Result<ServerInfo, ClientError> {
    ask(client, false)
}

/// Like [`probe`], for a server that may not be ready yet. If the server cannot list its models for this reason, the
/// only further request is to `/health`.
///
/// # Errors
/// The errors of [`probe`].
pub fn probe_if_ready(client: &Client) -> Result<ServerInfo, ClientError> {
    ask(client, true)
}

fn ask(client: &Client, only_if_ready: bool) -> Result<ServerInfo, ClientError> {
    let mut probe_client = ProbeClient::new(client);
    let mut found = ServerInfo::default();
    let owner = match probe_client.json(MODELS)? {
        Some(models) => {
            engines::note_models(&mut found, &models, probe_client.last_header("server"));
            found.lists_models = models["data"].is_array();
            models["data"][0]["owned_by"].as_str().map(str::to_owned)
        }
        None => None,
    };
    if only_if_ready && probe_client.unexpected().is_some_and(UnexpectedAnswer::may_pass) {
        found.loading = probe_client.loading();
        if found.loading.is_some() {
            return Ok(found);
        }
    }
    if let Some(version) = probe_client.json("/version")?
        && let Some(version) = version["version"].as_str()
    {
        // Several engines have this path. The list of models identifies the engine.
        found.version = Some(version.to_owned());
    } else if engines::is_mlx_lm(&probe_client) {
        found.engine = Some("mlx_lm");
    } else if let Some(info) = probe_client.json("/info")?
        && info["model_id"].is_string()
    {
        engines::note_tgi(&mut found, &info);
    } else if let Some(info) = probe_client.json("/get_model_info")?
        && info["model_path"].is_string()
    {
        engines::note_sglang(&mut found, &info);
        sglang_version(&mut probe_client, &mut found)?;
    } else if let Some(props) = probe_client.json("/props")?
        && props["default_generation_settings"].is_object()
    {
        engines::note_llama_cpp(&mut found, &props);
    }
    let told = further(&mut probe_client, &mut found, owner.as_deref());
    // If the dialect is known, an error while the engine is identified does not matter. LiteLLM, for example,
    // takes longer than the timeout to describe its API for the first time.
    if found.dialect.is_none() {
        told?;
    }
    if found.engine == Some("vllm") && !found.simulated {
        vllm_without_generation(&mut probe_client, &mut found)?;
    }
    if let Some(version) = probe_client.header_seen("x-litellm-version") {
        (found.engine, found.version) = (Some("litellm"), Some(version));
    }
    found.unexpected = probe_client.unexpected().cloned();
    found.loading = probe_client.loading();
    found.remove(&Secrets::of_headers(&client.headers));
    Ok(found)
}

/// If the first requests did not identify the engine, sends requests that only some servers can answer.
fn further(
    probe_client: &mut ProbeClient<'_>,
    found: &mut ServerInfo,
    owner: Option<&str>,
) -> Result<(), ClientError> {
    if found.engine.is_some() {
        return Ok(());
    }
    if owner == Some("nvidia")
        && let Some(health) = probe_client.json("/health")?
        && (health["instances"].is_array() || health["endpoints"].is_array())
    {
        found.engine = Some("dynamo");
    } else if (found.dialect.is_none() || engines::SHARED_OWNERS.contains(&owner.unwrap_or("?")))
        && let Some(api) = probe_client.json("/openapi.json")?
    {
        engines::note_api(found, &api);
    }
    if found.dialect.is_none()
        && let Some(server) = probe_client.json("/v2")?
        && server["name"] == "triton"
    {
        engines::note_triton(found, &server);
        if let Some(index) =
            probe_client.post("/v2/repository/index", &Value::Object(Default::default()))?
        {
            engines::note_triton_models(found, &index);
        }
    }
    Ok(())
}

/// Detects a vLLM whose model generates no text. Such a server has only the paths of what it serves. It answers 405 to a
/// GET request for a path that needs POST, and 404 for an unknown path.
fn vllm_without_generation(
    probe_client: &mut ProbeClient<'_>,
    found: &mut ServerInfo,
) -> Result<(), ClientError> {
    let mut status = |path: &str| {
        probe_client.json(path)?;
        Ok::<_, ClientError>(probe_client.last().map(|last| last.status))
    };
    if status("/v1/completions")? == Some(404) {
        for (path, serves) in
            [("/v1/embeddings", "embeddings"), ("/pooling", "outputs of a pooling model")]
        {
            if found.serves_only.is_none() && status(path)? == Some(405) {
                found.serves_only = Some(serves);
            }
        }
    }
    Ok(())
}

/// Reads SGLang's version, which is in the same answer as its start arguments.
fn sglang_version(
    probe_client: &mut ProbeClient<'_>,
    found: &mut ServerInfo,
) -> Result<(), ClientError> {
    for path in ["/server_info", "/get_server_info"] {
        if found.version.is_some() {
            break;
        }
        if let Some(info) = probe_client.json(path)? {
            engines::note_sglang_server(found, &info);
        }
    }
    Ok(())
}
