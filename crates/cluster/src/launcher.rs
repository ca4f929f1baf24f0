//! Which of several processes this one is, by the variables that launchers set. A pure function of them.

use crate::host_list;

/// The values of environment variables, as the calling program hands them over.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Who started the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// This program's own variables.
    Own,
    /// RANK and WORLD_SIZE, as torchrun and many others set them.
    Torch,
    /// Open MPI's mpirun.
    OpenMpi,
    /// MPICH and others that speak PMI.
    Pmi,
    /// Slurm's srun.
    Slurm,
    /// A Kubernetes Job in Indexed completion mode.
    Kubernetes,
}

impl Launcher {
    /// Its name.
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

/// This process among those of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Who says so.
    pub launcher: Launcher,
    /// Which it is, from 0.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// Where rank 0 is: a name or an address; absent where the launcher does not say.
    pub host: Option<String>,
    /// The port at which the ranks meet, where it is given.
    pub port: Option<u16>,
    /// What tells this run from all others, as far as the launcher says.
    pub job: String,
}

/// The most ranks of a run.
pub const MOST_RANKS: u32 = 100_000;

/// What the variables of launchers say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This process is the only one.
    Alone,
    /// The same; a launcher has started others, and does not say how many.
    SizeUnknown {
        /// What to tell the user.
        note: &'static str,
    },
    /// One of several.
    Among(Place),
}

/// The rank of this process and their number, where a launcher has started several.
///
/// # Errors
/// Which variable is wrong, and why.
pub fn find(variables: Variables<'_>) -> Result<Found, String> {
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
            // Two names so common that one of them alone means nothing.
            _ if launcher == Launcher::Torch => {}
            // The number of ranks alone is what a Kubernetes Job gives, or one process that is to be alone.
            (None, Some(size_text)) if launcher == Launcher::Own => {
                if number(size, &size_text)? == 1 {
                    return Ok(Found::Alone);
                }
            }
            (Some(_), None) => return Err(missing(rank, size)),
            (None, Some(_)) => return Err(missing(size, rank)),
            (None, None) => {}
        }
    }
    // A batch script has SLURM_PROCID and SLURM_NTASKS too, and is one process: only steps are several.
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
            None => Ok(Found::Alone),
        };
    };
    let sizes = ["INFEROMETER_RANKS", "WORLD_SIZE"].map(|name| Some((name, set(name)?)));
    match sizes {
        [Some((one, size)), Some((other, other_size))] if size != other_size => Err(format!(
            "{one} is {size}, but {other} is {other_size}: set both to the job's `completions`, or \
                only {one}"
        )),
        [Some((name, size)), _] | [None, Some((name, size))] => {
            among(Launcher::Kubernetes, ("JOB_COMPLETION_INDEX", &index), (name, &size), &set)
        }
        [None, None] => Ok(Found::SizeUnknown {
            note: "JOB_COMPLETION_INDEX is set, but INFEROMETER_RANKS is not: this pod measures \
                the whole plan alone. To share the plan among the pods of the job, set \
                INFEROMETER_RANKS to the job's `completions`",
        }),
    }
}

fn missing(there: &str, absent: &str) -> String {
    format!("{there} is set, but {absent} is not: a run of several processes needs both")
}

fn number(name: &str, text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{name}: `{text}` is not a whole number"))
}

fn among(
    launcher: Launcher,
    (rank_name, rank): (&str, &str),
    (size_name, size): (&str, &str),
    set: Variables<'_>,
) -> Result<Found, String> {
    let (rank, ranks) = (number(rank_name, rank)?, number(size_name, size)?);
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(format!("{size_name}: {ranks} is not between 1 and {MOST_RANKS}"));
    }
    if rank >= ranks {
        return Err(format!("{rank_name}: {rank} is not below {size_name}, which is {ranks}"));
    }
    if ranks == 1 {
        return Ok(Found::Alone);
    }
    // torchrun's own agent listens at MASTER_PORT, unless it is told not to.
    let is_taken = set("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|is| is == "True");
    let port = match set("MASTER_PORT").filter(|_| !is_taken) {
        None => None,
        Some(text) => {
            let port = text.parse::<u16>().ok().filter(|port| *port > 0);
            Some(port.ok_or_else(|| format!("MASTER_PORT: `{text}` is not a port number"))?)
        }
    };
    let host = match set("MASTER_ADDR") {
        Some(host) => Some(host),
        None => host(launcher, ranks, set)?,
    };
    let job = job(launcher, set);
    Ok(Found::Among(Place { launcher, rank, ranks, host, port, job }))
}

const LOOPBACK: &str = "127.0.0.1";

/// Where the launcher says that rank 0 is.
fn host(launcher: Launcher, ranks: u32, set: Variables<'_>) -> Result<Option<String>, String> {
    // All on one machine, which is then this one.
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
                    let hosts = host_list::expand(&list).map_err(|why| format!("{name}: {why}"))?;
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

/// The name of a Kubernetes Job: its pods are called JOB-INDEX.
fn job_name(set: Variables<'_>) -> Option<String> {
    let (host, index) = (set("HOSTNAME")?, set("JOB_COMPLETION_INDEX")?);
    host.strip_suffix(&index)?.strip_suffix('-').map(str::to_owned)
}

/// What tells the run from others: the same text in each of its processes.
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
