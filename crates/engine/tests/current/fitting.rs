//! Simulates runs with known constants. Tests that a fit finds these constants, and does not change constants that the
//! runs do not determine.

use inferometer_engine::fit::runs::{MeasuredRun, fit_own, fit_runs, parse_runs, simulate_run};
use inferometer_engine::profile::{Profile, StepConstants, profile};

/// Simulates two runs of a model with changed constants, one with few and one with many requests in flight. Returns
/// the profile without the changes, and the runs.
fn made(change: impl Fn(&mut StepConstants)) -> (Profile, Vec<MeasuredRun>) {
    let start = Profile { provenance: Vec::new(), ..profile("vllm-0.11-h100-sxm").expect("known") };
    let text = "engine,card,model,max_in_flight,rate,arrival,requests,input_length,output_length,\
                requests_per_s\n\
                vllm-0.11,h100-sxm,llama-3.1-8b,1,,,4,100,60,1\n\
                vllm-0.11,h100-sxm,llama-3.1-8b,96,,,200,700,30,1\n";
    let mut runs =
        parse_runs(text, "rows", None, &|name| panic!("no row has details: {name}")).expect("rows");
    let mut truth = start.clone();
    change(truth.steps.as_mut().expect("a profile with [steps]"));
    for run in &mut runs {
        run.measured = simulate_run(&truth, run).expect("a run that plays");
    }
    (start, runs)
}

#[test]
fn a_fit_to_two_runs_changes_only_the_constants_that_the_runs_depend_on() {
    let (start, runs) = made(|steps| {
        steps.products_factor *= 0.8;
        steps.front_us *= 2.0;
    });
    let fitted = fit_runs(std::slice::from_ref(&start), &runs, &[]).expect("a fit");
    let of = |name: &str| {
        fitted.constants.iter().find(|constant| constant.name == name).expect("a constant")
    };
    for (name, factor) in [("products_factor", 0.8), ("front_us", 2.0)] {
        // The prior makes the fitted change a little smaller than the true change.
        let way = (of(name).value / of(name).prior).ln() / f64::ln(factor);
        assert!((0.7..1.3).contains(&way), "{name}: {way}");
        assert!(of(name).remaining < 0.7, "{name}: {}", of(name).remaining);
    }
    // Runs with 16-bit weights on one card do not determine these constants.
    for name in ["fp8_factor", "reduction_factor"] {
        assert!((of(name).value / of(name).prior - 1.0).abs() < 1e-9, "{name}");
        assert!(of(name).remaining > 0.95, "{name}: {}", of(name).remaining);
    }
    for run in &runs {
        let found = simulate_run(&fitted.profiles[0], run).expect("a run that plays");
        for (found, made) in found.values().into_iter().zip(run.measured.values()) {
            let (found, made) = (found.expect("a figure"), made.expect("a figure"));
            assert!((found / made - 1.0).abs() < 0.04, "{found} {made}");
        }
    }
}

#[test]
fn a_fit_is_taken_only_if_it_predicts_left_out_runs_clearly_better_than_its_start() {
    let slower = |steps: &mut StepConstants| {
        steps.bandwidth_factor *= 0.8;
        steps.products_factor *= 0.8;
    };
    let near = |steps: &mut StepConstants| steps.bandwidth_factor *= 0.995;
    for (what, change, is_taken) in [
        ("a slower card", &slower as &dyn Fn(&mut StepConstants), true),
        ("as the start, within the scatter of repeated runs", &near, false),
    ] {
        let (start, runs) = made(change);
        let found = fit_own(&start, &runs).expect("a fit");
        assert_eq!(found.share.is_some(), is_taken, "{what}");
        assert_eq!(found.fitted.profiles[0] != start, is_taken, "{what}");
        assert_eq!(found.left_out.len(), runs.len(), "{what}");
    }
    // Two runs that contradict each other: a fit to one predicts the other worse than the start does.
    let (start, mut runs) = made(|_| ());
    for (run, factor) in runs.iter_mut().zip([1.3, 0.8]) {
        let time = |time: Option<f64>| time.map(|time| time * factor);
        let measured = &mut run.measured;
        measured.requests_per_s = measured.requests_per_s.map(|rate| rate / factor);
        (measured.tpot_p50_ms, measured.e2e_p50_ms) =
            (time(measured.tpot_p50_ms), time(measured.e2e_p50_ms));
    }
    let found = fit_own(&start, &runs).expect("a fit");
    assert_eq!((found.share, &found.fitted.profiles[0]), (None, &start));
}

