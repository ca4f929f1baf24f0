//! Downloads data sets by name, from the Hugging Face hub or other web servers, into a cache. Files are
//! verified by checksum, if a checksum is known. A file in the cache is not downloaded again, and no download
//! is retried. If `HF_HUB_OFFLINE` is `1`, `on`, `yes` or `true`, the network is not used.

mod catalogue;
mod download;

use std::fs;
use std::path::{Path, PathBuf};

use inferometer_model::url::shown_address;

use crate::WorkloadError;
use crate::tokenizer::hub::{HubAccess, HubConfig};

pub use catalogue::{DATA_SETS, DataSet, DownloadSource, data_set};

/// The cache of data sets, and the servers from which they are downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchConfig {
    /// The folder of the cache. It contains one folder for each data set.
    pub cache: PathBuf,
    /// The address of a mirror of the data sets that are not on the hub. The original host is part of the
    /// path: `MIRROR/raw.githubusercontent.com/...`.
    pub mirror: Option<String>,
    /// The configuration of the hub or of its mirror.
    pub hub: HubConfig,
}

impl FetchConfig {
    /// Reads the configuration from environment variables. The cache is `INFEROMETER_CACHE`, otherwise
    /// the folder `inferometer` in `XDG_CACHE_HOME`, otherwise in `~/.cache`. The mirror is
    /// `INFEROMETER_MIRROR`. For the hub, see [`HubConfig::from_env`].
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = || std::env::home_dir().unwrap_or_default().join(".cache");
        let default =
            || variable("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("inferometer");
        Self {
            cache: variable("INFEROMETER_CACHE").map_or_else(default, PathBuf::from),
            mirror: variable("INFEROMETER_MIRROR"),
            hub: HubConfig::from_env(),
        }
    }

    /// The path of a data set's file in the cache.
    pub fn path(&self, data_set: &DataSet) -> PathBuf {
        self.cache.join(data_set.name).join(data_set.file())
    }

    /// The address from which a data set is downloaded.
    pub fn address(&self, data_set: &DataSet) -> String {
        match data_set.origin {
            DownloadSource::Hub { repository, revision, file } => {
                format!("{}/datasets/{repository}/resolve/{revision}/{file}", self.hub.endpoint)
            }
            DownloadSource::Web(address) => match &self.mirror {
                Some(mirror) => format!("{}/{address}", mirror.trim_end_matches('/')),
                None => format!("https://{address}"),
            },
        }
    }
}

/// A data set that is in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The file.
    pub path: PathBuf,
    /// The SHA-256 of the file in hexadecimal digits.
    pub sha256: String,
    /// The origin of the checksum with which the file was compared, if it was compared.
    pub checked: ChecksumOrigin,
    /// Whether this call downloaded the file.
    pub is_new: bool,
}

/// The origin of the expected checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumOrigin {
    /// This program contains the checksum.
    Known,
    /// An earlier call stored the checksum.
    Recorded,
    /// No checksum was known. The checksum of the file is now stored.
    First,
}

/// Returns the file of a data set in the cache, and downloads it first if necessary. Calls `progress`
/// with the number of bytes so far and, if the server states it, with the total number.
///
/// # Errors
/// If the file cannot be downloaded, read or written, or its checksum is not the expected one.
pub fn fetch(
    data_set: &DataSet,
    config: &FetchConfig,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Fetched, WorkloadError> {
    let path = config.path(data_set);
    let record = path.with_file_name(format!("{}.sha256", data_set.file()));
    let recorded = fs::read_to_string(&record).ok();
    let recorded = recorded.and_then(|text| text.split_whitespace().next().map(str::to_owned));
    let (expected, checked) = match (data_set.sha256, recorded) {
        (Some(known), _) => (Some(known.to_owned()), ChecksumOrigin::Known),
        (None, Some(recorded)) => (Some(recorded), ChecksumOrigin::Recorded),
        (None, None) => (None, ChecksumOrigin::First),
    };
    if path.exists() {
        let found = download::checksum(&path)?;
        let sha256 = verify(data_set, &path, expected, found)?;
        record_checksum(&record, &sha256, data_set)?;
        return Ok(Fetched { path, sha256, checked, is_new: false });
    }
    let address = config.address(data_set);
    if config.hub.access == HubAccess::Offline {
        let address = shown_address(&address);
        return Err(WorkloadError::Offline { name: data_set.name, path, address });
    }
    let token = match data_set.origin {
        DownloadSource::Hub { .. } => config.hub.token.as_deref(),
        DownloadSource::Web(_) => None,
    };
    let part = download::to_part(data_set.name, &address, token, &path, progress)?;
    let sha256 = verify(data_set, &path, expected, part.sha256.clone())?;
    part.move_to(&path)?;
    record_checksum(&record, &sha256, data_set)?;
    Ok(Fetched { path, sha256, checked, is_new: true })
}

/// Returns the checksum `found` if it is the expected one, or if none is known; otherwise an error.
fn verify(
    data_set: &DataSet,
    path: &Path,
    expected: Option<String>,
    found: String,
) -> Result<String, WorkloadError> {
    match expected {
        Some(expected) if expected != found => Err(WorkloadError::Checksum {
            name: data_set.name,
            path: path.to_owned(),
            expected,
            found,
        }),
        _ => Ok(found),
    }
}

/// Writes the checksum to the file `record`, in the format of `sha256sum`.
fn record_checksum(record: &Path, sha256: &str, data_set: &DataSet) -> Result<(), WorkloadError> {
    let line = format!("{sha256}  {}\n", data_set.file());
    if fs::read_to_string(record).is_ok_and(|known| known == line) {
        return Ok(());
    }
    fs::write(record, line).map_err(|error| download::unwritable(record, &error))
}

/// As [`local`], with the configuration from environment variables.
///
/// # Errors
/// As [`local`].
pub(crate) fn data_file(name: &str) -> Result<PathBuf, WorkloadError> {
    local(name, &FetchConfig::from_env())
}

/// Returns the path of the data set `name` of a plan. If `name` is an existing path, this path is
/// returned. Otherwise, if [`DATA_SETS`] contains this name, the path of its file in the cache is
/// returned. Any other name is returned unchanged as a path.
///
/// # Errors
/// [`WorkloadError::NotFetched`] for the name of a data set that is not in the cache.
pub fn local(name: &str, config: &FetchConfig) -> Result<PathBuf, WorkloadError> {
    let file = PathBuf::from(name);
    let Some(data_set) = data_set(name).filter(|_| !file.exists()) else { return Ok(file) };
    let path = config.path(data_set);
    if path.exists() {
        Ok(path)
    } else {
        Err(WorkloadError::NotFetched { name: data_set.name, path })
    }
}
