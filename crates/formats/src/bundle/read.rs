//! Reads a bundle, which may come from an untrusted source. Every part must be a regular file, must occur
//! exactly once, and must match its checksum in the checksum list. Any other bundle is rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use super::manifest::{MANIFEST, Manifest, SCHEMA};
use super::{BundleError, Checksum, FOLDER, SUMS, name, write::HashingReader};

/// The limits on the size of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum size of all parts together, unpacked, in bytes.
    pub unpacked: u64,
    /// The maximum size of all JSON documents together, in bytes. The reader stores them in memory.
    pub documents: u64,
}

/// The first bytes of every gzip file.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The maximum number of parts.
const MOST_PARTS: usize = 10_000;
/// The maximum size of the checksum list, in bytes.
const MOST_SUMS_BYTES: u64 = 4 << 20;
/// The unpacked size, in bytes, that is allowed for every bundle, even if the bundle file is very small.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// The maximum ratio of unpacked to packed size. Real ratios are lower: run logs are already compressed, and
/// texts become about 30 times smaller.
const MOST_COMPRESSION: u64 = 100;

impl Limits {
    /// Returns the limits for a bundle file of `bytes` bytes, with at most `documents` bytes of JSON documents.
    pub fn of(bytes: u64, documents: u64) -> Self {
        let unpacked = bytes.saturating_mul(MOST_COMPRESSION).saturating_add(ALWAYS_ALLOWED);
        Self { unpacked, documents }
    }
}

/// Whether a gzip file contains JSON, such as a result file of another tool, instead of an archive.
pub fn is_zipped_json(file: impl Read) -> bool {
    let first = BufReader::new(GzDecoder::new(BufReader::new(file)))
        .bytes()
        .find(|byte| !matches!(byte, Ok(byte) if byte.is_ascii_whitespace()));
    matches!(first, Some(Ok(b'{' | b'[')))
}

/// The content of a bundle that was checked completely.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The manifest.
    pub manifest: Manifest,
    /// The JSON documents, by name.
    documents: BTreeMap<String, Vec<u8>>,
    /// The size and the checksum of each part, by name.
    sums: BTreeMap<String, Checksum>,
}

impl Opened {
    /// Returns the bytes of a JSON document by its name.
    ///
    /// # Errors
    /// [`BundleError::Cut`] if the bundle has no document of this name.
    pub fn document(&self, name: &str) -> Result<&[u8], BundleError> {
        self.documents.get(name).map(Vec::as_slice).ok_or_else(|| missing(name))
    }

    /// Returns the size and the checksum of a part by its name.
    ///
    /// # Errors
    /// [`BundleError::Cut`] if the bundle has no part of this name.
    pub fn sum(&self, name: &str) -> Result<&Checksum, BundleError> {
        self.sums.get(name).ok_or_else(|| missing(name))
    }
}

/// Reads a bundle from its first byte to its last, and checks all of it.
///
/// # Errors
/// See [`BundleError`].
pub fn open(bundle: impl BufRead, limits: Limits) -> Result<Opened, BundleError> {
    let (mut documents, mut sums) = (BTreeMap::new(), BTreeMap::new());
    let mut left = limits.documents;
    let mut version = Ok(());
    each_part(
        bundle,
        limits,
        &mut |name, size, content| {
            if name.ends_with(".json") {
                left = left.checked_sub(size).ok_or_else(|| {
                    let most = limits.documents >> 20;
                    BundleError::TooLarge(format!("its JSON documents exceed {most} MiB in total"))
                })?;
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
                if name == MANIFEST {
                    // A newer version may contain unknown parts. In this case the error is the version, not the part.
                    version = check_version(&bytes);
                }
                documents.insert(name.to_owned(), bytes);
            }
            Ok(())
        },
        &mut |name, sum| {
            sums.insert(name.to_owned(), sum);
        },
    )
    .or_else(|error| version.as_ref().map_or(Ok(()), |()| Err(error)))?;
    version?;
    let manifest = documents.get(MANIFEST).ok_or_else(|| missing(MANIFEST))?;
    let manifest = serde_json::from_slice(manifest)
        .map_err(|error| BundleError::Content(format!("{MANIFEST} is not valid: {error}")))?;
    Ok(Opened { manifest, documents, sums })
}

