//! The events of a run as JSON documents for callbacks in Python. Each document has a key `event`.

use inferometer::{Event, LiveState};
use serde_json::{Value, json};

/// The document of an event; `None` for events that callbacks do not get, such as the end of one request.
pub fn document(event: &Event<'_>) -> Option<Value> {
    Some(match event {
        Event::Notice(notice) => {
            let mut document = json!(notice);
            document["event"] = if notice.is_urgent() { "warning" } else { "message" }.into();
            document["text"] = notice.to_string().into();
            document
        }
        Event::RunStarted(run) => json!({
            "event": "run_started", "run_id": run.id, "title": run.title, "passes": run.passes,
        }),
        Event::PromptsStarted(prompts) => json!({
            "event": "prompts_started", "label": prompts.label, "prompts": prompts.prompts,
        }),
        Event::WarmUpStarted(warm_up) => {
            json!({ "event": "warm_up_started", "label": warm_up.label })
        }
        Event::PassStarted(pass) => json!({
            "event": "pass_started", "label": pass.label, "requests": pass.begin.plan.requests(),
        }),
        Event::PassEnded(pass) => json!({
            "event": "pass_ended",
            "label": pass.label,
            "duration_s": pass.summary.duration_s,
            "output_tokens_per_s": pass.summary.output_tokens_per_s,
            "completed": pass.summary.outcomes.complete,
            "failed": pass.summary.outcomes.failed(),
        }),
        Event::Finding(finding) => json!({ "event": "finding", "finding": finding }),
        Event::RunStored(summary) => json!({ "event": "run_stored", "run_id": summary.run_id }),
        Event::RunEnded(summary) => json!({ "event": "run_ended", "run_id": summary.run_id }),
        _ => return None,
    })
}

/// The progress of the current pass as JSON text; `None` between passes.
pub fn of(live: &LiveState) -> Option<String> {
    let document = live.look(|state| {
        let pass = state.pass.as_ref()?;
        let counts = pass.live.look();
        Some(json!({
            "event": "progress",
            "label": pass.label,
            "pass": pass.number,
            "passes": state.run.as_ref().map(|run| run.passes),
            "requests": pass.begin.plan.requests(),
            "begun": counts.begun,
            "ended": counts.ended,
            "chunks": counts.chunks,
        }))
    });
    document.map(|document| document.to_string())
}
