//! Finds a tokenizer by its id on the Hugging Face hub. If it is not in the cache that all Hugging Face
//! tools share, it is downloaded into this cache. Nothing is downloaded if `HF_HUB_OFFLINE` is `1`, `on`,
//! `yes` or `true`. No download is retried.

use std::{path::PathBuf, sync::mpsc::channel, time::Duration};

use hf_hub::{Cache, api::sync::ApiBuilder};
use inferometer_net::spawn;

use inferometer_model::url::shown_address;

use crate::WorkloadError;

const FILE: &str = "tokenizer.json";
/// The time limit of a download (five minutes). Tokenizers have up to 34 MB.
const DEADLINE: Duration = Duration::from_secs(300);

/// The address of the hub, the folder of its cache, and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubConfig {
    /// The address of the hub or of a mirror, without a final slash.
    pub endpoint: String,
    /// The folder of the cache, which contains `models--org--name/snapshots/...`.
    pub cache: PathBuf,
    /// Whether the hub may be contacted.
    pub access: HubAccess,
    /// The access token for repositories that need one. If it is `None`, the token that Hugging Face
    /// tools have stored next to the cache is used.
    pub token: Option<String>,
}

/// Whether the hub may be contacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubAccess {
    /// Files that are not in the cache are downloaded.
    Online,
    /// Only the cache is used.
    Offline,
}

impl HubConfig {
    /// Reads the configuration from `HF_ENDPOINT`, `HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`,
    /// `HF_HUB_OFFLINE` and `HF_TOKEN`, as the Python library `huggingface_hub` does.
    pub fn from_env() -> Self {
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let home = || {
            let cache = variable("XDG_CACHE_HOME").map_or_else(
                || std::env::home_dir().unwrap_or_default().join(".cache"),
                PathBuf::from,
            );
            cache.join("huggingface")
        };
        let cache = variable("HF_HUB_CACHE").map_or_else(
            || variable("HF_HOME").map_or_else(home, PathBuf::from).join("hub"),
            PathBuf::from,
        );
        let offline = variable("HF_HUB_OFFLINE").is_some_and(|value| {
            ["1", "on", "yes", "true"].contains(&value.to_ascii_lowercase().as_str())
        });
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache,
            access: if offline { HubAccess::Offline } else { HubAccess::Online },
            token: variable("HF_TOKEN"),
        }
    }
}

/// Whether a text has the form of a hub id, `org/name`, and not that of a path.
pub fn is_id(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let is_file = [".json", ".model", ".txt"].iter().any(|end| text.ends_with(end));
    text.split_once('/').is_some_and(|(org, name)| part(org) && part(name)) && !is_file
}

/// Returns the path of the `tokenizer.json` of a hub id in the cache. Downloads it first if necessary.
///
/// # Errors
/// [`WorkloadError::Hub`] if the file is not in the cache and cannot be downloaded.
pub fn fetch(id: &str, config: &HubConfig) -> Result<PathBuf, WorkloadError> {
    let error = |endpoint: &str, reason: String| WorkloadError::Hub {
        id: id.to_owned(),
        cache: config.cache.clone(),
        endpoint: endpoint.to_owned(),
        reason,
    };
    let cache = Cache::new(config.cache.clone());
    if let Some(path) = cache.model(id.to_owned()).get(FILE) {
        return Ok(path);
    }
    if config.access == HubAccess::Offline {
        let reason = "not in the cache".to_owned();
        return Err(error("not contacted, because HF_HUB_OFFLINE is set", reason));
    }
    let token = config.token.clone().or_else(|| cache.token());
    let endpoint = config.endpoint.clone();
    let model = id.to_owned();
    let download = move || {
        ApiBuilder::from_cache(cache)
            .with_endpoint(endpoint)
            .with_token(token)
            .with_progress(false)
            .with_retries(0)
            .build()
            .and_then(|api| api.model(model).get(FILE))
    };
    within(DEADLINE, download).map_err(|failure| {
        // A mirror's address may contain a password.
        let shown = shown_address(&config.endpoint);
        error(&shown, failure.to_string().replace(&config.endpoint, &shown))
    })
}

/// Runs a download on another thread, because the download itself has no time limit, and waits at most
/// `deadline` for its result. If the download never ends, its thread ends only when the process ends.
fn within<T: Send + 'static, E: Send + 'static>(
    deadline: Duration,
    download: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, DownloadError<E>> {
    let (sender, receiver) = channel();
    // After the deadline there is no receiver, so a failed send is ignored.
    spawn(move || drop(sender.send(download()))).map_err(DownloadError::Thread)?;
    match receiver.recv_timeout(deadline) {
        Ok(outcome) => outcome.map_err(DownloadError::Failed),
        Err(_) => Err(DownloadError::Late(deadline.as_secs())),
    }
}

/// Why a download has no result.
#[derive(Debug, thiserror::Error)]
enum DownloadError<E> {
    /// The download failed.
    #[error("{0}")]
    Failed(E),
    /// The operating system refuses a thread.
    #[error("{0}")]
    Thread(std::io::Error),
    /// The download takes longer than this many seconds.
    #[error("the download did not finish within {0} s")]
    Late(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_that_does_not_finish_in_time_is_an_error() {
        let (_never, waits) = channel::<()>();
        let told = within(Duration::from_millis(1), move || waits.recv()).unwrap_err();
        assert_eq!(told.to_string(), "the download did not finish within 0 s");
        assert_eq!(within(DEADLINE, || Ok::<_, std::io::Error>(7)).unwrap(), 7);
    }

    #[test]
    fn hub_ids_are_distinguished_from_paths() {
        for id in ["org/name", "Qwen/Qwen2.5-7B-Instruct", "01-ai/Yi-34B", "a/b_c.d"] {
            assert!(is_id(id), "{id}");
        }
        for path in
            ["", "name", "./a", "../a", "/a/b", "a/b/c", "a/tokenizer.json", "~/a", "a b/c", "a/"]
        {
            assert!(!is_id(path), "{path}");
        }
    }

    #[test]
    fn hub_environment_variables_have_the_same_meaning_as_in_the_python_library() {
        let of = |pairs: &[(&str, &str)]| {
            HubConfig::from_variables(&|name| {
                pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
            })
        };
        let plain = of(&[]);
        assert_eq!(plain.endpoint, "https://huggingface.co");
        assert!(plain.cache.ends_with(".cache/huggingface/hub"));
        assert_eq!(plain.access, HubAccess::Online);
        assert_eq!(of(&[("HF_HOME", "/h")]).cache, PathBuf::from("/h/hub"));
        assert_eq!(of(&[("XDG_CACHE_HOME", "/x")]).cache, PathBuf::from("/x/huggingface/hub"));
        let both = of(&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c")]);
        assert_eq!(both.cache, PathBuf::from("/c"));
        assert_eq!(of(&[("HF_ENDPOINT", "http://m/")]).endpoint, "http://m");
        for (value, access) in [("1", HubAccess::Offline), ("True", HubAccess::Offline)]
            .into_iter()
            .chain([("0", HubAccess::Online), ("", HubAccess::Online)])
        {
            assert_eq!(of(&[("HF_HUB_OFFLINE", value)]).access, access, "{value}");
        }
    }
}
