//! The parts of a report on the metrics of the server and of its cards in each pass. A contradiction between
//! these metrics and the client's figures is a finding; this module computes no findings.

use inferometer_analysis::observed::{CardUse, Energy, Level, ServerLatency, ServerMetrics};
use inferometer_analysis::{PassSummary, Summary};
use inferometer_model::metrics::{itl, ttft};

use crate::document::{Block, plain};
use crate::{Align, MISSING, Table, count, left, number::bytes, right, significant};

/// Adds the section on the metrics of the server in each pass. Adds nothing if the metrics were not read.
pub(super) fn server(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let passes: Vec<(String, &PassSummary, &ServerMetrics)> = summary
        .passes()
        .filter_map(|(cell, pass)| Some((cell.place(pass), pass, pass.server.as_ref()?)))
        .collect();
    if passes.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Server metrics".to_owned()));
    out.push(Block::Paragraph(plain(
        "The server's own metrics, read on a separate thread. Gauges: mean / maximum over the \
            samples within the pass. Counters: the increase from before the first request to after \
            the last. Latencies: the mean over the same time. Values in parentheses are the \
            client's.",
    )));
    let has_queue = passes.iter().any(|(_, _, metrics)| metrics.queue_ms.is_some());
    let gauges = passes.iter().map(|(place, pass, metrics)| {
        let output_tokens = beside(metrics.generation_tokens, Some(pass.output_tokens as f64));
        let of_client = |metric| pass.latencies.get(metric).map(|client| client.mean);
        let mut row = vec![
            left("Pass", place),
            right("Running", level(metrics.running, 1.0)),
            right("Waiting", level(metrics.waiting, 1.0)),
            right("KV use (%)", level(metrics.kv_use, 100.0)),
            right("Preemptions", number(metrics.preemptions)),
            right("Prefix hits (%)", share(metrics.prefix_hits, metrics.prefix_queries)),
            right("Drafts accepted (%)", share(metrics.accepted, metrics.drafted)),
            right("Output tokens", output_tokens),
            right("TTFT mean (ms)", latency(metrics.ttft_ms, of_client(&ttft::FROM_SENT))),
            right("ITL mean (ms)", latency(metrics.itl_ms, of_client(&itl::DEFINITION))),
        ];
        let queue = || number(metrics.queue_ms.map(|queue| queue.mean));
        row.extend(has_queue.then(|| right("Queue mean (ms)", queue())));
        row
    });
    out.push(Block::Table(Table::of(gauges)));
    let cost = passes.iter().map(|(place, _, metrics)| {
        let took = [metrics.took_ms_mean, metrics.took_ms_max].map(significant).join(" / ");
        [
            left("Pass", place),
            right("Reads", count(metrics.scrapes)),
            right("Failed", count(metrics.failed)),
            right("Response time (ms)", took),
            right("Client's processor time (ms)", significant(metrics.client_cpu_ms)),
        ]
    });
    let sentence = plain("Cost of reading the metrics. Response times are mean / maximum.");
    out.push(Block::Details(
        String::new(),
        "Cost of reading".to_owned(),
        vec![Block::Paragraph(sentence), Block::Table(Table::of(cost))],
    ));
}

/// Adds the section on the cards in each pass. Adds nothing if no card was observed.
pub(super) fn hardware(out: &mut Vec<Block<'_>>, summary: &Summary) {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("Card", Align::Right),
        ("At work (%)", Align::Right),
        ("Clock (MHz)", Align::Right),
        ("Power (W)", Align::Right),
        ("Memory", Align::Right),
        ("Energy (J)", Align::Right),
        ("Covered (%)", Align::Right),
        ("Idle share (%)", Align::Right),
        ("J/output token", Align::Right),
        ("J/request", Align::Right),
    ]);
    for (cell, pass) in summary.passes() {
        let place = cell.place(pass);
        let Some(hardware) = &pass.hardware else { continue };
        for card in &hardware.cards {
            let mut row = vec![place.clone(), card.index.to_string()];
            row.extend(card_figures(card));
            row.extend([MISSING.to_owned(), MISSING.to_owned()]);
            table.push(row);
        }
        let mut all = vec![place, "all".to_owned()];
        all.extend(std::iter::repeat_n(MISSING.to_owned(), 4));
        all.extend([
            number(hardware.energy_j),
            MISSING.to_owned(),
            MISSING.to_owned(),
            number(hardware.energy_per_output_token_j),
            number(hardware.energy_per_request_j),
        ]);
        table.push(all);
    }
    if table.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Cards".to_owned()));
    out.push(Block::Paragraph(plain(
        "At work, clock and power: mean / maximum over the samples within the pass. Memory: the \
            largest use in any sample, also before and after the pass. Energy: that of the board, \
            not of the machine, from the first send to the last end, by the card's own counter; \
            without a counter (marked ~), power integrated between samples. It is left out where it \
            may be wrong by more than 1 %. Covered: the share of the pass without gaps between \
            samples. Idle share: what the card would have used at its lowest power in any sample. All: every observed card; without --cards, these include \
            cards that only other programs used. Energy per token and per completed request is \
            given only if --cards names the server's cards.",
    )));
    out.push(Block::Table(table));
}

fn card_figures(card: &CardUse) -> [String; 7] {
    let energy = number(card.energy_j);
    [
        level(card.utilisation, 100.0),
        level(card.clock_mhz, 1.0),
        level(card.power_w, 1.0),
        card.memory_bytes.map_or(MISSING.to_owned(), bytes),
        match card.energy_from {
            Some(Energy::Power) => format!("~{energy}"),
            _ => energy,
        },
        number(card.coverage.map(|share| 100.0 * share)),
        number(card.idle_share.map(|share| 100.0 * share)),
    ]
}

fn level(level: Option<Level>, factor: f64) -> String {
    level.map_or(MISSING.to_owned(), |level| {
        format!("{} / {}", significant(level.mean * factor), significant(level.max * factor))
    })
}

fn number(value: Option<f64>) -> String {
    value.map_or(MISSING.to_owned(), significant)
}

fn share(part: Option<f64>, whole: Option<f64>) -> String {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0.0 => significant(part / whole * 100.0),
        _ => MISSING.to_owned(),
    }
}

fn beside(server: Option<f64>, client: Option<f64>) -> String {
    format!("{} ({})", number(server), number(client))
}

fn latency(server: Option<ServerLatency>, client: Option<f64>) -> String {
    beside(server.map(|server| server.mean), client)
}
