//! Responds with a file of a run. The report crate makes the content of the file.

use inferometer_report::{page, plot};

use crate::{PageError, Site, files};
use inferometer_net::http::pages::{RequestTarget, Response};

/// The number of pixels of a PNG image per pixel of the SVG drawing.
const PNG_SCALE: f32 = 2.0;

/// The file `/runs/RUN/FILE`.
pub(crate) fn file(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let stored = site.store.run(target.segment(1))?;
    let name = target.segment(2);
    let missing = || PageError::NotFound(format!("run {} has no file {name}", stored.row.id));
    let summary = stored.summary.as_ref().ok_or_else(missing)?;
    let report = site.reports.of_run(&stored, summary)?;
    if let Some((content_type, text)) = files::text(name, &stored, summary, &report.parts) {
        let answer = Response::new(content_type, text.into_bytes());
        return Ok(match name {
            // The report is a complete document with its own style and script, so it needs its own
            // content security policy.
            "report.html" => {
                let policy = page::policy("frame-ancestors 'none'");
                answer.with_header("content-security-policy", policy)
            }
            _ => answer,
        });
    }
    let (stem, end) = name.rsplit_once('.').ok_or_else(missing)?;
    if !["svg", "png"].contains(&end) {
        return Err(missing());
    }
    let svg = files::picture(stem, &report.parts).ok_or_else(missing)?;
    if end == "svg" {
        return Ok(Response::new("image/svg+xml", svg.into_bytes()));
    }
    match plot::png(&svg, PNG_SCALE) {
        Ok(png) => Ok(Response::new("image/png", png)),
        Err(error) => Err(PageError::BadQuery(error.to_string())),
    }
}
