//! Options about the holder of a task: claims, leases, taking over.

/// Options of verbs that begin work on a task.
#[derive(clap::Args)]
pub(crate) struct LeaseOption {
    /// How long the claim on the task lasts, as 30m or 2h; then `next` offers it again.
    #[arg(long, value_name = "DURATION")]
    pub(crate) lease: Option<String>,
}

/// The option to take a task from its holder.
#[derive(clap::Args)]
pub(crate) struct TakeOverOption {
    /// Take the task over from its holder, a run included; needs --note.
    #[arg(long)]
    pub(crate) take_over: bool,
}

/// Options of verbs that finish a task.
#[derive(clap::Args)]
pub(crate) struct HolderOptions {
    /// The number of the claim on the task, as `start` and `next --start` print it; needed for claims made with --by.
    #[arg(long, value_name = "N")]
    pub(crate) claim: Option<u64>,

    #[command(flatten)]
    pub(crate) take_over: TakeOverOption,
}
