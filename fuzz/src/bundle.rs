//! A bundle of any bytes, and one that unpacks to any bytes: what is taken can be copied as it was checked.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use inferometer_formats::bundle::{Limits, MANIFEST, copy, open};

pub fn check(bytes: &[u8]) {
    opened(bytes);
    // No fuzzer gets past a checksum of compressed bytes.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    opened(&encoder.finish().expect("memory takes it"));
}

fn opened(bytes: &[u8]) {
    let limits = Limits { unpacked: 1 << 20, documents: 1 << 20 };
    let Ok(bundle) = open(bytes, limits) else { return };
    let manifest = bundle.document(MANIFEST).expect("a bundle that is opened has one");
    let sum = bundle.sum(MANIFEST).expect("it was checked");
    let mut copied = Vec::new();
    copy(bytes, limits, (MANIFEST, sum), &mut copied).expect("it is there as it was");
    assert!(copied == manifest);
}
