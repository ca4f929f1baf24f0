//! Tests that a complete bundle is read as it was written, and that any other file is rejected with the reason.

#![expect(clippy::unwrap_used, reason = "what a test prepares must work")]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use inferometer_formats::bundle::{
    BundleError, Checksum, DataFile, Limits, MANIFEST, Manifest, Opened, Part, SCHEMA, SUMS, copy,
    open, write,
};
use tar::{Builder, EntryType, Header};

const LIMITS: Limits = Limits { unpacked: 1 << 20, documents: 1 << 16 };

fn manifest() -> Vec<u8> {
    let data = DataFile {
        key: "dataset".to_owned(),
        named: "rows.jsonl".to_owned(),
        bytes: Some(3),
        sha256: None,
        file: Some("data/1-rows.jsonl".to_owned()),
    };
    let manifest = Manifest { schema: SCHEMA.to_owned(), runs: Vec::new(), data: vec![data] };
    serde_json::to_vec(&manifest).unwrap()
}

fn parts() -> Vec<Part<'static>> {
    vec![
        Part::of_bytes(MANIFEST, manifest()),
        Part::of_bytes("runs/a/records.log", [7_u8; 3_000]),
        Part::of_bytes("data/1-rows.jsonl", "{}\n"),
    ]
}

fn whole() -> Vec<u8> {
    write(Vec::new(), parts()).unwrap()
}

fn read(bytes: &[u8]) -> Result<Opened, BundleError> {
    open(bytes, LIMITS)
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An entry of an archive, as an untrusted source may write it.
struct Entry {
    path: String,
    kind: EntryType,
    size: u64,
    bytes: Vec<u8>,
}

fn file(name: &str, bytes: impl Into<Vec<u8>>) -> Entry {
    at(&format!("inferometer-bundle/{name}"), bytes)
}

fn at(path: &str, bytes: impl Into<Vec<u8>>) -> Entry {
    let bytes = bytes.into();
    Entry { path: path.to_owned(), kind: EntryType::Regular, size: bytes.len() as u64, bytes }
}

fn of_kind(name: &str, kind: EntryType) -> Entry {
    Entry { kind, ..file(name, "") }
}

/// The entry of the checksum list, followed by the entries.
fn with_sums(entries: Vec<Entry>) -> Vec<Entry> {
    let line = |entry: &Entry| {
        let name = entry.path.strip_prefix("inferometer-bundle/").unwrap_or(&entry.path);
        format!("{}  {name}\n", Checksum::of(entry.bytes.as_slice()).unwrap().sha256)
    };
    let sums: String = entries.iter().map(line).collect();
    std::iter::once(file(SUMS, sums)).chain(entries).collect()
}

fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for Entry { path, kind, size, bytes } in entries {
        let mut header = Header::new_ustar();
        // The name is written directly, because the library would reject invalid names.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(*size);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, bytes.as_slice()).unwrap();
    }
    zipped(&builder.into_inner().unwrap())
}

#[test]
fn a_bundle_is_read_back_as_written_and_equal_parts_give_equal_bytes() {
    let bytes = whole();
    assert!(bytes == whole());
    let opened = read(&bytes).unwrap();
    assert_eq!(opened.document(MANIFEST).unwrap(), manifest());
    assert_eq!(opened.manifest.data[0].named, "rows.jsonl");
    let name = "runs/a/records.log";
    let sum = opened.sum(name).unwrap();
    assert_eq!(sum.bytes, 3_000);
    let mut log = Vec::new();
    copy(bytes.as_slice(), LIMITS, (name, sum), &mut log).unwrap();
    assert_eq!(log, [7; 3_000]);
    // A file that is replaced between `open` and `copy` is detected.
    let other = Checksum { sha256: "0".repeat(64), ..sum.clone() };
    assert!(copy(bytes.as_slice(), LIMITS, (name, &other), &mut Vec::new()).is_err());
    assert!(opened.sum("runs/b/records.log").is_err());
    let short = Part { content: Box::new(&b"ab"[..]), ..Part::of_bytes("a", "abc") };
    let error = write(Vec::new(), vec![short]).unwrap_err().to_string();
    assert!(error.contains("a changed while"), "{error}");
}

#[test]
fn a_truncated_bundle_is_refused_and_an_altered_byte_never_changes_the_content() {
    let bytes = whole();
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "{end}");
    }
    let opened = read(&bytes).unwrap();
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 0x41;
        // A few bytes of the gzip header, such as its date, do not affect the content.
        if let Ok(other) = read(&altered) {
            assert_eq!(other.manifest, opened.manifest, "{at}");
            assert_eq!(
                other.sum("runs/a/records.log").unwrap(),
                opened.sum("runs/a/records.log").unwrap()
            );
        }
    }
}

