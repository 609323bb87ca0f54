//! The fence of agents, verification and setup: a hostile agent tries everything, and reaches only its own files.

use std::net::TcpListener;
use std::path::Path;

use planwright_run::fence::{Support, support};
use planwright_run::runs::{RemarkKind, RunEvent};

use crate::run::{Workspace, clido};
use crate::secrets::files_below;

/// Tries a command, and prints whether it was allowed.
const TRY: &str = r#"
try() { name=$1; shift; if sh -c "$1" > /dev/null 2>&1; then echo "ALLOWED $name"; else echo "denied $name"; fi; }
"#;

/// Returns whether this kernel can fence, which the tests need.
fn can_fence() -> bool {
    matches!(support(), Support::Landlock { abi } if abi >= 3)
}

/// Returns whether this kernel can limit TCP ports.
fn can_limit_ports() -> bool {
    matches!(support(), Support::Landlock { abi } if abi >= 4)
}

/// Creates a workspace whose agent is fenced, with a home folder with files to steal and to break.
fn fenced(tasks: &[&str], fence: &str, script: &str) -> Workspace {
    let mut workspace = Workspace::new(("plan.json", &clido(tasks)), &format!("{TRY}\n{script}"));
    workspace.set("PLANWRIGHT_RUN_FENCE", fence);
    for (name, text) in [
        (".bashrc", "# mine\n"),
        (".ssh/id_x", "secret\n"),
        (".cargo/config.toml", "# mine\n"),
        (".cargo/registry/index", "cache\n"),
        (".claude/settings.json", "{}\n"),
        ("other-project/source.rs", "mine\n"),
    ] {
        home(&workspace, name, text);
    }
    workspace
}

fn home(workspace: &Workspace, name: &str, text: &str) {
    let path = workspace.aside("home").join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is ours");
    std::fs::write(path, text).expect("the folder is ours");
}

/// Returns what the agent of an attempt printed.
fn printed(workspace: &Workspace, task: &str, attempt: u32) -> String {
    let log = workspace.place().attempt(task, attempt).output();
    std::fs::read_to_string(log).unwrap_or_default()
}

#[track_caller]
fn all_are(text: &str, word: &str, n: usize) {
    let tried: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("ALLOWED ") || line.starts_with("denied "))
        .collect();
    assert!(tried.iter().all(|line| line.starts_with(word)), "{text}");
    assert_eq!(tried.len(), n, "{text}");
}

/// What no agent may do, in a checkout of its own. `ROOT` is the user's workspace.
const ATTACKS: &[(&str, &str)] = &[
    ("sed-plan", "sed -i s/pending/done/ \"$PLANWRIGHT_PLAN\""),
    ("append-plan", "echo x >> \"$PLANWRIGHT_PLAN\""),
    ("truncate-plan", "truncate -s 0 \"$PLANWRIGHT_PLAN\""),
    ("remove-plan", "rm \"$PLANWRIGHT_PLAN\""),
    ("rename-over-plan", "echo x > own && mv -f own \"$PLANWRIGHT_PLAN\""),
    ("link-over-plan", "echo x > own2 && ln -f own2 \"$PLANWRIGHT_PLAN\""),
    ("symlink-over-plan", "ln -sf /dev/null \"$PLANWRIGHT_PLAN\""),
    ("state-file", "echo x > ROOT/.planwright/x"),
    ("state-folder", "mkdir ROOT/.planwright/x"),
    ("run-log", "echo x >> ROOT/.planwright/runs/*/run.journal"),
    ("settings", "echo x >> ROOT/planwright.toml"),
    ("new-file", "echo x > ROOT/new.txt"),
    ("old-file", "echo x > ROOT/.gitignore"),
    ("git-config", "git -C ROOT config user.name evil"),
    ("git-hook", "echo x > ROOT/.git/hooks/post-checkout"),
    ("git-ref", "git -C ROOT update-ref refs/heads/evil HEAD"),
    ("git-objects", "echo evil | git -C ROOT hash-object -w --stdin"),
    ("git-remove", "rm -rf ROOT/.git"),
    ("profile", "echo x >> $HOME/.bashrc"),
    ("cargo-config", "echo x >> $HOME/.cargo/config.toml"),
    ("agent-settings", "echo x >> $HOME/.claude/settings.json"),
    ("ssh-key", "echo x >> $HOME/.ssh/authorized_keys"),
    ("home-file", "echo x > $HOME/x"),
    ("through-symlink", "ln -s $HOME/.bashrc here && echo x >> here"),
    ("through-folder-link", "ln -s $HOME there && echo x > there/x"),
    ("hard-link", "ln $HOME/.bashrc hard"),
    ("move-away", "mv $HOME/.bashrc ."),
    ("system-temp", "echo x > /tmp/planwright-fence-elsewhere"),
    ("new-session", "setsid sh -c 'echo x >> $HOME/.bashrc'"),
    ("clean-environment", "env -i sh -c \"echo x >> $HOME/.bashrc\""),
    ("copy", "cp /etc/passwd $HOME/x"),
    ("device", "mknod ROOT/device c 1 3"),
];

