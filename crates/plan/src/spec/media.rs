//! The keys for pictures and sounds in requests.

use clap::Args;
use inferometer_model::load::distribution::Distribution;
use serde::{Deserialize, Serialize};

use super::{Mistakes, values, values::Value};
use crate::parts::{
    AudioPlan, AudioSource, ImageFormat, ImageKind, ImageSize, ImageSource, ImagesPlan, MediaPlan,
};
use inferometer_model::did_you_mean;

/// The keys for pictures and sounds.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaKeys {
    /// Number of pictures after the text of each request: 2, or uniform:1..4 [default: 1 with
    /// another flag for pictures, otherwise none]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Media")]
    pub images: Option<Value>,
    /// Sizes of pictures in pixels, or 360p, 720p, 1080p, 4k; several with weights, such as
    /// 512x512:3,1080p:1, give figures by size [default: 512x512]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "WxH[:WEIGHT],...", help_heading = "Media")]
    pub image_size: Option<String>,
    /// What pictures show: photo (gradients with light noise; files as large as those of photos),
    /// noise (the largest files) or solid (one colour; the smallest) [default: photo]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "photo|noise|solid", help_heading = "Media")]
    pub image_kind: Option<String>,
    /// Format of pictures: jpeg (quality 85) or png [default: jpeg]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "jpeg|png", help_heading = "Media")]
    pub image_format: Option<String>,
    /// Send the pictures of this folder (JPEG, PNG, WebP, GIF), or this picture
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "PATH", help_heading = "Media")]
    pub image_files: Option<String>,
    /// Number of sounds after the text of each request [default: 1 with another flag for sounds,
    /// otherwise none]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N|DISTRIBUTION", help_heading = "Media")]
    pub audio: Option<Value>,
    /// Duration of sounds: 10s, or uniform:5s..30s. They are voice-like, as WAV [default: 10s]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "TIME|DISTRIBUTION", help_heading = "Media")]
    pub audio_length: Option<Value>,
    /// Send the WAV files of this folder, or this file
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "PATH", help_heading = "Media")]
    pub audio_files: Option<String>,
    /// Share of pictures and sounds that repeat an earlier one, to measure the server's cache; all
    /// others have bytes of their own [default: 0]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "SHARE", help_heading = "Media")]
    pub media_reuse: Option<Value>,
}

/// The largest side of a picture in pixels, number of media of a request, and seconds of a sound.
const MOST_PIXELS: u32 = 16_384;
const MOST_MEDIA: f64 = 256.0;
const MOST_SECONDS: f64 = 3_600.0;
/// The sizes that have a name.
const NAMED: [(&str, u32, u32); 4] =
    [("360p", 640, 360), ("720p", 1_280, 720), ("1080p", 1_920, 1_080), ("4k", 3_840, 2_160)];

impl MediaKeys {
    pub(crate) const NAMES: &[&str] = &[
        "images", "image_size", "image_kind", "image_format", "image_files", "audio",
        "audio_length", "audio_files", "media_reuse",
    ];

    /// Resolves the media; `None` if requests have none.
    pub(crate) fn resolve(&self, mistakes: &mut Mistakes) -> Option<MediaPlan> {
        let made = [&self.image_size, &self.image_kind, &self.image_format];
        let has_images = self.images.is_some() || self.image_files.is_some();
        let images = (has_images || made.into_iter().any(Option::is_some)).then(|| ImagesPlan {
            count: count("images", self.images.as_ref(), mistakes),
            source: self.image_source(mistakes),
        });
        let given = [self.audio.is_some(), self.audio_length.is_some(), self.audio_files.is_some()];
        let audio = given.contains(&true).then(|| AudioPlan {
            count: count("audio", self.audio.as_ref(), mistakes),
            source: self.audio_source(mistakes),
        });
        let reuse = mistakes.read("media_reuse", self.media_reuse.as_ref(), values::share);
        if self.media_reuse.is_some() && images.is_none() && audio.is_none() {
            mistakes.add("media_reuse", "needs pictures or sounds; add --images or --audio");
        }
        if self.media_reuse.is_some() && (self.image_files.is_some() || self.audio_files.is_some())
        {
            let why = "is not used: files repeat after the last one; leave it out";
            mistakes.add("media_reuse", why);
        }
        let reuse = reuse.unwrap_or(0.0);
        (images.is_some() || audio.is_some()).then_some(MediaPlan { images, audio, reuse })
    }

