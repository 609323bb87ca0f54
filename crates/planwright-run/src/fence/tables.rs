//! Caches and state of toolchains and agents in the user's home, as data. They never include files that another program executes or reads
//! as settings.

/// A folder or file in the user's home.
#[derive(Clone, Copy, Debug)]
pub(super) struct HomePath {
    /// The environment variable that names the folder with `below`, if set.
    pub(super) variable: &'static str,
    /// The folder without the variable, relative to the home folder. `.cache` stands for `XDG_CACHE_HOME`, and so on.
    pub(super) folder: &'static str,
    /// The writable paths in it; the folder itself if empty.
    pub(super) below: &'static [&'static str],
    /// The programs that fail without these paths: if one is installed, missing paths are created.
    pub(super) makers: &'static [&'static str],
    /// Whether they are files, which are created empty.
    pub(super) are_files: bool,
}

const fn row(variable: &'static str, folder: &'static str, below: &'static [&'static str]) -> HomePath {
    HomePath {
        variable,
        folder,
        below,
        makers: &[],
        are_files: false,
    }
}

impl HomePath {
    const fn made_for(self, makers: &'static [&'static str]) -> HomePath {
        HomePath { makers, ..self }
    }

    const fn files_made_for(self, makers: &'static [&'static str]) -> HomePath {
        HomePath {
            makers,
            are_files: true,
            ..self
        }
    }
}

/// Devices that every process may write to, including the terminal and shared memory.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

pub(super) static CACHES: &[HomePath] = &[
    // Rust. Not `config.toml`, `credentials.toml` and `bin`.
    row("CARGO_HOME", ".cargo", &["registry", "git"]).made_for(&["cargo"]),
    row(
        "CARGO_HOME",
        ".cargo",
        &[".package-cache", ".package-cache-mutate", ".global-cache"],
    ),
    row("SCCACHE_DIR", ".cache/sccache", &[]),
    // Node.js and similar tools. Not `.npmrc`.
    row("npm_config_cache", ".npm", &["_cacache", "_logs", "_npx"]).made_for(&["npm"]),
    row(
        "npm_config_cache",
        ".npm",
        &["_locks", "_prebuilds", "_update-notifier-last-checked"],
    ),
    row("YARN_CACHE_FOLDER", ".cache/yarn", &[]),
    row("", ".yarn/berry", &["cache", "index", "metadata"]),
    row("", ".local/share/pnpm/store", &[]).made_for(&["pnpm"]),
    row("", ".cache/pnpm", &[]),
    row("", ".local/state/pnpm", &[]),
    row("BUN_INSTALL_CACHE_DIR", ".bun/install/cache", &[]).made_for(&["bun"]),
    row("DENO_DIR", ".cache/deno", &[]).made_for(&["deno"]),
    row("COREPACK_HOME", ".cache/node/corepack", &[]),
    row("", ".cache/node-gyp", &[]),
    row("", ".cache/electron", &[]),
    row("", ".cache/ms-playwright", &[]),
    row("", ".cache/puppeteer", &[]),
    row("", ".cache/Cypress", &[]),
    row("", ".cache/prisma", &[]),
    // Python. Not `.pypirc` and installed packages.
    row("PIP_CACHE_DIR", ".cache/pip", &[]),
    row("UV_CACHE_DIR", ".cache/uv", &[]).made_for(&["uv"]),
    row("POETRY_CACHE_DIR", ".cache/pypoetry", &[]).made_for(&["poetry"]),
    row("", ".cache/pipenv", &[]),
    row("", ".cache/hatch", &[]),
    row("", ".cache/pre-commit", &[]),
    row("", ".cache/matplotlib", &[]),
    row("HF_HOME", ".cache/huggingface", &["hub", "datasets", "xet"]),
    row("", ".cache/torch", &[]),
    row("", ".conda", &["pkgs"]),
    // Go.
    row("GOCACHE", ".cache/go-build", &[]).made_for(&["go"]),
    row("GOMODCACHE", "go/pkg", &[]).made_for(&["go"]),
    row("GOPATH", "go", &["pkg"]),
    row("", ".cache/golangci-lint", &[]),
    // Java, Kotlin, Scala. Not `init.gradle`, `init.d`, `gradle.properties`, `settings.xml`.
    row(
        "GRADLE_USER_HOME",
        ".gradle",
        &["caches", "daemon", "native", "wrapper", "workers"],
    )
    .made_for(&["gradle"]),
    row(
        "GRADLE_USER_HOME",
        ".gradle",
        &["notifications", "kotlin-profile", ".tmp"],
    ),
    row("", ".m2", &["repository", "wrapper"]).made_for(&["mvn"]),
    row("", ".ivy2", &["cache", "local"]),
    row("COURSIER_CACHE", ".cache/coursier", &[]),
    // Others.
    row("NUGET_PACKAGES", ".nuget/packages", &[]).made_for(&["dotnet"]),
    row("", ".local/share/NuGet", &["http-cache", "v3-cache", "plugins-cache"]),
    row("COMPOSER_CACHE_DIR", ".cache/composer", &[]),
    row("", ".composer", &["cache"]),
    row("", ".bundle", &["cache"]),
    row("", ".cache/rebar3", &[]),
    row("", ".cabal", &["packages"]),
    row("", ".cache/cabal", &[]),
    row("ZIG_GLOBAL_CACHE_DIR", ".cache/zig", &[]),
    row("", ".cache/org.swift.swiftpm", &[]),
    row("PUB_CACHE", ".pub-cache", &["hosted", "hosted-hashes", "git", "_temp"]),
    row("", ".cache/bazel", &[]),
    row("BAZELISK_HOME", ".cache/bazelisk", &[]),
    row("CCACHE_DIR", ".cache/ccache", &[]),
    row("", ".ccache", &[]),
    row("", ".cache/vcpkg", &[]),
    row("", ".cache/nix", &[]),
    row("", ".cache/mesa_shader_cache", &[]),
    row("", ".cache/fontconfig", &[]),
];

