//! The answers of `plan` for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Answer, Asked, Kind};

/// The most answers that are printed.
const SHOWN: usize = 12;

/// What a million tokens cost, input and output together, if all servers stay up all day.
fn per_million(asked: &Asked<'_>, answer: &Answer) -> Option<f64> {
    let (input, output) = answer.capacity.tokens?;
    let tokens = asked.traffic.requests() * (f64::from(input) + f64::from(output));
    answer.cost.map(|hour| 24.0 * hour / tokens * 1e6)
}

/// A share in percent. One near 1 has a decimal, so that it does not look certain.
fn percent(share: f64) -> String {
    if share > 0.99 {
        format!("{:.1} %", (1000.0 * share).floor() / 10.0)
    } else {
        format!("{:.0} %", 100.0 * share)
    }
}

fn name(kind: &Kind) -> String {
    let tried: Vec<String> =
        kind.tried.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    [format!("{} x {}", kind.cards, kind.card)]
        .into_iter()
        .chain(tried)
        .collect::<Vec<_>>()
        .join(" ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn range((low, high): (f64, Option<f64>)) -> String {
    let high = high.map_or("?".to_owned(), |high| format!("{high:.3}"));
    format!("{low:.3} to {high}")
}

/// The table and the answer in sentences.
pub fn text(asked: &Asked<'_>, answers: &[Answer], refused: &[(Kind, String)]) -> String {
    let arguments = asked.arguments;
    let mut text = format!(
        "{}: {} requests/s{} within {}, with a chance of at least {}{}\n\n",
        asked.model,
        asked.traffic.peak(),
        if asked.traffic.varies() { " at the peak of a day" } else { "" },
        arguments.slo.as_deref().unwrap_or("the objectives of the plan file"),
        percent(asked.chance),
        match arguments.spare {
            0 => String::new(),
            spare => format!(", also without {spare} of the servers"),
        },
    );
    let rows = answers.iter().take(SHOWN).map(|answer| {
        let hour = answer.cost.map_or("-".to_owned(), |hour| format!("{hour:.2}"));
        let mark = match (answer.capacity.is_calibrated, answer.is_tie) {
            (false, _) => "uncalibrated",
            (true, true) => "tie with the first",
            _ => "",
        };
        [
            name(&answer.kind),
            answer.capacity.profile.clone(),
            answer.servers.to_string(),
            (answer.servers * answer.kind.cards).to_string(),
            percent(answer.chance),
            hour,
            format!(
                "{:.3} ({})",
                answer.capacity.best,
                range((answer.capacity.low, answer.capacity.high))
            ),
            answer.capacity.limited_by.join(", "),
            mark.to_owned(),
        ]
    });
    let head = [
        "server",
        "profile",
        "servers",
        "cards",
        "chance",
        "$/h",
        "one server carries, requests/s (90 %)",
        "missed first",
        "",
    ];
    let rows: Vec<[String; 9]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let widths: Vec<usize> = (0..9)
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    for row in rows.iter().filter(|_| !answers.is_empty()) {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    if answers.len() > SHOWN {
        let _ = writeln!(text, "... and {} larger ones (--json has all)", answers.len() - SHOWN);
    }
    if let Some(first) = answers.first() {
        text += &sentences(asked, first, answers);
    }
    let mut told: Vec<(&String, &str)> =
        refused.iter().map(|(kind, why)| (&kind.card, why.as_str())).collect();
    told.retain(|(card, _)| !answers.iter().any(|answer| answer.kind.card == **card));
    told.dedup_by_key(|(card, _)| *card);
    for (card, why) in told {
        let _ = writeln!(text, "left out: {card}: {why}");
    }
    text
}

fn sentences(asked: &Asked<'_>, first: &Answer, answers: &[Answer]) -> String {
    let peak = asked.traffic.peak();
    let cost = first.cost.map_or(String::new(), |hour| format!(" for ${hour:.2}/h"));
    let mut text = format!(
        "\n{} of {}{cost}: with a chance of {} they meet the objectives at the peak.\n",
        count(first.servers),
        name(&first.kind),
        percent(first.chance)
    );
    if !first.capacity.is_calibrated {
        text += "This is uncalibrated: no measured rows of this model on this card support it. `inferometer run` on one such server and `inferometer calibrate` settle it.\n";
    }
    if asked.traffic.varies() {
        let all = f64::from(first.servers) * 24.0;
        let _ = writeln!(
            text,
            "If servers follow the load, a day has {:.0} server-hours, {:.0} if all stay up.",
            first.server_hours, all
        );
    }
    if let Some(cost) = per_million(asked, first) {
        let _ = writeln!(
            text,
            "$ {cost:.3} per million tokens of a day, input and output together, with all servers up."
        );
    }
    let start_s = 60.0 * asked.arguments.start_minutes;
    let others = first.servers.saturating_sub(1);
    let fails = match (first.capacity.recovery_s(peak, first.servers, start_s), others) {
        (Some(0.0), 1..) => {
            let chance = percent(first.capacity.chance(peak / f64::from(others)));
            format!("the others meet the objectives with a chance of {chance}")
        }
        (Some(seconds), _) => format!(
            "the objectives are missed for at most {:.0} minutes, until a new one is ready and has worked off the backlog",
            seconds / 60.0
        ),
        (None, _) => "the backlog is not worked off at this load".to_owned(),
    };
    let _ = writeln!(text, "If one server fails at the peak, {fails}.");
    let ties = answers.iter().filter(|answer| answer.is_tie).count();
    if ties > 0 {
        let _ = writeln!(
            text,
            "{ties} of the others are ties: if the prediction is exact, they are as cheap or as small."
        );
    }
    text
}

fn count(servers: u32) -> String {
    if servers == 1 { "One server".to_owned() } else { format!("{servers} servers") }
}

/// The answers as JSON.
pub fn document(asked: &Asked<'_>, answers: &[Answer], refused: &[(Kind, String)]) -> Value {
    let kind = |kind: &Kind| json!({ "card": kind.card, "cards_per_server": kind.cards, "arguments": kind.tried.iter().cloned().collect::<serde_json::Map<_, _>>() });
    let start_s = 60.0 * asked.arguments.start_minutes;
    let answer = |it: &Answer| {
        let (low, high) = (it.capacity.low, it.capacity.high);
        json!({
            "server": kind(&it.kind), "profile": it.capacity.profile, "servers": it.servers, "cards": it.servers * it.kind.cards, "chance": it.chance,
            "is_calibrated": it.capacity.is_calibrated, "is_tie": it.is_tie,
            "usd_per_hour": it.cost,
            "usd_per_million_tokens": per_million(asked, it), "server_hours_per_day": it.server_hours,
            "requests_per_s_of_one": { "best": it.capacity.best, "low": low, "high": high },
            "missed_first": it.capacity.limited_by,
            "recovery_s": it.capacity.recovery_s(asked.traffic.peak(), it.servers, start_s),
        })
    };
    json!({
        "version": 1, "model": asked.model, "peak_requests_per_s": asked.traffic.peak(), "requests_per_day": asked.traffic.requests(),
        "chance": asked.chance, "spare": asked.arguments.spare,
        "answers": answers.iter().map(answer).collect::<Vec<_>>(),
        "left_out": refused.iter().map(|(it, why)| json!({ "server": kind(it), "why": why })).collect::<Vec<_>>(),
    })
}
