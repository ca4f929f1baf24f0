//! The live view of a run in progress, from its log so far. A browser without scripts reloads the page; a
//! browser with scripts receives events with the same HTML. Latencies are rounded up by at most 1/32 here, so
//! a report shows slightly different ones.

use inferometer_analysis::so_far::SoFar;
use inferometer_model::sample::{Quantity, ServerSample};
use inferometer_model::{OutcomeKind, Statistic, stats::histogram::Histogram};
use inferometer_net::wall_clock_ns;
use inferometer_plan::Plan;
use inferometer_store::{LiveNote, RunState, StoredRun};

use crate::follow::{Follow, PassSoFar};
use crate::page::charts::{distributions, ms, over_time};
use crate::page::lines::{RunLine, lines};
use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{Event, RequestTarget, Response, link};

/// The time, in nanoseconds, for which a live note is valid. A run writes a note every second.
const NOTE_VALID_NS: u64 = 10_000_000_000;
/// The maximum number of logs that stay open.
const MAX_FOLLOWED: usize = 128;

/// The page `/live`: the list of runs in progress. If there is exactly one, a redirect to its live view.
pub(crate) fn in_progress(site: &mut Site, _: &RequestTarget) -> Result<Response, PageError> {
    let running: Vec<RunLine> =
        lines(&site.store)?.into_iter().filter(RunLine::is_running).collect();
    if let [only] = running.as_slice() {
        return Ok(Response::redirect(link(&["runs", &only.id, "live"], &[])));
    }
    let mut content = Html::new();
    content.raw("<h1>In progress</h1>\n");
    if running.is_empty() {
        content.raw("<p>No run of this store is in progress. Start one with <code>inferometer ");
        content.raw("run</code>. This page then shows its progress.</p>\n");
    }
    content.raw("<ul>\n");
    for line in running.iter().rev() {
        content.raw("<li>").link(&link(&["runs", &line.id, "live"], &[]), &line.id);
        content.text(&format!(" {} on {}", line.model, line.engine)).raw("</li>\n");
    }
    content.raw("</ul>\n");
    let layout = Layout { title: "In progress", section: Section::Live, is_live: true };
    Ok(html_response(&layout.wrap(&content)))
}

/// The page `/runs/RUN/live`.
pub(crate) fn live(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let stored = site.store.run(target.segment(1))?;
    let id = stored.row.id.to_string();
    let (view, is_over) = view(site, &stored)?;
    let mut content = Html::new();
    content.raw("<h1>").text(&format!("{} · {id}", stored.row.model)).raw("</h1>\n");
    content.raw("<div id=\"live\"");
    if !is_over {
        content.attribute("data-events", &link(&["runs", &id, "events"], &[]));
    }
    content.raw(">\n").append(&view).raw("</div>\n");
    let layout = Layout { title: "Live", section: Section::Live, is_live: !is_over };
    Ok(html_response(&layout.wrap(&content)))
}

/// The server-sent events `/runs/RUN/events`.
pub(crate) fn events(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let run = site.store.run(target.segment(1))?.row.id.to_string();
    Ok(Response::events(run))
}

/// The next event about a run: one line of JSON with the HTML of its live view, and whether it is the
/// last event.
pub(crate) fn event(site: &mut Site, run: &str) -> Event {
    let stored = site.store.run(run).map_err(PageError::from);
    let (view, is_last) = stored.and_then(|stored| view(site, &stored)).unwrap_or_else(|error| {
        let mut message = Html::new();
        message.paragraph(&error.to_string());
        (message, true)
    });
    let data = serde_json::json!({ "markup": view.as_str(), "last": is_last }).to_string();
    Event { data, is_last }
}

/// The HTML of the live view, and whether this HTML is final because the run has ended.
fn view(site: &mut Site, stored: &StoredRun) -> Result<(Html, bool), PageError> {
    let id = stored.row.id.as_str();
    let plan: Option<Plan> = serde_json::from_str(&stored.plan_json).ok();
    if !site.followed.contains_key(id) {
        while site.followed.len() >= MAX_FOLLOWED {
            let oldest = site.followed.iter().min_by_key(|(_, follow)| follow.looked_at);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            site.followed.remove(&oldest);
        }
        let is_search = plan.as_ref().is_some_and(|plan| plan.procedure.chooses_loads());
        if !stored.log.is_file() {
            let why = format!("run {id} has no records: its log does not exist");
            return Err(PageError::NotFound(why));
        }
        site.followed.insert(id.to_owned(), Follow::of(stored.reader()?, is_search));
    }
    let follow = site.followed.get_mut(id).expect("invariant: the log was just inserted");
    if let Err(error) = follow.look() {
        site.followed.remove(id);
        return Err(error.into());
    }
    let is_over =
        !follow.is_behind && (follow.ending.is_some() || stored.row.state != RunState::Running);
    let note = LiveNote::read(&site.store.live_note(&stored.row.id));
    let note = note.filter(|note| stored.row.state == RunState::Running && is_fresh(note));
    let mut out = Html::new();
    state(&mut out, stored, follow);
    if let Some(pass) = follow.passes.last() {
        plan_progress(&mut out, follow, plan.as_ref());
        let note = note.filter(|note| note.pass == pass.begin.pass && pass.ending.is_none());
        current(&mut out, pass, note.as_ref());
    }
    passes(&mut out, &follow.passes);
    if is_over {
        site.followed.remove(id);
    }
    Ok((out, is_over))
}

