//! Finds commands that may verify the work in a repository, by its files. Runs none of them.

use std::path::Path;

use crate::config::Command;
use crate::files::read_text;
use crate::programs::program;
use crate::shell::{argument, command_line};

/// Larger files are not read: no manifest is that large.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Commands for one ecosystem, the best first: the first that works is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// The file that suggests them, from the root of the workspace.
    pub file: String,
    pub commands: Vec<Command>,
    /// Whether they matter only if no other ecosystem has a working command: a `make test` often wraps the others.
    pub is_last_resort: bool,
}

/// How many ecosystems are taken from the subfolders of a root that itself suggests nothing.
const MAX_BELOW: usize = 4;

/// Returns the commands that a folder suggests; if it has none, those of its subfolders.
pub fn find(root: &Path) -> Vec<Candidates> {
    let own = find_in(root);
    match own.is_empty() {
        true => find_below(root),
        false => own,
    }
}

/// Returns the commands that the subfolders of a root suggest, each run in its folder.
fn find_below(root: &Path) -> Vec<Candidates> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let is_source = |name: &String| !name.starts_with(['.', '-']) && !NOT_SOURCE.contains(&name.as_str());
    let mut names: Vec<String> = names.filter(is_source).collect();
    names.sort();
    let of_folder = |name: &String| {
        let found = find_in(&root.join(name)).into_iter();
        let name = name.clone();
        found.map(move |group| group.in_folder(&name))
    };
    names.iter().flat_map(of_folder).take(MAX_BELOW).collect()
}

/// Folders of tools, whose tests are not those of the repository.
const NOT_SOURCE: [&str; 7] = [
    "node_modules",
    "vendor",
    "target",
    "build",
    "dist",
    "venv",
    "third_party",
];

impl Candidates {
    /// Returns the same commands, started in a folder.
    fn in_folder(mut self, folder: &str) -> Self {
        for command in &mut self.commands {
            let line = command_line(&command.arguments());
            *command = Command::Shell(format!("cd {} && {line}", argument(folder)));
        }
        self.file = format!("{folder}/{}", self.file);
        self
    }
}

fn find_in(root: &Path) -> Vec<Candidates> {
    let files = RootFiles { root };
    let finders: [fn(&RootFiles<'_>) -> Option<Candidates>; 14] = [
        cargo, node, deno, python, go, gradle, maven, mix, composer, dotnet, ruby, cmake, make, just,
    ];
    finders.into_iter().filter_map(|find| find(&files)).collect()
}

/// Returns whether the output of a successful command says that there are no tests.
pub fn says_no_tests(output: &str) -> bool {
    let results: Vec<&str> = output.lines().filter(|line| line.contains("test result: ")).collect();
    if !results.is_empty() {
        return results.iter().all(|line| line.contains(" 0 passed; 0 failed"));
    }
    let packages = output.lines().filter(|line| line.contains("[no test files]")).count();
    if packages > 0 {
        return !output.lines().any(|line| line.starts_with("ok "));
    }
    let phrases = [
        "ran 0 tests",
        "no tests ran",
        "no tests found",
        "no tests yet",
        "no test files found",
        "no tests to run",
        "no test is available",
        "no tests executed",
        "collected 0 items",
        "0 examples, 0 failures",
        "nothing to be done for ",
        " is up to date.",
        "no test specified",
    ];
    let lower = output.to_lowercase();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_empty_report = |line: &str| {
        matches!(
            words(line).as_str(),
            "# tests 0" | "ℹ tests 0" | "0 passing" | "tests: 0 total"
        )
    };
    let is_full_report = |line: &str| {
        let count = words(line);
        let count = count
            .strip_suffix(" passing")
            .or_else(|| count.strip_prefix("# tests "));
        count.is_some_and(|count| {
            count
                .split(' ')
                .next()
                .is_some_and(|n| n.parse().is_ok_and(|n: u64| n > 0))
        })
    };
    let is_empty = phrases.iter().any(|phrase| lower.contains(phrase)) || lower.lines().any(is_empty_report);
    is_empty && !lower.lines().any(is_full_report)
}

struct RootFiles<'r> {
    root: &'r Path,
}

impl RootFiles<'_> {
    fn has(&self, name: &str) -> bool {
        self.root.join(name).is_file()
    }

    /// Returns the first of some files that is there.
    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn text(&self, name: &str) -> Option<String> {
        let path = self.root.join(name);
        let metadata = std::fs::metadata(&path).ok()?;
        let is_small = metadata.is_file() && metadata.len() <= MAX_FILE_BYTES;
        let text = is_small.then(|| read_text(&path).ok()).flatten()?;
        Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    fn ending_with(&self, endings: &[&str]) -> Option<String> {
        let entries = std::fs::read_dir(self.root).ok()?;
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names
            .filter(|name| endings.iter().any(|end| name.ends_with(end)))
            .collect();
        names.sort();
        names.into_iter().next()
    }
}

