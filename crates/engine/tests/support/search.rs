//! Trials of a search against the engine in virtual time, as light as they can be.

use inferometer_analysis::search::{
    Claim, Evidence, NextTrial, Search, Settings, Trial, TrialFold, Watcher, certain_at,
};
use inferometer_engine::{Engine, EngineConfig, Finish, VirtualRecord, simulate};
use inferometer_load::{Bound, PassPlan, load_model};
use inferometer_metrics::{
    Fate, RequestFigures, e2e, request_objective as goodput, send_delay, slo, tpot, ttft,
};
use inferometer_plan::search::{Criterion, criteria};
use inferometer_stats::normal_quantile_above;
use inferometer_stats::seed::{below, rng};

/// A server and its workload: prompts and outputs of one length, Poisson arrivals.
pub struct Server {
    pub config: EngineConfig,
    pub lengths: (u32, u32),
    pub whole: bool,
}

/// Criteria from text: objectives on the run, and on requests with the share that must meet them.
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

impl Server {
    /// The pass of a load.
    fn pass(&self, load: f64, requests: u64) -> PassPlan {
        let bound = Bound::requests(requests as u32);
        match self.whole {
            true => PassPlan::closed(load as u32, bound),
            false => PassPlan::open(load, bound),
        }
    }

    /// The requests of a load, in virtual time.
    pub fn play(&self, load: f64, requests: u64, seed: u64) -> Vec<RequestFigures> {
        let pass = self.pass(load, requests);
        let mut engine = Engine::new(self.config.clone()).expect("an engine");
        let mut lengths = std::iter::repeat(self.lengths);
        let found = simulate(&mut engine, &mut *load_model(&pass, seed), &mut lengths);
        (0..).zip(&found).map(|(index, found)| figures(index, found)).collect()
    }

    /// A trial to its end.
    pub fn trial(&self, criteria: &[Criterion], load: f64, requests: u64, seed: u64) -> Trial {
        let mut fold = TrialFold::of(&self.pass(load, requests), criteria).expect("a load");
        self.play(load, requests, seed).iter().for_each(|figures| fold.add(figures));
        fold.finish()
    }

    /// A trial that ends as soon as its claim is certain.
    pub fn watched(&self, settings: &Settings, asked: NextTrial, seed: u64) -> Trial {
        let pass = self.pass(asked.load, asked.requests);
        let watcher = Watcher::new(&settings.criteria, &pass, settings.claim_level());
        let found = self.play(asked.load, asked.requests, seed);
        let at = certain_at(&watcher, &found);
        let mut fold = TrialFold::of(&pass, &settings.criteria).expect("a load");
        found.iter().for_each(|one| fold.add(&at.map_or(*one, |at| one.as_of(at))));
        fold.finish()
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
        sent: Some(found.due),
        first: found.first_token.map(|first| found.due + first.since(found.sent)),
        ..RequestFigures::default()
    }
    .with(&ttft::FROM_SENT, first)
    .with(&tpot::DEFINITION, tpot_ms.or(first.map(|_| 0.0)))
    .with(&e2e::FROM_SENT, last)
    .with(&ttft::FROM_DUE, first)
    .with(&e2e::FROM_DUE, last)
    .with(&send_delay::DEFINITION, Some(0.0))
}

/// The interval of a fine sweep: each load gets as many requests, and what may go wrong is shared
/// out over all loads.
pub fn sweep(
    server: &Server,
    criteria: &[Criterion],
    loads: &[f64],
    requests: u64,
    seed: u64,
) -> (Option<f64>, Option<f64>) {
    let z = normal_quantile_above(0.05 / loads.len() as f64);
    let claims: Vec<(f64, Claim)> = (0..)
        .zip(loads)
        .map(|(number, &load)| {
            let trial = server.trial(criteria, load, requests, seed ^ (number << 32));
            let evidence = Evidence::of(criteria, &trial.judged, z);
            (load, if trial.saturation.is_some() { Claim::NotMet } else { evidence.claim() })
        })
        .collect();
    let high = claims.iter().find(|(_, claim)| *claim == Claim::NotMet).map(|it| it.0);
    let below = |it: &&(f64, Claim)| it.1 == Claim::Met && high.is_none_or(|high| it.0 < high);
    (claims.iter().rfind(below).map(|it| it.0), high)
}

/// Loads from one to another, each by this factor above the one before.
pub fn steps(from: f64, to: f64, factor: f64) -> Vec<f64> {
    std::iter::successors(Some(from), |load| Some(load * factor))
        .take_while(|load| *load <= to)
        .collect()
}

/// The load at which the share of requests that meet a criterion, as a fine sweep with very many
/// requests finds it, passes what is needed: shares are made monotone, then interpolated.
pub fn truth(server: &Server, criterion: &Criterion, loads: &[f64], requests: u64) -> f64 {
    let needed = criterion.needed().expect("a share");
    let one = std::slice::from_ref(criterion);
    let misses: Vec<f64> = (0..)
        .zip(loads)
        .map(|(number, &load)| {
            let judged = &server.trial(one, load, requests, 0xF00D + number).judged[0];
            let met = judged.iter().filter(|judged| judged.met).count();
            1.0 - met as f64 / judged.len().max(1) as f64
        })
        .collect();
    // Means over neighbours until they rise: all loads have the same weight.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for miss in misses {
        let mut block = (miss, 1);
        while let Some(&(before, members)) = blocks.last().filter(|last| last.0 > block.0) {
            blocks.pop();
            let total = members + block.1;
            block = ((before * members as f64 + block.0 * block.1 as f64) / total as f64, total);
        }
        blocks.push(block);
    }
    let smooth: Vec<f64> =
        blocks.into_iter().flat_map(|(miss, members)| vec![miss.max(1e-9); members]).collect();
    let above = smooth.iter().position(|miss| *miss > 1.0 - needed).expect("the edge is inside");
    assert!(above > 0, "the edge is inside");
    let [from, to] = [smooth[above - 1], smooth[above]].map(f64::ln);
    let share = ((1.0 - needed).ln() - from) / (to - from);
    loads[above - 1] * (loads[above] / loads[above - 1]).powf(share)
}

/// Searches a server; a seed makes its arrivals.
pub fn search(server: &Server, settings: Settings, seed: u64) -> Search {
    let mut search = Search::new(settings);
    while let Some(asked) = search.next() {
        let draw = below(&mut rng(seed, &["trial", &search.trials().to_string()]), u64::MAX);
        let trial = server.watched(search.settings(), asked, draw);
        search.tell(trial);
    }
    search
}
