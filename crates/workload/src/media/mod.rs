//! Pictures and sounds after the text of requests: made ones, or those of files. A medium is a list of pieces. Made media
//! share all pieces but a small one of their own, so each has its own bytes at little cost in time and memory.

mod files;
mod jpeg;
mod picture;
mod png;
mod sound;

use std::sync::Arc;

use inferometer_model::load::distribution::Distribution;
use inferometer_model::stats::seed::{below, rng, unit};
use inferometer_model::{Media, MediaKind};
use inferometer_plan::{AudioSource, ImageSource, MediaPlan};
use rand_chacha::ChaCha8Rng;

use crate::{Note, PromptScope, RequestBatch, WorkloadError};
use files::Files;
use picture::Pictures;
use sound::Voice;

/// A medium that repeats an earlier one repeats one of the last requests: of this number.
const LAST: u64 = 256;

/// Makes the media of requests. The same plan, seed, salt, scope and index give the same media.
#[derive(Clone)]
pub struct MediaMaker(Arc<Maker>);

struct Maker {
    plan: MediaPlan,
    seed: u64,
    salt: String,
    images: Option<Images>,
    sounds: Option<Sounds>,
}

enum Images {
    Made(Pictures),
    Files(Files),
}

enum Sounds {
    Made(Voice),
    Files(Files),
}

/// The place of a medium: its request, and its number among the media of the same kind.
#[derive(Clone, Copy)]
struct Place<'a> {
    scope: &'a PromptScope,
    index: u64,
    number: u32,
}

impl MediaMaker {
    /// Opens the files of a plan, or prepares to make media.
    ///
    /// # Errors
    /// If a file cannot be used, or there is none.
    pub fn open(plan: &MediaPlan, seed: u64, salt: &str) -> Result<Self, WorkloadError> {
        let images = plan.images.as_ref().map(|images| match &images.source {
            ImageSource::Made { kind, format, sizes } => {
                Ok(Images::Made(Pictures::new(*kind, *format, sizes.clone())))
            }
            ImageSource::Files { path } => files::images(path, seed).map(Images::Files),
        });
        let sounds = plan.audio.as_ref().map(|audio| match audio.source {
            AudioSource::Made { seconds } => Ok(Sounds::Made(Voice::new(seconds))),
            AudioSource::Files { ref path } => files::sounds(path, seed).map(Sounds::Files),
        });
        Ok(Self(Arc::new(Maker {
            plan: plan.clone(),
            seed,
            salt: salt.to_owned(),
            images: images.transpose()?,
            sounds: sounds.transpose()?,
        })))
    }

    /// Adds media to the requests of a pass from the index `first` on. If media differ in size, number or duration,
    /// requests without a class get one by them.
    pub(crate) fn add_to(
        &self,
        RequestBatch { requests, notes }: &mut RequestBatch,
        scope: &PromptScope,
        first: u64,
    ) {
        let Self(maker) = self;
        let sent = scope.used_before + first + requests.len() as u64;
        for (kind, files) in maker.files() {
            if sent > files {
                notes.push(Note::FilesAgain { kind, files });
            }
        }
        for (index, request) in (first..).zip(requests) {
            let mut places = maker.rng("number of media", Place { scope, index, number: 0 });
            let mut of = |count: &Distribution| {
                let count = count.whole(&mut places, 0);
                (0..count).map(move |number| Place { scope, index, number })
            };
            if let Some((plan, images)) = maker.plan.images.as_ref().zip(maker.images.as_ref()) {
                request.media.extend(of(&plan.count).map(|place| maker.image(images, place)));
            }
            if let Some((plan, sounds)) = maker.plan.audio.as_ref().zip(maker.sounds.as_ref()) {
                request.media.extend(of(&plan.count).map(|place| maker.sound(sounds, place)));
            }
            if request.class.is_none() && maker.differ() {
                request.class = Some(class(&request.media).into());
            }
        }
    }
}

impl Maker {
    /// The number of files of each kind that is read from files.
    fn files(&self) -> Vec<(&'static str, u64)> {
        let pictures = match &self.images {
            Some(Images::Files(files)) => Some(("pictures", files.count())),
            _ => None,
        };
        let sounds = match &self.sounds {
            Some(Sounds::Files(files)) => Some(("sounds", files.count())),
            _ => None,
        };
        pictures.into_iter().chain(sounds).collect()
    }

