//! The pictures and sounds of requests, as data.

use std::fmt;

use inferometer_model::MediaKind;
use inferometer_model::load::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// The quality of the JPEG files that this program makes, of 100.
pub const JPEG_QUALITY: u8 = 85;

/// Pictures and sounds after the text of each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaPlan {
    /// The pictures; absent if requests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImagesPlan>,
    /// The sounds; absent if requests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioPlan>,
    /// The share of media that repeat an earlier one of their pass, from 0 to 1. All others have bytes of their own.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub reuse: f64,
}

/// The pictures of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImagesPlan {
    /// How many.
    pub count: Distribution,
    /// Where they come from.
    pub source: ImageSource,
}

/// Where pictures come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// This program makes them.
    Made {
        /// What they show.
        kind: ImageKind,
        /// The format of their files.
        format: ImageFormat,
        /// Their sizes.
        sizes: Vec<ImageSize>,
    },
    /// A file, or the files of a folder.
    Files {
        /// The path.
        path: String,
    },
}

/// A size of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageSize {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// How many pictures have it, relative to the other sizes.
    pub weight: f64,
}

/// What made pictures show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// Smooth gradients with light noise: about one bit per pixel as JPEG, like a photo.
    #[default]
    Photo,
    /// Every pixel has a random colour: the largest files.
    Noise,
    /// One colour: the smallest files.
    Solid,
}

inferometer_model::names!(ImageKind { Photo => "photo", Noise => "noise", Solid => "solid" });

/// The format of made pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageFormat {
    /// JPEG of the quality [`JPEG_QUALITY`].
    #[default]
    Jpeg,
    /// PNG.
    Png,
}

inferometer_model::names!(ImageFormat { Jpeg => "jpeg", Png => "png" });

/// The sounds of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AudioPlan {
    /// How many.
    pub count: Distribution,
    /// Where they come from.
    pub source: AudioSource,
}

/// Where sounds come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudioSource {
    /// This program makes them: a voice-like sound, as WAV of 16,000 samples per second with 16 bits.
    Made {
        /// How long they are, in seconds.
        seconds: Distribution,
    },
    /// A WAV file, or those of a folder.
    Files {
        /// The path.
        path: String,
    },
}

impl MediaPlan {
    /// The kinds of media.
    pub fn kinds(&self) -> Vec<MediaKind> {
        let given = [self.images.is_some(), self.audio.is_some()];
        let kinds = MediaKind::ALL.into_iter().zip(given);
        kinds.filter_map(|(kind, is_given)| is_given.then_some(kind)).collect()
    }
}

/// One line for people: `1 picture of 512x512 (photo, jpeg, quality 85)`.
impl fmt::Display for MediaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut and = "";
        if let Some(ImagesPlan { count, source }) = &self.images {
            write!(f, "pictures: {count} of {source}")?;
            and = "; ";
        }
        if let Some(AudioPlan { count, source }) = &self.audio {
            write!(f, "{and}sounds: {count} of {source}")?;
        }
        if self.reuse > 0.0 {
            write!(f, "; {} % repeat earlier ones", self.reuse * 100.0)?;
        }
        Ok(())
    }
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { path } => f.write_str(path),
            Self::Made { kind, format, sizes } => {
                let sizes: Vec<String> = sizes
                    .iter()
                    .map(|size| match sizes.len() {
                        1 => format!("{}x{}", size.width, size.height),
                        _ => format!("{}x{}:{}", size.width, size.height, size.weight),
                    })
                    .collect();
                write!(f, "{} ({}, {}", sizes.join(","), kind.name(), format.name())?;
                match format {
                    ImageFormat::Jpeg => write!(f, ", quality {JPEG_QUALITY})"),
                    ImageFormat::Png => f.write_str(")"),
                }
            }
        }
    }
}

impl fmt::Display for AudioSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { path } => f.write_str(path),
            Self::Made { seconds } => write!(f, "{seconds} s (voice-like, WAV, 16 kHz)"),
        }
    }
}
