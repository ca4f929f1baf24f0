//! Traces that are drawn from a few numbers instead of recorded: `synthetic:KIND,key=value,...`. The same text gives the
//! same trace. All lengths of prompts are multiples of a block, so that what prompts share is exact.

use inferometer_model::did_you_mean;
use inferometer_model::load::distribution::Distribution;
use inferometer_model::stats::portable;
use inferometer_model::stats::seed::{self, below, unit};
use rand_chacha::ChaCha8Rng;

use super::builder::Builder;
use super::call::{Call, Content, GapKind, Known, Trace};
use super::error::JobsError;
use super::tree::ROOT;
use super::values::S;

/// The begin of the name of such a trace.
pub const PREFIX: &str = "synthetic:";

/// Tokens of a block.
const BLOCK: u32 = 16;
/// The most calls of a trace.
const MOST_CALLS: usize = 2_000_000;

/// A key: its name, its value by default, and what it means.
pub type Key = (&'static str, &'static str, &'static str);

/// The keys. A value is a number, or a distribution: `uniform:1..9`, `exponential:5`, `lognormal:MEAN/DEVIATION`,
/// `normal:MEAN/DEVIATION`.
pub const KEYS: [Key; 22] = [
    ("jobs", "100", "jobs"),
    ("seed", "1", "another number gives another trace"),
    ("system", "0", "tokens at the begin of all prompts"),
    ("groups", "1", "groups of jobs; each job belongs to one"),
    ("group", "0", "tokens that the prompts of a group share, after those of all"),
    ("zipf", "0", "how uneven groups are: group k has a share proportional to k^-zipf"),
    ("own", "1000", "further tokens of the first prompt of a job"),
    ("turns", "1", "calls of a job, without those of sub-agents"),
    (
        "new",
        "500",
        "tokens that follow the answer before a later call: results of tools, or a message",
    ),
    ("output", "300", "tokens of an answer"),
    ("tools", "0", "seconds that tools take before a later call"),
    ("think", "0", "seconds that a person takes before a later call"),
    ("people", "0", "share of later calls that wait for a person and not for tools, from 0 to 1"),
    ("spawn", "0", "share of later calls that wait for sub-agents instead, from 0 to 1"),
    ("agents", "2", "sub-agents that start at once"),
    ("agent-own", "1000", "tokens of the first prompt of a sub-agent, after those of all"),
    ("agent-turns", "3", "calls of a sub-agent"),
    ("most", "200000", "the most tokens of a prompt; a longer history is replaced by a summary"),
    ("summary", "4000", "tokens of a summary"),
    ("length", "2048", "tokens of a prompt (hits, reuse)"),
    ("pool", "16", "prompts that later ones begin like (hits)"),
    ("up-to", "0", "tokens that are sent before a prompt comes again, at most (reuse)"),
];

/// A kind of trace: its name, the values of its keys, and what it is.
pub const KINDS: [Key; 6] = [
    (
        "chat",
        "system=500,own=200,new=lognormal:100/120,turns=geometric:6,output=lognormal:250/200,think=lognormal:30/30,people=1",
        "people who talk to an assistant",
    ),
    (
        "agentic-code",
        "jobs=50,system=32000,groups=50,group=20000,zipf=1.2,own=lognormal:10000/17320,turns=geometric:20,\
        new=lognormal:3500/5830,output=lognormal:500/670,tools=lognormal:2.5/2.4,think=lognormal:40/50,people=0.3",
        "agents that write code; means and medians of AIPerf's `synthesize agentic-code`",
    ),
    (
        "long-agents",
        "jobs=20,system=lognormal:16000/8000,own=1500,turns=geometric:54,new=1500,output=425,tools=15",
        "a tenth of llm-d-benchmark's agentic_code_generation: fewer tokens and turns, equal calls",
    ),
    (
        "sub-agents",
        "system=2000,own=500,turns=uniform:4..12,new=500,output=200,tools=1,think=10,people=0.2,spawn=0.3,agents=3",
        "agents that start sub-agents and wait for them, as in inference-perf's synthetic_agentic",
    ),
    (
        "hits",
        "jobs=300,output=1",
        "prompts of one length that share 0, 25, 50, 75 or nearly 100 % with one of a pool",
    ),
    (
        "reuse",
        "output=1",
        "prompts of one length that come again after others, but for the last block: finds how much a cache keeps",
    ),
];

/// Why the text does not describe a trace.
fn wrong(why: impl std::fmt::Display) -> JobsError {
    JobsError::Synthetic(why.to_string())
}

fn too_many() -> JobsError {
    wrong(format!("it has more than {MOST_CALLS} calls; give fewer jobs"))
}

/// The values of the keys.
struct Values {
    values: Vec<Distribution>,
    rng: ChaCha8Rng,
}

impl Values {
    /// Reads the text after [`PREFIX`].
    fn read(text: &str) -> Result<(&'static str, Self), JobsError> {
        let (name, own) = text.split_once(',').unwrap_or((text, ""));
        let names = KINDS.map(|kind| kind.0);
        let Some((kind, preset, _)) = KINDS.iter().find(|kind| kind.0 == name) else {
            let known = names.join(", ");
            return Err(wrong(format!(
                "`{name}` is not one of {known}{}",
                did_you_mean(name, names)
            )));
        };
        let mut values: Vec<Distribution> =
            KEYS.iter().map(|key| number(key.1)).collect::<Result<_, _>>()?;
        for pair in preset.split(',').chain(own.split(',')).filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| wrong(format!("`{pair}` is not key=value")))?;
            let names = KEYS.map(|key| key.0);
            let at = names.iter().position(|name| *name == key.trim());
            let at = at.ok_or_else(|| {
                wrong(format!(
                    "`{key}` is not one of {}{}",
                    names.join(", "),
                    did_you_mean(key, names)
                ))
            })?;
            values[at] = number(value.trim())?;
        }
        let seed = values[1].mean() as u64;
        Ok((kind, Self { values, rng: seed::rng(seed, &["synthetic", kind]) }))
    }

    fn of(&self, name: &str) -> Distribution {
        let at = KEYS.iter().position(|key| key.0 == name);
        self.values[at.expect("invariant: the names are those of the list")]
    }

    /// A number of at least `least`.
    fn count(&mut self, name: &str, least: u32) -> u32 {
        self.of(name).whole(&mut self.rng, least)
    }

    /// A length that is a multiple of a block; 0 stays 0.
    fn length(&mut self, name: &str) -> u32 {
        self.count(name, 0).min(1 << 24).next_multiple_of(BLOCK)
    }

    /// Nanoseconds, from a number of seconds.
    fn time(&mut self, name: &str) -> i64 {
        (self.of(name).draw(&mut self.rng).clamp(0.0, 1e6) * S as f64) as i64
    }

    /// Whether something with this share happens.
    fn happens(&mut self, name: &str) -> bool {
        unit(&mut self.rng) < self.of(name).mean()
    }
}

