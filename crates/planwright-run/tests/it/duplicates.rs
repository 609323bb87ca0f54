//! Copies of workspaces: whole, without what is not the project's own, and never over something else.

use std::path::{Path, PathBuf};

use planwright_run::duplicate::{Duplicate, DuplicateError, MAX_FILES, duplicate};
use planwright_run::files::DiskFiles;
use planwright_run::place::PlanPlace;
use planwright_testkit::TempFolder;

const PLAN: &str = ".clido/plans/a.json";

fn workspace(files: &[&str]) -> TempFolder {
    let folder = TempFolder::new().expect("a folder");
    for name in [PLAN, "planwright.toml"].iter().chain(files) {
        folder.write(&format!("project/{name}"), *name).expect("ours");
    }
    folder
}

fn copied(folder: &TempFolder, to: &str) -> Result<Duplicate, DuplicateError> {
    let plan = folder.path().join("project").join(PLAN);
    let place = PlanPlace::of(&DiskFiles, &plan).expect("a plan");
    duplicate(&place, &folder.path().join(to))
}

/// Returns the paths of all files and links below a folder, sorted.
fn below(folder: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.file_type().expect("a kind").is_dir() {
                true => walk(root, &entry.path(), found),
                false => found.push(entry.path().strip_prefix(root).expect("below").to_owned()),
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

#[test]
fn a_copy_has_what_is_the_projects_own() {
    let folder = workspace(&[
        "src/lib.rs",
        "src/target/mod.rs",
        "tool/target/CACHEDIR.TAG",
        "target/debug/x",
        ".git/HEAD",
        "sub/.git",
        ".planwright/journal/x",
        ".gitignore",
    ]);
    let copy = copied(&folder, "deep/copy").expect("a copy");
    let root = folder.path().join("deep/copy");
    assert_eq!(copy.plan, root.join(PLAN));
    assert_eq!((copy.n_copied, copy.left_out.len()), (Some(5), 0));
    assert_eq!(
        below(&root),
        [PLAN, ".gitignore", "planwright.toml", "src/lib.rs", "src/target/mod.rs"]
    );
    assert_eq!(
        std::fs::read_to_string(root.join("src/lib.rs")).expect("text"),
        "src/lib.rs"
    );
}

#[test]
fn a_copy_is_made_once() {
    let folder = workspace(&["a.txt"]);
    copied(&folder, "copy").expect("a copy");
    folder.write("copy/a.txt", "changed").expect("ours");
    let again = copied(&folder, "copy").expect("the copy");
    assert_eq!(again.n_copied, None);
    let text = std::fs::read_to_string(folder.path().join("copy/a.txt")).expect("text");
    assert_eq!(text, "changed");
    // A copy that was interrupted has no plan yet.
    std::fs::remove_file(folder.path().join("copy").join(PLAN)).expect("ours");
    assert!(matches!(copied(&folder, "copy"), Err(DuplicateError::Occupied(_))));
}

#[test]
fn a_copy_inside_of_the_workspace_does_not_hold_itself() {
    let folder = workspace(&["a.txt"]);
    std::fs::create_dir_all(folder.path().join("project/build/copy")).expect("ours");
    for to in ["project/build/copy", "project/build/another"] {
        let copy = copied(&folder, to).expect("a copy");
        assert!(copy.plan.is_file());
    }
    assert!(!folder.path().join("project/build/copy/build/copy").exists());
    // The first copy is a part of the workspace by then.
    assert!(folder.path().join("project/build/another/build/copy/a.txt").is_file());
}

#[test]
fn a_copy_is_the_root_of_a_workspace() {
    let folder = workspace(&[".git/HEAD"]);
    std::fs::remove_file(folder.path().join("project/planwright.toml")).expect("ours");
    let copy = copied(&folder, "project/copy").expect("a copy");
    let place = PlanPlace::of(&DiskFiles, &copy.plan).expect("a plan");
    assert_eq!(place.relative, PLAN);
}

#[test]
fn places_that_are_taken_are_refused() {
    let folder = workspace(&["a.txt"]);
    folder.write("full/mine.txt", "mine").expect("ours");
    assert!(matches!(copied(&folder, "full"), Err(DuplicateError::Occupied(_))));
    assert!(matches!(copied(&folder, "project"), Err(DuplicateError::Itself(_))));
    assert!(matches!(
        copied(&folder, "full/../project"),
        Err(DuplicateError::Itself(_))
    ));
    assert!(matches!(
        copied(&folder, "project/.clido"),
        Err(DuplicateError::Occupied(_))
    ));
    assert!(matches!(
        copied(&folder, "full/mine.txt"),
        Err(DuplicateError::NotAFolder(_))
    ));
    assert!(copied(&folder, "full/mine.txt/x").is_err_and(|error| error.is_environment()));
    assert_eq!(below(&folder.path().join("full")), ["mine.txt"]);
}

#[test]
fn a_copy_whose_making_was_interrupted_is_made_again() {
    let folder = workspace(&["src/lib.rs"]);
    // What a copy leaves that is killed half-way: its mark, some of the files, one of them torn, and none that are in the way.
    folder.write("copy/.planwright-unfinished-copy", "").expect("ours");
    folder.write("copy/src/lib.rs", "s").expect("ours");
    folder.write("copy/planwright.toml", "planwright.toml").expect("ours");
    folder.write(&format!("copy/{PLAN}"), "").expect("ours");
    let copy = copied(&folder, "copy").expect("a copy");
    assert_eq!(copy.n_copied, Some(3));
    let root = folder.path().join("copy");
    assert_eq!(below(&root), [PLAN, "planwright.toml", "src/lib.rs"]);
    for name in [PLAN, "planwright.toml", "src/lib.rs"] {
        assert_eq!(std::fs::read_to_string(root.join(name)).expect("a file"), name);
    }
    assert_eq!(copied(&folder, "copy").expect("a copy").n_copied, None);
}

#[cfg(unix)]
#[test]
fn an_interrupted_copy_is_not_written_through_links() {
    let folder = workspace(&["src/lib.rs"]);
    folder.write("mine.txt", "mine").expect("ours");
    folder.write("copy/.planwright-unfinished-copy", "").expect("ours");
    folder.write("copy/src/x", "").expect("ours");
    std::os::unix::fs::symlink("../../mine.txt", folder.path().join("copy/src/lib.rs")).expect("ours");
    copied(&folder, "copy").expect("a copy");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("mine.txt")).expect("ours"),
        "mine"
    );
}