fn words(words: &[&str]) -> Command {
    Command::Words(words.iter().map(|word| (*word).to_owned()).collect())
}

fn candidates(file: &str, commands: Vec<Command>) -> Option<Candidates> {
    Some(Candidates {
        file: file.to_owned(),
        commands,
        is_last_resort: false,
    })
}

fn cargo(files: &RootFiles<'_>) -> Option<Candidates> {
    let text = files.text("Cargo.toml")?;
    let is_workspace = text.lines().any(|line| line.trim_start().starts_with("[workspace]"));
    let all: &[&str] = if is_workspace { &["--workspace"] } else { &[] };
    let command = |verb: &str| words(&[&["cargo", verb][..], all].concat());
    candidates("Cargo.toml", vec![command("test"), command("check")])
}

fn node(files: &RootFiles<'_>) -> Option<Candidates> {
    let manifest: serde_json::Value = serde_json::from_str(&files.text("package.json")?).ok()?;
    let script = |name: &str| manifest["scripts"][name].as_str().filter(|line| !is_placeholder(line));
    let named = manifest["packageManager"]
        .as_str()
        .and_then(|name| name.split('@').next());
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    let locked = locks
        .iter()
        .find(|(lock, _)| files.has(lock))
        .map(|(_, manager)| *manager);
    let known = ["npm", "pnpm", "yarn", "bun"].into_iter();
    let manager = known
        .clone()
        .find(|known| named == Some(*known))
        .or(locked)
        .unwrap_or("npm");
    let scripts = ["test", "typecheck", "type-check", "build"].into_iter();
    let commands: Vec<Command> = scripts
        .filter(|name| script(name).is_some())
        .map(|name| match (manager, name) {
            ("bun", _) | (_, "typecheck" | "type-check" | "build") => words(&[manager, "run", name]),
            _ => words(&[manager, "test"]),
        })
        .collect();
    candidates("package.json", commands)
}

/// Returns whether a script tests nothing: the one that `npm init` writes, and those that only succeed or print.
fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    let is_silent = matches!(line, "" | "true" | ":" | "exit 0");
    let prints_only = line.starts_with("echo ") && !line.contains(['|', ';']) && {
        let rest = line.split("&&").skip(1);
        rest.into_iter()
            .all(|command| matches!(command.trim(), "true" | ":" | "exit 0"))
    };
    is_silent || prints_only || line.contains("no test specified")
}

fn deno(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["deno.json", "deno.jsonc"])?;
    candidates(file, vec![words(&["deno", "test", "--allow-all"])])
}

fn python(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files
        .first(&[
            "pyproject.toml",
            "pytest.ini",
            "tox.ini",
            "setup.cfg",
            "setup.py",
            "noxfile.py",
            "requirements.txt",
        ])
        .map(str::to_owned)
        .or_else(|| tests_of_python(files))?;
    let manifest = files.text("pyproject.toml").unwrap_or_default();
    let mut commands = Vec::new();
    if files.has("uv.lock") && program("uv").is_some() {
        commands.push(words(&["uv", "run", "pytest", "-q"]));
    }
    if files.has("poetry.lock") && program("poetry").is_some() {
        commands.push(words(&["poetry", "run", "pytest", "-q"]));
    }
    let python = if program("python3").is_some() {
        "python3"
    } else {
        "python"
    };
    commands.push(words(&[python, "-m", "pytest", "-q"]));
    if files.has("tox.ini") || manifest.contains("[tool.tox") {
        commands.push(words(&["tox", "-q"]));
    }
    if files.has("noxfile.py") {
        commands.push(words(&["nox"]));
    }
    commands.push(words(&[python, "-m", "unittest", "discover"]));
    if files.root.join("tests").is_dir() {
        commands.push(words(&[python, "-m", "unittest", "discover", "-s", "tests"]));
    }
    candidates(&file, commands)
}

/// Returns a file of Python tests if nothing else indicates a Python project.
fn tests_of_python(files: &RootFiles<'_>) -> Option<String> {
    ["", "tests", "test"].into_iter().find_map(|folder| {
        let entries = std::fs::read_dir(files.root.join(folder)).ok()?;
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_test = |name: &String| {
            let is_named = name.starts_with("test_") || name.ends_with("_test.py");
            is_named && name.ends_with(".py")
        };
        let found = names.filter(is_test).min()?;
        Some(if folder.is_empty() {
            found
        } else {
            format!("{folder}/{found}")
        })
    })
}

fn go(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["go.mod", "go.work"])?;
    candidates(
        file,
        vec![words(&["go", "test", "./..."]), words(&["go", "vet", "./..."])],
    )
}

fn gradle(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&[
        "build.gradle.kts",
        "build.gradle",
        "settings.gradle.kts",
        "settings.gradle",
    ])?;
    let program = if files.has("gradlew") { "./gradlew" } else { "gradle" };
    candidates(file, vec![words(&[program, "test", "--console=plain"])])
}