fn number(text: &str) -> Result<Distribution, JobsError> {
    let number = |text: &str| match text.parse::<f64>() {
        Ok(number) if (0.0..=1e9).contains(&number) => Ok(number),
        _ => Err("is not a number of at least 0"),
    };
    Distribution::parse(&text.replace('/', ","), number)
        .map_err(|why| wrong(format!("`{text}` {why}")))
}

/// The trace that a name describes, which begins with [`PREFIX`].
///
/// # Errors
/// If the name does not describe one.
pub fn trace(name: &str) -> Result<Trace, JobsError> {
    let (kind, values) = Values::read(name.strip_prefix(PREFIX).unwrap_or(name))?;
    let mut made = Made { values, builder: Builder::default(), blocks: 0 };
    let trace = &mut made.builder.trace;
    (trace.format, trace.block_tokens) = ("synthetic", Known::Invented(BLOCK));
    trace.files.push(name.into());
    trace.notes.push(format!("all values are invented: {name}"));
    match kind {
        "hits" => made.hits()?,
        "reuse" => made.reuse()?,
        _ => made.jobs()?,
    }
    made.builder.finish()
}

/// A call that has been made: its number, its session, and the node of its prompt.
#[derive(Clone, Copy)]
struct Last {
    call: u32,
    node: u32,
    /// The tokens of its prompt and of its answer.
    tokens: u32,
}

