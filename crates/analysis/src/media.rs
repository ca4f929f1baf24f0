//! The pictures and sounds of a pass: how many, how large, how fast, and how many prompt tokens they were.

use inferometer_model::Timeline;
use inferometer_model::metrics::e2e;
use serde::{Deserialize, Serialize};

use crate::jobs::{Quantiles, quantiles};

/// The media of the completed requests of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaSummary {
    /// What the plan asked for.
    pub plan: String,
    /// The number of completed requests with media.
    pub requests: u64,
    /// The number of pictures.
    pub images: u64,
    /// Pictures per second over the duration of the pass; absent without pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images_per_s: Option<f64>,
    /// The mean pixels of a picture, in millions, as sent: a server may scale it. Absent without pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub megapixels: Option<f64>,
    /// The duration of all sounds in seconds.
    pub audio_s: f64,
    /// Seconds of sound per second over the duration of the pass (RTFx of the system); absent without sounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_s_per_s: Option<f64>,
    /// E2E of a request divided by the duration of its sounds (RTF of a request); absent without sounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_rtf: Option<Quantiles>,
    /// The bytes of the files of a request, before they are written as text.
    pub file_bytes: Option<Quantiles>,
    /// The bytes of the body of a request.
    pub body_bytes: Option<Quantiles>,
    /// The time from the first to the last byte of a request that was given to the kernel, in milliseconds. TTFT
    /// includes it.
    pub send_ms: Option<Quantiles>,
    /// Prompt tokens, as the server counts them; absent if it did not count those of a request.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens of the text, as requested; absent if the plan does not set the length of a prompt.
    pub text_tokens: Option<u64>,
    /// Tokens of pictures, as the server states them; absent if it does not for a request with pictures.
    pub image_tokens: Option<u64>,
    /// Tokens of sounds, as the server states them; absent if it does not for a request with sounds.
    pub audio_tokens: Option<u64>,
}

/// Collects the media of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct MediaFold {
    requests: u64,
    images: u64,
    pixels: u64,
    audio_ms: u64,
    rtf: Vec<f64>,
    file_bytes: Vec<f64>,
    body_bytes: Vec<f64>,
    send_ms: Vec<f64>,
    prompt_tokens: Sum,
    text_tokens: Sum,
    image_tokens: Sum,
    audio_tokens: Sum,
}

/// A sum of counts, and how many counts are missing.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: u64,
    counted: u64,
    missing: u64,
}

impl Sum {
    fn add(&mut self, count: Option<u32>) {
        self.sum += u64::from(count.unwrap_or(0));
        self.counted += u64::from(count.is_some());
        self.missing += u64::from(count.is_none());
    }

    fn whole(self) -> Option<u64> {
        (self.counted > 0 && self.missing == 0).then_some(self.sum)
    }
}

