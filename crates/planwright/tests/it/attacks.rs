//! Attacks by authors of plans, checkouts and agents. Each test covers one protection, and fails if that is removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use planwright_run::runs::RunEvent;
use planwright_testkit::TempFolder;

use crate::planning::{GOOD, planner};
use crate::plans;
use crate::run::{Workspace, aimi, clido};
use crate::sandbox::Sandbox;

/// Control sequences for a terminal, in JSON's spelling.
const EVIL: &str = "a\\u001b[2J\\u009b31m\\u202e\\u0007b";

const PRECIOUS: &str = "precious\n";

/// A folder outside of all workspaces, with a file that planwright must not touch.
struct Outside {
    folder: TempFolder,
}

impl Outside {
    fn new() -> Self {
        let folder = TempFolder::new().expect("a temporary folder");
        folder.write("victim", PRECIOUS).expect("the folder is ours");
        Outside { folder }
    }

    fn victim(&self) -> PathBuf {
        self.folder.path().join("victim")
    }

    #[track_caller]
    fn is_untouched(&self, what: &str) {
        let entries = fs::read_dir(self.folder.path()).expect("a folder").flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["victim"], "{what}");
        assert_eq!(fs::read_to_string(self.victim()).expect("a file"), PRECIOUS, "{what}");
    }
}

#[track_caller]
fn link(target: &Path, at: &Path) {
    fs::create_dir_all(at.parent().expect("a folder")).expect("the folder is ours");
    symlink(target, at).expect("a link");
}

#[track_caller]
fn pipe(at: &Path) {
    fs::create_dir_all(at.parent().expect("a folder")).expect("the folder is ours");
    let made = Command::new("mkfifo").arg(at).status().expect("there is mkfifo");
    assert!(made.success());
}

fn plan() -> String {
    clido(&["a", "b a"])
}

/// Returns the paths of the state that a change creates, from the root of the workspace.
fn state_files() -> Vec<PathBuf> {
    let sandbox = Sandbox::with(&[("plan.json", &plan())]);
    sandbox.run(&["start", "a", "-p", "plan.json"]).exits(0);
    let state = sandbox.path().join(".planwright");
    let folders = ["locks", "journal"].map(|name| state.join(name));
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let relative = |path: PathBuf| path.strip_prefix(sandbox.path()).expect("inside").to_owned();
    entries.flatten().map(|entry| relative(entry.path())).collect()
}

#[test]
fn a_checkout_cannot_have_state_written_over_files_of_the_user() {
    let files = state_files();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        for leads_nowhere in [false, true] {
            let outside = Outside::new();
            let sandbox = Sandbox::with(&[("plan.json", &plan())]);
            let target = if leads_nowhere { "nothing" } else { "victim" };
            link(&outside.folder.path().join(target), &sandbox.path().join(&file));
            if target == "victim" && file.starts_with(".planwright/journal") {
                // A file that is no journal is refused anyway; an empty file could be one.
                fs::write(outside.victim(), "").expect("the folder is ours");
            }
            let ran = sandbox.run(&["start", "a", "-p", "plan.json"]).exits(3);
            assert!(ran.stderr.contains("is a link, and is not followed"), "{}", ran.text());
            assert_eq!(sandbox.read("plan.json"), plan());
            if target == "victim" && file.starts_with(".planwright/journal") {
                assert_eq!(fs::read(outside.victim()).expect("a file"), b"");
            } else {
                outside.is_untouched(&file.display().to_string());
            }
        }
    }
}

#[test]
fn a_checkout_cannot_have_state_kept_elsewhere() {
    let verified = "[verify]\nevery = [\"echo checked\"]\n";
    for (folder, args) in [
        ("", &["start", "a", "-p", "plan.json"] as &[&str]),
        ("locks", &["start", "a", "-p", "plan.json"]),
        ("journal", &["start", "a", "-p", "plan.json"]),
        ("trash", &["delete", "--yes", "plan.json"]),
        ("archive", &["archive", "plan.json"]),
        ("checks", &["verify", "a", "-p", "plan.json"]),
        ("runs", &["run", "plan.json"]),
        ("inquiries", &["plan", "Do it", "--dialect", "clido"]),
    ] {
        let outside = Outside::new();
        let workspace = Workspace::new(("plan.json", &plan()), "says done");
        workspace.configure("", verified);
        let state = workspace.root().join(".planwright");
        if folder.is_empty() {
            fs::remove_dir(&state).expect("it is empty");
        }
        link(
            outside.folder.path(),
            &state.join(folder).components().collect::<PathBuf>(),
        );
        let came = workspace.does(args);
        assert!(matches!(came.status, Some(1..=3)), "{folder}: {came:?}");
        outside.is_untouched(folder);
        assert_eq!(workspace.plan(), plan(), "{folder}");
    }
}