fn maven(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["pom.xml"])?;
    let program = if files.has("mvnw") { "./mvnw" } else { "mvn" };
    candidates(file, vec![words(&[program, "--batch-mode", "test"])])
}

fn mix(files: &RootFiles<'_>) -> Option<Candidates> {
    candidates(files.first(&["mix.exs"])?, vec![words(&["mix", "test"])])
}

fn composer(files: &RootFiles<'_>) -> Option<Candidates> {
    let manifest: serde_json::Value = serde_json::from_str(&files.text("composer.json")?).ok()?;
    let mut commands = Vec::new();
    if !manifest["scripts"]["test"].is_null() {
        commands.push(words(&["composer", "--no-interaction", "test"]));
    }
    if files.first(&["phpunit.xml", "phpunit.xml.dist"]).is_some() {
        commands.push(words(&["vendor/bin/phpunit"]));
    }
    candidates("composer.json", commands)
}

fn dotnet(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.ending_with(&[".sln", ".slnx", ".csproj", ".fsproj"])?;
    candidates(&file, vec![words(&["dotnet", "test", "--nologo"])])
}

fn ruby(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["Gemfile", "Rakefile"])?;
    let mut commands = Vec::new();
    if files.root.join("spec").is_dir() {
        commands.push(words(&["bundle", "exec", "rspec"]));
    }
    if files.has("Rakefile") {
        commands.push(words(&["bundle", "exec", "rake", "test"]));
    }
    candidates(file, commands)
}

fn cmake(files: &RootFiles<'_>) -> Option<Candidates> {
    let text = files.text("CMakeLists.txt")?;
    let has_tests = ["enable_testing", "add_test", "CTest"]
        .iter()
        .any(|word| text.contains(word));
    let build = "cmake -S . -B build && cmake --build build";
    let mut lines = Vec::new();
    if has_tests {
        lines.push(format!(
            "{build} && ctest --test-dir build --output-on-failure --no-tests=error"
        ));
    }
    lines.push(build.to_owned());
    candidates("CMakeLists.txt", lines.into_iter().map(Command::Shell).collect())
}

fn make(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["GNUmakefile", "makefile", "Makefile"])?;
    last_resort(file, "make", &files.text(file)?, is_make_target)
}

fn just(files: &RootFiles<'_>) -> Option<Candidates> {
    let file = files.first(&["justfile", "Justfile", ".justfile"])?;
    last_resort(file, "just", &files.text(file)?, is_just_recipe)
}

/// Returns the targets that test: `test`, otherwise `check`. None if both are missing.
fn last_resort(file: &str, program: &str, text: &str, is_target: fn(&str, &str) -> bool) -> Option<Candidates> {
    let targets = ["test", "check"].into_iter();
    let targets = targets.filter(|target| text.lines().any(|line| is_target(line, target)));
    let commands: Vec<Command> = targets.map(|target| words(&[program, target])).collect();
    (!commands.is_empty()).then(|| Candidates {
        file: file.to_owned(),
        commands,
        is_last_resort: true,
    })
}

/// Returns whether a line of a Makefile has the rule of a target: `test:`, `build test: all`, but not `test := 1`.
fn is_make_target(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    let is_rule = !line.starts_with(['\t', '#', ' ']) && !rest.starts_with('=') && !rest.starts_with(":=");
    is_rule && targets.split_whitespace().any(|own| own == target)
}

/// Returns whether a line of a justfile begins a recipe: `test:`, `@test arg:`.
fn is_just_recipe(line: &str, target: &str) -> bool {
    let Some((head, rest)) = line.split_once(':') else {
        return false;
    };
    let is_recipe = !line.starts_with(['\t', '#', ' ']) && !rest.starts_with('=');
    is_recipe && head.trim_start_matches('@').split_whitespace().next() == Some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_without_tests_is_recognised() {
        for output in [
            "make: 'test' is up to date.",
            "make: Nothing to be done for 'test'.",
            "No test files found, exiting with code 0",
            "Tests:       0 total",
            "collected 0 items",
            "  0 passing (2ms)\n\n  0 passing",
        ] {
            assert_eq!(says_no_tests(output), output.trim() != "0 passing (2ms)", "{output}");
        }
        for output in ["  12 passing\n  0 passing", "ok", "3 passed in 0.1s", "# tests 4"] {
            assert!(!says_no_tests(output), "{output}");
        }
    }

    #[test]
    fn scripts_that_test_nothing_are_no_candidates() {
        for line in ["", "true", ":", "exit 0", "echo none", "echo 'No tests yet' && exit 0"] {
            assert!(is_placeholder(line), "{line}");
        }
        for line in ["jest", "echo start && jest", "node --test", "tsc; true"] {
            assert!(!is_placeholder(line), "{line}");
        }
    }
}
