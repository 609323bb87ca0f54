//! Reads git's error output, and finds the line with the reason.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

const MAX_COMPLAINT: usize = 64 * 1024;

/// How long to wait for the rest of it after git has ended: a process left by a hook may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What git reports on standard error, read next to its answer.
pub(super) struct Complaint {
    text: Arc<Mutex<Vec<u8>>>,
    is_over: mpsc::Receiver<()>,
}

impl Complaint {
    pub(super) fn listen(pipe: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let text = Arc::new(Mutex::new(Vec::new()));
        let (sender, is_over) = mpsc::channel();
        if let Some(mut pipe) = pipe {
            let text = Arc::clone(&text);
            thread::Builder::new().spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n) = pipe.read(&mut buffer) {
                    let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = MAX_COMPLAINT.saturating_sub(text.len());
                    text.extend(buffer.iter().take(n.min(room)));
                    if n == 0 {
                        break;
                    }
                }
                let _ = sender.send(());
            })?;
        }
        Ok(Complaint { text, is_over })
    }

    pub(super) fn text(&self) -> String {
        let _ = self.is_over.recv_timeout(LAST_WORDS);
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Returns whether git failed because of a lock that another process holds.
pub(super) fn is_about_a_lock(complaint: &str) -> bool {
    let is_held = |line: &str| {
        let line = line.to_ascii_lowercase();
        line.contains("file exists") && line.contains("lock")
    };
    complaint.lines().any(is_held)
}

/// Returns the message for a lock that git failed to take.
pub(super) fn lock_reason(complaint: &str) -> String {
    match lock_of(complaint) {
        Some(lock) => format!("`{lock}` exists; remove it if no git command is running"),
        None => first_useful_line(complaint),
    }
}

/// Returns the path of the lock that git failed to create.
fn lock_of(complaint: &str) -> Option<String> {
    let (before, _) = complaint.split_once(".lock': File exists")?;
    let (_, path) = before.rsplit_once('\'')?;
    Some(format!("{path}.lock"))
}

/// Returns the most informative line of git's errors: the first that git marks as an error, otherwise the first that is no advice.
pub(super) fn first_useful_line(complaint: &str) -> String {
    let lines = || complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = |line: &str| {
        let rest = line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "));
        rest.map(str::to_owned)
    };
    let is_advice = |line: &&str| line.starts_with("hint:") || line.starts_with("warning:");
    let plain = || lines().find(|line| !is_advice(line)).map(str::to_owned);
    let line = lines().find_map(marked).or_else(plain);
    shortened(
        &line.or_else(|| lines().next().map(str::to_owned)).unwrap_or_default(),
        400,
    )
}

pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(complaint: &str, expected: &str) {
        assert_eq!(first_useful_line(complaint), expected);
    }

    #[test]
    fn the_reason_is_taken_from_gits_output() {
        check_line("", "");
        check_line("hint: try this\n", "hint: try this");
        check_line("warning: a\n\nhint: b\nsomething else\n", "something else");
        check_line(
            "Preparing worktree\nfatal: it is broken\nerror: and more\n",
            "it is broken",
        );
        assert_eq!(first_useful_line(&"ä".repeat(1000)).chars().count(), 401);
    }

    #[test]
    fn the_lock_file_that_blocks_git_is_named() {
        let complaint = "fatal: update_ref failed for ref 'refs/heads/x': cannot lock ref 'refs/heads/x': Unable to create \
                         '/r/.git/refs/heads/x.lock': File exists.\n\nAnother git process seems to be running";
        assert_eq!(lock_of(complaint).as_deref(), Some("/r/.git/refs/heads/x.lock"));
        assert_eq!(lock_of("fatal: File exists"), None);
    }

    #[test]
    fn locks_and_moved_branches_are_distinguished() {
        assert!(is_about_a_lock(
            "fatal: Unable to create '/x/.git/index.lock': File exists.\n\nAnother git process seems to be running"
        ));
        assert!(is_about_a_lock(
            "error: could not lock config file .git/config: File exists"
        ));
        assert!(!is_about_a_lock(
            "fatal: update_ref failed: cannot lock ref 'refs/heads/x': is at 1 but expected 2"
        ));
    }
}
