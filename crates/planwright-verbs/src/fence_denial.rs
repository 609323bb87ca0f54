//! Guesses from the output whether the fence may have caused a failure, because the kernel records no denials.

use std::path::Path;

use planwright_run::runs::state::AttemptRun;
use planwright_run::shell::argument;

use crate::columns::tame;

/// Returns that the fence may have denied an access, with the command that shows what it allowed; none where the attempt was not
/// fenced, or nothing that failed was refused a permission outside of its folder.
pub fn denial_words(attempt: &AttemptRun) -> Option<String> {
    attempt.fence.as_ref()?;
    let folder = attempt.folder.as_deref().map(Path::new);
    let failed = attempt.receipts.iter().filter(|receipt| receipt.exit != "exit 0");
    let outputs = failed.map(|receipt| receipt.tail.as_str());
    let outputs = outputs.chain(attempt.why.as_deref()).chain(attempt.output.as_deref());
    let denied = outputs
        .flat_map(str::lines)
        .find_map(|line| denied_path(line, folder))?;
    let log = format!("planwright logs {} --fence", argument(&attempt.name));
    Some(format!("the fence may have denied access to {denied}; see `{log}`"))
}

/// Returns the absolute path that a line reports as not permitted, if it lies outside of a folder.
fn denied_path(line: &str, folder: Option<&Path>) -> Option<String> {
    const SIGNS: [&str; 3] = ["permission denied", "permissionerror", "eacces"];
    let lower = line.to_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign)).then_some(())?;
    let is_edge = |c: char| {
        matches!(
            c,
            '\'' | '"' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | ':' | '\u{2018}' | '\u{2019}'
        )
    };
    let line = tame(line);
    let mut words = line.split(' ').map(|word| word.trim_matches(is_edge));
    let path = words.find(|word| word.starts_with('/') && word.len() > 1)?;
    let is_inside = folder.is_some_and(|folder| Path::new(path).starts_with(folder));
    (!is_inside).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_the_folder_are_named() {
        let folder = Some(Path::new("/home/me/checkout"));
        for (line, path) in [
            (
                "PermissionError: [Errno 13] Permission denied: '/etc/x.conf'",
                Some("/etc/x.conf"),
            ),
            ("sh: 1: cannot create /srv/x: Permission denied", Some("/srv/x")),
            (
                "touch: cannot touch \u{2018}/srv/x\u{2019}: Permission denied",
                Some("/srv/x"),
            ),
            ("open /srv/x: permission denied", Some("/srv/x")),
            ("Error: EACCES: permission denied, open '/srv/x'", Some("/srv/x")),
            ("cannot create /home/me/checkout/a: Permission denied", None),
            ("sh: ./run: Permission denied", None),
            ("No such file or directory: '/etc/x'", None),
        ] {
            assert_eq!(denied_path(line, folder).as_deref(), path, "{line}");
        }
    }

    #[test]
    fn without_a_fence_no_path_is_reported() {
        let mut attempt = AttemptRun::default();
        attempt.name.push_str("t 1");
        attempt.why = Some("open /srv/x: permission denied".to_owned());
        assert_eq!(denial_words(&attempt), None);
        attempt.fence = Some("write".to_owned());
        assert_eq!(
            denial_words(&attempt).as_deref(),
            Some("the fence may have denied access to /srv/x; see `planwright logs 't 1' --fence`")
        );
    }
}