#[derive(Debug)]
pub(super) struct AgentRows {
    pub(super) name: &'static str,
    /// What it may write to: sessions, logs, caches, the tokens that it renews. Not settings, hooks, commands, plug-ins.
    pub(super) state: &'static [HomePath],
    pub(super) settings: &'static [HomePath],
    /// The folder of its settings, if it must create files next to them.
    pub(super) private_home: Option<PrivateHome>,
}

/// A settings folder of which an agent gets a private view.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrivateHome {
    /// The variable that names the parent folder, which is the home folder by default.
    pub(super) variable: &'static str,
    pub(super) inner: &'static str,
}

pub(super) static AGENTS: &[AgentRows] = &[
    AgentRows {
        name: "claude",
        // Not `.claude.json`, which names programs to start: MCP servers.
        state: &[
            row(
                "CLAUDE_CONFIG_DIR",
                ".claude",
                &[
                    "projects",
                    "todos",
                    "tasks",
                    "plans",
                    "shell-snapshots",
                    "session-env",
                    "sessions",
                    "file-history",
                    "paste-cache",
                    "statsig",
                    "telemetry",
                    "debug",
                    "cache",
                    "backups",
                ],
            )
            .made_for(&["claude"]),
            row(
                "CLAUDE_CONFIG_DIR",
                ".claude",
                &[".credentials.json", "history.jsonl", "stats-cache.json"],
            ),
        ],
        settings: &[
            row("CLAUDE_CONFIG_DIR", ".claude", &[]),
            row("", ".claude.json", &[]),
            row("", ".local/share/claude", &[]),
        ],
        private_home: None,
    },
    AgentRows {
        name: "codex",
        state: &[
            row(
                "CODEX_HOME",
                ".codex",
                &[
                    "sessions",
                    "archived_sessions",
                    "log",
                    "tmp",
                    "shell_snapshots",
                    "cache",
                ],
            )
            .made_for(&["codex"]),
            row(
                "CODEX_HOME",
                ".codex",
                &[
                    "auth.json",
                    "history.jsonl",
                    "version.json",
                    "models_cache.json",
                    "installation_id",
                ],
            ),
            row("CODEX_HOME", ".codex", &["installation_id"]).files_made_for(&["codex"]),
        ],
        settings: &[row("CODEX_HOME", ".codex", &[])],
        private_home: None,
    },
    AgentRows {
        name: "gemini",
        state: &[
            row("GEMINI_CLI_HOME", "", &[".gemini/tmp", ".gemini/history"]).made_for(&["gemini"]),
            row(
                "GEMINI_CLI_HOME",
                "",
                &[
                    ".gemini/projects.json",
                    ".gemini/oauth_creds.json",
                    ".gemini/google_accounts.json",
                    ".gemini/installation_id",
                    ".gemini/state.json",
                ],
            ),
        ],
        settings: &[row("GEMINI_CLI_HOME", "", &[".gemini"])],
        private_home: Some(PrivateHome {
            variable: "GEMINI_CLI_HOME",
            inner: ".gemini",
        }),
    },
    AgentRows {
        name: "opencode",
        state: &[
            row("", ".local/share/opencode", &[]).made_for(&["opencode"]),
            row("", ".local/state/opencode", &[]).made_for(&["opencode"]),
            row("", ".cache/opencode", &[]).made_for(&["opencode"]),
        ],
        settings: &[
            row("", ".config/opencode", &[]).made_for(&["opencode"]),
            row("OPENCODE_CONFIG", "", &[]),
            row("OPENCODE_CONFIG_DIR", "", &[]),
        ],
        private_home: None,
    },
    AgentRows {
        name: "aider",
        state: &[row("", ".aider", &[]).made_for(&["aider"])],
        settings: &[
            row("", ".aider.conf.yml", &[]),
            row("", ".aider.model.settings.yml", &[]),
            row("", ".aider.model.metadata.json", &[]),
            row("", ".env", &[]),
        ],
        private_home: None,
    },
    AgentRows {
        name: "qwen",
        state: &[
            row(
                "",
                ".qwen",
                &["tmp", "projects", "chats", "debug", "todos", "usage", "history"],
            )
            .made_for(&["qwen"]),
            row(
                "",
                ".qwen",
                &["oauth_creds.json", "installation_id", "usage.json", "projects.json"],
            ),
        ],
        settings: &[row("", ".qwen", &[])],
        private_home: None,
    },
    AgentRows {
        name: "clido",
        state: &[row("", ".local/share/clido", &[]).made_for(&["clido"])],
        settings: &[row("", ".config/clido", &[]), row("", ".clido", &[])],
        private_home: None,
    },
];