#[test]
fn a_checkout_cannot_have_versions_and_proposals_kept_elsewhere() {
    let answer = "{\"goal\": \"x\", \"tasks\": [{\"id\": \"a\", \"description\": \"Make a otherwise\"}]}";
    for (folder, option) in [("proposals", "--json"), ("versions", "--yes")] {
        let outside = Outside::new();
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
        workspace.write("answer.json", answer);
        link(
            outside.folder.path(),
            &workspace.root().join(".planwright").join(folder),
        );
        let came = workspace.does(&["replan", "plan.json", "--from", "answer.json", option]);
        assert_eq!(came.status, Some(3), "{folder}: {came:?}");
        assert!(
            came.text.contains("is a link, and is not followed"),
            "{folder}: {came:?}"
        );
        outside.is_untouched(folder);
    }
}

#[test]
fn links_left_for_the_next_attempt_are_not_followed() {
    let outside = Outside::new();
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_log("started a 1");
    run.dies();
    let place = workspace.place();
    for attempt in 2..4 {
        let next = place.attempt("a", attempt);
        link(&outside.victim(), &next.prompt());
        link(&outside.victim(), &next.output());
    }
    workspace.give("go");
    workspace.runs(&[]);
    outside.is_untouched("the files of an attempt");

    // The same with the folder that they lie in.
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "awaits go; says done");
    let run = workspace.begins(&[]);
    workspace.until_log("started a 1");
    run.dies();
    let attempts = workspace.place().folder().join("attempts");
    fs::rename(&attempts, attempts.with_extension("old")).expect("the folder is ours");
    link(outside.folder.path(), &attempts);
    let came = workspace.runs(&[]).exits(3);
    assert!(came.text.contains("is a link, and is not followed"), "{}", came.text);
    outside.is_untouched("the folder of the attempts");
}

#[test]
fn a_report_is_not_written_through_a_link() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.runs(&[]).exits(0);
    let folder = workspace.place().folder();
    for (at, args) in [
        (
            workspace.root().join("page.html"),
            &["report", "--out", "page.html"][..],
        ),
        (folder.join("report.html"), &["report"]),
    ] {
        // An empty file is as good a target for a report as none.
        for (target, victim) in [("victim", PRECIOUS), ("victim", ""), ("nothing", PRECIOUS)] {
            let outside = Outside::new();
            fs::write(outside.victim(), victim).expect("the folder is ours");
            link(&outside.folder.path().join(target), &at);
            let came = workspace.does(args).exits(3);
            assert!(came.text.contains("is a link, and is not followed"), "{}", came.text);
            assert_eq!(fs::read_to_string(outside.victim()).expect("a file"), victim);
            assert_eq!(fs::read_dir(outside.folder.path()).expect("a folder").count(), 1);
            fs::remove_file(&at).expect("a link");
        }
        workspace.does(args).exits(0);
        assert!(at.is_file());
        fs::remove_file(&at).expect("a report");
    }
    // The same with the folder that it lies in.
    let outside = Outside::new();
    let elsewhere = outside.folder.path().join("run");
    fs::rename(&folder, &elsewhere).expect("the folder is ours");
    link(&elsewhere, &folder);
    let came = workspace.does(&["report"]).exits(3);
    assert!(came.text.contains("is a link, and is not followed"), "{}", came.text);
    assert!(!elsewhere.join("report.html").exists());
}

