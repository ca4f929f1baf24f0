//! Files that are written and read again, and compressed files.

use super::*;

#[test]
fn what_is_written_is_read_as_the_same_graph_or_refused() {
    for (files, target, refused) in [
        ("agentic_mooncake_block64.jsonl", Target::Mooncake, None),
        ("agentic_mooncake_block64.jsonl", Target::Weka, Some("has no start or no end")),
        ("weka_job_a.json", Target::Mooncake, None),
        ("weka_job_a.json", Target::Weka, None),
        ("dynamo_request_trace.jsonl", Target::Mooncake, None),
        ("mooncake_sessions_cumulative_block128.jsonl", Target::Mooncake, None),
        ("bailian_block16.jsonl", Target::Mooncake, None),
        ("tracelab.jsonl", Target::Mooncake, Some("has no block ids")),
    ] {
        let trace = read(files, None).unwrap();
        let written = jobs::write(&trace, target);
        if let Some(expected) = refused {
            let found = written.unwrap_err().to_string();
            assert!(found.contains(expected), "{files}: {found}");
            continue;
        }
        let again =
            of_text(&written.unwrap_or_else(|error| panic!("{files}: {error}")).text).unwrap();
        let kept = |trace: &Trace| {
            let of_call = |call: &Call| (call.prompt.get(), call.output.get(), call.keeps.get());
            let mut calls: Vec<_> = trace.calls.iter().map(of_call).collect();
            calls.sort_unstable();
            let Figures { jobs, sessions, depth, fan_out, ideal, .. } = Figures::of(trace, None);
            (calls, jobs, sessions, depth, fan_out, ideal.map(|ideal| ideal.cached_tokens))
        };
        assert_eq!(kept(&trace), kept(&again), "{files}, {target:?}");
    }
}

#[test]
fn a_file_that_is_compressed_with_gzip_is_read_like_the_file() {
    let text = std::fs::read(folder().join("burstgpt.csv")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer =
        flate2::write::GzEncoder::new(file.reopen().unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, &text).unwrap();
    writer.finish().unwrap();
    let trace = jobs::read(&[file.path().to_owned()], None).unwrap();
    assert_eq!((trace.format, trace.calls.len()), ("burstgpt", 8));
}