/// What every agent may do.
const OWN: &[(&str, &str)] = &[
    (
        "own-file",
        "echo x > made.txt && sed -i s/x/y/ made.txt && truncate -s 0 made.txt",
    ),
    (
        "own-folder",
        "mkdir -p a/b && mv a c && ln -s c d && ln made.txt c/hard && rm -r c d",
    ),
    (
        "own-commit",
        "git add -A && git commit -q -m work && git log -1 && git status",
    ),
    ("result", "echo x > \"$PLANWRIGHT_RESULT\" && rm \"$PLANWRIGHT_RESULT\""),
    ("temporary", "f=$(mktemp) && echo x > $f && [ -n \"$TMPDIR\" ]"),
    ("null", "echo x > /dev/null"),
    (
        "shared-memory",
        "echo x > /dev/shm/planwright-$$ && rm /dev/shm/planwright-$$",
    ),
    (
        "cache",
        "echo x > $HOME/.cargo/registry/new && rm $HOME/.cargo/registry/new",
    ),
    ("read", "cat $HOME/.bashrc \"$PLANWRIGHT_PLAN\""),
    ("pipes", "echo x | cat > /dev/stdout"),
];

fn attempts(all: &[(&str, &str)], root: &Path) -> String {
    let tries = all.iter().map(|(name, command)| {
        let command = command.replace("ROOT", &root.to_string_lossy()).replace('\'', "'\\''");
        format!("try {name} '{command}'")
    });
    tries.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_agent_in_a_checkout_reaches_nothing_outside_of_it() {
    if !can_fence() {
        return;
    }
    let workspace = fenced(&["a"], "write", "").in_git();
    let root = workspace.root();
    let script = format!(
        "{TRY}\necho OWN\n{}\necho ATTACKS\n{}\nsays done",
        attempts(OWN, &root),
        attempts(ATTACKS, &root)
    );
    workspace.script(&script);
    let (plan, settings) = (workspace.plan(), workspace.read("planwright.toml"));
    workspace.runs(&["-j", "1"]).exits(0);
    let text = printed(&workspace, "a", 1);
    let (own, attacks) = text.split_once("ATTACKS").expect("both parts");
    all_are(own, "ALLOWED", OWN.len());
    all_are(attacks, "denied", ATTACKS.len());
    assert_eq!(workspace.states(), "a done");
    assert_eq!(workspace.read("planwright.toml"), settings);
    assert_ne!(workspace.plan(), plan, "the run itself writes the plan");
    assert!(!workspace.exists("new.txt") && !workspace.exists("device"));
    let read = |name: &str| std::fs::read_to_string(workspace.aside("home").join(name)).expect("a file");
    assert_eq!(
        (read(".bashrc").as_str(), read(".cargo/config.toml").as_str()),
        ("# mine\n", "# mine\n")
    );
    assert_eq!(workspace.git(&["config", "user.name"]), "Test");
    let started = workspace.records().into_iter().find_map(|record| match record.event {
        RunEvent::ProcessStarted(started) => Some(started.fence),
        _ => None,
    });
    assert_eq!(started.flatten().as_deref(), Some("write"));
    assert!(!Path::new("/tmp/planwright-fence-elsewhere").exists());
}

#[test]
fn an_agent_does_not_reach_the_checkout_of_another_task_or_the_run_itself() {
    if !can_fence() {
        return;
    }
    let script = r#"
if [ $task = a ]; then
  n=0; while [ $(ls .. | wc -l) -lt 2 ] && [ $n -lt 1000 ]; do sleep 0.01; n=$((n + 1)); done
  own=$(basename "$PWD")
  for other in ../*; do [ "$(basename $other)" = "$own" ] || try other "echo x > $other/evil.txt"; done
  try kill "kill -TERM $PPID"
  try trace "readlink /proc/$PPID/cwd"
  try temporary "echo x > $(dirname $TMPDIR)/x"
fi
[ $task = b ] && sleep 2
ls; says done
"#;
    let workspace = fenced(&["a", "b"], "write", script).in_git();
    workspace.runs(&["-j", "2"]).exits(0);
    all_are(&printed(&workspace, "a", 1), "denied", 4);
    assert!(!printed(&workspace, "b", 1).contains("evil.txt"));
    assert_eq!(workspace.ended().n_done, 2);
}

#[test]
fn verification_and_setup_are_fenced_unless_a_command_says_otherwise() {
    if !can_fence() {
        return;
    }
    for in_git in [true, false] {
        let workspace = fenced(&["a"], "auto", "echo x > made.txt; says done");
        let aside = workspace.aside("");
        let aside = aside.display();
        workspace.configure(
            &format!("setup = [\"echo x > {aside}/setup || true\"]"),
            &format!(
                "[verify]\nevery = [\"echo x > inside.txt\", \"! sh -c 'echo x > {aside}/fenced'\", \
                 {{ run = \"echo x > {aside}/unfenced\", fence = \"off\" }}]\n"
            ),
        );
        let workspace = if in_git { workspace.in_git() } else { workspace };
        workspace.runs(&[]).exits(0);
        assert!(!workspace.aside("setup").exists() && !workspace.aside("fenced").exists());
        assert!(workspace.aside("unfenced").exists());
    }
}

#[test]
fn a_failure_that_the_fence_may_have_caused_names_the_path() {
    if !can_fence() {
        return;
    }
    let mut workspace = fenced(&["a"], "write", "says done; echo x > made");
    workspace.configure("", "[verify]\nevery = [\"echo x > $HOME/.bashrc\"]\n");
    workspace.set("COLUMNS", "80");
    let workspace = workspace.in_git();
    let ran = workspace.runs(&[]).exits(1);
    let path = workspace.aside("home").join(".bashrc");
    let reason = format!(
        "the fence may have denied access to {}; see `planwright logs a --fence`",
        path.display()
    );
    ran.says(&reason);
    workspace.does(&["why", "a", "-p", "plan.json"]).exits(0).says(&reason);
    workspace.does(&["summary"]).exits(0).says(&reason);
    let allowed = workspace.does(&["logs", "a", "--fence"]).exits(0).text;
    assert!(!allowed.contains(".bashrc"), "{allowed}");
}

#[test]
fn a_project_cannot_take_its_commands_out_of_a_fence_that_the_user_wants() {
    if !can_fence() {
        return;
    }
    let workspace = fenced(&["a"], "write", "echo x > made.txt; says done");
    let aside = workspace.aside("");
    workspace.configure(
        "",
        &format!(
            "[verify]\nevery = [{{ run = \"echo x > {}/unfenced\", fence = \"off\" }}]\n",
            aside.display()
        ),
    );
    workspace
        .does(&["config"])
        .says("a project cannot loosen what you have set");
    workspace.runs(&[]).exits(1);
    assert!(!workspace.aside("unfenced").exists());
}

#[test]
fn a_strict_fence_limits_what_is_read_and_where_to_connect() {
    if !can_fence() {
        return;
    }
    let mut workspace = fenced(&["a"], "strict", "").in_git();
    // A folder of programs next to the home folder does not open its surroundings.
    let programs = workspace.aside("bin");
    std::fs::create_dir_all(&programs).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    workspace.set("PATH", &format!("{}:{path}", programs.display()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let allowed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let root = workspace.root();
    let denied = [
        ("ssh-key", "cat $HOME/.ssh/id_x"),
        ("other-project", "cat $HOME/other-project/source.rs"),
        ("home", "ls $HOME"),
        ("profile", "cat $HOME/.bashrc"),
        ("user-tree", "cat ROOT/planwright.toml"),
        ("user-git-config", "cat ROOT/.git/config"),
        ("system-temp", "ls /tmp"),
        ("write", "echo x > ROOT/new.txt"),
    ];
    let own = [
        ("file", "echo x > made.txt && cat made.txt"),
        ("log", "git log -1"),
        ("objects", "git cat-file -p HEAD:plan.json"),
        ("commit", "git add -A && git commit -q -m work"),
        ("temporary", "f=$(mktemp) && echo x > $f && cat $f"),
        ("programs", "ls --version && git --version && env true"),
    ];
    let connect = |listener: &TcpListener| format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}'", port(listener));
    let script = format!(
        "{TRY}\n{}\necho DENIED\n{}\necho CONNECT\n{}\necho CONNECTED\n{}\nsays done",
        attempts(&own, &root),
        attempts(&denied, &root),
        attempts(&[("port", connect(&listener).as_str())], &root),
        attempts(&[("port", connect(&allowed).as_str())], &root),
    );
    workspace.script(&script);
    let user = workspace.aside("home/.config/planwright/config.toml");
    std::fs::create_dir_all(user.parent().expect("a folder")).expect("ours");
    let text = format!(
        "[run]\nfence_read = [\"{}\"]\nfence_ports = [{}]\n",
        workspace.aside("agent.sh").display(),
        port(&allowed)
    );
    std::fs::write(user, text).expect("ours");
    workspace.runs(&[]).exits(0);
    let text = printed(&workspace, "a", 1);
    let (allowed, rest) = text.split_once("DENIED\n").expect("a part");
    let (denied_text, rest) = rest.split_once("CONNECT\n").expect("a part");
    let (refused, connected) = rest.split_once("CONNECTED\n").expect("a part");
    all_are(allowed, "ALLOWED", own.len());
    all_are(denied_text, "denied", denied.len());
    if can_limit_ports() {
        all_are(refused, "denied", 1);
        all_are(connected, "ALLOWED", 1);
    }
}

#[test]
fn protected_files_in_a_shared_folder_are_restored() {
    if !can_fence() {
        return;
    }
    let script = r##"
git config core.pager evil
echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
echo evil > .git/hooks/old
rm .git/info/exclude; ln -s /etc/passwd .git/info/exclude
sed -i 's/attempts = 1/attempts = 7/' planwright.toml
try outside "echo x >> $HOME/.bashrc"
try inside "echo x > made.txt && git add made.txt && git commit -q --no-verify -m work"
says done
"##;
    let workspace = fenced(&["a"], "write", script).in_git();
    workspace.write(".git/hooks/old", "mine\n");
    let before =
        ["planwright.toml", ".git/config", ".git/hooks/old", ".git/info/exclude"].map(|name| workspace.read(name));
    workspace.runs(&["--isolation", "shared"]).exits(0);
    let after =
        ["planwright.toml", ".git/config", ".git/hooks/old", ".git/info/exclude"].map(|name| workspace.read(name));
    assert_eq!(before, after);
    assert!(!workspace.exists(".git/hooks/pre-commit"));
    let text = printed(&workspace, "a", 1);
    assert!(
        text.contains("denied outside") && text.contains("ALLOWED inside"),
        "{text}"
    );
    let records = workspace.records();
    let remark = records.iter().find_map(|record| match &record.event {
        RunEvent::Remark(remark) if remark.kind == Some(RemarkKind::GuardedRestored) => Some(remark.text.clone()),
        _ => None,
    });
    let remark = remark.expect("a remark");
    for name in [
        "planwright.toml",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/old",
        ".git/info/exclude",
    ] {
        assert!(remark.contains(name), "{name} in {remark}");
    }
    let kept = workspace.place().folder().join("replaced/1");
    let kept = std::fs::read_to_string(kept.join("planwright.toml")).expect("the changed content");
    assert!(kept.contains("attempts = 7"), "{kept}");
}

#[test]
fn the_state_of_the_workspace_survives_tasks_in_a_shared_folder() {
    for script in [
        "[ $task = b ] && rm -rf .planwright && exit 0; says done",
        "[ $task = b ] && git clean -qfdx -e planwright.toml -e plan.json && exit 0; says done",
        "[ $task = b ] && rm .planwright/journal/*; says done",
        "[ $task = b ] && for f in .planwright/journal/*; do : > $f; done; says done",
        "[ $task = b ] && for f in .planwright/journal/*; do sed -i s/run/ruin/ $f; done; says done",
        "[ $task = b ] && for f in .planwright/runs/*/run.journal; do : > $f; done; says done",
        "[ $task = b ] && for f in .planwright/runs/*/run.journal; do tail -n 1 $f >> $f; done; says done",
        "[ $task = b ] && for f in .planwright/runs/*/run.journal; do sed -i s/agent/tnega/ $f; done; says done",
        "[ $task = b ] && : > .planwright/.gitignore; says done",
    ] {
        let tasks = ["a", "b a", "c b"];
        let workspace = fenced(&tasks, "auto", script).in_git();
        workspace.does(&["start", "a", "-p", "plan.json"]).exits(0);
        workspace.does(&["reset", "a", "-p", "plan.json"]).exits(0);
        let history = workspace.does(&["history", "plan.json"]).exits(0).text;
        workspace
            .runs(&["--isolation", "shared"])
            .exits(0)
            .says("restored what tasks must not change");
        assert_eq!(workspace.states(), "a done, b done, c done", "{script}");
        let after = workspace.does(&["history", "plan.json"]).exits(0).text;
        assert!(after.trim_end().ends_with(history.trim_end()), "{script}: {after}");
        let n_ended = workspace
            .records()
            .iter()
            .filter(|record| matches!(record.event, RunEvent::RunEnded(_)))
            .count();
        assert_eq!(n_ended, 1, "{script}: the log of the run is whole");
        let ignored = std::fs::read_to_string(workspace.root().join(".planwright/.gitignore"));
        assert_eq!(ignored.expect("a file").trim(), "*", "{script}");
        workspace.does(&["summary"]).exits(0);
        let kept = workspace.aside("home/.local/state/planwright/kept");
        let n_kept = std::fs::read_dir(kept).map_or(0, |kept| kept.count());
        assert_eq!(n_kept, 0, "{script}: nothing is left beside");
    }
}