    fn image_source(&self, mistakes: &mut Mistakes) -> ImageSource {
        if let Some(path) = self.image_files.clone() {
            for (key, given) in [
                ("image_size", &self.image_size),
                ("image_kind", &self.image_kind),
                ("image_format", &self.image_format),
            ] {
                if given.is_some() {
                    mistakes.add(key, "is not used: files have their own; leave it out");
                }
            }
            return ImageSource::Files { path };
        }
        let default = ImageSize { width: 512, height: 512, weight: 1.0 };
        let sizes = self.image_size.as_ref().map_or(vec![default], |text| sizes(text, mistakes));
        let kind = {
            let names = ImageKind::ALL.map(ImageKind::name);
            named("image_kind", self.image_kind.as_ref(), ImageKind::named, &names, mistakes)
        };
        let format = {
            let names = ImageFormat::ALL.map(ImageFormat::name);
            named("image_format", self.image_format.as_ref(), ImageFormat::named, &names, mistakes)
        };
        ImageSource::Made { kind, format, sizes }
    }

    fn audio_source(&self, mistakes: &mut Mistakes) -> AudioSource {
        if let Some(path) = self.audio_files.clone() {
            if self.audio_length.is_some() {
                mistakes.add("audio_length", "is not used: files have their own; leave it out");
            }
            return AudioSource::Files { path };
        }
        let seconds = |text: &str| {
            let span = values::span(&Value::Text(text.to_owned()))?.as_secs_f64();
            let is_short = span <= MOST_SECONDS;
            if is_short { Ok(span) } else { Err("is longer than 1h, the most for a sound") }
        };
        let length = self.audio_length.as_ref().map(ToString::to_string);
        let parsed = length.as_deref().map(|text| (text, Distribution::parse(text, seconds)));
        let length = match parsed {
            None => None,
            Some((_, Ok(length))) => Some(length),
            Some((text, Err(problem))) => {
                mistakes.add("audio_length", format!("`{text}` {problem}"));
                None
            }
        };
        AudioSource::Made { seconds: length.unwrap_or(Distribution::constant(10.0)) }
    }
}

/// The number of media of a request: 1 if it is not given.
fn count(key: &'static str, given: Option<&Value>, mistakes: &mut Mistakes) -> Distribution {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) if (0.0..=MOST_MEDIA).contains(&number) => Ok(number),
        _ => Err("is not a number from 0 to 256"),
    };
    let one = Distribution::constant(1.0);
    let Some(text) = given.map(ToString::to_string) else { return one };
    match Distribution::parse_whole(&text, number) {
        Ok(count) if count.mean() > 0.0 => count,
        Ok(_) => {
            mistakes.add(key, "is 0; give at least 1, or leave it out");
            one
        }
        Err(problem) => {
            mistakes.add(key, format!("`{text}` {problem}"));
            one
        }
    }
}

/// Reads `512x512` or `512x512:3,1080p:1`.
fn sizes(text: &str, mistakes: &mut Mistakes) -> Vec<ImageSize> {
    let each = text.split(',').map(|one| {
        let (size, weight) = one.split_once(':').unwrap_or((one, "1"));
        let side = |text: &str| text.parse().ok().filter(|side| (1..=MOST_PIXELS).contains(side));
        let of_name = NAMED.iter().find(|(name, ..)| *name == size.trim());
        let sides = of_name.map(|(_, width, height)| (*width, *height)).or_else(|| {
            let (width, height) = size.trim().split_once(['x', 'X'])?;
            Some((side(width)?, side(height)?))
        });
        let weight =
            weight.trim().parse().ok().filter(|weight: &f64| weight.is_finite() && *weight > 0.0);
        let (width, height) = sides?;
        Some(ImageSize { width, height, weight: weight? })
    });
    let sizes: Option<Vec<ImageSize>> = each.collect();
    sizes.unwrap_or_else(|| {
        let problem = format!(
            "`{text}` has a size that is not WIDTHxHEIGHT of 1 to {MOST_PIXELS} pixels, 360p, 720p, \
                1080p or 4k; write 512x512, or 512x512:3,1080p:1 with weights above 0"
        );
        mistakes.add("image_size", problem);
        Vec::new()
    })
}