#[test]
fn what_is_too_much_is_not_copied() {
    let folder = workspace(&[]);
    let large = folder.write("project/large", "").expect("ours");
    let file = std::fs::File::options().write(true).open(&large).expect("ours");
    file.set_len(200_000_001).expect("a file with holes");
    assert!(matches!(copied(&folder, "copy"), Err(DuplicateError::TooLarge(_))));
    file.set_len(0).expect("ours");
    for number in 0..MAX_FILES {
        std::fs::File::create(folder.path().join(format!("project/{number}"))).expect("ours");
    }
    let refused = copied(&folder, "copy").expect_err("there are too many");
    assert!(matches!(refused, DuplicateError::TooMany(_)) && !refused.help().is_empty());
    assert!(!folder.path().join("copy").exists());
}

#[cfg(unix)]
#[test]
fn links_are_copied_where_they_stay_inside() {
    use std::os::unix::fs::symlink;
    let folder = workspace(&["src/lib.rs", "docs/a.md"]);
    folder.write("secret.txt", "secret").expect("ours");
    let project = folder.path().join("project");
    let link = |target: &str, name: &str| symlink(target, project.join(name)).expect("ours");
    link("../src/lib.rs", "docs/inside");
    link("src", "folder");
    link("nowhere", "dangling");
    link("../secret.txt", "outside");
    link("../../secret.txt", "docs/outside");
    link("/etc/passwd", "absolute");
    link("outside", "through");
    let copy = copied(&folder, "copy").expect("a copy");
    let mut left_out: Vec<String> = copy
        .left_out
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    left_out.sort_unstable();
    assert_eq!(left_out, ["absolute", "docs/outside", "outside", "through"]);
    let root = folder.path().join("copy");
    for (name, target) in [
        ("docs/inside", "../src/lib.rs"),
        ("folder", "src"),
        ("dangling", "nowhere"),
    ] {
        assert_eq!(std::fs::read_link(root.join(name)).expect("a link"), Path::new(target));
    }
}