#[test]
fn a_run_in_a_shared_folder_continues_while_a_task_removes_everything_that_is_in_no_commit() {
    let script = "[ $task = a ] && git clean -qfdx -e planwright.toml && sleep 1 && exit 0; says done";
    let workspace = fenced(&["a", "b a"], "auto", script).in_git();
    // The plan is in no commit.
    for words in [
        &["rm", "-q", "--cached", "plan.json"][..],
        &["commit", "-qm", "Without the plan"],
    ] {
        let git = workspace.command("git", words).status();
        assert!(git.expect("git").success());
    }
    workspace
        .runs(&["--isolation", "shared"])
        .exits(0)
        .says("the plan file was removed while a task was at work, and was written again");
    assert_eq!(workspace.states(), "a done, b done");
}

#[test]
fn an_agent_that_plans_writes_to_nothing_but_its_own_files() {
    if !can_fence() {
        return;
    }
    let workspace = fenced(&["a"], "auto", "");
    workspace.write(
        "answer.json",
        "{\"goal\": \"Do it\", \"tasks\": [{\"id\": \"t1\", \"description\": \"Do it\", \"depends_on\": []}]}\n",
    );
    let planner =
        "cat > /dev/null; echo x >> plan.json; echo x > made.txt; echo x >> \\\"$HOME/.bashrc\\\"; cat answer.json";
    let rest = format!("[agents.thinker]\ncommand = [\"sh\", \"-c\", \"{planner}\"]\n");
    workspace.configure("", &rest);
    let before = workspace.plan();
    workspace
        .does(&[
            "plan",
            "Do it",
            "--dialect",
            "clido",
            "--agent",
            "thinker",
            "--out",
            "new.json",
        ])
        .exits(0);
    assert!(workspace.read("new.json").contains("Do it"));
    assert_eq!(workspace.plan(), before);
    assert!(!workspace.exists("made.txt"));
    let profile = std::fs::read_to_string(workspace.aside("home/.bashrc")).expect("a file");
    assert_eq!(profile, "# mine\n");
}

