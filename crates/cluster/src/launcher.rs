//! Finds the rank of this process from the environment variables of launchers. The result depends only on these
//! variables.

use crate::{HostListError, host_list};

/// A function that returns the value of an environment variable; None if the variable is not set. The calling program
/// provides this function.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The program that started the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// The variables of this program: INFEROMETER_RANK and INFEROMETER_RANKS.
    Own,
    /// RANK and WORLD_SIZE, as torchrun and many others set them.
    Torch,
    /// Open MPI's mpirun.
    OpenMpi,
    /// MPICH and other launchers that use PMI.
    Pmi,
    /// Slurm's srun.
    Slurm,
    /// A Kubernetes Job in Indexed completion mode.
    Kubernetes,
}

impl Launcher {
    /// The name of the launcher in messages; for `Own` and `Torch`, the names of variables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "INFEROMETER_RANK",
            Self::Torch => "RANK and WORLD_SIZE",
            Self::OpenMpi => "Open MPI",
            Self::Pmi => "PMI",
            Self::Slurm => "Slurm",
            Self::Kubernetes => "Kubernetes",
        }
    }
}

/// The rank of this process in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// The launcher whose variables state the rank.
    pub launcher: Launcher,
    /// The rank of this process, from 0.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The host name or address of rank 0; None if the variables do not state it.
    pub host: Option<String>,
    /// The port at which the ranks meet, from MASTER_PORT; None if this variable is not set, or if the agent of
    /// torchrun uses this port.
    pub port: Option<u16>,
    /// A text that identifies this run, as far as the launcher's variables allow.
    pub job: String,
}

/// The maximum number of ranks of a run.
pub const MOST_RANKS: u32 = 100_000;

/// The result of reading the variables of launchers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LauncherState {
    /// This process works alone: no launcher was recognised, or the number of ranks is 1.
    Alone,
    /// This process works alone. A Kubernetes Job has started it, but the number of its processes is unknown.
    SizeUnknown {
        /// The message to the user.
        note: &'static str,
    },
    /// This process is one of several.
    Among(RankPlace),
}

/// Why the variables of a launcher do not state a rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum LauncherError {
    /// One of two variables is absent.
    #[error("{there} is set, but {absent} is not: a run of several processes needs both")]
    Missing { there: &'static str, absent: &'static str },
    /// A variable is not a number.
    #[error("{name}: `{text}` is not a whole number from 0 to {}", u32::MAX)]
    NoNumber { name: &'static str, text: String },
    /// The number of ranks is out of range.
    #[error("{name}: {ranks} is not between 1 and {MOST_RANKS}")]
    Ranks { name: &'static str, ranks: u32 },
    /// The rank is not one of the ranks.
    #[error("{name}: {rank} is not below {size_name}, which is {ranks}")]
    Rank { name: &'static str, rank: u32, size_name: &'static str, ranks: u32 },
    /// Two variables state different numbers of ranks.
    #[error(
        "{one} is {size}, but {other} is {other_size}: set both to the job's `completions`, or only {one}"
    )]
    Contradiction { one: &'static str, size: String, other: &'static str, other_size: String },
    /// The port is not a number from 1 to 65,535.
    #[error("MASTER_PORT: `{0}` is not a port number")]
    Port(String),
    /// The list of hosts cannot be expanded.
    #[error("{name}: `{list}`: {source}")]
    Hosts { name: &'static str, list: String, source: HostListError },
}

