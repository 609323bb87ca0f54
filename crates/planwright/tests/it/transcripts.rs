//! The transcripts of the documentation are the binary's output. `UPDATE_EXPECT=1` rewrites them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_testkit::{TempFolder, repository};

use crate::sandbox::with_plenty_of_disk;

#[test]
fn transcripts_of_the_readme_are_current() {
    check("README.md", &["examples", "examples-broken"]);
}

#[test]
fn transcripts_on_checking_are_current() {
    check("docs/checking.md", &["examples", "examples-broken"]);
}

#[test]
fn transcripts_of_opencrabs_are_current() {
    check("docs/dialects/opencrabs.md", &["examples"]);
}

#[test]
fn transcripts_of_clido_are_current() {
    check("docs/dialects/clido.md", &["examples"]);
}

#[test]
fn transcripts_of_aimi_are_current() {
    check("docs/dialects/aimi.md", &["examples"]);
}

#[test]
fn transcripts_of_task_packs_are_current() {
    check("docs/dialects/task-pack.md", &["examples"]);
}

#[test]
fn transcripts_of_rawko_are_current() {
    check("docs/dialects/rawko.md", &["examples"]);
}

#[test]
fn transcripts_of_the_reading_verbs_are_current() {
    check("docs/verbs/reading.md", &["crates/planwright-core/fixtures/."]);
}

#[test]
fn transcripts_of_the_changing_verbs_are_current() {
    check("docs/verbs/changing.md", &["examples"]);
}

#[test]
fn transcripts_of_the_converting_verbs_are_current() {
    check(
        "docs/verbs/converting.md",
        &["examples", "crates/planwright-core/fixtures/."],
    );
}

#[test]
fn transcripts_of_the_workspace_verbs_are_current() {
    let examples = ["clido", "aimi", "rawko", "task-pack"].map(|name| format!("examples/{name}/."));
    check("docs/verbs/workspace.md", &examples.each_ref().map(String::as_str));
}

#[test]
fn transcripts_of_the_original_command_lines_are_current() {
    check("docs/verbs/original-command-lines.md", &["examples"]);
}

/// Runs every console block of a page in a fresh copy of some folders of the repository.
#[track_caller]
fn check(page: &str, folders: &[&str]) {
    let path = repository().join(page);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let mut written = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("```console\n") {
        let (block, after) = after.split_once("```").expect("the block is closed");
        written.push_str(before);
        written.push_str("```console\n");
        written.push_str(&play(block, folders));
        written.push_str("```");
        rest = after;
    }
    written.push_str(rest);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, written).expect("the page can be written");
    } else {
        assert_eq!(
            written, text,
            "{page} is out of date: run the test with UPDATE_EXPECT=1"
        );
    }
}

/// Runs the commands of a block and returns it with what they print.
fn play(block: &str, folders: &[&str]) -> String {
    let folder = TempFolder::new().expect("temp folder");
    for source in folders {
        // `folder/.` means its content, as for `cp`.
        let target = if source.ends_with("/.") { "" } else { source };
        copy(&repository().join(source), &folder.path().join(target));
    }
    let own_times = times_in(folder.path());
    let mut here = folder.path().to_owned();
    let mut out = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        out.push_str(&format!("$ {line}\n"));
        match line.strip_prefix("cd ") {
            Some(target) => here = here.join(target),
            None => out.push_str(&run(line, &here, &own_times)),
        }
    }
    out
}

fn run(line: &str, folder: &Path, own_times: &BTreeSet<String>) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_planwright"));
    let line = line.replace("cargo run --release --", "planwright");
    let path = format!(
        "{}:{}",
        binary.parent().unwrap_or(Path::new("/")).display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder.join(".home"))
        .env("USER", "ada")
        .env("TZ", "UTC")
        .env_remove("LINES")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_TERM_COLOR")
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("sh runs");
    let mut text = steady(&String::from_utf8_lossy(&output.stdout), own_times);
    match output.status.code() {
        Some(0) => {}
        code => text.push_str(&format!("(exit status {})\n", code.unwrap_or(-1))),
    }
    text
}

