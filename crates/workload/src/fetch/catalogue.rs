//! The list of data sets that can be downloaded by name, with their addresses and, where known, their
//! checksums. This module downloads nothing.

use std::fmt;

/// A file of data that benchmarks of serving engines use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// The name that selects the data set.
    pub name: &'static str,
    /// A short description for the user.
    pub what: &'static str,
    /// The workload that reads it.
    pub workload: &'static str,
    /// The source of the download.
    pub origin: DownloadSource,
    /// The SHA-256 of the file in hexadecimal digits. `None` if it is not known. Then the SHA-256 of the
    /// first file in the cache is stored, and later files are compared with it.
    pub sha256: Option<&'static str>,
}

/// The source from which a data set is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadSource {
    /// A data set repository on the Hugging Face hub.
    Hub {
        /// `org/name`.
        repository: &'static str,
        /// The hash of the commit.
        revision: &'static str,
        /// The path of the file in the repository.
        file: &'static str,
    },
    /// Any other web server: the address without `https://`.
    Web(&'static str),
}

impl DataSet {
    /// The name of the file, without folders.
    pub fn file(&self) -> &'static str {
        let path = match self.origin {
            DownloadSource::Hub { file, .. } => file,
            DownloadSource::Web(address) => address,
        };
        path.rsplit('/').next().unwrap_or(path)
    }
}

impl fmt::Display for DownloadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub { repository, revision, file } => {
                write!(f, "hub: datasets/{repository} at {revision}, {file}")
            }
            Self::Web(address) => write!(f, "https://{address}"),
        }
    }
}

const SHAREGPT: DataSet = DataSet {
    name: "sharegpt",
    what: "ShareGPT_V3_unfiltered_cleaned_split.json, 673 MB: conversations of people with \
           ChatGPT",
    workload: "sharegpt",
    origin: DownloadSource::Hub {
        repository: "anon8231489123/ShareGPT_Vicuna_unfiltered",
        revision: "192ab2185289094fc556ec8ce5ce1e8e587154ca",
        file: "ShareGPT_V3_unfiltered_cleaned_split.json",
    },
    sha256: Some("35f0e213ce091ed9b9af2a1f0755e9d39f9ccec34ab281cd4ca60d70f6479ba4"),
};

/// A table of data sets for the workload `trace`, on web servers: the name, what it is, the address and the SHA-256.
macro_rules! traces {
    ($($name:literal $what:literal $address:literal $sha256:expr;)*) => {
        [SHAREGPT, $(DataSet {
            name: $name,
            what: $what,
            workload: "trace",
            origin: DownloadSource::Web($address),
            sha256: $sha256,
        }),*]
    };
}

/// All data sets.
pub static DATA_SETS: [DataSet; 13] = traces! {
    "mooncake-conversation" "Mooncake (FAST'25): timestamps, lengths and block hashes of conversations"
        "raw.githubusercontent.com/kvcache-ai/Mooncake/0d1a8040faebb7c127c8901840a38c2ff57e80c5/FAST25-release/traces/\
         conversation_trace.jsonl"
        Some("b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df");
    "mooncake-toolagent" "Mooncake (FAST'25): timestamps, lengths and block hashes of agents with tools"
        "raw.githubusercontent.com/kvcache-ai/Mooncake/main/FAST25-release/traces/toolagent_trace.jsonl"
        Some("48a2db1a13d3bc05e6330140c64f604ba366df20d3c9e128b5c35a01c1fa5f71");
    "mooncake-synthetic" "Mooncake (FAST'25): timestamps, lengths and block hashes, synthetic"
        "raw.githubusercontent.com/kvcache-ai/Mooncake/0d1a8040faebb7c127c8901840a38c2ff57e80c5/FAST25-release/traces/\
         synthetic_trace.jsonl"
        Some("bd070915a98fc0ed264d7cfef2ce746002eb3076a695ec31ba2674c0111ec131");
    "mooncake-arxiv" "Mooncake (2024): timestamps, lengths and block hashes of one hour of requests to Kimi"
        "raw.githubusercontent.com/kvcache-ai/Mooncake/main/FAST25-release/arxiv-trace/mooncake_trace.jsonl"
        Some("b434f1816a707f4bac697235588184ebc374c9907cb981bb65fb0643471fe711");
    "azure-2023-code" "Azure LLM inference 2023 (Splitwise): timestamps and lengths of code completion"
        "raw.githubusercontent.com/Azure/AzurePublicDataset/master/data/AzureLLMInferenceTrace_code.csv" None;
    "azure-2023-conv" "Azure LLM inference 2023 (Splitwise): timestamps and lengths of conversations"
        "raw.githubusercontent.com/Azure/AzurePublicDataset/master/data/AzureLLMInferenceTrace_conv.csv" None;
    "azure-2024-code" "Azure LLM inference 2024 (DynamoLLM), a week: timestamps and lengths of code completion"
        "azurepublicdatasettraces.blob.core.windows.net/azurellminfererencetrace/AzureLLMInferenceTrace_code_1week.csv" None;
    "azure-2024-conv" "Azure LLM inference 2024 (DynamoLLM), a week: timestamps and lengths of conversations"
        "azurepublicdatasettraces.blob.core.windows.net/azurellminfererencetrace/AzureLLMInferenceTrace_conv_1week.csv" None;
    "burstgpt-1" "BurstGPT, first two months of requests to ChatGPT and GPT-4 at a campus, with failures"
        "github.com/HPMLL/BurstGPT/releases/download/v1.1/BurstGPT_1.csv" None;
    "burstgpt-1-without-fails" "BurstGPT, first two months, without failures"
        "github.com/HPMLL/BurstGPT/releases/download/v1.1/BurstGPT_without_fails_1.csv" None;
    "burstgpt-2-without-fails" "BurstGPT, second two months, without failures"
        "github.com/HPMLL/BurstGPT/releases/download/v1.1/BurstGPT_without_fails_2.csv" None;
    "burstgpt-3" "BurstGPT 2.0, with the session of each request"
        "github.com/HPMLL/BurstGPT/releases/download/v2.0/BurstGPT_3.csv"
        Some("2299986a07388aa303ec2c41d1131e756db650a39ed6ef9dfe7cc3d7f9a43b8f");
};

/// The data set with this name, if there is one.
pub fn data_set(name: &str) -> Option<&'static DataSet> {
    DATA_SETS.iter().find(|data_set| data_set.name == name)
}