/// Finds the rank of this process and the number of ranks, if a launcher has started several processes.
///
/// # Errors
/// If the value of a variable is wrong, if a variable is missing, or if two variables contradict each other. The error
/// names the variable and the reason.
pub fn find(variables: Variables<'_>) -> Result<LauncherState, LauncherError> {
    let set = |name: &str| variables(name).filter(|value| !value.is_empty());
    let launchers = [
        (Launcher::Own, "INFEROMETER_RANK", "INFEROMETER_RANKS"),
        (Launcher::Torch, "RANK", "WORLD_SIZE"),
        (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        (Launcher::Pmi, "PMI_RANK", "PMI_SIZE"),
    ];
    for (launcher, rank, size) in launchers {
        match (set(rank), set(size)) {
            (Some(rank_text), Some(size_text)) => {
                return among(launcher, (rank, &rank_text), (size, &size_text), &set);
            }
            // RANK and WORLD_SIZE are common names. If only one of them is set, this launcher was probably not used.
            _ if launcher == Launcher::Torch => {}
            // In a Kubernetes Job, and in a process that works alone, INFEROMETER_RANK need not be set.
            (None, Some(size_text)) if launcher == Launcher::Own => {
                if number(size, &size_text)? == 1 {
                    return Ok(LauncherState::Alone);
                }
            }
            (Some(_), None) => return Err(missing(rank, size)),
            (None, Some(_)) => return Err(missing(size, rank)),
            (None, None) => {}
        }
    }
    // A Slurm batch script also has SLURM_PROCID and SLURM_NTASKS, but it is one process. Only job steps have several
    // processes.
    if let (Some(rank), Some(_)) =
        (set("SLURM_PROCID"), set("SLURM_STEP_ID").or(set("SLURM_STEPID")))
    {
        let name =
            ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"].into_iter().find(|name| set(name).is_some());
        let name = name.ok_or_else(|| missing("SLURM_PROCID", "SLURM_NTASKS"))?;
        let size = set(name).unwrap_or_default();
        return among(Launcher::Slurm, ("SLURM_PROCID", &rank), (name, &size), &set);
    }
    let Some(index) = set("JOB_COMPLETION_INDEX") else {
        return match set("INFEROMETER_RANKS") {
            Some(_) => Err(missing("INFEROMETER_RANKS", "INFEROMETER_RANK")),
            None => Ok(LauncherState::Alone),
        };
    };
    let sizes = ["INFEROMETER_RANKS", "WORLD_SIZE"].map(|name| Some((name, set(name)?)));
    match sizes {
        [Some((one, size)), Some((other, other_size))] if size != other_size => {
            Err(LauncherError::Contradiction { one, size, other, other_size })
        }
        [Some((name, size)), _] | [None, Some((name, size))] => {
            among(Launcher::Kubernetes, ("JOB_COMPLETION_INDEX", &index), (name, &size), &set)
        }
        [None, None] => Ok(LauncherState::SizeUnknown {
            note: "JOB_COMPLETION_INDEX is set, but INFEROMETER_RANKS is not: this pod measures \
                the whole plan alone. To share the plan among the pods of the job, set \
                INFEROMETER_RANKS to the job's `completions`",
        }),
    }
}

fn missing(there: &'static str, absent: &'static str) -> LauncherError {
    LauncherError::Missing { there, absent }
}

fn number(name: &'static str, text: &str) -> Result<u32, LauncherError> {
    let number = text.trim().parse();
    number.map_err(|_| LauncherError::NoNumber { name, text: text.to_owned() })
}

fn among(
    launcher: Launcher,
    (rank_name, rank): (&'static str, &str),
    (size_name, size): (&'static str, &str),
    set: Variables<'_>,
) -> Result<LauncherState, LauncherError> {
    let (rank, ranks) = (number(rank_name, rank)?, number(size_name, size)?);
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(LauncherError::Ranks { name: size_name, ranks });
    }
    if rank >= ranks {
        return Err(LauncherError::Rank { name: rank_name, rank, size_name, ranks });
    }
    if ranks == 1 {
        return Ok(LauncherState::Alone);
    }
    // If this variable is True, the agent of torchrun itself listens at MASTER_PORT.
    let is_taken = set("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|is| is == "True");
    let port = match set("MASTER_PORT").filter(|_| !is_taken) {
        None => None,
        Some(text) => {
            let port = text.parse::<u16>().ok().filter(|port| *port > 0);
            Some(port.ok_or(LauncherError::Port(text))?)
        }
    };
    let host = match set("MASTER_ADDR") {
        Some(host) => Some(host),
        None => host(launcher, ranks, set)?,
    };
    let job = job(launcher, set);
    Ok(LauncherState::Among(RankPlace { launcher, rank, ranks, host, port, job }))
}

const LOOPBACK: &str = "127.0.0.1";

/// The address of rank 0, if the launcher's variables state it.
fn host(
    launcher: Launcher,
    ranks: u32,
    set: Variables<'_>,
) -> Result<Option<String>, LauncherError> {
    // If all ranks run on one machine, rank 0 runs on this machine.
    let are_all = |name: &str| {
        set(name).and_then(|local| local.parse::<u32>().ok()).filter(|local| *local == ranks)
    };
    let here = |name: &str| are_all(name).map(|_| LOOPBACK.to_owned());
    Ok(match launcher {
        Launcher::Own | Launcher::Torch => None,
        Launcher::OpenMpi => here("OMPI_COMM_WORLD_LOCAL_SIZE"),
        Launcher::Pmi => here("MPI_LOCALNRANKS"),
        Launcher::Slurm => {
            let names = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"];
            match names.into_iter().find_map(|name| Some((name, set(name)?))) {
                None => None,
                Some((name, list)) => {
                    let hosts = host_list::expand(&list)
                        .map_err(|source| LauncherError::Hosts { name, list, source })?;
                    if hosts.len() == 1 {
                        Some(LOOPBACK.to_owned())
                    } else {
                        hosts.into_iter().next()
                    }
                }
            }
        }
        Launcher::Kubernetes => {
            let service = set("INFEROMETER_SERVICE");
            job_name(set).zip(service).map(|(job, service)| format!("{job}-0.{service}"))
        }
    })
}

/// The name of a Kubernetes Job, from the host name of the pod, which has the form JOB-INDEX.
fn job_name(set: Variables<'_>) -> Option<String> {
    let (host, index) = (set("HOSTNAME")?, set("JOB_COMPLETION_INDEX")?);
    host.strip_suffix(&index)?.strip_suffix('-').map(str::to_owned)
}

/// A text that identifies the run. It is the same in each of the run's processes.
fn job(launcher: Launcher, set: Variables<'_>) -> String {
    let names: &[&str] = match launcher {
        Launcher::Own => &["INFEROMETER_JOB"],
        Launcher::Torch => &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"],
        Launcher::OpenMpi => &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
        Launcher::Pmi => &["PMI_JOBID", "PMI_KVSNAME"],
        Launcher::Slurm => &["SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEPID"],
        Launcher::Kubernetes => &["INFEROMETER_JOB", "INFEROMETER_SERVICE"],
    };
    let mut parts = vec![launcher.name().to_owned()];
    parts.extend(names.iter().filter_map(|name| set(name)));
    if launcher == Launcher::Kubernetes {
        parts.extend(job_name(set));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests;