#[test]
fn pipes_in_the_state_folder_are_not_waited_for() {
    for file in state_files() {
        let sandbox = Sandbox::with(&[("plan.json", &plan())]);
        pipe(&sandbox.path().join(&file));
        let came = sandbox.run(&["start", "a", "-p", "plan.json"]);
        // No process can lock a pipe: it is removed.
        if file.starts_with(".planwright/locks") {
            came.exits(0);
        } else {
            came.exits(3);
            assert_eq!(sandbox.read("plan.json"), plan());
        }
        for args in [
            &["doctor"] as &[&str],
            &["history", "plan.json"],
            &["show", "plan.json"],
        ] {
            sandbox.run(args).is_decent();
        }
    }
}

#[test]
fn a_template_of_the_project_is_a_file_and_short() {
    let workspace = Workspace::new(("plan.json", &plan()), "says done");
    pipe(&workspace.root().join("pipe"));
    let large = fs::File::create(workspace.root().join("large")).expect("the folder is ours");
    large.set_len(1 << 40).expect("a sparse file");
    for (template, why) in [
        ("pipe", "not a file"),
        ("/dev/zero", "not a file"),
        ("large", "more than 1048576 bytes"),
    ] {
        workspace.configure(&format!("template = \"{template}\""), "");
        let came = workspace.runs(&[]).exits(3);
        assert!(came.text.contains(why), "{template}: {}", came.text);
        let settings = workspace.read("planwright.toml") + &format!("[plan]\ntemplate = \"{template}\"\n");
        workspace.write("planwright.toml", settings);
        let came = workspace.does(&["plan", "Do it", "--dialect", "clido"]).exits(3);
        assert!(came.text.contains(why), "{template}: {}", came.text);
    }
    assert_eq!(workspace.noted("began"), [""; 0]);
}

#[test]
fn a_result_is_a_file_and_short() {
    let attacks = [
        ("ln -s \"$ASIDE/good\" \"$PLANWRIGHT_RESULT\"", "no file"),
        ("mkfifo \"$PLANWRIGHT_RESULT\"", "no file"),
        ("mkdir \"$PLANWRIGHT_RESULT\"", "no file"),
        ("truncate -s 8G \"$PLANWRIGHT_RESULT\"", "8589934592 bytes"),
    ];
    let grounds = ["shared", "worktrees"];
    for ((script, why), isolation) in attacks
        .iter()
        .flat_map(|attack| grounds.map(|ground| (*attack, ground)))
    {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), script).in_git();
        fs::write(
            workspace.aside("good"),
            r#"{"planwright_result": 1, "outcome": "done"}"#,
        )
        .expect("the folder is ours");
        let since = Instant::now();
        workspace.runs(&["--isolation", isolation]).exits(1);
        assert!(
            since.elapsed() < Duration::from_secs(240),
            "{script}: {:?}",
            since.elapsed()
        );
        if isolation == "worktrees" {
            let kept = workspace.place().attempt("a", 1).result();
            assert!(!kept.exists(), "{script}: it was kept");
        }
        let log = workspace.records();
        let told = log.iter().find_map(|record| match &record.event {
            RunEvent::AttemptEnded(finished) => finished.why.clone(),
            _ => None,
        });
        let told = told.unwrap_or_default();
        assert!(told.contains("result file") && told.contains(why), "{script}: {told}");
        assert_eq!(workspace.states(), "a failed", "{script}");
    }
}

/// Tries traps that agents may put where planwright writes or reads next; none is followed or waited for.
fn with_each_trap(is_over: impl Fn(&str, &Outside)) {
    for trap in ["ln -sf VICTIM", "rm -f TARGET; mkfifo"] {
        let outside = Outside::new();
        let since = Instant::now();
        is_over(
            &trap.replace("VICTIM", &format!("'{}'", outside.victim().display())),
            &outside,
        );
        assert!(
            since.elapsed() < Duration::from_secs(240),
            "{trap}: {:?}",
            since.elapsed()
        );
        outside.is_untouched(trap);
    }
}

/// Creates a trap at a path, as a shell command.
fn laid(trap: &str, target: &str) -> String {
    format!("{} {target}", trap.replace("TARGET", target))
}

