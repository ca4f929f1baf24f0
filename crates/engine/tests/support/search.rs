//! Fast searches on the engine in virtual time, and the true loads that the searches must find.

use inferometer_analysis::search::{NextTrial, Search, Trial, TrialFold, certain_at, watcher};
use inferometer_engine::{Engine, EngineConfig, Finish, NoiseState, VirtualRecord, simulate};
use inferometer_model::load::{Bound, PassPlan, load_model};
use inferometer_model::metrics::{
    Fate, RequestFigures, e2e, request_objective as goodput, send_delay, slo, tpot, ttft,
};
use inferometer_model::stats::seed::{below, rng, unit};
use inferometer_plan::search::{Criterion, Over, SearchPlan, criteria};

/// A server and its workload: prompts and outputs of fixed lengths, or outputs of exponentially distributed lengths with
/// this mean if `random` is set. The load is a number of requests in flight if `whole` is set, otherwise a rate with
/// Poisson arrivals.
#[derive(Clone)]
pub struct Server {
    pub config: EngineConfig,
    pub lengths: (u32, u32),
    pub random: bool,
    pub whole: bool,
}

/// Parses criteria: objectives of the run, and objectives of requests with the share that must meet them.
pub fn wanted(slo_text: &str, goodput_text: &str, attainment: f64) -> Vec<Criterion> {
    let slo =
        if slo_text.is_empty() { Vec::new() } else { slo::parse(slo_text).expect("objectives") };
    let goodput = if goodput_text.is_empty() {
        Vec::new()
    } else {
        goodput::parse(goodput_text).expect("objectives")
    };
    criteria(&slo, &goodput, attainment, None).expect("criteria")
}

/// The plan of a search without prior knowledge, over numbers in flight if `whole` is set, else over rates.
pub fn plan(criteria: Vec<Criterion>, whole: bool, max_requests: u64) -> SearchPlan {
    SearchPlan {
        over: if whole { Over::Concurrency } else { Over::Rate },
        criteria,
        tiers: Vec::new(),
        start: if whole { 8.0 } else { 16.0 },
        stride: 2.0,
        lowest: if whole { 1.0 } else { 1e-3 },
        highest: None,
        confidence: 0.95,
        precision: 0.05,
        max_requests,
        max_trials: 40,
        max_time: None,
    }
}

impl Server {
    /// Returns the pass of a load.
    fn pass(&self, load: f64, requests: u64) -> PassPlan {
        let bound = Bound::requests(requests as u32);
        match self.whole {
            true => PassPlan::closed(load as u32, bound),
            false => PassPlan::open(load, bound),
        }
    }

    /// Simulates the requests of a load in virtual time. The state of the noise continues from pass to pass.
    pub fn play(
        &self,
        noise: &mut Option<NoiseState>,
        load: f64,
        requests: u64,
        seed: u64,
    ) -> Vec<RequestFigures> {
        let (input, output) = self.lengths;
        let mut draws = rng(seed, &["lengths"]);
        let mut length = || match self.random {
            true => 1 + (-f64::from(output) * (1.0 - unit(&mut draws)).ln()) as u32,
            false => output,
        };
        let mut lengths = (0..requests).map(|_| (input, length()));
        self.play_lengths(noise, (load, requests, seed), &mut lengths)
    }

    /// Like [`Self::play`], but with requests of these lengths.
    pub fn play_lengths(
        &self,
        noise: &mut Option<NoiseState>,
        (load, requests, seed): (f64, u64, u64),
        lengths: &mut dyn Iterator<Item = (u32, u32)>,
    ) -> Vec<RequestFigures> {
        let pass = self.pass(load, requests);
        let engine = Engine::new(self.config.clone()).expect("an engine");
        let mut engine = engine.with_noise_of(noise.take());
        let found = simulate(&mut engine, &mut *load_model(&pass, seed), lengths);
        *noise = engine.noise().cloned();
        (0..).zip(&found).map(|(index, found)| figures(index, found)).collect()
    }

    /// Runs a trial. The trial is cut off as soon as its load certainly misses the criteria by far.
    pub fn trial(
        &self,
        plan: &SearchPlan,
        noise: &mut Option<NoiseState>,
        asked: NextTrial,
        seed: u64,
    ) -> Trial {
        let pass = self.pass(asked.load, asked.requests);
        let watcher = watcher(plan, &pass).expect("a load");
        let found = self.play(noise, asked.load, asked.requests, seed);
        let at = certain_at(&watcher, &found);
        let mut fold = TrialFold::of(&pass, &plan.criteria).expect("a load");
        found.iter().for_each(|one| fold.add(&at.map_or(*one, |at| one.as_of(at))));
        fold.finish()
    }