/// Copies the part with the name `wanted.0` to `to`, from a bundle that [`open`] has checked. The file may
/// have changed since then, so the part must still have the size and the checksum `wanted.1`.
///
/// # Errors
/// Those of [`open`]; [`BundleError::Unwritable`] if `to` cannot be written.
pub fn copy(
    bundle: impl BufRead,
    limits: Limits,
    wanted: (&str, &Checksum),
    to: &mut dyn Write,
) -> Result<(), BundleError> {
    let mut copied = None;
    each_part(
        bundle,
        limits,
        &mut |name, _, content| {
            if name != wanted.0 {
                return Ok(());
            }
            let mut buffer = vec![0; 1 << 16];
            loop {
                let read = content.read(&mut buffer).map_err(|error| unreadable(&error))?;
                match read {
                    0 => return Ok(()),
                    read => to.write_all(&buffer[..read]).map_err(BundleError::Unwritable)?,
                }
            }
        },
        &mut |name, sum| {
            if name == wanted.0 {
                copied = Some(sum);
            }
        },
    )?;
    match copied {
        Some(sum) if sum == *wanted.1 => Ok(()),
        _ => Err(BundleError::Damaged(format!("{} changed while it was read", wanted.0))),
    }
}

fn check_version(manifest: &[u8]) -> Result<(), BundleError> {
    let value: serde_json::Value = serde_json::from_slice(manifest)
        .map_err(|error| BundleError::Content(format!("{MANIFEST} is not JSON: {error}")))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => Ok(()),
        Some(other) => Err(BundleError::Version(other.chars().take(60).collect())),
        None => Err(BundleError::NoBundle(format!("{MANIFEST} does not state its bundle format"))),
    }
}

/// A callback that receives the name, the size in bytes and the content of a part. It does not have to read the
/// whole content.
type Visit<'a> = dyn FnMut(&str, u64, &mut dyn Read) -> Result<(), BundleError> + 'a;
/// A callback that receives the name, the size and the checksum of a part after the part was checked.
type OnChecked<'a> = dyn FnMut(&str, Checksum) + 'a;

/// Reads and checks every part that the checksum list names. Calls `visit` for each part while the part is read,
/// and `checked` when its checksum was found correct.
fn each_part(
    mut bundle: impl BufRead,
    limits: Limits,
    visit: &mut Visit<'_>,
    checked: &mut OnChecked<'_>,
) -> Result<(), BundleError> {
    let first = bundle.fill_buf().map_err(|error| unreadable(&error))?;
    if !first.iter().zip(&GZIP).all(|(found, known)| found == known) {
        return Err(BundleError::NoBundle("it is not compressed with gzip".to_owned()));
    }
    let unzipped = GzDecoder::new(bundle);
    // This limit holds even if the sizes in the headers are wrong. The sum of these sizes is checked below.
    let mut archive = Archive::new(unzipped.take(limits.unpacked.saturating_add(1)));
    let mut sums: Option<BTreeMap<String, String>> = None;
    let mut seen = BTreeSet::new();
    let mut unpacked = 0_u64;
    // In raw mode, the header of a long name or of a link is a separate entry, which is rejected below.
    for entry in archive.entries().map_err(|error| unreadable(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| match (&sums, error.kind()) {
            // If the data is not an archive, the library reports an error of this kind for the first entry.
            (None, ErrorKind::Other) => {
                BundleError::NoBundle(format!("it does not contain a tar archive: {error}"))
            }
            _ => unreadable(&error),
        })?;
        let name = part_name(&entry.path_bytes())?;
        if entry.header().entry_type() != EntryType::Regular {
            let what = kind(entry.header().entry_type());
            return Err(BundleError::Foreign(format!(
                "{name} is {what}, but a bundle contains only files"
            )));
        }
        let size = entry.header().entry_size().map_err(|error| unreadable(&error))?;
        unpacked = unpacked.saturating_add(size);
        if unpacked > limits.unpacked {
            let most = limits.unpacked >> 20;
            return Err(BundleError::TooLarge(format!(
                "its unpacked parts exceed {most} MiB, the limit for a bundle file of this size"
            )));
        }
        let Some(sums) = &sums else {
            if name != SUMS {
                return Err(BundleError::NoBundle(format!("it begins with {name}, not {SUMS}")));
            }
            sums = Some(read_sums(&mut entry, size)?);
            continue;
        };
        let Some(expected) = sums.get(&name) else {
            return Err(BundleError::Foreign(format!("{name} is not named in {SUMS}")));
        };
        if !seen.insert(name.clone()) {
            return Err(BundleError::Foreign(format!("{name} occurs twice")));
        }
        let mut counted = HashingReader::new(&mut entry);
        visit(&name, size, &mut counted)?;
        io::copy(&mut counted, &mut io::sink()).map_err(|error| unreadable(&error))?;
        let sum = counted.sum();
        if sum.bytes != size {
            return Err(BundleError::Cut(format!("it ends within {name}")));
        }
        if sum.sha256 != *expected {
            return Err(BundleError::Damaged(format!("{name} does not match its checksum")));
        }
        checked(&name, sum);
    }
    let sums = sums.ok_or_else(|| BundleError::NoBundle("it is empty".to_owned()))?;
    at_its_end(archive.into_inner().into_inner())?;
    match sums.keys().find(|name| !seen.contains(*name)) {
        Some(name) => Err(missing(name)),
        None => Ok(()),
    }
}

