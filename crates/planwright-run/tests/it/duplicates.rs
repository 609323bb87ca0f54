//! Copies of workspaces: complete, without foreign files, and never over existing content.

use std::path::{Path, PathBuf};

use planwright_run::copy_workspace::{MAX_FILES, WorkspaceCopy, WorkspaceCopyError, duplicate};
use planwright_run::files::DiskFiles;
use planwright_run::layout::PlanPlace;
use planwright_testkit::TempFolder;

const PLAN: &str = ".clido/plans/a.json";

fn workspace(files: &[&str]) -> TempFolder {
    let folder = TempFolder::new().expect("a folder");
    for name in [PLAN, "planwright.toml"].iter().chain(files) {
        folder.write(&format!("project/{name}"), *name).expect("ours");
    }
    folder
}

fn copied(folder: &TempFolder, to: &str) -> Result<WorkspaceCopy, WorkspaceCopyError> {
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
fn a_copy_has_the_files_of_the_project() {
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
fn an_existing_copy_is_reused() {
    let folder = workspace(&["a.txt"]);
    copied(&folder, "copy").expect("a copy");
    folder.write("copy/a.txt", "changed").expect("ours");
    let again = copied(&folder, "copy").expect("the copy");
    assert_eq!(again.n_copied, None);
    let text = std::fs::read_to_string(folder.path().join("copy/a.txt")).expect("text");
    assert_eq!(text, "changed");
    // A copy that was interrupted has no plan yet.
    std::fs::remove_file(folder.path().join("copy").join(PLAN)).expect("ours");
    assert!(matches!(copied(&folder, "copy"), Err(WorkspaceCopyError::Occupied(_))));
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
    // The first copy is now a part of the workspace.
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
fn occupied_targets_are_refused() {
    let folder = workspace(&["a.txt"]);
    folder.write("full/mine.txt", "mine").expect("ours");
    assert!(matches!(copied(&folder, "full"), Err(WorkspaceCopyError::Occupied(_))));
    assert!(matches!(copied(&folder, "project"), Err(WorkspaceCopyError::Itself(_))));
    assert!(matches!(
        copied(&folder, "full/../project"),
        Err(WorkspaceCopyError::Itself(_))
    ));
    assert!(matches!(
        copied(&folder, "project/.clido"),
        Err(WorkspaceCopyError::Occupied(_))
    ));
    assert!(matches!(
        copied(&folder, "full/mine.txt"),
        Err(WorkspaceCopyError::NotAFolder(_))
    ));
    assert!(copied(&folder, "full/mine.txt/x").is_err_and(|error| error.is_environment()));
    assert_eq!(below(&folder.path().join("full")), ["mine.txt"]);
}

#[test]
fn leftovers_of_an_interrupted_copy_are_removed_after_an_hour() {
    let folder = workspace(&["src/lib.rs"]);
    let left = ".planwright-0000000000000000-4711-0123456789abcdef.tmp";
    folder.write(&format!("{left}/src/lib.rs"), "half").expect("ours");
    folder
        .write(&format!("project/{left}/src/lib.rs"), "half")
        .expect("ours");
    assert_eq!(copied(&folder, "copy").expect("a copy").n_copied, Some(3));
    assert_eq!(
        below(&folder.path().join("copy")),
        [PLAN, "planwright.toml", "src/lib.rs"]
    );
    assert!(folder.path().join(left).exists(), "it may be somebody's");
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    let times = std::fs::FileTimes::new().set_modified(yesterday);
    let file = std::fs::File::open(folder.path().join(left)).expect("a folder");
    file.set_times(times).expect("ours");
    copied(&folder, "another").expect("a copy");
    assert!(!folder.path().join(left).exists());
}

#[test]
fn concurrent_copies_give_one_complete_copy() {
    let names: Vec<String> = (0..300).map(|n| format!("many/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let folder = workspace(&names);
    let copies: Vec<WorkspaceCopy> = std::thread::scope(|scope| {
        let copy = || copied(&folder, "copy").expect("one of them");
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(copy)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a copy"))
            .collect()
    });
    let n_made = copies.iter().filter(|copy| copy.n_copied.is_some()).count();
    assert_eq!(n_made, 1, "the others go on with it");
    assert_eq!(below(&folder.path().join("copy")).len(), 302);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        2,
        "nothing is left"
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_configuration_is_not_written_through() {
    let folder = workspace(&[]);
    std::fs::remove_file(folder.path().join("project/planwright.toml")).expect("ours");
    std::fs::create_dir(folder.path().join("project/.planwright")).expect("ours");
    std::os::unix::fs::symlink("nowhere", folder.path().join("project/planwright.toml")).expect("ours");
    copied(&folder, "copy").expect("a copy");
    assert_eq!(below(&folder.path().join("copy")), [PLAN, "planwright.toml"]);
}

#[cfg(unix)]
#[test]
fn an_empty_folder_behind_a_link_is_copied_to() {
    let folder = workspace(&[]);
    std::fs::create_dir(folder.path().join("empty")).expect("ours");
    std::os::unix::fs::symlink("empty", folder.path().join("copy")).expect("ours");
    copied(&folder, "copy").expect("a copy");
    assert!(folder.path().join("copy").is_symlink());
    assert_eq!(below(&folder.path().join("empty")), [PLAN, "planwright.toml"]);
}

#[test]
fn too_large_workspaces_are_not_copied() {
    let folder = workspace(&[]);
    let large = folder.write("project/large", "").expect("ours");
    let file = std::fs::File::options().write(true).open(&large).expect("ours");
    file.set_len(200_000_001).expect("a file with holes");
    assert!(matches!(copied(&folder, "copy"), Err(WorkspaceCopyError::TooLarge(_))));
    file.set_len(0).expect("ours");
    for number in 0..MAX_FILES {
        std::fs::File::create(folder.path().join(format!("project/{number}"))).expect("ours");
    }
    let refused = copied(&folder, "copy").expect_err("there are too many");
    assert!(matches!(refused, WorkspaceCopyError::TooMany(_)) && !refused.help().is_empty());
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
