//! Changes of a file as unified diffs.

/// Returns the difference of two texts of one file, in the format of `patch`.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str) -> String {
    diff_of_files([path, path], old, new)
}

/// Returns the difference of two files, in the format of `patch`.
pub(crate) fn diff_of_files(paths: [&str; 2], old: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    diff.unified_diff()
        .context_radius(3)
        .header(&format!("a/{}", paths[0]), &format!("b/{}", paths[1]))
        .to_string()
}