#[test]
fn a_run_exceeds_max_num_seqs_if_its_load_needs_more_sequences_at_once() {
    let header = "engine,card,model,max_num_seqs,max_in_flight,rate,arrival,requests,input_length,\
                  output_length,tpot_p50_ms,ttft_p50_ms";
    for (row, exceeds_max_num_seqs) in [
        ("128,440,153,constant,9000,204,64,19.5,3034", true),
        ("128,64,10,poisson,100,938,512,20,88", false),
        ("128,,10,poisson,300,582,768,33.4,50", true),
        ("128,,1,poisson,300,582,768,33.4,9000", false),
        ("128,,,at_once,1000,217,202,100,20000", true),
        ("128,8,,,100,217,202,10,50", false),
    ] {
        let text = format!("{header}\nvllm-0.11,h100-sxm,llama-3.1-8b,{row}\n");
        let runs = parse_runs(&text, "rows", None, &|_| panic!("no details")).expect("rows");
        assert_eq!(runs[0].exceeds_max_num_seqs(), exceeds_max_num_seqs, "{row}");
    }
}

#[test]
fn settings_absent_from_a_row_come_from_the_given_configuration() {
    let mut start = inferometer_engine::EngineConfig::of_model("llama-3.1-8b").expect("known");
    start.profile = profile("vllm-0.8-l40s").expect("known");
    (start.max_num_seqs, start.tensor_parallel_size) = (Some(32), Some(2));
    let text = "requests,input_length,output_length,max_num_seqs,tpot_p50_ms\n9,100,10,64,12\n\
                9,100,10,,12\n";
    let runs = parse_runs(text, "mine.csv", Some(&start), &|_| panic!("no details")).expect("rows");
    assert_eq!(runs[0].config.max_num_seqs, Some(64));
    assert_eq!(runs[1].config.max_num_seqs, Some(32));
    assert_eq!(runs[1].config.tensor_parallel_size, Some(2));
}

#[test]
fn an_invalid_run_row_is_refused_with_its_line_and_column() {
    let read = |text: &str| {
        parse_runs(text, "mine.csv", None, &|_| panic!("no details")).unwrap_err().to_string()
    };
    let header = "engine,card,model,rate,arrival,requests,input_length,output_length,tpot_p50_ms\n";
    for (row, why) in [
        ("vllm-0.23,h100-sxm,qwen3-14b,5,poisson,0,100,10,12", "requests 0"),
        ("vllm-0.23,h100-sxm,qwen3-14b,5,sometimes,9,100,10,12", "arrival sometimes"),
        ("vllm-0.23,h100-sxm,qwen3-14b,-5,poisson,9,100,10,12", "rate -5"),
        ("vllm-0.23,h100-sxm,qwen3-14b,5,poisson,9,100,10,", "requests_per_s is absent"),
        ("vllm-0.23,abacus,qwen3-14b,5,poisson,9,100,10,12", "--card abacus"),
        ("vllm-0.23,h100-sxm,qwen3-14b,5,poisson,many,100,10,12", "line 2"),
    ] {
        let message = read(&format!("{header}{row}\n"));
        assert!(message.starts_with("mine.csv: line 2") && message.contains(why), "{message}");
    }
    assert!(read(header).contains("has no row"));
}
