//! One load over several servers: which server gets which request, and what happens if one server fails.

use std::net::SocketAddr;
use std::sync::Arc;

use inferometer_drive::{Driver, Encoder, Endpoint, Job, Live, Servers, SessionHeaders};
use inferometer_model::load::{Bound, ClosedPlan, PassPlan, load_model};
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::Record;
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::source::Prepared;
use inferometer_net::virtual_net::{self, VirtualNet};
use inferometer_net::{Actor, Net};
use inferometer_plan::Balance;
use inferometer_wire::dialect::dialect;

use crate::support::{NO_TIMEOUTS, Records, Server, ms};

/// Runs a closed loop over servers; `None` is an address where no server listens. Returns the records, the
/// prompts that each server received, and the hash of the bodies.
fn played(
    (balance, sessions): (Balance, &[Option<u64>]),
    in_flight: u32,
    servers: Vec<Option<Server>>,
) -> (Vec<Record>, Vec<Vec<String>>, String) {
    let mut nets = virtual_net::hosts(servers.len() + 1);
    let client_net = nets.remove(0);
    let mut addresses = Vec::new();
    for (number, (net, server)) in nets.iter_mut().zip(&servers).enumerate() {
        let nobody = SocketAddr::from(([127, 0, 0, 1], 60_000 + number as u16));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        addresses.push(if server.is_some() { net.listen(any).expect("a port") } else { nobody });
    }
    let endpoint = |name: &str| Endpoint {
        dialect: dialect("openai-completions").expect("known"),
        authority: name.to_owned(),
        path: "/v1/completions".into(),
        headers: Vec::new(),
        model: "m".into(),
    };
    let requests = sessions.iter().enumerate().map(|(number, session)| Request {
        session: *session,
        ..Request::new(Prompt::Text(number.to_string()), 3, 2)
    });
    let bound = Bound::requests(sessions.len() as u32);
    let pass = PassPlan::Closed(ClosedPlan { concurrency: in_flight.into(), bound });
    let sampling = Sampling {
        temperature: 0.0,
        ignore_eos: true,
        stream: true,
        extra_body: serde_json::Map::new(),
    };
    let others = (1..servers.len()).map(|number| endpoint(&format!("h{number}"))).collect();
    let encoder =
        Encoder::new(Box::new(Prepared::new(requests.collect())), endpoint("h0"), sampling, false)
            .with_other_servers(others)
            .with_session_headers(SessionHeaders::default(), false);
    let job = Job {
        pass: 0,
        load: load_model(&pass, 1),
        stages: pass.stages(),
        encoder,
        servers: Servers::new(addresses.into_iter().map(Into::into).collect(), balance, 0),
        timeouts: NO_TIMEOUTS,
        planned: pass.requests(),
        max_in_flight: None,
        over_limit: pass.limit().1,
        max_in_prefill: None,
        connections_ahead: in_flight as usize,
        spare_connections: 0,
        reuse_connections: true,
        watcher: None,
        most_time: None,
        leavers: None,
    };
    let mut driver = Driver::new(job, Records::default(), Arc::<Live>::default(), Arc::default());
    let prompts: Vec<_> =
        servers.iter().map(|server| server.as_ref().map(|it| Arc::clone(&it.prompts))).collect();
    let mut actors: Vec<(Server, VirtualNet)> =
        servers.into_iter().zip(nets).filter_map(|(server, net)| Some((server?, net))).collect();
    let mut all: Vec<(&mut dyn Actor<VirtualNet>, VirtualNet)> = vec![(&mut driver, client_net)];
    for (server, net) in &mut actors {
        all.push((server, net.clone()));
    }
    virtual_net::run(&mut all);
    let (body_hash, recorder) = driver.into_parts();
    let mut records = recorder.records;
    records.sort_by_key(|record| record.index);
    let got = |it: Option<Arc<std::sync::Mutex<Vec<String>>>>| {
        it.map(|it| it.lock().expect("one thread").clone()).unwrap_or_default()
    };
    (records, prompts.into_iter().map(got).collect(), body_hash)
}

fn server(ttft_ms: u64) -> Option<Server> {
    Some(Server::new(ms(ttft_ms), ms(1), 2))
}

fn servers_of(records: &[Record]) -> Vec<u32> {
    records.iter().map(|record| record.server.expect("one of several")).collect()
}

#[test]
fn round_robin_sends_to_each_server_in_turn_and_all_policies_send_the_same_requests() {
    let none = [None; 6];
    let (records, prompts, hash) =
        played((Balance::RoundRobin, &none), 2, vec![server(10), server(10), server(10)]);
    assert_eq!(servers_of(&records), [0, 1, 2, 0, 1, 2]);
    assert!(records.iter().all(|record| record.outcome == Outcome::Complete));
    assert_eq!(prompts, [["0", "3"], ["1", "4"], ["2", "5"]]);
    for balance in Balance::ALL {
        let (_, _, other) = played((balance, &none), 2, vec![server(10), server(3)]);
        assert_eq!(other, hash, "{balance:?}");
    }
    let (alone, prompts, of_one) = played((Balance::RoundRobin, &none), 2, vec![server(10)]);
    assert_eq!((of_one, prompts[0].len()), (hash, 6));
    assert!(alone.iter().all(|record| record.server.is_none()));
}

#[test]
fn with_least_in_flight_a_slow_server_gets_fewer_requests() {
    let none = [None; 30];
    let (records, prompts, _) =
        played((Balance::LeastInFlight, &none), 3, vec![server(95), server(5)]);
    assert_eq!(records.len(), 30);
    // While the slow server works on one or two requests, the fast one completes many.
    assert!(prompts[0].len() <= 6 && prompts[1].len() >= 24, "{prompts:?}");
}

#[test]
fn all_requests_of_a_session_go_to_the_same_server() {
    let sessions: Vec<_> = [4, 7, 4, 4, 7, 9, 9, 4].into_iter().map(Some).collect();
    let (records, _, _) = played((Balance::Session, &sessions), 3, vec![server(9), server(4)]);
    let of: Vec<_> =
        sessions.iter().map(|session| session.map(|number| number as u32 % 2)).collect();
    assert_eq!(records.iter().map(|record| record.server).collect::<Vec<_>>(), of);
}

#[test]
fn requests_to_an_unreachable_server_fail_and_the_others_complete() {
    let none = [None; 8];
    let (records, prompts, _) = played((Balance::RoundRobin, &none), 2, vec![server(10), None]);
    let failed = Outcome::Connection { phase: Phase::Connect };
    let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Complete, failed].repeat(4));
    assert_eq!((prompts[0].len(), prompts[1].len()), (4, 0));
}