#[test]
fn agents_with_a_sandbox_of_their_own_run_without_it_behind_the_fence() {
    if !can_fence() {
        return;
    }
    for (fence, expected) in [("write", "danger-full-access"), ("off", "workspace-write")] {
        let mut workspace = fenced(&["a"], fence, "");
        let bin = workspace.aside("bin");
        std::fs::create_dir_all(&bin).expect("ours");
        std::fs::write(bin.join("codex"), "#!/bin/sh\necho \"words: $*\" >&2\n").expect("ours");
        use std::os::unix::fs::PermissionsExt as _;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join("codex"), executable).expect("ours");
        let path = std::env::var("PATH").expect("a path");
        workspace.set("PATH", &format!("{}:{path}", bin.display()));
        workspace.runs(&["--agent", "codex"]);
        let text = printed(&workspace, "a", 1);
        assert!(text.contains(&format!("-s {expected}")), "{text}");
    }
}

#[test]
fn a_fenced_run_that_is_interrupted_leaves_nothing() {
    if !can_fence() {
        return;
    }
    let script = "echo started; (setsid sleep 300 &) ; sleep 300";
    let workspace = fenced(&["a"], "write", script).in_git();
    let run = workspace.begins(&[]);
    workspace.until_log("started a");
    workspace.until("the agent is there", |workspace| {
        printed(workspace, "a", 1).contains("started")
    });
    run.signal("INT");
    workspace.until_log("stopping");
    run.signal("INT");
    run.ends();
    workspace.is_quiet();
}

