//! The live view of a run in progress, from its log so far. A browser without scripts reloads the page; a
//! browser with scripts receives events with the same HTML. Latencies are rounded up by at most 1/32 here, so
//! a report shows slightly different ones.

use inferometer_analysis::so_far::SoFar;
use inferometer_model::sample::{Quantity, ServerSample};
use inferometer_model::{OutcomeKind, Statistic, stats::histogram::Histogram};
use inferometer_net::wall_clock_ns;
use inferometer_plan::Plan;
use inferometer_report::page::escape;
use inferometer_store::{LiveNote, RunState, StoredRun};
use minijinja::{Value, context};

use crate::follow::{Follow, PassSoFar};
use crate::page::charts::{distributions, ms, over_time};
use crate::page::lines::{RunLine, lines};
use crate::{PageError, Site, fill, html_response, trusted};
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
    html_response("page/in_progress.html", context! { running })
}

/// The page `/runs/RUN/live`.
pub(crate) fn live(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let stored = site.store.run(target.segment(1))?;
    let id = stored.row.id.to_string();
    let (view, is_over) = view(site, &stored)?;
    let (model, view, reloads) = (stored.row.model, trusted(view), !is_over);
    html_response("page/live.html", context! { model, id, view, reloads })
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
    let (view, is_last) = stored
        .and_then(|stored| view(site, &stored))
        .unwrap_or_else(|error| (format!("<p>{}</p>\n", escape(&error.to_string())), true));
    let data = serde_json::json!({ "markup": view, "last": is_last }).to_string();
    Event { data, is_last }
}

/// The HTML of the live view, and whether this HTML is final because the run has ended.
fn view(site: &mut Site, stored: &StoredRun) -> Result<(String, bool), PageError> {
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
    let note = follow
        .passes
        .last()
        .and_then(|pass| note.filter(|note| note.pass == pass.begin.pass && pass.ending.is_none()));
    let counted = ["Complete", "Failed", "Requests/s", "Output tokens/s"].map(str::to_owned);
    let none = SoFar::default();
    let drawn = none.drawn().map(|(metric, _)| format!("{} p50", metric.title));
    let context = context! {
        id, state => state(stored, follow), has_report => stored.summary.is_some(),
        ended => plan.as_ref().map(|plan| ended(follow, plan)),
        pass => follow.passes.last().map(|pass| current(pass, note.as_ref())),
        headings => counted.into_iter().chain(drawn).collect::<Vec<_>>(),
        passes => follow.passes.iter().map(row).collect::<Vec<_>>(),
    };
    if is_over {
        site.followed.remove(id);
    }
    Ok((fill("page/view.html", context)?, is_over))
}

/// Whether the note is recent. An old note is from an earlier pass, or from a run that was killed.
fn is_fresh(note: &LiveNote) -> bool {
    wall_clock_ns().saturating_sub(note.at_unix_ns) < NOTE_VALID_NS
}

/// The state of the run in words.
fn state(stored: &StoredRun, follow: &Follow) -> String {
    match (stored.row.state, follow.ending, follow.is_behind) {
        (_, _, true) => "Reading the records so far …".to_owned(),
        (RunState::Running, None, _) => "In progress. Completed so far:".to_owned(),
        (RunState::Running, Some(_), _) => {
            "All passes have ended; the results are being stored.".to_owned()
        }
        (state, ..) => format!("This run is {}.", state.name()),
    }
}

/// The number of ended passes and of all passes, as words and as numbers.
fn ended(follow: &Follow, plan: &Plan) -> (String, usize, usize) {
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
    (format!("{done} of {up_to}{all} passes have ended"), done, all)
}

/// The details of the latest pass.
fn current(pass: &PassSoFar, note: Option<&LiveNote>) -> Value {
    let so_far = &pass.so_far;
    let failed = OutcomeKind::ALL.into_iter().filter(|kind| kind.is_failed());
    let failed = failed.map(|kind| (kind.name(), so_far.outcomes.of(kind)));
    context! {
        name => pass.name, recorded => so_far.outcomes.total(), all => pass.begin.plan.requests(),
        now => note.map(now), tiles => tiles(so_far),
        charts => over_time(so_far).into_iter().chain(distributions(so_far)).collect::<Vec<_>>(),
        failed => failed.filter(|(_, count)| *count > 0).collect::<Vec<_>>(),
    }
}

/// Current values from the note. The log does not contain them yet.
fn now(note: &LiveNote) -> Vec<(&'static str, String)> {
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
    all
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

fn at(spans: &Histogram, statistic: Statistic) -> String {
    match statistic.share().filter(|_| spans.count() > 0) {
        Some(share) => ms(spans.quantile(share)),
        None => "-".to_owned(),
    }
}

/// The figures of a pass so far, each with its name.
fn tiles(pass: &SoFar) -> Vec<(String, String)> {
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
    tiles
}

/// A row of the table of passes: the name, whether the pass has ended, and its figures.
fn row(pass: &PassSoFar) -> (&str, bool, Vec<String>) {
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.2}"));
    let so_far = &pass.so_far;
    let counts = [
        so_far.outcomes.complete.to_string(),
        so_far.outcomes.failed().to_string(),
        rate(so_far.requests_per_s()),
        rate(so_far.output_tokens_per_s()),
    ];
    let drawn = so_far.drawn().map(|(_, of)| at(of, Statistic::P50));
    (&pass.name, pass.ending.is_some(), counts.into_iter().chain(drawn).collect())
}
