//! Tests with the variables of each launcher, and with wrong variables.

use super::*;

fn found(variables: &[(&str, &str)]) -> Result<LauncherState, LauncherError> {
    find(&|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

/// The expected result for some variables: launcher, rank, number of ranks, host and port.
type Given<'a> = (Launcher, u32, u32, Option<&'a str>, Option<u16>);

const SLURM: [(&str, &str); 6] = [
    ("SLURM_PROCID", "2"),
    ("SLURM_NTASKS", "3"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_JOB_ID", "17"),
    ("SLURM_JOB_NODELIST", "n[1-3]"),
    ("SLURM_LAUNCH_NODE_IPADDR", "10.77.0.1"),
];
const INDEXED: [(&str, &str); 3] =
    [("JOB_COMPLETION_INDEX", "1"), ("HOSTNAME", "bench-1"), ("INFEROMETER_SERVICE", "ranks")];

#[test]
fn each_launcher_gives_the_rank_the_number_of_ranks_and_the_address_of_rank_0() {
    let mpirun = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")];
    let pmi = [("PMI_RANK", "3"), ("PMI_SIZE", "4")];
    let torch = [("RANK", "1"), ("WORLD_SIZE", "2")];
    let address = [("MASTER_ADDR", "10.0.0.9"), ("MASTER_PORT", "29500")];
    let cases: Vec<(Vec<(&str, &str)>, Given<'_>)> = vec![
        (SLURM.to_vec(), (Launcher::Slurm, 2, 3, Some("n1"), None)),
        (
            [&SLURM[..], &[("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_STEP_NODELIST", "n[2-3]")]]
                .concat(),
            (Launcher::Slurm, 2, 4, Some("n2"), None),
        ),
        (
            [&[("SLURM_STEP_NODELIST", "n2")], &SLURM[..]].concat(),
            (Launcher::Slurm, 2, 3, Some("127.0.0.1"), None),
        ),
        // A process that srun starts may itself be a launcher such as mpirun.
        ([&SLURM[..], &mpirun].concat(), (Launcher::OpenMpi, 0, 2, None, None)),
        (
            [&mpirun[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]].concat(),
            (Launcher::OpenMpi, 0, 2, Some("127.0.0.1"), None),
        ),
        (
            [&mpirun[..], &[("OMPI_COMM_WORLD_LOCAL_SIZE", "1")]].concat(),
            (Launcher::OpenMpi, 0, 2, None, None),
        ),
        ([&pmi[..], &address].concat(), (Launcher::Pmi, 3, 4, Some("10.0.0.9"), Some(29_500))),
        ([&torch[..], &address].concat(), (Launcher::Torch, 1, 2, Some("10.0.0.9"), Some(29_500))),
        // The agent of torchrun uses MASTER_PORT itself.
        (
            [&torch[..], &address, &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat(),
            (Launcher::Torch, 1, 2, Some("10.0.0.9"), None),
        ),
        (
            [&INDEXED[..], &[("INFEROMETER_RANKS", "3")]].concat(),
            (Launcher::Kubernetes, 1, 3, Some("bench-0.ranks"), None),
        ),
        (
            [&INDEXED[..2], &[("INFEROMETER_RANKS", "3")]].concat(),
            (Launcher::Kubernetes, 1, 3, None, None),
        ),
        (
            [&[("INFEROMETER_RANK", "5"), ("INFEROMETER_RANKS", "6")], &SLURM[..]].concat(),
            (Launcher::Own, 5, 6, None, None),
        ),
    ];
    for (variables, expected) in cases {
        match found(&variables) {
            Ok(LauncherState::Among(place)) => {
                let RankPlace { launcher, rank, ranks, host, port, job } = &place;
                let given = (*launcher, *rank, *ranks, host.as_deref(), *port);
                assert_eq!(given, expected, "{variables:?}");
                assert!(!job.is_empty());
            }
            other => panic!("{variables:?}: {other:?}"),
        }
    }
}

#[test]
fn a_process_without_a_launcher_or_with_only_one_rank_runs_alone() {
    let alone: [&[(&str, &str)]; 7] = [
        &[],
        &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1"), ("SLURM_STEP_ID", "0")],
        // The batch script of a job with four tasks.
        &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "3")],
        &[("RANK", "3")],
        &[("WORLD_SIZE", "8")],
        &[("PMI_RANK", "0"), ("PMI_SIZE", "1")],
        &[("INFEROMETER_RANKS", "1"), ("PMI_RANK", "0"), ("PMI_SIZE", "4")],
    ];
    for variables in alone {
        assert_eq!(found(variables), Ok(LauncherState::Alone), "{variables:?}");
    }
    assert!(matches!(found(&INDEXED), Ok(LauncherState::SizeUnknown { .. })));
}

#[test]
fn the_error_names_the_missing_or_invalid_environment_variable() {
    let cases: [(&[(&str, &str)], &str); 11] = [
        (&[("INFEROMETER_RANKS", "3")], "INFEROMETER_RANK is not"),
        (&[("PMI_RANK", "1")], "PMI_SIZE is not"),
        (
            &[
                ("JOB_COMPLETION_INDEX", "1"),
                ("HOSTNAME", "bench-1"),
                ("INFEROMETER_RANKS", "3"),
                ("WORLD_SIZE", "24"),
            ],
            "INFEROMETER_RANKS is 3, but WORLD_SIZE is 24",
        ),
        (&[("OMPI_COMM_WORLD_SIZE", "2")], "OMPI_COMM_WORLD_RANK is not"),
        (&[("PMI_RANK", "x"), ("PMI_SIZE", "2")], "PMI_RANK: `x` is not a whole number"),
        (&[("PMI_RANK", "-1"), ("PMI_SIZE", "2")], "PMI_RANK: `-1` is not a whole number"),
        (&[("PMI_RANK", "2"), ("PMI_SIZE", "2")], "PMI_RANK: 2 is not below PMI_SIZE, which is 2"),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "0")], "PMI_SIZE: 0 is not between 1 and"),
        (&[("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0")], "SLURM_NTASKS is not"),
        (&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "no")], "MASTER_PORT: `no`"),
        (
            &[
                ("SLURM_PROCID", "0"),
                ("SLURM_STEP_ID", "0"),
                ("SLURM_NTASKS", "2"),
                ("SLURM_JOB_NODELIST", "n[1-"),
            ],
            "SLURM_JOB_NODELIST: `n[1-`",
        ),
    ];
    for (variables, why) in cases {
        let error = found(variables).expect_err("the variables are wrong").to_string();
        assert!(error.contains(why), "{variables:?}: {error}");
    }
}

#[test]
fn all_ranks_of_a_run_have_the_same_job_name_and_other_runs_have_a_different_one() {
    let job = |variables: &[(&str, &str)]| match found(variables) {
        Ok(LauncherState::Among(place)) => place.job,
        other => panic!("{other:?}"),
    };
    let with = |name: &'static str, value: &'static str| {
        let others = SLURM.iter().filter(|(known, _)| *known != name).copied();
        others.chain([(name, value)]).collect::<Vec<_>>()
    };
    assert_eq!(job(&SLURM), job(&with("SLURM_PROCID", "0")));
    for other in [with("SLURM_JOB_ID", "18"), with("SLURM_STEP_ID", "1")] {
        assert_ne!(job(&SLURM), job(&other));
    }
}
