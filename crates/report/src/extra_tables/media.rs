//! Tables of the pictures and sounds of passes. No figure is computed here.

use inferometer_analysis::Summary;
use inferometer_analysis::{jobs::Quantiles, media::MediaSummary};

use crate::number::{bytes, two_decimals};
use crate::{Entry, MISSING, Table, count, left, right, significant};

/// A row per pass with pictures: how many, how fast, how large, and how many prompt tokens.
pub(super) fn pictures(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let media = pass.media.as_deref().filter(|media| media.images > 0)?;
        let mut row = vec![
            left("Pass", cell.place(pass)),
            left("Planned", &media.plan),
            right("Pictures", count(media.images)),
            right("Pictures/s", two_decimals(media.images_per_s)),
            right("Megapixels, mean", media.megapixels.map_or(MISSING.to_owned(), significant)),
        ];
        row.extend(sizes(media));
        row.push(right("Of a picture", mean(media.image_tokens, media.images)));
        Some(row)
    }))
}

/// A row per pass with sounds.
pub(super) fn sounds(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let media = pass.media.as_deref().filter(|media| media.audio_s > 0.0)?;
        let seconds = media.audio_s.round() as u64;
        let rtf = media.request_rtf.map_or(MISSING.to_owned(), |it| significant(it.p50));
        let mut row = vec![
            left("Pass", cell.place(pass)),
            left("Planned", &media.plan),
            right("Sound (s)", significant(media.audio_s)),
            right("Seconds of sound/s", two_decimals(media.audio_s_per_s)),
            right("E2E / its sound, p50", rtf),
        ];
        row.extend(sizes(media));
        row.push(right("Of a second of sound", mean(media.audio_tokens, seconds)));
        Some(row)
    }))
}

/// The bytes of requests, the time to send them, and their prompt tokens.
fn sizes(media: &MediaSummary) -> [Entry; 7] {
    let size = |of: &Option<Quantiles>, at: fn(&Quantiles) -> f64| {
        of.as_ref().map_or(MISSING.to_owned(), |of| bytes(at(of) as u64))
    };
    let ms = |value: Option<f64>| value.map_or(MISSING.to_owned(), significant);
    [
        right("Files, mean", size(&media.file_bytes, |it| it.mean)),
        right("Body, mean", size(&media.body_bytes, |it| it.mean)),
        right("Body, p95", size(&media.body_bytes, |it| it.p95)),
        right("To send, p50 (ms)", ms(media.send_ms.map(|it| it.p50))),
        right("To send, p95 (ms)", ms(media.send_ms.map(|it| it.p95))),
        right("Prompt tokens", mean(media.prompt_tokens, media.requests)),
        right("Of the text, requested", mean(media.text_tokens, media.requests)),
    ]
}

fn mean(sum: Option<u64>, of: u64) -> String {
    let mean = sum.filter(|_| of > 0).map(|sum| sum as f64 / of as f64);
    mean.map_or(MISSING.to_owned(), significant)
}