/// Returns the times in the plans of a folder, as shown in UTC. They are the same in every run.
fn times_in(folder: &Path) -> BTreeSet<String> {
    const WRITTEN: &str = "0000-00-00T00:00:00Z";
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => {
                    let text = std::fs::read_to_string(path).unwrap_or_default();
                    let words = text.split(['"', ' ', '\n']).filter(|word| has_shape(word, WRITTEN));
                    found.extend(words.map(|word| word.replace('T', " ").replace('Z', "")));
                }
            }
        }
    }
    found
}

/// Returns the output of a command as if printed at one time, by machines of one speed.
fn steady(text: &str, own_times: &BTreeSet<String>) -> String {
    let lines = text.split_inclusive('\n');
    let text = lines
        .map(|line| {
            let is_of_run = has_shape(line.get(..8).unwrap_or(""), "00:00:00") || line.starts_with("Run ");
            let is_of_check = line.starts_with("  passed  ") || line.starts_with("  failed  ");
            match is_of_run || is_of_check {
                true => line.split(' ').map(steady_word).collect::<Vec<_>>().join(" "),
                false => line.to_owned(),
            }
            // It took longer than each of its tasks.
            .replace("finished after 0.2s", "finished after 1.4s")
        })
        .collect::<String>()
        // Kernels differ in their support for fences.
        .replace(
            &planwright_run::fence::support().words(),
            "Landlock ABI 7: files, TCP ports",
        )
        // The number of a thread, which newer compilers print.
        .replace("' (0) panicked", "' panicked");
    let text = steady_times(&with_plenty_of_disk(&text), own_times);
    let before = std::iter::once("").chain(text.split(' '));
    let words = before.zip(text.split(' '));
    words
        .map(|(before, word)| steady_holder(before, word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Replaces the times that people see, except those that the plans have.
fn steady_times(text: &str, own_times: &BTreeSet<String>) -> String {
    const SHOWN: &str = "0000-00-00 00:00:00";
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_of_run = |part: &str| has_shape(part, SHOWN) && !own_times.contains(part);
        match rest.get(..SHOWN.len()).is_some_and(is_of_run) {
            true => {
                out.push_str("2026-10-06 08:15:00");
                rest = &rest[SHOWN.len()..];
            }
            false => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Returns the holder of a task and the time, as on one machine at one time.
fn steady_holder(before: &str, word: &str) -> String {
    const TIME: &str = "0000-00-00T00:00:00.000Z";
    const SECOND: &str = "0000-00-00T00:00:00Z";
    let time = (0..word.len()).find_map(|at| word.get(at..at + TIME.len()).filter(|part| has_shape(part, TIME)));
    // Times of plans are to the second as well.
    let is_of_claim = matches!(before, "since" | "until" | "at");
    let second = word.get(..SECOND.len());
    match (time, second.filter(|part| is_of_claim && has_shape(part, SECOND))) {
        (Some(time), _) => word.replace(time, "2026-10-06T08:15:00.000Z"),
        (None, Some(second)) => word.replace(second, "2026-10-06T08:15:00Z"),
        (None, None) if word.starts_with("ada@") => "ada@laptop".to_owned(),
        (None, None) => word.to_owned(),
    }
}

fn steady_word(word: &str) -> String {
    let core = word.trim_matches(|c: char| "(),\n".contains(c));
    let steadied = match () {
        () if has_shape(core, "00:00:00") => "08:15:00",
        () if has_shape(core, "00000000-000000") => "20261006-081500",
        () if is_seconds(core) => "0.2s",
        () if word.starts_with('(') && word.ends_with(')') && core.bytes().all(|byte| byte.is_ascii_digit()) => "0",
        () => return word.to_owned(),
    };
    word.replacen(core, steadied, 1)
}

/// Returns whether a text is another with other digits.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, model): (u8, u8)| match model {
        b'0' => byte.is_ascii_digit(),
        model => byte == model,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

fn is_seconds(text: &str) -> bool {
    let number = text.strip_suffix('s').unwrap_or("");
    number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("folder");
    let entries: Vec<PathBuf> = std::fs::read_dir(from)
        .expect("folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default();
        // Leftovers of a run in the example itself.
        if name == "target" || name == ".planwright" {
            continue;
        }
        let target = to.join(name);
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, &target).expect("copy");
        }
    }
}
