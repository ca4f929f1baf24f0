//! Reads a bundle, which may come from a stranger. Every part is named in the checksums, is there once,
//! is a plain file, and has the bytes that were written; else nothing of it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, ErrorKind, Read, Write};

use flate2::bufread::GzDecoder;
use tar::{Archive, EntryType};

use super::manifest::{MANIFEST, Manifest, SCHEMA};
use super::write::Counted;
use super::{BundleError, FOLDER, SUMS, Sum, name};

/// What a bundle may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all parts together, unpacked.
    pub unpacked: u64,
    /// Bytes of all documents together, which are held in memory.
    pub documents: u64,
}

/// The first bytes of a file that is compressed with gzip.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most parts.
const MOST_PARTS: usize = 10_000;
/// The most bytes of the checksums.
const MOST_SUMS_BYTES: u64 = 4 << 20;
/// A bundle of this size or less, unpacked, may be compressed as well as it likes.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// So many times smaller than its content no bundle is: logs are compressed before, texts by 30.
const MOST_COMPRESSION: u64 = 100;

impl Limits {
    /// Those of a bundle of so many bytes.
    pub fn of(bytes: u64, documents: u64) -> Self {
        let unpacked = bytes.saturating_mul(MOST_COMPRESSION).saturating_add(ALWAYS_ALLOWED);
        Self { unpacked, documents }
    }
}

/// A bundle whose every byte was checked.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What it holds.
    pub manifest: Manifest,
    /// Its JSON documents, by name.
    documents: BTreeMap<String, Vec<u8>>,
    /// What every part is.
    sums: BTreeMap<String, Sum>,
}

impl Opened {
    /// A document by its name.
    ///
    /// # Errors
    /// When the bundle has none of this name.
    pub fn document(&self, name: &str) -> Result<&[u8], BundleError> {
        self.documents.get(name).map(Vec::as_slice).ok_or_else(|| missing(name))
    }

    /// What a part is, by its name.
    ///
    /// # Errors
    /// When the bundle has none of this name.
    pub fn sum(&self, name: &str) -> Result<&Sum, BundleError> {
        self.sums.get(name).ok_or_else(|| missing(name))
    }
}

/// Reads a bundle from its first byte to its last, and checks all of it.
///
/// # Errors
/// As [`BundleError`] says.
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
                    BundleError::TooLarge(format!("its documents have more than {most} MiB"))
                })?;
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
                if name == MANIFEST {
                    // A newer one may have other parts: its version is what to tell.
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

/// Copies one part of a bundle that was opened before. What was copied is checked again: the file may have
/// changed.
///
/// # Errors
/// As [`open`], and what writing fails with, as [`BundleError::Unwritable`].
pub fn copy(
    bundle: impl BufRead,
    limits: Limits,
    wanted: (&str, &Sum),
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
        None => Err(BundleError::NoBundle(format!("{MANIFEST} does not state its format"))),
    }
}

/// Is given a part by its name, its size and its bytes, of which it may leave some.
type Visit<'a> = dyn FnMut(&str, u64, &mut dyn Read) -> Result<(), BundleError> + 'a;
/// Is told what a part is, once it was read.
type Checked<'a> = dyn FnMut(&str, Sum) + 'a;

/// Goes through all parts but the checksums, and checks each.
fn each_part(
    mut bundle: impl BufRead,
    limits: Limits,
    visit: &mut Visit<'_>,
    checked: &mut Checked<'_>,
) -> Result<(), BundleError> {
    let first = bundle.fill_buf().map_err(|error| unreadable(&error))?;
    if !first.iter().zip(&GZIP).all(|(found, known)| found == known) {
        return Err(BundleError::NoBundle("it is not compressed with gzip".to_owned()));
    }
    let unzipped = GzDecoder::new(bundle);
    // One byte more than is allowed tells that there are more.
    let mut archive = Archive::new(unzipped.take(limits.unpacked.saturating_add(1)));
    let mut sums: Option<BTreeMap<String, String>> = None;
    let mut seen = BTreeSet::new();
    let mut unpacked = 0_u64;
    // Raw: a header of a long name or a link is an entry like others, and refused as such.
    for entry in archive.entries().map_err(|error| unreadable(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| match (&sums, error.kind()) {
            // So the library tells what is no archive at all.
            (None, ErrorKind::Other) => {
                BundleError::NoBundle(format!("it holds no archive: {error}"))
            }
            _ => unreadable(&error),
        })?;
        let name = part_name(&entry.path_bytes())?;
        if entry.header().entry_type() != EntryType::Regular {
            let what = kind(entry.header().entry_type());
            return Err(BundleError::Foreign(format!("{name} is {what}; a bundle has files only")));
        }
        let size = entry.header().entry_size().map_err(|error| unreadable(&error))?;
        unpacked = unpacked.saturating_add(size);
        if unpacked > limits.unpacked {
            let most = limits.unpacked >> 20;
            return Err(BundleError::TooLarge(format!(
                "its parts have more than {most} MiB, the most that a file of its size may have"
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
            return Err(BundleError::Foreign(format!("{name} stands in it twice")));
        }
        let mut counted = Counted::new(&mut entry);
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

/// That only padding follows, that the whole was unpacked as it was packed, and that nothing is behind it.
fn at_its_end(mut unzipped: GzDecoder<impl BufRead>) -> Result<(), BundleError> {
    let mut rest = Vec::new();
    let most = 1 << 20;
    (&mut unzipped).take(most + 1).read_to_end(&mut rest).map_err(|error| unreadable(&error))?;
    let mut bundle = unzipped.into_inner();
    let behind = bundle.fill_buf().map_err(|error| unreadable(&error))?;
    match rest.len() as u64 > most || rest.iter().any(|byte| *byte != 0) || !behind.is_empty() {
        true => Err(BundleError::Foreign("bytes behind its end".to_owned())),
        false => Ok(()),
    }
}

/// The name of a part within the folder of the bundle.
fn part_name(path: &[u8]) -> Result<String, BundleError> {
    let text = String::from_utf8_lossy(path);
    let own = text.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
    let shown = text.escape_debug().take(120).collect::<String>();
    match own.map_or(Some("its name leads out of the bundle"), name::problem) {
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

/// The checksums by name.
fn read_sums(from: &mut impl Read, size: u64) -> Result<BTreeMap<String, String>, BundleError> {
    if size > MOST_SUMS_BYTES {
        return Err(BundleError::TooLarge(format!("{SUMS} has {size} bytes")));
    }
    let wrong = |what: &str| BundleError::Content(format!("{SUMS}: {what}"));
    let mut text = String::new();
    from.take(MOST_SUMS_BYTES).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => wrong("is no text"),
        _ => unreadable(&error),
    })?;
    if (text.len() as u64) < size {
        return Err(BundleError::Cut(format!("it ends within {SUMS}")));
    }
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let (sha256, name) =
            line.split_once("  ").ok_or_else(|| wrong("has a line of no checksum"))?;
        let is_sum = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_sum || name::problem(name).is_some() || name == SUMS {
            return Err(wrong("has a line of no checksum"));
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
    BundleError::Cut(format!("{name} is not in it"))
}

/// What reading fails with, in terms of the file.
fn unreadable(error: &io::Error) -> BundleError {
    match error.kind() {
        ErrorKind::UnexpectedEof => BundleError::Cut("it ends before it is whole".to_owned()),
        _ => BundleError::Damaged(error.to_string()),
    }
}