#[test]
fn logs_and_dry_runs_print_what_a_fence_allows() {
    if !can_fence() {
        return;
    }
    let workspace = fenced(&["a"], "write", "echo x > made.txt; says done").in_git();
    let shown = workspace.runs(&["--dry-run"]).exits(0);
    let shown = shown.says("write (--json lists every path)").text;
    // One line, and all paths in the JSON.
    assert!(!shown.contains("/dev/null"), "{shown}");
    let report = workspace.runs(&["--dry-run", "--json"]).exits(0).as_json();
    let writable = report["fence"]["agents"]["mock"]["writable"].as_array();
    assert!(
        writable.is_some_and(|paths| paths.contains(&"/dev/null".into())),
        "{report}"
    );
    workspace.runs(&[]).exits(0);
    workspace.does(&["logs"]).exits(0).says("fence write");
    workspace
        .does(&["logs", "a", "--fence"])
        .exits(0)
        .says("\"level\": \"write\"")
        .says("/dev/null");
    workspace
        .does(&["logs", "--json"])
        .exits(0)
        .says("\"fence\": \"write\"");
    workspace.does(&["agents"]).says("Landlock ABI");
    workspace.does(&["doctor"]).says("Landlock ABI");
}

#[test]
fn fence_exec_starts_nothing_if_it_cannot_restrict_itself() {
    let workspace = fenced(&["a"], "off", "");
    workspace
        .does(&["fence-exec", "--", "/bin/echo"])
        .exits(126)
        .says("the program was not started");
    if can_fence() {
        workspace
            .does(&["fence-exec", "-w", "/dev/null", "--", "/no/such/program", "x"])
            .exits(126)
            .says("/no/such/program");
    }
    let help = workspace.does(&["--help"]).exits(0);
    assert!(!help.text.contains("fence-exec"), "{}", help.text);
    let completions = workspace.does(&["completions", "bash"]).exits(0);
    assert!(!completions.text.contains("fence-exec"));
}

