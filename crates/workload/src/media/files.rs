//! Pictures and sounds from files. They are sent in an order that the seed determines, and again from the first one after
//! the last one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use imagesize::ImageType;
use inferometer_model::sha256::sha256_hex;
use inferometer_model::stats::seed::{below, rng};
use inferometer_model::{Media, MediaKind};

use super::Place;
use crate::WorkloadError;

/// The files of a plan may have this number of bytes together.
const MOST_BYTES: u64 = 1 << 30;

/// The files in the order in which they are sent.
pub(super) struct Files(Vec<Media>);

impl Files {
    /// The medium at a place.
    pub(super) fn at(&self, Place { scope, index, number }: Place<'_>) -> Media {
        // The pictures of a request stand far from each other, so that the next requests have others.
        let at = scope.used_before + index + u64::from(number) * self.0.len().div_ceil(7) as u64;
        self.0[(at % self.0.len() as u64) as usize].clone()
    }

    /// Their number.
    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether they differ in size or in duration.
    pub(super) fn differ(&self) -> bool {
        let of = |media: &Media| (media.size, media.duration_ms);
        self.0.iter().any(|media| of(media) != of(&self.0[0]))
    }
}

/// Reads a picture, or those of a folder.
///
/// # Errors
/// If one of them is not a JPEG, PNG, WebP or GIF file, or there is none.
pub(super) fn images(path: &str, seed: u64) -> Result<Files, WorkloadError> {
    read(path, seed, &["jpg", "jpeg", "png", "webp", "gif"], |bytes| {
        let media_type = match imagesize::image_type(bytes).ok()? {
            ImageType::Jpeg => "image/jpeg",
            ImageType::Png => "image/png",
            ImageType::Webp => "image/webp",
            ImageType::Gif => "image/gif",
            _ => return None,
        };
        let size = imagesize::blob_size(bytes).ok()?;
        let size = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
        Some((MediaKind::Image, media_type, size, 0))
    })
}

/// Reads a WAV file, or those of a folder.
///
/// # Errors
/// If one of them is not a WAV file, or there is none.
pub(super) fn sounds(path: &str, seed: u64) -> Result<Files, WorkloadError> {
    read(path, seed, &["wav"], |bytes| {
        Some((MediaKind::Audio, "audio/wav", (0, 0), wav_ms(bytes)?))
    })
}

/// The duration of a WAV file in milliseconds; `None` if it is not one.
pub(super) fn wav_ms(file: &[u8]) -> Option<u32> {
    let number = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?));
    if !file.starts_with(b"RIFF") || file.get(8..12)? != b"WAVE" {
        return None;
    }
    let (mut at, mut bytes_per_s) = (12, None);
    loop {
        let length = number(at + 4)?;
        match &file[at..at + 4] {
            b"fmt " => bytes_per_s = number(at + 16).filter(|rate| *rate > 0),
            b"data" => {
                let ms = u64::from(length) * 1_000 / u64::from(bytes_per_s?);
                return u32::try_from(ms).ok();
            }
            _ => {}
        }
        // Chunks begin at even bytes.
        at += 8 + length as usize + length as usize % 2;
    }
}

/// What a file is: its kind, media type, size and duration.
type Kind = (MediaKind, &'static str, (u32, u32), u32);

fn read(
    path: &str,
    seed: u64,
    endings: &[&str],
    kind: fn(&[u8]) -> Option<Kind>,
) -> Result<Files, WorkloadError> {
    let path = Path::new(path);
    let wrong =
        |path: &Path, reason: String| WorkloadError::Media { path: path.to_owned(), reason };
    let unread = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| wrong(&path, error.to_string())
    };
    let mut paths: Vec<PathBuf> = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(unread(path))?;
        let ends = |path: &PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| endings.contains(&ending.to_ascii_lowercase().as_str()))
        };
        paths = entries.into_iter().map(|entry| entry.path()).filter(ends).collect();
        paths.sort();
    }
    if paths.is_empty() {
        let endings = endings.join(", ");
        return Err(wrong(path, format!("the folder has no file that ends with one of {endings}")));
    }
    let (mut files, mut all) = (Vec::with_capacity(paths.len()), 0);
    for path in paths {
        all += fs::metadata(&path).map_err(unread(&path))?.len();
        if all > MOST_BYTES {
            return Err(wrong(
                &path,
                "with this file, they have more than 1 GiB; give fewer".into(),
            ));
        }
        let bytes = fs::read(&path).map_err(unread(&path))?;
        let Some((kind, media_type, size, duration_ms)) = kind(&bytes) else {
            let reason = format!("it is not a file of the kinds {}", endings.join(", "));
            return Err(wrong(&path, reason));
        };
        let (id, pieces) = (sha256_hex(&bytes).into(), vec![Arc::from(bytes)]);
        files.push(Media { kind, media_type, id, pieces, size, duration_ms });
    }
    let mut order = rng(seed, &["order of files"]);
    for last in (1..files.len()).rev() {
        files.swap(last, below(&mut order, last as u64 + 1) as usize);
    }
    Ok(Files(files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_media_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let told = |found: Result<Files, WorkloadError>| found.err().map(|error| error.to_string());
        assert!(told(images(path, 0)).unwrap().contains("has no file that ends"));
        for (name, bytes) in [("a.JPG", &b"no picture"[..]), ("b.wav", b"RIFF0000WAVEfmt ")] {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        assert!(told(images(path, 0)).unwrap().contains("a.JPG: it is not a file of the kinds"));
        assert!(told(sounds(path, 0)).unwrap().contains("b.wav"));
        assert!(told(images("/no/such", 0)).unwrap().contains("/no/such"));
    }
}
