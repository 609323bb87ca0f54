//! The laws, tried with the seeds of the fuzzer: every input that broke one is among them.

use std::path::PathBuf;

use planwright_laws::TARGETS;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = planwright_testkit::repository().join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn the_laws_hold_for_all_seeds() {
    for (name, hold) in TARGETS {
        let seeds = seeds(name);
        assert!((1..=40).contains(&seeds.len()), "{name} has {} seeds", seeds.len());
        for seed in seeds {
            // The last of these lines names the failing seed.
            println!("{name}: {}", seed.display());
            hold(&std::fs::read(&seed).expect("a readable file"));
        }
    }
}

#[test]
fn the_laws_hold_for_pieces_of_seeds() {
    for (name, hold) in TARGETS {
        for seed in seeds(name) {
            println!("{name}: pieces of {}", seed.display());
            let bytes = std::fs::read(&seed).expect("a readable file");
            let step = bytes.len() / 5 + 1;
            for end in (0..bytes.len()).step_by(step) {
                hold(&bytes[..end]);
                hold(&bytes[end..]);
            }
        }
    }
}

#[test]
fn there_is_a_target_for_all_seeds() {
    let folder = planwright_testkit::repository().join("fuzz/corpus");
    let mut folders: Vec<String> = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a folder").file_name().to_string_lossy().into_owned())
        .collect();
    folders.sort();
    let mut names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(folders, names);
}
