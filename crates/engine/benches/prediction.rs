//! Benchmarks of predictions: the published grid, and a million requests in an open loop.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use inferometer_engine::{Engine, EngineConfig, simulate, table};
use inferometer_model::load::Level;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::{Bound, CellPlan, OpenPlan, OverLimit, PassPlan, load_model};

const LENGTHS: [u32; 4] = [128, 512, 1024, 2048];

/// Predicts 16 cells: 10 requests one by one, and 399 requests that are sent at the same time. The engine has its
/// default limits.
fn grid(criterion: &mut Criterion) {
    for model in ["chatglm3-6b", "qwen-14b", "mistral-7b-openorca-awq"] {
        let config = EngineConfig::of_model(model).expect("a known model");
        criterion.bench_function(&format!("grid of 16 cells, {model}"), |bencher| {
            bencher.iter(|| {
                for input_length in LENGTHS {
                    for output_length in LENGTHS {
                        let cell = CellPlan { input_length, output_length };
                        black_box(table(&config, cell, 10, 399).expect("a cell that runs"));
                    }
                }
            });
        });
    }
}

/// Simulates Poisson arrivals at 80 % of the rate that the engine completes when it is saturated.
fn million(criterion: &mut Criterion) {
    let config = EngineConfig::of_model("chatglm3-6b").expect("a known model");
    let cell = CellPlan { input_length: 128, output_length: 128 };
    let capacity = table(&config, cell, 1, 4000).expect("a cell that runs").requests_per_s;
    let bound = Bound::requests(1_000_000);
    let pass = PassPlan::Open(OpenPlan {
        rate: Level::Constant(0.8 * capacity),
        arrivals: Arrivals::Poisson,
        scaled: false,
        bound,
        max_in_flight: None,
        over_limit: OverLimit::Queue,
    });
    let mut group = criterion.benchmark_group("open loop");
    group.sample_size(10);
    group.bench_function("a million requests at 80 % of capacity", |bencher| {
        bencher.iter(|| {
            let mut engine = Engine::new(config.clone()).expect("a configuration that runs");
            let mut lengths = std::iter::repeat((cell.input_length, cell.output_length));
            black_box(simulate(&mut engine, &mut *load_model(&pass, 1), &mut lengths))
        });
    });
    group.finish();
}

criterion_group!(benches, grid, million);
criterion_main!(benches);