/// Whether the note is recent. An old note is from an earlier pass, or from a run that was killed.
fn is_fresh(note: &LiveNote) -> bool {
    wall_clock_ns().saturating_sub(note.at_unix_ns) < NOTE_VALID_NS
}

/// Appends the state of the run in words.
fn state(out: &mut Html, stored: &StoredRun, follow: &Follow) {
    let id = stored.row.id.as_str();
    let text = match (stored.row.state, follow.ending, follow.is_behind) {
        (_, _, true) => "Reading the records so far …".to_owned(),
        (RunState::Running, None, _) => "In progress. Completed so far:".to_owned(),
        (RunState::Running, Some(_), _) => {
            "All passes have ended; the results are being stored.".to_owned()
        }
        (state, ..) => format!("This run is {}.", state.name()),
    };
    out.raw("<p role=\"status\">").text(&text);
    if stored.summary.is_some() {
        out.raw(" ").link(&link(&["runs", id], &[]), "Open its report");
    }
    out.raw("</p>\n");
    if follow.passes.is_empty() {
        out.paragraph(
            "No pass has started. Before the first pass, servers start, prompts are made, and \
            the warm-up runs.",
        );
    }
}

/// Appends the number of ended passes, and a progress bar.
fn plan_progress(out: &mut Html, follow: &Follow, plan: Option<&Plan>) {
    let Some(plan) = plan else { return };
    let done = follow.passes.iter().filter(|pass| pass.ending.is_some()).count();
    let (all, up_to) = match plan.procedure.most_trials() {
        Some(trials) => (plan.cells.len() * trials as usize, "up to "),
        None => {
            let once: usize = plan.cells.iter().map(|cell| plan.passes_of(*cell).len()).sum();
            let is_open = plan.repeat.at_least < plan.repeat.at_most;
            (once * plan.repeat.at_most as usize, if is_open { "up to " } else { "" })
        }
    };
    let all = all.max(done);
    progress(out, &format!("{done} of {up_to}{all} passes have ended"), done as u64, all as u64);
}

fn progress(out: &mut Html, label: &str, done: u64, all: u64) {
    out.raw("<p><label>").text(label).raw(" <progress");
    out.attribute("value", &done.to_string()).attribute("max", &all.max(1).to_string());
    out.raw("></progress></label></p>\n");
}

/// Appends the details of the latest pass.
fn current(out: &mut Html, pass: &PassSoFar, note: Option<&LiveNote>) {
    out.raw("<h2>").text(&pass.name).raw("</h2>\n");
    let so_far = &pass.so_far;
    let recorded = so_far.outcomes.total();
    match pass.begin.plan.requests() {
        Some(all) => progress(
            out,
            &format!("{recorded} of {all} requests have ended"),
            recorded,
            u64::from(all),
        ),
        None => drop(out.paragraph(&format!("{recorded} requests have ended"))),
    }
    if let Some(note) = note {
        in_flight(out, note);
    }
    tiles(out, so_far);
    out.append(&over_time(so_far)).append(&distributions(so_far));
    failures(out, so_far);
}

/// Appends current values from the note. The log does not contain them yet.
fn in_flight(out: &mut Html, note: &LiveNote) {
    let mut all = vec![
        ("in flight now", note.begun.saturating_sub(note.ended).to_string()),
        ("chunks received", note.chunks.to_string()),
    ];
    all.extend(note.chunks_per_s.map(|rate| ("chunks/s now", format!("{rate:.0}"))));
    if let Some(observed) = &note.last_sample {
        all.extend(observed.server.as_ref().map_or_else(Vec::new, server_metrics));
        for card in &observed.cards {
            let share = card.utilisation.map(|share| ("card in use, %", 100.0 * share));
            let power = card.power_w.map(|watts| ("power of a card, W", watts));
            let both = share.into_iter().chain(power);
            all.extend(both.map(|(name, value)| (name, format!("{value:.0}"))));
        }
    }
    out.raw("<h3>Now</h3>\n");
    list(out, all);
    out.raw("<h3>Ended requests</h3>\n");
}

