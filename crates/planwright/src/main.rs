//! The planwright binary.

mod compat;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    let name = args
        .first()
        .and_then(|own| Path::new(own).file_name().map(OsString::from));
    let is_symlink = name.is_some_and(|name| name == "spec-first");
    let skip = 1 + usize::from(!is_symlink && args.get(1).is_some_and(|verb| verb == "spec-first"));
    let answer = compat::spec_first::run(&args.split_off(skip.min(args.len())));
    // A reader that went away is no failure of ours.
    let _ = std::io::stdout().write_all(answer.stdout.as_bytes());
    let _ = std::io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.status)
}
