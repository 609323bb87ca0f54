//! Starts the user's editor: `$VISUAL` or `$EDITOR`.

use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use planwright_run::programs::command;
use planwright_verbs::text::one_line;
use planwright_verbs::{Exit, Failure, Result};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::flag;

const HELP: &str = "set VISUAL or EDITOR to an editor that is installed";

/// The exit status of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// Returns the command of the user's editor, if one is set.
pub(crate) fn editor() -> Option<String> {
    let set = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
    set.into_iter().find(|editor| !editor.trim().is_empty())
}

/// How the editor was left.
pub(crate) enum Left {
    Closed(ExitStatus),
    /// A signal ended planwright while the editor was open.
    Ended(Exit),
}

/// How often the editor is checked while it is open.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens a file in an editor, and waits until it is closed, or until a signal ends planwright.
pub(crate) fn open_in(editor: &str, file: &Path) -> Result<Left> {
    let signals = EndSignals::get();
    signals.watch();
    // The variable is the user's own, and may contain options: a shell parses it, as with git.
    let left = command("sh")
        .and_then(|mut shell| {
            shell
                .args(["-c", &format!("{editor} \"$@\""), "editor"])
                .arg(file)
                .spawn()
        })
        .and_then(|child| signals.wait(child));
    signals.is_closed.store(true, Ordering::SeqCst);
    let left = left.map_err(|error| Failure::environment(&error, HELP))?;
    match &left {
        Left::Closed(status) if status.code() == Some(NOT_FOUND) => Err(Failure::outside(
            format!("the editor `{}` was not found", one_line(editor)),
            HELP,
        )),
        _ => Ok(left),
    }
}

/// The signals that end planwright. While an editor is open they are only noted, so that planwright can report where the text is.
struct EndSignals {
    seen: Arc<AtomicUsize>,
    is_closed: Arc<AtomicBool>,
}

impl EndSignals {
    fn get() -> &'static EndSignals {
        static SIGNALS: OnceLock<EndSignals> = OnceLock::new();
        SIGNALS.get_or_init(|| {
            let signals = EndSignals {
                seen: Arc::default(),
                is_closed: Arc::new(AtomicBool::new(true)),
            };
            for signal in [SIGTERM, SIGHUP] {
                // A signal that cannot be handled ends the process at once, as without a handler.
                let number = usize::try_from(signal).unwrap_or_default();
                if flag::register_conditional_default(signal, Arc::clone(&signals.is_closed)).is_ok() {
                    flag::register_usize(signal, Arc::clone(&signals.seen), number).ok();
                }
            }
            signals
        })
    }

    fn watch(&self) {
        self.seen.store(0, Ordering::SeqCst);
        self.is_closed.store(false, Ordering::SeqCst);
    }

    fn wait(&self, mut editor: Child) -> std::io::Result<Left> {
        loop {
            if let Some(status) = editor.try_wait()? {
                return Ok(Left::Closed(status));
            }
            match i32::try_from(self.seen.load(Ordering::SeqCst)) {
                Ok(0) | Err(_) => std::thread::sleep(PAUSE),
                Ok(SIGTERM) => return Ok(Left::Ended(Exit::Terminated)),
                Ok(_) => return Ok(Left::Ended(Exit::Interrupted)),
            }
        }
    }
}
