//! Enforces a fence with Landlock. Knows paths and ports, not their purpose.

use std::path::Path;

use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::{FencePolicy, OLDEST_ABI, Support};

/// The newest ABI whose rights are requested. An older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V6;

/// The oldest ABI that is enough for a fence.
const NEEDED: ABI = ABI::V3;

pub fn support() -> Support {
    // Only a thread that restricts itself learns the version. This one ends right after.
    let probe = || {
        let rules = Ruleset::default().handle_access(AccessFs::from_write(NEEDED))?;
        rules.create()?.restrict_self()
    };
    let status = std::thread::spawn(probe).join();
    match status.ok().and_then(Result::ok).map(|status| status.landlock) {
        Some(LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        }) => {
            let newer = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
            Support::Landlock {
                abi: newer.unwrap_or(effective_abi as u32),
            }
        }
        Some(LandlockStatus::NotEnabled) => Support::Disabled,
        Some(LandlockStatus::NotImplemented) | None => Support::Missing,
    }
}

/// Restricts this thread and its future children. On error, given in words, nothing may be started.
pub(super) fn restrict(policy: &FencePolicy) -> Result<(), String> {
    let words = |error: RulesetError| format!("the kernel refuses the fence: {error}");
    let rules = rules_of(policy).map_err(words)?;
    let status = rules.restrict_self().map_err(words)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(format!(
            "the kernel does not enforce a fence (Landlock ABI {OLDEST_ABI})"
        )),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn rules_of(policy: &FencePolicy) -> Result<RulesetCreated, RulesetError> {
    let reading = AccessFs::from_read(NEWEST);
    let writing = AccessFs::from_write(NEWEST);
    // No process needs to create devices, and a device made by root could be the disk.
    let devices = AccessFs::MakeBlock | AccessFs::MakeChar;
    let mut handled = writing;
    if policy.readable.is_some() {
        handled |= reading;
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(handled)?
        // An agent must not signal processes outside the fence, such as the run itself.
        .scope(Scope::Signal)?;
    if policy.tcp_ports.is_some() {
        rules = rules
            .handle_access(AccessNet::ConnectTcp)?
            .scope(Scope::AbstractUnixSocket)?;
    }
    let mut created = rules.create()?;
    for path in &policy.writable {
        created = allow(created, path, handled & (writing | reading) & !devices)?;
    }
    for path in policy.readable.iter().flatten() {
        created = allow(created, path, reading)?;
    }
    for port in policy.tcp_ports.iter().flatten() {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(created)
}

/// Grants rights to a file, or to a folder and everything below it. Skips paths that do not exist or cannot be opened.
fn allow(created: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else {
        return Ok(created);
    };
    // For a file, only the rights for files count.
    created.add_rule(PathBeneath::new(opened, access))
}