struct Made {
    values: Values,
    builder: Builder,
    /// The number of blocks that are in no other prompt yet.
    blocks: u64,
}

impl Made {
    /// Adds new blocks behind a prompt, and returns the last node.
    fn extend(&mut self, mut node: u32, tokens: u32) -> u32 {
        for _ in 0..tokens / BLOCK {
            self.blocks += 1;
            let child = self.builder.trace.blocks.child(node, self.blocks);
            node = child.expect("invariant: each id is new");
        }
        node
    }

    fn tokens(&self, node: u32) -> u32 {
        self.builder.trace.blocks.depth(node) * BLOCK
    }

    /// Adds a call with this prompt.
    fn call(
        &mut self,
        session: &str,
        node: u32,
        parents: Vec<u32>,
        gap: (GapKind, i64),
    ) -> Result<Last, JobsError> {
        let prompt = self.tokens(node);
        let (output, number) = (self.values.count("output", 1), self.builder.trace.calls.len());
        if number >= MOST_CALLS {
            return Err(too_many());
        }
        let (kind, gap) = gap;
        let tools = if kind == GapKind::Tool { gap } else { 0 };
        let gap = Some(gap).filter(|_| !parents.is_empty());
        let call = Call {
            parents,
            order: Known::Invented(()),
            gap_ns: gap.map_or(Known::Absent, Known::Invented),
            tool_ns: gap.map_or(Known::Absent, |_| Known::Invented(tools)),
            gap_kind: kind,
            prompt: Known::Invented(prompt),
            content: Known::Invented(Content::Blocks(node)),
            output: Known::Invented(output),
            line: number as u64 + 1,
            ..Call::default()
        };
        let call =
            self.builder.push(call, Some(session)).map_err(|fault| wrong(format!("{fault:?}")))?;
        Ok(Last { call, node, tokens: prompt.saturating_add(output) })
    }

    /// Jobs of several calls.
    fn jobs(&mut self) -> Result<(), JobsError> {
        let system = self.values.length("system");
        let system = self.extend(ROOT, system);
        let groups = self.values.count("groups", 1);
        let group = self.values.length("group");
        let heads: Vec<u32> = (0..groups).map(|_| self.extend(system, group)).collect();
        let zipf = self.values.of("zipf").mean();
        let weights: Vec<f64> =
            (1..=groups).map(|rank| portable::pow(f64::from(rank), -zipf)).collect();
        let total: f64 = weights.iter().sum();
        let jobs = self.values.count("jobs", 1);
        if jobs as usize > MOST_CALLS {
            return Err(too_many());
        }
        for job in 0..jobs {
            let mut left = unit(&mut self.values.rng) * total;
            let found = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            let head = heads[found.unwrap_or(0)];
            self.job(&format!("job-{job}"), head, system)?;
        }
        Ok(())
    }

    fn job(&mut self, name: &str, head: u32, system: u32) -> Result<(), JobsError> {
        let own = self.values.length("own").max(BLOCK);
        let node = self.extend(head, own);
        let mut last = self.call(name, node, Vec::new(), (GapKind::Unknown, 0))?;
        for turn in 1..self.values.count("turns", 1) {
            let (mut parents, mut gap) = (vec![last.call], (GapKind::Tool, 0));
            if self.values.happens("spawn") {
                for agent in 0..self.values.count("agents", 1) {
                    let session = format!("{name}/agent-{turn}-{agent}");
                    parents.push(self.agent(&session, system, last.call)?);
                }
                gap.0 = GapKind::Agent;
            } else if self.values.happens("people") {
                gap = (GapKind::Human, self.values.time("think"));
            } else {
                gap.1 = self.values.time("tools");
            }
            last = self.next(name, last, head, parents, gap)?;
        }
        Ok(())
    }

