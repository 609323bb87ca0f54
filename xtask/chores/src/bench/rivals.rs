//! Other programs that run graphs of tasks, if they are installed.

/// A program that may be installed.
#[derive(Clone, Copy)]
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    /// The packages of the program, by installer.
    packages: &'static str,
}

pub(crate) const NINJA: Rival = Rival {
    name: "ninja",
    packages: "`apt-get install ninja-build`, `dnf install ninja-build` or `brew install ninja`",
};

pub(crate) const MAKE: Rival = Rival {
    name: "make",
    packages: "`apt-get install make`, `dnf install make` or `xcode-select --install`",
};

impl Rival {
    pub(crate) fn is_installed(self) -> bool {
        xtask::needs::answers(self.name, &["--version"])
    }

    /// Returns how to install it.
    pub(crate) fn advice(self) -> String {
        format!(
            "{} is not installed and was not measured; {} installs it.",
            self.name, self.packages
        )
    }
}