#[test]
fn copies_of_results_follow_no_link_and_wait_for_no_pipe() {
    with_each_trap(|trap, _| {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), "").in_git();
        let prompts = workspace.root().join(".planwright/runs/*/attempts/*.prompt.md");
        let lays = laid(trap, "\"${prompt%.prompt.md}.result.json\"");
        workspace.script(&format!(
            "for prompt in {}; do {lays}; done; echo it > it; says done",
            prompts.display()
        ));
        workspace.runs(&["--isolation", "worktrees"]).exits(0);
        assert_eq!(workspace.states(), "a done", "{trap}");
    });
}

#[test]
fn the_log_of_a_check_is_not_read_through_a_link_and_not_waited_for() {
    with_each_trap(|trap, _| {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
        let logs = workspace.root().join(".planwright/runs/*/attempts/*.check-1.log");
        let lays = laid(trap, "\"$log\"");
        workspace.write(
            "check.sh",
            format!("echo fine; sleep 0.3; for log in {}; do {lays}; done\n", logs.display()),
        );
        workspace.configure("", "[verify]\nevery = [\"sh check.sh\"]\n");
        workspace.runs(&[]).exits(0);
        let receipts = workspace.records().into_iter().find_map(|record| match record.event {
            RunEvent::Verified(verified) => Some(format!("{verified:?}")),
            _ => None,
        });
        let receipts = receipts.expect("it was verified");
        assert!(
            receipts.contains("none: the output cannot be read"),
            "{trap}: {receipts}"
        );
    });
}

#[test]
fn copies_of_answers_follow_no_link_and_wait_for_no_pipe() {
    with_each_trap(|trap, _| {
        let lays = laid(trap, "\"$(dirname \"$PLANWRIGHT_RESULT\")/answer.md\"");
        let workspace = planner(&format!("{lays}\n{GOOD}"));
        workspace.does(&["plan", "Limit calls", "--dialect", "clido"]).exits(0);
    });
}

#[test]
fn agents_that_will_not_end_are_ended_and_leave_a_log_within_its_bound() {
    for script in [
        "trap '' TERM; yes",
        "trap '' TERM; tr '\\0' x < /dev/zero",
        "exec >&- 2>&-; trap '' TERM; while true; do sleep 0.1; done",
        "(setsid sh -c 'trap \"\" TERM; while true; do sleep 0.1; done' &) ; sleep 1000",
    ] {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
        workspace.configure("wall_limit = \"1s\"\nlog_cap = \"64KB\"", "");
        let settings = workspace
            .read("planwright.toml")
            .replace("grace = \"2s\"", "grace = \"100ms\"");
        workspace.write("planwright.toml", settings);
        let since = Instant::now();
        workspace.runs(&[]).exits(1);
        assert!(
            since.elapsed() < Duration::from_secs(240),
            "{script}: {:?}",
            since.elapsed()
        );
        workspace.is_quiet();
        let log = fs::metadata(workspace.place().attempt("a", 1).output());
        assert!(log.map_or(0, |log| log.len()) <= 64_000, "{script}");
        assert_eq!(workspace.states(), "a failed", "{script}");
    }
}

#[test]
fn names_of_branches_are_no_options_for_git() {
    for name in ["--orphan=x", "-f", "--detach", "@{-1}", "main..x", "../../x"] {
        let plan = aimi(1, &["1"]).replace("\"branchName\": \"main\"", &format!("\"branchName\": \"{name}\""));
        let workspace = Workspace::new(("tasks.json", &plan), "says done").in_git();
        let came = workspace.runs(&[]);
        assert_ne!(came.status, Some(0), "{name}: {}", came.text);
        assert_eq!(workspace.noted("began"), [""; 0], "{name}");
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
        let came = workspace.runs(&[&format!("--branch={name}")]).exits(1);
        assert!(
            came.text.contains("cannot be the name of a branch"),
            "{name}: {}",
            came.text
        );
        assert_eq!(workspace.noted("began"), [""; 0], "{name}");
        assert_eq!(
            workspace.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]),
            "main"
        );
    }
}