    /// Returns the same server with a noise seed that is derived from `seed`.
    pub fn seeded(&self, seed: u64) -> Self {
        let draw = below(&mut rng(seed, &["noise"]), u64::MAX);
        let noise = self.config.noise.map(|noise| noise.or_seed(draw));
        Self { config: EngineConfig { noise, ..self.config.clone() }, ..self.clone() }
    }
}

fn figures(index: u32, found: &VirtualRecord) -> RequestFigures {
    let ms = |at: Option<inferometer_model::time::Nanos>| at.map(|at| at.ms_after(found.sent));
    let (first, last) = (ms(found.first_token), ms(found.last_token));
    let tokens = f64::from(found.output) - 1.0;
    let between = first.zip(last).filter(|_| tokens > 0.0);
    let tpot_ms = between.map(|(first, last)| (last - first) / tokens);
    RequestFigures {
        index,
        fate: Fate::Ended,
        due: found.due,
        ended: Some(found.ended),
        complete: found.finish != Finish::Ignored,
        is_left: false,
        is_rate_limited: false,
        sent: Some(found.due),
        output_tokens: found.output,
        first: found.first_token.map(|first| found.due + first.since(found.sent)),
        ..RequestFigures::default()
    }
    .with(&ttft::FROM_SENT, first)
    .with(&tpot::DEFINITION, tpot_ms.or(first.map(|_| 0.0)))
    .with(&e2e::FROM_SENT, last)
    .with(&send_delay::DEFINITION, Some(0.0))
}

/// Runs a search on a server. The seed determines the arrivals and the noise.
pub fn search(server: &Server, plan: SearchPlan, seed: u64) -> Search {
    let server = server.seeded(seed);
    let (mut search, mut noise) = (Search::new(plan), None);
    while let Some(asked) = search.next() {
        let draw = below(&mut rng(seed, &["trial", &search.trials().to_string()]), u64::MAX);
        let trial = server.trial(search.plan(), &mut noise, asked, draw);
        search.tell(trial);
    }
    search
}

/// Returns the ratio of a measured value to the limit of a criterion, from the requests of a long pass. The value is
/// the share of requests that missed, and the limit is the share that may miss. For a mean, they are the mean and its
/// limit. Above 1, the load misses the criterion. The first tenth and the last hundredth of the requests do not count.
pub fn ratio(criterion: &Criterion, requests: &[RequestFigures]) -> f64 {
    let settled = &requests[requests.len() / 10..requests.len() - requests.len() / 100];
    let judged = || settled.iter().map(|figures| criterion.judge(figures));
    let n = settled.len() as f64;
    match (criterion.needed(), criterion.mean_limit_ms()) {
        (Some(needed), _) => judged().filter(|one| !one.met).count() as f64 / n / (1.0 - needed),
        (None, limit) => judged().map(|one| one.value).sum::<f64>() / n / limit.unwrap_or(1.0),
    }
}

/// Returns loads from `from` to at most `to`. Each load is the previous load times `factor`.
pub fn steps(from: f64, to: f64, factor: f64) -> Vec<f64> {
    std::iter::successors(Some(from), |load| Some(load * factor))
        .take_while(|load| *load <= to)
        .collect()
}

/// Returns the load at which the ratio crosses 1; `None` if the ratios do not cross 1. `ratios` has the ratio at each
/// of `loads`. The ratios are first made monotone, then interpolated.
pub fn edge(loads: &[f64], ratios: &[f64]) -> Option<f64> {
    // Replaces neighbours by their mean until no ratio is below the previous one (isotonic regression, equal weights).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &ratio in ratios {
        let mut block = (ratio, 1);
        while let Some(&(before, members)) = blocks.last().filter(|last| last.0 > block.0) {
            blocks.pop();
            let total = members + block.1;
            block = ((before * members as f64 + block.0 * block.1 as f64) / total as f64, total);
        }
        blocks.push(block);
    }
    let smooth: Vec<f64> =
        blocks.into_iter().flat_map(|(ratio, members)| vec![ratio.max(1e-4); members]).collect();
    let above = smooth.iter().position(|ratio| *ratio > 1.0).filter(|above| *above > 0)?;
    let [from, to] = [smooth[above - 1], smooth[above]].map(f64::ln);
    Some(loads[above - 1] * (loads[above] / loads[above - 1]).powf(-from / (to - from)))
}
