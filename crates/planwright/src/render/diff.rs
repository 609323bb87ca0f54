//! Changes of a file as unified diffs.

/// Returns the difference of two texts of one file, as `patch` reads it.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let diff = similar::TextDiff::from_lines(old, new);
    diff.unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}