/// The variant with the given name; the default without a name.
fn named<T: Default>(
    key: &'static str,
    given: Option<&String>,
    of: fn(&str) -> Option<T>,
    names: &[&str],
    mistakes: &mut Mistakes,
) -> T {
    let Some(text) = given else { return T::default() };
    of(text).unwrap_or_else(|| {
        let meant = did_you_mean(text, names.iter().copied());
        mistakes.add(key, format!("`{text}` is not one of {}{meant}", names.join(", ")));
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(keys: serde_json::Value) -> (Option<MediaPlan>, Vec<String>) {
        let mut mistakes = Mistakes::default();
        let plan = serde_json::from_value::<MediaKeys>(keys).unwrap().resolve(&mut mistakes);
        (plan, mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn any_key_of_a_medium_asks_for_one_of_it_and_absent_keys_have_their_defaults() {
        for (keys, shown) in [
            (json!({}), None),
            (json!({"images": 2}), Some("pictures: 2 of 512x512 (photo, jpeg, quality 85)")),
            (
                json!({"image_size": "720p:3, 64x32:0.5", "image_kind": "noise", "image_format": "png"}),
                Some("pictures: 1 of 1280x720:3,64x32:0.5 (noise, png)"),
            ),
            (
                json!({"images": "uniform:1..4", "image_files": "x", "audio": 1}),
                Some("pictures: uniform:1..4 of x; sounds: 1 of 10 s (voice-like, WAV, 16 kHz)"),
            ),
            (
                json!({"audio_length": "uniform:5s..30s", "media_reuse": "25%"}),
                Some(
                    "sounds: 1 of uniform:5..30 s (voice-like, WAV, 16 kHz); 25 % repeat earlier ones",
                ),
            ),
        ] {
            let (plan, mistakes) = resolved(keys);
            assert_eq!(mistakes, Vec::<String>::new());
            assert_eq!(plan.map(|plan| plan.to_string()).as_deref(), shown);
        }
    }

    #[test]
    fn each_wrong_key_of_media_is_one_mistake_that_names_it() {
        for (keys, told) in [
            (json!({"images": 0}), "images (--images): is 0"),
            (json!({"images": "1000"}), "from 0 to 256"),
            (json!({"image_size": "512"}), "is not WIDTHxHEIGHT"),
            (json!({"image_size": "0x5"}), "is not WIDTHxHEIGHT"),
            (json!({"image_size": "1x99999"}), "is not WIDTHxHEIGHT"),
            (json!({"image_size": "8x8:0"}), "weights above 0"),
            (json!({"image_kind": "phot"}), "did you mean `photo`"),
            (json!({"image_format": "webp"}), "is not one of jpeg, png"),
            (json!({"image_files": "x", "image_kind": "noise"}), "files have their own"),
            (json!({"audio_length": "2h"}), "longer than 1h"),
            (json!({"audio_files": "x", "audio_length": "2s"}), "files have their own"),
            (json!({"media_reuse": 0.5}), "needs pictures or sounds"),
            (json!({"media_reuse": 2, "images": 1}), "is not a share"),
            (json!({"media_reuse": 0.5, "image_files": "x"}), "files repeat"),
        ] {
            let (_, mistakes) = resolved(keys);
            assert!(mistakes.len() == 1 && mistakes[0].contains(told), "{told}: {mistakes:?}");
        }
    }
}