/// Checks the end of a bundle: at most 1 MiB of zeros follows the last part, the gzip checksum is correct,
/// and no byte follows the gzip stream.
fn at_its_end(mut unzipped: GzDecoder<impl BufRead>) -> Result<(), BundleError> {
    let mut rest = Vec::new();
    let most = 1 << 20;
    (&mut unzipped).take(most + 1).read_to_end(&mut rest).map_err(|error| unreadable(&error))?;
    let mut bundle = unzipped.into_inner();
    let behind = bundle.fill_buf().map_err(|error| unreadable(&error))?;
    match rest.len() as u64 > most || rest.iter().any(|byte| *byte != 0) || !behind.is_empty() {
        true => Err(BundleError::Foreign("there are bytes after the archive".to_owned())),
        false => Ok(()),
    }
}

/// Returns the name of a part relative to the folder [`FOLDER`].
fn part_name(path: &[u8]) -> Result<String, BundleError> {
    let text = String::from_utf8_lossy(path);
    let own = text.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
    let shown = text.escape_debug().take(120).collect::<String>();
    match own.map_or(Some("it is not in the folder inferometer-bundle"), name::problem) {
        None => Ok(own.unwrap_or_default().to_owned()),
        Some(problem) => Err(BundleError::Foreign(format!("`{shown}`: {problem}"))),
    }
}

fn kind(of: EntryType) -> &'static str {
    match of {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Directory => "a folder",
        EntryType::Char | EntryType::Block | EntryType::Fifo => "a device or a pipe",
        _ => "an entry of another kind",
    }
}

/// Reads the checksum list. Returns the SHA-256 of each part, in lower case, by the part's name.
fn read_sums(from: &mut impl Read, size: u64) -> Result<BTreeMap<String, String>, BundleError> {
    if size > MOST_SUMS_BYTES {
        return Err(BundleError::TooLarge(format!("{SUMS} has {size} bytes")));
    }
    let wrong = |what: &str| BundleError::Content(format!("{SUMS}: {what}"));
    let mut text = String::new();
    from.take(MOST_SUMS_BYTES).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => wrong("is not UTF-8 text"),
        _ => unreadable(&error),
    })?;
    if (text.len() as u64) < size {
        return Err(BundleError::Cut(format!("it ends within {SUMS}")));
    }
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let (sha256, name) = line
            .split_once("  ")
            .ok_or_else(|| wrong("has a line that is not a checksum with a valid name"))?;
        let is_sum = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_sum || name::problem(name).is_some() || name == SUMS {
            return Err(wrong("has a line that is not a checksum with a valid name"));
        }
        if sums.insert(name.to_owned(), sha256.to_lowercase()).is_some() {
            return Err(wrong("names a part twice"));
        }
    }
    if sums.len() > MOST_PARTS {
        return Err(BundleError::TooLarge(format!("it has more than {MOST_PARTS} parts")));
    }
    Ok(sums)
}

fn missing(name: &str) -> BundleError {
    BundleError::Cut(format!("{name} is missing"))
}

/// Converts an error of the reader into the error of a bundle.
fn unreadable(error: &io::Error) -> BundleError {
    match error.kind() {
        ErrorKind::UnexpectedEof => BundleError::Cut("it ends too early".to_owned()),
        _ => BundleError::Damaged(error.to_string()),
    }
}