#[test]
fn names_of_files_are_no_options_for_git() {
    let names = ["--force", "-rf", ":(top)x", "a\nb", "\"q\"", "*"];
    let touches =
        "for name in --force -rf ':(top)x' \"$(printf 'a\\nb')\" '\"q\"' '*'; do echo x > \"./$name\"; done; says done";
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), touches).in_git();
    workspace.runs(&[]).exits(0);
    workspace.does(&["land"]).exits(0);
    for name in names {
        assert_eq!(workspace.read(name), "x\n", "{name:?}");
    }
    assert_eq!(workspace.git(&["status", "--porcelain", "--", ".", ":!plan.json"]), "");
}

#[test]
fn names_of_tasks_are_no_options_for_agents() {
    let workspace = Workspace::new(("plan.json", &clido(&["--version", "b"])), "says done \"$*\"");
    let config = workspace.read("planwright.toml");
    let with = |word: &str| {
        let script = workspace.aside("agent.sh").display().to_string();
        workspace.write(
            "planwright.toml",
            config.replace(&format!("\"{script}\""), &format!("\"{script}\", \"{word}\"")),
        );
    };
    with("{task}");
    workspace
        .runs(&[])
        .exits(1)
        .says("would take the name of the task for an option");
    assert_eq!(workspace.noted("began"), ["b"]);
    with("--task={task}");
    workspace
        .does(&["reset", "-p", "plan.json", "--", "--version"])
        .exits(0);
    workspace.runs(&[]).exits(0);
    assert_eq!(workspace.noted("began"), ["b", "--version"]);
}

#[test]
fn programs_of_a_checkout_are_not_found_by_name() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done");
    workspace.write("house-agent", "#!/bin/sh\ntouch \"$PLANWRIGHT_FOLDER/was-run\"\n");
    let program = workspace.root().join("house-agent");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    workspace.write(
        "planwright.toml",
        "[agents.mock]\ncommand = [\"house-agent\"]\n[run]\nagent = \"mock\"\n",
    );
    let path = std::env::var("PATH").unwrap_or_default();
    for relative in [".", "", "../ws"] {
        workspace.set("PATH", &format!("{relative}:{path}"));
        let came = workspace.runs(&[]);
        assert_ne!(came.status, Some(0), "{relative:?}: {came:?}");
        assert!(!workspace.exists("was-run"), "{relative:?}");
    }
    // Neither are those that planwright asks itself.
    let mut repository = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
    let was_run = repository.aside("was-run");
    for name in ["git", "sh", "date"] {
        repository.write(
            name,
            format!("#!/bin/sh\necho {name} >> '{}'\nexit 1\n", was_run.display()),
        );
        let program = repository.root().join(name);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    }
    repository.commit("Tools of the house");
    repository.set("PATH", &format!(".:{path}"));
    repository.runs(&["--isolation", "worktrees"]).exits(0);
    repository.does(&["worktrees"]).exits(0);
    assert!(!was_run.exists(), "a program of the checkout was run");
    // A user who names its path wants it.
    workspace.write(
        "planwright.toml",
        "[agents.mock]\ncommand = [\"./house-agent\"]\n[run]\nagent = \"mock\"\n",
    );
    workspace.runs(&["--retry-failed"]);
    assert!(workspace.exists("was-run"));
}

#[test]
fn prompts_are_no_options_for_agents() {
    let workspace = Workspace::new(
        ("plan.json", &clido(&["a"])),
        "printf '%s' \"$1\" > \"$ASIDE/word\"; says done",
    );
    workspace.write("template.md", "--version\n");
    workspace.configure_agent("prompt = \"argument\"", "template = \"template.md\"", "");
    workspace.runs(&[]).exits(0);
    let word = fs::read_to_string(workspace.aside("word")).expect("the agent was there");
    assert!(word.starts_with("\n--version"), "{word:?}");
}