    fn rng(&self, what: &str, Place { scope, index, number }: Place<'_>) -> ChaCha8Rng {
        let PromptScope { cell, pass, repeat, .. } = scope;
        let of = [*repeat, number].map(|number| number.to_string());
        rng(self.seed, &[what, &self.salt, cell, pass, &of[0], &of[1], &index.to_string()])
    }

    /// The place whose medium this place has: an earlier one if the medium repeats, and the random stream of this medium.
    fn original<'a>(&self, what: &str, mut place: Place<'a>) -> (Place<'a>, ChaCha8Rng) {
        loop {
            let mut rng = self.rng(what, place);
            if place.index == 0 || self.plan.reuse == 0.0 || unit(&mut rng) >= self.plan.reuse {
                return (place, rng);
            }
            place.index -= 1 + below(&mut rng, place.index.min(LAST));
            place.number = 0;
        }
    }

    fn image(&self, images: &Images, place: Place<'_>) -> Media {
        match images {
            Images::Files(files) => files.at(place),
            Images::Made(pictures) => {
                let (place, mut rng) = self.original("picture", place);
                pictures.draw(&mut rng, self.seed, &self.id("picture", place))
            }
        }
    }

    fn sound(&self, sounds: &Sounds, place: Place<'_>) -> Media {
        match sounds {
            Sounds::Files(files) => files.at(place),
            Sounds::Made(voice) => {
                let (place, mut rng) = self.original("sound", place);
                voice.draw(&mut rng, &self.id("sound", place))
            }
        }
    }

    /// The identity of a made medium. With its plan, it determines the bytes.
    fn id(&self, what: &str, Place { scope, index, number }: Place<'_>) -> String {
        let PromptScope { cell, pass, repeat, .. } = scope;
        let Self { plan, seed, salt, .. } = self;
        format!("{what} {number} of {index} in {cell}, {pass}, {repeat}; {seed}, {salt}; {plan}")
    }

    /// Whether the media of requests differ in number, size or duration.
    fn differ(&self) -> bool {
        let several = |count| !matches!(count, Distribution::Constant { .. });
        let images = self.plan.images.as_ref().zip(self.images.as_ref());
        let audio = self.plan.audio.as_ref().zip(self.sounds.as_ref());
        images.is_some_and(|(plan, images)| {
            several(plan.count)
                || match images {
                    Images::Made(pictures) => pictures.differ(),
                    Images::Files(files) => files.differ(),
                }
        }) || audio.is_some_and(|(plan, sounds)| {
            several(plan.count)
                || match sounds {
                    Sounds::Made(voice) => voice.differ(),
                    Sounds::Files(files) => files.differ(),
                }
        })
    }
}

/// The class of a request by its media: `2 x 512x512`, or if pictures differ, their number and all their megapixels;
/// for sounds the next power of two of all their seconds.
fn class(media: &[Media]) -> String {
    let (mut pictures, mut pixels, mut same, mut ms) = (0_u32, 0, None, 0);
    for one in media {
        match one.kind {
            MediaKind::Image => {
                pictures += 1;
                pixels += one.pixels();
                same = Some(one.size).filter(|size| pictures == 1 || same == Some(*size));
            }
            MediaKind::Audio => ms += u64::from(one.duration_ms),
        }
    }
    let mut parts = Vec::new();
    match (pictures, same) {
        (0, _) => {}
        (1, Some((width, height))) => parts.push(format!("picture {width}x{height}")),
        (_, Some((width, height))) => parts.push(format!("{pictures} pictures {width}x{height}")),
        (_, None) => {
            let megapixels = pixels.div_ceil(1_000_000);
            parts.push(format!("{pictures} pictures, up to {megapixels} MP"));
        }
    }
    if ms > 0 {
        parts.push(format!("audio up to {} s", ms.div_ceil(1_000).next_power_of_two()));
    }
    if parts.is_empty() { "text only".to_owned() } else { parts.join(", ") }
}
