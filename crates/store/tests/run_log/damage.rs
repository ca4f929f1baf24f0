//! Tests of cut and damaged logs.

use inferometer_store::StoreError;
use tempfile::TempDir;

use super::{MAGIC_BYTES, file, frame_bounds, read, small_log};

#[test]
fn a_log_truncated_at_any_byte_is_readable_up_to_its_last_complete_frame() {
    let folder = TempDir::new().unwrap();
    let (bytes, whole) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    for length in 0..bytes.len() {
        let (entries, error) = read(&file(&folder, &bytes[..length]));
        let last_whole = bounds.iter().rposition(|&bound| bound <= length as u64);
        // The first frame is the header. Each of the following frames of this log contains one entry.
        let good = last_whole.unwrap_or(0).saturating_sub(1);
        assert_eq!(entries, whole[..good], "cut at {length}");
        let end = last_whole.map_or(0, |frame| bounds[frame]);
        match error {
            Some(StoreError::LogCut { offset, left, .. }) => {
                assert_eq!((offset, left), (end, length as u64 - end), "cut at {length}");
            }
            other => panic!("cut at {length}: {other:?}"),
        }
    }
    let (entries, error) = read(&file(&folder, &bytes));
    assert!(error.is_none(), "{error:?}");
    assert_eq!(entries, whole);
}

#[test]
fn a_flipped_bit_is_detected_in_its_frame_and_all_earlier_frames_are_readable() {
    let folder = TempDir::new().unwrap();
    let (bytes, whole) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (entries, error) = read(&file(&folder, &damaged));
        let frame = bounds.iter().rposition(|&bound| bound <= bit as u64 / 8);
        match (frame, error) {
            (None, Some(StoreError::NotALog { .. })) => assert!(entries.is_empty()),
            (Some(frame), Some(StoreError::LogCorrupt { offset, .. })) => {
                assert_eq!(offset, bounds[frame], "bit {bit}");
                assert_eq!(entries, whole[..frame.saturating_sub(1)], "bit {bit}");
            }
            (_, other) => panic!("bit {bit}: {other:?}"),
        }
    }
}

#[test]
fn a_missing_duplicated_or_misplaced_frame_is_reported_as_corruption() {
    let folder = TempDir::new().unwrap();
    let (bytes, _) = small_log(&folder);
    let bounds = frame_bounds(&bytes);
    let frame = |index: usize| &bytes[bounds[index] as usize..bounds[index + 1] as usize];
    // Header, PassBegin, Records x 3, PassEnd, PassBegin, Records, PassEnd, RunEnd.
    let cases: [(&str, Vec<usize>, &str); 7] = [
        ("records are missing", vec![0, 1, 2, 3, 5], "had 2 so far"),
        ("records are doubled", vec![0, 1, 2, 2, 3, 4, 5], "had 4 so far"),
        ("records of another pass", vec![0, 1, 7], "a record of pass 1 in pass 0"),
        ("records of no pass", vec![0, 2], "belong to no pass"),
        ("a pass in a pass", vec![0, 1, 6], "before pass 0 ended"),
        ("a run that ends in a pass", vec![0, 1, 9], "before the end of pass 0"),
        ("frames after the end", vec![0, 9, 9], "data after the end"),
    ];
    for (what, order, complaint) in cases {
        let mut changed = bytes[..MAGIC_BYTES as usize].to_vec();
        order.iter().for_each(|&index| changed.extend(frame(index)));
        match read(&file(&folder, &changed)).1 {
            Some(StoreError::LogCorrupt { what: found, .. }) => {
                assert!(found.contains(complaint), "{what}: {found}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn bytes_after_the_end_of_the_run_are_corruption_even_if_they_are_not_a_frame() {
    let folder = TempDir::new().unwrap();
    let (mut bytes, whole) = small_log(&folder);
    let end = bytes.len() as u64;
    bytes.push(0);
    let (entries, error) = read(&file(&folder, &bytes));
    assert_eq!(entries, whole);
    assert!(matches!(error, Some(StoreError::LogCorrupt { offset, .. }) if offset == end));
}
