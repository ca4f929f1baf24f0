//! Downloads a file into a temporary file in the folder of its destination, and computes its checksum.
//! An incomplete or rejected file is removed.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use inferometer_net::{Nanos, monotonic_now, spawn};

use inferometer_model::{sha256::Sha256, url::shown_address};

use crate::WorkloadError;

/// The time limit for the connection, for the response, and for each further chunk of data.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The smallest number of bytes (64 KiB) that must arrive in each interval of [`TIMEOUT`]. A slower
/// download fails.
const SLOWEST: u64 = 64 << 10;
/// The number of bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// The temporary file of a download. It is removed on drop.
pub(super) struct PartialFile {
    path: PathBuf,
    /// The SHA-256 of the file in hexadecimal digits; empty until the download is complete.
    pub sha256: String,
}

impl PartialFile {
    /// Moves the file to its destination.
    pub(super) fn move_to(self, destination: &Path) -> Result<(), WorkloadError> {
        fs::rename(&self.path, destination).map_err(|error| unwritable(destination, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After `move_to`, there is no file at this path, so the error is ignored.
        let _ = fs::remove_file(&self.path);
    }
}

/// Downloads a file into a temporary file in the folder of `destination`. Calls `progress` with the
/// number of bytes so far and, if the server states it, with the total number.
pub(super) fn to_part(
    name: &'static str,
    address: &str,
    token: Option<&str>,
    destination: &Path,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<PartialFile, WorkloadError> {
    let failed = |reason: String| WorkloadError::Download {
        name,
        // A mirror's address may contain a password.
        address: shown_address(address),
        reason,
        destination: destination.to_owned(),
    };
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(TIMEOUT))
        .timeout_recv_response(Some(TIMEOUT));
    let agent: ureq::Agent = config.build().into();
    let mut request = agent.get(address);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = request.call().map_err(|error| failed(error.to_string()))?;
    let total = response.body().content_length();
    let folder = destination.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let path = destination.with_extension(format!("part-{}", std::process::id()));
    let mut part = PartialFile { path, sha256: String::new() };
    let file = File::create(&part.path).map_err(|error| unwritable(&part.path, &error))?;
    let mut out = BufWriter::new(file);
    let mut digest = Sha256::default();
    let chunks =
        chunks_of(response.into_body().into_reader()).map_err(|error| failed(error.to_string()))?;
    let mut bytes = 0_u64;
    let mut progress_made = Progress::begin();
    loop {
        let chunk = match chunks.recv_timeout(TIMEOUT) {
            Ok(Ok(chunk)) if chunk.is_empty() => break,
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => {
                let seconds = TIMEOUT.as_secs();
                return Err(failed(format!(
                    "the server sent nothing for {seconds} s after {bytes} bytes"
                )));
            }
        };
        out.write_all(&chunk).map_err(|error| unwritable(&part.path, &error))?;
        digest.update(&chunk);
        bytes += chunk.len() as u64;
        if let Some(slow) = progress_made.too_slow(bytes, monotonic_now()) {
            return Err(failed(slow));
        }
        progress(bytes, total);
    }
    out.flush().map_err(|error| unwritable(&part.path, &error))?;
    if total.is_some_and(|total| total != bytes) {
        return Err(failed(format!(
            "the download ended after {bytes} of {} bytes",
            total.unwrap_or(0)
        )));
    }
    part.sha256 = digest.finish_hex();
    Ok(part)
}

/// The beginning of the current interval of [`TIMEOUT`], and the number of bytes that had arrived before
/// it.
struct Progress {
    since: Nanos,
    bytes: u64,
}

impl Progress {
    fn begin() -> Self {
        Self { since: monotonic_now(), bytes: 0 }
    }

    /// An error message if the download is too slow; otherwise `None`. `bytes` is the number of bytes
    /// that have arrived until the time `now`.
    fn too_slow(&mut self, bytes: u64, now: Nanos) -> Option<String> {
        if now.since(self.since) < TIMEOUT {
            return None;
        }
        let came = bytes - self.bytes;
        (self.since, self.bytes) = (now, bytes);
        let seconds = TIMEOUT.as_secs();
        (came < SLOWEST).then(|| {
            format!(
                "the download is too slow: {came} bytes arrived in {seconds} s; the minimum is \
                    {SLOWEST} bytes"
            )
        })
    }
}

/// The chunks of a response body. An empty chunk marks the end. Another thread reads the body, because a
/// read has no time limit. The caller can thus limit the time for each chunk. If that thread is blocked in a
/// read that never returns, it ends only when the process ends.
fn chunks_of(
    mut body: impl Read + Send + 'static,
) -> std::io::Result<Receiver<std::io::Result<Vec<u8>>>> {
    let (sender, receiver) = sync_channel(4);
    spawn(move || {
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = body.read(&mut buffer).map(|count| buffer[..count].to_vec());
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Computes the SHA-256 of a file, in hexadecimal digits.
pub(super) fn checksum(path: &Path) -> Result<String, WorkloadError> {
    let unreadable = |error: std::io::Error| WorkloadError::unreadable(path, error);
    let mut file = File::open(path).map_err(unreadable)?;
    let (mut digest, mut chunk) = (Sha256::default(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut chunk).map_err(unreadable)?;
        if count == 0 {
            return Ok(digest.finish_hex());
        }
        digest.update(&chunk[..count]);
    }
}

pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> WorkloadError {
    WorkloadError::Unwritable { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_below_the_minimum_rate_is_aborted_and_one_at_the_minimum_rate_is_not() {
        let at = |seconds: u64| Nanos(seconds * 1_000_000_000);
        let mut progress = Progress { since: at(0), bytes: 0 };
        assert_eq!(progress.too_slow(1, at(59)), None);
        assert_eq!(progress.too_slow(SLOWEST, at(60)), None);
        assert_eq!(progress.too_slow(SLOWEST + 10, at(119)), None);
        let told = progress.too_slow(SLOWEST + 20, at(120)).unwrap();
        assert!(told.contains("20 bytes arrived in 60 s"), "{told}");
    }
}
