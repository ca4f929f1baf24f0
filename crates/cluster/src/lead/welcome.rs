//! Accepts processes that connect to rank 0: ranks of this run join; other processes are refused with a reason. If too
//! many connections are open, a further one is closed without an answer.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{io, sync::Arc, time::Duration};

use inferometer_net::spawn;

use super::{RankLost, rank_states::Shared, serve};
use crate::message::{Challenge, Hello, PROTOCOL, Welcome};
use crate::{Introduction, JoinError, Token, TokenError, link::Link, token::nonce};

/// How long a process may take for each step of its introduction.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// How long to wait after a failed attempt to accept a connection.
const BEFORE_NEXT: Duration = Duration::from_millis(50);
/// The number of connections that may be open in addition to one for each rank.
const STRANGERS: usize = 64;

/// The data by which rank 0 recognises the ranks of its run.
pub struct JoinContext {
    pub token: Token,
    pub me: Introduction,
    pub salt: String,
    /// The random identity that distinguishes this rank 0 from other processes.
    pub instance: String,
    pub notice: Box<dyn Fn(&str) + Send + Sync>,
}

impl Hello {
    /// The introduction of a process, with the proof that the process has the token.
    pub fn of(
        me: &Introduction,
        token: &Token,
        challenge: &Challenge,
        instance: &str,
    ) -> Result<Self, TokenError> {
        let introduction = serde_json::to_string(me).unwrap_or_default();
        let nonce = nonce()?;
        let proof = token.prove("member", [&challenge.nonce, &nonce], &introduction);
        Ok(Self { introduction, nonce, instance: instance.to_owned(), proof })
    }
}

/// Accepts connections until the run is over.
pub fn accept(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    closed: &Arc<AtomicBool>,
    context: &Arc<JoinContext>,
) {
    let open = Arc::new(AtomicUsize::new(0));
    let most = context.me.ranks as usize + STRANGERS;
    loop {
        let stream = listener.accept();
        if closed.load(Ordering::Relaxed) {
            return;
        }
        // The connection ended before it was accepted, or no file descriptor was free. So accept again after a pause.
        let Ok((stream, _)) = stream else {
            drop(shared.wait(shared.lock(), BEFORE_NEXT));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= most {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (shared, context, count) = (Arc::clone(shared), Arc::clone(context), Arc::clone(&open));
        let served = spawn(move || {
            let joined = welcome(stream, &shared, &context);
            if let Ok(Some((number, mut link))) = joined {
                serve::serve(&shared, number, &mut link);
            }
            count.fetch_sub(1, Ordering::Relaxed);
        });
        if served.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Receives the introduction of a process. If the process joins as a rank, returns the number and the connection of the
/// rank; otherwise None.
fn welcome(
    stream: TcpStream,
    shared: &Shared,
    context: &JoinContext,
) -> io::Result<Option<(u32, Link)>> {
    let from = stream.peer_addr()?;
    let mut link = Link::new(stream)?;
    let Ok(nonce) = nonce() else { return Ok(None) };
    let challenge = Challenge { protocol: PROTOCOL, nonce };
    link.send(&challenge, INTRODUCTION)?;
    let hello: Hello = link.receive(INTRODUCTION)?;
    let nonces = [challenge.nonce.as_str(), &hello.nonce];
    let is_proven = context.token.is_proven(&hello.proof, "member", nonces, &hello.introduction);
    if !is_proven {
        // A process without the token receives no other information.
        let why = "it does not have the token of this run".to_owned();
        link.send(&Welcome::Refused { why, mistake: false }, INTRODUCTION)?;
        (context.notice)(&format!(
            "warning: a process at {from} was refused: it does not have the token of this run"
        ));
        return Ok(None);
    }
    let Ok(other) = serde_json::from_str::<Introduction>(&hello.introduction) else {
        let why = "this process uses a protocol that rank 0 does not know: all ranks need the \
            same version"
            .to_owned();
        link.send(&Welcome::Refused { why, mistake: true }, INTRODUCTION)?;
        return Ok(None);
    };
    if other.rank == 0 && hello.instance == context.instance {
        link.send(&Welcome::Itself, INTRODUCTION)?;
        return Ok(None);
    }
    if let Err((refused, ends_run)) = join(shared, &context.me, &other) {
        let why = refused.to_string();
        // Send the refusal first, because the next step may end the process of rank 0.
        let told = link.send(&Welcome::Refused { why: why.clone(), mistake: true }, INTRODUCTION);
        if ends_run {
            shared.lock().refusal.get_or_insert(JoinError::Mistake(why));
            shared.changed();
        }
        return told.map(|()| None);
    }
    let swapped = [hello.nonce.as_str(), &challenge.nonce];
    let proof = context.token.prove("lead", swapped, &context.salt);
    let welcome = Welcome::Joined { proof, salt: context.salt.clone() };
    link.trust();
    match link.send(&welcome, INTRODUCTION) {
        Ok(()) => Ok(Some((other.rank, link))),
        Err(error) => {
            shared.lock().lose(other.rank, RankLost::Closed);
            shared.changed();
            Err(error)
        }
    }
}

/// Why a process cannot join.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(
        "there are two processes of rank {rank}: on {first} and on {second}; each process needs a different rank"
    )]
    TwoProcesses { rank: u32, first: String, second: String },
    #[error("{name} is inferometer {its}, but rank 0 is {own}: all ranks need the same version")]
    Version { name: String, its: String, own: String },
    #[error(
        "{name} was started for {its} ranks, but rank 0 for {own}: all need the same number of ranks"
    )]
    Ranks { name: String, its: u32, own: u32 },
    #[error(
        "{name} has a different plan than rank 0: the hashes are {} and {}; give all ranks the same plan file, flags \
            and settings (`run --dry-run` prints the plan)",
        short(its),
        short(own)
    )]
    Plan { name: String, its: String, own: String },
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Registers a rank. The flag of an error is true if rank 0 has to fail for this reason, because the run has not begun.
fn join(shared: &Shared, me: &Introduction, other: &Introduction) -> Result<(), (Refused, bool)> {
    let mut states = shared.lock();
    let has_begun = states.missing().is_empty();
    mismatch(me, other).map_err(|why| (why, !has_begun))?;
    let rank = states.rank(other.rank);
    if rank.joined {
        let (first, second) = (rank.host.clone(), other.host.clone());
        return Err((Refused::TwoProcesses { rank: other.rank, first, second }, !has_begun));
    }
    rank.joined = true;
    rank.host = other.host.clone();
    drop(states);
    shared.changed();
    Ok(())
}

/// Checks that two processes can belong to the same run.
fn mismatch(me: &Introduction, other: &Introduction) -> Result<(), Refused> {
    let name = other.name();
    if other.rank == 0 {
        let (first, second) = (me.host.clone(), other.host.clone());
        return Err(Refused::TwoProcesses { rank: 0, first, second });
    }
    if other.version != me.version {
        let (its, own) = (other.version.clone(), me.version.clone());
        return Err(Refused::Version { name, its, own });
    }
    if other.ranks != me.ranks || other.rank >= me.ranks {
        return Err(Refused::Ranks { name, its: other.ranks, own: me.ranks });
    }
    if other.plan_hash != me.plan_hash {
        let (its, own) = (other.plan_hash.clone(), me.plan_hash.clone());
        return Err(Refused::Plan { name, its, own });
    }
    Ok(())
}
