//! The runs of the matrix: ordinary agents, and agents that misuse git.

use super::LandingRun;

const FAITHFUL: &str = "git add -A && git commit -q --allow-empty -m try || exit 1";

pub(super) fn all() -> Vec<LandingRun> {
    let run = |name, script| LandingRun {
        name,
        tasks: "a",
        script,
        settings: "attempts = 3",
        verify: "ls out-*",
        lands: &["out-a"],
    };
    vec![
        LandingRun {
            tasks: "a,b a",
            lands: &["out-a", "out-b"],
            ..run("plain", FAITHFUL)
        },
        LandingRun {
            tasks: "a,b,c a b",
            settings: "attempts = 3\nslots = 2",
            lands: &["out-a", "out-b", "out-c"],
            ..run("slots", FAITHFUL)
        },
        LandingRun {
            settings: "attempts = 3\nlanding = \"merge\"",
            ..run("merge", FAITHFUL)
        },
        run(
            "link",
            "rm -rf node_modules data; ln -s /nowhere/node_modules node_modules; echo x > data",
        ),
        LandingRun {
            verify: "grep mine shared.txt && grep mine .gitignore",
            lands: &[".gitignore", "out-a", "shared.txt"],
            ..run(
                "hidden",
                "git update-index --assume-unchanged shared.txt; echo mine > shared.txt\ngit update-index --skip-worktree \
                 .gitignore; printf '\\n# mine\\n' >> .gitignore",
            )
        },
        LandingRun {
            verify: "test -e out-a && test ! -e taken-back",
            ..run(
                "reset",
                "echo x > taken-back; git add -A; git commit -q -m x; git reset -q --hard HEAD~1",
            )
        },
        LandingRun {
            verify: "test -e out-a && test ! -e data/product",
            ..run("ignored", "mkdir -p data; echo x > data/product; echo x > build.log")
        },
        run(
            "exclude",
            "echo 'out-*' >> .git/info/exclude; git config core.excludesFile /dev/null; git config core.fileMode false",
        ),
        run(
            "nested",
            "again || { mkdir -p new; cd new; git init -q; echo x > x; git add x; git commit -q -m x; cd ..; }\nagain && rm -rf new",
        ),
        run("removed", "again || { cd ..; rm -rf \"$PLANWRIGHT_FOLDER\"; exit 0; }"),
        run(
            "stash",
            "echo s > shared.txt; git stash -q; git checkout -q -b side-$$; echo x > side.txt; git add -A; git commit -q -m side\ngit \
             checkout -q task",
        ),
        run(
            "reach",
            "git push origin --delete main; git push -f origin HEAD:main; git branch -D main; git update-ref -d refs/heads/main\ngit gc \
             --prune=now -q; git config --local alias.x y; git worktree list",
        ),
        run(
            "switched",
            "git checkout -q -b other-$$; git commit -q --allow-empty -m x; git checkout -q --orphan none-$$",
        ),
    ]
}