impl MediaFold {
    /// Adds a completed request, if it has media.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let media = &record.media;
        if media.is_none() {
            return;
        }
        self.requests += 1;
        self.images += u64::from(media.images);
        self.pixels += media.pixels;
        self.audio_ms += media.audio_ms;
        self.file_bytes.push(media.file_bytes as f64);
        self.body_bytes.push(media.body_bytes as f64);
        let span = record.send_start.zip(record.sent);
        self.send_ms.extend(span.map(|(from, to)| to.ms_after(from)));
        let of_sent = e2e::FROM_SENT.value.of_request(timeline);
        if let Some(e2e_ms) = of_sent.filter(|_| media.audio_ms > 0) {
            self.rtf.push(e2e_ms / media.audio_ms as f64);
        }
        self.prompt_tokens.add(record.usage.prompt);
        self.text_tokens.add(Some(record.asked_input).filter(|tokens| *tokens > 0));
        if media.images > 0 {
            self.image_tokens.add(record.usage.image);
        }
        if media.sounds > 0 {
            self.audio_tokens.add(record.usage.audio);
        }
    }

    /// The figures of a pass of this duration; `None` if no completed request has media.
    pub(crate) fn finish(self, plan: String, duration_s: Option<f64>) -> Option<MediaSummary> {
        if self.requests == 0 {
            return None;
        }
        let spread = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            quantiles(&values)
        };
        let images = self.images as f64;
        let audio_s = self.audio_ms as f64 / 1e3;
        let duration_s = duration_s.filter(|seconds| *seconds > 0.0);
        let per_s = |count: f64| duration_s.filter(|_| count > 0.0).map(|seconds| count / seconds);
        Some(MediaSummary {
            plan,
            requests: self.requests,
            images: self.images,
            images_per_s: per_s(images),
            megapixels: (self.images > 0).then(|| self.pixels as f64 / images / 1e6),
            audio_s,
            audio_s_per_s: per_s(audio_s),
            request_rtf: spread(self.rtf),
            file_bytes: spread(self.file_bytes),
            body_bytes: spread(self.body_bytes),
            send_ms: spread(self.send_ms),
            prompt_tokens: self.prompt_tokens.whole(),
            text_tokens: self.text_tokens.whole(),
            image_tokens: self.image_tokens.whole(),
            audio_tokens: self.audio_tokens.whole(),
        })
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::{ms, steady};
    use inferometer_model::{MediaSent, Record};

    use super::*;

    fn record(images: u32, audio_ms: u64, image_tokens: Option<u32>) -> Record {
        let mut record = steady(0.0, 40.0, 10.0, 3);
        record.media = MediaSent {
            images,
            pixels: u64::from(images) * 500_000,
            sounds: u32::from(audio_ms > 0),
            audio_ms,
            file_bytes: 3_000,
            body_bytes: 4_200,
        };
        (record.send_start, record.sent) = (Some(ms(0.0)), Some(ms(2.5)));
        (record.usage.prompt, record.usage.image) = (Some(120), image_tokens);
        record.asked_input = 20;
        record
    }

    fn finished(records: &[Record]) -> Option<MediaSummary> {
        let mut fold = MediaFold::default();
        records.iter().for_each(|record| fold.add(&Timeline::new(record)));
        fold.finish("plan".to_owned(), Some(2.0))
    }

    #[test]
    fn media_are_counted_over_the_duration_of_the_pass() {
        let found = finished(&[record(1, 0, Some(100)), record(3, 0, Some(40))]).unwrap();
        assert_eq!((found.requests, found.images, found.images_per_s), (2, 4, Some(2.0)));
        assert_eq!((found.megapixels, found.audio_s_per_s), (Some(0.5), None));
        assert_eq!(found.send_ms.map(|it| it.p50), Some(2.5));
        assert_eq!(found.body_bytes.map(|it| (it.mean, it.n)), Some((4_200.0, 2)));
        let tokens = [found.prompt_tokens, found.text_tokens, found.image_tokens];
        assert_eq!(tokens, [Some(240), Some(40), Some(140)]);
        assert_eq!(found.audio_tokens, None);
    }

    #[test]
    fn a_sound_has_its_own_ratio_of_times_and_seconds_of_sound_one_of_the_pass() {
        let found = finished(&[record(0, 30, None), record(0, 6_000, None)]).unwrap();
        assert_eq!((found.images_per_s, found.image_tokens), (None, None));
        assert!((found.audio_s_per_s.unwrap() - 3.015).abs() < 1e-9);
        // Each request takes 60 ms.
        assert!((found.request_rtf.unwrap().max - 2.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn tokens_that_a_server_does_not_state_are_absent_and_not_zero() {
        let found = finished(&[record(1, 0, Some(100)), record(1, 0, None)]).unwrap();
        assert_eq!((found.image_tokens, found.prompt_tokens), (None, Some(240)));
        assert!(finished(&[record(0, 0, None)]).is_some_and(|it| it.images_per_s.is_none()));
        assert_eq!(finished(&[steady(0.0, 40.0, 10.0, 3)]), None);
    }
}
