//! From a [`ProcessSpec`] to a process with pipes. Does not watch it.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{ProcessSpec, StartError, Stdin};
use crate::faults;
use crate::fence::Fence;
use crate::programs::{program_in, search_path};

/// The capacity of the pipe for a process whose output is parsed, in bytes: as much as any user may request. Node.js agents lose output
/// that does not fit: they exit before they have written the rest.
#[cfg(target_os = "linux")]
const ROOM: usize = 1024 * 1024;

/// A process and our ends of its pipes, which never block.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) child: Child,
    /// Its standard output and standard error: one pipe, so that the order is kept.
    pub(super) output: PipeReader,
    pub(super) input: Option<PipeWriter>,
}

/// Starts a process in its own group.
pub(super) fn launch(spec: &ProcessSpec) -> Result<Launched, StartError> {
    let (name, arguments) = spec.arguments.split_first().ok_or(StartError::NoProgram)?;
    let program = find_program(name, spec)?;
    let refused = |source| StartError::Refused {
        program: name.clone(),
        source,
    };
    let (output, writer) = io::pipe().map_err(refused)?;
    // A user with many pipes is refused, and keeps the default capacity.
    #[cfg(target_os = "linux")]
    let _ = spec
        .streams_output
        .then(|| rustix::pipe::fcntl_setpipe_size(&output, ROOM));
    let (reader, input) = match &spec.stdin {
        Stdin::Nothing => (Stdio::null(), None),
        Stdin::Bytes(_) => {
            let (reader, writer) = io::pipe().map_err(refused)?;
            (Stdio::from(reader), Some(writer))
        }
    };
    rustix::io::ioctl_fionbio(&output, true).map_err(|error| refused(error.into()))?;
    if let Some(input) = &input {
        rustix::io::ioctl_fionbio(input, true).map_err(|error| refused(error.into()))?;
    }
    faults::step("start process").map_err(refused)?;
    let child = command_of(spec.fence.as_ref(), &program, name)
        .args(arguments)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .envs(spec.mark.variables())
        .envs(temporary_variables(spec.fence.as_ref()))
        .process_group(0)
        .stdin(reader)
        .stdout(writer.try_clone().map_err(refused)?)
        .stderr(writer)
        .spawn();
    faults::point("process started");
    match child {
        Ok(child) => Ok(Launched { child, output, input }),
        Err(_) if !spec.folder.is_dir() => Err(StartError::NoFolder(spec.folder.clone())),
        Err(source) => Err(refused(source)),
    }
}

/// Returns the command of a program: the program itself, or the planwright that fences itself and then becomes the program.
fn command_of(fence: Option<&Fence>, program: &Path, name: &OsStr) -> Command {
    let Some(fence) = fence else {
        let mut command = Command::new(program);
        command.arg0(name);
        return command;
    };
    let mut command = Command::new(&fence.program);
    command.arg0("planwright").args(fence.words()).arg(program).arg(name);
    command
}

/// Returns the variables that name the folder for temporary files.
fn temporary_variables(fence: Option<&Fence>) -> impl Iterator<Item = (&'static str, &Path)> {
    let folder = fence.and_then(|fence| fence.temporary.as_deref());
    folder
        .into_iter()
        .flat_map(|folder| ["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder)))
}

/// Finds a program in its own environment. Done here because the message can then name the searched path, and because the standard library
/// starts a process faster if the path needs no search.
fn find_program(name: &OsStr, spec: &ProcessSpec) -> Result<PathBuf, StartError> {
    if name.as_bytes().contains(&b'/') {
        let program = absolute(&spec.folder, Path::new(name));
        return if program.exists() {
            Ok(program)
        } else {
            Err(not_found(name, spec, None))
        };
    }
    let is_path = |(name, _): &&(OsString, OsString)| name == "PATH";
    let path = spec.environment.iter().rfind(is_path).map(|(_, value)| value.clone());
    let path = search_path(path);
    program_in(&path, name).ok_or_else(|| not_found(name, spec, Some(path)))
}

fn not_found(name: &OsStr, spec: &ProcessSpec, path: Option<OsString>) -> StartError {
    if !spec.folder.is_dir() {
        return StartError::NoFolder(spec.folder.clone());
    }
    StartError::NotFound {
        program: name.to_owned(),
        path,
    }
}

/// Returns an absolute path. An invalid one is left for the system to report.
fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let path = folder.join(path);
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use super::super::{ProcessLimits, ProcessMark};
    use super::*;
    use crate::redaction::Redaction;

    #[test]
    fn a_nonblocking_writer_can_write_600_kilobytes_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Like programs on Node.js, it does not wait for room in the pipe.
        let arguments = [
            "dd",
            "if=/dev/zero",
            "bs=600000",
            "count=1",
            "oflag=nonblock",
            "status=none",
        ];
        let spec = ProcessSpec {
            arguments: arguments.map(OsString::from).to_vec(),
            folder: folder.path().to_owned(),
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
            mark: ProcessMark::default(),
            stdin: Stdin::Nothing,
            log: folder.path().join("log"),
            max_log_bytes: 1024 * 1024,
            redaction: Redaction::of([]),
            streams_output: true,
            limits: ProcessLimits {
                wall: None,
                silence: None,
                grace: Duration::ZERO,
            },
            fence: None,
        };
        let mut launched = launch(&spec).expect("dd is everywhere");
        assert!(launched.child.wait().expect("it is our child").success());
        let mut bytes = Vec::new();
        launched.output.read_to_end(&mut bytes).expect("all of it is there");
        assert_eq!(bytes.len(), 600_000);
    }
}