    /// The calls of a sub-agent, which starts after a call. Returns the last one.
    fn agent(&mut self, session: &str, system: u32, after: u32) -> Result<u32, JobsError> {
        let own = self.values.length("agent-own").max(BLOCK);
        let node = self.extend(system, own);
        let mut last = self.call(session, node, vec![after], (GapKind::Unknown, 0))?;
        for _ in 1..self.values.count("agent-turns", 1) {
            let gap = (GapKind::Tool, self.values.time("tools"));
            last = self.next(session, last, system, vec![last.call], gap)?;
        }
        Ok(last.call)
    }

    /// The next call of a session: the prompt and answer before it, and what is new. If this is too long, a summary
    /// replaces all that follows `head`.
    fn next(
        &mut self,
        session: &str,
        last: Last,
        head: u32,
        parents: Vec<u32>,
        gap: (GapKind, i64),
    ) -> Result<Last, JobsError> {
        let new = self.values.count("new", 1).min(1 << 24);
        let length = last.tokens.saturating_add(new).next_multiple_of(BLOCK);
        let most = self.values.count("most", 1);
        let node = match length > most {
            true => {
                let summary = self.values.length("summary").max(BLOCK);
                self.extend(head, summary)
            }
            false => self.extend(last.node, length - self.tokens(last.node)),
        };
        self.call(session, node, parents, gap)
    }

    /// A pool of prompts, and prompts that share a part of one of them, each after the one before it.
    fn hits(&mut self) -> Result<(), JobsError> {
        let length = self.values.length("length").max(4 * BLOCK);
        let pool = self.values.count("pool", 1);
        let pool: Vec<u32> = (0..pool).map(|_| self.extend(ROOT, length)).collect();
        for (at, node) in pool.iter().enumerate() {
            self.call(&format!("pool-{at}"), *node, Vec::new(), (GapKind::Unknown, 0))?;
        }
        for job in 0..self.values.count("jobs", 1) {
            let of = below(&mut self.values.rng, pool.len() as u64) as usize;
            let quarters = below(&mut self.values.rng, 5) as u32;
            let shared = (length / 4 * quarters / BLOCK).min(length / BLOCK - 1);
            let mut node = pool[of];
            while self.builder.trace.blocks.depth(node) > shared {
                node = self.builder.trace.blocks.parent(node);
            }
            let node = self.extend(node, length - shared * BLOCK);
            self.call(&format!("hit-{job}"), node, Vec::new(), (GapKind::Unknown, 0))?;
        }
        Ok(())
    }

    /// Prompts that are new or come again. How many others came since is uniform, up to the limit.
    fn reuse(&mut self) -> Result<(), JobsError> {
        let length = self.values.length("length").max(2 * BLOCK);
        let most = (self.values.of("up-to").mean() / f64::from(length)) as usize;
        if !(1..=MOST_CALLS / 2).contains(&most) {
            let text = "give up-to=TOKENS, more than the cache is expected to hold, such as twice `GPU KV cache size` of the log \
                of vLLM, and at least one prompt (length)";
            return Err(wrong(text));
        }
        // The prompts by the time since they last came, the latest one at the end.
        let mut stack: Vec<u32> = Vec::new();
        for number in 0..2 * most {
            let is_new = stack.len() < 2 || unit(&mut self.values.rng) < 0.5;
            let begin = match is_new {
                true => self.extend(ROOT, length - BLOCK),
                false => {
                    let since = below(&mut self.values.rng, stack.len().min(most) as u64) as usize;
                    stack.remove(stack.len() - 1 - since)
                }
            };
            stack.push(begin);
            // A new end takes a block in each cache, whether or not it keeps the last block of a whole prompt.
            let node = self.extend(begin, BLOCK);
            self.call(&format!("prompt-{number}"), node, Vec::new(), (GapKind::Unknown, 0))?;
        }
        Ok(())
    }
}