#[test]
fn a_missing_fence_is_reported() {
    let workspace = Workspace::new(("plan.json", &clido(&["a"])), "says done").in_git();
    workspace.configure("fence = \"off\"", "");
    let words = "agents are not fenced: run.fence is \"off\"";
    workspace.runs(&["--dry-run"]).exits(0).says(words);
    let came = workspace.runs(&["--isolation", "checkouts"]).exits(0).says(words);
    assert!(!came.text.contains("landed on"), "{}", came.text);
    came.says("a has nothing to land on planwright/plan-a1b2c3d4");
    workspace
        .does(&["logs", "a", "--fence"])
        .exits(1)
        .says("a was not fenced in attempt 1");
    // That the task changed nothing is in every list.
    workspace.does(&["runs"]).exits(0).says("1 done without changes");
    let events = workspace.does(&["events"]).exits(0);
    events.says(", no changes").says("has nothing to land on");
}

#[test]
fn a_link_in_the_place_of_the_result_folder_leads_nowhere() {
    for script in [
        "rm -rf .planwright; ln -s $ASIDE/other .planwright; touch made",
        "rm -rf .planwright; mkfifo .planwright; touch made",
        "[ $attempt = 2 ] && says done && exit 0; rm -rf .planwright; echo x > .planwright; exit 1",
        "[ $attempt = 2 ] && says done && exit 0; rm -rf .planwright; ln -s $ASIDE/other .planwright; exit 1",
    ] {
        let workspace = Workspace::new(("plan.json", &clido(&["a", "b"])), script);
        workspace.configure("attempts = 2", "");
        let workspace = workspace.in_git();
        let other = workspace.aside("other");
        std::fs::create_dir_all(&other).expect("a folder");
        let result = r#"{"planwright_result":1,"outcome":"done","output":"ghp_abcdefghijABCDEFGHIJ0123456789abcdef"}"#;
        std::fs::write(other.join("result-1.json"), result).expect("room");
        let came = workspace.runs(&["--isolation", "checkouts"]);
        assert!(!came.text.contains("cannot be made"), "{script}: {}", came.text);
        let kept = std::fs::read_to_string(other.join("result-1.json")).expect("a file");
        assert_eq!(kept, result, "{script}");
        assert_eq!(std::fs::read_dir(&other).expect("a folder").count(), 1, "{script}");
        if script.contains("attempt") {
            came.exits(0);
        }
    }
}

