//! The hidden command that restricts itself and then becomes a fenced program. Process id, environment, group and streams stay.
//!
//! `planwright fence-exec [-w PATH]… [-R] [-r PATH]… [-P] [-p PORT]… -- PROGRAM NAME [WORD]…`

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{Fence, FenceLevel, FencePolicy, kernel};

/// The hidden subcommand with which planwright fences itself.
pub const VERB: &str = "fence-exec";

/// The prefix of the reason why a fenced process did not start.
const PREFIX: &str = "planwright: the program was not started: ";

impl Fence {
    /// Returns the arguments of planwright, up to those of the program.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![VERB.into()];
        let mut option = |name: &str, value: &OsStr| words.extend([name.into(), value.to_owned()]);
        for path in &self.policy.writable {
            option("-w", path.as_os_str());
        }
        for path in self.policy.readable.iter().flatten() {
            option("-r", path.as_os_str());
        }
        for port in self.policy.tcp_ports.iter().flatten() {
            option("-p", OsStr::new(&port.to_string()));
        }
        // A limit without exceptions still is a limit.
        words.extend(self.policy.readable.is_some().then(|| "-R".into()));
        words.extend(self.policy.tcp_ports.is_some().then(|| "-P".into()));
        words.push("--".into());
        words
    }
}

/// The program of a fenced process, and its policy.
#[derive(Debug, PartialEq, Eq)]
struct FencedCommand {
    policy: FencePolicy,
    program: OsString,
    /// The program's `argv[0]`, and its arguments.
    name: OsString,
    words: Vec<OsString>,
}

/// Parses the arguments after [`VERB`]; none if they are invalid.
fn orders(words: &[OsString]) -> Option<FencedCommand> {
    let mut policy = FencePolicy {
        level: FenceLevel::Write,
        writable: Vec::new(),
        readable: None,
        tcp_ports: None,
    };
    let mut words = words.iter();
    loop {
        match words.next()?.to_str()? {
            "-w" => policy.writable.push(PathBuf::from(words.next()?)),
            "-r" => policy
                .readable
                .get_or_insert_default()
                .push(PathBuf::from(words.next()?)),
            "-p" => {
                let port = words.next()?.to_str()?.parse().ok()?;
                policy.tcp_ports.get_or_insert_default().push(port);
            }
            "-R" => drop(policy.readable.get_or_insert_default()),
            "-P" => drop(policy.tcp_ports.get_or_insert_default()),
            "--" => break,
            _ => return None,
        }
    }
    if policy.readable.is_some() {
        policy.level = FenceLevel::Strict;
    }
    Some(FencedCommand {
        policy,
        program: words.next()?.clone(),
        name: words.next()?.clone(),
        words: words.cloned().collect(),
    })
}

/// Restricts this process and executes a program in it. Returns only on failure, with the message to print.
pub fn execute(words: &[OsString]) -> String {
    let Some(orders) = orders(words) else {
        return format!("{PREFIX}`{VERB}` is for planwright itself");
    };
    match kernel::restrict(&orders.policy) {
        Ok(()) => format!("{PREFIX}{}", become_program(&orders)),
        Err(why) => format!("{PREFIX}{why}"),
    }
}

#[cfg(unix)]
fn become_program(orders: &FencedCommand) -> String {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new(&orders.program);
    let error = command.arg0(&orders.name).args(&orders.words).exec();
    let program = orders.program.display();
    match orders.policy.readable.is_some() && error.kind() == std::io::ErrorKind::PermissionDenied {
        true => format!("`{program}`: {error}. The fence does not let it be read: add its folder to run.fence_read"),
        false => format!("`{program}`: {error}"),
    }
}

#[cfg(not(unix))]
fn become_program(_orders: &FencedCommand) -> String {
    "no program can be executed here".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_rules_round_trip_through_the_command_line() {
        let policy = |readable: Option<&[&str]>, ports: Option<&[u16]>| FencePolicy {
            level: if readable.is_some() {
                FenceLevel::Strict
            } else {
                FenceLevel::Write
            },
            writable: vec!["/w".into(), "/with space/-r".into()],
            readable: readable.map(|paths| paths.iter().map(PathBuf::from).collect()),
            tcp_ports: ports.map(<[u16]>::to_vec),
        };
        for policy in [
            policy(None, None),
            policy(Some(&[]), Some(&[])),
            policy(Some(&["/usr", "--"]), Some(&[443, 8080])),
        ] {
            let fence = Fence {
                program: "/p".into(),
                policy: policy.clone(),
                temporary: None,
                agent: String::new(),
            };
            let mut words = fence.words();
            assert_eq!(words.remove(0), VERB);
            words.extend(["/bin/sh", "sh", "-w", "--"].map(OsString::from));
            let found = orders(&words).expect("our own words");
            assert_eq!(found.policy, policy);
            assert_eq!((found.program, found.name), ("/bin/sh".into(), "sh".into()));
            assert_eq!(found.words, ["-w", "--"]);
        }
    }

    #[test]
    fn malformed_arguments_start_no_program() {
        for words in [
            &[][..],
            &["-w"],
            &["--"],
            &["--", "sh"],
            &["sh"],
            &["-p", "x", "--", "a", "a"],
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(orders(&words), None, "{words:?}");
            assert!(execute(&words).starts_with(PREFIX));
        }
    }
}