#[test]
fn text_of_plans_and_agents_does_not_control_the_terminal() {
    let plan = clido(&["a", "b a", "c"])
        .replace("\"id\": \"a\"", &format!("\"id\": \"{EVIL}\""))
        .replace("[\"a\"]", &format!("[\"{EVIL}\"]"));
    let says = format!(
        "printf '\\033[2Jevil\\007\\n'; if [ $task = c ]; then result '{{\"planwright_result\": 1, \"outcome\": \"failed\", \
         \"output\": \"{EVIL}\", \"reason\": \"{EVIL}\"}}'; exit 1; fi; says done '{EVIL}'"
    );
    let workspace = Workspace::new(("plan.json", &plan), &says);
    let decent = |args: &[&str]| {
        let came = workspace.does(args);
        let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert_eq!(came.text.chars().find(|&c| bad(c)), None, "{args:?}: {:?}", came.text);
        came
    };
    assert!(decent(&["run", "plan.json"]).text.contains("\\u{1b}[2J"));
    for args in [
        &["show", "plan.json"] as &[&str],
        &["check", "plan.json"],
        &["next", "-p", "plan.json"],
        &["why", "b", "-p", "plan.json"],
        &["graph", "plan.json"],
        &["list"],
        &["find", "plan"],
        &["summary"],
        &["runs"],
        &["events"],
        &["logs"],
        &["history", "plan.json"],
        &["proposals", "plan.json"],
        &["run", "plan.json", "--dry-run", "--retry-failed"],
        &["retry", "c", "-p", "plan.json"],
        &["skip", "c", "-p", "plan.json"],
        &["undo", "plan.json"],
        &["convert", "plan.json", "--to", "aimi", "--dry-run"],
        &["doctor"],
        &["worktrees"],
        &["delete", "--yes", "plan.json"],
    ] {
        decent(args);
    }
}

#[test]
fn paths_of_a_pack_do_not_leave_the_workspace() {
    let outside = TempFolder::new().expect("a temporary folder");
    let secret = outside
        .write("secret.md", plans::SOURCE_PLAN)
        .expect("the folder is ours");
    let pack = plans::task_pack("x");
    let named = pack.lines().find_map(|line| line.strip_prefix("source_plan: "));
    let named = named.expect("a pack names its source");
    for path in [&*secret.to_string_lossy(), "../secret.md", "docs/../../secret.md"] {
        let sandbox = Sandbox::with(&[("docs/tasks/pack.md", &pack.replace(named, path))]);
        let ran = sandbox.run(&["check", "docs/tasks/pack.md"]).exits(1);
        assert!(
            ran.stdout.contains("error[task-pack-identity]"),
            "{path}: {}",
            ran.text()
        );
        let ran = sandbox.run(&[
            "tasks",
            "regenerate",
            "docs/tasks/pack.md",
            "--from",
            "docs/tasks/pack.md",
        ]);
        assert!(
            ran.stderr.contains("does not name its source plan"),
            "{path}: {}",
            ran.text()
        );
    }
    for path in ["../../x", "/etc/passwd", "src/../../x"] {
        let sandbox = Sandbox::with(&[("docs/tasks/pack.md", &pack.replace("src/card.rs", path))]);
        let ran = sandbox.run(&["check", "docs/tasks/pack.md"]).exits(1);
        assert!(
            ran.stdout.contains(path) && ran.stdout.contains("error["),
            "{path}: {}",
            ran.text()
        );
    }
}

#[test]
fn embedding_again_and_again_does_not_grow() {
    let sandbox = Sandbox::with(&[("0.json", plans::CLIDO)]);
    let mut lengths = Vec::new();
    for round in 0..8 {
        let (from, to) = (format!("{round}.json"), format!("{}.json", round + 1));
        let dialect = if round % 2 == 0 { "aimi" } else { "clido" };
        sandbox
            .run(&["convert", &from, "--to", dialect, "--embed", "--out", &to])
            .exits(0);
        lengths.push(sandbox.read(&to).len());
    }
    assert_eq!(lengths[..2], lengths[6..], "{lengths:?}");
}

#[test]
fn tests_named_on_the_security_page_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let folders =
        ["planwright", "planwright-run", "planwright-core"].map(|name| root.join("crates").join(name).join("tests/it"));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"))
        .flatten();
    let sources: String = files
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    let (_, table) = page.split_once("| Attack |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let tests = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | "));
    let mut n_tests = 0;
    for name in tests.flat_map(|(_, names)| names.split(", ")) {
        let name = name.trim_matches('`');
        assert!(sources.contains(&format!("fn {name}(")), "{name}");
        n_tests += 1;
    }
    assert!(n_tests > 30, "{n_tests}");
}
