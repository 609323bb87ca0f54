//! The fence of agents: the configured mode, and the kernel's support.

use planwright_run::config::{Config, FenceMode};
use planwright_run::fence::{self, Support};
use serde::Serialize;

#[derive(Serialize)]
pub struct FenceSupport {
    /// As configured: `auto`, `write`, `strict`, `off`.
    pub mode: &'static str,
    /// Whether agents would be fenced.
    pub active: bool,
    /// The version of Landlock; null without Landlock.
    pub abi: Option<u32>,
    /// The kernel's support, in words.
    pub kernel: String,
}

impl FenceSupport {
    pub fn of(config: &Config) -> Self {
        let support = fence::support();
        FenceSupport {
            mode: match config.run.fence.mode {
                FenceMode::Off => "off",
                FenceMode::Auto => "auto",
                FenceMode::Write => "write",
                FenceMode::Strict => "strict",
            },
            active: fence::obstacle(&support).is_none() && config.run.fence.mode != FenceMode::Off,
            abi: match support {
                Support::Landlock { abi } => Some(abi),
                _ => None,
            },
            kernel: support.words(),
        }
    }

    pub fn words(&self) -> String {
        let kernel = &self.kernel;
        match self.mode {
            "off" => format!("fence: agents are not fenced, run.fence = \"off\"; kernel: {kernel}"),
            mode => format!("fence: run.fence = \"{mode}\"; kernel: {kernel}"),
        }
    }
}
