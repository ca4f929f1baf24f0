//! Made pictures. Pictures of one size are strips of 16 rows. A few are encoded as a whole; all others are one of these
//! with another strip in the middle, so a picture costs as much as one strip.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_model::stats::seed::{below, rng, unit};
use inferometer_model::{Media, MediaKind};
use inferometer_plan::{ImageFormat, ImageKind, ImageSize};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

use super::{jpeg, png};

/// The rows of a strip: those of the blocks of a JPEG file whose colours have half the resolution.
const STRIP: u32 = 16;
/// The number of pictures of each size that are encoded as a whole.
const WHOLE: u64 = 4;

/// Makes pictures.
pub(super) struct Pictures {
    kind: ImageKind,
    format: ImageFormat,
    sizes: Vec<ImageSize>,
    /// The pictures that are encoded as a whole, by size and number.
    whole: Mutex<BTreeMap<(u32, u32, u64), Arc<Whole>>>,
}

/// A picture that is encoded as a whole: what it shows, and its file without the strip in the middle.
struct Whole {
    scene: Scene,
    around: Around,
}

/// A file without a strip in its middle, in its format.
enum Around {
    Jpeg(jpeg::Around),
    Png(png::Around),
}

/// What a picture shows: the colours of its four corners, or noise.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    kind: ImageKind,
    size: (u32, u32),
    corners: [[f32; 3]; 4],
}

impl Pictures {
    pub(super) fn new(kind: ImageKind, format: ImageFormat, sizes: Vec<ImageSize>) -> Self {
        Self { kind, format, sizes, whole: Mutex::default() }
    }

    pub(super) fn differ(&self) -> bool {
        self.sizes.len() > 1
    }

    /// Draws the size of a picture and makes it. `seed` determines the pictures that are encoded as a whole.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng, seed: u64, id: &str) -> Media {
        let all: f64 = self.sizes.iter().map(|size| size.weight).sum();
        let mut left = unit(rng) * all;
        let drawn = self.sizes.iter().find(|size| {
            left -= size.weight;
            left < 0.0
        });
        let size = drawn.or(self.sizes.last()).map_or((1, 1), |size| (size.width, size.height));
        let whole = self.whole(seed, size, below(rng, WHOLE));
        let strip = whole.scene.rows(middle(size.1), rng, true);
        let (media_type, pieces) = match &whole.around {
            Around::Jpeg(around) => ("image/jpeg", around.with(&strip)),
            Around::Png(around) => ("image/png", around.with(&strip)),
        };
        Media { kind: MediaKind::Image, media_type, id: id.into(), pieces, size, duration_ms: 0 }
    }

    fn whole(&self, seed: u64, size: (u32, u32), number: u64) -> Arc<Whole> {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let made = whole.entry((size.0, size.1, number)).or_insert_with(|| {
            let of = [u64::from(size.0), u64::from(size.1), number].map(|of| of.to_string());
            let mut rng = rng(seed, &["whole picture", &of[0], &of[1], &of[2]]);
            let scene = Scene::drawn(self.kind, size, &mut rng);
            let rows = scene.rows((0, size.1), &mut rng, false);
            let around = match self.format {
                ImageFormat::Jpeg => Around::Jpeg(jpeg::Around::of(&rows, size, middle(size.1))),
                ImageFormat::Png => Around::Png(png::Around::of(&rows, size, middle(size.1))),
            };
            Arc::new(Whole { scene, around })
        });
        Arc::clone(made)
    }
}

/// The first row of the strip in the middle of a picture, and the row after it.
fn middle(height: u32) -> (u32, u32) {
    let from = height.div_ceil(STRIP) / 2 * STRIP;
    let from = if from < height { from } else { from - STRIP };
    (from, height.min(from + STRIP))
}

impl Scene {
    fn drawn(kind: ImageKind, size: (u32, u32), rng: &mut ChaCha8Rng) -> Self {
        let mut colour = || std::array::from_fn(|_| 40.0 + 176.0 * unit(rng) as f32);
        let corners = match kind {
            ImageKind::Solid => [colour(); 4],
            ImageKind::Photo | ImageKind::Noise => std::array::from_fn(|_| colour()),
        };
        Self { kind, size, corners }
    }

