//! Other programs that run graphs of tasks, if they are installed.

use std::process::{Command, Stdio};

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
        let answer = Command::new(self.name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        answer.is_ok_and(|status| status.success())
    }

    /// Returns how to install it.
    pub(crate) fn advice(self) -> String {
        format!(
            "{} is not installed and was not measured; {} installs it.",
            self.name, self.packages
        )
    }
}
