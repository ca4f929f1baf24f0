//! Tests the load generator with the reference server, over in-memory pipes in virtual time. There are a thousand
//! streams, and every recorded arrival of a token must equal the server's send time.

use std::sync::Arc;
use std::time::Duration;

use inferometer_analysis::fold::PassFold;
use inferometer_check::truth::{BareReader, ClientErrors, Errors, Pace, TruthServer};
use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Recorder};
use inferometer_model::load::{Bound, ClosedPlan, OverLimit, PassPlan, load_model};
use inferometer_model::metrics::Timeline;
use inferometer_model::record::Record;
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::source::Prepared;
use inferometer_model::time::Nanos;
use inferometer_net::http::Server;
use inferometer_net::{Net, virtual_net};
use inferometer_plan::Timeouts;
use inferometer_wire::dialect::dialect;

const STREAMS: u32 = 1_000;
const TOKENS: u32 = 20;
const PACE: Pace = Pace { first: Duration::from_millis(100), gap: Duration::from_millis(10) };

#[derive(Default)]
struct Collected(Vec<(Record, String)>);

impl Recorder for Collected {
    fn record(&mut self, record: Record, text: Option<String>) {
        self.0.push((record, text.expect("text is kept")));
    }
}

fn job(address: std::net::SocketAddr, requests: u32) -> Job {
    let request = Request {
        counted_tokens: Some(3),
        ..Request::new(Prompt::Text("a b c".into()), 3, TOKENS)
    };
    let sampling = Sampling {
        temperature: 0.0,
        ignore_eos: true,
        stream: true,
        extra_body: serde_json::Map::new(),
    };
    let endpoint = Endpoint {
        dialect: dialect("openai-completions").expect("a dialect"),
        authority: address.to_string(),
        path: "/v1/completions".into(),
        headers: Vec::new(),
        model: "truth".into(),
    };
    let pass = PassPlan::Closed(ClosedPlan {
        concurrency: STREAMS.into(),
        bound: Bound::requests(requests),
    });
    let source = Box::new(Prepared::new(vec![request; requests as usize]));
    Job {
        max_in_prefill: None,
        pass: 0,
        load: load_model(&pass, 0),
        stages: pass.stages(),
        encoder: Encoder::new(source, endpoint, sampling, true),
        servers: inferometer_net::Address::from(address).into(),
        timeouts: Timeouts { connect: None, first_token: None, between_events: None, total: None },
        planned: Some(requests),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
        connections_ahead: STREAMS as usize,
        spare_connections: 0,
        reuse_connections: true,
        watcher: None,
        most_time: None,
        leavers: None,
    }
}

#[test]
fn recorded_token_arrivals_of_1000_streams_equal_the_servers_send_times() {
    let mut hosts = virtual_net::hosts(2);
    let (mut server_net, client_net) = (hosts.remove(1), hosts.remove(0));
    let address = server_net.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut server = Server::new(TruthServer::new(PACE));
    let job = job(address, 2 * STREAMS);
    let mut driver = Driver::new(job, Collected::default(), Arc::<Live>::default(), Arc::default());
    virtual_net::run(&mut [(&mut driver, client_net), (&mut server, server_net)]);

    let start = driver.start();
    let (_, Collected(records)) = driver.into_parts();
    let mut errors = Errors::default();
    let pass = PassPlan::closed(STREAMS, Bound::requests(2 * STREAMS));
    let mut fold = PassFold::new(&pass);
    for (record, text) in &records {
        fold.add(&Timeline::new(record));
        errors.add(record, text).unwrap();
        // The second half of the requests is sent when the first half has ended. In virtual time, only the waits for
        // due times take time.
        let round = u64::from(record.index / STREAMS);
        let life = PACE.first + PACE.gap * (TOKENS - 1);
        let sent = start + life * round as u32;
        assert_eq!(record.send_start, Some(sent));
        let expected = (0..TOKENS).map(|token| sent + PACE.first + PACE.gap * token);
        let arrivals: Vec<Nanos> = record.token_events().map(|e| record.arrival(e)).collect();
        assert!(arrivals.iter().copied().eq(expected), "{arrivals:?}");
    }
    assert_eq!(errors.finish(), ClientErrors::default());

    let told = server.handler().counters().stats();
    assert_eq!((told.requests, told.tokens), (2_000, 40_000));
    assert_eq!((told.peak_streams, told.mean_streams), (1_000, 1_000.0));
    assert_eq!(fold.finish().peak_concurrency, Some(1_000), "as the client counts them");
    assert_eq!(told.lateness_us_max, 0.0);
}

#[test]
fn the_bare_reader_counts_every_token() {
    let mut hosts = virtual_net::hosts(2);
    let (mut server_net, client_net) = (hosts.remove(1), hosts.remove(0));
    let address = server_net.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut server = Server::new(TruthServer::new(Pace { gap: Duration::ZERO, ..PACE }));
    let mut reader = BareReader::new(address, 8, 20, TOKENS);
    virtual_net::run(&mut [(&mut reader, client_net), (&mut server, server_net)]);
    assert_eq!(reader.read(), Ok((400, vec![100.0; 20])));
    assert_eq!(server.handler().counters().stats().tokens, 400);
}

#[test]
fn a_record_that_lacks_a_token_is_an_error() {
    let mut hosts = virtual_net::hosts(2);
    let (mut server_net, client_net) = (hosts.remove(1), hosts.remove(0));
    let address = server_net.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut server = Server::new(TruthServer::new(PACE));
    let job = job(address, 1);
    let mut driver = Driver::new(job, Collected::default(), Arc::<Live>::default(), Arc::default());
    virtual_net::run(&mut [(&mut driver, client_net), (&mut server, server_net)]);
    let (_, Collected(mut records)) = driver.into_parts();
    let (mut record, text) = records.remove(0);
    record.events.remove(3);
    let error = Errors::default().add(&record, &text).unwrap_err().to_string();
    assert!(error.starts_with("request 0 has 19 ") && error.ends_with(" 20"), "{error}");
    record.events.clear();
    let error = Errors::default().add(&record, "hello").unwrap_err().to_string();
    assert!(error.starts_with("the text of request 0 "), "{error}");
}