/// What a strictly fenced process may read of the system.
pub(super) const SYSTEM: &[&str] = &[
    "/bin",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/home/linuxbrew",
    "/run/systemd/resolve",
    "/run/current-system",
    "/var/lib/dpkg",
    "/var/lib/rpm",
];

/// What a strictly fenced process may read of the user's home in addition to caches: toolchains, and what git and shells need.
pub(super) static TOOLCHAINS: &[HomePath] = &[
    row(
        "CARGO_HOME",
        ".cargo",
        &["bin", "env", "config", "config.toml", "registry", "git"],
    ),
    row("RUSTUP_HOME", ".rustup", &[]),
    row("NVM_DIR", ".nvm", &["versions", "nvm.sh", "alias"]),
    row("", ".local/share/fnm", &[]),
    row("VOLTA_HOME", ".volta", &["bin", "tools"]),
    row("BUN_INSTALL", ".bun", &["bin", "install"]),
    row("", ".deno", &["bin"]),
    row("", ".local", &["bin", "lib"]),
    row("", ".local/share", &["mise", "uv", "pnpm", "pipx", "virtualenv", "npm"]),
    row("PYENV_ROOT", ".pyenv", &[]),
    row("", ".asdf", &[]),
    row("GOROOT", "sdk", &[]),
    row("GOPATH", "go", &[]),
    row("SDKMAN_DIR", ".sdkman", &["candidates"]),
    row("JAVA_HOME", ".jdks", &[]),
    row("", ".gradle", &["gradle.properties", "init.gradle", "init.d", "jdks"]),
    row("", ".rbenv", &[]),
    row("", ".rvm", &[]),
    row("", ".gem", &["ruby"]),
    row("", ".dotnet", &[]),
    row("", ".conda", &[]),
    row("", "miniconda3", &[]),
    row("", "anaconda3", &[]),
    row("", ".stack", &[]),
    row("", ".ghcup", &[]),
    row("", ".elan", &[]),
    row("", ".opam", &[]),
    row("", ".nix-profile", &[]),
    row("", ".gitconfig", &[]),
    row("", ".config/git", &["config", "ignore", "attributes"]),
    row("", ".editorconfig", &[]),
];

/// The TCP ports that a strictly fenced process may connect to: HTTP and HTTPS, DNS, git over SSH and its own protocol.
pub(super) const PORTS: &[u16] = &[22, 53, 80, 443, 9418];
