//! Pictures and sounds in the messages of a chat: how many prompt tokens they are. The rules are those of Qwen2-VL and
//! Qwen2-Audio. Nothing is fetched: a file stands in the request, as base64.

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{Prompt, Reply};

/// Sides of pictures are rounded to multiples of this number of pixels: two patches of 14.
const SIDE: u32 = 28;
/// A picture is scaled so that it has at least and at most this number of tokens.
const LEAST_TOKENS: f64 = 4.0;
const MOST_TOKENS: f64 = 1_280.0;
/// The longest side may be this many times the shortest one.
const MOST_ASPECT: u32 = 200;
/// The tokens of a second of sound.
const TOKENS_PER_S: u32 = 25;

/// The prompt tokens of media.
#[derive(Clone, Copy, Default)]
pub(super) struct MediaTokens {
    pub(super) image: u32,
    pub(super) audio: u32,
}

/// The prompt of one part of a message that is no text.
pub(super) fn part(part: &Value) -> Result<Prompt, Reply> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (tokens, file) = match part["type"].as_str() {
        Some("image_url") => {
            let url = text(&part["image_url"]["url"]).or_else(|| text(&part["image_url"]));
            let url = url.ok_or_else(|| refused("`image_url` must have a `url`"))?;
            let file = url.split_once(";base64,").filter(|(before, _)| before.starts_with("data:"));
            let (_, file) = file.ok_or_else(|| refused("only base64 data URIs are accepted"))?;
            let size = imagesize::blob_size(&decoded(file)?);
            let size = size.map_err(|_| refused("cannot identify image file"))?;
            let tokens = image_tokens(size.width as u32, size.height as u32)?;
            (MediaTokens { image: tokens, audio: 0 }, file.to_owned())
        }
        Some("input_audio") => {
            let file = text(&part["input_audio"]["data"]);
            let file = file.ok_or_else(|| refused("`input_audio` must have `data`"))?;
            let tokens = audio_tokens(&decoded(&file)?)?;
            (MediaTokens { image: 0, audio: tokens }, file)
        }
        kind => {
            let kind = kind.unwrap_or("without a type");
            return Err(refused(&format!("a part of a message is {kind}, which is not served")));
        }
    };
    // Equal files have equal token ids, so that they share blocks of the prefix cache.
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let hash = hasher.finish();
    let count = tokens.image + tokens.audio;
    let ids = (0..u64::from(count)).map(|at| (hash.wrapping_add(at * 0x9e37_79b9)) as u32);
    Ok(Prompt {
        tokens: count,
        key: hash.to_le_bytes().to_vec(),
        ids: ids.collect(),
        media: tokens,
    })
}

fn refused(why: &str) -> Reply {
    Reply::error(400, &format!("Media: {why}."))
}

fn decoded(file: &str) -> Result<Vec<u8>, Reply> {
    BASE64_STANDARD.decode(file).map_err(|_| refused("the file is not base64"))
}

/// The tokens of a picture.
fn image_tokens(width: u32, height: u32) -> Result<u32, Reply> {
    let (short, long) = (width.min(height), width.max(height));
    if short == 0 || long / short >= MOST_ASPECT {
        return Err(refused("absolute aspect ratio must be smaller than 200"));
    }
    let [width, height] = [width, height].map(f64::from);
    let side = f64::from(SIDE);
    let rounded = |pixels: f64| (pixels / side).round_ties_even().max(1.0);
    let tokens = rounded(width) * rounded(height);
    let area = width * height / (side * side);
    let scaled = |most: f64, round: fn(f64) -> f64| {
        let scale = (area / most).sqrt();
        round(width / scale / side).max(1.0) * round(height / scale / side).max(1.0)
    };
    Ok(match tokens {
        tokens if tokens > MOST_TOKENS => scaled(MOST_TOKENS, f64::floor),
        tokens if tokens < LEAST_TOKENS => scaled(LEAST_TOKENS, f64::ceil),
        tokens => tokens,
    } as u32)
}

/// The tokens of a WAV file whose header has the usual length.
fn audio_tokens(file: &[u8]) -> Result<u32, Reply> {
    let number = |at: usize| file.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let is_wav = file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WAVE");
    let bytes_per_s = number(28).filter(|rate| is_wav && *rate > 0);
    let bytes_per_s = bytes_per_s.ok_or_else(|| refused("the sound is not a WAV file"))?;
    let seconds = file.len().saturating_sub(44) as f64 / f64::from(bytes_per_s);
    Ok((seconds * f64::from(TOKENS_PER_S)).ceil().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_tokens_of_qwen2_vl() {
        // As `smart_resize` of transformers counts them.
        for (width, height, tokens) in [
            (28, 28, 4),
            (56, 56, 4),
            (512, 512, 324),
            (640, 360, 299),
            (1024, 1024, 1225),
            (1920, 1080, 1222),
            (3840, 2160, 1222),
            (1000, 6, 36),
        ] {
            let found = image_tokens(width, height).ok();
            assert_eq!(found, Some(tokens), "{width}x{height}");
        }
        assert!(image_tokens(400, 2).is_err() && image_tokens(0, 5).is_err());
    }
}
