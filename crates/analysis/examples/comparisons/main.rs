//! Simulates how often comparisons are right: `.ci/long/comparisons [TRIALS]`. It prints tables. `.ci/long/RESULTS.md`
//! and `docs/comparison.md` have the latest tables.

mod simulation;

use simulation::{NOISES, Noise, Plan, deviation_for, found, held, is_alarm, over, simulate};

/// The name of an order of measurement, and the function that makes a plan in this order from a number of rounds.
type Order = (&'static str, fn(usize) -> Plan);

fn main() {
    let trials = std::env::args().nth(1).map_or(1_000, |text| text.parse().expect("a number"));
    let alarms = |plan: Plan, noise: Noise, deviation: f64| {
        100.0
            * over(trials, |at| {
                f64::from(u8::from(is_alarm(&simulate(plan, noise, deviation, 0.0, at))))
            })
    };
    let orders: [Order; 3] = [
        ("in turn", Plan::InTurn),
        ("there and back", Plan::ThereAndBack),
        ("by chance", Plan::ByChance),
    ];
    println!("a server against itself, any of 6 figures better or worse (%), {trials} trials");
    for (name, plan) in orders {
        for noise in NOISES {
            let of = |rounds| alarms(plan(rounds), noise, 0.02);
            let rates = [4, 5, 6, 10, 20, 30].map(|rounds| format!("{rounds}: {:.1}", of(rounds)));
            println!("  {name}, {noise:?}, by rounds: {}", rates.join(", "));
        }
    }
    for [before, after] in [[5, 5], [20, 5], [20, 20], [30, 10]] {
        for noise in NOISES {
            let rate = alarms(Plan::BeforeAfter(before, after), noise, 0.02);
            println!("  {before} before, {after} after, {noise:?}: {rate:.1}");
        }
    }
    println!(
        "a slowdown of 5 %, at the deviation (in parentheses) for which a pilot says that this number of rounds is \
         needed: share of the rows in which the slowdown is found, share of the comparisons with at least one such \
         row (%)"
    );
    for (name, plan) in orders {
        for noise in NOISES {
            for rounds in [4, 6, 10, 20, 30] {
                let deviation = deviation_for(plan, noise, rounds, 100);
                let of = |of: fn(&_) -> f64| {
                    100.0
                        * over(trials, |at| {
                            of(&simulate(plan(rounds as usize), noise, deviation, 0.05, at))
                        })
                };
                let any = of(|one| f64::from(u8::from(found(one) > 0.0)));
                println!(
                    "  {name}, {noise:?}, {rounds} rounds ({:.1} %): {:.1}, {any:.1}",
                    100.0 * deviation,
                    of(found)
                );
            }
        }
    }
    println!("95 % intervals that contain a slowdown of 5 % (%)");
    for (name, plan) in orders {
        for noise in NOISES {
            let of = |rounds| {
                100.0
                    * over(trials, |at| held(&simulate(plan(rounds), noise, 0.02, 0.05, at), 0.05))
            };
            let rates = [3, 4, 5, 6, 10].map(|rounds| format!("{rounds}: {:.1}", of(rounds)));
            println!("  {name}, {noise:?}, by rounds: {}", rates.join(", "));
        }
    }
    for n in [3, 4, 5, 10] {
        let of =
            |at| held(&simulate(Plan::BeforeAfter(n, n), Noise::Independent, 0.02, 0.05, at), 0.05);
        println!("  {n} before, {n} after, Independent: {:.1}", 100.0 * over(trials, of));
    }
}