#[test]
fn a_link_in_the_place_of_the_state_leads_nowhere_in_a_shared_folder() {
    if !can_fence() {
        return;
    }
    for (what, replacement) in [
        (".planwright", "ln -s $ASIDE/other .planwright"),
        (".planwright", "echo x > .planwright"),
        (".planwright", "mkfifo .planwright"),
        (".planwright/journal", "ln -s $ASIDE/other .planwright/journal"),
        (".planwright/runs", "ln -s $ASIDE/other .planwright/runs"),
        (".planwright/runs", "echo x > .planwright/runs"),
        // The run restores the folder while the task removes it again.
        (
            ".planwright",
            "for n in $(seq 300); do echo x > .planwright; rm -rf .planwright; done",
        ),
        (
            ".planwright/runs/*/attempts",
            "ln -s $ASIDE/other $(echo .planwright/runs/*)/attempts",
        ),
    ] {
        // The run may restore what was removed before it is replaced: the task succeeds either way.
        let script = format!("[ $task = b ] && {{ rm -rf {what}; {replacement}; exit 0; }}; says done");
        let workspace = fenced(&["a", "b a", "c b"], "auto", &script).in_git();
        let other = workspace.aside("other");
        std::fs::create_dir_all(&other).expect("a folder");
        std::fs::write(other.join(".gitignore"), "precious").expect("room");
        let came = workspace.runs(&["--isolation", "shared"]).exits(0);
        assert_eq!(workspace.states(), "a done, b done, c done", "{script}: {}", came.text);
        let kept = std::fs::read_to_string(other.join(".gitignore")).expect("a file");
        assert_eq!(kept, "precious", "{script}");
        let found = files_below(&other);
        assert_eq!(found, [other.join(".gitignore")], "{script}");
        workspace.does(&["summary"]).exits(0);
        let again = workspace.runs(&[]);
        assert!(again.text.contains("nothing to run"), "{script}: {}", again.text);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_state_file_does_not_hold_up_a_run() {
    if !can_fence() {
        return;
    }
    for files in [
        ".planwright/journal/*.journal",
        ".planwright/locks/*.lock",
        ".planwright/locks/*",
        ".planwright/runs/*/run.journal",
        ".planwright/runs/*/attempts/*.log",
    ] {
        let script = format!("[ $task = a ] && for f in {files}; do rm -f $f; mkfifo $f; done; says done");
        // Without a fence nothing is restored, and no restore is awaited.
        fenced(&["a", "b a"], "off", &script).runs(&["--isolation", "shared"]);
        let workspace = fenced(&["a", "b a"], "auto", &script);
        workspace.runs(&["--isolation", "shared"]).exits(0);
        assert_eq!(workspace.states(), "a done, b done", "{files}");
        workspace.does(&["history", "plan.json"]).exits(0);
        workspace
            .does(&["reset", "b", "--plan", "plan.json", "--force"])
            .exits(0);
    }
}

#[test]
fn a_pipe_that_git_would_read_does_not_hold_up_a_run() {
    for (isolation, script) in [
        ("checkouts", "mkfifo .gitignore; touch made; says done"),
        (
            "checkouts",
            "mkdir sub; mkfifo sub/.gitattributes; touch made; says done",
        ),
        (
            "checkouts",
            "[ $attempt = 2 ] && touch made && says done && exit 0; mkfifo .gitignore; exit 1",
        ),
        ("shared", "mkfifo .gitignore; touch made; says done"),
    ] {
        let workspace = Workspace::new(("plan.json", &clido(&["a"])), script);
        workspace.configure("attempts = 2", "");
        let workspace = workspace.in_git();
        workspace.runs(&["--isolation", isolation]).exits(0);
        assert_eq!(workspace.states(), "a done", "{script}");
    }
}
