//! Reads any bytes as a bundle, and as the unpacked content of a bundle. The reader must not panic. If it accepts a
//! bundle, the manifest of the bundle must be copied as it was checked.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use inferometer_formats::bundle::{Limits, MANIFEST, copy, open};

pub fn check(bytes: &[u8]) {
    opened(bytes);
    // A fuzzer hardly ever finds compressed bytes with a correct checksum, so the bytes are compressed here.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory is writable");
    opened(&encoder.finish().expect("memory is writable"));
}

fn opened(bytes: &[u8]) {
    let limits = Limits { unpacked: 1 << 20, documents: 1 << 20 };
    let Ok(bundle) = open(bytes, limits) else { return };
    let manifest = bundle.document(MANIFEST).expect("an opened bundle has a manifest");
    let sum = bundle.sum(MANIFEST).expect("the manifest was checked");
    let mut copied = Vec::new();
    copy(bytes, limits, (MANIFEST, sum), &mut copied).expect("the bundle has not changed");
    assert!(copied == manifest);
}
