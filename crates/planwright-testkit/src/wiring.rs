//! Finds test files that no `mod` line names, because a test that is not compiled cannot fail.

use std::path::Path;

/// Returns the files of a test folder that its `main.rs` does not declare, and its declarations without a file.
pub fn unwired(folder: &Path) -> Vec<String> {
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap_or_default();
    let mut declared: Vec<&str> = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let mut strays = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = module_name(&entry.path(), &file) else {
            continue;
        };
        match declared.iter().position(|module| *module == name) {
            Some(at) => drop(declared.swap_remove(at)),
            None => strays.push(format!("{file} is not wired into main.rs")),
        }
    }
    strays.extend(declared.iter().map(|name| format!("`mod {name};` has no file")));
    strays.sort();
    strays
}

/// Returns the module name of a file or folder; none for `main.rs` and for files without code.
fn module_name<'f>(path: &Path, file: &'f str) -> Option<&'f str> {
    if path.is_dir() {
        return path.join("mod.rs").is_file().then_some(file);
    }
    file.strip_suffix(".rs").filter(|&name| name != "main")
}
