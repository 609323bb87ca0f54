//! Reads git's output: lines, paths, NUL-terminated parts, ids. Runs nothing.

use std::path::PathBuf;

use super::GitError;

/// Returns a line without its end, for ids and names.
pub(super) fn line_of(output: &[u8]) -> String {
    String::from_utf8_lossy(without_newline(output)).into_owned()
}

/// Returns a path that is the whole output; it may contain and end in newlines.
pub(super) fn path_line(output: &[u8]) -> PathBuf {
    path_of(without_newline(output))
}

fn without_newline(output: &[u8]) -> &[u8] {
    output.strip_suffix(b"\n").unwrap_or(output)
}

#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    PathBuf::from(path)
}

#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the NUL-terminated parts of an output.
pub(super) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

pub(super) fn text_of(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Checks that a text is a full object id, so that git cannot read it as an option or a name.
pub(super) fn require_id(id: &str) -> Result<(), GitError> {
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(()).ok_or_else(|| GitError::NotAnId(id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_full_and_nothing_else() {
        assert!(require_id(&"a1".repeat(20)).is_ok());
        assert!(require_id(&"a1".repeat(32)).is_ok());
        for id in ["", "HEAD", "--upload-pack=x", "a1b2", &"g".repeat(40), &"ä".repeat(20)] {
            assert!(require_id(id).is_err(), "{id}");
        }
    }
}