    /// The pixels of some rows, as RGB. `is_own` asks for a strip that no other picture has: a picture of one colour
    /// then begins with a block of noise.
    fn rows(&self, (from, until): (u32, u32), rng: &mut ChaCha8Rng, is_own: bool) -> Vec<u8> {
        let (width, height) = self.size;
        let mut pixels = vec![0; (width * (until - from) * 3) as usize];
        if self.kind == ImageKind::Noise {
            rng.fill_bytes(&mut pixels);
            return pixels;
        }
        let place = |at: u32, of: u32| at as f32 / of.saturating_sub(1).max(1) as f32;
        for (y, row) in (from..until).zip(pixels.chunks_exact_mut(width as usize * 3)) {
            let down = place(y, height);
            for (x, pixel) in (0..width).zip(row.as_chunks_mut::<3>().0) {
                let right = place(x, width);
                let [a, b, c, d] = self.corners;
                let is_noise = self.kind == ImageKind::Solid && is_own && x < STRIP;
                for channel in 0..3 {
                    let top = a[channel] + (b[channel] - a[channel]) * right;
                    let bottom = c[channel] + (d[channel] - c[channel]) * right;
                    let value = top + (bottom - top) * down;
                    let noise = match self.kind {
                        ImageKind::Photo => light_noise(rng),
                        _ if is_noise => 30.0 * light_noise(rng),
                        _ => 0.0,
                    };
                    pixel[channel] = (value + noise).round().clamp(0.0, 255.0) as u8;
                }
            }
        }
        pixels
    }
}

/// A number that is about normal, with mean 0 and standard deviation 6: the sum of four uniform bytes.
fn light_noise(rng: &mut ChaCha8Rng) -> f32 {
    const DEVIATION_OF_SUM: f32 = 147.8;
    let sum: u16 = rng.next_u32().to_le_bytes().map(u16::from).into_iter().sum();
    (f32::from(sum) - 510.0) * (6.0 / DEVIATION_OF_SUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(pictures: &Pictures, number: u64) -> Vec<u8> {
        let mut rng = rng(1, &[&number.to_string()]);
        pictures.draw(&mut rng, 1, "").pieces.concat()
    }

    fn pictures(kind: ImageKind, format: ImageFormat, size: (u32, u32)) -> Pictures {
        Pictures::new(kind, format, vec![ImageSize { width: size.0, height: size.1, weight: 1.0 }])
    }

    #[test]
    fn a_picture_put_together_of_strips_is_the_file_of_its_pixels() {
        for size in [(1, 1), (16, 16), (17, 33), (200, 100), (64, 15)] {
            for kind in ImageKind::ALL {
                let mut rng = rng(3, &[kind.name()]);
                let scene = Scene::drawn(kind, size, &mut rng);
                let rows = scene.rows((0, size.1), &mut rng, false);
                let (from, until) = middle(size.1);
                let own = scene.rows((from, until), &mut rng, true);
                let at = |row: u32| (row * size.0 * 3) as usize;
                let whole = [&rows[..at(from)], &own, &rows[at(until)..]].concat();
                let of_strips = jpeg::Around::of(&rows, size, (from, until)).with(&own).concat();
                assert!(of_strips == jpeg::whole(&whole, size), "{kind:?} {size:?}");
                let file = png::Around::of(&rows, size, (from, until)).with(&own).concat();
                let mut reader =
                    ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
                let mut pixels = vec![0; whole.len()];
                let info = reader.next_frame(&mut pixels).unwrap();
                reader.finish().unwrap();
                assert_eq!((info.width, info.height), size);
                assert!(pixels == whole, "{kind:?} {size:?}");
            }
        }
    }

    #[test]
    fn no_two_pictures_are_equal_and_photos_take_about_a_bit_per_pixel() {
        for (kind, format, bits) in [
            (ImageKind::Photo, ImageFormat::Jpeg, 0.7..1.7),
            (ImageKind::Noise, ImageFormat::Jpeg, 4.0..9.0),
            (ImageKind::Solid, ImageFormat::Jpeg, 0.0..0.4),
            (ImageKind::Photo, ImageFormat::Png, 12.0..20.0),
        ] {
            let pictures = pictures(kind, format, (256, 256));
            let all: Vec<Vec<u8>> = (0..20).map(|number| drawn(&pictures, number)).collect();
            for (at, one) in all.iter().enumerate() {
                assert!(!all[..at].contains(one), "{kind:?}");
                let found = one.len() as f64 * 8.0 / 65_536.0;
                assert!(bits.contains(&found), "{kind:?} {format:?}: {found}");
            }
        }
    }

    #[test]
    fn sizes_are_drawn_by_their_weights() {
        let size = |width, weight| ImageSize { width, height: 8, weight };
        let sizes = vec![size(8, 3.0), size(16, 1.0)];
        let pictures = Pictures::new(ImageKind::Solid, ImageFormat::Jpeg, sizes);
        let mut rng = rng(1, &["sizes"]);
        let small = (0..400).filter(|_| pictures.draw(&mut rng, 1, "").size.0 == 8).count();
        assert!((270..330).contains(&small), "{small}");
    }
}