#[test]
fn every_invalid_bundle_is_refused_with_the_reason() {
    let good = || vec![file(MANIFEST, manifest()), file("runs/a/records.log", "log")];
    let beside = |entry: Entry| {
        let mut entries = with_sums(good());
        entries.push(entry);
        archive(&entries)
    };
    let of_manifest = |text: &str| archive(&with_sums(vec![file(MANIFEST, text)]));
    let of_sums = |text: &[u8]| archive(&[file(SUMS, text), file(MANIFEST, manifest())]);
    let mut missing = with_sums(good());
    missing.pop();
    let mut wrong_bytes = with_sums(good());
    wrong_bytes[2].bytes[0] ^= 1;
    let mut twice = with_sums(good());
    twice.push(file("runs/a/records.log", "log"));
    let mut behind = archive(&with_sums(good()));
    behind.extend_from_slice(b"more");
    let mut huge = with_sums(good());
    huge[2].size = 1 << 40;
    let big =
        with_sums(vec![file("a.json", "1".repeat(40_000)), file("b.json", "1".repeat(40_000))]);
    let much = with_sums(vec![file("a", vec![0; 1 << 20]), file("b", "")]);
    let newer = r#"{"schema": "inferometer.bundle/2", "runs": 7}"#;
    let unsized_runs = format!(r#"{{"schema": "{SCHEMA}", "runs": 7, "data": []}}"#);
    let mut wrong = Vec::new();
    for (bytes, words) in [
        (b"# a page\n".to_vec(), "is not compressed with gzip"),
        (zipped(b"not an archive"), "of inferometer: it does not contain a tar archive"),
        (zipped(b""), "it is empty"),
        (archive(&good()), "it begins with manifest.json, not SHA256SUMS"),
        (archive(&[at("etc/passwd", "x")]), "is not in the folder inferometer-bundle"),
        (beside(at("/etc/passwd", "x")), "is not in the folder inferometer-bundle"),
        (beside(at("../x", "x")), "is not in the folder inferometer-bundle"),
        (beside(file("../../x", "x")), "a part `.` or `..`"),
        (beside(file("a/../../x", "x")), "a part `.` or `..`"),
        (beside(file("a\\..\\x", "x")), "a character that is not allowed"),
        (beside(file("\x1b[31m", "x")), "a character that is not allowed"),
        (beside(of_kind("link", EntryType::Symlink)), "link is a link"),
        (beside(of_kind("link", EntryType::Link)), "link is a link"),
        (beside(of_kind("folder", EntryType::Directory)), "folder is a folder"),
        (beside(of_kind("pipe", EntryType::Fifo)), "pipe is a device or a pipe"),
        (beside(of_kind("long", EntryType::GNULongName)), "of another kind"),
        (beside(of_kind("pax", EntryType::XHeader)), "of another kind"),
        (beside(of_kind("sparse", EntryType::GNUSparse)), "of another kind"),
        (beside(file("more.txt", "x")), "more.txt is not named in SHA256SUMS"),
        (archive(&twice), "runs/a/records.log occurs twice"),
        (archive(&missing), "runs/a/records.log is missing"),
        (archive(&wrong_bytes), "runs/a/records.log does not match"),
        (archive(&huge), "its unpacked parts exceed 1 MiB"),
        (archive(&much), "its unpacked parts exceed 1 MiB"),
        (archive(&big), "JSON documents exceed 0 MiB"),
        (behind, "bytes after"),
        (of_sums(b"nothing"), "a line that is not a checksum"),
        (
            of_sums(format!("{}  ../x\n", "0".repeat(64)).as_bytes()),
            "a line that is not a checksum",
        ),
        (of_sums(format!("{0}  a\n{0}  a\n", "0".repeat(64)).as_bytes()), "names a part twice"),
        (of_sums(&[0xff; 80]), "SHA256SUMS: is not UTF-8 text"),
        (of_manifest("no JSON"), "manifest.json is not JSON"),
        (of_manifest("{}"), "does not state its"),
        (
            of_manifest(newer),
            r#"has the bundle format "inferometer.bundle/2", but this program reads"#,
        ),
        (of_manifest(&unsized_runs), "manifest.json is not valid"),
        (archive(&with_sums(vec![file("a.txt", "x")])), "manifest.json is missing"),
    ] {
        match read(&bytes) {
            Err(error) if error.to_string().contains(words) => {
                assert!(!error.to_string().contains('\x1b'), "{error:?}");
            }
            Err(error) => wrong.push(format!("{words}: {error}")),
            Ok(_) => wrong.push(format!("{words}: was accepted")),
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_bundle_that_decompresses_to_too_much_data_is_refused() {
    // Zeros are compressed by a factor of about a thousand.
    let mut zeros = with_sums(vec![file(MANIFEST, manifest())]);
    zeros.push(file("runs/a/records.log", vec![0; 3 << 20]));
    let bytes = archive(&zeros);
    let limits = Limits::of(bytes.len() as u64, 1 << 20);
    assert!(limits.unpacked >= (64 << 20) && limits.unpacked < (70 << 20), "{limits:?}");
    let error = open(bytes.as_slice(), LIMITS).unwrap_err().to_string();
    assert!(error.contains("is too large"), "{error}");
    // A bundle may unpack to 64 MiB plus a hundred times its size, and not more.
    let mut more = with_sums(vec![file(MANIFEST, manifest())]);
    more.push(file("runs/a/records.log", vec![0; 80 << 20]));
    let bytes = archive(&more);
    let limits = Limits::of(bytes.len() as u64, 1 << 20);
    assert!(limits.unpacked < (80 << 20), "{limits:?}");
    let error = open(bytes.as_slice(), limits).unwrap_err().to_string();
    assert!(error.contains("is too large") || error.contains("more than"), "{error}");
}
