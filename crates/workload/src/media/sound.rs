//! Made sounds: voice-like, so that a model of speech does not take them for silence or noise. A tone with overtones
//! changes its pitch slowly and comes in syllables.

use std::f64::consts::TAU;
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_model::load::distribution::Distribution;
use inferometer_model::stats::portable::cos;
use inferometer_model::stats::seed::unit;
use inferometer_model::{Media, MediaKind};
use rand_chacha::ChaCha8Rng;

/// Samples per second, of 16 bits and one channel.
const SAMPLES_PER_S: u32 = 16_000;
/// Sounds are lists of parts of this number of samples: a tenth of a second.
const PART: u32 = SAMPLES_PER_S / 10;
/// After this number of parts, a sound begins again.
const PARTS: usize = 600;

/// Makes sounds of a duration.
pub(super) struct Voice {
    seconds: Distribution,
    /// The parts that all sounds share, from the first one on.
    parts: Mutex<Vec<Arc<[u8]>>>,
}

impl Voice {
    pub(super) fn new(seconds: Distribution) -> Self {
        Self { seconds, parts: Mutex::default() }
    }

    pub(super) fn differ(&self) -> bool {
        !matches!(self.seconds, Distribution::Constant { .. })
    }

    /// Draws a duration, in tenths of a second, and makes a sound. Its first part is its own, with its own pitch.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng, id: &str) -> Media {
        let count = (self.seconds.draw(rng) * 10.0).round().max(1.0) as u32;
        let pitch = 100.0 + 80.0 * unit(rng);
        let mut first = header(count * PART * 2);
        first.extend(part(0, pitch));
        let mut pieces = vec![first.into()];
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 1..count as usize {
            let number = number % PARTS;
            while parts.len() <= number {
                let next = part(parts.len() as u32 * PART, 130.0).into();
                parts.push(next);
            }
            pieces.push(Arc::clone(&parts[number]));
        }
        Media {
            kind: MediaKind::Audio,
            media_type: "audio/wav",
            id: id.into(),
            pieces,
            size: (0, 0),
            duration_ms: count * 100,
        }
    }
}

/// The samples of a part that begins at this sample.
fn part(from: u32, pitch: f64) -> Vec<u8> {
    let sample = |at: u32| {
        let s = f64::from(at) / f64::from(SAMPLES_PER_S);
        // The pitch varies by some percent; the overtones of a voice fall by about 6 dB per octave.
        let phase = TAU * pitch * s + 2.0 * cos(TAU * 0.7 * s);
        let tone: f64 = (1..=8).map(|n| cos(phase * f64::from(n)) / f64::from(n)).sum();
        // Four syllables per second, with pauses between them.
        let syllable = cos(TAU * 2.0 * s).abs() * (0.6 + 0.4 * cos(TAU * 0.3 * s));
        (tone * syllable * 9_000.0).clamp(-32_767.0, 32_767.0) as i16
    };
    (from..from + PART).flat_map(|at| sample(at).to_le_bytes()).collect()
}

/// The header of a WAV file with this number of bytes of samples.
fn header(bytes: u32) -> Vec<u8> {
    let mut header = b"RIFF".to_vec();
    header.extend((36 + bytes).to_le_bytes());
    header.extend(b"WAVEfmt ");
    header.extend(16_u32.to_le_bytes());
    // PCM, one channel.
    header.extend([1, 0, 1, 0]);
    header.extend(SAMPLES_PER_S.to_le_bytes());
    header.extend((SAMPLES_PER_S * 2).to_le_bytes());
    // Bytes of a sample of all channels, and its bits.
    header.extend([2, 0, 16, 0]);
    header.extend(b"data");
    header.extend(bytes.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use inferometer_model::stats::seed::rng;

    use super::*;

    #[test]
    fn a_sound_is_a_wav_file_of_its_duration_and_is_neither_silent_nor_equal_to_others() {
        let voice = Voice::new(Distribution::Uniform { least: 0.5, most: 2.0 });
        let mut rng = rng(1, &["sounds"]);
        let mut files: Vec<Vec<u8>> = Vec::new();
        for _ in 0..20 {
            let media = voice.draw(&mut rng, "");
            let file = media.pieces.concat();
            let samples = file.len() - 44;
            assert_eq!(samples as u32, media.duration_ms * 32);
            assert!((500..=2_000).contains(&media.duration_ms));
            assert_eq!(super::super::files::wav_ms(&file), Some(media.duration_ms));
            let loud = file[44..].as_chunks::<2>().0.iter().map(|&two| i16::from_le_bytes(two));
            let mean = loud.map(|it| f64::from(it).abs()).sum::<f64>() / (samples / 2) as f64;
            assert!((1_000.0..20_000.0).contains(&mean), "{mean}");
            assert!(!files.contains(&file));
            files.push(file);
        }
    }
}
