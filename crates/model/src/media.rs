//! Pictures and sounds that requests send beside their text, and what records keep of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A kind of medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A sound.
    Audio,
}

crate::names!(MediaKind { Image => "image", Audio => "audio" });

/// A picture or a sound of a request: an encoded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// What it is.
    pub kind: MediaKind,
    /// The media type of the file, such as `image/jpeg`.
    pub media_type: &'static str,
    /// The identity of the file: media with equal identities have equal bytes.
    pub id: Box<str>,
    /// The bytes of the file in order. Media may share pieces, so that many of them fit into memory.
    pub pieces: Vec<Arc<[u8]>>,
    /// Width and height in pixels; 0 for a sound.
    pub size: (u32, u32),
    /// The duration of a sound in milliseconds; 0 for a picture.
    pub duration_ms: u32,
}

impl Media {
    /// The length of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// The number of pixels.
    pub fn pixels(&self) -> u64 {
        u64::from(self.size.0) * u64::from(self.size.1)
    }
}

/// What the media of a request were. All are 0 for a request of text only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaSent {
    /// The number of pictures.
    pub images: u32,
    /// The pixels of all pictures.
    pub pixels: u64,
    /// The number of sounds.
    pub sounds: u32,
    /// The duration of all sounds in milliseconds.
    pub audio_ms: u64,
    /// The bytes of all files, before they are written as text into the body.
    pub file_bytes: u64,
    /// The bytes of the body of the request.
    pub body_bytes: u64,
}

impl MediaSent {
    /// What a request with these media sends, if its body has this number of bytes.
    pub fn of(all: &[Media], body_bytes: u64) -> Self {
        let mut sent = Self::default();
        for media in all {
            match media.kind {
                MediaKind::Image => sent.images += 1,
                MediaKind::Audio => sent.sounds += 1,
            }
            sent.pixels += media.pixels();
            sent.audio_ms += u64::from(media.duration_ms);
            sent.file_bytes += media.bytes() as u64;
            sent.body_bytes = body_bytes;
        }
        sent
    }

    /// Whether the request had text only.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