/// The metrics of the server, each with its name for people.
fn server_metrics(sample: &ServerSample) -> Vec<(&'static str, String)> {
    let all = [
        ("running in the server", Quantity::Running, 1.0),
        ("waiting in the server", Quantity::Waiting, 1.0),
        ("KV memory in use, %", Quantity::KvUse, 100.0),
        ("preemptions", Quantity::Preemptions, 1.0),
    ];
    let known = all.into_iter().filter_map(|(name, quantity, scale)| {
        Some((name, format!("{:.0}", scale * sample.values.get(&quantity)?)))
    });
    known.collect()
}

fn list(out: &mut Html, tiles: Vec<(impl AsRef<str>, String)>) {
    out.raw("<ul class=\"tiles\">\n");
    for (name, value) in tiles {
        out.raw("<li><b>")
            .text(&value)
            .raw("</b> <span>")
            .text(name.as_ref())
            .raw("</span></li>\n");
    }
    out.raw("</ul>\n");
}

fn at(spans: &Histogram, statistic: Statistic) -> String {
    match statistic.share().filter(|_| spans.count() > 0) {
        Some(share) => ms(spans.quantile(share)),
        None => "-".to_owned(),
    }
}

fn tiles(out: &mut Html, pass: &SoFar) {
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    let mut tiles = vec![
        ("output tokens/s".to_owned(), rate(pass.output_tokens_per_s())),
        ("requests/s".to_owned(), rate(pass.requests_per_s())),
        ("failed".to_owned(), pass.outcomes.failed().to_string()),
    ];
    for (metric, live, spans) in &pass.watched {
        let tile = |of: &Statistic| (format!("{} {}", metric.title, of.name()), at(spans, *of));
        tiles.extend(live.watched.iter().map(tile));
    }
    let server = pass.server.as_ref().map_or_else(Vec::new, server_metrics);
    tiles.extend(server.into_iter().map(|(name, value)| (name.to_owned(), value)));
    list(out, tiles);
}

fn failures(out: &mut Html, pass: &SoFar) {
    let failed = OutcomeKind::ALL.into_iter().filter(|kind| *kind != OutcomeKind::Complete);
    let failed: Vec<(OutcomeKind, u64)> =
        failed.map(|kind| (kind, pass.outcomes.of(kind))).filter(|(_, count)| *count > 0).collect();
    if failed.is_empty() {
        return;
    }
    out.raw("<div class=\"callout warning\"><p><b>Requests that did not complete</b></p>\n<ul>\n");
    for (kind, count) in failed {
        out.raw("<li>").text(&format!("{count} {}", kind.name())).raw("</li>\n");
    }
    out.raw("</ul></div>\n");
}

/// Appends a table of all passes so far.
fn passes(out: &mut Html, passes: &[PassSoFar]) {
    if passes.is_empty() {
        return;
    }
    out.raw("<h2>Passes</h2>\n<div class=\"table\" role=\"region\" aria-label=\"Passes\" ");
    out.raw(
        "tabindex=\"0\"><table>\n<caption class=\"unseen\">Passes so far</caption>\n<thead><tr>",
    );
    out.raw("<th scope=\"col\">Pass</th>");
    let counted = ["Complete", "Failed", "Requests/s", "Output tokens/s"].map(str::to_owned);
    let none = SoFar::default();
    let drawn = none.drawn().map(|(metric, _)| format!("{} p50", metric.title));
    for heading in counted.into_iter().chain(drawn) {
        out.raw("<th scope=\"col\" class=\"n\">").text(&heading).raw("</th>");
    }
    out.raw("</tr></thead>\n<tbody>\n");
    for pass in passes {
        let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.2}"));
        let so_far = &pass.so_far;
        out.raw("<tr><th scope=\"row\">").text(&pass.name);
        if pass.ending.is_none() {
            out.raw(" <span class=\"badge\">in progress</span>");
        }
        out.raw("</th>");
        let counts = [
            so_far.outcomes.complete.to_string(),
            so_far.outcomes.failed().to_string(),
            rate(so_far.requests_per_s()),
            rate(so_far.output_tokens_per_s()),
        ];
        for text in counts.into_iter().chain(so_far.drawn().map(|(_, of)| at(of, Statistic::P50))) {
            out.raw("<td class=\"n\">").text(&text).raw("</td>");
        }
        out.raw("</tr>\n");
    }
    out.raw("</tbody>\n</table></div>\n");
}
